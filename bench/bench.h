/*
 * What benchmarks share. A benchmark measures and adds rows of results; main.c runs the benchmarks, report.c prints the
 * rows.
 *
 * Invariants:
 *   BENCH-1  a value is the median of its samples, and the samples are kept
 *   BENCH-2  values of a ratio are measured in turns, A B A B, in the same process and with the same number of threads
 */
#ifndef STET_BENCH_BENCH_H
#define STET_BENCH_BENCH_H

#include "stet/stet.h"

enum {
    BENCH_SAMPLES = 15,
    BENCH_NAME = 96,
    BENCH_NOTE = 400,
    BENCH_ROWS = 512,
    BENCH_WORLDS = 12,
    BENCH_SIZES = 4,
    BENCH_GIVEN = 16,
    BENCH_FRAME_EDGE = 64
};

/*
 * In a frame of a sim the switches of the idle mechanisms change nothing: it compiles nothing, launches no kernel of
 * the caller and no adjoint, begins no round and reads no quantity, and no tensor is exported.
 */
enum {
    BENCH_ALL_MECHANISMS = (1 << STET_MECHANISM_COUNT) - 1,
    BENCH_IDLE_IN_FRAMES = 1 << STET_MECHANISM_KERNEL_CACHE | 1 << STET_MECHANISM_ROUNDS | 1 << STET_MECHANISM_ADSTACK |
                           1 << STET_MECHANISM_ADSTACK_HANDLE | 1 << STET_MECHANISM_GATHER_PLAN |
                           1 << STET_MECHANISM_PLAIN_VIEW | 1 << STET_MECHANISM_QUANTITIES
};

typedef struct bench_row {
    char name[BENCH_NAME], unit[32], note[BENCH_NOTE];
    bool higher; /* is better */
    bool has_goal;
    double value, goal;
    double sample[BENCH_SAMPLES];
    int nsample;
} bench_row;

/* What `frame` measures. */
typedef struct bench_frame_def {
    int64_t nworld[BENCH_WORLDS];
    int nworlds; /* 0: the usual ones */
    struct {
        int width, height; /* of a picture, pixels */
    } size[BENCH_SIZES];
    int nsize; /* 0: BENCH_FRAME_EDGE alone */
    stet_physics physics;
    bool brief; /* few variants */
} bench_frame_def;

typedef struct bench {
    int threads;            /* of "all threads" */
    stet_device_def device; /* that was asked for; AUTO where none was */
    char gpu[96];           /* name of the GPU that was measured; "": none was */
    const char *scenes;     /* folder of the shipped scenes */
    bool quick;             /* mechanisms: only checks that it runs, without measuring */
    bench_frame_def frame;  /* of `frame`; its numbers of worlds also of `physics` on a GPU, and of given scenes */
    const char *models;     /* names of `physics`, with commas; NULL: all */
    const char *given[BENCH_GIVEN]; /* files of scenes that `physics` measures instead of its own */
    int ngiven;
    const char *out;     /* file of the JSON object; NULL: none */
    const char *command; /* what was asked for */
    bench_row row[BENCH_ROWS];
    int nrow;
} bench;

typedef struct benchmark {
    const char *name, *doc;
    stet_result (*run)(bench *b);
    bool any_device; /* it runs on the device that --device names, not always on the CPU */
} benchmark;

/* ---- the benchmarks ---------------------------------------------------------------------------------------------- */
stet_result bench_pilots(bench *b);
stet_result bench_tiles(bench *b);
stet_result bench_sim(bench *b);
stet_result bench_render(bench *b); /* of the CPU */
stet_result bench_mechanisms(bench *b);
stet_result bench_launches(bench *b); /* parts of mechanisms: the cost of checks around launches, */
stet_result bench_idle(bench *b);     /* a render when nothing moved, */
stet_result bench_ablation(bench *b); /* what each mechanism is worth */
stet_result bench_device(bench *b);   /* for a GPU; without one it says so and adds no row */
stet_result bench_teams(bench *b);    /* likewise */
stet_result bench_calls(bench *b);    /* likewise: launches and replays beside plain driver calls; two parts: */
stet_result bench_replays(bench *b, stet_device *device);
stet_result bench_springs(bench *b, stet_device *device);
stet_result bench_fusion(bench *b); /* of the CPU, unless a GPU was asked for */
stet_result bench_start(bench *b);
stet_result bench_physics(bench *b);      /* of the CPU, unless a GPU was asked for */
stet_result bench_stages(bench *b);       /* the same */
bool bench_physics_has(const char *name); /* whether it knows a model of this name */
stet_result bench_threads(bench *b);      /* of the CPU */
stet_result bench_scale(bench *b);        /* of the CPU */
stet_result bench_rounds(bench *b);
stet_result bench_frame(bench *b);     /* of the CPU, unless a GPU was asked for */
stet_result bench_adjoint(bench *b);   /* of the CPU, unless a GPU was asked for */
stet_result bench_gradients(bench *b); /* the same */
stet_result bench_direct(bench *b);    /* a part of tiles: what the direct path copies */

