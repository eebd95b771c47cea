/*
 * Sums of the shares of all worlds: one order on every device, NaN and empty arrays.
 */
#include "device/devices.h"

#include "stet/adjoint.h"

#include <math.h>

enum { SIZES = 5 };
static const int worlds[SIZES] = {1, 7, 32, 133, 300}, items[SIZES] = {3, 8, 1, 17, 9};

/* The definition: 32 workers an item, each from its own world on, then halves. */
static float sum_of(const float *shares, int nworld, int nitem, int item)
{
    float part[32] = {0};
    for (int k = 0; k < 32; ++k)
        for (int w = k; w < nworld; w += 32) part[k] += shares[w * nitem + item];
    for (int half = 16; half > 0; half /= 2)
        for (int k = 0; k < half; ++k) part[k] += part[k + half];
    return part[0];
}

static void check_size(stet_device *d, int nworld, int nitem)
{
    static float shares[300 * 17], found[17];
    stet_array *sum, *all;
    OK(STI_ARRAY(d, "sum", STET_DTYPE_REAL, false, &sum, nitem));
    OK(STI_ARRAY(d, "shares", STET_DTYPE_REAL, true, &all, nworld, nitem));
    uint32_t random = 1;
    for (int i = 0; i < nworld * nitem; ++i) {
        random = random * 1664525 + 1013904223;
        shares[i] = ldexpf((float)(random >> 8), (int)(random % 40) - 40) - 1;
    }
    if (nitem > 2) shares[2] = NAN;
    OK(stet_array_write(all, shares, sizeof *shares * (size_t)(nworld * nitem)));
    OK(stet_adjoint_sum_worlds(sum, all));
    OK(stet_array_read(sum, found, sizeof *found * (size_t)nitem));
    for (int i = 0; i < nitem; ++i) {
        float wanted = sum_of(shares, nworld, nitem, i);
        uint32_t bits;
        memcpy(&bits, &found[i], sizeof bits);
        if (isnan(wanted))
            assert_int_equal(bits, 0x7fc00000);
        else
            assert_memory_equal(&found[i], &wanted, sizeof wanted);
    }
    stet_array_destroy(sum);
    stet_array_destroy(all);
}

static void sums_have_one_order(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        for (int k = 0; k < SIZES; ++k) check_size(rig.device, worlds[k], items[k]);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    stet_array *sum, *shares, *none, *nothing;
    OK(STI_ARRAY(d, "sum", STET_DTYPE_REAL, false, &sum, 3));
    OK(STI_ARRAY(d, "shares", STET_DTYPE_REAL, true, &shares, 2, 4));
    OK(STI_ARRAY(d, "none", STET_DTYPE_REAL, true, &none, 2, 0));
    OK(STI_ARRAY(d, "nothing", STET_DTYPE_REAL, false, &nothing, 0));
    assert_int_equal(stet_adjoint_sum_worlds(sum, shares), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_adjoint_sum_worlds(shares, shares), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_adjoint_sum_worlds(NULL, shares), STET_ERROR_INVALID_ARGUMENT);
    OK(stet_adjoint_sum_worlds(nothing, none));
    stet_array *const all[] = {sum, shares, none, nothing};
    for (int i = 0; i < 4; ++i) stet_array_destroy(all[i]);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_one_order),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
