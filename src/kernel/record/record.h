/*
 * Recordings: launches are listed instead of run, and the list is played as a whole. A list that was played before is a
 * recording, which keeps its edges, graphs and blocks of arguments (mechanism graph_replay). doc/design/recordings.md
 * gives the reasons.
 *
 *     STI_TRY(sti_record_begin(device, "world transforms"));
 *     stet_result result = launch_this_and_that();           launches are listed; nothing runs
 *     STI_TRY(sti_record_end(device, result));               they run in order, or never if `result` is a failure
 *
 * Between begin and end the caller compares stamps to decide what to launch, and producers bring arrays up to date.
 *
 * Invariants:
 *   RECORD-1  listing and building a recording run nothing. Listed operations run once, before `end` returns
 *   RECORD-2  an array's generation moves when an operation that writes the array has run, once for each run. In a loop
 *       that ends on the device the generation moves once a replay, even if the body did not run, because the host does
 *       not know the trips
 *   RECORD-3  a recording is dropped when an array or a kernel that it uses is destroyed
 *   RECORD-4  a recording is used only after one comparison with single launches. A recording that failed or differed
 *       is dropped
 *   RECORD-5  the host touches no memory that a listed operation still has to touch: the list is played first (a split)
 *   RECORD-6  playing a list that was played before with the same key allocates nothing
 *   RECORD-7  lack of memory is no failure: an operation that cannot be listed runs at once (except in a loop, which
 *       must be listed)
 *   RECORD-8  while the caller's stream is being captured nothing is recorded or replayed. The arrays that the captured
 *       work writes are kept as a recording that only stet_recording_mark_replayed uses. If they cannot all be kept,
 *       there is no such recording
 */
#ifndef STI_KERNEL_RECORD_RECORD_H
#define STI_KERNEL_RECORD_RECORD_H

#include "kernel/record/args.h"
#include "kernel/record/fuse.h"
#include "kernel/record/list.h"
#include "stet/kernel.h"

/* Recordings that a device keeps; operations of one list; how deep lists nest. */
enum { STI_RECORDINGS = 64, STI_LIST_OPS = 1024, STI_RECORD_DEPTH = 8 };

stet_result sti_record_begin(stet_device *device,
                             /* Begins a list. `what` names it in messages and is borrowed until the end. */
                             const char *what);
/* If `result` is STET_OK, plays the list and ends it. Otherwise drops the list, ends it and returns `result`. */
stet_result sti_record_end(stet_device *device, stet_result result);

/*
 * The operations that are listed and have not run yet, borrowed until the next launch. NULL: nothing was ever listed.
 */
const struct sti_list *sti_record_pending(const stet_device *device);

/*
 * Begins a loop. The operations up to sti_record_while_end run while condition[0] (INT, plain) is not 0, at most `most`
 * times; the condition is read before each trip. Only between begin and end. Inside a loop a list cannot be split: an
 * act that needs a split is refused there.
 */
stet_result sti_record_while(stet_device *device, stet_array *condition, int64_t most);
stet_result sti_record_while_end(stet_device *device);

/* Copies all of an array into another of the same type, shape and device. Listed if the device is listing. */
stet_result sti_record_copy(stet_array *to, stet_array *from);

/* Lists a launch that is bound; without memory for the list it runs at once (RECORD-7). */
stet_result sti_record_launch(stet_device *device, const sti_launch *launch);
/* Runs a launch that is bound now, with its arguments by value. */
stet_result sti_launch_run(stet_device *device, const sti_launch *launch);

/* Runs foreign work (stet/kernel.h), or lists it if the device is listing. */
stet_result sti_record_foreign(stet_device *device, const sti_foreign *f);

/* The id of the recording that was played last, or of the work that joined the caller's capture last; 0: none. */
uint64_t sti_record_last(const stet_device *device);
/* Must be called before a kernel is destroyed: drops the recordings that use it. */
void sti_record_kernel_gone(stet_device *device, const sti_kernel *kernel);

/* ---- inside: for kernel.c, args.c and tests ---- */

