/*
 * Tensors on every device of the list: where they lie, and whose writes are seen. Who waits for whom:
 * tensor_streams_test.c; what they look like and what is refused whatever the device: dlpack_test.c, import_test.c.
 */
#include "device/arrays/foreigner.h"

#include "device/host_mirror.h"
#include "bench/pilot/pilot.h"
#include "stet/kernel.h"

/* ---- export ------------------------------------------------------------------------------------------------------ */

static void an_export_lies_where_the_device_is_and_can_be_read_at_once(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        stet_array *a = new_ints(rig.device, 3), *b = new_ints(rig.device, 3);
        const int some[3] = {7, 8, 9};
        OK(stet_array_write(b, some, sizeof some));
        OK(stet_array_copy(a, b)); /* by the device, which may not have come to it yet */
        tensor *t = export_ints(a, false, false);
        DLDevice place = sti_dlpack_place(rig.device);
        bool gpu = rig.device->can.compiles;
        assert_int_equal(place.device_type, rig.def.type == STET_DEVICE_CUDA      ? kDLCUDA
                                            : rig.def.type == STET_DEVICE_HIP     ? kDLROCM
                                            : rig.def.null && rig.def.null->apart ? kDLExtDev
                                                                                  : kDLCPU);
        assert_int_equal(t->dl_tensor.device.device_type, place.device_type);
        assert_int_equal(t->dl_tensor.device.device_id, gpu ? rig.def.gpu.index : 0);
        assert_ptr_equal(t->dl_tensor.data, a->data);
        assert_int_equal(t->dl_tensor.shape[0], 3);
        for (int i = 0; i < 3; ++i) assert_int_equal(foreigner_int(other, t, i), some[i]);
        /* It follows the array. */
        OK(stet_array_write_worlds(a, 1, 1, &(int){-5}, sizeof(int)));
        OK(stet_array_update(a));
        assert_int_equal(foreigner_int(other, t, 1), -5);
        stet_array_destroy(a);
        assert_int_equal(foreigner_int(other, t, 2), 9);
        end(t);
        stet_export_def def = stet_default_export_def();
        def.copy = true; /* a copy is the host's, wherever the array is */
        OK(stet_array_export(b, &def, &t));
        assert_int_equal(t->dl_tensor.device.device_type, kDLCPU);
        assert_memory_equal(t->dl_tensor.data, some, sizeof some);
        end(t);
        def.ready = (stet_ready)7;
        FAILS(stet_array_export(b, &def, &t), STET_ERROR_INVALID_ARGUMENT,
              "array ints: there is no way 7 of being ready");
        stet_array_destroy(b);
        stet_device_destroy(other);
    }
}

/* Somebody else writes to the device's memory and says nothing; his streams are done when stet is called. */
static void kf24_written_through_a_tensor(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        stet_array *a = new_ints(rig.device, 4), *b = new_ints(rig.device, 4);
        stet_counters c;
        uint64_t hash[2];
        OK(stet_array_hash(a, &hash[0]));
        assert_int_equal(first_int(a), 0);
        tensor *t = export_ints(a, true, false);
        uint64_t seen = stet_array_get_generation(a);
        for (int k = 1; k <= 3; ++k) {
            foreigner_set(other, t, 0, k);
            foreigner_finish(other);
            assert_int_equal(first_int(a), k);
            assert_true(stet_array_get_generation(a) > seen);
            seen = stet_array_get_generation(a);
            OK(stet_array_copy(b, a));
            assert_int_equal(first_int(b), k);
        }
        OK(stet_array_hash(a, &hash[1]));
        assert_true(hash[0] != hash[1]);
        stet_device_clear_counters(rig.device);
        assert_int_equal(first_int(a), 3);
        c = stet_device_get_counters(rig.device);
        assert_int_equal(c.reason[STET_REASON_READBACK_EXPORTED], 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_READBACK].hits, 0);
        /* A write of the host's is under a later one of theirs, whatever they wrote before. */
        OK(stet_array_write(a, (int[]){10, 11, 12, 13}, 4 * sizeof(int)));
        OK(stet_array_update(a));
        foreigner_set(other, t, 2, 99);
        foreigner_finish(other);
        end(t);
        const int want[4] = {10, 11, 99, 13};
        int back[4];
        OK(stet_array_read(a, back, sizeof back));
        assert_memory_equal(back, want, sizeof back);
        seen = stet_array_get_generation(a);
        assert_int_equal(first_int(a), 10);
        assert_int_equal(stet_array_get_generation(a), seen);
        stet_array_destroy(a);
        stet_array_destroy(b);
        stet_device_destroy(other);
    }
}

