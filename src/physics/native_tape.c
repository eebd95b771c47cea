/* Time steps and resets of native physics as operations that a tape takes; see native_tape.h. */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "kernel/record/launch_observer.h"
#include "physics/native_pull.h"

#include <string.h>

extern const sti_kernel sti_k_native_unmark, sti_k_native_forget;

/* ---- operands ---------------------------------------------------------------------------------------------------- */

enum { READ = STI_OPERAND_READ, WRITTEN = STI_OPERAND_WRITTEN, GRADED = STI_OPERAND_GRADED };

#define TAKEN(name) {#name, READ | WRITTEN | GRADED, true, false},
static const sti_operand step_operands[STI_TAPED_STEP] = {
    STI_NATIVE_GRADED(TAKEN)[STI_TAPED_qacc_warmstart] = {"qacc_warmstart", WRITTEN | STI_OPERAND_RESULT, true, false},
    [STI_TAPED_step_sensordata] = {"step_sensordata", WRITTEN, true, false},
    [STI_TAPED_history] = {"history", WRITTEN, true, false},
    [STI_TAPED_LOST] = {"lost", WRITTEN | STI_OPERAND_RESULT, false, false},
    [STI_TAPED_STEPPED] = {"stepped", READ, false, false},
    [STI_TAPED_V] = {"parameters of worlds", READ, true, false},
    [STI_TAPED_NUMBERS_OF_TABLES] = {"numbers of tables", GRADED, true, false},
};
#undef TAKEN
#define PUT_BACK(name) {#name, WRITTEN | GRADED, true, false},
static const sti_operand reset_operands[STI_TAPED_RESET] = {
    STI_NATIVE_GRADED(PUT_BACK)[STI_TAPED_qacc_warmstart] = {"qacc_warmstart", WRITTEN, true, false},
    [STI_TAPED_step_sensordata] = {"step_sensordata", WRITTEN, true, false},
    [STI_TAPED_history] = {"history", WRITTEN, true, false},
    [STI_TAPED_CHOSEN] = {"mask", READ, false, false},
    [STI_TAPED_NUMBERS] = {"resets", WRITTEN, false, false},
    [STI_TAPED_KEYFRAME] = {"keyframe", 0, false, true},
    [STI_TAPED_QPOS_NOISE] = {"qpos_noise", 0, false, true},
    [STI_TAPED_QVEL_NOISE] = {"qvel_noise", 0, false, true},
};
#undef PUT_BACK

static void state_args(const sti_native *n, sti_arg *args)
{
#define PLACE(name) args[STI_TAPED_##name] = STATE_ARG(name);
    STI_NATIVE_GRADED(PLACE)
    PLACE(qacc_warmstart)
    PLACE(step_sensordata)
    PLACE(history)
#undef PLACE
}

/* ---- doing it again (NATIVE-TAPE-2) ------------------------------------------------------------------------------ */

static void swap(stet_array **a, stet_array **b)
{
    stet_array *kept = *a;
    *a = *b;
    *b = kept;
}

/* What steps count, and what takes it while they are done again. Twice is as it was. */
static void swap_tallies(sti_native *n, stet_array **fault)
{
    swap(&n->fault, fault);
    swap(&n->ticks, &n->tape.ticks);
    swap(&n->most, &n->tape.most);
    swap(&n->owed, &n->tape.owed);
}

static stet_result make_tallies(sti_native *n)
{
    static const char *const names[] = {"worlds that a step put back", "faults of steps made again", "steps made again",
                                        "contacts of steps made again", "steps of held worlds made again"};
    stet_array **all[] = {&n->tape.lost, &n->tape.fault, &n->tape.ticks, &n->tape.most, &n->tape.owed};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (!*all[i])
            STI_TRY(STI_ARRAY(n->worlds->device, names[i], STET_DTYPE_INT, true, all[i], n->worlds->nworld, 1));
    return STET_OK;
}

