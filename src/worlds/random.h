/*
 * Uniform random numbers for worlds; see random.k.h for where they come from.
 */
#ifndef STI_WORLDS_RANDOM_H
#define STI_WORLDS_RANDOM_H

#include "device/device.h"

/* Streams: each use of random numbers has one of its own. */
enum { STI_STREAM_RESET, STI_STREAM_CONTROL };

/* out (REAL, of worlds): uniform in [-1, 1), a function of (seed, stream, world, draw, item). Only the low 32 bits of draw count. */
stet_result sti_noise(stet_array *out, uint64_t seed, int stream, uint64_t draw);
/* The same with a draw for each world: draws INT [nworld][1]. */
stet_result sti_noise_draws(stet_array *out, uint64_t seed, int stream, const stet_array *draws);

#endif
