/*
 * Every form of statement: the gradients of kernels that have it are those of differences, and their adjoints keep the
 * language's rules.
 */
#include "adjoint/rig.h"

static const rig_set_up set_up = {.nvalue = 1, .value = {RIG_COUNTS}};

FORM(overwritten_variables, 6,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real a = x[i], b = a; a = a * b; b = sin(a) * b; a += b * a; a -= b; a *= a; a /= b + splat(3);\n"
     "  { real c = a; a = b; b = c * a; }\n"
     "  put(y, i, a * b); } }")

FORM(branches, 6,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real a = x[i];\n"
     "  if (i == 0) a = a * a; else if (i == 1) { real t = a; a = sin(t) * t; } else if (any(lt(a, splat(2)))) a = "
     "exp(a);\n"
     "  if (i > 5) a = splat(0);\n"
     "  put(y, i, a * a); } }")

FORM(local_arrays, 18,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real a[3], m[2][3] = {{x[i], splat(1), x[i] * x[i]}, {splat(2)}};\n"
     "  for (int k = 0; k < 3; ++k) a[k] = x[i * 3 + k];\n"
     "  for (int k = 0; k < 3; ++k) for (int j = 0; j < 2; ++j) m[j][k] = m[j][k] * a[k] + m[1 - j][(k + 1) % 3];\n"
     "  a[0] = a[0] * a[1]; a[1] = a[0] * m[0][1]; a[0] = a[1] * a[0];\n"
     "  put(y, i, a[0] * m[1][2] + m[0][0] * a[2] + m[1][0]); } }")

FORM(loops_of_all_kinds, 6,
     "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) {\n"
     "  real s = x[i]; int k = 0;\n"
     "  for (int j = 0; j < count[i] + 1; ++j) s = sin(s * x[i]);\n"
     "  for (int j = 5; j > 0; j -= 2) s = s + cos(s);\n"
     "  for (i64 j = 2; j >= 0; --j) s = s * (x[i] + to_real(isplat((int)j)));\n"
     "  for (int j = 0; j < 20; j += 7) { if (j == 7) continue; s = tanh(s) + x[i]; }\n"
     "  for (int j = 0; j < 9; ++j) { if (k > 2) break; ++k; s = s * splat((ureal)0.9) + x[i] * s; }\n"
     "  for (int j = 0; j < 9 && k < 5; ++j) { k += 1; s = atan(s * s); }\n"
     "  for (int j = 3; j < 2; ++j) s = s * s * s;\n"
     "  put(y, i, s); } }")

FORM(loops_four_deep, 6,
     "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) {\n"
     "  real s = x[i], t = splat(1);\n"
     "  for (int a = 0; a < count[i] + 1; ++a)\n"
     "    for (int b = 0; b < count[a + 1]; ++b) {\n"
     "      for (int c = a; c >= 0; --c) {\n"
     "        for (int d = 0; d < count[c + b]; ++d) { s = sin(s * t + x[i]); if (d == 1) break; t = cos(t) * s; }\n"
     "        t = t * splat((ureal)0.8);\n"
     "      }\n"
     "      s = s + x[i] * t;\n"
     "    }\n"
     "  put(y, i, s * t); } }")

FORM(left_when_no_lane_goes_on, 6,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real s = x[i]; mask go = m_all();\n"
     "  for (int k = 0; k < 10; ++k) {\n"
     "    if (!any(go)) break;\n"
     "    s = select(go, s * s + x[i], s);\n"
     "    go = m_and(go, lt(s, splat(2)));\n"
     "  }\n"
     "  put(y, i, log(s)); } }")

FORM(functions, 18,
     "LFN real sq(real x) { return x * x; }\n"
     "LFN real poly(real x, ureal c, const real *a, int n) { real s = splat(c); for (int i = 0; i < n; ++i) s = fma(s, "
     "x, a[i]); return s; }\n"
     "LFN void two(real x, real y, real *o) { o[0] = x * y; o[1] = sin(x) + o[0] * y; }\n"
     "LFN real early(real x, int n) { if (n > 1) return x * x * x;\n"
     "  for (int i = 0; i < n; ++i) { if (i == 1) return sin(x); x = x * x + x; } return x; }\n"
     "LFN void swap(real *v, int n) { real t = v[0]; if (n % 2 == 0) { v[0] = v[1]; v[1] = t; } for (int k = 0; k < n; "
     "++k) v[k % 3] = v[k % 3] * v[2]; }\n"
     "LFN void count_up(int *k) { *k = *k + 1; }\n"
     "world_kernel void k_f(const real *x, real *y, ureal c, int n) { each (i, n) {\n"
     "  real a[3], o[2]; int k = i;\n"
     "  for (int j = 0; j < 3; ++j) a[j] = x[i * 3 + j];\n"
     "  real s = sq(a[0]) * poly(a[1], c, a, 3);\n"
     "  two(s, a[2], o); two(o[1], sq(o[0]), o); swap(a, i); count_up(&k);\n"
     "  for (int j = 0; j < i + 1; ++j) s = sq(s) + early(a[(j + k) % 3], j);\n"
     "  put(y, i, o[0] * o[1] + s * early(sq(a[1]), i) * sq(sq(a[2]))); } }")

