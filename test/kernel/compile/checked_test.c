/*
 * Checked mode (kernel/checked/checked.h): each kind of array, read and written, beyond its end, before its begin, by
 * an index that overflows; counts that no loop can count; divisions by zero. Each is told with kernel, line, array,
 * index and world, and nothing outside is touched. What has no fault computes the same bits as unchecked. Run on each
 * device (stet_test_on_devices); on a CPU at all widths.
 */
#include "kernel/compile/checked_rig.h"

#include "base/dice.h"
#include "kernel/checked/checked.h"

/* n is 6, far 1 << 40; t holds 0 … 4, z holds 1 but in world 3 of item 0, where it holds 50. */
static const fault_case world[] = {
    {"put(y, 3, x[3]);", NULL},
    {"put(y, 4, x[3]);", "!`put(y, 4, x[3])` writes element 4 of `y`, which has 4 (%w)"},
    {"put(y, -1, x[3]);", "!`put(y, -1, x[3])` writes element -1 of `y`, which has 4 (%w)"},
    {"put(y, 0, x[n]);", "`x[n]` reads element 6 of `x`, which has 4 (%w)"},
    {"put(y, 0, x[-n]);", "`x[-n]` reads element -6 of `x`, which has 4 (%w)"},
    {"put(y, far, x[0]);", "!`put(y, far, x[0])` writes element 34359738367 of `y`, which has 4 (%w)"},
    {"each (i, n) put(y, i, splat(1));", "`put(y, i, splat(1))` writes element 4 of `y`, which has 4 (%w)"},
    {"each (i, 2147483647) put(y, i, splat(1));", "`put(y, i, splat(1))` writes element 4 of `y`, which has 4 (%w)"},
    {"each (i, n * 357913941) z[i] = isplat(i);", "`n * 357913941` is 2147483646, more than a loop can count (%w)"},
    {"each (i, n * 400000000) z[i] = isplat(i);", "`n * 400000000` overflows, and becomes an index (%w)"},
    {"put(y, n * 2000000000, x[0]);", "`n * 2000000000` overflows, and becomes an index (%w)"},
    {"int k = n * 2000000000; put(y, k + 1, x[0]);", "`n * 2000000000` overflows, and becomes an index (%w)"},
    {"int h = n * 2000000000; put(y, h & 3, x[0]);", NULL},
    {"put(y, far * far, x[0]);", "`far * far` overflows, and becomes an index (%w)"},
    {"z[n] = isplat(0);", "!`z[n]` writes element 6 of `z`, which has 3 (%w)"},
    {"z[0] = z[3];", "`z[3]` reads element 3 of `z`, which has 3 (%w)"},
    {"z[n] += isplat(1);", "`z[n]` writes element 6 of `z`, which has 3 (%w)"},
    {"w[NW] = 1;", "!`w[40]` writes element 40 of `w`, which has 40 (%w)"},
    {"w[NW - 1] = 1;", NULL},
    {"w[n * 7 - 3] = 1;", NULL},
    {"w[0] = (ureal)t[n - 1];", "`t[n - 1]` reads element 5 of `t`, which has 5 (%w)"},
    {"w[t[4] + 100] = 1;", "`w[t[4] + 100]` writes element 104 of `w`, which has 40 (%w)"},
    {"const real *p = x + 2; put(y, 0, p[1]);", NULL},
    {"const real *p = x + 2; put(y, 0, p[2]);", "`p[2]` reads element 4 of `x`, which has 4 (%w)"},
    {"const real *p = x + n; put(y, 0, p[-3]);", NULL},
    {"const real *p = x; p = p + n; put(y, 0, *p);", "`*p` reads element 6 of `x`, which has 4 (%w)"},
    {"const real *p = n > 3 ? x : y; put(y, 0, p[4]);", "`p[4]` reads element 4 of `x`, which has 4 (%w)"},
    {"const real *p = n > 9 ? x : y; put(y, 0, p[4]);", "`p[4]` reads element 4 of `y`, which has 4 (%w)"},
    {"for (const real *p = x; n > 0; ++p) put(y, 0, *p);", "`*p` reads element 4 of `x`, which has 4 (%w)"},
    {"real v[3]; v[n] = x[0]; put(y, 0, v[0]);", "`v[n]` writes element 6 of `v`, which has 3 (%w)"},
    {"real v[3]; v[0] = x[0]; put(y, 0, v[n - 7]);", "`v[n - 7]` reads element -1 of `v`, which has 3 (%w)"},
    {"int m[2][3]; m[1][2] = n; w[0] = (ureal)m[n - 5][n - 4];", NULL},
    {"int m[2][3]; m[1][n] = n; w[0] = (ureal)m[1][2];", "`m[1][n]` writes element 6 of `m`, which has 6 (%w)"},
    {"int m[2][3]; m[n][0] = n; w[0] = (ureal)m[1][2];", "`m[n]` writes element 6 of `m`, which has 6 (%w)"},
    {"pair q[2]; q[n].n = 1; w[0] = (ureal)q[0].n;", "`q[n]` writes element 6 of `q`, which has 2 (%w)"},
    {"pair q[2]; q[1].at[n] = 1; w[0] = (ureal)q[0].n;", "`q[1].at[n]` writes element 6, which is not there (%w)"},
    {"pair q; through(&q, n - 4); w[0] = (ureal)q.at[2];", NULL},
    {"put(y, 0, pick(x, 3));", NULL},
    {"both b = {x, y, n}; copy(b, 3);", NULL},
    {"both b = {x, y, n}; copy(b, 2);", "`b.x[b.n - i]` reads element 4 of `x`, which has 4 (%w)"},
    {"both b = {x, y, n}, c = {y, y + 1, n + 1}; both d = c; copy(b, 3); copy(d, 3);",
     "`b.x[b.n - i]` reads element 4 of `y`, which has 4 (%w)"},
    {"w[0] = (ureal)table[n];", "`table[n]` reads element 6 of `table`, which has 4 (%w)"},
    {"w[0] = (ureal)down(table, 4);", NULL},
    {"w[0] = (ureal)down(t, n - 1);", NULL},
    {"real *none = 0; if (n > 0) put(none, 0, x[0]); put(y, 0, x[0]);",
     "`put(none, 0, x[0])` writes element 0, which is not there (%w)"},
    {"shared(real, s, 8); each (i, 8) s[i] = splat(1); sync(); put(y, 0, s[n]);", NULL},
    {"shared(real, s, 8); each (i, n + 3) s[i] = splat(1); sync(); put(y, 0, s[n]);",
     "`s[i]` writes element 8 of `s`, which has 8 (%w)"},
    {"staged(int, s, t, 5); w[0] = (ureal)s[4];", NULL},
    {"staged(int, s, t, 5); w[0] = (ureal)s[n];", "`s[n]` reads element 6 of `s`, which has 5 (%w)"},
    {"staged(int, s, t, 6); w[0] = (ureal)s[0];", "`t` reads element 5 of `t`, which has 5 (%w)"},
    {"w[0] = (ureal)(n / (n - 6));", "`n / (n - 6)` divides by 0 (%w)"},
    {"w[0] = (ureal)(n % (n - 6));", "`n % (n - 6)` divides by 0 (%w)"},
    {"int k = n; k /= n - 6; w[0] = (ureal)k;", "`k /= n - 6` divides by 0 (%w)"},
    {"w[0] = (ureal)((int)(-2147483642 - n) / (n - 7));", "divides the least number by -1 (%w)"},
    {"w[0] = (ureal)(far / (n - 6));", "`far / (n - 6)` divides by 0 (%w)"},
    {"w[0] = (ureal)((u64)far / (u64)(n - 6));", "divides by 0 (%w)"},
    {"w[0] = (ureal)(n / -2 + n % 4 + n / 1);", NULL},
    {"put(y, 0, gather(w, z[1]));", NULL},
    {"put(y, 0, gather(w, z[0]));", "`gather(w, z[0])` reads element 50 of `w`, which has 40 (world 3)"},
    {"z[1] = igather(t, z[0]);", "`igather(t, z[0])` reads element 50 of `t`, which has 5 (world 3)"},
    {"each (one, 1) scatter_if(m_all(), w, z[0] + lane() + isplat(world), x[0]);",
     "`scatter_if(m_all(), w, z[0] + lane() + isplat(world), x[0])` writes element 53 of `w`, which has 40 (world 3)"},
    {"real v[4]; load4(x, 0, v); put4(y, 0, v);", NULL},
    {"real v[4]; load4(x, n - 2, v); put4(y, 0, v);", "reads element 4 of `x`, which has 4 (%w)"},
    {"real v[3]; load4(x, 0, v); put(y, 0, v[0]);", "writes element 3 of `v`, which has 3 (%w)"},
    {"real v[4]; load4(x, 0, v); put4(y, n - 2, v);", "writes element 4 of `y`, which has 4 (%w)"},
};

