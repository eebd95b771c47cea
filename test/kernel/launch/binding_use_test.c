/*
 * Bindings among all else: producers, re-entrance, the host's writes, exports, lists, failures; random launches
 * against a model; two threads. Bits and generations are those without. Run on each device (stet_test_on_devices).
 */
#include "kernel/launch/bound.h"

#include "device/host_mirror.h"
#include "device/tensor.h"
#include "kernel/caller.h"

#include <pthread.h>

/* ---- who brings arrays up to date -------------------------------------------------------------------------------- */

typedef struct bringing {
    bench *b;
    int calls;
    bool through_the_handle;
} bringing;

static stet_result bring(void *context)
{
    bringing *x = context;
    x->calls++;
    return x->through_the_handle ? LAUNCH(x->b, MIX, N, A(x->b->a[3]), A(x->b->a[0]), R(x->calls))
                                 : add(x->b, x->b->a[0], 10);
}

static void a_producer_is_asked_at_each_launch(void **state)
{
    bench b;
    open_bench(&b);
    bringing x = {.b = &b};
    OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
    sti_array_set_producer(b.a[0], bring, &x); /* that comes later */
    for (int i = 1; i <= 4; ++i) {
        OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
        assert_int_equal(x.calls, i);
        assert_true(real_at(b.a[1], 0) == (float)(5 * i));
    }
    sti_array_set_producer(b.a[0], NULL, NULL);
    OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
    assert_int_equal(x.calls, 4);
    close_bench(&b);
}

/* It may use the same handle: neither sees the other's arguments (KF 15). */
static void kf15_a_producer_that_launches_the_same_handle_is_apart(void **state)
{
    bench b;
    open_bench(&b);
    bringing x = {.b = &b, .through_the_handle = true};
    for (int k = 0; k < N; ++k) set_real(b.a[3], k, 4);
    stet_array_mark_written(b.a[3]);
    sti_array_set_producer(b.a[0], bring, &x);
    for (int i = 1; i <= 4; ++i) {
        OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(100)));
        assert_true(real_at(b.a[0], 1) == (float)(2 + i));
        assert_true(real_at(b.a[1], 1) == (float)(2 + i) / 2 + 100);
    }
    sti_array_set_producer(b.a[0], NULL, NULL);
    close_bench(&b);
}

static struct {
    sti_binding binding;
    stet_device *device;
    const sti_kernel *kernel;
    stet_array *other;
    int calls;
} within;

/* Adds the number to the array; the outermost call launches the same kernel in its middle. */
static void call_within(const sti_slot *s, int64_t begin, int64_t end)
{
    const int64_t n = s[1].i;
    float *y = s[0].p;
    if (within.calls++ == 0) {
        const stet_arg args[] = {A(within.other), I(100)};
        OK(sti_binding_launch(&within.binding, within.device, within.kernel, 1, args, 2));
    }
    assert_true(s[0].p == y && s[1].i == n);
    for (int64_t k = begin; k < end; ++k) y[k] += (float)n;
}

static void kf15_a_launch_from_inside_a_launch_is_apart(void **state)
{
    if (picked_any()) skip();
    bench b;
    test_kernel k;
    open_bench(&b);
    make_kernel(&k, "item_kernel void k_within(ureal *y, int n, int block) { }", call_within);
    memset(&within, 0, sizeof within);
    within.device = b.device;
    within.kernel = &k.kernel;
    within.other = b.a[1];
    const stet_arg args[] = {A(b.a[0]), I(3)};
    for (int i = 0; i < 3; ++i) {
        within.calls = 0;
        OK(sti_binding_launch(&within.binding, b.device, &k.kernel, 1, args, 2));
        assert_true(real_at(b.a[0], 0) == (float)(3 * (i + 1)) && real_at(b.a[1], 0) == (float)(100 * (i + 1)));
    }
    close_bench(&b);
}

/* What the host writes between launches reaches them, though nothing is bound anew. */
static void what_the_host_writes_is_seen(void **state)
{
    bench b;
    float x[N] = {0};
    open_bench(&b);
    OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
    for (int i = 1; i <= 4; ++i) {
        void *mirror = NULL;
        x[2] = (float)i;
        if (i % 2) {
            OK(stet_array_write(b.a[0], x, sizeof x));
        } else {
            OK(sti_array_mirror_write(b.a[0], &mirror));
            assert_non_null(mirror);
            if (mirror) memcpy(mirror, x, sizeof x);
            sti_array_mirror_written(b.a[0]);
        }
        OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
        assert_true(real_at(b.a[1], 2) == (float)i / 2);
    }
    close_bench(&b);
}

