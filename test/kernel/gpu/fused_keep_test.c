/*
 * Code of several kernels in one: what it is made from, how long it stands, and what is refused.
 */
#include "fused_rig.h"

#include "base/memory.h"
#include "kernel/gpu/fused_text.h"
#include "kernel/gpu/programs.h"

extern const sti_kernel sti_k_newton, sti_k_pilot_rays, sti_k_mass_contact, sti_k_mass_velocity, sti_k_mass_position,
    sti_k_spring_way;

/* ---- what goes --------------------------------------------------------------------------------------------------- */

/* An allocator that hands out what was freed last, where the size is the same. */
enum { FREED = 1024 };
static struct freed {
    void *memory;
    size_t size;
} freed[FREED];
static int nfreed;

static void *reusing_alloc(size_t size, size_t align, void *context)
{
    (void)context;
    for (int i = nfreed; i-- > 0;) {
        if (freed[i].size != size) continue;
        void *memory = freed[i].memory;
        memmove(&freed[i], &freed[i + 1], (size_t)(--nfreed - i) * sizeof *freed);
        return memory;
    }
    size_t *memory = NULL; /* its size stands in front */
    if (posix_memalign((void **)&memory, align, size + align) != 0) return NULL;
    *memory = size;
    return (char *)memory + align;
}

static void reusing_free(void *memory, void *context)
{
    (void)context;
    size_t size;
    memcpy(&size, (char *)memory - STI_ALIGN, sizeof size);
    if (nfreed == FREED) {
        free((char *)freed[0].memory - STI_ALIGN);
        memmove(freed, freed + 1, (size_t)--nfreed * sizeof *freed);
    }
    freed[nfreed++] = (struct freed){memory, size};
}

/* What a sequence of one adder of so much does, and where the adder lies. */
static const void *add_fused(stet_device *device, stet_array *y, int add)
{
    stet_kernel *k = kernel_from(device, adder(add));
    const void *place = sti_user_kernel(k);
    sequence q = {.n = 0};
    OK(ADD(&q, sti_user_kernel(k), sti_arg_array(y), sti_arg_int(2)));
    OK(ADD(&q, sti_user_kernel(k), sti_arg_array(y), sti_arg_int(2)));
    OK(launch_fused(device, fuse(device, &q, WORLDS), &q, 1, WORLDS));
    stet_kernel_destroy(k);
    return place;
}

static void a_kernel_at_the_place_of_one_that_has_gone(void **state)
{
    OK(stet_set_allocator(reusing_alloc, reusing_free, NULL));
    FOR_GPUS(rig)
    {
        stet_array *y = numbers(rig.device, 2);
        const void *first = add_fused(rig.device, y, 5);
        int64_t modules = rig.control ? rig.control->alive().modules : 0;
        assert_int_equal(modules, 0); /* fused code goes with its kernel */
        const void *second = add_fused(rig.device, y, 100);
        assert_ptr_equal(first, second);
        expect_numbers(y, 1, 210);
        stet_array_destroy(y);
    }
    OK(stet_set_allocator(NULL, NULL, NULL));
    while (nfreed > 0) free((char *)freed[--nfreed].memory - STI_ALIGN);
}

/* A kernel's team is set: what it was fused into is made anew, what it was not in stays. */
static void a_team_that_is_set(void **state)
{
    FOR_GPUS(rig)
    {
        stet_array *y = numbers(rig.device, 6), *v = numbers(rig.device, 6);
        sequence q = {.n = 0}, other = {.n = 0};
        OK(ADD(&q, &sti_k_mass_velocity, sti_arg_array(y), sti_arg_array(v), sti_arg_real(2), sti_arg_int(2)));
        OK(ADD(&other, &sti_k_mass_position, sti_arg_array(v), sti_arg_array(y), sti_arg_real(1), sti_arg_int(2)));
        (void)fuse(rig.device, &q, WORLDS);
        const sti_code *kept = fuse(rig.device, &other, WORLDS);
        const int64_t hits = cache_counter(rig.device).hits;
        OK(sti_program_set_team(rig.device, &sti_k_mass_velocity, (sti_team){8, 2}));
        assert_ptr_equal(fuse(rig.device, &other, WORLDS), kept);
        assert_int_equal(cache_counter(rig.device).hits, hits);
        OK(launch_fused(rig.device, fuse(rig.device, &q, WORLDS), &q, 1, WORLDS));
        assert_int_equal(cache_counter(rig.device).hits, hits + 1);
        expect_numbers(v, 3, 0);
        stet_array_destroy(y);
        stet_array_destroy(v);
    }
}

