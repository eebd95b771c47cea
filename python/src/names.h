// Names that Python gives, as what the library calls them. What is unknown is NOT_FOUND, and the sentence lists what is
// known.
#pragma once

#include "core.h"

#include <string>
#include <vector>

namespace binding
{

// NULL for an empty text, which stands for an absent one.
inline const char *text_or_null(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

stet_physics to_physics(const std::string &name);
uint32_t to_mechanisms(const std::vector<std::string> &names); // bits
stet_output to_output(const std::string &name);
stet_render_mode to_render_mode(const std::string &name);
uint32_t to_decorations(const std::vector<std::string> &names); // bits
stet_phase to_phase(const std::string &name);
// A keyframe by number or name, "qpos0"; None is `otherwise`.
int to_keyframe(const stet_model *model, nb::handle keyframe, int otherwise);
// A camera of the sim, by number or name.
int to_camera(Core &core, nb::handle camera);

} // namespace binding
