/*
 * The validators of debug builds, over things that are broken on purpose: each row of CASES changes one field, and the
 * validator ends the process with an assertion that has the row's words. This program has the validators' files
 * compiled with assertions, whatever the library was compiled with.
 */
#include "device/rig.h"

#include "adjoint/launch/spill_pool.h"
#include "adjoint/sizing/reduce.h"
#include "adjoint/tape/tape.h"
#include "base/arena.h"
#include "base/generations.h"
#include "device/host_mirror.h"
#include "device/null/null.h"
#include "device/plain_view.h"
#include "kernel/gpu/table.h"
#include "kernel/record/record.h"
#include "sim/round.h"
#include "stage/tree.h"
#include "tiles/table.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* One of each kind of thing, all in order. */
typedef struct things {
    stet_device *device, *apart;
    stet_array *plain, *worlds, *condition, *mirrored;
    sti_stamp stamp;
    sti_version version;
    sti_plain_view *view;
    sti_recording *recording; /* of a copy, and of a loop around another one */
    sti_args args;
    struct sti_programs programs;
    sti_program *program;
    sti_known known;
    sti_reduced reduced[2];
    sti_spill_pool spill_pool;
    stet_tape tape;
    sti_tape_op tape_op;
    sti_tape_check tape_check[2];
    sti_generations generations;
    sti_arena arena;
    sti_prim prim[2]; /* the root, and one that was added */
    sti_tree tree;
    sti_tile_part part;
    sti_tile_layout layout;
    sti_round round;
    sti_round_slot slot;
} things;

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result play_list(const things *t)
{
    STI_TRY(sti_record_begin(t->device, "copies"));
    OK(sti_record_copy(t->worlds, t->view->array));
    OK(sti_record_while(t->device, t->condition, 3));
    OK(sti_record_copy(t->plain, t->plain));
    OK(sti_record_while_end(t->device));
    return sti_record_end(t->device, STET_OK);
}

static void open_device_things(things *t)
{
    stet_array *other;
    t->device = open_device(STI_ISA_portable, 1);
    OK(STI_ARRAY(t->device, "plain", STET_DTYPE_REAL, false, &t->plain, 5));
    OK(STI_ARRAY(t->device, "condition", STET_DTYPE_INT, false, &t->condition, 1));
    OK(STI_ARRAY(t->device, "worlds", STET_DTYPE_REAL, true, &t->worlds, 9, 3));
    OK(STI_ARRAY(t->device, "other", STET_DTYPE_REAL, true, &other, 9, 3));
    OK(sti_plain_view_open(other, true, &t->view));
    OK(play_list(t));
    OK(play_list(t));
    t->recording = t->device->recorder->recording[0];
}

static void open_mirrored(things *t)
{
    static const sti_null_def apart = {.apart = true};
    void *content;
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_NULL;
    def.null = &apart;
    OK(stet_device_create(&def, &t->apart));
    OK(STI_ARRAY(t->apart, "mirrored", STET_DTYPE_REAL, false, &t->mirrored, 4));
    OK(sti_mirror_overwrite(t->mirrored, &content));
    memset(content, 0, t->mirrored->size);
    sti_mirror_mark_written(t->mirrored);
}

static void open_plain_things(things *t)
{
    static const sti_tile_size size = {4, 3};
    static const bool direct = false;
    void *piece;
    OK(sti_generations_init(&t->generations, 3, "items"));
    sti_generations_put(&t->generations, 1, 5);
    sti_arena_init(&t->arena, "an arena");
    OK(sti_arena_take(&t->arena, 100, &piece));
    t->prim[0] = (sti_prim){.source = STI_PRIM_POSE, .kind = STET_PRIM_ROOT, .parent = -1};
    t->prim[1] = (sti_prim){.source = STI_PRIM_FORWARD, .kind = STET_PRIM_XFORM, .index = -1};
    t->tree = (sti_tree){.prim = t->prim, .capacity = 2, .count = 2, .nmodel = 1, .connectivity = t->version};
    OK(sti_tile_plan(&size, &direct, 1, 5, &t->part, &t->layout));
    t->slot.target = (sti_round_target){.kind = STI_TARGET_SEED, .field = -1};
    t->round.slot = &t->slot;
    t->round.nslot = t->round.room = 1;
}

