/*
 * Lists: loops, what the host does in the middle of one, the order that has to be kept. Run on each device
 * (stet_test_on_devices).
 */
#include "kernel/lists.h"

#include "base/dice.h"

/* ---- loops ----------------------------------------------------------------------------------------------------- */

/* while (c[0]) { --c[0]; a += 1; } */
static stet_result play_loop(bench *b, int64_t most)
{
    STI_TRY(sti_record_begin(b->device, "loop"));
    stet_result result = sti_record_while(b->device, b->c[0], most);
    if (result == STET_OK) result = count(b, b->c[0]);
    if (result == STET_OK) result = add(b, b->a[0], 1);
    if (result == STET_OK) result = sti_record_while_end(b->device);
    return sti_record_end(b->device, result);
}

static void a_loop_ends_by_its_condition_or_its_bound(void **state)
{
    static const struct {
        int condition;
        int64_t most;
        int trips;
    } cases[] = {{3, 10, 3}, {0, 10, 0}, {10, 4, 4}, {5, 5, 5}, {7, 0, 0}, {-1, 6, 6}, {1, 1, 1}};
    for (int off = 0; off < 2; ++off) {
        bench b;
        float sum = 0;
        uint64_t generation = 1;
        open_bench(&b);
        set_options(b.device, off ? 1u << STET_MECHANISM_GRAPH_REPLAY : 0, false, false);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
            const int32_t c[] = {cases[i].condition, 0};
            OK(stet_array_write(b.c[0], c, sizeof c));
            int64_t launches = counters_of(b.device).launches;
            OK(play_loop(&b, cases[i].most));
            assert_int_equal(int_at(b.c[0], 0), cases[i].condition - cases[i].trips);
            assert_int_equal(int_at(b.c[0], 1), cases[i].trips);
            sum += (float)cases[i].trips;
            /* RECORD-2: once for each time that it ran; where only the device knows, once a replay. */
            bool known = off || i < 2 || !device_loops(&b);
            generation += (uint64_t)(known ? cases[i].trips : 1);
            assert_true(real_at(b.a[0], N - 1) == sum);
            assert_int_equal(stet_array_get_generation(b.a[0]), generation);
            assert_int_equal(counters_of(b.device).launches - launches, 2 * (known ? cases[i].trips : 1));
        }
        if (!off) assert_int_equal(b.device->recorder->built, 1); /* how many trips is no part of the key */
        close_bench(&b);
    }
}

/* for c0 = 3 … 1 { c1 = c0's turn: 2; while (c1) { --c1; a += 1; } b = a / 2 } */
static stet_result play_nested(bench *b)
{
    STI_TRY(sti_record_begin(b->device, "nested"));
    OK(set(b, b->c[0], 3));
    OK(sti_record_while(b->device, b->c[0], 100));
    OK(count(b, b->c[0]));
    OK(set(b, b->c[1], 2));
    OK(sti_record_while(b->device, b->c[1], 100));
    OK(count(b, b->c[1]));
    OK(add(b, b->a[0], 1));
    OK(sti_record_while_end(b->device));
    OK(mix(b, b->a[0], b->a[1], 0));
    OK(sti_record_while_end(b->device));
    OK(sti_record_copy(b->a[2], b->a[1]));
    return sti_record_end(b->device, STET_OK);
}

static void loops_in_loops(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 1; i <= 5; ++i) {
        OK(play_nested(&b));
        assert_true(real_at(b.a[0], 2) == (float)(6 * i));
        assert_true(real_at(b.a[2], 2) == (float)(3 * i));
        int known = device_loops(&b) && i > 2 ? 2 : i,
            unknown = i - known; /* replays whose trips the host does not know */
        assert_int_equal(stet_array_get_generation(b.a[0]), 6 * known + unknown + 1);
        assert_int_equal(stet_array_get_generation(b.a[1]), 3 * known + unknown + 1);
        assert_int_equal(stet_array_get_generation(b.a[2]), i + 1);
    }
    assert_int_equal(ROW(&b).hits, 3);
    /* 0 set c0; 1 while c0 { 2 count c0; 3 set c1; 4 while c1 { 5 count c1; 6 add }; 8 mix } ; 10 copy */
    static const sti_edge expected[] = {{0, 1}, {3, 4}, {4, 8}, {1, 10}};
    const sti_recording *x = b.device->recorder->recording[0];
    assert_int_equal(x->nedge, 4);
    for (int e = 0; e < 4; ++e) assert_true(x->edge[e].from == expected[e].from && x->edge[e].to == expected[e].to);
    close_bench(&b);
}

