/*
 * Finds the constants of a net of springs from how it was seen to move, by gradient descent through its simulation
 * (springs.k.h, adam.k.h).
 *
 *     fit [cpu|cuda|hip] [WORLDS] [ITERATIONS] [SEED]
 *
 * Each world is an attempt that begins with another guess, up to three times too high or too low. The loss is the
 * squared distance of all masses from where they were seen, over all steps; its gradient comes by a tape. Exit code 1:
 * not every attempt came within 2 % of the truth.
 */
#include "descent.h"

enum { SHEET = 4, MASSES = SHEET * SHEET, MAX_SPRINGS = 4 * MASSES, STEPS = 100, CONSTANTS = 3 };
enum { BEGIN, SPRINGS, MOVE, MISSED, NKERNEL };
enum { GUESS, CONSTANT, POS, VEL, PULL, MISS, ONE, START, SEEN, REST, SPRING, KIND, FIRST, SIDE, NARRAY };

static const double truth[CONSTANTS] = {120, 50, 0.4}; /* N/m along and across, N s/m */

static_assert(NKERNEL <= (int)MOST_KERNELS && NARRAY <= (int)MOST_ARRAYS, "room in a problem");

#define OF(name) ARRAY(f->array[name])

/* ---- the net ----------------------------------------------------------------------------------------------------- */

typedef struct net {
    int32_t spring[MAX_SPRINGS][2], kind[MAX_SPRINGS], first[MASSES + 1], side[2 * MAX_SPRINGS];
    float rest[MAX_SPRINGS], start[MASSES][3];
    int n;
} net;

/*
 * A sheet of squares of 1/8 m: along their edges and across them. It begins stretched one way and squeezed the other.
 */
static void make_net(net *out)
{
    static const int way[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int i = 0; i < 4 * MASSES; ++i) {
        int row = i / 4 / SHEET, column = i / 4 % SHEET, to = row + way[i % 4][0], across = column + way[i % 4][1];
        if (to >= SHEET || across < 0 || across >= SHEET) continue;
        out->spring[out->n][0] = i / 4;
        out->spring[out->n][1] = to * SHEET + across;
        out->kind[out->n] = i % 4 >= 2;
        out->rest[out->n++] = (float)(i % 4 >= 2 ? sqrt(2) / 8 : 0.125);
    }
    for (int mass = 0, at = 0; mass < MASSES; ++mass) {
        int row = mass / SHEET;
        out->start[mass][0] = 1.2F * (float)(mass % SHEET) / 8;
        out->start[mass][1] = 0.9F * (float)row / 8;
        out->start[mass][2] = 0.1F + 0.02F * (float)(mass * 7 % 5);
        for (int s = 0; s < 2 * out->n; ++s)
            if (out->spring[s / 2][s % 2] == mass) out->side[at++] = s;
        out->first[mass + 1] = at;
    }
}

static stet_result open_net(problem *f)
{
    net made = {.n = 0};
    make_net(&made);
    const struct {
        int which;
        const char *name;
        stet_dtype type;
        int64_t n;
        const void *data;
    } row[] = {{START, "start", STET_DTYPE_REAL, (int64_t)MASSES * 3, made.start},
               {REST, "rest", STET_DTYPE_REAL, made.n, made.rest},
               {SPRING, "spring", STET_DTYPE_INT, 2 * (int64_t)made.n, made.spring},
               {KIND, "kind", STET_DTYPE_INT, made.n, made.kind},
               {FIRST, "first", STET_DTYPE_INT, MASSES + 1, made.first},
               {SIDE, "side", STET_DTYPE_INT, 2 * (int64_t)made.n, made.side}};
    for (size_t i = 0; i < sizeof row / sizeof *row; ++i) {
        TRY(open_array(f->device, row[i].name, row[i].type, PLAIN, row[i].n, &f->array[row[i].which]));
        TRY(write_all(f->array[row[i].which], row[i].data));
    }
    return STET_OK;
}

static int64_t springs_of(const problem *f) { return stet_array_get_nelement(f->array[KIND]); }

static stet_result open_all(problem *f, const char *device)
{
    static const char *const kernels[] = {"k_begin", "k_springs", "k_masses", "k_miss"};
    TRY(open_device(device, &f->device));
    TRY(open_net(f));
    const int64_t moving = (int64_t)MASSES * 3, pull = springs_of(f) * 3;
    const int64_t items[] = {CONSTANTS, CONSTANTS, moving, moving, pull, MASSES, MASSES};
    static const char *const names[] = {"guess", "constant", "pos", "vel", "pull", "miss", "one"};
    for (int i = GUESS; i <= ONE; ++i)
        TRY(open_array(f->device, names[i], STET_DTYPE_REAL, f->nworld, items[i], &f->array[i]));
    TRY(open_array(f->device, "seen", STET_DTYPE_REAL, PLAIN, (int64_t)STEPS * MASSES * 3, &f->array[SEEN]));
    for (int i = 0; i < NKERNEL; ++i)
        TRY(open_kernel(f->device, EXAMPLES_FOLDER "/springs.k.h", kernels[i], &f->kernel[i]));
    return open_solver(f, f->array[GUESS]);
}

/* ---- one run of the net ------------------------------------------------------------------------------------------ */

