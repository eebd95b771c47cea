/* Programs of a GPU; see programs.h. */
#include "kernel/gpu/programs.h"

#include "kernel/gpu/modules.h"
#include "kernel/record.h"

#include <stdio.h>
#include <string.h>

typedef struct program {
    const sti_kernel *kernel;
    sti_code code;
    bool set;        /* the team was set */
    sti_module *own; /* of a user's kernel */
} program;

struct sti_programs {
    sti_modules modules;
    program **slot; /* a table with open addressing; at most half of it is full */
    int nslot, nprogram;
    char **name; /* sti_code.name of kernels of the user's: they live as long as the device */
    int nname;
    sti_module *condition; /* of loops in graphs; NULL: none was needed yet */
    sti_code condition_code;
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Where a kernel is, or the free place where it would be. */
static program **find(const struct sti_programs *p, const sti_kernel *kernel)
{
    unsigned mask = (unsigned)p->nslot - 1;
    unsigned at = (unsigned)(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (p->slot[at] && p->slot[at]->kernel != kernel) at = (at + 1) & mask;
    return &p->slot[at];
}

/* All programs in a table of this size. */
static stet_result rebuild(struct sti_programs *p, int nslot)
{
    program **old = p->slot, **fresh;
    int nold = p->nslot;
    STI_TRY(sti_alloc(&fresh, (size_t)nslot * sizeof(void *), "the table of programs"));
    p->slot = fresh;
    p->nslot = nslot;
    for (int i = 0; i < nold; ++i)
        if (old[i]) *find(p, old[i]->kernel) = old[i];
    sti_free(old);
    return STET_OK;
}

static stet_result insert(struct sti_programs *p, const sti_kernel *kernel, program **out)
{
    if (2 * (p->nprogram + 1) > p->nslot) STI_TRY(rebuild(p, 2 * p->nslot));
    STI_TRY(sti_alloc(out, sizeof **out, "a program"));
    (*out)->kernel = kernel;
    *find(p, kernel) = *out;
    p->nprogram++;
    return STET_OK;
}

/* Takes a program out; those behind it in its run move up, so that they are found. */
static void take_out(struct sti_programs *p, program **at)
{
    unsigned mask = (unsigned)p->nslot - 1, hole = (unsigned)(at - p->slot);
    sti_free(*at);
    *at = NULL;
    p->nprogram--;
    for (unsigned next = (hole + 1) & mask; p->slot[next]; next = (next + 1) & mask) {
        program *moved = p->slot[next];
        p->slot[next] = NULL;
        *find(p, moved->kernel) = moved;
    }
}

/* ---- the device's programs --------------------------------------------------------------------------------------- */

static void drop_programs(stet_device *device)
{
    struct sti_programs *p = device->programs;
    for (int i = 0; i < p->nslot; ++i) {
        if (p->slot[i] && p->slot[i]->own) sti_module_unload(&p->modules, p->slot[i]->own);
        sti_free(p->slot[i]);
    }
    if (p->condition) sti_module_unload(&p->modules, p->condition);
    sti_modules_close(&p->modules);
    for (int i = 0; i < p->nname; ++i) sti_free(p->name[i]);
    sti_free(p->slot);
    sti_free(p->name);
    sti_free(p);
    device->programs = NULL;
}

static stet_result open_programs(stet_device *device)
{
    struct sti_programs *p;
    if (device->programs) return STET_OK;
    STI_TRY(sti_alloc(&p, sizeof *p, "the programs of a device"));
    sti_modules_init(&p->modules, device);
    stet_result result = rebuild(p, 64);
    if (result != STET_OK) {
        sti_free(p);
        return result;
    }
    device->programs = p;
    device->drop_programs = drop_programs;
    return STET_OK;
}

/* A copy of a name that lives as long as the device. */
static stet_result keep_name(struct sti_programs *p, const char *name, const char **out)
{
    for (int i = 0; i < p->nname; ++i)
        if (strcmp(p->name[i], name) == 0) {
            *out = p->name[i];
            return STET_OK;
        }
    STI_TRY(sti_realloc(&p->name, (size_t)(p->nname + 1) * sizeof *p->name, "names of kernels"));
    STI_TRY(sti_strdup(&p->name[p->nname], name));
    *out = p->name[p->nname++];
    return STET_OK;
}

/* ---- codes -------------------------------------------------------------------------------------------------------- */

/* The team of a kernel of the library when nobody sets one. */
static sti_team usual_team(const struct sti_programs *p, const sti_embedded *unit, const sti_kernel *k)
{
    return sti_team_choose(k->name, k->kind, p->modules.device->arch, sti_gpu_unit_shares(unit));
}

static stet_result unit_of(const sti_kernel *k, const sti_embedded **out)
{
    *out = sti_gpu_unit(k->file);
    if (*out) return STET_OK;
    return sti_error(
        STET_UNSUPPORTED,
        "kernel %s: its file %s is not carried in the library, so it cannot be compiled for a GPU; make it "
        "with stet_kernel_create",
        k->name, k->file);
}

static stet_result new_program(struct sti_programs *p, const sti_kernel *k, program **out)
{
    const sti_embedded *unit;
    STI_TRY(unit_of(k, &unit));
    const sti_team team = usual_team(p, unit, k);
    STI_TRY(insert(p, k, out));
    (*out)->code =
        (sti_code){.name = k->name, .team = team.team, .teams = team.teams, .worlds = k->kind == STI_KERNEL_WORLD};
    return STET_OK;
}

/* Does what was compiled for this target wait for the kernels before it by itself (stet/lang_gpu.h)? */
static bool waits(const sti_target *target) { return target->sm >= 90; }

/* Makes the function of a program that has none of this form yet. */
static stet_result complete(struct sti_programs *p, program *it, sti_form form)
{
    const sti_kernel *k = it->kernel;
    const sti_module *module;
    sti_module wanted = {.team = {it->code.team, it->code.teams}, .forms = 1u << form};
    STI_TRY(unit_of(k, &wanted.unit));
    if (it->set) (void)snprintf(wanted.only, sizeof wanted.only, "%s", k->name);
    STI_TRY(sti_module_get(&p->modules, &wanted, &module));
    it->code.waits = waits(&p->modules.target);
    return sti_module_function(&p->modules, module, k->name, form,
                               form == STI_FORM_BLOCK ? &it->code.block : &it->code.value);
}

/* ---- what others call -------------------------------------------------------------------------------------------- */

stet_result sti_program_code(stet_device *device, const sti_kernel *kernel, bool in_block, const sti_code **out)
{
    STI_TRY(open_programs(device));
    struct sti_programs *p = device->programs;
    program *it = *find(p, kernel);
    if (!it) STI_TRY(new_program(p, kernel, &it));
    if (!(in_block ? it->code.block : it->code.value))
        STI_TRY(complete(p, it, in_block ? STI_FORM_BLOCK : STI_FORM_VALUE));
    *out = &it->code;
    return STET_OK;
}

stet_result sti_program_condition(stet_device *device, const sti_code **out)
{
    *out = NULL;
    if (device->type != STET_DEVICE_CUDA) return STET_OK;
    STI_TRY(open_programs(device));
    struct sti_programs *p = device->programs;
    if (!p->condition)
        STI_TRY(sti_module_from_text(&p->modules, "a loop's condition", sti_graph_condition_source, &p->condition));
    p->condition_code = (sti_code){.name = sti_graph_condition_name, .team = 1, .teams = 1};
    STI_TRY(device->ops->function(device, p->condition->handle, sti_graph_condition_name, &p->condition_code.block));
    *out = &p->condition_code;
    return STET_OK;
}

static const sti_signature *signature_of(const sti_kernel *k, const sti_user_source *source)
{
    for (int i = 0; i < source->nkernel; ++i)
        if (strcmp(source->kernel[i].name, k->name) == 0) return &source->kernel[i];
    return NULL;
}

/* Name, module and both functions of a user's kernel. */
static stet_result make_own(struct sti_programs *p, program *it, sti_user_source *source, const sti_keeping *keeping,
                            char *id)
{
    const sti_signature *sig = signature_of(it->kernel, source);
    const sti_team team = {it->code.team, it->code.teams};
    if (!sig) return sti_error(STET_NOT_FOUND, "%s: has no kernel %s", source->file[0].name, it->kernel->name);
    STI_TRY(keep_name(p, it->kernel->name, &it->code.name));
    STI_TRY(sti_module_make(&p->modules, team, sig, source, keeping, id, &it->own));
    it->code.waits = waits(&p->modules.target);
    STI_TRY(sti_module_function(&p->modules, it->own, sig->name, STI_FORM_VALUE, &it->code.value));
    return sti_module_function(&p->modules, it->own, sig->name, STI_FORM_BLOCK, &it->code.block);
}

stet_result sti_program_add(stet_device *device, const sti_kernel *k, sti_user_source *source, sti_team team,
                            const sti_keeping *keeping, char *id)
{
    sti_keeping here = *keeping;
    program *it;
    sti_team choice = sti_team_choose(k->name, k->kind, device->arch, sti_gpu_shares(source));
    STI_TRY(sti_team_ask(k->name, k->kind, team, &choice));
    STI_TRY(open_programs(device));
    if (!here.folder) here.folder = device->cache_folder;
    STI_TRY(insert(device->programs, k, &it));
    it->code = (sti_code){.team = choice.team, .teams = choice.teams, .worlds = k->kind == STI_KERNEL_WORLD};
    stet_result result = make_own(device->programs, it, source, &here, id);
    if (result != STET_OK) sti_program_drop(device, k);
    return result;
}

void sti_program_drop(stet_device *device, const sti_kernel *kernel)
{
    struct sti_programs *p = device->programs;
    program **at = p ? find(p, kernel) : NULL;
    if (!at || !*at) return;
    if ((*at)->own) sti_module_unload(&p->modules, (*at)->own);
    take_out(p, at);
}

stet_result sti_program_set_team(stet_device *device, const sti_kernel *k, sti_team team)
{
    const sti_embedded *unit;
    program *it;
    STI_TRY(unit_of(k, &unit));
    STI_TRY(open_programs(device));
    struct sti_programs *p = device->programs;
    sti_team choice = usual_team(p, unit, k);
    STI_TRY(sti_team_ask(k->name, k->kind, team, &choice));
    it = *find(p, k);
    if (!it) STI_TRY(new_program(p, k, &it));
    sti_record_kernel_gone(device, k); /* graphs have its functions */
    it->set = team.team > 0 || team.teams > 0;
    it->code.team = choice.team;
    it->code.teams = choice.teams;
    it->code.value = it->code.block = NULL;
    return STET_OK;
}

stet_result sti_programs_prepare(stet_device *device, bool every, bool in_block)
{
    STI_TRY(open_programs(device));
    return sti_modules_prepare(&device->programs->modules, every, 1u << (in_block ? STI_FORM_BLOCK : STI_FORM_VALUE));
}
