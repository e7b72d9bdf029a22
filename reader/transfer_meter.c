#include "transfer_meter.h"

#include "clock.h"

#include <string.h>

void transfer_meter_init(struct transfer_meter *m, const struct device_ops *ops, struct device *device) {
    m->ops = ops;
    m->device = device;
    pthread_mutex_init(&m->mutex, NULL);
}

int transfer_meter_create_events(struct transfer_meter *m, struct error *error) {
    int rc = 0;
    for (int i = 0; rc == 0 && i < TRANSFER_STALL_LIMIT; i++) {
        rc = m->ops->event_create(m->device, &m->stalls[i].from, true, error);
        if (rc == 0)
            rc = m->ops->event_create(m->device, &m->stalls[i].to, true, error);
    }
    return rc;
}

void transfer_meter_deinit(struct transfer_meter *m) {
    for (int i = 0; i < TRANSFER_STALL_LIMIT; i++) {
        if (m->stalls[i].from)
            m->ops->event_destroy(m->device, m->stalls[i].from);
        if (m->stalls[i].to)
            m->ops->event_destroy(m->device, m->stalls[i].to);
    }
    pthread_mutex_destroy(&m->mutex);
}

void transfer_meter_reset(struct transfer_meter *m) {
    pthread_mutex_lock(&m->mutex);
    memset(&m->sums, 0, sizeof m->sums);
    pthread_mutex_unlock(&m->mutex);
}

void transfer_meter_add_bytes(struct transfer_meter *m, uint64_t bytes) {
    pthread_mutex_lock(&m->mutex);
    m->sums.copy_bytes += bytes;
    pthread_mutex_unlock(&m->mutex);
}

void transfer_meter_add_copy(struct transfer_meter *m, double seconds) {
    pthread_mutex_lock(&m->mutex);
    m->sums.copy_seconds += seconds;
    pthread_mutex_unlock(&m->mutex);
}

/* What a batch was waited for: all of it, and what came after the workers had made it. */
static double late_part(double waited, uint64_t asked_ns, uint64_t full_ns) {
    double making = full_ns > asked_ns ? (double)(full_ns - asked_ns) * 1e-9 : 0;
    return waited > making ? waited - making : 0;
}

void transfer_meter_add_wait(struct transfer_meter *m, uint64_t asked_ns, uint64_t full_ns) {
    double waited = (double)(clock_ns() - asked_ns) * 1e-9;
    pthread_mutex_lock(&m->mutex);
    m->sums.wait.host += waited;
    m->sums.wait.host_late += late_part(waited, asked_ns, full_ns);
    pthread_mutex_unlock(&m->mutex);
}

/* ---- stalls ------------------------------------------------------------------------------------------------------ */

int transfer_meter_begin(struct transfer_meter *m, struct transfer_stall **out, void *stream, struct error *error) {
    struct transfer_stall *stall = NULL;
    pthread_mutex_lock(&m->mutex);
    for (int i = 0; !stall && i < TRANSFER_STALL_LIMIT; i++)
        if (m->stalls[i].state == STALL_IDLE)
            stall = &m->stalls[i];
    if (stall)
        stall->state = STALL_TAKEN;
    pthread_mutex_unlock(&m->mutex);
    *out = stall;
    if (!stall)
        return 0;
    stall->asked_ns = clock_ns();
    return m->ops->record(m->device, stall->from, stream, error);
}

int transfer_meter_go_on(struct transfer_meter *m, struct transfer_stall *stall, void *stream, struct error *error) {
    return m->ops->record(m->device, stall->to, stream, error);
}

void transfer_meter_end(struct transfer_meter *m, struct transfer_stall *stall, uint64_t full_ns) {
    if (!stall)
        return;
    pthread_mutex_lock(&m->mutex);
    stall->full_ns = full_ns;
    stall->state = STALL_RUNNING;
    pthread_mutex_unlock(&m->mutex);
}

void transfer_meter_drop(struct transfer_meter *m, struct transfer_stall *stall) {
    if (!stall)
        return;
    pthread_mutex_lock(&m->mutex);
    stall->state = STALL_IDLE;
    pthread_mutex_unlock(&m->mutex);
}

int transfer_meter_collect(struct transfer_meter *m, struct error *error) {
    int rc = 0;
    for (int i = 0; rc == 0 && i < TRANSFER_STALL_LIMIT; i++) {
        struct transfer_stall *stall = &m->stalls[i];
        bool done = false;
        double seconds = 0;
        pthread_mutex_lock(&m->mutex);
        bool running = stall->state == STALL_RUNNING;
        pthread_mutex_unlock(&m->mutex);
        if (running)
            rc = m->ops->query(m->device, stall->to, &done, error);
        if (rc == 0 && done)
            rc = m->ops->elapsed(m->device, stall->from, stall->to, &seconds, error);
        if (rc != 0 || !done)
            continue;
        pthread_mutex_lock(&m->mutex);
        m->sums.wait.stream += seconds;
        m->sums.wait.stream_late += late_part(seconds, stall->asked_ns, stall->full_ns);
        m->sums.wait.stalls++;
        stall->state = STALL_IDLE;
        pthread_mutex_unlock(&m->mutex);
    }
    return rc;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

double transfer_meter_starved_seconds(struct transfer_meter *m) {
    pthread_mutex_lock(&m->mutex);
    const struct loader_wait *w = &m->sums.wait;
    double seconds = w->stalls > 0 ? w->stream - w->stream_late : w->host - w->host_late;
    pthread_mutex_unlock(&m->mutex);
    return seconds;
}

void transfer_meter_get_stats(struct transfer_meter *m, ypk_loader_stats *out, struct loader_wait *wait) {
    pthread_mutex_lock(&m->mutex);
    *wait = m->sums.wait;
    out->copy_seconds = m->sums.copy_seconds;
    out->copy_bytes = m->sums.copy_bytes;
    pthread_mutex_unlock(&m->mutex);
    out->wait_seconds += wait->host;
    out->stream_wait_seconds = wait->stream;
}