static stet_result begin(const problem *f)
{
    return LAUNCH(f->kernel[BEGIN], f->nworld, OF(GUESS), OF(START), OF(CONSTANT), OF(POS), OF(VEL), OF(MISS),
                  WHOLE(MASSES));
}

static stet_result step(const problem *f)
{
    TRY(LAUNCH(f->kernel[SPRINGS], f->nworld, OF(POS), OF(VEL), OF(CONSTANT), OF(SPRING), OF(REST), OF(KIND), OF(PULL),
               WHOLE(springs_of(f))));
    return LAUNCH(f->kernel[MOVE], f->nworld, OF(PULL), OF(FIRST), OF(SIDE), OF(POS), OF(VEL), REAL(0.002),
                  REAL(0.0625), REAL(9.81), REAL(1000), REAL(0.5), WHOLE(MASSES));
}

static stet_result run(const problem *f)
{
    TRY(begin(f));
    for (int i = 0; i < STEPS; ++i) {
        TRY(stet_tape_step(f->tape));
        TRY(step(f));
        TRY(LAUNCH(f->kernel[MISSED], f->nworld, OF(POS), OF(SEEN), OF(MISS), WHOLE(i), WHOLE(MASSES)));
    }
    return STET_OK;
}

/* The gradient of the loss with respect to the guesses is in *out. */
static stet_result differentiate(const problem *f, stet_array **out)
{
    TRY(stet_tape_begin(f->tape));
    TRY(stet_tape_end(f->tape, run(f)));
    return pass_back(f, f->array[MISS], f->array[ONE], f->array[GUESS], out);
}

/* ---- what was seen, guesses, and how it went --------------------------------------------------------------------- */

/* Guesses up to `spread` times too high or too low. */
static stet_result guess(const problem *f, double spread, uint32_t seed)
{
    for (int64_t w = 0; w < f->nworld; ++w) {
        float row[CONSTANTS];
        for (int i = 0; i < CONSTANTS; ++i) row[i] = (float)log(truth[i]) + between(&seed, -log(spread), log(spread));
        TRY(stet_array_write_worlds(f->array[GUESS], w, 1, row, sizeof row));
    }
    return STET_OK;
}

/* What the net does with the true constants, and weights of 1 for all that is missed. */
static stet_result see(const problem *f)
{
    float seen[STEPS * MASSES * 3], one[MASSES];
    for (int i = 0; i < MASSES; ++i) one[i] = 1;
    for (int64_t w = 0; w < f->nworld; ++w) TRY(stet_array_write_worlds(f->array[ONE], w, 1, one, sizeof one));
    TRY(guess(f, 1, 1));
    TRY(begin(f));
    for (int i = 0; i < STEPS; ++i) {
        TRY(step(f));
        TRY(stet_array_read_worlds(f->array[POS], 0, 1, seen + (size_t)i * MASSES * 3, sizeof(float) * MASSES * 3));
    }
    return write_all(f->array[SEEN], seen);
}

static double worse(double error, double of, double is) { return fmax(error, fabs(is / of - 1)); }

static stet_result report(const problem *f, int iteration, int64_t *found)
{
    const float *miss, *constant;
    double sum = 0, worst = 0;
    *found = 0;
    TRY(read_all(f->array[MISS], &miss));
    TRY(read_all(f->array[CONSTANT], &constant));
    for (int64_t i = 0; i < f->nworld * MASSES; ++i) sum += (double)miss[i];
    for (int64_t w = 0; w < f->nworld; ++w) {
        double error = 0;
        for (int i = 0; i < CONSTANTS; ++i) error = worse(error, truth[i], (double)constant[w * CONSTANTS + i]);
        worst = fmax(worst, error);
        *found += error < 0.02;
    }
    printf("iteration %3d: loss %.3e, worst constant %5.1f %% off; world 0: %.1f and %.1f N/m, %.3f N s/m\n", iteration,
           sum / (double)f->nworld, 100 * worst, (double)constant[0], (double)constant[1], (double)constant[2]);
    return STET_OK;
}

static stet_result fit_all(problem *f, const choices *c, int64_t *found)
{
    TRY(open_all(f, c->device));
    TRY(see(f));
    TRY(guess(f, 3, c->seed));
    for (int i = 0; i <= c->iterations; ++i) {
        stet_array *gradient;
        TRY(differentiate(f, &gradient));
        if (i % 25 == 0 || i == c->iterations) TRY(report(f, i, found));
        TRY(descend(&f->descent, gradient, i < c->iterations * 2 / 3 ? 0.05 : 0.01));
    }
    stet_tape_info info = stet_tape_get_info(f->tape);
    printf("a tape of %lld launches: %lld checkpoints of %lld bytes in all\n", (long long)info.launches,
           (long long)info.checkpoints, (long long)info.checkpoint_bytes);
    printf("%lld of %lld attempts found %.0f and %.0f N/m, %.1f N s/m\n", (long long)*found, (long long)f->nworld,
           truth[0], truth[1], truth[2]);
    return STET_OK;
}

int main(int argc, char **argv)
{
    const choices c = choices_of(argc, argv, 16, 200);
    int64_t found = 0;
    problem f = {.nworld = c.n};
    if (!some("fit", c.n)) return 1;
    stet_result result = fit_all(&f, &c, &found);
    return finish("fit", result, found == c.n, &f);
}
