/*
 * NULL for each pointer that a public function takes, one at a time and all at once: it is refused as INVALID_ARGUMENT
 * with a sentence, or documented to be allowed. The calls are made from the headers (tools/nullgen.py), so that a new
 * function is here by itself.
 */
#include "sim/room.h"

#include "stet/stet.h"

#include <signal.h>
#include <unistd.h>

enum { MOST_POINTERS = 8, ROOM = 1 << 16 };

/* One of each thing, and definitions to make more of them. */
static struct fixture {
    stet_model *model;
    stet_sim *sim;
    stet_device *device;
    stet_worlds *worlds;
    stet_stage *stage;
    stet_array *array;
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_tape *tape;
    stet_snapshot *snapshot;
    stet_step *step;
    stet_tiles *tiles;
    stet_id_table *id_table;
    stet_group *group; /* of one rank */
    stet_array_def array_def;
    stet_device_def device_def;
    stet_kernel_def kernel_def;
    stet_mechanism_options options;
    stet_reset_def reset_def;
    stet_sim_def sim_def;
    stet_tape_def tape_def;
    stet_tile_request request;
    stet_tiles_def tiles_def;
    stet_trace_def trace_def;
    stet_ranges_def ranges_def;
    stet_worlds_def worlds_def;
    stet_export_def export_def;
    stet_import_def import_def;
    stet_gradcheck_def gradcheck_def;
    stet_group_def group_def;
    stet_alloc_fn *alloc;
    stet_free_fn *release;
    stet_log_fn *log;
    stet_foreign_fn *foreign;
    const char *xml;
    char path[1024];
    void *room; /* zeros, for what is written */
} f;

static const char xml[] = "<mujoco><worldbody><camera name='eye' pos='0 0 3'/><body name='ball'><freejoint/><geom "
                          "size='.1'/></body></worldbody></mujoco>";
static const char source[] =
    "#include <stet/lang.h>\nworld_kernel void k_null(real *x) { put(x, 0, x[0] * splat(2)); }\n";

static void *take(size_t size, size_t align, void *context)
{
    (void)context;
    return aligned_alloc(align, (size + align - 1) / align * align);
}
static void give(void *memory, void *context)
{
    (void)context;
    free(memory);
}
static void hear(stet_log_level level, const char *message, void *context)
{
    (void)level;
    (void)message;
    (void)context;
}
static stet_result work(void *context, void *stream)
{
    (void)context;
    (void)stream;
    return STET_OK;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *function, *pointers;
    bool result;
} functions[] = {
#define CALL_RESULT(function, pointers, ...) {#function, pointers, true},
#define CALL_OTHER(function, pointers, ...) {#function, pointers, false},
#define CALL_TEXT CALL_OTHER
#include "null_calls.inl"
#undef CALL_RESULT
#undef CALL_OTHER
#undef CALL_TEXT
};
enum { FUNCTIONS = (int)(sizeof functions / sizeof *functions), ALL = MOST_POINTERS };

/* What is no text crashes here. */
static stet_result read_text(const void *text)
{
    volatile char first = text ? *(const char *)text : 0;
    (void)first;
    return STET_OK;
}

/* Calls function i with NULL for its k-th pointer, or for all. */
static stet_result call(int i, int null)
{
    int at = 0;
#define N(k, type, valid) (null == (k) || null == ALL ? (type)NULL : (type)(valid))
#define CALL_RESULT(function, pointers, ...)                                                                           \
    if (at++ == i) return function(__VA_ARGS__);
#define CALL_OTHER(function, pointers, ...)                                                                            \
    if (at++ == i) return (void)function(__VA_ARGS__), STET_OK;
#define CALL_TEXT(function, pointers, ...)                                                                             \
    if (at++ == i) return read_text(function(__VA_ARGS__));
#include "null_calls.inl"
#undef CALL_RESULT
#undef CALL_OTHER
#undef CALL_TEXT
#undef N
    return STET_OK;
}

