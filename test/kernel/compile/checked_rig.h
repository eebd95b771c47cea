/*
 * Kernels of a few lines in checked mode, each with the fault that it has: one source for all, run on the device that
 * the run is about, or on a CPU at all widths.
 */
#ifndef TEST_KERNEL_CHECKED_RIG_H
#define TEST_KERNEL_CHECKED_RIG_H

#include "device/picked.h"

#include "kernel/user_rig.h"

enum { WORLDS = 21, NX = 4, NZ = 3, NW = 40, NT = 5, ARGS = 7 };

typedef struct fault_case {
    const char *body;
    const char *
        /*
         * a part of it; NULL: there is no fault. %w stands for the worlds of block 0; with ! before it nothing else is
         * written
         */
        sentence;
} fault_case;

static const char before[] =
    "#include <stet/lang.h>\n"
    "typedef struct pair { int n; int at[3]; real v; } pair;\n"
    "static const int table[4] = {1, 2, 3, 4};\n"
    "LFN real pick(const real *a, int i) { return a[i]; }\n"
    "LFN void fill(real *a, int i) { a[i] = splat(1); }\n"
    "LFN int down(const int *a, int n) { int s = 0; for (int i = 0; i < n; ++i) s += a[i]; return s; }\n"
    "LFN void through(pair *p, int i) { p->at[i] = 1; }\n"
    "typedef struct both { const real *x; real *y; int n; } both;\n"
    "LFN void copy(both b, int i) { put(b.y, i, b.x[b.n - i]); }\n";
static const char world_head[] =
    "world_kernel void k_world(const real *x, real *y, lint *z, ureal *w, const int *t, int n, i64 far, int world)\n"
    "{\n";
static const char world_tail[] =
    "\nif (n == -77) { put(y, 0, x[0]); z[0] = isplat(world); w[0] = (ureal)(t[0] + (int)far); }\n}\n";
static const char item_head[] =
    "item_kernel void k_item(const wreal *x, ureal *y, int *z, ureal *w, const int *t, int n, i64 far, int block)\n"
    "{\n";
static const char item_tail[] =
    "\nif (n == -77) { y[0] = of_world(x, 1, 0, 0); z[0] = block; w[0] = (ureal)(t[0] + (int)far); }\n}\n";

/* ---- the arrays -------------------------------------------------------------------------------------------------- */

typedef struct rig {
    stet_device *device;
    stet_array *array[5]; /* x y z w t */
    stet_arg arg[ARGS];
} rig;

static inline stet_device *open_checked(int isa, bool checked)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.isa = isa < STI_ISA_COUNT ? sti_isa_name((sti_isa)isa) : NULL;
    def.threads = 2;
    def.checked = checked;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    return device;
}

/* Every width of a CPU, or the device that the run is about. */
static inline int first_isa(void) { return picked_any() ? STI_ISA_COUNT : 0; }
#define FOR_DEVICES(isa)                                                                                               \
    for (int isa = first_isa(); isa < STI_ISA_COUNT + picked_any(); ++isa)                                             \
        if (isa == STI_ISA_COUNT || sti_isa_available((sti_isa)isa))

static inline void write_array(stet_array *a, int seed)
{
    int64_t n = stet_array_get_nelement(a);
    size_t each = a->dtype == STET_DTYPE_REAL ? a->device->real_size : sizeof(int);
    char *bytes = calloc((size_t)n, each);
    for (int64_t i = 0; i < n; ++i) {
        double value = a->dtype == STET_DTYPE_REAL ? (double)((i * 37 + seed) % 11) / 8 : seed;
        if (a->dtype == STET_DTYPE_INT)
            ((int *)(void *)bytes)[i] = seed < 0 ? (int)i : seed;
        else if (each == 8)
            ((double *)(void *)bytes)[i] = value;
        else
            ((float *)(void *)bytes)[i] = (float)value;
    }
    if (a->dtype == STET_DTYPE_INT && a->worlds) ((int *)(void *)bytes)[3 * NZ] = 50;
    OK(stet_array_write(a, bytes, (size_t)n * each));
    free(bytes);
}

static inline void reset_rig(const rig *r)
{
    for (int i = 0; i < 5; ++i) write_array(r->array[i], i == 4 ? -1 : i == 2 ? 1 : i);
}

