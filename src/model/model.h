/* The model: MuJoCo's mjModel, constant after loading, with a version and a reference count. */
#ifndef STI_MODEL_MODEL_H
#define STI_MODEL_MODEL_H

#include "base/version.h"
#include "stet/model.h"

#include <mujoco/mujoco.h>

struct stet_model {
    const mjModel *mj; /* owned */
    char *path;
    sti_version version;
    int references; /* atomic */
};

void sti_model_retain(stet_model *model);
/* May a tree of it sleep? Without such trees the option flag sleep changes nothing. */
bool sti_model_sleeps(const mjModel *m);
/* Hash of all of MuJoCo's model: equal for models of equal content, whatever their origin. */
stet_result sti_model_fingerprint(const stet_model *model, uint64_t *out);

#endif