/* A tensor through which somebody may write unannounced: each launch is such a look as any other. */
static void an_export_moves_generations_as_without(void **state)
{
    bench b;
    uint64_t moved[2];
    open_bench(&b);
    for (int off = 0; off < 2; ++off) {
        OK(off ? mix(&b, b.a[1], b.a[2], 0) : LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[2]), R(0)));
        tensor *t = export_as(b.a[off], true, false, false);
        uint64_t before = b.a[off]->version.generation;
        for (int i = 0; i < 5; ++i)
            OK(off ? mix(&b, b.a[1], b.a[2], 0) : LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[2]), R(0)));
        end(t);
        for (int i = 0; i < 2; ++i)
            OK(off ? mix(&b, b.a[1], b.a[2], 0) : LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[2]), R(0)));
        moved[off] = b.a[off]->version.generation - before;
    }
    assert_int_equal(moved[0], moved[1]);
    assert_int_equal(moved[0], 6); /* five looks, and one after its end */
    close_bench(&b);
}

/* ---- listed, failing ---------------------------------------------------------------------------------- */

/* Listed launches take what is bound along; later ones change nothing in the list. */
static void a_list_has_the_arguments_of_its_time(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 1; i <= 6; ++i) {
        OK(stet_record_begin(b.device, "three times"));
        stet_result result = STET_OK;
        for (int k = 0; k < 3 && result == STET_OK; ++k) result = LAUNCH(&b, ADD, N, A(b.a[k % 2]), R(k + 1));
        assert_int_equal(stet_array_get_generation(b.a[0]), 2 * (uint64_t)i - 1); /* nothing ran */
        OK(stet_record_end(b.device, result));
        assert_true(real_at(b.a[0], 0) == (float)(4 * i) && real_at(b.a[1], 0) == (float)(2 * i));
        assert_int_equal(stet_array_get_generation(b.a[0]), 2 * (uint64_t)i + 1);
    }
    assert_int_equal(ROW(&b).hits, 4);
    for (int i = 1; i <= 6; ++i) {
        OK(stet_record_begin(b.device, "the same twice"));
        stet_result result = LAUNCH(&b, ADD, N, A(b.a[2]), R(1));
        if (result == STET_OK) result = LAUNCH(&b, ADD, N, A(b.a[2]), R(1));
        OK(stet_record_end(b.device, result));
        assert_true(real_at(b.a[2], 0) == (float)(2 * i));
    }
    assert_int_equal(ROW(&b).hits, 4 + 4);
    close_bench(&b);
}

static void a_launch_that_fails_can_be_tried_again(void **state)
{
    bench b;
    open_bench(&b);
    for (int at = 1; at <= 2; ++at) {
        faulty.fail_launch = at;
        if (at == 2) OK(LAUNCH(&b, ADD, N, A(b.a[at]), R(1)));
        FAILS(LAUNCH(&b, ADD, N, A(b.a[at]), R(1)), STET_ERROR_DEVICE, "was made to fail");
        assert_int_equal(stet_array_get_generation(b.a[at]), at);
        OK(LAUNCH(&b, ADD, N, A(b.a[at]), R(1)));
        assert_true(real_at(b.a[at], 0) == (float)at);
    }
    close_bench(&b);
}

/*
 * Somebody in this process captures a stream of his, in the mode in which drivers refuse what could break that, of all
 * threads: launches that come again are not refused, and break nothing, nor does a first one.
 */
static void kf09_launches_go_on_beside_a_capture(void **state)
{
    bench b;
    void *stream, *graph = NULL;
    open_bench(&b);
    if (!caller_can(b.device)) {
        close_bench(&b);
        skip();
    }
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    stream = caller_stream(b.device);
    CALLER(b.device, capture_begin, stream, 0);
    for (int i = 2; i <= 5; ++i) {
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(0)));
        assert_true(real_at(b.a[0], 0) == (float)i && real_at(b.a[1], 0) == (float)i / 2);
    }
    CALLER(b.device, capture_end, stream, &graph);
    assert_non_null(graph);
    CALLER(b.device, graph_destroy, graph);
    caller_stream_end(b.device, stream);
    close_bench(&b);
}

/* ---- by chance --------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % n;
}

/* What the arrays should be: one number each, and how often it was written. */
typedef struct expected {
    float value[ARRAYS];
    uint64_t generation[ARRAYS];
} expected;

