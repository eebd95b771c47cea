/*
 * Modules: what the double's compiler made (rtc.c), loaded as a shared object of the host.
 *
 * Invariants:
 *   MODULE-1  each load has memory of its own, as on a device: an image that is loaded twice gives two modules
 *   MODULE-2  a handle is looked up among those that are alive before it is used
 */
#ifndef TEST_DOUBLE_MODULE_H
#define TEST_DOUBLE_MODULE_H

#include "double/exec/prelude.h"
#include "state.h"

typedef struct dd_module dd_module;

typedef struct dd_function {
    struct dd_function *next;
    dd_module *module;
    char name[128];
    double_call *call;
    const size_t *size;   /* of each parameter */
    size_t nparam, bytes; /* each begins at a multiple of 16 */
    int most_threads;     /* of a block */
} dd_function;

struct dd_module {
    dd_module *next;
    dd_device *device;
    void *object;
    double_frame *frame;
    unsigned char *shared; /* memory of a block */
    size_t shared_size;
    dd_function *function;
};

int dd_module_load(dd_device *device, const void *image, dd_module **out);
int dd_module_unload(dd_module *module);
int dd_module_function(dd_module *module, const char *symbol, dd_function **out);
bool dd_function_is_alive(const dd_function *function);
/* The image's size, which the image itself tells; 0: it is none. */
size_t dd_image_size(const void *image);
void dd_module_forget(void);

#endif