static inline rig open_rig(int isa, bool checked, bool world_kind)
{
    rig r = {.device = open_checked(isa, checked)};
    OK(STI_ARRAY(r.device, "x", STET_DTYPE_REAL, true, &r.array[0], WORLDS, NX));
    if (world_kind) {
        OK(STI_ARRAY(r.device, "y", STET_DTYPE_REAL, true, &r.array[1], WORLDS, NX));
        OK(STI_ARRAY(r.device, "z", STET_DTYPE_INT, true, &r.array[2], WORLDS, NZ));
    } else {
        OK(STI_ARRAY(r.device, "y", STET_DTYPE_REAL, false, &r.array[1], WORLDS * NX));
        OK(STI_ARRAY(r.device, "z", STET_DTYPE_INT, false, &r.array[2], WORLDS * NZ));
    }
    OK(STI_ARRAY(r.device, "w", STET_DTYPE_REAL, false, &r.array[3], NW));
    OK(STI_ARRAY(r.device, "t", STET_DTYPE_INT, false, &r.array[4], NT));
    for (int i = 0; i < 5; ++i) r.arg[i] = stet_arg_array(r.array[i]);
    reset_rig(&r);
    r.arg[5] = stet_arg_int(6);
    r.arg[6] = stet_arg_int(1ll << 40);
    return r;
}

static inline void close_rig(rig *r)
{
    for (int i = 0; i < 5; ++i) stet_array_destroy(r->array[i]);
    stet_device_destroy(r->device);
}

static inline uint64_t hash_all(const rig *r)
{
    uint64_t all = 0;
    for (int i = 0; i < 5; ++i) {
        uint64_t one;
        OK(stet_array_hash(r->array[i], &one));
        all = all * 31 + one;
    }
    return all;
}

/* One source with all cases, each a kernel of its own, so that the compiler is asked once a device. */
static inline char *source_of(const fault_case *cases, int n, bool world_kind)
{
    size_t size = 400000;
    char *text = malloc(size);
    size_t used = (size_t)snprintf(text, size, "#define NW 40\n%s", before);
    for (int i = 0; i < n; ++i) {
        char head[256];
        (void)snprintf(head, sizeof head, "%s", world_kind ? world_head : item_head);
        char *name = strchr(head, '('), number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        used += (size_t)snprintf(text + used, size - used, "%.*s%s%s%s%s", (int)(name - head), head, number, name,
                                 cases[i].body, world_kind ? world_tail : item_tail);
    }
    assert_true(used < size);
    return text;
}

/* The sentence with the worlds of the first block in the place of %w. */
static inline void fill_in(const char *sentence, int lanes, char *out, size_t size)
{
    const char *at = strstr(sentence, "%w");
    char worlds[64] = "world 0";
    if (lanes > 1) (void)snprintf(worlds, sizeof worlds, "worlds 0 to %d", lanes - 1);
    (void)snprintf(out, size, "%.*s%s%s", at ? (int)(at - sentence) : (int)strlen(sentence), sentence, at ? worlds : "",
                   at ? at + 2 : "");
}

static inline void check_case_on(rig *r, const stet_kernel_def *def, const fault_case *c)
{
    char wanted[512], file[64];
    stet_kernel *k = make_kernel(r->device, def);
    int lanes = stet_device_get_lanes(r->device);
    reset_rig(r);
    uint64_t had = hash_all(r);
    stet_result result = stet_kernel_launch(k, WORLDS, r->arg, ARGS);
    const char *said = result == STET_OK ? "" : stet_get_last_error();
    if ((result == STET_OK) != !c->sentence || (result != STET_OK && result != STET_ERROR_FAULT))
        fail_msg("%s (%s): %s", c->body, stet_device_get_name(r->device), said);
    if (c->sentence) {
        fill_in(c->sentence + (c->sentence[0] == '!'), lanes, wanted, sizeof wanted);
        (void)snprintf(file, sizeof file, "kernel %s: k.h:", def->name);
        bool named = strncmp(said, file, strlen(file)) == 0;
        if (!named || !strstr(said, wanted))
            fail_msg("%s (%s):\n%s\n-- wanted:\n%s", c->body, stet_device_get_name(r->device), said, wanted);
    }
    /* Where all that it does is a fault, nothing has changed. */
    if (c->sentence && c->sentence[0] == '!' && hash_all(r) != had)
        fail_msg("%s (%s): something was written", c->body, stet_device_get_name(r->device));
    stet_kernel_destroy(k);
}

static inline void check_all(const fault_case *cases, int n, bool world_kind)
{
    char *text = source_of(cases, n, world_kind);
    FOR_DEVICES(isa)
    {
        rig r = open_rig(isa, true, world_kind);
        stet_kernel_def def = kernel_def(text);
        def.path = "k.h";
        for (int i = 0; i < n; ++i) {
            char name[32];
            (void)snprintf(name, sizeof name, "%s%d", world_kind ? "k_world" : "k_item", i);
            def.name = name;
            check_case_on(&r, &def, &cases[i]);
        }
        close_rig(&r);
    }
    free(text);
}

#endif
