/*
 * A model that MuJoCo warns about in every reset: the warning is logged; stderr stays empty, and no log file
 * appears.
 */
#include "worlds/rig.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* A body that is to sleep from the beginning, and cannot: it touches one that is awake. */
#define RESTLESS                                                                                                       \
    "<mujoco><option><flag sleep='enable'/></option><worldbody><geom type='plane' size='5 5 .1'/>"                     \
    "<body pos='0 0 .1' sleep='init'><freejoint/><geom size='.1'/></body>"                                             \
    "<body pos='0 0 .25'><freejoint/><geom size='.1'/></body></worldbody><keyframe><key/></keyframe></mujoco>"

enum { NTHREAD = 4, N = 6, ROUNDS = 5 };

static atomic_int nwarning, nother;
static void count_log(stet_log_level level, const char *message, void *context)
{
    (void)context;
    bool good = level == STET_LOG_WARNING && strstr(message, "MuJoCo: ") && !strchr(message, '\n');
    if (!good) atomic_fetch_add(&nother, level != STET_LOG_INFO);
    if (good && strstr(message, "sleep='init'")) atomic_fetch_add(&nwarning, 1);
}

static void use_all_calls(bool exact)
{
    rig r = rig_make(RESTLESS, N, NULL, 2, exact);
    rig_step(&r, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
    stet_reset_def reset = stet_default_reset_def();
    for (int k = 0; k < ROUNDS; ++k) {
        reset.keyframe = k % 2 - 1;
        reset.qpos_noise = 0.001 * k;
        OK(stet_worlds_reset(r.worlds, &reset));
        OK(stet_step_run(r.step, 2));
        (void)rig_get(&r, "xpos", k % N, 3);
        rig_set(&r, "qpos", k % N, 0, NAN);
        OK(stet_step_run(r.step, 2));
        (void)rig_get(&r, "xpos", k % N, 3);
    }
    rig_free(&r);
}

static void *use_in_thread(void *context)
{
    use_all_calls(context == NULL);
    return NULL;
}

static void warnings_go_to_the_log_alone(void **state)
{
    char folder[600], text[512] = "", here[600];
    (void)snprintf(folder, sizeof folder, "%s/test/warnings_XXXXXX", STET_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    int kept = dup(STDERR_FILENO), file = open("stderr", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && file >= 0);
    (void)dup2(file, STDERR_FILENO);
    stet_set_log(count_log, NULL);
    pthread_t threads[NTHREAD];
    int started = 0;
    while (started < NTHREAD &&
           pthread_create(&threads[started], NULL, use_in_thread, started % 2 ? folder : NULL) == 0)
        ++started;
    for (int t = 0; t < started; ++t) (void)pthread_join(threads[t], NULL);
    stet_set_log(NULL, NULL);
    (void)dup2(kept, STDERR_FILENO);
    ssize_t said = pread(file, text, sizeof text - 1, 0);
    bool left = access("MUJOCO_LOG.TXT", F_OK) == 0;
    (void)close(kept);
    (void)close(file);
    (void)unlink("stderr");
    (void)unlink("MUJOCO_LOG.TXT");
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(started, NTHREAD);
    if (said != 0) fail_msg("stderr has: %s", text);
    assert_false(left);
    assert_true(atomic_load(&nwarning) >= NTHREAD / 2 * N * ROUNDS);
    assert_int_equal(atomic_load(&nother), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(warnings_go_to_the_log_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