static stet_result nothing(void *context)
{
    (void)context;
    return STET_OK;
}

static void what_a_loop_cannot_hold_is_refused(void **state)
{
    bench b;
    float x[N] = {0};
    open_bench(&b);
    FAILS(sti_record_while(b.device, b.c[0], 1), STET_ERROR_STATE, "between begin and end");
    FAILS(sti_record_while_end(b.device), STET_ERROR_STATE, "no loop");
    OK(sti_record_begin(b.device, "refused"));
    FAILS(sti_record_while(b.device, b.a[0], 1), STET_ERROR_INVALID_ARGUMENT, "a plain array of int");
    FAILS(sti_record_while(b.device, b.c[0], -1), STET_ERROR_INVALID_ARGUMENT, "at most -1 trips");
    OK(sti_record_while(b.device, b.c[0], 5));
    OK(add(&b, b.a[0], 1));
    FAILS(sti_record_begin(b.device, "inner"), STET_ERROR_UNSUPPORTED, "a list cannot begin inside a loop of refused");
    FAILS(stet_array_read(b.a[0], x, sizeof x), STET_ERROR_UNSUPPORTED, "array a cannot be read inside a loop");
    FAILS(stet_array_write(b.a[0], x, sizeof x), STET_ERROR_UNSUPPORTED, "array a cannot be written inside a loop");
    OK(stet_array_read(b.a[1], x, sizeof x)); /* nothing listed touches it */
    sti_array_set_producer(b.a[2], nothing, NULL);
    FAILS(mix(&b, b.a[2], b.a[0], 1), STET_ERROR_UNSUPPORTED, "array a cannot be brought up to date inside a loop");
    sti_array_set_producer(b.a[2], NULL, NULL);
    assert_int_equal(REASON(&b, SPLIT), 3);
    for (int i = 2; i < STI_LIST_OPS; ++i) OK(add(&b, b.a[0], 1));
    FAILS(add(&b, b.a[0], 1), STET_ERROR_LIMIT, "more than 1024 operations");
    stet_array_destroy(b.a[0]);
    FAILS(sti_record_end(b.device, STET_OK), STET_ERROR_UNSUPPORTED, "array a cannot be destroyed inside a loop");
    b.a[0] = new_reals(b.device);
    assert_int_equal(faulty.launches, 0);
    OK(play_loop(&b, 1));
    close_bench(&b);
}

/* ---- in the middle of a list ----------------------------------------------------------------------------------- */

static void the_host_sees_what_was_listed(void **state)
{
    bench b;
    float x[N];
    uint64_t h0, h1;
    const void *mirror;
    open_bench(&b);
    OK(sti_record_begin(b.device, "host"));
    OK(add(&b, b.a[0], 1));
    OK(stet_array_read(b.a[1], x, sizeof x)); /* not touched: no split */
    OK(stet_array_write(b.a[1], x, sizeof x));
    assert_int_equal(REASON(&b, SPLIT), 0);
    OK(stet_array_read(b.a[0], x, sizeof x));
    assert_true(x[0] == 1);
    assert_int_equal(REASON(&b, SPLIT), 1);
    OK(mix(&b, b.a[0], b.a[2], 3));
    OK(stet_array_read(b.a[0], x, sizeof x)); /* only read by what is listed */
    assert_int_equal(REASON(&b, SPLIT), 1);
    x[0] = 100;
    OK(stet_array_write(b.a[0], x, sizeof x)); /* but a write must wait */
    assert_int_equal(REASON(&b, SPLIT), 2);
    assert_true(real_at(b.a[2], 0) == 3.5f);
    OK(stet_array_hash(b.a[0], &h0));
    OK(add(&b, b.a[0], 1));
    OK(stet_array_hash(b.a[0], &h1));
    assert_true(h0 != h1);
    OK(add(&b, b.a[0], 1));
    OK(stet_array_get_host(b.a[0], &mirror));
    assert_true(*(const float *)mirror == 102);
    OK(add(&b, b.a[0], 1));
    stet_array_destroy(b.a[0]); /* it runs first */
    assert_int_equal(faulty.launches, 5);
    b.a[0] = new_reals(b.device);
    OK(sti_record_end(b.device, STET_OK));
    set_options(b.device, 0, true, false);
    OK(sti_record_begin(b.device, "host"));
    OK(add(&b, b.a[0], 1));
    FAILS(stet_array_read(b.a[0], x, sizeof x), STET_ERROR_STRICT, "the listed launches ran first");
    OK(sti_record_end(b.device, STET_OK));
    assert_true(real_at(b.a[0], 0) == 1);
    close_bench(&b);
}

