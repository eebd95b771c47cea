/*
 * Textures as OpenGL filters them: linear within a level, linear between the two mip levels around the footprint of a
 * pixel. Part of render.k.h.
 *
 * A texture is a block of `scene`: TEXTURE_HEAD numbers, then for each level where its texels begin, width and height.
 * A texel is a word, red in the lowest byte; in mode physical (tone.k.h) a square root of 10 bits a channel.
 * Texels of a row lie side by side, row 0 at t = 0.
 */
typedef struct texel_place {
    lint texture, face;   /* index in `scene`; 0 … 5, of a cube */
    real s, t, footprint; /* 0 … 1 across the picture; texels of level 0 from this pixel to the next, squared */
} texel_place;

LFN void add_texel(rd_world w, lint at, real weight, real *rgb)
{
    lint word = igather(w.scene, at);
    if (is_physical(w)) {
        for (int k = 0; k < 3; ++k) {
            real root = to_real(ishr(word, TEXEL_BITS * k) & isplat(TEXEL_MOST)) * splat((ureal)(1.0 / TEXEL_MOST));
            rgb[k] = fma(weight * splat(255), root * root, rgb[k]);
        }
        return;
    }
    for (int k = 0; k < 3; ++k) rgb[k] = fma(weight, to_real(ishr(word, 8 * k) & isplat(255)), rgb[k]);
}

/* A row or column of texels that may be one beyond an end. */
LFN lint wrapped(lint i, lint n, mask repeat)
{
    lint last = n - isplat(1), before = iselect(repeat, last, isplat(0)), after = iselect(repeat, isplat(0), last);
    return iselect(ilt(i, isplat(0)), before, iselect(ilt(last, i), after, i));
}

/* A level of a texture: where its texels begin; repeat: else the edge goes on. */
typedef struct texel_level {
    lint first, width, height;
    mask repeat;
} texel_level;

/* Adds weight times the colour, 0 … 255, of a level. */
LFN void add_level(rd_world w, const texel_level *level, real s, real t, real weight, real *rgb)
{
    lint first = level->first, width = level->width, height = level->height;
    mask repeat = level->repeat;
    real x = fma(s, to_real(width), splat((ureal)-0.5)), y = fma(t, to_real(height), splat((ureal)-0.5));
    real left = floor(x), low = floor(y), right_part = (x - left) * weight, left_part = weight - right_part;
    real high_part = y - low, low_part = splat(1) - high_part;
    lint i = to_int(left), j = to_int(low);
    lint i0 = wrapped(i, width, repeat), i1 = wrapped(i + isplat(1), width, repeat);
    lint row0 = first + wrapped(j, height, repeat) * width,
         row1 = first + wrapped(j + isplat(1), height, repeat) * width;
    add_texel(w, row0 + i0, left_part * low_part, rgb);
    add_texel(w, row0 + i1, right_part * low_part, rgb);
    add_texel(w, row1 + i0, left_part * high_part, rgb);
    add_texel(w, row1 + i1, right_part * high_part, rgb);
}

/* The same for one of a place's levels in each lane. */
LFN void add_place_level(rd_world w, const texel_place *place, lint level, real weight, real *rgb)
{
    lint row = place->texture + isplat(TEXTURE_HEAD) + isplat(LEVEL_SIZE) * level;
    texel_level own;
    own.width = igather(w.scene + LEVEL_WIDTH, row);
    own.height = igather(w.scene + LEVEL_HEIGHT, row);
    own.first = igather(w.scene + LEVEL_FIRST, row) + place->face * own.width * own.height;
    own.repeat = ilt(isplat(0), igather(w.scene + TEXTURE_REPEAT, place->texture));
    add_level(w, &own, place->s, place->t, weight, rgb);
}

