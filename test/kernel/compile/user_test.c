/*
 * The caller's own kernels: launches over worlds and items, what is refused, what moves on, and the same bits as the
 * library's kernels that were compiled with it.
 */
#include "kernel/user_rig.h"

#include "base/failing.h"
#include "bench/pilot/pilot.h"

enum { WORLDS = 21, ITEMS = 3 };

/* y[i] = a x[i] + y[i] + the world's number. */
static const char world_source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_axpy(const real *x, real *y, ureal a, int n, int world)\n"
    "{\n"
    "    each (i, n) put(y, i, fma(splat(a), x[i], y[i]) + to_real(isplat(world) + lane()));\n"
    "}\n";

/* out[w][i] = item i of world w, twice; a block is one world. */
static const char item_source[] =
    "#include \"stet/lang.h\"\n"
    "item_kernel void k_double(const wreal *x, ureal *out, int n, i64 stride, int block)\n"
    "{\n"
    "    for (int i = 0; i < n; ++i) out[block * stride + i] = 2 * of_world(x, n, block, i);\n"
    "}\n";

typedef struct pair {
    stet_array *x, *y;
} pair;

/* x[w][i] = 10 w + i, y = 100. */
static pair open_pair(stet_device *d)
{
    pair p;
    OK(STI_ARRAY(d, "x", STET_DTYPE_REAL, true, &p.x, WORLDS, ITEMS));
    OK(STI_ARRAY(d, "y", STET_DTYPE_REAL, true, &p.y, WORLDS, ITEMS));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) {
            reals_set(p.x, w, i, 10 * w + i);
            reals_set(p.y, w, i, 100);
        }
    stet_array_mark_written(p.x);
    stet_array_mark_written(p.y);
    return p;
}

static void close_pair(pair p)
{
    stet_array_destroy(p.x);
    stet_array_destroy(p.y);
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static void launched_over_worlds(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *d = open_device(isa, 1);
        stet_kernel *k = kernel_from(d, world_source);
        pair p = open_pair(d);
        uint64_t x = stet_array_get_generation(p.x), y = stet_array_get_generation(p.y);
        stet_arg args[] = {stet_arg_array(p.x), stet_arg_array(p.y), stet_arg_real(0.5), stet_arg_int(ITEMS)};
        OK(stet_kernel_launch(k, WORLDS, args, 4));
        assert_int_equal(stet_array_get_generation(p.x), x); /* const: read */
        assert_true(stet_array_get_generation(p.y) > y);
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < ITEMS; ++i) assert_true(reals_get(p.y, w, i) == 100 + 0.5 * (10 * w + i) + w);
        close_pair(p);
        stet_kernel_destroy(k);
        stet_device_destroy(d);
    }
}

static void launched_over_items(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *d = open_device(isa, 1);
        stet_kernel *k = kernel_from(d, item_source);
        pair p = open_pair(d);
        stet_array *out;
        OK(STI_ARRAY(d, "out", STET_DTYPE_REAL, false, &out, WORLDS, ITEMS));
        stet_arg args[] = {stet_arg_array(p.x), stet_arg_array(out), stet_arg_int(ITEMS), stet_arg_int(ITEMS)};
        OK(stet_kernel_launch(k, WORLDS, args, 4));
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < ITEMS; ++i) assert_true(reals_get(out, 0, (int64_t)w * ITEMS + i) == 2 * (10 * w + i));
        stet_array_destroy(out);
        close_pair(p);
        stet_kernel_destroy(k);
        stet_device_destroy(d);
    }
}

static void wrong_arguments_are_named_and_change_nothing(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1), *other = open_device(STI_ISA_portable, 1);
    stet_kernel *k = kernel_from(d, world_source);
    pair p = open_pair(d), q = open_pair(other);
    stet_array *few, *plain;
    OK(STI_ARRAY(d, "few", STET_DTYPE_REAL, true, &few, WORLDS - 1, ITEMS));
    OK(STI_ARRAY(d, "plain", STET_DTYPE_REAL, false, &plain, WORLDS, ITEMS));
    stet_arg x = stet_arg_array(p.x), y = stet_arg_array(p.y), a = stet_arg_real(1), n = stet_arg_int(ITEMS);
    uint64_t before = stet_array_get_generation(p.y);
