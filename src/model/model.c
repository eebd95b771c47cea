/*
 * Models: loading through MuJoCo, names, lifetime, and what tells one from another.
 *
 * Invariants:
 *   MODEL-1  a model never changes after loading, so any thread may read it
 *   MODEL-2  every call of MuJoCo that may report an error is guarded, and its messages become one sentence
 */
#include "model/model.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/files.h"
#include "model/guard.h"
#include "model/limits.h"
#include "model/packages.h"
#include "model/plugins.h"
#include "model/spec.h"
#include "model/vfs.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_SIZE = 1024 };

/* ---- loading ---------------------------------------------------------------------------------------------------- */

typedef struct load {
    stet_model_def def;
    const char *path;  /* or NULL */
    const char *xml;   /* or NULL */
    const void *bytes; /* of a compiled model, or NULL */
    int64_t size;
    bool checked; /* the bytes are as they were written */
    bool urdf;
    sti_package_text packages; /* of URDF */
    sti_vfs vfs;               /* files in memory */
    mjSpec *spec;
    mjModel *mj;
    char text[TEXT_SIZE]; /* why there is no model */
} load;

/* Meshes of packages have names of their own in the text that was parsed. */
static void place_meshes(load *l)
{
    for (mjsElement *e = mjs_firstElement(l->spec, mjOBJ_MESH); e; e = mjs_nextElement(l->spec, e)) {
        mjsMesh *mesh = mjs_asMesh(e);
        const char *file = mjs_getString(mesh->file);
        for (int i = 0; file && i < l->packages.count; ++i)
            if (strcmp(file, l->packages.file[i].name) == 0) {
                mjs_setString(mesh->file, l->packages.file[i].path);
                break;
            }
    }
}

static void parse(void *context)
{
    load *l = context;
    l->spec = l->path ? mj_parseXML(l->path, sti_vfs_files(&l->vfs), l->text, TEXT_SIZE)
                      : mj_parseXMLString(l->packages.text ? l->packages.text : l->xml, sti_vfs_files(&l->vfs), l->text,
                                          TEXT_SIZE);
    if (l->spec && l->urdf) place_meshes(l);
}

static void compile(void *context)
{
    load *l = context;
    l->mj = mj_compile(l->spec, sti_vfs_files(&l->vfs));
    if (!l->mj) (void)snprintf(l->text, sizeof l->text, "%s", mjs_getError(l->spec));
    for (int i = 0; i < mjs_numWarnings(l->spec); ++i) {
        const char *warning = mjs_getWarning(l->spec, i);
        if (warning) sti_log(STET_LOG_WARNING, "%s: MuJoCo: %s", l->path ? l->path : "model string", warning);
    }
}

static void read_compiled(void *context)
{
    load *l = context;
    l->mj = l->bytes ? mj_loadModelBuffer(l->bytes, l->size) : mj_loadModel(l->path, NULL);
}

/* What a damaged model may end in: it is loaded, and a step of it begun. */
static void try_compiled(void *context)
{
    load *l = context;
    read_compiled(l);
    mjData *d = l->mj && l->mj->nplugin == 0 ? mj_makeData(l->mj) : NULL;
    if (d) mj_forward(l->mj, d);
}
static void guard_compiled(void *context) { (void)sti_mujoco_guard(try_compiled, context, NULL, 0); }

static void delete_spec(void *context) { mj_deleteSpec(context); }
static void delete_model(void *context) { mj_deleteModel(context); }

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcmp(path + n - k, suffix) == 0;
}

static bool is_binary(const load *l) { return l->bytes || (l->path && has_suffix(l->path, ".mjb")); }

/*
 * Joins several lines into one: after a colon by a space, elsewhere by a comma; removes repeated and trailing blanks.
 */
static void one_line(char text[TEXT_SIZE])
{
    char line[2 * TEXT_SIZE]; /* the end of a line may become two characters */
    size_t to = 0;
    for (const char *from = text; *from; ++from) {
        bool end = *from == '\n' || *from == '\r', blank = end || *from == ' ' || *from == '\t';
        if (!blank) {
            line[to++] = *from;
        } else if (to > 0 && line[to - 1] != ' ') {
            if (end && !strchr(":,;.", line[to - 1])) line[to++] = ',';
            line[to++] = ' ';
        }
    }
    while (to > 0 && strchr(" ,;.", line[to - 1])) --to;
    assert(to < sizeof line);
    line[to] = 0;
    (void)snprintf(text, TEXT_SIZE, "%.*s", TEXT_SIZE - 1, line);
}

