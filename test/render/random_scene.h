/*
 * For tests: scenes of random geoms of every type, as text. The caller prints the seed.
 */
#ifndef TEST_RENDER_RANDOM_SCENE_H
#define TEST_RENDER_RANDOM_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"

#include <mujoco/mujoco.h>
#include <stdio.h>
#include <string.h>

/* From 0 to below 1, and between two numbers; the same everywhere. */
static inline double dice(uint64_t *s) { return (double)(dice_next(s) >> 11) * 0x1p-53; }
static inline double dice_in(uint64_t *s, double low, double high) { return low + (high - low) * dice(s); }

typedef struct scene_text {
    char at[1 << 16];
    size_t n;
} scene_text;

__attribute__((format(printf, 2, 3))) static inline void add(scene_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->at + t->n, sizeof t->at - t->n, format, args);
    va_end(args);
    assert_true(t->n < sizeof t->at);
}

/* A lump of points (MuJoCo makes its hull) and a bumpy field. */
static inline void add_assets(scene_text *t, uint64_t *s)
{
    add(t, "<asset><mesh name='lump' vertex='");
    for (int i = 0; i < 40; ++i) {
        double v[3];
        for (int k = 0; k < 3; ++k) v[k] = dice_in(s, -1, 1);
        mju_normalize3(v);
        for (int k = 0; k < 3; ++k) add(t, "%.4f ", v[k] * dice_in(s, 0.3, 0.5));
    }
    add(t, "'/><hfield name='bumps' nrow='9' ncol='12' size='0.8 0.6 0.4 0.2' elevation='");
    for (int i = 0; i < 9 * 12; ++i) add(t, "%.3f ", dice(s));
    add(t, "'/></asset>");
}

static inline void add_geom(scene_text *t, const char *type, uint64_t *s)
{
    double pos[3], turn[3], size[3]; /* one by one: C leaves the order of arguments open */
    for (int k = 0; k < 3; ++k) pos[k] = dice_in(s, -2, 2);
    for (int k = 0; k < 3; ++k) turn[k] = dice_in(s, -180, 180);
    for (int k = 0; k < 3; ++k) size[k] = dice_in(s, 0.1, 0.7);
    add(t, "<geom type='%s' pos='%.4f %.4f %.4f' euler='%.2f %.2f %.2f' ", type, pos[0], pos[1], pos[2], turn[0],
        turn[1], turn[2]);
    if (!strcmp(type, "mesh"))
        add(t, "mesh='lump'/>");
    else if (!strcmp(type, "hfield"))
        add(t, "hfield='bumps'/>");
    else if (!strcmp(type, "plane") && dice(s) < 0.1)
        add(t, "size='0 0 1'/>");
    else
        add(t, "size='%.3f %.3f %.3f'/>", size[0], size[1], size[2]);
}

#endif
