/*
 * The random program's faults: one call of the subject's device fails, in the middle of something that the subject
 * does. It may come through all the same (another way was taken); if it fails it says why, has changed nothing, and the
 * same call works afterwards. The twin does it once, without faults.
 */
#include "sim/program/program.h"

#include <stdlib.h>

/* One program at a time. */
static struct {
    const sti_device_ops *real;
    sti_device_ops ops;
    int countdown; /* the call from now on that fails; 0: none */
    stet_result failed;
} faults;

static bool fails_now(void)
{
    if (faults.countdown == 0 || --faults.countdown > 0) return false;
    faults.failed = sti_error(STET_ERROR_DEVICE, "the program lets this call of the device fail");
    return true;
}

static stet_result alloc(stet_device *device, size_t size, const char *what, void **out)
{
    return fails_now() ? faults.failed : faults.real->alloc(device, size, what, out);
}
static stet_result upload(stet_device *device, void *to, const void *from, size_t size)
{
    return fails_now() ? faults.failed : faults.real->upload(device, to, from, size);
}
static stet_result download(stet_device *device, void *to, const void *from, size_t size)
{
    return fails_now() ? faults.failed : faults.real->download(device, to, from, size);
}
static stet_result copy(stet_device *device, void *to, const void *from, size_t size)
{
    return fails_now() ? faults.failed : faults.real->copy(device, to, from, size);
}
static stet_result launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                          bool in_block)
{
    return fails_now() ? faults.failed : faults.real->launch(device, code, slots, nslot, nblock, in_block);
}
static stet_result graph_launch(stet_device *device, void *graph)
{
    return fails_now() ? faults.failed : faults.real->graph_launch(device, graph);
}

/* All slots count together, so that any of the next few calls may be the one. */
void faults_begin(program *p)
{
    stet_device *device = device_of(p, SUBJECT);
    faults.real = device->ops;
    faults.ops = *device->ops;
    faults.ops.alloc = alloc;
    faults.ops.upload = upload;
    faults.ops.download = download;
    faults.ops.copy = copy;
    faults.ops.launch = launch;
    if (faults.real->graph_launch) faults.ops.graph_launch = graph_launch;
    faults.countdown = 1 + roll(p, once_in(p, 3) ? 12 : 3);
    faults.failed = STET_OK;
    device->ops = &faults.ops;
    say(p, " [call %d fails]", faults.countdown);
}

/* Whether the subject's call failed. It fails only if the device did, with a sentence. */
bool faults_end(program *p, stet_result result)
{
    device_of(p, SUBJECT)->ops = faults.real;
    bool reached = faults.failed != STET_OK;
    say(p, result != STET_OK ? ": failed" : reached ? ": came through" : ": not reached");
    CHECK(p, result == STET_OK || reached, "failed without a fault: %s", stet_get_last_error());
    CHECK(p, result == STET_OK || result == STET_ERROR_DEVICE || result == STET_ERROR_STRICT,
          "a failed call of the device became: %s: %s", stet_result_sentence(result), stet_get_last_error());
    CHECK(p, result == STET_OK || stet_get_last_error()[0], "a failure without a sentence");
    p->shown.gap = p->shown.gap || result != STET_OK;
    p->nfault += reached;
    p->nfailure += result != STET_OK;
    return result != STET_OK;
}

/* ---- what may fail ----------------------------------------------------------------------------------------------- */

static void faulty_read(program *p)
{
    stet_array *a[2];
    const char *name = pick_field(p, false, a);
    size_t size = stet_array_get_bytes(a[SUBJECT]);
    uint8_t *data = room(p, 2 * size);
    say(p, "read %s", name);
    faults_begin(p);
    stet_result result = stet_array_read(a[SUBJECT], data, size);
    if (faults_end(p, result)) must(p, SUBJECT, stet_array_read(a[SUBJECT], data, size), "the read that failed, again");
    must(p, TWIN, stet_array_read(a[TWIN], data + size, size), "stet_array_read");
    same_bytes(p, data, data + size, size, name);
    free(data);
}

static void faulty_flush(program *p)
{
    bool force = once_in(p, 2);
    say(p, "flush%s", force ? ", all" : "");
    faults_begin(p);
    stet_result result = stet_stage_flush(stage_of(p, SUBJECT), force);
    if (faults_end(p, result))
        must(p, SUBJECT, stet_stage_flush(stage_of(p, SUBJECT), force), "the flush that failed, again");
    must(p, TWIN, stet_stage_flush(stage_of(p, TWIN), force), "stet_stage_flush");
    compare_stage(p);
}

static void faulty_render(program *p)
{
    int64_t frame[2];
    say(p, "render");
    faults_begin(p);
    stet_result result = stet_sim_render(p->sim[SUBJECT], &frame[SUBJECT]);
    if (faults_end(p, result))
        must(p, SUBJECT, stet_sim_render(p->sim[SUBJECT], &frame[SUBJECT]), "the render that failed, again");
    must(p, TWIN, stet_sim_render(p->sim[TWIN], &frame[TWIN]), "stet_sim_render");
    say(p, ": frame %lld", (long long)frame[SUBJECT]);
    show_sim(p);
}

/* The latest frame, which may have to be rendered or extracted first. */
static void faulty_hash(program *p)
{
    uint64_t hash[2];
    if (p->shown.newest < 0) return;
    say(p, "hash of the latest frame");
    faults_begin(p);
    stet_result result = stet_sim_hash_frame(p->sim[SUBJECT], STET_FRAME_LATEST, &hash[SUBJECT]);
    if (faults_end(p, result))
        must(p, SUBJECT, stet_sim_hash_frame(p->sim[SUBJECT], STET_FRAME_LATEST, &hash[SUBJECT]),
             "the hash that failed, again");
    must(p, TWIN, stet_sim_hash_frame(p->sim[TWIN], STET_FRAME_LATEST, &hash[TWIN]), "stet_sim_hash_frame");
    CHECK(p, hash[SUBJECT] == hash[TWIN], "hashes of the latest frames differ");
    show_sim(p);
}

void op_fault(program *p)
{
    static void (*const kinds[])(program *) = {faulty_read, faulty_flush, faulty_render, faulty_hash, faulty_launch};
    say(p, "fault; ");
    kinds[roll(p, 5)](p);
}
