/* Reading quantities of native physics: one launch puts all that are wanted one after the other; see native.h. */
#include "physics/native_state.h"

#include "base/memory.h"
#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "physics/seen_how.k.h"
#include "worlds/quantities.h"

#include <assert.h>
#include <string.h>

extern const sti_kernel sti_k_native_forward, sti_k_native_take, sti_k_native_take_ints, sti_k_native_take_chosen;

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Where a Jacobian's point is: a quantity in team memory and its item, or a point of the caller's. */
static void list_jacobian(const mjModel *m, const sti_quantity *q, sti_native_list *out, int32_t *row)
{
    row[Q_KIND] = PH_SHOW_JACOBIAN;
    row[Q_ITEM] = row[Q_BODY] = q->object;
    switch (q->jacobian) {
    case STET_JACOBIAN_BODY: row[Q_FROM] = W_XPOS; return;
    case STET_JACOBIAN_BODY_COM: row[Q_FROM] = W_XIPOS; return;
    case STET_JACOBIAN_GEOM:
        row[Q_FROM] = W_GEOM_XPOS;
        row[Q_BODY] = m->geom_bodyid[q->object];
        return;
    case STET_JACOBIAN_SITE:
        row[Q_FROM] = W_SITE_XPOS;
        row[Q_BODY] = m->site_bodyid[q->object];
        return;
    default:
        row[Q_KIND] = PH_SHOW_POINT;
        row[Q_ITEM] = out->npoint;
        memcpy(out->point + 3 * (size_t)out->npoint++, q->point, sizeof q->point);
    }
}

/* Room for a list of contacts; every quantity of contacts has as many slots, and ncon wants one at least. */
static void list_slots(sti_native_list *out, int slots)
{
    int bits = (out->extra & (PH_EXTRA_LIST - 1)) | PH_EXTRA_AFTER, have = out->extra / PH_EXTRA_LIST;
    out->extra = bits + PH_EXTRA_LIST * (slots > have ? slots : have);
}

static void list_contact(int first, int size, const sti_quantity *q, sti_native_list *out, int32_t *row)
{
    assert(q->array->nitem % size == 0 && "whole contacts");
    row[Q_KIND] = PH_SHOW_CONTACT;
    row[Q_FROM] = first;
    row[Q_ITEM] = size;
    list_slots(out, (int)q->array->nitem / size);
}

static void list_quantity(const sti_native *n, const sti_quantity *q, sti_native_list *out)
{
    int32_t *row = out->list + (size_t)Q_SIZE * (size_t)out->nlist++;
    int items;
    row[Q_AT] = out->items;
    row[Q_N] = (int32_t)q->array->nitem;
    out->items += row[Q_N];
    if (sti_quantity_stage(q) == STI_STAGE_AFTER) out->extra |= PH_EXTRA_AFTER;
    switch (q->kind) {
    case STI_QUANTITY_geom_xquat:
    case STI_QUANTITY_site_xquat:
        row[Q_KIND] = PH_SHOW_QUAT;
        row[Q_FROM] = q->kind == STI_QUANTITY_geom_xquat ? W_GEOM_XMAT : W_SITE_XMAT;
        return;
    case STI_QUANTITY_qM: row[Q_KIND] = PH_SHOW_DENSE; return;
    case STI_QUANTITY_jacobian: list_jacobian(n->worlds->model->mj, q, out, row); return;
    case STI_QUANTITY_ncon: /* the list of contacts begins with their number */
        row[Q_FROM] = M_NMEMORY_ALL;
        list_slots(out, 1);
        return;
    case STI_QUANTITY_contact_geom: list_contact(0, 2, q, out, row); return;
    case STI_QUANTITY_contact_dist: list_contact(2, 1, q, out, row); return;
    case STI_QUANTITY_contact_pos: list_contact(3, 3, q, out, row); return;
    case STI_QUANTITY_contact_frame: list_contact(6, 9, q, out, row); return;
    case STI_QUANTITY_contact_force: list_contact(15, 6, q, out, row); return;
    case STI_QUANTITY_sensordata: /* of sensors that are disabled there are no numbers, and the array stays 0 */
        out->extra |= n->tables.m[M_STEP_EXTRA];
        row[Q_FROM] = W_SENSORDATA;
        row[Q_N] = n->tables.m[M_NSENSORDATA];
        return;
    default:
        row[Q_FROM] = sti_physics_quantity(sti_quantity_name(q->kind), &n->tables, &items);
        assert(row[Q_FROM] >= 0 && items >= row[Q_N] && "a quantity of native physics is in team memory");
    }
}

