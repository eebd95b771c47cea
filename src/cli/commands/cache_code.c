/* Code that is compiled before it is needed; see cache_code.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fdopendir */
#endif
#include "cli/commands/cache_code.h"

#include "base/clock.h"
#include "cli/commands/device.h"
#include "cli/report_error.h"
#include "kernel/compile/cache.h"
#include "kernel/gpu/shipped.h"
#include "stet/stet.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

/* ---- architectures ----------------------------------------------------------------------------------------------- */

/* Adds a name to a list, once. */
static void add_name(json_t *list, const char *name, size_t n)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i,
                       one) if (json_string_length(one) == n && memcmp(json_string_value(one), name, n) == 0) return;
    json_array_append_new(list, json_stringn(name, n));
}

/* Those of the GPUs of this machine. */
static json_t *archs_here(void)
{
    static const stet_device_type types[] = {STET_DEVICE_CUDA, STET_DEVICE_HIP};
    json_t *list = json_array();
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
        size_t i;
        json_t *one, *gpu = gpu_json(types[k]);
        json_array_foreach(json_object_get(gpu, "devices"), i, one) if (text_of(one, "arch"))
            add_name(list, text_of(one, "arch"), strlen(text_of(one, "arch")));
        json_decref(gpu);
    }
    return list;
}

static json_t *archs_of(const char *names)
{
    json_t *list = json_array();
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ", ");
        if (n > 0) add_name(list, at, n);
        at += n + (at[n] != 0);
    }
    return list;
}

/* ---- fill -------------------------------------------------------------------------------------------------------- */

/* What the cache's functions make is for its user alone. */
static stet_result open_to_all(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    bool good = dir && fchmod(fd, 0755) == 0;
    for (struct dirent *e; good && (e = readdir(dir));)
        if (strstr(e->d_name, ".kernel")) good = fchmodat(fd, e->d_name, 0644, 0) == 0;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return good ? STET_OK : sti_error(STET_ERROR_IO, "%s: others cannot be allowed to read it", folder);
}

static stet_result fill_one(stet_device *host, const sti_fill_def *def)
{
    const stet_counter before = stet_device_get_counters(host).mechanism[STET_MECHANISM_KERNEL_CACHE];
    const double began = sti_now();
    fprintf(stderr, "%s: compiling what is not there, which may take minutes\n", def->arch);
    STI_TRY(sti_fill(host, def));
    const stet_counter after = stet_device_get_counters(host).mechanism[STET_MECHANISM_KERNEL_CACHE];
    printf("%s: %lld compiled, %lld were there, %.1f s\n", def->arch, (long long)(after.misses - before.misses),
           (long long)(after.hits - before.hits), sti_now() - began);
    return def->shipped ? open_to_all(def->folder) : STET_OK;
}

static sti_fill_def fill_def(const json_t *archs, size_t i, const char *folder, bool shipped)
{
    return (sti_fill_def){.arch = json_string_value(json_array_get(archs, i)),
                          .sources = sti_kernel_sources,
                          .folder = folder,
                          .shipped = shipped};
}

static stet_result fill_all(const json_t *archs, const char *folder, bool shipped)
{
    stet_device *host;
    stet_result result = STET_OK;
    for (size_t i = 0; i < json_array_size(archs) && result == STET_OK; ++i) {
        const sti_fill_def one = fill_def(archs, i, folder, shipped);
        result = sti_fill_check(&one);
    }
    STI_TRY(result);
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.mechanisms.strict = true; /* what could not be kept was compiled for nothing */
    STI_TRY(stet_device_create(&def, &host));
    for (size_t i = 0; i < json_array_size(archs) && result == STET_OK; ++i) {
        const sti_fill_def one = fill_def(archs, i, folder, shipped);
        result = fill_one(host, &one);
    }
    stet_device_destroy(host);
    return result;
}

int cache_fill(const char *names, const char *folder, const char *ship)
{
    json_t *archs = names ? archs_of(names) : archs_here();
    int code = 0;
    if (json_array_size(archs) == 0)
        code = report_error(EXIT_INPUT, names ? "--arch: no architecture is named; give some, such as sm_90"
                                              : "there is no GPU here to compile for; name some with --arch, such as "
                                                "--arch sm_90");
    stet_result result = code ? STET_OK : fill_all(archs, ship ? ship : folder, ship != NULL);
    json_decref(archs);
    if (result == STET_OK) return code;
    bool input =
        result == STET_ERROR_INVALID_ARGUMENT || result == STET_ERROR_UNSUPPORTED || result == STET_ERROR_NOT_FOUND;
    return report_last_error(input ? EXIT_INPUT : EXIT_WORK);
}

