/*
 * `stet adjoint FILE.k.h`: a kernel source and the adjoints of its kernels, as one text to read or to compile.
 */
#include "adjoint/transform/adjoint.h"
#include "cli/command.h"
#include "cli/report_error.h"
#include "kernel/compile/user_source.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 32 };

typedef struct adjoint_options {
    const char *path, *folder[WORDS], *constant[WORDS];
    int nfolder, nconstant;
    bool gpu, help;
} adjoint_options;

static int print_usage(void)
{
    printf("stet adjoint FILE.k.h [options]\n\n"
           "Prints the source with the adjoint of each kernel (of each function, where there are no kernels).\n\n"
           "  --constant NAME   the kernels' parameter NAME is constant: it gets no gradient; may be repeated\n"
           "  -I FOLDER         also looks there for what the file includes; may be repeated\n"
           "  --gpu             as the source is for a GPU, where it asks with #if\n");
    return 0;
}

/* Reads a word that takes a value; false: the value is missing, or there are too many. */
static bool take_adjoint_command(const char *const *argv, int argc, int *i, const char **list, int *n)
{
    if (*i + 1 >= argc || *n == WORDS) return false;
    list[(*n)++] = argv[++*i];
    return true;
}

static int parse(int argc, char **argv, adjoint_options *o)
{
    const char *const *words = (const char *const *)argv;
    for (int i = 1; i < argc; ++i) {
        bool good = true;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            o->help = true;
        else if (strcmp(argv[i], "--constant") == 0)
            good = take_adjoint_command(words, argc, &i, o->constant, &o->nconstant);
        else if (strcmp(argv[i], "-I") == 0)
            good = take_adjoint_command(words, argc, &i, o->folder, &o->nfolder);
        else if (strcmp(argv[i], "--gpu") == 0)
            o->gpu = true;
        else if (argv[i][0] == '-' || o->path)
            return report_error(EXIT_INPUT, "%s: not understood; stet adjoint --help lists the options", argv[i]);
        else
            o->path = argv[i];
        if (!good) return report_error(EXIT_INPUT, "%s: takes a value, and at most %d times", argv[i], WORDS);
    }
    if (!o->path && !o->help) return report_error(EXIT_INPUT, "no file is given; stet adjoint FILE.k.h");
    return 0;
}

/* Prints all mistakes in the format of compilers. */
static int print_mistakes(const sti_unit *unit)
{
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d; d = d->next)
        fprintf(stderr, "%s:%d:%d: %s\n", d->file, d->line, d->column, d->message);
    return EXIT_INPUT;
}

static int print_adjoint(const adjoint_options *o)
{
    sti_check_options check = sti_default_check_options();
    const sti_adjoint_options options = {.constant = o->constant, .nconstant = o->nconstant};
    sti_unit *unit;
    sti_adjoint adjoint = {0};
    check.gpu = o->gpu;
    if (o->gpu) check.lanes = 1;
    const sti_user_source_def source = {.path = o->path, .includes = o->folder, .ninclude = o->nfolder};
    stet_result result = sti_user_source_unit(&source, &check, &unit);
    if (result == STET_OK) result = sti_adjoint_make(unit, &options, &adjoint);
    int code = 0;
    if (result == STET_OK)
        fputs(adjoint.text.data, stdout);
    else
        code = unit && sti_unit_mistakes(unit) > 0 ? print_mistakes(unit) : report_last_error(EXIT_INPUT);
    sti_adjoint_free(&adjoint);
    sti_unit_destroy(unit);
    return code;
}

int adjoint_main(int argc, char **argv)
{
    adjoint_options o = {0};
    report_begin("stet adjoint", WARNINGS_SHOWN);
    int code = parse(argc, argv, &o);
    if (code != 0) return code;
    return o.help ? print_usage() : print_adjoint(&o);
}