/* Puts the list and the points on the device, if they are not there. */
static stet_result put_list(const sti_native *n, sti_native_reads *r, const sti_native_list *k)
{
    size_t size = (size_t)k->nlist * Q_SIZE * sizeof *k->list, room = 3 * (size_t)(k->npoint > 0 ? k->npoint : 1);
    void *mirror;
    assert(k->nlist > 0 && k->npoint <= k->nlist && k->items >= 0);
    if (r->list && r->nlisted == k->nlist && memcmp(r->listed, k->list, size) == 0) return STET_OK;
    stet_device *device = n->worlds->device;
    sti_native_reads_free(r);
    STI_TRY(sti_alloc(&r->listed, size, "list of quantities"));
    STI_TRY(STI_ARRAY(device, "list of quantities", STET_DTYPE_INT, false, &r->list, k->nlist * Q_SIZE));
    STI_TRY(stet_array_write(r->list, k->list, size));
    STI_TRY(STI_ARRAY(device, "points of Jacobians", STET_DTYPE_REAL, false, &r->points, (int64_t)room));
    STI_TRY(sti_mirror_overwrite(r->points, &mirror));
    for (size_t i = 0; i < room; ++i)
        sti_mirror_set(r->points, mirror, 0, (int64_t)i, i < 3 * (size_t)k->npoint ? k->point[i] : 0);
    sti_array_mirror_written(r->points);
    STI_TRY(STI_ARRAY(device, "quantities", STET_DTYPE_REAL, true, &r->all, n->worlds->nworld, k->items));
    STI_TRY(STI_ARRAY(device, "worlds without room", STET_DTYPE_INT, true, &r->lack, n->worlds->nworld, 1));
    memcpy(r->listed, k->list, size);
    r->nlisted = k->nlist;
    return STET_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* With the tables m; of the state before the last step, or the present one. */
static stet_result launch_forward(sti_native *n, const sti_native_reads *r, const sti_native_list *k, stet_array *out,
                                  const int *m, int how)
{
    const sti_native_spare *spare = &n->spare;
    int listed = k->extra / PH_EXTRA_LIST;
    int memory = k->extra & PH_EXTRA_BEHIND ? m[M_NMEMORY_ALL] + 1 + PH_LISTED * listed : m[M_NMEMORY];
    bool owed = how == PH_OWED;
    if (owed) STI_TRY(sti_native_make_spare_memory(n, memory));
#define FROM(name, present) sti_arg_array(k->of_step ? n->seen.name : (present))
#define FROM_FIELD(name) FROM(name, n->worlds->state.field[STI_FIELD_##name])
    return STI_LAUNCH(
        sti_k_native_forward, n->worlds->device, n->worlds->nworld, sti_arg_array(owed ? spare->tables : n->m),
        sti_arg_array(n->f), sti_arg_array(n->own.v), sti_arg_array(r->list), sti_arg_array(r->points),
        sti_arg_team(owed ? spare->memory : n->memory, memory),
        sti_arg_team(owed ? spare->plain_memory : n->plain_memory, m[M_NINTS]), FROM_FIELD(qpos), FROM_FIELD(qvel),
        FROM_FIELD(act), FROM_FIELD(history), FROM_FIELD(ctrl), FROM_FIELD(qfrc_applied), FROM_FIELD(xfrc_applied),
        FROM_FIELD(mocap_pos), FROM_FIELD(mocap_quat), FROM_FIELD(qacc_warmstart), FROM_FIELD(eq_active),
        FROM(clock, n->clock), FROM(fault, n->fault), FROM(ticks, n->ticks), sti_arg_array(out), sti_arg_array(r->lack),
        sti_arg_int(k->nlist), sti_arg_int(k->extra), sti_arg_int(how));
#undef FROM
#undef FROM_FIELD
}

/* Worlds without room for their contacts are looked at again with all the room that there can be. */
static stet_result run_forward(sti_native *n, sti_native_reads *r, const sti_native_list *k, stet_array *out)
{
    bool lack = false;
    STI_TRY(put_list(n, r, k));
    STI_TRY(sti_native_make_memory(n));
    STI_TRY(launch_forward(n, r, k, out ? out : r->all, n->tables.m, 0));
    if (n->spare.m) STI_TRY(sti_native_may_be(r->lack, &lack));
    return lack ? launch_forward(n, r, k, out ? out : r->all, n->spare.m, PH_OWED) : STET_OK;
}

/* One quantity alone needs no copy. */
stet_result sti_native_read(sti_native *n, sti_native_reads *r, const sti_native_list *k)
{
    int at = 0;
    if (k->nlist == 1 && k->array[0] && k->array[0]->dtype == STET_DTYPE_REAL) return run_forward(n, r, k, k->array[0]);
    STI_TRY(run_forward(n, r, k, NULL));
    for (int i = 0; i < k->nlist; ++i) {
        stet_array *a = k->array[i];
        if (!a)
            return STI_LAUNCH(sti_k_native_take_chosen, n->worlds->device, n->worlds->nworld, sti_arg_array(r->all),
                              sti_arg_array(n->seen.sensing), STATE_ARG(step_sensordata), sti_arg_int(at),
                              sti_arg_int(n->tables.m[M_NSENSORDATA]));
        const sti_kernel *kernel = a->dtype == STET_DTYPE_INT ? &sti_k_native_take_ints : &sti_k_native_take;
        STI_TRY(STI_LAUNCH(*kernel, a->device, n->worlds->nworld, sti_arg_array(r->all), sti_arg_array(a),
                           sti_arg_int(at), sti_arg_int((int)a->nitem)));
        at += (int)a->nitem;
    }
    return STET_OK;
}

void sti_native_expect_reads(void *native)
{
    const sti_native *n = native;
    sti_program_begin(n->worlds->device, &sti_k_native_forward);
}

void sti_native_list_free(sti_native_list *k)
{
    sti_free(k->list);
    sti_free(k->point);
    sti_free(k->array);
    *k = (sti_native_list){.list = NULL};
}

/* The sensors of a forward, which come last, for step_sensordata. */
static void list_sensors(const sti_native *n, sti_native_list *out)
{
    int32_t *row = out->list + (size_t)Q_SIZE * (size_t)out->nlist++;
    row[Q_AT] = out->items;
    row[Q_N] = n->tables.m[M_NSENSORDATA];
    row[Q_FROM] = W_SENSORDATA;
    out->items += row[Q_N];
    out->extra |= n->tables.m[M_STEP_EXTRA];
}

stet_result sti_native_list_pass(const sti_native *n, sti_native_list *k)
{
    bool sensing = k->of_step && n->seen.sensing;
    int count = sensing;
    for (const sti_quantity *q = n->worlds->quantities.list; q; q = q->next)
        count += q->in_pass && q->of_step == k->of_step;
    if (count == 0) return STET_OK;
    STI_TRY(sti_alloc(&k->list, (size_t)count * Q_SIZE * sizeof *k->list, "list of quantities"));
    STI_TRY(sti_alloc(&k->point, 3 * (size_t)count * sizeof *k->point, "points of Jacobians"));
    STI_TRY(sti_alloc(&k->array, (size_t)count * sizeof(void *), "list of quantities"));
    for (const sti_quantity *q = n->worlds->quantities.list; q; q = q->next) {
        if (!q->in_pass || q->of_step != k->of_step) continue;
        k->array[k->nlist] = q->array;
        list_quantity(n, q, k);
    }
    if (sensing) list_sensors(n, k);
    assert(k->nlist == count && "there is room for each quantity of the pass");
    return STET_OK;
}

stet_result sti_native_quantity(sti_native *n, const char *name, stet_array **out)
{
    stet_array *a;
    *out = NULL;
    STI_TRY(sti_native_update(n));
    int items, number = sti_physics_quantity(name, &n->tables, &items);
    if (number < 0) return sti_error(STET_ERROR_NOT_FOUND, "physics: there is no quantity '%.64s'", name);
    STI_TRY(STI_ARRAY(n->worlds->device, name, STET_DTYPE_REAL, true, &a, n->worlds->nworld, items));
    int32_t row[Q_SIZE] = {[Q_KIND] = PH_SHOW_COPY, [Q_N] = items, [Q_FROM] = number};
    int extra = number >= W_SEEN || number == W_CACC ? PH_EXTRA_AFTER : 0; /* which writes over rows (put_seen) */
    if (number == W_SENSORDATA) extra = n->tables.m[M_STEP_EXTRA];
    sti_native_list k = {.list = row, .nlist = 1, .items = items, .extra = extra};
    stet_result result = run_forward(n, &n->reads, &k, a);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    *out = a;
    return STET_OK;
}
