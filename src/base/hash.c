/*
 * XXH64, written from its published specification, seed 0: four lanes of 64 bits consume 32 bytes at a time and are
 * folded into one; the rest follows in steps of 8, 4 and 1 bytes.
 *
 * Invariants: numbers are read as little-endian on every machine; fewer than 32 bytes are pending between calls, so the
 * way the bytes are split over calls does not change the result.
 */
#include "base/hash.h"

#include <assert.h>
#include <string.h>

#define PRIME1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME3 UINT64_C(0x165667B19E3779F9)
#define PRIME4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME5 UINT64_C(0x27D4EB2F165667C5)

enum { STRIPE = 32 };

static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static uint64_t read4(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t read8(const uint8_t *p) { return read4(p) | read4(p + 4) << 32; }

static uint64_t eat(uint64_t lane, uint64_t input) { return rotate(lane + input * PRIME2, 31) * PRIME1; }

static uint64_t fold(uint64_t hash, uint64_t lane) { return (hash ^ eat(0, lane)) * PRIME1 + PRIME4; }

static void eat_stripe(uint64_t lane[4], const uint8_t *p)
{
    for (size_t i = 0; i < 4; i++) lane[i] = eat(lane[i], read8(p + 8 * i));
}

void sti_hash_begin(sti_hash *h) { *h = (sti_hash){.lane = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1}}; }

void sti_hash_add(sti_hash *h, const void *data, size_t size)
{
    if (size == 0) return;
    assert(data && h->npending < STRIPE && h->total % STRIPE == h->npending);
    const uint8_t *p = data;
    h->total += size;
    if (h->npending > 0) {
        size_t part = STRIPE - h->npending;
        if (part > size) part = size;
        memcpy(h->pending + h->npending, p, part);
        h->npending += part;
        p += part;
        size -= part;
        if (h->npending < STRIPE) return;
        eat_stripe(h->lane, h->pending);
        h->npending = 0;
    }
    uint64_t lane[4] = {h->lane[0], h->lane[1], h->lane[2], h->lane[3]};
    for (; size >= STRIPE; p += STRIPE, size -= STRIPE) eat_stripe(lane, p);
    memcpy(h->lane, lane, sizeof lane);
    if (size > 0) memcpy(h->pending, p, size);
    h->npending = size;
    assert(h->npending < STRIPE && h->total % STRIPE == h->npending);
}

/* Hashes the last bytes (fewer than 32), one after the other. */
static uint64_t eat_rest(uint64_t hash, const uint8_t *p, size_t size)
{
    assert(size < STRIPE);
    for (; size >= 8; p += 8, size -= 8) hash = rotate(hash ^ eat(0, read8(p)), 27) * PRIME1 + PRIME4;
    for (; size >= 4; p += 4, size -= 4) hash = rotate(hash ^ read4(p) * PRIME1, 23) * PRIME2 + PRIME3;
    for (; size > 0; p++, size--) hash = rotate(hash ^ *p * PRIME5, 11) * PRIME1;
    return hash;
}

uint64_t sti_hash_end(const sti_hash *h)
{
    uint64_t hash = PRIME5;
    if (h->total >= STRIPE) {
        hash = rotate(h->lane[0], 1) + rotate(h->lane[1], 7) + rotate(h->lane[2], 12) + rotate(h->lane[3], 18);
        for (int i = 0; i < 4; i++) hash = fold(hash, h->lane[i]);
    }
    hash = eat_rest(hash + h->total, h->pending, h->npending);
    hash = (hash ^ hash >> 33) * PRIME2;
    hash = (hash ^ hash >> 29) * PRIME3;
    return hash ^ hash >> 32;
}

uint64_t sti_hash_bytes(const void *data, size_t size)
{
    sti_hash h;
    sti_hash_begin(&h);
    sti_hash_add(&h, data, size);
    return sti_hash_end(&h);
}
