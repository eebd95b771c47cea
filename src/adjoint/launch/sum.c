/*
 * Sums over the shares of all worlds; see stet/adjoint.h.
 */
#include "base/error.h"
#include "device/device.h"
#include "kernel/launch/kernel.h"
#include "stet/adjoint.h"

enum { SUM_ITEMS = 8 /* of a block, as in stacks.k.h */ };

extern const sti_kernel sti_k_sum_worlds;

stet_result stet_adjoint_sum_worlds(stet_array *sum, const stet_array *shares)
{
    if (!sum || !shares)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_adjoint_sum_worlds: sum and shares must not be NULL");
    if (sum->worlds || sum->dtype != STET_DTYPE_REAL || !shares->worlds || shares->dtype != STET_DTYPE_REAL ||
        sum->nitem != shares->nitem || sum->device != shares->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sum of %s over worlds: %s is not a plain array of %lld reals on the same device",
                         shares->name, sum->name, (long long)shares->nitem);
    if (sum->nitem > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "sum of %s over worlds: %lld items; at most %d are possible", shares->name,
                         (long long)sum->nitem, INT32_MAX);
    return STI_LAUNCH(sti_k_sum_worlds, sum->device, (sum->nitem + SUM_ITEMS - 1) / SUM_ITEMS, sti_arg_array(sum),
                      sti_arg_array(shares), sti_arg_int(shares->nitem), sti_arg_int(shares->shape[0]));
}
