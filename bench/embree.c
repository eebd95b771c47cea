/* Embree 4, loaded at run time; see embree.h. The declarations follow the reference of its version 4 (rtcore.h). */
#include "bench/embree.h"

#include "base/error.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#define PACKET ((ptrdiff_t)16)

/* Names of the interface: enumerators, then structures. */
enum {
    RTC_GEOMETRY_TYPE_TRIANGLE = 0,
    RTC_BUFFER_TYPE_INDEX = 0,
    RTC_BUFFER_TYPE_VERTEX = 1,
    RTC_FORMAT_UINT3 = 0x5003,
    RTC_FORMAT_FLOAT3 = 0x9003,
    RTC_BUILD_QUALITY_HIGH = 2,
    RTC_RAY_QUERY_FLAG_COHERENT = 1 << 16,
    RTC_FEATURE_FLAG_ALL = -1
};

typedef struct ray_hit { /* RTCRayHit */
    /* _Alignas aligns each declarator of its declaration. */
    _Alignas(16) float org[3];
    float tnear, dir[3], time, tfar;
    unsigned mask, id, flags;
    float normal[3], u, v;
    unsigned prim, geom, inst[2];
} ray_hit;

typedef struct ray_hit16 { /* RTCRayHit16 */
    _Alignas(64) float org[3][PACKET], tnear[PACKET], dir[3][PACKET], time[PACKET], tfar[PACKET];
    unsigned mask[PACKET], id[PACKET], flags[PACKET];
    float normal[3][PACKET], u[PACKET], v[PACKET];
    unsigned prim[PACKET], geom[PACKET], inst[2][PACKET];
} ray_hit16;

typedef struct arguments { /* RTCIntersectArguments */
    int flags, features;
    void *context, *filter, *intersect;
    float rest[4];
} arguments;

struct bench_embree {
    void *library, *device, *scene;
    void *(*new_device)(const char *config);
    void (*release_device)(void *device);
    void *(*new_scene)(void *device);
    void (*set_quality)(void *scene, int quality);
    void (*commit_scene)(void *scene);
    void (*release_scene)(void *scene);
    void *(*new_geometry)(void *device, int type);
    void *(*new_buffer)(void *geometry, int type, unsigned slot, int format, size_t stride, size_t count);
    void (*commit_geometry)(void *geometry);
    unsigned (*attach)(void *scene, void *geometry);
    void (*release_geometry)(void *geometry);
    void (*intersect1)(void *scene, ray_hit *ray, arguments *a);
    void (*intersect16)(const int *valid, void *scene, ray_hit16 *ray, arguments *a);
    bench_rays *rays;
    float *packed; /* [nrays / PACKET][6][PACKET]: origins and directions */
};

static const char *find_symbols(bench_embree *e)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"rtcNewDevice", &e->new_device},
                   {"rtcReleaseDevice", &e->release_device},
                   {"rtcNewScene", &e->new_scene},
                   {"rtcSetSceneBuildQuality", &e->set_quality},
                   {"rtcCommitScene", &e->commit_scene},
                   {"rtcReleaseScene", &e->release_scene},
                   {"rtcNewGeometry", &e->new_geometry},
                   {"rtcSetNewGeometryBuffer", &e->new_buffer},
                   {"rtcCommitGeometry", &e->commit_geometry},
                   {"rtcAttachGeometry", &e->attach},
                   {"rtcReleaseGeometry", &e->release_geometry},
                   {"rtcIntersect1", &e->intersect1},
                   {"rtcIntersect16", &e->intersect16}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
        void *found = dlsym(e->library, symbols[i].name);
        if (!found) return "its library lacks functions of version 4";
        memcpy(symbols[i].to, &found, sizeof found);
    }
    return NULL;
}

const char *bench_embree_load(bench_embree **out)
{
    static const char *const names[] = {STET_EMBREE, "libembree4.so.4"};
    bench_embree *e;
    *out = NULL;
    if (sti_alloc(&e, sizeof *e, "Embree") != STET_OK) return "there is no memory for it";
    for (size_t i = 0; i < sizeof names / sizeof *names && !e->library; ++i)
        if (*names[i]) e->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    const char *why = e->library ? find_symbols(e) : "it is not here; `tools/setup.sh bench` installs it";
    if (!why && !(e->device = e->new_device("threads=1,set_affinity=0"))) why = "it makes no device";
    if (why)
        bench_embree_close(e);
    else
        *out = e;
    return why;
}

