#include "args.h"

#include "output.h"
#include "suggest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 26, HELP_WIDTH = 80, LONG_BASE = 256, HELP_VALUE = LONG_BASE + ARGS_OPTION_LIMIT };

int args_mistake(const struct args_spec *spec, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "yolopack %s: ", spec->command);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    return EXIT_USAGE;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A decimal whole number and nothing after it but `rest`, which the caller judges. */
static bool parse_whole(const char *text, int64_t *value, const char **rest) {
    char *end;
    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    *rest = end;
    return errno == 0;
}

static bool parse_integer(const struct args_option *option, const char *text) {
    int64_t value;
    const char *rest;
    if (!parse_whole(text, &value, &rest))
        return false;
    if (*rest == '%' && strcmp(option->metavar, "PERCENT") == 0)
        rest++;
    if (*rest != '\0' || value < option->minimum || value > option->maximum)
        return false;
    *(int64_t *)option->target = value;
    return true;
}

/* Multiplier of "", "k", "M", "MiB" (1024) and "MB" (1000); 0 if it is none. */
static uint64_t unit_bytes(const char *unit) {
    static const char prefixes[] = "KMGT";
    if (unit[0] == '\0' || strcmp(unit, "B") == 0)
        return 1;
    const char *prefix = strchr(prefixes, toupper((unsigned char)unit[0]));
    if (prefix == NULL)
        return 0;
    uint64_t base = strcmp(unit + 1, "B") == 0 ? 1000 : 1024, multiplier = 1;
    if (unit[1] != '\0' && strcmp(unit + 1, "B") != 0 && strcmp(unit + 1, "iB") != 0)
        return 0;
    for (const char *p = prefixes; p <= prefix; p++)
        multiplier *= base;
    return multiplier;
}

static bool parse_bytes(const struct args_option *option, const char *text) {
    int64_t value;
    const char *unit;
    if (!parse_whole(text, &value, &unit) || value < 0)
        return false;
    uint64_t multiplier = unit_bytes(unit);
    if (multiplier == 0 || (uint64_t)value > (uint64_t)option->maximum / multiplier)
        return false;
    uint64_t bytes = (uint64_t)value * multiplier;
    if (bytes < (uint64_t)option->minimum)
        return false;
    *(uint64_t *)option->target = bytes;
    return true;
}

/* A decimal number and nothing after it but `rest`, which the caller judges. The command never sets a locale. */
static bool parse_decimal(const char *text, double *value, const char **rest) {
    char *end;
    if ((!isdigit((unsigned char)text[0]) && text[0] != '.') || strspn(text, "0123456789.eE+-%") != strlen(text))
        return false;
    *value = strtod(text, &end);
    *rest = end;
    return end != text;
}

static bool parse_number(const struct args_option *option, const char *text) {
    double value;
    const char *rest;
    if (!parse_decimal(text, &value, &rest) || *rest != '\0')
        return false;
    if (!(value >= (double)option->minimum && value <= (double)option->maximum))
        return false;
    *(double *)option->target = value;
    return true;
}

static bool parse_fraction(const struct args_option *option, const char *text) {
    double value;
    const char *rest;
    if (!parse_decimal(text, &value, &rest))
        return false;
    if (*rest == '%') {
        value /= 100;
        rest++;
    }
    if (*rest != '\0' || !(value >= 0 && value <= 1))
        return false;
    *(double *)option->target = value;
    return true;
}

static bool parse_dimensions(const struct args_option *option, const char *text) {
    int64_t width, height;
    const char *rest;
    if (!parse_whole(text, &width, &rest) || *rest != 'x' || !parse_whole(rest + 1, &height, &rest) || *rest != '\0')
        return false;
    if (width < option->minimum || width > option->maximum || height < option->minimum || height > option->maximum)
        return false;
    *(struct args_dimensions *)option->target = (struct args_dimensions){(uint32_t)width, (uint32_t)height};
    return true;
}

/* The `index`-th word of "a|b|c" and its length; NULL past the end. */
static const char *choice_word(const char *choices, int index, size_t *length) {
    for (; index > 0; index--) {
        choices = strchr(choices, '|');
        if (choices == NULL)
            return NULL;
        choices++;
    }
    *length = strcspn(choices, "|");
    return choices;
}

static bool parse_choice(const struct args_option *option, const char *text) {
    size_t length;
    const char *word;
    for (int i = 0; (word = choice_word(option->metavar, i, &length)) != NULL; i++) {
        if (strlen(text) == length && memcmp(text, word, length) == 0) {
            *(int *)option->target = i;
            return true;
        }
    }
    return false;
}

static bool parse_value(const struct args_option *option, const char *text) {
    switch (option->kind) {
    case ARGS_FLAG: *(bool *)option->target = true; return true;
    case ARGS_TEXT: *(const char **)option->target = text; return text[0] != '\0';
    case ARGS_CHOICE: return parse_choice(option, text);
    case ARGS_INTEGER: return parse_integer(option, text);
    case ARGS_NUMBER: return parse_number(option, text);
    case ARGS_BYTES: return parse_bytes(option, text);
    case ARGS_FRACTION: return parse_fraction(option, text);
    case ARGS_DIMENSIONS: return parse_dimensions(option, text);
    }
    return false;
}

