/*
 * Modules to be made: the text of each, its key, and the request for its code. What of them is loaded, and kept, is
 * the caller's (modules.h).
 */
#ifndef STI_KERNEL_GPU_JOBS_H
#define STI_KERNEL_GPU_JOBS_H

#include "kernel/compile/cached_compile.h"
#include "kernel/gpu/rtc.h"
#include "kernel/gpu/source.h"
#include "kernel/gpu/teams.h"

/* From this architecture of NVIDIA's on kernels wait for those before them by themselves (stet/lang_gpu.h). */
enum { STI_ARCH_WAITS = 90 };

typedef struct sti_module {
    const sti_embedded *unit; /* NULL: of a user's kernel */
    char only[STI_MAX_NAME];  /* the one kernel that it has; "": all of the unit with this team */
    char *constants;          /* of that kernel; NULL: none. A module that is kept owns it */
    sti_team team;
    unsigned forms; /* bits of sti_form */
    void *handle;   /* of the device */
    size_t size;    /* bytes of code */
    bool waits;     /* its kernels wait for those before them by themselves */
} sti_module;

/* What code is made for, and by what. */
typedef struct sti_maker {
    const char *arch; /* of the device; borrowed */
    sti_rtc rtc;      /* empty until a compiler is needed */
    sti_compile_target target;
} sti_maker;

typedef struct sti_job {
    const sti_maker *maker;
    sti_module *module; /* without a handle; owned */
    sti_user_source source;
    sti_text_buffer key; /* without a compiler, until sti_job_ask */
    bool looked;         /* for shipped code */
} sti_job;

typedef struct sti_jobs {
    sti_job *job;
    int n;
} sti_jobs;

bool sti_module_is(const sti_module *module, const sti_module *wanted);

/* Adds an empty job for such a module. */
stet_result sti_jobs_add(sti_jobs *jobs, const sti_maker *maker, const sti_module *wanted, sti_job **out);
/* The source is read: adds its entries, if it has kernels of the language, and makes its key. */
stet_result sti_job_finish(sti_job *job, const sti_signature *const *kernel, int nkernel);

/* The job of this module of a unit. */
stet_result sti_jobs_add_module(sti_jobs *jobs, const sti_maker *maker, const sti_module *wanted);
/* Jobs for all modules of a unit with the kernels' own teams, but for those that are `there`. */
stet_result sti_jobs_add_unit(sti_jobs *jobs, const sti_maker *maker, const sti_embedded *unit, unsigned forms,
                              bool (*there)(const void *context, const sti_module *wanted), const void *context);
/* A text that is compiled as it is; `name` stands for its file. */
stet_result sti_jobs_add_text(sti_jobs *jobs, const sti_maker *maker, const char *name, const char *text);

/* The request under the key as it is. It borrows the job. */
sti_compile_request sti_job_request(sti_job *job);
/* The request to the compiler, which is open. */
stet_result sti_job_ask(sti_job *job, sti_compile_request *out);

/* Frees a job, and its module, which has no handle. */
void sti_job_free(sti_job *job);

#endif
