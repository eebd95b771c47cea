/*
 * The colours of depths, for the kernel and for the host: near is light and warm, far is dark. Five points with evenly
 * decreasing lightness: straw, orange, rose, violet, night blue. Only numbers.
 */
#ifndef STI_TILES_DEPTH_RAMP_H
#define STI_TILES_DEPTH_RAMP_H

#define STI_RAMP_RED 0.99f, 0.98f, 0.82f, 0.43f, 0.09f
#define STI_RAMP_GREEN 0.95f, 0.66f, 0.33f, 0.18f, 0.08f
#define STI_RAMP_BLUE 0.74f, 0.42f, 0.45f, 0.50f, 0.26f
#define STI_RAMP_PIECES 4
#define STI_DEPTH_LEAST 1e-6 /* metres; nearer depths count as this */

/* Depths of a block. */
#define STI_DEPTHS_BLOCK 4096

#endif
