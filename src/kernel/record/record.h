/*
 * Recordings: launches are listed instead of run, and the list is played as a whole; a list that was played before is a
 * recording, with edges and blocks of arguments that stand (mechanism graph_replay). doc/design/recordings.md says why.
 *
 *     STI_TRY(sti_record_begin(device, "world transforms"));
 *     stet_result result = launch_this_and_that();           launches are listed; nothing runs
 *     STI_TRY(sti_record_end(device, result));               they run, in order, or (result is a failure) never
 *
 * Stamps decide first: what to launch, and that content which stet makes itself is current, is found out between begin and end.
 *
 * Invariants:
 *   RECORD-1  listing and building a recording run nothing; what was listed runs once, before `end` returns
 *   RECORD-2  an array's generation moves when an operation that writes it has run, once for each time that it ran; in a loop that the device
 *       ends by itself, once a replay, also where it ran not at all: the host does not know
 *   RECORD-3  a recording goes with each array and each kernel that it holds
 *   RECORD-4  a recording is used only after it was compared once with launches one by one; one that failed or differed is gone
 *   RECORD-5  the host touches no memory that a listed operation still has to touch: the list is played first (a split)
 *   RECORD-6  when a list was played before with the same key, playing it allocates nothing
 *   RECORD-7  lack of memory is no failure: what cannot be listed runs at once (only a loop has to be listed)
 *   RECORD-8  while a caller's stream is being captured nothing is recorded or replayed; what is written then is kept as a recording that only
 *       stet_recording_replayed knows. One that could not be kept whole is none
 */
#ifndef STI_KERNEL_RECORD_RECORD_H
#define STI_KERNEL_RECORD_RECORD_H

#include "kernel/launch/args.h"
#include "kernel/record/fuse.h"
#include "kernel/record/list.h"
#include "stet/kernel.h"

/* Recordings that a device keeps; operations of one list; begins inside begins. */
enum { STI_RECORDINGS = 64, STI_LIST_OPS = 1024, STI_RECORD_DEPTH = 8 };

stet_result sti_record_begin(stet_device *device,
                             const char *what); /* `what` names it in messages; borrowed until end */
/* Plays what was listed and ends, if `result` is STET_OK; else forgets it, ends and returns `result`. */
stet_result sti_record_end(stet_device *device, stet_result result);

/*
 * As sti_launch_on, but what it reads is brought up to date at once, and no list is split for that. For a caller who knows that the
 * producers of its arrays need nothing of what was listed, and touch nothing that this reads.
 */
stet_result sti_launch_beside(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                              int narg);
/* What was listed and did not run yet: borrowed until the next launch; NULL: nothing was ever listed. */
const struct sti_list *sti_record_pending(const stet_device *device);

/*
 * Lists a loop: what is listed until sti_record_while_end runs while condition[0] (INT, plain) is not 0, at most `most` times; it is
 * looked at before each. Only between begin and end. In a loop nothing can be split: what would be is refused there.
 */
stet_result sti_record_while(stet_device *device, stet_array *condition, int64_t most);
stet_result sti_record_while_end(stet_device *device);

/* Copies all of an array into another of the same type, shape and device; listed like a launch while launches are. */
stet_result sti_record_copy(stet_array *to, stet_array *from);

/* Work of others (stet/kernel.h), listed like a launch while launches are, else done at once. */
stet_result sti_record_foreign(stet_device *device, const sti_foreign *f);

/* Identity of the recording of the list that was played last, or of what went into a caller's capture; 0: there is none. */
uint64_t sti_record_last(const stet_device *device);
/* A kernel is about to go: so do the recordings that hold it. */
void sti_record_kernel_gone(stet_device *device, const sti_kernel *kernel);

/* ---- inside: for kernel.c, args.c and tests ---- */

/* A graph of the device, of operations first … end - 1 of a list, and what has to be told when it has run. */
typedef struct sti_device_graph {
    int first, end;
    void *graph; /* an operation of it is a group */
    struct sti_bump {
        stet_array *array;
        uint64_t times; /* that it is written: how far its generation moves */
    } * bump;
    int nbump;
    int64_t launches, bytes; /* bytes copied */
    int64_t fused, saved;    /* groups of it that are fused, and launches that those do without */
} sti_device_graph;

typedef struct sti_recording {
    uint64_t id, hash;
    sti_list list; /* without slots; numbers are those that the graphs have */
    sti_edge *edge;
    int nedge;
    sti_groups groups;             /* what is issued together */
    sti_device_graph *graph_piece; /* in their order; none: a replay is a loop over the groups, through … */
    int ngraph_piece;
    sti_args args;              /* … the block of all its launches */
    sti_slot *shadow;           /* arguments of all launches, as the graphs have them; NULL: there are none */
    int nslot;                  /* of them */
    bool fresh;                 /* they were given to the graphs when those were made, and not counted yet */
    bool planned;               /* it has the groups and the graphs that it can have */
    bool trusted;               /* RECORD-4 */
    uint64_t used;              /* clock of the recorder when it was last played */
    struct sti_recording *next; /* that was played after this one; NULL: none, or it is gone */
} sti_recording;

typedef struct sti_recorder {
    sti_list pending; /* listed, not run yet */
    int loop;         /* innermost open WHILE of pending; -1: none */
    int depth;
    struct {
        const char *what;
        bool listing; /* before this begin */
    } begun[STI_RECORD_DEPTH];
    bool playing;
    stet_result failed; /* of a split that had nobody to return it to */
    char failure[256];
    sti_recording *recording[STI_RECORDINGS];
    int nrecording, most; /* most: at most STI_RECORDINGS */
    uint64_t clock, last;
    sti_recording *latest; /* that was played; NULL: none, or it is gone */
    struct {
        uint64_t capture, recording; /* the caller's capture that was seen last, and RECORD-8's id; 0: it could not be kept */
    } external_capture;
    int64_t built, dropped; /* recordings, ever */
} sti_recorder;

/* Lists a launch; the device is listing. */
stet_result sti_record_launch(stet_device *device, const sti_launch *launch);

/* A device has one from its first list on. */
stet_result sti_recorder_open(stet_device *device);

/* ---- play.c ---- */

/* Runs the pending list, by a recording of it if there is one, and empties it. */
stet_result sti_play(stet_device *device, const char *what);

/* ---- run_list.c ---- */

/* Does work of others, or issues it to the stream in use. */
stet_result sti_foreign_run(stet_device *device, const char *name, stet_foreign *work, void *context);

/* ---- recording_cache.c ---- */

/* The recording of the pending list, or NULL. */
sti_recording *sti_recording_find(sti_recorder *r);
sti_recording *sti_recording_of(const sti_recorder *r, uint64_t id);
/* Makes one of the pending list, and keeps it. Nothing runs (RECORD-1). */
stet_result sti_recording_build(stet_device *device);
/* Takes it over; the least recently used goes for it. */
void sti_recording_cache_add(stet_device *device, sti_recording *x);
void sti_recording_played(sti_recorder *r, sti_recording *x); /* it is the latest */
void sti_recording_drop(stet_device *device, int k);
void sti_recording_drop_this(stet_device *device, const sti_recording *x);

/* ---- external_capture.c ---- */

/* Number of the caller's capture that what stet issues becomes a part of; 0: none. */
uint64_t sti_joining(stet_device *device);
/* RECORD-8: an array that something touches which went into the capture. */
void sti_external_capture_use(stet_device *device, uint64_t capture, stet_array *array, bool written);
void sti_external_capture_launch(stet_device *device, uint64_t capture, const sti_launch *launch);

#endif
