/*
 * Save and resume: a snapshot in a file, or in memory of the caller's.
 *
 *   offset        bytes   what
 *   0             8       "stetwrld"
 *   8             8       version of this format
 *   16            8       fingerprint of the model
 *   24            48      the head of the snapshot
 *   72            size    its payload
 *   72 + size     8       hash of all bytes before
 *
 * Numbers are little-endian; a file of a machine that is not has another version word and is refused as foreign.
 *
 *   FILE-1  a file with this name is complete, and on the disk (OUT-1, base/file.h)
 *   FILE-2  worlds change only after all of a file was read and checked
 */
#include "base/file.h"
#include "base/hash.h"
#include "base/plural.h"
#include "worlds/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

enum { FORMAT_VERSION = 1 };

typedef struct preamble {
    char magic[8];
    uint64_t version, fingerprint;
    sti_snapshot_head head;
} preamble;

_Static_assert(sizeof(preamble) == 72, "the preamble has no padding");

static const char magic[8] = {'s', 't', 'e', 't', 'w', 'r', 'l', 'd'};

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_all(const preamble *p, const stet_snapshot *s)
{
    sti_hash h;
    sti_hash_begin(&h);
    sti_hash_add(&h, p, sizeof *p);
    sti_hash_add(&h, s->payload, s->size);
    return sti_hash_end(&h);
}

static bool put_all(FILE *f, const preamble *p, const stet_snapshot *s)
{
    uint64_t sum = hash_all(p, s);
    return fwrite(p, sizeof *p, 1, f) == 1 && fwrite(s->payload, s->size, 1, f) == 1 &&
           fwrite(&sum, sizeof sum, 1, f) == 1 && fflush(f) == 0 && fsync(fileno(f)) == 0;
}

static stet_result make_preamble(const stet_snapshot *s, preamble *p)
{
    *p = (preamble){.version = FORMAT_VERSION, .head = s->head};
    memcpy(p->magic, magic, sizeof magic);
    return sti_snapshot_fingerprint(s, &p->fingerprint);
}

stet_result sti_snapshot_save(const stet_snapshot *s, const char *path)
{
    preamble p;
    sti_output o;
    STI_TRY(make_preamble(s, &p));
    const char *wrong = sti_output_open(&o, path);
    if (wrong) return sti_error(STET_ERROR_IO, "save %s: cannot write there: %s; choose another place", path, wrong);
    if (put_all(o.file, &p, s)) {
        wrong = sti_output_commit(&o);
    } else {
        wrong = strerror(errno);
        sti_output_drop(&o);
    }
    if (!wrong) return STET_OK;
    return sti_error(STET_ERROR_IO, "save %s: %s; nothing was left behind, choose another place", path, wrong);
}

stet_result stet_worlds_save(stet_worlds *worlds, const char *path)
{
    if (!worlds || !path || !path[0])
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_worlds_save: worlds must not be NULL, and path must name a file");
    stet_snapshot *s;
    STI_TRY(stet_snapshot_create(worlds, &s));
    stet_result result = sti_snapshot_save(s, path);
    stet_snapshot_destroy(s);
    return result;
}

/* ---- resuming ---------------------------------------------------------------------------------------------------- */

