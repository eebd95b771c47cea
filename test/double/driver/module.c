/*
 * Loading, looking up, unloading. Invariants: module.h.
 */
#define _GNU_SOURCE
#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dd_module *modules;

size_t dd_image_size(const void *image)
{
    const Elf64_Ehdr *header = image;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
    return (size_t)header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

/* The loader wants a file, with a name that it has not seen (MODULE-1). */
static void *open_image(const void *image, size_t size)
{
    char path[] = "/tmp/double_module_XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return NULL;
    FILE *out = fdopen(file, "w");
    bool good = out && fwrite(image, 1, size, out) == size;
    if (out) good &= fclose(out) == 0;
    void *object = good ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(path);
    return object;
}

/* Is it code for this device? The compiler notes what it was asked for: "sm_90", "compute_90", "gfx90a". */
static bool fits(const char *arch)
{
    int number = 0;
    if (sscanf(arch, "sm_%d", &number) == 1) return number / 10 == dd.config.major && number % 10 <= dd.config.minor;
    if (sscanf(arch, "compute_%d", &number) == 1) return number <= dd.config.major * 10 + dd.config.minor;
    return strcmp(arch, dd.config.gfx) == 0;
}

int dd_module_load(dd_device *device, const void *image, dd_module **out)
{
    *out = NULL;
    if (!image) return DD_INVALID_VALUE;
    size_t size = dd_image_size(image);
    void *object = size > 0 ? open_image(image, size) : NULL;
    if (!object) return DD_INVALID_IMAGE;
    const char *arch = dlsym(object, "double_arch");
    double_frame *frame = dlsym(object, "double_here");
    unsigned char **shared = dlsym(object, "double_shared_range");
    dd_module *m = arch && frame && shared && fits(arch) ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        dlclose(object);
        return arch && frame && shared ? DD_NO_BINARY : DD_INVALID_IMAGE;
    }
    *m = (dd_module){.next = modules, .device = device, .object = object, .frame = frame, .shared = shared[0]};
    m->shared_size = (size_t)(shared[1] - shared[0]);
    modules = m;
    dd.alive.modules++;
    *out = m;
    return DD_OK;
}

static void end(dd_module *m)
{
    while (m->function) {
        dd_function *f = m->function;
        m->function = f->next;
        free(f);
    }
    dlclose(m->object);
    free(m);
}

int dd_module_unload(dd_module *module)
{
    for (dd_module **at = &modules; *at; at = &(*at)->next) {
        if (*at != module) continue;
        *at = module->next;
        end(module);
        dd.alive.modules--;
        return DD_OK;
    }
    return DD_INVALID_HANDLE;
}

static bool module_is_alive(const dd_module *module)
{
    const dd_module *m = modules;
    while (m && m != module) m = m->next;
    return m;
}

bool dd_function_is_alive(const dd_function *function)
{
    for (const dd_module *m = modules; m; m = m->next)
        for (const dd_function *f = m->function; f; f = f->next)
            if (f == function) return true;
    return false;
}

int dd_module_function(dd_module *module, const char *symbol, dd_function **out)
{
    *out = NULL;
    if (!module_is_alive(module)) return DD_INVALID_HANDLE;
    for (dd_function *f = module->function; f; f = f->next)
        if (strcmp(f->name, symbol) == 0) *out = f;
    if (*out) return DD_OK;
    char name[160];
    snprintf(name, sizeof name, "double_entry_%s", symbol);
    const double_entry *entry = dlsym(module->object, name);
    if (!entry || strlen(symbol) >= sizeof(*out)->name) return DD_NOT_FOUND;
    dd_function *f = calloc(1, sizeof *f);
    if (!f) return DD_OUT_OF_MEMORY;
    *f = (dd_function){.next = module->function,
                       .module = module,
                       .call = entry->call,
                       .size = entry->size,
                       .nparam = entry->nparam,
                       .most_threads = entry->most_threads};
    snprintf(f->name, sizeof f->name, "%s", symbol);
    for (size_t i = 0; i < f->nparam; ++i) f->bytes += (f->size[i] + 15) / 16 * 16;
    module->function = f;
    *out = f;
    return DD_OK;
}

void dd_module_forget(void)
{
    while (modules) {
        dd_module *m = modules;
        modules = m->next;
        end(m);
    }
}
