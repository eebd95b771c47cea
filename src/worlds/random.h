/*
 * Uniform random numbers for worlds; random.k.h describes the generator.
 */
#ifndef STI_WORLDS_RANDOM_H
#define STI_WORLDS_RANDOM_H

#include "device/device.h"

/* Streams: each use of random numbers has its own. */
enum { STI_STREAM_RESET, STI_STREAM_CONTROL, STI_STREAM_PARAMETER /* and more: one a parameter */ };

/*
 * Fills out (REAL, of worlds) with numbers in [-1, 1), a function of (seed, stream, world, draw, item), where the
 * array's world w has the number first + w. Uses the low 32 bits of draw.
 */
stet_result sti_noise(stet_array *out, uint64_t seed, int64_t first, int stream, uint64_t draw);
/* The same with one draw per world: draws INT [nworld][1]. */
stet_result sti_noise_draws(stet_array *out, uint64_t seed, int64_t first, int stream, const stet_array *draws);

#endif
