/* The random program's dice, its log, and how it compares. */
#include "sim/program/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

int roll(program *p, int n) { return (int)dice_below(&p->dice, (size_t)n); }

bool once_in(program *p, int n) { return roll(p, n) == 0; }

float wave(program *p) { return (float)((double)(dice_next(&p->dice) >> 40) / 8388608.0 - 1.0); }

float near(program *p, float x)
{
    int kind = roll(p, 400);
    if (kind == 0) return NAN;
    if (kind == 1) return INFINITY;
    if (kind == 2) return 1e30f;
    if (kind == 3) return -0.0f;
    if (!isfinite(x) || fabsf(x) > 1e3f) x = 0;
    return kind < 40 ? x : x + 0.3f * wave(p);
}

void say(program *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *line = p->said[p->operation % SAID];
    size_t used = strlen(line); /* what an operation says more than once is one line */
    if (used < LINE) (void)vsnprintf(line + used, LINE - used, format, list);
    va_end(list);
}

/* Which widths there are, a machine says: another one may need more than the seed. */
static int lanes_of(const program *p, int who) { return p->sim[who] ? device_of(p, who)->lanes : 0; }

void stop(program *p, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int64_t first = p->operation + 1 > SAID ? p->operation + 1 - SAID : 0;
    print_message("the last operations (scene %d, %lld worlds, subject and twin of %d and %d lanes):\n", p->scene,
                  (long long)p->nworld, lanes_of(p, SUBJECT), lanes_of(p, TWIN));
    for (int64_t k = first; k <= p->operation; ++k) print_message("  %6lld %s\n", (long long)k, p->said[k % SAID]);
    fail_msg("operation %lld: %s; STET_TEST_SEED=%llu repeats it", (long long)p->operation, text,
             (unsigned long long)p->seed);
    abort(); /* fail_msg does not come back, but does not say so */
}

void must(program *p, int who, stet_result result, const char *call)
{
    CHECK(p, result == STET_OK, "%s, %s: %s: %s (%s)", who == SUBJECT ? "subject" : "twin", call,
          stet_result_sentence(result), stet_get_last_error(), stet_get_last_error_where());
}

void same_bytes(program *p, const void *subject, const void *twin, size_t size, const char *what)
{
    const uint8_t *a = subject, *b = twin;
    size_t k = 0;
    if (size == 0 || memcmp(a, b, size) == 0) return;
    while (a[k] == b[k]) k++;
    uint32_t x = 0, y = 0;
    memcpy(&x, a + k / 4 * 4, size - k / 4 * 4 < 4 ? size - k / 4 * 4 : 4);
    memcpy(&y, b + k / 4 * 4, size - k / 4 * 4 < 4 ? size - k / 4 * 4 : 4);
    stop(p, "%s: byte %zu of %zu differs (word %08x, the twin has %08x)", what, k, size, x, y);
}

void *room(program *p, size_t size)
{
    void *memory = malloc(size + 1);
    CHECK(p, memory, "out of memory");
    return memory;
}

void fetch(program *p, int who, stet_array *a, bool mirror, void *out)
{
    const void *data;
    size_t size = stet_array_get_bytes(a);
    if (!mirror) {
        must(p, who, stet_array_read(a, out, size), "stet_array_read");
        return;
    }
    must(p, who, stet_array_get_host(a, &data), "stet_array_get_host");
    if (size > 0) memcpy(out, data, size);
}