static void an_announced_writer_announces(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        stet_array *a = new_ints(rig.device, 2);
        assert_int_equal(first_int(a), 0);
        tensor *t = export_ints(a, true, true);
        uint64_t seen = stet_array_get_generation(a);
        foreigner_set(other, t, 0, 5);
        foreigner_finish(other);
        assert_int_equal(first_int(a), 0); /* stands: nobody said a word */
        assert_int_equal(stet_array_get_generation(a), seen);
        stet_array_mark_written(a);
        assert_int_equal(first_int(a), 5);
        assert_true(stet_array_get_generation(a) > seen);
        end(t);
        stet_array_destroy(a);
        stet_device_destroy(other);
    }
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static void an_import_is_an_array_over_their_memory(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, 3);
        int back[3];
        for (int i = 0; i < 3; ++i) foreigner_set(other, &f->tensor, i, 20 + i);
        foreigner_finish(other);
        stet_array *a = import_ints(rig.device, f, false), *b = new_ints(rig.device, 3);
        assert_ptr_equal(a->data, f->tensor.dl_tensor.data);
        OK(stet_array_read(a, back, sizeof back));
        for (int i = 0; i < 3; ++i) assert_int_equal(back[i], 20 + i);
        /* Theirs is seen, ours reaches them at once: on top of each other as they came. */
        foreigner_set(other, &f->tensor, 1, -1);
        foreigner_finish(other);
        assert_int_equal(first_int(a), 20);
        OK(stet_array_write_worlds(a, 0, 1, &(int){77}, sizeof(int)));
        OK(stet_array_update(a));
        for (int i = 0; i < 3; ++i)
            assert_int_equal(foreigner_int(other, &f->tensor, i), i == 0 ? 77 : i == 1 ? -1 : 22);
        OK(stet_array_copy(b, a));
        OK(stet_array_write(b, (int[]){1, 2, 3}, sizeof back));
        OK(stet_array_copy(a, b));
        tensor *t = export_ints(a, false, false); /* and out again */
        stet_array_destroy(a);
        assert_int_equal(f->ended, 0);
        for (int i = 0; i < 3; ++i) assert_int_equal(foreigner_int(other, t, i), i + 1);
        end(t);
        stet_array_destroy(b);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/* The host mirror of a host's writer, which is current before theirs and never hides it. */
static void faces_of_an_import(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, 4);
        stet_array *a = import_ints(rig.device, f, false);
        for (int k = 1; k < 4; ++k) {
            void *mirror;
            OK(sti_array_mirror_write(a, &mirror));
            ((int *)mirror)[0] = 100 * k;
            sti_array_mirror_written(a);
            OK(stet_array_update(a));
            assert_int_equal(foreigner_int(other, &f->tensor, 0), 100 * k);
            foreigner_set(other, &f->tensor, 1, k);
            foreigner_finish(other);
            OK(sti_array_mirror_read(a, &mirror));
            assert_int_equal(((int *)mirror)[0], 100 * k);
            assert_int_equal(((int *)mirror)[1], k);
        }
        stet_array_destroy(a);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/*
 * A graph of somebody else's holds the array's address: what the host writes is there before it runs, and not only
 * before stet's next launch.
 */
static void a_mirror_does_not_wait_where_a_graph_of_others_reads(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        stet_array *a = new_ints(rig.device, 2);
        int x = 0;
        OK(stet_array_write(a, (int[]){1, 2}, 2 * sizeof(int)));
        assert_int_equal(first_int(a), 1); /* the host has a side of it from here on */
        sti_array_set_outside(a);
        stet_device_clear_counters(rig.device);
        OK(stet_array_write(a, (int[]){3, 4}, 2 * sizeof(int)));
        OK(rig.device->ops->synchronize(rig.device));
        foreigner_get(other, &x, (int *)a->data + 1, sizeof x);
        assert_int_equal(x, 4);
        /* The graph writes, which is announced; of two writes the later is the one that counts. */
        foreigner_put(other, a->data, &(int){8}, sizeof x);
        foreigner_finish(other);
        stet_array_mark_written(a);
        int back[2];
        OK(stet_array_read(a, back, sizeof back));
        assert_int_equal(back[0], 8);
        assert_int_equal(back[1], 4);
        stet_array_destroy(a);
        stet_device_destroy(other);
    }
}

