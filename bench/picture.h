/* Pictures of a scene from all its cameras, on one core, and the rays of its pixels: what `render` measures. */
#ifndef STET_BENCH_PICTURE_H
#define STET_BENCH_PICTURE_H

#include "bench/bench.h"

#include "model/model.h"
#include "render/render.h"

enum { BENCH_CAMERAS = 16 };

typedef struct bench_picture {
    stet_model *model;
    stet_sim *sim;
    sti_renderer *renderer;
    sti_render_target target; /* of one buffer, whose pixels lie world by world and camera by camera */
    stet_camera camera[BENCH_CAMERAS];
    int ncamera, edge;
    int nworld, *world; /* [nworld] 0, 1, 2 … */
    int64_t npixel;     /* of all worlds and cameras */
    mjData *data;       /* MuJoCo's, with the kinematics of world 0 */
} bench_picture;

typedef struct bench_picture_def {
    const char *text; /* MJCF if it begins with '<', else a file */
    sti_picture_buffer buffer;
    int edge;        /* pixels */
    int nworld;      /* 0: 1 */
    bool no_shadows; /* no light casts any */
    const char *isa; /* NULL: the widest */
} bench_picture_def;

/*
 * The worlds take a few steps of MuJoCo's physics, and are seen by the model's cameras, or by its free camera. What is
 * made by a call that fails is destroyed by bench_picture_close.
 */
stet_result bench_picture_open(bench_picture *p, const bench_picture_def *def);
void bench_picture_close(bench_picture *p);
/* A bench_work: draws all worlds. */
stet_result bench_picture_draw(void *picture);

/*
 * Rays through the centres of the pixels of world 0, in the world's frame: eye and way (unit) [n * 3], and metres along
 * the view axis for one along the ray [n]; depth [n]: room for a peer's distances, negative or infinite where nothing
 * is hit.
 */
typedef struct bench_rays {
    int64_t n;
    double *eye, *way, *along, *depth;
} bench_rays;
stet_result bench_rays_make(const bench_picture *p, bench_rays *out);
void bench_rays_free(bench_rays *rays);
/*
 * The share of rays whose distance is that of the drawn picture (none beyond the far plane). An error if it is below
 * `least`: then the two do not draw the same, and a comparison of their times would mean nothing. `what` names both.
 */
stet_result bench_rays_compare(const bench_picture *p, const bench_rays *rays, double least, const char *what,
                               double *share);

#endif
