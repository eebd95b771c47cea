/*
 * Generates the C around kernels; see generate.h.
 */
#include "kernel/compile/generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sti_sink_text(const sti_sink *out, const char *text) { out->write(out->context, text, strlen(text)); }

void sti_sink_format(const sti_sink *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sti_sink_text(out, text);
}

/* Writes the sum of the bytes of shared memory of the slots before `end` that are memory of a team. */
static void write_team_bytes(const sti_sink *out, const sti_param *param, int end, int slot)
{
    sti_sink_text(out, "0");
    for (int i = 0, n = 0; i < end; ++i) {
        if (sti_param_type_team(param[i].type)) sti_sink_format(out, " + STI_SHARED_BYTES(sti_s[%d])", slot + n);
        n += !param[i].index;
    }
}

/* Writes the expression that passes parameter i, memory of a team, of which slot `at` tells the size. */
static void write_team_memory(const sti_sink *out, const sti_param *param, int nparam, int i, int slot, int at)
{
    sti_sink_format(out, "STI_TEAM_MEMORY(%s, sti_s[%d], ", sti_param_type_name(param[i].type), at);
    write_team_bytes(out, param, i, slot);
    sti_sink_text(out, ", ");
    write_team_bytes(out, param, nparam, slot);
    sti_sink_text(out, ")");
}

/*
 * Writes the expression that passes a slot as parameter p. Generated names begin with sti_, which kernels' names do
 * not.
 */
static void write_argument(const sti_sink *out, const sti_param *p, int slot, bool world)
{
    const char *type = sti_param_type_name(p->type);
    if (p->index && strcmp(p->name, STI_WATCH) == 0) {
        sti_sink_text(out, "sti_s, (i64)sti_k");
    } else if (p->index) {
        sti_sink_text(out, world ? "(int)(sti_k * STET_W)" : "(int)sti_k");
    } else if (p->pointer && sti_param_type_worlds(p->type) && world) {
        sti_sink_format(out, "(%s *)sti_s[%d].p + sti_k * sti_s[%d].n", type, slot, slot);
    } else if (p->pointer) {
        sti_sink_format(out, "(%s *)sti_s[%d].p", type, slot);
    } else {
        sti_sink_format(out, p->type == STI_PARAM_UREAL ? "(%s)sti_s[%d].f" : "(%s)sti_s[%d].i", type, slot);
    }
}

int sti_generate_arguments(const sti_sink *out, const sti_param *param, int nparam, bool world, int slot)
{
    int n = 0;
    for (int i = 0; i < nparam; ++i) {
        if (i) sti_sink_text(out, ", ");
        if (sti_param_type_team(param[i].type))
            write_team_memory(out, param, nparam, i, slot, slot + n);
        else
            write_argument(out, &param[i], slot + n, world);
        n += !param[i].index;
    }
    return n;
}

static void write_arguments(const sti_sink *out, const sti_signature *sig)
{
    (void)sti_generate_arguments(out, sig->param, sig->nparam, sig->kind == STI_KERNEL_WORLD, 0);
}

void sti_generate_call(const sti_sink *out, const sti_signature *sig)
{
    static const char parameters[] = "const sti_slot *sti_s, int64_t sti_begin, int64_t sti_end";
    sti_sink_format(out, "void STI_ISA_NAME(sti_%s)(%s);\n", sig->name, parameters);
    sti_sink_format(out, "void STI_ISA_NAME(sti_%s)(%s)\n{\n    (void)sti_s;\n", sig->name, parameters);
    sti_sink_format(out, "    for (int64_t sti_k = sti_begin; sti_k < sti_end; ++sti_k)\n        %s(", sig->name);
    write_arguments(out, sig);
    sti_sink_text(out, ");\n}\n\n");
}

const char sti_generate_slot[] =
    "struct sti_slot {\n    union {\n        void *p;\n        i64 i;\n        double f;\n    };\n"
    "    union {\n        i64 n;\n        struct {\n            unsigned bytes, teams;\n        } team;\n    };\n};\n";

static int count_slots(const sti_signature *sig)
{
    int n = 0;
    for (int i = 0; i < sig->nparam; ++i) n += !sig->param[i].index || strcmp(sig->param[i].name, STI_WATCH) == 0;
    return n;
}

