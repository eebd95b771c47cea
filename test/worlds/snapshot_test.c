/* Snapshots and files: the same bits come back, and what does not fit is refused without a change. */
#include "worlds/rig.h"

#include "base/folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const scenes[] = {"hand.xml",     "humanoid.xml", "quadruped.xml", "arm_table.xml",
                                     "cartpole.xml", "robot.urdf",   RIG_PENDULUM};
enum { NSCENE = sizeof scenes / sizeof *scenes };

/* Muscles have activations, and a controlled weld can be switched off: state beyond positions and velocities. */
#define ACTIVATED                                                                                                      \
    "<mujoco><worldbody><body><joint name='a' range='-1 1'/><geom size='.1'/>"                                         \
    "<body pos='1 0 0'><joint name='b'/><geom size='.1'/></body></body></worldbody>"                                   \
    "<equality><joint joint1='a' joint2='b'/></equality>"                                                              \
    "<actuator><general joint='a' dyntype='integrator' gainprm='1'/><intvelocity joint='b' kp='1' actrange='-1 "       \
    "1'/></actuator></mujoco>"

static void story(rig *r, int from)
{
    for (int step = from; step < from + 8; ++step) {
        rig_write_controls(r, step);
        OK(stet_step_run(r->step, 3));
    }
}

static void check_snapshot(const char *scene)
{
    rig r = rig_make(scene, 5, NULL, 2, true);
    stet_snapshot *s;
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.01;
    rig_step(&r, STET_PHYSICS_MUJOCO);
    story(&r, 0);
    OK(stet_worlds_reset(r.worlds, &reset));
    if (r.model->mj->neq) rig_set(&r, "eq_active", 3, 0, 0);
    story(&r, 8);
    OK(stet_snapshot_create(r.worlds, &s));
    uint64_t then = rig_all_hash(&r);
    story(&r, 16);
    uint64_t soon = rig_all_hash(&r);
    OK(stet_worlds_reset(r.worlds, &reset));
    story(&r, 24);
    uint64_t later = rig_all_hash(&r);
    assert_true(soon != then && later != soon);
    OK(stet_worlds_restore(r.worlds, s));
    assert_true(rig_all_hash(&r) == then);
    /* The same future too, noise of resets included. */
    story(&r, 16);
    assert_true(rig_all_hash(&r) == soon);
    OK(stet_worlds_reset(r.worlds, &reset));
    story(&r, 24);
    assert_true(rig_all_hash(&r) == later);
    stet_snapshot_destroy(s);
    rig_free(&r);
}

static void a_snapshot_brings_back_past_and_future(void **state)
{
    for (int k = 0; k < NSCENE; ++k) check_snapshot(scenes[k]);
    check_snapshot(ACTIVATED);
}

static void a_snapshot_holds_what_the_caller_wrote(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, exact);
        stet_snapshot *s;
        rig_step(&r, STET_PHYSICS_EXTERNAL);
        OK(stet_step_run(r.step, 7));
        rig_set(&r, "xpos", 1, 4, 8);
        rig_set(&r, "qpos", 0, 3, 2);
        rig_set(&r, "ctrl", 2, 0, 0.125f);
        OK(stet_snapshot_create(r.worlds, &s));
        uint64_t then = rig_all_hash(&r);
        rig_set(&r, "xpos", 1, 4, 9);
        rig_set(&r, "qpos", 0, 3, 3);
        OK(stet_step_run(r.step, 2));
        assert_true(rig_all_hash(&r) != then);
        OK(stet_worlds_restore(r.worlds, s));
        assert_true(rig_all_hash(&r) == then);
        assert_true(rig_get(&r, "xpos", 1, 4) == 8 && rig_get(&r, "ctrl", 2, 0) == 0.125);
        stet_snapshot_destroy(s);
        rig_free(&r);
    }
}

/* Also when the one that it was taken from is gone. */
static void a_model_loaded_again_takes_its_snapshots(void **state)
{
    rig a = rig_make(RIG_PENDULUM, 3, NULL, 1, true), b = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    stet_snapshot *s;
    rig_step(&a, STET_PHYSICS_MUJOCO);
    story(&a, 0);
    OK(stet_snapshot_create(a.worlds, &s));
    uint64_t there = rig_all_hash(&a);
    rig_free(&a);
    assert_true(rig_all_hash(&b) != there);
    OK(stet_worlds_restore(b.worlds, s));
    assert_true(rig_all_hash(&b) == there);
    stet_snapshot_destroy(s);
    rig_free(&b);
}