stet_result sti_native_step_uncounted(sti_native *n)
{
    STI_TRY(make_tallies(n));
    STI_TRY(STI_LAUNCH(sti_k_native_unmark, n->worlds->device, n->worlds->nworld, sti_arg_array(n->tape.lost)));
    swap_tallies(n, &n->tape.lost);
    stet_result result = sti_native_run(n, 1);
    swap_tallies(n, &n->tape.lost);
    return result;
}

static stet_result step_again(const sti_operation *operation, const sti_arg *args)
{
    (void)args;
    return sti_native_step_uncounted(operation->owner);
}

static stet_result reset_again(const sti_operation *operation, const sti_arg *args)
{
    sti_native *n = operation->owner;
    const sti_native_reset_args reset = {.mask = args[STI_TAPED_CHOSEN].array,
                                         .keyframe = (int)args[STI_TAPED_KEYFRAME].i,
                                         .qpos_noise = args[STI_TAPED_QPOS_NOISE].f,
                                         .qvel_noise = args[STI_TAPED_QVEL_NOISE].f};
    STI_TRY(sti_native_take_key(n, reset.keyframe));
    swap_tallies(n, &n->tape.fault);
    stet_result result = sti_native_launch_reset(n, &reset);
    swap_tallies(n, &n->tape.fault);
    return result;
}

/* ---- backwards --------------------------------------------------------------------------------------------------- */

/* NATIVE-TAPE-3 */
static stet_result forget_lost(const sti_native *n, const stet_array *lost, int bits, stet_array *const *gradients)
{
    const mjModel *m = n->worlds->model->mj;
    sti_arg args[] = {sti_arg_array(lost),
#define GRADIENT(name) sti_arg_array(gradients[STI_TAPED_##name]),
                      STI_NATIVE_GRADED(GRADIENT)
#undef GRADIENT
                          sti_arg_int(m->nq),
                      sti_arg_int(m->nv),
                      sti_arg_int(m->na),
                      sti_arg_int(m->nu),
                      sti_arg_int(m->nbody),
                      sti_arg_int(m->nmocap),
                      sti_arg_int(m->neq),
                      sti_arg_int(bits)};
    return sti_launch_on(n->worlds->device, &sti_k_native_forget, n->worlds->nworld, args,
                         (int)(sizeof args / sizeof *args));
}

static stet_result step_back(const sti_operation *operation, const sti_arg *args, stet_array *const *results,
                             stet_array *const *gradients)
{
    sti_native *n = operation->owner;
    STI_TRY(sti_native_same_parameters(n, operation, args[STI_TAPED_V].array));
#define BEFORE(name) .name = args[STI_TAPED_##name].array
#define GRADIENT(name) .name = gradients[STI_TAPED_##name]
    const sti_native_before before = {BEFORE(qpos),         BEFORE(qvel),
                                      BEFORE(act),          BEFORE(ctrl),
                                      BEFORE(qfrc_applied), BEFORE(xfrc_applied),
                                      BEFORE(mocap_pos),    BEFORE(mocap_quat),
                                      BEFORE(eq_active),    .qacc = results[STI_TAPED_qacc_warmstart]};
    const sti_native_gradients pulled = {GRADIENT(qpos),      GRADIENT(qvel),         GRADIENT(act),
                                         GRADIENT(ctrl),      GRADIENT(qfrc_applied), GRADIENT(xfrc_applied),
                                         GRADIENT(mocap_pos), GRADIENT(mocap_quat)};
#undef BEFORE
#undef GRADIENT
    sti_native_wanted wanted = n->tape.wanted;
    wanted.gradient = gradients[STI_TAPED_NUMBERS_OF_TABLES];
    STI_TRY(sti_native_pull(n, args[STI_TAPED_STEPPED].array, &before, &pulled, wanted.gradient ? &wanted : NULL));
    return forget_lost(n, results[STI_TAPED_LOST], PH_WAS_RESET, gradients);
}

static stet_result reset_back(const sti_operation *operation, const sti_arg *args, stet_array *const *results,
                              stet_array *const *gradients)
{
    sti_native *n = operation->owner;
    stet_array *mask = args[STI_TAPED_CHOSEN].array;
    (void)results;
    STI_TRY(sti_native_take_mask(n, &mask));
    return forget_lost(n, mask, -1, gradients);
}

