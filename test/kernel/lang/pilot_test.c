/*
 * The pilots: the same bits on every instruction set and number of threads, those that were recorded, right by plain
 * loops in double, and the same again with every `each` scrambled.
 */
#include "permuted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- running -------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const sti_pilot *p)
{
    uint64_t hash;
    OK(sti_pilot_hash(p, &hash));
    return hash;
}

static sti_pilot ran(stet_device *device, sti_pilot_kind kind, int64_t size)
{
    sti_pilot p = open_pilot(device, kind, size);
    OK(sti_pilot_run(device, &p));
    return p;
}

/* A copy of an argument in C order, as double; free it. */
static double *reals(const sti_pilot *p, int arg)
{
    stet_array *a = p->arg[arg].array;
    size_t n = (size_t)stet_array_get_nelement(a), bytes = stet_array_get_bytes(a);
    double *out = malloc(n * sizeof *out);
    void *raw = malloc(bytes);
    assert_true(out && raw);
    OK(stet_array_read(a, raw, bytes));
    for (size_t i = 0; i < n; ++i) out[i] = a->device->real_size == 8 ? ((double *)raw)[i] : (double)((float *)raw)[i];
    free(raw);
    return out;
}

/* A copy as it is. */
/* ---- bits ----------------------------------------------------------------------------------------------------- */

static void golden_hashes_everywhere(void **state)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; ++i) FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; ++threads) {
        stet_device *device = open_device(isa, threads);
        sti_pilot p = ran(device, golden[i].kind, golden[i].size);
        uint64_t got = hash_of(&p);
        if (got != golden[i].hash)
            fail_msg("%s on %s: %016llx, not %016llx", sti_pilot_name(golden[i].kind), stet_device_get_name(device),
                     (unsigned long long)got, (unsigned long long)golden[i].hash);
        sti_pilot_destroy(&p);
        stet_device_destroy(device);
    }
}

/* Sizes that leave lanes, blocks and rows of pixels partly empty. */
static void equal_at_every_size(void **state)
{
    for (int kind = 0; kind < STI_PILOT_COUNT; ++kind)
        for (int64_t size = 1; size <= 37; size += 4) {
            uint64_t want = 0;
            FOR_FLOAT_ISAS(isa)
            {
                stet_device *device = open_device(isa, 2);
                sti_pilot p = ran(device, (sti_pilot_kind)kind, size);
                uint64_t got = hash_of(&p);
                if (isa == 0) want = got;
                assert_true(got == want);
                sti_pilot_destroy(&p);
                stet_device_destroy(device);
            }
        }
}

static void double_is_close_to_float(void **state)
{
    for (int kind = 0; kind < STI_PILOT_COUNT; ++kind) {
        stet_device *f = open_device(STI_ISA_portable, 2), *d = open_device(STI_ISA_f64, 2);
        sti_pilot pf = ran(f, (sti_pilot_kind)kind, 100), pd = ran(d, (sti_pilot_kind)kind, 100);
        int arg = kind == STI_PILOT_NEWTON ? 4 : kind == STI_PILOT_RAYS ? 3 : 1, differ = 0;
        double *a = reals(&pf, arg), *b = reals(&pd, arg);
        int64_t n = stet_array_get_nelement(pf.arg[arg].array);
        for (int64_t i = 0; i < n; ++i) differ += fabs(a[i] - b[i]) > 1e-4 * fmax(1, fabs(b[i]));
        /* At a silhouette a ray may hit in one and miss in the other. */
        assert_true(differ <= (kind == STI_PILOT_RAYS ? n / 1000 : 0));
        assert_true(hash_of(&pf) != hash_of(&pd)); /* it is another type indeed */
        free(a);
        free(b);
        sti_pilot_destroy(&pf);
        sti_pilot_destroy(&pd);
        stet_device_destroy(f);
        stet_device_destroy(d);
    }
}

/* Over the first blocks of pixels: all else stays as it was. */
static void a_launch_over_fewer_blocks_leaves_the_others(void **state)
{
    FOR_FLOAT_ISAS(isa)
    {
        stet_device *device = open_device(isa, 2);
        sti_pilot some, all;
        some = open_pilot(device, STI_PILOT_RAYS, 40); /* 3 blocks across */
        all = ran(device, STI_PILOT_RAYS, 40);
        some.count = 4;
        OK(sti_pilot_run(device, &some));
        double *a = reals(&some, 3), *b = reals(&all, 3);
        for (int y = 0; y < 40; ++y)
            for (int x = 0; x < 40; ++x) assert_true(a[y * 40 + x] == (y / 16 * 3 + x / 16 < 4 ? b[y * 40 + x] : 0));
        free(a);
        free(b);
        sti_pilot_destroy(&some);
        sti_pilot_destroy(&all);
        stet_device_destroy(device);
    }
}

