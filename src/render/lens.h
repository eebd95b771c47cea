/* Lenses of cameras (stet_lens). */
#ifndef STI_RENDER_LENS_H
#define STI_RENDER_LENS_H

#include "stage/stage.h"
#include "stet/render.h"

/* The index of the model's camera of a prim; -1: the prim is not a camera. */
int sti_lens_camera(const stet_stage *stage, int prim);
/*
 * The lens of a camera. If fovy is that of the model's camera, the model's sensor size, focal lengths and principal
 * point apply if it has them (the picture shows the sensor, whatever its shape). Otherwise fovy is the vertical angle
 * and pixels are square. An orthographic camera of the model stays orthographic; its fovy is the height of the picture
 * in metres.
 */
stet_result sti_lens_of(const stet_stage *stage, const stet_camera *camera, stet_lens *out);
/* The same of camera c of a model, -1: of none, with that model's focal lengths. */
stet_result sti_lens_of_model(const mjModel *m, ptrdiff_t c, const stet_camera *camera, stet_lens *out);
/*
 * The lens in the kernel's form: for across, then down: middle of the picture, size of a pixel, pixels from the edge to
 * the middle; then near and far, and 1 for a fisheye.
 */
enum { STI_LENS_ROW = 9 };
void sti_lens_row(const stet_lens *lens, const stet_camera *camera, double row[STI_LENS_ROW]);

#endif
