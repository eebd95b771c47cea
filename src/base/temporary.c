/*
 * The list of temporary files; see temporary.h. A slot's path is written before its state says that it is there, and is
 * not written again before the slot is free.
 */
#include "base/temporary.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 128, PATH_SIZE = 1024 };
enum { FREE, TAKEN, LISTED };

static struct {
    atomic_int state;
    char path[PATH_SIZE];
} slot[SLOTS];

static bool claim_slot(int i)
{
    int expected = FREE;
    return atomic_compare_exchange_strong(&slot[i].state, &expected, TAKEN);
}

void sti_temporary_add(const char *path)
{
    assert(path && *path);
    size_t size = strlen(path) + 1;
    if (size > PATH_SIZE) return;
    for (int i = 0; i < SLOTS; ++i) {
        if (!claim_slot(i)) continue;
        memcpy(slot[i].path, path, size);
        atomic_store(&slot[i].state, LISTED);
        return;
    }
}

void sti_temporary_drop(const char *path)
{
    assert(path && *path);
    for (int i = 0; i < SLOTS; ++i) {
        int expected = LISTED;
        if (atomic_load(&slot[i].state) == LISTED && strcmp(slot[i].path, path) == 0 &&
            atomic_compare_exchange_strong(&slot[i].state, &expected, FREE))
            return;
    }
}

void sti_temporary_remove_all(void)
{
    for (int i = 0; i < SLOTS; ++i)
        if (atomic_load(&slot[i].state) == LISTED) (void)unlink(slot[i].path);
    for (int i = SLOTS; i-- > 0;) /* a folder inside another is listed after it */
        if (atomic_load(&slot[i].state) == LISTED) (void)rmdir(slot[i].path);
}
