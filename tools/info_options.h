/* With which options a pack was made, in words. */
#ifndef YPK_TOOLS_INFO_OPTIONS_H
#define YPK_TOOLS_INFO_OPTIONS_H

#include <jansson.h>

/* The manifest's "options", to stdout; what this version does not know comes last, as it stands there. */
void info_print_options(const json_t *options);

#endif
