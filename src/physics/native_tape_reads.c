/*
 * What follows from the state, and is computed when it is read, as operations that a tape takes: poses of bodies, and
 * quantities (worlds/quantities.h). Their gradients: gradient/shown.k.h.
 */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "kernel/record/launch_observer.h"
#include "physics/native_pull.h"
#include "worlds/poses.h"

#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_native_give;

/* The state and the inputs, what worlds read besides, and behind them the arrays that are computed. */
enum {
    WARM = STI_TAPED_GRADED,
    V,
    DUE,
    COMPUTED,
    MOST = STI_MAX_PARAMS - COMPUTED /* of arrays that are read together */
};

struct sti_native_reading {
    sti_operation operation;
    sti_native_reading *next;
    sti_native *native;
    sti_operand operand[STI_MAX_PARAMS];
    char name[MOST][48];
    sti_native_list list; /* of quantities; of poses its rows alone */
    sti_native_reads reads;
    stet_array *array[MOST];
    stet_array *rows;     /* those that have gradients, Q_SIZE ints each */
    stet_array *gradient; /* [nworld][items] */
    int n, nrow;
    bool poses, solves;
};

/* ---- what has a gradient ----------------------------------------------------------------------------------------- */

/* How a quantity has a gradient: not at all; from kinematics alone; by what else steps have one for; with qacc. */
typedef enum grade { NOT, BY_PLACES, BY_PATHS, BY_ACCELERATION } grade;

static grade grade_of_sensor(int type)
{
    switch (type) {
    case mjSENS_TENDONPOS:
    case mjSENS_TENDONVEL:
    case mjSENS_ACTUATORPOS:
    case mjSENS_ACTUATORVEL: return BY_PATHS;
    case mjSENS_ACCELEROMETER:
    case mjSENS_TOUCH:
    case mjSENS_JOINTLIMITFRC:
    case mjSENS_TENDONLIMITFRC:
    case mjSENS_FRAMELINACC:
    case mjSENS_FRAMEANGACC: return BY_ACCELERATION;
    default: return BY_PLACES; /* or it has none, of which the kernel takes care number by number */
    }
}

static grade grade_of_sensors(const mjModel *m)
{
    grade most = BY_PLACES;
    for (int i = 0; i < m->nsensor; ++i) {
        grade own = grade_of_sensor(m->sensor_type[i]);
        if (own > most) most = own;
    }
    return most;
}

bool sti_sensors_solve(const mjModel *m) { return grade_of_sensors(m) == BY_ACCELERATION; }

/* Of a read without a gradient by what parameters move, steps with gradients by parameters would say too little. */
static bool moves_with_parameters(const int32_t *row)
{
    bool sums = row[Q_FROM] == W_SUBTREE_COM || row[Q_FROM] == W_SUBTREE_LINVEL || row[Q_FROM] == W_CVEL;
    return sums || row[Q_FROM] == W_SENSORDATA || row[Q_FROM] == W_QACC;
}

static grade grade_of(const mjModel *m, const int32_t *row)
{
    static const int places[] = {W_XPOS,      W_XQUAT,     W_XMAT,      W_XIPOS,       W_XIMAT,          W_GEOM_XPOS,
                                 W_GEOM_XMAT, W_SITE_XPOS, W_SITE_XMAT, W_SUBTREE_COM, W_SUBTREE_LINVEL, W_CVEL};
    static const int paths[] = {W_TEN_LENGTH, W_TEN_VELOCITY, W_ACTUATOR_LENGTH, W_ACTUATOR_VELOCITY};
    if (row[Q_KIND] != PH_SHOW_COPY && row[Q_KIND] != PH_SHOW_QUAT) return NOT;
    for (size_t k = 0; k < sizeof places / sizeof *places; ++k)
        if (row[Q_FROM] == places[k]) return BY_PLACES;
    for (size_t k = 0; k < sizeof paths / sizeof *paths; ++k)
        if (row[Q_FROM] == paths[k]) return BY_PATHS;
    if (row[Q_FROM] == W_SENSORDATA) return grade_of_sensors(m);
    return row[Q_FROM] == W_QACC ? BY_ACCELERATION : NOT;
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static stet_result check(const sti_operation *operation)
{
    const sti_native_reading *r = operation->owner;
    const mjModel *m = r->native->worlds->model->mj;
    bool steps = false;
    for (int i = 0; i < r->list.nlist; ++i) {
        const int32_t *row = r->list.list + (ptrdiff_t)Q_SIZE * i;
        steps |= grade_of(m, row) > BY_PLACES;
        if (r->native->tape.wanted.n > 0 && moves_with_parameters(row))
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "gradients by parameters do not go through %s; read poses, or name no parameters",
                             r->array[i]->name);
    }
    return steps ? sti_gradient_check_model(m) : STET_OK;
}

static stet_result prepare(const sti_operation *operation)
{
    sti_native_reading *r = operation->owner;
    return sti_native_prepare_pull_reads(r->native);
}