/* Every byte counts: one that differs, one too many, one too few. */
static void bytes_are_a_snapshot_or_refused(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig a = rig_make(RIG_PENDULUM, 3, NULL, 1, exact), b = rig_make(RIG_PENDULUM, 3, NULL, 1, exact);
        rig other = rig_make(ACTIVATED, 3, NULL, 1, exact);
        stet_snapshot *s, *again;
        rig_step(&a, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
        story(&a, 0);
        OK(stet_snapshot_create(a.worlds, &s));
        uint64_t there = rig_all_hash(&a);
        int64_t size = stet_snapshot_get_size(s);
        char *bytes = malloc((size_t)size + 1), *copy = malloc((size_t)size);
        assert_true(bytes && copy);
        OK(stet_snapshot_save_bytes(s, bytes, size));
        stet_snapshot_destroy(s);
        OK(stet_snapshot_load_bytes(bytes, size, &again));
        OK(stet_snapshot_save_bytes(again, copy, size));
        assert_memory_equal(bytes, copy, (size_t)size);
        OK(stet_worlds_restore(b.worlds, again));
        assert_true(rig_all_hash(&b) == there);
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "another model", stet_worlds_restore(other.worlds, again));
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "room", stet_snapshot_save_bytes(again, copy, size - 1));
        stet_snapshot_destroy(again);
        for (int64_t i = 0; i < size; i += i < 100 ? 1 : 7) {
            bytes[i] ^= 0x40;
            REFUSED(STET_ERROR_PARSE, "damaged", stet_snapshot_load_bytes(bytes, size, &again));
            assert_null(again);
            bytes[i] ^= 0x40;
        }
        bytes[size] = 0;
        REFUSED(STET_ERROR_PARSE, "damaged", stet_snapshot_load_bytes(bytes, size + 1, &again));
        for (int64_t n = 0; n < size; n += 13)
            REFUSED(STET_ERROR_PARSE, "damaged", stet_snapshot_load_bytes(bytes, n, &again));
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_snapshot_load_bytes(NULL, size, &again));
        free(bytes);
        free(copy);
        rig_free(&a);
        rig_free(&b);
        rig_free(&other);
    }
}

