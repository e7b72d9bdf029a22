/*
 * A command's options: one table row each, from which they are parsed, checked and printed as help.
 *
 * A target holds the default before args_parse(), so that the help shows the default that is really used.
 */
#ifndef YPK_TOOLS_ARGS_H
#define YPK_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct args_dimensions {
    uint32_t width, height; /* px */
};

enum args_kind {
    ARGS_FLAG,       /* bool: set */
    ARGS_TEXT,       /* const char *: any text but "" */
    ARGS_CHOICE,     /* int: position in the metavar "keep|train|raw"; -1 while not given */
    ARGS_INTEGER,    /* int64_t in minimum … maximum; "20%" too if the metavar is "PERCENT" */
    ARGS_NUMBER,     /* double: "7.5", in minimum … maximum */
    ARGS_BYTES,      /* uint64_t: "512M" (powers of 1024), "500MB" (powers of 1000), in minimum … maximum */
    ARGS_FRACTION,   /* double: "1%" or "0.01", in 0 … 1 */
    ARGS_DIMENSIONS, /* struct args_dimensions: "640x512", each in minimum … maximum */
};

struct args_option {
    const char *name; /* without its dashes */
    char letter;      /* '\0': none */
    enum args_kind kind;
    const char *metavar; /* NULL for a flag */
    const char *help;
    void *target;
    int64_t minimum, maximum;
};

struct args_spec {
    const char *command;  /* "pack" */
    const char *operands; /* "PACK DIR", as the usage line shows them */
    const char *summary;  /* one or more sentences */
    const char *examples; /* lines, each with its newline */
    const struct args_option *options;
    size_t option_count; /* at most ARGS_OPTION_LIMIT */
    int operand_count;   /* exactly so many are wanted, */
    bool more_operands;  /* or more than that */
};

enum { ARGS_OPTION_LIMIT = 40, ARGS_OPERAND_LIMIT = 2 };

struct args {
    const char *operands[ARGS_OPERAND_LIMIT];
    char **list; /* [list_count]: all operands, in argv */
    int list_count;
    bool given[ARGS_OPTION_LIMIT];
};

/* Fills the targets and *out. False if the command has nothing more to do: --help was printed, or a message about the
 * first mistake; *exit_code is set then. */
bool args_parse(struct args *out, const struct args_spec *spec, int argc, char **argv, int *exit_code);

/* True if the option of that name was on the command line. */
bool args_given(const struct args *args, const struct args_spec *spec, const char *name);

/* "yolopack pack: …" on stderr, for what only the command can judge. Returns EXIT_USAGE. */
int args_mistake(const struct args_spec *spec, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
