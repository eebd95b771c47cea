/* Code for a scene; see parts.h. */
#include "render/parts.h"

#include "base/environment.h"
#include "device/device.h"
#include "kernel/gpu/programs.h"
#include "kernel/gpu/teams.h"
#include "render/scene.k.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

extern const sti_kernel sti_k_render;

enum { TEAM = 128, PIXELS = PATCH * PATCH };
enum { SHARE = 128, USUAL = 128 << 20 }; /* parts hand over at most this part of a GPU's memory at a time; bytes */

/* STET_PARTS, or 0: all frames of a GPU run code of their own, so many patches at a time; for tests. */
static int64_t asked_patches(void)
{
    const char *asked = sti_environment("STET_PARTS");
    return asked ? strtoll(asked, NULL, 10) : 0;
}

/* A frame of all worlds takes so long that code of its own is worth a compilation. */
static bool is_large(const sti_parts_def *def)
{
    enum { SAMPLES = 1 << 18 };
    return asked_patches() > 0 || def->nsample >= SAMPLES;
}

static void free_handed(sti_parts *p)
{
    stet_array_destroy(p->hits);
    stet_array_destroy(p->words);
    p->hits = p->words = NULL;
    p->npatch = 0;
}

/* Bytes that parts may hand over at a time: what makes most frames three launches. */
static int64_t room_for_hits(stet_device *device)
{
    size_t available, total;
    if (!device->ops->memory || device->ops->memory(device, &available, &total) != STET_OK || !total) return USUAL;
    return (int64_t)(total / SHARE);
}

/* Room for what parts hand over, for as many patches of a frame as it may take. */
static stet_result make_handed(stet_device *device, const sti_parts_def *def, sti_parts *p)
{
    int64_t words = HIT_WORDS(def->has, def->side);
    assert(def->npatch > 0 && def->side >= 1 && def->nsample >= def->npatch);
    free_handed(p);
    if (!p->coloured || !p->kernel[STI_PART_HITS].constants) return STET_OK;
    int64_t most = room_for_hits(device) / (PIXELS * (HIT_REALS + words) * (int64_t)sizeof(float));
    if (asked_patches() > 0) most = asked_patches();
    p->npatch = def->npatch < most ? def->npatch : most < 1 ? 1 : most;
    STI_TRY(STI_ARRAY(device, "hits", STET_DTYPE_REAL, false, &p->hits, p->npatch, (int64_t)PIXELS * HIT_REALS));
    return STI_ARRAY(device, "words of hits", STET_DTYPE_INT, false, &p->words, p->npatch, PIXELS * words);
}

static void drop_kernels(stet_device *device, sti_parts *p)
{
    for (int k = 0; k < STI_PARTS; ++k) sti_program_drop(device, &p->kernel[k]);
}

/*
 * Colours are made by a kernel for each part: each has a third of the code and needs fewer registers, so that more
 * patches are under way on a processor while others wait for memory or code (doc/design/rays.md).
 */
stet_result sti_parts_make(stet_device *device, const sti_parts_def *def, sti_parts *p)
{
    static const char *const part[STI_PARTS] = {"PART_ALL", "PART_HITS", "PART_SHADOWS", "PART_COLOURS"};
    static const int blocks[STI_PARTS] = {0, 6, 8, 6}; /* on a processor, at least; 0: as registers allow */
    drop_kernels(device, p);
    for (int k = 0; k < STI_PARTS; ++k) {
        char least[32] = "";
        p->kernel[k] = sti_k_render;
        p->has[k] = k != STI_PART_SHADOWS || def->has >> SCENE_NSHADOW & 1;
        if (!device->can.compiles || !is_large(def)) continue;
        if (blocks[k]) (void)snprintf(least, sizeof least, "#define STET_BLOCKS %d\n", blocks[k]);
        (void)snprintf(p->constants[k], sizeof p->constants[k],
                       "#define RAY_TYPES 0x%x\n#define SCENE_HAS 0x%x\n#define RENDER_SIDE %d\n"
                       "#define RENDER_COLOURS %d\n#define MAY_BE_MANY %d\n#define RENDER_PART %s\n%s",
                       def->types, def->has, def->side, k != STI_PART_ALL, def->boxes, part[k], least);
        p->kernel[k].constants = p->constants[k];
        STI_TRY(sti_program_set_team(device, &p->kernel[k], (sti_team){TEAM, 1}));
    }
    return make_handed(device, def, p);
}

void sti_parts_free(stet_device *device, sti_parts *p)
{
    drop_kernels(device, p);
    free_handed(p);
}

static const sti_kernel *own_kernel(const sti_parts *p, int k)
{
    assert(k >= 0 && k < STI_PARTS);
    return p->kernel[k].constants ? &p->kernel[k] : &sti_k_render;
}

stet_result sti_parts_begin(stet_device *device, const sti_parts_def *def, bool coloured, sti_parts *p)
{
    if (coloured && !p->coloured) {
        p->coloured = true;
        STI_TRY(make_handed(device, def, p));
    }
    for (int k = coloured ? STI_PART_HITS : STI_PART_ALL; k < (coloured ? STI_PARTS : STI_PART_HITS); ++k)
        if (p->has[k]) sti_program_begin_either(device, own_kernel(p, k), &sti_k_render);
    return STET_OK;
}

stet_result sti_parts_choose(stet_device *device, const sti_parts *p, bool lit, const sti_kernel **whole)
{
    *whole = NULL;
    if (!lit) return sti_program_choose(device, own_kernel(p, STI_PART_ALL), &sti_k_render, whole);
    if (!p->npatch) {
        *whole = &sti_k_render;
        return STET_OK;
    }
    assert(p->hits && p->words && p->coloured && "parts hand over what they found");
    for (int k = STI_PART_HITS; k < STI_PARTS; ++k) { /* all, so that all are compiled at the same time */
        const sti_kernel *kernel;
        if (!p->has[k]) continue;
        STI_TRY(sti_program_choose(device, &p->kernel[k], &sti_k_render, &kernel));
        if (kernel == &sti_k_render) *whole = kernel;
    }
    return STET_OK;
}
