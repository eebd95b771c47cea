/* Compiling kernels for the CPU; see compile_cpu.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "kernel/compile/compile_cpu.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "kernel/compile/subprocess.h"
#include "kernel/compile/compiler_errors.h"

#include <errno.h>
#include <fcntl.h>
#include <kernel_flags.h> /* of the build */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How the device calls a kernel (sti_slot, sti_call): goes up when that changes. */
enum { CALL_VERSION = 1, MAX_ARGUMENTS = 64, SHARED_OBJECT_LIMIT = 1 << 27 };

/* The same list as for the library's kernels, made by the build (cmake/StetKernels.cmake). */
static const char *const *flags_of(sti_isa isa)
{
#define FLAGS(name, width, test_only) static const char *const flags_##name[] = {STI_KERNEL_FLAGS_##name, NULL};
    STI_ISAS(FLAGS)
#undef FLAGS
    static const char *const *const all[] = {
#define FLAGS(name, width, test_only) flags_##name,
        STI_ISAS(FLAGS)
#undef FLAGS
    };
    return all[isa];
}

/*
 * Beyond the flags of the library's kernels: one library that shows nothing but the functions asked for and lacks
 * nothing, the same bytes each time, and what C calls an error is one.
 */
static const char *const own_flags[] = {
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-pedantic-errors",
    "-Wno-psabi",
    "-Wl,-z,defs",
    "-s",
    "-Wl,--build-id=none",
    "-x",
    "c",
    "-",
    "-x",
    "none",
    "-lm",
    NULL,
};

/* ---- the compiler ------------------------------------------------------------------------------------------------ */

stet_result sti_compiler_open(const char *name, sti_compiler *out)
{
    memset(out, 0, sizeof *out);
    STI_TRY(sti_subprocess_find(name ? name : "cc", &out->path));
    char version[] = "--version", *argv[] = {out->path, version, NULL};
    sti_text_buffer nothing = {0};
    int status = 0;
    stet_result result = sti_subprocess_run(out->path, argv, "/", &nothing, &out->version, &status);
    if (result == STET_OK && (status != 0 || out->version.size == 0))
        result = sti_error(STET_UNSUPPORTED, "compiler %s: does not say its version (status %d); name a gcc or clang",
                           out->path, status);
    if (result != STET_OK) sti_compiler_close(out);
    return result;
}

void sti_compiler_close(sti_compiler *c)
{
    sti_free(c->path);
    sti_text_buffer_free(&c->version);
    c->path = NULL;
}

/* ---- the text and its key ---------------------------------------------------------------------------------------- */

stet_result sti_compile_finish(sti_user_source *source)
{
    sti_sink sink = sti_text_buffer_sink(&source->text);
    for (int i = 0; i < source->nkernel; ++i) {
        const sti_signature *sig = &source->kernel[i];
        sti_text_buffer_format(&source->text, "#line %d \"<0>\"\n", sig->line); /* what does not fit is the kernel's */
        sti_text_buffer_format(&source->text,
                               "extern __attribute__((visibility(\"default\"))) sti_call STI_ISA_NAME(sti_%s);\n",
                               sig->name);
        sti_generate_call(&sink, sig);
    }
    return source->text.result;
}

static void put_flags(sti_text_buffer *out, const char *const *flags)
{
    for (; *flags; ++flags) {
        sti_text_buffer_put(out, " ");
        sti_text_buffer_put(out, *flags);
    }
}

