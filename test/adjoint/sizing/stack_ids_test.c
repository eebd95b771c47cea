/*
 * Ids of adjoints and of the maxima that size their stacks are content: the same from the disk, in another process, in
 * another order; two contents under one id are found. So a warm start asks what a cold one asks, and what goes wrong
 * after it has the same names.
 */
#include "adjoint/sizing/stack_two.h"

#include "adjoint/sizing/bound.h"

#include <sys/wait.h>

static void ids_are_content(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    two t = open_two(d, two_source);
    uint64_t kernel = t.adjoint->k->id, first = t.adjoint->sizing.reducing.reduction[0].id;
    assert_true(kernel != 0 && first != 0 && first != t.adjoint->sizing.reducing.reduction[1].id);
    close_two(&t);
    t = open_two(d, two_source); /* from the disk now */
    assert_true(t.adjoint->k->id == kernel && t.adjoint->sizing.reducing.reduction[0].id == first);
    close_two(&t);
    stet_device_destroy(d);
}

/* Other kernels before it, or after it: ids come from no sequence and no table's free places. */
static void kf30_ids_do_not_depend_on_the_order(void **state)
{
    uint64_t kernel[2] = {0}, reduction[2] = {0};
    for (int order = 0; order < 2; ++order) {
        stet_device *d = open_device(STI_ISA_portable, 1);
        chain first = {0}, second = {0};
        if (order == 1) first = open_chain(d);
        two t = open_two(d, two_source);
        if (order == 0) second = open_chain(d);
        kernel[order] = t.adjoint->k->id;
        reduction[order] = t.adjoint->sizing.reducing.reduction[1].id;
        const chain *other = order == 1 ? &first : &second;
        assert_true(other->adjoint->k->id != kernel[order]);
        close_chain(other);
        close_two(&t);
        stet_device_destroy(d);
    }
    assert_true(kernel[0] == kernel[1] && reduction[0] == reduction[1]);
}

/*
 * A stack that is too short, of a kernel whose code came from the disk: kernel, loop and line are named as after a cold
 * start.
 */
static void kf29_an_overflow_after_a_warm_start_has_its_names(void **state)
{
    char said[2][400];
    for (int warm = 0; warm < 2; ++warm) {
        stet_device *d = open_device(STI_ISA_portable, 1);
        chain c = open_chain(d);
        float value[WORLDS * N];
        OK(launch_chain(&c));
        assert_int_equal(cache_counter(d).misses, warm ? 0 : 3);
        ((int32_t *)c.first->data)[N] = 20; /* behind stet's back */
        OK(launch_chain(&c));
        assert_int_equal(stet_array_read(c.x_grad, value, sizeof value), STET_ERROR_LIMIT);
        (void)snprintf(said[warm], sizeof said[warm], "%s", stet_get_last_error());
        close_chain(&c);
        stet_device_destroy(d);
    }
    assert_non_null(strstr(said[0], "kernel k_chain_adj: the stack of the loop at kernel:6 was too short"));
    assert_string_equal(said[0], said[1]);
}

/* Whoever comes second is refused, and nothing is left of it; the first goes on. */
static void kf30_equal_ids_of_unequal_content_are_found(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    two t = open_two(d, two_source);
    sti_ids *ids = &t.adjoint->stacks->ids;
    uint64_t id = t.adjoint->sizing.reducing.reduction[1].id;
    assert_int_equal(sti_ids_add(ids, id, "something else", "k_planted"), STET_ERROR_STATE);
    assert_non_null(strstr(stet_get_last_error(), "k_planted has the id"));
    OK(launch_two(&t));
    chain keeps = open_chain(d); /* keeps the device's registry */
    close_two(&t);
    OK(sti_ids_add(ids, id, "something else", "k_planted"));
    stet_kernel *kernel = kernel_from(d, two_source);
    stet_adjoint *adjoint;
    assert_int_equal(stet_kernel_get_adjoint(kernel, &adjoint), STET_ERROR_STATE);
    assert_non_null(strstr(stet_get_last_error(), "k_two has the id"));
    sti_ids_drop(ids, id);
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    stet_kernel_destroy(kernel);
    close_chain(&keeps);
    stet_device_destroy(d);
}

/* ---- cold and warm ----------------------------------------------------------------------------------------------- */

typedef struct told {
    int64_t known, worked_out, stood, asked, cache_misses;
    uint64_t kernel, reduction, hash;
} told;

/* In a process of its own: two launches, counted; what it found comes through a pipe. */
static told in_a_process(void)
{
    int ends[2];
    told out = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        stet_device *d = open_device(STI_ISA_portable, 1);
        two t = open_two(d, two_source);
        set_all(t.y_grad, 1);
        OK(launch_two(&t));
        OK(launch_two(&t));
        OK(stet_array_hash(t.x_grad, &out.hash));
        did now = counted(d);
        out.known = now.known;
        out.worked_out = now.worked_out;
        out.stood = now.stood;
        out.asked = now.asked;
        out.cache_misses = cache_counter(d).misses;
        out.kernel = t.adjoint->k->id;
        out.reduction = t.adjoint->sizing.reducing.reduction[0].id;
        close_two(&t);
        stet_device_destroy(d);
        _exit(write(ends[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 1);
    }
    int status;
    assert_int_equal(read(ends[0], &out, sizeof out), sizeof out);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
    return out;
}

static void kf29_a_warm_start_is_a_cold_one(void **state)
{
    told cold = in_a_process(), warm = in_a_process();
    assert_int_equal(cold.cache_misses, 3); /* the kernel, its adjoint, the sizes of its stacks */
    assert_int_equal(warm.cache_misses, 0);
    warm.cache_misses = cold.cache_misses;
    assert_memory_equal(&warm, &cold, sizeof cold);
    assert_int_equal(cold.worked_out, 2);
    assert_int_equal(cold.stood, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kf29_a_warm_start_is_a_cold_one),
        TEST(ids_are_content),
        TEST(kf30_ids_do_not_depend_on_the_order),
        TEST(kf29_an_overflow_after_a_warm_start_has_its_names),
        TEST(kf30_equal_ids_of_unequal_content_are_found),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
