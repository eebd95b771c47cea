/*
 * For tests of code that is compiled beside the run: an empty folder of compiled kernels (`folder`), and a compiler
 * that a driver double may hold. begin_beside and end_beside are the set-up and the tear-down of a test.
 */
#ifndef TEST_KERNEL_BESIDE_H
#define TEST_KERNEL_BESIDE_H

#include "device/picked.h"

#include "base/folder.h" /* after it: `folder` is a parameter there */

static inline int begin_beside(void **state)
{
    stet_device_def def = stet_default_device_def();
    picked_device(&def); /* so that its double is open */
    return make_own_folder(state);
}

static inline int end_beside(void **state)
{
    if (picked_double) picked_double->hold(NULL, NULL); /* also after a failure */
    return remove_folder(state);
}

#endif