/*
 * A binary model refers to its plugins by their numbers in the process that saved it. Another process may have another
 * plugin under such a number, or none.
 */
static stet_result check_plugins(load *l)
{
    if (!is_binary(l) || l->mj->nplugin == 0) return STET_OK;
    (void)sti_mujoco_guard(delete_model, l->mj, NULL, 0);
    l->mj = NULL;
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "%s: a binary model with plugins holds only in the process that saved it; load its XML instead",
                     l->path ? l->path : "model");
}

/* What MuJoCo's compiler lets through, and its steps do not do. */
static stet_result check_options(load *l, const char *what)
{
    assert(l->mj);
    double step = l->mj->opt.timestep;
    if (step > 0 && step <= 1e9) return STET_OK;
    (void)sti_mujoco_guard(delete_model, l->mj, NULL, 0);
    l->mj = NULL;
    return sti_error(STET_ERROR_PARSE, "%s: its option timestep is %g; give seconds above 0", what, step);
}

static stet_result run_binary(load *l, const char *what, bool *good, char text[TEXT_SIZE])
{
    assert(is_binary(l));
    if (!l->checked && !sti_limits_survives(guard_compiled, l))
        return sti_error(STET_ERROR_PARSE,
                         "%s: MuJoCo crashes, or hangs, while it loads this compiled model, so it is damaged; make it "
                         "again from its XML",
                         what);
    *good = sti_mujoco_guard(read_compiled, l, text, TEXT_SIZE);
    return STET_OK;
}

/* Is the first element a <robot>? */
static bool is_urdf(const char *text)
{
    for (const char *p = text; (p = strchr(p, '<')); ++p) {
        if (strncmp(p, "<!--", 4) == 0) {
            if (!(p = strstr(p, "-->"))) return false;
        } else if (p[1] != '?' && p[1] != '!') {
            return strncmp(p, "<robot", 6) == 0 && strchr(" \t\r\n/>", p[6]);
        }
    }
    return false;
}

/* Finds the files of packages. */
static stet_result read_urdf(load *l, const char *text)
{
    sti_package_path path = {.folder = l->def.packages, .nfolder = l->def.npackage, .beside = l->path};
    l->urdf = text && is_urdf(text);
    return l->urdf ? sti_package_text_make(&path, text, &l->packages) : STET_OK;
}

/* Puts into memory what MuJoCo shall find there: the assets, and the file's text if it was changed. */
static stet_result fill_vfs(load *l, const char *what)
{
    for (int i = 0; i < l->def.nasset; ++i) {
        const stet_asset *asset = &l->def.assets[i];
        STI_TRY(sti_vfs_add(&l->vfs, what, asset->name, asset->bytes, asset->size));
    }
    if (!l->path || !l->packages.text) return STET_OK;
    return sti_vfs_add(&l->vfs, what, l->path, l->packages.text, (int64_t)strlen(l->packages.text));
}

static stet_result run_spec(load *l, const char *what, bool *good, char text[TEXT_SIZE])
{
    *good = sti_mujoco_guard(parse, l, text, TEXT_SIZE);
    if (!*good || !l->spec) return STET_OK;
    STI_TRY(sti_limits_check_spec(what, l->spec));
    const stet_model_def *def = &l->def;
    sti_spec_more more = {.frames = l->urdf, .actuation = def->actuation, .kp = def->kp, .kd = def->kd};
    STI_TRY(sti_spec_extend(what, l->spec, &more));
    *good = sti_mujoco_guard(compile, l, text, TEXT_SIZE);
    return STET_OK;
}

static stet_result run_text(load *l, const char *what, bool *good, char text[TEXT_SIZE])
{
    assert(!l->bytes && !l->spec);
    char *file = l->path ? sti_model_read_text(l->path) : NULL;
    stet_result result = read_urdf(l, l->path ? file : l->xml);
    free(file);
    if (result == STET_OK) result = fill_vfs(l, what);
    if (result == STET_OK) result = run_spec(l, what, good, text);
    if (l->spec) (void)sti_mujoco_guard(delete_spec, l->spec, NULL, 0);
    sti_vfs_close(&l->vfs);
    return result;
}

