/* Extraction: every conversion, every lane width, shuffled tables, many tiles; one launch whatever is asked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"
#include "tiles/painter.h"

static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
enum { NISA = 4, GUARD = 64 };

/* NULL: this machine, or a sanitized build, does not have it. */
static stet_device *device_of(const char *isa, int threads)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device = NULL;
    def.isa = isa;
    def.threads = threads;
    picked_device(&def);
    stet_result result = stet_device_create(&def, &device);
    assert_true(result == STET_OK || result == STET_ERROR_UNSUPPORTED || result == STET_ERROR_NOT_FOUND);
    return device;
}

/* ---- hand-made frames ---- */

/* Buffers with hand-made pixels behind a table; one destination. */
typedef struct bench {
    painter painter;
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_part part[STI_BUFFER_COUNT][8];
    sti_tile_table table;
    stet_array *pixels[STI_BUFFER_COUNT];
    sti_extractor extractor;
} bench;

static void bench_paint(bench *b)
{
    sti_render_target target = {.first = b->table.first, .pitch = b->table.pitch};
    int *all = malloc((size_t)b->painter.base.nworld * sizeof *all);
    for (int w = 0; w < (int)b->painter.base.nworld; ++w) all[w] = w;
    for (int k = 0; k < STI_BUFFER_COUNT; ++k) {
        target.pixels[k] = b->pixels[k];
        target.row[k] = b->table.row[k];
    }
    assert_int_equal(painter_paint(&b->painter, all, (int)b->painter.base.nworld, &target), STET_OK);
    free(all);
}

static void bench_open(bench *b, stet_device *device, int64_t nworld, int ncamera, const sti_tile_size *size,
                       unsigned buffers)
{
    const bool tiled[8] = {false};
    bool used[STI_BUFFER_COUNT];
    memset(b, 0, sizeof *b);
    painter_init(&b->painter, device, nworld, ncamera, size);
    for (int k = 0; k < STI_BUFFER_COUNT; ++k) {
        used[k] = buffers >> k & 1u;
        if (!used[k]) continue;
        assert_int_equal(sti_tile_plan(size, tiled, ncamera, nworld, b->part[k], &b->layout[k]), STET_OK);
        assert_int_equal(STI_ARRAY(device, "pixels", sti_buffer_dtype((sti_picture_buffer)k), false, &b->pixels[k],
                                   b->layout[k].npixel * sti_buffer_channels((sti_picture_buffer)k)),
                         STET_OK);
    }
    assert_int_equal(sti_tile_table_create(device, b->layout, used, &b->table), STET_OK);
    assert_int_equal(sti_extractor_create(device, nworld, 16, 64, &b->extractor), STET_OK);
    bench_paint(b);
}

static void bench_close(bench *b)
{
    sti_extractor_destroy(&b->extractor);
    sti_tile_table_destroy(&b->table);
    for (int k = 0; k < STI_BUFFER_COUNT; ++k) stet_array_destroy(b->pixels[k]);
    painter_free(&b->painter);
}

/* A copy for a request, with its destination in the middle of a larger array whose other bytes must stay. */
static sti_copy copy_for(bench *b, const stet_tile_request *r, stet_array **whole)
{
    stet_device *device = b->painter.base.device;
    int64_t nworld = b->painter.base.nworld;
    stet_camera cameras[2];
    for (int i = 0; i < 2; ++i)
        cameras[i] = (stet_camera){.width = b->painter.size[i].width, .height = b->painter.size[i].height};
    const stet_tiles_def def = {.cameras = cameras, .ncamera = 2, .requests = r, .nrequest = 1};
    sti_request resolved;
    assert_int_equal(sti_request_resolve(&def, 0, nworld, device, &resolved), STET_OK);
    sti_copy c = {.buffer = resolved.buffer,
                  .camera = r->camera,
                  .conversion = resolved.conversion,
                  .channels = resolved.ask.channels,
                  .size = resolved.size,
                  .planar = resolved.planar};
    int64_t bytes = nworld * resolved.world_bytes;
    assert_int_equal(STI_ARRAY(device, "whole", STET_DTYPE_U8, false, whole, bytes + 2 * GUARD), STET_OK);
    void *bytes_of_whole = bytes_take(*whole);
    memset(bytes_of_whole, 0x5a, (*whole)->size);
    bytes_give(*whole, bytes_of_whole, true);
    assert_int_equal(sti_tile_view(*whole, GUARD, "tensor", r->dtype, 4, resolved.shape, &c.to), STET_OK);
    return c;
}

