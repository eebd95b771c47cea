/*
 * Masses on springs: the sheet, and one step of it. Inputs are exact in single precision but for rest lengths, which
 * are rounded once.
 */
#include "bench/pilot/springs.h"

#include "base/hash.h"
#include "kernel/record/record.h"

#include <math.h>

extern const sti_kernel sti_k_spring_way, sti_k_spring_length, sti_k_spring_direction, sti_k_spring_rate,
    sti_k_spring_tension, sti_k_mass_weight, sti_k_mass_pull, sti_k_mass_contact, sti_k_mass_velocity,
    sti_k_mass_position;

enum { SHEET = STI_SHEET, MASSES = STI_SPRING_MASSES, MAX_SPRINGS = 4 * MASSES };

/* The springs of a sheet, as the kernels want them. */
typedef struct sheet {
    int n;
    int32_t spring[MAX_SPRINGS][2], first[MASSES + 1], end[2 * MAX_SPRINGS];
    double rest[MAX_SPRINGS];
} sheet;

/* Along both edges and both diagonals of each square; edges are 1/8 m. */
static void add_springs(sheet *s, int row, int column)
{
    static const int way[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int k = 0; k < 4; ++k) {
        int r = row + way[k][0], c = column + way[k][1];
        if (r >= SHEET || c < 0 || c >= SHEET) continue;
        s->rest[s->n] = sqrt((double)(way[k][0] * way[k][0] + way[k][1] * way[k][1])) / 8;
        s->spring[s->n][0] = row * SHEET + column;
        s->spring[s->n++][1] = r * SHEET + c;
    }
}

static void make_sheet(sheet *s)
{
    s->n = 0;
    for (int row = 0; row < SHEET; ++row)
        for (int column = 0; column < SHEET; ++column) add_springs(s, row, column);
    int at = 0;
    for (int mass = 0; mass < MASSES; ++mass) {
        s->first[mass] = at;
        for (int k = 0; k < s->n; ++k)
            for (int side = 0; side < 2; ++side)
                if (s->spring[k][side] == mass) s->end[at++] = 2 * k + side;
    }
    s->first[MASSES] = at;
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

/* Item i of world w. */
typedef double fill_item(int64_t w, int64_t i);

static double start_pos(int64_t w, int64_t i)
{
    int64_t mass = i / 3, row = mass / SHEET, column = mass % SHEET;
    double tilt = (double)(w % 16) / 64;
    switch (i % 3) {
    case 0: return (double)column / 8;
    case 1: return (double)row / 8;
    default: return 0.25 + (double)column / 8 * tilt + (double)((w + mass) % 7) / 1024;
    }
}
static double start_stiffness(int64_t w, int64_t i)
{
    (void)i;
    return 128 + (double)(w % 64);
}
static double start_damping(int64_t w, int64_t i)
{
    (void)i;
    return 0.25 + (double)(w % 8) / 32;
}

static stet_result fill_springs(stet_array *a, fill_item *item)
{
    size_t e = a->device->real_size, n = (size_t)a->nitem;
    char *row;
    stet_result result = STET_OK;
    STI_TRY(sti_alloc(&row, n * e, "a row of the springs' start"));
    for (int64_t w = 0; result == STET_OK && w < a->shape[0]; ++w) {
        for (size_t i = 0; i < n; ++i)
            if (e == 8)
                ((double *)(void *)row)[i] = item(w, (int64_t)i);
            else
                ((float *)(void *)row)[i] = (float)item(w, (int64_t)i);
        result = stet_array_write_worlds(a, w, 1, row, n * e);
    }
    sti_free(row);
    return result;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result make_table(stet_device *device, const char *name, const int32_t *values, int64_t n, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, false, out, n));
    return stet_array_write(*out, values, (size_t)n * sizeof *values);
}

static stet_result make_rest(stet_device *device, const sheet *plan, stet_array **out)
{
    float single[MAX_SPRINGS];
    STI_TRY(STI_ARRAY(device, "rest", STET_DTYPE_REAL, false, out, plan->n));
    for (int i = 0; i < plan->n; ++i) single[i] = (float)plan->rest[i];
    bool wide = device->real_size == sizeof(double);
    return stet_array_write(*out, wide ? (const void *)plan->rest : single, stet_array_get_bytes(*out));
}

static stet_result make_tables(sti_springs *s)
{
    sheet *plan;
    STI_TRY(sti_alloc(&plan, sizeof *plan, "a sheet of springs"));
    make_sheet(plan);
    s->nspring = plan->n;
    stet_result r = make_table(s->device, "spring", plan->spring[0], 2 * (int64_t)plan->n, &s->spring);
    if (!r) r = make_table(s->device, "first", plan->first, MASSES + 1, &s->first);
    if (!r) r = make_table(s->device, "end", plan->end, plan->first[MASSES], &s->end);
    if (!r) r = make_rest(s->device, plan, &s->rest);
    sti_free(plan);
    return r;
}

