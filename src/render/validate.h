/*
 * The tables of a scene hold what kernels rely on: asserted where they are made (base/validate.h). A kernel has no
 * bounds, so a row that names a shape, a prim or a texture that is none is found here.
 */
#ifndef STI_RENDER_VALIDATE_H
#define STI_RENDER_VALIDATE_H

#include "base/validate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sti_scene_rows {
    const int *scene;   /* [nscene] */
    const double *look; /* [nlook] */
    int64_t nscene, nlook;
    int nprim, nshape;
} sti_scene_rows;

STI_VALIDATE(scene_rows, sti_scene_rows)

#endif
