/*
 * What lanes of a warp do together on the doubles: they get each other's words, and it is an error where some of them
 * do not come, or do something else.
 */
#include "double/entries.h"

static opened o;

static int set_up(void **state)
{
    entries_open(&o, *state != NULL);
    entries_start_seed(&o, 11);
    return 0;
}

static int tear_down(void **state)
{
    double_expect_clean(o.control);
    return 0;
}

/* Runs f(out) in one block; what the launch says. */
static int run(const char *source, unsigned threads, const int **out)
{
    void *memory;
    assert_int_equal(o.api.alloc(&memory, 64 * sizeof(int)), 0);
    void *arguments[] = {&memory}, *f = entries_function(&o, entries_module(&o, source), "f");
    int result = o.api.launch(f, 1, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL);
    if (out) *out = o.control->look((uintptr_t)memory);
    return result ? result : o.api.stream_synchronize(NULL);
}

/* Teams of eight, each for itself; the second warp has two of them. */
static void lanes_get_each_others_words(void **state)
{
    const int *out;
    assert_int_equal(run("extern \"C\" __global__ void f(int *out)\n{\n"
                         "    unsigned me = threadIdx.x, first = me & 31 & ~7u, lanes = 0xffu << first;\n"
                         "    if (me >= 8 && me < 16) return;\n" /* a whole team is not there */
                         "    out[me] = (int)__shfl_sync(lanes, me * 3, (int)(first + (me + 1) % 8));\n"
                         "    if (me < 8) out[me] = out[me] * 100 + (int)__ballot_sync(lanes, me % 3 == 0);\n"
                         "}\n",
                         48, &out),
                     0);
    for (int i = 0; i < 48; ++i) {
        int word = 3 * ((i & ~7) + (i + 1) % 8);
        if (i < 8 || i >= 16) assert_int_equal(out[i], i < 8 ? word * 100 + 0x49 : word);
    }
}

static void lanes_with_the_same_word_find_each_other(void **state)
{
    const int *out;
    assert_int_equal(run("extern \"C\" __global__ void f(int *out)\n{\n"
                         "    unsigned long long key = (unsigned long long)(threadIdx.x % 5) << 40;\n"
                         "    out[threadIdx.x] = (int)__match_any_sync(0xffffffffu, key);\n}\n",
                         32, &out),
                     0);
    for (int i = 0; i < 32; ++i) {
        unsigned same = 0;
        for (int k = i % 5; k < 32; k += 5) same |= 1u << k;
        assert_int_equal((unsigned)out[i], same);
    }
}

static void a_lane_that_is_not_there_gives_garbage(void **state)
{
    const int *out;
    assert_int_equal(run("extern \"C\" __global__ void f(int *out)\n{\n"
                         "    out[threadIdx.x] = (int)__shfl_sync(0xffu, 1, 20);\n}\n",
                         8, &out),
                     0);
    for (int i = 0; i < 8; ++i) assert_int_equal((unsigned)out[i], 0xC7C7C7C7u);
}

static void run_wrong(const char *source, const char *part)
{
    char text[512];
    assert_int_equal(run(source, 32, NULL), 719);
    assert_true(o.control->report(text, sizeof text) > 0);
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

static void a_lane_that_does_not_come_is_an_error(void **state)
{
    run_wrong("extern \"C\" __global__ void f(int *out)\n{\n    if (threadIdx.x == 3) return;\n"
              "    out[threadIdx.x] = (int)__ballot_sync(0xffffffffu, 1);\n}\n",
              "0 wait for the block, 31 for lanes, 1 have ended");
}

static void lanes_that_do_different_things_are_an_error(void **state)
{
    run_wrong("extern \"C\" __global__ void f(int *out)\n{\n    if (threadIdx.x == 3) __syncwarp();\n"
              "    else out[threadIdx.x] = (int)__ballot_sync(0xffffffffu, 1);\n}\n",
              "0 wait for the block, 32 for lanes, 0 have ended");
}

int main(void)
{
    int failed = 0;
    for (int hip = 0; hip < 2; ++hip) {
        void *state = hip ? &o : NULL;
        const struct CMUnitTest tests[] = {
            DOUBLE_TEST(lanes_get_each_others_words),
            DOUBLE_TEST(lanes_with_the_same_word_find_each_other),
            DOUBLE_TEST(a_lane_that_is_not_there_gives_garbage),
            DOUBLE_TEST(lanes_that_do_different_things_are_an_error),
            DOUBLE_TEST(a_lane_that_does_not_come_is_an_error),
        };
        failed += cmocka_run_group_tests_name(hip ? "hip" : "cuda", tests, NULL, NULL);
    }
    return failed;
}
