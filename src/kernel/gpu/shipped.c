/* Code that was compiled before; see shipped.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr1 */
#endif
#include "kernel/gpu/shipped.h"

#include "base/environment.h"
#include "base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that this code is in, a library or a program; false: the system does not say. */
static bool find_own_file(char path[PATH_MAX])
{
    static const char mark; /* its address is in that file */
    Dl_info here;
    struct link_map *map = NULL;
    bool known = dladdr1(&mark, &here, (void **)&map, RTLD_DL_LINKMAP) != 0 && map;
    if (known && map->l_name[0] == '/') return realpath(map->l_name, path) != NULL;
    ssize_t n =
        known && map->l_name[0] ? -1 : readlink("/proc/self/exe", path, PATH_MAX - 1); /* a program has no name */
    if (n > 0) path[n] = 0;
    return n > 0;
}

/* Where it lies below the folder of that file: in a build and in Python's package; behind lib; behind bin, in both. */
static const char *const places[] = {"gpu_code", "stet/gpu_code", "../" STET_LIBDIR "/stet/gpu_code", "../gpu_code"};

static stet_result try_place(const char *own, size_t folder, const char *place, sti_text_buffer *out)
{
    char path[PATH_MAX];
    struct stat status;
    sti_text_buffer joined = {0};
    sti_text_buffer_add(&joined, own, folder);
    sti_text_buffer_put(&joined, place);
    stet_result result = joined.result;
    if (result == STET_OK && realpath(joined.data, path) && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        sti_text_buffer_put(out, path);
        result = out->result;
    }
    sti_text_buffer_free(&joined);
    return result;
}

stet_result sti_shipped_folder(sti_text_buffer *out)
{
    char own[PATH_MAX];
    const char *named = sti_environment("STET_GPU_CODE_FOLDER");
    if (named) sti_text_buffer_put(out, named);
    if (named || !find_own_file(own)) return out->result;
    size_t folder = (size_t)(strrchr(own, '/') - own) + 1;
    for (size_t i = 0; i < sizeof places / sizeof *places && out->size == 0; ++i)
        STI_TRY(try_place(own, folder, places[i], out));
    return STET_OK;
}
