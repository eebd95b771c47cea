/*
 * All kernels of the library compile for GPUs, wherever a run-time compiler is installed; no GPU is needed. What the
 * machine code must have for equal bits is looked up in it where its format says it. Kernels become text of the oldest
 * of NVIDIA's architectures, which a driver would go on from, and but for those of the two largest units code of one;
 * with the argument "*_for_amd" (which tests run) code of one of AMD's. In part (test/base/part.h) one program in two
 * becomes text, one in three code. With "all" all do, for all architectures that are named below.
 */
#include "bench/pilot/pilot.h"
#include "device/rig.h"

#include "base/memory.h"
#include "base/part.h"
#include "device/cpu/threads.h"
#include "kernel/checked/checked.h"
#include "kernel/gpu/compile.h"
#include "kernel/gpu/fused_text.h"
#include "kernel/gpu/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OF_CODE = 3, OF_TEXTS = 2 }; /* in part one program in so many */
static bool everything;             /* "all" was said */
/* The unit is compiled; else one of the two that take longest is left out: native physics, pictures. */
static bool physics, pictures;

/* NVRTC's or hipRTC's; the test is skipped, with a sentence, where there is none. */
static void need_compiler(stet_device_type type, sti_rtc *out)
{
    if (sti_rtc_open(type, NULL, 0, out) == STET_OK) return;
    print_message("skipped: %s\n", stet_get_last_error());
    skip();
}

/* One program: a unit's kernels with one team. */
typedef struct piece {
    sti_user_source source;
    sti_text_buffer object;
    sti_team team;
    stet_result result;
    char said[1024];
    const char *name;
} piece;

typedef struct pieces {
    piece *piece;
    int n;
} pieces;

static void add_piece(pieces *all, const sti_embedded *unit, const sti_signature *kernels, int n, sti_team team,
                      unsigned forms)
{
    const sti_signature *chosen[64];
    int nchosen = 0;
    bool shares = sti_gpu_unit_shares(unit);
    for (int i = 0; i < n && nchosen < 64; ++i) {
        sti_team t = sti_team_choose(unit->text, kernels[i].name, kernels[i].kind, shares);
        if (t.team == team.team && t.teams == team.teams) chosen[nchosen++] = &kernels[i];
    }
    all->piece = realloc(all->piece, (size_t)(all->n + 1) * sizeof *all->piece);
    assert_non_null(all->piece);
    piece *p = &all->piece[all->n++];
    memset(p, 0, sizeof *p);
    p->team = team;
    p->name = unit->name;
    OK(sti_gpu_unit_read(unit, "", &p->source));
    OK(sti_gpu_finish(&p->source, chosen, nchosen, forms));
}

/* The units of the library, then the pilots. */
static const sti_embedded *next_unit(const sti_embedded *unit)
{
    const sti_embedded *next = unit ? sti_gpu_unit_next(unit) : sti_gpu_unit_first(sti_kernel_sources);
    if (!next && unit->table == sti_kernel_sources) next = sti_gpu_unit_first(sti_pilot_sources);
    bool left_out = next && ((!physics && (strcmp(next->name, "physics/native.k.h") == 0 ||
                                           strcmp(next->name, "physics/stages.k.h") == 0)) ||
                             (!pictures && strcmp(next->name, "render/render.k.h") == 0));
    return left_out ? next_unit(next) : next;
}

/* One program in `step`, by the run's seed. */
static void leave_part(pieces *all, int64_t step)
{
    test_part part = choose_part(step);
    int kept = 0;
    for (int i = 0; i < all->n; ++i) {
        if ((i + 1 - part.first) % part.step == 0)
            all->piece[kept++] = all->piece[i];
        else
            sti_user_source_free(&all->piece[i].source);
    }
    all->n = kept;
    assert_true(kept > 0);
}

/* The programs of all units, as a device makes them. */
static pieces every_unit(unsigned forms)
{
    pieces all = {0};
    for (const sti_embedded *u = next_unit(NULL); u; u = next_unit(u)) {
        sti_signature *kernels;
        int n, first = all.n;
        OK(sti_gpu_unit_kernels(u, &kernels, &n));
        assert_true(n > 0);
        for (int i = 0; i < n; ++i) {
            sti_team t = sti_team_choose(u->text, kernels[i].name, kernels[i].kind, sti_gpu_unit_shares(u));
            bool there = false;
            for (int k = first; k < all.n; ++k)
                there |= all.piece[k].team.team == t.team && all.piece[k].team.teams == t.teams;
            if (!there) add_piece(&all, u, kernels, n, t, forms);
        }
        sti_free(kernels);
    }
    return all;
}