static void a_snapshot_of_others_is_refused(void **state)
{
    rig a = rig_make(RIG_PENDULUM, 3, NULL, 1, true), b = rig_make(ACTIVATED, 3, NULL, 1, true);
    stet_snapshot *s;
    stet_worlds *fewer, *inexact;
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = 2;
    OK(stet_worlds_create(a.device, a.model, &def, &fewer));
    def.nworld = 3;
    def.exact = false;
    OK(stet_worlds_create(a.device, a.model, &def, &inexact));
    OK(stet_snapshot_create(a.worlds, &s));
    uint64_t before = rig_all_hash(&b);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "another model", stet_worlds_restore(b.worlds, s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "3 worlds, these are 2", stet_worlds_restore(fewer, s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "exact", stet_worlds_restore(inexact, s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_restore(NULL, s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_restore(a.worlds, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_snapshot_create(NULL, &s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_snapshot_create(a.worlds, NULL));
    assert_true(rig_all_hash(&b) == before);
    stet_snapshot_destroy(s);
    stet_snapshot_destroy(NULL);
    stet_worlds_destroy(fewer);
    stet_worlds_destroy(inexact);
    rig_free(&a);
    rig_free(&b);
}

static void a_model_whose_state_is_not_complete_is_refused(void **state)
{
    rig r = rig_make("<mujoco><option><flag sleep='enable'/></option><worldbody><body pos='0 0 1'><freejoint/><geom "
                     "size='.1'/></body>"
                     "</worldbody></mujoco>",
                     2, NULL, 1, true);
    stet_snapshot *s;
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_step_run(r.step, 5));
    assert_true(rig_get(&r, "xpos", 1, 5) < 1);
    REFUSED(STET_ERROR_UNSUPPORTED, "flag sleep", stet_snapshot_create(r.worlds, &s));
    rig_free(&r);
    r = rig_make(
        "<mujoco><option><flag sleep='enable'/></option><worldbody><body pos='0 0 1' sleep='never'><freejoint/>"
        "<geom size='.1'/></body></worldbody></mujoco>",
        2, NULL, 1, true);
    OK(stet_snapshot_create(r.worlds, &s));
    stet_snapshot_destroy(s);
    rig_free(&r);
}

static void a_run_is_resumed_to_the_bit(void **state)
{
    for (int k = 0; k < NSCENE; ++k) {
        rig a = rig_make(scenes[k], 5, NULL, 2, true), b = rig_make(scenes[k], 5, "w1", 1, true);
        stet_reset_def reset = stet_default_reset_def();
        reset.qpos_noise = reset.qvel_noise = 0.01;
        a.worlds->def.seed = 99; /* the file's seed goes on */
        rig_step(&a, STET_PHYSICS_MUJOCO);
        rig_step(&b, STET_PHYSICS_MUJOCO);
        story(&a, 0);
        a.worlds->state.faults[4] = 5;
        OK(stet_worlds_save(a.worlds, in_folder("run.stet")));
        uint64_t now = rig_all_hash(&a);
        OK(stet_worlds_resume(b.worlds, in_folder("run.stet")));
        assert_true(rig_all_hash(&b) == now);
        assert_int_equal(stet_worlds_get_faults(b.worlds)[4], 5);
        story(&a, 16);
        story(&b, 16);
        assert_true(rig_all_hash(&b) == rig_all_hash(&a));
        OK(stet_worlds_reset(a.worlds, &reset));
        OK(stet_worlds_reset(b.worlds, &reset));
        story(&a, 8);
        story(&b, 8);
        assert_true(rig_all_hash(&b) == rig_all_hash(&a));
        rig_free(&a);
        rig_free(&b);
    }
}

/* The folder has this file and no other: nothing half-written stays. */
static void check_only_file(const char *name)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') assert_string_equal(e->d_name, name);
    (void)closedir(d);
}

static size_t read_bytes(const char *path, char *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, most, f);
    (void)fclose(f);
    return n;
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void a_damaged_file_is_refused_and_changes_nothing(void **state)
{
    enum { MOST = 65536 };
    static char bytes[MOST + 1];
    uint64_t seed = dice_seed("a_damaged_file_is_refused_and_changes_nothing");
    rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_worlds_save(r.worlds, in_folder("run.stet")));
    size_t n = read_bytes(in_folder("run.stet"), bytes, MOST);
    assert_true(n > 1000 && n < MOST);
    story(&r, 0);
    uint64_t before = rig_all_hash(&r);
    for (size_t cut = 0; cut < n; cut += cut < 100 ? 1 : 37) {
        write_bytes(in_folder("run.stet"), bytes, cut);
        REFUSED(STET_ERROR_PARSE, "run.stet", stet_worlds_resume(r.worlds, in_folder("run.stet")));
    }
    write_bytes(in_folder("run.stet"), bytes, n + 1);
    REFUSED(STET_ERROR_PARSE, "cut short or too long", stet_worlds_resume(r.worlds, in_folder("run.stet")));
    for (int k = 0; k < 300; ++k) {
        size_t at = k < 72 ? (size_t)k : dice_below(&seed, n);
        char flip = (char)(1 + dice_below(&seed, 255));
        bytes[at] = (char)(bytes[at] ^ flip);
        write_bytes(in_folder("run.stet"), bytes, n);
        assert_int_not_equal(stet_worlds_resume(r.worlds, in_folder("run.stet")), STET_OK);
        assert_non_null(strstr(stet_get_last_error(), "run.stet"));
        bytes[at] = (char)(bytes[at] ^ flip);
    }
    assert_true(rig_all_hash(&r) == before);
    write_bytes(in_folder("run.stet"), bytes, n);
    OK(stet_worlds_resume(r.worlds, in_folder("run.stet")));
    assert_true(rig_all_hash(&r) != before);
    check_only_file("run.stet");
    rig_free(&r);
}

/* Only plain files are replaced, through links, which stay; nobody waits for a named pipe. */
static void only_plain_files_are_replaced(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 2, NULL, 1, true);
    char kept[1024], link[1024], odd[1024], text[1024];
    struct stat s;
    (void)snprintf(kept, sizeof kept, "%s", in_folder("kept.stet"));
    (void)snprintf(link, sizeof link, "%s", in_folder("link.stet"));
    (void)snprintf(odd, sizeof odd, "%s", in_folder("odd.stet"));
    assert_int_equal(symlink("kept.stet", link), 0);
    for (int again = 0; again < 2; ++again) { /* to what is not there yet, and to what is */
        OK(stet_worlds_save(r.worlds, link));
        assert_int_equal(readlink(link, text, sizeof text), 9);
        assert_true(lstat(kept, &s) == 0 && S_ISREG(s.st_mode));
        OK(stet_worlds_resume(r.worlds, link));
    }
    assert_int_equal(chmod(kept, 0400), 0);
    REFUSED(STET_ERROR_IO, "read-only", stet_worlds_save(r.worlds, link));
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkfifo(odd, 0600), 0);
    REFUSED(STET_ERROR_IO, "named pipe", stet_worlds_save(r.worlds, odd));
    REFUSED(STET_ERROR_IO, "named pipe", stet_worlds_resume(r.worlds, odd));
    assert_true(lstat(odd, &s) == 0 && S_ISFIFO(s.st_mode));
    assert_int_equal(unlink(odd), 0);
    assert_int_equal(symlink("/dev/null", odd), 0);
    REFUSED(STET_ERROR_IO, "device", stet_worlds_save(r.worlds, odd));
    REFUSED(STET_ERROR_IO, "device", stet_worlds_resume(r.worlds, odd));
    assert_int_equal(unlink(odd), 0);
    assert_true(stat("/dev/null", &s) == 0 && S_ISCHR(s.st_mode));
    rig_free(&r);
}

