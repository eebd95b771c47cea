/* The random program's exports: tensors over the sims' arrays, written through as another library would. */
#include "sim/program.h"

#include "stet/dlpack.h"

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
    def.announced = e.announced;
    say(p, ": %s%s", e.field, e.announced ? ", announced" : "");
    for (int i = 0; i < 2; ++i) {
        stet_array *a;
        must(p, i, stet_worlds_array(worlds_of(p, i), e.field, &a), "stet_worlds_array");
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

/* Element (world, item) of a tensor over an array of worlds, which lies as [block][item][lane]. */
static void put(const program *p, int who, const stet_array *a, const export_pair *e, int64_t w, int64_t i, float x)
{
    const DLTensor *t = &e->tensor[who]->dl_tensor;
    char *data = (char *)t->data + t->byte_offset;
    int64_t at = sti_array_index(a, w, i);
    if (p->f64)
        ((double *)(void *)data)[at] = (double)x;
    else
        ((float *)(void *)data)[at] = x;
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
    BOTH(p, stet_worlds_array(worlds_of(p, i), e->field, &a[i]));
    say(p, "write %s of world %lld through its export%s", e->field, (long long)w, e->announced ? ", announced" : "");
    /* Over what it is by now, and after what was written before. */
    BOTH(p, stet_array_update(a[i]));
    for (int64_t k = 0; k < a[SUBJECT]->nitem; ++k) {
        if (once_in(p, 2)) continue;
        float x = near(p, wave(p));
        for (int i = 0; i < 2; ++i) put(p, i, a[i], e, w, k, x);
    }
    for (int i = 0; e->announced && i < 2; ++i) stet_array_mark_written(a[i]);
}
