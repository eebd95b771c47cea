/*
 * Arrays from device to device: over the doubles of NCCL and RCCL, by a transport that takes their GPUs' memory, over
 * CPUs, and over a mixture, with the same bits.
 */
#include "group/ranks.h"

#include "base/dice.h"
#include "device/rig.h"
#include "double/nccl/nccl.h"
#include "double/rig.h"
#include "group/link.h"
#include "kernel/record/record.h"

#include <math.h>
#include <stdio.h>

enum { MOST_RANKS = 4, MOST_WORLDS = 40, MOST_NUMBERS = 1500 };
typedef enum kind { CPU, CUDA, HIP } kind;

static const double_control *driver[3];
static const nccl_double_control *nccl[3];
static _Atomic int64_t taken; /* pieces of a GPU's memory that the transport was given */

typedef struct job {
    int nrank;
    kind kind[MOST_RANKS];
    const char *isa[MOST_RANKS], *library[MOST_RANKS];
    const char *(*why_no_gpu[MOST_RANKS])(void *context, stet_device_type type); /* of the transport */
    int index[MOST_RANKS];                                                       /* of the GPU */
    int64_t nworld, own[MOST_RANKS], n;
    bool worlds;             /* arrays of worlds, else plain ones */
    const float *values;     /* [nworld][n] */
    bool beside[MOST_RANKS]; /* something went on beside the stream in use */
    float *early[MOST_RANKS], *sum[MOST_RANKS], *shared[MOST_RANKS], *gathered, *scattered,
        *streamed; /* the last three [nworld][n] */
    stet_result result[MOST_RANKS];
    char said[MOST_RANKS][512], link[MOST_RANKS][512];
} job;

static stet_result open_rank(const job *j, int rank, stet_device **out)
{
    stet_device_def def = stet_default_device_def();
    bool hip = j->kind[rank] == HIP;
    def.type = j->kind[rank] == CPU ? STET_DEVICE_CPU : hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    def.threads = 1;
    if (j->kind[rank] == CPU) {
        def.isa = j->isa[rank];
    } else {
        def.gpu.index = j->index[rank];
        def.gpu.library = def.gpu.compiler_library = hip ? DOUBLE_HIP : DOUBLE_CUDA;
        def.cache_folder = double_cache_folder();
    }
    return stet_device_create(&def, out);
}

typedef struct rank_arrays {
    stet_array *own, *back, *all, *sum, *shared, *early, *late;
} rank_arrays;

static stet_result make_arrays(const job *j, stet_device *device, const stet_group *g, rank_arrays *a)
{
    int64_t own = stet_group_get_own(g);
    STI_TRY(STI_ARRAY(device, "own", STET_DTYPE_REAL, j->worlds, &a->own, own, j->n));
    STI_TRY(STI_ARRAY(device, "back", STET_DTYPE_REAL, j->worlds, &a->back, own, j->n));
    STI_TRY(STI_ARRAY(device, "sum", STET_DTYPE_REAL, false, &a->sum, j->n));
    STI_TRY(STI_ARRAY(device, "shared", STET_DTYPE_REAL, false, &a->shared, j->n));
    STI_TRY(STI_ARRAY(device, "early", STET_DTYPE_REAL, false, &a->early, j->n));
    STI_TRY(STI_ARRAY(device, "late", STET_DTYPE_REAL, false, &a->late, j->n));
    if (stet_group_get_rank(g) == 0)
        STI_TRY(STI_ARRAY(device, "all", STET_DTYPE_REAL, j->worlds, &a->all, j->nworld, j->n));
    const float *from = j->values + stet_group_get_first(g) * j->n;
    if (stet_group_get_rank(g) == 0) STI_TRY(stet_array_write(a->shared, from, (size_t)j->n * sizeof *from));
    return stet_array_write(a->own, from, stet_array_get_bytes(a->own));
}

