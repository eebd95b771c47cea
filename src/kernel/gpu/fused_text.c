/* The text of fused code; see fused_text.h. */
#include "kernel/gpu/fused_text.h"

#include "base/memory.h"
#include "kernel/compile/directive.h"
#include "kernel/gpu/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text before the sources ------------------------------------------------------------------------------ */

void sti_fused_head_free(sti_fused_head *head)
{
    sti_text_buffer_free(&head->text);
    sti_text_buffer_free(&head->macros);
}

static void list_macros(const char *text, sti_text_buffer *out)
{
    char name[STI_DIRECTIVE_NAME];
    sti_text_buffer_put(out, "\n");
    for (size_t at = 0; sti_directive_macro(text, &at, name);) {
        sti_text_buffer_put(out, name);
        sti_text_buffer_put(out, "\n");
    }
}

stet_result sti_fused_head_read(sti_fused_head *out)
{
    const sti_user_source_def def = {
        .text = "#include \"stet/lang.h\"\n", .path = "the language", .files = sti_kernel_sources, .gpu = true};
    sti_user_source source;
    STI_TRY(sti_user_source_read(&def, &source));
    list_macros(source.text.data, &out->macros);
    stet_result result = out->macros.result;
    out->text = source.text;
    source.text = (sti_text_buffer){0};
    sti_user_source_free(&source);
    if (result != STET_OK) sti_fused_head_free(out);
    return result;
}

bool sti_fused_redefines(const sti_fused_head *head, const char *own)
{
    char macro[STI_DIRECTIVE_NAME], line[STI_DIRECTIVE_NAME + 2];
    for (size_t at = 0; sti_directive_macro(own, &at, macro);) {
        (void)snprintf(line, sizeof line, "\n%s\n", macro);
        if (strstr(head->macros.data, line)) return true;
    }
    return false;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

stet_result sti_fused_source(const sti_kernel *k, sti_user_source *room, const sti_user_source **out)
{
    const sti_embedded *unit = k->user ? NULL : sti_gpu_unit(k);
    memset(room, 0, sizeof *room);
    *out = k->user ? k->source : room;
    if (unit) STI_TRY(sti_gpu_unit_read(unit, "", room));
    if ((*out)->own.size > 0) return STET_OK;
    sti_user_source_free(room);
    return sti_error(STET_ERROR_UNSUPPORTED, "kernel %s: the source of %s is not there any more", k->name, k->file);
}

/* True if two kernels come from the same text. The library's are compared by file, users' by text. */
static bool same_source(const sti_kernel *a, const sti_kernel *b)
{
    if (!a->user || !b->user) return !a->user && !b->user && strcmp(a->file, b->file) == 0;
    const sti_user_source *s = a->source;
    const sti_user_source *t = b->source;
    return s->own.size == t->own.size && memcmp(s->own.data, t->own.data, s->own.size) == 0;
}

typedef struct writer {
    const sti_phase *phase;
    int nphase, resident;
    sti_user_source *out;
    int *space; /* [nphase] number of the namespace that has its kernel; -1: a copy */
    int nspace;
} writer;

/* Adds a file that the compiler's messages may name as <its number>. */
static stet_result add_file(sti_user_source *out, const char *name)
{
    STI_TRY(sti_realloc(&out->file, (size_t)(out->nfile + 1) * sizeof *out->file, "the files of fused code"));
    sti_user_source_file *f = &out->file[out->nfile];
    memset(f, 0, sizeof *f);
    STI_TRY(sti_strdup(&f->name, name));
    out->nfile++;
    return STET_OK;
}

/* Returns the number N of a line `#line 12 "<N>"`, after the bracket; NULL: the line is no such line. */
static const char *number_in(const char *line)
{
    if (strncmp(line, "#line ", 6) != 0) return NULL;
    const char *p = line + 6 + strspn(line + 6, "0123456789");
    if (p == line + 6 || strncmp(p, " \"<", 3) != 0) return NULL;
    const char *end = p + 3 + strspn(p + 3, "0123456789");
    return end > p + 3 && strncmp(end, ">\"\n", 3) == 0 ? p + 3 : NULL;
}

/* Adds a source's text with its file numbers increased by `first`. */
static void put_text(sti_text_buffer *out, const char *text, int first)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        const char *number = number_in(at);
        n += at[n] != 0;
        if (number) {
            sti_text_buffer_add(out, at, (size_t)(number - at));
            sti_text_buffer_format(out, "%ld>\"\n", strtol(number, NULL, 10) + first);
        } else {
            sti_text_buffer_add(out, at, n);
        }
        at += n;
    }
}

static void put_source(sti_user_source *out, const sti_user_source *source, int space)
{
    char name[STI_DIRECTIVE_NAME];
    sti_text_buffer_format(&out->text, "namespace sti_source_%d\n{\n", space);
    put_text(&out->text, source->own.data, out->nfile - source->nfile);
    sti_user_source_mark(out, 1);
    sti_text_buffer_put(&out->text, "}\n");
    for (size_t at = 0; sti_directive_macro(source->own.data, &at, name);)
        sti_text_buffer_format(&out->text, "#undef %s\n", name);
}

