/* The environment of the process; see environment.h. */
#include "base/environment.h"

#include <stdlib.h>

const char *sti_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : 0;
}