/* A package that was not found is why MuJoCo looked for its file elsewhere. */
static stet_result refuse_package(const load *l, const char *what)
{
    return sti_error(STET_ERROR_NOT_FOUND,
                     "%s: %s is in none of %d folders of packages, ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the folders "
                     "above the model; give the folder that holds the package (Python: packages=, C: "
                     "stet_model_def.packages)",
                     what, l->packages.missing, l->def.npackage);
}

/* Loads the model into l->mj. */
static stet_result run_load(load *l)
{
    const char *what = l->path ? l->path : "model string";
    char text[TEXT_SIZE] = "";
    bool good = false;
    assert(!l->mj && (l->path || l->xml || l->bytes) && !(l->xml && l->bytes) && "one thing is loaded, once");
    STI_TRY(stet_check_mujoco());
    sti_load_plugins();
    stet_result result = is_binary(l) ? run_binary(l, what, &good, text) : run_text(l, what, &good, text);
    if (result == STET_OK && !l->mj && l->packages.missing[0]) result = refuse_package(l, what);
    sti_package_text_free(&l->packages);
    STI_TRY(result);
    if (good && l->mj) {
        STI_TRY(check_plugins(l));
        return check_options(l, what);
    }
    char *why = good && l->text[0] ? l->text : text;
    one_line(why);
    return sti_error(STET_ERROR_PARSE, "%s: MuJoCo cannot load it: %s; correct the model there", what,
                     why[0] ? why : "it gives no cause");
}

typedef struct looked {
    const char *path; /* of the model */
    stet_result result;
} looked;

/* MuJoCo would wait forever at a named pipe, and for a long time at what a text repeats (LIMITS-1). */
static bool look_at(void *context, const char *path, const struct stat *about)
{
    looked *k = context;
    const char *why = sti_file_not_plain(about->st_mode);
    if (why)
        k->result = sti_error(STET_ERROR_IO, "%s: it names %.400s: %s", k->path, path, why);
    else if (!has_suffix(path, ".mjb") && (strcmp(path, k->path) == 0 || has_suffix(path, ".xml")))
        k->result = sti_limits_check_file(path);
    return k->result == STET_OK;
}

/* Reports errors of the file itself before MuJoCo reads it. */
static stet_result check_file(const char *path)
{
    struct stat s;
    if (!path[0]) return sti_error(STET_ERROR_NOT_FOUND, "model: the path is empty; give a .xml, .urdf or .mjb file");
    if (stat(path, &s) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return sti_error(STET_ERROR_NOT_FOUND,
                             "%s: no such file; check the path (it is relative to the working directory)", path);
        return sti_error(STET_ERROR_IO, "%s: cannot be looked at: %s; check its path and permissions", path,
                         strerror(errno));
    }
    if (S_ISDIR(s.st_mode))
        return sti_error(STET_ERROR_IO, "%s: this is a folder; give the .xml, .urdf or .mjb file in it", path);
    if (!S_ISREG(s.st_mode))
        return sti_error(STET_ERROR_IO, "%s: not a plain file; save the model to a file first", path);
    if (access(path, R_OK) != 0)
        return sti_error(STET_ERROR_IO, "%s: cannot be read: %s; check its permissions", path, strerror(errno));
    if (s.st_size == 0)
        return sti_error(STET_ERROR_PARSE,
                         "%s: the file is empty; it should hold an MJCF <mujoco> or a URDF <robot> element", path);
    looked k = {.path = path};
    (void)sti_model_files(path, look_at, &k);
    return k.result;
}

/* Makes a model of l->mj, which it owns from now on, also on failure. */
static stet_result make_model(load *l, stet_model **out)
{
    stet_model *model = NULL;
    stet_result result = sti_alloc(&model, sizeof *model, "a model");
    if (result == STET_OK) result = sti_strdup(&model->path, l->path ? l->path : "");
    if (result != STET_OK) {
        sti_free(model);
        (void)sti_mujoco_guard(delete_model, l->mj, NULL, 0);
        return result;
    }
    model->mj = l->mj;
    model->version = sti_version_new();
    model->references = 1;
    *out = model;
    return STET_OK;
}

enum { MODEL_COOKIE = 0x6d6f6465 };

stet_model_def stet_default_model_def(void) { return (stet_model_def){.cookie = MODEL_COOKIE}; }

