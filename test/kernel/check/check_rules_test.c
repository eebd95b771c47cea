/*
 * Rules of kernels and teams (RULES-1 … RULES-5, RULES-EFFECT-1, RULES-EFFECT-2 of rules.h): each with what it refuses,
 * the exact sentence, and what is like it but fine. A case is the body of one kernel; places count from the body's
 * first line.
 */
#include "check_case.h"

static const char world_before[] =
    "LFN void fill(real *a, int k) { a[k] = splat(0); }\n"
    "LFN void fill_put(real *a, int k) { put(a, k, splat(0)); }\n"
    "LFN void both(int *a, int *b, int k) { *a = k; *b = 2 * k; }\n"
    "LFN void team(real *a, int n) { each (i, n) put(a, i, splat(1)); }\n"
    "LFN void row(ureal *a, int n) { items (p, n) store(a + p, splat(0)); }\n"
    "LFN int pure(int k) { return k + 1; }\n"
    "LFN void indirect(real *a, int k) { fill(a, k); }\n"
    "LFN void waits(void) { sync(); }\n"
    "LFN void count(int *a) { *a = *a + 1; }\n"
    "world_kernel void k_a(const real *x, real *y, lint *z, ureal *w, const int *t, int n, int world)\n"
    "{\n";
/* So that each parameter is written. */
static const char world_after[] = "\n"
                                  "each (k, n) put(y, k, x[k]); each (k, n) z[k] = isplat(0); w[n] = 0;\n"
                                  "}\n";
static const char item_before[] =
    "LFN void fill(real *a, int k) { a[k] = splat(0); }\n"
    "LFN void fill_put(real *a, int k) { put(a, k, splat(0)); }\n"
    "LFN void both(int *a, int *b, int k) { *a = k; *b = 2 * k; }\n"
    "LFN void team(real *a, int n) { each (i, n) put(a, i, splat(1)); }\n"
    "LFN void row(ureal *a, int n) { items (p, n) store(a + p, splat(0)); }\n"
    "LFN int pure(int k) { return k + 1; }\n"
    "LFN void indirect(real *a, int k) { fill(a, k); }\n"
    "LFN void waits(void) { sync(); }\n"
    "LFN void count(int *a) { *a = *a + 1; }\n"
    "item_kernel void k_b(const wreal *x, ureal *y, int *z, const ureal *p, int n, int block)\n"
    "{\n";
static const char item_after[] = "\n"
                                 "items (p, n) { store(y + p, splat(0)); istore(z + p, isplat(0)); }\n"
                                 "}\n";