static void free_pieces(pieces *all)
{
    for (int i = 0; i < all->n; ++i) {
        sti_user_source_free(&all->piece[i].source);
        sti_text_buffer_free(&all->piece[i].object);
    }
    free(all->piece);
}

typedef struct compiling {
    const sti_rtc *rtc;
    const sti_compile_target *target;
    const char *arch;
    piece *piece;
} compiling;

static void compile_some(void *context, int64_t begin, int64_t end, int thread)
{
    const compiling *c = context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        piece *p = &c->piece[i];
        sti_text_buffer_free(&p->object);
        p->result = sti_gpu_compile(&(sti_gpu_program){c->rtc, c->target, c->arch, p->team, &p->source}, &p->object);
        (void)snprintf(p->said, sizeof p->said, "%s", stet_get_last_error());
    }
}

/* Compiles them all, several at the same time where the compiler can; each must become code. */
static void compile_pieces(const sti_rtc *rtc, const char *arch, pieces *all)
{
    sti_compile_target target;
    OK(sti_rtc_target(rtc, arch, &target));
    compiling c = {rtc, &target, arch, all->piece};
    sti_loop_run(&(sti_loop_def){.f = compile_some,
                                 .context = &c,
                                 .n = all->n,
                                 .chunk = 1,
                                 .threads = rtc->parallel ? 2 : 1,
                                 .seconds = (double)INFINITY});
    for (int i = 0; i < all->n; ++i) {
        const piece *p = &all->piece[i];
        if (p->result != STET_OK) fail_msg("%s for %s: %s", p->name, arch, p->said);
        assert_true(p->object.size > 64);
    }
}

static bool has(const sti_text_buffer *object, const char *text)
{
    for (size_t i = 0, n = strlen(text); i + n <= object->size; ++i)
        if (memcmp(object->data + i, text, n) == 0) return true;
    return false;
}

/* The program of a unit with a team; NULL: it is not in this part. */
static const piece *find_piece(const pieces *all, const sti_embedded *unit, sti_team team)
{
    for (const piece *p = all->piece; p < all->piece + all->n; ++p)
        if (p->name == unit->name && p->team.team == team.team && p->team.teams == team.teams) return p;
    return NULL;
}

/* Each kernel of each unit has its entry in its program. */
static void has_every_entry(const pieces *all, const char *form)
{
    int found = 0, wanted = 0;
    for (const sti_embedded *u = next_unit(NULL); u; u = next_unit(u)) {
        sti_signature *kernels;
        int n;
        OK(sti_gpu_unit_kernels(u, &kernels, &n));
        for (int i = 0; i < n; ++i) {
            char symbol[2 * STI_MAX_NAME];
            sti_team t = sti_team_choose(u->text, kernels[i].name, kernels[i].kind, sti_gpu_unit_shares(u));
            const piece *p = find_piece(all, u, t);
            if (!p) assert_true(in_part());
            if (!p) continue;
            (void)snprintf(symbol, sizeof symbol, "sti_%s__%s", kernels[i].name, form);
            bool there = has(&p->object, symbol);
            if (!there) print_error("%s of %s is not in its module\n", symbol, u->name);
            found += there;
            wanted++;
        }
        sti_free(kernels);
    }
    assert_true(wanted >= all->n);
    assert_int_equal(found, wanted);
}

static bool knows(const sti_rtc *rtc, int arch)
{
    for (int i = 0; i < rtc->narch; ++i)
        if (rtc->arch[i] == arch) return true;
    return false;
}

/* code: a compiler that knows the architecture makes code of it, and else text. */
static void entries_compile_for_nvidia(const sti_rtc *rtc, const char *arch, int form, bool code)
{
    pieces all = every_unit(1u << form);
    leave_part(&all, code || form == STI_FORM_BLOCK ? OF_CODE : OF_TEXTS);
    compile_pieces(rtc, arch, &all);
    has_every_entry(&all, form == STI_FORM_BLOCK ? "block" : "value");
    for (int k = 0; k < all.n; ++k) assert_int_equal(memcmp(all.piece[k].object.data, "\177ELF", 4) == 0, code);
    free_pieces(&all);
}