static stet_result make_springs(sti_springs *s)
{
    STI_TRY(make_tables(s));
    const struct {
        stet_array **array;
        const char *name;
        int64_t nitem;
        fill_item *item;
    } rows[] = {
        {&s->pos, "pos", (int64_t)3 * MASSES, start_pos}, {&s->vel, "vel", (int64_t)3 * MASSES, NULL},
        {&s->force, "force", (int64_t)3 * MASSES, NULL},  {&s->way, "way", 3 * (int64_t)s->nspring, NULL},
        {&s->length, "length", s->nspring, NULL},         {&s->rate, "rate", s->nspring, NULL},
        {&s->tension, "tension", s->nspring, NULL},       {&s->stiffness, "stiffness", 1, start_stiffness},
        {&s->damping, "damping", 1, start_damping},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        STI_TRY(STI_ARRAY(s->device, rows[k].name, STET_DTYPE_REAL, true, rows[k].array, s->nworld, rows[k].nitem));
        if (rows[k].item) STI_TRY(fill_springs(*rows[k].array, rows[k].item));
    }
    return STET_OK;
}

stet_result sti_springs_create(stet_device *device, int64_t nworld, sti_springs *out)
{
    *out = (sti_springs){.device = device, .nworld = nworld};
    stet_result result = make_springs(out);
    if (result != STET_OK) sti_springs_destroy(out);
    return result;
}

void sti_springs_destroy(sti_springs *s)
{
    enum { ARRAYS = 13 };
    stet_array *all[ARRAYS] = {s->pos,       s->vel,     s->force,  s->way,  s->length, s->rate, s->tension,
                               s->stiffness, s->damping, s->spring, s->rest, s->first,  s->end};
    for (int k = 0; k < ARRAYS; ++k) stet_array_destroy(all[k]);
    *s = (sti_springs){0};
}

/* ---- stepping ---------------------------------------------------------------------------------------------------- */

#define RUN(kernel, ...) STI_TRY(STI_LAUNCH(kernel, s->device, s->nworld, __VA_ARGS__))
#define A sti_arg_array
#define N sti_arg_int
#define R sti_arg_real

static stet_result pull(const sti_springs *s)
{
    RUN(sti_k_spring_way, A(s->pos), A(s->spring), A(s->way), N(s->nspring));
    RUN(sti_k_spring_length, A(s->way), A(s->length), N(s->nspring));
    RUN(sti_k_spring_direction, A(s->length), A(s->way), N(s->nspring));
    RUN(sti_k_spring_rate, A(s->vel), A(s->way), A(s->spring), A(s->rate), N(s->nspring));
    RUN(sti_k_spring_tension, A(s->length), A(s->rate), A(s->rest), A(s->stiffness), A(s->damping), A(s->tension),
        N(s->nspring));
    return STET_OK;
}

static stet_result move(const sti_springs *s)
{
    RUN(sti_k_mass_weight, A(s->force), R(STI_SPRING_MASS * STI_SPRING_GRAVITY), N(MASSES));
    RUN(sti_k_mass_pull, A(s->tension), A(s->way), A(s->first), A(s->end), A(s->force), N(MASSES));
    RUN(sti_k_mass_contact, A(s->pos), A(s->vel), A(s->force), R(STI_SPRING_RADIUS), R(STI_FLOOR_STIFFNESS),
        R(STI_FLOOR_DAMPING), R(STI_FLOOR_SLIP), N(MASSES));
    RUN(sti_k_mass_velocity, A(s->force), A(s->vel), R(STI_SPRING_HALF / STI_SPRING_MASS), N(MASSES));
    RUN(sti_k_mass_position, A(s->vel), A(s->pos), R(STI_SPRING_HALF), N(MASSES));
    return STET_OK;
}

static stet_result step(const sti_springs *s)
{
    for (int half = 0; half < 2; ++half) {
        STI_TRY(pull(s));
        STI_TRY(move(s));
    }
    return STET_OK;
}

stet_result sti_springs_step(sti_springs *s, bool recorded)
{
    if (!recorded) return step(s);
    STI_TRY(sti_record_begin(s->device, "a step of the springs"));
    return sti_record_end(s->device, step(s));
}

stet_result sti_springs_hash(const sti_springs *s, uint64_t *out)
{
    uint64_t part[2];
    STI_TRY(stet_array_hash(s->pos, &part[0]));
    STI_TRY(stet_array_hash(s->vel, &part[1]));
    *out = sti_hash_bytes(part, sizeof part);
    return STET_OK;
}
