/* What a model may ask of MuJoCo; see limits.h. */
#include "model/limits.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes that this process may have; 0: not known. */
static double memory_limit(void)
{
    struct rlimit r;
    double have = sti_machine_memory();
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && (have == 0 || (double)r.rlim_cur < have))
        have = (double)r.rlim_cur;
    return have;
}

static stet_result check_memory(const char *what, const char *name, double bytes)
{
    enum { COPIES = 4 }; /* in the compiler and in the model, while it is made */
    double have = memory_limit();
    if (have == 0 || COPIES * bytes <= have) return STET_OK;
    return sti_error(STET_ERROR_LIMIT,
                     "%s: its %s needs %.1f GB while MuJoCo compiles it, and this process has %.1f GB; make it smaller",
                     what, name, COPIES * bytes / 1e9, have / 1e9);
}

/* ---- repetitions in a text --------------------------------------------------------------------------------------- */

enum { DEEPEST = 16, MOST_SECONDS = 60, TEXT_LIMIT = 1 << 28 };

/* Elements whose attribute count repeats something, and how often in all: a minute of MuJoCo's time, about. */
static const struct {
    const char *name;
    double most;
    bool nests; /* what is in it is repeated with it */
} repeating[] = {{"replicate", 2e4, true}, {"composite", 2e4, false}, {"flexcomp", 1e6, false}};
enum { REPEATING = sizeof repeating / sizeof *repeating };

/* The product of the numbers of an attribute's value, which begins at p with a quote. */
static double multiply(const char *p, const char *end)
{
    double product = 1;
    char quote = *p++, *next;
    for (; p < end && *p != quote; p = next + strspn(next, " \t\r\n,")) {
        double x = strtod(p, &next);
        if (next == p) break;
        if (x > 1) product *= x;
    }
    return product;
}

/* The numbers of an attribute of an element that goes from `at` to `end`, multiplied; `none`: it is not there. */
static double read_number(const char *at, const char *end, const char *name, double none)
{
    static const char blank[] = " \t\r\n";
    size_t n = strlen(name);
    for (const char *p = at + 1; p < end; ++p) {
        if (!strchr(blank, p[-1]) || strncmp(p, name, n) != 0) continue;
        const char *is = p + n + strspn(p + n, blank);
        if (*is == '=') return multiply(is + 1 + strspn(is + 1, blank), end);
    }
    return none;
}

/* Behind a comment that begins at p; p: none does. */
static const char *skip_comment(const char *p)
{
    if (strncmp(p, "<!--", 4) != 0) return p;
    const char *end = strstr(p + 4, "-->");
    return end ? end + 3 : p + strlen(p);
}

/* Is the element at p, behind "<" or "</", of this name? */
static bool is_named(const char *p, const char *name)
{
    size_t n = strlen(name);
    return strncmp(p, name, n) == 0 && strchr(" \t\r\n/>", p[n]);
}

/* Which element begins at p; -1: none of these. */
static int find_element(const char *p)
{
    int k = REPEATING - 1;
    while (k >= 0 && !is_named(p, repeating[k].name)) --k;
    return k;
}

/* Height fields and textures are made when they are parsed. */
static stet_result check_pictures(const char *what, const char *p, const char *end)
{
    if (is_named(p + 1, "hfield"))
        return check_memory(what, "height field",
                            (double)sizeof(float) * read_number(p, end, "nrow", 0) * read_number(p, end, "ncol", 0));
    if (!is_named(p + 1, "texture")) return STET_OK;
    double width = read_number(p, end, "width", 0); /* a cube has six pictures */
    return check_memory(what, "texture", 3 * width * read_number(p, end, "height", 6 * width));
}

static stet_result refuse_count(const char *what, const char *name, double count, double most)
{
    return sti_error(STET_ERROR_LIMIT,
                     "%s: <%s> makes %.0f of something, for which MuJoCo needs very long or too much memory; %.0f is "
                     "the most",
                     what, name, count, most);
}

stet_result sti_limits_check_text(const char *what, const char *text)
{
    double times[DEEPEST] = {1}; /* of what is in <replicate> elements that are open */
    int depth = 0;
    for (const char *p = text; (p = strchr(p, '<'));) {
        const char *behind = skip_comment(p), *end = strchr(p, '>');
        if (behind != p || !end) {
            p = behind != p ? behind : p + 1;
            continue;
        }
        STI_TRY(check_pictures(what, p, end));
        int closes = p[1] == '/', k = find_element(p + 1 + closes);
        if (k >= 0 && closes && repeating[k].nests && depth > 0) depth--;
        if (k >= 0 && !closes) {
            double count = times[depth] * read_number(p, end, "count", 1);
            if (count > repeating[k].most) return refuse_count(what, repeating[k].name, count, repeating[k].most);
            if (repeating[k].nests && end[-1] != '/' && depth + 1 < DEEPEST) times[++depth] = count;
        }
        p = end + 1;
    }
    return STET_OK;
}

