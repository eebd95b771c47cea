/*
 * Colours as bytes. In mode mujoco they are what is computed with. In mode physical light is linear: bytes are sRGB
 * (IEC 61966-2-1), and texels are square roots of light, whose steps are finer than those of sRGB. Part of render.k.h.
 */
LFN real linear_of_srgb(real c)
{
    real curve = pow((c + splat((ureal)0.055)) * splat((ureal)(1 / 1.055)), splat((ureal)2.4));
    return select(le(c, splat((ureal)0.04045)), c * splat((ureal)(1 / 12.92)), curve);
}

LFN real srgb_of_linear(real c)
{
    real curve = fma(pow(c, splat((ureal)(1 / 2.4))), splat((ureal)1.055), splat((ureal)-0.055));
    return select(le(c, splat((ureal)0.0031308)), c * splat((ureal)12.92), curve);
}

/* Packs channels of 0 … 1 as bytes R G B A. Clamped, rounded to nearest, halves to even. */
LFN lint pack_bytes(const real *rgb, lint alpha)
{
    lint packed = ishl(alpha, 24);
    for (int k = 0; k < 3; ++k)
        packed = packed | ishl(to_int(rint(clamp(rgb[k], splat(0), splat(1)) * splat(255))), 8 * k);
    return packed;
}

LFN void unpack_bytes(lint word, real *rgb)
{
    for (int k = 0; k < 3; ++k) rgb[k] = to_real(ishr(word, 8 * k) & isplat(255)) * splat((ureal)TEXEL_UNIT);
}

/* Colours of pixels. No gamma in mode mujoco, as in MuJoCo. */
LFN lint pack_colour(rd_world w, const real *rgb, lint alpha)
{
    if (!is_physical(w)) return pack_bytes(rgb, alpha);
    real coded[3];
    for (int k = 0; k < 3; ++k) coded[k] = srgb_of_linear(clamp(rgb[k], splat(0), splat(1)));
    return pack_bytes(coded, alpha);
}

LFN void unpack_colour(rd_world w, lint word, real *rgb)
{
    unpack_bytes(word, rgb);
    for (int k = 0; k < 3 && is_physical(w); ++k) rgb[k] = linear_of_srgb(rgb[k]);
}

/* Colours of textures between two steps (detail_patch). */
LFN lint pack_texel(rd_world w, const real *rgb)
{
    if (!is_physical(w)) return pack_bytes(rgb, isplat(0));
    real root[3];
    for (int k = 0; k < 3; ++k) root[k] = sqrt(rgb[k]);
    return pack_bytes(root, isplat(0));
}

LFN void unpack_texel(rd_world w, lint word, real *rgb)
{
    unpack_bytes(word, rgb);
    for (int k = 0; k < 3 && is_physical(w); ++k) rgb[k] = rgb[k] * rgb[k];
}

/*
 * What textures make of surfaces; all but the first: those of other roles than colour, metallic and roughness, in mode
 * physical.
 */
typedef struct details {
    real colour[3];    /* of a texture */
    real open;         /* how much of ambient light comes in: occlusion */
    real rough, metal; /* 0 … 1 */
    real light[3];     /* of its own */
    lint lit;          /* 1: as metal_light has it, 0: as OpenGL */
} details;

/* Three numbers of 0 … 1 in 10 bits each. */
LFN lint pack_parts(const real *part)
{
    lint word = isplat(0);
    for (int k = 0; k < 3; ++k)
        word = word | ishl(to_int(rint(clamp(part[k], splat(0), splat(1)) * splat(TEXEL_MOST))), TEXEL_BITS * k);
    return word;
}

LFN void unpack_parts(lint word, real *part)
{
    for (int k = 0; k < 3; ++k)
        part[k] = to_real(ishr(word, TEXEL_BITS * k) & isplat(TEXEL_MOST)) * splat((ureal)(1.0 / TEXEL_MOST));
}

/* Roles between two steps (detail_patch): two words. */
LFN void pack_roles(const details *r, lint *word)
{
    real orm[3] = {r->open, r->rough, r->metal}, root[3];
    for (int k = 0; k < 3; ++k) root[k] = sqrt(r->light[k]);
    word[0] = pack_parts(orm) | ishl(r->lit, 3 * TEXEL_BITS);
    word[1] = pack_parts(root);
}

LFN void unpack_roles(const lint *word, details *r)
{
    real orm[3];
    unpack_parts(word[0], orm);
    unpack_parts(word[1], r->light);
    for (int k = 0; k < 3; ++k) r->light[k] = r->light[k] * r->light[k];
    r->open = orm[0];
    r->rough = orm[1];
    r->metal = orm[2];
    r->lit = ishr(word[0], 3 * TEXEL_BITS) & isplat(1);
}

/* Of surfaces that have none. */
LFN void no_details(details *r)
{
    for (int k = 0; k < 3; ++k) r->colour[k] = splat(1);
    r->open = splat(1);
    r->rough = splat(1);
    r->metal = splat(0);
    r->lit = isplat(0);
    for (int k = 0; k < 3; ++k) r->light[k] = splat(0);
}
