/*
 * Rounds: one sim runs again and again (episodes, candidates, seeds of a sweep) and is set up once.
 *
 *     for (int r = 0; r < rounds; ++r) {
 *         stet_round_value in[] = {stet_round_in("qpos", start[r], bytes), stet_round_in("gravity", g[r], gbytes)};
 *         stet_round_value out[] = {stet_round_out("qpos", end[r], bytes)};
 *         result = stet_sim_round_begin(sim, in, 2);
 *         for (int i = 0; result == STET_OK && i < steps; ++i) result = stet_sim_step(sim, 1);
 *         result = stet_sim_round_end(sim, out, 1);
 *     }
 *
 * A round starts from the state of a newly created sim and has the same bits as there, whatever the rounds before did
 * and however they ended. The first `begin` sets everything up; later ones copy in only what differs (mechanism
 * `rounds`). The table STET_ROUND_RESOURCES says what happens to everything else between two rounds.
 */
#ifndef STET_ROUND_H
#define STET_ROUND_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to a resource when a round begins. */
#define STET_CONTRACTS(X)                                                                                              \
    X(KEEP, "keep", "stays as it is")                                                                                  \
    X(EPOCH, "epoch", "is invalid, without a byte being touched: who reads it makes it first")                         \
    X(ZERO, "zero", "is 0")                                                                                            \
    X(COPY_IN, "copy_in", "is that of the sim's making, then that of the inputs")
typedef enum stet_contract {
#define STET_CONTRACT_ENUM(id, name, sentence) STET_CONTRACT_##id,
    STET_CONTRACTS(STET_CONTRACT_ENUM)
#undef STET_CONTRACT_ENUM
        STET_CONTRACT_COUNT
} stet_contract;
STET_API const char *stet_contract_name(stet_contract contract); /* "keep" */

/*
 * The resources of a sim: id, name, contract, description. In audit mode all resources but those of KEEP are filled
 * with NaN between rounds.
 */
#define STET_ROUND_RESOURCES(X)                                                                                        \
    X(MODEL, "model", KEEP, "the scene, its tables, meshes with their BVHs, textures")                                 \
    X(PROGRAMS, "programs", KEEP, "compiled kernels, recordings, blocks of arguments")                                 \
    X(MEMORY, "memory", KEEP, "arrays, their host's sides, arenas, the ring of frames")                                \
    X(SCENE_EDITS, "scene_edits", KEEP,                                                                                \
      "prims that the caller added or moved, its kernels in the step, what it bound and exported")                     \
    X(STATE, "state", COPY_IN, "all fields of the worlds and MuJoCo's data behind them, the seed")                     \
    X(PARAMETERS, "parameters", COPY_IN, "parameters of the physics, world by world")                                  \
    X(CONTROLS, "controls", COPY_IN, "controls over time, and how many of their frames were taken")                    \
    X(COUNTS, "counts", ZERO, "faults of worlds, numbers of their resets")                                             \
    X(POSES, "poses", EPOCH, "poses of bodies, scene transforms")                                                      \
    X(PICTURES, "pictures", EPOCH, "the latest frame")                                                                 \
    X(RESET_MASK, "reset_mask", EPOCH, "which write of the mask of the step's reset was taken")
typedef enum stet_round_resource {
#define STET_ROUND_RESOURCE_ENUM(id, name, contract, sentence) STET_ROUND_RESOURCE_##id,
    STET_ROUND_RESOURCES(STET_ROUND_RESOURCE_ENUM)
#undef STET_ROUND_RESOURCE_ENUM
        STET_ROUND_RESOURCE_COUNT
} stet_round_resource;
STET_API const char *stet_round_resource_name(stet_round_resource resource); /* "state"; never NULL */
STET_API stet_contract stet_round_resource_contract(stet_round_resource resource);
/*
 * Sets the contract of one of the caller's arrays on the sim's device, for all later rounds. KEEP is the default and
 * removes an earlier contract; so does destroying the array. COPY_IN cannot be set: an array gets it by being an input.
 * INVALID_ARGUMENT: an array of another device, or one of the sim's own arrays.
 */
STET_API stet_result stet_sim_round_contract(stet_sim *sim, stet_array *array, stet_contract contract);

/* ---- what goes in and comes out ---------------------------------------------------------------------------------- */

typedef enum stet_direction { STET_DIRECTION_IN = 1, STET_DIRECTION_OUT = 2, STET_DIRECTION_INOUT = 3 } stet_direction;

