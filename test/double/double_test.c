/*
 * The driver double itself, memory, streams, faults: what it does that a friendly driver does not is what these tests
 * ask for.
 */
#include "double/entries.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static opened o;

static int set_up(void **state)
{
    entries_open(&o, *state != NULL);
    entries_start_seed(&o, 7);
    return 0;
}

static int tear_down(void **state)
{
    double_expect_clean(o.control);
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *allocate(size_t size)
{
    void *memory;
    assert_int_equal(o.api.alloc(&memory, size), 0);
    return memory;
}

static void memory_is_closed_to_the_host(void **state)
{
    volatile char *memory = allocate(100);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        memory[0] = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* a signal; under a sanitizer, its own exit */
    assert_int_equal(o.api.free((void *)(uintptr_t)memory), 0);
}

static void memory_is_garbage_when_fresh_and_when_freed(void **state)
{
    unsigned char *memory = allocate(1000);
    const unsigned char *look = o.control->look((uintptr_t)memory);
    for (int i = 0; i < 1000; ++i) assert_int_not_equal(look[i], 0);
    assert_int_equal(o.api.fill_async(memory, 0, 1000, NULL), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
    for (int i = 0; i < 1000; ++i) assert_int_equal(look[i], 0);
    assert_int_equal(o.api.free(memory), 0);
    for (int i = 0; i < 1000; ++i) assert_int_not_equal(look[i], 0);
    assert_null(o.control->look((uintptr_t)memory));
}

static void an_address_rests_unless_told_otherwise(void **state)
{
    void *first = allocate(4096);
    assert_int_equal(o.api.free(first), 0);
    void *second = allocate(4096);
    assert_ptr_not_equal(first, second);
    double_config config = o.control->defaults();
    config.recycle = true;
    entries_start(&o, &config);
    first = allocate(4096);
    assert_int_equal(o.api.free(first), 0);
    second = allocate(4096);
    assert_ptr_equal(first, second);
}

static void a_write_beyond_a_block_is_reported(void **state)
{
    char text[512];
    unsigned char *memory = allocate(1000);
    unsigned char *look = o.control->look((uintptr_t)memory);
    look[1000] = 0;
    assert_int_equal(o.control->report(text, sizeof text), 1);
    assert_non_null(strstr(text, "byte 0 behind its end"));
    look[1000] = 0xFA;
    look[-3] = 0;
    assert_int_equal(o.api.free(memory), 0);
    assert_int_equal(o.control->report(text, sizeof text), 1);
    assert_non_null(strstr(text, "byte 3 before its start"));
}

static void wrong_addresses_and_sizes_are_refused(void **state)
{
    char host[64];
    char *memory = allocate(64);
    assert_int_equal(o.api.copy_to_device_async(memory, host, 65, NULL), 1);
    assert_int_equal(o.api.copy_to_device_async(memory + 1, host, 64, NULL), 1);
    assert_int_equal(o.api.copy_to_host_async(host, host, 1, NULL), 1);
    assert_int_equal(o.api.copy_to_device_async(memory, memory, 1, NULL), 1);
    assert_int_equal(o.api.fill_async(memory, 0, 65, NULL), 1);
    assert_int_equal(o.api.free(memory + 8), 1);
    assert_int_equal(o.api.free(memory), 0);
    assert_int_equal(o.api.free(memory), 1);
    assert_int_equal(o.api.copy_to_device_async(memory, host, 1, NULL), 1);
}

static void memory_runs_out(void **state)
{
    size_t left, total;
    void *memory, *more;
    double_config config = o.control->defaults();
    config.memory = 1 << 20;
    entries_start(&o, &config);
    memory = allocate(900000);
    assert_int_equal(o.api.memory_info(&left, &total), 0);
    assert_int_equal(total, 1 << 20);
    assert_int_equal(left, (1 << 20) - 900000);
    assert_int_equal(o.api.alloc(&more, 200000), 2);
    assert_int_equal(o.api.free(memory), 0);
    assert_int_equal(o.api.alloc(&more, 200000), 0);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void *stream(void)
{
    void *s;
    assert_int_equal(o.api.stream_create(&s, 1), 0);
    return s;
}

static int read_int(void *memory)
{
    int value;
    memcpy(&value, o.control->look((uintptr_t)memory), sizeof value);
    return value;
}

static void a_copy_runs_later_and_a_buffer_used_again_shows(void **state)
{
    int value = 1;
    void *memory = allocate(sizeof value), *s = stream();
    double_config config = o.control->defaults();
    config.progress = 0;
    entries_start(&o, &config);
    memory = allocate(sizeof value);
    s = stream();
    assert_int_equal(o.api.copy_to_device_async(memory, &value, sizeof value, s), 0);
    value = 2;
    assert_int_equal(o.control->waiting(), 1);
    assert_int_equal(o.api.stream_synchronize(s), 0);
    assert_int_equal(read_int(memory), 2);
    assert_int_equal(o.control->waiting(), 0);
}

/* Two streams write the same place; which is last is up to chance, unless an event orders them. */
static int last_of_two(uint64_t seed, bool ordered)
{
    static const int one = 1, two = 2;
    entries_start_seed(&o, seed);
    void *memory = allocate(sizeof one), *a = stream(), *b = stream(), *event;
    assert_int_equal(o.api.event_create(&event, 2), 0);
    assert_int_equal(o.api.copy_to_device_async(memory, &one, sizeof one, a), 0);
    assert_int_equal(o.api.event_record(event, a), 0);
    if (ordered) assert_int_equal(o.api.stream_wait_event(b, event, 0), 0);
    assert_int_equal(o.api.copy_to_device_async(memory, &two, sizeof two, b), 0);
    assert_int_equal(o.api.stream_synchronize(b), 0);
    assert_int_equal(o.api.stream_synchronize(a), 0);
    return read_int(memory);
}

static void kf15_two_streams_have_no_order_but_what_events_give(void **state)
{
    int seen[3] = {0};
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        seen[last_of_two(seed, false)]++;
        assert_int_equal(last_of_two(seed, true), 2);
    }
    assert_true(seen[1] > 0 && seen[2] > 0);
}

/* Who waits for an event waits for its last recording before that, whatever is recorded later, in any stream. */
static void an_event_can_be_recorded_again_at_once(void **state)
{
    static const int one = 1, two = 2;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        entries_start_seed(&o, seed);
        void *memory = allocate(sizeof one), *a = stream(), *b = stream(), *c = stream(), *event;
        assert_int_equal(o.api.event_create(&event, 2), 0);
        assert_int_equal(o.api.copy_to_device_async(memory, &one, sizeof one, a), 0);
        assert_int_equal(o.api.event_record(event, a), 0);
        assert_int_equal(o.api.stream_wait_event(b, event, 0), 0);
        assert_int_equal(o.api.event_record(event, c), 0);
        assert_int_equal(o.api.stream_wait_event(a, event, 0), 0);
        assert_int_equal(o.api.copy_to_device_async(memory, &two, sizeof two, b), 0);
        assert_int_equal(o.api.stream_synchronize(b), 0);
        assert_int_equal(o.api.stream_synchronize(a), 0);
        assert_int_equal(read_int(memory), 2);
        assert_int_equal(o.control->waiting(), 0);
    }
}

/* A stream that blocks waits for the legacy stream, one that does not may be first. */
static int last_beside_legacy(uint64_t seed, unsigned flags)
{
    static const int one = 1, two = 2;
    void *s;
    entries_start_seed(&o, seed);
    void *memory = allocate(sizeof one);
    assert_int_equal(o.api.stream_create(&s, flags), 0);
    assert_int_equal(o.api.copy_to_device_async(memory, &one, sizeof one, NULL), 0);
    assert_int_equal(o.api.copy_to_device_async(memory, &two, sizeof two, s), 0);
    assert_int_equal(o.api.stream_synchronize(s), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
    return read_int(memory);
}

static void the_legacy_stream_orders_blocking_ones(void **state)
{
    int seen[3] = {0};
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        assert_int_equal(last_beside_legacy(seed, 0), 2);
        seen[last_beside_legacy(seed, 1)]++;
    }
    assert_true(seen[1] > 0 && seen[2] > 0);
}

static void an_event_is_ready_when_it_has_happened(void **state)
{
    void *s = stream(), *event, *memory = allocate(64);
    assert_int_equal(o.api.event_create(&event, 0), 0);
    assert_int_equal(o.api.event_query(event), 0);
    assert_int_equal(o.api.fill_async(memory, 1, 64, s), 0);
    assert_int_equal(o.api.event_record(event, s), 0);
    assert_int_equal(o.api.event_query(event), 600);
    int calls = 0;
    while (o.api.event_query(event) == 600) assert_true(++calls < 100);
    assert_int_equal(*(unsigned char *)o.control->look((uintptr_t)memory), 1);
    assert_int_equal(o.api.event_destroy(event), 0);
    assert_int_equal(o.api.event_query(event), 400);
    assert_int_equal(o.api.stream_destroy(s), 0);
    assert_int_equal(o.api.stream_synchronize(s), 400);
}

static void freeing_in_a_stream_waits_its_turn(void **state)
{
    double_config config = o.control->defaults();
    config.progress = 0;
    entries_start(&o, &config);
    void *s = stream(), *memory;
    assert_int_equal(o.api.alloc_async(&memory, 64, s), 0);
    assert_int_equal(o.api.fill_async(memory, 1, 64, s), 0);
    assert_int_equal(o.api.free_async(memory, s), 0);
    assert_int_equal(o.control->alive().blocks, 1);
    assert_int_equal(o.api.free_async(memory, s), 1);
    assert_int_equal(o.api.stream_synchronize(s), 0);
    assert_int_equal(o.control->alive().blocks, 0);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void a_call_fails_once_or_for_ever(void **state)
{
    void *memory;
    o.control->fail_call("alloc", 2, 2, false);
    assert_int_equal(o.api.alloc(&memory, 8), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
    int64_t before = o.control->alive().blocks;
    assert_int_equal(o.api.alloc(&memory, 8), 2);
    assert_int_equal(o.control->alive().blocks, before);
    assert_int_equal(o.api.alloc(&memory, 8), 0);
    assert_int_equal(o.control->calls("alloc"), 3);
    o.control->fail_call(NULL, 3, 719, true);
    assert_int_equal(o.api.alloc(&memory, 8), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
    for (int i = 0; i < 3; ++i) assert_int_equal(o.api.alloc(&memory, 8), 719);
    o.control->fail_call(NULL, 0, 0, false);
    assert_int_equal(o.api.alloc(&memory, 8), 0);
}

static void without_devices_the_driver_says_so(void **state)
{
    double_config config = o.control->defaults();
    config.devices = 0;
    o.control->start(&config);
    assert_int_equal(o.api.init(0), 100);
}

static void without_a_context_nothing_goes(void **state)
{
    void *memory, *context;
    if (o.hip) skip();
    assert_int_equal(o.api.context_set(NULL), 0);
    assert_int_equal(o.api.alloc(&memory, 8), 201);
    assert_int_equal(o.api.context_retain(&context, 1), 0);
    assert_int_equal(o.api.context_set(context), 0);
    assert_int_equal(o.api.alloc(&memory, 8), 0);
    assert_int_equal(o.api.context_release(1), 0);
    assert_int_equal(o.api.context_set(context), 201);
}

int main(void)
{
    int failed = 0;
    for (int hip = 0; hip < 2; ++hip) {
        void *state = hip ? &o : NULL;
        const struct CMUnitTest tests[] = {
            DOUBLE_TEST(memory_is_closed_to_the_host),
            DOUBLE_TEST(memory_is_garbage_when_fresh_and_when_freed),
            DOUBLE_TEST(an_address_rests_unless_told_otherwise),
            DOUBLE_TEST(a_write_beyond_a_block_is_reported),
            DOUBLE_TEST(wrong_addresses_and_sizes_are_refused),
            DOUBLE_TEST(memory_runs_out),
            DOUBLE_TEST(a_copy_runs_later_and_a_buffer_used_again_shows),
            DOUBLE_TEST(kf15_two_streams_have_no_order_but_what_events_give),
            DOUBLE_TEST(the_legacy_stream_orders_blocking_ones),
            DOUBLE_TEST(an_event_can_be_recorded_again_at_once),
            DOUBLE_TEST(an_event_is_ready_when_it_has_happened),
            DOUBLE_TEST(freeing_in_a_stream_waits_its_turn),
            DOUBLE_TEST(a_call_fails_once_or_for_ever),
            DOUBLE_TEST(without_devices_the_driver_says_so),
            DOUBLE_TEST(without_a_context_nothing_goes),
        };
        failed += cmocka_run_group_tests_name(hip ? "hip" : "cuda", tests, NULL, NULL);
    }
    return failed;
}