static void destroy_arrays(const rank_arrays *a)
{
    stet_array_destroy(a->own);
    stet_array_destroy(a->back);
    stet_array_destroy(a->all);
    stet_array_destroy(a->sum);
    stet_array_destroy(a->shared);
    stet_array_destroy(a->early);
    stet_array_destroy(a->late);
}

/* Work of the stream in use does not wait for what has begun: `late` may not be there yet. */
static stet_result work_beside(job *j, int rank, const rank_arrays *a)
{
    static const float none[MOST_NUMBERS];
    size_t size = (size_t)j->n * sizeof *none;
    STI_TRY(sti_record_copy(a->early, a->shared));
    STI_TRY(stet_device_synchronize(a->early->device));
    if (j->kind[rank] == CPU) return STET_OK;
    const void *look = driver[j->kind[rank]]->look((uintptr_t)a->late->data);
    j->beside[rank] = look && memcmp(look, none, size) == 0;
    return STET_OK;
}

/* Everything is called once before it is read, so that nothing is in order because the host has waited. */
static stet_result exchange_arrays(job *j, stet_group *g, const rank_arrays *a)
{
    int rank = stet_group_get_rank(g);
    STI_TRY(stet_group_reduce(g, a->own, a->sum));
    STI_TRY(stet_group_gather_array(g, a->own, a->all));
    STI_TRY(stet_group_scatter_array(g, a->all, a->back));
    STI_TRY(stet_group_reduce_begin(g, a->back, a->late));
    STI_TRY(stet_group_gather_begin(g, a->back, a->all));
    STI_TRY(work_beside(j, rank, a));
    STI_TRY(stet_group_wait(g));
    STI_TRY(sti_record_copy(a->early, a->late));
    STI_TRY(stet_group_broadcast_array(g, a->shared));
    STI_TRY(stet_group_reduce_begin(g, a->own, a->late));
    STI_TRY(stet_group_reduce(g, a->back, a->sum));
    STI_TRY(stet_array_read(a->early, j->early[rank], (size_t)j->n * sizeof(float)));
    STI_TRY(stet_array_read(a->sum, j->sum[rank], (size_t)j->n * sizeof(float)));
    STI_TRY(stet_array_read(a->shared, j->shared[rank], (size_t)j->n * sizeof(float)));
    STI_TRY(stet_array_read(a->back, j->scattered + stet_group_get_first(g) * j->n, stet_array_get_bytes(a->back)));
    if (j->nworld == j->nrank && !j->worlds) { /* in place */
        STI_TRY(stet_group_reduce(g, a->back, a->back));
        STI_TRY(stet_array_read(a->back, j->early[rank], (size_t)j->n * sizeof(float)));
    }
    char *at = (char *)j->streamed;
    STI_TRY(sti_group_stream_array(g, a->own, sti_group_put, &at));
    return rank == 0 ? stet_array_read(a->all, j->gathered, stet_array_get_bytes(a->all)) : STET_OK;
}

static stet_result run_rank(job *j, int rank, stet_device *device, stet_group *g)
{
    rank_arrays a = {0};
    STI_TRY(stet_group_link(g, device, j->library[rank]));
    (void)snprintf(j->link[rank], sizeof j->link[rank], "%s", stet_group_get_link(g));
    stet_result result = make_arrays(j, device, g, &a);
    if (result == STET_OK) result = exchange_arrays(j, g, &a);
    destroy_arrays(&a);
    return result;
}

static void be_rank(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_device *device = NULL;
    stet_group *g = NULL;
    stet_group_def def = stet_default_group_def();
    def.transport = *transport;
    def.nworld = j->nworld;
    def.own = j->own[rank];
    def.transport.why_no_gpu = j->why_no_gpu[rank];
    stet_result result = stet_group_create(&def, &g);
    if (result == STET_OK) result = open_rank(j, rank, &device);
    if (result == STET_OK) result = run_rank(j, rank, device, g);
    j->result[rank] = result;
    (void)snprintf(j->said[rank], sizeof j->said[rank], "%s", result == STET_OK ? "" : stet_get_last_error());
    stet_group_destroy(g);
    stet_device_destroy(device);
}

