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
#define STI_JOB_BANDS 1  /* blocks a group of tiles */
#define STI_JOB_BUFFER 2 /* sti_picture_buffer */
#define STI_JOB_ROW 3    /* row of the tile table */
#define STI_JOB_CAMERA 4
#define STI_JOB_WIDTH 5
#define STI_JOB_HEIGHT 6
#define STI_JOB_CONVERSION 7
#define STI_JOB_CHANNELS 8 /* of the destination */
#define STI_JOB_BAND 9     /* pixels of each tile in a block */
#define STI_JOB_CHANNEL 10 /* the first one, of the source */
#define STI_JOB_TILES 11   /* of a group: worlds that follow each other */
#define STI_JOB_WORLDS 12  /* of all groups */
#define STI_JOB_STRIP 13   /* pixels of a tile before it is the next tile's turn */
#define STI_JOB_COLUMNS 14
/* Columns of the table of places (i64): byte offset of the destination from `out`, bytes from one world to the next. */
#define STI_PLACE_COLUMNS 2

/*
 * Conversions of an element of another renderer's picture (foreign.k.h); "id" is an int or a u32, of which u8 takes the
 * low byte.
 */
#define STI_FOREIGN_COPY_1 0 /* copies elements of 1, 2, 4, 8 bytes */
#define STI_FOREIGN_COPY_2 1
#define STI_FOREIGN_COPY_4 2
#define STI_FOREIGN_COPY_8 3
#define STI_FOREIGN_BYTE_REAL 4 /* u8 → real, x / 255 */
#define STI_FOREIGN_BYTE_HALF 5 /* the same, rounded to f16 */
#define STI_FOREIGN_REAL_HALF 6 /* real → f16 */
#define STI_FOREIGN_HALF_REAL 7 /* f16 → real */
#define STI_FOREIGN_ID_BYTE 8   /* id → u8 */
#define STI_FOREIGN_INT_LONG 9  /* int → i64 */
#define STI_FOREIGN_U32_LONG 10 /* u32 → i64 */

/* Columns of a row of the job table of such a launch (i64): */
#define STI_FOREIGN_BLOCK 0 /* first block */
#define STI_FOREIGN_BANDS 1 /* blocks a tile */
#define STI_FOREIGN_FROM 2  /* byte offset of the source from `out` */
#define STI_FOREIGN_TO 3    /* of the destination */
#define STI_FOREIGN_PITCH 4 /* bytes from one world of the destination to the next */
#define STI_FOREIGN_FIRST 5 /* where the source's row of the tile table begins */
#define STI_FOREIGN_CAMERA 6
#define STI_FOREIGN_WIDTH 7
#define STI_FOREIGN_HEIGHT 8
#define STI_FOREIGN_CHANNELS 9 /* of the destination */
#define STI_FOREIGN_PLANAR 10  /* the destination has its channels one after the other */
#define STI_FOREIGN_CONVERSION 11
#define STI_FOREIGN_ROW 12 /* elements of the source from one row, pixel, channel to the next */
#define STI_FOREIGN_PIXEL 13
#define STI_FOREIGN_CHANNEL 14
#define STI_FOREIGN_BAND 15 /* elements of a block */
#define STI_FOREIGN_COLUMNS 16

/*
 * Pixels of a block (of foreign.k.h: elements). On a CPU the block's part of the destination fits into a core's cache;
 * a GPU needs many blocks.
 */
#define STI_BAND 16384
#define STI_BAND_GPU 4096
/*
 * On a CPU a block reads strips of so many rows of tiles that lie side by side, so many bytes in all: rows of one tile
 * are a page apart or more, and reading 64 rows of 256 bytes waits for 64 pages.
 */
#define STI_STRIP_ROWS 8
#define STI_STRIP_BYTES 4096

/* Ids of a block of ids.k.h. */
#define STI_IDS_BLOCK 4096

#endif
