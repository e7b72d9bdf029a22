/* The subcommands: one row of a table and one file cmd_NAME.c each. */
#ifndef YPK_TOOLS_COMMANDS_H
#define YPK_TOOLS_COMMANDS_H

struct command {
    const char *name;
    const char *summary;               /* one line, for the overview */
    int (*run)(int argc, char **argv); /* argv[0] is ignored; returns the exit code */
};

/* The row of that name, or NULL. */
const struct command *command_find(const char *name);

/* The name nearest to a mistyped one, or NULL. */
const char *command_suggest(const char *name);

void commands_print_help(void);
void commands_print_version(void);

int cmd_pack(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_stage(int argc, char **argv);
int cmd_unstage(int argc, char **argv);
int cmd_staged(int argc, char **argv);
int cmd_reindex(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_synth(int argc, char **argv);

#endif