static void check_guards(const stet_array *whole)
{
    unsigned char *p = bytes_take(whole);
    for (int i = 0; i < GUARD; ++i) {
        assert_int_equal(p[i], 0x5a);
        assert_int_equal(p[whole->size - 1 - (size_t)i], 0x5a);
    }
    bytes_give(whole, p, false);
}

static void assert_tensor(const bench *b, const stet_tile_request *r, const stet_array *a)
{
    size_t size;
    unsigned char *expected = expect_tensor(&b->painter, r, b->painter.base.nworld, &size);
    assert_int_equal(size, stet_array_get_bytes(a));
    assert_true(bytes_equal(a, expected, size));
    free(expected);
}

static const stet_tile_request conversions[] = {
    {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, NULL, false},
    {0, STET_OUTPUT_RGB, STET_DTYPE_U8, 3, NULL, false},
    {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 2, NULL, false},
    {0, STET_OUTPUT_RGB, STET_DTYPE_U8, 1, NULL, false},
    {0, STET_OUTPUT_RGBA, STET_DTYPE_REAL, 4, NULL, false},
    {0, STET_OUTPUT_RGB, STET_DTYPE_REAL, 3, NULL, false},
    {0, STET_OUTPUT_RGB, STET_DTYPE_F16, 3, NULL, false},
    {0, STET_OUTPUT_ALBEDO, STET_DTYPE_U8, 4, NULL, false},
    {0, STET_OUTPUT_ALBEDO, STET_DTYPE_F16, 1, NULL, false},
    {0, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 1, NULL, false},
    {0, STET_OUTPUT_DISTANCE, STET_DTYPE_F16, 1, NULL, false},
    {0, STET_OUTPUT_NORMAL, STET_DTYPE_REAL, 3, NULL, false},
    {0, STET_OUTPUT_NORMAL, STET_DTYPE_REAL, 2, NULL, false},
    {0, STET_OUTPUT_NORMAL, STET_DTYPE_F16, 3, NULL, false},
    {0, STET_OUTPUT_NORMAL, STET_DTYPE_F16, 1, NULL, false},
    {0, STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 1, NULL, false},
    {0, STET_OUTPUT_SEG_GEOM, STET_DTYPE_U32, 1, NULL, false},
    {0, STET_OUTPUT_SEG_BODY, STET_DTYPE_U8, 1, NULL, false},
    {0, STET_OUTPUT_SEG_TYPE, STET_DTYPE_I64, 1, NULL, false},
    {0, STET_OUTPUT_MOTION, STET_DTYPE_REAL, 2, NULL, false},
    {0, STET_OUTPUT_MOTION, STET_DTYPE_F16, 1, NULL, false},
    {0, STET_OUTPUT_BODY_POINT, STET_DTYPE_REAL, 3, NULL, false},
};
enum { NCONVERSION = sizeof conversions / sizeof *conversions };
_Static_assert(NCONVERSION % 2 == 0, "check_together takes them in halves");

static void check_conversion(bench *b, const stet_tile_request *r)
{
    stet_array *whole;
    sti_copy c = copy_for(b, r, &whole);
    sti_tile_source source = {&b->table, 2, b->pixels};
    int64_t bytes;
    assert_int_equal(sti_extract(&b->extractor, &source, &c, 1, NULL, 0, &bytes), STET_OK);
    assert_int_equal(bytes, stet_array_get_bytes(c.to));
    assert_tensor(b, r, c.to);
    check_guards(whole);
    stet_array_destroy(c.to);
    stet_array_destroy(whole);
}