/* ---- the doubles ------------------------------------------------------------------------------------------------- */

/* As GPU-aware MPI: a double's memory as it is now, without what is still to be done there. */
static const void *see_gpu(const void *data)
{
    for (int k = CUDA; k <= HIP; ++k) {
        const void *at = driver[k]->look((uintptr_t)data);
        if (!at) continue;
        ++taken;
        return at;
    }
    return data;
}

static const char *take_gpu(void *context, stet_device_type type) { return NULL; }

static const char *refuse_gpu(void *context, stet_device_type type)
{
    return type == STET_DEVICE_CUDA ? "a double of MPI without CUDA" : "a double of MPI without HIP";
}

static void start_doubles(uint64_t seed)
{
    static const char *const files[] = {NULL, DOUBLE_CUDA, DOUBLE_HIP}, *const ours[] = {NULL, DOUBLE_NCCL,
                                                                                         DOUBLE_RCCL};
    for (int k = CUDA; k <= HIP; ++k) {
        driver[k] = double_open(files[k]);
        double_config config = driver[k]->defaults();
        config.seed = seed;
        config.devices = MOST_RANKS;
        driver[k]->start(&config);
        void *object = dlopen(ours[k], RTLD_NOW | RTLD_LOCAL);
        if (!object) fail_msg("%s", dlerror());
        nccl_double_get_control_function *get;
        void *symbol = dlsym(object, "nccl_double_get_control");
        memcpy(&get, &symbol, sizeof get);
        nccl[k] = get();
        nccl[k]->start(NULL, 0, 0);
    }
    ranks_see = see_gpu;
    taken = 0;
}

static void expect_clean(void)
{
    for (int k = CUDA; k <= HIP; ++k) {
        double_expect_clean(driver[k]);
        double_alive alive = driver[k]->alive();
        if (alive.blocks || alive.host_blocks || alive.streams || alive.events || alive.contexts)
            fail_msg("left are %lld blocks, %lld of the host, %lld streams, %lld events, %lld contexts",
                     (long long)alive.blocks, (long long)alive.host_blocks, (long long)alive.streams,
                     (long long)alive.events, (long long)alive.contexts);
    }
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static float tree_sum(const job *j, int64_t i, int64_t at, int64_t size)
{
    if (size == 1) return j->values[at * j->n + i];
    float left = tree_sum(j, i, at, size / 2);
    return at + size / 2 < j->nworld ? left + tree_sum(j, i, at + size / 2, size / 2) : left;
}

static float values[MOST_WORLDS * MOST_NUMBERS], gathered[MOST_WORLDS * MOST_NUMBERS];
static float streamed[MOST_WORLDS * MOST_NUMBERS];
static float early[MOST_RANKS][MOST_NUMBERS];
static float scattered[MOST_WORLDS * MOST_NUMBERS], sums[MOST_RANKS][MOST_NUMBERS],
    shared_numbers[MOST_RANKS][MOST_NUMBERS];

static float any_number(uint64_t *d)
{
    return (float)ldexp((double)dice_below(d, 1 << 20) - (1 << 19), (int)dice_below(d, 30) - 30);
}

/* The bits of numbers that sums could treat in ways of their own: both zeros, denormals, infinities, several NaN. */
static float special_number(uint64_t *d)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x80000001, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0xffc00001, 0x7fffffff, 0x7fc12345};
    float number;
    memcpy(&number, &bits[dice_below(d, sizeof bits / sizeof *bits)], sizeof number);
    return number;
}

