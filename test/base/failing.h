/*
 * An allocator for tests that fails at a chosen call, and the loop that fails every call once.
 */
#ifndef TEST_BASE_FAILING_H
#define TEST_BASE_FAILING_H

#include "base/part.h"
#include "stet/base.h"

#include <stdlib.h>

typedef struct failing {
    int64_t calls, fail_at; /* the call that fails, from 1; 0: none */
    bool failed, then_all;  /* then_all: all calls after it fail too */
    int64_t held;
} failing;

static inline void *failing_alloc(size_t size, size_t align, void *context)
{
    failing *f = context;
    f->calls++;
    if (f->fail_at != 0 && (f->calls == f->fail_at || (f->then_all && f->calls > f->fail_at))) {
        f->failed = true;
        return NULL;
    }
    void *memory = NULL;
    if (posix_memalign(&memory, align, size) != 0) return NULL;
    f->held++;
    return memory;
}

static inline void failing_free(void *memory, void *context)
{
    failing *f = context;
    f->held--;
    free(memory);
}

/*
 * Runs a scenario with its first allocation failing, then its second (in part, part.h: every fifth), … until it runs
 * without a failure. The scenario returns after having given everything back, also when it failed; after each run
 * nothing may be held. A run in which an allocation failed returns STET_ERROR_OUT_OF_MEMORY, unless `forgives`, where
 * STET_OK is as good. Returns the number of allocations of the run without a failure.
 */
static inline int64_t fail_each_allocation(stet_result (*scenario)(void), bool forgives)
{
    const test_part p = choose_part(5);
    for (int64_t n = p.first;; n += p.step) {
        failing f = {.fail_at = n};
        assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
        stet_result result = scenario();
        assert_int_equal(f.held, 0);
        assert_int_equal(stet_get_memory_stats().blocks, 0);
        assert_int_equal(stet_get_memory_stats().bytes, 0);
        assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
        if (!f.failed) {
            assert_int_equal(result, STET_OK);
            return f.calls;
        }
        if (!forgives || result != STET_OK) assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
    }
}

#endif
