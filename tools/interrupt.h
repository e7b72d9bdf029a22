/* Ctrl-C: the first asks the work to stop, the second ends the process at once. */
#ifndef YPK_TOOLS_INTERRUPT_H
#define YPK_TOOLS_INTERRUPT_H

#include <stdatomic.h>

/* Installs the handler of SIGINT and SIGTERM; the flag it returns is set by the first of them. */
const atomic_bool *interrupt_install(void);

#endif
