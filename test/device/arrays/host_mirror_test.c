/*
 * Host mirrors: the host's side of arrays on a device whose memory the host cannot touch. What crosses and what does
 * not, in either direction, beside launches, lists of launches, tensors of others and failures. All of stet over them:
 * test/sim/apart_test.c.
 */
#include "device/apart.h"

#include "base/dice.h"
#include "device/host_mirror.h"
#include "kernel/faulty.h"
#include "kernel/record/record.h"
#include "stet/dlpack.h"
#include "tiles/table.h"

enum { N = 8 };

typedef struct bench {
    stet_device *device;
    stet_array *a, *b; /* REAL [N] */
    test_kernel add, move;
} bench;

/* a[k] += h */
static void run_add(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[0].p)[k] += (float)s[1].f;
}

/* b[k] = a[k] */
static void run_move(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[1].p)[k] = ((const float *)s[0].p)[k];
}

static void open_bench(bench *b)
{
    b->device = open_apart(STI_ISA_portable, 1);
    OK(STI_ARRAY(b->device, "a", STET_DTYPE_REAL, false, &b->a, N));
    OK(STI_ARRAY(b->device, "b", STET_DTYPE_REAL, false, &b->b, N));
    make_kernel(&b->add, "item_kernel void k_add(ureal *a, ureal h)", run_add);
    make_kernel(&b->move, "item_kernel void k_move(const ureal *a, ureal *b)", run_move);
}

static void close_bench(bench *b)
{
    stet_array_destroy(b->a);
    stet_array_destroy(b->b);
    assert_int_equal(apart.host, 0);
    assert_int_equal(counters_of(b->device).mechanism[STET_MECHANISM_READBACK].held_bytes, 0);
    stet_device_destroy(b->device);
}

static stet_result add(bench *b, double h)
{
    return STI_LAUNCH(b->add.kernel, b->device, N, sti_arg_array(b->a), sti_arg_real(h));
}

static stet_result move(bench *b)
{
    return STI_LAUNCH(b->move.kernel, b->device, N, sti_arg_array(b->a), sti_arg_array(b->b));
}

static float *mirror_of(stet_array *a)
{
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    return mirror;
}

static void fill_mirror(stet_array *a, float x)
{
    void *mirror;
    OK(sti_array_mirror_write(a, &mirror));
    for (int k = 0; k < N; ++k) ((float *)mirror)[k] = x;
    sti_array_mirror_written(a);
}

/* Content as a caller reads it. */
static void expect(stet_array *a, float x)
{
    float out[N];
    OK(stet_array_read(a, out, sizeof out));
    for (int k = 0; k < N; ++k) assert_true(out[k] == x);
}

#define CROSSED(up, down)                                                                                              \
    do {                                                                                                               \
        assert_int_equal(apart.uploads, up);                                                                           \
        assert_int_equal(apart.downloads, down);                                                                       \
    } while (0)
#define REASON(b, name) (counters_of((b)->device).reason[STET_REASON_READBACK_##name])

/* ---- what crosses --------------------------------------------------------------------------------------------- */

static void content_comes_once(void **state)
{
    bench b;
    open_bench(&b);
    OK(add(&b, 3));
    CROSSED(0, 0);
    for (int round = 0; round < 3; ++round) {
        assert_true(mirror_of(b.a)[N - 1] == 3);
        expect(b.a, 3);
        const void *host;
        OK(stet_array_get_host(b.a, &host));
        assert_ptr_equal(host, mirror_of(b.a));
    }
    CROSSED(0, 1);
    OK(add(&b, 1)); /* the device has it: nothing goes up */
    assert_true(mirror_of(b.a)[0] == 4);
    CROSSED(0, 2);
    assert_int_equal(counters_of(b.device).bytes_copied, apart.bytes_down + 3 * (int64_t)sizeof(float[N]));
    close_bench(&b);
}

static void content_goes_once_and_only_if_needed(void **state)
{
    bench b;
    open_bench(&b);
    for (int k = 1; k < 4; ++k) fill_mirror(b.a, (float)k);
    expect(b.a, 3);
    CROSSED(0, 1); /* the first host mirror was brought, for a part of it might have been written */
    OK(move(&b));
    OK(move(&b));
    CROSSED(1, 1);
    expect(b.b, 3);
    fill_mirror(b.a, 5);
    OK(add(&b, 1)); /* on top of what the host wrote */
    CROSSED(2, 2);
    expect(b.a, 6);
    assert_true(mirror_of(b.a)[0] == 6);
    assert_int_equal(REASON(&b, UPLOADED), 2);
    close_bench(&b);
}

