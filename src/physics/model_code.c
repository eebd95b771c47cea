/* Code for one model; see model_code.h. */
#include "physics/model_code.h"

#include "physics/layout.k.h"
#include "physics/pairs.h"

#include <string.h>

enum { NQUANTITY = W_AFTER_END - W_QPOS, BANKS = 32 };

/*
 * Quantities in the order in which they get shared memory. The solver's come first. Not among them: inputs, which are
 * copied as one piece (stage integrate), and those that have an item for each row of all constraints, of which few are
 * used: they stay near in the first cache.
 */
static const short wanted[] = {W_H,
                               W_GRAD,
                               W_SEARCH,
                               W_MA,
                               W_MV,
                               W_QACC,
                               W_QM,
                               W_QLD,
                               W_QLDIAGINV,
                               W_QACC_SMOOTH,
                               W_QFRC_SMOOTH,
                               W_QFRC_CONSTRAINT,
                               W_QACC_WARMSTART,
                               W_QH,
                               W_QHDIAGINV,
                               W_QACC_STEP,
                               W_XPOS,
                               W_XQUAT,
                               W_XMAT,
                               W_XIPOS,
                               W_XIMAT,
                               W_XANCHOR,
                               W_XAXIS,
                               W_SUBTREE_COM,
                               W_CDOF,
                               W_CINERT,
                               W_CRB,
                               W_CVEL,
                               W_CDOF_DOT,
                               W_CACC,
                               W_CFRC,
                               W_GEOM_XPOS,
                               W_GEOM_XMAT,
                               W_SITE_XPOS,
                               W_SITE_XMAT,
                               W_TEN_LENGTH,
                               W_TEN_VELOCITY,
                               W_TEN_FORCE,
                               W_ACTUATOR_LENGTH,
                               W_ACTUATOR_VELOCITY,
                               W_ACTUATOR_MOMENT,
                               W_QFRC_SPRING,
                               W_QFRC_DAMPER,
                               W_QFRC_GRAVCOMP,
                               W_QFRC_PASSIVE,
                               W_QFRC_BIAS,
                               W_ACT_DOT,
                               W_ACTUATOR_FORCE,
                               W_ACTUATOR_DERIV,
                               W_QFRC_ACTUATOR,
                               W_EQ_ACTIVE,
                               W_SOLVER_NITER};

/* Places of quantities in a team's shared memory; returns how many reals that has. */
static int place_quantities(const int *m, sti_team team, int64_t shared, int *at)
{
    /* Of what a processor has, the first cache keeps three eighths. */
    int64_t room = shared * 5 / 8 / (int64_t)sizeof(float) / team.teams;
    int used = 0;
    memset(at, -1, NQUANTITY * sizeof *at);
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k) {
        int size = (m[wanted[k] + 1] - m[wanted[k]] + 3) / 4 * 4; /* four reals are one load */
        if (size == 0 || used + size > room) continue;
        at[wanted[k] - W_QPOS] = used;
        used += size;
    }
    /* Teams of a warp that read the same item read different banks. */
    while (used > 0 && team.team < BANKS && used % BANKS != team.team % BANKS && used + 4 <= room && team.team >= 4)
        used += 4;
    return used;
}

static void put_ints(sti_text_buffer *out, const char *name, const int *numbers, int n)
{
    sti_text_buffer_format(out, "#define %s ", name);
    for (int i = 0; i < n; ++i) sti_text_buffer_format(out, "%d,", numbers[i]);
    sti_text_buffer_put(out, "\n");
}

/* True if some pair's contacts are searched for, or, with `any`, if there are pairs at all. */
static bool has_pairs(const int *m, bool any)
{
    const int *type = m + m[M_GEOM_TYPE];
    for (int i = 0; i < m[M_NPAIR]; ++i) {
        const int *pair = m + m[M_PAIR] + B_SIZE * i;
        if (any || sti_physics_is_searched(type[pair[B_OBJ1]], type[pair[B_OBJ2]])) return true;
    }
    return false;
}

void sti_model_code_write(const sti_physics_tables *tables, sti_team team, int64_t shared, sti_text_buffer *out,
                          int *near)
{
    int at[NQUANTITY];
    *near = place_quantities(tables->m, team, shared, at);
    put_ints(out, "PH_MODEL", tables->m, tables->nm);
    put_ints(out, "PH_NEAR", at, NQUANTITY);
    sti_text_buffer_format(out, "#define PH_NEAR_REALS %d\n#define PH_HAS_PAIRS %d\n#define PH_HAS_SEARCHED %d\n",
                           *near, has_pairs(tables->m, true), has_pairs(tables->m, false));
}
