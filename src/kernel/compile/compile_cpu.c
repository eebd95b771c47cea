/* Compiling kernels for the CPU; see compile_cpu.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "kernel/compile/compile_cpu.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/plural.h"
#include "base/temporary.h"
#include "kernel/compile/subprocess.h"
#include "kernel/compile/compiler_errors.h"

#include <errno.h>
#include <fcntl.h>
#include <kernel_flags.h> /* of the build */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Version of how the device calls a kernel (sti_slot, sti_call). Increase it when that changes. */
enum { CALL_VERSION = 1, MAX_ARGUMENTS = 64, SHARED_OBJECT_LIMIT = 1 << 27, PATIENCE = 5000 };

/* The list of flags of the library's kernels, written by the build (cmake/StetKernels.cmake). */
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
 * Flags beyond those of the library's kernels: a shared library that exports only the requested functions and lacks no
 * symbol; the same bytes each time; what C calls an error is an error.
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

/* CC holds a program and its first arguments. */
static stet_result find_in_environment(const char *cc, sti_compiler *out)
{
    char *rest = NULL;
    STI_TRY(sti_strdup(&out->words, cc));
    const char *name = strtok_r(out->words, " \t", &rest);
    for (char *word; (word = strtok_r(NULL, " \t", &rest));) {
        if (out->nargument == STI_COMPILER_WORDS)
            return sti_error(STET_ERROR_LIMIT,
                             "the environment variable CC has more than %d words: '%s'; name a program",
                             STI_COMPILER_WORDS + 1, cc);
        out->argument[out->nargument++] = word;
    }
    return sti_subprocess_find(name ? name : "cc", &out->path);
}

static stet_result ask_version(sti_compiler *out)
{
    char version[] = "--version", *argv[STI_COMPILER_WORDS + 3] = {out->path};
    sti_text_buffer nothing = {0};
    int status = 0;
    memcpy(argv + 1, out->argument, (size_t)out->nargument * sizeof *argv);
    argv[1 + out->nargument] = version;
    stet_result result = sti_subprocess_run(out->path, argv, "/", &nothing, &out->version, NULL, &status);
    if (result == STET_OK && (status != 0 || out->version.size == 0))
        result = sti_error(STET_ERROR_UNSUPPORTED,
                           "compiler %s: does not say its version (status %d); name a gcc or clang", out->path, status);
    return result;
}

stet_result sti_compiler_open(const char *name, sti_compiler *out)
{
    const char *cc = name ? NULL : sti_environment("CC");
    memset(out, 0, sizeof *out);
    out->patience = PATIENCE;
    stet_result result = cc ? find_in_environment(cc, out) : sti_subprocess_find(name ? name : "cc", &out->path);
    if (result == STET_OK) result = ask_version(out);
    if (result != STET_OK) sti_compiler_close(out);
    return result;
}

void sti_compiler_close(sti_compiler *c)
{
    sti_free(c->path);
    sti_free(c->words);
    sti_text_buffer_free(&c->version);
    c->path = c->words = NULL;
    c->nargument = 0;
}

/* ---- the text and its key ---------------------------------------------------------------------------------------- */

