/* The tables of native physics on the device. */
#include "physics/native_state.h"

static stet_result upload_tables(sti_native *n)
{
    stet_device *device = n->worlds->device;
    const sti_physics_tables *t = &n->tables;
    void *bytes;
    stet_array **made[] = {&n->m, &n->f};
    for (int k = 0; k < 2; ++k) {
        if (*made[k]) STI_TRY(sti_before_host_access(device, STI_ACT_WRITE, *made[k], (*made[k])->name));
        stet_array_destroy(*made[k]);
        *made[k] = NULL;
    }
    STI_TRY(STI_ARRAY(device, "tables of the physics", STET_DTYPE_INT, false, &n->m, t->nm));
    STI_TRY(stet_array_write(n->m, t->m, (size_t)t->nm * sizeof *t->m));
    STI_TRY(STI_ARRAY(device, "parameters of the physics", STET_DTYPE_REAL, false, &n->f, t->nf));
    STI_TRY(sti_mirror_overwrite(n->f, &bytes));
    for (int i = 0; i < t->nf; ++i) {
        if (device->real_size == sizeof(double))
            ((double *)bytes)[i] = t->f[i];
        else
            ((float *)bytes)[i] = (float)t->f[i];
    }
    sti_array_mirror_written(n->f);
    n->old = false;
    return STET_OK;
}

stet_result sti_native_update(sti_native *n)
{
    STI_TRY(sti_native_parameters_update(&n->own, n->worlds, &n->tables, &n->old));
    return n->old ? upload_tables(n) : STET_OK;
}
