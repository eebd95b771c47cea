// Calls with wrong arguments say in one sentence what is wrong, instead of listing signatures.
#pragma once

#include "error.h"

namespace binding
{

// Once, when all functions of the module are defined.
void speak_of_wrong_arguments(nb::module_ &m);

// Gives the functions and methods of a module the attribute __signature__, which inspect.signature reads.
void give_signatures(nb::module_ &m);

} // namespace binding
