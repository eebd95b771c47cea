/*
 * A random program of API calls, run by two sims at once: the subject, with mechanisms on (some are switched off and on
 * again on the way) and mostly under audit, and a twin with all of them off. Whatever is read must have the same bits.
 *
 *   PROGRAM-1  both get the same calls with the same values; only their devices, lanes, threads and frames in flight
 *       differ. A run about a GPU (device/picked.h) has it for the subject, and for the twin every other time
 *   PROGRAM-2  the twin reads each frame as soon as it is rendered; the subject whenever the dice say so
 *   PROGRAM-3  all that happens follows from one seed; each operation is said before it is done, so that the last ones
 *       can be printed
 *   PROGRAM-4  a call of the subject's device may be made to fail; what fails for that is done again, and the twin does
 *       it once
 */
#ifndef TEST_SIM_PROGRAM_H
#define TEST_SIM_PROGRAM_H

#include "sim/room.h"

#include "stage/flush.h"
#include "stet/dlpack.h"
#include "stet/round.h"
#include "tiles/tiles.h"

enum { SUBJECT, TWIN };
enum {
    DRAWN = 4, /* the scene whose model is drawn anew for each pair of sims */
    SCENES = 5,
    MOST_ITEMS = 32, /* pictures of a frame: cameras times outputs, or requests */
    KEPT_FRAMES = 8, /* frames whose pixels the test remembers; more than are ever in flight */
    MOST_ADDED = 40, /* prims */
    MOST_SNAPSHOTS = 3,
    MOST_EXPORTS = 3,
    MOST_HELD = 4, /* tensors */
    MOST_KERNELS = 4,
    SAID = 32, /* operations that are remembered for a message */
    LINE = 400
};

/* What the subject's frames have to show: the twin's pixels. */
typedef struct gallery {
    int depth; /* frames in flight of the subject */
    int nitem;
    size_t at[MOST_ITEMS + 1]; /* bytes: item k is at[k] … at[k + 1] - 1 */
    int64_t newest;            /* the subject's newest frame; -1: none */
    bool gap;                  /* a render failed since: its frame may have been made, with its number */
    struct {
        int64_t frame;
        uint8_t *pixels;
    } kept[KEPT_FRAMES];
    uint8_t *fresh; /* pixels of the twin's newest frame; work space */
} gallery;

typedef struct added_prim {
    int prim, parent;
    bool rigid, keep; /* keep: not to be removed, a camera of the sim */
} added_prim;

/* A tensor of the subject that was borrowed. */
typedef struct held_tensor {
    stet_array *array;
    int64_t frame;
    int item;
} held_tensor;

/* Tensors over a field of both. */
typedef struct export_pair {
    struct DLManagedTensorVersioned *tensor[2];
    const char *field;
    bool announced, plain;
} export_pair;

/* Another library on the device of one of them, with a stream and memory of its own: a second device of stet's. */
typedef struct neighbour {
    stet_device *device;
    int64_t shape[1];                       /* of the tensor of `loan` */
    struct DLManagedTensorVersioned tensor; /* whose memory is the neighbour's */
    void *loan;                             /* lent until its tensor is ended; NULL: nothing is */
} neighbour;

/* A kernel of the program's own, made on both devices. */
typedef struct kernel_pair {
    struct stet_kernel *kernel[2];
    int which;
} kernel_pair;

/* Tiles of the program's own, over the same stage. */
typedef struct own_tiles {
    stet_tiles *tiles[2]; /* NULL: none */
    int nrequest;
    stet_array *bound[2][MOST_ITEMS]; /* NULL: not bound */
    int64_t extracted;                /* the newest frame that the subject's bound arrays hold; -1: none */
    bool any_bound, motion;
    int camera_prim;
    gallery shown;
} own_tiles;

typedef struct program {
    uint64_t dice, seed;
    int64_t operation;
    char said[SAID][LINE];
    stet_model *model[SCENES];

    int scene;
    int64_t nworld;
    bool f64, external, native;
    bool keeps_poses, keeps_tree; /* what this pair never does: write poses, change the tree */
    stet_sim *sim[2];
    gallery shown;
    own_tiles own;
    added_prim added[MOST_ADDED + 2];
    int nadded, nnamed;
    stet_snapshot *snapshot[MOST_SNAPSHOTS][2];
    held_tensor held[MOST_HELD];
    int nheld;
    export_pair exported[MOST_EXPORTS];
    int nexport;
    kernel_pair kernel[MOST_KERNELS];
    int nkernel;
    stet_array *above[2]; /* [nworld], written by a kernel; NULL: none was made yet */
    neighbour neighbour[2];
    bool saved;               /* there are files to resume from */
    int64_t nfault, nfailure; /* calls of the device that were made to fail; calls of the API that failed for it */
} program;

/* ---- program.c: dice, saying, comparing ---- */

/* From 0 to n − 1. */
int roll(program *p, int n);
/* True once in n times. */
bool once_in(program *p, int n);
/* In [-1, 1). */
float wave(program *p);
/* Mostly a small number near x; rarely huge or not a number. */
float near(program *p, float x);

