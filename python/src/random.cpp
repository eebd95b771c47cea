// Random numbers of episodes on the host (stet/gym/draws.py): the library's generator, src/worlds/random.k.h.
#include "numpy.h"

namespace binding
{

using namespace nb::literals;

// One block of Philox4x32-10: the counter becomes four random words.
static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; ++round) {
        uint64_t p = (uint64_t)c[0] * 0xD2511F53u, q = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
        c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)q;
        c[3] = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

// [n, 4 blocks]: words of the counters (first, stream, world, episode), (first + 1, …) … under each row's key.
static nb::object random_words(nb::handle key, nb::handle world, nb::handle episode, nb::handle stream, uint32_t first,
                               int64_t blocks)
{
    int64_t n = (int64_t)nb::len(world);
    auto values = [n](nb::handle x, const char *name) { return Values(x, STET_DTYPE_U32, 4, {n}, name); };
    Values keys(key, STET_DTYPE_U32, 4, {n, 2}, "key");
    Values worlds = values(world, "world"), episodes = values(episode, "episode"), streams = values(stream, "stream");
    nb::object out = numpy_empty(STET_DTYPE_U32, 4, {n, 4 * blocks}, nb::none());
    Buffer buffer;
    buffer.open(out, true);
    uint32_t *to = static_cast<uint32_t *>(buffer.data());
    auto at = [](const Values &x, int64_t i) { return static_cast<const uint32_t *>(x.data())[i]; };
    for (int64_t i = 0; i < n; ++i)
        for (int64_t b = 0; b < blocks; ++b, to += 4) {
            to[0] = first + (uint32_t)b;
            to[1] = at(streams, i);
            to[2] = at(worlds, i);
            to[3] = at(episodes, i);
            philox(to, at(keys, 2 * i), at(keys, 2 * i + 1));
        }
    return out;
}

void bind_random(nb::module_ &m)
{
    m.def("_random_words", random_words, "key"_a, "world"_a, "episode"_a, "stream"_a, "first"_a, "blocks"_a,
          nb::sig("def _random_words(key: object, world: object, episode: object, stream: object, first: int, "
                  "blocks: int) -> NDArray"));
}

} // namespace binding
