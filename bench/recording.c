/* Recorded poses of the hand; see recording.h. */
#include "bench/recording.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static stet_result read_recording(bench_recording *r, const bench *b, stet_sim *sim, const char *what, int k)
{
    static const char *const fields[] = {"xpos", "xquat"};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/recordings/hand_%s.npy", b->scenes, fields[k]);
    const char *wrong = npy_read(path, &r->recorded[k]);
    if (wrong) return sti_error(STET_ERROR_IO, "bench %s: %s: %s", what, path, wrong);
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(sim), fields[k], &r->pose[k]));
    const npy_array *a = &r->recorded[k];
    if (a->ndim != 3 || a->shape[1] != 1 || a->shape[0] < 1 || a->shape[2] != stet_array_get_shape(r->pose[k])[1])
        return sti_error(STET_ERROR_PARSE, "bench %s: %s: not a recording of one world of the hand; record it anew",
                         what, path);
    r->nframe = a->shape[0];
    return sti_alloc(&r->buffer[k], stet_array_get_bytes(r->pose[k]), "poses of all worlds");
}

stet_result bench_recording_open(bench_recording *r, const bench *b, stet_sim *sim, const char *what)
{
    *r = (bench_recording){.nworld = stet_worlds_get_nworld(stet_sim_get_worlds(sim))};
    for (int k = 0; k < 2; ++k) STI_TRY(read_recording(r, b, sim, what, k));
    if (r->recorded[0].shape[0] == r->recorded[1].shape[0]) return STET_OK;
    return sti_error(STET_ERROR_PARSE, "bench %s: the recordings of the hand differ in length; record them anew", what);
}

void bench_recording_close(bench_recording *r)
{
    for (int k = 0; k < 2; ++k) {
        sti_free(r->buffer[k]);
        free(r->recorded[k].data);
    }
}

void bench_recording_fill(bench_recording *r, int64_t frame)
{
    for (int k = 0; k < 2; ++k) {
        size_t n = (size_t)(r->recorded[k].count / r->nframe);
        for (int64_t w = 0; w < r->nworld; ++w) {
            const double *from = r->recorded[k].data + (size_t)((frame + 7 * w) % r->nframe) * n;
            float *to = r->buffer[k] + (size_t)w * n;
            for (size_t i = 0; i < n; ++i) to[i] = (float)from[i];
        }
    }
}

stet_result bench_recording_write(bench_recording *r)
{
    for (int k = 0; k < 2; ++k) STI_TRY(stet_array_write(r->pose[k], r->buffer[k], stet_array_get_bytes(r->pose[k])));
    return STET_OK;
}
