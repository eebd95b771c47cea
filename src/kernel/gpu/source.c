/* Sources for a GPU; see source.h. */
#include "kernel/gpu/source.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/compile/directive.h"

#include <string.h>

static bool has_kernels(const char *text)
{
    if (!strstr(text, "_kernel")) return false; /* most headers: without reading them as code */
    size_t cursor = 0;
    sti_signature sig;
    char message[256];
    return sti_signature_next(text, &cursor, &sig, message, sizeof message) != 0;
}

const sti_embedded *sti_gpu_unit_first(const sti_embedded *table)
{
    for (; table->name; ++table)
        if (has_kernels(table->text)) return table;
    return NULL;
}

const sti_embedded *sti_gpu_unit_next(const sti_embedded *unit) { return sti_gpu_unit_first(unit + 1); }

const sti_embedded *sti_gpu_unit(const sti_kernel *kernel)
{
    const char *name = strncmp(kernel->file, "src/", 4) == 0 ? kernel->file + 4 : kernel->file;
    for (const sti_embedded *e = kernel->sources; e && e->name; ++e)
        if (strcmp(e->name, name) == 0) return e;
    return NULL;
}

const char *sti_gpu_unit_folder(const sti_embedded *unit) { return unit->table == sti_kernel_sources ? "src/" : ""; }

bool sti_gpu_unit_in_sim(const sti_embedded *unit) { return sti_directive_value(unit->text, "STET_IN_EVERY_SIM"); }

bool sti_gpu_unit_ships(const sti_embedded *unit) { return !sti_directive_value(unit->text, "STET_NOT_SHIPPED"); }

stet_result sti_gpu_unit_kernels(const sti_embedded *unit, sti_signature **out, int *n)
{
    size_t cursor = 0;
    char message[512];
    *out = NULL;
    *n = 0;
    for (;;) {
        STI_TRY(sti_realloc(out, (size_t)(*n + 1) * sizeof **out, "the kernels of a file"));
        int found = sti_signature_next(unit->text, &cursor, &(*out)[*n], message, sizeof message);
        if (found == 0) return STET_OK;
        if (found < 0)
            return sti_error(STET_ERROR_PARSE, "%s%s:%d: %s", sti_gpu_unit_folder(unit), unit->name, (*out)[*n].line,
                             message);
        ++*n;
    }
}

static stet_result put_before(const char *constants, sti_user_source *source)
{
    sti_text_buffer all = {0};
    sti_text_buffer_put(&all, constants);
    sti_text_buffer_add(&all, source->text.data, source->text.size);
    sti_text_buffer_free(&source->text);
    source->text = all;
    return all.result;
}

stet_result sti_gpu_unit_read(const sti_embedded *unit, const char *constants, sti_user_source *out)
{
    sti_text_buffer path = {0};
    sti_text_buffer_put(&path, sti_gpu_unit_folder(unit));
    sti_text_buffer_put(&path, unit->name);
    stet_result result = path.result;
    if (result == STET_OK) {
        const sti_user_source_def def = {.text = unit->text, .path = path.data, .files = unit->table, .gpu = true};
        result = sti_user_source_read(&def, out);
        if (result == STET_OK && constants[0]) result = put_before(constants, out);
        if (result != STET_OK) sti_user_source_free(out);
    }
    sti_text_buffer_free(&path);
    return result;
}

stet_result sti_gpu_finish(sti_user_source *source, const sti_signature *const *kernel, int nkernel, unsigned forms)
{
    sti_sink sink = sti_text_buffer_sink(&source->text);
    sti_text_buffer_put(&source->text, sti_generate_slot);
    for (int i = 0; i < nkernel; ++i)
        for (int form = 0; form < 2; ++form) {
            if (!(forms >> form & 1u)) continue;
            sti_user_source_mark(source, kernel[i]->line); /* errors in an entry are reported at the kernel's line */
            sti_generate_entry(&sink, kernel[i], (sti_form)form);
        }
    return source->text.result;
}

bool sti_gpu_text_shares(const char *text)
{
    static const char *const words[] = {"shared", "staged", "treal", "tlint", "tint"};
    return sti_directive_uses(text, words, sizeof words / sizeof *words);
}

bool sti_gpu_unit_shares(const sti_embedded *unit) { return sti_gpu_text_shares(unit->text); }

bool sti_gpu_shares(const sti_user_source *source)
{
    for (int i = 0; i < source->nfile; ++i) {
        const sti_user_source_file *f = &source->file[i];
        if (!f->language && sti_gpu_text_shares(f->text.data)) return true;
    }
    return false;
}
