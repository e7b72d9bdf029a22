/* What to tell a person whose pictures made no pair. */
#ifndef YPK_PACKER_PAIR_HINT_H
#define YPK_PACKER_PAIR_HINT_H

#include "error.h"
#include "pair_rule.h"
#include "scan.h"

/* Sets and returns ERR_INPUT: how many pictures there are, the rules that were tried and why they fail, which endings
 * of file names were seen how often, and the option that would fit. `rule` NULL: "auto" was tried. */
int pair_hint_nothing(const struct path_list *images, const struct pair_rule *rule, struct error *error);

#endif