static void every_kernel_compiles_for_nvidia(void **state)
{
    static const int ours[] = {90}, more[] = {75, 80, 90, 100};
    const int *archs = everything ? more : ours;
    size_t narch = everything ? sizeof more / sizeof *more : sizeof ours / sizeof *ours;
    sti_rtc rtc;
    int done = 0;
    need_compiler(STET_DEVICE_CUDA, &rtc);
    physics = pictures = everything;
    for (size_t i = 0; i < narch; ++i) {
        char arch[16];
        if (!knows(&rtc, archs[i])) continue;
        (void)snprintf(arch, sizeof arch, "sm_%d", archs[i]);
        entries_compile_for_nvidia(&rtc, arch, STI_FORM_VALUE, true);
        done++;
    }
    assert_true(done > 0);
    if (everything) entries_compile_for_nvidia(&rtc, "sm_90", STI_FORM_BLOCK, true);
    sti_rtc_close(&rtc);
}

/* For a device that a compiler of the oldest architecture does not know. To become code is most of the time. */
static void every_kernel_becomes_text_for_nvidia(void **state)
{
    sti_rtc rtc, oldest;
    need_compiler(STET_DEVICE_CUDA, &rtc);
    oldest = rtc;
    oldest.narch = 1;
    physics = pictures = true;
    entries_compile_for_nvidia(&oldest, "sm_999", STI_FORM_VALUE, false);
    physics = pictures = everything;
    entries_compile_for_nvidia(&oldest, "sm_999", STI_FORM_BLOCK, false);
    sti_rtc_close(&rtc);
}

/* ---- AMD --------------------------------------------------------------------------------------------------------- */

static uint64_t word(const char *at, int bytes)
{
    uint64_t x = 0;
    memcpy(&x, at, (size_t)bytes);
    return x;
}

/*
 * Kernel descriptors of a code object (LLVM, "User Guide for AMDGPU Backend", kernel descriptor): compute_pgm_rsrc1 is
 * at byte 48, its bits 12 to 15 the rounding (0: to nearest), 16 and 17 denormals of float (3: kept). At byte 4 are the
 * bytes of a thread's own memory, which is none with `lean`. Returns how many it has.
 */
static int check_descriptors(const sti_text_buffer *object, bool lean)
{
    const char *elf = object->data;
    assert_memory_equal(elf, "\177ELF\2\1", 6);
    const char *sections = elf + word(elf + 40, 8);
    int nsection = (int)word(elf + 60, 2), n = 0;
    for (int i = 0; i < nsection; ++i) {
        const char *table = sections + 64 * i;
        if (word(table + 4, 4) != 11) continue; /* dynamic symbols */
        const char *names = elf + word(sections + 64 * word(table + 40, 4) + 24, 8);
        for (uint64_t s = 0; s < word(table + 32, 8) / 24; ++s) {
            const char *symbol = elf + word(table + 24, 8) + 24 * s, *name = names + word(symbol, 4);
            size_t length = strlen(name);
            if (length < 3 || strcmp(name + length - 3, ".kd") != 0) continue;
            const char *home = sections + 64 * word(symbol + 6, 2);
            const char *descriptor = elf + word(home + 24, 8) + (word(symbol + 8, 8) - word(home + 16, 8));
            uint32_t mode = (uint32_t)word(descriptor + 48, 4);
            assert_int_equal(mode >> 12 & 15, 0);
            assert_int_equal(mode >> 16 & 3, 3);
            if (lean) assert_int_equal(word(descriptor + 4, 4), 0);
            n++;
        }
    }
    return n;
}

static void every_kernel_compiles_for_amd(void **state)
{
    static const char *const archs[] = {"gfx90a", "gfx1030"};
    sti_rtc rtc;
    need_compiler(STET_DEVICE_HIP, &rtc);
    physics = pictures = true;
    pieces all = every_unit(1u << STI_FORM_VALUE);
    leave_part(&all, OF_CODE);
    for (int i = 0; i < (everything ? 2 : 1); ++i) {
        int modes = 0;
        compile_pieces(&rtc, archs[i], &all);
        has_every_entry(&all, "value");
        for (int k = 0; k < all.n; ++k) modes += check_descriptors(&all.piece[k].object, false);
        assert_true(modes >= all.n);
    }
    free_pieces(&all);
    sti_rtc_close(&rtc);
}

/* ---- fused code -------------------------------------------------------------------------------------------------- */

