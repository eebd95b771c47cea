/*
 * What is known of sizes: a launch in which nothing moved asks for nothing; a change asks for exactly what depends on it. Counters say so.
 */
#include "adjoint/stack_rig.h"

#include "adjoint/bound.h"
#include "device/tensor.h"

#include <sys/wait.h>

/* Two loops, each over an array of its own: two maxima. */
static const char two_source[] = "#include <stet/lang.h>\n"
                                 "world_kernel void k_two(const real *x, const int *a, const int *b, real *y, int n)\n"
                                 "{\n"
                                 "    each (i, n) {\n"
                                 "        real s = x[i];\n"
                                 "        for (int e = 0; e < a[i]; ++e) s = s * s;\n"
                                 "        for (int e = 0; e < b[i]; ++e) s = s * x[i];\n"
                                 "        put(y, i, s);\n"
                                 "    }\n"
                                 "}\n";

typedef struct two {
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_array *x, *a, *b, *y, *x_grad, *y_grad;
} two;

static const int32_t usual[] = {1, 2, 3, 0, 1};

static two open_two(stet_device *d, const char *source)
{
    two t;
    t.kernel = kernel_from(d, source);
    stet_array **reals[] = {&t.x, &t.y, &t.x_grad, &t.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_REAL, true, reals[i], WORLDS, N));
    OK(STI_ARRAY(d, "a", STET_INT, false, &t.a, N));
    OK(STI_ARRAY(d, "b", STET_INT, false, &t.b, N));
    OK(stet_array_write(t.a, usual, sizeof usual));
    OK(stet_array_write(t.b, usual, sizeof usual));
    set_all(t.x, 1);
    OK(stet_kernel_adjoint(t.kernel, &t.adjoint));
    return t;
}

static void close_two(const two *t)
{
    stet_array *const all[] = {t->x, t->a, t->b, t->y, t->x_grad, t->y_grad};
    for (int i = 0; i < 6; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(t->kernel);
}

static stet_result launch_with(const two *t, stet_array *a, stet_array *b, int n)
{
    const stet_arg args[] = {stet_arg_array(t->x), stet_arg_array(a), stet_arg_array(b), stet_arg_array(t->y),
                             stet_arg_int(n)};
    stet_array *const gradients[] = {t->x_grad, NULL, NULL, t->y_grad, NULL};
    return stet_adjoint_launch(t->adjoint, WORLDS, args, gradients, 5);
}

static stet_result launch_two(const two *t) { return launch_with(t, t->a, t->b, N); }

/* What a launch did: reductions known and worked out, launches for them, launches that asked for nothing. */
typedef struct did {
    int64_t known, worked_out, launched, stood, asked;
} did;

static did counted(const stet_device *d)
{
    stet_counter per = row(d, STET_MECH_adstack), handle = row(d, STET_MECH_adstack_handle);
    return (did){per.hits, per.misses, per.done_launches, handle.hits, handle.misses};
}

#define EXPECT(known_, worked_out_, launched_, stood_, asked_)                                                         \
    do {                                                                                                               \
        did now_ = counted(rig.device);                                                                                \
        assert_int_equal(now_.known - was.known, known_);                                                              \
        assert_int_equal(now_.worked_out - was.worked_out, worked_out_);                                               \
        assert_int_equal(now_.launched - was.launched, launched_);                                                     \
        assert_int_equal(now_.stood - was.stood, stood_);                                                              \
        assert_int_equal(now_.asked - was.asked, asked_);                                                              \
        was = now_;                                                                                                    \
    } while (0)

/* One launch works out all that is not known; later ones, nothing. */
static void a_launch_in_which_nothing_moved_asks_for_nothing(void **state)
{
    (void)state;
    FOR_DEVICES(rig)
    {
        two t = open_two(rig.device, two_source);
        did was = counted(rig.device);
        OK(launch_two(&t));
        EXPECT(0, 2, 1, 0, 1);
        for (int i = 0; i < 5; ++i) {
            int64_t copied = rig.device->mechanisms.counters.bytes_copied;
            int64_t launches = rig.device->mechanisms.counters.launches;
            OK(launch_two(&t));
            EXPECT(0, 0, 0, 1, 0);
            assert_int_equal(rig.device->mechanisms.counters.bytes_copied, copied);
            assert_int_equal(rig.device->mechanisms.counters.launches, launches + 1);
        }
        set_all(t.x, 2); /* no size depends on it */
        OK(launch_two(&t));
        EXPECT(0, 0, 0, 1, 0);
        close_two(&t);
    }
}

/* By the host, by an announcement, by a kernel. */
static void a_change_asks_for_exactly_what_depends_on_it(void **state)
{
    (void)state;
    FOR_RUNNING_DEVICES(rig)
    {
        two t = open_two(rig.device, two_source);
        stet_kernel *writer = kernel_from(rig.device, "#include <stet/lang.h>\nitem_kernel void k_set(int *a, int i, "
                                                      "int value) { each (one, 1) a[i] = value; }\n");
        OK(launch_two(&t));
        did was = counted(rig.device);
        int32_t other[N];
        memcpy(other, usual, sizeof usual);
        other[3] = 7;
        OK(stet_array_write(t.b, other, sizeof other));
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(reason_count(rig.device, STET_REASON_adstack_moved), 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 7);
        stet_array_mark_written(t.a);
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        const stet_arg args[] = {stet_arg_array(t.a), stet_arg_int(1), stet_arg_int(9)};
        OK(stet_kernel_launch(writer, 1, args, 3));
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 9);
        OK(launch_two(&t));
        EXPECT(0, 0, 0, 1, 0);
        OK(launch_with(&t, t.a, t.b, N - 1)); /* another number */
        EXPECT(0, 2, 1, 0, 1);
        OK(launch_two(&t)); /* both are remembered */
        EXPECT(0, 0, 0, 1, 0);
        stet_kernel_destroy(writer);
        close_two(&t);
    }
}