static job new_job(uint64_t *d, int nrank)
{
    job j = {.nrank = nrank, .nworld = nrank, .n = 3, .values = values, .gathered = gathered, .scattered = scattered};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        values[i] = dice_below(d, 8) == 0 ? special_number(d) : any_number(d);
    j.streamed = streamed;
    memset(gathered, 0, sizeof gathered);
    memset(streamed, 0, sizeof streamed);
    memset(scattered, 0, sizeof scattered);
    for (int r = 0; r < nrank; ++r) {
        j.sum[r] = sums[r];
        j.early[r] = early[r];
        j.shared[r] = shared_numbers[r];
        j.own[r] = -1;
        j.index[r] = r;
    }
    return j;
}

static void check_bits(const job *j)
{
    size_t row = (size_t)j->n * sizeof(float);
    for (int r = 0; r < j->nrank; ++r)
        if (j->result[r] != STET_OK) fail_msg("rank %d: %s", r, j->said[r]);
    assert_memory_equal(gathered, values, (size_t)j->nworld * row);
    assert_memory_equal(scattered, values, (size_t)j->nworld * row);
    assert_memory_equal(streamed, values, (size_t)j->nworld * row);
    for (int r = 0; r < j->nrank; ++r) {
        assert_memory_equal(shared_numbers[r], values, row);
        assert_memory_equal(early[r], sums[r], row);
        for (int64_t i = 0; i < j->n; ++i) {
            const uint32_t nan = 0x7fc00000;
            float right = tree_sum(j, i, 0, 64);
            if (isnan(right)) memcpy(&right, &nan, sizeof right);
            if (memcmp(&sums[r][i], &right, sizeof right) != 0)
                fail_msg("rank %d of %d: number %lld is %.9g and not %.9g", r, j->nrank, (long long)i,
                         (double)sums[r][i], (double)right);
        }
    }
}

/* Each rank has at least one world. */
static void divide_at_random(uint64_t *d, job *j)
{
    int64_t left = j->nworld;
    if (dice_below(d, 3) == 0) return;
    for (int r = 0; r < j->nrank; ++r) {
        int after = j->nrank - 1 - r;
        j->own[r] = after == 0 ? left : 1 + (int64_t)dice_below(d, (size_t)(left - after));
        left -= j->own[r];
    }
}

/* Two ranks, and each one's worlds are one node of the tree. */
static bool are_two_nodes(const job *j)
{
    int64_t first = j->own[0] < 0 ? (j->nworld + 1) / 2 : j->own[0];
    return j->nrank == 2 && sti_count_nodes(0, first, j->nworld) + sti_count_nodes(first, j->nworld, j->nworld) == 2;
}

static void all_ways_have_the_same_bits(void **state)
{
    static const char *const isas[] = {"w1", "portable", NULL};
    static const char *const library[] = {NULL, DOUBLE_NCCL, DOUBLE_RCCL};
    uint64_t d = dice_seed("group/link");
    int beside = 0;
    for (int k = 0; k < 36; ++k) {
        uint64_t seed = dice_below(&d, 1 << 20);
        start_doubles(seed);
        job j = new_job(&d, 1 + (int)dice_below(&d, MOST_RANKS));
        j.nworld = j.nrank;
        if (dice_below(&d, 4) > 0) j.nworld += (int64_t)dice_below(&d, (size_t)(MOST_WORLDS - j.nrank + 1));
        j.n = 1 + (int64_t)dice_below(&d, dice_below(&d, 2) ? MOST_NUMBERS : 5);
        j.worlds = dice_below(&d, 2);
        divide_at_random(&d, &j);
        bool mixed = dice_below(&d, 3) == 0, gpus = true, has_nccl = dice_below(&d, 3) > 0;
        bool aware = !has_nccl && dice_below(&d, 3) > 0;
        kind all = (kind)dice_below(&d, 3);
        for (int r = 0; r < j.nrank; ++r) {
            j.kind[r] = mixed ? (kind)dice_below(&d, 3) : all;
            j.isa[r] = isas[dice_below(&d, 3)];
            j.library[r] = has_nccl ? library[j.kind[r]] : "/nowhere/libnccl.so.2";
            j.why_no_gpu[r] = has_nccl || !aware ? NULL : take_gpu;
            gpus = gpus && j.kind[r] != CPU && j.kind[r] == j.kind[0];
        }
        bool direct = gpus && has_nccl;
        aware = aware && gpus;
        print_message("case %d: seed %llu, %d ranks, %lld worlds, %lld numbers, %s\n", k, (unsigned long long)seed,
                      j.nrank, (long long)j.nworld, (long long)j.n,
                      direct  ? "direct"
                      : aware ? "by the transport"
                              : "through the host");
        ranks_run(j.nrank, be_rank, &j);
        check_bits(&j);
        for (int r = 0; r < j.nrank; ++r) {
            const char *words = aware ? "GPU-aware transport, because rank 0 of " : "host memory, because rank ";
            if (direct) words = j.kind[0] == HIP ? "RCCL 2.27.7" : "NCCL 2.27.7";
            if (!strstr(j.link[r], words)) fail_msg("'%s' lacks '%s'", j.link[r], words);
        }
        int64_t sent = nccl[CUDA]->calls("ncclSend") + nccl[HIP]->calls("ncclSend");
        assert_true(direct && j.nrank > 1 ? sent > 0 : sent == 0);
        int64_t added = nccl[CUDA]->calls("ncclAllReduce") + nccl[HIP]->calls("ncclAllReduce");
        assert_true(direct && are_two_nodes(&j) ? added > 0 : added == 0);
        assert_true(aware && j.nrank > 1 ? taken > 0 : taken == 0);
        for (int r = 0; r < j.nrank; ++r) beside += j.beside[r];
        expect_clean();
    }
    assert_true(beside > 0);
}