extern const sti_kernel sti_k_spring_way, sti_k_spring_length, sti_k_spring_direction, sti_k_spring_rate,
    sti_k_spring_tension, sti_k_mass_weight, sti_k_mass_pull, sti_k_mass_contact, sti_k_mass_velocity,
    sti_k_mass_position, sti_k_forward;

/* Half a step of the springs, a copy, and a kernel of another file, in a text that is compiled with these teams. */
static pieces fused_pieces(void)
{
    static const sti_kernel *const kernel[] = {&sti_k_spring_way,    &sti_k_spring_length,  &sti_k_spring_direction,
                                               &sti_k_spring_rate,   &sti_k_spring_tension, &sti_k_mass_weight,
                                               &sti_k_mass_pull,     &sti_k_mass_contact,   &sti_k_mass_velocity,
                                               &sti_k_mass_position, &sti_k_forward};
    static const sti_team team[] = {{32, 4}, {64, 1}, {256, 1}};
    enum { KERNELS = sizeof kernel / sizeof *kernel, TEAMS = sizeof team / sizeof *team };
    sti_phase phase[KERNELS + 1];
    sti_fused_head head = {.text = {0}};
    pieces all = {.piece = calloc(TEAMS, sizeof *all.piece)};
    assert_non_null(all.piece);
    for (int i = 0; i < KERNELS; ++i) phase[i] = (sti_phase){kernel[i], sti_kernel_narg(kernel[i])};
    phase[KERNELS] = (sti_phase){NULL, 2};
    OK(sti_fused_head_read(&head));
    for (; all.n < TEAMS; ++all.n) {
        piece *p = &all.piece[all.n];
        *p = (piece){.team = team[all.n], .name = "fused code"};
        OK(sti_fused_write(&head, phase, KERNELS + 1, 3, 1024, p->name, "sti_fused__value", &p->source));
    }
    sti_fused_head_free(&head);
    return all;
}

/*
 * Arguments are read where the launch puts them, whatever the time over: a copy of them would be a thread's local
 * memory.
 */
static void fused_code_compiles_for_nvidia(void **state)
{
    sti_rtc rtc;
    need_compiler(STET_DEVICE_CUDA, &rtc);
    pieces all = fused_pieces();
    compile_pieces(&rtc, "sm_90", &all);
    for (int i = 0; i < all.n; ++i) assert_true(has(&all.piece[i].object, "sti_fused__value"));
    compile_pieces(&rtc, "sm_999", &all); /* as text */
    for (int i = 0; i < all.n; ++i) {
        assert_true(has(&all.piece[i].object, ".visible .entry sti_fused__value"));
        assert_false(has(&all.piece[i].object, "__local_depot"));
        assert_false(has(&all.piece[i].object, "ld.global.nc")); /* what one phase writes the next one reads */
    }
    free_pieces(&all);
    sti_rtc_close(&rtc);
}

static void fused_code_compiles_for_amd(void **state)
{
    sti_rtc rtc;
    need_compiler(STET_DEVICE_HIP, &rtc);
    pieces all = fused_pieces();
    compile_pieces(&rtc, "gfx90a", &all);
    for (int i = 0; i < all.n; ++i) {
        assert_true(has(&all.piece[i].object, "sti_fused__value"));
        assert_int_equal(check_descriptors(&all.piece[i].object, true), 1);
    }
    free_pieces(&all);
    sti_rtc_close(&rtc);
}

/* ---- checked mode ------------------------------------------------------------------------------------------------ */

static const char *const own_sources[] = {
    "#include \"stet/lang.h\"\n"
    "typedef struct pair { int n; int at[3]; real v; } pair;\n"
    "static const int table[4] = {1, 2, 3, 4};\n"
    "LFN real pick(const real *a, int i) { return a[i]; }\n"
    "world_kernel void k_own(const real *x, real *y, lint *z, const ureal *w, const int *t, int n, i64 far, int "
    "world)\n"
    "{\n    pair q[2];\n    real v[3];\n    shared(real, s, 8);\n    staged(int, g, t, 5);\n"
    "    const real *p = n > 3 ? x + 1 : x;\n"
    "    each (i, 8) s[i] = splat(1);\n    sync();\n"
    "    each (i, n) put(y, i, p[i] + s[i] + pick(x, i * n));\n"
    "    q[n].at[n] = g[n] + table[n] / (n - 3);\n    v[n] = x[far * far];\n    z[n] += isplat(q[n].at[2] % n);\n"
    "    if (n == 7) put(y, 0, gather(w, z[0]) + to_real(igather(t, z[1])) + v[0]);\n}\n",
    "#include \"stet/lang.h\"\n"
    "item_kernel void k_own(const wreal *x, ureal *y, int *z, int n, i64 far, int block)\n"
    "{\n    for (int k = 0; k < n; ++k) y[k] = of_world(x, n, block, k);\n"
    "    items (p, n * n) store_if(in_range(p, n * n), y + p + far, load(y + p));\n"
    "    items (p, n) istore(z + p, iload(z + p) + isplat(n / (n - block)));\n}\n",
};

