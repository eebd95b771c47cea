/* What stet adds to a parsed model before MuJoCo compiles it. */
#ifndef STI_MODEL_SPEC_H
#define STI_MODEL_SPEC_H

#include "stet/model.h"

#include <mujoco/mujoco.h>

#include <stdbool.h>

/*
 * frames: links of URDF at fixed joints are parts of the bodies above them once the model is compiled. Each such link
 * keeps its frame as a site of its name, in group 4, which pictures do not show. The rest as in stet_model_def.
 */
typedef struct sti_spec_more {
    bool frames;
    stet_actuation actuation;
    double kp, kd;
} sti_spec_more;
/* `what` names the model. INVALID_ARGUMENT: a gain that is not above 0; a joint without a name. */
stet_result sti_spec_extend(const char *what, mjSpec *spec, const sti_spec_more *more);

#endif