/* An address that comes again is another array; a size that differs is another input; nothing is a fact, too. */
static void what_a_maximum_was_taken_over_is_complete(void **state)
{
    (void)state;
    FOR_RUNNING_DEVICES(rig)
    {
        two t = open_two(rig.device, two_source);
        OK(launch_two(&t));
        did was = counted(rig.device);
        const int32_t more[] = {5, 5, 5, 5, 5, 9};
        uint64_t generation = t.b->version.generation;
        void *address = t.b->data;
        stet_array_destroy(t.b);
        OK(STI_ARRAY(rig.device, "b", STET_INT, false, &t.b, N));
        OK(stet_array_write(t.b, more, N * sizeof *more));
        if (t.b->data == address) print_message("the same address\n");
        t.b->version.generation = generation; /* as often written as its former owner */
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 5);
        stet_array *larger; /* the same but for its size */
        OK(STI_ARRAY(rig.device, "larger", STET_INT, false, &larger, N + 1));
        OK(stet_array_write(larger, more, sizeof more));
        larger->version = t.b->version;
        OK(launch_with(&t, t.a, larger, N + 1 - 1));
        EXPECT(1, 1, 1, 0, 1);
        for (int i = 0; i < 3; ++i) { /* absent: the failure is known, too */
            assert_int_equal(launch_with(&t, t.a, NULL, N), STET_INVALID_ARGUMENT);
            assert_non_null(strstr(stet_last_error(), "needs element 0 of b, which it does not have"));
            if (i == 0)
                EXPECT(1, 1, 1, 0, 0);
            else
                EXPECT(2, 0, 0, 0, 0);
        }
        OK(launch_two(&t));
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 5);
        stet_array_destroy(larger);
        close_two(&t);
    }
}

/* Two kernels with the same loop over the same array: what one found, the other knows. */
static void kernels_share_what_is_known(void **state)
{
    (void)state;
    FOR_RUNNING_DEVICES(rig)
    {
        static const char other_source[] =
            "#include <stet/lang.h>\n"
            "world_kernel void k_other(const real *x, const int *a, const int *b, real *y, int n)\n"
            "{\n    each (i, n) { real s = x[i]; for (int e = 0; e < a[i]; ++e) s = cos(s * x[i] * splat(b[0])); "
            "put(y, "
            "i, s); }\n}\n";
        two t = open_two(rig.device, two_source), other = open_two(rig.device, other_source);
        OK(launch_two(&t));
        did was = counted(rig.device);
        OK(launch_with(&other, t.a, t.b, N));
        EXPECT(1, 0, 0, 0, 1);
        assert_ptr_equal(t.adjoint->stacks, other.adjoint->stacks);
        assert_int_equal(t.adjoint->stacks->known.n, 2);
        close_two(&t);
        close_two(&other);
    }
}

/* Switched off, or one of two; the gradients are the same. */
static void switches_change_no_bit(void **state)
{
    (void)state;
    FOR_RUNNING_DEVICES(rig)
    {
        static const uint32_t off[] = {0, 1u << STET_MECH_adstack_handle,
                                       1u << STET_MECH_adstack_handle | 1u << STET_MECH_adstack};
        two t = open_two(rig.device, two_source);
        uint64_t wanted = 0, hash;
        for (int k = 0; k < 3; ++k) {
            stet_mechanism_options options = {.disabled = off[k], .audit = k == 0};
            OK(stet_device_set_mechanisms(rig.device, &options));
            set_all(t.x, 0.9);
            OK(launch_two(&t));
            did was = counted(rig.device);
            set_all(t.x_grad, 0);
            set_all(t.y_grad, 1);
            OK(launch_two(&t));
            if (k == 1) EXPECT(2, 0, 0, 0, 1);
            if (k == 2) EXPECT(0, 2, 1, 0, 1);
            OK(stet_array_hash(t.x_grad, &hash));
            if (k == 0) wanted = hash;
            assert_true(hash == wanted);
        }
        close_two(&t);
    }
}

