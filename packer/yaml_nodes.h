/* A YAML file as a table of nodes, with aliases resolved, and messages that say where in it something is wrong. */
#ifndef YPK_PACKER_YAML_NODES_H
#define YPK_PACKER_YAML_NODES_H

#include "bytes.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#define YAML_DEPTH_LIMIT 32

/* A scalar, a sequence, a mapping, or the end of one of the two. Nodes stand in the order of the file. */
struct yaml_node {
    yaml_event_t event; /* its first one */
    size_t next;        /* the node behind it: behind its end, for a collection */
    size_t target;      /* what it stands for: the anchored node for an alias, else itself */
};

struct yaml_nodes {
    const char *file;
    const char *text;
    size_t size;
    struct error *error;
    struct yaml_node *items;
    size_t count, capacity;
};

/* Reads the only document of the text; `file`, `text`, `size` and `error` are set. ERR_INPUT: no YAML (with the remedy
 * for what people write), more than YAML_DEPTH_LIMIT levels or some 200,000 nodes, a second document, a tag that is no
 * plain YAML type's, an alias of nothing or of what holds it. ERR_MEMORY. Deinit either way. */
int yaml_nodes_read(struct yaml_nodes *y);
void yaml_nodes_deinit(struct yaml_nodes *y);

/* NULL: the file is empty. */
const struct yaml_node *yaml_root(const struct yaml_nodes *y);

/* The first node of a sequence or mapping, the one after a node; NULL when there is none. In a mapping keys and values
 * come by turns. Both give an alias's target. */
const struct yaml_node *yaml_first(const struct yaml_nodes *y, const struct yaml_node *collection, size_t *at);
const struct yaml_node *yaml_after(const struct yaml_nodes *y, size_t *at);

bool yaml_is_scalar(const struct yaml_node *node);
bool yaml_is_null(const struct yaml_node *node);
struct span yaml_text(const struct yaml_node *scalar); /* a NUL is behind it */
size_t yaml_line(const struct yaml_node *node);        /* from 1 */

/* True for "0:a" and "nc:3": a key with no blank behind its colon. */
bool yaml_lacks_blank(struct span text);

/* "file:line:column: " and the rest, ERR_INPUT. `node` NULL: the start of the file. */
int yaml_fail(const struct yaml_nodes *y, const struct yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same about a scalar: what is before and after its text, which is made printable. */
int yaml_fail_value(const struct yaml_nodes *y, const struct yaml_node *scalar, const char *before, const char *after);

int yaml_no_memory(const struct yaml_nodes *y);

#endif
