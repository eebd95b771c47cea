/* See difference.h. */
#include "cli/compare/difference.h"

#include "base/plural.h"
#include "cli/report_error.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The first number that differs, or count. Equal numbers have equal bits: NaN too. */
static int64_t first_apart(const npy_raw *a, const npy_raw *b)
{
    enum { CHUNK = 4096 };
    size_t size = (size_t)a->size;
    for (int64_t k = 0; k < a->count; k += CHUNK) {
        int64_t n = a->count - k < CHUNK ? a->count - k : CHUNK;
        size_t at = (size_t)k * size;
        if (memcmp(a->data + at, b->data + at, (size_t)n * size) == 0) continue;
        while (memcmp(a->data + (size_t)k * size, b->data + (size_t)k * size, size) == 0) ++k;
        return k;
    }
    return a->count;
}

/* What has no such axis comes last: of a run's last frame, or of all worlds. */
static bool is_earlier(const difference *x, const difference *y)
{
    if (x->round != y->round) return (uint64_t)x->round < (uint64_t)y->round;
    if (x->frame != y->frame) return (uint64_t)x->frame < (uint64_t)y->frame;
    return (uint64_t)x->world < (uint64_t)y->world;
}

/* Items as the array's axes behind those of `from` on have them: "[10, 12, 0]". */
static void spell_item(char *out, size_t size, const npy_raw *a, int from, const int64_t *index)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = from; i < a->ndim && used < size; ++i)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64 "%s", i == from ? "[" : ", ", index[i],
                                 i + 1 == a->ndim ? "]" : "");
}

void difference_look(difference *d, const char *name, array_axes axes, int64_t frame, const npy_raw *a,
                     const npy_raw *b)
{
    assert(a->type == b->type && a->size == b->size && a->count == b->count);
    assert(axes.round + axes.frame + axes.world <= a->ndim);
    d->narray++;
    d->nnumber += a->count;
    int64_t at = first_apart(a, b), index[NPY_MAX_DIMS] = {0}, rest = at;
    if (at == a->count) return;
    for (int i = a->ndim - 1; i >= 0; rest /= a->shape[i], --i) index[i] = rest % a->shape[i];
    int n = 0;
    difference x = {.found = true, .frame = frame, .type = a->type, .size = a->size};
    x.round = axes.round ? index[n++] : -1;
    if (axes.frame) x.frame = index[n++];
    x.world = axes.world ? index[n++] : -1;
    if (d->found && !is_earlier(&x, d)) return;
    char item[100];
    spell_item(item, sizeof item, a, n, index);
    (void)snprintf(x.field, sizeof x.field, "%s%s", name, item);
    memcpy(x.a, a->data + at * a->size, (size_t)a->size);
    memcpy(x.b, b->data + at * b->size, (size_t)b->size);
    x.narray = d->narray;
    x.nnumber = d->nnumber;
    *d = x;
}

static uint64_t bits_of(const unsigned char *p, int size)
{
    uint64_t bits = 0;
    for (int i = size - 1; i >= 0; --i) bits = bits << 8 | p[i];
    return bits;
}

/* The number and its bits: "0.25 (0x3e800000)". */
static void spell_number(char *out, size_t size, const difference *d, const unsigned char *p)
{
    float f;
    double x;
    uint64_t bits = bits_of(p, d->size), sign = d->type == 'i' ? UINT64_C(1) << (8 * d->size - 1) : 0;
    memcpy(&f, p, sizeof f);
    memcpy(&x, p, sizeof x);
    int digits = 2 * d->size;
    if (d->type == 'f' && d->size == 4)
        (void)snprintf(out, size, "%.9g (0x%0*" PRIx64 ")", (double)f, digits, bits);
    else if (d->type == 'f' && d->size == 8)
        (void)snprintf(out, size, "%.17g (0x%0*" PRIx64 ")", x, digits, bits);
    else if (d->type == 'f')
        (void)snprintf(out, size, "0x%0*" PRIx64, digits, bits);
    else if (sign)
        (void)snprintf(out, size, "%" PRId64 " (0x%0*" PRIx64 ")", (int64_t)((bits ^ sign) - sign), digits, bits);
    else
        (void)snprintf(out, size, "%" PRIu64 " (0x%0*" PRIx64 ")", bits, digits, bits);
}

int difference_report(const difference *d, const char *name_a, const char *name_b)
{
    if (!d->found) {
        printf("equal: %" PRId64 " array%s, %" PRId64 " number%s\n", d->narray, STI_S(d->narray), d->nnumber,
               STI_S(d->nnumber));
        return 0;
    }
    const struct {
        const char *name;
        int64_t number;
    } axis[] = {{"round", d->round}, {"frame", d->frame}, {"world", d->world}};
    char a[64], b[64];
    int bit = 63 - __builtin_clzll(bits_of(d->a, d->size) ^ bits_of(d->b, d->size));
    for (int i = 0; i < 3; ++i)
        if (axis[i].number >= 0) printf("%s %" PRId64 ", ", axis[i].name, axis[i].number);
    spell_number(a, sizeof a, d, d->a);
    spell_number(b, sizeof b, d, d->b);
    printf("%s, bit %d: %s in %s, %s in %s\n", d->field, bit, a, name_a, b, name_b);
    return EXIT_WORK;
}
