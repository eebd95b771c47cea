/*
 * The CPU as a device: memory is the host's, a launch is a parallel loop over blocks (threads.h).
 */
#include "base/plural.h"
#include "device/processors.h"
#include "device/cpu/threads.h"
#include "device/device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Memory of teams: a share for each thread. */
typedef struct team_memory {
    char *begin;
    int64_t bytes;
} team_memory;

static void cpu_destroy(stet_device *device)
{
    team_memory *memory = device->state;
    if (!memory) return;
    sti_free(memory->begin);
    sti_free(memory);
}

/*
 * A vector that begins at any item of an array ends within its memory: `store(y + p, …)` at the last items writes no
 * neighbour's.
 */
static stet_result cpu_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    (void)device;
    return sti_alloc(out, size + STI_ALIGN, what);
}

static void cpu_free(stet_device *device, void *memory)
{
    (void)device;
    sti_free(memory);
}

static stet_result cpu_copy(stet_device *device, void *to, const void *from, size_t size)
{
    assert(size == 0 || (to && from));
    (void)device;
    if (size) memcpy(to, from, size); /* an array of no items has no address */
    return STET_OK;
}

typedef struct launching {
    sti_call *call;
    const sti_slot *slots;
    int nslot;
    uint64_t team_slots;
    char *team_memory;  /* of the first thread */
    int64_t team_bytes; /* of each thread */
    int64_t teams;      /* that there is memory of the launch for */
} launching;

static void launch_blocks(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const launching *l = context;
    l->call(l->slots, begin, end);
}

/* Does the launch bring the memory of its teams? */
static bool is_given(const sti_slot *slot) { return slot->team.teams > 0; }

/* The same for a kernel with memory of a team: each thread has its own, one part for each such slot. */
static void launch_team_blocks(void *context, int64_t begin, int64_t end, int thread)
{
    const launching *l = context;
    sti_slot slots[64];
    assert(l->nslot <= (int)(sizeof slots / sizeof *slots));
    memcpy(slots, l->slots, (size_t)l->nslot * sizeof *slots);
    char *next = l->team_memory + thread * l->team_bytes;
    for (int i = 0; i < l->nslot; ++i)
        if (l->team_slots >> i & 1u) {
            int64_t bytes = is_given(&slots[i]) ? 0 : slots[i].i;
            slots[i].p = is_given(&slots[i]) ? (char *)slots[i].p + (int64_t)thread * slots[i].team.bytes : next;
            next += bytes;
        }
    assert(next <= l->team_memory + (thread + 1) * l->team_bytes && "a thread keeps to its own share");
    l->call(slots, begin, end);
}

/* Finds or makes room for the teams of all threads. It is kept, so launches that ask for no more allocate nothing. */
static stet_result take_team_memory(stet_device *device, launching *l)
{
    for (int i = 0; i < l->nslot; ++i) {
        const sti_slot *slot = &l->slots[i];
        if (!(l->team_slots >> i & 1u)) continue;
        if (!is_given(slot)) l->team_bytes += slot->i;
        if (is_given(slot) && slot->team.teams < l->teams) l->teams = slot->team.teams;
    }
    int64_t bytes = l->team_bytes * device->threads;
    if (!device->state) STI_TRY(sti_alloc(&device->state, sizeof(team_memory), "memory of teams"));
    team_memory *memory = device->state;
    if (bytes > memory->bytes) {
        sti_free(memory->begin);
        *memory = (team_memory){0};
        STI_TRY(sti_alloc(&memory->begin, (size_t)bytes, "memory of teams"));
        memory->bytes = bytes;
    }
    l->team_memory = memory->begin;
    return STET_OK;
}