#define LAUNCH(...)                                                                                                    \
    stet_kernel_launch(k, WORLDS, (stet_arg[]){__VA_ARGS__},                                                           \
                       (int)(sizeof((stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
    FAILS(LAUNCH(x, y, a), STET_ERROR_INVALID_ARGUMENT, "kernel k_axpy: argument for parameter n is missing");
    FAILS(LAUNCH(x, y, a, n, n), STET_ERROR_INVALID_ARGUMENT, "kernel k_axpy takes 4 arguments, not 5");
    FAILS(LAUNCH(x, y, n, n), STET_ERROR_INVALID_ARGUMENT, "parameter a takes a real number, not an integer");
    FAILS(LAUNCH(x, y, a, a), STET_ERROR_INVALID_ARGUMENT, "parameter n takes an integer, not a real number");
    FAILS(LAUNCH(n, y, a, n), STET_ERROR_INVALID_ARGUMENT, "parameter x takes an array, not an integer");
    FAILS(LAUNCH(x, stet_arg_array(few), a, n), STET_ERROR_INVALID_ARGUMENT, "parameter y");
    FAILS(LAUNCH(x, stet_arg_array(plain), a, n), STET_ERROR_INVALID_ARGUMENT,
          "takes an array of worlds; plain is a plain array");
    FAILS(LAUNCH(x, stet_arg_array(q.y), a, n), STET_ERROR_INVALID_ARGUMENT,
          "parameter y: array y lives on another device");
    FAILS(LAUNCH(x, y, a, stet_arg_int(INT64_MAX)), STET_ERROR_LIMIT,
          "parameter n: 9223372036854775807 does not fit an int");
    FAILS(LAUNCH(x, y, a, (stet_arg){.kind = (stet_arg_kind)9}), STET_ERROR_INVALID_ARGUMENT,
          "argument 3 is of no kind");
    FAILS(stet_kernel_launch(k, WORLDS, NULL, 4), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_kernel_launch(NULL, WORLDS, &x, 1), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_kernel_launch(k, WORLDS, &x, 1000), STET_ERROR_INVALID_ARGUMENT, "takes 4 arguments, not 1000");
    FAILS(stet_kernel_launch(k, -1, (stet_arg[]){x, y, a, n}, 4), STET_ERROR_INVALID_ARGUMENT, "launched over -1");
    OK(stet_kernel_launch(k, 0, (stet_arg[]){x, y, a, n}, 4)); /* no launch */
    assert_int_equal(stet_array_get_generation(p.y), before);
    assert_int_equal(d->mechanisms.counters.launches, 0);
    stet_array_destroy(few);
    stet_array_destroy(plain);
    close_pair(p);
    close_pair(q);
    stet_kernel_destroy(k);
    stet_device_destroy(d);
    stet_device_destroy(other);
}

static void the_signature_can_be_asked(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel *k = kernel_from(d, world_source);
    static const stet_kernel_param want[] = {
        {"x", "real", STET_ARG_ARRAY, true, false},
        {"y", "real", STET_ARG_ARRAY, true, true},
        {"a", "ureal", STET_ARG_REAL, false, false},
        {"n", "int", STET_ARG_INT, false, false},
    };
    assert_string_equal(stet_kernel_get_name(k), "k_axpy");
    assert_int_equal(stet_kernel_get_nparam(k), 4); /* `world` is stet's own */
    stet_kernel_param got;
    for (int i = 0; i < 4; ++i) {
        OK(stet_kernel_get_param(k, i, &got));
        assert_string_equal(got.name, want[i].name);
        assert_string_equal(got.type, want[i].type);
        assert_int_equal(got.kind, want[i].kind);
        assert_int_equal(got.worlds, want[i].worlds);
        assert_int_equal(got.written, want[i].written);
    }
    FAILS(stet_kernel_get_param(k, 4, &got), STET_ERROR_INVALID_ARGUMENT,
          "kernel k_axpy: there is no parameter 4; it has 4");
    FAILS(stet_kernel_get_param(k, -1, &got), STET_ERROR_INVALID_ARGUMENT, "there is no parameter -1");
    stet_kernel_destroy(k);
    stet_device_destroy(d);
}

/* ---- the same bits as what was compiled with the library --------------------------------------------------------- */

static void pilots_give_the_same_bits(void **state)
{
    static const char *const files[] = {"newton", "rays", "hierarchy"};
    FOR_ISAS(isa)
    for (int kind = 0; kind < STI_PILOT_COUNT; ++kind) {
        stet_device *d = open_device(isa, 1);
        sti_pilot built, own;
        uint64_t want, got;
        OK(sti_pilot_create(d, (sti_pilot_kind)kind, 33, &built));
        OK(sti_pilot_create(d, (sti_pilot_kind)kind, 33, &own));
        char path[512];
        (void)snprintf(path, sizeof path, "%s/bench/pilot/%s.k.h", STET_TEST_SOURCE_DIR, files[kind]);
        stet_kernel_def def = kernel_def(NULL);
        def.path = path;
        def.includes = (const char *const[]){STET_TEST_SOURCE_DIR "/src"};
        def.ninclude = 1;
        stet_kernel *k = make_kernel(d, &def);
        assert_true(sti_user_kernel(k) != own.kernel);
        own.kernel = sti_user_kernel(k);
        OK(sti_pilot_run(d, &built));
        OK(sti_pilot_run(d, &own));
        OK(sti_pilot_hash(&built, &want));
        OK(sti_pilot_hash(&own, &got));
        if (got != want)
            fail_msg("%s on %s: %016llx, not %016llx", files[kind], sti_isa_name((sti_isa)isa), (unsigned long long)got,
                     (unsigned long long)want);
        sti_pilot_destroy(&built);
        sti_pilot_destroy(&own);
        stet_kernel_destroy(k);
        stet_device_destroy(d);
    }
}

/* ---- strings, files, names --------------------------------------------------------------------------------------- */

static void a_string_and_a_file_are_the_same_kernel(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def from_file = kernel_def(NULL);
    from_file.path = write_file("adder.k.h", adder(7));
    stet_kernel *a = kernel_from(d, adder(7)), *b = make_kernel(d, &from_file);
    assert_string_equal(sti_user_kernel_id(a), sti_user_kernel_id(b));
    assert_true(add_once(d, a) == 7 && add_once(d, b) == 7);
    assert_string_equal(sti_user_kernel(b)->file, from_file.path);
    assert_int_equal(sti_user_kernel(b)->line, 2);
    stet_kernel_destroy(a);
    stet_kernel_destroy(b);
    stet_device_destroy(d);
}

static void one_of_several_kernels(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def("#include <stet/lang.h>\n"
                                     "world_kernel void k_one(real *y, int n) { each (i, n) put(y, i, splat(1)); }\n"
                                     "world_kernel void k_two(real *y, int n) { each (i, n) put(y, i, splat(2)); }\n");
    stet_kernel *k;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT,
          "kernel: has 2 kernels (k_one, k_two); name the one that is meant");
    assert_null(k);
    def.name = "k_three";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "kernel: has no kernel k_three; it has: k_one, k_two");
    def.name = "k_two";
    k = make_kernel(d, &def);
    def.name = "k_one";
    stet_kernel *one = make_kernel(d, &def);
    assert_true(add_once(d, k) == 2 && add_once(d, one) == 1);
    assert_int_equal(cache_counter(d).misses, 1); /* compiled together */
    stet_kernel_destroy(one);
    stet_kernel_destroy(k);
    stet_device_destroy(d);
}

/* Kernels of one name, made and destroyed in every order: each keeps its own code. */
static void kernels_of_one_name_do_not_mix(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel *k[4] = {0};
    for (int round = 0; round < 12; ++round) {
        int slot = round * 7 % 4;
        stet_kernel_destroy(k[slot]);
        k[slot] = kernel_from(d, adder(slot + 10 * (round % 3)));
        assert_true(add_once(d, k[slot]) == (float)(slot + 10 * (round % 3)));
        for (int i = 0; i < 4; ++i)
            if (k[i]) assert_int_equal((int)add_once(d, k[i]) % 10, i);
    }
    for (int i = 0; i < 4; ++i) stet_kernel_destroy(k[i]);
    assert_int_equal(cache_counter(d).held_bytes, 0);
    stet_device_destroy(d);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void bad_definitions(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel *k;
    stet_kernel_def def = {0};
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "start from stet_default_kernel_def()");
    def = kernel_def(NULL);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "neither a source nor a path");
    FAILS(stet_kernel_create(d, NULL, &k), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_kernel_create(NULL, &def, &k), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_kernel_create(d, &def, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    def = kernel_def(adder(1));
    def.ninclude = 1;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "1 include folder announced, but not given");
    def.includes = (const char *const[]){""};
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "include folder 0 has no name");
    def = kernel_def(adder(1));
    def.cache_limit = -1;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "a cache of -1 bytes");
    stet_kernel_destroy(NULL);
    stet_device_destroy(d);
}

