/* What native physics keeps on the host, for its steps (native.c) and reads (native_read.c). */
#ifndef STI_PHYSICS_NATIVE_STATE_H
#define STI_PHYSICS_NATIVE_STATE_H

#include "base/memory.h"
#include "physics/layout.k.h"
#include "physics/native.h"
#include "physics/parameters.h"
#include "physics/tables.h"

/* What reads keep: the quantities of the latest list, one after the other. */
typedef struct sti_native_reads {
    stet_array *list, *points, *all; /* Q_SIZE ints each; three reals each; [nworld][all items] */
    int32_t *listed;                 /* what `list` holds, */
    int nlisted;                     /* and how many */
} sti_native_reads;

struct sti_native {
    stet_worlds *worlds;
    sti_physics_tables tables;
    stet_array *m, *f;         /* the tables on the device */
    bool old;                  /* they are not these tables */
    sti_native_parameters own; /* parameters that differ between worlds */
    stet_array *stepped;       /* [nworld][1], the mask of the last step */
    stet_array *fault, *ticks; /* [nworld][1], NATIVE-3 */
    sti_stamp pulled;          /* version of `fault` after the last pull */
    int64_t unpulled;          /* time steps since, at most; `ticks` has room for INT32_MAX */
    uint8_t *mask;             /* [nworld], what `stepped` holds */
    stet_array *due;           /* [nworld][1], worlds whose poses were computed last */
    uint8_t *posed;            /* [nworld], what `due` holds */
    sti_native_reads reads;
};

#define STATE_ARG(name) sti_arg_array(n->worlds->field[STI_FIELD_##name])
#define MEMORY_ARG(reals) sti_arg_int(n->tables.m[reals]), sti_arg_int(n->tables.m[M_NINTS])
#define MODEL_ARGS sti_arg_array(n->m), sti_arg_array(n->f), sti_arg_array(n->own.v)
#define INPUT_ARGS                                                                                                     \
    STATE_ARG(ctrl), STATE_ARG(qfrc_applied), STATE_ARG(xfrc_applied), STATE_ARG(mocap_pos), STATE_ARG(mocap_quat),    \
        STATE_ARG(qacc_warmstart), STATE_ARG(eq_active)

/* Tables and numbers of worlds follow the worlds' parameters. */
stet_result sti_native_update(sti_native *n);

/* Fills the quantities of a pass (worlds/quantities.h): forward dynamics once, then one copy each. */
stet_result sti_native_fill(void *native);

static inline void sti_native_reads_free(sti_native_reads *reads)
{
    stet_array_destroy(reads->list);
    stet_array_destroy(reads->points);
    stet_array_destroy(reads->all);
    sti_free(reads->listed);
    *reads = (sti_native_reads){.list = NULL};
}

#endif