void bench_embree_close(bench_embree *e)
{
    if (!e) return;
    if (e->scene) e->release_scene(e->scene);
    if (e->device) e->release_device(e->device);
    sti_free(e->packed);
    sti_free(e); /* the library stays: its threads may not have ended */
}

static stet_result pack_rays(bench_embree *e)
{
    const bench_rays *rays = e->rays;
    STI_TRY(sti_alloc(&e->packed, sizeof *e->packed * 6 * (size_t)rays->n, "rays"));
    for (int64_t i = 0; i < rays->n; ++i)
        for (int k = 0; k < 3; ++k) {
            float *at = e->packed + i / PACKET * 6 * PACKET + i % PACKET;
            at[k * PACKET] = (float)rays->eye[3 * i + k];
            at[(3 + k) * PACKET] = (float)rays->way[3 * i + k];
        }
    return STET_OK;
}

stet_result bench_embree_set(bench_embree *e, const float *triangles, int ntri, bench_rays *rays)
{
    if (rays->n % PACKET)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "bench render: rays are packets of %d", (int)PACKET);
    if (e->scene) e->release_scene(e->scene);
    sti_free(e->packed);
    e->packed = NULL;
    e->rays = rays;
    e->scene = e->new_scene(e->device);
    e->set_quality(e->scene, RTC_BUILD_QUALITY_HIGH);
    void *geometry = e->new_geometry(e->device, RTC_GEOMETRY_TYPE_TRIANGLE);
    float *vertex =
        e->new_buffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), 3 * (size_t)ntri);
    unsigned *index =
        e->new_buffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), (size_t)ntri);
    if (!vertex || !index) return sti_error(STET_ERROR_OUT_OF_MEMORY, "bench render: Embree has no memory");
    memcpy(vertex, triangles, sizeof *triangles * 9 * (size_t)ntri);
    for (int i = 0; i < 3 * ntri; ++i) index[i] = (unsigned)i;
    e->commit_geometry(geometry);
    (void)e->attach(e->scene, geometry);
    e->release_geometry(geometry);
    e->commit_scene(e->scene);
    return pack_rays(e);
}

stet_result bench_embree_single(void *embree)
{
    bench_embree *e = embree;
    arguments a = {.flags = RTC_RAY_QUERY_FLAG_COHERENT, .features = RTC_FEATURE_FLAG_ALL};
    for (int64_t i = 0; i < e->rays->n; ++i) {
        const float *from = e->packed + i / PACKET * 6 * PACKET + i % PACKET;
        ray_hit ray = {.org = {from[0], from[PACKET], from[2 * PACKET]},
                       .dir = {from[3 * PACKET], from[4 * PACKET], from[5 * PACKET]},
                       .tfar = INFINITY,
                       .mask = ~0u,
                       .geom = ~0u};
        e->intersect1(e->scene, &ray, &a);
        e->rays->depth[i] = (double)ray.tfar;
    }
    return STET_OK;
}

stet_result bench_embree_packets(void *embree)
{
    bench_embree *e = embree;
    arguments a = {.flags = RTC_RAY_QUERY_FLAG_COHERENT, .features = RTC_FEATURE_FLAG_ALL};
    _Alignas(64) int valid[PACKET];
    memset(valid, -1, sizeof valid);
    for (int64_t i = 0; i < e->rays->n; i += PACKET) {
        ray_hit16 ray;
        const float *from = e->packed + i / PACKET * 6 * PACKET;
        memcpy(ray.org, from, sizeof ray.org);
        memcpy(ray.dir, from + 3 * PACKET, sizeof ray.dir);
        for (int k = 0; k < PACKET; ++k) {
            ray.tnear[k] = ray.time[k] = 0;
            ray.tfar[k] = INFINITY;
            ray.mask[k] = ray.geom[k] = ~0u;
            ray.id[k] = ray.flags[k] = 0;
        }
        e->intersect16(valid, e->scene, &ray, &a);
        for (int k = 0; k < PACKET; ++k) e->rays->depth[i + k] = (double)ray.tfar[k];
    }
    return STET_OK;
}
