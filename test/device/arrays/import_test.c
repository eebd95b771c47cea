/*
 * Imports through DLPack: what is taken and what is refused, what may be done with it, and that every tensor is ended
 * once.
 */
#include "device/tensor.h"

#include "base/dice.h"

/* ---- import --------------------------------------------------------------------------------------------------- */

static void an_imported_tensor_is_an_array(void **state)
{
    FOR_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        foreign *f = FOREIGN(kDLInt, 32, 4, 3);
        int *data = (int *)(void *)f->data, back[12];
        for (int k = 0; k < 12; ++k) data[k] = k * k;
        f->strides[0] = 3;
        stet_array *a = import(device, &f->tensor, true);
        assert_string_equal(stet_array_get_name(a), "tensor");
        assert_int_equal(stet_array_get_dtype(a), STET_DTYPE_INT);
        assert_int_equal(stet_array_get_ndim(a), 2);
        assert_int_equal(stet_array_get_nelement(a), 12);
        OK(stet_array_read(a, back, sizeof back));
        assert_memory_equal(back, data, sizeof back);
        back[11] = -1;
        OK(stet_array_write(a, back, sizeof back));
        assert_int_equal(data[11], -1);
        assert_int_equal(f->ended, 0);
        tensor *t = export_as(a, false, false, false); /* and out again */
        assert_ptr_equal(t->dl_tensor.data, data);
        stet_array_destroy(a);
        assert_int_equal(f->ended, 0);
        end(t);
        assert_int_equal(f->ended, 1);
        free(f);
        stet_device_destroy(device);
    }
}

static void every_type_that_has_one_here(void **state)
{
    static const struct {
        int code, bits;
        stet_dtype dtype;
    } types[] = {{kDLInt, 32, STET_DTYPE_INT},   {kDLInt, 64, STET_DTYPE_I64},    {kDLUInt, 32, STET_DTYPE_U32},
                 {kDLUInt, 16, STET_DTYPE_U16},  {kDLUInt, 8, STET_DTYPE_U8},     {kDLBool, 8, STET_DTYPE_U8},
                 {kDLFloat, 16, STET_DTYPE_F16}, {kDLFloat, 32, STET_DTYPE_REAL}, {kDLFloat, 64, STET_DTYPE_REAL}};
    FOR_ISAS(isa)
    for (int code = 0; code < 20; ++code)
        for (int bits = 0; bits < 256; ++bits) {
            stet_device *device = open_device(isa, 1);
            foreign *f = FOREIGN(code, bits, 3);
            stet_import_def def = stet_default_import_def();
            stet_array *a;
            int known = -1;
            for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
                if (types[k].code == code && types[k].bits == bits) known = (int)types[k].dtype;
            if (code == kDLFloat && bits == (isa == STI_ISA_f64 ? 32 : 64)) known = -1;
            if (known < 0) {
                FAILS(stet_array_import(device, &f->tensor, &def, &a), STET_ERROR_UNSUPPORTED, "convert it first");
            } else {
                OK(stet_array_import(device, &f->tensor, &def, &a));
                assert_int_equal(stet_array_get_dtype(a), known);
                assert_int_equal(stet_array_get_bytes(a), (size_t)(3 * bits / 8));
                stet_array_destroy(a);
            }
            assert_int_equal(f->ended, 1);
            free(f);
            stet_device_destroy(device);
        }
}

/* Each is refused in one sentence, and its tensor is ended once. */
#define REFUSED(result, part, ...)                                                                                     \
    do {                                                                                                               \
        foreign *f = FOREIGN(kDLInt, 32, 4, 3);                                                                        \
        DLTensor *d = &f->tensor.dl_tensor;                                                                            \
        stet_import_def def = stet_default_import_def();                                                               \
        stet_array *refused;                                                                                           \
        (void)d;                                                                                                       \
        __VA_ARGS__;                                                                                                   \
        FAILS(stet_array_import(device, &f->tensor, &def, &refused), result, part);                                    \
        assert_null(refused);                                                                                          \
        assert_int_equal(f->ended, 1);                                                                                 \
        free(f);                                                                                                       \
    } while (0)

