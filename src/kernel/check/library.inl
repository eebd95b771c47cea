/*
 * The functions of the kernel language, as include/stet/lang*.h have them (a test compares the two).
 *
 *   STI_LIBRARY(X): X(result, name, name of the function in the header if `name` is a macro, parameters, twin)
 *
 * The twin does the same on plain values (or, for a function on plain values, on lanes); "": there is none. `of_world`
 * is handled separately, because it accepts two types of arrays.
 */
#define STI_LIBRARY_FUNCTIONS(X)                                                                                       \
    X(real, splat, splat, (ureal), "")                                                                                 \
    X(lint, isplat, isplat, (int), "")                                                                                 \
    X(lint, lane, lane, (void), "")                                                                                    \
    X(mask, lt, lt, (real, real), "")                                                                                  \
    X(mask, le, le, (real, real), "")                                                                                  \
    X(mask, eq, eq, (real, real), "")                                                                                  \
    X(mask, gt, gt, (real, real), "")                                                                                  \
    X(mask, ge, ge, (real, real), "")                                                                                  \
    X(mask, ilt, ilt, (lint, lint), "")                                                                                \
    X(mask, ieq, ieq, (lint, lint), "")                                                                                \
    X(mask, igt, igt, (lint, lint), "")                                                                                \
    X(mask, m_and, m_and, (mask, mask), "")                                                                            \
    X(mask, m_or, m_or, (mask, mask), "")                                                                              \
    X(mask, m_not, m_not, (mask), "")                                                                                  \
    X(mask, m_andnot, m_andnot, (mask, mask), "")                                                                      \
    X(mask, m_none, m_none, (void), "")                                                                                \
    X(mask, m_all, m_all, (void), "")                                                                                  \
    X(mask, is_nan, is_nan, (real), "")                                                                                \
    X(real, select, sti_select, (mask, real, real), "")                                                                \
    X(lint, iselect, iselect, (mask, lint, lint), "")                                                                  \
    X(int, any, any, (mask), "")                                                                                       \
    X(int, all, all, (mask), "")                                                                                       \
    X(lint, ishr, ishr, (lint, int), "")                                                                               \
    X(lint, ishl, ishl, (lint, int), "")                                                                               \
    X(lint, imulhi, imulhi, (lint, lint), "")                                                                          \
    X(real, to_real, to_real, (lint), "")                                                                              \
    X(lint, to_int, to_int, (real), "")                                                                                \
    X(sti_bits, as_bits, as_bits, (real), "")                                                                          \
    X(real, from_bits, from_bits, (sti_bits), "")                                                                      \
    X(real, canon, canon, (real), "")                                                                                  \
    X(real, rmin, rmin, (real, real), "umin")                                                                          \
    X(real, rmax, rmax, (real, real), "umax")                                                                          \
    X(real, clamp, clamp, (real, real, real), "")                                                                      \
    X(real, rabs, rabs, (real), "uabs")                                                                                \
    X(real, copysign_, copysign_, (real, real), "")                                                                    \
    X(lint, imin, imin, (lint, lint), "nmin")                                                                          \
    X(lint, imax, imax, (lint, lint), "nmax")                                                                          \
    X(real, fma, sti_fma, (real, real, real), "ufma")                                                                  \
    X(real, sqrt, sti_sqrt, (real), "usqrt")                                                                           \
    X(real, floor, sti_floor, (real), "")                                                                              \
    X(real, rint, sti_rint, (real), "")                                                                                \
    X(real, sin, sti_real_sin, (real), "")                                                                             \
    X(real, cos, sti_real_cos, (real), "")                                                                             \
    X(real, tan, sti_real_tan, (real), "")                                                                             \
    X(real, asin, sti_real_asin, (real), "")                                                                           \
    X(real, acos, sti_real_acos, (real), "")                                                                           \
    X(real, atan, sti_real_atan, (real), "")                                                                           \
    X(real, atan2, sti_real_atan2, (real, real), "")                                                                   \
    X(real, exp, sti_real_exp, (real), "")                                                                             \
    X(real, exp2, sti_real_exp2, (real), "")                                                                           \
    X(real, log, sti_real_log, (real), "")                                                                             \
    X(real, log2, sti_real_log2, (real), "")                                                                           \
    X(real, pow, sti_real_pow, (real, real), "")                                                                       \
    X(real, tanh, sti_real_tanh, (real), "")                                                                           \
    X(ureal, umin, umin, (ureal, ureal), "rmin")                                                                       \
    X(ureal, umax, umax, (ureal, ureal), "rmax")                                                                       \
    X(ureal, uabs, uabs, (ureal), "rabs")                                                                              \
    X(ureal, ufma, ufma, (ureal, ureal, ureal), "fma")                                                                 \
    X(ureal, usqrt, usqrt, (ureal), "sqrt")                                                                            \
    X(int, nmin, nmin, (int, int), "imin")                                                                             \
    X(int, nmax, nmax, (int, int), "imax")                                                                             \
    X(real, load, load, (const ureal *), "")                                                                           \
    X(lint, iload, iload, (const int *), "")                                                                           \
    X(real, gather, gather, (const ureal *, lint), "")                                                                 \
    X(lint, igather, igather, (const int *, lint), "")                                                                 \
    X(void, put, put, (real *, i64, real), "")                                                                         \
    X(void, store, store, (ureal *, real), "")                                                                         \
    X(void, istore, istore, (int *, lint), "")                                                                         \
    X(void, istream, istream, (int *, lint), "")                                                                       \
    X(void, store_if, store_if, (mask, ureal *, real), "")                                                             \
    X(void, istore_if, istore_if, (mask, int *, lint), "")                                                             \
    X(void, scatter_if, scatter_if, (mask, ureal *, lint, real), "")                                                   \
    X(void, bstore_if, bstore_if, (mask, u8 *, lint, lint), "")                                                        \
    X(mask, in_range, in_range, (int, int), "")                                                                        \
    X(void, load4, load4, (const real *, i64, real *), "")                                                             \
    X(void, put4, put4, (real *, i64, const real *), "")                                                               \
    X(void, wide_load, wide_load, (const int *, lint *), "")                                                           \
    X(void, wide_store, wide_store, (int *, const lint *), "")                                                         \
    X(void, prefetch, prefetch, (const void *), "")                                                                    \
    X(void, align_teams, align_teams, (void), "")                                                                      \
    X(i64, listed_place, listed_place, (const real *, i64), "")                                                        \
    X(i64, listed_lanes, listed_lanes, (const real *, lint), "")                                                       \
    X(real, sum_listed, sum_listed, (const real *, int, real), "")                                                     \
    X(void, add_listed, add_listed, (const real *, const i64 *, int, int, int, int), "")                               \
    X(void, add_listed_lanes, add_listed_lanes, (const real *, const lint *, const i64 *, int, int, int, int), "")     \
    X(void, add_planned, add_planned, (real *, const real *, const int *, int), "")