/* A number of bytes as a user would type it. */
struct typed {
    char text[24];
};

static struct typed typed_bytes(uint64_t bytes) {
    static const char *const units[] = {"", "K", "M", "G", "T"};
    struct typed out;
    size_t unit = 0;
    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out.text, sizeof out.text, "%" PRIu64 "%s", bytes, units[unit]);
    return out;
}

static int bad_value(const struct args_spec *spec, const struct args_option *option, const char *text) {
    switch (option->kind) {
    case ARGS_CHOICE: return args_mistake(spec, "--%s %s: it is one of %s", option->name, text, option->metavar);
    case ARGS_INTEGER:
        return args_mistake(spec, "--%s %s: it takes a whole number from %" PRId64 " to %" PRId64, option->name, text,
                            option->minimum, option->maximum);
    case ARGS_NUMBER:
        return args_mistake(spec, "--%s %s: it takes a number from %" PRId64 " to %" PRId64, option->name, text,
                            option->minimum, option->maximum);
    case ARGS_BYTES:
        return args_mistake(spec, "--%s %s: it takes a size like 512M, from %s to %s", option->name, text,
                            typed_bytes((uint64_t)option->minimum).text, typed_bytes((uint64_t)option->maximum).text);
    case ARGS_FRACTION:
        return args_mistake(spec, "--%s %s: it takes a share from 0 to 1, or 0%% to 100%%", option->name, text);
    case ARGS_DIMENSIONS:
        return args_mistake(spec, "--%s %s: it takes a size like 640x512, each side from %" PRId64 " to %" PRId64,
                            option->name, text, option->minimum, option->maximum);
    default: return args_mistake(spec, "--%s: its value is empty", option->name);
    }
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

/* " (default …)", or "" for an option without one. */
static struct text default_text(const struct args_option *option) {
    struct text out = {""};
    size_t length;
    const char *word;
    switch (option->kind) {
    case ARGS_FLAG: break;
    case ARGS_TEXT:
        if (*(const char **)option->target != NULL)
            snprintf(out.text, sizeof out.text, " (default %s)", *(const char **)option->target);
        break;
    case ARGS_CHOICE:
        word = *(int *)option->target >= 0 ? choice_word(option->metavar, *(int *)option->target, &length) : NULL;
        if (word != NULL)
            snprintf(out.text, sizeof out.text, " (default %.*s)", (int)length, word);
        break;
    case ARGS_INTEGER:
        if (*(int64_t *)option->target >= option->minimum)
            snprintf(out.text, sizeof out.text, " (default %" PRId64 ")", *(int64_t *)option->target);
        break;
    case ARGS_NUMBER: snprintf(out.text, sizeof out.text, " (default %g)", *(double *)option->target); break;
    case ARGS_BYTES:
        snprintf(out.text, sizeof out.text, " (default %s)", typed_bytes(*(uint64_t *)option->target).text);
        break;
    case ARGS_FRACTION: snprintf(out.text, sizeof out.text, " (default %g%%)", *(double *)option->target * 100); break;
    case ARGS_DIMENSIONS: {
        const struct args_dimensions *d = option->target;
        if (d->width != 0)
            snprintf(out.text, sizeof out.text, " (default %ux%u)", (unsigned)d->width, (unsigned)d->height);
        break;
    }
    }
    return out;
}

/* Prints words, wrapped, between the columns `indent` (where the cursor stands) and HELP_WIDTH. */
static void print_wrapped(const char *text, int indent) {
    int column = indent;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + (int)word > HELP_WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        if (word > 0)
            column += printf("%s%.*s", column > indent ? " " : "", (int)word, text);
        text += word + (text[word] == ' ');
    }
    printf("\n");
}

static void print_option(const struct args_option *option) {
    int column = option->letter != '\0' ? printf("  -%c, ", option->letter) : printf("      ");
    column += printf("--%s%s%s", option->name, option->metavar != NULL ? " " : "",
                     option->metavar != NULL ? option->metavar : "");
    if (column > HELP_COLUMN - 2)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - column, "");
    char help[512];
    snprintf(help, sizeof help, "%s%s", option->help, default_text(option).text);
    print_wrapped(help, HELP_COLUMN);
}