stet_result sti_limits_check_file(const char *path)
{
    const char *why;
    struct stat s;
    stet_result result = STET_OK;
    FILE *f = sti_input_open(path, &why);
    char *text = f && fstat(fileno(f), &s) == 0 && s.st_size < TEXT_LIMIT ? malloc((size_t)s.st_size + 1) : NULL;
    if (text) {
        text[fread(text, 1, (size_t)s.st_size, f)] = 0;
        result = sti_limits_check_text(path, text);
    }
    free(text);
    if (f) (void)fclose(f);
    return result;
}

/* ---- memory of a parsed model ------------------------------------------------------------------------------------ */

/* What asks for most memory. */
typedef struct demand {
    mjSpec *spec;
    const char *name;
    double bytes;
} demand;

static void take_demand(demand *d, const char *name, double bytes)
{
    if (bytes <= d->bytes) return;
    d->name = name;
    d->bytes = bytes;
}

static void measure_users(void *context)
{
    demand *d = context;
    const struct {
        const char *name;
        int numbers; /* of an element */
        mjtObj type;
    } users[] = {
        {"nuser_body", d->spec->nuser_body, mjOBJ_BODY},
        {"nuser_jnt", d->spec->nuser_jnt, mjOBJ_JOINT},
        {"nuser_geom", d->spec->nuser_geom, mjOBJ_GEOM},
        {"nuser_site", d->spec->nuser_site, mjOBJ_SITE},
        {"nuser_cam", d->spec->nuser_cam, mjOBJ_CAMERA},
        {"nuser_tendon", d->spec->nuser_tendon, mjOBJ_TENDON},
        {"nuser_actuator", d->spec->nuser_actuator, mjOBJ_ACTUATOR},
        {"nuser_sensor", d->spec->nuser_sensor, mjOBJ_SENSOR},
    };
    for (size_t k = 0; k < sizeof users / sizeof *users; ++k) {
        double n = 0;
        if (users[k].numbers <= 0) continue;
        for (mjsElement *e = mjs_firstElement(d->spec, users[k].type); e; e = mjs_nextElement(d->spec, e)) n++;
        take_demand(d, users[k].name, n * users[k].numbers * (double)sizeof(mjtNum));
    }
}

stet_result sti_limits_check_spec(const char *what, mjSpec *spec)
{
    demand d = {.spec = spec};
    if (!sti_mujoco_guard(measure_users, &d, NULL, 0)) return STET_OK; /* MuJoCo says why when it compiles */
    return check_memory(what, d.name, d.bytes);
}

/* ---- another process --------------------------------------------------------------------------------------------- */

/* In the new process, which says so when it is through, and ends without what a process does at its end. */
static void run_alone(void (*call)(void *context), void *context, int through)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    sigset_t none;
    (void)sigemptyset(&none);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; ++k) (void)signal(signals[k], SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    int nowhere = open("/dev/null", O_WRONLY); /* what a dying library says is not the program's */
    if (nowhere >= 0) (void)(dup2(nowhere, 1) + dup2(nowhere, 2));
    stet_set_log(NULL, NULL); /* whose callback may want what another thread has */
    call(context);
    (void)!write(through, "!", 1);
    for (;;) (void)kill(getpid(), SIGKILL);
}

/* Waits for the word of a process that is through, but not for ever; then it is no more. */
static bool hear(int through, pid_t child)
{
    struct pollfd p = {.fd = through, .events = POLLIN};
    char word;
    int ready;
    do ready = poll(&p, 1, 1000 * MOST_SECONDS);
    while (ready < 0 && errno == EINTR);
    bool heard = ready > 0 && read(through, &word, 1) == 1;
    (void)kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    return heard;
}

bool sti_limits_survives(void (*call)(void *context), void *context)
{
    int ends[2];
    if (pipe(ends) != 0) return true;
    pid_t child = fork();
    if (child == 0) run_alone(call, context, ends[1]);
    (void)close(ends[1]);
    bool survives = child < 0 || hear(ends[0], child);
    (void)close(ends[0]);
    return survives;
}
