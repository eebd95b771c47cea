/*
 * Several samples a pixel. Each is the centre of a pixel of a picture that is `n` times as large each way, where n is
 * the number of samples; so that picture says what their mean is. Golden hashes over instruction sets and threads.
 */
#include "render/pictures.h"

static const char scene[] =
    "<mujoco><asset><mesh name='lump' vertex='.3 0 0 -.3 0 0 0 .25 0 0 -.25 0 0 0 .4 0 0 -.2 .2 .2 .1'/></asset>"
    "<worldbody><light pos='1 -1 3' dir='-.3 .3 -1' castshadow='true'/>"
    "<geom type='plane' size='0 0 1' rgba='.3 .5 .4 1'/><geom type='box' size='.3 .2 .4' pos='-.6 0 .4' euler='0 0 "
    "20'/>"
    "<geom type='mesh' mesh='lump' pos='.5 .2 .5' rgba='.9 .3 .2 1'/>"
    "<geom type='capsule' size='.1 .5' pos='0 -.5 .4' euler='30 60 0' rgba='.2 .4 .9 .4'/>"
    "<camera name='c' pos='0 -3 1.2' xyaxes='1 0 0 0 .35 .94' fovy='45'/></worldbody></mujoco>";

enum { WIDTH = 37, HEIGHT = 25 };

static void draw(pictures *p, const char *isa, int threads, int scale, int samples)
{
    pictures_open(p, scene, 2, isa, threads);
    pictures_model_camera(p, 0, WIDTH * scale, HEIGHT * scale);
    pictures_ready(p);
    OK(sti_renderer_set_samples(p->renderer, samples));
    pictures_run(p);
}

/* Where sample s of n is within its pixel, in n-ths: columns from the left, rows from the top. */
static void sample_place(int n, int s, int *across, int *down)
{
    static const int of_4[4] = {1, 3, 0, 2}, of_16[16] = {3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13, 0, 4, 8, 12};
    *across = s;
    *down = n == 4 ? of_4[s] : of_16[s];
}

/* Byte k of the mean of a pixel's samples, from the large picture. */
static int mean_byte(const uint32_t *large, int n, int x, int y, int k)
{
    int sum = n / 2;
    for (int s = 0; s < n; ++s) {
        int across, down;
        sample_place(n, s, &across, &down);
        sum += (int)(large[(n * y + down) * WIDTH * n + n * x + across] >> 8 * k & 255);
    }
    return sum / n;
}

/* Rays differ by rounding, which moves an edge across a sample now and then. */
static void colours_are_means_of_samples(void **state)
{
    for (int n = 4; n <= 16; n *= 4) {
        pictures p, big;
        int differ = 0, edges = 0;
        draw(&p, NULL, 2, 1, n);
        draw(&big, NULL, 2, n, 1);
        uint32_t *colour = pictures_read(&p, STI_BUFFER_COLOUR), *large = pictures_read(&big, STI_BUFFER_COLOUR);
        for (int y = 0; y < HEIGHT; ++y)
            for (int x = 0; x < WIDTH; ++x) {
                uint32_t alpha = colour[y * WIDTH + x] >> 24;
                edges += alpha > 0 && alpha < 255;
                for (int k = 0; k < 4; ++k)
                    differ += abs((int)(colour[y * WIDTH + x] >> 8 * k & 255) - mean_byte(large, n, x, y, k)) > 1;
            }
        print_message("%d samples: %d pixels half sky, %d bytes differ\n", n, edges, differ);
        assert_true(edges > 10);
        assert_true(differ <= 8);
        free(colour);
        free(large);
        pictures_close(&p);
        pictures_close(&big);
    }
}

/* All buffers but colours have the bits of one sample, and colours do not depend on other buffers. */
static void other_buffers_show_the_centre(void **state)
{
    pictures one, many;
    draw(&one, NULL, 2, 1, 1);
    draw(&many, NULL, 2, 1, 4);
    for (int b = 0; b < STI_BUFFER_COUNT; ++b)
        assert_true((pictures_hash(&one, (sti_picture_buffer)b, 1) == pictures_hash(&many, (sti_picture_buffer)b, 1)) ==
                    (b != STI_BUFFER_COLOUR));
    uint64_t all = pictures_hash(&many, STI_BUFFER_COLOUR, 0);
    sti_render_target target = many.target;
    int world = 0;
    for (int b = STI_BUFFER_COLOUR + 1; b < STI_BUFFER_COUNT; ++b) target.pixels[b] = NULL;
    OK(sti_renderer_set_samples(many.renderer, 1));
    OK(sti_renderer_run(many.renderer, &world, 1, &target));
    assert_true(pictures_hash(&many, STI_BUFFER_COLOUR, 0) == pictures_hash(&one, STI_BUFFER_COLOUR, 0));
    OK(sti_renderer_set_samples(many.renderer, 4));
    OK(sti_renderer_run(many.renderer, &world, 1, &target));
    assert_true(pictures_hash(&many, STI_BUFFER_COLOUR, 0) == all);
    pictures_close(&one);
    pictures_close(&many);
}

static void golden_hashes(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    static const uint64_t golden[2] = {0xd65233873ad7cfa5, 0x22d8563d98bac8a7};
    for (int i = 0; i < 4; ++i) {
        sti_isa isa;
        if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
        for (int k = 0; k < 2; ++k) {
            pictures p;
            draw(&p, isas[i], 1 + k, 1, k ? 16 : 4);
            uint64_t hash = pictures_hash(&p, STI_BUFFER_COLOUR, 1);
            if (hash != golden[k]) print_message("%s: 0x%016llx\n", isas[i], (unsigned long long)hash);
            assert_true(hash == golden[k]);
            pictures_close(&p);
        }
    }
}

/* Other numbers are refused, and the renderer keeps its own; a new one makes the frame another. */
static void a_number_is_1_4_or_16(void **state)
{
    static const int bad[] = {0, -1, 2, 3, 8, 17, 64};
    pictures p;
    draw(&p, NULL, 1, 1, 4);
    uint64_t before = pictures_hash(&p, STI_BUFFER_COLOUR, 0),
             version = sti_renderer_appearance(p.renderer)->generation;
    for (int i = 0; i < 7; ++i) {
        assert_int_equal(sti_renderer_set_samples(p.renderer, bad[i]), STET_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(stet_get_last_error(), "samples a pixel; 1, 4 or 16 are possible"));
    }
    assert_true(sti_renderer_appearance(p.renderer)->generation == version);
    pictures_run(&p);
    assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, 0) == before);
    OK(sti_renderer_set_samples(p.renderer, 16));
    assert_true(sti_renderer_appearance(p.renderer)->generation != version);
    pictures_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_means_of_samples),
        cmocka_unit_test(other_buffers_show_the_centre),
        cmocka_unit_test(golden_hashes),
        cmocka_unit_test(a_number_is_1_4_or_16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
