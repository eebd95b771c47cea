"""Arrays through DLPack to NumPy and back: the same bytes, the same memory, and an end for each tensor."""

import ctypes
import gc
import os
import sys
import unittest

import numpy as np

TYPES = {0: np.float32, 1: np.int32, 2: np.int64, 3: np.uint32, 4: np.uint16, 5: np.uint8, 6: np.float16}
INT = 1

lib = ctypes.CDLL(os.path.join(os.environ["STET_TEST_BINARY_DIR"], "test", "device", "numpy_module.so"))
for name in ("device_open", "array_make", "array_export", "array_import"):
    getattr(lib, name).restype = ctypes.c_void_p
for name in ("array_shape", "blocks_held"):
    getattr(lib, name).restype = ctypes.c_int64
lib.array_generation.restype = ctypes.c_uint64
lib.message.restype = ctypes.c_char_p

NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


def ptr(value):
    return ctypes.c_void_p(value)


class Exported:
    """What NumPy's from_dlpack wants: the tensor is its own from the call on."""

    def __init__(self, array, writable=False, announced=False, copy=False):
        self.tensor = lib.array_export(ptr(array), writable, announced, copy)
        assert self.tensor, lib.message()

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return python.PyCapsule_New(self.tensor, NAME, None)


def take(device, values):
    """Imports a NumPy array; its capsule is used up whether that works or not."""
    capsule = values.__dlpack__(max_version=(1, 1))
    tensor = python.PyCapsule_GetPointer(capsule, NAME)
    python.PyCapsule_SetName(capsule, USED)
    return lib.array_import(ptr(device), ptr(tensor))


