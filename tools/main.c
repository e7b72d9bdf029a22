#include "commands.h"
#include "output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int run_help(int argc, char **argv) {
    const struct command *command = argc > 2 ? command_find(argv[2]) : NULL;
    if (command != NULL) {
        char *help[] = {argv[2], "--help", NULL};
        return command->run(2, help);
    }
    if (argc > 2) {
        const char *near = command_suggest(argv[2]);
        if (near != NULL)
            fprintf(stderr, "yolopack: no command %s (did you mean %s?)\n", argv[2], near);
        else
            fprintf(stderr, "yolopack: no command %s (yolopack --help lists them)\n", argv[2]);
        return EXIT_USAGE;
    }
    commands_print_help();
    return EXIT_DONE;
}

/* `yolopack DATASET` is `yolopack pack DATASET`; a word that is neither a command nor a path may be a mistyped command.
 * Anything else is pack's to judge: it knows the names of the files near by. */
static int run_unnamed(int argc, char **argv) {
    struct stat st;
    const char *word = argv[1];
    if (word[0] != '-' && strchr(word, '/') == NULL && stat(word, &st) != 0) {
        const char *near = command_suggest(word);
        if (near != NULL) {
            fprintf(stderr, "yolopack: %s is neither a command nor a file (did you mean yolopack %s?)\n", word, near);
            return EXIT_USAGE;
        }
    }
    return cmd_pack(argc, argv);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        fputs("yolopack: no data set and no command given (yolopack --help shows both)\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return run_help(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        commands_print_version();
        return EXIT_DONE;
    }
    const struct command *command = command_find(argv[1]);
    return command != NULL ? command->run(argc - 1, argv + 1) : run_unnamed(argc, argv);
}

/* A standard stream that is closed would become the first file that is opened, and what is printed would go into it.
 * What is printed to standard output is still an error: /dev/null is opened for reading there. */
static void hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv) {
    hold_standard_streams();
    return output_finish(run(argc, argv));
}
