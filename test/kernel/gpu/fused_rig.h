/*
 * For tests of fused code: sequences of launches with their slots, done one by one and fused.
 */
#ifndef TEST_KERNEL_FUSED_RIG_H
#define TEST_KERNEL_FUSED_RIG_H

#include "device/devices.h"

#include "kernel/launch/run.h"
#include "kernel/gpu/fused.h"
#include "kernel/gpu/teams.h"
#include "kernel/record/record.h"
#include "kernel/user_rig.h"

enum { PHASES = 64, SLOTS = 512, WORLDS = 37 /* the last block is not full */ };

/* Phases and what their launches pass. */
typedef struct sequence {
    sti_phase phase[PHASES];
    sti_slot slot[SLOTS];
    int n, nslot;
} sequence;

static inline void add_slots(sequence *q, const sti_kernel *k, const sti_slot *slot, int nslot)
{
    assert_true(q->n < PHASES && q->nslot + nslot <= SLOTS);
    q->phase[q->n++] = (sti_phase){k, nslot};
    memcpy(q->slot + q->nslot, slot, (size_t)nslot * sizeof *slot);
    q->nslot += nslot;
}

/* A launch over all worlds of its first argument. */
static inline stet_result add_launch(sequence *q, const sti_kernel *k, const sti_arg *args, int narg)
{
    sti_launch launch;
    STI_TRY(sti_launch_prepare(args[0].array->device, k, args[0].array->shape[0], args, narg, &launch));
    add_slots(q, k, launch.slot, launch.nslot);
    return STET_OK;
}
#define ADD(q, kernel, ...)                                                                                            \
    add_launch((q), (kernel), (const sti_arg[]){__VA_ARGS__},                                                          \
               (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))

static inline void add_copy(sequence *q, stet_array *to, stet_array *from)
{
    const int64_t n = to->nitem * (int64_t)sizeof(float);
    const sti_slot slot[2] = {{.p = to->data, .n = n}, {.p = from->data, .n = n}};
    assert_int_equal(to->size, from->size);
    add_slots(q, NULL, slot, 2);
}

/* The slots of a launch of fused code that does the sequence so many times; the caller frees them. */
static inline sti_slot *fused_slots(const sti_code *code, const sequence *q, int times)
{
    sti_slot *slot = calloc((size_t)code->nslot, sizeof *slot);
    assert_non_null(slot);
    assert_true(times <= code->repeats && 1 + code->repeats * q->nslot == code->nslot);
    slot[0].i = times;
    for (int r = 0; r < times; ++r) memcpy(slot + 1 + r * q->nslot, q->slot, (size_t)q->nslot * sizeof *slot);
    return slot;
}

static inline stet_result launch_fused(stet_device *device, const sti_code *code, const sequence *q, int times,
                                       int64_t nworld)
{
    sti_slot *slot = fused_slots(code, q, times);
    stet_result result = device->ops->launch(device, code, slot, code->nslot, nworld, false);
    if (result == STET_OK) result = device->ops->synchronize(device); /* arguments were read when it returned */
    free(slot);
    return result;
}

/* The same one by one. */
static inline void launch_singly(stet_device *device, const sequence *q, int64_t nworld)
{
    for (int i = 0, slot = 0; i < q->n; slot += q->phase[i++].nslot) {
        const sti_slot *s = q->slot + slot;
        if (q->phase[i].kernel)
            OK(sti_kernel_run(device, q->phase[i].kernel, s, q->phase[i].nslot, nworld, false));
        else
            OK(device->ops->copy(device, s[0].p, s[1].p, (size_t)(nworld * s[0].n)));
    }
}

static inline const sti_code *fuse(stet_device *device, const sequence *q, int64_t count)
{
    const sti_code *code;
    OK(sti_program_fused(device, q->phase, q->n, count, &code));
    return code;
}

/* How many worlds give this team on this device. */
static inline int64_t count_for(const stet_device *device, int team)
{
    int64_t room = (int64_t)device->processors * STI_TEAM_RESIDENT;
    assert_true(room >= STI_TEAM_FUSED);
    return team > STI_TEAM_WORLD ? room / team : room;
}

/* The GPUs of the list of devices. */
#define FOR_GPUS(rig) FOR_RUNNING_DEVICES(rig) if (rig.device->can.compiles)

/* ---- sources and numbers ----------------------------------------------------------------------------------------- */

/* Two sources that agree in the names of all that is theirs, and in nothing else. */
static const char part_one[] = "#ifndef PART_H\n#define PART_H\n#define GAIN 2\n"
                               "LFN real lift(real x) { return x + splat(GAIN); }\n#endif\n";
static const char part_two[] = "#ifndef PART_H\n#define PART_H\n#define GAIN 3\n"
                               "LFN real lift(real x) { return x * splat(GAIN); }\n#endif\n";
static const char once_one[] = "#pragma once\nstatic const ureal MORE = 1;\n#define MORE_OF(x) ((x) + splat(MORE))\n";
static const char once_two[] = "#pragma once\nstatic const ureal MORE = 5;\n#define MORE_OF(x) ((x) - splat(MORE))\n";
static const char step_source[] = "#include <stet/lang.h>\n#include \"part.h\"\n#include \"once.h\"\n"
                                  "#include \"part.h\"\n#include \"once.h\"\n"
                                  "/* Nothing is shared, and nothing staged. */\n"
                                  "world_kernel void k_step(real *y, int n)\n{\n"
                                  "    each (i, n) put(y, i, MORE_OF(lift(y[i])));\n}\n";

static inline stet_kernel *step_kernel(stet_device *device, const char *name, const char *part, const char *once)
{
    char path[64];
    if (mkdir(in_folder(name), 0700) != 0) assert_int_equal(count_files(in_folder(name)), 2);
    (void)snprintf(path, sizeof path, "%s/part.h", name);
    (void)write_file(path, part);
    (void)snprintf(path, sizeof path, "%s/once.h", name);
    (void)write_file(path, once);
    stet_kernel_def def = kernel_def(step_source);
    const char *includes[] = {in_folder(name)};
    def.includes = includes;
    def.ninclude = 1;
    return make_kernel(device, &def);
}

/* y[w][i] = 100 w + i */
static inline stet_array *numbers(stet_device *device, int64_t nitem)
{
    stet_array *y;
    OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, true, &y, WORLDS, nitem));
    for (int64_t w = 0; w < WORLDS; ++w)
        for (int64_t i = 0; i < nitem; ++i) reals_set(y, w, i, (double)(100 * w + i));
    return y;
}

static inline void expect_numbers(const stet_array *y, double times, double plus)
{
    float *bytes = bytes_take(y);
    for (int64_t k = 0; k < WORLDS * y->nitem; ++k)
        assert_true(bytes[k] == (float)(times * (double)(100 * (k / y->nitem) + k % y->nitem) + plus));
    bytes_give(y, bytes, false);
}

#endif
