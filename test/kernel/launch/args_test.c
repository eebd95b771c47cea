/*
 * Blocks of arguments: what is uploaded and when, to the byte, and what the kernel sees. Run on each device
 * (stet_test_on_devices).
 */
#include "kernel/lists.h"

#include "base/dice.h"
#include "base/failing.h"
#include "kernel/launch/run.h"
#include "kernel/record/args.h"

#undef ROW
#undef REASON

enum { SIXTEEN = 16, BYTES = 256 }; /* 16 slots are 256 bytes */

#define ROW(device) (counters_of(device).mechanism[STET_MECHANISM_ARGS])
#define REASON(device, name) (counters_of(device).reason[STET_REASON_ARGS_##name])

/* Slots as launches make them: all bytes set on purpose. */
static void fill(sti_slot *slots, int n, int64_t first)
{
    memset(slots, 0, sizeof *slots * (size_t)n);
    for (int i = 0; i < n; ++i) slots[i].i = first + i;
}

/* A recording of one launch, with these slots. */
static stet_result put_one(stet_device *device, sti_args *site, sti_slot *slots, int n)
{
    static const sti_kernel kernel = {.name = "k_x"};
    sti_op op = {.kind = STI_OP_LAUNCH, .kernel = &kernel, .nslot = n};
    const sti_list list = {.op = &op, .slot = slots, .nop = 1, .nslot = n, .nsite = n > 0};
    return sti_args_upload(device, site, &list);
}

static void put(stet_device *device, sti_args *site, sti_slot *slots, int n)
{
    OK(put_one(device, site, slots, n));
    sti_slot now[2 * STI_MAX_PARAMS];
    assert_true(site->capacity <= 2 * STI_MAX_PARAMS);
    if (site->block) peek(now, device, site->block, sizeof *now * (size_t)site->capacity);
    if (n > 0) assert_memory_equal(now, slots, sizeof *slots * (size_t)n);
    for (int i = n; n > 0 && i < site->capacity; ++i) /* ARGS-2 */
        assert_true(now[i].i == 0 && now[i].n == 0);
}

/* ---- what is uploaded ------------------------------------------------------------------------------------------ */

static void equal_bytes_are_uploaded_once(void **state)
{
    stet_device *device = open_faulty();
    sti_args site = {0};
    sti_slot slots[SIXTEEN];
    fill(slots, SIXTEEN, 100);
    for (int i = 0; i < 10; ++i) put(device, &site, slots, SIXTEEN);
    assert_int_equal(faulty.uploads, 1);
    assert_int_equal(ROW(device).misses, 1);
    assert_int_equal(ROW(device).done_bytes, BYTES);
    assert_int_equal(ROW(device).hits, 9);
    assert_int_equal(ROW(device).saved_bytes, 9 * BYTES);
    assert_int_equal(ROW(device).held_bytes, BYTES);
    assert_int_equal(REASON(device, FIRST), 1);
    slots[7].i ^= INT64_MIN; /* one bit */
    put(device, &site, slots, SIXTEEN);
    slots[7].n = 1;
    put(device, &site, slots, SIXTEEN);
    put(device, &site, slots, SIXTEEN);
    assert_int_equal(faulty.uploads, 3);
    assert_int_equal(REASON(device, CHANGED), 2);
    assert_int_equal(ROW(device).done_bytes, 3 * BYTES);
    assert_int_equal(counters_of(device).bytes_copied, 3 * BYTES);
    sti_args_free(device, &site);
    assert_int_equal(ROW(device).held_bytes, 0);
    stet_device_destroy(device);
}

