/*
 * kernelcheck [-I FOLDER]… [--gpu] [--double] [--print] FILE.k.h…: checks kernel sources and prints what is wrong with
 * them, as compilers do. Exit code 0: nothing; 1: mistakes; 2: a file can't be read, or the command is not understood.
 *
 * --print writes the tree as C to the standard output instead of "FILE: ok".
 * A file that is a part of others and does not stand alone (names are missing that come before it there) is checked
 * where it is included.
 */
#include "base/memory.h"
#include "kernel/compile/user_source.h"

#include <stdio.h>
#include <string.h>

enum { FOLDERS = 16 };

static int print_mistakes(const sti_unit *unit)
{
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d; d = d->next)
        fprintf(stderr, "%s:%d:%d: %s\n", d->file, d->line, d->column, d->message);
    if (sti_unit_mistakes(unit) > STI_CHECK_DIAGNOSTICS)
        fprintf(stderr, "… and %d more\n", sti_unit_mistakes(unit) - STI_CHECK_DIAGNOSTICS);
    return 1;
}

static int check(const sti_user_source_def *source, const sti_check_options *options, bool print)
{
    sti_unit *unit;
    stet_result result = sti_user_source_unit(source, options, &unit);
    int code = 0;
    if (result == STET_ERROR_PARSE) {
        code = print_mistakes(unit);
    } else if (result == STET_OK && print) {
        char *text;
        result = sti_unit_print(unit, &text);
        if (result == STET_OK) {
            fputs(text, stdout);
            sti_free(text);
        }
    }
    if (result != STET_OK && result != STET_ERROR_PARSE) {
        fprintf(stderr, "%s\n", stet_get_last_error());
        code = 2;
    }
    sti_unit_destroy(unit);
    return code;
}

int main(int argc, char **argv)
{
    const char *folders[FOLDERS];
    sti_check_options options = sti_default_check_options();
    bool print = false;
    int worst = 0, files = 0;
    sti_user_source_def source = {.includes = folders};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "-I") == 0 && i + 1 < argc && source.ninclude < FOLDERS) {
            folders[source.ninclude++] = argv[++i];
        } else if (strcmp(argv[i], "--gpu") == 0) {
            options.gpu = true;
            options.lanes = 1;
        } else if (strcmp(argv[i], "--double") == 0) {
            options.real_double = true;
            options.lanes = 1;
        } else if (strcmp(argv[i], "--print") == 0) {
            print = true;
        } else if (argv[i][0] != '-') {
            source.path = argv[i];
            int code = check(&source, &options, print);
            worst = code > worst ? code : worst;
            ++files;
        } else {
            fprintf(stderr, "kernelcheck: '%s' is not understood\n", argv[i]);
            return 2;
        }
    }
    if (files == 0) {
        fprintf(stderr, "usage: kernelcheck [-I FOLDER]... [--gpu] [--double] [--print] FILE.k.h...\n");
        return 2;
    }
    return worst;
}
