/*
 * Decorations: what MuJoCo's viewer draws beside the scene if its options say so (joints, contacts, frames …), with the
 * sizes and colours of the model's visual/scale and visual/rgba. A decoration has parts; each is a prim with a shape, a
 * unit cylinder, ball, box or cone, whose world transform, with the scale in it, kernels write (decor.k.h) from
 * transforms of other prims and from quantities of the worlds.
 *
 *   DECOR-1  the parts are those of `shown`; nobody else removes their prims
 *   DECOR-2  transforms of parts are those of the quantities' present values: a world whose quantities may have changed
 *       counts as one that moved
 *   DECOR-3  parts that are fixed to bodies (frames and boxes of inertia) follow each world's masses and inertias
 */
#ifndef STI_STAGE_DECOR_H
#define STI_STAGE_DECOR_H

#include "device/device.h"
#include "stage/decor_rows.k.h"
#include "stet/stage.h"

enum { STI_DECOR_KERNELS = 6 };
enum {
    STI_DECOR_XANCHOR,
    STI_DECOR_XAXIS,
    STI_DECOR_COM,
    STI_DECOR_SENSORDATA,
    STI_DECOR_NCON,
    STI_DECOR_CONTACT_GEOM,
    STI_DECOR_CONTACT_DIST,
    STI_DECOR_CONTACT_POS,
    STI_DECOR_CONTACT_FRAME,
    STI_DECOR_CONTACT_FORCE,
    STI_DECOR_QUANTITIES
};

typedef struct sti_decor {
    uint32_t shown; /* bits 1u << stet_decoration */
    int npart;
    int first[STI_DECOR_KERNELS], n[STI_DECOR_KERNELS]; /* parts of each kernel */
    stet_array *row, *number;                           /* decor_rows.k.h */
    stet_array *body;                                   /* INT [1 + ngeom]; k_decor_forces */
    stet_array *own;                                    /* REAL [nworld][…]: numbers of parts that are fixed */
    bool apart;                                         /* `own` has them; else it has no use */
    uint64_t clock;                                     /* of parameters, up to which `own` was made */
    stet_array *quantity[STI_DECOR_QUANTITIES];         /* of the worlds; NULL: not needed */
    bool reads;                                         /* quantities */
    uint64_t seen; /* generation of worlds->quantities.stamps.version when parts were computed (DECOR-2) */
} sti_decor;

/* A part while it is made. */
typedef struct sti_decor_part {
    int type; /* mjtGeom, or a cone */
    float rgba[4];
    int row[DECOR_ROW]; /* decor_rows.k.h; the caller sets its prim */
    double number[DECOR_LOOK];
} sti_decor_part;

/* Lists the parts [decor->npart] of decorations; the caller frees *out. */
stet_result sti_decor_list(sti_decor *decor, const stet_stage *stage, uint32_t shown, sti_decor_part **out);
/* Makes the tables of these parts, whose prims exist now. */
stet_result sti_decor_init(sti_decor *decor, const stet_stage *stage, const sti_decor_part *part);
/* Have masses or inertias of worlds changed since the parts that show them were made? */
bool sti_decor_due(const stet_stage *stage);
/* Makes those parts anew. */
stet_result sti_decor_update(stet_stage *stage);
/* Brings the quantities up to date. */
stet_result sti_decor_ensure(const sti_decor *decor);
/* Writes the parts' transforms in the stale worlds, after all others. */
stet_result sti_decor_run(stet_stage *stage, int64_t *launches);
void sti_decor_free(sti_decor *decor);

#endif
