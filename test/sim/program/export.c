/*
 * The random program's neighbours: another library on each of the two devices, with a stream and memory of its own. It
 * writes through tensors of the sims' arrays, lends memory that kernels write, and its stream is one of those that the
 * sims work in.
 */
#include "sim/program/program.h"

#include "device/dlpack.h"

#include <stdlib.h>

/* ---- neighbours -------------------------------------------------------------------------------------------------- */

void open_neighbours(program *p, const stet_sim_def def[2])
{
    for (int i = 0; i < 2; ++i) {
        stet_device_def device = def[i].device;
        device.mechanisms = (stet_mechanism_options){0};
        must(p, i, stet_device_create(&device, &p->neighbour[i].device), "stet_device_create");
    }
}

void close_neighbours(program *p)
{
    for (int i = 0; i < 2; ++i) {
        CHECK(p, !p->neighbour[i].loan, "a tensor that was lent was not ended");
        stet_device_destroy(p->neighbour[i].device);
        p->neighbour[i].device = NULL;
    }
}

/* The neighbour's stream is done before the sim is called, or the sim comes after it. */
static void hand_over(program *p, int who)
{
    stet_device *device = p->neighbour[who].device;
    if (once_in(p, 2))
        must(p, who, stet_device_synchronize(device), "stet_device_synchronize");
    else
        must(p, who, stet_device_wait_stream(device_of(p, who), stet_device_get_stream(device)),
             "stet_device_wait_stream");
}

static void neighbour_writes(program *p, int who, void *to, const void *from, size_t size)
{
    stet_device *device = p->neighbour[who].device;
    must(p, who, device->ops->upload(device, to, from, size), "the neighbour's write");
}

static void end_loan(struct DLManagedTensorVersioned *tensor)
{
    neighbour *n = tensor->manager_ctx;
    n->device->ops->free(n->device, n->loan);
    n->loan = NULL;
}

void borrow(program *p, int who, int64_t count, stet_array **out)
{
    neighbour *n = &p->neighbour[who];
    stet_import_def def = stet_default_import_def();
    must(p, who, n->device->ops->alloc(n->device, (size_t)count * sizeof(int), "a loan", &n->loan), "alloc");
    n->shape[0] = count;
    n->tensor = (struct DLManagedTensorVersioned){.version = {1, 0}, .manager_ctx = n, .deleter = end_loan};
    n->tensor.dl_tensor = (DLTensor){
        .data = n->loan, .device = sti_dlpack_place(n->device), .ndim = 1, .dtype = {kDLInt, 32, 1}, .shape = n->shape};
    def.name = "loan";
    def.announced = true;
    def.ready = STET_READY_IN_STREAM;
    def.stream = stet_device_get_stream(n->device);
    must(p, who, stet_array_import(device_of(p, who), &n->tensor, &def, out), "stet_array_import");
}

/* Each sim works in its neighbour's stream for a while, or in its own again. */
void op_stream(program *p)
{
    bool own = once_in(p, 3);
    say(p, own ? "back to their own streams" : "into the neighbours' streams");
    for (int i = 0; i < 2; ++i) {
        if (own)
            must(p, i, stet_device_use_own_stream(device_of(p, i)), "stet_device_use_own_stream");
        else
            must(p, i, stet_device_use_stream(device_of(p, i), stet_device_get_stream(p->neighbour[i].device)),
                 "stet_device_use_stream");
    }
}

/* ---- exports ----------------------------------------------------------------------------------------------------- */

bool exported_silently(const program *p)
{
    for (int k = 0; k < p->nexport; ++k)
        if (!p->exported[k].announced) return true;
    return false;
}

void drop_exports(program *p)
{
    for (int k = 0; k < p->nexport; ++k)
        for (int i = 0; i < 2; ++i) p->exported[k].tensor[i]->deleter(p->exported[k].tensor[i]);
    p->nexport = 0;
}

static void drop_export(program *p, int k)
{
    for (int i = 0; i < 2; ++i) p->exported[k].tensor[i]->deleter(p->exported[k].tensor[i]);
    p->exported[k] = p->exported[--p->nexport];
}