/* ---- what was shipped -------------------------------------------------------------------------------------------- */

/* The architecture of an entry for a GPU; it ends with a line's end. */
static const char *arch_of(const sti_entry *entry)
{
    static const char word[] = "\narch ";
    const char *at = memmem(entry->key, entry->key_size, word, sizeof word - 1);
    return at ? at + sizeof word - 1 : NULL;
}

static void add_entry(json_t *archs, const sti_text_buffer *bytes)
{
    sti_entry entry;
    if (sti_entry_read(bytes->data, bytes->size, NULL, &entry) != STI_FOUND) return;
    const char *arch = arch_of(&entry), *end = arch ? memchr(arch, '\n', entry.key_size) : NULL;
    if (end) add_name(archs, arch, (size_t)(end - arch));
}

/* Lists the architectures of a folder's entries, and counts entries and their bytes. */
static void read_folder(const char *folder, json_t *archs, int *entries, int64_t *size)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        sti_text_buffer bytes = {0};
        int fd = strstr(e->d_name, ".kernel") ? openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0) continue;
        if (sti_text_buffer_read(&bytes, fd, (size_t)1 << 28, e->d_name) == STET_OK) add_entry(archs, &bytes);
        ++*entries;
        *size += (int64_t)bytes.size;
        sti_text_buffer_free(&bytes);
        close(fd);
    }
    if (dir) closedir(dir);
}

/* What a first run on this architecture finds. */
static json_t *cover_json(const char *folder, const char *arch)
{
    int there = 0, asked = 0;
    json_t *o = json_object();
    (void)sti_fill_count(&(sti_fill_def){.arch = arch, .sources = sti_kernel_sources, .folder = folder}, &there,
                         &asked);
    json_object_set_new(o, "there", json_integer(there));
    json_object_set_new(o, "needed", json_integer(asked));
    return o;
}

json_t *cache_shipped_json(void)
{
    sti_text_buffer folder = {0};
    json_t *o = json_object(), *archs = json_array(), *here = archs_here(), *cover = json_object(), *one;
    int entries = 0;
    int64_t size = 0;
    size_t i;
    if (sti_shipped_folder(&folder) == STET_OK && folder.size > 0) read_folder(folder.data, archs, &entries, &size);
    json_array_foreach(here, i, one) add_name(archs, json_string_value(one), json_string_length(one));
    json_array_foreach(archs, i, one) json_object_set_new(
        cover, json_string_value(one), cover_json(folder.data ? folder.data : "", json_string_value(one)));
    json_t *path = folder.size > 0 ? json_string(folder.data) : NULL;
    json_object_set_new(o, "folder", path ? path : json_null());
    json_object_set_new(o, "entries", json_integer(entries));
    json_object_set_new(o, "bytes", json_integer(size));
    json_object_set_new(o, "architectures", cover);
    json_object_set_new(o, "here", here);
    json_decref(archs);
    sti_text_buffer_free(&folder);
    return o;
}

static bool is_here(const json_t *shipped, const char *arch)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(shipped, "here"), i,
                       one) if (strcmp(json_string_value(one), arch) == 0) return true;
    return false;
}

void cache_shipped_print(const json_t *shipped)
{
    const char *arch, *folder = text_of(shipped, "folder");
    json_t *one;
    if (folder)
        printf("shipped  %s: %lld %s, %lld bytes\n", folder,
               (long long)json_integer_value(json_object_get(shipped, "entries")),
               json_integer_value(json_object_get(shipped, "entries")) == 1 ? "entry" : "entries",
               (long long)json_integer_value(json_object_get(shipped, "bytes")));
    else
        printf("shipped  nothing\n");
    json_object_foreach(json_object_get(shipped, "architectures"), arch, one)
    {
        long long there = json_integer_value(json_object_get(one, "there"));
        long long needed = json_integer_value(json_object_get(one, "needed"));
        printf("  %-8s %lld of the %lld codes that a first run may need%s%s\n", arch, there, needed,
               is_here(shipped, arch) ? ", for a GPU of this machine" : "",
               there == needed ? "" : "; `stet cache fill` compiles them before");
    }
}