static void compilers_that_do_not_work(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_kernel *k;
    stet_kernel_def def = kernel_def(adder(1));
    def.compiler = "no-such-compiler";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND,
          "there is no compiler 'no-such-compiler' to be found; install a C compiler");
    def.compiler = "/no/such/cc";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "there is no compiler '/no/such/cc'");
    def.compiler = "/tmp"; /* no program */
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_NOT_FOUND, "there is no compiler '/tmp'");
    def.compiler = "false";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_UNSUPPORTED, "does not say its version (status 1)");
    def.compiler = write_file("silent", "#!/bin/sh\n[ \"$1\" != --version ] || echo silent 1\n");
    assert_int_equal(chmod(def.compiler, 0755), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_IO, "failed (status 0) on kernel: it does not say why");
    def.compiler = write_file("full", "#!/bin/sh\n[ \"$1\" != --version ] || exec echo full 1\n"
                                      "echo 'k.c: fatal error: error closing: No space left on device' >&2\nexit 1\n");
    assert_int_equal(chmod(def.compiler, 0755), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_IO, "there is no room left for its files in ");
    def.compiler = write_file("killed", "#!/bin/sh\n[ \"$1\" != --version ] || exec echo killed 1\nkill -9 $$\n");
    assert_int_equal(chmod(def.compiler, 0755), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_IO, "failed (status 137) on kernel");
    def.compiler =
        write_file("liar", "#!/bin/sh\n[ \"$1\" != --version ] || exec echo liar 1\necho nonsense >kernel.so\n");
    assert_int_equal(chmod(def.compiler, 0755), 0);
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_IO, "kernel k_add: its compiled code cannot be loaded");
    def.compiler = NULL;
    k = make_kernel(d, &def); /* and none of it stays */
    assert_true(add_once(d, k) == 1);
    stet_kernel_destroy(k);
    stet_device_destroy(d);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static stet_result make_and_destroy(void)
{
    stet_device_def def = stet_default_device_def();
    stet_kernel_def kernel = kernel_def(adder(3));
    stet_device *d;
    stet_kernel *k;
    def.isa = "portable";
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &d));
    stet_result result = stet_kernel_create(d, &kernel, &k);
    stet_kernel_destroy(k);
    stet_device_destroy(d);
    return result;
}

static void every_allocation_may_fail(void **state)
{
    OK(make_and_destroy()); /* the rest is warm, which is faster */
    int64_t n = fail_each_allocation(make_and_destroy, false);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launched_over_worlds),
        TEST(launched_over_items),
        TEST(wrong_arguments_are_named_and_change_nothing),
        TEST(the_signature_can_be_asked),
        TEST(pilots_give_the_same_bits),
        TEST(a_string_and_a_file_are_the_same_kernel),
        TEST(one_of_several_kernels),
        TEST(kernels_of_one_name_do_not_mix),
        TEST(bad_definitions),
        TEST(compilers_that_do_not_work),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
