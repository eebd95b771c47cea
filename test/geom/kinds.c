/* Random scenes of one geom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"

#include <math.h>
#include <stdio.h>

/* A size that a float holds. */
static double random_size(random_state *r) { return floor(random_between(r, 0.02, 2) * 1024) / 1024; }

static void primitive(random_state *r, const char *type, char *xml, size_t size)
{
    double a = random_size(r), b = random_size(r), c = random_size(r);
    (void)snprintf(xml, size, "<mujoco><worldbody><geom type='%s' size='%.17g %.17g %.17g'/></worldbody></mujoco>",
                   type, a, b, c);
}
static void plane_xml(random_state *r, char *xml, size_t size)
{
    bool ends = random_bits(r) & 1;
    (void)snprintf(xml, size, "<mujoco><worldbody><geom type='plane' size='%.17g %.17g 1'/></worldbody></mujoco>",
                   ends ? random_size(r) : 0, random_bits(r) & 1 ? random_size(r) : 0);
}
static void sphere_xml(random_state *r, char *xml, size_t size) { primitive(r, "sphere", xml, size); }
static void capsule_xml(random_state *r, char *xml, size_t size) { primitive(r, "capsule", xml, size); }
static void ellipsoid_xml(random_state *r, char *xml, size_t size) { primitive(r, "ellipsoid", xml, size); }
static void cylinder_xml(random_state *r, char *xml, size_t size) { primitive(r, "cylinder", xml, size); }
static void box_xml(random_state *r, char *xml, size_t size) { primitive(r, "box", xml, size); }

static void mesh_xml(random_state *r, char *xml, size_t size)
{
    surface s = ball_create(r, (int)(random_bits(r) % 5), random_between(r, 0, 0.3));
    size_t at = (size_t)snprintf(xml, size, "<mujoco><asset><mesh name='m' scale='1 %.3f 0.5' vertex='",
                                 random_between(r, 0.5, 1.5));
    for (int i = 0; i < 3 * s.nvertex; ++i) at += (size_t)snprintf(xml + at, size - at, "%.9g ", (double)s.vertices[i]);
    at += (size_t)snprintf(xml + at, size - at, "' face='");
    for (int i = 0; i < 3 * s.nmirror; ++i) at += (size_t)snprintf(xml + at, size - at, "%d ", s.faces[i]);
    at += (size_t)snprintf(
        xml + at, size - at,
        "'/></asset><worldbody><geom type='mesh' mesh='m' pos='1 2 3' euler='10 20 30'/></worldbody></mujoco>");
    assert_true(at < size);
    surface_destroy(&s);
}

static void hfield_xml(random_state *r, char *xml, size_t size)
{
    int nrow = 2 + (int)(random_bits(r) % 20), ncol = 2 + (int)(random_bits(r) % 20);
    size_t at = (size_t)snprintf(
        xml, size, "<mujoco><asset><hfield name='h' nrow='%d' ncol='%d' size='%.17g %.17g %.17g %.17g' elevation='",
        nrow, ncol, random_size(r), random_size(r), random_size(r), random_size(r));
    for (int i = 0; i < nrow * ncol; ++i) at += (size_t)snprintf(xml + at, size - at, "%.3f ", random_between(r, 0, 1));
    at += (size_t)snprintf(xml + at, size - at,
                           "'/></asset><worldbody><geom type='hfield' hfield='h' pos='1 2 3' euler='10 20 30'/>"
                           "</worldbody></mujoco>");
    assert_true(at < size);
}

const geom_kind kinds[KINDS] = {
    {"plane", plane_xml},       {"sphere", sphere_xml}, {"capsule", capsule_xml}, {"ellipsoid", ellipsoid_xml},
    {"cylinder", cylinder_xml}, {"box", box_xml},       {"mesh", mesh_xml},       {"hfield", hfield_xml},
};
