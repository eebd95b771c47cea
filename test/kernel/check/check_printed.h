/* The pilots as the checker prints them. */
#ifndef TEST_KERNEL_CHECK_PRINTED_H
#define TEST_KERNEL_CHECK_PRINTED_H

#include "kernel/lang/pilots.h"

extern const own_pilots printed_pilots;

#endif
