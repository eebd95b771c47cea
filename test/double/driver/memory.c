/*
 * Regions, blocks, zones and garbage. Invariants: memory.h.
 */
#define _GNU_SOURCE
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION ((size_t)64 << 30) /* addresses of a device; pages exist once they are touched */
#define PAGE ((size_t)4096)
#define FILLED ((size_t)32 << 20) /* of a larger block, this much at each end is filled with garbage */

enum { ALIGN = 512, ZONE = 512, HOST_ZONE = 64, RESTING = 256, CLOSED = 16, FRESH = 0xA5, FREED = 0xDB, GUARD = 0xFA };

typedef struct dd_memory {
    int file;
    unsigned char *region, *shadow;
    size_t top; /* offset behind the last block */
    bool open;
    dd_block *block; /* sorted by address */
    int nblock, capacity;
    int resting[RESTING]; /* ring of offsets / ALIGN of freed blocks, oldest first */
    int nresting;
    size_t used;
} dd_memory;

typedef struct host_block {
    unsigned char *memory;
    size_t size;
} host_block;

static host_block *host;
static int nhost, host_capacity;

/* ---- a device's region ---------------------------------------------------------------------------------------- */

static int make_region(dd_device *device)
{
    if (device->memory) return DD_OK;
    dd_memory *m = calloc(1, sizeof *m);
    if (!m) return DD_OUT_OF_MEMORY;
    m->file = memfd_create("device memory", MFD_CLOEXEC);
    if (m->file < 0 || ftruncate(m->file, (off_t)REGION) != 0) return DD_UNKNOWN;
    int closed = dd.config.protect ? PROT_NONE : PROT_READ | PROT_WRITE;
    m->region = mmap(NULL, REGION, closed, MAP_SHARED | MAP_NORESERVE, m->file, 0);
    m->shadow = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->file, 0);
    if (m->region == MAP_FAILED || m->shadow == MAP_FAILED) return DD_UNKNOWN;
    m->top = PAGE;
    device->memory = m;
    return DD_OK;
}

dd_device *dd_memory_device(uint64_t address)
{
    for (int i = 0; i < DD_DEVICES; ++i) {
        const dd_memory *m = dd.device[i].memory;
        if (m && address >= (uintptr_t)m->region && address - (uintptr_t)m->region < REGION) return &dd.device[i];
    }
    return NULL;
}

static unsigned char *shadow_of(const dd_memory *m, uint64_t address)
{
    return m->shadow + (address - (uintptr_t)m->region);
}

void *dd_memory_shadow(uint64_t address)
{
    dd_device *device = dd_memory_device(address);
    return device ? shadow_of(device->memory, address) : NULL;
}