static const fault_case item[] = {
    {"y[0] = of_world(x, 4, 20, 3);", NULL},
    {"y[0] = of_world(x, 4, 20, n);",
     "`of_world(x, 4, 20, n)` looks for 6 in `x`, which has 4 items a world and 21 worlds"},
    {"y[0] = of_world(x, 4, 20, -1);", "looks for -1 in `x`, which has 4 items a world and 21 worlds"},
    {"y[0] = of_world(x, 4, 2000, 1);", "looks for 2000 in `x`, which has 4 items a world and 21 worlds"},
    {"y[0] = of_world(x, 4, -1, 1);", "looks for -1 in `x`, which has 4 items a world and 21 worlds"},
    {"y[0] = of_world(x, far, 1, 1);", "looks for 1 in `x`, which has 4 items a world and 21 worlds"},
    {"y[n * 100] = 1;", "!`y[n * 100]` writes element 600 of `y`, which has 84 (block 0)"},
    {"z[-1] = 1;", "!`z[-1]` writes element -1 of `z`, which has 63 (block 0)"},
    {"items (p, 80) store(y + p, splat(1));", NULL},
    {"items (p, 800) store(y + p, splat(1));", "writes element 84 of `y`, which has 84 (block 0)"},
    {"items (p, 84) store_if(in_range(p, 84), y + p, load(y + p));", NULL},
    {"items (p, 200) store_if(in_range(p, 200), y + p, splat(1));",
     "`store_if(in_range(p, 200), y + p, splat(1))` writes element 84 of `y`, which has 84 (block 0)"},
    {"items (p, 4) istore(z + p + far, isplat(1));", "writes element"},
    {"w[0] = 1; w[block + 40] = 1;", "`w[block + 40]` writes element 40 of `w`, which has 40 (block 0)"},
    {"if (block == 5) w[40] = 1;", "!`w[40]` writes element 40 of `w`, which has 40 (block 5)"},
    {"if (block > 5) w[40 + block] = 1;", "!`w[40 + block]` writes element 46 of `w`, which has 40 (block 6)"},
};