static void fused_code_comes_out_of_the_cache(void **state)
{
    FOR_GPUS(rig)
    {
        stet_array *y = numbers(rig.device, 6);
        sequence q = {.n = 0};
        OK(ADD(&q, &sti_k_mass_velocity, sti_arg_array(y), sti_arg_array(y), sti_arg_real(2), sti_arg_int(2)));
        OK(ADD(&q, &sti_k_mass_velocity, sti_arg_array(y), sti_arg_array(y), sti_arg_real(2), sti_arg_int(2)));
        (void)fuse(rig.device, &q, WORLDS); /* whatever the folder had: now it is there */
        for (int i = 0; i < 2; ++i) {
            stet_counter was = cache_counter(rig.device);
            OK(sti_program_set_team(rig.device, &sti_k_mass_velocity, (sti_team){0, 0})); /* forgets it */
            (void)fuse(rig.device, &q, WORLDS);
            (void)fuse(rig.device, &q, WORLDS);
            assert_int_equal(cache_counter(rig.device).hits, was.hits + 1);
            assert_int_equal(cache_counter(rig.device).misses, was.misses);
            assert_int_equal(cache_counter(rig.device).held_bytes, was.held_bytes);
        }
        stet_array_destroy(y);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refused(stet_device *device, const sti_kernel *k, stet_result result, const char *sentence)
{
    const sti_phase phase[2] = {{&sti_k_spring_way, sti_kernel_narg(&sti_k_spring_way)}, {k, sti_kernel_narg(k)}};
    const sti_code *code;
    assert_false(sti_program_can_fuse(device, k));
    FAILS(sti_program_fused(device, phase, 2, WORLDS, &code), result, sentence);
}

static void kernels_that_cannot_be_fused(void **state)
{
    static const char redefining[] = "#include <stet/lang.h>\n#undef STET_WIDE\n"
                                     "world_kernel void k_wide(real *y, int n)\n{\n"
                                     "    each (i, n) put(y, i, splat(1));\n}\n";
    static const char sharing[] = "#include <stet/lang.h>\nworld_kernel void k_sharing(real *y, int n)\n{\n"
                                  "    shared(real, s, 400);\n    each (i, n) s[i] = y[i];\n    sync();\n"
                                  "    each (i, n) put(y, i, s[n - 1 - i]);\n}\n";
    FOR_GPUS(rig)
    {
        sti_kernel foreign = sti_k_spring_way;
        stet_kernel *k = kernel_from(rig.device, sharing);
        foreign.file = "test/kernel/lang/lang_probe.k.h";
        refused(rig.device, &sti_k_newton, STET_ERROR_UNSUPPORTED, "kernel k_newton: its team shares");
        refused(rig.device, &sti_k_pilot_rays, STET_ERROR_UNSUPPORTED, "it is an item kernel");
        refused(rig.device, &foreign, STET_ERROR_UNSUPPORTED, "test/kernel/lang/lang_probe.k.h is not carried");
        refused(rig.device, sti_user_kernel(k), STET_ERROR_UNSUPPORTED, "bytes of memory, so it is not fused");
        stet_kernel_destroy(k);
        k = kernel_from(rig.device, redefining);
        refused(rig.device, sti_user_kernel(k), STET_ERROR_UNSUPPORTED, "undefines a macro of the language's");
        stet_kernel_destroy(k);
        k = kernel_from(rig.device, adder(5));
        assert_true(sti_program_can_fuse(rig.device, sti_user_kernel(k)));
        assert_true(sti_program_can_fuse(rig.device, &sti_k_spring_way));
        stet_kernel_destroy(k);
    }
}

static void sequences_that_are_refused(void **state)
{
    FOR_GPUS(rig)
    {
        const sti_code *code;
        sti_phase phase[33];
        for (int i = 0; i < 33; ++i) phase[i] = (sti_phase){&sti_k_mass_contact, 8};
        FAILS(sti_program_fused(rig.device, phase, 32, WORLDS, &code), STET_ERROR_LIMIT,
              "32 phases take 256 arguments; 254 fit one launch");
        FAILS(sti_program_fused(rig.device, phase, 0, WORLDS, &code), STET_ERROR_INVALID_ARGUMENT, "0 phases");
        phase[1].nslot = 7;
        FAILS(sti_program_fused(rig.device, phase, 2, WORLDS, &code), STET_ERROR_INVALID_ARGUMENT,
              "phase 1 (k_mass_contact) has 8 slots, not 7");
        phase[1] = (sti_phase){NULL, 3};
        FAILS(sti_program_fused(rig.device, phase, 2, WORLDS, &code), STET_ERROR_INVALID_ARGUMENT,
              "phase 1 (a copy) has 2 slots, not 3");
        phase[1] = (sti_phase){NULL, 2};
        for (int i = 2; i < 33; ++i) phase[i] = (sti_phase){NULL, 2};
        OK(sti_program_fused(rig.device, phase, 33, WORLDS, &code)); /* 72 slots */
        assert_int_equal(code->repeats, 3);
        assert_int_equal(code->nslot, 1 + 3 * 72);
    }
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++n;
    return n;
}

/* Kernels of one source, though each is a handle of its own, are in one namespace. */
static void a_source_stands_in_the_text_once(void **state)
{
    static const char both[] =
        "#include <stet/lang.h>\nworld_kernel void k_a(real *y) { each (i, 1) put(y, i, y[i] + splat(1)); }\n"
        "world_kernel void k_b(real *y) { each (i, 1) put(y, i, y[i] * splat(3)); }\n";
    FOR_GPUS(rig)
    {
        stet_kernel_def def = kernel_def(both);
        def.name = "k_a";
        stet_kernel *a = make_kernel(rig.device, &def);
        def.name = "k_b";
        stet_kernel *b = make_kernel(rig.device, &def);
        stet_array *y = numbers(rig.device, 1);
        sequence q = {.n = 0};
        OK(ADD(&q, sti_user_kernel(a), sti_arg_array(y)));
        OK(ADD(&q, sti_user_kernel(b), sti_arg_array(y)));
        OK(launch_fused(rig.device, fuse(rig.device, &q, WORLDS), &q, 2, WORLDS));
        expect_numbers(y, 9, 12); /* 3 (3 (x + 1) + 1) */
        const sti_phase phase[] = {q.phase[0], {&sti_k_spring_way, 4}, q.phase[1], {&sti_k_mass_contact, 8}};
        sti_fused_head head = {.text = {0}};
        sti_user_source source;
        OK(sti_fused_head_read(&head));
        OK(sti_fused_write(&head, phase, 4, 1, 1024, "fused four", "entry", &source));
        assert_int_equal(count_of(source.text.data, "\nnamespace sti_source_"), 2);
        assert_int_equal(count_of(source.text.data, "sti_source_0::k_"), 2);
        assert_int_equal(count_of(source.text.data, "sti_source_1::k_"), 2);
        sti_user_source_free(&source);
        sti_fused_head_free(&head);
        stet_kernel_destroy(a);
        stet_kernel_destroy(b);
        stet_array_destroy(y);
    }
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

/* Files keep their names in what a compiler says, though each source counts its own from 0. */
static void a_compiler_speaks_of_the_sources_files(void **state)
{
    FOR_GPUS(rig)
    {
        stet_kernel_def def = kernel_def(adder(5));
        def.path = "first.k.h";
        stet_kernel *one = make_kernel(rig.device, &def), *two = step_kernel(rig.device, "one", part_one, once_one);
        const sti_phase phase[] = {{sti_user_kernel(one), 2}, {&sti_k_spring_way, 4}, {sti_user_kernel(two), 2}};
        sti_fused_head head = {.text = {0}};
        sti_user_source source;
        sti_text_buffer said = {0};
        char line[64], want[600];
        OK(sti_fused_head_read(&head));
        OK(sti_fused_write(&head, phase, 3, 1, 1024, "fused three", "entry", &source));
        const char *at = strstr(source.text.data, "LFN real lift");
        assert_non_null(at);
        while (strncmp(at, "#line 1 \"<", 10) != 0) --at; /* the mark of the file that it is in */
        (void)snprintf(line, sizeof line, "%.*s: error", (int)strcspn(at + 9, "\""), at + 9);
        (void)snprintf(want, sizeof want, "%s/part.h: error", in_folder("one"));
        sti_user_source_explain(&source, line, strlen(line), &said);
        assert_string_equal(said.data, want);
        assert_non_null(strstr(source.text.data, "#line 1 \"<1>\"\n"));
        assert_string_equal(source.file[0].name, "fused three");
        assert_string_equal(source.file[1].name, "first.k.h");
        assert_non_null(strstr(source.text.data, "#line 1 \"bench/pilot/springs.k.h\"\n"));
        sti_text_buffer_free(&said);
        sti_user_source_free(&source);
        sti_fused_head_free(&head);
        stet_kernel_destroy(one);
        stet_kernel_destroy(two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_at_the_place_of_one_that_has_gone),
        cmocka_unit_test(a_team_that_is_set),
        cmocka_unit_test(fused_code_comes_out_of_the_cache),
        cmocka_unit_test(kernels_that_cannot_be_fused),
        cmocka_unit_test(sequences_that_are_refused),
        cmocka_unit_test(a_source_stands_in_the_text_once),
        cmocka_unit_test(a_compiler_speaks_of_the_sources_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
