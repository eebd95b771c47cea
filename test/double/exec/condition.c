/*
 * Numbers that loops in graphs look at. Invariants: condition.h.
 */
#include "condition.h"

#include <stdlib.h>

static dd_condition *conditions;
static uint64_t handles = 1000;

int dd_condition_make(const void *graph, uint64_t *handle)
{
    dd_condition *c = calloc(1, sizeof *c);
    if (!c) return DD_OUT_OF_MEMORY;
    *c = (dd_condition){.next = conditions, .handle = ++handles, .graph = graph};
    conditions = c;
    *handle = c->handle;
    return DD_OK;
}

static dd_condition *find(uint64_t handle)
{
    dd_condition *c = conditions;
    while (c && c->handle != handle) c = c->next;
    return c;
}

dd_condition *dd_condition_take(const void *graph, uint64_t handle)
{
    dd_condition *c = find(handle);
    if (!c || c->graph != graph || c->taken) return NULL;
    c->taken = true;
    return c;
}

void dd_condition_set(unsigned long long handle, unsigned value)
{
    dd_condition *c = find(handle);
    if (!c) {
        dd_wrong("a kernel sets the condition of a handle that there is not: %llu", handle);
        return;
    }
    c->value = value;
    c->set = true;
}

bool dd_condition_look(dd_condition *c)
{
    if (!c->set) dd_wrong("a loop looks at a condition that no kernel has set");
    bool further = c->set && c->value != 0;
    c->set = false;
    return further;
}

void dd_condition_forget(void)
{
    while (conditions) {
        dd_condition *c = conditions;
        conditions = c->next;
        free(c);
    }
}