typedef struct follower {
    bench *b;
    int made;
} follower;

/* a[3] = a[0] / 2, by a list of its own and a launch beside it. */
static stet_result follow(void *context)
{
    follower *f = context;
    f->made++;
    STI_TRY(sti_record_begin(f->b->device, "follower"));
    stet_result result = mix(f->b, f->b->a[0], f->b->a[3], 0);
    STI_TRY(sti_record_end(f->b->device, result));
    return add(f->b, f->b->a[4], 1);
}

static void what_stet_makes_itself_is_made_from_what_was_listed(void **state)
{
    bench b;
    open_bench(&b);
    follower f = {&b, 0};
    sti_array_set_producer(b.a[3], follow, &f);
    for (int i = 1; i <= 5; ++i) {
        OK(sti_record_begin(b.device, "outer"));
        OK(add(&b, b.a[0], 2));
        OK(add(&b, b.a[0], 2));
        OK(mix(&b, b.a[3], b.a[1], 0)); /* reads a[3], which follows a[0] */
        OK(add(&b, b.a[1], 1));
        assert_true(real_at(b.a[1], 0) == (float)(i > 1 ? i : 0)); /* listed, not run */
        OK(sti_record_end(b.device, STET_OK));
        assert_true(real_at(b.a[0], 0) == (float)(4 * i));
        assert_true(real_at(b.a[1], 0) == (float)(i + 1));
        assert_true(real_at(b.a[4], 0) == (float)i);
        assert_int_equal(f.made, i);
    }
    assert_int_equal(REASON(&b, SPLIT), 5);
    assert_int_equal(ROW(&b).hits, 2 * 3);
    sti_array_set_producer(b.a[3], NULL, NULL);
    close_bench(&b);
}

static void lists_in_lists(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 1; i <= 4; ++i) {
        OK(sti_record_begin(b.device, "outer"));
        OK(add(&b, b.a[0], 1));
        OK(add_and_mix(&b, 1)); /* plays what the outer one has so far, then itself */
        assert_true(real_at(b.a[0], 0) == (float)(2 * i));
        OK(add(&b, b.a[0], 0));
        OK(sti_record_end(b.device, STET_OK));
    }
    assert_int_equal(REASON(&b, SPLIT), 4);
    for (int depth = 0; depth < STI_RECORD_DEPTH; ++depth) OK(sti_record_begin(b.device, "deep"));
    FAILS(sti_record_begin(b.device, "too deep"), STET_ERROR_LIMIT, "too deep: ");
    for (int depth = 0; depth < STI_RECORD_DEPTH; ++depth) OK(sti_record_end(b.device, STET_OK));
    assert_false(b.device->listing);
    close_bench(&b);
}

static void a_long_list_is_played_in_parts(void **state)
{
    bench b;
    open_bench(&b);
    OK(sti_record_begin(b.device, "long"));
    for (int i = 0; i < 2 * STI_LIST_OPS + 10; ++i) OK(add(&b, b.a[i % 2], 1));
    OK(sti_record_end(b.device, STET_OK));
    assert_true(real_at(b.a[0], 0) == STI_LIST_OPS + 5 && real_at(b.a[1], 0) == STI_LIST_OPS + 5);
    assert_int_equal(REASON(&b, SPLIT), 2);
    close_bench(&b);
}

