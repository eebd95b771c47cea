/* The random program's rounds, and steps and pictures of some worlds. */
#include "sim/program/program.h"

#include <stdlib.h>

enum { MOST_INPUTS = 8, MOST_CONTROLS = 4 };

/* The inputs of a round, each with memory of its own. */
typedef struct round_inputs {
    stet_round_value value[MOST_INPUTS];
    int n;
} round_inputs;

/* Which worlds take part: some, all or none. */
static void choose_worlds(program *p, uint8_t mask[8])
{
    int share = 1 + roll(p, 4);
    for (int64_t w = 0; w < 8; ++w) mask[w] = once_in(p, share);
    for (int64_t w = 0; w < p->nworld; ++w) say(p, "%d", mask[w]);
}

void op_step_some(program *p)
{
    uint8_t mask[8];
    int n = 1 + roll(p, 3);
    say(p, "step %d of worlds ", n);
    choose_worlds(p, mask);
    BOTH(p, stet_sim_step_worlds(p->sim[i], mask, n));
}

void op_render_some(program *p)
{
    uint8_t mask[8];
    int64_t frame[2];
    say(p, "render worlds ");
    choose_worlds(p, mask);
    BOTH(p, stet_sim_render_worlds(p->sim[i], mask, &frame[i]));
    CHECK(p, frame[SUBJECT] == p->sim[SUBJECT]->newest, "render gave another number than the newest");
    say(p, ": frame %lld", (long long)frame[SUBJECT]);
    show_sim(p);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void *add_input(program *p, round_inputs *in, const char *name, size_t size)
{
    void *data = room(p, size);
    in->value[in->n++] = stet_round_in(name, data, size);
    say(p, " %s", name);
    return data;
}

static void add_reals(program *p, round_inputs *in, const char *name, int64_t n)
{
    void *data = add_input(p, in, name, (size_t)n * (p->f64 ? sizeof(double) : sizeof(float)));
    for (int64_t i = 0; i < n; ++i) program_put_number(p, data, (size_t)i, near(p, 0));
}

static void fill_inputs(program *p, round_inputs *in)
{
    static const char *const fields[] = {"qpos", "ctrl", "qvel", "mocap_pos"};
    stet_model_info info = stet_model_get_info(p->model[p->scene]);
    in->n = 0;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        stet_array *a;
        must(p, TWIN, stet_worlds_get_array(worlds_of(p, TWIN), fields[f], &a), "stet_worlds_get_array");
        if (stet_array_get_nelement(a) > 0 && once_in(p, 3)) add_reals(p, in, fields[f], stet_array_get_nelement(a));
    }
    if (info.nu > 0 && once_in(p, 3)) {
        int frames = 1 + roll(p, MOST_CONTROLS);
        add_reals(p, in, "controls", frames * (once_in(p, 2) ? p->nworld : 1) * info.nu);
        in->value[in->n - 1].frames = frames;
    }
    if (!p->external && once_in(p, 3)) {
        double *gravity = add_input(p, in, "gravity", 3 * sizeof *gravity);
        for (int k = 0; k < 3; ++k) gravity[k] = 9 * (double)wave(p);
    }
    if (once_in(p, 3)) {
        uint64_t *seed = add_input(p, in, "seed", sizeof *seed);
        *seed = dice_next(&p->dice);
    }
}

static void free_inputs(round_inputs *in)
{
    for (int k = 0; k < in->n; ++k) free(in->value[k].data);
}

/* Sometimes the subject alone has the inputs brought ahead; what it brings may differ from what it begins with. */
void op_round_begin(program *p)
{
    round_inputs in;
    say(p, "begin a round:");
    fill_inputs(p, &in);
    if (once_in(p, 3)) {
        say(p, ", staged");
        must(p, SUBJECT, stet_sim_round_stage(p->sim[SUBJECT], in.value, in.n), "stet_sim_round_stage");
        if (in.n > 0 && once_in(p, 3)) ((uint8_t *)in.value[0].data)[0] ^= 1;
    }
    BOTH(p, stet_sim_round_begin(p->sim[i], in.value, in.n));
    free_inputs(&in);
}

void op_round_end(program *p)
{
    stet_array *a[2];
    stet_result result[2];
    BOTH(p, stet_worlds_get_array(worlds_of(p, i), "qpos", &a[i]));
    size_t size = stet_array_get_bytes(a[SUBJECT]);
    uint8_t *data = room(p, 2 * size);
    memset(data, 0, 2 * size);
    say(p, "end of the round");
    for (int i = 0; i < 2; ++i) {
        stet_round_value out = stet_round_out("qpos", data + (size_t)i * size, size);
        result[i] = stet_sim_round_end(p->sim[i], &out, size > 0);
        CHECK(p, result[i] == STET_OK || result[i] == STET_ERROR_STATE, "stet_sim_round_end: %s",
              stet_get_last_error());
    }
    CHECK(p, result[SUBJECT] == result[TWIN], "ends of the round: %s and %s", stet_result_sentence(result[SUBJECT]),
          stet_result_sentence(result[TWIN]));
    same_bytes(p, data, data + size, size, "qpos at the end of the round");
    free(data);
}