static job two_gpus(uint64_t *d)
{
    start_doubles(dice_below(d, 1 << 20));
    job j = new_job(d, 2);
    for (int r = 0; r < 2; ++r) {
        j.kind[r] = CUDA;
        j.library[r] = DOUBLE_NCCL;
    }
    return j;
}

/* NCCL's own sum is used where there is one addition, and no order to choose. */
static void two_nodes_are_added_by_nccl(void **state)
{
    static const struct {
        int64_t own[2];
        bool nccl;
    } cases[] = {{{1, 1}, true}, {{16, 16}, true}, {{16, 3}, true}, {{3, 16}, false}, {{3, 1}, false}};
    uint64_t d = dice_seed("group/link");
    for (size_t k = 0; k < 2 * (sizeof cases / sizeof *cases); ++k) {
        const int64_t *own = cases[k / 2].own;
        job j = two_gpus(&d);
        j.worlds = k % 2;
        j.n = 1 + (int64_t)dice_below(&d, MOST_NUMBERS);
        j.nworld = own[0] + own[1];
        memcpy(j.own, own, sizeof cases[0].own);
        ranks_run(2, be_rank, &j);
        check_bits(&j);
        assert_true(cases[k / 2].nccl == (nccl[CUDA]->calls("ncclAllReduce") > 0));
        expect_clean();
    }
}

enum { LARGE = 3 * STI_GROUP_PIECE / 2 / (int)sizeof(float) };

static stet_result stream_large(int rank, stet_device *device, stet_group *g)
{
    stet_array *own;
    float *data;
    char *at;
    STI_TRY(stet_group_link(g, device, DOUBLE_NCCL));
    STI_TRY(STI_ARRAY(device, "own", STET_DTYPE_REAL, false, &own, 1, LARGE));
    STI_TRY(sti_alloc(&data, (size_t)(2 * LARGE) * sizeof *data, "all"));
    for (int k = 0; k < LARGE; ++k) data[k] = (float)(rank * LARGE + k);
    stet_result result = stet_array_write(own, data, LARGE * sizeof *data);
    at = (char *)data;
    if (result == STET_OK) result = sti_group_stream_array(g, own, sti_group_put, &at);
    for (int k = 0; k < 2 * LARGE && rank == 0; ++k) assert_true(data[k] == (float)k);
    sti_free(data);
    stet_array_destroy(own);
    return result;
}

