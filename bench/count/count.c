/* Runs kernels that count; see count.h. */
#include "bench/count/count.h"

#include "device/device.h"

#include <assert.h>
#include <string.h>

/* More stack than a kernel has (src/kernel/check/limits.c), and less than there is below any other variable. */
enum { STACK = 1 << 20 };

bench_count bench_counts;

static const sti_device_ops *cpu; /* the device's own */
static sti_device_ops counting;
static const bench_counted *counted;
static sti_call *running;
static uint64_t team_slots; /* of `running`: their memory is one piece, the first one's first (device/cpu/cpu.c) */

static void run_counted(const sti_slot *slots, int64_t begin, int64_t end)
{
    bench_counts.stack = (bench_memory){(uint64_t)(uintptr_t)__builtin_frame_address(0) - STACK, STACK};
    if (team_slots) bench_counts.team.begin = (uint64_t)(uintptr_t)slots[__builtin_ctzll(team_slots)].p;
    running(slots, begin, end);
}

static stet_result launch_counted(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                  int64_t nblock, bool in_block)
{
    sti_code own = *code;
    for (const bench_counted *k = counted; k->name; ++k) {
        if (strcmp(k->name, code->name) != 0) continue;
        running = k->call;
        team_slots = code->team_slots;
        bench_counts.team = (bench_memory){0};
        for (int i = 0; i < nslot; ++i)
            if (team_slots >> i & 1u) bench_counts.team.size += (uint64_t)slots[i].i;
        own.call = run_counted;
    }
    return cpu->launch(device, &own, slots, nslot, nblock, in_block);
}

void bench_count_on(stet_device *device, const bench_counted *kernels)
{
    assert(device->isa == STI_ISA_w1 && device->threads == 1 && !device->can.compiles);
    assert(device->ops != &counting);
    cpu = device->ops;
    counted = kernels;
    counting = *cpu;
    counting.launch = launch_counted;
    device->ops = &counting;
}
