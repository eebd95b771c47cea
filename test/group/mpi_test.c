/*
 * The module over MPI, in a process that is started alone: what it says of memory of GPUs. MPI's own functions that
 * answer this are replaced here: the loader finds these first.
 */
#include "device/rig.h"

#include "stet/group.h"

#include <string.h>

static int takes;

__attribute__((visibility("default"))) int MPIX_Query_cuda_support(void);
__attribute__((visibility("default"))) int MPIX_GPU_query_support(int kind, int *answer);
int MPIX_Query_cuda_support(void) { return takes; }
int MPIX_GPU_query_support(int kind, int *answer)
{
    *answer = takes;
    return 0;
}

static void memory_of_gpus_is_taken_where_mpi_says_so(void **state)
{
    stet_transport t;
    OK(stet_transport_open_mpi(NULL, true, &t));
    assert_int_equal(t.nrank, 1);
    const char *why = t.why_no_gpu(t.context, STET_DEVICE_CUDA);
    if (!why || !strstr(why, " does not take memory of CUDA GPUs") || strchr(why, '\n')) fail_msg("it says '%s'", why);
    takes = 1;
    assert_null(t.why_no_gpu(t.context, STET_DEVICE_CUDA));
    t.close(t.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_of_gpus_is_taken_where_mpi_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
