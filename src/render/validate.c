/* What the renderer's kernels rely on in the tables of a scene; see validate.h. */
#include "render/validate.h"

#ifndef NDEBUG

#include "render/scene.k.h"

static void validate_patches(const sti_scene_rows *s)
{
    const int *head = s->scene;
    assert(head[SCENE_NCAMERA] >= 1 && head[SCENE_NTILE] % head[SCENE_NCAMERA] == 0 && "a tile a world and camera");
    assert(head[SCENE_NPATCH] >= head[SCENE_NCAMERA] && "each camera has a patch");
    for (int p = 0; p < head[SCENE_NPATCH]; ++p) {
        const int *row = head + SCENE_PATCHES + (ptrdiff_t)p * PATCH_SIZE;
        assert(row[PATCH_CAMERA] >= 0 && row[PATCH_CAMERA] < head[SCENE_NCAMERA]);
        assert(row[PATCH_X] >= 0 && row[PATCH_X] < row[PATCH_WIDTH] && row[PATCH_X] % PATCH == 0);
        assert(row[PATCH_Y] >= 0 && row[PATCH_Y] < row[PATCH_HEIGHT] && row[PATCH_Y] % PATCH == 0);
        assert(row[PATCH_PRIM] >= 0 && row[PATCH_PRIM] < s->nprim && "a camera is a prim");
    }
}

static void validate_list(const sti_scene_rows *s, int at, int n)
{
    assert(n >= 0 && at >= SCENE_PATCHES && at + (int64_t)n * SHOWN_SIZE <= s->nscene && "a list is in the table");
    for (int i = 0; i < n; ++i) {
        const int *row = s->scene + at + (ptrdiff_t)i * SHOWN_SIZE;
        assert(row[SHOWN_GEOM] >= 0 && row[SHOWN_GEOM] < s->nshape && "a row of geoms to draw is of a shape");
        assert(row[SHOWN_PRIM] >= 0 && row[SHOWN_PRIM] < s->nprim);
        assert(row[SHOWN_TYPE] >= 0 && row[SHOWN_TYPE] < 32 && "types are bits of a word");
        assert((row[SHOWN_KIND] & ~(SHOWN_ENDLESS | SHOWN_CORD | SHOWN_UNDERSIDE | SHOWN_SOFT)) == 0);
    }
}

static void validate_lists(const sti_scene_rows *s)
{
    const int *head = s->scene;
    int shown = head[SCENE_SHOWN], solid = head[SCENE_SOLID], clear = head[SCENE_CLEAR];
    assert(shown <= solid && solid <= clear && "lists follow each other");
    assert((solid - shown) % SHOWN_SIZE == 0 && (clear - shown) % SHOWN_SIZE == 0 && "rows are counted from the first");
    assert(head[SCENE_NSOLID] <= head[SCENE_NSHOWN] + head[SCENE_NSITE] + head[SCENE_NADDED] &&
           "what is opaque is shown, or a decoration");
    validate_list(s, shown, head[SCENE_NSHOWN] + head[SCENE_NSITE]);
    validate_list(s, solid, head[SCENE_NSOLID]);
    validate_list(s, clear, head[SCENE_NCLEAR] + head[SCENE_NUNDER]);
    for (int i = 0; i < head[SCENE_NMIRROR]; ++i) {
        const int *row = head + head[SCENE_MIRROR] + (ptrdiff_t)i * MIRROR_SIZE;
        assert(row[MIRROR_GEOM] >= 0 && row[MIRROR_GEOM] < s->nshape && row[MIRROR_PRIM] >= 0);
        assert(row[MIRROR_PRIM] < s->nprim && (row[MIRROR_BOX] == 0 || row[MIRROR_BOX] == 1));
    }
}

static void validate_lamps(const sti_scene_rows *s)
{
    const int *head = s->scene;
    int casting = 0;
    assert(head[SCENE_NLAMP] >= 0 && head[SCENE_NLAMP] <= LAMP_MOST);
    for (int l = 0; l < head[SCENE_NLAMP]; ++l) {
        const int *row = head + head[SCENE_LAMPS] + (ptrdiff_t)l * LAMP_INTS;
        const double *look = s->look + head[SCENE_LOOK_LAMPS] + (ptrdiff_t)l * LAMP_REALS;
        assert(row[LAMP_PRIM] >= -1 && row[LAMP_PRIM] < s->nprim && "-1: the camera");
        assert(row[LAMP_SHADOW] >= 0 && look[LAMP_RADIUS] >= 0);
        casting += row[LAMP_SHADOW] != 0;
    }
    assert(casting == head[SCENE_NSHADOW] && casting <= LAMP_SHADOW_MOST);
}

static void validate_details(const sti_scene_rows *s)
{
    const int *head = s->scene;
    for (int g = 0; head[SCENE_DETAIL] && g < s->nshape; ++g) {
        const int *row = head + head[SCENE_DETAIL] + (ptrdiff_t)g * DETAIL_SIZE;
        assert(row[DETAIL_MAP] >= MAP_CUBE && row[DETAIL_MAP] <= MAP_CYLINDER);
        assert(row[DETAIL_CORNER] >= 0 && row[DETAIL_CORNER] <= s->nlook && row[DETAIL_NORMALS] >= 0);
        for (int k = DETAIL_TEXTURE; k <= DETAIL_EMISSIVE; ++k) {
            bool texture = k == DETAIL_TEXTURE || k >= DETAIL_BUMPS;
            if (!texture || row[k] == 0) continue;
            assert(row[k] >= SCENE_PATCHES && row[k] + TEXTURE_HEAD < s->nscene && "a texture is in the table");
            assert(s->scene[row[k] + TEXTURE_LEVELS] >= 1 && "a texture has a level");
        }
    }
}

void sti_validate_scene_rows(const sti_scene_rows *s)
{
    const int *head = s->scene;
    assert(head[SCENE_LOOK_LAMPS] == APPEARANCE_SIZE * s->nshape && "appearances come first");
    assert(head[SCENE_LOOK_SCALE] > head[SCENE_LOOK_LAMPS] && head[SCENE_LOOK_HAZE] >= head[SCENE_LOOK_SCALE]);
    assert(head[SCENE_LOOK_HAZE] + HAZE_SIZE + FOG_SIZE <= s->nlook && head[SCENE_FOG] < s->nlook);
    assert(head[SCENE_IDS] + (int64_t)IDS_SIZE * s->nshape <= s->nscene && head[SCENE_SKY] < s->nscene);
    assert(head[SCENE_HAZE] >= 0 && head[SCENE_HAZE] <= s->nprim && "a prim, plus 1");
    assert((head[SCENE_CHOICE] == 0 || head[SCENE_CHOICE] == s->nshape) && head[SCENE_NADDED] >= 0);
    assert((!head[SCENE_ROLES] || head[SCENE_PHYSICAL]) && "roles are of mode physical");
    validate_patches(s);
    validate_lists(s);
    validate_lamps(s);
    validate_details(s);
}

#endif
