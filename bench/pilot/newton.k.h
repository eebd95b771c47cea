/*
 * Pilot: one Newton iteration of the constraint solver, H = M + J' D J, H = L L', x = H^-1 g. Kind world.
 *
 * The order of the operations on each element is that of the plain loops (rows ascending, columns ascending), whatever
 * the tiles: that is what makes lanes and teams agree to the bit.
 */
#include "stet/lang.h"

/* A GPU's team: 13.5 ns a world and iteration at 8192 worlds on an H200 (64 threads: 17.2; 16: 16.7). */
#define STET_TEAM_k_newton 32, 1

#define NT_NV 27  /* dofs: a multiple of the tile */
#define NT_NR 50  /* constraint rows */
#define NT_T 3    /* tile edge: 9 sums and 6 operands fit the registers of each target */
#define NT_NB 9   /* tiles a side */
#define NT_TRI 45 /* tiles of the lower triangle */

/*
 * Rows that are added to all tiles before the next rows: on a CPU 16 worlds of 10 rows and the lower triangle fit a 48
 * KB first-level cache together; on a GPU the sums stay in registers. The order of the sum is the same.
 */
#if STET_GPU
#define NT_ROWS NT_NR
#else
#define NT_ROWS 10
#endif

/* Row and column of the t-th tile of a lower triangle, row by row. */
LFN void nt_tile(int t, int *row, int *col)
{
    int r = 0;
    for (int k = 1; k < NT_NB; ++k) r += t >= k * (k + 1) / 2;
    *row = r;
    *col = t - r * (r + 1) / 2;
}

/* Rows r0 … r0 + NT_ROWS - 1 added to the tile (bi, bj) of H = M + J' D J. */
LFN void nt_form_tile(const real *M, const real *J, const real *D, real *H, int bi, int bj, int r0)
{
    const real *from = r0 == 0 ? M : H;
    real acc[NT_T][NT_T];
    for (int a = 0; a < NT_T; ++a)
        for (int b = 0; b < NT_T; ++b) acc[a][b] = from[(bi * NT_T + a) * NT_NV + bj * NT_T + b];
    for (int r = r0; r < r0 + NT_ROWS; ++r) {
        const real *ji = J + r * NT_NV + bi * NT_T, *jj = J + r * NT_NV + bj * NT_T;
        real d = D[r];
        real dj[NT_T];
        for (int a = 0; a < NT_T; ++a) dj[a] = d * ji[a];
        for (int a = 0; a < NT_T; ++a)
            for (int b = 0; b < NT_T; ++b) acc[a][b] = fma(dj[a], jj[b], acc[a][b]);
    }
    for (int a = 0; a < NT_T; ++a)
        for (int b = 0; b < NT_T; ++b) H[(bi * NT_T + a) * NT_NV + bj * NT_T + b] = acc[a][b];
}

/* Cholesky of a diagonal tile in place; the inverse of the diagonal goes to inv. */
LFN void nt_factor_tile(real *H, real *inv, int k)
{
    real *h = H + k * NT_T * NT_NV + k * NT_T;
    for (int j = 0; j < NT_T; ++j) {
        real d = sqrt(h[j * NT_NV + j]);
        real s = splat(1) / d;
        h[j * NT_NV + j] = d;
        inv[k * NT_T + j] = s;
        for (int i = j + 1; i < NT_T; ++i) h[i * NT_NV + j] = h[i * NT_NV + j] * s;
        for (int i = j + 1; i < NT_T; ++i)
            for (int c = j + 1; c <= i; ++c)
                h[i * NT_NV + c] = fma(-h[i * NT_NV + j], h[c * NT_NV + j], h[i * NT_NV + c]);
    }
}

/* Row i of the panel below the diagonal tile k: X L' = H. */
LFN void nt_solve_row(real *H, const real *inv, int i, int k)
{
    real *h = H + i * NT_NV + k * NT_T;
    for (int j = 0; j < NT_T; ++j) {
        real x = h[j];
        for (int c = 0; c < j; ++c) x = fma(-h[c], H[(k * NT_T + j) * NT_NV + k * NT_T + c], x);
        h[j] = x * inv[k * NT_T + j];
    }
}

/* Tile (bi, bj) of the trailing part minus the product of the panel's rows. */
LFN void nt_update_tile(real *H, int bi, int bj, int k)
{
    const real *li = H + bi * NT_T * NT_NV + k * NT_T, *lj = H + bj * NT_T * NT_NV + k * NT_T;
    real *h = H + bi * NT_T * NT_NV + bj * NT_T;
    for (int a = 0; a < NT_T; ++a)
        for (int b = 0; b < NT_T; ++b) {
            real x = h[a * NT_NV + b];
            for (int c = 0; c < NT_T; ++c) x = fma(-li[a * NT_NV + c], lj[b * NT_NV + c], x);
            h[a * NT_NV + b] = x;
        }
}

/*
 * M [nv * nv], J [nr * nv], D [nr], g [nv] → x [nv], the search direction H^-1 g. All arrays of one world; M, D and g
 * in consistent units.
 */
world_kernel void k_newton(const real *M, const real *J, const real *D, const real *g, real *x)
{
    staged(real, Js, J, NT_NR * NT_NV);
    shared(real, H, NT_NV * NT_NV);
    shared(real, inv, NT_NV);
    shared(real, y, NT_NV);

    each (i, NT_NV) y[i] = g[i];
    for (int r = 0; r < NT_NR; r += NT_ROWS) {
        each (t, NT_TRI) {
            int bi, bj;
            nt_tile(t, &bi, &bj);
            nt_form_tile(M, Js, D, H, bi, bj, r);
        }
        sync();
    }
    for (int k = 0; k < NT_NB; ++k) {
        int rest = NT_NB - k - 1;
        each (one, 1) nt_factor_tile(H, inv, k);
        sync();
        each (i, rest * NT_T) nt_solve_row(H, inv, (k + 1) * NT_T + i, k);
        sync();
        each (t, rest * (rest + 1) / 2) {
            int bi, bj;
            nt_tile(t, &bi, &bj);
            nt_update_tile(H, bi + k + 1, bj + k + 1, k);
        }
        sync();
    }
    for (int j = 0; j < NT_NV; ++j) {
        each (i, NT_NV - j - 1) y[j + 1 + i] = fma(-H[(j + 1 + i) * NT_NV + j], y[j] * inv[j], y[j + 1 + i]);
        sync();
    }
    each (i, NT_NV) y[i] = y[i] * inv[i];
    sync();
    for (int j = NT_NV - 1; j >= 0; --j) {
        each (i, j) y[i] = fma(-H[j * NT_NV + i], y[j] * inv[j], y[i]);
        sync();
    }
    each (i, NT_NV) put(x, i, y[i] * inv[i]);
}
