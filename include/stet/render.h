/*
 * Rendering: cameras of all worlds show the stage, by ray casting.
 *
 * Visible are the geoms of the chosen groups whose colour has an alpha above 0. As in MuJoCo's renderer, all outputs
 * show what lies between the near and the far plane (the model's visual/map znear and zfar times statistic/extent, as
 * depth along the viewing axis), and only front sides: a geom around the camera, or cut open by the near plane, is
 * transparent. From below planes are transparent in colours. Of surfaces that lie in each other the last geom's is
 * visible. Light comes from the headlight and MuJoCo's lights, eight together, as there; points of light count in mode
 * PHYSICAL alone, since MuJoCo's classic renderer has none. In mode MUJOCO a directional light's shadows begin at its
 * position, as there; in mode PHYSICAL they are everywhere. How far that renderer's shadow maps reach to the side
 * (visual/map shadowclip and shadowscale) changes nothing. A geom whose pose is NaN is not drawn.
 *
 * Spatial tendons of groups 0 to 2 are visible in all outputs, as capsules along their paths, without textures. Limp
 * ones hang, as MuJoCo draws them. So are skins and flexes of these groups: lines as cylinders, cloths with both sides
 * and their edge, solids with their surface. Shapes that were added to the stage (stet_stage_add_shape) are visible as
 * geoms, of any group.
 *
 * Decorations (stet_stage_decorate) are visible in rgb and rgba alone.
 *
 * rgb and rgba have textures, shadows, transparency and reflections, where other outputs show the nearest surface; and
 * they alone show the sites of groups 0 to 2: rays of physics do not see sites either. As in MuJoCo's renderer one
 * plane or upper side of a box reflects: of the geoms whose material does, the first that the camera is above. They are
 * of one ray a pixel, or the mean of 4 or 16 (`samples` of a def); the alpha of rgba is then the part of them that hit
 * something. All other outputs show the pixel's centre.
 */
#ifndef STET_RENDER_H
#define STET_RENDER_H

#include "stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The outputs: enumerator, name, element type of the native pixel, its channels, meaning. The native pixel of colours
 * is 4 bytes R G B A.
 */
#define STET_OUTPUTS(X)                                                                                                \
    X(RGB, "rgb", STET_DTYPE_U8, 3, "shaded colour")                                                                   \
    X(RGBA, "rgba", STET_DTYPE_U8, 4, "shaded colour and 255 where something was hit, 0 for the sky")                  \
    X(DEPTH, "depth", STET_DTYPE_REAL, 1,                                                                              \
      "distance to the image plane along the view axis, metres; infinity where nothing was hit")                       \
    X(DISTANCE, "distance", STET_DTYPE_REAL, 1,                                                                        \
      "distance to the camera's position, metres; infinity where nothing was hit")                                     \
    X(NORMAL, "normal", STET_DTYPE_REAL, 3,                                                                            \
      "unit surface normal, world frame, toward the camera; 0 0 0 where nothing was hit")                              \
    X(ALBEDO, "albedo", STET_DTYPE_U8, 4, "material colour without light")                                             \
    X(SEG_GEOM, "seg_geom", STET_DTYPE_INT, 1,                                                                         \
      "geom index of the model, after these added shapes; -1 for the sky, -2 - i for tendon i, then flexes, then "     \
      "skins")                                                                                                         \
    X(SEG_BODY, "seg_body", STET_DTYPE_INT, 1,                                                                         \
      "body index of the model, -1 for the sky, -2 for tendons, -3 for flexes, -4 for skins")                          \
    X(SEG_TYPE, "seg_type", STET_DTYPE_INT, 1,                                                                         \
      "geom type (mjtGeom), -1 for the sky, -2 for tendons, -3 for flexes, -4 for skins")                              \
    X(MOTION, "motion", STET_DTYPE_REAL, 2,                                                                            \
      "pixels that the surface point moved since the world's last picture, right and down; 0 0 where nothing was hit") \
    X(BODY_POINT, "body_point", STET_DTYPE_REAL, 3,                                                                    \
      "the surface point in the frame of its body, metres; infinity where nothing was hit")
typedef enum stet_output {
#define STET_OUTPUT_ENUM(id, name, dtype, channels, doc) STET_OUTPUT_##id,
    STET_OUTPUTS(STET_OUTPUT_ENUM)
#undef STET_OUTPUT_ENUM
        STET_OUTPUT_COUNT
} stet_output;
STET_API const char *stet_output_name(stet_output output);
STET_API int stet_output_channels(stet_output output);
STET_API stet_dtype stet_output_dtype(stet_output output);
STET_API stet_result stet_output_find(const char *name, stet_output *out); /* NOT_FOUND lists the known names */

