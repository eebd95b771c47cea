/* Programs of a GPU; see programs.h. */
#include "kernel/gpu/programs.h"

#include "kernel/gpu/fused.h"
#include "kernel/gpu/table.h"

#include <stdio.h>
#include <string.h>

/* ---- the device's programs --------------------------------------------------------------------------------------- */

static void drop_programs(stet_device *device)
{
    struct sti_programs *p = device->programs;
    sti_fused_drop(p, NULL);
    for (int i = 0; i < p->nslot; ++i)
        if (p->slot[i] && p->slot[i]->own) sti_module_unload(&p->modules, p->slot[i]->own);
    if (p->condition) sti_module_unload(&p->modules, p->condition);
    sti_modules_close(&p->modules);
    sti_fused_head_free(&p->head);
    sti_table_end(p);
    sti_free(p);
    device->programs = NULL;
}

stet_result sti_programs_open(stet_device *device, struct sti_programs **out)
{
    *out = device->programs;
    if (*out) return STET_OK;
    STI_TRY(sti_alloc(out, sizeof **out, "the programs of a device"));
    sti_modules_init(&(*out)->modules, device);
    stet_result result = sti_table_begin(*out);
    if (result != STET_OK) {
        sti_free(*out);
        return result;
    }
    device->programs = *out;
    device->drop_programs = drop_programs;
    return STET_OK;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* The team of a kernel of the library, unless it was set. */
static sti_team default_team(const struct sti_programs *p, const sti_embedded *unit, const sti_kernel *k)
{
    return sti_team_choose(k->name, k->kind, p->modules.device->arch, sti_gpu_unit_shares(unit));
}

static stet_result unit_of(const sti_kernel *k, const sti_embedded **out)
{
    *out = sti_gpu_unit(k);
    if (*out) return STET_OK;
    return sti_error(
        STET_ERROR_UNSUPPORTED,
        "kernel %s: its file %s is not carried in the library, so it cannot be compiled for a GPU; make it "
        "with stet_kernel_create",
        k->name, k->file);
}

static stet_result new_program(struct sti_programs *p, const sti_kernel *k, sti_program **out)
{
    const sti_embedded *unit;
    STI_TRY(unit_of(k, &unit));
    const sti_team team = default_team(p, unit, k);
    STI_TRY(sti_table_insert(p, k, out));
    (*out)->code = (sti_code){.name = k->name,
                              .team = team.team,
                              .teams = team.teams,
                              .worlds = k->kind == STI_KERNEL_WORLD,
                              .team_slots = k->team_slots};
    return STET_OK;
}

stet_result sti_programs_get(struct sti_programs *p, const sti_kernel *kernel, sti_program **out)
{
    sti_validate_programs(p);
    *out = *sti_table_find(p, kernel);
    return *out ? STET_OK : new_program(p, kernel, out);
}

/* Makes the function of a program in this form. */
static stet_result make_function(struct sti_programs *p, sti_program *it, sti_form form)
{
    const sti_kernel *k = it->kernel;
    const sti_module *module;
    sti_module wanted = {.constants = (char *)k->constants, /* it is only compared, or copied */
                         .team = {it->code.team, it->code.teams},
                         .forms = 1u << form};
    STI_TRY(unit_of(k, &wanted.unit));
    if (it->set || k->constants) (void)snprintf(wanted.only, sizeof wanted.only, "%s", k->name);
    STI_TRY(sti_module_get(&p->modules, &wanted, &module));
    it->code.waits = sti_target_waits(&p->modules.target);
    return sti_module_function(&p->modules, module, k->name, form,
                               form == STI_FORM_BLOCK ? &it->code.block : &it->code.value);
}

/* ---- interface -------------------------------------------------------------------------------------------- */

stet_result sti_program_code(stet_device *device, const sti_kernel *kernel, bool in_block, const sti_code **out)
{
    struct sti_programs *p;
    sti_program *it;
    STI_TRY(sti_programs_open(device, &p));
    STI_TRY(sti_programs_get(p, kernel, &it));
    if (!(in_block ? it->code.block : it->code.value))
        STI_TRY(make_function(p, it, in_block ? STI_FORM_BLOCK : STI_FORM_VALUE));
    *out = &it->code;
    return STET_OK;
}

stet_result sti_program_condition(stet_device *device, const sti_code **out)
{
    *out = NULL;
    if (device->type != STET_DEVICE_CUDA) return STET_OK;
    struct sti_programs *p;
    STI_TRY(sti_programs_open(device, &p));
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

/* Makes name, module and both functions of a user's kernel. */
static stet_result make_user_program(struct sti_programs *p, sti_program *it, sti_user_source *source,
                                     const sti_cache_options *keeping, char *id)
{
    const sti_signature *sig = signature_of(it->kernel, source);
    const sti_team team = {it->code.team, it->code.teams};
    if (!sig) return sti_error(STET_ERROR_NOT_FOUND, "%s: has no kernel %s", source->file[0].name, it->kernel->name);
    STI_TRY(sti_table_keep_name(p, it->kernel->name, &it->code.name));
    STI_TRY(sti_module_make(&p->modules, team, sig, source, keeping, id, &it->own));
    it->code.waits = sti_target_waits(&p->modules.target);
    STI_TRY(sti_module_function(&p->modules, it->own, sig->name, STI_FORM_VALUE, &it->code.value));
    return sti_module_function(&p->modules, it->own, sig->name, STI_FORM_BLOCK, &it->code.block);
}

stet_result sti_program_add(stet_device *device, const sti_kernel *k, sti_user_source *source, sti_team team,
                            const sti_cache_options *keeping, char *id)
{
    sti_cache_options here = *keeping;
    struct sti_programs *p;
    sti_program *it;
    sti_team choice = sti_team_choose(k->name, k->kind, device->arch, sti_gpu_shares(source));
    STI_TRY(sti_team_ask(k->name, k->kind, team, &choice));
    STI_TRY(sti_programs_open(device, &p));
    if (!here.folder) here.folder = device->cache_folder;
    STI_TRY(sti_table_insert(p, k, &it));
    it->code = (sti_code){
        .team = choice.team, .teams = choice.teams, .worlds = k->kind == STI_KERNEL_WORLD, .team_slots = k->team_slots};
    stet_result result = make_user_program(p, it, source, &here, id);
    if (result != STET_OK) sti_program_drop(device, k);
    return result;
}

void sti_program_drop(stet_device *device, const sti_kernel *kernel)
{
    if (device->list_hooks) device->list_hooks->kernel_gone(device, kernel); /* graphs contain its functions */
    struct sti_programs *p = device->programs;
    sti_program **at = p ? sti_table_find(p, kernel) : NULL;
    if (!at || !*at) return;
    sti_fused_drop(p, kernel);
    if ((*at)->own) sti_module_unload(&p->modules, (*at)->own);
    sti_table_take_out(p, at);
    sti_validate_programs(p);
}

stet_result sti_program_set_team(stet_device *device, const sti_kernel *k, sti_team team)
{
    const sti_embedded *unit;
    struct sti_programs *p;
    sti_program *it;
    STI_TRY(unit_of(k, &unit));
    STI_TRY(sti_programs_open(device, &p));
    sti_team choice = default_team(p, unit, k);
    STI_TRY(sti_team_ask(k->name, k->kind, team, &choice));
    STI_TRY(sti_programs_get(p, k, &it));
    if (device->list_hooks) device->list_hooks->kernel_gone(device, k); /* graphs contain its functions */
    sti_fused_drop(p, k);
    it->set = team.team > 0 || team.teams > 0;
    it->code.team = choice.team;
    it->code.teams = choice.teams;
    it->code.value = it->code.block = NULL;
    return STET_OK;
}
