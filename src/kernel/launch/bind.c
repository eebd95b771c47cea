/*
 * Checks a launch's arguments against the signature and binds them; see bind.h.
 */
#include "kernel/launch/bind.h"

#include "base/plural.h"
#include "device/host_mirror.h"
#include "kernel/checked/checked.h"

#include <assert.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

#define BIT(dtype) (1u << STET_DTYPE_##dtype)
/* The element types that each parameter type accepts. Lanes have one type of 32-bit integers. */
static const unsigned fitting[STI_PARAM_TYPE_COUNT] = {
    [STI_PARAM_REAL] = BIT(REAL), [STI_PARAM_WREAL] = BIT(REAL),         [STI_PARAM_UREAL] = BIT(REAL),
    [STI_PARAM_LINT] = BIT(INT),  [STI_PARAM_WINT] = BIT(INT),           [STI_PARAM_INT] = BIT(INT) | BIT(U32),
    [STI_PARAM_I64] = BIT(I64),   [STI_PARAM_U16] = BIT(U16) | BIT(F16), [STI_PARAM_U32] = BIT(U32),
    [STI_PARAM_U8] = BIT(U8),
};
#undef BIT

static const bool is_worlds[] = {
#define WORLDS(name, worlds, tag) worlds,
    STI_PARAM_TYPES(WORLDS)
#undef WORLDS
};

static bool dtype_fits(sti_param_type type, stet_dtype dtype) { return fitting[type] >> dtype & 1u; }

/*
 * A world kernel must cover its arrays of worlds fully, because it also writes the last block's lanes beyond a smaller
 * count.
 */
static bool count_fits(const sti_kernel *k, const stet_array *a, int64_t count)
{
    return k->kind != STI_KERNEL_WORLD || !a->worlds || count <= 0 || a->shape[0] == count;
}

static inline bool array_fits(const sti_kernel *k, const sti_param *p, const stet_array *a, const stet_device *device,
                              int64_t count)
{
    return a->device == device && dtype_fits(p->type, a->dtype) && is_worlds[p->type] == a->worlds &&
           !(p->written && a->read_only) && count_fits(k, a, count);
}

/* Reports why array_fits refused an array. */
static stet_result check_array(const sti_kernel *k, const sti_param *p, const stet_array *a, const stet_device *device,
                               int64_t count)
{
    const char *type = sti_param_type_name(p->type);
    if (a->device != device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: parameter %s: array %s lives on another device",
                         k->name, p->name, a->name);
    if (!dtype_fits(p->type, a->dtype))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: parameter %s is %s *, array %s holds %s", k->name,
                         p->name, type, a->name, stet_dtype_name(a->dtype));
    if (is_worlds[p->type] != a->worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: parameter %s is %s *, so it takes %s; %s is %s",
                         k->name, p->name, type, a->worlds ? "a plain array" : "an array of worlds", a->name,
                         a->worlds ? "an array of worlds" : "a plain array");
    if (p->written && a->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s: parameter %s is written, and array %s was imported for reading", k->name, p->name,
                         a->name);
    if (!count_fits(k, a, count))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "kernel %s: parameter %s: array %s has %lld world%s, the launch %lld", k->name, p->name,
                         a->name, (long long)a->shape[0], STI_S(a->shape[0]), (long long)count);
    return STET_OK;
}

static sti_arg_kind wanted_kind(const sti_param *p)
{
    return p->pointer && !sti_param_type_team(p->type) ? STI_ARG_ARRAY
           : p->type == STI_PARAM_UREAL                ? STI_ARG_REAL
                                                       : STI_ARG_INT;
}

/* Elements of team memory; at most what a CPU's thread may hold in its share. */
enum { MOST_TEAM_ITEMS = 1 << 26 };

static stet_result check_arg(const sti_kernel *k, const sti_param *p, const sti_arg *arg, const stet_device *device,
                             int64_t count)
{
    sti_arg_kind wanted = wanted_kind(p);
    static const char *const kinds[] = {"an array", "an integer", "a real number"};
    if (arg->kind != wanted)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: parameter %s takes %s, not %s", k->name, p->name,
                         kinds[wanted], kinds[arg->kind]);
    if (wanted == STI_ARG_INT && p->type == STI_PARAM_INT && (arg->i < INT32_MIN || arg->i > INT32_MAX))
        return sti_error(STET_ERROR_LIMIT, "kernel %s: parameter %s: %lld does not fit an int", k->name, p->name,
                         (long long)arg->i);
    if (sti_param_type_team(p->type) && (arg->i < 0 || arg->i > MOST_TEAM_ITEMS))
        return sti_error(STET_ERROR_LIMIT, "kernel %s: parameter %s: %lld elements of team memory; ask for 0 to %d",
                         k->name, p->name, (long long)arg->i, MOST_TEAM_ITEMS);
    if (wanted != STI_ARG_ARRAY || !arg->array || array_fits(k, p, arg->array, device, count)) return STET_OK;
    return check_array(k, p, arg->array, device, count);
}

/* Bytes that a team needs for n elements of its memory, up to the next line of a cache. */
static int64_t team_bytes(const stet_device *device, sti_param_type type, int64_t n)
{
    size_t lanes = type == STI_PARAM_TINT ? 1 : (size_t)device->lanes;
    assert(sti_param_type_team(type) && n >= 0 && n <= MOST_TEAM_ITEMS);
    size_t element = type == STI_PARAM_TREAL ? device->real_size : sizeof(int);
    return (int64_t)(((size_t)n * lanes * element + STI_ALIGN - 1) / STI_ALIGN * STI_ALIGN);
}

