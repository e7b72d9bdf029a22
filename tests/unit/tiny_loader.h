/* What tests of the loader begin with: a small pack that is open, and loaders of it. Each test is a process of
 * its own. */
#ifndef YPK_TESTS_UNIT_TINY_LOADER_H
#define YPK_TESTS_UNIT_TINY_LOADER_H

#include "tiny_pack.h"

#include "yolopack.h"

#include <criterion/criterion.h>

static struct tiny_pack pack;
static ypk_dataset *dataset;

static inline void open_pack(uint64_t samples, uint64_t per_shard, uint8_t task) {
    ypk_error error;
    tiny_task_pack_create(&pack, samples, per_shard, task);
    cr_assert_eq(ypk_dataset_open(&dataset, pack.path, NULL, &error), YPK_OK, "%s", error.message);
}

static inline void close_pack(void) {
    ypk_dataset_close(&dataset);
    tiny_pack_remove(&pack);
}

static inline ypk_loader *make_loader(const ypk_loader_options *options) {
    ypk_loader *loader;
    ypk_error error;
    cr_assert_eq(ypk_loader_create(&loader, dataset, options, &error), YPK_OK, "%s", error.message);
    return loader;
}

#endif