/* The caller's writes and reads go to where the content is. */
static void writes_are_on_top_of_a_mirror(void **state)
{
    bench b;
    float one = 9, out[2];
    open_bench(&b);
    fill_mirror(b.a, 1);
    CROSSED(0, 1);
    OK(stet_array_write_worlds(b.a, 2, 1, &one, sizeof one));
    OK(stet_array_read_worlds(b.a, 1, 2, out, sizeof out));
    assert_true(out[0] == 1 && out[1] == 9 && mirror_of(b.a)[2] == 9 && mirror_of(b.a)[7] == 1);
    CROSSED(0, 1);
    OK(move(&b));
    CROSSED(1, 1);
    OK(stet_array_read_worlds(b.b, 1, 2, out, sizeof out));
    assert_true(out[0] == 1 && out[1] == 9);
    /* Where the host has no host mirror, or an old one, a write goes to the device, and alone. */
    OK(stet_array_write_worlds(b.b, 0, 1, &one, sizeof one));
    assert_int_equal(apart.bytes_up, (int64_t)(sizeof(float[N]) + sizeof one));
    OK(stet_array_read_worlds(b.b, 0, 2, out, sizeof out));
    assert_true(out[0] == 9 && out[1] == 1);
    close_bench(&b);
}

static void worlds_lie_in_a_mirror_as_on_the_device(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *device = open_apart(isa, 2);
        stet_array *a;
        void *mirror;
        OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 21, 3));
        OK(sti_array_mirror_write(a, &mirror));
        for (int w = 0; w < 21; ++w)
            for (int i = 0; i < 3; ++i) sti_mirror_set(a, mirror, w, i, 10 * w + i);
        sti_array_mirror_written(a);
        for (int round = 0; round < 2; ++round) { /* from the host mirror; from the device */
            const void *host;
            OK(stet_array_get_host(a, &host));
            for (int k = 0; k < 63; ++k) {
                double x = device->real_size == 8 ? ((const double *)host)[k] : (double)((const float *)host)[k];
                assert_true(x == 10 * (k / 3) + k % 3);
            }
            OK(sti_array_to_device(a));
            stet_array_mark_written(a);
        }
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

static void an_empty_array_has_a_mirror(void **state)
{
    bench b;
    stet_array *none;
    void *mirror;
    open_bench(&b);
    OK(STI_ARRAY(b.device, "none", STET_DTYPE_REAL, true, &none, 5, 0));
    OK(sti_array_mirror_write(none, &mirror));
    uint64_t before = stet_array_get_generation(none);
    sti_array_mirror_written(none);
    assert_true(stet_array_get_generation(none) > before);
    OK(sti_array_mirror_read(none, &mirror));
    OK(sti_array_to_device(none));
    CROSSED(0, 0);
    stet_array_destroy(none);
    close_bench(&b);
}

/* On a device whose memory is the host's, the host mirror is that memory. */
static void a_cpu_has_no_other_side(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_array *a;
    void *mirror;
    OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a, 5, 2));
    OK(sti_array_mirror_write(a, &mirror));
    assert_ptr_equal(mirror, a->data);
    uint64_t before = stet_array_get_generation(a);
    sti_array_mirror_written(a);
    assert_int_equal(stet_array_get_generation(a), before + 1);
    assert_null(a->mirror);
    assert_int_equal(counters_of(device).bytes_copied, 0);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

/* MIRROR-5: a view reads and writes its owner's memory, of which the owner's host mirror may be ahead. */
static void views_are_their_owners(void **state)
{
    bench b;
    stet_array *view;
    float out[2], two[2] = {8, 9};
    const void *host;
    open_bench(&b);
    OK(sti_tile_view(b.a, 3 * (int64_t)sizeof(float), "view", STET_DTYPE_REAL, 1, (int64_t[]){2}, &view));
    for (int k = 1; k < 3; ++k) {
        void *mirror;
        OK(sti_array_mirror_write(b.a, &mirror));
        for (int i = 0; i < N; ++i) ((float *)mirror)[i] = (float)(10 * k + i);
        sti_array_mirror_written(b.a);
        stet_array_mark_written(view); /* its version is its own */
        OK(stet_array_read(view, out, sizeof out));
        assert_true(out[0] == (float)(10 * k + 3) && out[1] == (float)(10 * k + 4));
        OK(stet_array_get_host(view, &host));
        assert_memory_equal(host, out, sizeof out);
    }
    assert_int_equal(apart.uploads, 0);
    OK(stet_array_write(view, two, sizeof two));
    assert_true(mirror_of(b.a)[2] == 22 && mirror_of(b.a)[3] == 8 && mirror_of(b.a)[4] == 9 && mirror_of(b.a)[5] == 25);
    fill_mirror(b.a, 5);
    OK(STI_LAUNCH(b.add.kernel, b.device, 2, sti_arg_array(view), sti_arg_real(1)));
    assert_true(mirror_of(b.a)[2] == 5 && mirror_of(b.a)[3] == 6 && mirror_of(b.a)[5] == 5);
    assert_null(view->mirror);
    stet_array_destroy(view);
    close_bench(&b);
}

