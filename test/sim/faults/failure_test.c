/*
 * A short run of everything (everything.h) in which the n-th allocation fails, for every n: the call says so, the same
 * call made again does what it should, and nothing is left.
 */
#include "device/null/null.h"
#include "sim/faults/everything.h"

#include "base/failing.h"

static everything reference;
static everything_how how;

static bool is_memory(stet_result result)
{
    return result == STET_ERROR_OUT_OF_MEMORY && strstr(stet_get_last_error(), "memory");
}

static stet_result run(void) { return everything_run(&how, &reference); }

/* The n-th fails, and those after it work. How many there are. */
static int64_t each_allocation_fails(stet_mechanism_options options)
{
    how.options = options;
    how.fair = is_memory;
    how.retry = true;
    assert_int_equal(run(), STET_OK);
    int64_t n = fail_each_allocation(run, true);
    print_message("%lld allocations, each failed once\n", (long long)n);
    assert_true(n > 300);
    everything_clean();
    return n;
}

static void as_it_comes(void **state)
{
    int64_t n = each_allocation_fails((stet_mechanism_options){0});
    how.retry = false; /* the run ends where it failed, and gives back what there was */
    assert_true(fail_each_allocation(run, true) == n);
    everything_clean();
}

static void under_audit(void **state) { (void)each_allocation_fails((stet_mechanism_options){.audit = true}); }

/* The numbers are the same as with all of them on. */
static void with_all_mechanisms_off(void **state)
{
    (void)each_allocation_fails((stet_mechanism_options){.disabled = (1u << STET_MECHANISM_COUNT) - 1});
}

/* A device that runs nothing, whose memory the host cannot touch. */
static void far_away(stet_device_def *def)
{
    static const sti_null_def apart = {.lanes = 4, .apart = true};
    def->type = STET_DEVICE_NULL;
    def->null = &apart;
}

/*
 * Numbers of its own, for pictures are empty; what the host works out goes through host mirrors, which take memory,
 * too.
 */
static void where_arrays_have_two_sides(void **state)
{
    how.place = far_away;
    reference.nnumber = 0;
    (void)each_allocation_fails((stet_mechanism_options){0});
    (void)each_allocation_fails((stet_mechanism_options){.audit = true});
    how.place = NULL;
    reference.nnumber = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_comes),
        cmocka_unit_test(under_audit),
        cmocka_unit_test(with_all_mechanisms_off),
        cmocka_unit_test(where_arrays_have_two_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