stet_result sti_compile_finish(sti_user_source *source)
{
    sti_sink sink = sti_text_buffer_sink(&source->text);
    for (int i = 0; i < source->nkernel; ++i) {
        const sti_signature *sig = &source->kernel[i];
        /* errors in a call are reported at the kernel's line */
        sti_text_buffer_format(&source->text, "#line %d \"<0>\"\n", sig->line);
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

static void put_compiler(sti_text_buffer *out, const sti_compiler *c)
{
    sti_text_buffer_put(out, "compiler ");
    sti_text_buffer_put(out, c->path);
    for (int i = 0; i < c->nargument; ++i) {
        sti_text_buffer_put(out, " ");
        sti_text_buffer_put(out, c->argument[i]);
    }
    sti_text_buffer_format(out, "\nversion %zu\n", c->version.size);
    sti_text_buffer_add(out, c->version.data, c->version.size);
}

stet_result sti_compile_key(const sti_compiler *c, sti_isa isa, const sti_user_source *source, sti_text_buffer *out)
{
    sti_hash second;
    sti_hash_begin(&second);
    sti_hash_add(&second, "source", 6); /* another start value gives another hash */
    sti_hash_add(&second, source->text.data, source->text.size);
    sti_text_buffer_format(out, "stet %s\ncall %d\nisa %s\nflags", STET_VERSION_STRING, CALL_VERSION,
                           sti_isa_name(isa));
    put_flags(out, flags_of(isa));
    put_flags(out, own_flags);
    /* the kernels follow from the source; listed so that a listing of the cache can name them */
    sti_text_buffer_put(out, "\nkernels");
    for (int i = 0; i < source->nkernel; ++i) sti_text_buffer_format(out, " %s", source->kernel[i].name);
    sti_text_buffer_format(out, "\nsource %zu %016llx%016llx\n", source->text.size,
                           (unsigned long long)sti_hash_bytes(source->text.data, source->text.size),
                           (unsigned long long)sti_hash_end(&second));
    if (c) put_compiler(out, c);
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

/* Does the compiler complain of the disk, not of the source? It speaks English (sti_subprocess_run). */
static bool lacks_room(const sti_text_buffer *said)
{
    return said->data && (strstr(said->data, "No space left on device") || strstr(said->data, "Disk quota exceeded"));
}

/* What a person who waits wants to know, and the author of the kernel. */
static void say_slow(void *context)
{
    const sti_user_source *source = context;
    int statements = 0;
    for (const char *c = source->file[0].text.data; c && *c; ++c) statements += *c == ';';
    sti_log(STET_LOG_WARNING,
            "%s: the C compiler is not done with kernel %s yet; long kernels (this file has about %d statement%s) take "
            "it minutes; loops and functions that are not inlined (STET_CALLED) make it faster, and the code is kept",
            source->file[0].name, source->kernel[0].name, statements, STI_S(statements));
}

/* Runs the compiler in a folder of its own. The object is in the file `output` there afterwards. */
static stet_result run_compile_cpu(const sti_compiler *c, sti_isa isa, const sti_user_source *source,
                                   const char *folder, char *output)
{
    char dash_o[] = "-o", *argv[MAX_ARGUMENTS + 4] = {c->path};
    memcpy(argv + 1, c->argument, (size_t)c->nargument * sizeof *argv);
    int n = add_arguments(argv, 1 + c->nargument, flags_of(isa)), status = 0;
    n = add_arguments(argv, n, own_flags);
    argv[n++] = dash_o;
    argv[n++] = output;
    sti_text_buffer said = {0};
    const sti_patience patience = {c->patience, say_slow, (void *)(uintptr_t)source};
    stet_result result = sti_subprocess_run(c->path, argv, folder, &source->text, &said, &patience, &status);
    bool failed = result == STET_OK && (status != 0 || access(output, R_OK) != 0);
    if (failed && lacks_room(&said))
        result =
            sti_error(STET_ERROR_IO,
                      "compiler %s: there is no room left for its files in %s; make some, or set TMPDIR to another "
                      "folder",
                      c->path, folder);
    else if (failed)
        result = report(c, source, &said, status);
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
    if (result == STET_OK) sti_temporary_add(output.data);
    if (result == STET_OK) result = run_compile_cpu(c, isa, source, folder, output.data);
    if (result == STET_OK) {
        int fd = open(output.data, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0) {
            result = sti_text_buffer_read(object, fd, SHARED_OBJECT_LIMIT, output.data);
            close(fd);
        } else {
            result = sti_error(STET_ERROR_IO, "compiler %s: its output cannot be opened: %s", c->path, strerror(errno));
        }
    }
    if (output.data) (void)unlink(output.data);
    if (output.data) sti_temporary_drop(output.data);
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
        result = sti_error(STET_ERROR_IO, "compiler %s: no folder to work in (%s): %s", c->path, folder.data,
                           strerror(errno));
    if (result == STET_OK) {
        sti_temporary_add(folder.data);
        result = compile_in(c, isa, source, folder.data, object);
        (void)rmdir(folder.data);
        sti_temporary_drop(folder.data);
    }
    sti_text_buffer_free(&folder);
    return result;
}