static void faults_of_world_kernels(void **state) { check_all(world, (int)(sizeof world / sizeof *world), true); }
static void faults_of_item_kernels(void **state) { check_all(item, (int)(sizeof item / sizeof *item), false); }

/* ---- random accesses --------------------------------------------------------------------------------------------- */

enum { ACCESSES = 24, SOURCES = 1 };

/* A statement with one access, whose index is written `%s` there; of which array, and how many elements that has. */
typedef struct one_access {
    const char *text, *array;
    int count;
} one_access;

static const one_access accesses[] = {
    {"put(y, 1, x[%s]);", "x", NX},
    {"put(y, %s, splat(2));", "y", NX},
    {"z[%s] = isplat(3);", "z", NZ},
    {"put(y, 2, to_real(z[%s]));", "z", NZ},
    {"w[%s] = 4;", "w", NW},
    {"w[1] = w[%s] + 1;", "w", NW},
    {"w[2] = (ureal)t[%s];", "t", NT},
    {"{ const real *p = x + 2; put(y, 1, p[(%s) - 2]); }", "x", NX},
    {"{ const real *p = x; p = p + (%s); put(y, 1, *p); }", "x", NX},
    {"{ ureal *p = w; for (int k = 0; k < 2; ++k) p[%s] += 1; }", "w", NW},
    {"put(y, 0, pick(x, %s));", "x", NX},
    {"put(y, 0, pick(x + 1, (%s) - 1));", "x", NX},
    {"{ real v[5] = {splat(0), x[0], x[1], x[2], x[3]}; put(y, 3, v[%s]); }", "v", 5},
    {"{ real u[6]; for (int k = 0; k < 6; ++k) u[k] = splat(0); fill(u, %s); put(y, 3, u[0]); }", "u", 6},
    {"{ int m[2][3] = {{1, 2, 3}, {4, 5, 6}}; w[3] = (ureal)m[%s][1]; }", "m", 2},
    {"{ pair q[3]; for (int k = 0; k < 3; ++k) q[k].n = k; w[3] = (ureal)q[%s].n; }", "q", 3},
    {"{ pair q[3]; for (int k = 0; k < 3; ++k) q[k].n = k; q[%s].n = 1; w[3] = (ureal)q[0].n; }", "q", 3},
    {"w[4] = (ureal)table[%s];", "table", 4},
    {"each (k, 2) w[6 + k] = (ureal)t[%s];", "t", NT},
    {"if (n == 6) { w[8] = w[%s]; } else { w[8] = 0; }", "w", NW},
    {"put(y, 2, gather(w, isplat(%s)));", "w", NW},
    {"z[2] = igather(t, isplat(%s));", "t", NT},
    {"w[9] = (n > 5 ? w : w + 3)[%s];", "w", NW},
    {"for (int k = 0; k < 3; ++k) put(y, 1, x[(%s) + 0 * k]);", "x", NX},
};

