/* Outputs of rounds: copies to the host at the end of a round. Invariants: round.h. */
#include "sim/sim.h"

#include <string.h>

static stet_result check_header(const stet_sim *sim, const stet_array *header)
{
    if (header->device != sim->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "round: header %s lives on another device; make it on that of the sim (stet_sim_get_device)",
                         header->name);
    if (header->dtype == STET_DTYPE_I64 && !header->worlds && header->nitem == 2) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "round: header %s must be a plain array of i64, [2]: first row, number of rows", header->name);
}

/* Copies the rows that the header names, if they exist and fit. */
static stet_result copy_rows(stet_sim *sim, const stet_array *a, stet_round_value *value)
{
    int64_t rows[2];
    STI_TRY(check_header(sim, value->header));
    STI_TRY(stet_array_read(value->header, rows, sizeof rows));
    size_t row = a->shape[0] ? stet_array_get_bytes(a) / (size_t)a->shape[0] : 0;
    if (rows[0] < 0 || rows[1] < 0 || rows[0] > a->shape[0] || rows[1] > a->shape[0] - rows[0])
        return sti_error(STET_ERROR_LIMIT,
                         "round: header %s says %lld rows from row %lld on, but %s has %lld; look at the kernel that "
                         "writes it",
                         value->header->name, (long long)rows[1], (long long)rows[0], a->name, (long long)a->shape[0]);
    size_t size = (size_t)rows[1] * row;
    if (size > value->size)
        return sti_error(STET_ERROR_LIMIT, "round: %lld rows of %s are %zu bytes, and there is room for %zu; give more",
                         (long long)rows[1], a->name, size, value->size);
    STI_TRY(stet_array_read_worlds(a, rows[0], rows[1], value->data, size));
    value->rows = rows[1];
    sim->round.info.bytes_out += (int64_t)(size + sizeof rows);
    return STET_OK;
}

stet_result sti_round_copy_out(stet_sim *sim, stet_round_value *value)
{
    sti_round_target target;
    value->rows = 0;
    STI_TRY(sti_round_find(sim, value, STET_DIRECTION_OUT, &target));
    if (value->header)
        STI_TRY(copy_rows(sim, target.array, value));
    else
        STI_TRY(stet_array_read(target.array, value->data, value->size));
    if (!value->header) sim->round.info.bytes_out += (int64_t)value->size;
    sim->round.info.copied_out++;
    return STET_OK;
}
