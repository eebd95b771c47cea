/*
 * Tensors that change hands between streams, on every device of the list: the reader comes after the work, the work
 * after the writer, the end of an import after all of it, and nobody waits on the host who was not asked to.
 */
#include "device/arrays/foreigner.h"

#include "stet/kernel.h"

/* What stet still has under way with the memory is done before its owner hears that he has it back. */
static void a_tensor_ends_after_the_work_on_it(void **state)
{
    FOR_DEVICES(rig)
    for (int round = 0; round < 6; ++round) {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, 4);
        stet_array *a = import_ints(rig.device, f, true), *b = new_ints(rig.device, 4);
        f->looks = true;
        OK(stet_array_write(b, (int[]){round, 2, 3, 4}, 4 * sizeof(int)));
        OK(stet_array_copy(a, b));
        tensor *t = round % 2 ? export_ints(a, false, false) : NULL;
        stet_array_destroy(a);
        assert_int_equal(f->ended, !t);
        if (t) end(t);
        assert_memory_equal(f->at_end, ((int[]){round, 2, 3, 4}), 4 * sizeof(int));
        stet_array_destroy(b);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/* Times that somebody waited for a stream, where that can be known. */
static int64_t waits(const rig_device *rig) { return rig->control ? rig->control->calls("stream_synchronize") : 0; }

static tensor *export_in(stet_array *a, stet_ready ready, void *stream)
{
    stet_export_def def = stet_default_export_def();
    def.ready = ready;
    def.stream = stream;
    tensor *t;
    OK(stet_array_export(a, &def, &t));
    return t;
}

/*
 * The reader's stream comes after stet's, and nobody waits on the host: with the export, with each later update, or by
 * hand.
 */
static void a_reader_in_a_stream_comes_after_the_work(void **state)
{
    FOR_DEVICES(rig)
    for (int round = 0; round < 8; ++round) {
        stet_device *other = foreigner_open(&rig);
        void *theirs = stet_device_get_stream(other);
        stet_array *a = new_ints(rig.device, 2), *b = new_ints(rig.device, 2);
        OK(stet_array_write(b, (int[]){round, 50}, 2 * sizeof(int)));
        OK(stet_array_copy(a, b));
        int64_t before = waits(&rig);
        tensor *t = export_in(a, round % 2 ? STET_READY_IN_STREAM : STET_READY_UNORDERED, theirs);
        if (round % 2 == 0) OK(stet_device_signal_stream(rig.device, theirs));
        assert_int_equal(waits(&rig), before);
        assert_int_equal(foreigner_int(other, t, 1), 50);
        assert_int_equal(foreigner_int(other, t, 0), round);
        for (int k = 1; k < 4; ++k) {
            OK(stet_array_write(b, (int[]){-k, 60}, 2 * sizeof(int)));
            OK(stet_array_copy(a, b));
            before = waits(&rig);
            OK(stet_array_update_in_stream(a, theirs));
            assert_int_equal(waits(&rig), before);
            assert_int_equal(foreigner_int(other, t, 0), -k);
        }
        FAILS(stet_array_update_in_stream(NULL, theirs), STET_ERROR_INVALID_ARGUMENT,
              "stet_array_update_in_stream: array");
        end(t);
        stet_array_destroy(a);
        stet_array_destroy(b);
        stet_device_destroy(other);
    }
}

/* What the writer's stream has got is seen though it is not done: with the import, and for each later write by hand. */
static void a_writer_in_a_stream_comes_before_the_work(void **state)
{
    FOR_DEVICES(rig)
    for (int round = 0; round < 8; ++round) {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, 2);
        stet_import_def def = stet_default_import_def();
        stet_array *a, *b = new_ints(rig.device, 2);
        int64_t before = waits(&rig);
        foreigner_set(other, &f->tensor, 1, 70 + round);
        def.ready = STET_READY_IN_STREAM;
        def.stream = stet_device_get_stream(other);
        OK(stet_array_import(rig.device, &f->tensor, &def, &a));
        OK(stet_array_copy(b, a));
        assert_int_equal(waits(&rig), before);
        int back[2];
        OK(stet_array_read(b, back, sizeof back));
        assert_int_equal(back[1], 70 + round);
        for (int k = 1; k < 4; ++k) {
            foreigner_set(other, &f->tensor, 0, k);
            OK(stet_device_wait_stream(rig.device, def.stream));
            assert_int_equal(first_int(a), k);
        }
        stet_array_destroy(a);
        stet_array_destroy(b);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/*
 * In the stream that the tensor came in, its memory goes in that stream's order: nobody waits. In another one stet
 * does.
 */
static void the_end_of_an_import_waits_unless_its_stream_is_in_use(void **state)
{
    FOR_DEVICES(rig)
    for (int round = 0; round < 4; ++round) {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, 4);
        stet_import_def def = stet_default_import_def();
        stet_array *a, *b = new_ints(rig.device, 4);
        bool in_use = round % 2;
        def.ready = STET_READY_IN_STREAM;
        def.stream = stet_device_get_stream(other);
        if (in_use) OK(stet_device_use_stream(rig.device, def.stream));
        OK(stet_array_write(b, (int[]){round, 2, 3, 4}, 4 * sizeof(int)));
        OK(stet_array_import(rig.device, &f->tensor, &def, &a));
        OK(stet_array_copy(a, b));
        int64_t before = waits(&rig);
        stet_array_destroy(a);
        assert_int_equal(waits(&rig) - before, rig.control && !in_use);
        assert_int_equal(f->ended, 1);
        int seen[4];
        foreigner_get(other, seen, f->tensor.dl_tensor.data, sizeof seen);
        assert_memory_equal(seen, ((int[]){round, 2, 3, 4}), sizeof seen);
        OK(stet_device_use_own_stream(rig.device));
        stet_array_destroy(b);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_ends_after_the_work_on_it),
        cmocka_unit_test(a_reader_in_a_stream_comes_after_the_work),
        cmocka_unit_test(a_writer_in_a_stream_comes_before_the_work),
        cmocka_unit_test(the_end_of_an_import_waits_unless_its_stream_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
