/* `stet bench`: runs the program `stet-bench` in this program's folder. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "cli/command.h"
#include "cli/report_error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int bench_main(int argc, char **argv)
{
    (void)argc;
    char path[PATH_MAX];
    static const char name[] = "stet-bench";
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    char *folder_end = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (!folder_end)
        return report_error(EXIT_WORK, "bench: the folder of this program is not known: %s", strerror(errno));
    memcpy(folder_end + 1, name, sizeof name);
    argv[0] = path;
    (void)execv(path, argv);
    return report_error(EXIT_WORK, "bench: %s cannot be run: %s; make builds it, make run and pip install do not", path,
                        strerror(errno));
}