FORM(functions_that_read_the_kernels_arrays, 20,
     "LFN real dot(const real *a, const real *b) { real s = splat(0); for (int k = 0; k < 3; ++k) s = fma(a[k], b[k], "
     "s); return s; }\n"
     "LFN real norm(const real *a) { return sqrt(dot(a, a)); }\n"
     "LFN void scale(real *out, const real *a, real by) { for (int k = 0; k < 3; ++k) put(out, k, a[k] * by); }\n"
     "world_kernel void k_f(const real *x, const real *z, const int *count, real *y, int n) {\n"
     "  real first = norm(x);\n"
     "  each (i, n) { const real *own = x + i * 3; real d = dot(own, z + count[i] * 3) * first;\n"
     "  scale(y + i * 3, own, d * norm(z + i * 3)); } }")

FORM(structures, 6,
     "typedef struct pt { real x; real v[3]; int n; } pt;\n"
     "LFN real length2(const pt *p) { return p->v[0] * p->v[0] + p->v[1] * p->x; }\n"
     "LFN real twice(pt p) { return p.x * p.v[2] + p.x; }\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  pt p; p.x = x[i]; p.n = i;\n"
     "  for (int k = 0; k < 3; ++k) p.v[k] = x[i] * to_real(isplat(k + 1));\n"
     "  pt q = p; q.v[1] = q.v[1] * p.x; p = q;\n"
     "  for (int k = 0; k < nmin(i, 2) + 1; ++k) p.x = p.x * p.v[k];\n"
     "  put(y, i, p.x * q.v[1] + length2(&p) * twice(q)); } }")

FORM(structures_without_a_gradient, 6,
     "typedef struct pt { real x, w[2]; int n; } pt;\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  pt s = {x[i], {x[i], x[i]}, 1}, o = s; pt t; t.x = splat(2); t.w[0] = splat(1); t.w[1] = splat(3); t.n = 1;\n"
     "  s = t; if (i == 1) o = t;\n"
     "  put(y, i, s.x * s.w[1] * x[i] + o.x * o.w[0]); } }")

FORM(arrays_in_place, 6,
     "world_kernel void k_f(real *x, const real *f, ureal h, int n) {\n"
     "  each (i, n) { real a = x[i * 2]; put(x, i * 2, a + f[i] * a * splat(h)); put(x, i * 2 + 1, x[i * 2] * x[i * 2 "
     "+ 1]);\n"
     "  for (int k = 0; k < 2; ++k) if (i < 2) put(x, i * 2 + k, x[i * 2 + k] * x[i * 2 + 1 - k]);\n"
     "  put(x, i * 2, x[i * 2] * x[i * 2 + 1]); } }")

FORM(elements_that_iterations_share, 8,
     "world_kernel void k_f(const real *x, const int *count, const ureal *t, real *y, int n) {\n"
     "  each (i, n) { const real *p = x + count[i]; real s = splat(t[count[i + 3]]);\n"
     "  for (int k = 0; k < count[i] + 1; ++k) s = fma(p[k], x[i], s); put(y, i, s * x[0]); } }")

FORM(elements_at_constant_places, 12,
     "LFN real mix(const real *p, real s) { return p[0] * s + p[2]; }\n"
     "world_kernel void k_f(const real *x, const real *p, const real *q, const ureal *t, real *y, int n) { real all = "
     "p[1] * q[0];\n"
     "  each (i, n) { real s = p[2] * x[i] * all; for (int k = 1; k < 4; ++k) s = fma(p[k], s, p[3] * splat(t[5])); "
     "put(y, i, s * q[i]); } sync();\n"
     "  for (int round = 0; round < 2; ++round) { each (i, n) put(y, n + i + round * n, mix(p + 3, x[i]) * q[2] * x[0] "
     "* splat(t[round])); sync(); }\n"
     "  each (i, n) { if (i < 2) put(y, i + 9, p[9] * x[i + 1] * q[2]); } }")