static stet_result cpu_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                              int64_t nblock, bool in_block)
{
    (void)in_block; /* host and device share one memory */
    assert(code->call && nblock > 0 && nslot >= 0);
    assert((nslot == 64 || code->team_slots >> nslot == 0) && "memory of a team is one of the slots");
    int64_t threads = device->threads < nblock ? device->threads : nblock;
    launching l = {
        .call = code->call, .slots = slots, .nslot = nslot, .team_slots = code->team_slots, .teams = threads};
    if (l.team_slots) STI_TRY(take_team_memory(device, &l));
    threads = l.teams;
    /* Chunks small enough to balance blocks of unequal work, and large enough to cost little. */
    sti_loop_run(&(sti_loop_def){.f = l.team_slots ? launch_team_blocks : launch_blocks,
                                 .context = &l,
                                 .key = code,
                                 .n = nblock,
                                 .chunk = threads > 1 ? nblock / (threads * 16) + 1 : nblock,
                                 .threads = (int)threads});
    return STET_OK;
}

static stet_result cpu_synchronize(stet_device *device)
{
    (void)device;
    return STET_OK;
}

static const char *cpu_instead(const stet_device *device, stet_reuse reuse)
{
    (void)device;
    if (reuse == STET_REUSE_GRAPHS) return "a processor has no graphs: lists are replayed launch by launch";
    if (reuse == STET_REUSE_STAGING) return "its memory is the host's: inputs are staged by a copy there";
    return NULL;
}

static const sti_device_ops cpu_ops = {
    .version = STI_DEVICE_OPS_VERSION,
    .destroy = cpu_destroy,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .launch = cpu_launch,
    .synchronize = cpu_synchronize,
    .instead = cpu_instead,
};

typedef struct item_work {
    void (*f)(void *context, int64_t i, int thread);
    void *context;
} item_work;

static void run_items(void *context, int64_t begin, int64_t end, int thread)
{
    const item_work *it = context;
    for (int64_t i = begin; i < end; ++i) it->f(it->context, i, thread);
}

void sti_device_parallel(stet_device *device, int64_t n, double seconds,
                         void (*f)(void *context, int64_t i, int thread), void *context)
{
    assert(n >= 0 && f && seconds >= 0);
    item_work it = {f, context};
    sti_loop_run(&(sti_loop_def){
        .f = run_items, .context = &it, .n = n, .chunk = 1, .threads = device->threads, .seconds = seconds});
}

static stet_result pick_isa(const stet_device_def *def, sti_isa *out)
{
    const char *name = def->isa;
    *out = sti_isa_for(def->nworld > 0 ? def->nworld : INT64_MAX);
    if (!name && *out == STI_ISA_COUNT)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "device: stet was built for another machine, and this one has no instruction set of that "
                         "build; build it here, or with -DSTET_INSTRUCTION_SETS=all");
    if (!name) return STET_OK;
    if (!sti_isa_find(name, out)) {
        char known[128] = "";
        for (int i = 0; i < STI_ISA_COUNT; ++i)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                     sti_isa_name((sti_isa)i));
        return sti_error(STET_ERROR_NOT_FOUND, "device: there is no instruction set '%s'; known: %s", name, known);
    }
    if (!sti_isa_built(*out))
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "device: this build of stet leaves %s out; configure with -DSTET_INSTRUCTION_SETS=all", name);
    if (!sti_isa_available(*out))
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "device: this machine does not have %s; leave the instruction set out to get the best it has",
                         name);
    return STET_OK;
}

stet_result sti_cpu_device_init(stet_device *device, const stet_device_def *def)
{
    STI_TRY(pick_isa(def, &device->isa));
    device->ops = &cpu_ops;
    device->type = STET_DEVICE_CPU;
    device->can.host_memory = true;
    device->lanes = sti_isa_width(device->isa);
    assert(device->lanes >= 1 && device->lanes <= STI_ALIGN / 4 && "a vector is aligned as memory is");
    device->threads = def->threads ? def->threads : sti_processors();
    device->real_size = device->isa == STI_ISA_f64 ? sizeof(double) : sizeof(float);
    snprintf(device->name, sizeof device->name, "cpu (%s, %d lane%s, %d thread%s)", sti_isa_name(device->isa),
             device->lanes, STI_S(device->lanes), device->threads, STI_S(device->threads));
    return STET_OK;
}