/* ---- against plain loops -------------------------------------------------------------------------------------- */

/* x = (M + J' D J)^-1 g by Cholesky, one entry after the other. */
static void newton_by_plain_loops(const double *M, const double *J, const double *D, const double *g, double *x)
{
    enum { NV = 27, NR = 50 };
    double H[NV][NV];
    for (int i = 0; i < NV; ++i)
        for (int j = 0; j < NV; ++j) {
            H[i][j] = M[i * NV + j];
            for (int r = 0; r < NR; ++r) H[i][j] += J[r * NV + i] * D[r] * J[r * NV + j];
        }
    for (int j = 0; j < NV; ++j)
        for (int i = j; i < NV; ++i) {
            double s = H[i][j];
            for (int k = 0; k < j; ++k) s -= H[i][k] * H[j][k];
            H[i][j] = i == j ? sqrt(s) : s / H[j][j];
        }
    for (int i = 0; i < NV; ++i) {
        x[i] = g[i];
        for (int k = 0; k < i; ++k) x[i] -= H[i][k] * x[k];
        x[i] /= H[i][i];
    }
    for (int i = NV - 1; i >= 0; --i) {
        for (int k = i + 1; k < NV; ++k) x[i] -= H[k][i] * x[k];
        x[i] /= H[i][i];
    }
}

static void newton_is_right(void **state)
{
    enum { N = 40, NV = 27, NR = 50 };
    for (int pass = 0; pass < 2; ++pass) {
        stet_device *device = open_device(pass ? STI_ISA_f64 : STI_ISA_portable, 2);
        double tolerance = pass ? 1e-12 : 2e-6, largest = 0;
        sti_pilot p = ran(device, STI_PILOT_NEWTON, N);
        double *in[5];
        for (int a = 0; a < 5; ++a) in[a] = reals(&p, a);
        for (int w = 0; w < N; ++w) {
            double x[NV], size = 0, off = 0;
            newton_by_plain_loops(in[0] + w * NV * NV, in[1] + w * NR * NV, in[2] + w * NR, in[3] + w * NV, x);
            for (int i = 0; i < NV; ++i) {
                size = fmax(size, fabs(x[i]));
                off = fmax(off, fabs(x[i] - in[4][w * NV + i]));
            }
            assert_true(size > 0.01);
            largest = fmax(largest, off / size);
        }
        print_message("newton27 on %s: largest error %.1e of the largest entry\n", stet_device_get_isa(device),
                      largest);
        assert_true(largest < tolerance);
        for (int a = 0; a < 5; ++a) free(in[a]);
        sti_pilot_destroy(&p);
        stet_device_destroy(device);
    }
}

static void level_is_right(void **state)
{
    enum { N = 20, TREE = STI_PILOT_TREE, FIRST = STI_PILOT_TREE - STI_PILOT_LEVEL_SIZE };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_LEVEL, N);
    double *local = reals(&p, 0), *before = reals(&p, 1);
    int *parent = copy_of(&p, 2);
    OK(sti_pilot_run(device, &p));
    double *after = reals(&p, 1);
    for (int w = 0; w < N; ++w)
        for (int prim = 0; prim < TREE; ++prim) {
            const double *b = local + (w * TREE + prim) * 12, *got = after + (w * TREE + prim) * 12;
            const double *a = before + (w * TREE + (prim < FIRST ? prim : parent[prim])) * 12;
            for (int k = 0; k < 12; ++k) {
                double want = k % 4 == 3 ? a[k] : 0; /* of those above the level: as it was */
                for (int j = 0; j < 3; ++j) want += a[k / 4 * 4 + j] * b[j * 4 + k % 4];
                if (prim < FIRST)
                    assert_true(got[k] == a[k]);
                else
                    assert_true(fabs(got[k] - want) < 1e-6);
            }
        }
    free(local);
    free(before);
    free(parent);
    free(after);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

/* Distance from the eye along a unit way to a primitive; 1e10 where it misses. */
static double hit_prim(const double *g, const double *eye, const double *way)
{
    double o[3] = {0}, d[3] = {0}, near = -1e30, far = 1e30, b = 0, c = 0;
    for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 3; ++j) {
            o[k] += g[8 + 3 * j + k] * (eye[j] - g[5 + j]);
            d[k] += g[8 + 3 * j + k] * way[j];
        }
    if (g[0] < 0.5) {
        for (int k = 0; k < 3; ++k) b += o[k] * d[k], c += o[k] * o[k];
        double det = b * b - c + g[2] * g[2];
        if (det < 0) return 1e10;
        near = -b - sqrt(det), far = -b + sqrt(det);
    } else {
        for (int k = 0; k < 3; ++k) {
            double t0 = (-g[2 + k] - o[k]) / d[k], t1 = (g[2 + k] - o[k]) / d[k];
            near = fmax(near, fmin(t0, t1)), far = fmin(far, fmax(t0, t1));
        }
    }
    double t = near >= 0 ? near : far;
    return near <= far && t >= 0 ? t : 1e10;
}

