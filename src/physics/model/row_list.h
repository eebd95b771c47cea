/* Lists of rows of numbers, all of one size, as tables are made from: rows are added, or shared with equal ones. */
#ifndef STI_PHYSICS_ROW_LIST_H
#define STI_PHYSICS_ROW_LIST_H

#include "stet/base.h"

#include <stddef.h>
#include <stdint.h>

/* Begins as {.size = bytes of a row}; sti_row_list_free. */
typedef struct sti_row_list {
    size_t size;
    char *rows; /* [n] */
    int n;
    int *slot; /* [nslot] a hash table of the rows that are shared: the number of one, plus 1; 0: none */
    int nslot;
} sti_row_list;

/* Adds a row, whatever the others are. OUT_OF_MEMORY, LIMIT: more than an int counts. */
stet_result sti_row_list_add(sti_row_list *list, const void *row);
/* The number of a row with these bytes, which is added if there is none. The other rows came by this function, too. */
stet_result sti_row_list_share(sti_row_list *list, const void *row, int *number);
void sti_row_list_free(sti_row_list *list);

#endif
