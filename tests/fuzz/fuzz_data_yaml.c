/* data.yaml. */
#include "data_yaml.h"
#include "target.h"

static void check_list(const struct string_list *list) {
    for (size_t i = 0; i < list->count; i++)
        CHECK(list->items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct data_yaml yaml = {0};
    struct error error = {0};
    int rc = data_yaml_parse(&yaml, "set/data.yaml", (const char *)data, size, &error);
    if (rc == 0) {
        CHECK(yaml.base && strcmp(yaml.file, "set/data.yaml") == 0);
        CHECK(yaml.keypoint_count >= 0 && (yaml.keypoint_count == 0) == (yaml.keypoint_dims == 0));
        CHECK(yaml.flip_index.count <= KEYPOINT_LIMIT);
        for (uint32_t i = 0; i < yaml.flip_index.count; i++)
            CHECK(yaml.flip_index.places[i] < (yaml.keypoint_count ? yaml.keypoint_count : KEYPOINT_LIMIT));
        check_list(&yaml.names);
        check_list(&yaml.unknown_keys);
        check_list(&yaml.train.rgb);
        check_list(&yaml.train.ir);
        for (size_t i = 0; i < yaml.remark_count; i++)
            CHECK(yaml.remarks[i].value && yaml.remarks[i].text);
    } else {
        fuzz_check_refusal(rc, &error);
    }
    data_yaml_deinit(&yaml);
    return 0;
}