/* Adds the source of phase i in its namespace, unless it was added before. */
static stet_result add_source(writer *w, int i)
{
    const sti_kernel *k = w->phase[i].kernel;
    const sti_user_source *source;
    sti_user_source room;
    w->space[i] = -1;
    if (!k) return STET_OK;
    for (int e = 0; e < i; ++e)
        if (w->phase[e].kernel && same_source(k, w->phase[e].kernel)) {
            w->space[i] = w->space[e];
            return STET_OK;
        }
    STI_TRY(sti_fused_source(k, &room, &source));
    stet_result result = STET_OK;
    for (int f = 0; f < source->nfile && result == STET_OK; ++f) result = add_file(w->out, source->file[f].name);
    w->space[i] = w->nspace++;
    if (result == STET_OK) put_source(w->out, source, w->space[i]);
    sti_user_source_free(&room);
    return result == STET_OK ? w->out->text.result : result;
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

/* The team copies its world's part, 4 bytes at a time, or 16 where addresses and size are aligned for it. */
static const char copy_function[] =
    "static __device__ __forceinline__ void sti_copy_world(const sti_slot *s, i64 world)\n"
    "{\n"
    "    u8 *to = (u8 *)s[0].p + world * s[0].n;\n"
    "    const u8 *from = (const u8 *)s[1].p + world * s[0].n;\n"
    "    if ((((u64)to | (u64)from | (u64)s[0].n) & 15) == 0) {\n"
    "        for (i64 i = threadIdx.x; i < s[0].n / 16; i += STET_TEAM) ((int4 *)to)[i] = ((const int4 *)from)[i];\n"
    "    } else {\n"
    "        for (i64 i = threadIdx.x; i < s[0].n / 4; i += STET_TEAM) ((int *)to)[i] = ((const int *)from)[i];\n"
    "    }\n"
    "}\n";

/*
 * Keeps arguments where the launch put them. Without __grid_constant__ the compiler would copy them to each thread's
 * local memory, because the number of the repetition is not known.
 */
static const char grid_constant[] =
    "#if defined(__CUDACC_RTC__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107 && __CUDA_ARCH__ >= 700\n"
    "#define sti_grid_constant __grid_constant__\n"
    "#else\n"
    "#define sti_grid_constant\n"
    "#endif\n";

/* Bounds registers by the number of resident threads; 0: no bound. The second argument has another meaning on HIP. */
static const char bounds[] =
    "#if defined(__CUDACC_RTC__) && %d > 0\n"
    "#define sti_fused_bounds __launch_bounds__(STET_TEAM * STET_TEAMS, %d / (STET_TEAM * STET_TEAMS))\n"
    "#else\n"
    "#define sti_fused_bounds __launch_bounds__(STET_TEAM * STET_TEAMS)\n"
    "#endif\n";

static void put_phase(const writer *w, int i, int slot)
{
    const sti_kernel *k = w->phase[i].kernel;
    sti_sink sink = sti_text_buffer_sink(&w->out->text);
    if (k) {
        sti_sink_format(&sink, "        sti_source_%d::%s(", w->space[i], k->name);
        (void)sti_generate_arguments(&sink, k->param, k->nparam, true, slot);
        sti_sink_text(&sink, ");\n");
    } else {
        sti_sink_format(&sink, "        sti_copy_world(sti_s + %d, sti_k);\n", slot);
    }
    sti_sink_text(&sink, "        sti_sync();\n");
}

static void put_entry(const writer *w, int repeats, const char *entry)
{
    sti_text_buffer *text = &w->out->text;
    int nslot = 0;
    for (int i = 0; i < w->nphase; ++i) nslot += w->phase[i].nslot;
    sti_user_source_mark(w->out, 1);
    sti_text_buffer_put(text, sti_generate_slot);
    sti_text_buffer_put(text, copy_function);
    sti_text_buffer_put(text, grid_constant);
    sti_text_buffer_format(text, bounds, w->resident, w->resident);
    sti_text_buffer_format(text, "struct sti_slots_fused {\n    sti_slot s[%d];\n};\n", 1 + repeats * nslot);
    sti_text_buffer_format(text,
                           "extern \"C\" __global__ void sti_fused_bounds\n"
                           "%s(const sti_grid_constant sti_slots_fused sti_b, i64 sti_count)\n{\n",
                           entry);
    sti_text_buffer_format(text,
                           "    i64 sti_k = (i64)blockIdx.x * STET_TEAMS + threadIdx.y;\n"
                           "    sti_wait_for_others();\n"
                           "    if (sti_k >= sti_count) return;\n"
                           "    for (i64 sti_r = 0; sti_r < sti_b.s[0].i; ++sti_r) {\n"
                           "        const sti_slot *sti_s = sti_b.s + 1 + sti_r * %d;\n"
                           "        (void)sti_s;\n",
                           nslot);
    for (int i = 0, slot = 0; i < w->nphase; slot += w->phase[i++].nslot) put_phase(w, i, slot);
    sti_text_buffer_put(text, "    }\n}\n");
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static stet_result write_all(writer *w, const sti_fused_head *head, int repeats, const char *name, const char *entry)
{
    STI_TRY(sti_alloc(&w->space, (size_t)w->nphase * sizeof *w->space, "the sources of fused code"));
    STI_TRY(add_file(w->out, name));
    sti_text_buffer_add(&w->out->text, head->text.data, head->text.size);
    for (int i = 0; i < w->nphase; ++i) STI_TRY(add_source(w, i));
    put_entry(w, repeats, entry);
    return w->out->text.result;
}

stet_result sti_fused_write(const sti_fused_head *head, const sti_phase *phase, int nphase, int repeats, int resident,
                            const char *name, const char *entry, sti_user_source *out)
{
    writer w = {.phase = phase, .nphase = nphase, .resident = resident, .out = out};
    memset(out, 0, sizeof *out);
    stet_result result = write_all(&w, head, repeats, name, entry);
    sti_free(w.space);
    if (result != STET_OK) sti_user_source_free(out);
    return result;
}