/* Number of the last block that begins at or before the address; -1: none. */
static int block_before(const dd_memory *m, uint64_t address)
{
    int low = 0, high = m->nblock;
    while (low < high) {
        int middle = (low + high) / 2;
        if (m->block[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Opens the region but for the pages of the blocks that were freed last. */
int dd_memory_open(dd_device *device)
{
    dd_memory *m = device->memory;
    if (!m || m->open || !dd.config.protect) return DD_OK;
    size_t used = (m->top + PAGE - 1) / PAGE * PAGE;
    if (mprotect(m->region, used, PROT_READ | PROT_WRITE) != 0) return DD_UNKNOWN;
    m->open = true;
    for (int r = m->nresting > CLOSED ? m->nresting - CLOSED : 0; r < m->nresting; ++r) {
        const dd_block *b = &m->block[block_before(m, (uintptr_t)m->region + (uint64_t)m->resting[r] * ALIGN)];
        uint64_t from = (b->address + PAGE - 1) / PAGE * PAGE, to = (b->address + b->room) / PAGE * PAGE;
        if (from < to && mprotect(m->region + (from - (uintptr_t)m->region), to - from, PROT_NONE) != 0)
            return DD_UNKNOWN;
    }
    return DD_OK;
}

void dd_memory_close(void)
{
    for (int i = 0; i < DD_DEVICES; ++i) {
        dd_memory *m = dd.device[i].memory;
        if (!m || !m->open) continue;
        mprotect(m->region, (m->top + PAGE - 1) / PAGE * PAGE, PROT_NONE);
        m->open = false;
    }
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

const dd_block *dd_memory_find(uint64_t address, size_t size)
{
    dd_device *device = dd_memory_device(address);
    int i = device ? block_before(device->memory, address) : -1;
    if (i < 0) return NULL;
    const dd_block *b = &device->memory->block[i];
    uint64_t offset = address - b->address;
    return b->live && offset <= b->size && size <= b->size - offset ? b : NULL;
}

static dd_block *block_at(dd_device *device, uint64_t address)
{
    int i = device->memory ? block_before(device->memory, address) : -1;
    if (i < 0 || device->memory->block[i].address != address || !device->memory->block[i].live) return NULL;
    return &device->memory->block[i];
}

static void fill(const dd_memory *m, uint64_t address, size_t size, int byte)
{
    unsigned char *at = shadow_of(m, address);
    if (size <= 2 * FILLED) {
        memset(at, byte, size);
        return;
    }
    memset(at, byte, FILLED);
    memset(at + size - FILLED, byte, FILLED);
}

/* The zone behind begins at the last byte that was asked for. */
static void set_zones(const dd_memory *m, const dd_block *b)
{
    memset(shadow_of(m, b->address - ZONE), GUARD, ZONE);
    memset(shadow_of(m, b->address + b->size), GUARD, b->room - b->size + ZONE);
}

static bool zone_is_whole(const unsigned char *at, size_t size, size_t *bad)
{
    for (*bad = 0; *bad < size; ++*bad)
        if (at[*bad] != GUARD) return false;
    return true;
}

static void check_zones(const dd_memory *m, const dd_block *b)
{
    size_t bad;
    if (!zone_is_whole(shadow_of(m, b->address - ZONE), ZONE, &bad))
        dd_wrong("a block of %zu bytes: byte %zu before its start was written", b->size, ZONE - bad);
    if (!zone_is_whole(shadow_of(m, b->address + b->size), b->room - b->size + ZONE, &bad))
        dd_wrong("a block of %zu bytes: byte %zu behind its end was written", b->size, bad);
}

/* A block that was freed, has this room and may be used again; it is the one freed last. */
static dd_block *used_before(dd_memory *m, size_t room)
{
    for (int r = m->nresting - 1; r >= 0; --r) {
        int i = block_before(m, (uintptr_t)m->region + (uint64_t)m->resting[r] * ALIGN);
        if (m->block[i].room != room) continue;
        if (!dd.config.recycle && r >= m->nresting - RESTING / 2) continue;
        memmove(&m->resting[r], &m->resting[r + 1], (size_t)(m->nresting - r - 1) * sizeof *m->resting);
        m->nresting--;
        return &m->block[i];
    }
    return NULL;
}

static dd_block *new_block(dd_memory *m, size_t room)
{
    if (m->nblock == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 64;
        dd_block *more = realloc(m->block, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        m->block = more;
        m->capacity = capacity;
    }
    if (room + 2 * ZONE > REGION - m->top) return NULL;
    size_t offset = (m->top + ZONE + ALIGN - 1) / ALIGN * ALIGN;
    m->top = offset + room + ZONE;
    dd_block *b = &m->block[m->nblock++];
    *b = (dd_block){.address = (uintptr_t)m->region + offset, .room = room};
    return b;
}

int dd_memory_alloc(dd_device *device, size_t size, uint64_t *address)
{
    *address = 0;
    if (size == 0) return DD_INVALID_VALUE;
    int result = make_region(device);
    if (result) return result;
    dd_memory *m = device->memory;
    if (size > dd.config.memory - m->used) return DD_OUT_OF_MEMORY;
    dd_memory_close(); /* what is open grows with the next kernel */
    size_t room = (size + ALIGN - 1) / ALIGN * ALIGN;
    dd_block *b = used_before(m, room);
    if (!b) b = new_block(m, room);
    if (!b) return DD_OUT_OF_MEMORY;
    b->size = size;
    b->live = true;
    b->leaving = false;
    fill(m, b->address, size, FRESH);
    set_zones(m, b);
    m->used += size;
    dd.alive.blocks++;
    dd.alive.bytes += size;
    *address = b->address;
    return DD_OK;
}

/* The oldest that rests gives its pages back; its addresses stay its own. */
static void rest(dd_memory *m, const dd_block *b)
{
    if (m->nresting == RESTING) memmove(m->resting, m->resting + 1, (RESTING - 1) * sizeof *m->resting), m->nresting--;
    m->resting[m->nresting++] = (int)((b->address - (uintptr_t)m->region) / ALIGN);
    if (b->room < 16 * PAGE) return;
    off_t from = (off_t)((b->address - (uintptr_t)m->region + PAGE - 1) / PAGE * PAGE);
    off_t to = (off_t)((b->address - (uintptr_t)m->region + b->room) / PAGE * PAGE);
    if (b->room > FILLED) fallocate(m->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

int dd_memory_free(dd_device *device, uint64_t address)
{
    dd_block *b = block_at(device, address);
    if (!b) return DD_INVALID_VALUE;
    dd_memory *m = device->memory;
    dd_memory_close();
    check_zones(m, b);
    fill(m, b->address, b->size, FREED);
    b->live = false;
    m->used -= b->size;
    dd.alive.blocks--;
    dd.alive.bytes -= b->size;
    rest(m, b);
    return DD_OK;
}

bool dd_memory_leave(dd_device *device, uint64_t address)
{
    dd_block *b = block_at(device, address);
    if (!b || b->leaving) return false;
    b->leaving = true;
    return true;
}

size_t dd_memory_free_bytes(const dd_device *device)
{
    return dd.config.memory - (device->memory ? device->memory->used : 0);
}

/* ---- the host's pinned memory ----------------------------------------------------------------------------------- */

int dd_host_alloc(size_t size, void **out)
{
    *out = NULL;
    if (size == 0) return DD_INVALID_VALUE;
    if (nhost == host_capacity) {
        int capacity = host_capacity ? 2 * host_capacity : 16;
        host_block *more = realloc(host, (size_t)capacity * sizeof *more);
        if (!more) return DD_OUT_OF_MEMORY;
        host = more;
        host_capacity = capacity;
    }
    size_t room = (size + HOST_ZONE - 1) / HOST_ZONE * HOST_ZONE;
    unsigned char *p = aligned_alloc(HOST_ZONE, room + 2 * HOST_ZONE);
    if (!p) return DD_OUT_OF_MEMORY;
    memset(p, GUARD, room + 2 * HOST_ZONE);
    memset(p + HOST_ZONE, FRESH, size);
    host[nhost++] = (host_block){p + HOST_ZONE, size};
    dd.alive.host_blocks++;
    *out = p + HOST_ZONE;
    return DD_OK;
}

static void check_host(const host_block *b)
{
    size_t bad, room = (b->size + HOST_ZONE - 1) / HOST_ZONE * HOST_ZONE;
    if (!zone_is_whole(b->memory - HOST_ZONE, HOST_ZONE, &bad) ||
        !zone_is_whole(b->memory + b->size, room - b->size + HOST_ZONE, &bad))
        dd_wrong("a pinned block of %zu bytes: the zone before or behind it was written", b->size);
}

int dd_host_free(void *memory)
{
    for (int i = 0; i < nhost; ++i) {
        if (host[i].memory != memory) continue;
        check_host(&host[i]);
        free(host[i].memory - HOST_ZONE);
        host[i] = host[--nhost];
        dd.alive.host_blocks--;
        return DD_OK;
    }
    return DD_INVALID_VALUE;
}

bool dd_host_owns(const void *memory)
{
    for (int i = 0; i < nhost; ++i)
        if ((const unsigned char *)memory >= host[i].memory &&
            (const unsigned char *)memory < host[i].memory + host[i].size)
            return true;
    return false;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

void dd_memory_check(void)
{
    for (int i = 0; i < DD_DEVICES; ++i) {
        const dd_memory *m = dd.device[i].memory;
        for (int k = 0; m && k < m->nblock; ++k)
            if (m->block[k].live) check_zones(m, &m->block[k]);
    }
    for (int i = 0; i < nhost; ++i) check_host(&host[i]);
}

void dd_memory_forget(void)
{
    for (int i = 0; i < DD_DEVICES; ++i) {
        dd_memory *m = dd.device[i].memory;
        if (!m) continue;
        munmap(m->region, REGION);
        munmap(m->shadow, REGION);
        close(m->file);
        free(m->block);
        free(m);
        dd.device[i].memory = NULL;
    }
    while (nhost > 0) free(host[--nhost].memory - HOST_ZONE);
    free(host);
    host = NULL;
    host_capacity = 0;
}
