/* Generations of many items: they are what a plain array of numbers would be, however they were written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"
#include "base/generations.h"

#include <string.h>

enum { MOST = 20 };

/* Generations, and the plain array that says what they must be. */
typedef struct pair {
    sti_generations g;
    sti_version version;
    uint64_t plain[MOST];
} pair;

static void open_pair(pair *p, int64_t n)
{
    *p = (pair){.version = sti_version_new()};
    assert_int_equal(sti_generations_init(&p->g, n, "a test's items"), STET_OK);
}

static void compare(const pair *p, uint64_t *dice)
{
    uint8_t mask[MOST], untouched[MOST];
    uint64_t since = dice_below(dice, 2) == 0 ? p->version.generation - dice_below(dice, 2)
                                              : dice_below(dice, p->version.generation + 2);
    int64_t later = 0;
    memset(mask, 7, sizeof mask);
    memset(untouched, 7, sizeof untouched);
    for (int64_t i = 0; i < p->g.n; ++i) {
        assert_int_equal(sti_generation_of(&p->g, i), p->plain[i]);
        assert_true(p->plain[i] <= p->g.latest);
        later += p->plain[i] > since;
    }
    assert_int_equal(sti_generations_since(&p->g, since, NULL), later);
    assert_int_equal(sti_generations_since(&p->g, since, mask), later);
    if (memcmp(mask, untouched, sizeof mask) == 0) {
        assert_true(later == 0 || later == p->g.n);
        return;
    }
    for (int64_t i = 0; i < p->g.n; ++i) assert_int_equal(mask[i], p->plain[i] > since);
}

static uint8_t *draw_mask(uint64_t *dice, uint8_t mask[MOST])
{
    size_t kind = dice_below(dice, 4); /* NULL, none, all, some */
    for (int i = 0; i < MOST; ++i) mask[i] = kind == 2 ? 3 : kind == 3 ? (uint8_t)dice_below(dice, 3) : 0;
    return kind == 0 ? NULL : mask;
}

static void bump(pair *p, const uint8_t *mask)
{
    uint64_t before = p->version.generation;
    bool any = false;
    for (int64_t i = 0; i < p->g.n; ++i) {
        if (mask && !mask[i]) continue;
        p->plain[i] = before + 1;
        any = true;
    }
    assert_int_equal(sti_generations_bump(&p->g, &p->version, mask), any);
    assert_int_equal(p->version.generation, before + any);
}

static void bump_since(pair *p, const pair *from, uint64_t since)
{
    uint64_t before = p->version.generation;
    bool any = false;
    for (int64_t i = 0; i < p->g.n; ++i) {
        if (from->plain[i] <= since) continue;
        p->plain[i] = before + 1;
        any = true;
    }
    assert_int_equal(sti_generations_bump_since(&p->g, &p->version, &from->g, since), any);
    assert_int_equal(p->version.generation, before + any);
}

static void put_some(pair *p, const uint8_t *mask, uint64_t generation)
{
    bool any = false;
    for (int64_t i = 0; i < p->g.n; ++i) {
        if (mask && !mask[i]) continue;
        p->plain[i] = generation;
        any = true;
    }
    assert_int_equal(sti_generations_put_some(&p->g, mask, generation), any);
}

static void random_writes_are_those_of_a_plain_array(void **state)
{
    uint64_t dice = dice_seed("random_writes_are_those_of_a_plain_array");
    for (int round = 0; round < 300; ++round) {
        pair p[2];
        int64_t n = 1 + (int64_t)dice_below(&dice, MOST);
        for (int k = 0; k < 2; ++k) open_pair(&p[k], n);
        for (int step = 0; step < 60; ++step) {
            uint8_t mask[MOST];
            pair *to = &p[dice_below(&dice, 2)], *from = to == p ? p + 1 : p;
            uint64_t generation = dice_below(&dice, to->version.generation + 1);
            int64_t i = (int64_t)dice_below(&dice, (size_t)n);
            switch (dice_below(&dice, 6)) {
            case 0: bump(to, draw_mask(&dice, mask)); break;
            case 1: bump_since(to, from, dice_below(&dice, from->version.generation + 1)); break;
            case 2: put_some(to, draw_mask(&dice, mask), generation); break;
            case 3:
                sti_generations_put(&to->g, i, generation);
                to->plain[i] = generation;
                break;
            case 4:
                sti_generations_put_all(&to->g, generation);
                for (int64_t w = 0; w < n; ++w) to->plain[w] = generation;
                break;
            default:
                sti_generations_copy(&to->g, &from->g);
                memcpy(to->plain, from->plain, sizeof to->plain);
                to->version.generation = from->version.generation;
            }
            for (int k = 0; k < 2; ++k) compare(&p[k], &dice);
        }
        for (int k = 0; k < 2; ++k) sti_generations_free(&p[k].g);
    }
}

/* The readers that follow a source walk nothing where all items were written, also after some were written apart. */
static void writing_all_brings_items_together_again(void **state)
{
    pair source, reader;
    uint8_t one[MOST] = {[3] = 1}, every[MOST];
    memset(every, 1, sizeof every);
    open_pair(&source, MOST);
    open_pair(&reader, MOST);
    for (int k = 0; k < 3; ++k) {
        uint64_t seen = source.version.generation;
        bump(&source, one);
        bump_since(&reader, &source, seen);
        assert_true(source.g.apart && reader.g.apart);
        seen = source.version.generation;
        bump(&source, k == 0 ? NULL : every);
        bump_since(&reader, &source, seen);
        assert_false(source.g.apart || reader.g.apart);
    }
    sti_generations_free(&source.g);
    sti_generations_free(&reader.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_writes_are_those_of_a_plain_array),
        cmocka_unit_test(writing_all_brings_items_together_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
