/* A pass of quantities of native physics: of the present state and of the step, on a tape or not; see native.h. */
#include "physics/native_state.h"

#include "physics/seen_how.k.h"

/* Quantities of the present state, or of the step. */
static stet_result fill(sti_native *n, bool of_step)
{
    sti_native_list k = {.of_step = of_step};
    stet_result result = sti_native_list_pass(n, &k);
    if (result == STET_OK && k.nlist > 0 && of_step) result = sti_native_see(n, n->seen.kept, SEEN_BEGIN);
    if (result == STET_OK && k.nlist > 0)
        result = n->worlds->device->launch_observer && !of_step
                     ? sti_native_read_taped(n, &k)
                     : sti_native_read(n, of_step ? &n->seen.reads : &n->reads, &k);
    sti_native_list_free(&k);
    return result;
}

stet_result sti_native_fill(void *native)
{
    STI_TRY(sti_native_update(native));
    STI_TRY(fill(native, false));
    return fill(native, true);
}
