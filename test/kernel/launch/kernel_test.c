/*
 * Launches: what is refused, what the kernel is handed, and which generations move. The kernels here are signatures
 * with a function that writes down its calls.
 */
#include "device/rig.h"

#include "kernel/record/launch.h"

#include <pthread.h>
#include <stdio.h>

enum { WORLDS = 21, ITEMS = 3 };

/* ---- kernels that write down their calls ---------------------------------------------------------------------- */

static struct record {
    int calls, nslot;
    int64_t covered, end; /* blocks, and one beyond the last */
    sti_slot slot[STI_MAX_PARAMS];
} seen;

static void record_call(const sti_slot *slots, int64_t begin, int64_t end)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    seen.calls++;
    seen.covered += end - begin;
    if (end > seen.end) seen.end = end;
    memcpy(seen.slot, slots, sizeof *slots * (size_t)seen.nslot);
    (void)pthread_mutex_unlock(&lock);
}

static sti_signature signature;

static sti_kernel kernel_of(const char *text)
{
    size_t cursor = 0;
    char message[512] = "";
    if (sti_signature_next(text, &cursor, &signature, message, sizeof message) != 1) fail_msg("%s", message);
    sti_kernel k = {
        .name = signature.name, .kind = signature.kind, .nparam = signature.nparam, .param = signature.param};
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) k.call[isa] = record_call;
    memset(&seen, 0, sizeof seen);
    seen.nslot = 0;
    for (int i = 0; i < signature.nparam; ++i) seen.nslot += !signature.param[i].index;
    return k;
}

/* An array of each element type, of worlds (real and int) and plain. */
typedef struct stock {
    stet_device *device;
    stet_array *worlds[2], *plain[STET_DTYPE_COUNT];
} stock;

static stock open_stock(int isa, int threads)
{
    stock s = {.device = open_device(isa, threads)};
    char name[16];
    for (int t = 0; t < STET_DTYPE_COUNT; ++t) {
        (void)snprintf(name, sizeof name, "plain_%s", stet_dtype_name((stet_dtype)t));
        OK(STI_ARRAY(s.device, name, (stet_dtype)t, false, &s.plain[t], WORLDS, ITEMS));
        (void)snprintf(name, sizeof name, "worlds_%s", stet_dtype_name((stet_dtype)t));
        if (t < 2) OK(STI_ARRAY(s.device, name, (stet_dtype)t, true, &s.worlds[t], WORLDS, ITEMS));
    }
    return s;
}

