/*
 * What a model has that MuJoCo's classic renderer shows with its default options, or that its format describes, and
 * this renderer does not draw: one row a kind. A kind that becomes drawn loses its row.
 */
#include "render/appearance.h"
#include "render/detail.h"
#include "render/scene.k.h"
#include "stage/tendon.h"
#include "stet/render.h"

static bool group_shown(int group) { return sti_group_in(group, STET_GROUPS_DEFAULT); }

static double shown_alpha(const mjModel *m, int material, const float *rgba)
{
    double row[APPEARANCE_SIZE];
    sti_appearance_of(m, material, rgba, row);
    return row[APPEARANCE_ALPHA];
}

static int count_node_flexes(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nflex; ++i) n += m->flex_interp[i] != 0 && !sti_soft_object(m, i) && sti_soft_drawn(m, i);
    return n;
}

static bool object_has_texture(const mjModel *m, int object)
{
    int material = sti_soft_material(m, object);
    return material >= 0 && m->mat_texid[(ptrdiff_t)material * mjNTEXROLE + mjTEXROLE_RGB] >= 0;
}

/* Of objects that are drawn, those whose texture is not. */
static int count_soft_textures(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < (int)(m->nflex + m->nskin); ++i) {
        int skin = i - (int)m->nflex;
        bool coordinates = skin >= 0 ? m->skin_texcoordadr[skin] >= 0 : m->flex_texcoordadr[i] >= 0;
        bool drawn = sti_soft_object(m, i) || (skin < 0 && sti_flex_pieces(m, i) > 0);
        n += drawn && sti_soft_drawn(m, i) && object_has_texture(m, i) &&
             !(sti_soft_object(m, i) && sti_soft_texture(m, i, coordinates) >= 0);
    }
    return n;
}

/* A flex is drawn with the material of its first element. */
static int count_flex_materials(const mjModel *m)
{
    int n = 0;
#if mjVERSION_HEADER >= 4000000
    for (int i = 0; i < m->nflex; ++i) {
        bool differ = false;
        for (int e = 0; e < m->flex_elemnum[i]; ++e)
            differ |= m->flex_matid[m->flex_elemadr[i] + e] != m->flex_matid[m->flex_elemadr[i]];
        n += differ && group_shown(m->flex_group[i]);
    }
#else
    (void)m;
#endif
    return n;
}

static int count_slider_cranks(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nu; ++i) n += m->actuator_trntype[i] == mjTRN_SLIDERCRANK;
    return n;
}

static int count_rangefinders(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nsensor; ++i)
        n += m->sensor_type[i] == mjSENS_RANGEFINDER && m->sensor_objtype[i] == mjOBJ_SITE;
    return n;
}

static int count_camera_rangefinders(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nsensor; ++i)
        n += m->sensor_type[i] == mjSENS_RANGEFINDER && m->sensor_objtype[i] != mjOBJ_SITE;
    return n;
}

static int count_plugins(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nplugin; ++i) n += mjp_getPluginAtSlot(m->plugin[i])->visualize != NULL;
    return n;
}

static bool material_shown(const mjModel *m, int material)
{
    for (int g = 0; g < m->ngeom; ++g)
        if (m->geom_matid[g] == material && group_shown(m->geom_group[g]) &&
            shown_alpha(m, material, m->geom_rgba + 4 * (ptrdiff_t)g) > 0)
            return true;
    return false;
}

static int count_roles(const mjModel *m, bool physical)
{
    int n = 0;
    for (ptrdiff_t i = 0; i < m->nmat; ++i) {
        for (int role = 0; role < mjNTEXROLE; ++role)
            n += role != mjTEXROLE_RGB && role != mjTEXROLE_RGBA && m->mat_texid[i * mjNTEXROLE + role] >= 0 &&
                 !(physical && sti_role_drawn(m, i, role)) && material_shown(m, (int)i);
    }
    return n;
}

