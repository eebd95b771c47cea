/*
 * The random program's own kernels: made, launched over the worlds' fields one by one or as lists, destroyed. The
 * twin's cache of compiled kernels is off only now and then, as is the subject's audit of it: compiling takes long.
 */
#include "sim/program/program.h"

#include "kernel/checked/checked.h"
#include "kernel/record/record.h"
#include "stet/kernel.h"

enum { MOST_ITEMS_MIRRORED = 64, MOST_LISTED = 4 };

/* Two sources of several kernels, so that each instruction set has few entries in the cache. */
static const char *const sources[] = {
    "#include <stet/lang.h>\n"
    "world_kernel void k_mix(const real *x, real *y, ureal a, int nx, int ny)\n"
    "{\n    each (i, ny) put(y, i, fma(splat(a), x[i % nx], y[i]));\n}\n"
    "world_kernel void k_even(real *y, int n, int world)\n"
    "{\n    lint w = isplat(world) + lane();\n"
    "    each (i, n) put(y, i, select(ieq(w & isplat(1), isplat(0)), y[i] * splat(0.5f), y[i]));\n}\n",
    "#include <stet/lang.h>\n"
    "#define MOST 64\n"
    "LFN int mirrored(int i, int n) { return n - 1 - i; }\n"
    "world_kernel void k_mirror(real *y, int n)\n"
    "{\n    shared(real, row, MOST);\n    each (i, n) row[i] = y[i];\n    sync();\n"
    "    each (i, n) put(y, i, row[mirrored(i, n)] * splat(0.75f));\n}\n"
    "item_kernel void k_count(const wreal *x, int *above, ureal limit, int n, int block)\n"
    "{\n    int count = 0;\n    for (int i = 0; i < n; ++i)\n"
    "        if (of_world(x, n, block, i) > limit) count = count + 1;\n"
    "    each (one, 1) above[block] = count;\n}\n",
};

typedef enum which { MIX, EVEN, MIRROR, COUNT, KINDS } which;
static const struct {
    const char *name;
    int source;
} kinds[KINDS] = {{"k_mix", 0}, {"k_even", 0}, {"k_mirror", 1}, {"k_count", 1}};

/* ---- making and destroying --------------------------------------------------------------------------------------- */

/* With the mechanisms as they are, except that most of the time nothing is compiled that was compiled before. */
static void make(program *p, int who, which kind, stet_kernel **out)
{
    static char folder[1024];
    stet_device *device = device_of(p, who);
    const stet_mechanism_options as_it_was = device->mechanisms.options;
    stet_mechanism_options options = as_it_was;
    stet_kernel_def def = stet_default_kernel_def();
    (void)snprintf(folder, sizeof folder, "%s/program_kernels", STET_TEST_BINARY_DIR);
    def.source = sources[kinds[kind].source];
    def.name = kinds[kind].name;
    def.cache_folder = folder;
    if (!once_in(p, 25)) {
        options.audit = false;
        options.disabled &= ~(1u << STET_MECHANISM_KERNEL_CACHE);
    }
    must(p, who, stet_device_set_mechanisms(device, &options), "stet_device_set_mechanisms");
    must(p, who, stet_kernel_create(device, &def, out), "stet_kernel_create");
    must(p, who, stet_device_set_mechanisms(device, &as_it_was), "stet_device_set_mechanisms");
}

static void drop(program *p, int k)
{
    for (int i = 0; i < 2; ++i) stet_kernel_destroy(p->kernel[k].kernel[i]);
    p->kernel[k] = p->kernel[--p->nkernel];
}

void drop_kernels(program *p)
{
    while (p->nkernel) drop(p, 0);
    for (int i = 0; i < 2; ++i) {
        stet_array_destroy(p->above[i]);
        p->above[i] = NULL;
    }
}

void op_kernel_make(program *p)
{
    if (p->nkernel == MOST_KERNELS) drop(p, roll(p, MOST_KERNELS));
    kernel_pair *pair = &p->kernel[p->nkernel++];
    pair->which = roll(p, KINDS);
    say(p, "make kernel %s", kinds[pair->which].name);
    for (int i = 0; i < 2; ++i) make(p, i, (which)pair->which, &pair->kernel[i]);
    if (p->above[SUBJECT]) return;
    if (once_in(p, 2)) {
        for (int i = 0; i < 2; ++i) borrow(p, i, p->nworld, &p->above[i]);
        return;
    }
    stet_array_def def = stet_default_array_def();
    def.name = "above";
    def.dtype = STET_DTYPE_INT;
    def.ndim = 1;
    def.shape[0] = p->nworld;
    BOTH(p, stet_array_create(device_of(p, i), &def, &p->above[i]));
}

