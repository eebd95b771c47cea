/* Processors that this process may use: affinity (taskset, cpusets) and quotas (containers); see processors.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "device/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096 };

/* ---- quotas ------------------------------------------------------------------------------------------------------ */

/* The first line of a file without its newline; "" if there is none. */
static void read_line(const char *folder, const char *name, char line[LINE])
{
    char path[2 * LINE];
    line[0] = '\0';
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = size > 0 && (size_t)size < sizeof path ? fopen(path, "r") : NULL;
    if (!file) return;
    if (!fgets(line, LINE, file)) line[0] = '\0';
    (void)fclose(file);
}

/*
 * A group's own quota, in microseconds of CPU time in each period; "max" and −1 are no quota. Returns processors, or 0.
 */
static int quota_of_group(const char *folder)
{
    char line[LINE];
    long long quota = 0, period = 0;
    read_line(folder, "cpu.max", line);
    if (sscanf(line, "%lld %lld", &quota, &period) != 2) {
        read_line(folder, "cpu.cfs_quota_us", line);
        if (sscanf(line, "%lld", &quota) != 1) return 0;
        read_line(folder, "cpu.cfs_period_us", line);
        if (sscanf(line, "%lld", &period) != 1) return 0;
    }
    if (quota <= 0 || period <= 0) return 0;
    long long n = quota / period + (quota % period != 0);
    return n < INT_MAX ? (int)n : INT_MAX;
}

static int least_quota(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/*
 * The least quota of a group and the groups above it. Within a container, `group` may be the name that the host has for
 * it, which does not exist here: the container's own group is then the top.
 */
static int quota_of_hierarchy(const char *root, const char *top, const char *group)
{
    char folder[2 * LINE];
    int size = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, top), least = 0;
    if (size < 0 || (size_t)size + strlen(group) >= sizeof folder) return 0;
    char *end = folder + size;
    memcpy(end, group, strlen(group) + 1);
    for (;;) {
        least = least_quota(least, quota_of_group(folder));
        char *slash = strrchr(end, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
        if ((at == controllers || at[-1] == ',') && (at[3] == '\0' || at[3] == ',')) return true;
    return false;
}

/* A line of /proc/self/cgroup: number:controllers:/group. Version 2 has no controllers there. */
static int quota_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return 0;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!*++controllers) return quota_of_hierarchy(root, "", group);
    if (!has_cpu(controllers)) return 0;
    return least_quota(quota_of_hierarchy(root, "/cpu", group), quota_of_hierarchy(root, "/cpu,cpuacct", group));
}

int sti_processors_of_quota(const char *root)
{
    char path[LINE], line[LINE];
    int least = 0;
    int size = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = size > 0 && (size_t)size < sizeof path ? fopen(path, "r") : NULL;
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) least = least_quota(least, quota_of_line(root, line));
    (void)fclose(file);
    return least;
}

/* ---- processors -------------------------------------------------------------------------------------------------- */

static int allowed_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int sti_processors(void) { return least_quota(allowed_processors(), sti_processors_of_quota("")); }
