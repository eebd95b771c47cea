/* A scene with more contacts than there is room for in the beginning. */
#ifndef TEST_PHYSICS_BALLS_H
#define TEST_PHYSICS_BALLS_H

#include <stdio.h>

/* One free body of many balls, each of which may touch the floor: more contacts than there is room for. */
static const char *many_balls(void)
{
    enum { SIDE = 12 };
    static char text[16384];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='9 9 1' "
                                 "condim='6'/><body pos='0 0 .5'><freejoint/>");
    for (int i = 0; i < SIDE * SIDE; ++i)
        at += (size_t)snprintf(text + at, sizeof text - at, "<geom size='.05' condim='6' pos='%d.%d %d.%d 0'/>",
                               i / SIDE / 5, i / SIDE % 5 * 2, i % SIDE / 5, i % SIDE % 5 * 2);
    (void)snprintf(text + at, sizeof text - at, "</body></worldbody></mujoco>");
    return text;
}

#endif
