/* Tables of fluid forces; see fluids.h. */
#include "physics/dynamics/fluids.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

bool sti_physics_has_medium(const mjModel *m)
{
    bool passive = !(m->opt.disableflags & mjDSBL_SPRING) || !(m->opt.disableflags & mjDSBL_DAMPER);
    return passive && (m->opt.density > 0 || m->opt.viscosity > 0);
}

int sti_physics_ellipsoid_body(const mjModel *m, int g)
{
    return sti_physics_has_medium(m) && m->geom_fluid[mjNFLUID * g] > 0 ? m->geom_bodyid[g] : -1;
}

int sti_physics_count_ellipsoids(const mjModel *m)
{
    int n = 0;
    for (int g = 0; g < m->ngeom; ++g) n += sti_physics_ellipsoid_body(m, g) >= 0;
    return n;
}

int sti_physics_slope_size(const mjModel *m)
{
    if (m->opt.integrator == mjINT_IMPLICIT) return 24;
    bool late = m->opt.integrator == mjINT_IMPLICITFAST || m->opt.integrator == mjINT_DISCRETE;
    return late && sti_physics_has_medium(m) ? 6 : 0;
}

static void half_axes(const mjModel *m, int g, double *out)
{
    const double *size = m->geom_size + 3 * g;
    bool round = m->geom_type[g] == mjGEOM_CAPSULE || m->geom_type[g] == mjGEOM_CYLINDER;
    double length = m->geom_type[g] == mjGEOM_CAPSULE ? size[0] + size[1] : size[1];
    out[0] = size[0];
    out[1] = round || m->geom_type[g] == mjGEOM_SPHERE ? size[0] : size[1];
    out[2] = round ? length : m->geom_type[g] == mjGEOM_SPHERE ? size[0] : size[2];
}

void sti_physics_put_ellipsoids(sti_tables_builder *b)
{
    static const int from[] = {FL_SCALE,    FL_BLUNT,    FL_SLENDER,  FL_ANGULAR, FL_KUTTA,       FL_MAGNUS,
                               FL_MASS + 0, FL_MASS + 1, FL_MASS + 2, FL_INERTIA, FL_INERTIA + 1, FL_INERTIA + 2};
    const mjModel *m = b->model;
    double *to = sti_physics_new_parameter(b, M_FLUID_PRM, FL_SIZE * (int64_t)sti_physics_count_ellipsoids(m));
    _Static_assert(sizeof from / sizeof *from == mjNFLUID, "what geom_fluid has");
    for (int g = 0; to && g < m->ngeom; ++g) {
        if (sti_physics_ellipsoid_body(m, g) < 0) continue;
        half_axes(m, g, to + FL_AXES);
        for (int k = 0; k < mjNFLUID; ++k) to[from[k]] = m->geom_fluid[mjNFLUID * g + k];
        to += FL_SIZE;
    }
}