/* A constant, a sum, a product, a number that was read, a variable: all of this value. */
static void put_index(uint64_t *dice, int value, char *out, size_t size)
{
    switch (dice_below(dice, 5)) {
    case 0: (void)snprintf(out, size, "n + %d", value - 6); break;
    case 1: (void)snprintf(out, size, "n * %d + %d", 3, value - 18); break;
    case 2: (void)snprintf(out, size, "t[4] + %d", value - 4); break;
    case 3: (void)snprintf(out, size, "(int)(far >> 40) + %d", value - 1); break;
    default: (void)snprintf(out, size, "world - world + %d - n", value + 6); break;
    }
}

static int outside(uint64_t *dice, int count)
{
    static const int far_ones[] = {-1, -2, 0, 1, 1000, 100000000, -100000000};
    int x = far_ones[dice_below(dice, sizeof far_ones / sizeof *far_ones)];
    return x < 0 ? x : count + x;
}

/*
 * Kernel 0 is right; of kernel k access k - 1 goes beyond its array: found as such, on every device. Unchecked, kernel
 * 0 has the same bits.
 */
static void random_source(uint64_t seed)
{
    static char text[400000];
    uint64_t dice = seed;
    const one_access *list[ACCESSES];
    int right[ACCESSES], wrong[ACCESSES];
    for (int i = 0; i < ACCESSES; ++i) {
        list[i] = &accesses[dice_below(&dice, sizeof accesses / sizeof *accesses)];
        right[i] = (int)dice_below(&dice, (size_t)list[i]->count);
        wrong[i] = outside(&dice, list[i]->count);
    }
    size_t used = (size_t)snprintf(text, sizeof text, "%s", before);
    for (int k = 0; k <= ACCESSES; ++k) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%d%s",
                                 (int)(strchr(world_head, '(') - world_head), world_head, k, strchr(world_head, '('));
        for (int i = 0; i < ACCESSES; ++i) {
            char index[64];
            const char *at = strstr(list[i]->text, "%s");
            put_index(&dice, i == k - 1 ? wrong[i] : right[i], index, sizeof index);
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s%s\n", (int)(at - list[i]->text),
                                     list[i]->text, index, at + 2);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", world_tail);
    }
    assert_true(used < sizeof text);
    FOR_DEVICES(isa)
    {
        uint64_t bits[2];
        for (int checked = 0; checked < 2; ++checked) {
            rig r = open_rig(isa, checked, true);
            stet_kernel_def def = kernel_def(text);
            def.name = "k_world0";
            stet_kernel *k = make_kernel(r.device, &def);
            stet_result result = stet_kernel_launch(k, WORLDS, r.arg, ARGS);
            if (result != STET_OK) fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, stet_get_last_error(), text);
            bits[checked] = hash_all(&r);
            stet_kernel_destroy(k);
            close_rig(&r);
        }
        if (bits[0] != bits[1]) fail_msg("seed %llu: other bits in checked mode\n%s", (unsigned long long)seed, text);
        rig r = open_rig(isa, true, true);
        for (int m = 1; m <= ACCESSES; ++m) {
            char name[32], wanted[96];
            stet_kernel_def def = kernel_def(text);
            (void)snprintf(name, sizeof name, "k_world%d", m);
            (void)snprintf(wanted, sizeof wanted, " element %d of `%s`", wrong[m - 1], list[m - 1]->array);
            def.name = name;
            stet_kernel *k = make_kernel(r.device, &def);
            reset_rig(&r);
            stet_result result = stet_kernel_launch(k, WORLDS, r.arg, ARGS);
            bool named = result == STET_ERROR_FAULT && strstr(stet_get_last_error(), wanted);
            bool row = list[m - 1]->array[0] == 'm' && result == STET_ERROR_FAULT;
            if (!named && !row)
                fail_msg("seed %llu, %s, %s: %s, not%s\n%s", (unsigned long long)seed, stet_device_get_name(r.device),
                         name, result == STET_OK ? "no fault" : stet_get_last_error(), wanted, list[m - 1]->text);
            stet_kernel_destroy(k);
        }
        close_rig(&r);
    }
}