/* Nobody else could write what the host's side alone has, so it stays. */
static void an_announcement_does_not_undo_a_write_of_the_host(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_array *a = new_ints(rig.device, 2), *b = new_ints(rig.device, 2);
        assert_int_equal(first_int(a), 0);
        OK(stet_array_write(a, (int[]){6, 7}, 2 * sizeof(int)));
        uint64_t seen = stet_array_get_generation(a);
        stet_array_mark_written(a);
        assert_true(stet_array_get_generation(a) > seen);
        assert_int_equal(first_int(a), 6);
        OK(stet_array_copy(b, a));
        assert_int_equal(first_int(b), 6);
        stet_array_destroy(a);
        stet_array_destroy(b);
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

#define LIES(rig, other, place, result, part)                                                                          \
    do {                                                                                                               \
        foreign_tensor *f = foreign_make((other), 2);                                                                  \
        stet_import_def def = stet_default_import_def();                                                               \
        stet_array *a = NULL;                                                                                          \
        f->tensor.dl_tensor.device = (DLDevice){place};                                                                \
        if ((result) == STET_OK)                                                                                       \
            OK(stet_array_import((rig).device, &f->tensor, &def, &a));                                                 \
        else                                                                                                           \
            FAILS(stet_array_import((rig).device, &f->tensor, &def, &a), (result), (part));                            \
        stet_array_destroy(a);                                                                                         \
        foreign_drop(f);                                                                                               \
    } while (0)

#define PLACE(type, number) .device_type = (type), .device_id = (number)

static void a_tensor_of_another_place_is_refused(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        bool cuda = rig.def.type == STET_DEVICE_CUDA, hip = rig.def.type == STET_DEVICE_HIP;
        stet_result on_cpu = cuda || hip ? STET_ERROR_UNSUPPORTED : STET_OK;
        LIES(rig, other, PLACE(kDLCPU, 0), on_cpu,
             cuda ? "it lies on the CPU, and cuda:0" : "it lies on the CPU, and hip:0");
        LIES(rig, other, PLACE(kDLCUDA, 0), cuda ? STET_OK : STET_ERROR_UNSUPPORTED, "it lies on cuda:0, and ");
        LIES(rig, other, PLACE(kDLCUDA, 1), STET_ERROR_UNSUPPORTED, "it lies on cuda:1, and ");
        LIES(rig, other, PLACE(kDLROCM, 0), hip ? STET_OK : STET_ERROR_UNSUPPORTED, "it lies on hip:0, and ");
        LIES(rig, other, PLACE(kDLROCM, 3), STET_ERROR_UNSUPPORTED, "it lies on hip:3, and ");
        LIES(rig, other, PLACE(kDLCUDAManaged, 0), cuda ? STET_OK : STET_ERROR_UNSUPPORTED,
             "managed memory of cuda:0, and ");
        LIES(rig, other, PLACE(kDLCUDAHost, 0), STET_ERROR_UNSUPPORTED,
             "page-locked memory of the host, for cuda:0, and ");
        LIES(rig, other, PLACE(kDLROCMHost, 0), STET_ERROR_UNSUPPORTED,
             "page-locked memory of the host, for hip:0, and ");
        LIES(rig, other, PLACE(kDLExtDev, 0), rig.def.null && rig.def.null->apart ? STET_OK : STET_ERROR_UNSUPPORTED,
             "another kind of device:0");
        LIES(rig, other, PLACE(77, 0), STET_ERROR_UNSUPPORTED, "a device of DLPack's type 77, and ");
        if (cuda)
            LIES(rig, other, PLACE(kDLCUDA, 1), STET_ERROR_UNSUPPORTED, "takes those on cuda:0; copy it there first");
        stet_device_destroy(other);
    }
}