void sti_generate_entry(const sti_sink *out, const sti_signature *sig, sti_form form)
{
    static const char bounds[] = "extern \"C\" __global__ void __launch_bounds__(STI_BOUNDS)";
    int n = count_slots(sig);
    if (form == STI_FORM_VALUE) {
        sti_sink_format(out, "struct sti_slots_%s {\n    sti_slot s[%d];\n};\n", sig->name, n > 0 ? n : 1);
        sti_sink_format(
            out, "%s sti_%s__value(sti_slots_%s sti_b, i64 sti_count)\n{\n    const sti_slot *sti_s = sti_b.s;\n",
            bounds, sig->name, sig->name);
    } else {
        sti_sink_format(out, "%s sti_%s__block(const sti_slot *sti_s, i64 sti_count)\n{\n", bounds, sig->name);
    }
    const char *number =
        sig->kind == STI_KERNEL_WORLD ? "(i64)blockIdx.x * blockDim.y + threadIdx.y" : "(i64)blockIdx.x";
    sti_sink_text(out, "    (void)sti_s;\n    sti_wait_for_others();\n");
    if (sti_team_slots(sig->param, sig->nparam)) {
        sti_sink_format(out,
                        "    const i64 sti_team = %s;\n    for (i64 sti_k = sti_team; sti_k < sti_count; sti_k += "
                        "(i64)gridDim.x * blockDim.y) {\n        %s(",
                        number, sig->name);
        write_arguments(out, sig);
        sti_sink_text(out, ");\n        sync(); /* before the next world overwrites the memory */\n    }\n}\n");
        return;
    }
    sti_sink_format(out, "    const i64 sti_k = %s;\n    if (sti_k >= sti_count) return;\n    %s(", number, sig->name);
    write_arguments(out, sig);
    sti_sink_text(out, ");\n}\n");
}

static void write_description(const sti_sink *out, const sti_signature *sig, const char *table)
{
    static const char *const tags[] = {
#define TAG(name, worlds, tag) #tag,
        STI_PARAM_TYPES(TAG)
#undef TAG
    };
    sti_sink_format(
        out, "#define X(isa, width, test_only) void sti_%s__##isa(const sti_slot *s, int64_t begin, int64_t end);\n",
        sig->name);
    sti_sink_text(out, "STI_ISAS(X)\n#undef X\n");
    sti_sink_format(out, "static const sti_param params_%s[] = {\n", sig->name);
    for (int i = 0; i < sig->nparam; ++i) {
        const sti_param *p = &sig->param[i];
        sti_sink_format(out, "    {\"%s\", STI_PARAM_%s, %d, %d, %d},\n", p->name, tags[p->type], p->pointer,
                        p->written, p->index);
    }
    sti_sink_format(out, "};\nconst sti_kernel sti_%s = {\n    \"%s\", %s, %d, params_%s, STI_FILE, %d,\n    {\n",
                    sig->name, sig->name, sig->kind == STI_KERNEL_WORLD ? "STI_KERNEL_WORLD" : "STI_KERNEL_ITEM",
                    sig->nparam, sig->name, sig->line);
    sti_sink_format(out,
                    "#define X(isa, width, test_only) STI_UNLESS_LEFT_OUT(isa, STI_UNIT, sti_%s__##isa),\n"
                    "        STI_ISAS(X)\n#undef X\n    },\n    "
                    "NULL,\n    %s,\n    %lluull,\n    NULL,\n    NULL,\n    NULL,\n};\n\n",
                    sig->name, table ? table : "NULL", (unsigned long long)sti_team_slots(sig->param, sig->nparam));
}

/* The name of a source of the library in kernel_sets.h; "all" of others. */
static void write_unit(const sti_sink *out, const char *name)
{
    static const char library[] = "src/";
    bool is_library = strncmp(name, library, sizeof library - 1) == 0;
    const char *unit = is_library ? name + sizeof library - 1 : "all";
    sti_sink_text(out, "#define STI_UNIT ");
    for (; *unit && *unit != '.'; ++unit) sti_sink_format(out, "%c", *unit == '/' ? '_' : *unit);
    sti_sink_text(out, "\n\n");
}

static void write_heading(const sti_sink *out, const char *before, const char *name)
{
    sti_sink_text(out, before);
    sti_sink_text(out, name);
    sti_sink_text(out, "\"\n\n");
}

int sti_generate_unit(const sti_sink *out, const char *text, const char *name, const char *table, char *message,
                      size_t message_size, int *line)
{
    sti_sink_text(out, "/* Made by kernelgen from ");
    sti_sink_text(out, name);
    sti_sink_text(out, ". */\n");
    for (int pass = 0; pass < 2; ++pass) {
        write_heading(out,
                      pass == 0
                          ? "#ifdef STI_ISA\n#include \"device/slot.h\"\n#include \""
                          : "#else\n#include \"kernel/kernel.h\"\n#include \"kernel_sets.h\"\n#define STI_FILE \"",
                      name);
        if (pass == 1) write_unit(out, name);
        if (pass == 1 && table) sti_sink_format(out, "extern const sti_embedded %s[];\n\n", table);
        size_t cursor = 0;
        sti_signature sig;
        int found;
        while ((found = sti_signature_next(text, &cursor, &sig, message, message_size)) > 0) {
            if (pass == 0)
                sti_generate_call(out, &sig);
            else
                write_description(out, &sig, table);
        }
        *line = sig.line;
        if (found < 0) return -1;
    }
    sti_sink_text(out, "#endif\n");
    return 0;
}