/*
 * Kernels as a device in checked mode compiles them, with their entries; `out` has nothing that the reading of the
 * source holds.
 */
static piece checked_piece(const char *text, sti_team team)
{
    piece p = {.team = team, .name = "a checked kernel"};
    sti_check_options options = sti_default_check_options();
    const sti_user_source_def def = {.text = text, .path = "own.k.h", .gpu = true};
    sti_user_source own;
    sti_checked *checked = NULL;
    options.gpu = true;
    options.lanes = 1;
    OK(sti_user_source_read(&def, &own));
    OK(sti_user_source_check(&own, &options));
    OK(sti_checked_make(&own, &options, true, &p.source, &checked));
    assert_true(checked->sites.nsite > 3);
    assert_non_null(strstr(p.source.text.data, "sti_watch_open"));
    const sti_signature *kernel = &p.source.kernel[0];
    OK(sti_gpu_finish(&p.source, &kernel, 1, STI_FORMS_BOTH));
    sti_user_source_free(&own);
    sti_sites_free(&checked->sites);
    sti_free(checked->file);
    sti_free(checked);
    return p;
}

static pieces checked_pieces(void)
{
    pieces all = {.piece = calloc(2, sizeof *all.piece)};
    assert_non_null(all.piece);
    while (all.n < 2) {
        all.piece[all.n] = checked_piece(own_sources[all.n], (sti_team){32, 4});
        all.n++;
    }
    return all;
}

static void compile_checked(stet_device_type type, const char *const *arch, int narch)
{
    sti_rtc rtc;
    need_compiler(type, &rtc);
    pieces all = checked_pieces();
    for (int i = 0; i < narch; ++i) {
        if (type == STET_DEVICE_CUDA && !knows(&rtc, atoi(arch[i] + 3))) continue;
        compile_pieces(&rtc, arch[i], &all);
        for (int k = 0; k < all.n; ++k) assert_true(has(&all.piece[k].object, "sti_k_own__value"));
    }
    free_pieces(&all);
    sti_rtc_close(&rtc);
}

static void checked_kernels_compile_for_nvidia(void **state)
{
    compile_checked(STET_DEVICE_CUDA, (const char *const[]){"sm_75", "sm_90"}, 2);
}