void op_kernel_drop(program *p)
{
    if (!p->nkernel) return;
    say(p, "destroy a kernel");
    drop(p, roll(p, p->nkernel));
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* A launch with all that both need for it. Not `possible`: fields without items, or one field twice. */
typedef struct planned {
    bool possible;
    int pair, narg;
    const char *field;
    stet_arg arg[2][5];
} planned;

static planned plan(program *p)
{
    planned l = {.pair = roll(p, p->nkernel)};
    stet_array *x[2], *y[2];
    int kind = p->kernel[l.pair].which;
    l.field = pick_field(p, kind != COUNT, y);
    const char *other = pick_field(p, false, x);
    int64_t n = y[SUBJECT]->nitem, m = x[SUBJECT]->nitem;
    double a = 0.25 * (double)(roll(p, 5) - 2);
    l.possible =
        n > 0 && (kind != MIX || (m > 0 && x[SUBJECT] != y[SUBJECT])) && (kind != MIRROR || n <= MOST_ITEMS_MIRRORED);
    say(p, "%s of %s", kinds[kind].name, l.field);
    if (kind == MIX) say(p, " and %s, %g", other, a);
    for (int i = 0; i < 2; ++i) {
        const stet_arg mix[] = {stet_arg_array(x[i]), stet_arg_array(y[i]), stet_arg_real(a), stet_arg_int(m),
                                stet_arg_int(n)};
        const stet_arg alone[] = {stet_arg_array(y[i]), stet_arg_int(n)};
        const stet_arg count[] = {stet_arg_array(y[i]), stet_arg_array(p->above[i]), stet_arg_real(a), stet_arg_int(n)};
        l.narg = kind == MIX ? 5 : kind == COUNT ? 4 : 2;
        memcpy(l.arg[i], kind == MIX ? mix : kind == COUNT ? count : alone, (size_t)l.narg * sizeof(stet_arg));
    }
    return l;
}

static stet_result launch(program *p, int who, const planned *l)
{
    return stet_kernel_launch(p->kernel[l->pair].kernel[who], p->nworld, l->arg[who], l->narg);
}

static void compare_above(program *p)
{
    int count[2][8];
    for (int i = 0; i < 2; ++i) fetch(p, i, p->above[i], once_in(p, 2), count[i]);
    same_bytes(p, count[SUBJECT], count[TWIN], (size_t)p->nworld * sizeof(int), "numbers of items above a limit");
}

void op_kernel_launch(program *p)
{
    if (!p->nkernel) op_kernel_make(p);
    say(p, "; launch ");
    planned l = plan(p);
    if (!l.possible) return;
    BOTH(p, launch(p, i, &l));
    if (p->kernel[l.pair].which == COUNT) compare_above(p);
}

/*
 * The subject's launch may fail: then nothing has happened, and it is done again. In checked mode the call that fails
 * may be the one that asks for faults: then the launch ran, its record is still to be looked at, and it is not done
 * again.
 */
void faulty_launch(program *p)
{
    if (!p->nkernel) op_kernel_make(p);
    say(p, "; launch ");
    planned l = plan(p);
    if (!l.possible) return;
    uint64_t before = stet_array_get_generation(p->above[SUBJECT]);
    faults_begin(p);
    stet_result result = launch(p, SUBJECT, &l);
    bool failed = faults_end(p, result), ran = failed && device_of(p, SUBJECT)->unread_faults;
    if (ran) {
        must(p, SUBJECT, sti_checked_read_faults(device_of(p, SUBJECT)), "the look that failed, again");
        CHECK(p, !device_of(p, SUBJECT)->unread_faults, "a kernel that was looked at waits for it");
    } else if (failed) {
        CHECK(p, stet_array_get_generation(p->above[SUBJECT]) == before, "a failed launch left a new generation");
        must(p, SUBJECT, launch(p, SUBJECT, &l), "the launch that failed, again");
    }
    must(p, TWIN, launch(p, TWIN, &l), "stet_kernel_launch");
    if (p->kernel[l.pair].which == COUNT) compare_above(p);
}

/*
 * A list that comes back: a recording of it, from the second time on. Not in strict mode: poses that are made between
 * launches that read them split a list, which is a fallback.
 */
void op_kernel_list(program *p)
{
    planned l[MOST_LISTED];
    int n = 0, times = 1 + roll(p, 3);
    const stet_mechanism_options as_it_was = device_of(p, SUBJECT)->mechanisms.options;
    stet_mechanism_options options = as_it_was;
    options.strict = false;
    if (!p->nkernel) op_kernel_make(p);
    say(p, "; %d times the list", times);
    for (int k = 1 + roll(p, MOST_LISTED); k > 0; --k) {
        say(p, ", ");
        l[n] = plan(p);
        n += l[n].possible;
    }
    must(p, SUBJECT, stet_device_set_mechanisms(device_of(p, SUBJECT), &options), "stet_device_set_mechanisms");
    for (int t = 0; t < times; ++t)
        for (int i = 0; i < 2; ++i) {
            stet_result result = STET_OK;
            must(p, i, sti_record_begin(device_of(p, i), "the program's list"), "sti_record_begin");
            for (int k = 0; k < n && result == STET_OK; ++k) result = launch(p, i, &l[k]);
            must(p, i, sti_record_end(device_of(p, i), result), "sti_record_end");
        }
    must(p, SUBJECT, stet_device_set_mechanisms(device_of(p, SUBJECT), &as_it_was), "stet_device_set_mechanisms");
    compare_above(p);
}
