/* Launches on a GPU; sti_code (device/device.h) describes the entries. */
#include "device/gpu/gpu.h"

#include <string.h>

/* A driver without SHARED_MOST gives all of it without a request. */
uint64_t sti_gpu_most_shared(const sti_gpu *gpu)
{
    const int *fact = gpu->facts.fact;
    int most = fact[STI_GPU_SHARED_MOST] > fact[STI_GPU_SHARED] ? fact[STI_GPU_SHARED_MOST] : fact[STI_GPU_SHARED];
    return most > 0 ? (uint64_t)most : 0;
}

static inline bool fits_limits(const sti_gpu *gpu, const sti_code *code, uint64_t grid)
{
    const int *fact = gpu->facts.fact;
    return code->team >= 1 && code->teams >= 1 && code->team <= fact[STI_GPU_MAX_X] &&
           code->teams <= fact[STI_GPU_MAX_Y] && (int64_t)code->team * code->teams <= fact[STI_GPU_MAX_THREADS] &&
           grid <= (uint64_t)fact[STI_GPU_MAX_GRID] && grid * (unsigned)code->team <= gpu->driver.vendor->max_threads &&
           code->shared <= sti_gpu_most_shared(gpu);
}

static stet_result check_shared(const sti_gpu *gpu, const sti_code *code, uint64_t bytes)
{
    if (bytes <= sti_gpu_most_shared(gpu)) return STET_OK;
    return sti_error(STET_ERROR_LIMIT, "%s: kernel %s: %llu bytes of shared memory a block; %llu are possible",
                     gpu->where, code->name, (unsigned long long)bytes, (unsigned long long)sti_gpu_most_shared(gpu));
}

/* Checks all limits before the driver sees the launch, because the driver would only say "invalid value". */
static stet_result check_limits(const sti_gpu *gpu, const sti_code *code, uint64_t grid)
{
    const int *fact = gpu->facts.fact;
    if (code->team < 1 || code->teams < 1 || code->team > fact[STI_GPU_MAX_X] || code->teams > fact[STI_GPU_MAX_Y] ||
        (int64_t)code->team * code->teams > fact[STI_GPU_MAX_THREADS])
        return sti_error(STET_ERROR_LIMIT,
                         "%s: kernel %s: blocks of %d × %d threads; %d × %d, together %d, are possible", gpu->where,
                         code->name, code->team, code->teams, fact[STI_GPU_MAX_X], fact[STI_GPU_MAX_Y],
                         fact[STI_GPU_MAX_THREADS]);
    if (grid > (uint64_t)fact[STI_GPU_MAX_GRID])
        return sti_error(STET_ERROR_LIMIT, "%s: kernel %s: %llu blocks; %d are possible: use fewer worlds a launch",
                         gpu->where, code->name, (unsigned long long)grid, fact[STI_GPU_MAX_GRID]);
    if (grid * (unsigned)code->team > gpu->driver.vendor->max_threads)
        return sti_error(STET_ERROR_LIMIT,
                         "%s: kernel %s: %llu blocks of %d threads; %s takes %llu threads: use fewer worlds",
                         gpu->where, code->name, (unsigned long long)grid, code->team, gpu->driver.vendor->title,
                         (unsigned long long)gpu->driver.vendor->max_threads);
    STI_TRY(check_shared(gpu, code, code->shared));
    return STET_OK;
}

static inline stet_result check_arguments(const sti_gpu *gpu, const sti_code *code, int nslot, bool in_block)
{
    if (!(in_block ? code->block : code->value))
        return sti_error(STET_ERROR_STATE, "%s: kernel %s has no code that takes its arguments %s", gpu->where,
                         code->name, in_block ? "in a block" : "by value");
    size_t size = (size_t)nslot * sizeof(sti_slot) + sizeof(int64_t);
    if (!in_block && size > STI_GPU_ARGUMENT_BYTES)
        return sti_error(STET_ERROR_LIMIT, "%s: kernel %s: %zu bytes of arguments by value; %d are possible",
                         gpu->where, code->name, size, STI_GPU_ARGUMENT_BYTES);
    return STET_OK;
}

/* What a launch says about the memory of its teams. */
typedef struct memory {
    uint64_t shared; /* bytes of shared memory that each team asks for */
    uint64_t teams;  /* teams that there is other memory for; UINT64_MAX: none is needed */
} memory;