static void print_help(const struct args_spec *spec) {
    printf("usage: yolopack %s%s%s%s\n\n", spec->command, spec->operands[0] != '\0' ? " " : "", spec->operands,
           spec->option_count > 0 ? " [options]" : "");
    print_wrapped(spec->summary, 0);
    printf("\n");
    for (size_t i = 0; i < spec->option_count; i++)
        print_option(&spec->options[i]);
    printf("  -h, --help              show this\n\n%s:\n%s",
           strchr(spec->examples, '\n')[1] != '\0' ? "Examples" : "Example", spec->examples);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static void build_getopt(const struct args_spec *spec, struct option *longs, char *letters) {
    *letters++ = ':'; /* a missing value is reported as ':' */
    for (size_t i = 0; i < spec->option_count; i++) {
        const struct args_option *option = &spec->options[i];
        int has_value = option->kind == ARGS_FLAG ? no_argument : required_argument;
        longs[i] = (struct option){option->name, has_value, NULL, LONG_BASE + (int)i};
        if (option->letter != '\0') {
            *letters++ = option->letter;
            if (has_value == required_argument)
                *letters++ = ':';
        }
    }
    longs[spec->option_count] = (struct option){"help", no_argument, NULL, HELP_VALUE};
    longs[spec->option_count + 1] = (struct option){NULL, 0, NULL, 0};
    *letters++ = 'h';
    *letters = '\0';
}

/* The row that a getopt value stands for: its letter, or LONG_BASE + row. */
static const struct args_option *option_of(const struct args_spec *spec, int value) {
    if (value >= LONG_BASE && (size_t)(value - LONG_BASE) < spec->option_count)
        return &spec->options[value - LONG_BASE];
    for (size_t i = 0; i < spec->option_count; i++)
        if (value != 0 && spec->options[i].letter == value)
            return &spec->options[i];
    return NULL;
}

static int unknown_option(const struct args_spec *spec, const char *word, int letter) {
    const char *names[ARGS_OPTION_LIMIT + 1];
    char name[64];
    if (word[0] != '-' || word[1] != '-')
        return args_mistake(spec, "no option -%c (yolopack %s --help lists them)", letter, spec->command);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (size_t i = 0; i < spec->option_count; i++)
        names[i] = spec->options[i].name;
    names[spec->option_count] = "help";
    const char *near = suggest_nearest(name, names, spec->option_count + 1);
    if (near != NULL)
        return args_mistake(spec, "no option --%s (did you mean --%s?)", name, near);
    return args_mistake(spec, "no option --%s (yolopack %s --help lists them)", name, spec->command);
}

/* What getopt refused: `value` is '?' or ':'. */
static int refused(const struct args_spec *spec, int value, const char *word) {
    const struct args_option *option = option_of(spec, optopt);
    if (value == ':' && option != NULL)
        return args_mistake(spec, "--%s needs a value: %s", option->name, option->metavar);
    if (option != NULL)
        return args_mistake(spec, "--%s takes no value", option->name);
    return unknown_option(spec, word, optopt);
}

static int wrong_operands(const struct args_spec *spec, const char *what) {
    return args_mistake(spec, "%s (usage: yolopack %s%s%s)", what, spec->command, spec->operands[0] != '\0' ? " " : "",
                        spec->operands);
}

static bool take_operands(struct args *out, const struct args_spec *spec, int count, char **operands, int *exit_code) {
    char what[256];
    out->list = operands;
    out->list_count = count;
    *exit_code = EXIT_DONE;
    for (int i = 0; i < count && *exit_code == EXIT_DONE; i++)
        if (operands[i][0] == '\0') /* a variable of a script, most often */
            *exit_code = wrong_operands(spec, "an argument is empty");
    if (*exit_code != EXIT_DONE)
        return false;
    if (count > spec->operand_count && !spec->more_operands) {
        snprintf(what, sizeof what, "%.200s: one argument too many", operands[spec->operand_count]);
        *exit_code = wrong_operands(spec, what);
    } else if (count < spec->operand_count) {
        *exit_code = wrong_operands(spec, "an argument is missing");
    }
    for (int i = 0; i < spec->operand_count && *exit_code == EXIT_DONE; i++)
        out->operands[i] = operands[i];
    return *exit_code == EXIT_DONE;
}

bool args_parse(struct args *out, const struct args_spec *spec, int argc, char **argv, int *exit_code) {
    struct option longs[ARGS_OPTION_LIMIT + 2];
    char letters[2 * ARGS_OPTION_LIMIT + 3];
    int value;
    memset(out, 0, sizeof *out);
    build_getopt(spec, longs, letters);
    opterr = 0;
    optind = 1;
    while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (value == HELP_VALUE || value == 'h') {
            print_help(spec);
            *exit_code = EXIT_DONE;
            return false;
        }
        const struct args_option *option = value == '?' || value == ':' ? NULL : option_of(spec, value);
        if (option == NULL) {
            *exit_code = refused(spec, value, argv[optind - 1]);
            return false;
        }
        if (!parse_value(option, optarg)) {
            *exit_code = bad_value(spec, option, optarg);
            return false;
        }
        out->given[option - spec->options] = true;
    }
    return take_operands(out, spec, argc - optind, argv + optind, exit_code);
}

bool args_given(const struct args *args, const struct args_spec *spec, const char *name) {
    for (size_t i = 0; i < spec->option_count; i++)
        if (strcmp(spec->options[i].name, name) == 0)
            return args->given[i];
    return false;
}
