/*
 * kernelgen INPUT.k.h NAME OUTPUT.c: for each kernel of INPUT, a function that the CPU device can call, and a description.
 * NAME is the file's name as the project knows it, "src/stage/stage.k.h"; OUTPUT includes it by that name.
 *
 * OUTPUT is compiled once for each instruction set with STI_ISA and STET_W set (the callable functions), and once
 * without STI_ISA (the descriptions, which name those functions).
 */
#include "kernel/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity + 1);
    for (size_t n; text && (n = fread(text + size, 1, capacity - size, f)) > 0;) {
        size += n;
        if (size == capacity) text = realloc(text, (capacity *= 2) + 1);
    }
    fclose(f);
    if (text) text[size] = 0;
    return text;
}

/* The expression that passes slot k as parameter p. */
static void write_argument(FILE *out, const sti_param *p, int slot, bool world)
{
    const char *type = sti_param_type_name(p->type);
    if (p->index) {
        fprintf(out, world ? "(int)(k * STET_W)" : "(int)k");
    } else if (p->pointer && sti_param_type_worlds(p->type) && world) {
        fprintf(out, "(%s *)s[%d].p + k * s[%d].n", type, slot, slot);
    } else if (p->pointer) {
        fprintf(out, "(%s *)s[%d].p", type, slot);
    } else {
        fprintf(out, p->type == STI_PARAM_UREAL ? "(%s)s[%d].f" : "(%s)s[%d].i", type, slot);
    }
}

static void write_call(FILE *out, const sti_signature *sig)
{
    fprintf(out, "void STI_ISA_NAME(sti_%s)(const sti_slot *s, int64_t begin, int64_t end);\n", sig->name);
    fprintf(out, "void STI_ISA_NAME(sti_%s)(const sti_slot *s, int64_t begin, int64_t end)\n{\n", sig->name);
    fprintf(out, "    (void)s;\n    for (int64_t k = begin; k < end; ++k)\n        %s(", sig->name);
    for (int i = 0, slot = 0; i < sig->nparam; ++i) {
        if (i) fprintf(out, ", ");
        write_argument(out, &sig->param[i], slot, sig->kind == STI_KERNEL_WORLD);
        slot += !sig->param[i].index;
    }
    fprintf(out, ");\n}\n\n");
}

static void write_description(FILE *out, const sti_signature *sig)
{
    static const char *const tags[] = {
#define TAG(name, worlds, tag) #tag,
        STI_PARAM_TYPES(TAG)
#undef TAG
    };
    fprintf(out,
            "#define X(isa, width, test_only) void sti_%s__##isa(const sti_slot *s, int64_t begin, int64_t end);\n",
            sig->name);
    fprintf(out, "STI_ISAS(X)\n#undef X\n");
    fprintf(out, "static const sti_param params_%s[] = {\n", sig->name);
    for (int i = 0; i < sig->nparam; ++i) {
        const sti_param *p = &sig->param[i];
        fprintf(out, "    {\"%s\", STI_PARAM_%s, %d, %d, %d},\n", p->name, tags[p->type], p->pointer, p->written,
                p->index);
    }
    fprintf(out, "};\nconst sti_kernel sti_%s = {\n    \"%s\", %s, %d, params_%s, STI_FILE, %d,\n    {\n", sig->name,
            sig->name, sig->kind == STI_KERNEL_WORLD ? "STI_KERNEL_WORLD" : "STI_KERNEL_ITEM", sig->nparam, sig->name,
            sig->line);
    fprintf(out, "#define X(isa, width, test_only) sti_%s__##isa,\n        STI_ISAS(X)\n#undef X\n    },\n};\n\n",
            sig->name);
}

static int generate(const char *text, const char *name, FILE *out)
{
    fprintf(out, "/* Made by kernelgen from %s. */\n", name);
    for (int pass = 0; pass < 2; ++pass) {
        fprintf(out,
                pass == 0 ? "#ifdef STI_ISA\n#include \"device/slot.h\"\n#include \"%s\"\n\n"
                          : "#else\n#include \"kernel/kernel.h\"\n#define STI_FILE \"%s\"\n\n",
                name);
        size_t cursor = 0;
        sti_signature sig;
        char message[512];
        int found;
        while ((found = sti_signature_next(text, &cursor, &sig, message, sizeof message)) > 0) {
            if (pass == 0)
                write_call(out, &sig);
            else
                write_description(out, &sig);
        }
        if (found < 0) {
            fprintf(stderr, "%s:%d: %s\n", name, sig.line, message);
            return 1;
        }
    }
    fprintf(out, "#endif\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: kernelgen INPUT.k.h NAME OUTPUT.c\n");
        return 2;
    }
    char *text = read_file(argv[1]);
    FILE *out = text ? fopen(argv[3], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "kernelgen: cannot open %s\n", text ? argv[3] : argv[1]);
        free(text);
        return 1;
    }
    int result = generate(text, argv[2], out);
    if (fclose(out) != 0) result = 1;
    if (result) remove(argv[3]);
    free(text);
    return result;
}
