/* Types; see type.h. */
#include "kernel/check/type.h"

#include <stdio.h>
#include <string.h>

const sti_type *sti_type_basic(sti_type_kind kind, bool is_const)
{
    static const sti_type basic[][2] = {
#define BASIC(word, tag) {{.kind = STI_TYPE_##tag}, {.kind = STI_TYPE_##tag, .is_const = true}},
        STI_TYPE_WORDS(BASIC)
#undef BASIC
            {{.kind = STI_TYPE_DOUBLE}, {.kind = STI_TYPE_DOUBLE, .is_const = true}},
    };
    return &basic[kind][is_const];
}

const sti_type *sti_type_structure(sti_structure *s, bool is_const) { return &s->type[is_const]; }

static const sti_type *derived(sti_unit *u, sti_type_kind kind, const sti_type *of, int64_t count)
{
    sti_type *t = of ? sti_unit_alloc(u, sizeof *t) : NULL;
    if (t) *t = (sti_type){.kind = kind, .of = of, .count = count};
    return t;
}

const sti_type *sti_type_pointer(sti_unit *u, const sti_type *of) { return derived(u, STI_TYPE_POINTER, of, 0); }

const sti_type *sti_type_array(sti_unit *u, const sti_type *of, int64_t count)
{
    return derived(u, STI_TYPE_ARRAY, of, count);
}

const sti_type *sti_type_value(const sti_type *t)
{
    if (!t || !t->is_const) return t;
    return t->kind == STI_TYPE_STRUCT ? &t->structure->type[0] : sti_type_basic(t->kind, false);
}

const sti_type *sti_type_decay(sti_unit *u, const sti_type *t)
{
    if (t && t->kind == STI_TYPE_ARRAY) return sti_type_pointer(u, t->of);
    return sti_type_value(t);
}

bool sti_type_whole(const sti_type *t)
{
    return t->kind == STI_TYPE_LINT || t->kind == STI_TYPE_MASK || t->kind == STI_TYPE_BITS;
}

bool sti_type_lanes(const sti_type *t) { return t->kind == STI_TYPE_REAL || sti_type_whole(t); }

bool sti_type_integer(const sti_type *t)
{
    switch (t->kind) {
    case STI_TYPE_WINT:
    case STI_TYPE_INT:
    case STI_TYPE_I64:
    case STI_TYPE_U64:
    case STI_TYPE_U32:
    case STI_TYPE_U16:
    case STI_TYPE_U8: return true;
    default: return false;
    }
}

bool sti_type_plain(const sti_type *t)
{
    return sti_type_integer(t) || t->kind == STI_TYPE_UREAL || t->kind == STI_TYPE_WREAL || t->kind == STI_TYPE_DOUBLE;
}

bool sti_type_points(const sti_type *t) { return t->kind == STI_TYPE_POINTER || t->kind == STI_TYPE_ARRAY; }

bool sti_is_bundle(const sti_type *t)
{
    if (t->kind != STI_TYPE_STRUCT) return false;
    for (const sti_symbol *f = t->structure->field; f; f = f->next)
        if (f->type->kind == STI_TYPE_POINTER) return true;
    return false;
}

const sti_type *sti_type_team_element(const sti_type *t)
{
    switch (t->kind) {
    case STI_TYPE_TREAL: return sti_type_basic(STI_TYPE_REAL, false);
    case STI_TYPE_TLINT: return sti_type_basic(STI_TYPE_LINT, false);
    case STI_TYPE_TINT: return sti_type_basic(STI_TYPE_INT, false);
    default: return NULL;
    }
}

bool sti_type_same(const sti_type *a, const sti_type *b, bool exactly)
{
    for (;;) {
        if (a->kind != b->kind || a->structure != b->structure || (exactly && a->is_const != b->is_const)) return false;
        if (!a->of) return true;
        if (a->count != b->count) return false;
        a = a->of;
        b = b->of;
    }
}

/* Rank in C's order of conversions. Types smaller than int become int. */
static int rank(sti_type_kind kind)
{
    switch (kind) {
    case STI_TYPE_DOUBLE: return 5;
    case STI_TYPE_UREAL:
    case STI_TYPE_WREAL: return 4;
    case STI_TYPE_U64: return 3;
    case STI_TYPE_I64: return 2;
    case STI_TYPE_U32: return 1;
    default: return 0;
    }
}

const sti_type *sti_type_common(const sti_type *a, const sti_type *b)
{
    static const sti_type_kind kinds[] = {STI_TYPE_INT, STI_TYPE_U32,   STI_TYPE_I64,
                                          STI_TYPE_U64, STI_TYPE_UREAL, STI_TYPE_DOUBLE};
    int ra = rank(a->kind), rb = rank(b->kind);
    return sti_type_basic(kinds[ra > rb ? ra : rb], false);
}

static bool structure_size(const sti_unit *u, const sti_structure *s, int64_t *out)
{
    int64_t end = 0, align = 1;
    for (const sti_symbol *f = s->field; f; f = f->next) {
        const sti_type *element = f->type;
        int64_t size, each;
        while (element->kind == STI_TYPE_ARRAY) element = element->of;
        if (element->kind == STI_TYPE_STRUCT) return false; /* structures inside of structures are not supported here */
        if (!sti_type_size(u, f->type, &size) || !sti_type_size(u, element, &each) || each == 0) return false;
        end = (end + each - 1) / each * each + size;
        if (each > align) align = each;
    }
    *out = (end + align - 1) / align * align;
    return true;
}

bool sti_type_size(const sti_unit *u, const sti_type *t, int64_t *out)
{
    switch (t->kind) {
    case STI_TYPE_UREAL:
    case STI_TYPE_WREAL: *out = u->options.real_double ? 8 : 4; return true;
    case STI_TYPE_INT:
    case STI_TYPE_WINT:
    case STI_TYPE_U32: *out = 4; return true;
    case STI_TYPE_I64:
    case STI_TYPE_U64:
    case STI_TYPE_POINTER: *out = 8; return true;
    case STI_TYPE_U16: *out = 2; return true;
    case STI_TYPE_U8: *out = 1; return true;
    case STI_TYPE_ARRAY:
        if (!sti_type_size(u, t->of, out) || *out > INT32_MAX) return false;
        *out *= t->count;
        return true;
    case STI_TYPE_STRUCT: return structure_size(u, t->structure, out);
    default: return false;
    }
}

/* For types that are no pointer or array. */
static const char *word_of(const sti_type *t)
{
    switch (t->kind) {
#define WORD(word, tag)                                                                                                \
    case STI_TYPE_##tag: return #word;
        STI_TYPE_WORDS(WORD)
#undef WORD
    case STI_TYPE_DOUBLE: return "double";
    default: return t->structure->name->text;
    }
}

void sti_type_text(const sti_type *t, char *out, size_t size)
{
    char sizes[64] = "", pointer[8] = "";
    size_t n = 0;
    bool within = false; /* a pointer to an array: real (*)[3] */
    for (; t->of; t = t->of) {
        if (t->kind == STI_TYPE_POINTER) {
            within = t->of->kind == STI_TYPE_ARRAY;
            (void)snprintf(pointer, sizeof pointer, within ? " (*)" : " *");
        } else if (n + 24 < sizeof sizes) {
            n += (size_t)snprintf(sizes + n, sizeof sizes - n, "%s[%lld]", n == 0 && !within ? " " : "",
                                  (long long)t->count);
        }
    }
    (void)snprintf(out, size, "%s%s%s%s", t->is_const ? "const " : "", word_of(t), pointer, sizes);
}