/* ---- switch, audit --------------------------------------------------------------------------------------------- */

static void switched_off_each_read_copies(void **state)
{
    bench b;
    open_bench(&b);
    set_options(b.device, 1u << STET_MECHANISM_READBACK, false, false);
    OK(add(&b, 2));
    for (int k = 0; k < 4; ++k) assert_true(mirror_of(b.a)[0] == 2);
    CROSSED(0, 4);
    assert_int_equal(REASON(&b, DISABLED), 4);
    fill_mirror(b.a, 7); /* brought, written */
    CROSSED(0, 5);
    assert_true(mirror_of(b.a)[3] == 7); /* what only the host mirror had went up first */
    CROSSED(1, 6);
    expect(b.a, 7);
    OK(move(&b));
    expect(b.b, 7);
    CROSSED(1, 8);
    assert_int_equal(counters_of(b.device).mechanism[STET_MECHANISM_READBACK].hits, 0);
    close_bench(&b);
}

static void audit_finds_what_was_not_announced(void **state)
{
    bench b;
    void *mirror;
    open_bench(&b);
    set_options(b.device, 0, false, true);
    OK(add(&b, 2));
    assert_true(mirror_of(b.a)[0] == 2);
    assert_true(mirror_of(b.a)[0] == 2);
    fill_mirror(b.a, 3);
    OK(move(&b));
    OK(move(&b));
    ((float *)apart_here(b.a->data))[5] = 77;
    FAILS(sti_array_mirror_read(b.a, &mirror), STET_ERROR_AUDIT, "readback: a had changed at byte 22");
    stet_array_mark_written(b.a);
    assert_true(mirror_of(b.a)[5] == 77);
    ((float *)apart_here(b.a->data))[5] = 78;
    FAILS(move(&b), STET_ERROR_AUDIT, "readback: a had changed at byte 2");
    close_bench(&b);
}

/* ---- lists of launches ------------------------------------------------------------------------------------------ */

static void what_is_listed_runs_before_the_host_writes(void **state)
{
    bench b;
    open_bench(&b);
    fill_mirror(b.a, 1);
    OK(sti_record_begin(b.device, "a list"));
    OK(move(&b));
    assert_int_equal(apart.launches, 0);
    CROSSED(1, 1);       /* at once: ahead of all that is listed */
    fill_mirror(b.b, 5); /* move writes b: it runs, then the host writes */
    assert_int_equal(apart.launches, 1);
    fill_mirror(b.a, 2);
    OK(move(&b)); /* goes up now, with nothing listed that touches it */
    OK(sti_record_end(b.device, STET_OK));
    assert_int_equal(apart.launches, 2);
    expect(b.b, 2);
    close_bench(&b);
}

/* A launch that is listed works on what it was listed with. */
static void a_write_after_a_listed_launch_waits_for_it(void **state)
{
    bench b;
    open_bench(&b);
    fill_mirror(b.a, 1);
    OK(sti_record_begin(b.device, "a list"));
    OK(move(&b));
    fill_mirror(b.a, 2);
    OK(sti_record_end(b.device, STET_OK));
    assert_int_equal(counters_of(b.device).reason[STET_REASON_GRAPH_REPLAY_SPLIT], 1);
    expect(b.b, 1);
    expect(b.a, 2);
    close_bench(&b);
}

/*
 * The same list again and again, of arrays that the host writes in between: a recording that stands, and content that
 * is new.
 */
static void recordings_see_what_the_host_wrote(void **state)
{
    bench b;
    open_bench(&b);
    for (int k = 0; k < 6; ++k) {
        fill_mirror(b.a, (float)k);
        OK(sti_record_begin(b.device, "a list"));
        OK(add(&b, 10));
        OK(move(&b));
        OK(sti_record_end(b.device, STET_OK));
        expect(b.b, (float)(k + 10));
        assert_true(mirror_of(b.a)[0] == (float)(k + 10));
    }
    assert_int_equal(counters_of(b.device).mechanism[STET_MECHANISM_GRAPH_REPLAY].hits, 4);
    close_bench(&b);
}

