/*
 * Rounds: the same sim run again and again (episodes, candidates, seeds of a sweep), set up once.
 *
 *     for (int r = 0; r < rounds; ++r) {
 *         stet_round_value in[] = {stet_round_in("qpos", start[r], bytes), stet_round_in("gravity", g[r], sizeof g[r])};
 *         stet_round_value out[] = {stet_round_out("qpos", end[r], bytes)};
 *         result = stet_sim_round_begin(sim, in, 2);
 *         for (int i = 0; result == STET_OK && i < steps; ++i) result = stet_sim_step(sim, 1);
 *         result = stet_sim_round_end(sim, out, 1);
 *     }
 *
 * A round begins where a sim begins that was made just now, and has the bits that it would have there, whatever rounds came before, in whatever
 * order, and however they ended. `begin` knows which round it is: the first sets up, later ones copy in what differs from what is there
 * (mechanism `rounds`). What becomes of everything else between two rounds is one table, STET_ROUND_RESOURCES.
 */
#ifndef STET_ROUND_H
#define STET_ROUND_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a resource when a round begins. */
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

/* The resources of a sim: name, contract, what it is. Under audit all but KEEP is filled with NaN between rounds first. */
#define STET_ROUND_RESOURCES(X)                                                                                        \
    X(model, KEEP, "the scene, its tables, meshes with their BVHs, textures")                                          \
    X(programs, KEEP, "compiled kernels, recordings, blocks of arguments")                                             \
    X(memory, KEEP, "arrays, their host's sides, arenas, the ring of frames")                                          \
    X(scene_edits, KEEP, "prims that the caller added or moved, his kernels in the step, what he bound and exported")  \
    X(state, COPY_IN, "all fields of the worlds and MuJoCo's data behind them, the seed")                              \
    X(parameters, COPY_IN, "parameters of the physics, world by world")                                                \
    X(controls, COPY_IN, "controls over time, and how many of their frames were taken")                                \
    X(counts, ZERO, "faults of worlds, numbers of their resets")                                                       \
    X(poses, EPOCH, "poses of bodies, scene transforms")                                                               \
    X(pictures, EPOCH, "the latest frame")                                                                             \
    X(reset_mask, EPOCH, "which write of the mask of the step's reset was taken")
typedef enum stet_round_resource {
#define STET_ROUND_RESOURCE_ENUM(name, contract, sentence) STET_ROUND_RESOURCE_##name,
    STET_ROUND_RESOURCES(STET_ROUND_RESOURCE_ENUM)
#undef STET_ROUND_RESOURCE_ENUM
        STET_ROUND_RESOURCE_COUNT
} stet_round_resource;
STET_API const char *stet_round_resource_name(stet_round_resource resource); /* "state"; never NULL */
STET_API stet_contract stet_round_resource_contract(stet_round_resource resource);
/*
 * States the contract of an array of the caller's, on the sim's device, for all rounds to come. KEEP, which is also that of an array of which
 * nothing was said, takes the statement back; an array that is destroyed takes it along. COPY_IN is not stated: an array is an input by being
 * one. INVALID_ARGUMENT: another device, an array of the sim's own.
 */
STET_API stet_result stet_sim_round_contract(stet_sim *sim, stet_array *array, stet_contract contract);

/* ---- what goes in and comes out ------------------------------------------------------------------------------------ */

typedef enum stet_direction { STET_IN = 1, STET_OUT = 2, STET_INOUT = 3 } stet_direction;

/*
 * An input, an output, or both. What it is: `array`, or by name
 *
 *     a field of the worlds    "qpos" …: data [nworld][items], as stet_array_write takes it
 *     a parameter              "gravity" … (stet_worlds_parameters): double [items] or [nworld][items]
 *     "controls"               of the round's steps: [frames][nworld][nu], or [frames][nu] for all worlds alike, elements as of `ctrl`. The k-th
 *                              stet_sim_step of a round takes frame k; from the last one on the controls stay
 *
 *     "seed"                   one uint64_t: of noise at resets and of control noise in this round; without it, the sim's
 *
 * Parameters, controls and the seed are inputs only. An array of the caller's may be written by kernels in the round, also where it is an input.
 *
 * An input that is the same as in the round before is not copied in again: `begin` compares it with what it was, byte for byte; or, with
 * a `generation` that is not 0, takes an equal generation and an equal address for equal content and does not look. Each input costs its size of host memory, and
 * an array of worlds (on a device with memory of its own, any array) as much of the device's.
 *
 * An output whose place and length only the device knows has a header: a plain array of I64, [2]: first row, number of rows (of the array's
 * first dimension, from 0). `end` reads the header first, then these rows; `rows` is their number. `size` is then the room.
 */
