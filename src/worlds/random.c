/* Launches of the random number kernels; see random.h. */
#include "worlds/random.h"

#include "kernel/record/launch.h"

extern const sti_kernel sti_k_noise, sti_k_noise_draws;

static sti_arg low_word(uint64_t x) { return sti_arg_int((int32_t)(uint32_t)x); }

stet_result sti_noise(stet_array *out, uint64_t seed, int64_t first, int stream, uint64_t draw)
{
    return STI_LAUNCH(sti_k_noise, out->device, out->shape[0], sti_arg_array(out), sti_arg_int(out->nitem),
                      sti_arg_int(stream), low_word(draw), low_word(seed), low_word(seed >> 32), sti_arg_int(first));
}

stet_result sti_noise_draws(stet_array *out, uint64_t seed, int64_t first, int stream, const stet_array *draws)
{
    return STI_LAUNCH(sti_k_noise_draws, out->device, out->shape[0], sti_arg_array(out), sti_arg_int(out->nitem),
                      sti_arg_int(stream), sti_arg_array(draws), low_word(seed), low_word(seed >> 32),
                      sti_arg_int(first));
}