static void switched_off_each_launch_uploads(void **state)
{
    stet_device *device = open_faulty();
    sti_args site = {0};
    sti_slot slots[SIXTEEN];
    fill(slots, SIXTEEN, 5);
    set_options(device, 1u << STET_MECHANISM_ARGS, false, false);
    for (int i = 0; i < 10; ++i) put(device, &site, slots, SIXTEEN);
    assert_int_equal(faulty.uploads, 10);
    assert_int_equal(ROW(device).misses, 10);
    assert_int_equal(ROW(device).hits, 0);
    assert_int_equal(ROW(device).done_bytes, 10 * BYTES);
    assert_int_equal(REASON(device, DISABLED), 10);
    set_options(device, 0, false, false);
    put(device, &site, slots, SIXTEEN); /* the shadow was kept up to date all the same */
    assert_int_equal(ROW(device).hits, 1);
    sti_args_free(device, &site);
    stet_device_destroy(device);
}

static void random_arguments_always_arrive(void **state)
{
    uint64_t dice = dice_seed("random_arguments_always_arrive");
    stet_device *device = open_faulty();
    for (int round = 0; round < 20; ++round) {
        sti_args site = {0};
        int n = (int)dice_below(&dice, STI_MAX_PARAMS + 1);
        for (int i = 0; i < 300; ++i) {
            sti_slot slots[STI_MAX_PARAMS];
            fill(slots, STI_MAX_PARAMS, (int64_t)dice_below(&dice, 3));
            set_options(device, dice_below(&dice, 8) == 0 ? 1u << STET_MECHANISM_ARGS : 0, false,
                        dice_below(&dice, 4) == 0);
            if (dice_below(&dice, 20) == 0) faulty.fail_upload = 1;
            if (faulty.fail_upload && put_one(device, &site, slots, n) == STET_ERROR_DEVICE) continue;
            faulty.fail_upload = 0;
            put(device, &site, slots, n);
        }
        sti_args_free(device, &site);
    }
    assert_int_equal(ROW(device).held_bytes, 0);
    stet_device_destroy(device);
}

/* ---- known failures -------------------------------------------------------------------------------------------- */

static void kf12_a_kernel_that_writes_its_block_is_found_by_the_audit(void **state)
{
    stet_device *device = open_faulty();
    sti_args site = {0};
    sti_slot slots[SIXTEEN];
    fill(slots, SIXTEEN, 9);
    set_options(device, 0, false, true);
    put(device, &site, slots, SIXTEEN);
    put(device, &site, slots, SIXTEEN);
    assert_int_equal(ROW(device).hits, 1);
    slots[3].i++;
    poke(device, site.block + 3, &slots[3], sizeof *slots);
    slots[3].i--;
    FAILS(put_one(device, &site, slots, SIXTEEN), STET_ERROR_AUDIT,
          "args: kernel k_x: its block of arguments changed at byte 48");
    put(device, &site, slots, SIXTEEN); /* made good */
    assert_int_equal(REASON(device, UNKNOWN), 1);
    sti_args_free(device, &site);
    stet_device_destroy(device);
}

static void kf13_the_shadow_does_not_believe_an_upload_that_failed(void **state)
{
    stet_device *device = open_faulty();
    sti_args site = {0};
    sti_slot old[SIXTEEN], new[SIXTEEN];
    fill(old, SIXTEEN, 1);
    fill(new, SIXTEEN, 1000);
    put(device, &site, old, SIXTEEN);
    for (int again = 0; again < 2; ++again) {
        faulty.fail_upload = 1;
        FAILS(put_one(device, &site, new, SIXTEEN), STET_ERROR_DEVICE, "made to fail");
        assert_int_equal(ROW(device).misses, 1 + 2 * again);
        put(device, &site, again ? old : new, SIXTEEN); /* neither is taken for what the block holds */
        put(device, &site, old, SIXTEEN);
    }
    assert_int_equal(REASON(device, UNKNOWN), 2);
    assert_int_equal(ROW(device).hits, 1);
    sti_args_free(device, &site);
    stet_device_destroy(device);
}

