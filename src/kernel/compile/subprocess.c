/*
 * Finds and runs other programs; see subprocess.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, posix_spawn_file_actions_addchdir_np */
#endif
#include "kernel/compile/subprocess.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRORS_LIMIT = 1 << 20 };

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/*
 * Finds the first folder in the list `folders` (separated by colons) that has the program. *path is NULL if none has.
 */
static stet_result search(const char *folders, const char *name, char **path)
{
    for (const char *at = folders;; ++at) {
        size_t n = strcspn(at, ":");
        sti_text_buffer candidate = {0};
        sti_text_buffer_add(&candidate, n ? at : ".", n ? n : 1);
        sti_text_buffer_put(&candidate, "/");
        sti_text_buffer_put(&candidate, name);
        if (candidate.result == STET_OK && is_program(candidate.data)) {
            *path = candidate.data; /* the caller frees it with sti_free */
            return STET_OK;
        }
        stet_result result = candidate.result;
        sti_text_buffer_free(&candidate);
        STI_TRY(result);
        at += n;
        if (!*at) return STET_OK;
    }
}

stet_result sti_subprocess_find(const char *name, char **path)
{
    *path = NULL;
    if (strchr(name, '/')) {
        if (is_program(name)) return sti_strdup(path, name);
    } else if (name[0]) {
        const char *folders = sti_environment("PATH");
        STI_TRY(search(folders ? folders : "/usr/local/bin:/usr/bin:/bin", name, path));
        if (*path) return STET_OK;
    }
    return sti_error(
        STET_ERROR_NOT_FOUND,
        "there is no compiler '%s' to be found; install a C compiler (gcc or clang), or name one: as the kernel's "
        "`compiler`, or in the environment variable CC",
        name);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

enum { ENVIRONMENT_MAX = 6 };

static void add_variable(sti_text_buffer *t, size_t starts[ENVIRONMENT_MAX], int *n, const char *name,
                         const char *value)
{
    if (!value) return;
    starts[(*n)++] = t->size;
    sti_text_buffer_put(t, name);
    sti_text_buffer_put(t, "=");
    sti_text_buffer_put(t, value);
    sti_text_buffer_add(t, "", 1);
}

/* Writes the variables, each zero-terminated, to `t`. `out` gets pointers to them, ended by NULL. */
static stet_result make_environment(const char *folder, sti_text_buffer *t, char *out[ENVIRONMENT_MAX])
{
    size_t starts[ENVIRONMENT_MAX];
    int n = 0;
    static const char *const passed[] = {"PATH", "LD_LIBRARY_PATH", "HOME"};
    add_variable(t, starts, &n, "LC_ALL", "C");
    add_variable(t, starts, &n, "TMPDIR", folder);
    for (int i = 0; i < 3; ++i) add_variable(t, starts, &n, passed[i], sti_environment(passed[i]));
    for (int i = 0; i < n; ++i) out[i] = t->result == STET_OK ? t->data + starts[i] : NULL;
    out[n] = NULL;
    return t->result;
}

/* Makes an unnamed file in memory that begins with `text`, if there is one. */
static stet_result memory_file(const sti_text_buffer *text, int *fd)
{
    *fd = memfd_create("stet", MFD_CLOEXEC);
    /* numbers 0, 1 and 2 are free if the host closed its own files, and the child needs them: take a higher one */
    if (*fd >= 0 && *fd < 3) {
        int low = *fd;
        *fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
        close(low);
    }
    if (*fd < 0)
        return sti_error(STET_ERROR_IO, "compiler: no memory file for its input or output: %s", strerror(errno));
    bool ok = !text || sti_write_all(*fd, text->data, text->size);
    if (ok && lseek(*fd, 0, SEEK_SET) == 0) return STET_OK;
    stet_result result =
        sti_error(STET_ERROR_IO, "compiler: its input could not be written to memory: %s", strerror(errno));
    close(*fd);
    *fd = -1;
    return result;
}

static int spawn(const char *path, char *const *argv, char *const *environment, const char *folder, int in, int out,
                 pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if ((error = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigemptyset(&none);
    sigemptyset(&usual); /* a compiler waits for its own children, and must end when its output is closed */
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, 2);
    if (!error) error = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!error) error = posix_spawn(child, path, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Linux before 5.3 has no descriptor of a process: then nobody hears that it takes long. */
static bool takes_longer(pid_t child, const sti_patience *patience)
{
    struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, child, 0U), .events = POLLIN};
    int ended = 1;
    if (process.fd < 0) return false;
    do ended = poll(&process, 1, patience->milliseconds);
    while (ended < 0 && errno == EINTR);
    close(process.fd);
    return ended == 0;
}

static int wait_for(pid_t child, const sti_patience *patience)
{
    int status = 0;
    if (patience && takes_longer(child, patience)) patience->over(patience->context);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static stet_result run_between(const char *path, char *const *argv, const char *folder, int in, int out,
                               sti_text_buffer *said, const sti_patience *patience, int *status)
{
    sti_text_buffer block = {0};
    char *environment[ENVIRONMENT_MAX];
    pid_t child;
    stet_result result = make_environment(folder, &block, environment);
    int error = result == STET_OK ? spawn(path, argv, environment, folder, in, out, &child) : 0;
    if (result == STET_OK && error)
        result = sti_error(STET_ERROR_IO, "compiler %s: cannot be started: %s", path, strerror(error));
    if (result == STET_OK) {
        *status = wait_for(child, patience);
        lseek(out, 0, SEEK_SET);
        result = sti_text_buffer_read(said, out, ERRORS_LIMIT, "what the compiler says");
    }
    sti_text_buffer_free(&block);
    return result;
}

stet_result sti_subprocess_run(const char *path, char *const *argv, const char *folder, const sti_text_buffer *input,
                               sti_text_buffer *said, const sti_patience *patience, int *status)
{
    int in, out;
    STI_TRY(memory_file(input, &in));
    stet_result result = memory_file(NULL, &out);
    if (result == STET_OK) {
        result = run_between(path, argv, folder, in, out, said, patience, status);
        close(out);
    }
    close(in);
    return result;
}
