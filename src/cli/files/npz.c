/* Reads and writes .npz with minizip, zlib's own library of zip files; see npz.h. */
#include "cli/files/npz.h"

#include "cli/report_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <unzip.h>
#include <zip.h>

enum { CHUNK = 1 << 20 };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The current file's bytes as a stream in memory; the caller frees *bytes. */
static const char *inflate_current(unzFile zip, uint64_t size, char **bytes)
{
    if (size > (uint64_t)INT64_MAX / 2) return "is larger than memory can be";
    *bytes = malloc((size_t)size + 1);
    if (!*bytes) return "does not fit in memory";
    if (unzOpenCurrentFile(zip) != UNZ_OK) return "is packed in a way that is not read here; use numpy.savez";
    uint64_t have = 0;
    for (int n = 1; n > 0 && have < size; have += (uint64_t)(n > 0 ? n : 0))
        n = unzReadCurrentFile(zip, *bytes + have, (unsigned)(size - have < CHUNK ? size - have : CHUNK));
    bool whole = unzCloseCurrentFile(zip) == UNZ_OK; /* the checksum, too */
    return have == size && whole ? NULL : "is damaged";
}

static const char *visit_current(unzFile zip, char name[NPZ_NAME], npz_visit_fn *visit, void *context)
{
    unz_file_info64 info;
    char file[NPZ_NAME + 8], *bytes = NULL;
    if (unzGetCurrentFileInfo64(zip, &info, file, sizeof file, NULL, 0, NULL, 0) != UNZ_OK) return "is damaged";
    size_t length = strnlen(file, sizeof file);
    if (length < 5 || length >= NPZ_NAME || strcmp(file + length - 4, ".npy") != 0)
        return "holds something that is no .npy file";
    snprintf(name, NPZ_NAME, "%.*s", (int)(length - 4), file);
    const char *wrong = inflate_current(zip, info.uncompressed_size, &bytes);
    FILE *f = wrong ? NULL : fmemopen(bytes, (size_t)info.uncompressed_size, "rb");
    if (!wrong) wrong = f ? visit(context, name, f) : "does not fit in memory";
    if (f) fclose(f);
    free(bytes);
    return wrong;
}

const char *npz_visit(const char *path, npz_visit_fn *visit, void *context)
{
    const char *wrong;
    char name[NPZ_NAME] = "";
    FILE *f = sti_input_open(path, &wrong);
    if (!f) return error_text("%s: cannot be read: %s", path, wrong);
    fclose(f);
    unzFile zip = unzOpen64(path);
    if (!zip) return error_text("%s is not a .npz file", path);
    int code = unzGoToFirstFile(zip);
    wrong = code == UNZ_OK ? NULL : "holds no arrays";
    for (; code == UNZ_OK && !wrong; code = unzGoToNextFile(zip)) {
        name[0] = 0;
        wrong = visit_current(zip, name, visit, context);
    }
    unzClose(zip);
    if (!wrong) return NULL;
    return *name ? error_text("%s: array %s %s", path, name, wrong) : error_text("%s %s", path, wrong);
}

static const char *read_one(void *context, const char *name, FILE *npy)
{
    npz *out = context;
    npz_array *more = realloc(out->array, (size_t)(out->count + 1) * sizeof *more);
    if (!more) return "does not fit in memory";
    out->array = more;
    more[out->count] = (npz_array){.name = ""};
    snprintf(more[out->count].name, NPZ_NAME, "%s", name);
    return npy_read_stream(npy, &more[out->count++].array);
}

const char *npz_read(const char *path, npz *out)
{
    *out = (npz){0};
    const char *wrong = npz_visit(path, read_one, out);
    if (wrong) npz_free(out);
    return wrong;
}

void npz_free(npz *file)
{
    for (int i = 0; i < file->count; ++i) free(file->array[i].array.data);
    free(file->array);
    *file = (npz){0};
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

const char *npz_open(npz_writer *w, const char *path)
{
    snprintf(w->path, sizeof w->path, "%s", path);
    const char *wrong = sti_output_open(&w->out, path);
    if (wrong) return error_text("%s: cannot be written: %s", path, wrong);
    w->zip = zipOpen64(w->out.part, APPEND_STATUS_CREATE);
    if (w->zip) return NULL;
    wrong = error_text("%s: cannot be written: %s", path, strerror(errno));
    sti_output_drop(&w->out);
    return wrong;
}

static const char *put_npz(npz_writer *w, const void *data, size_t size)
{
    const char *at = data;
    for (; size > 0; size -= size < CHUNK ? size : CHUNK, at += CHUNK)
        if (zipWriteInFileInZip(w->zip, at, (unsigned)(size < CHUNK ? size : CHUNK)) != ZIP_OK)
            return error_text("%s: writing stopped: %s", w->path, strerror(errno));
    return NULL;
}

/* Dated 1980-01-01, the first date of the format, so that equal content makes an equal file. */
static const char *begin_npz(npz_writer *w, const char *name)
{
    static const zip_fileinfo info = {.tmz_date = {.tm_mday = 1, .tm_year = 1980}};
    char file[NPZ_NAME + 8];
    snprintf(file, sizeof file, "%s.npy", name);
    if (zipOpenNewFileInZip64(w->zip, file, &info, NULL, 0, NULL, 0, NULL, 0, 0, 1) == ZIP_OK) return NULL;
    return error_text("%s: writing stopped: %s", w->path, strerror(errno));
}

static const char *end_npz(npz_writer *w, const char *wrong)
{
    bool good = zipCloseFileInZip(w->zip) == ZIP_OK;
    return wrong || good ? wrong : error_text("%s: writing stopped: %s", w->path, strerror(errno));
}

const char *npz_add(npz_writer *w, const char *name, const char *descr, int ndim, const int64_t *shape,
                    const void *data, size_t size)
{
    char header[NPY_HEADER];
    const char *wrong = begin_npz(w, name);
    if (wrong) return wrong;
    npy_header(header, descr, ndim, shape);
    wrong = put_npz(w, header, sizeof header);
    return end_npz(w, wrong ? wrong : put_npz(w, data, size));
}

static const char *put_file(npz_writer *w, FILE *from, const char *path)
{
    char *chunk = malloc(CHUNK);
    const char *wrong = chunk ? NULL : "out of memory for a recording";
    rewind(from);
    for (size_t n = 1; n > 0 && !wrong;) {
        n = fread(chunk, 1, CHUNK, from);
        wrong = put_npz(w, chunk, n);
    }
    if (!wrong && ferror(from)) wrong = error_text("%s: cannot be read: %s", path, strerror(errno));
    free(chunk);
    return wrong;
}

const char *npz_add_npy(npz_writer *w, const char *name, npy_writer *from)
{
    const char *wrong = begin_npz(w, name);
    return wrong ? wrong : end_npz(w, put_file(w, from->out.file, from->path));
}

const char *npz_close(npz_writer *w)
{
    const char *wrong = NULL;
    bool good = zipClose(w->zip, NULL) == ZIP_OK;
    int error = errno;
    w->zip = NULL;
    if (good)
        wrong = sti_output_commit(&w->out);
    else
        wrong = strerror(error), sti_output_drop(&w->out);
    return wrong ? error_text("%s: writing stopped: %s", w->path, wrong) : NULL;
}

void npz_drop(npz_writer *w)
{
    (void)zipClose(w->zip, NULL);
    w->zip = NULL;
    sti_output_drop(&w->out);
}
