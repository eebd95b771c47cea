/*
 * The kernel language on a GPU (CUDA C++ by NVRTC, HIP by hipRTC): a lane is a thread. Included by lang.h only.
 *
 * It needs --fmad=false --prec-div=true --prec-sqrt=true --ftz=false with NVRTC, and -ffp-contract=off with hipRTC,
 * whose defaults keep denormals and round quotients and roots correctly.
 */
#ifndef STET_LANG_GPU_H
#define STET_LANG_GPU_H

#define LFN static __device__ __forceinline__

#ifndef STET_TEAM
#define STET_TEAM 32
#endif
#ifndef STET_TEAMS
#define STET_TEAMS 1
#endif

typedef ureal real;
typedef int lint;
typedef int mask;
#if STET_DOUBLE
typedef long long sti_bits;
#else
typedef int sti_bits;
#endif

LFN real splat(ureal x) { return x; }
LFN lint isplat(int x) { return x; }
LFN lint lane(void) { return 0; }
LFN mask lt(real a, real b) { return -(int)(a < b); }
LFN mask le(real a, real b) { return -(int)(a <= b); }
LFN mask eq(real a, real b) { return -(int)(a == b); }
LFN mask ilt(lint a, lint b) { return -(int)(a < b); }
LFN mask ieq(lint a, lint b) { return -(int)(a == b); }
LFN real sti_select(mask m, real a, real b) { return m ? a : b; }
LFN lint iselect(mask m, lint a, lint b) { return m ? a : b; }
LFN real sti_min(real a, real b) { return a < b ? a : b; }
LFN real sti_max(real a, real b) { return b < a ? a : b; }
LFN int any(mask m) { return m != 0; }
LFN int all(mask m) { return m != 0; }
LFN lint ishr(lint x, int n) { return (lint)((unsigned)x >> (n & 31)); }
LFN lint ishl(lint x, int n) { return (lint)((unsigned)x << (n & 31)); }
LFN lint imulhi(lint a, lint b) { return (lint)__umulhi((unsigned)a, (unsigned)b); }
LFN real load(const ureal *p) { return *p; }
LFN lint iload(const int *p) { return *p; }
LFN void sti_put(ureal *p, real x) { *p = x; }
LFN void istore(int *p, lint x) { *p = x; }
LFN void istream(int *p, lint x) { *p = x; }
LFN real gather(const ureal *p, lint i) { return p[i]; }
LFN lint igather(const int *p, lint i) { return p[i]; }
LFN void sti_put_if(mask m, ureal *p, real x)
{
    if (m) *p = x;
}
LFN void istore_if(mask m, int *p, lint x)
{
    if (m) *p = x;
}
LFN void sti_scatter_if(mask m, ureal *p, lint i, real x)
{
    if (m) p[i] = x;
}
LFN void bstore_if(mask m, u8 *p, lint i, lint x)
{
    if (m) p[i] = (u8)x;
}