static int nsource = SOURCES;
static uint64_t first_seed = 1;

static void an_index_that_is_wrong_is_found(void **state)
{
    print_message("%d sources, seeds from %llu\n", nsource, (unsigned long long)first_seed);
    if (!picked_any()) quick_compiler(true);
    for (int i = 0; i < nsource; ++i) random_source(first_seed + (uint64_t)i);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* In a list and in a loop of one a fault is told at the end of the list; the next one is clean. */
static void faults_in_lists(void **state)
{
    static const char source[] = "#include <stet/lang.h>\n"
                                 "world_kernel void k_far(real *y, int *more, int i)\n"
                                 "{ put(y, i, splat(1)); more[0] = 0; }\n";
    FOR_DEVICES(isa)
    {
        rig r = open_rig(isa, true, true);
        stet_kernel *k = kernel_from(r.device, source);
        for (int turn = 0; turn < 6; ++turn) {
            bool wrong = turn % 3 == 1;
            int one = 1;
            stet_arg args[] = {r.arg[1], r.arg[4], stet_arg_int(wrong ? 7 : 2)};
            write_array(r.array[4], one);
            OK(stet_record_begin(r.device, "a list"));
            stet_result result = turn < 3 ? STET_OK : stet_record_while(r.device, r.array[4], 5);
            if (result == STET_OK) result = stet_kernel_launch(k, WORLDS, args, 3);
            if (result == STET_OK && turn >= 3) result = stet_record_while_end(r.device);
            OK(result);
            result = stet_record_end(r.device, result);
            if (wrong)
                FAILS(result, STET_ERROR_FAULT, "writes element 7 of `y`, which has 4");
            else
                OK(result);
        }
        stet_kernel_destroy(k);
        close_rig(&r);
    }
}

/* An array that is not given has no elements; a kernel may say that it is not checked. */
static void absent_arrays(void **state)
{
    static const char source[] = "#include <stet/lang.h>\n"
                                 "world_kernel void k_maybe(real *y, const ureal *w, int n)\n"
                                 "{ if (n) put(y, 0, splat(w[n])); }\n";
    FOR_DEVICES(isa)
    {
        rig r = open_rig(isa, true, true);
        stet_kernel *k = kernel_from(r.device, source);
        stet_arg args[] = {r.arg[1], stet_arg_array(NULL), stet_arg_int(0)};
        OK(stet_kernel_launch(k, WORLDS, args, 3));
        args[2].i = 1;
        FAILS(stet_kernel_launch(k, WORLDS, args, 3), STET_ERROR_FAULT, "reads element 1 of `w`, which has 0");
        assert_int_equal(stet_kernel_get_nparam(k), 3);
        stet_kernel_destroy(k);
        stet_kernel_def def = kernel_def(source);
        def.unchecked = true;
        k = make_kernel(r.device, &def);
        args[1] = r.arg[3];
        OK(stet_kernel_launch(k, WORLDS, args, 3));
        assert_null(sti_user_kernel(k)->checked);
        stet_kernel_destroy(k);
        close_rig(&r);
    }
}

/* ---- unchecked --------------------------------------------------------------------------------------------------- */

enum { GUARD = 64 };
static int64_t overruns;

/* A block with its size before it and a guard behind it. */
static void *guarded_alloc(size_t size, size_t align, void *context)
{
    char *memory = NULL;
    (void)context;
    if (posix_memalign((void **)(void *)&memory, align, align + size + GUARD) != 0) return NULL;
    memcpy(memory + align - 2 * sizeof size, (size_t[]){align, size}, 2 * sizeof size);
    memset(memory + align + size, 0x5a, GUARD);
    return memory + align;
}

static void guarded_free(void *block, void *context)
{
    size_t is[2];
    (void)context;
    memcpy(is, (char *)block - sizeof is, sizeof is);
    for (int k = 0; k < GUARD; ++k) overruns += ((char *)block)[is[1] + (size_t)k] != 0x5a;
    free((char *)block - is[0]);
}

/* Lanes beyond the last item write behind a plain array: there is room for them, so no block of the heap is overrun. */
static void stores_at_the_end_overrun_nothing(void **state)
{
    static const char source[] =
        "#include <stet/lang.h>\n"
        "item_kernel void k_all(ureal *y, int *z, int n, int from, int block)\n"
        "{ items (p, n) { store(y + from + p, splat(2)); istore(z + from + p, isplat(3)); } }\n";
    OK(stet_set_allocator(guarded_alloc, guarded_free, NULL));
    FOR_DEVICES(isa)
    for (int n = 1; n <= 33; n += n < 17 ? 1 : 16)
        for (int from = 0; from < n; from += 1 + n / 3) {
            stet_device *device = open_checked(isa, false);
            stet_array *y, *z;
            stet_kernel *k = kernel_from(device, source);
            OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, false, &y, n));
            OK(STI_ARRAY(device, "z", STET_DTYPE_INT, false, &z, n));
            const stet_arg args[] = {stet_arg_array(y), stet_arg_array(z), stet_arg_int(n - from), stet_arg_int(from)};
            OK(stet_kernel_launch(k, 1, args, 4));
            assert_true(reals_get(y, 0, n - 1) == 2);
            stet_kernel_destroy(k);
            stet_array_destroy(y);
            stet_array_destroy(z);
            stet_device_destroy(device);
        }
    OK(stet_set_allocator(NULL, NULL, NULL));
    assert_int_equal(overruns, 0);
}