static void a_copy_takes_the_mirror_along(void **state)
{
    bench b;
    open_bench(&b);
    fill_mirror(b.a, 4);
    fill_mirror(b.b, 5); /* not needed: all of it is written over */
    OK(sti_record_copy(b.b, b.a));
    expect(b.b, 4);
    assert_true(mirror_of(b.b)[7] == 4);
    assert_int_equal(apart.uploads, 1);
    close_bench(&b);
}

/* ---- tensors of others ------------------------------------------------------------------------------------------ */

static struct DLManagedTensorVersioned *export_of(stet_array *a, bool writable, bool announced)
{
    struct DLManagedTensorVersioned *tensor;
    stet_export_def def = stet_default_export_def();
    def.writable = writable;
    def.announced = announced;
    OK(stet_array_export(a, &def, &tensor));
    return tensor;
}

static float *memory_of(const struct DLManagedTensorVersioned *tensor) { return apart_here(tensor->dl_tensor.data); }

static void a_tensor_shows_what_the_host_wrote(void **state)
{
    bench b;
    open_bench(&b);
    fill_mirror(b.a, 3);
    struct DLManagedTensorVersioned *tensor = export_of(b.a, false, false);
    assert_int_equal(tensor->dl_tensor.device.device_type, kDLExtDev);
    assert_true(memory_of(tensor)[0] == 3);
    fill_mirror(b.a, 4); /* MIRROR-4 */
    assert_true(memory_of(tensor)[0] == 4);
    float one = 9; /* the caller's writes go there, and nowhere else, and he hears of it if they do not */
    int64_t bytes = apart.bytes_up;
    OK(stet_array_write_worlds(b.a, 1, 1, &one, sizeof one));
    assert_int_equal(apart.bytes_up - bytes, sizeof one);
    assert_true(memory_of(tensor)[1] == 9 && mirror_of(b.a)[1] == 9);
    apart.fail_upload = 1;
    FAILS(stet_array_write_worlds(b.a, 1, 1, &one, sizeof one), STET_ERROR_DEVICE, "upload");
    tensor->deleter(tensor);
    int uploads = apart.uploads;
    fill_mirror(b.a, 5);
    assert_int_equal(apart.uploads, uploads);
    OK(stet_array_update(b.a));
    assert_true(((float *)apart_here(b.a->data))[0] == 5);
    close_bench(&b);
}

