/* Detects which instruction sets this machine has; see isa.h. */
#include "device/isa.h"

#include <kernel_sets.h> /* of the build */

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <string.h>

const char *sti_isa_name(sti_isa isa)
{
    static const char *const names[] = {
#define X(name, width, test_only) #name,
        STI_ISAS(X)
#undef X
    };
    return names[isa];
}

int sti_isa_width(sti_isa isa)
{
    static const int widths[] = {
#define X(name, width, test_only) width,
        STI_ISAS(X)
#undef X
    };
    return widths[isa];
}

#if defined(__x86_64__)
/* Conversions of half floats, for which __builtin_cpu_supports of Clang 14 has no name. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

bool sti_isa_built(sti_isa isa)
{
    static const bool built[] = {
#define X(name, width, test_only) STI_UNLESS_LEFT_OUT(name, all, true),
        STI_ISAS(X)
#undef X
    };
    return isa < STI_ISA_COUNT && built[isa];
}

bool sti_isa_available(sti_isa isa)
{
    if (!sti_isa_built(isa)) return false;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    int width = sti_isa_width(isa);
    if (width == 8 || isa == STI_ISA_w1) return avx2;
    if (width == 16)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return true;
}

/* Vectors of the compiler's own are slow where a wider instruction set has real ones. */
static bool is_candidate(sti_isa isa)
{
    static const bool test_only[] = {
#define X(name, width, test) test,
        STI_ISAS(X)
#undef X
    };
    bool wider = false;
    for (int i = 0; i < STI_ISA_COUNT; ++i)
        wider = wider || (sti_isa_width((sti_isa)i) > sti_isa_width(isa) && sti_isa_available((sti_isa)i));
    return !test_only[isa] && sti_isa_available(isa) && !(isa == STI_ISA_portable && wider);
}

sti_isa sti_isa_for(int64_t n)
{
    sti_isa best = STI_ISA_COUNT;
    for (int i = 0; i < STI_ISA_COUNT; ++i) {
        if (!is_candidate((sti_isa)i)) continue;
        int width = sti_isa_width((sti_isa)i), other = best < STI_ISA_COUNT ? sti_isa_width(best) : 0;
        if (other < n ? width > other : width >= n && width < other) best = (sti_isa)i;
    }
    return best;
}

sti_isa sti_isa_best(void) { return sti_isa_for(INT64_MAX); }

bool sti_isa_find(const char *name, sti_isa *out)
{
    for (int i = 0; i < STI_ISA_COUNT; ++i)
        if (strcmp(name, sti_isa_name((sti_isa)i)) == 0) {
            *out = (sti_isa)i;
            return true;
        }
    return false;
}
