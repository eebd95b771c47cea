/*
 * Stacks of adjoints: as deep as the data says, on every device; exact maxima over nested ranges; memory that grows,
 * stays and is shared.
 */
#include "adjoint/sizing/stack_rig.h"

#include <inttypes.h>

static void stacks_are_as_deep_as_the_data_says(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const int32_t later[] = {0, 1, 9, 9, 9, 9}, none[N + 1];
        chain c = open_chain(rig.device);
        OK(launch_chain(&c));
        check_chain(&c, usual_first);
        assert_int_equal(c.adjoint->last.size[STI_WIDTH], N);
        assert_int_equal(c.adjoint->last.size[STI_DEPTH], 4);
        set_gradients(&c);
        OK(stet_array_write(c.first, later, sizeof later));
        OK(launch_chain(&c));
        check_chain(&c, later);
        assert_int_equal(c.adjoint->last.size[STI_DEPTH], 8);
        set_gradients(&c);
        OK(stet_array_write(c.first, none, sizeof none));
        OK(launch_chain(&c));
        check_chain(&c, none); /* no trip at all */
        close_chain(&c);
    }
}

/* ---- exact maxima ------------------------------------------------------------------------------------------------ */

/* Eight ranges, one in the other, whose ends are in the data; whole numbers of each kind. */
static const char nested_source[] =
    "#include <stet/lang.h>\n"
    "world_kernel void k_nest(const real *x, const i64 *big, const u8 *small, const u16 *half, const u32 *full, const "
    "int "
    "*one, real *y, int n)\n{\n"
    "    each (a, n) {\n        real s = x[a];\n"
    "        for (int b = 0; b < small[a]; ++b)\n"
    "            for (int c = b; c < half[b]; ++c)\n"
    "                for (int d = one[c]; d < 3; ++d)\n"
    "                    for (int e = 0; e < (int)full[d]; ++e)\n"
    "                        for (int f = 2; f > one[e]; --f)\n"
    "                            for (int g = 0; g < 2; ++g)\n"
    "                                for (i64 h = 0; h < big[g] / 4294967296 + big[f] / 4294967296; ++h)\n"
    "                                    s = s * s;\n"
    "        put(y, a, s);\n    }\n}\n";