static void what_is_not_aligned_or_nothing(void **state)
{
    FOR_DEVICES(rig)
    {
        stet_device *other = foreigner_open(&rig);
        stet_import_def def = stet_default_import_def();
        stet_array *a;
        foreign_tensor *f = foreign_make(other, 5);
        f->shape[0] = 4;
        f->tensor.dl_tensor.byte_offset = 2;
        FAILS(stet_array_import(rig.device, &f->tensor, &def, &a), STET_ERROR_UNSUPPORTED, "not aligned to 4 bytes");
        foreign_drop(f);
        def.ready = (stet_ready)-1;
        f = foreign_make(other, 5);
        FAILS(stet_array_import(rig.device, &f->tensor, &def, &a), STET_ERROR_INVALID_ARGUMENT,
              "no way -1 of being ready");
        foreign_drop(f);
        def.ready = STET_READY_NOW;
        f = foreign_make(other, 5);
        f->tensor.dl_tensor.byte_offset = 4; /* of elements */
        f->shape[0] = 4;
        foreigner_set(other, &f->tensor, 1, 31);
        foreigner_finish(other);
        OK(stet_array_import(rig.device, &f->tensor, &def, &a));
        assert_int_equal(first_int(a), 31);
        stet_array_destroy(a);
        foreign_drop(f);
        f = foreign_make(other, 5);
        f->shape[0] = 0;
        void *data = f->tensor.dl_tensor.data;
        f->tensor.dl_tensor.data = NULL;
        stet_array *b = new_ints(rig.device, 0);
        OK(stet_array_import(rig.device, &f->tensor, &def, &a));
        assert_non_null(a->data);
        OK(stet_array_write(a, "", 0));
        OK(stet_array_copy(b, a));
        OK(stet_array_copy(a, b));
        OK(stet_array_update(a));
        stet_array_destroy(a);
        stet_array_destroy(b);
        f->tensor.dl_tensor.data = data;
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Which parameter of a pilot's kernel takes this argument. */
static const sti_param *param_of(const sti_pilot *p, int arg)
{
    const sti_param *param = p->kernel->param;
    for (int at = 0;; ++param)
        if (!param->index && at++ == arg) return param;
}

/* The same memory as an array of its own. */
static stet_array *through_dlpack(stet_array *a, bool writable)
{
    stet_import_def def = stet_default_import_def();
    stet_array *b;
    def.worlds = a->worlds;
    def.nworld = a->worlds ? a->shape[0] : 0;
    def.announced = true;
    OK(stet_array_import(a->device, export_ints(a, writable, true), &def, &b));
    assert_int_equal(b->size, a->size);
    return b;
}

/* The pilot's launch over tensors of its arrays; those that it only reads are tensors for reading. */
static void run_through_dlpack(stet_device *device, const sti_pilot *p)
{
    sti_pilot q = *p;
    stet_array *reading[STI_PILOT_MAX_ARGS] = {0}, *writing[STI_PILOT_MAX_ARGS] = {0};
    for (int k = 0; k < p->narg; ++k) {
        if (p->arg[k].kind != STI_ARG_ARRAY || !p->arg[k].array) continue;
        reading[k] = through_dlpack(p->arg[k].array, false);
        writing[k] = through_dlpack(p->arg[k].array, true);
        q.arg[k].array = param_of(p, k)->written ? writing[k] : reading[k];
    }
    for (int k = 0; k < p->narg; ++k) {
        if (!reading[k] || !param_of(p, k)->written) continue;
        char words[128];
        (void)snprintf(words, sizeof words, "parameter %s is written, and array tensor was imported for reading",
                       param_of(p, k)->name);
        q.arg[k].array = reading[k];
        FAILS(sti_pilot_run(device, &q), STET_ERROR_INVALID_ARGUMENT, words);
        q.arg[k].array = writing[k];
    }
    OK(sti_pilot_run(device, &q));
    for (int k = 0; k < p->narg; ++k) {
        stet_array_destroy(reading[k]);
        stet_array_destroy(writing[k]);
    }
    for (int k = 0; k < p->noutput; ++k) stet_array_mark_written(p->output[k]);
}

static void kernels_take_imported_arrays(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    for (int kind = 0; kind < STI_PILOT_COUNT; ++kind) {
        sti_pilot p;
        uint64_t none, want, got;
        OK(sti_pilot_create(rig.device, (sti_pilot_kind)kind, 8, &p));
        OK(sti_pilot_hash(&p, &none));
        OK(sti_pilot_run(rig.device, &p));
        OK(sti_pilot_hash(&p, &want));
        sti_pilot_destroy(&p);
        OK(sti_pilot_create(rig.device, (sti_pilot_kind)kind, 8, &p));
        run_through_dlpack(rig.device, &p);
        OK(sti_pilot_hash(&p, &got));
        assert_true(got == want);
        assert_true(got != none);
        sti_pilot_destroy(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_export_lies_where_the_device_is_and_can_be_read_at_once),
        cmocka_unit_test(kf24_written_through_a_tensor),
        cmocka_unit_test(an_announced_writer_announces),
        cmocka_unit_test(an_import_is_an_array_over_their_memory),
        cmocka_unit_test(faces_of_an_import),
        cmocka_unit_test(a_mirror_does_not_wait_where_a_graph_of_others_reads),
        cmocka_unit_test(an_announcement_does_not_undo_a_write_of_the_host),
        cmocka_unit_test(a_tensor_of_another_place_is_refused),
        cmocka_unit_test(what_is_not_aligned_or_nothing),
        cmocka_unit_test(kernels_take_imported_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
