/*
 * What a kernel's source needs to be compiled for the host instead of a GPU, and how the double finds its way in what
 * comes out. The double's compiler puts this before the source (C++), the double itself includes the first part (C).
 */
#ifndef TEST_DOUBLE_PRELUDE_H
#define TEST_DOUBLE_PRELUDE_H

#include <stddef.h>

typedef struct double_triple {
    unsigned x, y, z;
} double_triple;

/*
 * What lanes of a warp do together: wait; get the word of another; find who brings a word that is not 0, or the same
 * word.
 */
typedef enum double_exchange { DOUBLE_SYNC, DOUBLE_FROM_LANE, DOUBLE_VOTE, DOUBLE_MATCH } double_exchange;

/* Each object has one, `double_here`, which is set before a thread goes on. */
typedef struct double_frame {
    double_triple thread, block, block_size, grid_size;
    void (*sync_block)(void);
    void (*sync_warp)(unsigned lanes); /* of 32 threads that follow each other */
    unsigned long long (*exchange)(unsigned lanes, double_exchange which, unsigned long long word, unsigned from);
    void (*set_condition)(unsigned long long handle, unsigned value); /* of a loop in a graph */
    void (*wait_for_others)(void); /* for kernels before this one, which may still run */
    unsigned char *dynamic;        /* shared memory of the block whose size the launch says */
} double_frame;

typedef void double_call(void **parameters);

/* `double_entry_NAME` describes the entry point NAME. */
typedef struct double_entry {
    double_call *call;
    const size_t *size; /* of each parameter */
    size_t nparam;
    int most_threads;
} double_entry;

#if defined(DOUBLE_KERNEL)

#define DOUBLE_OUT extern "C" __attribute__((visibility("default")))

/* What it was compiled for. */
DOUBLE_OUT const char double_arch[];
const char double_arch[] = DOUBLE_ARCH;

DOUBLE_OUT double_frame double_here;
double_frame double_here;

#define threadIdx (double_here.thread)
#define blockIdx (double_here.block)
#define blockDim (double_here.block_size)
#define gridDim (double_here.grid_size)

#define __global__
#define __device__
#define STI_LIST_FUNCTION static __attribute__((unused)) /* whose attribute has another name here */
#define __host__
#define __forceinline__ inline /* as the compiler thinks fit: forced, pictures would take it five times as long */
#define __launch_bounds__(...)
#define __constant__ static const
/* Memory of a block: one section, so that it can be found and filled with garbage. Blocks run one after the other. */
#define __shared__ static __attribute__((section("double_shared")))

/* No byte of it: there is the section, also of code that shares nothing. */
__attribute__((section("double_shared"), used)) static unsigned double_shared_begin[0];
extern "C" {
extern unsigned char __start_double_shared[] __attribute__((visibility("hidden")));
extern unsigned char __stop_double_shared[] __attribute__((visibility("hidden")));
}
DOUBLE_OUT unsigned char *const double_shared_range[2];
unsigned char *const double_shared_range[2] = {__start_double_shared, __stop_double_shared};

