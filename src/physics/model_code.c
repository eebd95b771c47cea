/* Code for one model; see model_code.h. */
#include "physics/model_code.h"

#include "physics/contact/pairs.h"

#include <string.h>

enum { NQUANTITY = M_HEADER - W_QPOS, BANKS = 32 };

/*
 * Quantities in the order in which they get shared memory, first and last of each range, and the one stage that uses
 * them, or 0; the solver's come first. Not among them: inputs, which are copied as one piece (stage integrate), and
 * those that have an item for each row of all constraints: few of their items are used, and stay in the first cache.
 */
static const struct {
    int first, last, stage;
} wanted[] = {{W_SUMS, W_SUMS, PH_STAGE_SOLVE},
              {W_H, W_H, PH_STAGE_SOLVE},
              {W_H_TILES, W_H_TILES, PH_STAGE_SOLVE},
              {W_GRAD, W_MV, PH_STAGE_SOLVE},
              {W_QACC, W_QACC, 0},
              {W_QM, W_QLDIAGINV, 0},
              {W_QFRC_SMOOTH, W_QACC, 0},
              {W_QH, W_QACC_STEP, PH_STAGE_END},
              {W_QACC_WARMSTART, W_QACC_WARMSTART, 0},
              {W_XPOS, W_EQ_ACTIVE, 0}};

/* Places of quantities in a team's shared memory; returns how many reals that has. */
static int place_quantities(const sti_physics_tables *tables, sti_team team, int64_t shared, int stages, int *at)
{
    /* The first cache keeps three eighths of what a processor has; all, if not a twentieth of a world finds room. */
    const int *m = tables->m;
    int world = m[sti_model_memory(tables)] - m[M_NMEMORY] + sti_physics_usual_memory(m);
    int64_t room = shared * 5 / 8 / (int64_t)sizeof(float) / team.teams;
    if (room < world / 20) room = 0;
    int used = 0;
    memset(at, -1, NQUANTITY * sizeof *at);
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k)
        for (int q = wanted[k].first; q <= wanted[k].last && (!stages || wanted[k].stage & stages); ++q) {
            int size = (sti_model_quantity_size(m, q) + 3) / 4 * 4; /* four reals are one load */
            if (at[q - W_QPOS] >= 0 || size == 0 || used + size > room) continue;
            if (q == W_SUMS && team.team < PH_SUMS) continue;
            at[q - W_QPOS] = used;
            used += size;
        }
    /* Teams of a warp that read the same item read different banks. */
    while (used > 0 && team.team >= 4 && team.team < BANKS && used % BANKS != team.team % BANKS && used + 4 <= room)
        used += 4;
    return used;
}

static void put_ints(sti_text_buffer *out, const char *name, const int *numbers, int n)
{
    sti_text_buffer_format(out, "#define %s ", name);
    for (int i = 0; i < n; ++i) sti_text_buffer_format(out, "%d,", numbers[i]);
    sti_text_buffer_put(out, "\n");
}

/* What occurs in a model. */
typedef struct occurring {
    int kinds[PH_ROWS + 1]; /* of blocks, by their rows */
    int partners[PH_TYPES]; /* types of second geoms, by those of first ones */
    bool searched;          /* contacts of some pair are searched for */
} occurring;

static occurring find_occurring(const int *m)
{
    occurring o = {0};
    const int *type = m + m[M_GEOM_TYPE];
    for (int i = 0; i < m[M_NBLOCK] + m[M_NPAIR] + m[M_NMADE]; ++i) {
        const int *block = m + (i < m[M_NBLOCK] ? m[M_BLOCK] + B_SIZE * i : m[M_PAIR] + B_SIZE * (i - m[M_NBLOCK]));
        o.kinds[block[B_DIM]] |= 1 << block[B_KIND];
        if (i < m[M_NBLOCK]) continue;
        int first = type[block[B_OBJ1]], second = type[block[B_OBJ2]];
        o.partners[first] |= 1 << second;
        o.searched = o.searched || sti_physics_is_searched(first, second);
    }
    const int *row = m + m[M_SENSOR] + SN_SIZE * (m[M_NSENSOR] + m[M_NSENSORROW] + m[M_NSENSORCONTACT]);
    for (int i = 0; i < m[M_NSENSORDISTANCE]; ++i, row += SN_SIZE)
        for (int a = 0; a < row[SN_OBJECT + 1]; ++a)
            for (int b = 0; b < row[SN_REF + 1]; ++b) {
                int one = type[row[SN_OBJECT] + a], two = type[row[SN_REF] + b];
                o.partners[one < two ? one : two] |= 1 << (one < two ? two : one);
            }
    return o;
}

void sti_model_code_write(const sti_physics_tables *tables, sti_team team, int64_t shared, int stages,
                          sti_text_buffer *out, int *near)
{
    int at[NQUANTITY];
    *near = place_quantities(tables, team, shared, stages, at);
    put_ints(out, "PH_MODEL", tables->m, tables->nm);
    put_ints(out, "PH_NEAR", at, NQUANTITY);
    occurring o = find_occurring(tables->m);
    put_ints(out, "PH_KINDS", o.kinds, PH_ROWS + 1);
    put_ints(out, "PH_PARTNERS", o.partners, PH_TYPES);
    sti_text_buffer_format(out, "#define PH_NEAR_REALS %d\n#define PH_HAS_SEARCHED %d\n#define PH_HAS_HFIELD %d\n",
                           *near, o.searched, o.partners[PH_HFIELD] != 0);
    if (stages) sti_text_buffer_format(out, "#define PH_STAGES %d\n", stages);
    sti_text_buffer_put(out, "#define STET_BLOCKS 1\n"); /* else a compiler keeps room for more */
    if (team.team == 1 && !stages)
        sti_text_buffer_format(out, "#define PH_OWN_REALS %d\n#define PH_OWN_INTS %d\n",
                               tables->m[sti_model_memory(tables)], tables->m[M_NINTS]);
}