/*
 * An input, an output, or both. `array` says what it is, or a name:
 *
 *     a field of the worlds    "qpos" …: data [nworld][items], as stet_array_write takes it
 *     a parameter              "gravity" … (stet_worlds_get_parameters): double [items] or [nworld][items]
 *     "controls"               of the round's steps: [frames][nworld][nu], or [frames][nu] for all worlds alike,
 *                              elements as of `ctrl`. The k-th stet_sim_step of a round uses frame k; after the last
 *                              frame the controls do not change
 *     "seed"                   one uint64_t, for the noise of resets and of controls in this round; default: the
 *                              sim's seed
 *
 * Parameters, controls and the seed are inputs only. Kernels of the round may write the caller's arrays, inputs
 * included.
 *
 * An input that equals that of the round before is not copied again. `begin` compares the bytes; or, if `generation` is
 * not 0, an equal generation at an equal address counts as equal content, and the bytes are not read. Each input costs
 * its size in host memory. An array of worlds, or any array on a device with its own memory, costs as much device
 * memory.
 *
 * If only the device knows where an output is, the output has a header: a plain I64 array [2] with the first row and
 * the number of rows, in the array's first dimension from 0. `end` reads the header, then those rows, and sets `rows`.
 * `size` is then the size of the caller's buffer.
 */
typedef struct stet_round_value {
    const char *name;  /* NULL: `array` */
    stet_array *array; /* on the sim's device */
    void *data;        /* host memory, borrowed until the call returns; an input is only read */
    size_t size;
    uint64_t generation; /* the caller's count of its writes to `data`; 0: unknown, compare the bytes */
    int64_t frames;      /* number of frames of controls */
    stet_array *header;
    int64_t rows; /* set by `end` if there is a header */
    stet_direction direction;
    stet_result result; /* the result of this value alone, set by `begin` (inputs) and `end` (outputs) */
} stet_round_value;

static inline stet_round_value stet_round_array(stet_array *array, stet_direction direction, void *data, size_t size)
{
    stet_round_value v = {0, array, data, size, 0, 0, 0, 0, direction, STET_OK};
    return v;
}
static inline stet_round_value stet_round_in(const char *name, const void *data, size_t size)
{
    stet_round_value v = {name, 0, (void *)(uintptr_t)data, size, 0, 0, 0, 0, STET_DIRECTION_IN, STET_OK};
    return v;
}
static inline stet_round_value stet_round_out(const char *name, void *data, size_t size)
{
    stet_round_value v = {name, 0, data, size, 0, 0, 0, 0, STET_DIRECTION_OUT, STET_OK};
    return v;
}

/*
 * Begins a round: resets the sim to its initial state as the contracts say, and copies in the values whose direction
 * has IN. Other values are ignored, so one list can serve both calls. A round that is still open is abandoned; nothing
 * of it remains visible.
 *
 * All values are checked before anything changes: INVALID_ARGUMENT and NOT_FOUND name the value and what is expected,
 * and the sim is as it was. A failing copy does not stop the other copies; the message names each failed value, and the
 * result is that of the first. Then no round is open, and the next `begin` sets everything up again (reason `failed`).
 * STRICT: the device cannot reuse anything.
 */
STET_API stet_result stet_sim_round_begin(stet_sim *sim, stet_round_value *values, int nvalue);
/* Makes all checks of `begin` and changes nothing. */
STET_API stet_result stet_sim_round_check(stet_sim *sim, const stet_round_value *values, int nvalue);
/*
 * Ends a round: copies out the values whose direction has OUT, and frees nothing. A failing copy does not stop the
 * others; the message names all that failed. STATE: no round is open; or the state of every world is faulty (NaN,
 * huge), and the outputs are copied out nevertheless.
 */
STET_API stet_result stet_sim_round_end(stet_sim *sim, stet_round_value *values, int nvalue);
/*
 * Uploads the inputs of the next round while the present one runs. Inputs that differ are copied beside those in use:
 * on the host, and on a GPU also on the device, in a separate upload stream that does not wait for the running round
 * (except while memory is allocated, in the first two calls). The host waits only to send controls of more than 4 MiB.
 * A `begin` with the same values then copies nothing from the host; a `begin` with other values uses those. Values that
 * `begin` would refuse are refused here, and nothing is staged. A failing copy does not stop the others; `begin` makes
 * it again. UNSUPPORTED: the stream in use is being captured.
 */
STET_API stet_result stet_sim_round_stage(stet_sim *sim, stet_round_value *values, int nvalue);

/* The latest round. */
typedef struct stet_round_info {
    int64_t round; /* counted from 1; 0: there was none */
    bool open;     /* begun and not ended */
    /* reason for setting everything up: first, failed, no_reuse, disabled; STET_REASON_NONE: only inputs were copied */
    stet_reason why;
    int inputs, copied_in, staged; /* staged: how many of the copied inputs stet_sim_round_stage had uploaded */
    int outputs, copied_out;
    int64_t bytes_in, bytes_out; /* copied from and to the host */
    double setup, seconds;       /* seconds in `begin`; seconds from `begin` to the end of `end` */
    /* worlds whose state became NaN or huge, as MuJoCo's physics reports; 0 with other physics */
    int64_t faulty;
} stet_round_info;
STET_API stet_round_info stet_sim_get_round(const stet_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