stet_result sti_compile_key(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *out)
{
    sti_hash second;
    sti_hash_begin(&second);
    sti_hash_add(&second, "source", 6); /* another start makes another hash */
    sti_hash_add(&second, source->text.data, source->text.size);
    sti_text_buffer_format(out, "stet %s\ncall %d\nisa %s\ncompiler ", STET_VERSION_STRING, CALL_VERSION,
                           sti_isa_name(isa));
    sti_text_buffer_put(out, c->path);
    sti_text_buffer_put(out, "\nflags");
    put_flags(out, flags_of(isa));
    put_flags(out, own_flags);
    sti_text_buffer_put(out, "\nkernels"); /* they follow from the source; whoever lists the cache can name them */
    for (int i = 0; i < source->nkernel; ++i) sti_text_buffer_format(out, " %s", source->kernel[i].name);
    sti_text_buffer_format(out, "\nsource %zu %016llx%016llx\nversion %zu\n", source->text.size,
                           (unsigned long long)sti_hash_bytes(source->text.data, source->text.size),
                           (unsigned long long)sti_hash_end(&second), c->version.size);
    sti_text_buffer_add(out, c->version.data, c->version.size);
    return out->result;
}

/* ---- what the compiler says -------------------------------------------------------------------------------------- */

static stet_result report(const sti_compiler *c, const sti_user_source *source, const sti_text_buffer *said, int status)
{
    sti_text_buffer who = {0};
    sti_text_buffer_put(&who, "compiler ");
    sti_text_buffer_put(&who, c->path);
    sti_text_buffer_format(&who, " failed (status %d)", status);
    stet_result result = who.result;
    if (result == STET_OK) result = sti_compiler_errors_report(who.data, source, said);
    sti_text_buffer_free(&who);
    return result;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static int add_arguments(char **argv, int n, const char *const *flags)
{
    for (; *flags && n < MAX_ARGUMENTS; ++flags) argv[n++] = (char *)(uintptr_t)*flags;
    return n;
}

/* Runs the compiler in a folder of its own; the object is left at `output` there. */
static stet_result run_compile_cpu(const sti_compiler *c, sti_isa isa, const sti_user_source *source,
                                   const char *folder, char *output)
{
    char dash_o[] = "-o", *argv[MAX_ARGUMENTS + 4] = {c->path};
    int n = add_arguments(argv, 1, flags_of(isa)), status = 0;
    n = add_arguments(argv, n, own_flags);
    argv[n++] = dash_o;
    argv[n++] = output;
    sti_text_buffer said = {0};
    stet_result result = sti_subprocess_run(c->path, argv, folder, &source->text, &said, &status);
    if (result == STET_OK && (status != 0 || access(output, R_OK) != 0)) result = report(c, source, &said, status);
    sti_text_buffer_free(&said);
    return result;
}

static stet_result compile_in(const sti_compiler *c, sti_isa isa, const sti_user_source *source, const char *folder,
                              sti_text_buffer *object)
{
    sti_text_buffer output = {0};
    sti_text_buffer_put(&output, folder);
    sti_text_buffer_put(&output, "/kernel.so");
    stet_result result = output.result;
    if (result == STET_OK) result = run_compile_cpu(c, isa, source, folder, output.data);
    if (result == STET_OK) {
        int fd = open(output.data, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0) {
            result = sti_text_buffer_read(object, fd, SHARED_OBJECT_LIMIT, output.data);
            close(fd);
        } else {
            result = sti_error(STET_IO, "compiler %s: its output cannot be opened: %s", c->path, strerror(errno));
        }
    }
    if (output.data) (void)unlink(output.data);
    sti_text_buffer_free(&output);
    return result;
}

stet_result sti_compile_cpu(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *object)
{
    const char *above = sti_environment("TMPDIR");
    sti_text_buffer folder = {0};
    sti_text_buffer_put(&folder, above && above[0] == '/' ? above : "/tmp");
    sti_text_buffer_put(&folder, "/stet-XXXXXX");
    stet_result result = folder.result;
    if (result == STET_OK && !mkdtemp(folder.data))
        result =
            sti_error(STET_IO, "compiler %s: no folder to work in (%s): %s", c->path, folder.data, strerror(errno));
    if (result == STET_OK) {
        result = compile_in(c, isa, source, folder.data, object);
        (void)rmdir(folder.data);
    }
    sti_text_buffer_free(&folder);
    return result;
}
