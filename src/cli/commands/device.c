/* Device names, and the GPUs of this machine; see device.h. */
#include "cli/commands/device.h"

#include "cli/options/options.h"
#include "device/gpu/driver.h"
#include "kernel/gpu/rtc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct kind {
    const char *name;
    stet_device_type type;
    bool counted; /* several may exist */
} kinds[] = {{"auto", STET_DEVICE_AUTO, false},
             {"cpu", STET_DEVICE_CPU, false},
             {"null", STET_DEVICE_NULL, false},
             {"cuda", STET_DEVICE_CUDA, true},
             {"hip", STET_DEVICE_HIP, true}};

bool device_parse(const char *text, stet_device_def *def)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        int64_t index = 0;
        if (strncmp(text, kinds[i].name, n) != 0 || kinds[i].name[n]) continue;
        if (text[n] && !(kinds[i].counted && parse_whole(text + n + 1, 0, INT_MAX, &index))) return false;
        def->type = kinds[i].type;
        def->gpu.index = (int)index;
        return true;
    }
    return false;
}

void device_spell(const stet_device_def *def, char *out, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (kinds[i].type == def->type)
            (void)snprintf(out, size, kinds[i].counted ? "%s:%d" : "%s", kinds[i].name, def->gpu.index);
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void set_device(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }
static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

/* JSON of a text from outside, whatever bytes it has. */
static json_t *text_json(const char *text)
{
    json_t *o = json_string(text);
    return o ? o : json_string("(not readable)");
}

static json_t *one_json(const sti_gpu_driver *driver, int index)
{
    sti_gpu_facts facts;
    json_t *o = json_object();
    set_device(o, "index", json_integer(index));
    if (sti_gpu_facts_of(driver, index, &facts) != STET_OK) {
        set_device(o, "why", text_json(stet_get_last_error()));
        return o;
    }
    set_device(o, "name", text_json(facts.name));
    set_device(o, "arch", text_json(facts.arch));
    set_device(o, "memory", json_integer((json_int_t)facts.memory));
    set_device(o, "multiprocessors", json_integer(facts.fact[STI_GPU_PROCESSORS]));
    return o;
}

static json_t *driver_json(stet_device_type type, json_t *devices)
{
    sti_gpu_driver driver;
    json_t *o = json_object();
    bool good = sti_gpu_driver_open(type == STET_DEVICE_HIP ? &sti_gpu_hip : &sti_gpu_cuda, NULL, &driver) == STET_OK;
    set_device(o, "available", json_boolean(good));
    if (!good) {
        set_device(o, "why", text_json(stet_get_last_error()));
        return o;
    }
    set_device(o, "version", json_string(driver.version_text));
    set_device(o, "file", text_json(driver.library.file));
    for (int i = 0; i < driver.ndevice; ++i) json_array_append_new(devices, one_json(&driver, i));
    return o;
}

static json_t *compiler_json(stet_device_type type)
{
    sti_rtc rtc;
    char version[32];
    json_t *o = json_object();
    bool good = sti_rtc_open(type, NULL, 0, &rtc) == STET_OK;
    set_device(o, "available", json_boolean(good));
    if (!good) {
        set_device(o, "why", text_json(stet_get_last_error()));
        return o;
    }
    (void)snprintf(version, sizeof version, "%d.%d", rtc.major, rtc.minor);
    set_device(o, "version", json_string(version));
    set_device(o, "file", text_json(rtc.library.file));
    sti_rtc_close(&rtc);
    return o;
}

json_t *gpu_json(stet_device_type type)
{
    json_t *o = json_object(), *devices = json_array();
    set_device(o, "driver", driver_json(type, devices));
    set_device(o, "devices", devices);
    set_device(o, "compiler", compiler_json(type));
    return o;
}

static void print_part(const char *name, const char *part, const json_t *o)
{
    if (json_is_true(json_object_get(o, "available")))
        printf("  %-4s %-8s %s (%s)\n", name, part, text_of(o, "version"), text_of(o, "file"));
    else
        printf("  %-4s %-8s none: %s\n", name, part, text_of(o, "why"));
}

void gpu_print(const char *name, const json_t *gpu)
{
    size_t i;
    json_t *one;
    print_part(name, "driver", json_object_get(gpu, "driver"));
    json_array_foreach(json_object_get(gpu, "devices"), i, one)
    {
        if (text_of(one, "why"))
            printf("  %s:%zu not usable: %s\n", name, i, text_of(one, "why"));
        else
            printf("  %s:%zu %s, %s, %.1f GiB, %lld multiprocessors\n", name, i, text_of(one, "name"),
                   text_of(one, "arch"),
                   (double)json_integer_value(json_object_get(one, "memory")) / (double)((size_t)1 << 30),
                   (long long)json_integer_value(json_object_get(one, "multiprocessors")));
    }
    print_part(name, "compiler", json_object_get(gpu, "compiler"));
}
