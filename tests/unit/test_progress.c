#include "progress.h"

#include <criterion/criterion.h>

Test(progress, tells_share_rate_and_rest) {
    struct progress p = {.unit = "pairs"};
    char text[256];
    progress_text(text, sizeof text, &p, 6871, 12025, 1100000000, 16.677);
    cr_assert_str_eq(text, " 57 %  6,871/12,025   412 pairs/s   1.1 GB   13 s left");
}

Test(progress, a_resumed_stretch_counts_only_its_own_work) {
    struct progress p = {.unit = "images", .start_done = 900};
    char text[256];
    progress_text(text, sizeof text, &p, 910, 1000, 5000, 1);
    cr_assert_str_eq(text, " 91 %  910/1,000   10 images/s   5.0 kB   9.0 s left");
}

Test(progress, bytes_are_their_own_unit) {
    struct progress p = {0};
    char text[256];
    progress_text(text, sizeof text, &p, 500000000, 2000000000, 0, 0.5);
    cr_assert_str_eq(text, " 25 %  500 MB of 2.0 GB   1.0 GB/s   1.5 s left");
}

Test(progress, no_time_and_no_work_divide_by_nothing) {
    struct progress p = {.unit = "pairs"};
    char text[256];
    progress_text(text, sizeof text, &p, 0, 0, 0, 0);
    cr_assert_str_eq(text, "100 %  0/0   0 B");
}

Test(progress, silent_without_terminal) {
    struct progress p;
    progress_init(&p, "pairs", false);
    p.to = NULL;
    progress_update(&p, "train", 1, 2, 3);
    progress_clear(&p);
    cr_assert_not(p.visible);
}