static void kinds_that_are_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    int64_t before = blocks();
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "stet_default_import_def", def.cookie = 0);
    REFUSED(STET_ERROR_UNSUPPORTED, "DLPack version 2.0; version 1", f->tensor.version.major = 2);
    REFUSED(STET_ERROR_UNSUPPORTED, "DLPack version 0.8", f->tensor.version = (DLPackVersion){0, 8});
    REFUSED(STET_ERROR_UNSUPPORTED, "it lies on cuda:0, and cpu (portable", d->device.device_type = 2);
    REFUSED(STET_ERROR_UNSUPPORTED, "DLPack's type -5, and cpu", d->device.device_type = -5);
    REFUSED(STET_ERROR_UNSUPPORTED, "elements of 4 lanes", d->dtype.lanes = 4);
    REFUSED(STET_ERROR_UNSUPPORTED, "elements of 0 lanes", d->dtype.lanes = 0);
    REFUSED(STET_ERROR_UNSUPPORTED, "elements are bfloat16; this device knows float32",
            d->dtype = (DLDataType){4, 16, 1});
    REFUSED(STET_ERROR_UNSUPPORTED, "elements are of code 77 and 8 bits", d->dtype = (DLDataType){77, 8, 1});
    REFUSED(STET_ERROR_UNSUPPORTED, "7 dimensions; at most 6", d->ndim = 7);
    REFUSED(STET_ERROR_UNSUPPORTED, "-1 dimensions", d->ndim = -1);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "shape is NULL", d->shape = NULL);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "dimension 1 is -3", f->shape[1] = -3);
    assert_int_equal(blocks(), before);
    stet_device_destroy(device);
}

static void layouts_that_are_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    int64_t before = blocks();
    REFUSED(STET_ERROR_LIMIT, "more than this machine can address", f->shape[0] = INT64_MAX);
    REFUSED(STET_ERROR_LIMIT, "more than can be addressed", f->shape[0] = INT64_MAX / 12);
    REFUSED(STET_ERROR_UNSUPPORTED, "the stride of dimension 0 is 4, not 3", f->strides[0] = 4);
    REFUSED(STET_ERROR_UNSUPPORTED, "the stride of dimension 1 is -1, not 1", f->strides[1] = -1);
    REFUSED(STET_ERROR_UNSUPPORTED, "the stride of dimension 1 is 4", f->strides[0] = 1,
            f->strides[1] = 4);                                                           /* transposed */
    REFUSED(STET_ERROR_UNSUPPORTED, "the stride of dimension 0 is 0", f->strides[0] = 0); /* broadcast */
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "48 bytes, but data is NULL", d->data = NULL);
    REFUSED(STET_ERROR_UNSUPPORTED, "not aligned to 4 bytes", d->data = f->data + 2);
    REFUSED(STET_ERROR_UNSUPPORTED, "not aligned to 4 bytes", d->byte_offset = 1);
    REFUSED(STET_ERROR_LIMIT, "do not fit behind its address", d->byte_offset = UINT64_MAX);
    REFUSED(STET_ERROR_LIMIT, "do not fit behind its address", d->byte_offset = UINTPTR_MAX - (uintptr_t)f->data - 40);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "nworld is 4, but it is not to be an array of worlds", def.nworld = 4);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "lie as [block][item][4] on cpu (portable", def.worlds = true);
    REFUSED(STET_ERROR_UNSUPPORTED, "not aligned to 16 bytes", def.worlds = true, d->data = f->data + 4);
    assert_int_equal(blocks(), before);
    stet_device_destroy(device);
}

