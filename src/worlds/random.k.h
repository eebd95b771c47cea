/*
 * Counter-based random numbers: the n-th number is a function of (seed, stream, world, draw, n). So it is the same for
 * any number of threads and worlds, in any order, and no state has to be kept or saved.
 *
 * Philox4x32-10 by Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (2011), section 5.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

/* One block: ten rounds on a counter of four words under a key of two; the counter becomes four random words. */
LFN void rk_philox(lint c[4], lint k0, lint k1)
{
    for (int round = 0; round < 10; ++round) {
        lint hi0 = imulhi(c[0], isplat((int)0xD2511F53u)), lo0 = c[0] * isplat((int)0xD2511F53u);
        lint hi1 = imulhi(c[2], isplat((int)0xCD9E8D57u)), lo1 = c[2] * isplat((int)0xCD9E8D57u);
        c[0] = hi1 ^ c[1] ^ k0;
        c[2] = hi0 ^ c[3] ^ k1;
        c[1] = lo1;
        c[3] = lo0;
        k0 = k0 + isplat((int)0x9E3779B9u);
        k1 = k1 + isplat((int)0xBB67AE85u);
    }
}

/* The upper 24 bits of a word as a number in [-1, 1): exact in float and double alike. */
LFN real rk_uniform(lint word) { return fma(to_real(ishr(word, 8)), splat((ureal)1.1920928955078125e-7), splat(-1)); }

/* The global number of a lane's world; `first` is that of the launch's world 0 (stet_worlds_def.first_world). */
LFN lint rk_world(int first, int world) { return lane() + isplat(first + world); }

/* out [n]: uniform numbers of this world, four from each block; draw differs between worlds. */
LFN void rk_fill(real *out, int n, lint draw, lint world, int stream, int seed_low, int seed_high)
{
    each (i, (n + 3) / 4) {
        lint c[4] = {isplat(i), isplat(stream), world, draw};
        rk_philox(c, isplat(seed_low), isplat(seed_high));
        for (int k = 0; k < 4; ++k)
            if (4 * i + k < n) put(out, 4 * i + k, rk_uniform(c[k]));
    }
}

/* The same draw for all worlds. */
world_kernel void k_noise(real *out, int n, int stream, int draw, int seed_low, int seed_high, int first, int world)
{
    rk_fill(out, n, isplat(draw), rk_world(first, world), stream, seed_low, seed_high);
}

/* A draw of its own for each world: draws [1]. */
world_kernel void k_noise_draws(real *out, int n, int stream, const lint *draws, int seed_low, int seed_high, int first,
                                int world)
{
    rk_fill(out, n, draws[0], rk_world(first, world), stream, seed_low, seed_high);
}

/* The generator itself, for comparison with the published vectors: counter [4], key [2], out [4]. */
world_kernel void k_philox(const lint *counter, const lint *key, lint *out)
{
    lint c[4];
    for (int k = 0; k < 4; ++k) c[k] = counter[k];
    rk_philox(c, key[0], key[1]);
    each (i, 4) out[i] = c[i];
}
