/*
 * Launches the kernels that sort and add up listed gradients; see gather.h and gather.k.h.
 */
#include "adjoint/launch/gather.h"

#include "adjoint/launch/gather_sizes.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/device.h"
#include "kernel/record/launch.h"
#include "stet/adjoint.h"

#include <assert.h>
#include <inttypes.h>

extern const sti_kernel sti_k_gather_count, sti_k_gather_take, sti_k_gather_sums, sti_k_gather_before, sti_k_gather_top,
    sti_k_gather_digits, sti_k_gather_move, sti_k_gather_pieces, sti_k_gather_add, sti_k_gather_add_worlds,
    sti_k_sum_worlds;

_Static_assert(GATHER_CODES == STI_LISTING_CODES, "the kernels take entries apart as they were put together");
_Static_assert(1 << GATHER_BITS == GATHER_DIGITS, "a digit has all its bits");

/* Each level holds sums over GATHER_PIECE elements of the level below; 256^5 is more than the longest list has. */
enum { LEVELS = 6 };
static const int64_t most_entries = INT64_C(1) << 40;

struct sti_gathering {
    stet_device *device;
    stet_array *place[2], *value[2]; /* entries, before and after a round */
    stet_array *level[LEVELS];       /* [0] counts */
    stet_array *n, *rest;            /* the number of entries; a sum that is not used */
};

/* ---- room -------------------------------------------------------------------------------------------------------- */

stet_result sti_gathering_create(stet_device *device, sti_gathering **out)
{
    sti_gathering *g;
    *out = NULL;
    STI_TRY(sti_alloc(&g, sizeof *g, "room for gradients"));
    g->device = device;
    stet_result result = STI_ARRAY(device, "number of gradients", STET_DTYPE_I64, false, &g->n, 1);
    if (result == STET_OK) result = STI_ARRAY(device, "number of digits", STET_DTYPE_I64, false, &g->rest, 1);
    if (result == STET_OK)
        *out = g;
    else
        sti_gathering_destroy(g);
    return result;
}

void sti_gathering_destroy(sti_gathering *g)
{
    if (!g) return;
    for (int k = 0; k < 2; ++k) {
        stet_array_destroy(g->place[k]);
        stet_array_destroy(g->value[k]);
    }
    for (int k = 0; k < LEVELS; ++k) stet_array_destroy(g->level[k]);
    stet_array_destroy(g->n);
    stet_array_destroy(g->rest);
    sti_free(g);
}

static int64_t bytes_of(const stet_array *a) { return a ? (int64_t)stet_array_get_bytes(a) : 0; }

int64_t sti_gathering_bytes(const sti_gathering *g)
{
    int64_t sum = bytes_of(g->n) + bytes_of(g->rest);
    for (int k = 0; k < 2; ++k) sum += bytes_of(g->place[k]) + bytes_of(g->value[k]);
    for (int k = 0; k < LEVELS; ++k) sum += bytes_of(g->level[k]);
    return sum;
}

/* Makes room in an array whose content is not needed: replaces it by one of at least twice its size. */
static stet_result make_room(sti_gathering *g, stet_array **a, stet_dtype type, int64_t items)
{
    if (*a && (*a)->nitem >= items) return STET_OK;
    int64_t twice = *a ? 2 * (*a)->nitem : 0;
    stet_array_destroy(*a);
    *a = NULL;
    return STI_ARRAY(g->device, "gradients to be added", type, false, a, items > twice ? items : twice);
}

static int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