static void copies(void **state)
{
    bench b;
    stet_array *longer;
    open_bench(&b);
    OK(STI_ARRAY(b.device, "longer", STET_DTYPE_REAL, false, &longer, N + 1));
    FAILS(sti_record_copy(longer, b.a[0]), STET_ERROR_INVALID_ARGUMENT, "copy of array a to longer");
    FAILS(sti_record_copy(b.c[0], b.a[0]), STET_ERROR_INVALID_ARGUMENT, "same type and shape");
    b.a[1]->read_only = true;
    FAILS(sti_record_copy(b.a[1], b.a[0]), STET_ERROR_INVALID_ARGUMENT, "imported for reading");
    b.a[1]->read_only = false;
    OK(add(&b, b.a[0], 3));
    OK(sti_record_copy(b.a[1], b.a[0])); /* at once */
    assert_true(real_at(b.a[1], 0) == 3 && stet_array_get_generation(b.a[1]) == 2);
    for (int i = 1; i < 5; ++i) {
        OK(sti_record_begin(b.device, "copies"));
        OK(sti_record_copy(b.a[2], b.a[1]));
        OK(add(&b, b.a[2], i));
        OK(sti_record_copy(b.a[1], b.a[2]));
        OK(sti_record_end(b.device, STET_OK));
    }
    assert_true(real_at(b.a[1], 0) == 3 + 1 + 2 + 3 + 4);
    assert_int_equal(ROW(&b).hits, 2);
    assert_int_equal(faulty.copies, 1 + 2 * (graphs(&b) ? 2 : 5)); /* those of replays are a graph's */
    stet_array_destroy(longer);
    close_bench(&b);
}

/* ---- the order that has to be kept ----------------------------------------------------------------------------- */

enum { OPS = 24, FAKES = 12 };

/* Arrays that overlap; nobody looks at their memory. */
static void make_fakes(stet_array *fake, uint64_t *dice)
{
    for (int i = 0; i < FAKES; ++i)
        fake[i] = (stet_array){.data = (void *)(uintptr_t)(0x10000 + 16 * dice_below(dice, 40)),
                               .size = 16 * dice_below(dice, 6),
                               .version = {(uint64_t)i + 1, 1}};
}

static bool shared_byte(const sti_use *a, const sti_use *b)
{
    for (size_t i = 0; i < a->array->size; ++i)
        for (size_t k = 0; k < b->array->size; ++k)
            if ((const char *)a->array->data + i == (const char *)b->array->data + k) return true;
    return false;
}

/* Is op `inner` op `outer`, or in it? */
static bool within(const sti_list *l, int inner, int outer)
{
    for (; inner >= 0; inner = l->op[inner].parent)
        if (inner == outer) return true;
    return false;
}

/* By all bytes of all uses of all operations in them. */
static bool must_keep_order(const sti_list *l, int first, int second)
{
    for (int i = 0; i < l->nop; ++i)
        for (int k = 0; k < l->nop; ++k) {
            if (!within(l, i, first) || !within(l, k, second)) continue;
            /* A loop's own use is its condition, the first. */
            int ni = l->op[i].kind == STI_OP_WHILE ? 1 : l->op[i].nuse;
            int nk = l->op[k].kind == STI_OP_WHILE ? 1 : l->op[k].nuse;
            for (int u = 0; u < ni; ++u)
                for (int v = 0; v < nk; ++v) {
                    const sti_use *a = &l->use[l->op[i].use + u], *b = &l->use[l->op[k].use + v];
                    if ((a->written || b->written) && shared_byte(a, b)) return true;
                }
        }
    return false;
}

static void random_list(sti_list *l, stet_array *fake, const test_kernel *k, uint64_t *dice)
{
    int loop = -1;
    while (l->nop < OPS || loop >= 0) {
        size_t what = dice_below(dice, 8);
        if (loop >= 0 && (what == 0 || l->nop >= OPS)) {
            OK(sti_list_end(l, loop));
            loop = l->op[loop].parent;
        } else if (what == 1 && l->nop < OPS - 2) {
            OK(sti_list_while(l, loop, &fake[dice_below(dice, FAKES)], 3));
            loop = l->nop - 1;
        } else if (what == 2) {
            OK(sti_list_array_copy(l, loop, &fake[dice_below(dice, FAKES)], &fake[dice_below(dice, FAKES)]));
        } else {
            sti_arg args[3];
            for (int i = 0; i < 3; ++i)
                args[i] = sti_arg_array(dice_below(dice, 4) ? &fake[dice_below(dice, FAKES)] : NULL);
            sti_launch launch = {.kernel = &k->kernel, .args = args, .nslot = 3, .nblock = 1};
            OK(sti_list_launch(l, loop, &launch));
        }
    }
}

