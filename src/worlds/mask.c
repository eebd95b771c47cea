/* Masks of worlds for kernels; see mask.h. */
#include "worlds/mask.h"

#include "base/memory.h"
#include "device/host_mirror.h"

#include <assert.h>
#include <string.h>

stet_result sti_mask_init(sti_mask *m, stet_device *device, const char *name, int64_t nworld)
{
    assert(nworld > 0 && !m->array);
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, true, &m->array, nworld, 1));
    STI_TRY(sti_array_prepare_put(m->array));
    return sti_alloc(&m->held, (size_t)nworld, "mask of worlds");
}

void sti_mask_free(sti_mask *m)
{
    stet_array_destroy(m->array);
    sti_free(m->held);
    *m = (sti_mask){.array = NULL};
}

static bool is_held(const sti_mask *m, const uint8_t *mask)
{
    int64_t nworld = m->array->shape[0];
    unsigned differ = 0; /* all are compared: without a branch a compiler makes vectors of it */
    if (!mask) return m->all;
    for (int64_t w = 0; w < nworld; ++w) differ |= m->held[w] != (mask[w] != 0);
    return !differ;
}

stet_result sti_mask_put(sti_mask *m, const uint8_t *mask)
{
    stet_array *a = m->array;
    int64_t nworld = a->shape[0], chosen = 0;
    void *mirror;
    if (is_held(m, mask)) return STET_OK;
    STI_TRY(sti_array_mirror_write(a, &mirror));
    for (int64_t w = 0; w < nworld; ++w) {
        m->held[w] = !mask || mask[w];
        chosen += m->held[w];
        ((int32_t *)mirror)[sti_array_index(a, w, 0)] = m->held[w];
    }
    m->all = chosen == nworld;
    sti_array_mirror_written(a);
    assert(is_held(m, mask) && "what was put is held");
    return STET_OK;
}

void sti_mask_forget(sti_mask *m)
{
    memset(m->held, 255, (size_t)m->array->shape[0]);
    m->all = false;
}
