/*
 * Looks of worlds (the parameters of stet/worlds.h that pictures alone show, and sizes of geoms) as tables for the
 * renderer's kernels.
 *
 * Invariants:
 *   LOOKS-1  a world whose looks have the model's numbers has the pictures of worlds without looks, bit by bit
 *   LOOKS-2  tables of worlds exist only for what differs between worlds
 */
#ifndef STI_RENDER_LOOKS_H
#define STI_RENDER_LOOKS_H

#include "geom/geom.h"
#include "render/appearance.h"
#include "worlds/parameter.h"

typedef struct sti_looks {
    stet_array *own;    /* REAL [nworld][nown]: rows of appearance and of lamps; NULL: all worlds have the model's */
    stet_array *choice; /* INT [nworld][nshape]: rows of details; NULL: materials do not differ */
    stet_array *lens;   /* REAL [nworld][ncamera][STI_LENS_ROW]; NULL: lenses do not differ */
    /*
     * As sti_geoms has them, REAL [nworld][nshape * 4] and [nworld][nshape * 6], INT [nworld][nshape * 4]; NULL: sizes
     * and meshes of geoms do not differ
     */
    stet_array *size, *bounds, *data;
    stet_array *scale; /* REAL [nworld][nscale], scales of details; NULL: the same */
    double *numbers, *lenses, *sizes, *boxes, *scales;
    int *row, *datas; /* all of these on the host */
    int *meshes;      /* [ngeom], of the world that is at work; with `datas` */
    uint64_t clock;   /* look_clock that they were made for */
    unsigned given;   /* looks that differ, bits from STI_PARAMETER_PHYSICS on */
    bool coloured;    /* a shape that was added to the stage has a colour in each world */
} sti_looks;

/* Bits of `given`: geom_matid, and geom_size and geom_dataid after all looks; with meshes rows of details, too. */
enum {
    STI_LOOK_MATERIALS = 1,
    STI_LOOK_SIZES = 1 << (STI_PARAMETER_PLACES - STI_PARAMETER_PHYSICS),
    STI_LOOK_MESHES = STI_LOOK_SIZES << 1
};

/* What the tables are made of. */
typedef struct sti_looks_def {
    stet_stage *stage;
    const sti_appearance *base; /* the table of all worlds, made for the present `given` */
    const sti_geoms *geoms;
    const stet_camera *cameras;
    int ncamera;
    bool physical;
} sti_looks_def;

/* Looks that differ between worlds now. */
unsigned sti_looks_given(const stet_worlds *worlds);
/* Brings the tables up to date; with `anew` also if no look has changed since. */
stet_result sti_looks_update(sti_looks *looks, const sti_looks_def *def, bool anew);
void sti_looks_free(sti_looks *looks);

#endif