static void launch_by_chance(bench *b, expected *e, uint64_t *seed)
{
    const int from = (int)draw(seed, 2), to = (int)draw(seed, ARRAYS);
    const float h = (float)draw(seed, 2);
    if (draw(seed, 2)) {
        OK(LAUNCH(b, ADD, N, A(b->a[to]), R(h)));
        e->value[to] += h;
    } else {
        OK(LAUNCH(b, MIX, N, A(b->a[from]), A(b->a[to]), R(h)));
        e->value[to] = e->value[from] / 2 + h;
    }
    e->generation[to]++;
}

static void disturb_by_chance(bench *b, expected *e, uint64_t *seed)
{
    const int k = (int)draw(seed, ARRAYS);
    float x[N];
    switch (draw(seed, 8)) {
    case 0:
        stet_array_destroy(b->a[k]);
        b->a[k] = new_reals(b->device);
        e->value[k] = 0;
        e->generation[k] = 1;
        break;
    case 1:
        for (int i = 0; i < N; ++i) x[i] = 3;
        OK(stet_array_write(b->a[k], x, sizeof x));
        e->value[k] = 3;
        e->generation[k] = stet_array_get_generation(b->a[k]);
        break;
    case 2: set_options(b->device, 0, false, draw(seed, 2)); break;
    case 3: FAILS(LAUNCH(b, ADD, N, A(b->c[0]), R(1)), STET_ERROR_INVALID_ARGUMENT, "holds int"); break;
    default: break;
    }
}

static void random_launches_are_what_a_model_says(void **state)
{
    enum { STEPS = 400 };
    uint64_t seed = 20261;
    bench b;
    expected e = {.generation = {1, 1, 1, 1, 1}};
    print_message("seed %llu\n", (unsigned long long)seed);
    open_bench(&b);
    for (int i = 0; i < STEPS; ++i) {
        bool listed = draw(&seed, 4) == 0;
        disturb_by_chance(&b, &e, &seed);
        if (listed) OK(stet_record_begin(b.device, "by chance"));
        for (int k = 0; k < 3; ++k) launch_by_chance(&b, &e, &seed);
        if (listed) OK(stet_record_end(b.device, STET_OK));
        for (int k = 0; k < ARRAYS; ++k) {
            if (real_at(b.a[k], N - 1) != e.value[k]) fail_msg("step %d: array %d", i, k);
            assert_int_equal(stet_array_get_generation(b.a[k]), e.generation[k]);
        }
    }
    set_options(b.device, 0, false, false);
    close_bench(&b);
}

/* ---- two devices in two threads ---------------------------------------------------------------------------------- */

typedef struct worker {
    stet_device *device;
    stet_kernel *kernel;
    stet_array *array;
    stet_result result;
} worker;

static void *work(void *context)
{
    worker *w = context;
    const stet_arg args[] = {A(w->array), R(1)};
    for (int i = 0; i < 200 && w->result == STET_OK; ++i) w->result = stet_kernel_launch(w->kernel, N, args, 2);
    return NULL;
}

static void two_threads_with_a_device_each(void **state)
{
    worker w[2] = {{0}};
    pthread_t thread[2];
    float have[N];
    for (int k = 0; k < 2; ++k) {
        stet_device_def def = stet_default_device_def();
        stet_kernel_def about = stet_default_kernel_def();
        def.threads = 1;
        picked_device(&def);
        OK(stet_device_create(&def, &w[k].device));
        about.source = list_kernels;
        about.name = "k_add";
        about.cache_folder = double_cache_folder();
        OK(stet_kernel_create(w[k].device, &about, &w[k].kernel));
        w[k].array = new_reals(w[k].device);
    }
    for (int k = 0; k < 2; ++k) assert_int_equal(pthread_create(&thread[k], NULL, work, &w[k]), 0);
    for (int k = 0; k < 2; ++k) assert_int_equal(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < 2; ++k) {
        OK(w[k].result);
        OK(stet_array_read(w[k].array, have, sizeof have));
        assert_true(have[0] == 200 && have[N - 1] == 200);
        stet_array_destroy(w[k].array);
        stet_kernel_destroy(w[k].kernel);
        stet_device_destroy(w[k].device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_producer_is_asked_at_each_launch),
        cmocka_unit_test(kf15_a_producer_that_launches_the_same_handle_is_apart),
        cmocka_unit_test(kf15_a_launch_from_inside_a_launch_is_apart),
        cmocka_unit_test(what_the_host_writes_is_seen),
        cmocka_unit_test(an_export_moves_generations_as_without),
        cmocka_unit_test(a_list_has_the_arguments_of_its_time),
        cmocka_unit_test(a_launch_that_fails_can_be_tried_again),
        cmocka_unit_test(kf09_launches_go_on_beside_a_capture),
        cmocka_unit_test(random_launches_are_what_a_model_says),
        cmocka_unit_test(two_threads_with_a_device_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