/* Local arrays just below the limits run on every width. */
static void arrays_at_the_limit_fit(void **state)
{
    static const char source[] =
        "#include <stet/lang.h>\n"
        "LFN real sum(const real *a, int n) { real s = splat(0); for (int i = 0; i < n; ++i) s = s + a[i]; return s; "
        "}\n"
        "world_kernel void k_large(real *y, int n)\n"
        "{ real v[16000]; for (int i = 0; i < n; ++i) v[i] = splat((ureal)(i & 3)); put(y, 0, sum(v, n)); }\n";
    for (int checked = 0; checked < 2; ++checked) FOR_DEVICES(isa)
        {
            rig r = open_rig(isa, checked, true);
            stet_kernel *k = kernel_from(r.device, source);
            stet_arg args[] = {r.arg[1], stet_arg_int(16000)};
            OK(stet_kernel_launch(k, WORLDS, args, 2));
            assert_true(reals_get(r.array[1], WORLDS - 1, 0) == 24000);
            stet_kernel_destroy(k);
            close_rig(&r);
        }
}

/*
 * Compiling takes nearly all of the time: without optimisation on a double, and where accesses are random. The driver
 * that a first launch opens keeps files open, which are not a test's.
 */
static int begin_all(void **state)
{
    int result = make_folder(state);
    if (result != 0 || !picked_any()) return result;
    quick_compiler(true);
    rig r = open_rig(STI_ISA_COUNT, false, true);
    stet_kernel *k = kernel_from(r.device, "#include <stet/lang.h>\n"
                                           "world_kernel void k_one(real *y) { put(y, 0, splat(1)); }\n");
    OK(stet_kernel_launch(k, WORLDS, &r.arg[1], 1));
    stet_kernel_destroy(k);
    close_rig(&r);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(faults_of_world_kernels),
                                       TEST(faults_of_item_kernels),
                                       TEST(stores_at_the_end_overrun_nothing),
                                       TEST(faults_in_lists),
                                       TEST(absent_arrays),
                                       TEST(arrays_at_the_limit_fit),
                                       TEST(an_index_that_is_wrong_is_found)};
    if (argc > 1) nsource = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, begin_all, remove_folder);
}
