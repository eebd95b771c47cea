/*
 * What the tests of adjoints share: a source's adjoint as a text, or why there is none; a source's gradients against
 * differences.
 */
#ifndef TEST_ADJOINT_RIG_H
#define TEST_ADJOINT_RIG_H

#include "kernel/user_rig.h"

#include "adjoint/transform/adjoint.h"
#include "stet/adjoint.h"

#define SOURCE(body) "#include \"stet/lang.h\"\n" body

/* The unit holds what the adjoint's kernels point to. */
typedef struct made {
    sti_unit *unit;
    sti_adjoint adjoint;
} made;

static inline stet_result make_adjoint(const char *source, const sti_adjoint_options *options, made *out)
{
    sti_check_options check = sti_default_check_options();
    OK(sti_check_source(source, "k", &check, &out->unit));
    return sti_adjoint_make(out->unit, options, &out->adjoint);
}

static inline void free_made(made *m)
{
    sti_adjoint_free(&m->adjoint);
    sti_unit_destroy(m->unit);
}

/* The adjoint is a source of the language, too. */
static inline void check_again(const char *text)
{
    sti_check_options check = sti_default_check_options();
    sti_unit *unit;
    if (sti_check_source(text, "adjoint", &check, &unit) != STET_OK) fail_msg("%s\n%s", stet_get_last_error(), text);
    sti_unit_destroy(unit);
}

static inline stet_gradcheck_def gradcheck_def(const char *source)
{
    stet_gradcheck_def def = stet_default_gradcheck_def();
    def.source = source;
    def.nitem = 12;
    def.cache_folder = in_folder("cache");
    return def;
}

/* Whether a kernel of the source has this parameter. */
static inline bool has_parameter(const char *source, const char *name)
{
    size_t length = strlen(name);
    for (const char *kernel = source; (kernel = strstr(kernel, "_kernel void")) != NULL; ++kernel) {
        const char *end = kernel + strcspn(kernel, ")");
        for (const char *at = kernel; (at = strstr(at, name)) != NULL && at < end; ++at)
            if (strchr(" *", at[-1]) && strchr(",)", at[length])) return true;
    }
    return false;
}

/* Leaves out values of parameters that the source does not have; at most 16. */
static inline void known_values(stet_gradcheck_def *def, stet_gradcheck_value *known)
{
    int n = 0;
    for (int i = 0; i < def->nvalue; ++i)
        if (!def->source || has_parameter(def->source, def->value[i].name)) known[n++] = def->value[i];
    def->value = known;
    def->nvalue = n;
}

/* All gradients are right, and there are at least `least` that are not 0 by differences. */
static inline void gradients_are_right(const stet_gradcheck_def *def, int64_t least)
{
    stet_gradcheck_result r;
    stet_gradcheck_def own = *def;
    stet_gradcheck_value known[16];
    known_values(&own, known);
    if (stet_gradcheck(&own, &r) != STET_OK) fail_msg("%s", stet_get_last_error());
    if (r.wrong > 0)
        fail_msg("%lld of %lld gradients are wrong: %s", (long long)r.wrong, (long long)r.compared, r.where);
    if (r.unfit > 0) fail_msg("%lld gradients could not be compared: %s", (long long)r.unfit, r.where);
    if (r.moving < least) fail_msg("only %lld gradients are not 0", (long long)r.moving);
}

/* Indices and counts of the tests: some loops have no trip. */
static const int64_t rig_counts[] = {0, 2, 1, 3, 0, 1, 2, 3, 1, 0, 2, 1};
#define RIG_COUNTS                                                                                                     \
    {                                                                                                                  \
        .name = "count", .nitem = 12, .value = rig_counts                                                              \
    }

/* The adjoint of the def's source keeps the language's rules, and its gradients are right. */
static inline void source_is_right(const stet_gradcheck_def *def, int64_t least)
{
    made m;
    OK(make_adjoint(def->source, NULL, &m));
    check_again(m.adjoint.text.data);
    free_made(&m);
    gradients_are_right(def, least);
}

/*
 * With what the sources of a file are checked. `nitem`, `nworld`: 0 is gradcheck_def's; `value`: those that a source
 * has no parameter for are left out.
 */
typedef struct rig_set_up {
    int nitem, nworld, nvalue;
    stet_gradcheck_value value[4];
} rig_set_up;

static inline void source_is_right_with(const rig_set_up *s, const char *source, int64_t least)
{
    stet_gradcheck_def def = gradcheck_def(source);
    if (s->nitem) def.nitem = s->nitem;
    if (s->nworld) def.nworld = s->nworld;
    def.value = s->value;
    def.nvalue = s->nvalue;
    source_is_right(&def, least);
}

/* A test of one source, with the file's `set_up`. */
#define FORM(name, least, body)                                                                                        \
    static void name(void **state) { source_is_right_with(&set_up, SOURCE(body), least); }

#endif