FORM(variables_of_the_team, 8,
     "world_kernel void k_f(const real *x, real *y, ureal a, const real *w, int n) {\n"
     "  shared(real, t, 8); real scale = w[0] * w[1] * splat(a); real b[2] = {w[2], scale};\n"
     "  each (i, n) t[i] = x[i] * scale; sync();\n"
     "  each (i, n) { real s = splat(0); for (int j = 0; j < n; ++j) s = fma(t[j], t[i], s); put(y, i, s * b[0] * "
     "b[1]); } }")

FORM(the_whole_team, 3,
     "world_kernel void k_f(const real *x, real *y, int n) {\n"
     "  real s = x[0]; for (int k = 0; k < n; ++k) s = sin(s) + x[k];\n"
     "  if (n > 2) put(y, 0, s * x[1]); put(y, 1, s); }")

FORM(four_at_once, 8,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real v[4]; load4(x, i * 4, v); v[1] = v[0] * v[2]; v[3] = sin(v[3]); put4(y, i * 4, v); } }")

FORM(staged_arrays, 6,
     "world_kernel void k_f(const real *x, real *y, int n) { staged(real, s, x, 12); sync();\n"
     "  each (i, n) put(y, i, s[i] * s[n - i]); }")

FORM(calls_with_effects_as_statements, 6,
     "LFN int twice(real *s) { *s = *s * *s; return 2; }\n"
     "LFN real both(real a, real *s) { *s = *s * *s * a; return sin(*s * splat(2)); }\n"
     "LFN void scaled(real a, real *s) { s[0] = s[0] * s[1] * a; s[1] = s[0] * s[0]; }\n"
     "LFN real moved(const real *a, int *k) { real s = a[0] * a[1]; *k = *k + 1; return s; }\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real s = x[i], v[2] = {x[i], x[i + 1]}; int k = twice(&s), j = 0; k = twice(&s); s = both(s, &s);\n"
     "  real r = moved(v + j, &j); r = moved(v + 1 - j, &j); (void)k; s = s * to_real(isplat(k)) + r;\n"
     "  scaled(v[0] * v[1], v); scaled(v[0], v); put(y, i, s + v[0] * v[1]); } }")

FORM(arguments_that_lie_apart, 6,
     "typedef struct pt { real a[2]; real b[2]; real c; } pt;\n"
     "LFN void rot(const real *a, real *o) { o[0] = a[0] * a[1]; o[1] = a[1] * a[0] + o[0]; }\n"
     "LFN void square(const real *a, real *o) { put(o, 0, a[0] * a[0]); }\n"
     "LFN real length(const real *a, const real *b) { return a[0] * b[1] + b[0]; }\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real v[8] = {x[i], x[i + 1]}, m[2][2] = {{x[i], x[i + 1]}, {splat(0), splat(0)}}; pt q[2]; int k = i % 2;\n"
     "  const real *p = v; real *o = v + 2; rot(p, o); rot(v + k + 3, v + 1 + k); rot(m[0], m[1]); rot(m[k], v + 6);\n"
     "  q[0].a[0] = x[i]; q[0].a[1] = v[2]; rot(q[0].a, q[0].b); rot(q[0].b, q[1].b); rot(q[1].b + 0, q[1].a);\n"
     "  put(y, 2 * i + 1, q[1].a[1] * v[3] * length(v, v)); square(y + 2 * i + 1, y + 2 * i);\n"
     "  put(y, 2 * i, y[2 * i] * m[1][0] * v[6]); } }")

/* In a kernel's own statements two names of one array are known to be one. */
FORM(arguments_that_overlap_in_a_kernels_array, 6,
     "LFN void square(const real *a, real *o) { put(o, 0, a[0] * a[0]); put(o, 0, a[0] * o[0]); }\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  put(y, i, x[i]); square(y + i, y + i); } }")

FORM(pointers_to_where_something_was, 6,
     "typedef struct pt { int k; real a; } pt;\n"
     "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) {\n"
     "  int k = i, v[1] = {i}; pt q; q.k = i;\n"
     "  const real *a = x + k, *b = x + *v, *c = x + q.k, *d = x + count[k];\n"
     "  k = k + 3; v[0] = v[0] + 3; q.k = q.k + 3; put(y, i, *a * a[1] * *b * b[2] * c[1] * d[k % 2]); } }")

FORM(the_last_part_of_a_for, 6,
     "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) {\n"
     "  real s = x[i], t = splat(1); int j = 0;\n"
     "  for (int k = 0; k < 3; s = s * x[k], ++k) t = t * s;\n"
     "  for (int k = 0; k < count[i]; j += 2, ++k, t = t * x[j]) { if (k == 1) continue; s = s * t; }\n"
     "  put(y, i, s * t); } }")

