/*
 * Fused code: checks, compiles and caches it; see fused.h.
 */
#include "kernel/gpu/fused.h"

#include "base/memory.h"
#include "device/gpu/gpu.h"
#include "kernel/gpu/programs.h"
#include "kernel/gpu/source.h"
#include "kernel/gpu/table.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_SHARED = 1024, /* the most bytes that one kernel's team may share: those of all phases add up */
    MOST_SLOTS = (STI_GPU_ARGUMENT_BYTES - (int)sizeof(int64_t)) / (int)sizeof(sti_slot), /* slots beside the count */
    NAME_SIZE = 3 * STI_MAX_NAME
};

/* ---- which kernels ----------------------------------------------------------------------------------------------- */

/* Finds what is known of another of the library's kernels in the same file. */
static sti_fusing find_fusing_of_file(const struct sti_programs *p, const sti_kernel *k)
{
    for (int i = 0; i < p->nslot && !k->user; ++i) {
        const sti_program *other = p->slot[i];
        if (other && other->fusing != STI_FUSING_UNKNOWN && !other->kernel->user &&
            strcmp(other->kernel->file, k->file) == 0)
            return other->fusing;
    }
    return STI_FUSING_UNKNOWN;
}

static stet_result check_macros(struct sti_programs *p, sti_program *it)
{
    const sti_user_source *source;
    sti_user_source room;
    it->fusing = find_fusing_of_file(p, it->kernel);
    if (it->fusing != STI_FUSING_UNKNOWN) return STET_OK;
    if (p->head.text.size == 0) STI_TRY(sti_fused_head_read(&p->head));
    STI_TRY(sti_fused_source(it->kernel, &room, &source));
    it->fusing = sti_fused_redefines(&p->head, source->own.data) ? STI_FUSING_REDEFINES : STI_FUSING_YES;
    sti_user_source_free(&room);
    return STET_OK;
}

/* Asks the compiled code how much memory the kernel's team shares. */
static stet_result query_shared_bytes(const struct sti_programs *p, sti_program *it)
{
    stet_device *device = p->modules.device;
    const sti_code *code;
    int bytes;
    if (it->asked) return STET_OK;
    STI_TRY(sti_program_code(device, it->kernel, false, &code));
    STI_TRY(device->ops->attribute(device, code->value, STI_ATTRIBUTE_SHARED_BYTES, &bytes));
    it->shared = bytes / code->teams;
    it->asked = true;
    return STET_OK;
}

/* Checks that a kernel can be a phase. STET_ERROR_UNSUPPORTED: the message says why not. */
static stet_result check_kernel(struct sti_programs *p, const sti_kernel *k)
{
    sti_program *it;
    if (k->kind != STI_KERNEL_WORLD)
        return sti_error(STET_ERROR_UNSUPPORTED, "kernel %s: only world kernels can be fused, it is an item kernel",
                         k->name);
    STI_TRY(sti_programs_get(p, k, &it));
    if (it->fusing == STI_FUSING_UNKNOWN) STI_TRY(check_macros(p, it));
    STI_TRY(query_shared_bytes(p, it));
    if (it->shared > MOST_SHARED)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "kernel %s: its team shares %d bytes of memory, so it is not fused: at most %d are", k->name,
                         it->shared, MOST_SHARED);
    if (it->fusing == STI_FUSING_REDEFINES)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "kernel %s: its source %s defines or undefines a macro of the language's, so it is not fused",
                         k->name, k->file);
    return STET_OK;
}

bool sti_program_can_fuse(stet_device *device, const sti_kernel *kernel)
{
    struct sti_programs *p;
    return kernel->kind == STI_KERNEL_WORLD && sti_programs_open(device, &p) == STET_OK &&
           check_kernel(p, kernel) == STET_OK;
}

/* *nslot: slots of all phases, for one repetition. */
static stet_result check_phases(struct sti_programs *p, const sti_phase *phase, int nphase, int *nslot)
{
    *nslot = 0;
    if (nphase < 1) return sti_error(STET_ERROR_INVALID_ARGUMENT, "fused code: %d phases; give at least one", nphase);
    for (int i = 0; i < nphase; ++i) {
        const sti_kernel *k = phase[i].kernel;
        int takes = k ? sti_kernel_narg(k) : 2;
        if (k) STI_TRY(check_kernel(p, k));
        if (phase[i].nslot != takes)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "fused code: phase %d (%s) has %d slots, not %d", i,
                             k ? k->name : "a copy", takes, phase[i].nslot);
        *nslot += takes;
    }
    if (1 + *nslot <= MOST_SLOTS) return STET_OK;
    return sti_error(STET_ERROR_LIMIT, "fused code: %d phases take %d arguments; %d fit one launch", nphase, *nslot,
                     MOST_SLOTS - 1);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static const char *name_of(const sti_phase *phase) { return phase->kernel ? phase->kernel->name : "copy"; }