/* Conversions from the buffers given; where a real is a double, those whose elements are not made of reals. */
static void check_conversions(stet_device *device, sti_tile_size size, int64_t nworld, unsigned buffers)
{
    const sti_tile_size sizes[] = {size, {3, 2}};
    bench b;
    bench_open(&b, device, nworld, 2, sizes, buffers);
    for (int k = 0; k < 2 * NCONVERSION; ++k) {
        stet_tile_request r = conversions[k / 2];
        stet_dtype dtype = r.dtype;
        r.planar = k % 2;
        if (!(buffers >> sti_output_buffer(r.output) & 1u)) continue;
        if (stet_dtype_size(device, STET_DTYPE_REAL) == 8 && (dtype == STET_DTYPE_REAL || dtype == STET_DTYPE_F16))
            continue;
        check_conversion(&b, &r);
    }
    bench_close(&b);
}

/* Odd sizes: rows shorter than a vector, rows that no vector divides, tiles of more than one block. */
static void each_conversion_gives_the_same_bits_at_every_width(void **state)
{
    const sti_tile_size sizes[] = {{1, 1}, {7, 5}, {17, 3}, {640, 3}, {120, 120}, {1, 33}, {129, 131}, {1000, 35}};
    for (int i = 0; i < NISA; ++i) {
        stet_device *device = device_of(isas[i], 1 + i % 2);
        if (!device) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
            check_conversions(device, sizes[s], s < 4 ? 19 : 1, 0xff);
        stet_device_destroy(device);
    }
}

/* More than one chunk of the general path, which has no copies of words at the speed of memory. */
static void a_double_device_copies_words_and_bytes(void **state)
{
    const sti_tile_size sizes[] = {{1, 1}, {7, 5}, {130, 3}, {640, 3}};
    stet_device *device = device_of("f64", 1);
    assert_non_null(device);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) check_conversions(device, sizes[s], 3, 0xff);
    stet_device_destroy(device);
}

/* All conversions, each at all distances from the start of a cache line; together they are streamed. */
static void check_together(stet_device *device, int64_t nworld)
{
    enum { HALF = NCONVERSION / 2 };
    bench b;
    bench_open(&b, device, nworld, 2, (sti_tile_size[]){{121, 19}, {3, 2}}, (1u << STI_BUFFER_COUNT) - 1);
    sti_tile_source source = {&b.table, 2, b.pixels};
    for (int from = 0; from < NCONVERSION; from += HALF) {
        stet_array *whole[HALF];
        sti_copy c[HALF];
        int64_t bytes;
        for (int k = 0; k < HALF; ++k) c[k] = copy_for(&b, &conversions[from + k], &whole[k]);
        assert_int_equal(sti_extract(&b.extractor, &source, c, HALF, NULL, 0, &bytes), STET_OK);
        assert_true(bytes > 8 << 20);
        for (int k = 0; k < HALF; ++k) {
            assert_tensor(&b, &conversions[from + k], c[k].to);
            check_guards(whole[k]);
            stet_array_destroy(c[k].to);
            stet_array_destroy(whole[k]);
        }
    }
    bench_close(&b);
}

static void a_large_extraction_is_streamed_to_the_same_bits(void **state)
{
    for (int i = 0; i < NISA; ++i) {
        stet_device *device = device_of(isas[i], 2);
        if (!device) continue;
        /* Above the size from which stores are streamed. */
        check_conversions(device, (sti_tile_size){121, 119}, 151, 1u << STI_BUFFER_ALBEDO | 1u << STI_BUFFER_DEPTH);
        check_together(device, 200);
        stet_device_destroy(device);
    }
}

/* ---- half precision ---- */

