/* The random program's worlds: steps, resets, writes and reads of the state, snapshots and files. */
#include "sim/program/program.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- moving ------------------------------------------------------------------------------------------------------ */

void op_step(program *p)
{
    int n = once_in(p, 10) ? 0 : 1 + roll(p, 3);
    say(p, "step %d", n);
    BOTH(p, stet_sim_step(p->sim[i], n));
}

void op_control(program *p)
{
    int64_t frame = roll(p, 200);
    if (once_in(p, 3)) {
        say(p, "control zero");
        BOTH(p, stet_sim_control_zero(p->sim[i]));
    } else {
        say(p, "control noise of frame %lld", (long long)frame);
        BOTH(p, stet_sim_control_noise(p->sim[i], 0.8, frame));
    }
}

static int keyframe(program *p) { return roll(p, stet_model_get_info(p->model[p->scene]).nkey + 2) - 2; }

/* By an array on the device, of numbers of worlds or of bytes. */
static stet_result reset_by_array(program *p, int who, stet_reset_def def, bool bytes)
{
    stet_array_def made = stet_default_array_def();
    stet_array *mask;
    int32_t ints[8];
    made.name = "mask";
    made.dtype = bytes ? STET_DTYPE_U8 : STET_DTYPE_INT;
    made.worlds = !bytes;
    made.ndim = 1;
    made.shape[0] = p->nworld;
    STI_TRY(stet_array_create(device_of(p, who), &made, &mask));
    for (int64_t w = 0; w < p->nworld; ++w) ints[w] = def.mask[w];
    stet_result result =
        stet_array_write(mask, bytes ? (const void *)def.mask : ints, (size_t)p->nworld * (bytes ? 1 : sizeof *ints));
    def.mask = NULL;
    def.mask_array = mask;
    if (result == STET_OK) result = stet_sim_reset(p->sim[who], &def);
    stet_array_destroy(mask);
    return result;
}

void op_reset(program *p)
{
    stet_reset_def def = stet_default_reset_def();
    int64_t list[8];
    uint8_t mask[8];
    int how = roll(p, 4);
    bool direct = once_in(p, 4), array = once_in(p, 3), bytes = once_in(p, 2);
    for (int64_t w = 0; w < p->nworld; ++w) {
        list[w] = roll(p, (int)p->nworld);
        mask[w] = once_in(p, 3);
    }
    if (how != 3) def.mask = mask;
    if (how == 1 || how == 2) {
        int nlist = how == 1 ? roll(p, (int)p->nworld + 1) : 1;
        memset(mask, 0, sizeof mask);
        for (int i = 0; i < nlist; ++i) mask[list[i]] = 1;
    }
    def.keyframe = keyframe(p);
    def.qpos_noise = once_in(p, 2) ? 0.1 : 0;
    def.qvel_noise = once_in(p, 3) ? 0.2 : 0;
    array = array && def.mask;
    say(p, "reset%s by %s%s, keyframe %d, noise %g %g", direct ? " worlds" : "",
        !array  ? ""
        : bytes ? "bytes on the device, "
                : "an array, ",
        how == 0   ? "mask"
        : how == 1 ? "some worlds"
        : how == 2 ? "one world"
                   : "nothing: all",
        def.keyframe, def.qpos_noise, def.qvel_noise);
    if (array)
        BOTH(p, reset_by_array(p, i, def, bytes));
    else if (direct)
        BOTH(p, stet_worlds_reset(worlds_of(p, i), &def));
    else
        BOTH(p, stet_sim_reset(p->sim[i], &def));
}

