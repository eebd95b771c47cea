/* The invariants of worlds as code; see worlds.h. */
#include "worlds/worlds.h"

#ifndef NDEBUG

void sti_validate_worlds(const stet_worlds *worlds)
{
    const sti_generations *moved = &worlds->moved;
    assert(worlds->nworld >= 1 && worlds->nworld <= INT32_MAX && worlds->nworld == worlds->def.nworld);
    assert((worlds->data == NULL) == (worlds->time != NULL) && "MuJoCo's data have the time, or the worlds do");
    assert(moved->n == worlds->nworld && moved->latest <= worlds->moved_version.generation && "WORLDS-3");
    assert(worlds->posed <= worlds->moved_version.generation && worlds->caller_posed <= worlds->posed && "WORLDS-4");
    assert(worlds->pose_moved.latest <= worlds->pose_version.generation && "WORLDS-11");
    assert(worlds->changed.latest <= worlds->changed_version.generation && "QUANTITY-3");
    assert(worlds->begun <= worlds->moved_version.generation && worlds->pose_readers >= 0 && "WORLDS-9");
    assert((worlds->first_poses[0] == NULL) == (worlds->first_poses[1] == NULL) && "WORLDS-9: both or none");
    assert((!worlds->data || !worlds->physics.make_poses) && "WORLDS-10: arrays are the state, or MuJoCo's data are");
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        const stet_array *a = worlds->field[f];
        assert(a->device == worlds->device && a->worlds && a->shape[0] == worlds->nworld);
        assert(a->nitem == sti_worlds_items(worlds->model->mj, worlds->def.exact, (sti_field)f));
    }
    sti_validate_generations(moved);
    sti_validate_generations(&worlds->pose_moved);
    sti_validate_generations(&worlds->changed);
}

#endif