/* x converted by the kernel: a picture whose depths are the numbers. */
static void halves_of(stet_device *device, const double *x, int n, uint16_t *out)
{
    const sti_tile_size size = {n, 1};
    const stet_tile_request r = {0, STET_OUTPUT_DEPTH, STET_DTYPE_F16, 1, NULL, false};
    bench b;
    stet_array *whole;
    int64_t bytes;
    bench_open(&b, device, 1, 1, &size, 1u << STI_BUFFER_DEPTH);
    for (int k = 0; k < n; ++k) reals_set(b.pixels[STI_BUFFER_DEPTH], 0, k, x[k]);
    sti_copy c = copy_for(&b, &r, &whole);
    sti_tile_source source = {&b.table, 1, b.pixels};
    assert_int_equal(sti_extract(&b.extractor, &source, &c, 1, NULL, 0, &bytes), STET_OK);
    void *got = bytes_take(c.to);
    memcpy(out, got, (size_t)n * sizeof *out);
    bytes_give(c.to, got, false);
    stet_array_destroy(c.to);
    stet_array_destroy(whole);
    bench_close(&b);
}

static double value_of_half(unsigned h)
{
    int exponent = (int)(h >> 10 & 31);
    double m = (double)(h & 1023), a = exponent ? __builtin_ldexp(1024 + m, exponent - 25) : __builtin_ldexp(m, -24);
    return h & 0x8000 ? -a : a;
}

/* The float just above (up) or below in magnitude. */
static double neighbour(double x, int up)
{
    float f = (float)x;
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    b = (b & 0x7fffffff) == 0 && !up ? b : b + (up ? 1u : -1u);
    memcpy(&f, &b, sizeof f);
    return (double)f;
}

/*
 * All 65536: each half itself, the tie above it, and the floats next to both; its bits are known, or those of half_of.
 */
static void each_half_is_the_nearest(void **state)
{
    enum { EACH = 5, ROW = 16384 / EACH };
    static double x[ROW * EACH];
    static uint16_t got[ROW * EACH];
    const char *const all[] = {"portable", "w1", "avx2", "avx512", "f64"};
    for (int i = 0; i < 5; ++i) {
        stet_device *device = device_of(all[i], 1);
        if (!device) continue;
        for (unsigned first = 0; first < 65536; first += ROW) {
            for (unsigned k = 0; k < ROW; ++k) {
                unsigned h = (first + k) & 0xffff;
                bool finite = (h & 0x7c00) != 0x7c00;
                double v = finite       ? value_of_half(h)
                           : h & 0x3ff  ? __builtin_nan("")
                           : h & 0x8000 ? -__builtin_inf()
                                        : __builtin_inf();
                double next = (h & 0x7fff) == 0x7bff ? (h & 0x8000 ? -65536.0 : 65536.0)
                              : finite               ? value_of_half(h + 1)
                                                     : v;
                double tie = (v + next) / 2;
                const double these[EACH] = {v, tie, neighbour(v, 0), neighbour(tie, 0), neighbour(tie, 1)};
                for (int j = 0; j < EACH; ++j) x[k * EACH + (unsigned)j] = finite ? these[j] : v;
            }
            halves_of(device, x, ROW * EACH, got);
            for (unsigned k = 0; k < ROW; ++k) {
                unsigned h = (first + k) & 0xffff;
                if ((h & 0x7c00) != 0x7c00 || (h & 0x3ff) == 0) assert_int_equal(got[k * EACH], h);
                for (unsigned j = 0; j < EACH; ++j) assert_int_equal(got[k * EACH + j], half_of(x[k * EACH + j]));
            }
        }
        stet_device_destroy(device);
    }
}

/* In a double build a number between two floats next to a tie goes where the double says. */
static void a_double_is_rounded_once(void **state)
{
    const double x[] = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 1.0 + 0x1p-11 - 0x1p-40,
                        0x1p-25 + 0x1p-60,       0x1p-25,       65520.0 - 0x1p-30};
    const uint16_t expected[] = {0x3c01, 0x3c00, 0x3c00, 1, 0, 0x7bff};
    uint16_t got[6];
    stet_device *device = device_of("f64", 1);
    assert_non_null(device);
    halves_of(device, x, 6, got);
    for (int k = 0; k < 6; ++k) assert_int_equal(got[k], expected[k]);
    stet_device_destroy(device);
}