/* Does the file's own description fit a run of `all` worlds? Its sizes are used only after this check. */
static stet_result check_preamble(const stet_worlds *worlds, int64_t all, const preamble *p, const char *path)
{
    sti_snapshot_head own = sti_snapshot_head_of(worlds);
    const sti_snapshot_head *h = &p->head;
    uint64_t fingerprint;
    if (memcmp(p->magic, magic, sizeof magic) != 0)
        return sti_error(STET_ERROR_PARSE,
                         "resume %s: this is not a file of saved worlds; give one that was written by save", path);
    if (p->version != FORMAT_VERSION)
        return sti_error(
            STET_ERROR_PARSE,
            "resume %s: its format is version %llu, this library reads version %d; save it again with this version",
            path, (unsigned long long)p->version, FORMAT_VERSION);
    STI_TRY(sti_model_fingerprint(worlds->model, &fingerprint));
    if (p->fingerprint != fingerprint)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "resume %s: it was saved from another model than %s, or with another release of MuJoCo; load "
                         "what it was saved from",
                         path, worlds->model->path[0] ? worlds->model->path : "this one");
    if (h->nworld != (uint64_t)all)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "resume %s: it has %llu world%s, this run has %llu; ask for %llu",
                         path, (unsigned long long)h->nworld, STI_S(h->nworld), (unsigned long long)all,
                         (unsigned long long)h->nworld);
    if (h->kind != own.kind)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "resume %s: it was saved %s, these worlds are %s; take the physics that it was saved with",
                         path, sti_state_words(h->kind), sti_state_words(own.kind));
    if (h->nstate != own.nstate || h->nsensor != own.nsensor ||
        (h->npose != 0 && h->npose != sti_snapshot_pose_items(worlds)))
        return sti_error(STET_ERROR_PARSE,
                         "resume %s: the file is damaged (its sizes are not those of its model); use another copy",
                         path);
    return STET_OK;
}

static stet_result read_payload(FILE *f, const preamble *p, stet_snapshot *s, const char *path)
{
    struct stat info;
    uint64_t sum;
    if (fstat(fileno(f), &info) != 0 || (uint64_t)info.st_size != sizeof *p + s->size + sizeof sum)
        return sti_error(STET_ERROR_PARSE,
                         "resume %s: the file is cut short or too long (%lld bytes instead of %llu); use another copy",
                         path, (long long)info.st_size, (unsigned long long)(sizeof *p + s->size + sizeof sum));
    if (fread(s->payload, s->size, 1, f) != 1 || fread(&sum, sizeof sum, 1, f) != 1)
        return sti_error(STET_ERROR_IO, "resume %s: the file could not be read to its end: %s", path, strerror(errno));
    if (hash_all(p, s) == sum) return STET_OK;
    return sti_error(STET_ERROR_PARSE, "resume %s: the file is damaged (its checksum is wrong); use another copy",
                     path);
}

static void take_table(void *to, const void *from, uint64_t item, uint64_t first, uint64_t nworld)
{
    if (item > 0) memcpy(to, (const char *)from + first * item, nworld * item);
}

/* *s becomes a snapshot of some of its worlds alone. */
static stet_result cut_block(stet_snapshot **s, uint64_t first, uint64_t nworld)
{
    const stet_snapshot *all = *s;
    sti_snapshot_head head = all->head;
    stet_snapshot *some;
    head.nworld = nworld;
    if (first == 0 && nworld == all->head.nworld) return STET_OK;
    STI_TRY(sti_snapshot_new(all->model, &head, &some));
    take_table(some->state, all->state, head.nstate * sizeof *some->state, first, nworld);
    take_table(some->sensor, all->sensor, head.nsensor * sizeof *some->sensor, first, nworld);
    take_table(some->pose, all->pose, head.npose * sizeof *some->pose, first, nworld);
    take_table(some->resets, all->resets, sizeof *some->resets, first, nworld);
    take_table(some->faults, all->faults, sizeof *some->faults, first, nworld);
    take_table(some->caller, all->caller, sizeof *some->caller, first, nworld);
    stet_snapshot_destroy(*s);
    *s = some;
    return STET_OK;
}

static stet_result resume_from(stet_worlds *worlds, FILE *f, const char *path, int64_t all, int64_t first)
{
    preamble p = {.version = 0};
    size_t got = fread(&p, 1, sizeof p, f);
    if (ferror(f))
        return sti_error(STET_ERROR_IO, "resume %s: it cannot be read: %s; give a file", path, strerror(errno));
    if (got != sizeof p)
        return sti_error(STET_ERROR_PARSE,
                         "resume %s: the file has only %zu bytes, so it is no file of saved worlds; use another copy",
                         path, got);
    STI_TRY(check_preamble(worlds, all, &p, path));
    stet_snapshot *s;
    STI_TRY(sti_snapshot_new(worlds->model, &p.head, &s));
    stet_result result = read_payload(f, &p, s, path);
    if (result == STET_OK) result = cut_block(&s, (uint64_t)first, (uint64_t)worlds->nworld);
    if (result == STET_OK) result = stet_worlds_restore(worlds, s);
    stet_snapshot_destroy(s);
    return result;
}