typedef struct stet_round_value {
    const char *name;  /* NULL: `array` */
    stet_array *array; /* on the sim's device */
    void *data;        /* of the host; borrowed until the call returns. An input is only read. */
    size_t size;
    uint64_t generation; /* of `data`, the caller's own count of its writes; 0: not known */
    int64_t frames;      /* of controls */
    stet_array *header;
    int64_t rows; /* set by `end`, with a header */
    stet_direction direction;
    stet_result result; /* set by `begin` (inputs) and `end` (outputs): what became of this one */
} stet_round_value;

static inline stet_round_value stet_round_array(stet_array *array, stet_direction direction, void *data, size_t size)
{
    stet_round_value v = {0, array, data, size, 0, 0, 0, 0, direction, STET_OK};
    return v;
}
static inline stet_round_value stet_round_in(const char *name, const void *data, size_t size)
{
    stet_round_value v = {name, 0, (void *)(uintptr_t)data, size, 0, 0, 0, 0, STET_IN, STET_OK};
    return v;
}
static inline stet_round_value stet_round_out(const char *name, void *data, size_t size)
{
    stet_round_value v = {name, 0, data, size, 0, 0, 0, 0, STET_OUT, STET_OK};
    return v;
}

/*
 * Begins a round: puts the sim back to how it was made, as the contracts say, and copies in those of n values whose direction has IN; the others
 * are left alone, so that one list can serve both calls. A round that was begun and not ended is over, and nothing of it is seen any more.
 *
 * All values are checked before anything is done: INVALID_ARGUMENT, NOT_FOUND name the value and what it should be, and then the sim is as
 * it was. A copy that fails does not stop the others; the sentence names each that failed, the result is that of the first. No round is begun then, and the next
 * `begin` trusts nothing that is there (reason `failed`). STRICT: the device cannot reuse.
 */
STET_API stet_result stet_sim_round_begin(stet_sim *sim, stet_round_value *values, int n);
/* All that `begin` would refuse; changes nothing. */
STET_API stet_result stet_sim_round_check(stet_sim *sim, const stet_round_value *values, int n);
/*
 * Ends it: copies out those of n values whose direction has OUT, and frees nothing. A copy that fails does not stop the others; all are named.
 * STATE: no round was begun; or all worlds have a fault of their state (NaN, huge): then the outputs are copied out all the same.
 */
STET_API stet_result stet_sim_round_end(stet_sim *sim, stet_round_value *values, int n);
/*
 * Looks at the inputs of the next round while the present one runs: those that differ are copied beside the ones in use, on the host and on a GPU there too, in
 * a stream of their own, which waits for nothing of the round that runs (but when memory is made for it, the first two times). The host waits only where it
 * sends controls of more than 4 MiB. `begin` with the same values then has nothing left to copy from the host; values that it gets otherwise are taken as they
 * are then. What `begin` would refuse is refused here, too, and nothing is staged. A copy that fails does not stop the others, and `begin` makes it.
 * UNSUPPORTED: the stream in use is being captured.
 */
STET_API stet_result stet_sim_round_stage(stet_sim *sim, stet_round_value *values, int n);

/* The latest round. */
typedef struct stet_round_info {
    int64_t round;   /* 1, 2, 3 … as begun; 0: there was none */
    bool open;       /* begun, not ended */
    stet_reason why; /* of setting all up: first, failed, no_reuse, disabled; STET_REASON_none: nothing but inputs */
    int inputs, copied_in, staged; /* staged: of those that were copied in, what stet_sim_round_stage had brought */
    int outputs, copied_out;
    int64_t bytes_in, bytes_out; /* of those that were copied from and to the host */
    double setup, seconds;       /* in `begin`; from `begin` to the end of `end` */
    int64_t faulty;              /* worlds whose state became NaN or huge, as MuJoCo's physics tells; 0 with others */
} stet_round_info;
STET_API stet_round_info stet_sim_get_round(const stet_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