/* ---- tables, lists, launches ---- */

static void kf25_five_thousand_tiles(void **state)
{
    const sti_tile_size size[] = {{9, 6}, {4, 5}};
    const stet_tile_request r[] = {{0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false},
                                   {1, STET_OUTPUT_SEG_BODY, STET_DTYPE_INT, 0, NULL, false}};
    stet_device *device = device_of(NULL, 2);
    bench b;
    bench_open(&b, device, 5000, 2, size, 1u << STI_BUFFER_COLOUR | 1u << STI_BUFFER_BODY);
    stet_array *whole[2];
    sti_copy c[2] = {copy_for(&b, &r[0], &whole[0]), copy_for(&b, &r[1], &whole[1])};
    sti_tile_source source = {&b.table, 2, b.pixels};
    stet_counters before, after;
    int64_t bytes;
    before = stet_device_get_counters(device);
    assert_int_equal(sti_extract(&b.extractor, &source, c, 2, NULL, 0, &bytes), STET_OK);
    after = stet_device_get_counters(device);
    assert_int_equal(after.launches - before.launches, 1);
    for (int k = 0; k < 2; ++k) {
        assert_tensor(&b, &r[k], c[k].to); /* no tile is missing, none is another world's */
        stet_array_destroy(c[k].to);
        stet_array_destroy(whole[k]);
    }
    bench_close(&b);
    stet_device_destroy(device);
}

static void kf27_a_shuffled_table(void **state)
{
    const sti_tile_size size = {11, 7};
    const stet_tile_request r[] = {{0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, NULL, false},
                                   {0, STET_OUTPUT_RGB, STET_DTYPE_U8, 3, NULL, false}};
    uint64_t dice = dice_seed("kf27_a_shuffled_table");
    stet_device *device = device_of(NULL, 2);
    bench b;
    bench_open(&b, device, 200, 1, &size, 1u << STI_BUFFER_COLOUR);
    int64_t *first = bytes_take(b.table.first);
    for (size_t k = 199; k > 0; --k) {
        size_t j = dice_below(&dice, k + 1);
        int64_t keep = first[k];
        first[k] = first[j];
        first[j] = keep;
    }
    bytes_give(b.table.first, first, true);
    stet_array_mark_written(b.table.first);
    bench_paint(&b); /* by the same table: where a tile is, only the table says */
    for (int k = 0; k < 2; ++k) {
        stet_array *whole;
        sti_copy c = copy_for(&b, &r[k], &whole);
        sti_tile_source source = {&b.table, 1, b.pixels};
        int64_t bytes;
        assert_int_equal(sti_extract(&b.extractor, &source, &c, 1, NULL, 0, &bytes), STET_OK);
        assert_tensor(&b, &r[k], c.to);
        stet_array_destroy(c.to);
        stet_array_destroy(whole);
    }
    bench_close(&b);
    stet_device_destroy(device);
}

static void worlds_that_are_not_listed_keep_their_tensor(void **state)
{
    enum { NWORLD = 20, BYTES = 300 };
    const sti_tile_size size = {10, 10};
    const stet_tile_request r = {0, STET_OUTPUT_RGB, STET_DTYPE_U8, 0, NULL, false};
    const struct {
        int world[4], n;
    } lists[] = {{{17, 3, 8}, 3}, {{5, 6, 7}, 3}, {{11}, 1}, {{11, 10}, 2}, {{1, 2, 3, 5}, 4}, {{0}, 0}};
    stet_device *device = device_of(NULL, 2);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        bench b;
        stet_array *whole;
        int64_t bytes;
        size_t total;
        bool listed[NWORLD] = {false};
        bench_open(&b, device, NWORLD, 1, &size, 1u << STI_BUFFER_COLOUR);
        sti_copy c = copy_for(&b, &r, &whole);
        sti_tile_source source = {&b.table, 1, b.pixels};
        uint64_t generation = stet_array_get_generation(c.to);
        assert_int_equal(sti_extract(&b.extractor, &source, &c, 1, lists[i].world, lists[i].n, &bytes), STET_OK);
        assert_int_equal(bytes, lists[i].n * BYTES);
        assert_int_equal(stet_array_get_generation(c.to), generation + (lists[i].n > 0));
        unsigned char *expected = expect_tensor(&b.painter, &r, NWORLD, &total), *got = bytes_take(c.to);
        for (int k = 0; k < lists[i].n; ++k) listed[lists[i].world[k]] = true;
        for (int k = 0; k < NWORLD * BYTES; ++k) assert_int_equal(got[k], listed[k / BYTES] ? expected[k] : 0x5a);
        bytes_give(c.to, got, false);
        free(expected);
        stet_array_destroy(c.to);
        stet_array_destroy(whole);
        bench_close(&b);
    }
    stet_device_destroy(device);
}