/* In a world kernel. */
static const check_case world[] = {
    {"y[0] = x[0];", "1:2: `y` is an array of this kernel: write put(y, i, x)"},
    {"each (k, n) y[k] = x[k];", "1:14: `y` is an array of this kernel: write put(y, i, x)"},
    {"real *r = y + 3; r[1] = x[0];", "1:19: `y` is an array of this kernel: write put(y, i, x)"},
    {"real *r = n ? y : y + 1; each (k, n) r[k] = x[k];", "1:39: `y` is an array of this kernel: write put(y, i, x)"},
    {"fill(y, 0);", "1:6: `y` is an array of this kernel, and fill writes it without put: write put(y, i, x) there"},
    {"each (k, n) fill(y, k);",
     "1:18: `y` is an array of this kernel, and fill writes it without put: write put(y, i, x) there"},
    {"each (k, n) fill_put(y, k);", ""},
    {"indirect(y, 0);",
     "1:10: `y` is an array of this kernel, and indirect writes it without put: write put(y, i, x) there"},
    {"each (k, n) indirect(y, k);",
     "1:22: `y` is an array of this kernel, and indirect writes it without put: write put(y, i, x) there"},
    {"z[0] = isplat(0);", ""},
    {"each (k, n) put(y, 0, x[k]);",
     "1:17: every iteration writes the same place of `y`: let what is passed depend on `k`"},
    {"each (k, n) z[n] = isplat(k);", "1:14: every iteration writes `z[n]`: let the index depend on `k`"},
    {"each (k, n) w[3] = 1;", "1:14: every iteration writes `w[3]`: let the index depend on `k`"},
    {"each (k, 1) w[3] = 1;", ""},
    {"each (k, n) { if (STET_GPU || STET_PERMUTE) { w[k] = 1; } else { w[3] = 1; put(y, 0, y[0] + x[k]); } }", ""},
    {"real s[1]; s[0] = splat(0); each (k, n) { if (STET_GPU || STET_PERMUTE) w[k] = 1; else s[0] = s[0] + x[k]; } "
     "put(y, 0, s[0]);",
     ""},
    {"real s[1]; each (k, n) { if (STET_GPU || STET_PERMUTE) s[0] = x[k]; else w[k] = 1; }",
     "1:57: `s` is an array of each thread, but the team fills it together: declare it shared(…, s, …)"},
    {"each (k, n) { if (STET_GPU || STET_PERMUTE) w[3] = 1; else w[k] = 1; }",
     "1:46: every iteration writes `w[3]`: let the index depend on `k`"},
    {"each (k, n) { if (STET_GPU || STET_PERMUTE) { w[k] = 1; } else { w[k] = 2; } w[3] = 1; }",
     "1:79: every iteration writes `w[3]`: let the index depend on `k`"},
    {"each (k, n) { if (STET_GPU) w[k] = 1; else w[3] = 1; }",
     "1:45: every iteration writes `w[3]`: let the index depend on `k`"},
    {"each (k, n) { if (STET_PERMUTE || STET_PERMUTE) w[k] = 1; else w[3] = 1; }",
     "1:65: every iteration writes `w[3]`: let the index depend on `k`"},
    {"each (k, n) { if (STET_GPU || STET_PERMUTE) w[k] = 1; else n = 1; }",
     "1:60: `n` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"each (k, n) { int j = t[k]; w[j] = 1; }", ""},
    {"each (k, n) { int j = t[n]; w[j] = 1; }", "1:30: every iteration writes `w[j]`: let the index depend on `k`"},
    {"each (k, n) { int j = 0; for (int q = 0; q < k; ++q) j += 1; w[j] = 1; }", ""},
    {"each (k, n) { int j = 0; for (int q = 0; q < n; ++q) j += 1; w[j] = 1; }",
     "1:63: every iteration writes `w[j]`: let the index depend on `k`"},
    {"each (k, n) { int j = 0; if (t[k]) j = 1; w[j] = 1; }", ""},
    {"each (k, n) { int j = 0; for (int q = 0; q < n; ++q) { if (t[k] == q) break; j = j + 1; } w[j] = 1; }", ""},
    {"each (k, n) { int j, q; both(&j, &q, k); w[j] = 1; }", ""},
    {"each (k, n) { int j, q; both(&j, &q, n); w[j] = 1; }",
     "1:43: every iteration writes `w[j]`: let the index depend on `k`"},
    {"each (k, n) { for (int q = 0; q < 3; ++q) w[q] = 1; }",
     "1:44: every iteration writes `w[q]`: let the index depend on `k`"},
    {"each (k, n) { for (int q = 0; q < 3; ++q) w[3 * k + q] = 1; }", ""},
    {"int s = 0; each (k, n) s += t[k];",
     "1:24: `s` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"int s = 0; each (k, n) s++;",
     "1:24: `s` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"int s = 0; each (k, n) { int q; both(&q, &s, k); }",
     "1:42: `s` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"int s = 0; for (int q = 0; q < n; ++q) s += t[q];", ""},
    {"real a[4]; each (k, 4) a[k] = x[k];",
     "1:25: `a` is an array of each thread, but the team fills it together: declare it shared(…, a, …)"},
    {"real a[4]; for (int q = 0; q < 4; ++q) a[q] = x[q];", ""},
    {"real a[4]; each (k, 4) fill(a, k);",
     "1:29: `a` is an array of each thread, but the team fills it together: declare it shared(…, a, …)"},
    {"real a[4]; team(a, 4);",
     "1:17: `a` is an array of each thread, but the team fills it together: declare it shared(…, a, …)"},
    {"shared(real, a, 4); each (k, 4) a[k] = x[k];", ""},
    {"shared(real, a, 4); team(a, 4);", ""},
    {"shared(real, a, 4); each (k, n) fill(a, 2);",
     "1:38: every iteration writes the same place of `a`: let what is passed depend on `k`"},
    {"shared(real, a, 4); each (k, 4) { real *r = a + k; *r = x[k]; }", ""},
    {"shared(real, a, 4); each (k, 4) { real *r = a; *r = x[k]; }",
     "1:48: every iteration writes `*r`: let the index depend on `k`"},
    {"shared(real, a, 4); real *r = a; each (k, 4) r = a + k;",
     "1:46: `r` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"team(y, n);", ""},
    {"each (k, n) team(y, k);",
     "1:13: `team` has each, items, sync or shared in it: it is called where the whole team comes, not within each"},
    {"i64 list[8]; add_listed(x, list, 0, 1, 1, 2);", ""},
    {"each (k, n) { i64 list[8]; add_listed(x, list, 0, 1, 1, 2); }",
     "1:28: `add_listed` is for a team: it is called where the whole team comes, not within each"},
    {"each (k, n) { sync(); }", "1:15: sync() within each: it stands where the whole team comes"},
    {"each (k, n) waits();",
     "1:13: `waits` has each, items, sync or shared in it: it is called where the whole team comes, not within each"},
    {"each (k, n) { each (l, n) put(y, l, x[k]); }", "1:21: each within each: it stands where the whole team comes"},
    {"each (k, n) { shared(real, a, 4); }", "1:28: shared within each: it stands where the whole team comes"},
    {"each (k, n) { staged(int, a, t, 4); }", "1:27: staged within each: it stands where the whole team comes"},
    {"if (n) { sync(); }", ""},
    {"if (n) return;", ""},
    {"each (k, n) { if (k) return; }",
     "1:22: return within each: other threads of the team would go on; write continue, or if"},
    {"each (k, n) { if (k) break; }",
     "1:22: break leaves each: other threads of the team would go on; write continue, or if"},
    {"each (k, n) { if (k) continue; put(y, k, x[k]); }", ""},
    {"each (k, n) { for (int q = 0; q < 3; ++q) if (q == k) break; }", ""},
    {"items (p, n) put(y, p, x[p]);", "1:8: items in a world kernel: its lanes are worlds; use each"},
    {"row(w, n);", "1:1: `row` has items in it: in a world kernel lanes are worlds; use each"},
    {"n = 3; each (k, n) put(y, k, x[k]);", ""},
    {"each (k, n) n = 3;",
     "1:13: `n` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"each (k, n) { real v[3]; v[0] = x[k]; real *r = v; r[1] = v[0]; fill(v, 1); }", ""},
    {"each (k, pure(n)) put(y, k, x[k]);", ""},
    {"int s = 0; count(&s); each (k, s) put(y, k, x[k]);", ""},
    {"int s = 0; each (k, n) count(&s);",
     "1:30: `s` is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"each (k, n) { int s = 0; count(&s); }", ""},
    {"k_c(x, y);", "1:1: `k_c` is no function of the language or this source: define it with LFN before its use"},
    {"x[0] = y[0];", "1:2: `x[0]` is const: it is only read"},
    {"w[0] += 1; w[1]++;", "1:16: `w[1]++`: ++ is for whole plain numbers and pointers"},
};

/* RULES-EFFECT-1, RULES-EFFECT-2: what has an effect is a statement, in both kinds of kernels. */
static const check_case effects[] = {
    {"int j = 0, q = t[j++];",
     "1:19: `j++` within an expression: a step is a statement of its own, before or after this "
     "one"},
    {"int j = n; for (; j-- > 0;) n += 1;",
     "1:20: `j--` within an expression: a step is a statement of its own, before or after this one"},
    {"int j = 0; j = pure(++j);",
     "1:21: `++j` within an expression: a step is a statement of its own, before or after this one"},
    {"int j = 0; if (--j) n = 0; n = n && j++ ? 1 : 2; n += j--;",
     "1:16: `--j` within an expression: a step is a statement of its own, before or after this one\n1:38: `j++` within "
     "an "
     "expression: a step is a statement of its own, before or after this one\n1:56: `j--` within an expression: a step "
     "is "
     "a statement of its own, before or after this one"},
    {"int j = 0, q = 0; ++j; j--; for (j = 0, q = 1; j < n; ++j, q -= 2) n += 1;", ""},
    {"int j = 0, q; q = j = n;", "1:21: one assignment at a time: write two statements"},
    {"int s = 0; if (n == 1 || up(&s)) n = 0;",
     "1:26: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); or x = "
     "f(…);"},
    {"int s = 0; for (int q = 0; q < 3 && up(&s); ++q) n = 0;", "1:37: `up(&s)` writes through a pointer within an "
                                                                "expression: call it in a statement of its own, f(…); "
                                                                "or x = f(…);"},
    {"int s = 0; for (int q = up(&s); q < 3; count(&s)) n = 0;",
     "1:25: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); or x = "
     "f(…);\n1:40: `count(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); "
     "or "
     "x = f(…);"},
    {"int s = 0, q[2]; q[0] = up(&s); n += up(&s); n = t[up(&s)]; n = pure(up(&s)); (void)up(&s);",
     "1:25: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); or x = "
     "f(…);\n1:38: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); or "
     "x "
     "= f(…);\n1:52: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, f(…); "
     "or "
     "x = f(…);\n1:70: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, "
     "f(…); "
     "or x = f(…);\n1:85: `up(&s)` writes through a pointer within an expression: call it in a statement of its own, "
     "f(…); "
     "or x = f(…);"},
    {"int s = 0, q = up(&s), r = up(&q); q = up(&s); up(&s); up(&q), up(&s); r = up(&r);", ""},
    {"int s = 0; if (n == 1 || seen(&s)) n = seen(&s) + t[seen(&n)];", ""},
};

/* In an item kernel. */
static const check_case item[] = {
    {"y[0] = x[3];", "1:9: `x` is an array of all worlds: write of_world(x, items, world, 3)"},
    {"y[0] = of_world(x, n, 2, 3);", ""},
    {"of_world(x, n, 2, 3) = 1;", "1:1: `of_world(x, n, 2, 3)` is const: it is only read"},
    {"y[0] = of_world(y, n, 2, 3);", "1:17: of_world reads wreal * and wint *, not `y`"},
    {"y[0] = of_world(x, n, 2);", "1:8: of_world takes 4 arguments, not 3: array, items, world, i"},
    {"const wreal *r = x + 2;", "1:18: `x` is an array of all worlds: write of_world(x, items, world, i)"},
    {"items (p, n) store(y, splat(0));",
     "1:20: every iteration writes the same place of `y`: let what is passed depend on `p`"},
    {"items (p, n) store(y + n, splat(0));",
     "1:22: every iteration writes the same place of `y`: let what is passed depend on `p`"},
    {"items (p, n) store(y + lane(), splat(0));", "1:22: `y + lane()`: lanes and ureal * don't go together"},
    {"items (p, n) scatter_if(m_all(), y, lane() + isplat(p), splat(0));", ""},
    {"items (p, n) scatter_if(m_all(), y, lane(), splat(0));",
     "1:34: every iteration writes the same place of `y`: let what is passed depend on `p`"},
    {"items (p, n) { row(y, p); }",
     "1:16: `row` has each, items, sync or shared in it: it is called where the whole team comes, not within items"},
    {"items (p, n) { each (k, n) y[k] = 1; }", "1:22: each within items: it stands where the whole team comes"},
    {"items (p, n) { sync(); return; }",
     "1:16: sync() within items: it stands where the whole team comes\n1:24: return within items: other threads of the "
     "team would go on; write continue, or if"},
    {"items (p, n) break;", "1:14: break leaves items: other threads of the team would go on; write continue, or if"},
    {"row(y, n);", ""},
    {"int s = 0; items (p, n) s = p;",
     "1:25: `s` is declared outside of items: there, only elements of shared and a kernel's arrays are assigned"},
    {"lint s = lane(); items (p, n) s = s + isplat(p);",
     "1:31: `s` is declared outside of items: there, only elements of shared and a kernel's arrays are assigned"},
    {"items (p, n) istore_if(m_all(), z + 2 * p, isplat(p));", ""},
};

/* Signatures. */
static const check_case signatures[] = {
    {"world_kernel int k_a(real *x) { put(x, 0, splat(1)); return 1; }", "1:18: kernel k_a: a kernel returns void"},
    {"world_kernel void k_a(void) { return; }", "1:19: kernel k_a: a kernel without parameters does nothing"},
    {"world_kernel void k_a(real x, lint y, ureal z, u8 w, u32 v) { return; }",
     "1:28: kernel k_a: parameter x: lanes can't be passed by value; use ureal or int\n1:36: kernel k_a: parameter y: "
     "lanes can't be passed by value; use ureal or int\n1:51: kernel k_a: parameter w: a scalar is int, i64 or "
     "ureal\n1:58: kernel k_a: parameter v: a scalar is int, i64 or ureal"},
    {"world_kernel void k_a(const wreal *x, const wint *y, const sti_bits *z, const mask *m, const u64 *u) { return; }",
     "1:36: kernel k_a: parameter x: a world kernel sees arrays of worlds as real or lint\n1:51: kernel k_a: parameter "
     "y: a world kernel sees arrays of worlds as real or lint\n1:70: kernel k_a: parameter z: it is real, lint, wreal, "
     "wint, treal, tlint, tint, ureal, int, i64, u32, u16 or u8\n1:85: kernel k_a: parameter m: it is real, lint, "
     "wreal, "
     "wint, treal, tlint, tint, ureal, int, i64, u32, u16 or u8\n1:99: kernel k_a: parameter u: it is real, lint, "
     "wreal, "
     "wint, treal, tlint, tint, ureal, int, i64, u32, u16 or "
     "u8"},
    {"world_kernel void k_a(real *x, treal *w, tlint *m, tint *k, int n) { each (i, n) { w[i] = x[i]; m[i] = "
     "isplat(i);\n"
     "k[i] = i; } sync(); each (i, n) put(x, i, w[k[n - 1 - i]]); }",
     ""},
    {"LFN void f(real *w, int n) { each (i, n) w[i] = splat(1); }\n"
     "world_kernel void k_a(real *x, treal *w, int n) { f(w, n); sync(); each (i, n) put(x, i, w[i]); }",
     ""},
    {"item_kernel void k_a(ureal *x, tint *k, int n, int block) { each (i, n) k[i] = i; sync(); each (i, n) x[block * "
     "n\n"
     "+ i] = k[n - 1 - i]; }",
     ""},
    {"world_kernel void k_a(treal *w, tint n) { each (i, 3) w[i] = splat(1); }",
     "1:38: `n`: memory of a team is a parameter of a kernel, treal *; here it is int *"},
    {"world_kernel void k_a(const treal *w, real *x) { each (i, 1) put(x, i, w[i]); }",
     "1:36: `w`: memory of a team holds nothing when a kernel begins: leave const out"},
    {"LFN void f(treal *w) { w[0] = splat(1); }",
     "1:19: `w`: memory of a team is a parameter of a kernel, treal *; here it is real *"},
    {"world_kernel void k_a(treal *w, real *x) { tint *k = 0; each (i, 1) w[i] = x[i]; sync(); each (i, 1) put(x, i, "
     "w[i]); }",
     "1:50: `k`: memory of a team is a parameter of a kernel, treal *; here it is int *"},
    {"world_kernel void k_a(treal *w, const real *x, int n) { each (i, n) w[0] = x[i]; }",
     "1:70: every iteration writes `w[0]`: let the index depend on `i`"},
    {"world_kernel void k_a(treal *w, real *x, int n) { each (i, n) put(x, i, splat(1)); }",
     "1:30: kernel k_a: parameter w is never written: make it const"},
    {"item_kernel void k_a(const real *x, const lint *y, const int n) { return; }",
     "1:34: kernel k_a: parameter x: an item kernel sees arrays of worlds as wreal or wint\n1:49: kernel k_a: "
     "parameter y: an item kernel sees arrays of worlds as wreal or wint\n1:62: kernel k_a: parameter n: a number is "
     "passed without const"},
    {"world_kernel void k_a(real *x, const real *y) { each (i, 3) put(x, i, y[i]); }\nworld_kernel void k_b(real *x) { "
     "k_a(x, x); }",
     "2:34: `k_a` is a kernel: kernels are launched, not called; put what they share into an LFN"},
    {"world_kernel void k_a(real *x, const int *n) { each (i, 1) put(x, i, splat((float)n[0])); }",
     "1:77: `float` is not in the language: write ureal, or real for lanes"},
    {"world_kernel void k_a(real *x, int *y, ureal *z) { return; }",
     "1:29: kernel k_a: parameter x is never written: make it const\n1:37: kernel k_a: parameter y is never written: "
     "make it const\n1:47: kernel k_a: parameter z is never written: make it const"},
    {"world_kernel void k_a(const real x[3]) { return; }", "1:34: kernel k_a: parameter x: write it as a pointer"},
    {"world_kernel void k_a(int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9, int a10, "
     "int a11, int a12, int a13, int a14, int a15, int a16, int a17, int a18, int a19, int a20, int a21, int a22, int "
     "a23, int a24, int a25, int a26, int a27, int a28, int a29, int a30, int a31, int a32, int a33, int a34, int a35, "
     "int a36, int a37, int a38, int a39, int a40, int a41, int a42, int a43, int a44, int a45, int a46, int a47, int "
     "a48) { return; }",
     "1:449: kernel k_a has more than 48 parameters"},
    {"world_kernel void k_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(int "
     "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) { return; }",
     "1:19: the name of a kernel is shorter than 64 letters\n1:90: kernel "
     "k_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: the name of parameter 1 is too long: below "
     "64 letters"},
};

static void rules_of_world_kernels(void **state) { CHECK_CASES(world, world_before, world_after); }

static void effects_are_statements(void **state)
{
    static const char functions[] = "LFN int pure(int k) { return k + 1; }\n"
                                    "LFN int up(int *a) { *a = *a + 1; return *a; }\n"
                                    "LFN int seen(const int *a) { return *a; }\n"
                                    "LFN void count(int *a) { *a = *a + 1; }\n";
    char before[1024];
    (void)snprintf(before, sizeof before, "%sworld_kernel void k_a(real *y, const int *t, int n)\n{\n", functions);
    CHECK_CASES(effects, before, "\neach (k, n) put(y, k, splat(0)); }\n");
    (void)snprintf(before, sizeof before, "%sitem_kernel void k_b(int *y, const int *t, int n, int block)\n{\n",
                   functions);
    CHECK_CASES(effects, before, "\nitems (p, n) istore(y + p, isplat(block)); }\n");
}

static void rules_of_item_kernels(void **state) { CHECK_CASES(item, item_before, item_after); }

static void rules_of_signatures(void **state) { CHECK_CASES(signatures, "", ""); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_of_world_kernels),
        cmocka_unit_test(effects_are_statements),
        cmocka_unit_test(rules_of_item_kernels),
        cmocka_unit_test(rules_of_signatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