static stet_result check_def(const stet_model_def *def)
{
    if (!def || def->cookie != MODEL_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_model_create: the def %s; begin with stet_default_model_def()",
                         def ? "was made by something else" : "is NULL");
    if (!def->path == !def->xml)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_create: path and xml are %s; give one of them",
                         def->path ? "both given" : "NULL");
    if (def->nasset < 0 || (def->nasset > 0 && !def->assets) || def->npackage < 0 ||
        (def->npackage > 0 && !def->packages) || def->actuation < STET_ACTUATION_NONE ||
        def->actuation > STET_ACTUATION_VELOCITY)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_model_create: %d assets, %d packages, actuation %d; give arrays of as many, and a "
                         "stet_actuation",
                         def->nasset, def->npackage, (int)def->actuation);
    return STET_OK;
}

static stet_result check_assets(const stet_model_def *def)
{
    for (int i = 0; i < def->nasset; ++i) {
        const stet_asset *asset = &def->assets[i];
        if (!asset->name || !asset->bytes || asset->size <= 0 || !has_suffix(asset->name, ".xml")) continue;
        char *text = NULL; /* which ends with a 0 */
        STI_TRY(sti_alloc(&text, (size_t)asset->size + 1, "a model's text"));
        memcpy(text, asset->bytes, (size_t)asset->size);
        stet_result result = sti_limits_check_text(asset->name, text);
        sti_free(text);
        STI_TRY(result);
    }
    return STET_OK;
}

stet_result stet_model_create(const stet_model_def *def, stet_model **out)
{
    if (!out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_create: out is NULL; give the place for the model");
    *out = NULL;
    STI_TRY(check_def(def));
    STI_TRY(def->path ? check_file(def->path) : sti_limits_check_text("model string", def->xml));
    STI_TRY(check_assets(def));
    load l = {.def = *def, .path = def->path, .xml = def->xml};
    if (l.xml && !l.xml[strspn(l.xml, " \t\r\n")])
        return sti_error(STET_ERROR_PARSE,
                         "model string: it is empty; it should hold an MJCF <mujoco> or a URDF <robot> element");
    if (is_binary(&l) && (def->nasset || def->actuation))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: a compiled model takes neither assets nor actuators",
                         def->path);
    STI_TRY(run_load(&l));
    return make_model(&l, out);
}

stet_result stet_model_load(const char *path, stet_model **out)
{
    if (out) *out = NULL;
    if (!path)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_load: path is NULL; give a .xml, .urdf or .mjb file");
    stet_model_def def = stet_default_model_def();
    def.path = path;
    return stet_model_create(&def, out);
}

stet_result stet_model_load_string(const char *xml, stet_model **out)
{
    if (out) *out = NULL;
    if (!xml)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_model_load_string: xml is NULL; give the text of an MJCF or URDF model");
    stet_model_def def = stet_default_model_def();
    def.xml = xml;
    return stet_model_create(&def, out);
}

/* Before the compiled model: what tells that it is one of ours, and its hash. */
typedef struct bytes_head {
    char mark[8];
    uint64_t hash;
} bytes_head;
static const char bytes_mark[8] = "stetmdl1";

/* Bytes without a head are a compiled model of MuJoCo's own. */
static stet_result open_bytes(load *l)
{
    bytes_head head;
    if (l->size < (int64_t)sizeof head || memcmp(l->bytes, bytes_mark, sizeof bytes_mark) != 0) return STET_OK;
    memcpy(&head, l->bytes, sizeof head);
    l->bytes = (const char *)l->bytes + sizeof head;
    l->size -= (int64_t)sizeof head;
    l->checked = head.hash == sti_hash_bytes(l->bytes, (size_t)l->size);
    if (l->checked) return STET_OK;
    return sti_error(STET_ERROR_PARSE,
                     "%s: the bytes of the model are damaged (their checksum differs); use another copy",
                     l->path ? l->path : "model");
}

