/*
 * Shared by the tests of geom: random numbers and rays, scenes of one geom, casting with the probe kernel, meshes to
 * cast at.
 */
#ifndef TEST_GEOM_RAYS_H
#define TEST_GEOM_RAYS_H

#include "geom/geom.h"

#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != STET_OK) fail_msg("%s (%s)", stet_get_last_error(), stet_get_last_error_where());                \
    } while (0)

#define FAR 1e6f

/* Numbers from a seed (splitmix64). */
typedef struct random_state {
    uint64_t s;
} random_state;
uint64_t random_bits(random_state *r);
double random_between(random_state *r, double low, double high);
void random_direction(random_state *r, double d[3]);
/* The first argument of a test program, if there is one, is the seed. */
void rays_seed(int argc, char **argv);
/* Random numbers from the seed, which is printed. */
random_state start(const char *test);

/* A device of an instruction set; NULL if this machine has not got it, other failures fail the test. */
stet_device *make_device(const char *isa);

/* Rays in a geom's frame, and what they hit: t [n] (-1: nothing), normal [n * 3]. */
typedef struct rays {
    int n;
    float *origin, *direction, *t, *normal;
} rays;
rays rays_create(int n);
void rays_destroy(rays *r);
/* Casts r at a geom; fills t and normal. `hash`, if not NULL, gets the hash of both. */
void rays_cast(stet_device *device, const sti_geoms *geoms, int geom, float tmax, rays *r, uint64_t *hash);

/* Ray i goes from one point to another, where its t is 1. */
void aim(rays *r, int i, const double from[3], const double at[3]);
/* A random ray at a box: from inside, near or far, at a point in or just beyond it; sometimes along an axis. */
void random_ray(random_state *r, const double bounds[6], float *o, float *d);

/* A model of one geom. */
typedef struct scene {
    stet_model *model;
    mjData *data;
    sti_geoms *geoms;
    double bounds[6]; /* of the geom */
    double reach;     /* largest coordinate of that box, at most 3 m */
} scene;
scene scene_create(stet_device *device, const char *xml);
scene scene_of_model(stet_device *device, stet_model *model); /* takes the model over */
void scene_destroy(scene *s);
/*
 * Relative error below 1e-5; or the points are, across the surface (normal n), a few roundings of the coordinates
 * apart, those of the origin and of the geom: where a ray starts close to a surface, floats cannot tell better.
 */
bool near_enough(double ours, double theirs, const scene *s, const float *o, const float *d, const double n[3]);

/* Every type of geom; `xml` writes a random scene of it. */
enum { KINDS = 8, XML_SIZE = 1 << 20 };
typedef struct geom_kind {
    const char *name;
    void (*xml)(random_state *r, char *xml, size_t size);
} geom_kind;
extern const geom_kind kinds[KINDS];

/* Triangles that share vertices. */
typedef struct surface {
    int nvertex, nmirror;
    float *vertices; /* [nvertex * 3] */
    int *faces;      /* [nface * 3] */
} surface;
/*
 * A closed ball of about 20 * 4^level triangles, radius 1, with bumps of random height up to `bump`; normals point out.
 */
surface ball_create(random_state *r, int level, double bump);
void surface_destroy(surface *s);
/* Geoms with this surface as their only one, without a model. */
sti_geoms *surface_geoms(stet_device *device, const surface *s);

#endif