static inline void __syncthreads(void) { double_here.sync_block(); }
static inline void __syncwarp(unsigned lanes = 0xffffffffu) { double_here.sync_warp(lanes); }
static inline unsigned __shfl_sync(unsigned lanes, unsigned word, int from)
{
    return (unsigned)double_here.exchange(lanes, DOUBLE_FROM_LANE, word, (unsigned)from);
}
static inline unsigned __ballot_sync(unsigned lanes, int yes)
{
    return (unsigned)double_here.exchange(lanes, DOUBLE_VOTE, yes != 0, 0);
}
static inline unsigned __match_any_sync(unsigned lanes, unsigned long long word)
{
    return (unsigned)double_here.exchange(lanes, DOUBLE_MATCH, word, 0);
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
#define STI_DYNAMIC_SHARED double_here.dynamic
#define sti_wait_for_others() double_here.wait_for_others()
#if defined(__CUDACC_RTC__)
extern "C" __attribute__((visibility("hidden"))) void cudaGraphSetConditional(unsigned long long handle, unsigned value)
{
    double_here.set_condition(handle, value);
}
#endif
#if defined(__HIPCC_RTC__)
/* On AMD the lanes that took the same branches are in step; here they have to be brought together. */
#define sti_sync_lanes(lanes) __syncwarp(lanes)
#define sti_from_lane(lanes, x, from) __shfl_sync(lanes, (unsigned)(x), (int)(from))
#define sti_vote(lanes, yes) __ballot_sync(lanes, yes)
#endif
static inline unsigned long long atomicMax(unsigned long long *at, unsigned long long x)
{
    unsigned long long had = *at;
    if (x > had) *at = x;
    return had;
}
static inline void __threadfence(void) {}
static inline void __threadfence_block(void) {}
static inline void __trap(void) { __builtin_trap(); }

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
/* Out of range: the nearest that there is; NaN: 0. */
static inline int __float2int_rz(float x)
{
    return x != x ? 0 : x >= 2147483648.0f ? 0x7fffffff : x < -2147483648.0f ? -0x7fffffff - 1 : (int)x;
}
static inline int __double2int_rz(double x)
{
    return x != x ? 0 : x >= 2147483647.0 ? 0x7fffffff : x <= -2147483648.0 ? -0x7fffffff - 1 : (int)x;
}
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline int __float_as_int(float x)
{
    int i;
    __builtin_memcpy(&i, &x, sizeof i);
    return i;
}
static inline float __int_as_float(int x)
{
    float f;
    __builtin_memcpy(&f, &x, sizeof f);
    return f;
}
static inline long long __double_as_longlong(double x)
{
    long long i;
    __builtin_memcpy(&i, &x, sizeof i);
    return i;
}
static inline double __longlong_as_double(long long x)
{
    double f;
    __builtin_memcpy(&f, &x, sizeof f);
    return f;
}
extern "C" {
float floorf(float);
double floor(double);
float rintf(float);
double rint(double);
float sqrtf(float);
float truncf(float);
double trunc(double);
}

struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

/* How an entry point is called with its parameters in memory, each behind a pointer of its own. */
template <class... T> struct double_list {
};
template <size_t... I> struct double_numbers {
};
template <size_t N, size_t... I> struct double_count : double_count<N - 1, N - 1, I...> {
};
template <size_t... I> struct double_count<0, I...> {
    typedef double_numbers<I...> type;
};
template <class... T, size_t... I> static inline void double_apply(void (*f)(T...), void **p, double_numbers<I...>)
{
    (void)p;
    f(*static_cast<T *>(p[I])...);
}
/*
 * Of this module alone: the loader would give all modules the sizes of the first one whose parameters have these names.
 */
namespace
{
template <class... T> struct double_sizes {
    static constexpr size_t number = sizeof...(T);
    static constexpr size_t size[sizeof...(T) + 1] = {sizeof(T)..., 0};
    static_assert((sizeof(T) + ... + 0) <= 4096, "the parameters of an entry point exceed 4096 bytes");
};
} // namespace
template <class... T> static inline double_sizes<T...> double_sizes_of(void (*)(T...));
template <class... T> static inline void double_call_with(void (*f)(T...), void **p)
{
    double_apply(f, p, typename double_count<sizeof...(T)>::type());
}

#define DOUBLE_FIRST(first, ...) first
#define DOUBLE_BOUND(...) DOUBLE_FIRST(__VA_ARGS__, 0) /* of threads; blocks a processor may follow */
#define DOUBLE_ENTRY(name, bound)                                                                                      \
    static void double_call_##name(void **p) { double_call_with(name, p); }                                            \
    DOUBLE_OUT const double_entry double_entry_##name;                                                                 \
    const double_entry double_entry_##name = {double_call_##name, decltype(double_sizes_of(name))::size,               \
                                              decltype(double_sizes_of(name))::number, bound};

#endif
#endif
