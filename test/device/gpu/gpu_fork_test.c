/*
 * A process that has opened a GPU is forked: in the child each call says what to do and none calls the driver; the
 * parent goes on.
 */
#include "device/gpu/gpu_rig.h"

#include <sys/wait.h>
#include <unistd.h>

static int64_t driver_calls(void) { return o.control->calls(NULL); }

/* All that a child may try. Returns what went wrong; NULL: nothing. */
static const char *try_all(stet_device *device, stet_array *array)
{
    float x[8];
    stet_array *made;
    stet_device *second;
    stet_device_def def = gpu_def();
    int64_t before = driver_calls();
    if (stet_array_write(array, x, sizeof x) == STET_OK && stet_device_synchronize(device) == STET_OK) return "written";
    if (!strstr(stet_get_last_error(), "spawn")) return stet_get_last_error();
    if (stet_array_read(array, x, sizeof x) != STET_ERROR_STATE || !strstr(stet_get_last_error(), "spawn"))
        return "read";
    if (STI_ARRAY(device, "more", STET_DTYPE_REAL, false, &made, 4) != STET_ERROR_STATE) return "an array was made";
    if (stet_device_synchronize(device) != STET_ERROR_STATE) return "waited";
    if (stet_device_create(&def, &second) != STET_ERROR_STATE || !strstr(stet_get_last_error(), "spawn"))
        return "a second device";
    stet_array_destroy(array);
    stet_device_destroy(device);
    if (driver_calls() != before) return "the driver was called";
    def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    if (stet_device_create(&def, &device) != STET_OK) return stet_get_last_error();
    if (STI_ARRAY(device, "more", STET_DTYPE_REAL, false, &made, 4) != STET_OK) return stet_get_last_error();
    stet_array_destroy(made);
    stet_device_destroy(device);
    return NULL;
}

static void a_child_is_told(void **state)
{
    stet_device *device = open_gpu();
    stet_array *array;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    OK(STI_ARRAY(device, "x", STET_DTYPE_REAL, false, &array, 8));
    OK(stet_array_write(array, x, sizeof x));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        const char *wrong = try_all(device, array);
        if (wrong) (void)fprintf(stderr, "in the child: %s\n", wrong);
        _exit(wrong != NULL);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    OK(stet_array_read(array, y, sizeof y));
    assert_memory_equal(x, y, sizeof x);
    stet_array_destroy(array);
    close_gpu(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_child_is_told),
    };
    return RUN_ON_DOUBLES("device/gpu_fork", tests);
}
