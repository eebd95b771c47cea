/* See not_drawn.h. */
#include "cli/pictures/not_drawn.h"

#include <stdio.h>

json_t *not_drawn_json(const stet_model *model, stet_render_mode mode, uint32_t decorations)
{
    json_t *o = json_object();
    const char *name;
    int count;
    for (int i = 0; (name = stet_render_get_not_drawn(model, mode, decorations, i, &count)); ++i)
        json_object_set_new(o, name, json_integer(count));
    return o;
}

void not_drawn_print(const json_t *not_drawn)
{
    const char *name, *before = NULL;
    json_t *count;
    json_object_foreach((json_t *)not_drawn, name, count)
    {
        printf("%s %s (%lld)", before ? before : "not drawn:", name, (long long)json_integer_value(count));
        before = ",";
    }
    if (before) printf("\n");
}
