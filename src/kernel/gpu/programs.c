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
    stet_result result = sti_modules_init(&(*out)->modules, device);
    if (result == STET_OK) result = sti_table_begin(*out);
    if (result != STET_OK) {
        sti_modules_close(&(*out)->modules);
        sti_free(*out);
        return result;
    }
    device->programs = *out;
    device->drop_programs = drop_programs;
    return STET_OK;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* The team of a kernel of the library, unless it was set. */
static sti_team default_team(const sti_embedded *unit, const sti_kernel *k)
{
    return sti_team_choose(unit->text, k->name, k->kind, sti_gpu_unit_shares(unit));
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
    const sti_team team = default_team(unit, k);
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

/* The module that a program's function in this form is in. */
static stet_result find_wanted(const sti_program *it, sti_form form, sti_module *out)
{
    const sti_kernel *k = it->kernel;
    *out = (sti_module){.constants = (char *)k->constants, /* it is only compared, or copied */
                        .team = {it->code.team, it->code.teams},
                        .forms = 1u << form};
    if (it->set || k->constants) (void)snprintf(out->only, sizeof out->only, "%s", k->name);
    return unit_of(k, &out->unit);
}

/* Makes the function of a program in this form. */
static stet_result make_function(struct sti_programs *p, sti_program *it, sti_form form)
{
    const sti_kernel *k = it->kernel;
    const sti_module *module;
    sti_module wanted;
    STI_TRY(find_wanted(it, form, &wanted));
    STI_TRY(sti_module_get(&p->modules, &wanted, &module));
    it->code.waits = module->waits;
    return sti_module_function(&p->modules, module, k->name, form,
                               form == STI_FORM_BLOCK ? &it->code.block : &it->code.value);
}

/* ---- one kernel's code in place of another's (PROGRAMS-4) -------------------------------------------------------- */

static bool waits_for_code(const stet_device *device)
{
    return device->wait_for_code || device->mechanisms.options.audit;
}

/* The code in all forms that it is needed in, which are those of the code that runs now. */
static bool has_code(const sti_program *it, const sti_program *now)
{
    return it->code.value && (it->code.block || !now->code.block);
}

/* general: another's code is being made, which the compiler may have to end first. */
static stet_result begin_form(struct sti_programs *p, sti_program *it, sti_form form, bool general, bool *ready)
{
    sti_module wanted;
    STI_TRY(find_wanted(it, form, &wanted));
    return sti_module_begin(&p->modules, &wanted, general, ready);
}

/* Makes a program's functions as far as they are needed, if they are compiled. */
static stet_result make_if_ready(struct sti_programs *p, sti_program *it, const sti_program *now)
{
    bool value = false, block = true;
    STI_TRY(begin_form(p, it, STI_FORM_VALUE, it == now, &value));
    if (now->code.block) STI_TRY(begin_form(p, it, STI_FORM_BLOCK, it == now, &block));
    if (!value || !block) return STET_OK;
    if (now->code.block) STI_TRY(make_function(p, it, STI_FORM_BLOCK));
    return make_function(p, it, STI_FORM_VALUE);
}

/* The launches that follow are the other kernel's; recordings have this one's. */
static void leave(stet_device *device, const sti_kernel *kernel)
{
    if (device->list_hooks) device->list_hooks->kernel_gone(device, kernel);
    sti_log(STET_LOG_INFO, "kernel %s: the code that was compiled beside is used from now on", kernel->name);
}

static stet_result stay(stet_device *device, sti_program *it)
{
    char where[1024];
    it->failed = true;
    (void)snprintf(where, sizeof where, "kernel %s: %s", it->kernel->name, stet_get_last_error());
    return sti_fallback(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, STET_REASON_KERNEL_CACHE_GENERAL, where);
}

/* One of the two gets code: `own`, if it is ready, else `general`, if it has none. */
static stet_result make_either(stet_device *device, struct sti_programs *p, sti_program *own, sti_program *general)
{
    bool began = general->code.value != NULL;
    for (;;) {
        stet_result result = make_if_ready(p, own, general);
        if (result == STET_ERROR_OUT_OF_MEMORY) return result;
        if (result != STET_OK) return stay(device, own);
        if (has_code(own, general)) {
            if (general->code.value) leave(device, general->kernel);
            return STET_OK;
        }
        if (general->code.value) return STET_OK;
        result = make_if_ready(p, general, general);
        if (result == STET_ERROR_OUT_OF_MEMORY) return result;
        if (result != STET_OK) return make_function(p, own, STI_FORM_VALUE); /* which waits for it */
        if (general->code.value) return STET_OK;
        if (!began)
            sti_log(STET_LOG_INFO, "kernel %s: no code of it is in the cache, so the first that is compiled runs",
                    own->kernel->name);
        began = true;
        STI_TRY(sti_modules_wait(&p->modules));
    }
}

stet_result sti_program_choose(stet_device *device, const sti_kernel *own, const sti_kernel *general,
                               const sti_kernel **out)
{
    struct sti_programs *p;
    sti_program *it, *now;
    *out = own;
    if (!device->can.compiles || !own->constants || waits_for_code(device)) return STET_OK;
    STI_TRY(sti_programs_open(device, &p));
    STI_TRY(sti_programs_get(p, own, &it));
    STI_TRY(sti_programs_get(p, general, &now));
    if (has_code(it, now)) return STET_OK;
    bool runs = now->code.value != NULL, captured = sti_device_capture(device) != 0;
    bool listed = runs && device->list_hooks && device->list_hooks->is_listed(device, general);
    if (captured && !runs) return STET_OK;
    if (!it->failed && !captured && !listed) STI_TRY(make_either(device, p, it, now));
    if (!has_code(it, now)) *out = general;
    return STET_OK;
}

/* Returns whether it has to be compiled. */
static bool begin_value(stet_device *device, const sti_kernel *kernel, bool general)
{
    struct sti_programs *p;
    sti_program *it;
    bool ready = true;
    if (!device->can.compiles || waits_for_code(device)) return false;
    if (sti_programs_open(device, &p) != STET_OK || sti_programs_get(p, kernel, &it) != STET_OK || it->code.value)
        return false;
    return begin_form(p, it, STI_FORM_VALUE, general, &ready) == STET_OK && !ready;
}

void sti_program_begin(stet_device *device, const sti_kernel *kernel) { (void)begin_value(device, kernel, false); }

void sti_program_begin_either(stet_device *device, const sti_kernel *own, const sti_kernel *general)
{
    if (begin_value(device, own, false) && own->constants) (void)begin_value(device, general, true);
}

stet_result stet_device_wait_for_code(stet_device *device)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_wait_for_code: device must not be NULL");
    if (device->programs) sti_modules_finish(&device->programs->modules);
    return STET_OK;
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
    it->code.waits = it->own->waits;
    STI_TRY(sti_module_function(&p->modules, it->own, sig->name, STI_FORM_VALUE, &it->code.value));
    return sti_module_function(&p->modules, it->own, sig->name, STI_FORM_BLOCK, &it->code.block);
}

stet_result sti_program_add(stet_device *device, const sti_kernel *k, sti_user_source *source, sti_team team,
                            const sti_cache_options *keeping, char *id)
{
    sti_cache_options here = *keeping;
    struct sti_programs *p;
    sti_program *it;
    sti_team choice = sti_team_choose(source->file[0].text.data, k->name, k->kind, sti_gpu_shares(source));
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
    sti_team choice = default_team(unit, k);
    STI_TRY(sti_team_ask(k->name, k->kind, team, &choice));
    STI_TRY(sti_programs_get(p, k, &it));
    if (device->list_hooks) device->list_hooks->kernel_gone(device, k); /* graphs contain its functions */
    sti_fused_drop(p, k);
    it->set = team.team > 0 || team.teams > 0;
    it->code.team = choice.team;
    it->code.teams = choice.teams;
    it->code.value = it->code.block = NULL;
    it->failed = false;
    return STET_OK;
}