static void the_same_tables_are_uploaded_once(void **state)
{
    const sti_tile_size size = {8, 8};
    const stet_tile_request r = {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false};
    const int list[] = {0, 2};
    stet_device *device = device_of(NULL, 1);
    bench b;
    stet_array *whole;
    int64_t bytes;
    stet_counters first, second, third;
    bench_open(&b, device, 4, 1, &size, 1u << STI_BUFFER_COLOUR);
    sti_copy c = copy_for(&b, &r, &whole);
    sti_tile_source source = {&b.table, 1, b.pixels};
    first = stet_device_get_counters(device);
    assert_int_equal(sti_extract(&b.extractor, &source, &c, 1, list, 2, &bytes), STET_OK);
    second = stet_device_get_counters(device);
    assert_int_equal(sti_extract(&b.extractor, &source, &c, 1, list, 2, &bytes), STET_OK);
    third = stet_device_get_counters(device);
    assert_true(second.bytes_copied > first.bytes_copied);
    assert_int_equal(third.bytes_copied, second.bytes_copied);
    assert_int_equal(third.launches, second.launches + 1);
    stet_array_destroy(c.to);
    stet_array_destroy(whole);
    bench_close(&b);
    stet_device_destroy(device);
}

static void kf28_more_channels_than_there_are(void **state)
{
    const struct {
        stet_output output;
        stet_dtype dtype;
        int channels;
    } wrong[] = {{STET_OUTPUT_RGB, STET_DTYPE_U8, 4},       {STET_OUTPUT_RGBA, STET_DTYPE_U8, 5},
                 {STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 3},   {STET_OUTPUT_NORMAL, STET_DTYPE_F16, 4},
                 {STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 2}, {STET_OUTPUT_RGB, STET_DTYPE_U8, -1}};
    int conversion;
    bool direct;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        assert_int_equal(sti_conversion(wrong[k].output, wrong[k].dtype, wrong[k].channels, &conversion, &direct),
                         STET_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(stet_get_last_error(), "channels"));
    }
    /* Conversions that do not exist. */
    assert_int_equal(sti_conversion(STET_OUTPUT_RGB, STET_DTYPE_I64, 3, &conversion, &direct),
                     STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sti_conversion(STET_OUTPUT_DEPTH, STET_DTYPE_U8, 1, &conversion, &direct),
                     STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sti_conversion(STET_OUTPUT_SEG_TYPE, STET_DTYPE_F16, 1, &conversion, &direct),
                     STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "seg_type as f16"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_conversion_gives_the_same_bits_at_every_width),
        cmocka_unit_test(a_double_device_copies_words_and_bytes),
        cmocka_unit_test(a_large_extraction_is_streamed_to_the_same_bits),
        cmocka_unit_test(each_half_is_the_nearest),
        cmocka_unit_test(a_double_is_rounded_once),
        cmocka_unit_test(kf25_five_thousand_tiles),
        cmocka_unit_test(kf27_a_shuffled_table),
        cmocka_unit_test(worlds_that_are_not_listed_keep_their_tensor),
        cmocka_unit_test(the_same_tables_are_uploaded_once),
        cmocka_unit_test(kf28_more_channels_than_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
