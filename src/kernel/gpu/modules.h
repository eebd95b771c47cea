/*
 * Modules: compiled code that a GPU's driver has loaded. A module has the kernels of one file that have the same team,
 * in one form (a module of a user's kernel has both forms).
 *
 * Invariants:
 *   MODULES-1  a call makes all modules that it was asked for, or none
 *   MODULES-2  the first module of a simulation also loads the others that a simulation needs, compiled at the same
 *       time (cached_compile.h)
 */
#ifndef STI_KERNEL_GPU_MODULES_H
#define STI_KERNEL_GPU_MODULES_H

#include "kernel/gpu/rtc.h"
#include "kernel/gpu/source.h"
#include "kernel/gpu/teams.h"
#include "kernel/compile/cached_compile.h"

typedef struct sti_module {
    const sti_embedded *unit; /* NULL: of a user's kernel */
    char only[STI_MAX_NAME];  /* its only kernel; "": all kernels of the unit with this team */
    sti_team team;
    unsigned forms; /* bits of sti_form */
    void *handle;   /* of the driver */
    size_t size;    /* bytes of code */
} sti_module;

typedef struct sti_modules {
    stet_device *device;
    sti_rtc rtc; /* opened when a module is first needed */
    sti_compile_target target;
    sti_module **module; /* the library's modules */
    int nmodule;
} sti_modules;

void sti_modules_init(sti_modules *modules, stet_device *device);
void sti_modules_close(sti_modules *modules);

/*
 * Returns the library's module with this unit, kernel, team and forms, made if needed. Borrowed until modules are
 * closed.
 */
stet_result sti_module_get(sti_modules *modules, const sti_module *wanted, const sti_module **out);
/* Makes the modules of all units that a simulation needs (`every`: of all units) in these forms. */
stet_result sti_modules_prepare(sti_modules *modules, bool every, unsigned forms);
/*
 * Makes the module of a user's kernel. `source` was read for a GPU; this call finishes its text. id: gets the id of its
 * entry in the cache; may be NULL. The caller unloads *out.
 */
stet_result sti_module_make(sti_modules *modules, sti_team team, const sti_signature *kernel, sti_user_source *source,
                            const sti_keeping *keeping, char *id, sti_module **out);
/*
 * Makes a module of a source whose text is finished, with all entries. It is cached like the library's own. The caller
 * unloads *out.
 */
stet_result sti_module_from_source(sti_modules *modules, sti_team team, sti_user_source *source, sti_module **out);
/*
 * Makes a module of a text that is compiled as it is and cached like the library's own. `name` names its file. The
 * caller unloads *out.
 */
stet_result sti_module_from_text(sti_modules *modules, const char *name, const char *text, sti_module **out);
/* Unloads a module and subtracts its bytes from the counter. No launch of it may be listed. */
void sti_module_unload(const sti_modules *modules, sti_module *module);

stet_result sti_module_function(const sti_modules *modules, const sti_module *module, const char *kernel, sti_form form,
                                void **out);

#endif
