/*
 * The kernel language: the one header that a kernel includes.
 *
 * The same source has the same meaning on a lane of a SIMD register and on a thread of a GPU. Values that differ
 * between lanes are `real`, `lint` and `mask`; values that all lanes share are plain C (`ureal`, `int`, `i64`). The C
 * operators + - * / work on lanes if both operands are lanes. Everything else is a function, because C's operators on
 * vectors and on scalars differ.
 *
 * Expressions have no side effects. ++, -- and assignments are statements or parts of a `for`. A call that writes
 * through a pointer is a statement, the whole value of `x = f(…);`, or a variable's first value.
 *
 *   kind     CPU                                            GPU
 *   world    lanes = worlds, `each` is a loop               a team of threads per world shares the iterations of `each`
 *   item     lanes = items, a block of items is one call    a thread per item, a block of items is a block of threads
 *
 * Every function here gives the same bits on every target; see doc/architecture.md, "The kernel language".
 *
 * Configuration, set by the code that compiles a kernel:
 *   STET_W        lanes: 1, 4, 8, 16 on a CPU; not set on a GPU (1)
 *   STET_DOUBLE   1: real is double (verification; only with STET_W 1)
 *   STET_PERMUTE  1: `each` runs its iterations in a scrambled order (finds races without a GPU)
 *   STET_TEAM     threads of a team, STET_TEAMS teams of a block (GPU)
 */
#ifndef STET_LANG_H
#define STET_LANG_H

/* Some compilers predefine these macros; kernels may use the names. */
#undef linux
#undef unix

#if defined(__CUDACC_RTC__) || defined(__CUDACC__) || defined(__HIPCC_RTC__)
#define STET_GPU 1
#else
#define STET_GPU 0
#endif

#ifndef STET_W
#define STET_W 1
#endif
#ifndef STET_DOUBLE
#define STET_DOUBLE 0
#endif
#ifndef STET_PERMUTE
#define STET_PERMUTE 0
#endif
#if STET_DOUBLE && STET_W != 1
#error "a double build has one lane: compile with STET_W=1"
#endif

#if STET_GPU
#define STET_B 1
#else
#define STET_B STET_W
#endif

/*
 * Words that a lane loads or stores at a time from neighbouring memory: one on a vector's lane, 16 bytes on a thread.
 */
#if STET_W == 1
#define STET_WIDE 4
#else
#define STET_WIDE 1
#endif

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

#if STET_DOUBLE
typedef double ureal;
#else
typedef float ureal;
#endif

/* Parameters of item kernels that are arrays of worlds (blocked by the lane width); read with `of_world`. */
typedef ureal wreal;
typedef int wint;

#if STET_GPU
#include "lang_gpu.h"
#else
#include "lang_cpu.h"
#endif

/* Parameters of kernels that are memory of the team, of the launch's size, with undefined contents at the start. */
typedef real treal;
typedef lint tlint;
typedef int tint;

#include "lang_common.h"
#include "lang_math.h"

#include "lang_list.h"

/*
 * Defined by a large source: the compiler chooses which of its functions are inlined. On a GPU loops over shared items
 * are not unrolled, nor those that begin with `rolled for`: fetching instructions costs more than the loop.
 */
#define rolled
#ifdef STET_CALLS
#undef LFN
#if STET_GPU
#define LFN static __device__
#ifdef __CUDA_ARCH__
#undef each
#undef rolled
#define rolled _Pragma("unroll 1")
#define each(i, n) _Pragma("unroll 1") for (int i##_n = (n), i = (int)threadIdx.x; i < i##_n; i += STET_TEAM)
#endif
#define STET_CALLED __attribute__((noinline)) /* before LFN: never inlined; for what is large */
#else
#define LFN static inline __attribute__((unused))
#endif
#endif

#endif
