/* The file of --pair map:FILE, as TSV or JSON Lines. */
#include "pair_map.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pair_map map = {0};
    struct pair_places places = {0};
    struct error error = {0};
    const char *file = scratch_write("map.tsv", data, size);
    FUZZ_CHECK_OK(pair_places_init(&places, scratch(), &error), &error);
    int rc = pair_map_read(&map, &places, scratch(), file, &error);
    if (rc != 0)
        fuzz_check_refusal(rc, &error);
    else
        CHECK(map.rgb.count == map.ir.count && map.rgb.count == map.label.count);
    struct path_list *const lists[] = {&map.rgb, &map.ir, &map.label};
    CHECK(rc != 0 || pair_places_settle(&places, lists, 3) == 0);
    for (size_t i = 0; rc == 0 && i < map.rgb.count; i++)
        CHECK(map.rgb.items[i] || map.ir.items[i]);
    pair_map_deinit(&map);
    pair_places_deinit(&places);
    return 0;
}