static void a_file_of_others_is_refused(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    OK(stet_worlds_save(r.worlds, in_folder("run.stet")));
    rig other = rig_make("cartpole.xml", 3, NULL, 1, true), more = rig_make(RIG_PENDULUM, 4, NULL, 1, true);
    rig inexact = rig_make(RIG_PENDULUM, 3, NULL, 1, false);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "another model", stet_worlds_resume(other.worlds, in_folder("run.stet")));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "it has 3 worlds, this run has 4",
            stet_worlds_resume(more.worlds, in_folder("run.stet")));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "exact", stet_worlds_resume(inexact.worlds, in_folder("run.stet")));
    REFUSED(STET_ERROR_NOT_FOUND, "missing.stet", stet_worlds_resume(r.worlds, in_folder("missing.stet")));
    REFUSED(STET_ERROR_IO, folder, stet_worlds_resume(r.worlds, folder));
    REFUSED(STET_ERROR_IO, "no/such", stet_worlds_save(r.worlds, in_folder("no/such/run.stet")));
    REFUSED(STET_ERROR_IO, folder, stet_worlds_save(r.worlds, folder));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "path", stet_worlds_save(r.worlds, ""));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "path", stet_worlds_save(r.worlds, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "path", stet_worlds_resume(r.worlds, NULL));
    check_only_file("run.stet");
    rig one = rig_make(RIG_PENDULUM, 1, NULL, 1, true);
    OK(stet_worlds_save(one.worlds, in_folder("one.stet")));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "it has 1 world, this run has 4; ask for 1",
            stet_worlds_resume(more.worlds, in_folder("one.stet")));
    rig_free(&one);
    rig_free(&r);
    rig_free(&other);
    rig_free(&more);
    rig_free(&inexact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_brings_back_past_and_future),
        cmocka_unit_test(a_snapshot_holds_what_the_caller_wrote),
        cmocka_unit_test(a_model_loaded_again_takes_its_snapshots),
        cmocka_unit_test(bytes_are_a_snapshot_or_refused),
        cmocka_unit_test(a_snapshot_of_others_is_refused),
        cmocka_unit_test(a_model_whose_state_is_not_complete_is_refused),
        cmocka_unit_test(a_run_is_resumed_to_the_bit),
        cmocka_unit_test(a_damaged_file_is_refused_and_changes_nothing),
        cmocka_unit_test(only_plain_files_are_replaced),
        cmocka_unit_test(a_file_of_others_is_refused),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