/* Where NULL means something, as the headers say: function and pointer. */
static const char *const allowed[] = {
    "stet_stage_add_shape local",
    "stet_stage_add_shape id",
    "stet_device_use_stream stream",
    "stet_transport_open_mpi communicator",
    "stet_group_link library",
    "stet_device_wait_stream stream",
    "stet_device_signal_stream stream",
    "stet_array_update_in_stream stream",
    "stet_id_table_label label",
    "stet_id_table_label_prim label",
    "stet_record_begin what",
    "stet_record_foreign what",
    "stet_sim_step_worlds mask",
    "stet_sim_add_kernel id",
    "stet_sim_set_reset mask",
    "stet_sim_set_reset def",
    "stet_sim_forward mask",
    "stet_sim_forward mask_array",
    "stet_sim_place_camera placed",
    "stet_sim_take_parameters names",
    "stet_sim_render frame",
    "stet_sim_render_worlds mask",
    "stet_sim_render_worlds frame",
    "stet_stage_add name",
    "stet_stage_get_arrays local",
    "stet_stage_get_arrays world",
    "stet_step_forward mask",
    "stet_step_forward mask_array",
    "stet_step_run_worlds mask",
    "stet_step_take_parameters names", /* of none */
    "stet_tiles_accept mask",
    "stet_tiles_accept stream",
    "stet_tiles_accept frame",
    "stet_tiles_render mask",
    "stet_tiles_render frame",
    "stet_worlds_get_jacobian point", /* which a body has not */
    "stet_worlds_randomize low",
    "stet_worlds_randomize high",
    "stet_worlds_set_parameter values",
    "stet_worlds_set_parameter_where mask",
    "stet_worlds_set_parameter_where values",
    "stet_set_allocator all", /* the default; but here memory is held */
};

static bool is_allowed(const char *function, const char *pointer)
{
    char row[128];
    if (strcmp(pointer, "context") == 0) return true; /* the caller's own */
    (void)snprintf(row, sizeof row, "%s %s", function, pointer);
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; ++k)
        if (strcmp(allowed[k], row) == 0) return true;
    return false;
}

/* The k-th of the names. */
static bool name_of_pointer(int i, int k, char name[64])
{
    const char *at = functions[i].pointers;
    for (; k > 0 && at; --k) at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
    if (!at) return false;
    (void)snprintf(name, 64, "%.*s", (int)strcspn(at, " "), at);
    return true;
}

/* What a call may have begun. */
static void end_all(void)
{
    (void)stet_record_end(f.device, STET_OK);
    (void)stet_tape_end(f.tape, STET_OK);
    (void)stet_trace_end(f.device);
    (void)stet_ranges_end(f.device);
    (void)stet_sim_round_end(f.sim, NULL, 0);
}

/* A call that crashes is named, and the others are made all the same. */
static sigjmp_buf before_crash;
static void crashed(int signal) { siglongjmp(before_crash, signal); }

static int check_call(int i, int null, const char *pointer)
{
    (void)stet_output_find("?", &(stet_output){0}); /* another sentence */
    if (sigsetjmp(before_crash, 1)) {
        print_message("%s, NULL for %s: crashes\n", functions[i].function, pointer);
        return 1;
    }
    stet_result result = call(i, null);
    char sentence[512];
    (void)snprintf(sentence, sizeof sentence, "%s", stet_get_last_error());
    end_all();
    if (!functions[i].result || is_allowed(functions[i].function, pointer)) return 0;
    bool about_it = strstr(sentence, "NULL") || strstr(sentence, "give both");
    if (result == STET_ERROR_INVALID_ARGUMENT && about_it) return 0;
    print_message("%s, NULL for %s: %s: %s\n", functions[i].function, pointer, stet_result_sentence(result),
                  result ? sentence : "");
    return 1;
}

static void every_null_is_refused_or_allowed(void **state)
{
    int wrong = 0, calls = 0;
    char name[64];
    (void)signal(SIGSEGV, crashed);
    (void)signal(SIGABRT, crashed);
    for (int i = 0; i < FUNCTIONS; ++i) {
        int n = 0;
        for (; name_of_pointer(i, n, name); ++n) {
            assert_true(n < MOST_POINTERS);
            memset(f.room, 0, ROOM);
            wrong += check_call(i, n, name);
        }
        if (n > 1) wrong += check_call(i, ALL, "all");
        calls += n + (n > 1);
    }
    (void)signal(SIGSEGV, SIG_DFL);
    (void)signal(SIGABRT, SIG_DFL);
    print_message("%d functions, %d calls\n", FUNCTIONS, calls);
    assert_int_equal(wrong, 0);
}

