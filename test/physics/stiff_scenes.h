/* Scenes that single precision makes hard: no friction, light under heavy, long ropes, many bodies packed together. */
#ifndef TEST_PHYSICS_STIFF_SCENES_H
#define TEST_PHYSICS_STIFF_SCENES_H

#include <stdio.h>

enum { STIFF_TEXT = 1 << 17 };

typedef struct stiff_writer {
    char *text;
    size_t used;
} stiff_writer;

#define WRITE(w, ...)                                                                                                  \
    ((w)->used += (size_t)snprintf((w)->text + (w)->used, (size_t)STIFF_TEXT - (w)->used, __VA_ARGS__),                \
     assert_true((w)->used < STIFF_TEXT))

/* A body of 2 kg that is set down on a floor while it moves. */
static inline void write_slider(char *text, const char *geom, const char *cone, int dim, const char *integrator,
                                double friction)
{
    stiff_writer w = {.text = text};
    WRITE(&w,
          "<mujoco><option cone='%s' integrator='%s'/><default><geom condim='%d' friction='%g %g %g'/></default>"
          "<worldbody><geom type='plane' size='3 3 1'/><body pos='0 0 .1495'><freejoint/><geom mass='2' %s/></body>"
          "</worldbody></mujoco>",
          cone, integrator, dim, friction, friction / 10, friction / 100, geom);
}

/* A box of 1 kg under one of `mass` kg. */
static inline void write_tower(char *text, double mass)
{
    stiff_writer w = {.text = text};
    WRITE(&w,
          "<mujoco><worldbody><geom type='plane' size='3 3 1'/><body pos='0 0 .1'><freejoint/><geom type='box' "
          "size='.1 .1 .1' mass='1'/></body><body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1' "
          "mass='%g'/></body></worldbody></mujoco>",
          mass);
}

/* A rope of n links of 0.1 kg and 0.1 m, of which the last has `mass` kg, beside a floor that it may reach. */
static inline void write_rope(char *text, int n, double mass, const char *joint, const char *option, double floor)
{
    stiff_writer w = {.text = text};
    WRITE(&w,
          "<mujoco><option %s/><default><geom condim='3'/><default class='link'><geom contype='0'/></default></default>"
          "<worldbody><geom type='plane' size='9 9 1' pos='0 0 %g' conaffinity='2'/><body euler='0 60 0'>"
          "<geom size='.01' contype='0' conaffinity='0'/>",
          option, floor);
    for (int i = 0; i < n; ++i)
        WRITE(&w,
              "<body pos='0 0 %g'><joint %s/><geom type='capsule' size='.02' fromto='0 0 0 0 0 -.1' mass='%g' "
              "contype='2' conaffinity='0'/>",
              i ? -.1 : 0, joint, i < n - 1 ? .1 : mass);
    for (int i = 0; i < n; ++i) WRITE(&w, "</body>");
    WRITE(&w, "</body></worldbody></mujoco>");
}

/*
 * A cube of 27 small ones about a fixed core: those in the middle of a face turn about its axis, the others about the
 * centre, and all touch their neighbours, which cannot move what turns about its own axis.
 */
static inline void write_cube(char *text)
{
    stiff_writer w = {.text = text};
    WRITE(&w, "<mujoco><option timestep='.01' integrator='implicitfast'/><default><geom type='box' condim='1' "
              "mass='.0025' size='.0094 .0094 .0094' margin='.0003'/><joint armature='.0001' damping='.0005' "
              "frictionloss='.001'/><motor ctrlrange='-.05 .05'/></default><worldbody>");
    for (int k = 0; k < 27; ++k) {
        int at[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1}, far = at[0] * at[0] + at[1] * at[1] + at[2] * at[2];
        if (far == 0) continue;
        WRITE(&w, "<body><joint name='j%d' ", k);
        if (far == 1)
            WRITE(&w, "axis='%d %d %d'", at[0], at[1], at[2]);
        else
            WRITE(&w, "type='ball'");
        WRITE(&w, "/><geom pos='%g %g %g'/></body>", .019 * at[0], .019 * at[1], .019 * at[2]);
    }
    WRITE(&w, "</worldbody><actuator>");
    for (int k = 0; k < 27; ++k)
        if (k == 4 || k == 10 || k == 12 || k == 14 || k == 16 || k == 22) WRITE(&w, "<motor joint='j%d'/>", k);
    WRITE(&w, "</actuator></mujoco>");
}

#endif