static void open_things(things *t)
{
    *t = (things){.version = sti_version_new()};
    open_device_things(t);
    open_mirrored(t);
    sti_stamp_begin(&t->stamp);
    sti_stamp_add(&t->stamp, &t->version);
    OK(sti_table_begin(&t->programs));
    OK(sti_table_insert(&t->programs, (const sti_kernel *)(const void *)t, &t->program));
    t->program->code.team = t->program->code.teams = 1;
    t->known = (sti_known){.reduced = {&t->reduced[0], &t->reduced[1]}, .n = 2, .clock = 2};
    for (int i = 0; i < 2; ++i) {
        t->reduced[i] = (sti_reduced){.id = 7, .used = (uint64_t)i};
        sti_stamp_begin(&t->reduced[i].stamp);
        sti_stamp_add_value(&t->reduced[i].stamp, (uint64_t)i);
    }
    t->tape_op = (sti_tape_op){.kernel = -1};
    t->tape_check[1] = (sti_tape_check){.step = 1};
    t->tape.op = &t->tape_op;
    t->tape.check = t->tape_check;
    t->tape.nop = t->tape.op_room = 1;
    t->tape.ncheck = t->tape.check_room = 2;
    open_plain_things(t);
}

static void close_things(things *t)
{
    stet_array *other = t->view->array;
    sti_generations_free(&t->generations);
    sti_arena_free(&t->arena);
    sti_table_end(&t->programs);
    sti_plain_view_close(t->view);
    stet_array *all[] = {t->plain, t->worlds, t->condition, t->mirrored, other};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) stet_array_destroy(all[i]);
    stet_device_destroy(t->device);
    stet_device_destroy(t->apart);
}

/* ---- breaking ---------------------------------------------------------------------------------------------------- */

#define COUNTERS t->device->mechanisms.counters
#define OP t->recording->list.op

