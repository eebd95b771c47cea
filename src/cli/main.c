/* The command `stet`: runs the subcommand that its first word names. */
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/report_error.h"
#include "stet/stet.h"

#include <stdio.h>
#include <string.h>

/* The package's `stet` runs these itself and calls this program for the others. */
static int package_main(int argc, char **argv)
{
    (void)argc;
    return report_error(EXIT_INPUT,
                        "%s: it is a command of the Python package; install that (pip install '.[view,train,play]'), "
                        "then run `python -m stet %s`",
                        argv[0], argv[0]);
}

static const struct command {
    const char *name, *words, *help;
    int (*main)(int argc, char **argv);
} commands[] = {
    {"run", "SCENE [options]", "step copies of a scene and render them", run_main},
    {"info", "[SCENE] [--json]", "what this machine and this build have; what a scene holds", info_main},
    {"cache", "[info|list|fill...]", "the compiled kernels that are kept on disk", cache_main},
    {"adjoint", "FILE.k.h", "a kernel source with the adjoints of its kernels", adjoint_main},
    {"gradcheck", "FILE.k.h", "gradients of kernels against differences", gradcheck_main},
    {"compare", "A B | SCENE --with DEVICE", "the first bit in which two recordings or two devices differ",
     compare_main},
    {"bench", "[NAME...]", "measure how fast it is, and compare", bench_main},
    {"view", "SCENE", "a page in the browser that shows a run (the Python package's)", package_main},
    {"replay", "FOLDER", "the same of what a run recorded (the Python package's)", package_main},
    {"train", "TASK", "a policy of a task, by reinforcement learning (the Python package's)", package_main},
    {"play", "FOLDER", "the policy of a training, on a page or in a video (the Python package's)", package_main},
    {"data", "info|verify|import|export", "data sets of trajectories (the Python package's)", package_main},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_help(void)
{
    printf("stet simulates many copies of a robot scene at once and looks at them through cameras.\n\n");
    for (int i = 0; i < COMMANDS; ++i)
        printf("  stet %-9s %-25s %s\n", commands[i].name, commands[i].words, commands[i].help);
    printf("\n`stet run --help` lists its options; `stet --version` prints the versions.\n");
    return 0;
}

static int print_version(void)
{
    printf("stet %d.%d.%d (MuJoCo %s)\n", STET_VERSION_MAJOR, STET_VERSION_MINOR, STET_VERSION_PATCH,
           stet_get_mujoco_version());
    return 0;
}

static int run_command(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (stet_check_mujoco() != STET_OK) return report_last_error(EXIT_INPUT);
    for (int i = 0; i < COMMANDS; ++i)
        if (strcmp(word, commands[i].name) == 0) return commands[i].main(argc - 1, argv + 1);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) return print_help();
    if (strcmp(word, "--version") == 0) return print_version();
    if (!*word) return report_error(EXIT_INPUT, "no command is given; stet --help lists them");
    return report_error(EXIT_INPUT, "%s: there is no such command; stet --help lists them", word);
}

int main(int argc, char **argv)
{
    interrupt_begin();
    stet_leave_code_at_exit();
    return report_end_output(run_command(argc, argv));
}
