/* The options of `stet run`, read and checked before anything is loaded or written. */
#ifndef STI_CLI_OPTIONS_OPTIONS_H
#define STI_CLI_OPTIONS_OPTIONS_H

#include "stet/stet.h"

enum { OPTIONS_MAX_NAMES = 64 };

typedef enum control_kind { CONTROL_ZERO, CONTROL_NOISE, CONTROL_FILE } control_kind;

/* Names that were separated by commas; duplicates are dropped. */
typedef struct name_list {
    char *text; /* owns the names */
    const char *name[OPTIONS_MAX_NAMES];
    int count;
} name_list;

/* Values of one parameter that rounds are made of. */
enum { OPTIONS_SWEEPS = 8 };
typedef struct sweep_option {
    name_list text; /* "gravity=-9.81", "-5", … as given */
    const char *name;
    double *value; /* [text.count] */
} sweep_option;

typedef struct run_options {
    const char *scene;
    int64_t worlds, first_world, frames, save_every;
    int64_t until;                      /* frames since the scene's initial state; 0: not given */
    int64_t state_every;                /* of --save-every-state; 0: not given */
    int64_t rounds;                     /* 0: as many as inputs and sweeps have, or not a run in rounds */
    name_list inputs;                   /* .npz files with values of rounds */
    sweep_option sweep[OPTIONS_SWEEPS]; /* their grid; the last parameter varies fastest */
    int nsweep;
    int substeps;           /* 0: as many as come nearest to 1/50 s per frame */
    stet_device_def device; /* only type and gpu.index are set */
    bool device_numbered;   /* gpu.index was given */
    int64_t ranks_per_gpu;
    stet_physics physics;
    const char *keyframe; /* a name, a number or "none"; NULL: the sim's choice */
    name_list camera, record;
    int size[OPTIONS_MAX_NAMES][2], nsize, samples; /* one size for all cameras, or one each */
    float fisheye[OPTIONS_MAX_NAMES];               /* degrees, one for all cameras or one each; 0: none */
    int nfisheye;
    uint32_t outputs; /* bits 1u << STET_OUTPUT_x */
    uint32_t groups;  /* bits 1u << group */
    stet_render_mode mode;
    bool fog;
    float depth_range[2]; /* both 0: not given */
    uint32_t decorations; /* bits 1u << stet_decoration */
    control_kind control;
    double noise_scale;
    const char *control_path;
    const char *save, *resume, *out, *trace;
    const char *video;                  /* of the first output */
    bool numbers;                       /* of worlds, in mosaics and videos */
    int64_t video_every, tensors_every; /* 0: not given */
    bool tensors_npz;                   /* in one file */
    double video_fps;                   /* 0: as many as make it as fast as the scene */
    uint64_t seed;
    int threads; /* 0: one per processor */
    stet_mechanism_options mechanisms;
    bool view_wait;
    int64_t view_socket; /* of a process that shows the run; -1: none */
    bool ledger, profile, ranges, json;
} run_options;

/*
 * Returns -1 to go on; else the exit code to end with, after the sentence or the help was printed: 0 for --help,
 * EXIT_INPUT for what is not understood. options_free is due in each case.
 */
int options_read(int argc, char **argv, run_options *out);
/* The same, each option alone: whether they go together is not asked. */
int options_parse(int argc, char **argv, run_options *out);
void options_free(run_options *options);
/* Does it run in rounds? */
static inline bool options_rounds(const run_options *o) { return o->rounds || o->inputs.count || o->nsweep; }

/* A whole number that is all of the text and lies in [lo, hi]; false otherwise. */
bool parse_whole(const char *text, int64_t lo, int64_t hi, int64_t *out);
/* WIDTHxHEIGHT, pixels; false otherwise. */
bool parse_size(const char *text, int *width, int *height);
/* A finite number that is all of the text. */
bool parse_number(const char *text, double *out);

#endif