stet_result stet_model_load_bytes(const void *bytes, int64_t size, const char *path, stet_model **out)
{
    if (!out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_model_load_bytes: out is NULL; give the place for the model");
    *out = NULL;
    if (!bytes || !path)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_load_bytes: bytes and path must not be NULL");
    if (size <= 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_load_bytes: %lld bytes; give those of a model",
                         (long long)size);
    load l = {.path = path[0] ? path : NULL, .bytes = bytes, .size = size};
    STI_TRY(open_bytes(&l));
    STI_TRY(run_load(&l));
    return make_model(&l, out);
}

/* ---- life time -------------------------------------------------------------------------------------------------- */

void sti_model_retain(stet_model *model) { (void)__atomic_add_fetch(&model->references, 1, __ATOMIC_RELAXED); }

bool sti_model_sleeps(const mjModel *m)
{
    for (int64_t t = 0; m->opt.enableflags & mjENBL_SLEEP && t < m->ntree; ++t) {
        int policy = m->tree_sleep_policy[t];
        if (policy != mjSLEEP_NEVER && policy != mjSLEEP_AUTO_NEVER) return true;
    }
    return false;
}

void stet_model_destroy(stet_model *model)
{
    if (!model || __atomic_sub_fetch(&model->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    (void)sti_mujoco_guard(delete_model, (void *)model->mj, NULL, 0);
    sti_free(model->path);
    sti_free(model);
}

/* ---- what is in it ---------------------------------------------------------------------------------------------- */

stet_model_info stet_model_get_info(const stet_model *model)
{
    if (!model) return (stet_model_info){0};
    const mjModel *m = model->mj;
    return (stet_model_info){
#define COUNT(name) .name = (int)m->name
        COUNT(nq),
        COUNT(nv),
        COUNT(na),
        COUNT(nu),
        COUNT(nbody),
        COUNT(njnt),
        COUNT(ngeom),
        COUNT(nsite),
        COUNT(ncam),
        COUNT(nlight),
        COUNT(nmesh),
        COUNT(nhfield),
        COUNT(nmat),
        COUNT(nsensor),
        COUNT(nsensordata),
        COUNT(nkey),
        COUNT(nmocap),
        COUNT(neq),
        COUNT(ntendon),
#undef COUNT
        .timestep = m->opt.timestep,
    };
}

const char *stet_model_get_path(const stet_model *model) { return model ? model->path : ""; }

const char *stet_get_mujoco_version(void) { return mj_versionString(); }

stet_result stet_check_mujoco(void)
{
    if (mj_version() == mjVERSION_HEADER) return STET_OK;
    return sti_error(
        STET_ERROR_UNSUPPORTED,
        "MuJoCo: this library was built for MuJoCo %d.%d.%d and finds %s; give it the library of that release, or "
        "build it for the one that is here",
        mjVERSION_HEADER / 1000000, mjVERSION_HEADER / 1000 % 1000, mjVERSION_HEADER % 1000, mj_versionString());
}

/* ---- the model as bytes, and their fingerprint ------------------------------------------------------------------- */

typedef struct packing {
    const mjModel *m;
    void *buffer;
    mjtSize size;
} packing;

static void pack_model(void *context)
{
    packing *p = context;
    mj_saveModel(p->m, NULL, p->buffer, p->size);
}

static stet_result pack(packing *p)
{
    char text[256];
    if (sti_mujoco_guard(pack_model, p, text, sizeof text)) return STET_OK;
    return sti_error(STET_ERROR_DEVICE, "model: MuJoCo could not write the model into memory: %s", text);
}

int64_t stet_model_get_size(const stet_model *model)
{
    return model ? (int64_t)sizeof(bytes_head) + mj_sizeModel(model->mj) : 0;
}

stet_result stet_model_save_bytes(const stet_model *model, void *bytes, int64_t size)
{
    if (!model || !bytes)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_save_bytes: model and bytes must not be NULL");
    if (size != stet_model_get_size(model))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_model_save_bytes: room for %lld bytes; there are %lld",
                         (long long)size, (long long)stet_model_get_size(model));
    if (model->mj->nplugin > 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "model: it has plugins, which have other numbers in another process; load its XML there");
    bytes_head head;
    packing p = {.m = model->mj, .buffer = (char *)bytes + sizeof head, .size = size - (int64_t)sizeof head};
    STI_TRY(pack(&p));
    memcpy(head.mark, bytes_mark, sizeof head.mark);
    head.hash = sti_hash_bytes(p.buffer, (size_t)p.size);
    memcpy(bytes, &head, sizeof head);
    return STET_OK;
}

stet_result sti_model_fingerprint(const stet_model *model, uint64_t *out)
{
    packing p = {.m = model->mj, .size = mj_sizeModel(model->mj)};
    STI_TRY(sti_alloc(&p.buffer, (size_t)p.size, "the model's fingerprint"));
    stet_result result = pack(&p);
    *out = sti_hash_bytes(p.buffer, (size_t)p.size);
    sti_free(p.buffer);
    return result;
}