static void maxima_over_nested_ranges_are_exact(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        const int64_t big[] = {3 * INT64_C(4294967296) + 17, 2 * INT64_C(4294967296) + 5, 0};
        const uint8_t small[] = {1, 2, 0, 1, 2};
        const uint16_t half[] = {2, 3, 0, 0, 0};
        const uint32_t full[] = {1, 2, 2, 0, 0};
        const int32_t one[] = {2, 1, 0, 1, 2};
        stet_kernel *kernel = kernel_from(rig.device, nested_source);
        stet_adjoint *adjoint;
        if (stet_kernel_get_adjoint(kernel, &adjoint) != STET_OK) fail_msg("%s", stet_get_last_error());
        stet_array *x, *y, *xg, *yg, *b, *s, *h, *f, *o;
        stet_array **const reals[] = {&x, &y, &xg, &yg};
        for (int i = 0; i < 4; ++i) OK(STI_ARRAY(rig.device, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, N));
        OK(STI_ARRAY(rig.device, "big", STET_DTYPE_I64, false, &b, 3));
        OK(STI_ARRAY(rig.device, "small", STET_DTYPE_U8, false, &s, N));
        OK(STI_ARRAY(rig.device, "half", STET_DTYPE_U16, false, &h, N));
        OK(STI_ARRAY(rig.device, "full", STET_DTYPE_U32, false, &f, N));
        OK(STI_ARRAY(rig.device, "one", STET_DTYPE_INT, false, &o, N));
        OK(stet_array_write(b, big, sizeof big));
        OK(stet_array_write(s, small, sizeof small));
        OK(stet_array_write(h, half, sizeof half));
        OK(stet_array_write(f, full, sizeof full));
        OK(stet_array_write(o, one, sizeof one));
        const stet_arg args[] = {stet_arg_array(x), stet_arg_array(b), stet_arg_array(s), stet_arg_array(h),
                                 stet_arg_array(f), stet_arg_array(o), stet_arg_array(y), stet_arg_int(N)};
        stet_array *const gradients[] = {xg, NULL, NULL, NULL, NULL, NULL, yg, NULL};
        set_all(x, 1);
        OK(stet_adjoint_launch(adjoint, WORLDS, args, gradients, 8));
        const sti_sizing *z = &adjoint->sizing;
        assert_true(z->reducing.nreduction >= 1);
        sti_reduce_query q = {.device = rig.device,
                              .reducing = &adjoint->sizing.reducing,
                              .known = &adjoint->stacks->known,
                              .kernel = kernel,
                              .args = args,
                              .count = WORLDS};
        for (int k = 0; k < STI_SIZES; ++k) {
            int64_t host = 1;
            if (z->bound[k]) OK(sti_reduce_on_host(&q, z->bound[k], &host));
            assert_int_equal(adjoint->last.size[k], host);
        }
        print_message("depth %" PRId64 "\n", adjoint->last.size[STI_DEPTH]);
        assert_true(adjoint->last.size[STI_DEPTH] >= 8);
        stet_array *const all[] = {x, y, xg, yg, b, s, h, f, o};
        for (int i = 0; i < 9; ++i) stet_array_destroy(all[i]);
        stet_kernel_destroy(kernel);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void memory_grows_by_half_at_least_and_stays(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        chain c = open_chain(rig.device);
        OK(launch_chain(&c));
        const sti_spill_pool *spill_pool = &c.adjoint->stacks->spill_pool;
        int64_t lanes = rig.device->lanes, padded = (WORLDS + lanes - 1) / lanes * lanes;
        assert_int_equal(spill_pool->memory[STI_STACK_REAL]->nitem, padded * N * 4); /* exactly */
        int64_t bytes = rig.device->array_bytes, arrays = rig.device->narray;
        for (int i = 0; i < 3; ++i) OK(launch_chain(&c));
        assert_int_equal(rig.device->array_bytes, bytes);
        assert_int_equal(rig.device->narray, arrays);
        const int32_t five[] = {0, 5, 5, 5, 5, 5}, six[] = {0, 6, 6, 6, 6, 6}, seven[] = {0, 7, 7, 7, 7, 7};
        OK(stet_array_write(c.first, five, sizeof five));
        OK(launch_chain(&c));
        assert_int_equal(spill_pool->memory[STI_STACK_REAL]->nitem, padded * N * 6); /* half as much again */
        OK(stet_array_write(c.first, six, sizeof six));
        OK(launch_chain(&c));
        assert_int_equal(spill_pool->memory[STI_STACK_REAL]->nitem, padded * N * 6);
        OK(stet_array_write(c.first, seven, sizeof seven));
        set_gradients(&c);
        OK(launch_chain(&c));
        check_chain(&c, seven);
        assert_int_equal(spill_pool->memory[STI_STACK_REAL]->nitem, padded * N * 9);
        assert_true(row(rig.device, STET_MECHANISM_ADSTACK).held_bytes > 0);
        close_chain(&c);
        assert_int_equal(row(rig.device, STET_MECHANISM_ADSTACK).held_bytes, 0);
        assert_int_equal(rig.device->array_bytes, 0);
    }
}

static void kernels_share_the_memory(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 2);
    chain a = open_chain(d), b = open_chain(d);
    OK(launch_chain(&a));
    int64_t bytes = sti_spill_pool_bytes(&a.adjoint->stacks->spill_pool);
    OK(launch_chain(&b));
    assert_ptr_equal(a.adjoint->stacks, b.adjoint->stacks);
    assert_int_equal(sti_spill_pool_bytes(&a.adjoint->stacks->spill_pool), bytes);
    assert_int_equal(sti_stacks_bytes(d), bytes);
    close_chain(&a);
    set_gradients(&b);
    OK(launch_chain(&b));
    check_chain(&b, usual_first);
    close_chain(&b);
    assert_int_equal(sti_stacks_bytes(d), 0);
    stet_device_destroy(d);
}

