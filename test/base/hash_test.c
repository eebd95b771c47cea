/* XXH64 against vectors made with the reference implementation, and against itself in pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/dice.h"

#include <string.h>

enum { NDATA = 100003 };

static uint8_t data[NDATA];

static int fill(void **state)
{
    for (size_t i = 0; i < NDATA; i++) data[i] = (uint8_t)(i * 131 + (i >> 8) * 17 + 7);
    return 0;
}

/* Hashes of the first `size` bytes of data. */
static const struct {
    size_t size;
    uint64_t hash;
} vectors[] = {
    {0, UINT64_C(0xEF46DB3751D8E999)},     {1, UINT64_C(0xA96C7F0CE858BBB7)},      {3, UINT64_C(0xBED43740EE6332BB)},
    {4, UINT64_C(0xFA212AE44B3BB23D)},     {5, UINT64_C(0xD339DCC9AC8E6776)},      {7, UINT64_C(0x2744460DD675D2C0)},
    {8, UINT64_C(0x994B676B71CE94DD)},     {9, UINT64_C(0x572B84C18B983AF8)},      {11, UINT64_C(0x97F078DA7A1A590C)},
    {12, UINT64_C(0xB92F588CE720786E)},    {15, UINT64_C(0x09E6451ED2FF8B1D)},     {16, UINT64_C(0x94AD0095E72B24D5)},
    {17, UINT64_C(0x1464F2EFF23B5FE1)},    {23, UINT64_C(0xCF65B69586B05FAB)},     {31, UINT64_C(0x6711D55E306B5D8F)},
    {32, UINT64_C(0x07F7B8E3BC5D6E25)},    {33, UINT64_C(0x09F85EEB4E1CBE9F)},     {40, UINT64_C(0xD25150177BA46490)},
    {63, UINT64_C(0xB7C9968C066CB6A5)},    {64, UINT64_C(0x50D4159A0411632E)},     {65, UINT64_C(0xD277176BFF863EFC)},
    {96, UINT64_C(0x18C8F362EB735341)},    {100, UINT64_C(0x9DDADA11D3DC2D8F)},    {255, UINT64_C(0x15A6DB05D4E83DF4)},
    {256, UINT64_C(0xA2DBE913965256FC)},   {1000, UINT64_C(0x5CCF2F8763027D49)},   {4096, UINT64_C(0xBA2F12E1E6AD9FCC)},
    {65537, UINT64_C(0xCB8D1CBF756CE26F)}, {100003, UINT64_C(0x0DFED3F868176405)},
};

static void texts_have_their_known_hashes(void **state)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } texts[] = {
        {"", UINT64_C(0xEF46DB3751D8E999)},
        {"a", UINT64_C(0xD24EC4F1A98C6E5B)},
        {"abc", UINT64_C(0x44BC2CF5AD770999)},
        {"Nobody inspects the spammish repetition", UINT64_C(0xFBCEA83C8A378BF1)},
        {"The quick brown fox jumps over the lazy dog", UINT64_C(0x0B242D361FDA71BC)},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(sti_hash_bytes(texts[i].text, strlen(texts[i].text)) == texts[i].hash);
    }
    assert_true(sti_hash_bytes(NULL, 0) == texts[0].hash);
}

static void bytes_have_their_known_hashes(void **state)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        if (sti_hash_bytes(data, vectors[i].size) != vectors[i].hash) fail_msg("wrong for %zu bytes", vectors[i].size);
    }
}

static void alignment_does_not_matter(void **state)
{
    static uint8_t moved[NDATA + 8];
    for (size_t shift = 1; shift < 8; shift++) {
        memcpy(moved + shift, data, 1000);
        assert_true(sti_hash_bytes(moved + shift, 1000) == sti_hash_bytes(data, 1000));
    }
}

/* Every split in two of every size up to a few stripes. */
static void two_pieces_equal_one(void **state)
{
    for (size_t size = 0; size <= 130; size++) {
        uint64_t whole = sti_hash_bytes(data, size);
        for (size_t split = 0; split <= size; split++) {
            sti_hash h;
            sti_hash_begin(&h);
            sti_hash_add(&h, data, split);
            sti_hash_add(&h, data + split, size - split);
            if (sti_hash_end(&h) != whole) fail_msg("%zu bytes split at %zu", size, split);
        }
    }
}

static void random_pieces_equal_one(void **state)
{
    uint64_t dice = dice_seed("random_pieces_equal_one");
    for (int round = 0; round < 300; round++) {
        size_t size = dice_below(&dice, 5000), at = 0, largest = 1 + dice_below(&dice, 200);
        sti_hash h;
        sti_hash_begin(&h);
        while (at < size) {
            size_t piece = dice_below(&dice, largest + 1);
            if (piece > size - at) piece = size - at;
            sti_hash_add(&h, data + at, piece);
            at += piece;
        }
        assert_true(sti_hash_end(&h) == sti_hash_bytes(data, size));
    }
}

/* Asking for the hash so far does not end the stream. */
static void the_end_can_be_asked_for_twice(void **state)
{
    sti_hash h;
    sti_hash_begin(&h);
    sti_hash_add(&h, data, 77);
    assert_true(sti_hash_end(&h) == sti_hash_bytes(data, 77));
    assert_true(sti_hash_end(&h) == sti_hash_bytes(data, 77));
    sti_hash_add(&h, data + 77, 100);
    assert_true(sti_hash_end(&h) == sti_hash_bytes(data, 177));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_their_known_hashes), cmocka_unit_test(bytes_have_their_known_hashes),
        cmocka_unit_test(alignment_does_not_matter),     cmocka_unit_test(two_pieces_equal_one),
        cmocka_unit_test(random_pieces_equal_one),       cmocka_unit_test(the_end_can_be_asked_for_twice),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