/* A parameter of the physics: the model's own, other numbers for all worlds or some, or bounds of draws at resets. */
void op_parameter(program *p)
{
    static const char *const names[] = {"body_mass", "timestep", "dof_damping", "friction", "body_pos"};
    const char *name = names[roll(p, p->external ? 4 : 5)];
    int64_t n = p->nworld * stet_worlds_get_parameter_items(worlds_of(p, TWIN), name);
    uint8_t mask[8];
    int how = roll(p, 4);
    double *x = room(p, 2 * (size_t)n * sizeof *x), *y = x + n;
    for (int64_t w = 0; w < p->nworld; ++w) mask[w] = once_in(p, 2);
    must(p, TWIN, stet_worlds_get_parameter(worlds_of(p, TWIN), name, x, n), "stet_worlds_get_parameter");
    for (int64_t i = 0; i < n; ++i) {
        double a = x[i], b = a * (1 + 0.2 * (double)wave(p));
        x[i] = fmin(a, b);
        y[i] = fmax(a, b);
    }
    say(p, "parameter %s %s", name,
        how == 0   ? "taken back"
        : how == 1 ? "set"
        : how == 2 ? "set for some worlds"
                   : "drawn");
    if (how == 0)
        BOTH(p, stet_worlds_set_parameter(worlds_of(p, i), name, NULL, 0));
    else if (how == 3)
        BOTH(p, stet_worlds_randomize(worlds_of(p, i), name, x, y, n / p->nworld));
    else
        BOTH(p, stet_worlds_set_parameter_where(worlds_of(p, i), name, how == 2 ? mask : NULL, x, n));
    free(x);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

const char *pick_field(program *p, bool write, stet_array *array[2])
{
    const char *const *names = stet_worlds_get_fields();
    int n = 0;
    while (names[n]) n++;
    const char *name = names[roll(p, n)];
    if (once_in(p, 3)) name = once_in(p, 2) ? "qpos" : once_in(p, 2) ? "xpos" : "xquat";
    if (write && p->keeps_poses && name[0] == 'x' && strcmp(name, "xfrc_applied") != 0) name = "qpos";
    BOTH(p, stet_worlds_get_array(worlds_of(p, i), name, &array[i]));
    return name;
}

static double get_number(const program *p, const void *data, size_t i)
{
    return p->f64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

void program_put_number(const program *p, void *data, size_t i, float x)
{
    if (p->f64)
        ((double *)data)[i] = (double)x;
    else
        ((float *)data)[i] = x;
}

/* Through memory, as another library would: up to date first, announced after. */
static void write_behind(program *p, int who, stet_array *a, int64_t first, int64_t n, const void *data)
{
    must(p, who, stet_array_update(a), "stet_array_update");
    for (int64_t w = 0; w < n; ++w)
        for (int64_t i = 0; i < a->nitem; ++i)
            reals_set(a, first + w, i, get_number(p, data, (size_t)(w * a->nitem + i)));
    stet_array_mark_written(a);
}

void op_write(program *p)
{
    stet_array *a[2];
    const char *name = pick_field(p, true, a);
    int64_t nitem = a[SUBJECT]->nitem, first = 0, n = p->nworld;
    int how = roll(p, 5);
    if (how < 3) {
        first = roll(p, (int)p->nworld);
        n = roll(p, (int)(p->nworld - first) + 1);
    }
    size_t count = (size_t)(n * nitem), size = count * (p->f64 ? sizeof(double) : sizeof(float));
    say(p, "write %s of worlds %lld + %lld%s", name, (long long)first, (long long)n,
        how == 0   ? ", behind"
        : how == 3 ? ", all"
                   : "");
    void *data = room(p, size);
    must(p, TWIN, stet_array_read_worlds(a[TWIN], first, n, data, size), "stet_array_read_worlds");
    for (size_t i = 0; i < count; ++i) program_put_number(p, data, i, near(p, (float)get_number(p, data, i)));
    for (int i = 0; i < 2; ++i) {
        if (how == 0)
            write_behind(p, i, a[i], first, n, data);
        else if (how < 3)
            must(p, i, stet_array_write_worlds(a[i], first, n, data, size), "stet_array_write_worlds");
        else
            must(p, i, stet_array_write(a[i], data, size), "stet_array_write");
    }
    free(data);
}

static void compare_arrays(program *p, stet_array *const a[2], bool mirror, const char *name)
{
    size_t size = stet_array_get_bytes(a[SUBJECT]);
    uint8_t *data = room(p, 2 * size);
    for (int i = 0; i < 2; ++i) fetch(p, i, a[i], mirror, data + (size_t)i * size);
    same_bytes(p, data, data + size, size, name);
    free(data);
}

void op_read(program *p)
{
    stet_array *a[2];
    uint64_t hash[2];
    const char *name = pick_field(p, false, a);
    int how = roll(p, 4);
    say(p, "read %s%s", name, how == 0 ? ", its hash" : how == 1 ? ", the mirror" : "");
    if (how == 0) {
        BOTH(p, stet_array_hash(a[i], &hash[i]));
        CHECK(p, hash[SUBJECT] == hash[TWIN], "hashes of %s differ", name);
    } else {
        compare_arrays(p, a, how == 1, name);
    }
}

void op_state(program *p)
{
    uint64_t hash[2];
    say(p, "state and faults");
    BOTH(p, stet_worlds_hash(worlds_of(p, i), &hash[i]));
    CHECK(p, hash[SUBJECT] == hash[TWIN], "hashes of the state differ");
    same_bytes(p, stet_worlds_get_faults(worlds_of(p, SUBJECT)), stet_worlds_get_faults(worlds_of(p, TWIN)),
               (size_t)p->nworld * sizeof(uint32_t), "faults");
}

void compare_worlds(program *p)
{
    op_state(p);
    for (const char *const *name = stet_worlds_get_fields(); *name; ++name) {
        stet_array *a[2];
        BOTH(p, stet_worlds_get_array(worlds_of(p, i), *name, &a[i]));
        compare_arrays(p, a, false, *name);
    }
}

/* ---- snapshots and files ----------------------------------------------------------------------------------------- */

void drop_snapshots(program *p)
{
    for (int k = 0; k < MOST_SNAPSHOTS; ++k)
        for (int i = 0; i < 2; ++i) {
            stet_snapshot_destroy(p->snapshot[k][i]);
            p->snapshot[k][i] = NULL;
        }
}

void op_snapshot(program *p)
{
    int k = roll(p, MOST_SNAPSHOTS);
    say(p, "snapshot %d", k);
    for (int i = 0; i < 2; ++i) {
        stet_snapshot_destroy(p->snapshot[k][i]);
        must(p, i, stet_snapshot_create(worlds_of(p, i), &p->snapshot[k][i]), "stet_snapshot_create");
    }
}

/* Sometimes each gets the other's, which is of the same state. */
void op_restore(program *p)
{
    int k = roll(p, MOST_SNAPSHOTS), crossed = once_in(p, 4);
    bool direct = once_in(p, 4);
    if (!p->snapshot[k][SUBJECT]) return;
    say(p, "restore%s snapshot %d%s", direct ? " worlds" : "", k, crossed ? ", crossed" : "");
    if (direct)
        BOTH(p, stet_worlds_restore(worlds_of(p, i), p->snapshot[k][i ^ crossed]));
    else
        BOTH(p, stet_sim_restore(p->sim[i], p->snapshot[k][i ^ crossed]));
}

static void state_path(int who, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/program_%d_%d.state", STET_TEST_BINARY_DIR, (int)getpid(), who);
}

static uint8_t *read_file(program *p, int who, size_t *size)
{
    char path[1024];
    state_path(who, path, sizeof path);
    FILE *file = fopen(path, "rb");
    CHECK(p, file, "%s cannot be opened", path);
    (void)fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = room(p, *size);
    CHECK(p, fread(data, 1, *size, file) == *size, "%s cannot be read", path);
    (void)fclose(file);
    return data;
}

void op_save(program *p)
{
    char path[2][1024];
    size_t size[2];
    uint8_t *data[2];
    say(p, "save");
    for (int i = 0; i < 2; ++i) state_path(i, path[i], sizeof path[i]);
    BOTH(p, stet_worlds_save(worlds_of(p, i), path[i]));
    for (int i = 0; i < 2; ++i) data[i] = read_file(p, i, &size[i]);
    CHECK(p, size[SUBJECT] == size[TWIN], "files of the state have %zu and %zu bytes", size[0], size[1]);
    same_bytes(p, data[SUBJECT], data[TWIN], size[TWIN], "files of the state");
    free(data[SUBJECT]);
    free(data[TWIN]);
    p->saved = true;
}

/* From one file, or each from the other's. */
void op_resume(program *p)
{
    char path[2][1024];
    int crossed = once_in(p, 2);
    if (!p->saved) return;
    say(p, "resume%s", crossed ? ", crossed" : "");
    for (int i = 0; i < 2; ++i) state_path(i ^ crossed, path[i], sizeof path[i]);
    if (once_in(p, 4))
        BOTH(p, stet_worlds_resume(worlds_of(p, i), path[i]));
    else
        BOTH(p, stet_sim_resume(p->sim[i], path[i]));
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* A call that cannot be: the same result from both, with a sentence, and nothing changes. */
void op_bad(program *p)
{
    stet_reset_def reset = stet_default_reset_def();
    float x[12] = {0};
    stet_array *a;
    int kind = roll(p, 7);
    reset.keyframe = -3;
    say(p, "bad call %d", kind);
    stet_result result[2];
    for (int i = 0; i < 2; ++i) {
        switch (kind) {
        case 0: result[i] = stet_sim_reset(p->sim[i], &reset); break;
        case 1: result[i] = stet_stage_remove(stage_of(p, i), 0); break;
        case 2: result[i] = stet_stage_write_world(stage_of(p, i), 0, 0, 1, x); break;
        case 3: result[i] = stet_stage_write_local(stage_of(p, i), 0, 0, 1, x); break;
        case 4: result[i] = stet_sim_step(p->sim[i], -1); break;
        case 5: result[i] = stet_sim_get_array(p->sim[i], 1 << 30, 0, STET_OUTPUT_RGB, &a); break;
        default: result[i] = stet_stage_read_world(stage_of(p, i), 0, p->nworld, 1, x); break;
        }
        CHECK(p, result[i] != STET_OK && stet_get_last_error()[0], "a bad call was taken");
    }
    CHECK(p, result[SUBJECT] == result[TWIN], "bad call: %s and %s", stet_result_sentence(result[SUBJECT]),
          stet_result_sentence(result[TWIN]));
}