static stet_result name_code(struct sti_programs *p, sti_fused *it)
{
    char name[NAME_SIZE];
    const char *first = name_of(&it->phase[0]), *last = name_of(&it->phase[it->nphase - 1]);
    if (it->nphase > 1)
        (void)snprintf(name, sizeof name, "fused %s … %s (%d)", first, last, it->nphase);
    else
        (void)snprintf(name, sizeof name, "fused %s (1)", first);
    return sti_table_keep_name(p, name, &it->code.name);
}

/* Makes text, module and function. */
static stet_result compile(struct sti_programs *p, sti_fused *it)
{
    char base[STI_MAX_NAME + 32], entry[STI_MAX_NAME + 48];
    sti_user_source source;
    (void)snprintf(base, sizeof base, "fused_%s_%d", name_of(it->phase), it->nphase);
    (void)snprintf(entry, sizeof entry, "sti_%s__value", base);
    if (p->head.text.size == 0) STI_TRY(sti_fused_head_read(&p->head));
    STI_TRY(sti_fused_write(&p->head, it->phase, it->nphase, it->code.repeats, it->resident, it->code.name, entry,
                            &source));
    const sti_team team = {it->code.team, it->code.teams};
    stet_result result = sti_module_from_source(&p->modules, team, &source, &it->module);
    sti_user_source_free(&source);
    if (result == STET_ERROR_PARSE) return sti_error_prefix(result, "%s", it->code.name);
    STI_TRY(result);
    it->code.waits = it->module->waits;
    STI_TRY(sti_module_function(&p->modules, it->module, base, STI_FORM_VALUE, &it->code.value));
    stet_device *device = p->modules.device;
    return device->ops->attribute(device, it->code.value, STI_ATTRIBUTE_REGISTERS, &it->registers);
}

static stet_result fill_fused(struct sti_programs *p, sti_fused *it, const sti_phase *phase, int nphase, int nslot)
{
    const int most = nslot > 0 ? (MOST_SLOTS - 1) / nslot : STI_FUSED_REPEATS;
    STI_TRY(sti_alloc(&it->phase, (size_t)nphase * sizeof *phase, "the phases of fused code"));
    memcpy(it->phase, phase, (size_t)nphase * sizeof *phase);
    it->nphase = nphase;
    it->code.repeats = most < STI_FUSED_REPEATS ? most : STI_FUSED_REPEATS;
    it->code.nslot = 1 + it->code.repeats * nslot;
    it->code.worlds = true;
    STI_TRY(name_code(p, it));
    return compile(p, it);
}

static stet_result make_fused(struct sti_programs *p, const sti_phase *phase, int nphase, int nslot, sti_team team,
                              int resident, sti_fused **out)
{
    STI_TRY(sti_realloc(&p->fused, (size_t)(p->nfused + 1) * sizeof(void *), "fused code"));
    STI_TRY(sti_alloc(out, sizeof **out, "fused code"));
    (*out)->code = (sti_code){.team = team.team, .teams = team.teams};
    (*out)->resident = resident;
    stet_result result = fill_fused(p, *out, phase, nphase, nslot);
    if (result == STET_OK)
        p->fused[p->nfused++] = *out;
    else
        sti_fused_free(p, *out);
    return result;
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

static sti_fused *find_fused(const struct sti_programs *p, const sti_phase *phase, int nphase, sti_team team,
                             int resident)
{
    for (int i = 0; i < p->nfused; ++i) {
        sti_fused *it = p->fused[i];
        bool same = it->nphase == nphase && it->code.team == team.team && it->code.teams == team.teams &&
                    it->resident == resident;
        for (int k = 0; k < nphase && same; ++k) same = it->phase[k].kernel == phase[k].kernel;
        if (same) return it;
    }
    return NULL;
}

/*
 * Makes code that needs too many registers again, for fewer resident threads and with smaller teams. Spilling registers
 * to memory costs more than the latency that more threads hide.
 */
static stet_result make_for_fewer_threads(struct sti_programs *p, const sti_phase *phase, int nphase, int nslot,
                                          int64_t count, sti_fused **out)
{
    const sti_team team = sti_team_fused(count, p->modules.device->processors, STI_TEAM_RESIDENT_FEW);
    *out = find_fused(p, phase, nphase, team, STI_TEAM_RESIDENT_FEW);
    return *out ? STET_OK : make_fused(p, phase, nphase, nslot, team, STI_TEAM_RESIDENT_FEW, out);
}

stet_result sti_program_fused(stet_device *device, const sti_phase *phase, int nphase, int64_t count,
                              const sti_code **out)
{
    struct sti_programs *p;
    int nslot;
    STI_TRY(sti_programs_open(device, &p));
    STI_TRY(check_phases(p, phase, nphase, &nslot));
    const sti_team team = sti_team_fused(count, device->processors, STI_TEAM_RESIDENT);
    sti_fused *it = find_fused(p, phase, nphase, team, 0);
    if (!it) STI_TRY(make_fused(p, phase, nphase, nslot, team, 0, &it));
    if (it->registers > STI_TEAM_REGISTERS) STI_TRY(make_for_fewer_threads(p, phase, nphase, nslot, count, &it));
    *out = &it->code;
    return STET_OK;
}
