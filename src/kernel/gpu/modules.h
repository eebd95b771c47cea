/*
 * Modules: compiled code as a GPU's driver has loaded it. A module has the kernels of one file that have the same team,
 * in one form (people's kernels: in both).
 *
 * Invariants:
 *   MODULES-1  a call makes all that it is asked for, or nothing
 *   MODULES-2  the first module of a simulation that has to be compiled brings the others with it, compiled at the same
 *       time, but for those with constants
 *   MODULES-3  a module may be compiled in a thread of its own while the device works. The thread uses the compiler and
 *       the module's text alone; the caller's thread loads what it made. Whoever needs the module before waits for it.
 *       A device that ends leaves it, and the compiler stays loaded then
 *   MODULES-4  a module whose code was shipped (shipped.h) needs no compiler, and none is opened for it
 */
#ifndef STI_KERNEL_GPU_MODULES_H
#define STI_KERNEL_GPU_MODULES_H

#include "kernel/gpu/jobs.h"
#include "kernel/compile/beside.h"

typedef struct sti_pending sti_pending;

typedef struct sti_modules {
    stet_device *device;
    sti_text_buffer shipped; /* the folder of shipped code; empty: there is none */
    sti_maker maker;         /* its compiler opens once a module has to be compiled, or looked for in the cache */
    char *no_compiler;       /* why there is none; NULL: nobody looked, or there is one */
    sti_module **module;     /* the library's */
    int nmodule;
    sti_pending **pending; /* those that are compiled beside */
    int npending;
    bool left; /* a thread that nobody waits for may still use the compiler */
} sti_modules;

stet_result sti_modules_init(sti_modules *modules, stet_device *device);
void sti_modules_close(sti_modules *modules);

/*
 * The library's module with this unit, only, team and forms; made if it is not there. Borrowed until modules are
 * closed.
 */
stet_result sti_module_get(sti_modules *modules, const sti_module *wanted, const sti_module **out);
/*
 * Begins to make such a module, if it is not there, and takes those that are ready. *ready: it is there. Fails if it
 * could not be compiled, once; then it may begin again. alone: where the compiler makes one module after the other, it
 * is only looked for in the cache, because another is being made.
 */
stet_result sti_module_begin(sti_modules *modules, const sti_module *wanted, bool alone, bool *ready);
/* Waits until at least one of those that are compiled beside has ended. */
stet_result sti_modules_wait(const sti_modules *modules);
/* Waits until all of them have, and takes them. */
void sti_modules_finish(sti_modules *modules);
/*
 * Makes the module of a user's kernel; `source` was read for a GPU, its text is finished here. id: of its entry in the
 * cache, may be NULL. The caller unloads *out.
 */
stet_result sti_module_make(sti_modules *modules, sti_team team, const sti_signature *kernel, sti_user_source *source,
                            const sti_cache_options *keeping, char *id, sti_module **out);
/*
 * A module of a source whose text is finished, with all entries; kept like the library's own. The caller unloads *out.
 */
stet_result sti_module_from_source(sti_modules *modules, sti_team team, sti_user_source *source, sti_module **out);
/*
 * A module of a text that is compiled as it is, kept like the library's own; `name` stands for its file. The caller
 * unloads *out.
 */
stet_result sti_module_from_text(sti_modules *modules, const char *name, const char *text, sti_module **out);
/* It and its count of bytes go; no launch of it may be listed. */
void sti_module_unload(const sti_modules *modules, sti_module *module);

stet_result sti_module_function(const sti_modules *modules, const sti_module *module, const char *kernel, sti_form form,
                                void **out);

#endif
