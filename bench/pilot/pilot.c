/*
 * Inputs of the pilots. Each number is an integer scaled by a power of two, or a product of such numbers, so no machine
 * rounds it differently.
 */
#include "bench/pilot/pilot.h"

#include "base/hash.h"
#include "device/host_mirror.h"

#include <string.h>

extern const sti_kernel sti_k_newton, sti_k_pilot_rays, sti_k_pilot_level;

enum { NV = 27, NR = 50, PRIM_STRIDE = 20, RAY_TILE = 16 };

/* A number in [-1, 1) with 20 bits, from a counter: splitmix64 (S. Vigna, public domain algorithm) of the key. */
static double noise(uint64_t stream, uint64_t i)
{
    uint64_t z = (stream << 40) + i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)(int64_t)(z >> 44) / 524288.0 - 1.0;
}

/* Fills an array of worlds or a plain one, item by item, with f(world, item). */
static stet_result fill_pilot(stet_array *a, double (*f)(int64_t w, int64_t i))
{
    int64_t worlds = a->worlds ? a->shape[0] : 1;
    void *mirror;
    STI_TRY(sti_array_mirror_write(a, &mirror));
    for (int64_t w = 0; w < worlds; ++w)
        for (int64_t i = 0; i < a->nitem; ++i) sti_mirror_set(a, mirror, w, i, f(w, i));
    sti_array_mirror_written(a);
    return STET_OK;
}

static double newton_M(int64_t w, int64_t k)
{
    int64_t i = k / NV, j = k % NV, lo = i < j ? i : j, hi = i < j ? j : i;
    double off = noise(1, (uint64_t)((w * NV + hi) * NV + lo)) / 16;
    return i == j ? 2 + off : off;
}
static double newton_J(int64_t w, int64_t k) { return noise(2, (uint64_t)(w * NR * NV + k)); }
static double newton_D(int64_t w, int64_t k) { return 4 + 3 * noise(3, (uint64_t)(w * NR + k)); }
static double newton_g(int64_t w, int64_t k) { return noise(4, (uint64_t)(w * NV + k)); }

static stet_result create_newton(stet_device *d, int64_t n, sti_pilot *p)
{
    stet_array *a[5] = {0};
    stet_result r = STI_ARRAY(d, "M", STET_DTYPE_REAL, true, &a[0], n, NV, NV);
    if (!r) r = STI_ARRAY(d, "J", STET_DTYPE_REAL, true, &a[1], n, NR, NV);
    if (!r) r = STI_ARRAY(d, "D", STET_DTYPE_REAL, true, &a[2], n, NR);
    if (!r) r = STI_ARRAY(d, "g", STET_DTYPE_REAL, true, &a[3], n, NV);
    if (!r) r = STI_ARRAY(d, "x", STET_DTYPE_REAL, true, &a[4], n, NV);
    for (int i = 0; i < 5; ++i) p->arg[p->narg++] = sti_arg_array(a[i]);
    if (r) return r;
    STI_TRY(fill_pilot(a[0], newton_M));
    STI_TRY(fill_pilot(a[1], newton_J));
    STI_TRY(fill_pilot(a[2], newton_D));
    STI_TRY(fill_pilot(a[3], newton_g));
    p->output[p->noutput++] = a[4];
    p->kernel = &sti_k_newton;
    p->count = n;
    return STET_OK;
}

/*
 * A rotation about an axis by an angle of which sine and cosine are rational: (1 - t^2, 2 t) / (1 + t^2) with t a power
 * of two.
 */
static void rotation(int axis, double t, double out[9])
{
    double c = (1 - t * t) / (1 + t * t), s = 2 * t / (1 + t * t);
    int a = (axis + 1) % 3, b = (axis + 2) % 3;
    memset(out, 0, 9 * sizeof *out);
    out[axis * 3 + axis] = 1;
    out[a * 3 + a] = out[b * 3 + b] = c;
    out[a * 3 + b] = -s;
    out[b * 3 + a] = s;
}

/* 32 spheres and boxes in a cube of 4 m, 6 m before the camera. */
static double ray_prim(int64_t w, int64_t k)
{
    (void)w;
    int64_t g = k / PRIM_STRIDE, i = k % PRIM_STRIDE;
    double size[3], rot[9];
    for (int j = 0; j < 3; ++j) size[j] = 0.25 + noise(5, (uint64_t)(g * 3 + j)) / 8;
    rotation((int)(g % 3), 0.5 / (double)(1 + g % 4), rot);
    bool box = g % 2;
    if (i == 0) return box;
    if (i == 1) return box ? size[0] + size[1] + size[2] : size[0];
    if (i < 5) return size[i - 2];
    if (i < 8) return (i == 7 ? -6 : 0) + 2 * noise(6, (uint64_t)(g * 3 + i));
    return i < 17 ? rot[i - 8] : 0;
}
/* Eye at the origin, unrotated, 0.75 half-angle tangents. */
static double ray_camera(int64_t w, int64_t k)
{
    (void)w;
    return k == 3 || k == 7 || k == 11 ? 1 : k == 12 || k == 13 ? 0.75 : 0;
}

