/*
 * Transforms in kernels: 12 numbers, a 3x4 matrix by rows, the linear part in columns 0 to 2, the translation in column 3.
 * Part of the kernels that include it, after the language.
 */
/* out = a * b: the frame b, given in a's frame, seen from where a is given. out may not overlap a or b. */
LFN void xform_mul(const real *a, const real *b, real *out)
{
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) {
            real s = c == 3 ? fma(a[r * 4], b[c], a[r * 4 + 3]) : a[r * 4] * b[c];
            s = fma(a[r * 4 + 1], b[4 + c], s);
            s = fma(a[r * 4 + 2], b[8 + c], s);
            put(out, r * 4 + c, s);
        }
}
