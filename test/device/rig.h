/*
 * What the tests of devices, arrays and kernels share: devices by instruction set, and checks of results and sentences.
 */
#ifndef TEST_DEVICE_RIG_H
#define TEST_DEVICE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cpu/threads.h"
#include "device/device.h"

#define OK(expression)                                                                                                 \
    do {                                                                                                               \
        if ((expression) != STET_OK) fail_msg("%s: %s", #expression, stet_get_last_error());                           \
    } while (0)

/* Loops of tests are short: threads would hardly ever share one. */
__attribute__((constructor)) static inline void share_all_loops(void) { (void)sti_loops_always_shared(true); }

/* The call fails with this result, and its sentence has `part` in it. */
#define FAILS(expression, result, part)                                                                                \
    do {                                                                                                               \
        assert_int_equal((expression), (result));                                                                      \
        if (!strstr(stet_get_last_error(), (part)))                                                                    \
            fail_msg("%s: the sentence '%s' does not say '%s'", #expression, stet_get_last_error(), (part));           \
    } while (0)

/* Each instruction set of this machine; the second one only those whose `real` is float. */
#define FOR_ISAS(isa)                                                                                                  \
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa)                                                                      \
        if (sti_isa_available((sti_isa)isa))
#define FOR_FLOAT_ISAS(isa) FOR_ISAS(isa) if (isa != STI_ISA_f64)

static inline stet_device *open_device(int isa, int threads)
{
    stet_device_def def = stet_default_device_def();
    def.isa = sti_isa_name((sti_isa)isa);
    def.threads = threads;
    stet_device *device;
    OK(stet_device_create(&def, &device));
    return device;
}

#endif
