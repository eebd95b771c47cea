/* See output.h. */
#include "cli/pictures/output.h"

#include "cli/pictures/mosaic.h"
#include "cli/files/npy.h"
#include "cli/report_error.h"

#include "base/file.h"

#include <ctype.h>
#include <limits.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_memory =
    "out of memory for the pictures to write; ask for fewer worlds or smaller pictures";
static const char *const long_name = "the folder's name is too long; use a shorter one";

/* Copies of an output of all cameras in all worlds; buffers: what the caller frees of them. */
static const char *read_tensors(stet_sim *sim, stet_group *group, int64_t frame, stet_output output,
                                const void **tensors, void **buffers)
{
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c) {
        stet_array *tensor;
        if (stet_sim_get_array(sim, frame, c, output, &tensor) != STET_OK) return stet_get_last_error();
        const char *wrong = whole_read(group, tensor, &tensors[c], &buffers[c]);
        if (wrong) return wrong;
    }
    return NULL;
}

/* 8-bit RGB (channels 3) or RGBA (4), rows from the top. */
static const char *write_png(const char *path, int width, int height, int channels, const uint8_t *pixels)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = (png_uint_32)width,
        .height = (png_uint_32)height,
        .format = channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB,
    };
    sti_output out;
    const char *wrong = sti_output_open(&out, path);
    if (!wrong && png_image_write_to_stdio(&image, out.file, 0, pixels, 0, NULL))
        wrong = sti_output_commit(&out);
    else if (!wrong)
        sti_output_drop(&out), wrong = image.message;
    return wrong ? error_text("%s: the picture could not be written: %s", path, wrong) : NULL;
}

mosaic_layout output_layout(stet_sim *sim, const stet_group *group)
{
    int64_t width = 0;
    int height = 0;
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c) {
        const stet_camera *camera = stet_sim_get_camera(sim, c);
        width += camera->width;
        if (camera->height > height) height = camera->height;
    }
    return mosaic_plan(whole_nworld(group, stet_worlds_get_nworld(stet_sim_get_worlds(sim))), width, height);
}

const char *output_pixels(stet_sim *sim, stet_group *group, int64_t frame, stet_output output, const mosaic_layout *m,
                          uint8_t **pixels)
{
    size_t ncamera = (size_t)stet_sim_get_ncamera(sim);
    const void **tensors = calloc(ncamera, sizeof *tensors);
    void **buffers = calloc(ncamera, sizeof *buffers);
    bool writes = whole_writes(group);
    *pixels = writes ? malloc((size_t)m->width * (size_t)m->height * (size_t)mosaic_channels(output)) : NULL;
    const char *wrong = tensors && buffers && (*pixels || !writes)
                            ? read_tensors(sim, group, frame, output, tensors, buffers)
                            : no_memory;
    if (!wrong && writes) mosaic_fill(m, sim, output, tensors, *pixels);
    if (!wrong && writes && m->numbered) mosaic_number(m, mosaic_channels(output), *pixels);
    for (size_t c = 0; buffers && c < ncamera; ++c) free(buffers[c]);
    free(buffers);
    free(tensors);
    if (!wrong) return NULL;
    free(*pixels);
    *pixels = NULL;
    return wrong;
}

static const char *write_mosaic(stet_sim *sim, stet_group *group, int64_t frame, const mosaic_layout *m,
                                stet_output output, const char *path, file_list *files)
{
    uint8_t *pixels;
    const char *wrong = output_pixels(sim, group, frame, output, m, &pixels);
    if (wrong || !pixels) return wrong;
    wrong = write_png(path, m->width, m->height, mosaic_channels(output), pixels);
    free(pixels);
    if (wrong) return wrong;
    return file_list_add(files, path) ? NULL : no_memory;
}

/* number 0: without one */
static bool mosaic_path(stet_output output, const char *folder, int64_t number, char path[PATH_MAX])
{
    char suffix[32] = "";
    if (number > 0) snprintf(suffix, sizeof suffix, "-%05lld", (long long)number);
    return snprintf(path, PATH_MAX, "%s/mosaic-%s%s.png", folder, stet_output_name(output), suffix) < PATH_MAX;
}

const char *output_mosaics(stet_sim *sim, stet_group *group, int64_t frame, const mosaic_layout *m, const char *folder,
                           int64_t number, file_list *files)
{
    const char *wrong = NULL;
    for (int k = 0; k < STET_OUTPUT_COUNT && !wrong; ++k) {
        stet_output output = (stet_output)k;
        char path[PATH_MAX];
        if (!(stet_sim_get_outputs(sim) & 1u << k)) continue;
        if (!mosaic_path(output, folder, number, path)) wrong = long_name;
        if (!wrong) wrong = write_mosaic(sim, group, frame, m, output, path, files);
    }
    return wrong;
}

/* A camera's name as part of a file name: everything but letters, digits, '.', '_' and '-' becomes '_'. */
static void file_part(const stet_sim *sim, int camera, char *out, size_t size)
{
    const char *name = stet_sim_get_camera(sim, camera)->name;
    size_t n = 0;
    for (; name[n] && n + 1 < size; ++n)
        out[n] = isalnum((unsigned char)name[n]) || name[n] == '.' || name[n] == '_' ? name[n]
                 : name[n] == '-'                                                    ? '-'
                                                                                     : '_';
    out[n] = 0;
}

static bool part_is_taken(const stet_sim *sim, int camera, const char *part)
{
    char other[80];
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c) {
        file_part(sim, c, other, sizeof other);
        if (c != camera && strcmp(part, other) == 0) return true;
    }
    return false;
}

