/*
 * Transforms in kernels: 12 numbers, a 3x4 matrix by rows, the linear part in columns 0 to 2, the translation in column
 * 3. Part of the kernels that include it, after the language.
 */
/* Row r, column c of a * b: the frame b, given in a's frame, seen from where a is given. */
LFN real xform_element(const real *a, const real *b, int r, int c)
{
    real s = c == 3 ? fma(a[r * 4], b[c], a[r * 4 + 3]) : a[r * 4] * b[c];
    s = fma(a[r * 4 + 1], b[4 + c], s);
    return fma(a[r * 4 + 2], b[8 + c], s);
}

/* out = a * b; out may not overlap a or b. */
LFN void xform_mul(const real *a, const real *b, real *out)
{
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) put(out, r * 4 + c, xform_element(a, b, r, c));
}

/*
 * world[prim] = world[parent[prim]] * local[prim] for the n prims listed, whose parents are not among them. Where a
 * lane is a thread, each makes a row, 16 bytes, so that neighbours write whole lines; a vector makes whole products,
 * whose inputs it loads once.
 */
LFN void xform_level(const real *local, real *xform, const int *parent, const int *prim, int n)
{
#if STET_GPU
    each (i, n * 3) {
        int p = prim[i / 3], row = i % 3 * 4;
        real a[4], b[12], v[4];
        load4(xform, (i64)parent[p] * 12 + row, a);
        for (int k = 0; k < 3; ++k) load4(local, (i64)p * 12 + 4 * k, b + 4 * k);
        for (int c = 0; c < 4; ++c) v[c] = xform_element(a, b, 0, c);
        put4(xform, (i64)p * 12 + row, v);
    }
#else
    each (i, n) {
        int p = prim[i];
        xform_mul(xform + (i64)parent[p] * 12, local + (i64)p * 12, xform + (i64)p * 12);
    }
#endif
}