static stet_result run(sti_native_reading *r)
{
    return r->poses ? sti_native_launch_poses(r->native) : sti_native_read(r->native, &r->reads, &r->list);
}

static stet_result again(const sti_operation *operation, const sti_arg *args)
{
    (void)args;
    return run(operation->owner);
}

static stet_result back(const sti_operation *operation, const sti_arg *args, stet_array *const *results,
                        stet_array *const *gradients)
{
    const sti_native_reading *r = operation->owner;
    const sti_native *n = r->native;
    stet_array *due = args[DUE].array;
    (void)results;
    STI_TRY(sti_native_same_parameters(n, operation, args[V].array));
#define BEFORE(name) .name = args[STI_TAPED_##name].array
#define GRADIENT(name) .name = gradients[STI_TAPED_##name]
    const sti_native_before before = {
        BEFORE(qpos),         BEFORE(qvel),      BEFORE(act),        BEFORE(ctrl),      BEFORE(qfrc_applied),
        BEFORE(xfrc_applied), BEFORE(mocap_pos), BEFORE(mocap_quat), BEFORE(eq_active), .qacc = args[WARM].array};
    const sti_native_gradients pulled = {GRADIENT(qpos),      GRADIENT(qvel),         GRADIENT(act),
                                         GRADIENT(ctrl),      GRADIENT(qfrc_applied), GRADIENT(xfrc_applied),
                                         GRADIENT(mocap_pos), GRADIENT(mocap_quat)};
#undef BEFORE
#undef GRADIENT
    for (int i = 0, at = 0; i < r->n; ++i) {
        stet_array *part = gradients[COMPUTED + i];
        if (!part) continue;
        STI_TRY(STI_LAUNCH(sti_k_native_give, n->worlds->device, n->worlds->nworld, sti_arg_array(due),
                           sti_arg_array(part), sti_arg_array(r->gradient), sti_arg_int(at),
                           sti_arg_int((int)part->nitem)));
        at += (int)part->nitem;
    }
    if (r->nrow == 0) return STET_OK;
    return sti_native_pull_reads(n, due, r->rows, r->nrow, &before, r->gradient, &pulled, r->solves);
}