/* The requested GPU, or NULL after a message if there is none. `what`: the benchmark. */
stet_result bench_open_gpu(bench *b, const char *what, stet_device **out);

/* ---- measuring (bench_measure.c) --------------------------------------------------------------------------------- */

/* Work that can be repeated. */
typedef struct bench_work {
    stet_result (*run)(void *context);
    void *context;
    stet_result (*finish)(
        void *context); /* waits for started work, once per sample and timed with it; NULL: nothing to wait for */
} bench_work;

/* Creates a folder for compiled kernels in /tmp; removes it with its content. */
enum { BENCH_FOLDER = 32 };
stet_result bench_make_folder(char folder[BENCH_FOLDER]);
void bench_remove_folder(const char *folder);
/* A CPU: what most rows are about, also on a machine with a GPU. */
stet_device_def bench_cpu_def(void);
/* The device of --device, else a CPU, with as many threads as all means. */
stet_device_def bench_device_def(const bench *b);
/* A GPU that is measured is named in the results. */
void bench_name_gpu(bench *b, const stet_device *device);
double bench_now(void); /* seconds, monotonic */
/*
 * Measures pieces of work in turns: BENCH_SAMPLES rounds of A, B, …, each repeated until a sample takes at least
 * `least` seconds. seconds [nwork]: a row of samples for each, of one run. They run once before, unmeasured.
 */
stet_result bench_in_turns(const bench_work *work, int nwork, double least, double seconds[][BENCH_SAMPLES]);
/* The same for work of one thread, measured in processor time, so that other processes do not count. */
stet_result bench_on_core_in_turns(const bench_work *work, int nwork, double least, double seconds[][BENCH_SAMPLES]);
/*
 * The host's time of a call alone. `calls` calls are timed together; they should fit into a device's queue. finish is
 * called before and after them, untimed. In turns, BENCH_SAMPLES rounds of `times` such measurements.
 */
stet_result bench_host_in_turns(const bench_work *work, int nwork, int calls, int times,
                                double seconds[][BENCH_SAMPLES]);
/* Least seconds of a sample: 0 if the benchmark only checks that everything runs. */
static inline double bench_least(const bench *b, double seconds) { return b->quick ? 0 : seconds; }
double bench_median(const double *sample, int n);
/*
 * Multiply-adds a second of one core in single precision, the widest lanes, in units of 1e9 operations (a multiply-add
 * is two); 0: not known.
 */
double bench_peak_gflops(void);
/* How many 1e9 bytes a second one core reads from an array much larger than its caches; 0: no memory for the array. */
double bench_peak_gbytes(void);
/* Describes this machine: processor, how many processors may be used, instruction set; the GPU that was measured. */
void bench_machine(const bench *b, char *out, size_t size);

/* ---- rows (bench_report.c) --------------------------------------------------------------------------------------- */

/* A row from samples; the name is formatted. LIMIT: too many rows. */
stet_result bench_add(bench *b, bench_row **out, const double *sample, int n, const char *unit, bool higher,
                      const char *format, ...) __attribute__((format(printf, 7, 8)));
/* Adds a row in nanoseconds from BENCH_SAMPLES times of one run, each of `each` operations. */
stet_result bench_add_ns(bench *b, const double *seconds, double each, bench_row **row, const char *name);
void bench_goal(bench_row *row, double goal);
void bench_note(bench_row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints all rows as a table. */
void bench_print_table(const bench *b);
/* Writes them as one JSON object to a file, or (NULL) to standard output. NULL, or what is wrong. */
const char *bench_write_json(const bench *b, const char *path);
/* Writes the rows so far to the file that was asked for, if any: a run that is ended later leaves them. */
stet_result bench_keep(const bench *b);
/* Says on a terminal what is being measured; "": nothing any more. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