bool output_tensor_path(const stet_sim *sim, int camera, stet_output output, const char *folder, const char *prefix,
                        char path[PATH_MAX])
{
    char part[80] = "", number[16] = "";
    bool several = stet_sim_get_ncamera(sim) > 1;
    if (several) {
        file_part(sim, camera, part, sizeof part);
        if (!*part || part_is_taken(sim, camera, part)) snprintf(number, sizeof number, "-%d", camera);
    }
    return snprintf(path, PATH_MAX, "%s/%s%s%s%s%s.npy", folder, prefix, stet_output_name(output), several ? "-" : "",
                    part, number) < PATH_MAX;
}

const char *output_descr(stet_output output)
{
    stet_dtype dtype = stet_output_dtype(output);
    return dtype == STET_DTYPE_U8 ? "|u1" : dtype == STET_DTYPE_INT ? "<i4" : "<f4";
}

static const char *write_tensor(stet_sim *sim, stet_group *group, int64_t frame, int camera, stet_output output,
                                const char *folder, file_list *files)
{
    char path[PATH_MAX];
    stet_array *tensor;
    whole_file f;
    if (!output_tensor_path(sim, camera, output, folder, "", path)) return long_name;
    if (stet_sim_get_array(sim, frame, camera, output, &tensor) != STET_OK) return stet_get_last_error();
    int ndim = stet_array_get_ndim(tensor);
    int64_t shape[NPY_MAX_DIMS];
    memcpy(shape, stet_array_get_shape(tensor), (size_t)ndim * sizeof *shape);
    shape[0] = whole_nworld(group, shape[0]);
    const char *wrong = whole_open(&f, group, true, path, output_descr(output), ndim, shape);
    if (!wrong) wrong = whole_append(&f, tensor);
    if (!wrong) wrong = whole_close(&f, shape[0]);
    whole_drop(&f);
    if (wrong) return wrong;
    return file_list_add(files, path) ? NULL : no_memory;
}

static bool has_ids(stet_output output)
{
    return output == STET_OUTPUT_SEG_GEOM || output == STET_OUTPUT_SEG_BODY || output == STET_OUTPUT_SEG_TYPE;
}

static bool ids_path(stet_output output, const char *folder, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/ids-%s.csv", folder, stet_output_name(output)) < PATH_MAX;
}

/* A field of a CSV file, in quotes. */
static void print_quoted(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text; ++text) fputs(*text == '"' ? "\"\"" : (char[]){*text, 0}, file);
    putc('"', file);
}

/* What the ids of an output are, and their colours in mosaics. */
static const char *write_ids(stet_sim *sim, stet_output output, const char *folder, file_list *files)
{
    char path[PATH_MAX];
    stet_id_table *table;
    sti_output out;
    if (!ids_path(output, folder, path)) return long_name;
    if (stet_id_table_create(stet_sim_get_stage(sim), output, &table) != STET_OK) return stet_get_last_error();
    const char *wrong = sti_output_open(&out, path);
    if (!wrong) {
        fputs("id,name,colour\n", out.file);
        for (int k = 0; k < stet_id_table_get_nrow(table); ++k) {
            stet_id_row row = stet_id_table_get_row(table, k);
            fprintf(out.file, "%d,", row.id);
            print_quoted(out.file, row.name);
            fprintf(out.file, ",#%02x%02x%02x\n", row.colour[0], row.colour[1], row.colour[2]);
        }
        wrong = sti_output_commit(&out);
    }
    stet_id_table_destroy(table);
    if (wrong) return error_text("%s: the table of ids could not be written: %s", path, wrong);
    return file_list_add(files, path) ? NULL : no_memory;
}

const char *output_tensors(stet_sim *sim, stet_group *group, int64_t frame, const char *folder, file_list *files)
{
    const char *wrong = NULL;
    for (int k = 0; k < STET_OUTPUT_COUNT && !wrong; ++k) {
        stet_output output = (stet_output)k;
        if (!(stet_sim_get_outputs(sim) & 1u << k)) continue;
        for (int c = 0; c < stet_sim_get_ncamera(sim) && !wrong; ++c)
            wrong = write_tensor(sim, group, frame, c, output, folder, files);
        if (!wrong && has_ids(output) && whole_writes(group)) wrong = write_ids(sim, output, folder, files);
    }
    return wrong;
}

static int visit_output(stet_sim *sim, stet_output output, const char *folder, int64_t number, output_visit *visit,
                        void *context)
{
    char path[PATH_MAX];
    int code = mosaic_path(output, folder, number, path) ? visit(context, path) : -1;
    for (int c = 0; c < stet_sim_get_ncamera(sim) && number == 0 && code < 0; ++c)
        if (output_tensor_path(sim, c, output, folder, "", path)) code = visit(context, path);
    if (number == 0 && code < 0 && has_ids(output) && ids_path(output, folder, path)) code = visit(context, path);
    return code;
}

int output_frame_files(stet_sim *sim, const char *folder, output_visit *visit, void *context)
{
    char path[PATH_MAX];
    int code = -1;
    for (int k = 0; k < STET_OUTPUT_COUNT; ++k)
        for (int c = 0; c < stet_sim_get_ncamera(sim) && code < 0 && stet_sim_get_outputs(sim) >> k & 1; ++c)
            if (output_tensor_path(sim, c, (stet_output)k, folder, "frames-", path)) code = visit(context, path);
    return code;
}

int output_files(stet_sim *sim, const char *folder, int64_t number, output_visit *visit, void *context)
{
    int code = -1;
    for (int k = 0; k < STET_OUTPUT_COUNT && code < 0; ++k)
        if (stet_sim_get_outputs(sim) & 1u << k)
            code = visit_output(sim, (stet_output)k, folder, number, visit, context);
    return code;
}
