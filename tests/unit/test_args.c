#include "args.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>

struct targets {
    bool flag;
    const char *text;
    int choice;
    int64_t integer, percent;
    uint64_t bytes;
    double fraction, number;
    struct args_dimensions size;
};

/* Parses "command A B C" with one option of every kind. */
static bool parse(struct targets *t, struct args *args, int *exit_code, int argc, const char **argv) {
    const struct args_option options[] = {
        {"flag", 'f', ARGS_FLAG, NULL, "a flag", &t->flag, 0, 0},
        {"text", 0, ARGS_TEXT, "TEXT", "a text", &t->text, 0, 0},
        {"preset", 0, ARGS_CHOICE, "keep|train|raw", "a choice", &t->choice, 0, 0},
        {"jobs", 'j', ARGS_INTEGER, "N", "a number", &t->integer, 1, 1024},
        {"val", 0, ARGS_INTEGER, "PERCENT", "a percentage", &t->percent, 0, 99},
        {"shard-size", 0, ARGS_BYTES, "SIZE", "a size", &t->bytes, 1024, INT64_C(1) << 46},
        {"max-rejects", 0, ARGS_FRACTION, "SHARE", "a share", &t->fraction, 0, 0},
        {"step-ms", 0, ARGS_NUMBER, "T", "a number", &t->number, 0, 60000},
        {"size", 0, ARGS_DIMENSIONS, "WxH", "a picture's size", &t->size, 32, 16384},
    };
    const struct args_spec spec = {.command = "test",
                                   .operands = "FILE",
                                   .summary = "Tests.",
                                   .examples = "  x\n",
                                   .options = options,
                                   .option_count = sizeof options / sizeof options[0],
                                   .operand_count = 1};
    bool ok = args_parse(args, &spec, argc, (char **)argv, exit_code);
    cr_assert(!ok || args_given(args, &spec, "flag") == t->flag);
    return ok;
}

#define PARSE(...)                                                                                                     \
    (const char *[]){"test", __VA_ARGS__, NULL}, (int)(sizeof(const char *[]){"test", __VA_ARGS__} / sizeof(char *))

static bool accepts_argv(struct targets *t, const char **argv, int argc) {
    struct args args;
    int exit_code = -1;
    *t = (struct targets){.choice = -1};
    bool ok = parse(t, &args, &exit_code, argc, argv);
    cr_assert(ok || exit_code == 2 || exit_code == 0);
    return ok;
}

static void quiet(void) {
    cr_redirect_stderr();
    cr_redirect_stdout();
}

TestSuite(args, .init = quiet);

Test(args, every_kind_is_read) {
    struct targets t;
    cr_assert(accepts_argv(&t, PARSE("-f", "--text", "a b", "--preset=raw", "-j8", "--val", "20%", "--shard-size",
                                     "512M", "--max-rejects", "2.5%", "--size", "640x512", "FILE")));
    cr_assert(t.flag);
    cr_assert_str_eq(t.text, "a b");
    cr_assert_eq(t.choice, 2);
    cr_assert_eq(t.integer, 8);
    cr_assert_eq(t.percent, 20);
    cr_assert_eq(t.bytes, UINT64_C(512) << 20);
    cr_assert_float_eq(t.fraction, 0.025, 1e-12);
    cr_assert_eq(t.size.width, 640);
    cr_assert_eq(t.size.height, 512);
}

Test(args, sizes_have_units) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"1024", 1024},
                 {"2k", 2048},
                 {"2K", 2048},
                 {"2KiB", 2048},
                 {"2kB", 2000},
                 {"3MB", 3000000},
                 {"1G", UINT64_C(1) << 30},
                 {"64T", UINT64_C(1) << 46},
                 {"4096B", 4096}};
    struct targets t;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert(accepts_argv(&t, PARSE("FILE", "--shard-size", cases[i].text)), "%s", cases[i].text);
        cr_assert_eq(t.bytes, cases[i].bytes, "%s", cases[i].text);
    }
}

Test(args, numbers_are_decimal) {
    static const struct {
        const char *text;
        double number;
    } cases[] = {{"0", 0}, {"7.5", 7.5}, {".25", 0.25}, {"40", 40}, {"1e-3", 0.001}, {"60000", 60000}};
    struct targets t;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert(accepts_argv(&t, PARSE("FILE", "--step-ms", cases[i].text)), "%s", cases[i].text);
        cr_assert_eq(t.number, cases[i].number, "%s", cases[i].text);
    }
}

Test(args, wrong_values_are_usage_errors) {
    static const char *const cases[][2] = {
        {"--jobs", "0"},
        {"--jobs", "1025"},
        {"--jobs", "x"},
        {"--jobs", "1x"},
        {"--jobs", ""},
        {"--jobs", " 4"},
        {"--jobs", "99999999999999999999"},
        {"--jobs", "5%"},
        {"--val", "100"},
        {"--val", "5%%"},
        {"--shard-size", "12"},
        {"--shard-size", "65T"},
        {"--shard-size", "999999999999T"},
        {"--shard-size", "1X"},
        {"--shard-size", "1MBB"},
        {"--shard-size", "-1M"},
        {"--max-rejects", "101%"},
        {"--max-rejects", "2"},
        {"--max-rejects", "-1%"},
        {"--max-rejects", "nan"},
        {"--max-rejects", "inf"},
        {"--max-rejects", "1%x"},
        {"--max-rejects", "0x1"},
        {"--step-ms", ""},
        {"--step-ms", "."},
        {"--step-ms", "-1"},
        {"--step-ms", "60000.1"},
        {"--step-ms", "nan"},
        {"--step-ms", "1e999"},
        {"--step-ms", "0x10"},
        {"--step-ms", "7,5"},
        {"--step-ms", "7.5ms"},
        {"--step-ms", "5%"},
        {"--size", "640"},
        {"--size", "640x"},
        {"--size", "640x512x3"},
        {"--size", "16x16"},
        {"--size", "x512"},
        {"--preset", "kee"},
        {"--preset", "keep|train"},
        {"--preset", ""},
        {"--text", ""},
        {"--nonsense", "1"},
        {"-x", "1"},
    };
    struct targets t;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_assert_not(accepts_argv(&t, PARSE("FILE", cases[i][0], cases[i][1])), "%s %s", cases[i][0], cases[i][1]);
}

Test(args, operands_are_counted) {
    struct targets t;
    cr_assert_not(accepts_argv(&t, PARSE("-f")));
    cr_assert_not(accepts_argv(&t, PARSE("A", "B")));
    cr_assert(accepts_argv(&t, PARSE("--", "-f")));
    cr_assert_not(t.flag);
    cr_assert_not(accepts_argv(&t, PARSE("FILE", "--jobs")));
    cr_assert_not(accepts_argv(&t, PARSE("FILE", "--flag=1")));
}

Test(args, mistake_names_option_value_and_range) {
    struct targets t;
    cr_assert_not(accepts_argv(&t, PARSE("FILE", "--jobs", "5000")));
    fflush(stderr);
    cr_assert_stderr_eq_str("yolopack test: --jobs 5000: it takes a whole number from 1 to 1024\n");
}

Test(args, unknown_option_gets_a_suggestion) {
    struct targets t;
    cr_assert_not(accepts_argv(&t, PARSE("FILE", "--pressed=raw")));
    fflush(stderr);
    cr_assert_stderr_eq_str("yolopack test: no option --pressed (did you mean --preset?)\n");
}