/* CASE(noun of the validator, thing, what breaks it, words of the assertion) */
#define CASES(CASE)                                                                                                    \
    CASE(stamp, &t->stamp, t->stamp.count = STI_STAMP_FEW + 1, "s->count <=")                                          \
    CASE(stamp, &t->stamp, t->stamp.capacity = 32, "words that do not fit have memory of their own")                   \
    CASE(version, &t->version, t->version.id = 0, "VERSION-4")                                                         \
    CASE(version, &t->version, t->version.generation = 0, "VERSION-2")                                                 \
    CASE(mechanisms, &t->device->mechanisms, COUNTERS.mechanism[0].misses++, "MECHANISM-2")                            \
    CASE(mechanisms, &t->device->mechanisms, COUNTERS.mechanism[0].hits = -1, "c->hits >= 0")                          \
    CASE(mechanisms, &t->device->mechanisms, COUNTERS.mechanism[0].held_bytes = -1, "c->held_bytes >= 0")              \
    CASE(mechanisms, &t->device->mechanisms, COUNTERS.reason[0] = 1, "STET_REASON_NONE")                               \
    CASE(mechanisms, &t->device->mechanisms, t->device->mechanisms.options.disabled = ~0u, "options.disabled")         \
    CASE(device, t->device, t->device->lanes = 6, "d->lanes")                                                          \
    CASE(device, t->device, t->device->real_size = 2, "d->real_size")                                                  \
    CASE(device, t->device, t->device->threads = 0, "d->threads > 0")                                                  \
    CASE(device, t->device, t->device->narray = 1000, "each array holds its device")                                   \
    CASE(device, t->device, t->device->recorder = NULL, "d->recorder")                                                 \
    CASE(device, t->device, t->device->unlisted = -1, "d->unlisted")                                                   \
    CASE(device, t->device, COUNTERS.launches = -1, "counters.launches")                                               \
    CASE(array, t->plain, t->plain->ndim = 0, "a->ndim")                                                               \
    CASE(array, t->plain, t->plain->dtype = STET_DTYPE_COUNT, "a->dtype")                                              \
    CASE(array, t->worlds, t->worlds->dtype = STET_DTYPE_U8, "an array of worlds holds lanes")                         \
    CASE(array, t->worlds, t->worlds->shape[1] = -1, "a->shape[k] >= 0")                                               \
    CASE(array, t->worlds, t->worlds->shape[0] = 4, "a->nblock == nblock")                                             \
    CASE(array, t->worlds, t->worlds->size++, "a->size == size")                                                       \
    CASE(array, t->plain, t->plain->data = NULL, "an array has memory")                                                \
    CASE(array, t->plain, t->plain->borrowed = true, "only a view borrows")                                            \
    CASE(array, t->plain, t->plain->producing = true, "a->producer")                                                   \
    CASE(array, t->plain, t->plain->holder = -1, "a->holder")                                                          \
    CASE(array, t->plain, t->plain->mirror = t->mirrored->mirror, "host_memory")                                       \
    CASE(array, t->plain, t->plain->view = t->view, "a->view->array == a")                                             \
    CASE(array, t->plain, t->plain->version.id = 0, "VERSION-4")                                                       \
    CASE(mirror, t->mirrored, t->mirrored->base = t->plain, "MIRROR-5")                                                \
    CASE(mirror, t->mirrored, t->mirrored->version.generation = 0, "s->few[1] <= a->version.generation")               \
    CASE(mirror, t->mirrored, t->mirrored->version.id++, "s->few[0] == a->version.id")                                 \
    CASE(plain_view, t->view, t->view->array = t->worlds, "PLAIN-1")                                                   \
    CASE(plain_view, t->view, atomic_store(&t->view->refs, 0), "v->refs")                                              \
    CASE(plain_view, t->view, t->view->size = 1, "v->size")                                                            \
    CASE(plain_view, t->view, t->view->last = NULL, "v->last")                                                         \
    CASE(plain_view, t->view, t->view->array->version.generation = 0, "v->shown.few[1]")                               \
    CASE(list, &t->recording->list, t->recording->list.nop = 1000, "l->nop <= l->op_room")                             \
    CASE(list, &t->recording->list, OP[0].use = -1, "op->use >= 0")                                                    \
    CASE(list, &t->recording->list, OP[0].nuse = 1, "op->nuse == 2")                                                   \
    CASE(list, &t->recording->list, OP[0].parent = 0, "op->parent < i")                                                \
    CASE(list, &t->recording->list, OP[2].parent = 0, "kind == STI_OP_WHILE")                                          \
    CASE(list, &t->recording->list, OP[3].match = 0, "l->op[op->match].kind == STI_OP_WHILE")                          \
    CASE(list, &t->recording->list, OP[1].trips = -1, "op->trips >= 0")                                                \
    CASE(list, &t->recording->list, t->recording->list.use[0].array = NULL, "l->use[i].array")                         \
    CASE(list, &t->recording->list, t->recording->list.nsite = 1, "nsite == l->nsite")                                 \
    CASE(args, &t->args, t->args.known = true, "ARGS-1")                                                               \
    CASE(args, &t->args, t->args.capacity = 8, "a->capacity > 0")                                                      \
    CASE(recorder, t->device, t->device->recorder->built++, "r->built - r->dropped")                                   \
    CASE(recorder, t->device, t->device->recorder->depth = -1, "r->depth")                                             \
    CASE(recorder, t->device, t->device->recorder->loop = 0, "r->loop < r->pending.nop")                               \
    CASE(recorder, t->device, t->device->recorder->latest = (sti_recording *)t, "is_kept(r, r->latest)")               \
    CASE(recorder, t->device, t->recording->id = 0, "identities are given once")                                       \
    CASE(recorder, t->device, t->recording->used = UINT64_MAX, "x->used <= r->clock")                                  \
    CASE(recorder, t->device, t->recording->list.nslot = 1, "a recording keeps no slots")                              \
    CASE(recorder, t->device, COUNTERS.mechanism[STET_MECHANISM_GRAPH_REPLAY].held_bytes++, "== bytes")                \
    CASE(programs, &t->programs, t->programs.nprogram = 0, "n == p->nprogram")                                         \
    CASE(programs, &t->programs, t->program->kernel = NULL, "it->kernel")                                              \
    CASE(programs, &t->programs, t->program->code.team = 0, "it->code.team > 0")                                       \
    CASE(programs, &t->programs, t->programs.nfused = 1, "p->fused")                                                   \
    CASE(known, &t->known, t->reduced[0].used = 3, "own->used <= known->clock")                                        \
    CASE(known, &t->known, t->reduced[1].stamp.few[0] = 0, "sti_stamp_equal")                                          \
    CASE(spill_pool, &t->spill_pool, t->spill_pool.users = -1, "h->users >= 0")                                        \
    CASE(spill_pool, &t->spill_pool, t->spill_pool.nview = STI_SPILL_POOL_VIEWS + 1, "h->nview")                       \
    CASE(tape, &t->tape, t->tape.nop = 2, "t->nop <= t->op_room")                                                      \
    CASE(tape, &t->tape, t->tape.narray = t->tape.array_room = 1, "t->nplace")                                         \
    CASE(tape, &t->tape, t->tape_op.kernel = 0, "op->kernel < t->nkernel")                                             \
    CASE(tape, &t->tape, t->tape_op.narg = 1, "op->arg + op->narg <= t->narg")                                         \
    CASE(tape, &t->tape, t->tape_check[1].step = 0, "t->check[k - 1].step < t->check[k].step")                         \
    CASE(generations, &t->generations, t->generations.own[2] = 6, "GENERATIONS-2")                                     \
    CASE(generations, &t->generations, t->generations.apart = false, "GENERATIONS-1")                                  \
    CASE(generations, &t->generations, t->generations.own = NULL, "g->own")                                            \
    CASE(arena, &t->arena, t->arena.used++, "used == a->used")                                                         \
    CASE(arena, &t->arena, t->arena.current = NULL, "a->current == NULL")                                              \
    CASE(arena, &t->arena, t->arena.high = 0, "a->used <= a->high")                                                    \
    CASE(tree, &t->tree, t->prim[1].parent = 1, "only the root has no parent")                                         \
    CASE(tree, &t->tree, t->prim[1].parent = -1, "only the root has no parent")                                        \
    CASE(tree, &t->tree, t->prim[0].source = STI_PRIM_FREE, "prims of the model are there")                            \
    CASE(tree, &t->tree, t->prim[1].source = STI_PRIM_FREE, "count == tree->count")                                    \
    CASE(tree, &t->tree, t->prim[1].index = 0, "p->index < 0")                                                         \
    CASE(tree, &t->tree, t->tree.count = 3, "tree->count <= tree->capacity")                                           \
    CASE(tile_layout, &t->layout, t->layout.npixel--, "TABLE-2")                                                       \
    CASE(tile_layout, &t->layout, t->part.pitch = 1, "tiles of a row lie side by side")                                \
    CASE(tile_layout, &t->layout, t->layout.nworld = 0, "TABLE-1")                                                     \
    CASE(round, &t->round, t->round.nslot = 2, "round->nslot <= round->room")                                          \
    CASE(round, &t->round, t->slot.checked = 1, "slot->checked <= round->checked")                                     \
    CASE(round, &t->round, t->slot.now.held_valid = true, "ROUND-2")                                                   \
    CASE(round, &t->round, t->slot.now.size = 1, "c->size <= c->room")                                                 \
    CASE(round, &t->round, t->slot.target.array = t->plain, "slot->target.array != NULL")                              \
    CASE(round, &t->round, t->slot.contract = STET_CONTRACT_ZERO, "a contract is of an array")