/* While somebody may write unannounced, each look fetches; and of two writes the later one wins. */
static void writers_make_a_mirror_stale(void **state)
{
    for (int announced = 0; announced < 2; ++announced) {
        bench b;
        open_bench(&b);
        fill_mirror(b.a, 3);
        struct DLManagedTensorVersioned *tensor = export_of(b.a, true, announced);
        for (int k = 0; k < 3; ++k) {
            memory_of(tensor)[2] = (float)(10 + k);
            if (announced) stet_array_mark_written(b.a);
            assert_true(mirror_of(b.a)[2] == (float)(10 + k) && mirror_of(b.a)[3] == 3);
        }
        if (!announced) assert_true(REASON(&b, EXPORTED) >= 3);
        fill_mirror(b.a, 4);
        memory_of(tensor)[2] = 20;
        if (announced) stet_array_mark_written(b.a);
        OK(move(&b));
        tensor->deleter(tensor);
        float out[N];
        OK(stet_array_read(b.b, out, sizeof out));
        assert_true(out[2] == 20 && out[3] == 4);
        close_bench(&b);
    }
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

static void what_fails_to_cross_stays_where_it_is(void **state)
{
    bench b;
    void *mirror;
    open_bench(&b);
    OK(add(&b, 2));
    apart.fail_host = 1;
    FAILS(sti_array_mirror_read(b.a, &mirror), STET_ERROR_OUT_OF_MEMORY, "page-locked");
    assert_null(mirror);
    apart.fail_download = 1;
    FAILS(sti_array_mirror_write(b.a, &mirror), STET_ERROR_DEVICE, "download");
    assert_null(mirror);
    expect(b.a, 2);
    assert_true(mirror_of(b.a)[0] == 2);
    fill_mirror(b.a, 6);
    uint64_t generation = stet_array_get_generation(b.a);
    for (int k = 0; k < 2; ++k) {
        apart.fail_upload = 1;
        FAILS(move(&b), STET_ERROR_DEVICE, "upload");
    }
    assert_int_equal(stet_array_get_generation(b.a), generation);
    assert_true(mirror_of(b.a)[0] == 6);
    OK(move(&b));
    expect(b.b, 6);
    close_bench(&b);
}

/*
 * A tensor of others could not be given what the host wrote: nothing is lost, and the next ask tells if it still
 * cannot.
 */
static void what_fails_at_once_is_tried_again(void **state)
{
    bench b;
    void *mirror;
    open_bench(&b);
    struct DLManagedTensorVersioned *tensor = export_of(b.a, true, false);
    fill_mirror(b.a, 3);
    apart.fail_upload = 1;
    fill_mirror(b.a, 4);
    assert_true(memory_of(tensor)[0] == 3);
    apart.fail_upload = 1;
    FAILS(move(&b), STET_ERROR_DEVICE, "upload");
    (void)stet_array_get_generation(b.a);
    OK(sti_array_mirror_read(b.a, &mirror));
    assert_true(((float *)mirror)[0] == 4);
    OK(move(&b));
    assert_true(memory_of(tensor)[0] == 4);
    expect(b.b, 4);
    tensor->deleter(tensor);
    close_bench(&b);
}

/* ---- at random --------------------------------------------------------------------------------------------------- */

/* Writes and reads from both sides, against a plain copy, with calls that fail, switched off, audited. */
static void both_sides_agree(void **state)
{
    uint64_t dice = dice_seed("face");
    for (int round = 0; round < 40; ++round) {
        bench b;
        float copy[N] = {0}, out[N];
        void *mirror;
        open_bench(&b);
        set_options(b.device, dice_below(&dice, 3) ? 0 : 1u << STET_MECHANISM_READBACK, false,
                    dice_below(&dice, 3) == 0);
        for (int op = 0; op < 200; ++op) {
            float x = (float)dice_below(&dice, 1000);
            size_t k = dice_below(&dice, N);
            if (dice_below(&dice, 8) == 0) apart.fail_upload = 1;
            if (dice_below(&dice, 8) == 0) apart.fail_download = 1;
            stet_result result = STET_OK;
            switch (dice_below(&dice, 5)) {
            case 0:
                if ((result = sti_array_mirror_write(b.a, &mirror)) != STET_OK) break;
                ((float *)mirror)[k] = copy[k] = x;
                sti_array_mirror_written(b.a);
                break;
            case 1:
                if ((result = add(&b, 1)) == STET_OK)
                    for (int i = 0; i < N; ++i) copy[i] += 1;
                break;
            case 2:
                if ((result = stet_array_write_worlds(b.a, (int64_t)k, 1, &x, sizeof x)) == STET_OK) copy[k] = x;
                break;
            case 3:
                if ((result = sti_array_mirror_read(b.a, &mirror)) == STET_OK)
                    assert_memory_equal(mirror, copy, sizeof copy);
                break;
            default:
                if ((result = stet_array_read(b.a, out, sizeof out)) == STET_OK)
                    assert_memory_equal(out, copy, sizeof copy);
            }
            if (result != STET_OK) assert_int_equal(result, STET_ERROR_DEVICE);
        }
        apart.fail_upload = apart.fail_download = 0;
        OK(stet_array_read(b.a, out, sizeof out));
        assert_memory_equal(out, copy, sizeof copy);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_comes_once),
        cmocka_unit_test(content_goes_once_and_only_if_needed),
        cmocka_unit_test(writes_are_on_top_of_a_mirror),
        cmocka_unit_test(worlds_lie_in_a_mirror_as_on_the_device),
        cmocka_unit_test(an_empty_array_has_a_mirror),
        cmocka_unit_test(a_cpu_has_no_other_side),
        cmocka_unit_test(views_are_their_owners),
        cmocka_unit_test(switched_off_each_read_copies),
        cmocka_unit_test(audit_finds_what_was_not_announced),
        cmocka_unit_test(what_is_listed_runs_before_the_host_writes),
        cmocka_unit_test(a_write_after_a_listed_launch_waits_for_it),
        cmocka_unit_test(recordings_see_what_the_host_wrote),
        cmocka_unit_test(a_copy_takes_the_mirror_along),
        cmocka_unit_test(a_tensor_shows_what_the_host_wrote),
        cmocka_unit_test(writers_make_a_mirror_stale),
        cmocka_unit_test(what_fails_to_cross_stays_where_it_is),
        cmocka_unit_test(what_fails_at_once_is_tried_again),
        cmocka_unit_test(both_sides_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
