/* Threads of the library. */
#ifndef YPK_READER_THREAD_H
#define YPK_READER_THREAD_H

#include <pthread.h>

/* Starts a thread that leaves signals to the caller's, but for those that are the thread's own fault. 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
