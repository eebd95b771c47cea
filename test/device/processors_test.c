/* Quotas of control groups, in files below a folder of the test's own. Affinity: device_test.c. */
#include "device/rig.h"

#include "device/processors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files "path=content", and the number of processors that they leave. */
typedef struct machine {
    const char *files[8];
    int processors;
} machine;

#define V2 "proc/self/cgroup=0::/user/job\n"
#define V1 "proc/self/cgroup=5:memory:/m\n4:cpu,cpuacct:/box\n3:cpuset:/s\n0::/\n"

static const machine machines[] = {
    {{NULL}, 0},
    {{V2}, 0},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=max 100000\n"}, 0},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=200000 100000\n"}, 2},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=150000 100000\n"}, 2},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=1000 100000\n"}, 1},
    /* the least of the group's and those above it, with levels between that have none */
    {{V2, "sys/fs/cgroup/user/job/cpu.max=800000 100000\n", "sys/fs/cgroup/user/cpu.max=300000 100000\n"}, 3},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=max 100000\n", "sys/fs/cgroup/cpu.max=350000 50000\n"}, 7},
    /* in a container that sees its host's name of the group, and in one with a name space of its own */
    {{"proc/self/cgroup=0::/host/name\n", "sys/fs/cgroup/cpu.max=400000 100000\n"}, 4},
    {{"proc/self/cgroup=0::/\n", "sys/fs/cgroup/cpu.max=500000 100000\n"}, 5},
    {{V1}, 0},
    {{V1, "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us=-1\n", "sys/fs/cgroup/cpu/box/cpu.cfs_period_us=100000\n"}, 0},
    {{V1, "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us=250000\n", "sys/fs/cgroup/cpu/box/cpu.cfs_period_us=100000\n"}, 3},
    {{V1, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us=100\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us=50\n"}, 2},
    /* cpuset is not cpu, and quotas of others are not ours */
    {{"proc/self/cgroup=3:cpuset:/s\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us=100\n",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us=100\n"},
     0},
    {{V2, "sys/fs/cgroup/user/other/cpu.max=100000 100000\n"}, 0},
    /* what cannot be understood is no quota */
    {{V2, "sys/fs/cgroup/user/job/cpu.max=\n"}, 0},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=100000 0\n"}, 0},
    {{"proc/self/cgroup=nonsense\n\n0:\n", "sys/fs/cgroup/cpu.max=100000 100000\n"}, 0},
    {{V1, "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us=250000\n"}, 0},
    {{V2, "sys/fs/cgroup/user/job/cpu.max=9000000000000000000 1\n"}, 2147483647},
};

static void put_file(const char *root, const char *file)
{
    char path[512];
    const char *content = strchr(file, '=') + 1;
    (void)snprintf(path, sizeof path, "%s/%.*s", root, (int)(content - file - 1), file);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        (void)mkdir(path, 0777);
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(content, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void quotas_are_found(void **state)
{
    for (size_t k = 0; k < sizeof machines / sizeof *machines; ++k) {
        char root[] = "/tmp/stet_quota_XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        for (const char *const *file = machines[k].files; *file; ++file) put_file(root, *file);
        int n = sti_processors_of_quota(root);
        (void)snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
        if (n != machines[k].processors) fail_msg("machine %zu: %d for %d", k, n, machines[k].processors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