void say(program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the test: the seed, the last operations, and a sentence. */
void stop(program *p, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
#define CHECK(p, condition, ...)                                                                                       \
    do {                                                                                                               \
        if (!(condition)) stop((p), __VA_ARGS__);                                                                      \
    } while (0)

void must(program *p, int who, stet_result result, const char *call);
/* A call that both make; `i` is SUBJECT or TWIN. */
#define BOTH(p, call)                                                                                                  \
    do {                                                                                                               \
        for (int i = 0; i < 2; ++i) must((p), i, (call), #call);                                                       \
    } while (0)

void same_bytes(program *p, const void *subject, const void *twin, size_t size, const char *what);
/* An array in the host's memory: read, or the mirror that the array keeps. */
void fetch(program *p, int who, stet_array *a, bool mirror, void *out);
void *room(program *p, size_t size); /* malloc, for the caller to free */

static inline stet_stage *stage_of(const program *p, int who) { return stet_sim_get_stage(p->sim[who]); }
static inline stet_worlds *worlds_of(const program *p, int who) { return stet_sim_get_worlds(p->sim[who]); }
static inline stet_device *device_of(const program *p, int who) { return stet_sim_get_device(p->sim[who]); }
static inline int model_prims(const program *p) { return stage_of(p, SUBJECT)->tree.nmodel; }

/* ---- frames.c: pictures ---- */

void gallery_open(program *p, gallery *g, int depth, const size_t *bytes, int nitem);
void gallery_close(gallery *g);
/* The subject says that its newest frame is `frame`, and g->fresh is what it has to show. */
void gallery_show(program *p, gallery *g, int64_t frame);
void show_sim(program *p);
void op_render(program *p);
void op_render_again(program *p);
void op_read_latest(program *p);
void op_read_frame(program *p);
void op_frame_hash(program *p);
void op_hold(program *p);
void op_stale(program *p);

/* ---- tiles.c: tiles of the program's own ---- */

void own_close(program *p);
void op_own_open(program *p);
void op_own_render(program *p);
void op_own_read(program *p);
void op_own_scribble(program *p);

/* ---- stage.c: prims ---- */

void op_add(program *p);
void op_remove(program *p);
void op_reparent(program *p);
void op_set_local(program *p);
void op_set_world(program *p);
void op_get_transform(program *p);
void op_stage_arrays(program *p);
void op_stage_write_arrays(program *p);
void op_flush(program *p);
void compare_stage(program *p);

/* ---- worlds.c: state ---- */

void op_step(program *p);
void op_control(program *p);
void op_reset(program *p);
void op_write(program *p);
void op_read(program *p);
void op_state(program *p);
void op_parameter(program *p);
void op_snapshot(program *p);
void op_restore(program *p);
void op_save(program *p);
void op_resume(program *p);
void op_bad(program *p);
void compare_worlds(program *p);
void drop_snapshots(program *p);

/* A field that both have, in their devices; `write`: one that this pair may write. */
const char *pick_field(program *p, bool write, stet_array *array[2]);

/* Number i of a field's content on the host, in the devices' precision. */
void program_put_number(const program *p, void *data, size_t i, float x);

/* ---- rounds.c: rounds, and some worlds by mask ---- */

void op_step_some(program *p);
void op_render_some(program *p);
void op_round_begin(program *p);
void op_round_end(program *p);

/* ---- kernels.c: kernels of the program's own ---- */

void op_kernel_make(program *p);
void op_kernel_drop(program *p);
void op_kernel_launch(program *p);
void op_kernel_list(program *p);
void faulty_launch(program *p);
void drop_kernels(program *p);

/* ---- faults.c: calls of the subject's device that fail ---- */

/* One of the subject's next calls of its device fails, until the end; which says whether the subject's call failed. */
void faults_begin(program *p);
bool faults_end(program *p, stet_result result);
void op_fault(program *p);

/* ---- export.c: tensors shared with others ---- */

void open_neighbours(program *p, const stet_sim_def def[2]);
void close_neighbours(program *p);
/* An array [n] of int over the neighbour's memory, who may write there without a word. */
void borrow(program *p, int who, int64_t n, stet_array **out);
void op_stream(program *p);

/* Is there an export whose writes nobody announces? */
bool exported_silently(const program *p);
void drop_exports(program *p);
void op_export(program *p);
void op_export_write(program *p);

/* ---- process.c: one process among others ---- */

void op_fork(program *p);
void op_step_beside(program *p);
void op_interrupt(program *p);

/* ---- scenes.c: models ---- */

void program_models(program *p);
/* A model as the dice say, and with this kind of thing (-1: any); the caller destroys it. */
stet_model *program_draw_model(program *p, int kind);
int program_kinds(void);
/* Prints how often each kind was drawn. */
void program_print_drawn(void);

/* ---- open.c: making and ending the two sims ---- */

void program_open(program *p);
void program_close(program *p);
void op_mechanisms(program *p);
void op_anew(program *p);

#endif