/* Something wrote the array behind stet's back: the audit finds it, before any stack is too short. */
static void an_audit_finds_what_nobody_announced(void **state)
{
    (void)state;
    stet_device *d = open_device(STI_ISA_portable, 2);
    two t = open_two(d, two_source);
    stet_mechanism_options options = {.audit = true};
    OK(stet_device_set_mechanisms(d, &options));
    OK(launch_two(&t));
    OK(launch_two(&t));
    ((int32_t *)t.b->data)[2] = 8;
    assert_int_equal(launch_two(&t), STET_AUDIT);
    assert_non_null(strstr(stet_last_error(), "adstack: kernel k_two: a maximum stood at 3 and is 8"));
    close_two(&t);
    stet_device_destroy(d);
}

/* A tensor through which others may write at any time: each launch asks again. */
static void an_exported_array_never_stands(void **state)
{
    (void)state;
    stet_device *d = open_device(STI_ISA_portable, 2);
    struct {
        stet_device *device;
    } rig = {d};
    two t = open_two(d, two_source);
    OK(launch_two(&t));
    tensor *shown = export_as(t.b, true, false, false);
    did was = counted(d);
    ((int32_t *)shown->dl_tensor.data)[0] = 12;
    OK(launch_two(&t));
    EXPECT(1, 1, 1, 0, 1);
    assert_int_equal(t.adjoint->last.size[STI_DEPTH], 12);
    ((int32_t *)shown->dl_tensor.data)[0] = 2;
    OK(launch_two(&t));
    EXPECT(1, 1, 1, 0, 1);
    assert_int_equal(reason_count(d, STET_REASON_adstack_exported), 2);
    end(shown);
    close_two(&t);
    stet_device_destroy(d);
}

/* More stamps than fit in a stamp's own words: a hit still allocates nothing. */
static void a_hit_allocates_nothing(void **state)
{
    (void)state;
    stet_device *d = open_device(STI_ISA_portable, 1);
    two t = open_two(d, two_source);
    OK(launch_two(&t));
    OK(launch_two(&t));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 0; i < 10; ++i) OK(launch_two(&t));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    close_two(&t);
    stet_device_destroy(d);
}

/* ---- ids ---------------------------------------------------------------------------------------------------------- */

static void ids_are_content(void **state)
{
    (void)state;
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

/* Whoever comes second is refused, and nothing is left of it; the first goes on. */
static void equal_ids_of_unequal_content_are_found(void **state)
{
    (void)state;
    stet_device *d = open_device(STI_ISA_portable, 1);
    two t = open_two(d, two_source);
    sti_ids *ids = &t.adjoint->stacks->ids;
    uint64_t id = t.adjoint->sizing.reducing.reduction[1].id;
    assert_int_equal(sti_ids_add(ids, id, "something else", "k_planted"), STET_STATE);
    assert_non_null(strstr(stet_last_error(), "k_planted has the id"));
    OK(launch_two(&t));
    chain keeps = open_chain(d); /* keeps the device's registry */
    close_two(&t);
    OK(sti_ids_add(ids, id, "something else", "k_planted"));
    stet_kernel *kernel = kernel_from(d, two_source);
    stet_adjoint *adjoint;
    assert_int_equal(stet_kernel_adjoint(kernel, &adjoint), STET_STATE);
    assert_non_null(strstr(stet_last_error(), "k_two has the id"));
    sti_ids_drop(ids, id);
    OK(stet_kernel_adjoint(kernel, &adjoint));
    stet_kernel_destroy(kernel);
    close_chain(&keeps);
    stet_device_destroy(d);
}

/* ---- cold and warm ------------------------------------------------------------------------------------------------ */

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

static void a_warm_start_is_a_cold_one(void **state)
{
    (void)state;
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
        TEST(a_warm_start_is_a_cold_one),
        cmocka_unit_test(a_launch_in_which_nothing_moved_asks_for_nothing),
        cmocka_unit_test(a_change_asks_for_exactly_what_depends_on_it),
        cmocka_unit_test(what_a_maximum_was_taken_over_is_complete),
        cmocka_unit_test(kernels_share_what_is_known),
        cmocka_unit_test(switches_change_no_bit),
        TEST(an_audit_finds_what_nobody_announced),
        TEST(an_exported_array_never_stands),
        TEST(a_hit_allocates_nothing),
        TEST(ids_are_content),
        TEST(equal_ids_of_unequal_content_are_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
