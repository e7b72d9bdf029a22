#include "suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const words[] = {"pack", "check", "verify", "reindex", "export", NULL, "datasets", ""};

static const char *nearest(const char *word) {
    return suggest_nearest(word, words, sizeof words / sizeof *words);
}

Test(suggest, one_slip_is_found) {
    cr_assert_str_eq(nearest("pakc"), "pack");
    cr_assert_str_eq(nearest("chek"), "check");
    cr_assert_str_eq(nearest("chekc"), "check");
    cr_assert_str_eq(nearest("verfiy"), "verify");
    cr_assert_str_eq(nearest("reindexx"), "reindex");
    cr_assert_str_eq(nearest("exprt"), "export");
    cr_assert_str_eq(nearest("EXPORT"), "export");
    cr_assert_str_eq(nearest("dtaaset"), "datasets");
    static const char *const night[] = {"day", "night"};
    cr_assert_str_eq(suggest_nearest("nigth", night, 2), "night");
}

Test(suggest, far_words_are_not) {
    cr_assert_null(nearest("train"));
    cr_assert_null(nearest(""));
    cr_assert_null(nearest("p"));
    cr_assert_null(nearest("peck me"));
    cr_assert_null(suggest_nearest("a", NULL, 0));
    static const char *const one[] = {"b"};
    cr_assert_null(suggest_nearest("a", one, 1), "replacing every letter is no misspelling");
}

Test(suggest, the_nearest_wins_and_the_first_of_equals) {
    static const char *const splits[] = {"trail", "train", "tracks"};
    cr_assert_str_eq(suggest_nearest("trainn", splits, 3), "train");
    cr_assert_str_eq(suggest_nearest("traim", splits, 3), "trail");
    cr_assert_str_eq(suggest_nearest("train", splits, 3), "train");
}

Test(suggest, long_words_are_passed_over) {
    char longer[300];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *candidates[] = {longer, longer + 44, "b"};
    cr_assert_null(suggest_nearest(longer, candidates, 3));
    cr_assert_eq(suggest_nearest(longer + 45, candidates, 3), candidates[1]);
}