LFN void wide_load(const int *p, lint *v)
{
    int4 x = *(const int4 *)p;
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
LFN void wide_store(int *p, const lint *v) { *(int4 *)p = make_int4(v[0], v[1], v[2], v[3]); }

#if STET_DOUBLE
LFN void load4(const real *a, i64 i, real *v)
{
    for (int k = 0; k < 4; ++k) v[k] = a[i + k];
}
LFN void sti_store4(real *a, const real *v)
{
    for (int k = 0; k < 4; ++k) a[k] = v[k];
}
#else
LFN void load4(const real *a, i64 i, real *v)
{
    float4 x = *(const float4 *)(a + i);
    v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
}
LFN void sti_store4(real *a, const real *v) { *(float4 *)a = make_float4(v[0], v[1], v[2], v[3]); }
#endif

/* Does nothing: threads hide the latency of memory. */
LFN void prefetch(const void *p) { (void)p; }

#if STET_DOUBLE
LFN real to_real(lint x) { return (double)x; }
LFN lint sti_trunc(real x) { return __double2int_rz(x); }
LFN real sti_fma(real a, real b, real c) { return __fma_rn(a, b, c); }
LFN real sti_sqrt(real x) { return __dsqrt_rn(x); }
LFN real sti_floor(real x) { return ::floor(x); }
LFN real sti_rint(real x) { return ::rint(x); }
LFN sti_bits as_bits(real x) { return __double_as_longlong(x); }
LFN real from_bits(sti_bits x) { return __longlong_as_double(x); }
#else
LFN real to_real(lint x) { return __int2float_rn(x); }
LFN lint sti_trunc(real x) { return __float2int_rz(x); }
LFN real sti_fma(real a, real b, real c) { return __fmaf_rn(a, b, c); }
#ifdef __HIPCC_RTC__
LFN real sti_sqrt(real x) { return ::sqrtf(x); } /* HIP's __fsqrt_rn is an estimate in some releases */
#else
LFN real sti_sqrt(real x) { return __fsqrt_rn(x); }
#endif
LFN real sti_floor(real x) { return ::floorf(x); }
LFN real sti_rint(real x) { return ::rintf(x); }
LFN sti_bits as_bits(real x) { return __float_as_int(x); }
LFN real from_bits(sti_bits x) { return __int_as_float(x); }
#endif
LFN ureal ufma(ureal a, ureal b, ureal c) { return sti_fma(a, b, c); }
LFN ureal usqrt(ureal x) { return sti_sqrt(x); }

/*
 * A block of threads is (STET_TEAM, STET_TEAMS): x is the rank in a team, y the team. Either one team is the whole
 * block, or a team is a power of two of at most 32 threads and lies within one warp.
 */
#if STET_TEAMS > 1 && (STET_TEAM > 32 || (STET_TEAM & (STET_TEAM - 1)) != 0)
#error "several teams a block: a team must be 1, 2, 4, 8, 16 or 32 threads"
#endif
/* Waits until these lanes of a warp are here and see each other's stores. A test may define its own. */
#if defined(__HIPCC_RTC__) && !defined(sti_sync_lanes)
/* On AMD, lanes of a wavefront that took the same branches are in step; only memory must be ordered. */
LFN void sti_sync_lanes(unsigned lanes)
{
    (void)lanes;
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
}
#elif !defined(sti_sync_lanes)
#define sti_sync_lanes(lanes) __syncwarp(lanes)
#endif
LFN void sti_sync(void)
{
#if STET_TEAM == 32
    sti_sync_lanes(0xffffffffu);
#elif STET_TEAMS > 1
    sti_sync_lanes(((1u << (STET_TEAM & 31)) - 1u) << ((threadIdx.y * STET_TEAM) & 31u));
#else
    __syncthreads();
#endif
}
/*
 * Teams of a block wait for each other, those that have ended apart; a team that comes here more often than others only
 * waits in vain. The teams of a warp come to the barrier together: parts of a warp would each count as all of it, and
 * the warps of the block would be at different places from then on.
 */
LFN void align_teams(void)
{
#if STET_TEAMS > 1 && defined(__CUDA_ARCH__)
    __syncwarp(0xffffffffu);
    asm volatile("barrier.sync 0;" ::: "memory");
#endif
}
/* Of an entry: its threads; and how many blocks a processor runs at once, if that is said (it bounds registers). */
#if defined(STET_BLOCKS) && defined(__CUDACC_RTC__)
#define STI_BOUNDS STET_TEAM *STET_TEAMS, STET_BLOCKS
#else
#define STI_BOUNDS STET_TEAM *STET_TEAMS
#endif
#define world_kernel static __device__ __forceinline__
/*
 * Waits for earlier kernels, if the device starts a kernel while the last blocks of its predecessor still run. It is
 * the first statement of an entry. (PTX ISA, griddepcontrol; does nothing if kernels are not started early.)
 */
#if !defined(sti_wait_for_others)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define sti_wait_for_others() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define sti_wait_for_others() ((void)0)
#endif
#endif

#define item_kernel static __device__ __forceinline__
#define each(i, n) for (int i##_n = (n), i = (int)threadIdx.x; i < i##_n; i += STET_TEAM)
#define items(p, n) for (int p##_n = (n), p = (int)threadIdx.x; p < p##_n; p += STET_TEAM)
#define sync() sti_sync()
#define shared(T, name, n)                                                                                             \
    __shared__ __attribute__((aligned(16))) T name##_[STET_TEAMS][n];                                                  \
    T *name = name##_[threadIdx.y]
/*
 * Memory of a team: where the slot says, a part for each team of the launch; else `before` bytes behind the begin of
 * the team's `all` bytes of the block's dynamic shared memory.
 */
#ifndef STI_DYNAMIC_SHARED
extern __shared__ __attribute__((aligned(64))) unsigned char sti_dynamic_shared[];
#define STI_DYNAMIC_SHARED sti_dynamic_shared
#endif
#define STI_SHARED_BYTES(slot) ((slot).team.teams ? 0 : (slot).i)
#define STI_TEAM_MEMORY(T, slot, before, all)                                                                          \
    ((T *)((slot).team.teams ? (unsigned char *)(slot).p + sti_team * (slot).team.bytes                                \
                             : STI_DYNAMIC_SHARED + threadIdx.y * (all) + (before)))
#define staged(T, name, src, n)                                                                                        \
    shared(T, name, n);                                                                                                \
    each (name##_i, n) name[name##_i] = (src)[name##_i];                                                               \
    sync()

#endif
