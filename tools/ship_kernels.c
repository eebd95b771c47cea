/*
 * Compiles files of kernels, for every instruction set that the library is built for, into a folder of entries that
 * programs ship beside themselves, so that no compiler is needed where they run (stet_kernel_def.shipped_folder). Runs
 * during the build, at its end, so the sets are compiled side by side, a process each.
 *
 *   ship_kernels FOLDER COMPILER INCLUDES FILE.k.h…
 */
#include "base/error.h"
#include "device/isa.h"
#include "kernel/compile/compile_cpu.h"
#include "kernel/compile/compiled.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static stet_result compile(const char *folder, const sti_compiler *compiler, sti_isa isa, sti_user_source *source)
{
    sti_text_buffer text = {0}, object = {0};
    stet_result result = sti_compile_key(NULL, isa, source, &text);
    if (result == STET_OK) result = sti_compile_cpu(compiler, isa, source, &object);
    if (result == STET_OK) {
        const sti_cache_key key = sti_cache_key_of(text.data, text.size);
        result = sti_compiled_ship(folder, &key, &object);
    }
    sti_text_buffer_free(&text);
    sti_text_buffer_free(&object);
    return result;
}

static stet_result ship(const char *folder, const sti_compiler *compiler, sti_isa isa, const char *includes,
                        const char *file)
{
    const sti_user_source_def def = {.path = file, .includes = &includes, .ninclude = 1};
    sti_check_options options = sti_default_check_options();
    sti_user_source source = {0};
    options.lanes = sti_isa_width(isa);
    options.real_double = isa == STI_ISA_f64;
    STI_TRY(sti_user_source_read(&def, &source));
    stet_result result = sti_user_source_check(&source, &options);
    if (result == STET_OK) result = sti_compile_finish(&source);
    if (result == STET_OK) result = compile(folder, compiler, isa, &source);
    sti_user_source_free(&source);
    return result;
}

/* All files for one set; the exit code of its process. */
static int ship_all(int argc, char **argv, sti_isa isa)
{
    sti_compiler compiler;
    stet_result result = sti_compiler_open(argv[2], &compiler);
    if (result == STET_OK) {
        for (int i = 4; i < argc && result == STET_OK; ++i) result = ship(argv[1], &compiler, isa, argv[3], argv[i]);
        sti_compiler_close(&compiler);
    }
    if (result != STET_OK) fprintf(stderr, "ship_kernels: %s\n", stet_get_last_error());
    return result != STET_OK;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: ship_kernels FOLDER COMPILER INCLUDES FILE.k.h…\n");
        return 2;
    }
    int status, failed = 0;
    for (int isa = 0; isa < STI_ISA_COUNT && !failed; ++isa) {
        if (!sti_isa_built((sti_isa)isa)) continue;
        const pid_t child = fork();
        if (child == 0) _exit(ship_all(argc, argv, (sti_isa)isa));
        if (child < 0) {
            perror("ship_kernels: no process for an instruction set");
            failed = 1;
        }
    }
    while (wait(&status) > 0) failed = failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed;
}
