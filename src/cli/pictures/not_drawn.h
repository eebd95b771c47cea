/* What a scene has and pictures do not show, in the summary of a run and in `stet info SCENE`. */
#ifndef STI_CLI_PICTURES_NOT_DRAWN_H
#define STI_CLI_PICTURES_NOT_DRAWN_H

#include "stet/stet.h"

#include <jansson.h>

/* An object: name of each kind → how many; empty if everything is drawn. decorations: bits; those that are shown. */
json_t *not_drawn_json(const stet_model *model, stet_render_mode mode, uint32_t decorations);
/* Prints the object in one line, "not drawn: …"; nothing if it is empty. */
void not_drawn_print(const json_t *not_drawn);

#endif
