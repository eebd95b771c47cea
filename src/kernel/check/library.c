/* The language's words and functions; see library.h. */
#include "kernel/check/library.h"

#include "kernel/check/library.inl"
#include "kernel/check/type.h"

#include <stddef.h>
#include <string.h>

static sti_name *name_of(sti_unit *u, const char *text) { return sti_unit_name(u, text, strlen(text)); }

static bool fill_words(sti_unit *u)
{
    static const struct {
        const char *text;
        sti_word word;
        const char *advice;
    } words[] = {
#define WORD(word, tag) {#word, STI_WORD_##tag, NULL},
        STI_TYPE_WORDS(WORD) STI_WORDS(WORD)
#undef WORD
#define REFUSED(word, advice) {#word, STI_WORD_REFUSED, advice},
            STI_REFUSED_WORDS(REFUSED)
#undef REFUSED
#define CPP(word) {#word, STI_WORD_REFUSED, "GPUs compile C++, which keeps it for itself; choose another name"},
                STI_CPP_WORDS(CPP)
#undef CPP
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        sti_name *n = name_of(u, words[i].text);
        if (!n) return false;
        n->word = words[i].word;
        n->advice = words[i].advice;
    }
    return true;
}

static sti_symbol *new_symbol(sti_unit *u, sti_symbol_kind kind, const char *name)
{
    sti_symbol *s = sti_unit_alloc(u, sizeof *s);
    sti_name *n = s ? name_of(u, name) : NULL;
    if (!n) return NULL;
    s->kind = kind;
    s->name = n;
    return s;
}

static bool fill_settings(sti_unit *u)
{
    const sti_check_options *o = &u->options;
    const struct {
        const char *name;
        int value;
    } settings[] = {
        {"STET_W", o->lanes}, {"STET_B", o->lanes},
        {"STET_GPU", o->gpu}, {"STET_DOUBLE", o->real_double},
        {"STET_PERMUTE", 0},  {"STET_WIDE", o->lanes == 1 ? 4 : 1},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) {
        sti_symbol *s = new_symbol(u, STI_SYMBOL_SETTING, settings[i].name);
        if (!s) return false;
        s->type = sti_type_basic(STI_TYPE_INT, false);
        s->value = settings[i].value;
        s->name->symbol = s;
    }
    return true;
}

/* Reads the type at *p, up to a comma or parenthesis: "const ureal *". */
static const sti_type *read_type(sti_unit *u, const char **p)
{
    static const struct {
        const char *text;
        sti_type_kind kind;
    } types[] = {
#define TYPE(word, tag) {#word, STI_TYPE_##tag},
        STI_TYPE_WORDS(TYPE)
#undef TYPE
    };
    while (**p == ' ') ++*p;
    bool is_const = strncmp(*p, "const ", 6) == 0;
    if (is_const) *p += 6;
    size_t n = strcspn(*p, " ,)");
    const sti_type *t = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strlen(types[i].text) == n && strncmp(*p, types[i].text, n) == 0)
            t = sti_type_basic(types[i].kind, is_const);
    *p += n;
    while (**p == ' ') ++*p;
    if (**p == '*') {
        ++*p;
        t = sti_type_pointer(u, t);
    }
    return t;
}

/* Reads parameters from the table's text, "(mask, real, real)". */
static bool read_parameters(sti_unit *u, sti_symbol *f, const char *text)
{
    sti_symbol **at = &f->parameter;
    if (strcmp(text, "(void)") == 0) return true;
    for (const char *p = text; *p != ')';) {
        ++p; /* ( or , */
        sti_symbol *s = sti_unit_alloc(u, sizeof *s);
        const sti_type *t = s ? read_type(u, &p) : NULL;
        if (!t) return false;
        s->kind = STI_SYMBOL_PARAMETER;
        s->type = t;
        s->written = t->kind == STI_TYPE_POINTER && !t->of->is_const;
        *at = s;
        at = &s->next;
        f->nparameter++;
    }
    return true;
}

static bool whole_team(const char *name)
{
    static const char *const names[] = {
#define NAME(name) #name,
        STI_LIBRARY_TEAM(NAME)
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool fill_functions(sti_unit *u)
{
    static const struct {
        sti_type_kind result;
        const char *name, *parameters, *twin;
    } functions[] = {
#define RESULT_real STI_TYPE_REAL
#define RESULT_lint STI_TYPE_LINT
#define RESULT_mask STI_TYPE_MASK
#define RESULT_sti_bits STI_TYPE_BITS
#define RESULT_ureal STI_TYPE_UREAL
#define RESULT_int STI_TYPE_INT
#define RESULT_i64 STI_TYPE_I64
#define RESULT_void STI_TYPE_VOID
#define FUNCTION(result, name, inner, parameters, twin) {RESULT_##result, #name, #parameters, twin},
        STI_LIBRARY_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        sti_symbol *f = new_symbol(u, STI_SYMBOL_LIBRARY, functions[i].name);
        if (!f || !read_parameters(u, f, functions[i].parameters)) return false;
        f->type = sti_type_basic(functions[i].result, false);
        f->twin = *functions[i].twin ? functions[i].twin : NULL;
        f->team = whole_team(functions[i].name);
        f->name->symbol = f;
    }
    sti_symbol *of_world = new_symbol(u, STI_SYMBOL_LIBRARY, "of_world"); /* typing.c handles it separately */
    if (!of_world) return false;
    of_world->name->symbol = of_world;
    return true;
}

bool sti_library_fill(sti_unit *u) { return fill_words(u) && fill_settings(u) && fill_functions(u); }

const char *sti_library_hint(const char *name)
{
    static const char *const hints[][2] = {
#define HINT(name, instead) {#name, instead},
        STI_LIBRARY_HINTS(HINT)
#undef HINT
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; ++i)
        if (strcmp(hints[i][0], name) == 0) return hints[i][1];
    return NULL;
}
