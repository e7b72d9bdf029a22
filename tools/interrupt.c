#include "interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* A signal handler gets no argument: the one place where a variable of the file is needed. */
static atomic_bool interrupted;

static void on_signal(int number) {
    (void)number;
    atomic_store(&interrupted, true);
}

const atomic_bool *interrupt_install(void) {
    struct sigaction action = {.sa_handler = on_signal};
    /* Reset after the first, so that the second has its default effect. */
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}
