/* Checking gradients by differences; see gradcheck.h. */
#include "adjoint/gradcheck/gradcheck.h"

#include "adjoint/transform/adjoint.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/compile/user_source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define GRADCHECK_COOKIE 0x67726164u

stet_gradcheck_def stet_default_gradcheck_def(void)
{
    return (stet_gradcheck_def){.cookie = GRADCHECK_COOKIE,
                                .number = 3,
                                .nitem = 32,
                                .nworld = 2,
                                .low = 0.1,
                                .high = 0.9,
                                .tolerance = 1e-5,
                                .seed = 1};
}

/* ---- one kernel -------------------------------------------------------------------------------------------------- */

static bool takes(const sti_signature *k, const char *parameter)
{
    for (int i = 0; i < k->nparam; ++i)
        if (strcmp(k->param[i].name, parameter) == 0) return true;
    return false;
}

static stet_result open_kernel(sti_checking *c, const sti_signature *k)
{
    const char *own[STI_GRADCHECK_MOST];
    stet_kernel_def def = stet_default_kernel_def();
    def.source = c->def->source;
    def.path = c->def->path;
    def.name = k->name;
    def.includes = c->def->includes;
    def.ninclude = c->def->ninclude;
    def.cache_folder = c->def->cache_folder;
    def.constant = own;
    for (int i = 0; i < c->def->nconstant && def.nconstant < STI_GRADCHECK_MOST; ++i)
        if (takes(k, c->def->constant[i])) own[def.nconstant++] = c->def->constant[i];
    STI_TRY(stet_kernel_create(c->device, &def, &c->kernel));
    return stet_kernel_get_adjoint(c->kernel, &c->adjoint);
}

static stet_result prepare(sti_checking *c, const sti_signature *k)
{
    c->name = k->name;
    c->items = k->kind == STI_KERNEL_ITEM;
    c->nloss = c->items ? 1 : c->def->nworld;
    STI_TRY(open_kernel(c, k));
    c->most = 1;
    if (stet_kernel_get_nparam(c->kernel) > STI_GRADCHECK_MOST)
        return sti_error(STET_ERROR_LIMIT, "kernel %s has more than %d parameters: its gradients are not checked",
                         k->name, STI_GRADCHECK_MOST);
    c->n = stet_kernel_get_nparam(c->kernel);
    for (int i = 0; i < c->n; ++i) STI_TRY(sti_subject_open(c, i));
    size_t n = (size_t)c->nloss;
    STI_TRY(sti_alloc(&c->there, n * sizeof *c->there, "sums of a check"));
    STI_TRY(sti_alloc(&c->loss, n * sizeof *c->loss, "sums of a check"));
    STI_TRY(sti_alloc(&c->size, n * sizeof *c->size, "sums of a check"));
    STI_TRY(sti_alloc(&c->sides, n * sizeof *c->sides, "differences of a check"));
    STI_TRY(sti_alloc(&c->closer, n * sizeof *c->closer, "differences of a check"));
    STI_TRY(sti_alloc(&c->start, (size_t)c->def->nworld * sizeof *c->start, "values of a check"));
    return sti_alloc(&c->room, (size_t)c->most * sizeof(double), "outputs of a check");
}

static void close_kernel(sti_checking *c)
{
    for (int i = 0; i < c->n; ++i) sti_subject_close(&c->s[i]);
    sti_free(c->there);
    sti_free(c->loss);
    sti_free(c->size);
    sti_free(c->sides);
    sti_free(c->closer);
    sti_free(c->start);
    sti_free(c->room);
    stet_kernel_destroy(c->kernel);
    sti_free(c);
}

static stet_result check_kernel(const stet_gradcheck_def *def, stet_device *device, const sti_signature *k,
                                stet_gradcheck_result *out)
{
    sti_checking *c;
    STI_TRY(sti_alloc(&c, sizeof *c, "a check of gradients"));
    c->def = def;
    c->out = out;
    c->device = device;
    c->random = def->seed;
    stet_result result = prepare(c, k);
    if (result == STET_OK) result = sti_gradcheck_compare(c);
    close_kernel(c);
    return result;
}

/* ---- a source ---------------------------------------------------------------------------------------------------- */

static stet_result open_device(stet_device **out)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.isa = "f64";
    def.threads = 1;
    def.checked = true; /* differences of elements beyond an array have no meaning */
    return stet_device_create(&def, out);
}

/* The kernels of a source. */
typedef struct kernels {
    sti_signature *k;
    int n;
} kernels;

static const char *path_of(const stet_gradcheck_def *def) { return def->path ? def->path : "kernel"; }