/* ---- producers --------------------------------------------------------------------------------------------------- */

typedef struct producing {
    chain inner;
    const chain *outer;
    int32_t first[N + 1];
    int calls;
    bool same; /* it launches the adjoint that asks */
} producing;

/* Makes `first` of the outer chain, and launches adjoints, whose stacks are larger, on the way. */
static stet_result produce(void *context)
{
    producing *p = context;
    if (p->calls++ > 0) return STET_OK;
    STI_TRY(p->same ? launch_chain(&(chain){.adjoint = p->outer->adjoint,
                                            .x = p->inner.x,
                                            .first = p->inner.first,
                                            .y = p->inner.y,
                                            .x_grad = p->inner.x_grad,
                                            .y_grad = p->inner.y_grad})
                    : launch_chain(&p->inner));
    return stet_array_write(p->outer->first, p->first, sizeof p->first);
}

/* Evaluating a bound may launch a kernel that sizes stacks itself. */
static void a_producer_may_launch_adjoints(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        for (int same = 0; same < 2; ++same) {
            static const int32_t larger[] = {0, 9, 9, 9, 9, 20};
            chain outer = open_chain(rig.device);
            producing p = {.inner = open_chain(rig.device), .outer = &outer, .first = {0, 2, 4, 6, 6, 7}, .same = same};
            OK(launch_chain(&outer));
            OK(stet_array_write(p.inner.first, larger, sizeof larger));
            set_gradients(&outer);
            sti_array_set_producer(outer.first, produce, &p);
            OK(launch_chain(&outer));
            assert_true(p.calls > 0);
            check_chain(&outer, p.first);
            check_chain(&p.inner, larger);
            sti_array_set_producer(outer.first, NULL, NULL);
            close_chain(&p.inner);
            close_chain(&outer);
        }
    }
}

/* ---- lists of launches ------------------------------------------------------------------------------------------- */

static stet_result launch_listed(const chain *a, const chain *b)
{
    STI_TRY(stet_record_begin(a->first->device, "two adjoints"));
    stet_result result = launch_chain(a);
    if (result == STET_OK) result = launch_chain(b);
    return stet_record_end(a->first->device, result);
}

static void a_list_with_adjoints_comes_back_as_a_recording(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        chain a = open_chain(rig.device), b = open_chain(rig.device);
        OK(launch_listed(&a, &b));
        OK(launch_listed(&a, &b)); /* compared, and trusted from now on */
        stet_counter before = row(rig.device, STET_MECHANISM_GRAPH_REPLAY);
        int64_t reductions = row(rig.device, STET_MECHANISM_ADSTACK).misses;
        for (int i = 0; i < 3; ++i) {
            set_gradients(&a);
            set_gradients(&b);
            OK(launch_listed(&a, &b));
            check_chain(&a, usual_first);
            check_chain(&b, usual_first);
        }
        stet_counter after = row(rig.device, STET_MECHANISM_GRAPH_REPLAY);
        assert_int_equal(after.hits - before.hits, 3);
        assert_int_equal(after.fallbacks, before.fallbacks);
        assert_int_equal(row(rig.device, STET_MECHANISM_ADSTACK).misses, reductions);
        close_chain(&a);
        close_chain(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_as_deep_as_the_data_says),
        cmocka_unit_test(maxima_over_nested_ranges_are_exact),
        cmocka_unit_test(memory_grows_by_half_at_least_and_stays),
        TEST(kernels_share_the_memory),
        cmocka_unit_test(a_producer_may_launch_adjoints),
        cmocka_unit_test(a_list_with_adjoints_comes_back_as_a_recording),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