static memory find_memory(const sti_code *code, const sti_slot *slots, int nslot)
{
    memory it = {0, UINT64_MAX};
    for (int i = 0; code->team_slots && i < nslot; ++i) {
        if (!(code->team_slots >> i & 1u)) continue;
        if (!slots[i].team.teams)
            it.shared += (uint64_t)slots[i].i;
        else if (slots[i].team.teams < it.teams)
            it.teams = slots[i].team.teams;
    }
    return it;
}

/* Teams of a block: as many as its code is made for, or as their memory allows; at least one. */
static unsigned fit_teams(const sti_gpu *gpu, const sti_code *code, const memory *m)
{
    unsigned teams = (unsigned)code->teams;
    while (teams > 1 && (code->shared + m->shared * teams > sti_gpu_most_shared(gpu) || teams > m->teams)) --teams;
    return teams;
}

static inline stet_result kernel_of(const sti_gpu *gpu, const sti_code *code, const sti_slot *slots, int nslot,
                                    int64_t count, bool in_block, sti_gpu_kernel *out)
{
    uint64_t n = count > 0 ? (uint64_t)count : 1;
    memory m = find_memory(code, slots, nslot);
    unsigned teams = code->team_slots ? fit_teams(gpu, code, &m) : (unsigned)code->teams;
    uint64_t grid = code->worlds && teams > 1 ? (n + teams - 1) / teams : n;
    if (grid > m.teams / teams) grid = m.teams / teams;
    STI_TRY(check_arguments(gpu, code, nslot, in_block));
    if (!fits_limits(gpu, code, grid)) STI_TRY(check_limits(gpu, code, grid));
    *out = (sti_gpu_kernel){.function = in_block ? code->block : code->value,
                            .grid = (unsigned)grid,
                            .team = (unsigned)code->team,
                            .teams = teams,
                            .shared = (unsigned)(code->shared + m.shared * teams)};
    return m.shared ? check_shared(gpu, code, code->shared + m.shared * teams) : STET_OK;
}

stet_result sti_gpu_kernel_of(const sti_gpu *gpu, const sti_code *code, const sti_slot *slots, int nslot, int64_t count,
                              bool in_block, sti_gpu_kernel *out)
{
    return kernel_of(gpu, code, slots, nslot, count, in_block, out);
}

/* A function gets more shared memory than the default only after a request. */
stet_result sti_gpu_allow_shared(sti_gpu *gpu, const sti_gpu_kernel *k)
{
    int attribute = gpu->driver.vendor->shared_attribute;
    if (attribute < 0 || k->shared <= (unsigned)gpu->facts.fact[STI_GPU_SHARED]) return STET_OK;
    return STI_GPU_CALL(gpu, function_set, k->function, attribute, (int)k->shared);
}

/* ---- functions that ran ------------------------------------------------------------------------------------------ */

static inline void **ran_slot(sti_gpu *gpu, const void *function)
{
    return &gpu->ran[((uintptr_t)function >> 4) % STI_GPU_RAN];
}

void sti_gpu_forget_functions(sti_gpu *gpu) { memset(gpu->ran, 0, sizeof gpu->ran); }

/* ---- launching --------------------------------------------------------------------------------------------------- */

static stet_result issue_launch(sti_gpu *gpu, const sti_code *code, const sti_gpu_kernel *k)
{
    STI_TRY(sti_gpu_before_issue(gpu));
    STI_TRY(sti_gpu_allow_shared(gpu, k));
    stet_result result = STI_GPU_CALL(gpu, launch, k->function, k->grid, 1, 1, k->team, k->teams, 1, k->shared,
                                      gpu->stream, k->arguments, NULL);
    if (result != STET_OK) return sti_error_prefix(result, "kernel %s", code->name);
    *ran_slot(gpu, k->function) = k->function;
    sti_gpu_remember(gpu, code->name);
    return STET_OK;
}

stet_result sti_gpu_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                           bool in_block)
{
    static const sti_slot none; /* an entry without slots takes one, which it ignores */
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    sti_gpu_kernel k;
    STI_TRY(kernel_of(gpu, code, slots, nslot, nblock, in_block, &k));
    if (nblock <= 0) return STET_OK;
    const sti_slot *first = nslot ? slots : &none;
    k.arguments = in_block ? (void *[]){(void *)&slots, &nblock} : (void *[]){(void *)(uintptr_t)first, &nblock};
    bool again = *ran_slot(gpu, k.function) == k.function && !gpu->streams.joined;
    STI_TRY(again ? sti_gpu_enter_in_any_mode(gpu, &was) : sti_gpu_enter(gpu, &was));
    return sti_gpu_leave(gpu, &was, issue_launch(gpu, code, &k));
}
