// Calls with wrong arguments say in one sentence what is wrong, instead of listing signatures.
#pragma once

#include "error.h"

namespace binding
{

// Once, when all functions of the module are defined.
void speak_of_wrong_arguments(nb::module_ &m);

} // namespace binding