/* Colour of a texture, 0 … 1 a channel. */
LFN void texture_colour(rd_world w, const texel_place *place, real *rgb)
{
    lint last = igather(w.scene + TEXTURE_LEVELS, place->texture) - isplat(1);
    real level = log2(rmax(place->footprint, splat(1))) * splat((ureal)0.5);
    level = rmin(level, to_real(last));
    real whole = floor(level), part = level - whole;
    for (int k = 0; k < 3; ++k) rgb[k] = splat(0);
    add_place_level(w, place, to_int(whole), (splat(1) - part) * splat((ureal)TEXEL_UNIT), rgb);
    if (any(lt(splat(0), part)))
        add_place_level(w, place, imin(to_int(whole) + isplat(1), last), part * splat((ureal)TEXEL_UNIT), rgb);
}

/* The larger of the squares of two steps, (s, t) across and down, in texels. */
LFN real footprint_of(lint width, lint height, const real *across, const real *down)
{
    real w = to_real(width), h = to_real(height), ax = across[0] * w, ay = across[1] * h, dx = down[0] * w,
         dy = down[1] * h;
    return rmax(fma(ax, ax, ay * ay), fma(dx, dx, dy * dy));
}

/* Where a repeated picture is at (s, t). */
LFN void place_2d(rd_world w, int texture, real s, real t, const real *across, const real *down, texel_place *place)
{
    const int *level = w.scene + texture + TEXTURE_HEAD;
    place->texture = isplat(texture);
    place->face = isplat(0);
    place->s = s - floor(s);
    place->t = t - floor(t);
    place->footprint = footprint_of(isplat(level[LEVEL_WIDTH]), isplat(level[LEVEL_HEIGHT]), across, down);
}

/* Components of r on the face of a cube that `x`, `y` (else z) and the sign say: across, down, outwards. */
LFN void on_face(mask x, mask y, real sign, const real *r, real *out)
{
    out[0] = select(x, -sign * r[2], select(y, r[0], sign * r[0]));
    out[1] = select(y, sign * r[2], -r[1]);
    out[2] = sign * select(x, r[0], select(y, r[1], r[2]));
}

/* The face of a cube in direction r, and r on it (on_face). Returns the number of the face. */
LFN lint cube_face(const real *r, mask *x, mask *y, real *sign, real *on)
{
    real size[3] = {rabs(r[0]), rabs(r[1]), rabs(r[2])};
    *x = m_and(le(size[1], size[0]), le(size[2], size[0]));
    *y = m_andnot(le(size[2], size[1]), *x);
    *sign = copysign_(splat(1), select(*x, r[0], select(*y, r[1], r[2])));
    on_face(*x, *y, *sign, r, on);
    lint axis = iselect(*x, isplat(0), iselect(*y, isplat(2), isplat(4)));
    return axis + iselect(lt(*sign, splat(0)), isplat(1), isplat(0));
}

/* Where a cube is in direction r, which changes by `across` and `down` (OpenGL 2.1, section 3.8.6). */
LFN void place_cube(rd_world w, int texture, const real *r, const real *across, const real *down, texel_place *place)
{
    const int *level = w.scene + texture + TEXTURE_HEAD;
    real c[3], step[3], change[4], sign;
    mask x, y;
    lint face = cube_face(r, &x, &y, &sign, c);
    real half = splat((ureal)0.5) / c[2], s = c[0] / c[2], t = c[1] / c[2];
    for (int i = 0; i < 2; ++i) {
        on_face(x, y, sign, i == 0 ? across : down, step);
        change[2 * i] = (step[0] - s * step[2]) * half;
        change[2 * i + 1] = (step[1] - t * step[2]) * half;
    }
    place->texture = isplat(texture);
    place->face = face * isplat(w.scene[texture + TEXTURE_CUBE]);
    place->s = fma(s, splat((ureal)0.5), splat((ureal)0.5));
    place->t = fma(t, splat((ureal)0.5), splat((ureal)0.5));
    place->footprint = footprint_of(isplat(level[LEVEL_WIDTH]), isplat(level[LEVEL_HEIGHT]), change, change + 2);
}
