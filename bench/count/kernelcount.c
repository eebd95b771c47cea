/*
 * kernelcount UNIT TABLE OUTPUT.c FOLDER...: writes the C of the kernels of a file such that it counts what it does
 * (counted.h), behind it the functions that a CPU device calls, and TABLE, which names them (count.h). FOLDER: where
 * the unit is searched, what it includes, and math.k.h: the language's sin, cos … as functions of a kernel.
 *
 * Operators and elements of arrays are counted in the tree that the checker makes, which knows their types; functions
 * of the language by counted.h.
 */
#include "base/error.h"
#include "base/memory.h"
#include "kernel/check/type.h"
#include "kernel/checked/rewrite.h"
#include "kernel/compile/generate.h"
#include "kernel/compile/user_source.h"

#include <stdio.h>
#include <string.h>

static bool is_real(const sti_node *e)
{
    if (!e || !e->type) return false;
    sti_type_kind kind = e->type->kind;
    return kind == STI_TYPE_REAL || kind == STI_TYPE_UREAL || kind == STI_TYPE_WREAL || kind == STI_TYPE_TREAL;
}

/* + - * / and comparisons, of which an operand is real; not those that compilers do. */
static bool is_operation(const sti_node *e)
{
    if (e->kind == STI_NODE_BINARY) return (is_real(e->a) || is_real(e->b)) && !sti_is_constant(e);
    return e->kind == STI_NODE_ASSIGN && e->op != STI_OP_ASSIGN && is_real(e->a);
}

/* What a pointer points to; where that is, counted.h looks when it runs. */
static bool is_element(const sti_node *e)
{
    if (e->type && e->type->kind == STI_TYPE_ARRAY) return false;
    if (e->kind == STI_NODE_INDEX) return e->a->type && e->a->type->kind != STI_TYPE_ARRAY;
    return e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL;
}

/* address: the nodes' addresses are taken, and nothing is read or written. */
static void count_list(sti_rewrite *w, sti_node *n, bool address)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_SHARED || n->kind == STI_NODE_SIZEOF || n->kind == STI_NODE_STRUCT ||
            n->kind == STI_NODE_TABLE)
            continue;
        bool operation = is_operation(n), element = is_element(n) && !address;
        count_list(w, n->a, n->kind == STI_NODE_UNARY && n->op == STI_OP_AND);
        if (n->kind != STI_NODE_VARIABLE) count_list(w, n->b, false); /* a variable's are constants */
        count_list(w, n->c, false);
        count_list(w, n->d, false);
        if (operation || element)
            sti_rewrite_replace(
                w, n,
                sti_rewrite_format(w, "%s(%s)", operation ? "STI_OPERATION" : "STI_ELEMENT", sti_rewrite_text(w, n)));
    }
}

/* The printed text with counted.h behind the language. */
static void put_text(FILE *out, const char *text)
{
    static const char language[] = "#include \"stet/lang.h\"\n";
    fprintf(out, "/* Made by kernelcount. */\n#include \"device/slot.h\"\n%s#include \"bench/count/counted.h\"\n%s",
            language, text + sizeof language - 1);
}

static void write_file(void *context, const char *text, size_t size) { fwrite(text, 1, size, context); }

static stet_result put_kernels(FILE *out, const sti_unit *unit, const char *table)
{
    sti_signature *kernel;
    int n;
    STI_TRY(sti_unit_kernels(unit, NULL, &kernel, &n));
    fputs("\n", out);
    for (int k = 0; k < n; ++k) sti_generate_call(&(sti_sink){write_file, out}, &kernel[k]);
    fprintf(out, "const bench_counted %s[] = {\n", table);
    for (int k = 0; k < n; ++k) fprintf(out, "    {\"%s\", STI_ISA_NAME(sti_%s)},\n", kernel[k].name, kernel[k].name);
    fputs("    {0},\n};\n", out);
    sti_free(kernel);
    return STET_OK;
}

static stet_result put_unit(FILE *out, const sti_user_source_def *source, const char *table)
{
    const sti_check_options options = {.lanes = 1};
    sti_unit *unit;
    char *text = NULL;
    stet_result result = sti_user_source_unit(source, &options, &unit);
    if (result == STET_OK) {
        sti_rewrite rewrite = {.u = unit};
        count_list(&rewrite, unit->top, false);
        if (unit->failed) result = sti_error(STET_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    if (result == STET_OK) result = sti_unit_print(unit, &text);
    if (result == STET_OK) {
        put_text(out, text);
        result = put_kernels(out, unit, table);
    }
    sti_free(text);
    sti_unit_destroy(unit);
    return result;
}

int main(int argc, char **argv)
{
    char text[2048];
    if (argc < 5) {
        fprintf(stderr, "usage: kernelcount UNIT TABLE OUTPUT.c FOLDER...\n");
        return 2;
    }
    snprintf(text, sizeof text, "#include \"math.k.h\"\n#include \"%s\"\n", argv[1]);
    FILE *out = fopen(argv[3], "wb");
    if (!out) {
        fprintf(stderr, "kernelcount: cannot open %s\n", argv[3]);
        return 1;
    }
    stet_result result = put_unit(
        out,
        &(sti_user_source_def){
            .text = text, .path = "kernelcount", .includes = (const char *const *)argv + 4, .ninclude = argc - 4},
        argv[2]);
    if (result != STET_OK) fprintf(stderr, "kernelcount: %s\n", stet_get_last_error());
    bool failed = ferror(out) || result != STET_OK;
    failed = fclose(out) != 0 || failed;
    if (failed) remove(argv[3]);
    return failed;
}