class Numpy(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.blocks = lib.blocks_held()
        self.device = lib.device_open(b"portable")
        self.arrays = []

    def tearDown(self):
        for array in self.arrays:
            lib.array_end(ptr(array))
        lib.device_close(ptr(self.device))
        gc.collect()
        self.assertEqual(lib.blocks_held(), self.blocks)

    def make(self, dtype, worlds, n, m):
        array = lib.array_make(ptr(self.device), dtype, worlds, ctypes.c_int64(n), ctypes.c_int64(m))
        self.assertTrue(array, lib.message())
        self.arrays.append(array)
        return array

    def write(self, array, values):
        self.assertEqual(lib.array_write(ptr(array), ptr(values.ctypes.data), ctypes.c_size_t(values.nbytes)), 0)

    def read(self, array, like):
        out = np.empty_like(like)
        self.assertEqual(lib.array_read(ptr(array), ptr(out.ctypes.data), ctypes.c_size_t(out.nbytes)), 0)
        return out

    def test_every_type_out(self):
        for dtype, kind in TYPES.items():
            values = np.arange(21).reshape(7, 3).astype(kind)
            array = self.make(dtype, False, 7, 3)
            self.write(array, values)
            seen = np.from_dlpack(Exported(array))
            self.assertEqual(seen.dtype, kind)
            np.testing.assert_array_equal(seen, values)
            self.assertFalse(seen.flags.writeable)

    def test_blocks_and_copies_of_worlds(self):
        lanes = lib.device_lanes(ptr(self.device))
        n, m = 2 * lanes + 3, 5
        values = np.random.default_rng(1).integers(-1000, 1000, (n, m), dtype=np.int32)
        array = self.make(INT, True, n, m)
        self.write(array, values)
        seen = np.from_dlpack(Exported(array))
        self.assertEqual(seen.shape, (3, m, lanes))
        np.testing.assert_array_equal(seen.transpose(0, 2, 1).reshape(-1, m)[:n], values)
        copy = np.from_dlpack(Exported(array, copy=True))
        np.testing.assert_array_equal(copy, values)
        self.write(array, values + 1)
        np.testing.assert_array_equal(copy, values)
        self.assertEqual(seen[0, 0, 0], values[0, 0] + 1)

    def test_kf24_written_by_numpy(self):
        array = self.make(INT, False, 4, 4)
        values = np.zeros((4, 4), np.int32)
        before = lib.array_generation(ptr(array))
        seen = np.from_dlpack(Exported(array, writable=True))
        self.assertTrue(seen.flags.writeable)
        for k in range(1, 5):
            seen[k - 1] = values[k - 1] = k
            np.testing.assert_array_equal(self.read(array, values), values)
            after = lib.array_generation(ptr(array))
            self.assertGreater(after, before)
            before = after
        seen[:] = 9
        del seen
        gc.collect()
        after = lib.array_generation(ptr(array))
        self.assertGreater(after, before)
        self.assertEqual(lib.array_generation(ptr(array)), after)
        self.assertTrue((self.read(array, values) == 9).all())

    def test_numpy_outlives_all(self):
        blocks = lib.blocks_held()
        device = lib.device_open(None)
        array = lib.array_make(ptr(device), INT, False, ctypes.c_int64(100), ctypes.c_int64(10))
        values = np.arange(1000, dtype=np.int32).reshape(100, 10)
        self.write(array, values)
        seen = np.from_dlpack(Exported(array))
        lib.array_end(ptr(array))
        lib.device_close(ptr(device))
        np.testing.assert_array_equal(seen, values)
        self.assertGreater(lib.blocks_held(), blocks)
        del seen
        gc.collect()
        self.assertEqual(lib.blocks_held(), blocks)

    def test_in_and_out_again(self):
        values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        count = sys.getrefcount(values)
        array = take(self.device, values)
        self.assertTrue(array, lib.message())
        self.assertGreater(sys.getrefcount(values), count)
        self.assertEqual([lib.array_shape(ptr(array), k) for k in range(4)], [2, 3, 4, -1])
        np.testing.assert_array_equal(self.read(array, values), values)
        values[1, 2, 3] = 77
        np.testing.assert_array_equal(self.read(array, values), values)
        again = np.from_dlpack(Exported(array))
        self.assertTrue(np.shares_memory(again, values))
        lib.array_end(ptr(array))
        self.assertGreater(sys.getrefcount(values), count)
        del again
        gc.collect()
        self.assertEqual(sys.getrefcount(values), count)

    def test_read_only_stays_so(self):
        values = np.arange(6, dtype=np.int64)
        values.flags.writeable = False
        array = take(self.device, values)
        self.assertTrue(array, lib.message())
        self.arrays.append(array)
        out = np.zeros(6, np.int64)
        self.assertNotEqual(lib.array_write(ptr(array), ptr(out.ctypes.data), ctypes.c_size_t(out.nbytes)), 0)
        self.assertIn(b"imported for reading", lib.message())
        self.assertEqual(values[5], 5)

    def test_refused_and_let_go(self):
        for values, why in (
            (np.zeros((4, 4), np.float32).T[1:], b"C-contiguous"),
            (np.zeros((8, 4), np.float32)[::2], b"C-contiguous"),
            (np.zeros(4, np.complex64), b"complex64"),
            (np.zeros(4, np.int16), b"int16"),
            (np.zeros(4, np.float64), b"float64"),
            (np.zeros((1,) * 7, np.int32), b"7 dimensions"),
        ):
            count = sys.getrefcount(values)
            self.assertFalse(take(self.device, values))
            self.assertIn(why, lib.message())
            self.assertEqual(sys.getrefcount(values), count)

    def test_scalars_bools_and_nothing(self):
        for values, shape in (
            (np.array(7, np.int32), (1,)),
            (np.zeros((0, 3), np.float32), (0, 3)),
            (np.ones(3, bool), (3,)),
        ):
            array = take(self.device, values)
            self.assertTrue(array, lib.message())
            self.arrays.append(array)
            self.assertEqual(tuple(lib.array_shape(ptr(array), k) for k in range(len(shape))), shape)
            np.testing.assert_array_equal(self.read(array, values), values)


if __name__ == "__main__":
    unittest.main()
