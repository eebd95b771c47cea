/*
 * Code for one model on a GPU (model_code.h): the bits of the code for all models, which CPUs have, also after
 * parameters of a world moved tables, and after they were taken back.
 */
#include "physics/model_code.h"
#include "physics/model_runs.h"

enum { STEPS = 4, STAGES = 3 };

/* Reals of shared memory that a team has of a processor's `bytes`; and is that too little to be used? */
static double room_of(sti_team team, int64_t bytes) { return (double)bytes * 5 / 8 / 4 / team.teams; }
static bool is_crowded(const sti_physics_tables *t, double room) { return room < t->m[sti_model_memory(t)] / 20; }

/* Hashes of the state after steps with the model's parameters, with a world's own, and with the model's again. */
static void run_stages(const char *text, int64_t nworld, bool lone, const char *isa, uint64_t *hash)
{
    uint8_t mask[MANY] = {[3] = 1};
    rig r = rig_make(text, nworld, isa, 2, false);
    sti_native *n;
    double mass[16];
    int64_t nbody = r.model->mj->nbody;
    OK(sti_native_create(r.worlds, &n));
    bool own = r.device->can.compiles;
    if (own && lone && n->team.team > 1) { /* the many processors of a real GPU want more worlds for it */
        n->team = (sti_team){1, 32};
        n->old = true;
    }
    for (int64_t b = 0; b < nbody; ++b) mass[b] = r.model->mj->body_mass[b] * 1.25;
    for (int stage = 0; stage < STAGES; ++stage) {
        if (stage == 1) OK(stet_worlds_set_parameter_where(r.worlds, "body_mass", mask, mass, nbody));
        if (stage == 2) OK(stet_worlds_set_parameter(r.worlds, "body_mass", NULL, 0));
        OK(sti_native_steps(n, NULL, STEPS));
        assert_int_equal(n->step.constants != NULL, own);
        assert_int_equal(n->near > 0, own && !is_crowded(&n->tables, room_of(n->team, r.device->shared)));
        assert_int_equal(sti_native_is_lone(n), own && lone);
        OK(sti_array_ensure(rig_array(&r, "cvel"))); /* reads have memory, too */
        hash[stage] = rig_array_hash(&r, "cvel") * 961 + rig_array_hash(&r, "qpos") * 31 + rig_array_hash(&r, "qvel");
    }
    sti_native_destroy(n);
    rig_free(&r);
}

static void bits_are_those_of_all_models(void **state)
{
    for (int k = 0; k < MODEL_RUNS; ++k) {
        uint64_t on_cpu[STAGES], here[STAGES];
        run_stages(model_runs[k].text, model_runs[k].nworld, model_runs[k].lone, "portable", on_cpu);
        run_stages(model_runs[k].text, model_runs[k].nworld, model_runs[k].lone, NULL, here);
        for (int s = 0; s < STAGES; ++s) assert_true(here[s] == on_cpu[s]);
        assert_true(on_cpu[0] != on_cpu[1]);
    }
}

/*
 * Places in shared memory: none overlap, all fit. Stages have there what no other stage uses; a model of which less
 * than a twentieth finds room has nothing there.
 */
static void places_fit(void **state)
{
    static const sti_team teams[] = {{32, 8}, {32, 10}, {16, 24}, {8, 64}, {4, 64}, {2, 128}, {1, 512}};
    static const int64_t shared[] = {0, 8 << 10, 48 << 10, 227 << 10};
    static const int stages[] = {0, PH_STAGE_SOLVE, PH_STAGE_SOLVE | PH_STAGE_END, PH_STAGE_POSES | PH_STAGE_ROWS};
    enum { STAGES_TRIED = sizeof stages / sizeof *stages };
    stet_model *model = rig_model(scene);
    sti_physics_tables t;
    int crowded = 0;
    OK(sti_physics_tables_make(model->mj, &t));
    int sums = sti_model_quantity_size(t.m, W_SUMS);
    for (size_t k = 0; k < sizeof teams / sizeof *teams; ++k)
        for (size_t s = 0; s < STAGES_TRIED * sizeof shared / sizeof *shared; ++s) {
            int of = stages[s % STAGES_TRIED];
            int64_t bytes = shared[s / STAGES_TRIED];
            sti_text_buffer text = {0};
            int near;
            sti_model_code_write(&t, teams[k], bytes, of, &text, &near);
            OK(text.result);
            assert_true(near >= 0 && (int64_t)near * 4 * teams[k].teams <= bytes);
            double room = room_of(teams[k], bytes);
            bool large = is_crowded(&t, room);
            if (large || of == stages[STAGES_TRIED - 1])
                assert_int_equal(near, 0);
            else if (!of)
                assert_true(near > 0);
            crowded += large && bytes > 0;
            assert_int_equal(strstr(text.data, "#define PH_STAGES ") != NULL, of != 0);
            assert_non_null(strstr(text.data, "#define STET_BLOCKS 1\n"));
            const char *at = strstr(text.data, "#define PH_NEAR ");
            assert_non_null(at);
            char *taken = calloc((size_t)near + 1, 1), *next = (char *)at + strlen("#define PH_NEAR ");
            assert_non_null(taken);
            for (int q = W_QPOS; q < M_HEADER; ++q, ++next) {
                int place = (int)strtol(next, &next, 10), size = place < 0 ? 0 : sti_model_quantity_size(t.m, q);
                assert_int_equal(*next, ',');
                bool solved = q == W_SUMS || q == W_H || q == W_H_TILES || (q >= W_GRAD && q <= W_MV);
                if (q == W_SUMS && (!of || of & PH_STAGE_SOLVE))
                    assert_int_equal(place >= 0, !large && room >= sums && teams[k].team >= PH_SUMS);
                if (of && place >= 0) assert_true(solved || (of & PH_STAGE_END && q >= W_QH && q <= W_QACC_STEP));
                assert_true(place + size <= near && (place < 0 || place % 4 == 0));
                for (int i = place; i < place + size; ++i) {
                    assert_int_equal(taken[i], 0);
                    taken[i] = 1;
                }
            }
            free(taken);
            sti_text_buffer_free(&text);
        }
    assert_in_range(crowded, 1, sizeof teams / sizeof *teams * STAGES_TRIED * (sizeof shared / sizeof *shared - 2));
    sti_physics_tables_free(&t);
    stet_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_all_models),
        cmocka_unit_test(places_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