/* A graph of the device, made of operations first … end - 1 of a list, and what changes when it has run. */
typedef struct sti_device_graph {
    int first, end;
    void *graph; /* each operation of the graph is a group of the list */
    struct sti_bump {
        stet_array *array;
        uint64_t times; /* how often the graph writes the array: its generation moves by as much */
    } * bump;
    int nbump;
    int64_t launches, bytes; /* `bytes`: copied by its copies */
    int64_t fused, saved;    /* groups of it that are fused, and launches saved by that */
} sti_device_graph;

typedef struct sti_recording {
    uint64_t id, hash;
    sti_list list; /* without slots; its numbers are those that the graphs have */
    sti_edge *edge;
    int nedge;
    sti_groups groups; /* operations that are issued together */
    /* in the list's order; none: a replay loops over the groups and passes arguments through `args` */
    sti_device_graph *graph_piece;
    int ngraph_piece;
    sti_args args;              /* the block of arguments of all its launches, if there are no graphs */
    sti_slot *shadow;           /* the arguments of all launches, as the graphs have them; NULL: none */
    int nslot;                  /* slots of `shadow` */
    bool fresh;                 /* the graphs were made with these arguments, which are not counted yet */
    bool planned;               /* its groups and graphs were made */
    bool trusted;               /* it passed the comparison (RECORD-4) */
    uint64_t used;              /* the recorder's clock when it was last played */
    struct sti_recording *next; /* the recording that was played after this one; NULL: none, or it was dropped */
} sti_recording;

typedef struct sti_recorder {
    sti_list pending; /* operations that are listed and have not run yet */
    int loop;         /* innermost open WHILE of pending; -1: none */
    int depth;
    struct {
        const char *what;
        bool listing; /* the device was listing before this begin */
    } begun[STI_RECORD_DEPTH];
    bool playing;
    stet_result failed; /* the result of a split that failed where no result could be returned */
    char failure[256];
    sti_recording *recording[STI_RECORDINGS];
    int nrecording, most; /* most: the limit of nrecording, at most STI_RECORDINGS */
    uint64_t clock, last;
    sti_recording *latest; /* the recording that was played last; NULL: none, or it was dropped */
    struct {
        /*
         * The id of the caller's capture that was seen last, and of its recording (RECORD-8); 0: it could not be kept.
         */
        uint64_t capture, recording;
    } external_capture;
    int64_t built, dropped; /* counters of recordings */
} sti_recorder;

/* Lists a launch. The device must be listing. */
stet_result sti_record_launch(stet_device *device, const sti_launch *launch);

/* Creates the device's recorder if there is none. */
stet_result sti_recorder_open(stet_device *device);
/* The lists and recordings of a device, if it has some. */
STI_VALIDATE(recorder, stet_device)

/* ---- play.c ---- */

/* Runs the pending list, through its recording if there is one, and empties the list. */
stet_result sti_play(stet_device *device, const char *what);

/* ---- run_list.c ---- */

/* Runs foreign work, or issues it to the stream in use. */
stet_result sti_foreign_run(stet_device *device, const char *name, stet_foreign_fn *work, void *context);

/* ---- recording_cache.c ---- */

/* The recording of the pending list, or NULL. */
sti_recording *sti_recording_find(sti_recorder *r);
sti_recording *sti_recording_find_id(const sti_recorder *r, uint64_t id);
/* Makes a recording of the pending list and adds it to the cache. Nothing runs (RECORD-1). */
stet_result sti_recording_build(stet_device *device);
/* Takes ownership of the recording. If the cache is full, the least recently used one is dropped. */
void sti_recording_cache_add(stet_device *device, sti_recording *x);
void sti_recording_played(sti_recorder *r, sti_recording *x); /* makes it the latest */
void sti_recording_drop(stet_device *device, int k);
void sti_recording_drop_this(stet_device *device, const sti_recording *x);

/* ---- external_capture.c ---- */

/* Notes an array that captured work touches (RECORD-8); the recorder is open, or memory ran out. */
void sti_external_capture_use(stet_device *device, uint64_t capture, stet_array *array, bool written);
void sti_external_capture_launch(stet_device *device, uint64_t capture, const sti_launch *launch);

#endif