/* Materials whose picture MuJoCo's classic renderer does not read either. */
static int count_unread_textures(const mjModel *m)
{
    int n = 0;
    for (ptrdiff_t i = 0; i < m->nmat; ++i) {
        int texture = m->mat_texid[i * mjNTEXROLE + mjTEXROLE_RGB];
        n += texture >= 0 && !sti_texture_drawn(m, texture) && material_shown(m, (int)i);
    }
    return n;
}

static int count_tendon_textures(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->ntendon; ++i) {
        ptrdiff_t material = m->tendon_matid[i];
        n += material >= 0 && m->mat_texid[material * mjNTEXROLE + mjTEXROLE_RGB] >= 0 && sti_tendon_pieces(m, i) > 0 &&
             sti_tendon_drawn(m, i);
    }
    return n;
}

static int count_image_lights(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nlight; ++i) n += m->light_active[i] && m->light_type[i] == mjLIGHT_IMAGE;
    return n;
}

static int count_points(const mjModel *m, bool physical)
{
    int n = 0;
    for (int i = 0; i < m->nlight && !physical; ++i) n += m->light_active[i] && m->light_type[i] == mjLIGHT_POINT;
    return n;
}

static int count_further_lights(const mjModel *m, bool physical)
{
    int n = m->vis.headlight.active != 0;
    for (int i = 0; i < m->nlight; ++i) n += sti_lamp_shines(m, i, physical);
    return n > LAMP_MOST ? n - LAMP_MOST : 0;
}

/* Of lights that are drawn. */
static int count_shadows(const mjModel *m, bool physical)
{
    int n = 0, lamps = m->vis.headlight.active != 0;
    for (int i = 0; i < m->nlight && lamps < LAMP_MOST; ++i) {
        if (!sti_lamp_shines(m, i, physical)) continue;
        n += m->light_castshadow[i];
        ++lamps;
    }
    return m->vis.quality.shadowsize > 0 && n > LAMP_SHADOW_MOST ? n - LAMP_SHADOW_MOST : 0;
}

const char *stet_render_get_not_drawn(const stet_model *model, stet_render_mode mode, uint32_t decorations, int i,
                                      int *count)
{
    static const struct {
        const char *name;
        int (*count)(const mjModel *m);
        int (*of_mode)(const mjModel *m, bool physical); /* instead of count */
        uint32_t by;                                     /* decorations that draw them */
    } kinds[] = {{"flexes of one dimension with nodes", count_node_flexes, NULL, 0},
                 {"textures of skins and flexes without coordinates, or cubes", count_soft_textures, NULL, 0},
                 {"further materials of flexes", count_flex_materials, NULL, 0},
                 {"slider-cranks", count_slider_cranks, NULL, 0},
                 {"rays of range finders", count_rangefinders, NULL, 1u << STET_DECORATION_RANGEFINDER},
                 {"rays of range finders at cameras", count_camera_rangefinders, NULL, 0},
                 {"drawings of plugins", count_plugins, NULL, 0},
                 {"textures of one channel, or in KTX files", count_unread_textures, NULL, 0},
                 {"textures of other roles than colour", NULL, count_roles, 0},
                 {"textures of tendons", count_tendon_textures, NULL, 0},
                 {"lights by images", count_image_lights, NULL, 0},
                 {"point lights", NULL, count_points, 0},
                 {"lights after the eighth", NULL, count_further_lights, 0},
                 {"shadows of further lights", NULL, count_shadows, 0}};
    const bool physical = mode == STET_RENDER_MODE_PHYSICAL;
    for (size_t k = 0; model && i >= 0 && k < sizeof kinds / sizeof *kinds; ++k) {
        const mjModel *m = model->mj;
        int n = kinds[k].by & decorations ? 0 : kinds[k].count ? kinds[k].count(m) : kinds[k].of_mode(m, physical);
        if (n == 0 || i-- > 0) continue;
        if (count) *count = n;
        return kinds[k].name;
    }
    return NULL;
}