static stet_result make_all_room(sti_gathering *g, int64_t nitem, int64_t nentry)
{
    int64_t n = GATHER_DIGITS * parts(nentry, GATHER_RUN);
    if (n < nitem) n = nitem;
    for (int k = 0; k < 2; ++k) {
        STI_TRY(make_room(g, &g->place[k], STET_DTYPE_I64, nentry));
        STI_TRY(make_room(g, &g->value[k], STET_DTYPE_REAL, nentry));
    }
    STI_TRY(make_room(g, &g->level[0], STET_DTYPE_I64, n));
    for (int k = 1; n > GATHER_PIECE; ++k) {
        n = parts(n, GATHER_PIECE);
        STI_TRY(make_room(g, &g->level[k], STET_DTYPE_I64, n));
    }
    return STET_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int64_t blocks_of(int64_t nworker) { return parts(nworker, GATHER_WORKERS); }

/* Replaces each element of level[k] [n] by the sum of the elements before it. */
static stet_result sum_before(sti_gathering *g, int k, int64_t n, stet_array *total)
{
    sti_arg a = sti_arg_array(g->level[k]);
    if (n <= GATHER_PIECE) return STI_LAUNCH(sti_k_gather_top, g->device, 1, a, sti_arg_array(total), sti_arg_int(n));
    int64_t npiece = parts(n, GATHER_PIECE);
    sti_arg sums = sti_arg_array(g->level[k + 1]);
    STI_TRY(STI_LAUNCH(sti_k_gather_sums, g->device, blocks_of(npiece), a, sums, sti_arg_int(n), sti_arg_int(npiece)));
    STI_TRY(sum_before(g, k + 1, npiece, total));
    return STI_LAUNCH(sti_k_gather_before, g->device, blocks_of(npiece), a, sums, sti_arg_int(n), sti_arg_int(npiece));
}

static stet_result take_entries(sti_gathering *g, const sti_lists *l, int code)
{
    int64_t nitem = l->blocks * l->width;
    sti_arg from = sti_arg_array(l->destinations), counts = sti_arg_array(g->level[0]), items = sti_arg_int(nitem);
    sti_arg depth = sti_arg_int(l->depth), width = sti_arg_int(l->width), own = sti_arg_int(code);
    STI_TRY(STI_LAUNCH(sti_k_gather_count, g->device, blocks_of(nitem), from, counts, items, depth, width, own));
    STI_TRY(sum_before(g, 0, nitem, g->n));
    return STI_LAUNCH(sti_k_gather_take, g->device, blocks_of(nitem), from, sti_arg_array(l->values), counts,
                      sti_arg_array(g->place[0]), sti_arg_array(g->value[0]), items, depth, width, own);
}

/* One round of the sort: moves the entries from place[0] to place[1] and swaps the two. */
static stet_result sort_digit(sti_gathering *g, int64_t nworker, int shift)
{
    sti_arg n = sti_arg_array(g->n), counts = sti_arg_array(g->level[0]);
    sti_arg workers = sti_arg_int(nworker), bits = sti_arg_int(shift);
    STI_TRY(STI_LAUNCH(sti_k_gather_digits, g->device, blocks_of(nworker), sti_arg_array(g->place[0]), n, counts,
                       workers, bits));
    STI_TRY(sum_before(g, 0, nworker * GATHER_DIGITS, g->rest));
    STI_TRY(STI_LAUNCH(sti_k_gather_move, g->device, blocks_of(nworker), sti_arg_array(g->place[0]),
                       sti_arg_array(g->value[0]), n, counts, sti_arg_array(g->place[1]), sti_arg_array(g->value[1]),
                       workers, bits));
    stet_array *place = g->place[0], *value = g->value[0];
    g->place[0] = g->place[1], g->place[1] = place;
    g->value[0] = g->value[1], g->value[1] = value;
    return STET_OK;
}

static stet_result add_up(sti_gathering *g, int64_t nworker, stet_array *gradient)
{
    sti_arg place = sti_arg_array(g->place[0]), sums = sti_arg_array(g->value[1]), n = sti_arg_array(g->n);
    int64_t blocks = blocks_of(nworker);
    STI_TRY(STI_LAUNCH(sti_k_gather_pieces, g->device, blocks, place, sti_arg_array(g->value[0]), n, sums));
    if (gradient->worlds)
        return STI_LAUNCH(sti_k_gather_add_worlds, g->device, blocks, place, sums, n, sti_arg_array(gradient),
                          sti_arg_int(gradient->nitem));
    return STI_LAUNCH(sti_k_gather_add, g->device, blocks, place, sums, n, sti_arg_array(gradient));
}

stet_result sti_adjoint_gather(sti_gathering *g, const sti_lists *l, int code, stet_array *gradient)
{
    assert(g && code >= 0 && code < STI_LISTING_CODES && gradient->dtype == STET_DTYPE_REAL);
    int64_t nplace = gradient->worlds ? gradient->nitem * gradient->shape[0] : gradient->nitem;
    if (l->blocks <= 0 || l->depth <= 0 || l->width <= 0) return STET_OK;
    if (l->depth > most_entries / l->blocks / l->width)
        return sti_error(STET_ERROR_LIMIT,
                         "an adjoint's list of gradients has %" PRId64 " blocks of %" PRId64 " items of %" PRId64
                         " entries; it takes 2^40 at most: launch fewer items at a time",
                         l->blocks, l->width, l->depth);
    int64_t nentry = l->blocks * l->width * l->depth, nworker = parts(nentry, GATHER_RUN);
    STI_TRY(make_all_room(g, l->blocks * l->width, nentry));
    STI_TRY(take_entries(g, l, code));
    for (int shift = 0; (nplace - 1) >> shift > 0; shift += GATHER_BITS) STI_TRY(sort_digit(g, nworker, shift));
    return add_up(g, nworker, gradient);
}

/* ---- shares of worlds -------------------------------------------------------------------------------------------- */

stet_result stet_adjoint_sum_worlds(stet_array *sum, const stet_array *shares)
{
    if (!sum || !shares)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_adjoint_sum_worlds: sum and shares must not be NULL");
    if (sum->worlds || sum->dtype != STET_DTYPE_REAL || !shares->worlds || shares->dtype != STET_DTYPE_REAL ||
        sum->nitem != shares->nitem || sum->device != shares->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sum of %s over worlds: %s is not a plain array of %lld reals on the same device",
                         shares->name, sum->name, (long long)shares->nitem);
    if (sum->nitem > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "sum of %s over worlds: %lld items; at most %d are possible", shares->name,
                         (long long)sum->nitem, INT32_MAX);
    return STI_LAUNCH(sti_k_sum_worlds, sum->device, parts(sum->nitem, SUM_ITEMS), sti_arg_array(sum),
                      sti_arg_array(shares), sti_arg_int(shares->nitem), sti_arg_int(shares->shape[0]));
}