static void what_is_not_given_is_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    int64_t before = blocks();
    stet_import_def good = stet_default_import_def();
    stet_array *a;
    foreign *f = FOREIGN(kDLInt, 32, 1);
    FAILS(stet_array_import(NULL, &f->tensor, &good, &a), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_import(device, &f->tensor, NULL, &a), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_import(device, &f->tensor, &good, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_array_import(device, NULL, &good, &a), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    assert_int_equal(f->ended, 3);
    f->tensor.deleter = NULL; /* nothing to call is fine, too */
    f->tensor.version.major = 3;
    FAILS(stet_array_import(device, &f->tensor, &good, &a), STET_ERROR_UNSUPPORTED, "version 3");
    f->tensor.version.major = 1;
    OK(stet_array_import(device, &f->tensor, &good, &a));
    stet_array_destroy(a);
    free(f);
    assert_int_equal(blocks(), before);
    stet_device_destroy(device);
}

static void layouts_that_are_fine(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    float x;
    foreign *f = FOREIGN(kDLFloat, 32, 1, 4, 1); /* nobody steps over a dimension of 1 */
    f->strides[0] = -77;
    f->strides[2] = 99;
    stet_array *a = import(device, &f->tensor, true);
    assert_int_equal(stet_array_get_ndim(a), 3);
    stet_array_destroy(a);
    free(f);

    f = FOREIGN(kDLFloat, 32, 4, 3); /* no strides; later in the block; another minor version, flags of the future */
    f->tensor.dl_tensor.strides = NULL;
    f->tensor.dl_tensor.byte_offset = 20;
    f->tensor.version.minor = 9;
    f->tensor.flags = UINT64_C(1) << 40;
    *(float *)(void *)(f->data + 20) = 2.5f;
    a = import(device, &f->tensor, true);
    OK(stet_array_read_worlds(a, 0, 0, &x, 0));
    assert_ptr_equal(a->data, f->data + 20);
    assert_true(*(float *)a->data == 2.5f);
    stet_array_destroy(a);
    free(f);

    f = make_foreign(kDLFloat, 32, 0, NULL); /* a scalar */
    f->tensor.dl_tensor.shape = f->tensor.dl_tensor.strides = NULL;
    *(float *)(void *)f->data = 1.5f;
    a = import(device, &f->tensor, true);
    assert_int_equal(stet_array_get_ndim(a), 1);
    OK(stet_array_read(a, &x, sizeof x));
    assert_true(x == 1.5f);
    stet_array_destroy(a);
    assert_int_equal(f->ended, 1);
    free(f);
    stet_device_destroy(device);
}

static void nothing_at_all_is_fine(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    foreign *f = FOREIGN(kDLFloat, 32, INT64_MAX, 0, 5);
    f->tensor.dl_tensor.data = NULL;
    f->tensor.dl_tensor.byte_offset = 3;
    f->strides[0] = 17;
    stet_array *a = import(device, &f->tensor, false);
    assert_int_equal(stet_array_get_bytes(a), 0);
    assert_non_null(a->data);
    const void *host;
    uint64_t hash;
    OK(stet_array_get_host(a, &host));
    OK(stet_array_write(a, "", 0));
    OK(stet_array_hash(a, &hash));
    tensor *t = export_as(a, false, false, false);
    assert_null(t->dl_tensor.data);
    assert_int_equal(t->dl_tensor.shape[0], INT64_MAX);
    end(t);
    t = export_as(a, false, false, true);
    assert_null(t->dl_tensor.data);
    end(t);
    stet_array_destroy(a);
    assert_int_equal(f->ended, 1);
    free(f);
    stet_device_destroy(device);
}

static void an_unannounced_owner_may_write_at_any_time(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    foreign *f = FOREIGN(kDLInt, 32, 2);
    stet_array *a = import(device, &f->tensor, false);
    int *data = (int *)(void *)f->data;
    for (int k = 1; k < 4; ++k) {
        data[0] = k;
        assert_int_equal(first_number(a), k);
    }
    uint64_t seen = stet_array_get_generation(a);
    assert_true(stet_array_get_generation(a) > seen);
    stet_array_destroy(a);
    assert_int_equal(f->ended, 1);
    f->ended = 0;
    a = import(device, &f->tensor, true);
    seen = stet_array_get_generation(a);
    assert_int_equal(first_number(a), 3);
    data[0] = 8;
    assert_int_equal(stet_array_get_generation(a), seen);
    stet_array_mark_written(a);
    assert_int_equal(first_number(a), 8);
    stet_array_destroy(a);
    assert_int_equal(f->ended, 1);
    free(f);
    stet_device_destroy(device);
}

static void what_was_imported_for_reading_is_not_written(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    foreign *f = FOREIGN(kDLInt, 32, 2);
    f->tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    stet_array *a = import(device, &f->tensor, true);
    int some[2] = {1, 2};
    FAILS(stet_array_write(a, some, sizeof some), STET_ERROR_INVALID_ARGUMENT,
          "imported for reading and cannot be written");
    assert_int_equal(((int *)a->data)[1], 0);
    stet_export_def def = stet_default_export_def();
    tensor *t;
    def.writable = def.announced = true;
    FAILS(stet_array_export(a, &def, &t), STET_ERROR_INVALID_ARGUMENT, "imported for reading");
    assert_null(t);
    stet_array_destroy(a);
    assert_int_equal(f->ended, 1);
    free(f);
    stet_device_destroy(device);
}

/* Blocks of lanes, with and without padding. */
static void worlds_come_in_blocks(void **state)
{
    FOR_FLOAT_ISAS(isa)
    {
        stet_device *device = open_device(isa, 1);
        int64_t lanes = stet_device_get_lanes(device);
        stet_import_def def = stet_default_import_def();
        def.worlds = true;
        for (def.nworld = 0; def.nworld <= 3 * lanes + 1; ++def.nworld) {
            foreign *f = lanes > 1 ? FOREIGN(kDLInt, 32, 3, 5, lanes) : FOREIGN(kDLInt, 32, 3, 5, 1);
            int *data = (int *)(void *)f->data;
            for (int k = 0; k < 15 * lanes; ++k) data[k] = k;
            stet_array *a;
            stet_result result = stet_array_import(device, &f->tensor, &def, &a);
            if (def.nworld == 0 || (def.nworld > 2 * lanes && def.nworld <= 3 * lanes)) {
                OK(result);
                int64_t n = def.nworld ? def.nworld : 3 * lanes;
                assert_int_equal(stet_array_get_shape(a)[0], n);
                int row[5];
                for (int64_t w = 0; w < n; ++w) {
                    OK(stet_array_read_worlds(a, w, 1, row, sizeof row));
                    for (int i = 0; i < 5; ++i) assert_int_equal(row[i], (w / lanes * 5 + i) * lanes + w % lanes);
                }
                stet_array_destroy(a);
            } else {
                assert_int_equal(result, STET_ERROR_INVALID_ARGUMENT);
            }
            assert_int_equal(f->ended, 1);
            free(f);
        }
        foreign *f = lanes > 1 ? FOREIGN(kDLUInt, 8, 3, 5, lanes) : FOREIGN(kDLUInt, 8, 3, 5);
        stet_array *a;
        def.nworld = 0;
        FAILS(stet_array_import(device, &f->tensor, &def, &a), STET_ERROR_INVALID_ARGUMENT,
              "holds real or int, not u8");
        assert_int_equal(f->ended, 1);
        free(f);
        if (lanes > 1) {
            f = FOREIGN(kDLInt, 32, INT64_MAX / 2, 0, lanes);
            FAILS(stet_array_import(device, &f->tensor, &def, &a), STET_ERROR_LIMIT, "blocks of worlds are too many");
            assert_int_equal(f->ended, 1);
            free(f);
        }
        stet_device_destroy(device);
    }
}

/* Tensors of random shape, steps and offset: taken exactly if they are contiguous, and never ended twice. */
static void random_tensors(void **state)
{
    uint64_t dice = dice_seed("dlpack");
    stet_device *device = open_device(STI_ISA_portable, 1);
    int taken = 0;
    for (int round = 0; round < 20000; ++round) {
        int64_t shape[5], count = 1, stride = 1;
        int ndim = (int)dice_below(&dice, 5);
        bool contiguous = true;
        for (int k = 0; k < ndim; ++k) count *= shape[k] = (int64_t)dice_below(&dice, 4);
        foreign *f = make_foreign(kDLUInt, 16, ndim, shape);
        size_t offset = dice_below(&dice, 5);
        f->tensor.dl_tensor.byte_offset = offset;
        if (ndim && dice_below(&dice, 2))
            f->strides[dice_below(&dice, (size_t)ndim)] = (int64_t)dice_below(&dice, 9) - 2;
        for (int k = ndim - 1; k >= 0; --k) {
            contiguous = contiguous && (count == 0 || shape[k] == 1 || f->strides[k] == stride);
            stride *= shape[k];
        }
        stet_import_def def = stet_default_import_def();
        stet_array *a;
        stet_result result = stet_array_import(device, &f->tensor, &def, &a);
        bool fine = contiguous && (count == 0 || offset % 2 == 0);
        assert_int_equal(result, fine ? STET_OK : STET_ERROR_UNSUPPORTED);
        taken += fine;
        assert_int_equal(f->ended, !fine);
        if (fine) assert_int_equal(stet_array_get_nelement(a), count);
        stet_array_destroy(a);
        assert_int_equal(f->ended, 1);
        free(f);
    }
    assert_true(taken > 2000 && taken < 18000);
    stet_device_destroy(device);
}

/* The number of an element in the span of a tensor, and that of the tensor's lowest element, counted from its first. */
static int64_t number_of(const foreign *f, int64_t at, int64_t *low)
{
    int64_t number = 0;
    *low = 0;
    for (int k = f->tensor.dl_tensor.ndim - 1; k >= 0; at /= f->shape[k--]) {
        number += at % f->shape[k] * f->strides[k];
        if (f->strides[k] < 0) *low += (f->shape[k] - 1) * f->strides[k];
    }
    return number;
}

/* Any strides are fine for a span, which has every element of the tensor where its strides say, and no more memory. */
static void a_span_has_the_elements_of_any_strides(void **state)
{
    uint64_t dice = dice_seed("span");
    stet_device *device = open_device(STI_ISA_portable, 1);
    for (int round = 0; round < 5000; ++round) {
        int64_t shape[5], count = 1, low = 0, most = -1;
        int ndim = (int)dice_below(&dice, 5);
        for (int k = 0; k < ndim; ++k) count *= shape[k] = (int64_t)dice_below(&dice, 4);
        foreign *f = make_foreign(kDLUInt, 16, ndim, shape);
        char *middle = f->data + sizeof f->data / 2;
        f->tensor.dl_tensor.data = middle;
        for (int k = 0; k < ndim; ++k)
            if (dice_below(&dice, 2)) f->strides[k] = (int64_t)dice_below(&dice, 60) - 20;
        stet_import_def def = stet_default_import_def();
        stet_array *a;
        def.span = true;
        OK(stet_array_import(device, &f->tensor, &def, &a));
        for (int64_t i = 0; i < count; ++i) {
            int64_t number = number_of(f, i, &low);
            assert_ptr_equal((char *)a->data + 2 * (number - low), middle + 2 * number);
            if (number - low > most) most = number - low;
        }
        assert_int_equal(stet_array_get_ndim(a), 1);
        assert_int_equal(stet_array_get_nelement(a), most + 1);
        stet_array_destroy(a);
        assert_int_equal(f->ended, 1);
        free(f);
    }
    stet_device_destroy(device);
}

static void spans_that_are_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_import_def def = stet_default_import_def();
    stet_array *a;
    def.span = true;
    for (int round = 0; round < 3; ++round) {
        foreign *f = FOREIGN(kDLInt, 32, 2, 3);
        def.worlds = round == 0;
        if (round == 1) f->strides[0] = INT64_MAX / 8;
        if (round == 2) f->strides[0] = INT64_MIN;
        stet_result result = round == 0 ? STET_ERROR_INVALID_ARGUMENT : STET_ERROR_LIMIT;
        FAILS(stet_array_import(device, &f->tensor, &def, &a), result, round == 0 ? "span" : "dimension 0 reaches");
        assert_int_equal(f->ended, 1);
        free(f);
    }
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_imported_tensor_is_an_array),
        cmocka_unit_test(every_type_that_has_one_here),
        cmocka_unit_test(kinds_that_are_refused),
        cmocka_unit_test(layouts_that_are_refused),
        cmocka_unit_test(what_is_not_given_is_refused),
        cmocka_unit_test(layouts_that_are_fine),
        cmocka_unit_test(nothing_at_all_is_fine),
        cmocka_unit_test(an_unannounced_owner_may_write_at_any_time),
        cmocka_unit_test(what_was_imported_for_reading_is_not_written),
        cmocka_unit_test(worlds_come_in_blocks),
        cmocka_unit_test(random_tensors),
        cmocka_unit_test(a_span_has_the_elements_of_any_strides),
        cmocka_unit_test(spans_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
