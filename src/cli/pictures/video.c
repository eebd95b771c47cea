/* See video.h. A socket is ffmpeg's input: writing to one whose reader has ended is an error, and no signal. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#endif
#include "cli/pictures/video.h"

#include "cli/report_error.h"

#include "base/environment.h"
#include "base/memory.h"
#include "kernel/compile/subprocess.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 40, SAID = 400 };

/* ---- formats ----------------------------------------------------------------------------------------------------- */

/*
 * Endings, ffmpeg's names of the formats, and how they are encoded. 4:2:0 wants even sides. A palette for each frame of
 * a GIF needs no more memory than a frame.
 */
static const struct {
    const char *ending, *format;
    const char *option[12];
} kinds[] = {
    {".mp4",
     "mp4",
     {"-c:v", "libx264", "-crf", "16", "-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-movflags",
      "+faststart"}},
    {".gif",
     "gif",
     {"-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1", "-loop", "0"}},
    {".webp", "webp", {"-c:v", "libwebp", "-quality", "90", "-loop", "0"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The kind of a name's ending; -1: none. */
static int kind_of(const char *path)
{
    size_t n = strlen(path);
    for (int k = 0; k < KINDS; ++k) {
        size_t e = strlen(kinds[k].ending);
        if (n > e && strcasecmp(path + n - e, kinds[k].ending) == 0) return k;
    }
    return -1;
}

const char *video_check_name(const char *path)
{
    if (kind_of(path) >= 0) return NULL;
    return error_text("--video %s: the name says no format; end it in .mp4, .gif or .webp", path);
}

const char *video_check_program(void)
{
    char *program;
    if (sti_subprocess_find("ffmpeg", &program) == STET_OK) return sti_free(program), NULL;
    return error_text("--video: there is no ffmpeg on the PATH; install it (Debian: apt-get install ffmpeg), or leave "
                      "--video out");
}

/* ---- starting ffmpeg --------------------------------------------------------------------------------------------- */

/* What ffmpeg sees of the environment: where programs and libraries are, and no language but C's. */
typedef struct environment {
    char text[3][STI_FILE_PATH_SIZE];
    char *list[4];
} environment;

static void make_environment(environment *e)
{
    static const char *const passed[] = {"PATH", "LD_LIBRARY_PATH"};
    int n = 0;
    (void)snprintf(e->text[n], sizeof e->text[n], "LC_ALL=C");
    e->list[n] = e->text[n];
    for (int i = 0; i < 2; ++i) {
        const char *value = sti_environment(passed[i]);
        if (!value ||
            snprintf(e->text[n + 1], sizeof e->text[n + 1], "%s=%s", passed[i], value) >= (int)sizeof e->text[n + 1])
            continue;
        ++n;
        e->list[n] = e->text[n];
    }
    e->list[n + 1] = NULL;
}

/*
 * In a process group of its own, which the terminal's signals do not reach; with the usual meaning of signals that this
 * process may ignore.
 */
static int spawn_child(video *v, const char *program, char *const *argv, int in)
{
    environment seen;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if ((error = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    make_environment(&seen);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGCHLD);
    error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, fileno(v->said), 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, fileno(v->said), 2);
    if (!error) error = posix_spawn(&v->child, program, &actions, &attributes, argv, seen.list);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error) v->child = 0;
    return error;
}

/* Starts ffmpeg, which reads frames from v->in; returns errno's number. */
static int start_ffmpeg(video *v, const char *program, int width, int height, int channels, double fps)
{
    char size[32], rate[32], file[STI_FILE_PATH_SIZE + 8];
    int kind = kind_of(v->path), ends[2], n = 0;
    (void)snprintf(size, sizeof size, "%dx%d", width, height);
    (void)snprintf(rate, sizeof rate, "%.9g", fps);
    (void)snprintf(file, sizeof file, "file:%s", v->out.part);
    const char *const before[] = {"ffmpeg",
                                  "-hide_banner",
                                  "-nostdin",
                                  "-loglevel",
                                  "error",
                                  "-f",
                                  "rawvideo",
                                  "-pixel_format",
                                  channels == 4 ? "rgba" : "rgb24",
                                  "-video_size",
                                  size,
                                  "-framerate",
                                  rate,
                                  "-i",
                                  "pipe:0"},
                      *const after[] = {"-f", kinds[kind].format, "-y", file};
    char *argv[ARGUMENTS] = {NULL};
    for (size_t i = 0; i < sizeof before / sizeof *before; ++i) argv[n++] = (char *)before[i];
    for (int i = 0; kinds[kind].option[i]; ++i) argv[n++] = (char *)kinds[kind].option[i];
    for (size_t i = 0; i < sizeof after / sizeof *after; ++i) argv[n++] = (char *)after[i];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    int error = spawn_child(v, program, argv, ends[0]);
    close(ends[0]);
    if (error)
        close(ends[1]);
    else
        v->in = ends[1];
    return error;
}

const char *video_open(video *v, const char *path, int width, int height, int channels, double fps)
{
    char *program;
    *v = (video){.frame_size = (size_t)width * (size_t)height * (size_t)channels, .in = -1};
    (void)snprintf(v->path, sizeof v->path, "%s", path);
    const char *wrong = video_check_program();
    if (wrong || sti_subprocess_find("ffmpeg", &program) != STET_OK) return wrong;
    wrong = sti_output_open(&v->out, path);
    if (wrong) wrong = error_text("%s: cannot be written: %s", path, wrong);
    if (!wrong) v->said = tmpfile();
    int error = !wrong && v->said ? start_ffmpeg(v, program, width, height, channels, fps) : errno;
    if (!wrong && !v->child) wrong = error_text("%s: ffmpeg cannot be started: %s", path, strerror(error));
    sti_free(program);
    if (wrong) video_drop(v);
    return wrong;
}

/* ---- frames, and the end ----------------------------------------------------------------------------------------- */

/* Waits for ffmpeg; true: it ended well. */
static bool await_child(video *v)
{
    int status = 0;
    if (v->in >= 0) close(v->in);
    v->in = -1;
    while (waitpid(v->child, &status, 0) < 0)
        if (errno != EINTR) break;
    v->child = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line that ffmpeg said; those after it follow from it. */
static const char *failure_of(video *v)
{
    char line[SAID] = "";
    rewind(v->said);
    if (!fgets(line, sizeof line, v->said)) (void)snprintf(line, sizeof line, "it does not say why");
    line[strcspn(line, "\n")] = 0;
    return error_text("%s: ffmpeg failed: %s", v->path, line);
}

/* Ends a video whose encoder failed. */
static const char *fail(video *v)
{
    if (v->child) (void)await_child(v);
    const char *wrong = failure_of(v);
    video_drop(v);
    return wrong;
}

const char *video_add(video *v, const uint8_t *pixels)
{
    for (size_t done = 0; done < v->frame_size;) {
        ssize_t n = send(v->in, pixels + done, v->frame_size - done, MSG_NOSIGNAL);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return fail(v);
    }
    ++v->frames;
    return NULL;
}

const char *video_close(video *v)
{
    if (!v->child) return NULL;
    if (v->frames == 0) return video_drop(v), NULL;
    if (!await_child(v)) return fail(v);
    const char *wrong = sti_output_commit(&v->out);
    if (wrong) wrong = error_text("%s: writing stopped: %s", v->path, wrong);
    video_drop(v);
    return wrong;
}

void video_drop(video *v)
{
    if (v->child) {
        (void)kill(v->child, SIGKILL);
        (void)await_child(v);
    }
    if (v->said) (void)fclose(v->said);
    v->said = NULL;
    sti_output_drop(&v->out);
}