/* Lists the kernels of a source. Makes the adjoints of all that are checked, so that all mistakes are reported. */
static stet_result list_kernels(const stet_gradcheck_def *def, kernels *out)
{
    sti_check_options check = sti_default_check_options();
    const sti_adjoint_options options = {.constant = def->constant, .nconstant = def->nconstant, .kernel = def->kernel};
    sti_unit *unit = NULL;
    sti_adjoint adjoint = {0};
    check.real_double = true;
    check.lanes = 1;
    const sti_user_source_def source = {
        .text = def->source, .path = path_of(def), .includes = def->includes, .ninclude = def->ninclude};
    stet_result result = sti_user_source_unit(&source, &check, &unit);
    if (result == STET_OK) result = sti_unit_kernels(unit, NULL, &out->k, &out->n);
    if (result == STET_OK) result = sti_adjoint_make(unit, &options, &adjoint);
    sti_adjoint_free(&adjoint);
    sti_unit_destroy(unit);
    return result;
}

/* The name of the kernel whose adjoint `k` is; NULL: it is no adjoint. */
static const char *adjoint_of(const kernels *all, const sti_signature *k)
{
    size_t length = strlen(k->name);
    if (length < 5 || strcmp(k->name + length - 4, "_adj") != 0) return NULL;
    for (int i = 0; i < all->n; ++i)
        if (strlen(all->k[i].name) == length - 4 && strncmp(all->k[i].name, k->name, length - 4) == 0)
            return all->k[i].name;
    return NULL;
}

static stet_result refuse_names(const stet_gradcheck_def *def, const kernels *all)
{
    for (int i = 0; i < all->n; ++i) {
        const char *of = adjoint_of(all, &all->k[i]);
        if (!def->kernel && !of) return STET_OK;
        if (!def->kernel || strcmp(all->k[i].name, def->kernel) != 0) continue;
        if (!of) return STET_OK;
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %s is the adjoint of %s: check the gradients of that",
                         path_of(def), def->kernel, of);
    }
    return sti_error(STET_ERROR_NOT_FOUND, "%s: has no kernel %s", path_of(def), def->kernel ? def->kernel : "at all");
}

static stet_result check_each(const stet_gradcheck_def *def, const sti_signature *const *chosen, int n,
                              stet_gradcheck_result *out)
{
    stet_device *device;
    STI_TRY(sti_gradcheck_names(def, chosen, n));
    STI_TRY(open_device(&device));
    stet_result result = STET_OK;
    for (int i = 0; i < n && result == STET_OK; ++i) result = check_kernel(def, device, chosen[i], out);
    stet_device_destroy(device);
    return result;
}

static stet_result check_kernels(const stet_gradcheck_def *def, const kernels *all, stet_gradcheck_result *out)
{
    const sti_signature **chosen;
    int n = 0;
    STI_TRY(refuse_names(def, all));
    STI_TRY(sti_alloc(&chosen, (size_t)all->n * sizeof(const sti_signature *), "kernels to check"));
    for (int i = 0; i < all->n; ++i)
        if (def->kernel ? strcmp(all->k[i].name, def->kernel) == 0 : !adjoint_of(all, &all->k[i]))
            chosen[n++] = &all->k[i];
    stet_result result = check_each(def, chosen, n, out);
    sti_free(chosen);
    return result;
}

static stet_result check_def(const stet_gradcheck_def *def, const stet_gradcheck_result *out)
{
    if (!def || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: def and out must not be NULL");
    if (def->cookie != GRADCHECK_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: start from stet_default_gradcheck_def()");
    if (!def->source && !def->path)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_gradcheck: neither a source nor a path is given");
    if (def->nworld < 1 || def->nitem < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_gradcheck: over %d worlds of arrays of %" PRId64 " items; give at least 1", def->nworld,
                         def->nitem);
    if (!(def->tolerance > 0 && isfinite(def->tolerance)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_gradcheck: the tolerance is %g: give a finite number above 0", def->tolerance);
    if (!(isfinite(def->low) && isfinite(def->high) && def->low <= def->high))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_gradcheck: reals from %g to %g: give finite numbers, the lower one first", def->low,
                         def->high);
    return STET_OK;
}

stet_result stet_gradcheck(const stet_gradcheck_def *def, stet_gradcheck_result *out)
{
    kernels all = {0};
    STI_TRY(check_def(def, out));
    *out = (stet_gradcheck_result){0};
    stet_result result = list_kernels(def, &all);
    if (result == STET_OK) result = check_kernels(def, &all, out);
    sti_free(all.k);
    return result;
}