/* Nobody needs what these hold, but the called functions' adjoints get their addresses. */
FORM(arrays_that_only_take_results, 6,
     "typedef struct pt { real a; int k; } pt;\n"
     "LFN void twice(real a, real *o) { o[0] = a + a; }\n"
     "LFN real more(real a, real *o) { *o = a + a; return a * a; }\n"
     "LFN void fill(real a, pt *o) { o->a = a + a; o->k = 3; }\n"
     "world_kernel void k_f(const real *x, real *y, int n) {\n"
     "  for (int k = 0; k < 2; ++k) { real w[3]; twice(x[k], w); each (i, n) put(y, k * n + i, w[0]); }\n"
     "  each (i, n) { real s = x[i]; for (int k = 0; k < n; ++k) { real w[3], o; twice(x[k], w); twice(x[k], w + 1);\n"
     "  real r = more(x[k], &o); pt p; fill(x[k], &p); s = s + w[0] + w[1] + o + r + p.a; } put(y, 2 * n + i, s); } }")

FORM(shared_arrays_in_loops, 6,
     "LFN void work(const real *x, real *y, int n) { shared(real, t, 8); each (i, n) t[i] = x[i] * x[n - i]; sync();\n"
     "  each (i, n) put(y, i, t[i] * t[n - 1 - i]); sync(); }\n"
     "world_kernel void k_f(const real *x, const int *count, real *y, int n) {\n"
     "  for (int k = 0; k < 2; ++k) { shared(real, t, 8); each (i, n) t[i] = x[i] * x[k]; sync();\n"
     "    for (int j = 0; j < 2; ++j) { each (i, n) t[i] = t[i] * t[i]; sync(); }\n"
     "    each (i, n) put(y, k * n + i, t[i] * t[n - 1 - i]); sync(); work(x, y + 2 * n, n); }\n"
     "  for (int k = 0; k < count[1]; ++k) { shared(int, at, 8); each (i, n) at[i] = count[i]; sync();\n"
     "    each (i, n) put(y, 3 * n + i, x[at[i]] * x[at[i] + k]); sync(); } }")

/* The branch that is not taken has slopes and values that are infinite or no numbers. */
FORM(kf57_what_is_not_taken_adds_nothing, 6,
     "LFN real steep(real a, real b) { real t = splat(1) / a; return fma(t, b, b * log(a)) + sqrt(a) * b; }\n"
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
     "  real u = x[i], z = u - u, w = z * x[i + 1], r = sqrt(z), t[2] = {u, splat(1) / z}; t[0] = t[0] * t[1];\n"
     "  mask off = gt(u, splat(5)); real s = select(gt(z, splat(0)), r, u * u);\n"
     "  s = s + select(off, steep(z, x[i + 1]), u) + select(off, u / w, u) + select(off, t[0], u);\n"
     "  s = s * rmin(u, select(off, pow(z, -u), splat(9))) + select(off, asin(u - z + splat(1)) * atan2(z, w), u);\n"
     "  if (any(off)) s = s * sqrt(-u);\n"
     "  put(y, i, s + pow(z, splat(0)) * u + rmax(sqrt(-u) * u, z)); } }")

/* The user's derivative of a step that is straight through. */
FORM(fields_that_other_fields_index, 6,
     "typedef struct pair { real w[2]; int n, k[2]; } pair;\n"
     "world_kernel void k_f(const real *x, real *y, const int *count, int n) { each (i, n) {\n"
     "  pair s = {{x[i], sin(x[i])}, i + 1, {1, 0}}, *p = &s;\n"
     "  p->w[s.n % 2] = p->w[0] * x[i]; s.w[p->n % 2] = s.w[1] * s.w[0]; (&s)->w[s.k[s.n % 2]] = sin(s.w[0]);\n"
     "  real v[2] = {x[0], x[i]}, *q = v; q[v == &v[0] ? 1 : 0] = sin(v[1]) * x[i]; s.w[0] = s.w[0] * v[1];\n"
     "  s.n = count[i]; p->w[p->n % 2] = p->w[1] * p->w[0] * splat(s.n);\n"
     "  put(y, i, s.w[0] * s.w[1]); } }")

FORM(staged_arrays_that_are_only_compared, 12,
     "world_kernel void k_f(const real *x, const real *y, const ureal *g, real *z, int n) {\n"
     "  staged(ureal, h, g, 12); staged(real, w, y, 12);\n"
     "  each (i, n) {\n"
     "    lint l = (lint)lt(gather(h, isplat(i)), w[i]);\n"
     "    put(z, i, x[i] * x[i] * to_real(l & isplat(3))); } }")