/* ---- the operations ---------------------------------------------------------------------------------------------- */

static stet_result check_step(const sti_operation *operation)
{
    sti_native *n = operation->owner;
    STI_TRY(sti_native_update(n));
    return sti_gradient_check_model(n->own.arrays ? &n->own.all : n->worlds->model->mj); /* OWN-1 */
}

static stet_result check_reset(const sti_operation *operation)
{
    (void)operation;
    return STET_OK;
}

static stet_result prepare_step(const sti_operation *operation) { return sti_native_prepare_pull(operation->owner); }
static stet_result prepare_reset(const sti_operation *operation) { return sti_native_update(operation->owner); }

static stet_result make_operations(sti_native *n)
{
    enum { MOST = 48 }; /* four times all groups of stages, and more */
    if (n->tape.made) return STET_OK;
    STI_TRY(make_tallies(n));
    n->tape.step = (sti_operation){.name = "a step of native physics",
                                   .owner = n,
                                   .operand = step_operands,
                                   .noperand = STI_TAPED_STEP,
                                   .count = n->worlds->nworld,
                                   .most = MOST,
                                   .check = check_step,
                                   .prepare = prepare_step,
                                   .again = step_again,
                                   .back = step_back};
    n->tape.reset = n->tape.step;
    n->tape.reset.name = "a reset";
    n->tape.reset.operand = reset_operands;
    n->tape.reset.noperand = STI_TAPED_RESET;
    n->tape.reset.check = check_reset;
    n->tape.reset.prepare = prepare_reset;
    n->tape.reset.again = reset_again;
    n->tape.reset.back = reset_back;
    n->tape.made = true;
    return STET_OK;
}

void sti_native_tape_free(sti_native *n)
{
    stet_device *device = n->worlds->device;
    sti_native_readings_free(n);
    sti_native_parameter_gradients_free(n);
    sti_device_notify_destroyed(device, &n->tape.step);
    sti_device_notify_destroyed(device, &n->tape.reset);
    stet_array *all[] = {n->tape.lost, n->tape.fault, n->tape.ticks, n->tape.most, n->tape.owed, n->tape.every};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) stet_array_destroy(all[i]);
}

static stet_result run_step(sti_native *n)
{
    stet_device *device = n->worlds->device;
    sti_arg args[STI_TAPED_STEP];
    state_args(n, args);
    args[STI_TAPED_LOST] = sti_arg_array(n->tape.lost);
    args[STI_TAPED_STEPPED] = sti_arg_array(n->stepped.array);
    args[STI_TAPED_V] = sti_arg_array(n->own.v);
    args[STI_TAPED_NUMBERS_OF_TABLES] = sti_arg_array(n->tape.wanted.gradient);
    sti_operation_begin(device, &n->tape.step, args);
    return sti_operation_end(device, &n->tape.step, sti_native_run(n, 1));
}

stet_result sti_native_run_taped(sti_native *n, int nstep)
{
    STI_TRY(make_operations(n));
    STI_TRY(sti_native_converge(n));
    for (int k = 0; k < nstep; ++k) STI_TRY(run_step(n));
    return STET_OK;
}

stet_result sti_native_reset_taped(sti_native *n, const sti_native_reset_args *reset)
{
    stet_device *device = n->worlds->device;
    sti_arg args[STI_TAPED_RESET];
    STI_TRY(make_operations(n));
    state_args(n, args);
    args[STI_TAPED_CHOSEN] = sti_arg_array(reset->mask);
    args[STI_TAPED_NUMBERS] = sti_arg_array(n->resets);
    args[STI_TAPED_KEYFRAME] = sti_arg_int(reset->keyframe);
    args[STI_TAPED_QPOS_NOISE] = sti_arg_real(reset->qpos_noise);
    args[STI_TAPED_QVEL_NOISE] = sti_arg_real(reset->qvel_noise);
    sti_operation_begin(device, &n->tape.reset, args);
    return sti_operation_end(device, &n->tape.reset, sti_native_launch_reset(n, reset));
}