/*
 * Motion goes from where the point of the surface was when its world was last rendered, to where it is: a pixel's place
 * less its motion is the point's place in the last picture. Bodies and cameras count both, with the camera's present
 * lens. In the first picture of a world it is 0; a reset is a move like any other, so whoever compares pictures leaves
 * out worlds that were reset in between. It is infinity where the point was behind the camera. After a picture in which
 * a world moved, the next one is drawn also if the world stood, since its motion is then 0. Tendons, flexes and skins
 * count as standing in the world, which is their body, too.
 */

/*
 * How colours are made. MUJOCO, the default, imitates MuJoCo's classic renderer: what a policy sees here, it sees
 * elsewhere. PHYSICAL adds up linear light: colours of surfaces, of textures and of the haze are sRGB, those of lights
 * are amounts of light; a highlight has the lamp's colour, also on a texture; only the sum is limited, and becomes
 * sRGB. Lights that have a place and a bulb (`bulbradius`) have soft shadows. What is transparent covers its alpha
 * once. Materials that are metallic or rough, and textures of normals, occlusion, roughness, metallic and light (roles
 * of MuJoCo's materials) count here alone. Outputs without light are the same in both.
 */
typedef enum stet_render_mode {
    STET_RENDER_MODE_MUJOCO,
    STET_RENDER_MODE_PHYSICAL,
    STET_RENDER_MODE_COUNT
} stet_render_mode;
STET_API const char *stet_render_mode_name(stet_render_mode mode);                   /* "mujoco", "physical" */
STET_API stet_result stet_render_mode_find(const char *name, stet_render_mode *out); /* NOT_FOUND lists the names */

/*
 * Fog: with `fog` of a def, colours have the fog that MuJoCo's renderer shows with its flag mjRND_FOG, which is off at
 * first there, too. What is as deep as the model's visual/map fogstart times statistic/extent is clear, from fogend
 * times extent on it has the colour visual/rgba fog, and in between the fog grows with the depth. The sky is as far
 * as MuJoCo draws it, 0.7 of the far plane; without a skybox it stays black. What is mirrored has the fog on its way,
 * weaker by the mirror's reflectance, where MuJoCo adds all of it.
 */

/* Groups of geoms, 0 to 5, that are drawn if no others are chosen, as in MuJoCo: a bit 1u << group each. */
#define STET_GROUPS_DEFAULT (1u << 0 | 1u << 1 | 1u << 2)
#define STET_GROUPS_ALL 0x3fu

/*
 * The i-th kind of things that the model has and that pictures of a mode, with these decorations (stet_stage_decorate),
 * lack, as words, and how many there are; NULL after the last. count may be NULL.
 */
STET_API const char *stet_render_get_not_drawn(const stet_model *model, stet_render_mode mode, uint32_t decorations,
                                               int i, int *count);

/*
 * A camera of the renderer: a prim of the stage that looks along its -z axis, with x right and y up. For a camera of
 * the model that keeps the model's fovy, the model's sensor size, focal lengths and principal point apply if it has
 * them. A camera that is orthographic in the model stays orthographic; its fovy is then the height of the picture in
 * metres.
 */
typedef struct stet_camera {
    int prim;
    int width, height; /* pixels, at least 1, at most 16384 */
    float fovy;        /* vertical angle of view, degrees; 0 < fovy < 180, of a fisheye at most 360 */
    char name[64];
    bool orthographic; /* also without a camera of the model that is; fovy is then a length, as there */
    /*
     * Equidistant: a pixel that is r pixels from the middle of the picture shows what is r / f off the viewing axis, in
     * radians, with f = height / fovy; corners beyond the angle of view, too. Its depth is the distance, and so are the
     * near and the far plane. The model's sensor does not apply.
     */
    bool fisheye;
} stet_camera;

/*
 * What a camera's picture shows: a rectangle on the plane one metre in front of the camera (orthographic: on the
 * camera's own plane, in metres; fisheye: in radians, angles between rays and the viewing axis). Left is its place at
 * the left edge of the picture, x right and y up in the camera's frame.
 */
typedef struct stet_lens {
    bool orthographic, fisheye;
    double left, right, bottom, top;
    double near, far; /* depths in metres of the planes between which geoms are visible; 0 <= near, far > 0 */
} stet_lens;
STET_API stet_result stet_render_get_lens(const stet_stage *stage, const stet_camera *camera, stet_lens *out);

/*
 * Writes where in the world (metres) the pixels of a depth picture are: the point cloud of a camera in each world.
 * depth [nworld][height][width] is a picture of `camera`, as it stands now, of reals (stet_sim_get_array); points
 * [nworld][height][width][3] are reals, too. Both are plain arrays on the stage's device. Where nothing was hit all
 * three are infinity. UNSUPPORTED: the angle of view differs between worlds (cam_fovy of stet_worlds_set_parameter).
 */
STET_API stet_result stet_render_points(stet_stage *stage, const stet_camera *camera, const stet_array *depth,
                                        stet_array *points);

#ifdef __cplusplus
}
#endif
#endif