/* Fields that the caller owns may be written unannounced; poses, which stet makes when they are read, may not. */
static void open_export(program *p)
{
    static const char *const names[] = {"qpos", "qvel", "ctrl", "mocap_pos", "xfrc_applied", "xpos", "xquat"};
    export_pair e = {.field = names[roll(p, p->keeps_poses ? 5 : 7)]};
    stet_export_def def = stet_default_export_def();
    def.writable = true;
    e.announced = e.field[0] == 'x' ? e.field[1] != 'f' : once_in(p, 2);
    if (e.field[0] == 'x' && e.field[1] == 'f') e.announced = once_in(p, 2);
    /* Unannounced, one whose memory is plain counts as written at each look, and one with a view does not. */
    def.plain = e.plain = once_in(p, 2);
    def.announced = e.announced |= e.plain;
    def.ready = once_in(p, 2) ? STET_READY_IN_STREAM : STET_READY_NOW;
    say(p, ": %s%s%s", e.field, e.announced ? ", announced" : "", e.plain ? ", plain" : "");
    for (int i = 0; i < 2; ++i) {
        stet_array *a;
        def.stream = stet_device_get_stream(p->neighbour[i].device);
        must(p, i, stet_worlds_get_array(worlds_of(p, i), e.field, &a), "stet_worlds_get_array");
        must(p, i, stet_array_export(a, &def, &e.tensor[i]), "stet_array_export");
    }
    p->exported[p->nexport++] = e;
}

void op_export(program *p)
{
    say(p, "export");
    if (p->nexport == MOST_EXPORTS || (p->nexport && once_in(p, 3))) {
        int k = roll(p, p->nexport);
        say(p, ": drop %s", p->exported[k].field);
        drop_export(p, k);
        return;
    }
    open_export(p);
}

/* A plain tensor shows what the array has, on the host or on a GPU. */
static void check_plain(program *p, int who, stet_array *a, const export_pair *e)
{
    stet_device *device = p->neighbour[who].device;
    size_t size = stet_array_get_bytes(a);
    char *shown = room(p, size), *there = room(p, size);
    must(p, who, stet_device_show_views(device_of(p, who)), "stet_device_show_views");
    must(p, who, stet_array_read(a, there, size), "stet_array_read");
    must(p, who, device->ops->download(device, shown, e->tensor[who]->dl_tensor.data, size), "the neighbour's read");
    same_bytes(p, shown, there, size, "a plain tensor, beside its array");
    free(shown);
    free(there);
}

/* Element (world, item) of a tensor over an array of worlds, which lies as [block][item][lane], or plain. */
static void put(program *p, int who, const stet_array *a, const export_pair *e, int64_t w, int64_t i, float x)
{
    const DLTensor *t = &e->tensor[who]->dl_tensor;
    size_t size = p->f64 ? sizeof(double) : sizeof(float);
    double wide = (double)x;
    int64_t at = e->plain ? w * a->nitem + i : sti_array_index(a, w, i);
    neighbour_writes(p, who, (char *)t->data + t->byte_offset + (size_t)at * size,
                     p->f64 ? (const void *)&wide : (const void *)&x, size);
}

/* The neighbour may write what was written before, in his stream. */
static void bring_up_to_date(program *p, stet_array *const a[2])
{
    if (once_in(p, 2))
        BOTH(p, stet_array_update(a[i]));
    else
        BOTH(p, stet_array_update_in_stream(a[i], stet_device_get_stream(p->neighbour[i].device)));
}

void op_export_write(program *p)
{
    if (p->nexport == 0) {
        op_export(p);
        return;
    }
    export_pair *e = &p->exported[roll(p, p->nexport)];
    int64_t w = roll(p, (int)p->nworld);
    stet_array *a[2];
    BOTH(p, stet_worlds_get_array(worlds_of(p, i), e->field, &a[i]));
    say(p, "write %s of world %lld through its export%s", e->field, (long long)w, e->announced ? ", announced" : "");
    /* Over what it is by now, and after what was written before. */
    bring_up_to_date(p, a);
    for (int i = 0; e->plain && i < 2; ++i) check_plain(p, i, a[i], e);
    for (int64_t k = 0; k < a[SUBJECT]->nitem; ++k) {
        if (once_in(p, 2)) continue;
        float x = near(p, wave(p));
        for (int i = 0; i < 2; ++i) put(p, i, a[i], e, w, k, x);
    }
    for (int i = 0; i < 2; ++i) hand_over(p, i);
    if (e->plain) BOTH(p, stet_device_take_views(device_of(p, i)));
    for (int i = 0; e->announced && i < 2; ++i) stet_array_mark_written(a[i]);
}
