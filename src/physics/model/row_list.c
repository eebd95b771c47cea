/* Lists of rows of numbers; see row_list.h. */
#include "physics/model/row_list.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

stet_result sti_row_list_add(sti_row_list *list, const void *row)
{
    enum { LEAST = 16 };
    assert(list->size > 0 && list->n >= 0 && (list->rows || list->n == 0));
    size_t room = list->rows ? sti_block_size(list->rows) / list->size : 0, n = (size_t)list->n;
    if (list->n == INT_MAX)
        return sti_error(STET_ERROR_LIMIT, "physics: a table of this model has more than %d rows; use physics mujoco",
                         INT_MAX);
    if (n == room) STI_TRY(sti_realloc(&list->rows, (room + room / 2 + LEAST) * list->size, "tables of the physics"));
    memcpy(list->rows + n * list->size, row, list->size);
    list->n++;
    return STET_OK;
}

/* Where a row is in the hash table, or would be. */
static int *find_slot(const sti_row_list *list, const void *row)
{
    uint64_t at = sti_hash_bytes(row, list->size);
    assert(list->n < list->nslot && (list->nslot & (list->nslot - 1)) == 0 && "a power of two, of which one is free");
    for (;; ++at) {
        int *slot = list->slot + (at & (uint64_t)(list->nslot - 1));
        if (*slot == 0 || memcmp(list->rows + (size_t)(*slot - 1) * list->size, row, list->size) == 0) return slot;
    }
}

/* At most half of the hash table is used. */
static stet_result grow_slots(sti_row_list *list)
{
    enum { LEAST = 64 };
    if (list->n < list->nslot / 2) return STET_OK;
    int nslot = list->nslot > 0 ? 2 * list->nslot : LEAST, *slot;
    STI_TRY(sti_alloc(&slot, (size_t)nslot * sizeof *slot, "tables of the physics"));
    sti_free(list->slot);
    list->slot = slot;
    list->nslot = nslot;
    for (int i = 0; i < list->n; ++i) *find_slot(list, list->rows + (size_t)i * list->size) = i + 1;
    return STET_OK;
}

stet_result sti_row_list_share(sti_row_list *list, const void *row, int *number)
{
    STI_TRY(grow_slots(list));
    int *slot = find_slot(list, row);
    if (*slot == 0) {
        STI_TRY(sti_row_list_add(list, row));
        *slot = list->n;
    }
    *number = *slot - 1;
    assert(*number >= 0 && *number < list->n);
    return STET_OK;
}

void sti_row_list_free(sti_row_list *list)
{
    sti_free(list->rows);
    sti_free(list->slot);
    list->rows = NULL;
    list->slot = NULL;
    list->n = list->nslot = 0;
}
