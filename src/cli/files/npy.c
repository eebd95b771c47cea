/* Reads and writes .npy; see npy.h. Source of the format: NumPy's documentation, "NEP 1: a simple file format". */
#include "cli/files/npy.h"

#include "cli/report_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void npy_header(char header[NPY_HEADER], const char *descr, int ndim, const int64_t *shape)
{
    memset(header, ' ', NPY_HEADER);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(NPY_HEADER - 10);
    header[9] = 0;
    char text[NPY_HEADER];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int k = 0; k < ndim; ++k)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld,%s", (long long)shape[k], k + 1 < ndim ? " " : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    memcpy(header + 10, text, (size_t)n);
    header[NPY_HEADER - 1] = '\n';
}

static size_t item_size(const char *descr)
{
    static const char *const known[] = {"<f4", "<f8", "<i4", "<i8", "|u1", "|b1"};
    static const size_t sizes[] = {4, 8, 4, 8, 1, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        if (strncmp(descr, known[i], 3) == 0) return sizes[i];
    return 0;
}

const char *npy_open(npy_writer *w, const char *path, const char *descr, int ndim, const int64_t *shape)
{
    memset(w, 0, sizeof *w);
    w->descr = descr;
    w->ndim = ndim;
    memcpy(w->shape, shape, sizeof *shape * (size_t)ndim);
    snprintf(w->path, sizeof w->path, "%s", path);
    const char *wrong = sti_output_open(&w->out, path);
    if (wrong) return error_text("%s: cannot be written: %s", path, wrong);
    char header[NPY_HEADER];
    npy_header(header, w->descr, w->ndim, w->shape);
    wrong = npy_append(w, header, NPY_HEADER);
    if (wrong) npy_drop(w);
    return wrong;
}

static const char *stopped(const npy_writer *w, int error)
{
    return error_text("%s: writing stopped: %s", w->path, strerror(error));
}

const char *npy_append(npy_writer *w, const void *data, size_t size)
{
    return fwrite(data, 1, size, w->out.file) == size ? NULL : stopped(w, errno);
}

static int64_t row_bytes(const npy_writer *w)
{
    int64_t n = (int64_t)item_size(w->descr);
    for (int k = 1; k < w->ndim; ++k) n *= w->shape[k];
    return n;
}

const char *npy_seal(npy_writer *w, int64_t rows)
{
    char header[NPY_HEADER];
    struct stat s = {0};
    bool whole = !ferror(w->out.file) && fflush(w->out.file) == 0;
    int error = errno;
    /* A newly opened stream has no buffered bytes to write later. */
    if (!whole) w->out.file = freopen(w->out.part, "r+b", w->out.file);
    if (!w->out.file || fstat(fileno(w->out.file), &s) != 0 || s.st_size < NPY_HEADER) return stopped(w, error);
    int64_t each = row_bytes(w), there = each > 0 ? (s.st_size - NPY_HEADER) / each : rows;
    w->shape[0] = there < rows ? there : rows;
    npy_header(header, w->descr, w->ndim, w->shape);
    bool good = pwrite(fileno(w->out.file), header, NPY_HEADER, 0) == NPY_HEADER &&
                ftruncate(fileno(w->out.file), NPY_HEADER + w->shape[0] * each) == 0;
    if (!good) return error = errno, npy_drop(w), stopped(w, error);
    return whole && there >= rows ? NULL : stopped(w, error);
}

const char *npy_close(npy_writer *w, int64_t rows)
{
    const char *wrong = npy_seal(w, rows);
    if (!w->out.file) return npy_drop(w), wrong;
    const char *at_close = sti_output_commit(&w->out);
    return wrong || !at_close ? wrong : error_text("%s: writing stopped: %s", w->path, at_close);
}

void npy_drop(npy_writer *w) { sti_output_drop(&w->out); }

const char *npy_write(const char *path, const char *descr, int ndim, const int64_t *shape, const void *data,
                      size_t size)
{
    npy_writer w;
    const char *wrong = npy_open(&w, path, descr, ndim, shape);
    if (wrong) return wrong;
    wrong = npy_append(&w, data, size);
    if (!wrong && fflush(w.out.file) != 0) wrong = stopped(&w, errno);
    if (!wrong) return npy_close(&w, shape[0]);
    npy_drop(&w);
    return wrong;
}

/* The text behind 'key': in the header's dictionary, or NULL. */
static const char *find_key(const char *text, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *p = strstr(text, quoted);
    if (!p) return NULL;
    p += strlen(quoted);
    while (*p == ' ' || *p == ':') ++p;
    return p;
}

static const char *read_shape(const char *text, npy_raw *out)
{
    const char *p = find_key(text, "shape");
    if (!p || *p != '(') return "has a header without a shape";
    out->ndim = 0;
    out->count = 1;
    for (++p; *p && *p != ')';) {
        char *end;
        long long n = strtoll(p, &end, 10);
        if (end == p || n < 0) return "has a shape that is not understood";
        if (out->ndim == NPY_MAX_DIMS) return "has more than 8 dimensions";
        if (n > 0 && out->count > INT64_MAX / 16 / n) return "is larger than memory can be";
        out->shape[out->ndim++] = n;
        out->count *= n;
        for (p = end; *p == ',' || *p == ' '; ++p) {
        }
    }
    return *p == ')' ? NULL : "has a shape that is not understood";
}

/* What the command computes with, of other arrays: these types. */
static bool is_read(const npy_raw *raw)
{
    char descr[4] = {raw->type == 'u' || raw->type == 'b' ? '|' : '<', raw->type, (char)('0' + raw->size), 0};
    return item_size(descr) > 0;
}

static double item(const npy_raw *raw, int64_t k)
{
    const unsigned char *p = raw->data + k * raw->size;
    float f;
    double d;
    int32_t i;
    int64_t l;
    if (raw->size == 1) return *p;
    if (raw->type == 'f' && raw->size == 4) return memcpy(&f, p, sizeof f), (double)f;
    if (raw->type == 'f') return memcpy(&d, p, sizeof d), d;
    if (raw->size == 4) return memcpy(&i, p, sizeof i), (double)i;
    return memcpy(&l, p, sizeof l), (double)l;
}

/* Bytes from the present position to the end; -1: unknown, for example for a pipe. */
static long bytes_left(FILE *f)
{
    long here = ftell(f);
    if (here < 0 || fseek(f, 0, SEEK_END) != 0) return -1;
    long end = ftell(f);
    return fseek(f, here, SEEK_SET) == 0 ? end - here : -1;
}

/* '<f4', '|u1' … */
static const char *read_type(const char *descr, npy_raw *out)
{
    bool known = strnlen(descr, 5) == 5 && descr[4] == '\''; /* of one digit */
    if (descr[1] == '>') return "is big endian; save it as float32";
    out->type = known ? descr[2] : 'f';
    out->size = known ? descr[3] - '0' : 0;
    known =
        known && strchr("fiub", out->type) && (out->size == 1 || out->size == 2 || out->size == 4 || out->size == 8);
    return known ? NULL : "holds numbers of a kind that is not read here; save it as float32 or float64";
}

static const char *read_header(FILE *f, npy_raw *out)
{
    unsigned char start[12];
    if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6) != 0) return "is not a .npy file";
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) { /* versions 2 and 3: four bytes of length */
        if (fread(start + 10, 1, 2, f) != 2) return "ends within its header";
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    char text[4096];
    if (length >= sizeof text) return "has a header that is too long to be an array's";
    if (fread(text, 1, length, f) != length) return "ends within its header";
    text[length] = 0;
    const char *descr = find_key(text, "descr"), *order = find_key(text, "fortran_order");
    if (!descr || *descr != '\'' || !order) return "has a header that is not understood";
    if (strncmp(order, "True", 4) == 0) return "is in Fortran order; save it with numpy.ascontiguousarray";
    const char *wrong = read_type(descr, out);
    return wrong ? wrong : read_shape(text, out);
}