/* Writes its arguments down. */
static const char *const notes = "#include \"stet/lang.h\"\n"
                                 "item_kernel void k_x(int n, ureal h, ureal *a, int block)\n"
                                 "{\n"
                                 "    each (i, 1) {\n"
                                 "        a[i] = (ureal)n;\n"
                                 "        a[i + 1] = h;\n"
                                 "    }\n"
                                 "}\n";

typedef struct noter {
    stet_device *device;
    stet_kernel *own;
    const sti_kernel *kernel;
    stet_array *a;
} noter;

static noter open_noter(void)
{
    noter t = {.device = open_faulty()};
    stet_kernel_def def = stet_default_kernel_def();
    def.source = notes;
    def.cache_folder = double_cache_folder();
    OK(stet_kernel_create(t.device, &def, &t.own));
    t.kernel = sti_user_kernel(t.own);
    OK(STI_ARRAY(t.device, "a", STET_DTYPE_REAL, false, &t.a, 3));
    return t;
}

static void close_noter(noter *t)
{
    stet_array_destroy(t->a);
    stet_kernel_destroy(t->own);
    stet_device_destroy(t->device);
}

/* A recording of two launches, the second with other arguments. */
static stet_result note(noter *t, int n, double h)
{
    STI_TRY(sti_record_begin(t->device, "two notes"));
    stet_result result = STET_OK;
    for (int i = 0; i < 2 && result == STET_OK; ++i)
        result = STI_LAUNCH(*t->kernel, t->device, 1, sti_arg_int(n - 1 + i), sti_arg_real(h), sti_arg_array(t->a));
    return sti_record_end(t->device, result);
}

static bool noted(const noter *t, int n, double h)
{
    return real_at(t->a, 0) == (float)n && real_at(t->a, 1) == (float)h;
}

static void soil_the_stack(int with)
{
    volatile unsigned char soil[4096];
    for (size_t i = 0; i < sizeof soil; ++i) soil[i] = (unsigned char)with;
}

static void kf14_unused_bytes_are_zero(void **state)
{
    noter t = open_noter();
    for (int i = 0; i < 8; ++i) {
        soil_the_stack(31 * i + 1);
        OK(note(&t, -5, 0.25));
        assert_true(noted(&t, -5, 0.25));
    }
    assert_int_equal(ROW(t.device).misses, 2); /* equal arguments never look different */
    assert_int_equal(ROW(t.device).hits, 6 * 2);
    assert_int_equal(ROW(t.device).done_bytes, 6 * 16);
    const sti_recording *x = t.device->recorder->recording[0];
    const sti_slot *seen = x->ngraph_piece ? x->shadow : x->args.shadow;
    for (int k = 0; k < 6; k += 3) {
        assert_true(seen[k].i == -6 + k / 3 && seen[k + 1].f == 0.25 && seen[k + 2].p == t.a->data);
        for (int s = k; s < k + 3; ++s) assert_int_equal(seen[s].n, 0);
    }
    close_noter(&t);
}

static struct inner {
    stet_device *device;
    const sti_kernel *kernel;
    int depth, deepest, wrong;
    stet_result result;
} inner;

/* Makes a list of itself, and reads its own arguments before and after. */
static void recurse(const sti_slot *slots, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    int64_t before = slots[0].i;
    if (++inner.depth > inner.deepest) inner.deepest = inner.depth;
    if (inner.depth < 4 && inner.result == STET_OK) {
        inner.result = sti_record_begin(inner.device, "from inside");
        if (inner.result == STET_OK) {
            stet_result result = STI_LAUNCH(*inner.kernel, inner.device, 1, sti_arg_int(before * 10));
            if (result == STET_OK) result = STI_LAUNCH(*inner.kernel, inner.device, 1, sti_arg_int(before * 10 + 1));
            inner.result = sti_record_end(inner.device, result);
        }
    }
    inner.wrong += slots[0].i != before;
    inner.depth--;
}