static void check_edges(const sti_list *l, const sti_edge *edge, int nedge)
{
    static bool before[2 * OPS][2 * OPS];
    memset(before, 0, sizeof before);
    assert_true(l->nop < 2 * OPS);
    for (int e = 0; e < nedge; ++e) {
        assert_true(edge[e].from < edge[e].to);
        assert_int_equal(l->op[edge[e].from].parent, l->op[edge[e].to].parent);
        assert_true(must_keep_order(l, edge[e].from, edge[e].to)); /* none is without a cause */
        before[edge[e].from][edge[e].to] = true;
    }
    for (int m = 0; m < l->nop; ++m)
        for (int i = 0; i < l->nop; ++i)
            for (int k = 0; k < l->nop; ++k) before[i][k] = before[i][k] || (before[i][m] && before[m][k]);
    for (int i = 0; i < l->nop; ++i)
        for (int k = i + 1; k < l->nop; ++k) {
            if (l->op[i].parent != l->op[k].parent || l->op[i].kind == STI_OP_END || l->op[k].kind == STI_OP_END)
                continue;
            if (must_keep_order(l, i, k)) assert_true(before[i][k]); /* none is missing */
        }
    for (int e = 0; e < nedge; ++e) /* none follows from others */
        for (int m = 0; m < l->nop; ++m) assert_false(before[edge[e].from][m] && before[m][edge[e].to]);
}

static void edges_against_every_byte(void **state)
{
    uint64_t dice = dice_seed("edges_against_every_byte");
    test_kernel k;
    make_kernel(&k, "item_kernel void k_x(const ureal *a, const ureal *b, ureal *c)", NULL);
    for (int round = 0; round < 60; ++round) {
        stet_array fake[FAKES];
        sti_list l = {0};
        sti_edge *edge;
        int nedge;
        make_fakes(fake, &dice);
        random_list(&l, fake, &k, &dice);
        OK(sti_list_edges(&l, &edge, &nedge));
        check_edges(&l, edge, nedge);
        sti_free(edge);
        sti_list_free(&l);
    }
}

static void an_order_worked_out_by_hand(void **state)
{
    bench b;
    open_bench(&b);
    OK(sti_record_begin(b.device, "hand"));
    OK(mix(&b, b.a[0], b.a[1], 1)); /* 0 */
    OK(mix(&b, b.a[0], b.a[2], 1)); /* 1: beside 0 */
    OK(add(&b, b.a[0], 1));         /* 2: after both, which read what it writes */
    OK(mix(&b, b.a[1], b.a[2], 1)); /* 3: reads what 0 wrote, writes what 1 wrote */
    OK(add(&b, b.a[2], 1));         /* 4: after 3 */
    OK(sti_record_end(b.device, STET_OK));
    const sti_recording *x = b.device->recorder->recording[0];
    static const sti_edge expected[] = {{1, 2}, {0, 2}, {1, 3}, {0, 3}, {3, 4}};
    assert_int_equal(x->nedge, 5);
    for (int e = 0; e < 5; ++e) assert_true(x->edge[e].from == expected[e].from && x->edge[e].to == expected[e].to);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_ends_by_its_condition_or_its_bound),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(what_a_loop_cannot_hold_is_refused),
        cmocka_unit_test(the_host_sees_what_was_listed),
        cmocka_unit_test(what_stet_makes_itself_is_made_from_what_was_listed),
        cmocka_unit_test(lists_in_lists),
        cmocka_unit_test(a_long_list_is_played_in_parts),
        cmocka_unit_test(copies),
        cmocka_unit_test(edges_against_every_byte),
        cmocka_unit_test(an_order_worked_out_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
