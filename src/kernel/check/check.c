/*
 * The whole check, and comparison of trees; see check.h.
 */
#include "kernel/check/check.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/check/library.h"
#include "kernel/check/limits.h"
#include "kernel/check/parser.h"
#include "kernel/check/reader.h"
#include "kernel/check/rules.h"
#include "kernel/check/type.h"
#include "kernel/check/typing.h"

sti_check_options sti_default_check_options(void) { return (sti_check_options){.lanes = 16}; }

static stet_result check_options(const sti_check_options *o, const char *name)
{
    if (o->lanes != 1 && o->lanes != 4 && o->lanes != 8 && o->lanes != 16)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: checked for %d lanes; there are 1, 4, 8 and 16", name,
                         o->lanes);
    if ((o->gpu || o->real_double) && o->lanes != 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: checked for %d lanes; a GPU and double have 1", name,
                         o->lanes);
    return STET_OK;
}

static stet_result open_unit(const sti_check_options *options, const char *name, sti_unit **out)
{
    *out = NULL;
    STI_TRY(check_options(options, name));
    STI_TRY(sti_alloc(out, sizeof **out, "a kernel source"));
    sti_arena_init(&(*out)->arena, "a kernel source");
    (*out)->options = *options;
    return STET_OK;
}

static stet_result out_of_memory(const char *name)
{
    return sti_error(STET_ERROR_OUT_OF_MEMORY, "%s: out of memory while it was checked", name);
}

/* Makes the tree from the text and reports mistakes. */
static stet_result check_all(sti_unit *u, const char *text, const char *name)
{
    sti_tokens tokens = {0};
    if (!sti_library_fill(u) || !sti_read_tokens(u, text, name, &tokens)) return out_of_memory(name);
    u->top = sti_parse(u, tokens.token);
    if (!u->failed) sti_type_unit(u);
    if (!u->failed) sti_check_rules(u);
    bool bundles = sti_bundle_drop(u);
    if (bundles && !u->failed && u->nmistake == 0) sti_bundle_const(u);
    if (!u->failed && u->nmistake == 0) sti_check_limits(u);
    if (u->failed) return out_of_memory(name);
    if (u->nmistake == 0) return STET_OK;
    const sti_diagnostic *d = u->first;
    return sti_error(STET_ERROR_PARSE, "%s:%d:%d: %s%s", d->file, d->line, d->column, d->message,
                     u->nmistake > 1 ? " (and more)" : "");
}

stet_result sti_check_source(const char *text, const char *name, const sti_check_options *options, sti_unit **out)
{
    STI_TRY(open_unit(options, name, out));
    stet_result result = check_all(*out, text, name);
    if (result == STET_OK || result == STET_ERROR_PARSE) return result;
    sti_unit_destroy(*out);
    *out = NULL;
    return result;
}

void sti_unit_destroy(sti_unit *unit)
{
    if (!unit) return;
    sti_arena_free(&unit->arena);
    sti_free(unit);
}

const sti_diagnostic *sti_unit_diagnostics(const sti_unit *unit) { return unit->first; }
int sti_unit_mistakes(const sti_unit *unit) { return unit->nmistake; }
