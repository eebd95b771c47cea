// The module stet._core. What of it is for users is named in stet/__init__.py.
#include "numpy.h"
#include "speak.h"

NB_MODULE(_core, m)
{
    if (stet_check_mujoco() != STET_OK) throw nb::import_error(stet_get_last_error());
    // The interpreter has ended by the time of exit(). Where a program embeds it, that program's exit is not ours.
    if (PySequence_Size(PySys_GetObject("orig_argv")) > 0) stet_leave_code_at_exit();
    nb::set_leak_warnings(false); // a program may end with objects alive; the tests count them themselves
    binding::find_errors();
    binding::find_numpy();
    binding::bind_log(m);
    binding::bind_model(m);
    binding::bind_array(m);
    binding::bind_adjoint(m);
    binding::bind_kernel(m);
    binding::bind_env(m);
    binding::bind_sim(m);
    binding::bind_tape(m);
    binding::bind_tiles(m);
    binding::bind_ids(m);
    binding::bind_group(m);
    binding::bind_markers(m);
    binding::bind_random(m);
    binding::bind_record(m);
    binding::bind_report(m);
    binding::speak_of_wrong_arguments(m);
    binding::give_signatures(m);
    m.attr("__version__") = STET_VERSION_TEXT;
    m.attr("mujoco_version") = stet_get_mujoco_version();
}