/* ---- the fixture ------------------------------------------------------------------------------------------------- */

static void fill_defs(void)
{
    f.array_def = stet_default_array_def();
    f.array_def.ndim = 1;
    f.array_def.worlds = true;
    f.array_def.shape[0] = 1;
    f.device_def = stet_default_device_def();
    f.device_def.threads = 1;
    f.kernel_def = stet_default_kernel_def();
    f.kernel_def.source = source;
    f.reset_def = stet_default_reset_def();
    f.sim_def = stet_default_sim_def();
    f.sim_def.physics = STET_PHYSICS_MUJOCO;
    f.sim_def.nworld = 1;
    f.sim_def.device.threads = 1;
    f.sim_def.outputs = BIT(RGB);
    f.sim_def.width = f.sim_def.height = 8;
    static const char *const cameras[] = {"eye", "free"};
    f.sim_def.cameras = cameras;
    f.sim_def.ncamera = 2;
    f.tape_def = stet_default_tape_def();
    f.tiles_def = stet_default_tiles_def();
    f.trace_def = stet_default_trace_def();
    f.ranges_def = stet_default_ranges_def();
    f.worlds_def = stet_default_worlds_def();
    f.worlds_def.nworld = 1;
    f.export_def = stet_default_export_def();
    f.import_def = stet_default_import_def();
    f.group_def = stet_default_group_def();
    f.group_def.transport = (stet_transport){.rank = 0, .nrank = 1};
    f.group_def.nworld = 1;
    f.gradcheck_def = stet_default_gradcheck_def();
    f.gradcheck_def.source = source;
    f.alloc = take;
    f.release = give;
    f.log = hear;
    f.foreign = work;
    f.xml = xml;
    (void)snprintf(f.path, sizeof f.path, "%s/scenes/cartpole.xml", STET_TEST_SOURCE_DIR);
}

static int open_fixture(void **state)
{
    fill_defs();
    f.room = calloc(1, ROOM);
    OK(stet_model_load_string(xml, &f.model));
    OK(stet_sim_create(f.model, &f.sim_def, &f.sim));
    f.device = stet_sim_get_device(f.sim);
    f.worlds = stet_sim_get_worlds(f.sim);
    f.stage = stet_sim_get_stage(f.sim);
    OK(stet_array_create(f.device, &f.array_def, &f.array));
    OK(stet_kernel_create(f.device, &f.kernel_def, &f.kernel));
    stet_arg arg = stet_arg_array(f.array);
    OK(stet_sim_add_kernel(f.sim, STET_PHASE_BEFORE_PHYSICS, f.kernel, 1, &arg, 1, NULL));
    OK(stet_kernel_get_adjoint(f.kernel, &f.adjoint));
    OK(stet_tape_create(f.device, &f.tape_def, &f.tape));
    OK(stet_snapshot_create(f.worlds, &f.snapshot));
    OK(stet_step_create(f.worlds, STET_PHYSICS_MUJOCO, &f.step));
    f.request = (stet_tile_request){.output = STET_OUTPUT_RGB, .dtype = STET_DTYPE_U8};
    f.tiles_def.cameras = stet_sim_get_camera(f.sim, 0);
    f.tiles_def.ncamera = 1;
    f.tiles_def.requests = &f.request;
    f.tiles_def.nrequest = 1;
    OK(stet_tiles_create(f.stage, &f.tiles_def, &f.tiles));
    OK(stet_id_table_create(f.stage, STET_OUTPUT_SEG_GEOM, &f.id_table));
    OK(stet_group_create(&f.group_def, &f.group));
    return 0;
}

static int close_fixture(void **state)
{
    stet_group_destroy(f.group);
    stet_id_table_destroy(f.id_table);
    stet_tiles_destroy(f.tiles);
    stet_step_destroy(f.step);
    stet_snapshot_destroy(f.snapshot);
    stet_tape_destroy(f.tape);
    stet_kernel_destroy(f.kernel);
    stet_array_destroy(f.array);
    stet_sim_destroy(f.sim);
    stet_model_destroy(f.model);
    free(f.room);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_null_is_refused_or_allowed, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