static void kf15_a_list_from_inside_a_launch_leaves_its_block_alone(void **state)
{
    if (picked_any()) skip(); /* kernels of other devices launch none */
    stet_device *device = open_faulty();
    test_kernel k;
    make_kernel(&k, "item_kernel void k_x(int n)", recurse);
    inner = (struct inner){.device = device, .kernel = &k.kernel};
    for (int play = 0; play < 5; ++play) {
        OK(sti_record_begin(device, "outside"));
        for (int i = 1; i <= 2; ++i) OK(STI_LAUNCH(k.kernel, device, 1, sti_arg_int(i)));
        OK(sti_record_end(device, STET_OK));
        OK(inner.result);
    }
    assert_int_equal(inner.wrong, 0);
    assert_int_equal(inner.deepest, 4);
    assert_int_equal(ROW(device).misses, 2); /* only of the list outside */
    assert_int_equal(ROW(device).hits, 3 * 2);
    assert_int_equal(device->recorder->nrecording, 1);
    sti_record_kernel_gone(device, &k.kernel);
    stet_device_destroy(device);
}

/* Uploads happen only when the launch does: by then the caller's stack is something else. */
static void kf16_what_an_upload_reads_lives_on(void **state)
{
    noter t = open_noter();
    sti_args site = {0};
    faulty.late = true;
    for (int n = 1; n < 20; ++n) {
        sti_slot slots[3] = {{.i = 50 * n}, {.f = 0.125 * n}, {.p = t.a->data}};
        OK(put_one(t.device, &site, slots, 3));
        fill(slots, 3, -1); /* the caller's slots are gone */
        assert_int_equal(faulty.nwaiting, 1);
        assert_ptr_not_equal(faulty.waiting[0].from, slots);
        OK(sti_kernel_run(t.device, t.kernel, site.block, 3, 1, true));
        assert_true(noted(&t, 50 * n, 0.125 * n));
    }
    sti_args_free(t.device, &site);
    close_noter(&t);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static void nothing_is_allocated_once_the_block_exists(void **state)
{
    noter t = open_noter();
    for (int i = 0; i < 3; ++i) OK(note(&t, 1, 1)); /* recorded, compared, replayed */
    OK(t.device->ops->synchronize(t.device));
    int64_t before = stet_get_memory_stats().allocations;
    for (int n = 1; n < 100; ++n) OK(note(&t, n / 3, 1));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    close_noter(&t);
}

static stet_result put_audited(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.type = STET_DEVICE_CPU;
    sti_args site = {0};
    sti_slot slots[SIXTEEN];
    fill(slots, SIXTEEN, 1);
    STI_TRY(stet_device_create(&def, &device));
    set_options(device, 0, false, true);
    stet_result result = STET_OK;
    for (int again = 0; again < 3 && result == STET_OK; ++again) result = put_one(device, &site, slots, SIXTEEN);
    if (result == STET_OK) assert_int_equal(site.block[2].i, 3);
    sti_args_free(device, &site);
    assert_int_equal(ROW(device).held_bytes, 0);
    stet_device_destroy(device);
    return result;
}

static void the_nth_allocation_fails(void **state) { assert_true(fail_each_allocation(put_audited, false) >= 6); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_are_uploaded_once),
        cmocka_unit_test(switched_off_each_launch_uploads),
        cmocka_unit_test(random_arguments_always_arrive),
        cmocka_unit_test(kf12_a_kernel_that_writes_its_block_is_found_by_the_audit),
        cmocka_unit_test(kf13_the_shadow_does_not_believe_an_upload_that_failed),
        cmocka_unit_test(kf14_unused_bytes_are_zero),
        cmocka_unit_test(kf15_a_list_from_inside_a_launch_leaves_its_block_alone),
        cmocka_unit_test(kf16_what_an_upload_reads_lives_on),
        cmocka_unit_test(nothing_is_allocated_once_the_block_exists),
        cmocka_unit_test(the_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