/* The slot of a team's memory; its argument was checked. Checked mode reads the number of elements from the slot. */
static sti_slot team_slot(const sti_kernel *k, const sti_param *p, const sti_arg *arg, const stet_device *device)
{
    int64_t bytes = team_bytes(device, p->type, arg->i);
    bool given = arg->array && !k->checked && bytes > 0 && bytes <= UINT32_MAX;
    int64_t room = given ? (int64_t)arg->array->size / bytes : 0;
    assert(bytes <= UINT32_MAX && "its size is 32 bits of a slot");
    if (room == 0) return (sti_slot){.i = bytes, .n = arg->i};
    return (sti_slot){.p = arg->array->data,
                      .team = {(uint32_t)bytes, room < UINT32_MAX ? (uint32_t)room : UINT32_MAX}};
}

/*
 * Checks one argument, brings its array up to date and fills the slot. Unused bytes of the slot are zero, because
 * blocks are compared with them.
 */
static inline stet_result bind(const sti_kernel *k, const sti_param *p, const sti_arg *arg, const stet_device *device,
                               int64_t count, sti_slot *slot)
{
    stet_array *a = arg->array;
    *slot = (sti_slot){0};
    if (!p->pointer || sti_param_type_team(p->type)) {
        STI_TRY(check_arg(k, p, arg, device, count));
        if (p->pointer)
            *slot = team_slot(k, p, arg, device);
        else if (p->type == STI_PARAM_UREAL)
            slot->f = arg->f;
        else
            slot->i = arg->i;
        return STET_OK;
    }
    if (arg->kind != STI_ARG_ARRAY || (a && !array_fits(k, p, a, device, count)))
        return check_arg(k, p, arg, device, count); /* reports what is wrong */
    if (!a) return STET_OK;
    if (!sti_array_is_current(a)) STI_TRY(sti_array_produce(a));
    slot->p = a->data;
    slot->n = k->checked ? sti_checked_size(k, a) : a->worlds ? a->nitem : 0;
    return STET_OK;
}

stet_result sti_launch_bind(const stet_device *device, const sti_kernel *k, const sti_param *p, int64_t count,
                            const sti_arg *arg, sti_slot *slot)
{
    return bind(k, p, arg, device, count, slot);
}

void sti_launch_list_written(sti_launch *launch)
{
    const sti_kernel *k = launch->kernel;
    launch->nwritten = 0;
    for (int i = 0, at = 0; i < k->nparam; ++i) {
        if (k->param[i].index) continue;
        stet_array *array = launch->args[at++].array;
        if (k->param[i].written && array) launch->written[launch->nwritten++] = array;
    }
    assert(launch->nwritten <= launch->nslot);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* The number of blocks of a launch over `count` worlds or blocks. */
static stet_result count_blocks(const stet_device *device, const sti_kernel *k, int64_t count, int64_t *nblock)
{
    *nblock = 0;
    if (count == 0) return STET_OK;
    *nblock = k->kind == STI_KERNEL_WORLD ? (count + device->lanes - 1) / device->lanes : count;
    int64_t largest = k->kind == STI_KERNEL_WORLD ? count : *nblock;
    if (largest > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "kernel %s: launched over %lld; at most %d are possible", k->name,
                         (long long)count, INT32_MAX);
    return STET_OK;
}

/* Visits the parameters that a launch passes. Binds them if `out` is given, else only checks them. */
static stet_result each_arg(const stet_device *device, const sti_kernel *k, int64_t count, const sti_arg *args,
                            int narg, sti_launch *out)
{
    int at = 0;
    for (int i = 0; i < k->nparam; ++i) {
        const sti_param *p = &k->param[i];
        if (p->index) continue;
        if (at == narg)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: argument for parameter %s is missing", k->name,
                             p->name);
        STI_TRY(out ? bind(k, p, &args[at], device, count, &out->slot[at]) : check_arg(k, p, &args[at], device, count));
        ++at;
    }
    if (at == narg) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s takes %d argument%s, not %d", k->name, at, STI_S(at),
                     narg);
}

static stet_result check_count(const sti_kernel *k, int64_t count)
{
    if (count >= 0) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "kernel %s: launched over %lld", k->name, (long long)count);
}

/* Some builds leave instruction sets out of what only tests run with them (cmake/StetKernels.cmake). */
static stet_result check_built(const stet_device *device, const sti_kernel *k)
{
    if (device->type != STET_DEVICE_CPU || k->call[device->isa]) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "kernel %s: this build of stet leaves it out for %s; configure with -DSTET_INSTRUCTION_SETS=all",
                     k->name, sti_isa_name(device->isa));
}

stet_result sti_launch_check(const stet_device *device, const sti_kernel *k, int64_t count, const sti_arg *args,
                             int narg)
{
    int64_t nblock;
    STI_TRY(check_built(device, k));
    STI_TRY(check_count(k, count));
    STI_TRY(each_arg(device, k, count, args, narg, NULL));
    return count_blocks(device, k, count, &nblock);
}

stet_result sti_launch_prepare(stet_device *device, const sti_kernel *k, int64_t count, const sti_arg *args, int narg,
                               sti_launch *out)
{
    STI_TRY(check_built(device, k));
    STI_TRY(check_count(k, count));
    STI_TRY(each_arg(device, k, count, args, narg, out));
    out->kernel = k;
    out->code = NULL;
    out->args = args;
    out->nslot = narg;
    sti_launch_list_written(out);
    STI_TRY(count_blocks(device, k, count, &out->nblock));
    return k->checked ? sti_checked_prepare(device, out, count) : STET_OK;
}
