/* The invariants of worlds as code; see worlds.h. */
#include "worlds/worlds.h"

#ifndef NDEBUG

void sti_validate_worlds(const stet_worlds *worlds)
{
    const sti_generations *moved = &worlds->state.stamps.moved;
    assert(worlds->nworld >= 1 && worlds->nworld <= INT32_MAX && worlds->nworld == worlds->def.nworld);
    assert((worlds->state.data == NULL) == (worlds->state.time != NULL) &&
           "MuJoCo's data have the time, or the worlds do");
    assert(moved->n == worlds->nworld && moved->latest <= worlds->state.stamps.version.generation && "WORLDS-3");
    assert(worlds->poses.stamps.posed <= worlds->state.stamps.version.generation &&
           worlds->poses.stamps.caller <= worlds->poses.stamps.posed && "WORLDS-4");
    assert(worlds->poses.stamps.moved.latest <= worlds->poses.stamps.version.generation && "WORLDS-11");
    assert(worlds->quantities.stamps.changed.latest <= worlds->quantities.stamps.version.generation && "QUANTITY-3");
    assert(worlds->poses.stamps.begun <= worlds->state.stamps.version.generation && worlds->poses.readers >= 0 &&
           "WORLDS-9");
    assert((worlds->poses.first[0] == NULL) == (worlds->poses.first[1] == NULL) && "WORLDS-9: both or none");
    assert((!worlds->state.data || !worlds->physics.make_poses) &&
           "WORLDS-10: arrays are the state, or MuJoCo's data are");
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        const stet_array *a = worlds->state.field[f];
        assert(a->device == worlds->device && a->worlds && a->shape[0] == worlds->nworld);
        assert(a->nitem == sti_worlds_items(worlds->model->mj, worlds->def.exact, (sti_field)f));
    }
    sti_validate_generations(moved);
    sti_validate_generations(&worlds->poses.stamps.moved);
    sti_validate_generations(&worlds->quantities.stamps.changed);
}

#endif