static void be_large_rank(int rank, const stet_transport *transport, void *context)
{
    job *j = context;
    stet_device *device = NULL;
    stet_group *g = NULL;
    stet_group_def def = stet_default_group_def();
    def.transport = *transport;
    def.nworld = 2;
    j->result[rank] = stet_group_create(&def, &g);
    if (j->result[rank] == STET_OK) j->result[rank] = open_rank(j, rank, &device);
    if (j->result[rank] == STET_OK) j->result[rank] = stream_large(rank, device, g);
    stet_group_destroy(g);
    stet_device_destroy(device);
}

static void a_large_array_is_streamed_in_pieces(void **state)
{
    uint64_t d = dice_seed("group/link");
    job j = two_gpus(&d);
    ranks_run(2, be_large_rank, &j);
    for (int r = 0; r < 2; ++r) assert_int_equal(j.result[r], STET_OK);
    assert_int_equal(nccl[CUDA]->calls("ncclSend"), 2);
    expect_clean();
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void check_host(job *j, const char *words)
{
    ranks_run(j->nrank, be_rank, j);
    check_bits(j);
    for (int r = 0; r < j->nrank; ++r)
        if (!strstr(j->link[r], words)) fail_msg("'%s' lacks '%s'", j->link[r], words);
    expect_clean();
}

static void without_nccl_the_host_is_used_and_says_why(void **state)
{
    uint64_t d = dice_seed("group/link");
    job j = two_gpus(&d);
    j.library[1] = "/nowhere/libnccl.so.2";
    check_host(&j, "host memory, because rank 1 of 2: NCCL: /nowhere/libnccl.so.2 cannot be used");
    j = two_gpus(&d);
    j.library[1] = DOUBLE_CUDA;
    check_host(&j, "has no ncclGetVersion; install a newer one");
    j = two_gpus(&d);
    j.index[1] = 0;
    check_host(&j, "NCCL: ncclCommInitRank failed: invalid usage; said by the double");
    j = two_gpus(&d);
    nccl[CUDA]->start("ncclGetUniqueId", 1, 3);
    check_host(&j, "host memory, because rank 0 of 2: NCCL: ncclGetUniqueId failed: internal error");
    j = two_gpus(&d);
    j.kind[0] = CPU;
    check_host(&j, "host memory, because rank 0 of 2: cpu (");
}

static void without_nccl_a_transport_takes_memory_of_gpus(void **state)
{
    uint64_t d = dice_seed("group/link");
    for (int refusing = -1; refusing < 4; ++refusing) {
        job j = two_gpus(&d);
        for (int r = 0; r < 2; ++r) j.why_no_gpu[r] = r == refusing ? refuse_gpu : take_gpu;
        if (refusing == 2) j.why_no_gpu[1] = NULL;
        if (refusing == 3) setenv("STET_GROUP_STAGED", "1", 1);
        j.index[1] = 0; /* two ranks of one GPU: NCCL refuses them */
        static const char *const words[] = {
            "", "; rank 0: a double of MPI without CUDA", "; rank 1: a double of MPI without CUDA",
            "; rank 1: its transport does not take memory of GPUs", "; rank 0: STET_GROUP_STAGED is set"};
        check_host(&j, refusing < 0 ? "GPU-aware transport, because rank " : "host memory, because rank ");
        check_host(&j, "of 2: NCCL: ncclCommInitRank failed: invalid usage; said by the double");
        if (!strstr(j.link[0], words[refusing + 1])) fail_msg("'%s' lacks '%s'", j.link[0], words[refusing + 1]);
        assert_true(refusing < 0 ? taken > 0 : taken == 0);
        unsetenv("STET_GROUP_STAGED");
    }
}

static void a_call_that_fails_ends_all(void **state)
{
    static const char *const functions[] = {"ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce"};
    uint64_t d = dice_seed("group/link");
    for (size_t k = 0; k < sizeof functions / sizeof *functions; ++k) {
        job j = two_gpus(&d);
        nccl[CUDA]->start(functions[k], 2, 3);
        ranks_run(2, be_rank, &j);
        int at = strstr(j.said[0], "internal error") ? 0 : 1;
        for (int r = 0; r < 2; ++r) assert_int_equal(j.result[r], STET_ERROR_STATE);
        if (!strstr(j.said[at], functions[k]) || !strstr(j.said[at], "internal error"))
            fail_msg("'%s' lacks %s", j.said[at], functions[k]);
        expect_clean();
    }
}

static void a_rank_without_a_world_is_refused(void **state)
{
    uint64_t d = dice_seed("group/link");
    job j = two_gpus(&d);
    j.own[0] = 2;
    j.own[1] = 0;
    ranks_run(2, be_rank, &j);
    for (int r = 0; r < 2; ++r) {
        assert_int_equal(j.result[r], STET_ERROR_STATE);
        assert_non_null(strstr(j.said[r], "rank 1 of 2: it has no world"));
    }
    expect_clean();
}

static void what_does_not_fit_is_refused(void **state)
{
    stet_group_def def = stet_default_group_def();
    stet_device *device = open_device(STI_ISA_w1, 1);
    stet_array *own, *out, *many, *ints;
    stet_group *g;
    def.transport = (stet_transport){.rank = 0, .nrank = 1};
    def.nworld = 2;
    OK(stet_group_create(&def, &g));
    OK(STI_ARRAY(device, "own", STET_DTYPE_REAL, true, &own, 2, 3));
    OK(STI_ARRAY(device, "out", STET_DTYPE_REAL, false, &out, 3));
    OK(STI_ARRAY(device, "many", STET_DTYPE_REAL, true, &many, 3, 3));
    OK(STI_ARRAY(device, "ints", STET_DTYPE_INT, true, &ints, 2, 3));
    assert_string_equal(stet_group_get_link(g), "");
    FAILS(stet_group_reduce(g, own, out), STET_ERROR_STATE, "call stet_group_link with the device of array own first");
    OK(stet_group_link(g, device, NULL));
    OK(stet_group_reduce(g, own, out));
    OK(stet_group_link(g, device, NULL)); /* again */
    OK(stet_group_reduce(g, own, out));
    stet_group_unlink(g);
    stet_group_unlink(g);
    FAILS(stet_group_reduce(g, own, out), STET_ERROR_STATE, "call stet_group_link");
    OK(stet_group_link(g, device, NULL));
    FAILS(stet_group_reduce(g, own, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_group_reduce(g, many, out), STET_ERROR_INVALID_ARGUMENT, "have this rank's 2 worlds");
    FAILS(stet_group_reduce(g, ints, out), STET_ERROR_INVALID_ARGUMENT, "must be REAL");
    FAILS(stet_group_reduce(g, own, many), STET_ERROR_INVALID_ARGUMENT, "array many must be plain and of 3 numbers");
    FAILS(stet_group_gather_array(g, many, own), STET_ERROR_INVALID_ARGUMENT, "array many has 3 rows, and must have 2");
    FAILS(stet_group_gather_array(g, own, ints), STET_ERROR_INVALID_ARGUMENT, "rows of own and of ints differ");
    FAILS(stet_group_broadcast_array(g, own), STET_ERROR_INVALID_ARGUMENT, "give a plain one");
    stet_group_destroy(g);
    stet_array_destroy(own);
    stet_array_destroy(out);
    stet_array_destroy(many);
    stet_array_destroy(ints);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_have_the_same_bits),
        cmocka_unit_test(two_nodes_are_added_by_nccl),
        cmocka_unit_test(a_large_array_is_streamed_in_pieces),
        cmocka_unit_test(without_nccl_the_host_is_used_and_says_why),
        cmocka_unit_test(without_nccl_a_transport_takes_memory_of_gpus),
        cmocka_unit_test(a_call_that_fails_ends_all),
        cmocka_unit_test(a_rank_without_a_world_is_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