const char *npy_read_raw(FILE *f, npy_raw *out)
{
    *out = (npy_raw){0};
    const char *wrong = read_header(f, out);
    size_t size = (size_t)out->size, count = (size_t)out->count;
    if (!wrong && bytes_left(f) < (long)(count * size)) wrong = "is shorter than its shape says";
    if (!wrong && !(out->data = malloc(count * size + 1))) wrong = "does not fit in memory";
    if (!wrong && fread(out->data, size, count, f) != count) wrong = "is shorter than its shape says";
    if (!wrong) return NULL;
    free(out->data);
    *out = (npy_raw){0};
    return wrong;
}

const char *npy_read_stream(FILE *f, npy_array *out)
{
    npy_raw raw;
    *out = (npy_array){0};
    const char *wrong = npy_read_raw(f, &raw);
    if (wrong) return wrong;
    if (!is_read(&raw)) wrong = "holds numbers of a kind that is not read here; save it as float32 or float64";
    if (!wrong && !(out->data = malloc(((size_t)raw.count + 1) * sizeof *out->data))) wrong = "does not fit in memory";
    if (!wrong) {
        out->ndim = raw.ndim;
        out->count = raw.count;
        memcpy(out->shape, raw.shape, sizeof out->shape);
        for (int64_t k = 0; k < raw.count; ++k) out->data[k] = item(&raw, k);
    }
    free(raw.data);
    return wrong;
}

const char *npy_read(const char *path, npy_array *out)
{
    memset(out, 0, sizeof *out);
    const char *wrong;
    FILE *f = sti_input_open(path, &wrong);
    if (!f) return error_text("%s: cannot be read: %s", path, wrong);
    wrong = npy_read_stream(f, out);
    fclose(f);
    return wrong ? error_text("%s %s", path, wrong) : NULL;
}