static void close_stock(stock *s)
{
    for (int t = 0; t < STET_DTYPE_COUNT; ++t) stet_array_destroy(s->plain[t]);
    for (int t = 0; t < 2; ++t) stet_array_destroy(s->worlds[t]);
    stet_device_destroy(s->device);
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

/* Each type of parameter takes the arrays that it should, and no others. */
static void each_type_of_parameter_against_each_array(void **state)
{
    stock s = open_stock(STI_ISA_portable, 1);
    for (int p = 0; p < STI_PARAM_TYPE_COUNT; ++p) {
        bool item = p == STI_PARAM_WREAL || p == STI_PARAM_WINT, worlds = p <= STI_PARAM_WINT;
        char text[80];
        (void)snprintf(text, sizeof text, "%s void k_x(const %s *a)", item ? "item_kernel" : "world_kernel",
                       sti_param_type_name((sti_param_type)p));
        sti_kernel k = kernel_of(text);
        static const unsigned takes[STI_PARAM_TYPE_COUNT] = {
            [STI_PARAM_REAL] = 1u << STET_DTYPE_REAL,
            [STI_PARAM_LINT] = 1u << STET_DTYPE_INT,
            [STI_PARAM_WREAL] = 1u << STET_DTYPE_REAL,
            [STI_PARAM_WINT] = 1u << STET_DTYPE_INT,
            [STI_PARAM_UREAL] = 1u << STET_DTYPE_REAL,
            [STI_PARAM_INT] = 1u << STET_DTYPE_INT | 1u << STET_DTYPE_U32,
            [STI_PARAM_I64] = 1u << STET_DTYPE_I64,
            [STI_PARAM_U32] = 1u << STET_DTYPE_U32,
            [STI_PARAM_U16] = 1u << STET_DTYPE_U16 | 1u << STET_DTYPE_F16,
            [STI_PARAM_U8] = 1u << STET_DTYPE_U8,
        };
        if (sti_param_type_team((sti_param_type)p)) continue; /* takes a number */
        for (int t = 0; t < STET_DTYPE_COUNT; ++t)
            for (int of_worlds = 0; of_worlds < (t < 2 ? 2 : 1); ++of_worlds) {
                stet_array *a = of_worlds ? s.worlds[t] : s.plain[t];
                stet_result result = STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(a));
                bool fits = takes[p] >> t & 1;
                if (fits && of_worlds == worlds) {
                    OK(result);
                    assert_ptr_equal(seen.slot[0].p, a->data);
                    assert_int_equal(seen.slot[0].n, worlds ? ITEMS : 0);
                    continue;
                }
                assert_int_equal(result, STET_ERROR_INVALID_ARGUMENT);
                assert_non_null(strstr(stet_get_last_error(), "kernel k_x: parameter a is"));
                assert_non_null(strstr(stet_get_last_error(), !fits       ? "holds"
                                                              : of_worlds ? "takes a plain array"
                                                                          : "takes an array of worlds"));
                assert_non_null(strstr(stet_get_last_error(), a->name));
            }
    }
    close_stock(&s);
}

static void each_kind_of_argument(void **state)
{
    stock s = open_stock(STI_ISA_portable, 1);
    sti_kernel k = kernel_of("world_kernel void k_x(const real *a, int n, i64 m, ureal h)");
    sti_arg a = sti_arg_array(s.worlds[0]), i = sti_arg_int(3), f = sti_arg_real(0.5);
    OK(STI_LAUNCH(k, s.device, WORLDS, a, i, i, f));
    FAILS(STI_LAUNCH(k, s.device, WORLDS, i, i, i, f), STET_ERROR_INVALID_ARGUMENT,
          "kernel k_x: parameter a takes an array, not an integer");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, f, i, i, f), STET_ERROR_INVALID_ARGUMENT,
          "parameter a takes an array, not a real number");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, a, i, f), STET_ERROR_INVALID_ARGUMENT,
          "parameter n takes an integer, not an array");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, i, f, f), STET_ERROR_INVALID_ARGUMENT,
          "parameter m takes an integer, not a real number");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, i, i, i), STET_ERROR_INVALID_ARGUMENT,
          "parameter h takes a real number, not an integer");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, i, i, a), STET_ERROR_INVALID_ARGUMENT,
          "parameter h takes a real number, not an array");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, i, i), STET_ERROR_INVALID_ARGUMENT, "argument for parameter h is missing");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, i, i, f, f), STET_ERROR_INVALID_ARGUMENT, "takes 4 arguments, not 5");
    int64_t big = (int64_t)INT32_MAX + 1;
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, sti_arg_int(big), i, f), STET_ERROR_LIMIT,
          "parameter n: 2147483648 does not fit an int");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, sti_arg_int(-big - 1), i, f), STET_ERROR_LIMIT, "does not fit an int");
    assert_int_equal(seen.calls, 1);
    OK(STI_LAUNCH(k, s.device, WORLDS, a, sti_arg_int(-big), sti_arg_int(INT64_MIN), sti_arg_real(0.1)));
    assert_int_equal(seen.slot[1].i, INT32_MIN);
    assert_true(seen.slot[2].i == INT64_MIN);
    assert_true(seen.slot[3].f == 0.1);
    OK(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(NULL), i, i, f)); /* absent */
    assert_null(seen.slot[0].p);
    assert_int_equal(seen.slot[0].n, 0);
    close_stock(&s);
}

