/*
 * Lenses: what part of the plane one metre in front of a camera its picture shows (orthographic: of the plane of the
 * camera, metres).
 */
#ifndef STI_RENDER_LENS_H
#define STI_RENDER_LENS_H

#include "stage/stage.h"
#include "stet/render.h"

typedef struct sti_lens {
    bool flat;                       /* orthographic */
    double left, right, bottom, top; /* in the camera's frame, x right, y up */
    double near, far; /* depths, metres, of the planes between which things are seen; 0 <= near, far > 0 */
} sti_lens;

/* Index of the model's camera that a prim is, -1 if it is none. */
int sti_lens_camera(const stet_stage *stage, int prim);
/*
 * Lens of a camera. Where fovy is that of the model's camera, the model's sensor size, focal lengths and principal
 * point count if it has them (the picture is the sensor's, whatever its shape); else fovy is the vertical angle, and
 * pixels are square. The model's orthographic cameras stay so; their fovy is the height of the picture in metres.
 */
stet_result sti_lens_of(const stet_stage *stage, const stet_camera *camera, sti_lens *out);
/*
 * The lens as the kernel wants it: across, then down: middle of the picture, size of a pixel, pixels from the edge to
 * the middle; then near and far.
 */
enum { STI_LENS_ROW = 8 };
void sti_lens_row(const sti_lens *lens, const stet_camera *camera, double row[STI_LENS_ROW]);

#endif