static stet_result create_rays(stet_device *d, int64_t n, sti_pilot *p)
{
    stet_array *a[4] = {0};
    if (n < 1 || n > 16384)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "pilot rays: an edge of %lld pixels", (long long)n);
    stet_result r = STI_ARRAY(d, "cam", STET_DTYPE_REAL, false, &a[0], 16);
    if (!r) r = STI_ARRAY(d, "prims", STET_DTYPE_REAL, false, &a[1], STI_PILOT_PRIMS, PRIM_STRIDE);
    if (!r) r = STI_ARRAY(d, "depth", STET_DTYPE_REAL, false, &a[2], n, n);
    if (!r) r = STI_ARRAY(d, "id", STET_DTYPE_INT, false, &a[3], n, n);
    sti_arg args[] = {sti_arg_array(a[0]), sti_arg_array(a[1]), sti_arg_int(STI_PILOT_PRIMS),
                      sti_arg_array(a[2]), sti_arg_array(a[3]), sti_arg_int(n),
                      sti_arg_int(n)};
    p->narg = (int)(sizeof args / sizeof *args);
    memcpy(p->arg, args, sizeof args);
    if (r) return r;
    STI_TRY(fill_pilot(a[0], ray_camera));
    STI_TRY(fill_pilot(a[1], ray_prim));
    p->output[p->noutput++] = a[2];
    p->output[p->noutput++] = a[3];
    p->kernel = &sti_k_pilot_rays;
    int64_t edge = (n + RAY_TILE - 1) / RAY_TILE;
    p->count = edge * edge;
    return STET_OK;
}

/* Prims 0 … 20 are parents with given world transforms; the level is prims 21 … 84, four under each of 5 … 20. */
static double level_xform(int64_t w, int64_t k)
{
    double rot[9];
    int64_t prim = k / 12, i = k % 12;
    rotation((int)((w + prim) % 3), 1.0 / (double)(2 << (prim % 4)), rot);
    return i % 4 == 3 ? noise(7, (uint64_t)((w * STI_PILOT_TREE + prim) * 3 + i / 4)) : rot[i / 4 * 3 + i % 4];
}

static stet_result create_level(stet_device *d, int64_t n, sti_pilot *p)
{
    stet_array *a[4] = {0};
    int first = STI_PILOT_TREE - STI_PILOT_LEVEL_SIZE, parent[STI_PILOT_TREE] = {0}, level[STI_PILOT_LEVEL_SIZE];
    for (int i = 0; i < STI_PILOT_LEVEL_SIZE; ++i) {
        level[i] = first + i;
        parent[first + i] = 5 + i / 4;
    }
    stet_result r = STI_ARRAY(d, "local", STET_DTYPE_REAL, true, &a[0], n, (int64_t)STI_PILOT_TREE * 12);
    if (!r) r = STI_ARRAY(d, "world", STET_DTYPE_REAL, true, &a[1], n, (int64_t)STI_PILOT_TREE * 12);
    if (!r) r = STI_ARRAY(d, "parent", STET_DTYPE_INT, false, &a[2], STI_PILOT_TREE);
    if (!r) r = STI_ARRAY(d, "level", STET_DTYPE_INT, false, &a[3], STI_PILOT_LEVEL_SIZE);
    for (int i = 0; i < 4; ++i) p->arg[p->narg++] = sti_arg_array(a[i]);
    p->arg[p->narg++] = sti_arg_int(STI_PILOT_LEVEL_SIZE);
    if (!r) r = stet_array_write(a[2], parent, sizeof parent);
    if (!r) r = stet_array_write(a[3], level, sizeof level);
    if (r) return r;
    STI_TRY(fill_pilot(a[0], level_xform));
    STI_TRY(fill_pilot(a[1], level_xform));
    p->output[p->noutput++] = a[1];
    p->kernel = &sti_k_pilot_level;
    p->count = n;
    return STET_OK;
}

const char *sti_pilot_name(sti_pilot_kind kind)
{
    static const char *const names[] = {"newton27", "rays32", "level64"};
    return names[kind];
}

stet_result sti_pilot_create(stet_device *device, sti_pilot_kind kind, int64_t size, sti_pilot *out)
{
    static stet_result (*const create[])(stet_device *, int64_t, sti_pilot *) = {create_newton, create_rays,
                                                                                 create_level};
    memset(out, 0, sizeof *out);
    out->kind = kind;
    stet_result result = create[kind](device, size, out);
    if (result != STET_OK) sti_pilot_destroy(out);
    return result;
}

void sti_pilot_destroy(sti_pilot *p)
{
    for (int i = 0; i < p->narg; ++i)
        if (p->arg[i].kind == STI_ARG_ARRAY) stet_array_destroy(p->arg[i].array);
    memset(p, 0, sizeof *p);
}

stet_result sti_pilot_run(stet_device *device, sti_pilot *p)
{
    return sti_launch_on(device, p->kernel, p->count, p->arg, p->narg);
}

stet_result sti_pilot_hash(const sti_pilot *p, uint64_t *out)
{
    uint64_t each[2] = {0};
    for (int i = 0; i < p->noutput; ++i) STI_TRY(stet_array_hash(p->output[i], &each[i]));
    *out = sti_hash_bytes(each, sizeof *each * (size_t)p->noutput);
    return STET_OK;
}