static void arrays_of_another_device(void **state)
{
    stock s = open_stock(STI_ISA_portable, 1), other = open_stock(STI_ISA_portable, 1);
    sti_kernel k = kernel_of("world_kernel void k_x(const real *a, real *b)");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(s.worlds[0]), sti_arg_array(other.worlds[0])),
          STET_ERROR_INVALID_ARGUMENT, "parameter b: array worlds_real lives on another device");
    assert_int_equal(seen.calls, 0);
    close_stock(&s);
    close_stock(&other);
}

/* ---- how many ------------------------------------------------------------------------------------------------- */

static void every_block_is_run_once(void **state)
{
    FOR_ISAS(isa)
    for (int threads = 1; threads <= 3; ++threads) {
        stock s = open_stock(isa, threads);
        int lanes = stet_device_get_lanes(s.device);
        sti_kernel k = kernel_of("world_kernel void k_x(const real *a, int world)");
        OK(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(s.worlds[0])));
        assert_int_equal(seen.covered, (WORLDS + lanes - 1) / lanes);
        assert_int_equal(seen.end, (WORLDS + lanes - 1) / lanes);
        k = kernel_of("item_kernel void k_y(const wreal *a, int block)");
        OK(STI_LAUNCH(k, s.device, 1234, sti_arg_array(s.worlds[0])));
        assert_int_equal(seen.covered, 1234); /* items: as many as asked for, however many worlds the array has */
        assert_int_equal(seen.end, 1234);
        close_stock(&s);
    }
}

static void counts_that_do_not_fit(void **state)
{
    stock s = open_stock(STI_ISA_portable, 2);
    sti_kernel k = kernel_of("world_kernel void k_x(real *a)");
    sti_arg a = sti_arg_array(s.worlds[0]);
    uint64_t g = stet_array_get_generation(s.worlds[0]);
    FAILS(STI_LAUNCH(k, s.device, -1, a), STET_ERROR_INVALID_ARGUMENT, "kernel k_x: launched over -1");
    FAILS(STI_LAUNCH(k, s.device, WORLDS + 1, a), STET_ERROR_INVALID_ARGUMENT,
          "parameter a: array worlds_real has 21 worlds, the launch 22");
    FAILS(STI_LAUNCH(k, s.device, WORLDS - 1, a), STET_ERROR_INVALID_ARGUMENT,
          "parameter a: array worlds_real has 21 worlds, the launch 20");
    FAILS(STI_LAUNCH(k, s.device, WORLDS, a, a), STET_ERROR_INVALID_ARGUMENT, "kernel k_x takes 1 argument, not 2");
    FAILS(STI_LAUNCH(k, s.device, (int64_t)INT32_MAX + 1, sti_arg_array(NULL)), STET_ERROR_LIMIT,
          "launched over 2147483648");
    k = kernel_of("item_kernel void k_y(wreal *a)");
    FAILS(STI_LAUNCH(k, s.device, (int64_t)INT32_MAX + 1, a), STET_ERROR_LIMIT, "at most 2147483647");
    FAILS(STI_LAUNCH(k, s.device, INT64_MAX, a), STET_ERROR_LIMIT, "at most 2147483647");
    FAILS(STI_LAUNCH(k, s.device, INT64_MIN, a), STET_ERROR_INVALID_ARGUMENT, "launched over");
    assert_int_equal(seen.calls, 0);
    assert_int_equal(stet_array_get_generation(s.worlds[0]), g);
    assert_int_equal(s.device->mechanisms.counters.launches, 0);
    close_stock(&s);
}

