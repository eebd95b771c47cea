/*
 * Source and settings of a user's kernel; see kernel_source.h.
 */
#include "kernel/user/kernel_source.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

stet_kernel_def stet_default_kernel_def(void) { return (stet_kernel_def){.cookie = STI_KERNEL_COOKIE}; }

static void drop_texts(sti_user_source *s)
{
    sti_text_buffer_free(&s->text);
    for (int i = 0; i < s->nfile; ++i) sti_text_buffer_free(&s->file[i].text);
    sti_free(s->kernel);
    s->kernel = NULL;
    s->nkernel = 0;
}

static stet_result keep_constants(sti_kernel_source *o, const stet_kernel_def *def)
{
    if (def->nconstant == 0) return STET_OK;
    STI_TRY(sti_alloc(&o->constant, (size_t)def->nconstant * sizeof *o->constant, "the constants of a kernel"));
    for (; o->nconstant < def->nconstant; ++o->nconstant)
        STI_TRY(sti_strdup(&o->constant[o->nconstant], def->constant[o->nconstant]));
    return STET_OK;
}

stet_result sti_kernel_source_keep(sti_kernel_source *o, const stet_kernel_def *def, sti_user_source *source)
{
    o->source = *source;
    memset(source, 0, sizeof *source);
    drop_texts(&o->source);
    o->cache_limit = def->cache_limit;
    o->team = def->team;
    o->teams = def->teams;
    if (def->compiler) STI_TRY(sti_strdup(&o->compiler, def->compiler));
    if (def->cache_folder) STI_TRY(sti_strdup(&o->cache_folder, def->cache_folder));
    return keep_constants(o, def);
}

void sti_kernel_source_free(sti_kernel_source *o)
{
    sti_user_source_free(&o->source);
    sti_free(o->compiler);
    sti_free(o->cache_folder);
    for (int i = 0; i < o->nconstant; ++i) sti_free(o->constant[i]);
    sti_free(o->constant);
    memset(o, 0, sizeof *o);
}

stet_kernel_def sti_kernel_source_def(const sti_kernel_source *o)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.compiler = o->compiler;
    def.cache_folder = o->cache_folder;
    def.cache_limit = o->cache_limit;
    def.team = o->team;
    def.teams = o->teams;
    def.unchecked = true; /* adjoints have no checked mode */
    return def;
}
