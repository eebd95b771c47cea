/* The table of a device's programs; see table.h. */
#include "kernel/gpu/table.h"

#include <string.h>

enum { FIRST_SIZE = 64 };

sti_program **sti_table_find(const struct sti_programs *p, const sti_kernel *kernel)
{
    assert(kernel && 2 * p->nprogram <= p->nslot && "a slot is free, or the search has no end");
    unsigned mask = (unsigned)p->nslot - 1;
    unsigned at = (unsigned)(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (p->slot[at] && p->slot[at]->kernel != kernel) at = (at + 1) & mask;
    return &p->slot[at];
}

/* Moves all programs to a table of this size. */
static stet_result rebuild(struct sti_programs *p, int nslot)
{
    assert(nslot > p->nslot && (nslot & (nslot - 1)) == 0);
    sti_program **old = p->slot, **fresh;
    int nold = p->nslot;
    STI_TRY(sti_alloc(&fresh, (size_t)nslot * sizeof(void *), "the table of programs"));
    p->slot = fresh;
    p->nslot = nslot;
    for (int i = 0; i < nold; ++i)
        if (old[i]) *sti_table_find(p, old[i]->kernel) = old[i];
    sti_free(old);
    return STET_OK;
}

stet_result sti_table_begin(struct sti_programs *p) { return rebuild(p, FIRST_SIZE); }

stet_result sti_table_insert(struct sti_programs *p, const sti_kernel *kernel, sti_program **out)
{
    if (2 * (p->nprogram + 1) > p->nslot) STI_TRY(rebuild(p, 2 * p->nslot));
    STI_TRY(sti_alloc(out, sizeof **out, "a program"));
    assert(!*sti_table_find(p, kernel) && "a kernel has one program");
    (*out)->kernel = kernel;
    *sti_table_find(p, kernel) = *out;
    p->nprogram++;
    return STET_OK;
}

void sti_table_take_out(struct sti_programs *p, sti_program **at)
{
    assert(*at && sti_table_find(p, (*at)->kernel) == at && p->nprogram > 0);
    unsigned mask = (unsigned)p->nslot - 1, hole = (unsigned)(at - p->slot);
    sti_free(*at);
    *at = NULL;
    p->nprogram--;
    for (unsigned next = (hole + 1) & mask; p->slot[next]; next = (next + 1) & mask) {
        sti_program *moved = p->slot[next];
        p->slot[next] = NULL;
        *sti_table_find(p, moved->kernel) = moved;
    }
}

stet_result sti_table_keep_name(struct sti_programs *p, const char *name, const char **out)
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

void sti_table_end(struct sti_programs *p)
{
    for (int i = 0; i < p->nslot; ++i) sti_free(p->slot[i]);
    for (int i = 0; i < p->nname; ++i) sti_free(p->name[i]);
    sti_free(p->slot);
    sti_free(p->name);
}

/* ---- fused code -------------------------------------------------------------------------------------------------- */

void sti_fused_free(struct sti_programs *p, sti_fused *it)
{
    if (it->module) sti_module_unload(&p->modules, it->module);
    sti_free(it->phase);
    sti_free(it);
}

static bool has(const sti_fused *it, const sti_kernel *kernel)
{
    for (int i = 0; i < it->nphase; ++i)
        if (it->phase[i].kernel == kernel) return true;
    return false;
}

void sti_fused_drop(struct sti_programs *p, const sti_kernel *kernel)
{
    int left = 0;
    for (int i = 0; i < p->nfused; ++i)
        if (!kernel || has(p->fused[i], kernel))
            sti_fused_free(p, p->fused[i]);
        else
            p->fused[left++] = p->fused[i];
    p->nfused = left;
    if (left > 0) return;
    sti_free(p->fused);
    p->fused = NULL;
}

#ifndef NDEBUG
void sti_validate_programs(const struct sti_programs *p)
{
    int n = 0;
    assert(p->nslot > 0 && (p->nslot & (p->nslot - 1)) == 0);
    for (int i = 0; i < p->nslot; ++i) {
        const sti_program *it = p->slot[i];
        if (!it) continue;
        ++n;
        assert(it->kernel && sti_table_find(p, it->kernel) == &p->slot[i]);
        assert(it->code.team > 0 && it->code.teams > 0);
        assert((!it->code.value && !it->code.block) || it->code.name);
        assert(!it->own || it->kernel->user);
    }
    assert(n == p->nprogram && 2 * n <= p->nslot);
    assert(p->nfused == 0 || p->fused);
    for (int i = 0; i < p->nfused; ++i)
        assert(p->fused[i]->module && p->fused[i]->code.value && p->fused[i]->nphase > 0 && "FUSED-3");
}
#endif