FORM(arguments_that_a_variable_chooses, 6,
     "LFN void turn(real *v, real by) { real first = v[0]; v[0] = v[1] * cos(by); v[1] = first; }\n"
     "LFN real f(real a, ureal c) {\n"
     "  real v[2] = {a, sin(a)}, w[2] = {a * a, a}; ureal u = c * c;\n"
     "  turn(u < (ureal)0.3 ? v : w, a); turn((u > (ureal)0.2 ? w : v) + 0, v[0]);\n"
     "  return v[0] * v[1] + w[0] * w[1]; }\n"
     "world_kernel void k_f(const real *x, real *y, ureal c, int n) { each (i, n) put(y, i, f(x[i], c) * x[0]); }")

FORM(pointers_of_the_team, 12,
     "typedef struct pair { real x, w[2]; int n; } pair;\n"
     "typedef struct plain { ureal x[2]; int n; } plain;\n"
     "LFN void relax(real *a, const pair *s, const plain *u, int n) {\n"
     "  each (i, n) a[i] = sin(a[i] * s->x + s->w[i % 2] * splat(u->x[i % 2]));\n"
     "  sync(); }\n"
     "world_kernel void k_f(const real *x, real *y, ureal c, int n) {\n"
     "  shared(real, a, 12);\n"
     "  pair s = {splat(c), {splat((ureal)0.3), x[1]}, 1};\n"
     "  plain u = {{c, c * c}, 2};\n"
     "  real v[3] = {x[0], splat(c), x[0] * x[1]};\n"
     "  int k = n % 2;\n"
     "  const real *t = v + k, *q = n > 2 ? v + 1 : &s.w[0];\n"
     "  k = 7;\n"
     "  each (i, n) a[i] = x[i] * t[i % 2];\n"
     "  sync();\n"
     "  relax(a, &s, &u, n);\n"
     "  relax(a, &s, &u, n);\n"
     "  each (i, n) put(y, i, a[i] * *t * q[1]); }")

static void own_adjoints_are_used(void **state)
{
    const char *source =
        SOURCE("LFN real hard(real x) { return from_bits(as_bits(x)) * x; }\n"
               "LFN void hard_adj(real x, real *to, real g) { *to = *to + g * (x + x); }\n"
               "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, hard(x[i]) * x[i]); }");
    source_is_right_with(&set_up, source, 6);
}

static void constants_have_no_gradients(void **state)
{
    static const char *const constant[] = {"t", "a"};
    const char *source = SOURCE("world_kernel void k_f(const real *x, const ureal *t, ureal a, real *y, int n) {\n"
                                "each (i, n) put(y, i, x[i] * splat(t[i] * a)); }");
    stet_gradcheck_def def = gradcheck_def(source);
    const sti_adjoint_options options = {.constant = constant, .nconstant = 2};
    made m;
    def.constant = constant;
    def.nconstant = 2;
    gradients_are_right(&def, 6);
    OK(make_adjoint(source, &options, &m));
    assert_null(strstr(m.adjoint.text.data, "t_grad"));
    assert_null(strstr(m.adjoint.text.data, "a_grad"));
    free_made(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(overwritten_variables),
        TEST(branches),
        TEST(local_arrays),
        TEST(loops_of_all_kinds),
        TEST(loops_four_deep),
        TEST(left_when_no_lane_goes_on),
        TEST(functions),
        TEST(functions_that_read_the_kernels_arrays),
        TEST(structures),
        TEST(structures_without_a_gradient),
        TEST(arrays_in_place),
        TEST(elements_that_iterations_share),
        TEST(elements_at_constant_places),
        TEST(variables_of_the_team),
        TEST(the_whole_team),
        TEST(four_at_once),
        TEST(staged_arrays),
        TEST(calls_with_effects_as_statements),
        TEST(arguments_that_lie_apart),
        TEST(arguments_that_overlap_in_a_kernels_array),
        TEST(pointers_to_where_something_was),
        TEST(the_last_part_of_a_for),
        TEST(arrays_that_only_take_results),
        TEST(shared_arrays_in_loops),
        TEST(kf57_what_is_not_taken_adds_nothing),
        TEST(fields_that_other_fields_index),
        TEST(staged_arrays_that_are_only_compared),
        TEST(arguments_that_a_variable_chooses),
        TEST(pointers_of_the_team),
        TEST(own_adjoints_are_used),
        TEST(constants_have_no_gradients),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