/* The nearest of all primitives, none left out, at a place of the picture in pixels. */
static double look(const double *cam, const double *prims, int n, double x, double y, int *id)
{
    double u = (2 * x / n - 1) * cam[12], v = (1 - 2 * y / n) * cam[13], way[3], best = 1e10;
    for (int k = 0; k < 3; ++k)
        way[k] = (cam[3 + k * 3] * u + cam[3 + k * 3 + 1] * v - cam[3 + k * 3 + 2]) / sqrt(u * u + v * v + 1);
    *id = -1;
    for (int g = 0; g < STI_PILOT_PRIMS; ++g) {
        double t = hit_prim(prims + g * 20, cam, way);
        if (t < best) best = t, *id = g;
    }
    return best;
}

static bool agrees(const double *cam, const double *prims, int n, double x, double y, int id, double depth)
{
    int want;
    double t = look(cam, prims, n, x, y, &want);
    return want == id && fabs(t - depth) <= 1e-5 * t;
}

/*
 * A ray agrees where it is, or, for very few at edges, a tenth of a pixel away with the same primitive and nearly the
 * depth.
 */
static void rays_are_right(void **state)
{
    enum { N = 200 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = ran(device, STI_PILOT_RAYS, N);
    double *cam = reals(&p, 0), *prims = reals(&p, 1), *depth = reals(&p, 3);
    int *id = copy_of(&p, 4), hits = 0, far = 0, kinds[2] = {0};
    for (int i = 0; i < N * N; ++i) {
        double x = i % N + 0.5, y = i / N + 0.5;
        hits += id[i] >= 0;
        if (id[i] >= 0) kinds[id[i] % 2]++;
        if (agrees(cam, prims, N, x, y, id[i], depth[i])) continue;
        bool near = false;
        for (int k = 0; k < 9 && !near; ++k) {
            int other;
            double t = look(cam, prims, N, x + 0.1 * (k % 3 - 1), y + 0.1 * (k / 3 - 1), &other);
            near = other == id[i] && fabs(t - depth[i]) <= 0.05 * t;
        }
        if (!near) fail_msg("pixel %d %d: primitive %d at %.9g", i % N, i / N, id[i], depth[i]);
        ++far;
    }
    print_message("rays32: %d of %d rays hit, %d agree only a tenth of a pixel away\n", hits, N * N, far);
    assert_true(hits > N * N / 20 && kinds[0] > 100 && kinds[1] > 100);
    assert_true(far <= N * N / 1000);
    free(cam);
    free(prims);
    free(depth);
    free(id);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

/* ---- scrambled ------------------------------------------------------------------------------------------------ */

static void scrambled_each_visits_all_once(void **state)
{
    for (int n = 0; n <= 130; ++n) {
        int order[130], count[130] = {0};
        permuted_order(n, order);
        for (int k = 0; k < n; ++k) {
            assert_in_range(order[k], 0, n - 1);
            count[order[k]]++;
            if (k > 0)
                assert_true(order[k] != order[k - 1] + 1); /* who relies on its neighbour having come before is found */
        }
        for (int k = 0; k < n; ++k) assert_int_equal(count[k], 1);
    }
}

static void scrambled_newton_has_the_same_bits(void **state) { newton_has_the_same_bits(&permuted_pilots); }

static void scrambled_rays_have_the_same_bits(void **state) { rays_have_the_same_bits(&permuted_pilots); }

static void scrambled_level_has_the_same_bits(void **state) { level_has_the_same_bits(&permuted_pilots); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_hashes_everywhere),
        cmocka_unit_test(equal_at_every_size),
        cmocka_unit_test(double_is_close_to_float),
        cmocka_unit_test(a_launch_over_fewer_blocks_leaves_the_others),
        cmocka_unit_test(newton_is_right),
        cmocka_unit_test(level_is_right),
        cmocka_unit_test(rays_are_right),
        cmocka_unit_test(scrambled_each_visits_all_once),
        cmocka_unit_test(scrambled_newton_has_the_same_bits),
        cmocka_unit_test(scrambled_rays_have_the_same_bits),
        cmocka_unit_test(scrambled_level_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