stet_result sti_worlds_resume_block(stet_worlds *worlds, const char *path, int64_t all, int64_t first)
{
    const char *why;
    FILE *f = sti_input_open(path, &why);
    if (!f)
        return sti_error(errno == ENOENT ? STET_ERROR_NOT_FOUND : STET_ERROR_IO, "resume %s: %s; check the path", path,
                         why);
    stet_result result = resume_from(worlds, f, path, all, first);
    (void)fclose(f);
    return result;
}

stet_result stet_worlds_resume(stet_worlds *worlds, const char *path)
{
    if (!worlds || !path)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_resume: worlds and path must not be NULL");
    return sti_worlds_resume_block(worlds, path, worlds->nworld, 0);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

int64_t stet_snapshot_get_size(const stet_snapshot *snapshot)
{
    return snapshot ? (int64_t)(sizeof(preamble) + snapshot->size + sizeof(uint64_t)) : 0;
}

stet_result stet_snapshot_save_bytes(const stet_snapshot *snapshot, void *bytes, int64_t size)
{
    preamble p;
    char *to = bytes;
    if (!snapshot || !bytes)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_snapshot_save_bytes: snapshot and bytes must not be NULL");
    if (size != stet_snapshot_get_size(snapshot))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_snapshot_save_bytes: room for %lld bytes; there are %lld",
                         (long long)size, (long long)stet_snapshot_get_size(snapshot));
    STI_TRY(make_preamble(snapshot, &p));
    uint64_t sum = hash_all(&p, snapshot);
    memcpy(to, &p, sizeof p);
    memcpy(to + sizeof p, snapshot->payload, snapshot->size);
    memcpy(to + sizeof p + snapshot->size, &sum, sizeof sum);
    return STET_OK;
}

/* Are the sizes in the head ones that so many bytes can hold? Only then is a snapshot made of them. */
static bool is_plausible(const sti_snapshot_head *h, uint64_t bytes)
{
    return h->nworld > 0 && h->nworld <= bytes && h->nstate <= bytes && h->nsensor <= bytes && h->npose <= bytes &&
           (h->nstate + h->nsensor + h->npose) <= bytes / sizeof(double) / h->nworld;
}

static stet_result refuse_bytes(int64_t size)
{
    return sti_error(STET_ERROR_PARSE,
                     "snapshot: these %lld bytes are none, of another version, or damaged; use another copy",
                     (long long)size);
}

stet_result stet_snapshot_load_bytes(const void *bytes, int64_t size, stet_snapshot **out)
{
    preamble p;
    const char *from = bytes;
    if (!bytes || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_snapshot_load_bytes: bytes and out must not be NULL");
    *out = NULL;
    if (size < (int64_t)(sizeof p + sizeof(uint64_t))) return refuse_bytes(size);
    memcpy(&p, from, sizeof p);
    if (memcmp(p.magic, magic, sizeof magic) != 0 || p.version != FORMAT_VERSION ||
        !is_plausible(&p.head, (uint64_t)size))
        return refuse_bytes(size);
    stet_snapshot *s;
    STI_TRY(sti_snapshot_new(NULL, &p.head, &s));
    s->fingerprint = p.fingerprint;
    if (size == stet_snapshot_get_size(s)) {
        uint64_t sum;
        memcpy(s->payload, from + sizeof p, s->size);
        memcpy(&sum, from + sizeof p + s->size, sizeof sum);
        if (sum == hash_all(&p, s)) {
            *out = s;
            return STET_OK;
        }
    }
    stet_snapshot_destroy(s);
    return refuse_bytes(size);
}
