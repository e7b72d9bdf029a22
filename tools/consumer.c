#include "consumer.h"

#include <string.h>
#include <time.h>

int consumer_open(struct consumer *c, ypk_loader *loader, const char *asked, struct error *error) {
    ypk_loader_stats stats;
    int ordinal;
    *c = (struct consumer){.stream = YPK_NO_STREAM};
    ypk_loader_get_stats(loader, &stats);
    if (strcmp(stats.device, "cpu") == 0)
        return 0;
    int rc = device_find(&c->ops, &ordinal, strcmp(asked, "auto") == 0 ? stats.device : asked, error);
    if (rc == 0)
        rc = c->ops->open(&c->device, ordinal, error);
    if (rc == 0)
        rc = c->ops->stream_create(c->device, &c->stream, error);
    if (rc == 0)
        rc = c->ops->event_create(c->device, &c->event, false, error);
    if (rc != 0)
        consumer_close(c);
    return rc;
}

void consumer_close(struct consumer *c) {
    if (c->event)
        c->ops->event_destroy(c->device, c->event);
    if (c->stream != YPK_NO_STREAM)
        c->ops->stream_destroy(c->device, c->stream);
    if (c->device)
        c->ops->close(&c->device);
    *c = (struct consumer){.stream = YPK_NO_STREAM};
}

int consumer_step(struct consumer *c, double ms, struct error *error) {
    if (ms <= 0)
        return 0;
    if (c->ops)
        return c->ops->busy(c->device, c->stream, ms, error);
    struct timespec t = {(time_t)(ms * 1e-3), (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
    return 0;
}

int consumer_settle(struct consumer *c, struct error *error) {
    int rc = c->ops ? c->ops->record(c->device, c->event, c->stream, error) : 0;
    return rc == 0 && c->ops ? c->ops->synchronise(c->device, c->event, error) : rc;
}