static void checked_kernels_compile_for_amd(void **state)
{
    compile_checked(STET_DEVICE_HIP, (const char *const[]){"gfx90a"}, 1);
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* One self-contained text: what it includes of others stands in the branch for CPUs. */
static void no_header_of_a_vendor_is_needed(void **state)
{
    pieces all = every_unit(STI_FORMS_BOTH);
    assert_true(all.n >= 8);
    for (int i = 0; i < all.n; ++i) {
        const char *text = all.piece[i].source.text.data;
        for (const char *at = text; (at = strstr(at, "#include")); at += 8)
            if (strncmp(at, "#include <immintrin.h>", 22) != 0 && strncmp(at, "#include <emmintrin.h>", 22) != 0)
                fail_msg("%s: %.60s", all.piece[i].name, at);
        assert_non_null(strstr(text, "extern \"C\" __global__"));
    }
    free_pieces(&all);
}

/* The key tells what the code depends on, and is the same for the same. */
static void the_key_has_what_makes_the_code(void **state)
{
    sti_rtc rtc = {.major = 13, .minor = 0, .bytes = 1000}, other = {.major = 13, .minor = 0, .bytes = 1001};
    sti_compile_target target = {.option = "--gpu-architecture=sm_90"},
                       further = {.option = "--gpu-architecture=compute_90", .further = true};
    pieces all = every_unit(1u << STI_FORM_VALUE), block = every_unit(1u << STI_FORM_BLOCK);
    const sti_gpu_program base = {&rtc, &target, "sm_90", {32, 4}, &all.piece[0].source};
    sti_gpu_program p[7] = {base, base, base, base, base, base, base};
    p[1].rtc = &other;
    p[2].target = &further;
    p[3].arch = "sm_91";
    p[4].team.teams = 2;
    p[5].team.team = 16;
    p[6].source = &block.piece[0].source;
    sti_text_buffer key[7] = {0}, again = {0};
    for (int i = 0; i < 7; ++i) OK(sti_gpu_key(&p[i], NULL, 0, &key[i]));
    OK(sti_gpu_key(&base, NULL, 0, &again));
    assert_string_equal(again.data, key[0].data);
    for (int i = 0; i < 7; ++i)
        for (int k = 0; k < i; ++k) assert_string_not_equal(key[i].data, key[k].data);
    assert_non_null(strstr(key[0].data, "compiler nvrtc 13.0, 1000 bytes\n"));
    for (int i = 0; i < 7; ++i) sti_text_buffer_free(&key[i]);
    sti_text_buffer_free(&again);
    free_pieces(&all);
    free_pieces(&block);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static char logged[1024];
static void keep_log(stet_log_level level, const char *text, void *context)
{
    (void)level;
    (void)context;
    (void)snprintf(logged, sizeof logged, "%s", text);
}

/* KF 1: nothing is fixed to one major version; a compiler beyond the driver's is taken, and that is said. */
static void kf01_a_driver_older_than_the_compiler(void **state)
{
    sti_rtc any, old;
    need_compiler(STET_DEVICE_CUDA, &any);
    stet_set_log(keep_log, NULL);
    logged[0] = 0;
    OK(sti_rtc_open(STET_DEVICE_CUDA, any.library.file, any.major * 1000 + 90, &old));
    assert_string_equal(logged, "");
    sti_rtc_close(&old);
    OK(sti_rtc_open(STET_DEVICE_CUDA, NULL, (any.major - 1) * 1000 + 40, &old));
    if (old.major == any.major) /* no older one is installed */
        assert_non_null(strstr(logged, "is newer than the driver"));
    else
        assert_true(old.major < any.major);
    sti_rtc_close(&old);
    sti_rtc_close(&any);
    stet_set_log(NULL, NULL);
}

/* ---- architectures ----------------------------------------------------------------------------------------------- */

static void an_architecture_that_the_compiler_does_not_know(void **state)
{
    sti_rtc rtc = {.major = 13, .minor = 0, .narch = 3, .arch = {75, 80, 90}};
    sti_compile_target t;
    OK(sti_rtc_target(&rtc, "sm_90", &t));
    assert_string_equal(t.option, "--gpu-architecture=sm_90");
    assert_false(t.further);
    OK(sti_rtc_target(&rtc, "sm_120", &t)); /* the driver goes on from there */
    assert_string_equal(t.option, "--gpu-architecture=compute_90");
    assert_true(t.further);
    OK(sti_rtc_target(&rtc, "sm_86", &t));
    assert_string_equal(t.option, "--gpu-architecture=compute_80");
    FAILS(sti_rtc_target(&rtc, "sm_70", &t), STET_ERROR_UNSUPPORTED, "does not compile for sm_70");
    FAILS(sti_rtc_target(&rtc, "gfx90a", &t), STET_ERROR_UNSUPPORTED, "does not compile for gfx90a");
    rtc.hip = true;
    OK(sti_rtc_target(&rtc, "gfx90a:sramecc+:xnack-", &t));
    assert_string_equal(t.option, "--offload-arch=gfx90a:sramecc+:xnack-");
}

int main(int argc, char **argv)
{
    everything = argc > 1 && strcmp(argv[1], "all") == 0;
    if (!everything && argc > 1)
        cmocka_set_test_filter(argv[1]);
    else if (!everything)
        cmocka_set_skip_filter("*_for_amd");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_compiles_for_nvidia),
        cmocka_unit_test(every_kernel_becomes_text_for_nvidia),
        cmocka_unit_test(every_kernel_compiles_for_amd),
        cmocka_unit_test(fused_code_compiles_for_nvidia),
        cmocka_unit_test(fused_code_compiles_for_amd),
        cmocka_unit_test(checked_kernels_compile_for_nvidia),
        cmocka_unit_test(checked_kernels_compile_for_amd),
        cmocka_unit_test(no_header_of_a_vendor_is_needed),
        cmocka_unit_test(the_key_has_what_makes_the_code),
        cmocka_unit_test(kf01_a_driver_older_than_the_compiler),
        cmocka_unit_test(an_architecture_that_the_compiler_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