/* The functions that the whole team must call. */
#define STI_LIBRARY_TEAM(X)                                                                                            \
    X(align_teams)                                                                                                     \
    X(add_listed)                                                                                                      \
    X(add_listed_lanes)                                                                                                \
    X(add_planned)

/* Functions known from C and elsewhere, with what to use instead. */
#define STI_LIBRARY_HINTS(X)                                                                                           \
    X(fabs, "rabs (lanes) or uabs")                                                                                    \
    X(fabsf, "rabs (lanes) or uabs")                                                                                   \
    X(abs, "nmax(x, -x)")                                                                                              \
    X(fmin, "rmin (lanes) or umin")                                                                                    \
    X(fminf, "rmin (lanes) or umin")                                                                                   \
    X(fmax, "rmax (lanes) or umax")                                                                                    \
    X(fmaxf, "rmax (lanes) or umax")                                                                                   \
    X(min, "rmin (lanes), umin or nmin")                                                                               \
    X(max, "rmax (lanes), umax or nmax")                                                                               \
    X(sqrtf, "sqrt (lanes) or usqrt")                                                                                  \
    X(fmaf, "fma (lanes) or ufma")                                                                                     \
    X(sinf, "sin")                                                                                                     \
    X(cosf, "cos")                                                                                                     \
    X(expf, "exp")                                                                                                     \
    X(logf, "log")                                                                                                     \
    X(powf, "pow")                                                                                                     \
    X(floorf, "floor")                                                                                                 \
    X(round, "rint")                                                                                                   \
    X(copysign, "copysign_")                                                                                           \
    X(copysignf, "copysign_")                                                                                          \
    X(isnan, "is_nan")                                                                                                 \
    X(memcpy, "a `for` over the elements")                                                                             \
    X(memset, "a `for` over the elements")                                                                             \
    X(malloc, "an array of constant size, or shared(type, name, size)")                                                \
    X(calloc, "an array of constant size, or shared(type, name, size)")                                                \
    X(free, "nothing: arrays go by themselves")                                                                        \
    X(printf, "an array to write to")                                                                                  \
    X(assert, "a flag in an array")                                                                                    \
    X(__syncthreads, "sync()")                                                                                         \
    X(atomicAdd, "a prefix sum: nothing depends on an order of arrival")
