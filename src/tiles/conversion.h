/*
 * Constants that the extraction kernel and its host side share: conversions and columns of the job table. Kernels
 * include this file, so it has numbers only.
 */
#ifndef STI_TILES_CONVERSION_H
#define STI_TILES_CONVERSION_H

/* Conversions of a tile; "colour" is a native pixel R | G << 8 | B << 16 | A << 24. */
#define STI_TO_WORDS 0   /* copies 4 bytes: colours with 4 channels, int, u32 */
#define STI_TO_REALS 1   /* copies reals, all channels */
#define STI_TO_BYTES 2   /* colour → 1 to 3 u8, or 4 where the destination is not aligned to words */
#define STI_BYTES_REAL 3 /* colour → real, x / 255 */
#define STI_BYTES_HALF 4 /* the same, rounded to f16 */
#define STI_PICK_REALS 5 /* reals → their first channels */
#define STI_REALS_HALF 6 /* reals → f16, first channels */
#define STI_INT_BYTE 7   /* int → u8, the low byte: -1 gives 255 */
#define STI_INT_LONG 8   /* int → i64 */

/* Columns of a row of the job table (int): */
#define STI_JOB_BLOCK 0  /* first block */
#define STI_JOB_BANDS 1  /* blocks a tile */
#define STI_JOB_BUFFER 2 /* sti_picture_buffer */
#define STI_JOB_ROW 3    /* row of the tile table */
#define STI_JOB_CAMERA 4
#define STI_JOB_WIDTH 5
#define STI_JOB_HEIGHT 6
#define STI_JOB_CONVERSION 7
#define STI_JOB_CHANNELS 8 /* of the destination */
#define STI_JOB_BAND 9     /* pixels of a block */
#define STI_JOB_COLUMNS 10
/* Columns of the table of places (i64): byte offset of the destination from `out`, bytes from one world to the next. */
#define STI_PLACE_COLUMNS 2

/* Pixels of a block. On a CPU the block's part of the destination fits into a core's cache; a GPU needs many blocks. */
#define STI_BAND 16384
#define STI_BAND_GPU 4096

#endif