static const struct {
    const char *noun, *breaks, *words;
} cases[] = {
#define WORDS(noun, thing, breaks, words) {#noun, #breaks, words},
    CASES(WORDS)
#undef WORDS
};
enum { NCASE = sizeof cases / sizeof *cases };

static void validate_broken(things *t, int wanted)
{
    int at = 0;
#define BREAK(noun, thing, breaks, words)                                                                              \
    if (at++ == wanted) {                                                                                              \
        (void)(breaks);                                                                                                \
        sti_validate_##noun(thing);                                                                                    \
        return;                                                                                                        \
    }
    CASES(BREAK)
#undef BREAK
}

/* What the child that validates a broken thing writes to its standard error. Returns its status. */
static int run_in_child(things *t, int wanted, char *text, size_t size)
{
    int ends[2], status;
    size_t n = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(ends[1], STDERR_FILENO);
        validate_broken(t, wanted);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; n + 1 < size && (got = read(ends[0], text + n, size - n - 1)) > 0;) n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void things_in_order_are_valid(void **state)
{
    things all, *t = &all;
    open_things(t);
#define VALIDATE(noun, thing, breaks, words) sti_validate_##noun(thing);
    CASES(VALIDATE)
#undef VALIDATE
    close_things(t);
}

static void a_validator_names_the_field_that_was_broken(void **state)
{
    things t;
    open_things(&t);
    for (int i = 0; i < NCASE; ++i) {
        char text[2000];
        int status = run_in_child(&t, i, text, sizeof text);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("%s: `%s` is not found", cases[i].noun, cases[i].breaks);
        if (!strstr(text, cases[i].words))
            fail_msg("%s: `%s` gives '%s', which does not say '%s'", cases[i].noun, cases[i].breaks, text,
                     cases[i].words);
    }
    close_things(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_in_order_are_valid),
        cmocka_unit_test(a_validator_names_the_field_that_was_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