/* Otherwise they would count as the caller's. */
static void restored(const sti_operation *operation)
{
    const sti_native_reading *r = operation->owner;
    if (r->poses) sti_poses_keep_written(r->native->worlds);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static void name_operands(sti_native_reading *r)
{
    enum { READ = STI_OPERAND_READ, GRADED = STI_OPERAND_GRADED };
#define TAKEN(name) r->operand[STI_TAPED_##name] = (sti_operand){#name, READ | GRADED, true, false};
    STI_NATIVE_GRADED(TAKEN)
#undef TAKEN
    r->operand[WARM] = (sti_operand){"qacc_warmstart", READ, true, false};
    r->operand[V] = (sti_operand){"parameters of worlds", READ, true, false};
    r->operand[DUE] = (sti_operand){"worlds to compute", READ, false, false};
    for (int i = 0; i < r->n; ++i) {
        bool real = r->array[i]->dtype == STET_DTYPE_REAL;
        (void)snprintf(r->name[i], sizeof r->name[i], "%s", r->array[i]->name);
        r->operand[COMPUTED + i] = (sti_operand){r->name[i], STI_OPERAND_WRITTEN, real, false};
    }
    r->operation = (sti_operation){.name = r->poses ? "kinematics of native physics" : "a read of native physics",
                                   .owner = r,
                                   .operand = r->operand,
                                   .noperand = COMPUTED + r->n,
                                   .count = r->native->worlds->nworld,
                                   .most = MOST + 8,
                                   .check = check,
                                   .prepare = prepare,
                                   .again = again,
                                   .back = back,
                                   .restored = restored};
}

/* The rows of what has a gradient, one after the other in an array of their own. */
static stet_result grade_rows(sti_native_reading *r)
{
    const mjModel *m = r->native->worlds->model->mj;
    stet_device *device = r->native->worlds->device;
    int32_t rows[Q_SIZE * MOST];
    int items = 0;
    for (int i = 0; i < r->n; ++i) {
        const int32_t *from = r->list.list + (ptrdiff_t)Q_SIZE * i;
        grade how = grade_of(m, from);
        if (how == NOT || r->array[i]->dtype != STET_DTYPE_REAL) continue;
        int32_t *row = rows + (ptrdiff_t)Q_SIZE * r->nrow++;
        memcpy(row, from, Q_SIZE * sizeof *row);
        row[Q_AT] = items;
        items
            += (int)r->array[i]->nitem;
        r->solves |= how == BY_ACCELERATION;
        r->operand[COMPUTED + i].uses |= STI_OPERAND_GRADED;
    }
    if (r->nrow == 0) return STET_OK;
    STI_TRY(STI_ARRAY(device, "list of gradients", STET_DTYPE_INT, false, &r->rows, (int64_t)r->nrow * Q_SIZE));
    STI_TRY(stet_array_write(r->rows, rows, (size_t)r->nrow * Q_SIZE * sizeof *rows));
    return STI_ARRAY(device, "gradients of what is read", STET_DTYPE_REAL, true, &r->gradient,
                     r->native->worlds->nworld, items);
}

static void reading_free(sti_native_reading *r)
{
    sti_device_notify_destroyed(r->native->worlds->device, &r->operation);
    sti_native_list_free(&r->list);
    sti_native_reads_free(&r->reads);
    stet_array_destroy(r->rows);
    stet_array_destroy(r->gradient);
    sti_free(r);
}

void sti_native_readings_free(sti_native *n)
{
    for (sti_native_reading *r = n->tape.readings, *next; r; r = next) {
        next = r->next;
        reading_free(r);
    }
    n->tape.readings = NULL;
}

/* Takes over the list. */
static stet_result make_reading(sti_native *n, sti_native_list *list, bool poses, sti_native_reading **out)
{
    sti_native_reading *r;
    if (list->nlist > MOST)
        return sti_error(STET_ERROR_LIMIT, "tape: %d quantities are read at once; read %d at most", list->nlist, MOST);
    STI_TRY(sti_alloc(&r, sizeof *r, "what a tape reads"));
    r->native = n;
    r->poses = poses;
    r->list = *list;
    *list = (sti_native_list){.list = NULL};
    r->n = r->list.nlist;
    memcpy(r->array, r->list.array, (size_t)r->n * sizeof(stet_array *));
    name_operands(r);
    stet_result result = grade_rows(r);
    if (result != STET_OK) {
        reading_free(r);
        return result;
    }
    r->next = n->tape.readings;
    n->tape.readings = r;
    *out = r;
    return STET_OK;
}

/* ---- taking it down ---------------------------------------------------------------------------------------------- */

static stet_result run_taped(sti_native_reading *r)
{
    sti_native *n = r->native;
    sti_arg args[STI_MAX_PARAMS];
#define PLACE(name) args[STI_TAPED_##name] = STATE_ARG(name);
    STI_NATIVE_GRADED(PLACE)
#undef PLACE
    args[WARM] = STATE_ARG(qacc_warmstart);
    args[V] = sti_arg_array(n->own.v);
    args[DUE] = sti_arg_array(r->poses ? n->due.array : n->tape.every);
    for (int i = 0; i < r->n; ++i) args[COMPUTED + i] = sti_arg_array(r->array[i]);
    sti_operation_begin(n->worlds->device, &r->operation, args);
    return sti_operation_end(n->worlds->device, &r->operation, run(r));
}

/* The mask of all worlds. */
static stet_result make_every(sti_native *n)
{
    int64_t nworld = n->worlds->nworld;
    int32_t *ones;
    if (n->tape.every) return STET_OK;
    STI_TRY(sti_alloc(&ones, (size_t)nworld * sizeof *ones, "all worlds"));
    for (int64_t w = 0; w < nworld; ++w) ones[w] = 1;
    stet_result result = STI_ARRAY(n->worlds->device, "all worlds", STET_DTYPE_INT, true, &n->tape.every, nworld, 1);
    if (result == STET_OK) result = stet_array_write(n->tape.every, ones, (size_t)nworld * sizeof *ones);
    sti_free(ones);
    return result;
}

stet_result sti_native_read_taped(sti_native *n, sti_native_list *list)
{
    sti_native_reading *r = n->tape.readings;
    size_t size = (size_t)list->nlist * sizeof *list->array;
    STI_TRY(make_every(n));
    while (r && (r->poses || r->n != list->nlist || memcmp(r->array, list->array, size) != 0)) r = r->next;
    if (!r) STI_TRY(make_reading(n, list, false, &r));
    return run_taped(r);
}

/* Rows as those of quantities, of xpos and xquat. */
static stet_result list_poses(const sti_native *n, sti_native_list *list)
{
    static const int from[] = {W_XPOS, W_XQUAT};
    stet_array *const array[] = {n->worlds->state.field[STI_FIELD_xpos], n->worlds->state.field[STI_FIELD_xquat]};
    STI_TRY(sti_alloc(&list->list, 2 * Q_SIZE * sizeof *list->list, "list of poses"));
    STI_TRY(sti_alloc(&list->array, 2 * sizeof *list->array, "list of poses"));
    for (int i = 0; i < 2; ++i) {
        int32_t *row = list->list + (ptrdiff_t)Q_SIZE * i;
        row[Q_KIND] = PH_SHOW_COPY;
        row[Q_N] = (int32_t)array[i]->nitem;
        row[Q_FROM] = from[i];
        list->array[list->nlist++] = array[i];
    }
    return STET_OK;
}

stet_result sti_native_pose_taped(sti_native *n)
{
    sti_native_reading *r = n->tape.readings;
    while (r && !r->poses) r = r->next;
    if (!r) {
        sti_native_list list = {.list = NULL};
        stet_result result = list_poses(n, &list);
        if (result == STET_OK) result = make_reading(n, &list, true, &r);
        sti_native_list_free(&list);
        STI_TRY(result);
    }
    return run_taped(r);
}