static void nothing_is_launched_over_nothing(void **state)
{
    stock s = open_stock(STI_ISA_portable, 2);
    sti_kernel k = kernel_of("world_kernel void k_x(real *a, int n)");
    uint64_t g = stet_array_get_generation(s.worlds[0]);
    OK(STI_LAUNCH(k, s.device, 0, sti_arg_array(s.worlds[0]), sti_arg_int(1)));
    FAILS(STI_LAUNCH(k, s.device, 0, sti_arg_array(s.worlds[0])), STET_ERROR_INVALID_ARGUMENT,
          "parameter n is missing"); /* checked all the same */
    assert_int_equal(seen.calls, 0);
    assert_int_equal(s.device->mechanisms.counters.launches, 0);
    assert_int_equal(stet_array_get_generation(s.worlds[0]), g);
    close_stock(&s);
}

/* ---- versions ------------------------------------------------------------------------------------------------- */

static void just_the_written_arrays_move(void **state)
{
    stock s = open_stock(STI_ISA_portable, 2);
    sti_kernel k =
        kernel_of("world_kernel void k_x(int world, const real *a, lint *b, int n, ureal *c, const int *d, u8 *e)");
    stet_array *array[] = {s.worlds[0],
                           s.worlds[1],
                           s.plain[STET_DTYPE_REAL],
                           s.plain[STET_DTYPE_INT],
                           s.plain[STET_DTYPE_U8],
                           s.plain[STET_DTYPE_U16]};
    static const int moves[] = {0, 1, 1, 0, 1, 0};
    uint64_t before[6];
    for (int i = 0; i < 6; ++i) before[i] = stet_array_get_generation(array[i]);
    for (uint64_t round = 1; round <= 2; ++round) {
        OK(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(array[0]), sti_arg_array(array[1]), sti_arg_int(5),
                      sti_arg_array(array[2]), sti_arg_array(array[3]), sti_arg_array(array[4])));
        for (int i = 0; i < 6; ++i)
            assert_int_equal(stet_array_get_generation(array[i]), before[i] + (moves[i] ? round : 0));
    }
    assert_int_equal(s.device->mechanisms.counters.launches, 2);
    FAILS(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(array[0]), sti_arg_array(array[1]), sti_arg_int(5),
                     sti_arg_array(array[2]), sti_arg_array(array[3]), sti_arg_array(array[5])),
          STET_ERROR_INVALID_ARGUMENT, "parameter e is u8 *, array plain_u16 holds u16");
    for (int i = 0; i < 6; ++i)
        assert_int_equal(stet_array_get_generation(array[i]),
                         before[i] + (moves[i] ? 2 : 0)); /* a refused launch wrote nothing */
    close_stock(&s);
}

typedef struct maker {
    int calls;
    stet_result result;
} maker;

static stet_result make(void *context)
{
    maker *m = context;
    m->calls++;
    return m->result == STET_OK ? STET_OK : sti_error(m->result, "the maker is tired");
}

static void arguments_are_brought_up_to_date(void **state)
{
    stock s = open_stock(STI_ISA_portable, 1);
    sti_kernel k = kernel_of("world_kernel void k_x(const real *a, const ureal *b)");
    maker m = {0};
    sti_array_set_producer(s.worlds[0], make, &m);
    OK(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(s.worlds[0]), sti_arg_array(s.plain[0])));
    assert_int_equal(m.calls, 1);
    m.result = STET_ERROR_STATE;
    FAILS(STI_LAUNCH(k, s.device, WORLDS, sti_arg_array(s.worlds[0]), sti_arg_array(s.plain[0])), STET_ERROR_STATE,
          "the maker is tired");
    assert_int_equal(seen.calls, 1);
    sti_array_set_producer(s.worlds[0], NULL, NULL);
    close_stock(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_of_parameter_against_each_array),
        cmocka_unit_test(each_kind_of_argument),
        cmocka_unit_test(arrays_of_another_device),
        cmocka_unit_test(every_block_is_run_once),
        cmocka_unit_test(counts_that_do_not_fit),
        cmocka_unit_test(nothing_is_launched_over_nothing),
        cmocka_unit_test(just_the_written_arrays_move),
        cmocka_unit_test(arguments_are_brought_up_to_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
