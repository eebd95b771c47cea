/*
 * Rooms: a world has the same part of the memory of plain stacks, and of an adjoint's flags, in each launch over as
 * many worlds, whichever adjoint runs and however deep its stacks are; so launches may be done world by world.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

#include "adjoint/launch/handle.h"

enum { WORLDS = 9, ITEMS = 8 };

/* Each iteration keeps a whole number before each trip. */
static const char source[] = SOURCE("world_kernel void k_keeps(const real *x, const int *trips, real *y, int n)\n"
                                    "{\n"
                                    "    each (i, n) {\n"
                                    "        real s = splat(1);\n"
                                    "        int k = i;\n"
                                    "        for (int e = 0; e < trips[0]; ++e) {\n"
                                    "            s = s * x[k];\n"
                                    "            k = (k * 3 + e) % n;\n"
                                    "        }\n"
                                    "        put(y, i, s);\n"
                                    "    }\n"
                                    "}\n");

typedef struct scene {
    stet_array *x, *trips, *y, *x_grad, *y_grad;
    stet_kernel *kernel;
    stet_adjoint *adjoint;
} scene;

static scene open_scene(stet_device *d, int32_t trips)
{
    scene s;
    stet_kernel_def def = kernel_def(source);
    stet_array **reals[] = {&s.x, &s.y, &s.x_grad, &s.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, ITEMS));
    OK(STI_ARRAY(d, "trips", STET_DTYPE_INT, false, &s.trips, 1));
    OK(stet_array_write(s.trips, &trips, sizeof trips));
    s.kernel = make_kernel(d, &def);
    OK(stet_kernel_get_adjoint(s.kernel, &s.adjoint));
    return s;
}

static void close_scene(scene *s)
{
    stet_array *all[] = {s->x, s->trips, s->y, s->x_grad, s->y_grad};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(s->kernel);
}

static void launch(const scene *s, int64_t n)
{
    const stet_arg args[] = {stet_arg_array(s->x), stet_arg_array(s->trips), stet_arg_array(s->y), stet_arg_int(n)};
    stet_array *const gradients[] = {s->x_grad, NULL, s->y_grad, NULL};
    OK(stet_adjoint_launch(s->adjoint, WORLDS, args, gradients, 4));
}

/* All that the launch wrote of the whole numbers lies at the beginning of some world's room. */
static void check_rooms(stet_device *d, const scene *s, int64_t n)
{
    const int64_t mark = INT64_C(0x5A5A5A5A5A5A5A5A);
    stet_array *memory = s->adjoint->stacks->spill_pool.memory[STI_STACK_INT];
    int64_t room = sti_spill_pool_room(&s->adjoint->stacks->spill_pool, STI_STACK_INT, WORLDS), written = 0;
    int64_t *bytes = bytes_take(memory);
    for (int64_t i = 0; i < memory->nitem; ++i) bytes[i] = mark;
    bytes_give(memory, bytes, true);
    launch(s, n);
    OK(stet_device_synchronize(d));
    const int64_t *size = s->adjoint->last.size;
    bytes = bytes_take(memory);
    for (int64_t i = 0; i < memory->nitem; ++i) {
        if (bytes[i] == mark) continue;
        ++written;
        if (i % room >= size[STI_WIDTH] * size[STI_DEPTH] || i / room >= WORLDS)
            fail_msg("number %lld is written; a world has %lld", (long long)i, (long long)room);
    }
    assert_true(written > 0);
    assert_true(bytes[0] != mark); /* that of the first world */
    bytes_give(memory, bytes, false);
}

static void a_world_has_the_same_part_in_each_launch(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        scene deep = open_scene(rig.device, 12), flat = open_scene(rig.device, 2);
        launch(&flat, ITEMS);
        launch(&deep, ITEMS);
        const sti_spill_pool *spill_pool = &deep.adjoint->stacks->spill_pool;
        int64_t room = sti_spill_pool_room(spill_pool, STI_STACK_INT, WORLDS), bytes = sti_spill_pool_bytes(spill_pool);
        check_rooms(rig.device, &deep, ITEMS);
        check_rooms(rig.device, &flat, ITEMS);
        check_rooms(rig.device, &flat, 3);
        assert_int_equal(sti_spill_pool_room(spill_pool, STI_STACK_INT, WORLDS), room);
        assert_int_equal(sti_spill_pool_bytes(spill_pool), bytes);
        assert_true(spill_pool->memory[STI_STACK_INT]->by_world);
        assert_true(deep.adjoint->flags->by_world);
        assert_int_equal(deep.adjoint->flags->nitem, WORLDS * ITEMS);
        close_scene(&deep);
        close_scene(&flat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_world_has_the_same_part_in_each_launch)};
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
