/*
 * Types: each operator's and each conversion's mistake, with its exact sentence. A case is the body of one function
 * whose parameters are named below; places count from the body's first line.
 */
#include "check_case.h"

static const char before[] = "LFN void f(real x, real y, lint i, lint j, mask m, ureal u, int n, i64 big, const real "
                             "*a, real *b, const ureal *p, ureal *q, const int *t, int *s, u8 *bytes)\n"
                             "{\n";
static const char after[] = "\n"
                            "}\n"
                            "LFN real later(real x) { return x; }\n";

/* Operators on lanes, and lanes beside plain values. */
static const check_case lanes[] = {
    {"x = x < y;", "1:7: `x < y` on lanes: write lt(x, y)"},
    {"m = x < y;", "1:7: `x < y` on lanes: write lt(x, y)"},
    {"m = x > 1;", "1:7: `x > 1` on lanes: write gt(x, splat(1))"},
    {"m = x <= y;", "1:7: `x <= y` on lanes: write le(x, y)"},
    {"m = u >= x;", "1:7: `u >= x` on lanes: write ge(splat(u), x)"},
    {"m = x == y;", "1:7: `x == y` on lanes: write eq(x, y)"},
    {"m = x != 0;", "1:7: `x != 0` on lanes: write m_not(eq(x, splat(0)))"},
    {"m = i < j;", "1:7: `i < j` on lanes: write ilt(i, j)"},
    {"m = i > n;", "1:7: `i > n` on lanes: write igt(i, isplat(n))"},
    {"m = i <= j;", "1:7: `i <= j` on lanes: write m_not(igt(i, j))"},
    {"m = i >= 3;", "1:7: `i >= 3` on lanes: write m_not(ilt(i, isplat(3)))"},
    {"m = i == j;", "1:7: `i == j` on lanes: write ieq(i, j)"},
    {"m = i != j;", "1:7: `i != j` on lanes: write m_not(ieq(i, j))"},
    {"m = m && lt(x, y);", "1:7: `m && lt(x, y)` on lanes: write m_and(m, lt(x, y))"},
    {"m = m || lt(x, y);", "1:7: `m || lt(x, y)` on lanes: write m_or(m, lt(x, y))"},
    {"n = n < 3 && lt(x, y);", "1:11: `n < 3 && lt(x, y)` on lanes: write any(lt(x, y)) or all(lt(x, y))"},
    {"m = !m;", "1:5: `!m` on lanes: write m_not(m)"},
    {"n = !x;", "1:5: `!x` on lanes: write m_not(x)"},
    {"i = i << 3;", "1:7: `i << 3` on lanes: write ishl(x, n), with lint x and a plain n"},
    {"i = i >> j;", "1:7: `i >> j` on lanes: write ishr(x, n), with lint x and a plain n"},
    {"i = i % j;", "1:7: `i % j` on lanes: there is no % of lanes; write x - q * n, or work it out from plain values"},
    {"x = x + 1;", "1:7: `x + 1` mixes lanes (real) and plain (int): write x + splat(1)"},
    {"x = 2 * x;", "1:7: `2 * x` mixes lanes (real) and plain (int): write splat(2) * x"},
    {"x = x * u;", "1:7: `x * u` mixes lanes (real) and plain (ureal): write x * splat(u)"},
    {"x = 0.5 * x;", "1:9: `0.5 * x` mixes lanes (real) and plain (double): write splat((ureal)0.5) * x"},
    {"x = x - big * 2;", "1:7: `x - big * 2` mixes lanes (real) and plain (i64): write x - splat(big * 2)"},
    {"i = i + n;", "1:7: `i + n` mixes lanes (lint) and plain (int): write i + isplat(n)"},
    {"i = i + u;", "1:7: `i + u` mixes lanes (lint) and plain (ureal): write i + isplat((int)u)"},
    {"x = x + i;", "1:7: `x + i` mixes real and lint: write to_real(i)"},
    {"i = m + m;", "1:7: `m + m` calculates with a mask: write m & isplat(1), or iselect"},
    {"i = -m;", "1:5: `-m` calculates with a mask: write m & isplat(1), or iselect"},
    {"x = x & y;", "1:7: `x & y` on real: write as_bits and from_bits, or select"},
    {"i = ~x;", "1:5: `~x`: ~ is not for `x`"},
    {"x = +x;", "1:5: `+x`: + is not for `x`"},
};

/* What becomes what. */
static const check_case values[] = {
    {"x = u;", "1:5: `u` is ureal and `x` is real: write splat(u)"},
    {"x = 1;", "1:5: `1` is int and `x` is real: write splat(1)"},
    {"x = 0.5;", "1:5: `0.5` is double and `x` is real: write splat((ureal)0.5)"},
    {"x = i;", "1:5: `i` is lint and `x` is real: write to_real(i)"},
    {"i = n;", "1:5: `n` is int and `i` is lint: write isplat(n)"},
    {"i = u + 1;", "1:7: `u + 1` is ureal and `i` is lint: write isplat((int)(u + 1))"},
    {"i = x;", "1:5: `x` is real and `i` is lint: write to_int(x)"},
    {"u = x;", "1:5: `x` is real and `u` is ureal: lanes become plain only through any, all and stores"},
    {"n = i;", "1:5: `i` is lint and `n` is int: lanes become plain only through any, all and stores"},
    {"n = u;", "1:5: `u` is ureal and `n` is int: write (int)u"},
    {"n = big;", "1:5: `big` is i64 and `n` is int: write (int)big"},
    {"s[0] = p[0];", "1:9: `p[0]` is ureal and `s[0]` is int: write (int)p[0]"},
    {"bytes[0] = n;", "1:12: `n` is int and `bytes[0]` is u8: write (u8)n"},
    {"u = x + y;", "1:7: `x + y` is real and `u` is ureal: lanes become plain only through any, all and stores"},
    {"x += 1;", "1:3: `x += 1` mixes lanes (real) and plain (int): write x += splat(1)"},
    {"x++;", "1:2: `x++`: ++ is for whole plain numbers and pointers"},
    {"x = lt(x, y) ? x : y;", "1:14: `?:` on lanes: write select(lt(x, y), x, y)"},
    {"i = m ? i : j;", "1:7: `?:` on lanes: write iselect(m, i, j)"},
    {"x = n ? x : 0;", "1:13: `0` is int and the other value of `?:` is real: write splat(0)"},
    {"x = n ? 1 : x;", "1:9: `1` is int and the other value of `?:` is real: write splat(1)"},
    {"u = 0.5 * u;", "1:5: `0.5` is double: write (ureal)0.5"},
    {"u = u * (1.0 + 2.0);", "1:14: `1.0 + 2.0` is double: write (ureal)(1.0 + 2.0)"},
    {"u = n ? 0.5 : u;", "1:9: `0.5` is double: write (ureal)0.5"},
    {"n = u % 2;", "1:7: `u % 2`: % takes whole numbers"},
    {"n = 1.5;", "1:5: `1.5` is double and `n` is int: write (int)1.5"},
    {"if (lt(x, y)) x = y;",
     "1:5: `if` on lanes: `lt(x, y)` may differ between them; write any(lt(x, y)), or select values"},
    {"for (; lt(x, y);) x = y;",
     "1:8: `for` on lanes: `lt(x, y)` may differ between them; write any(lt(x, y)), or select values"},
    {"x = a[i];", "1:6: `a[i]`: an index is a plain whole number"},
    {"u = p[i];", "1:6: `p[i]` with an index of lanes: write gather(p, i)"},
    {"n = t[i];", "1:6: `t[i]` with an index of lanes: write igather(t, i)"},
    {"x = x[0];", "1:6: `x[0]`: no lane is picked out of others; work on all of them, with select"},
    {"u = n[0];", "1:6: `n` is no array"},
    {"u = p[u];", "1:6: `p[u]`: an index is a plain whole number"},
    {"x = a[lt(x, y)];", "1:6: `a[lt(x, y)]`: an index is a plain whole number"},
    {"b[0] = 1;", "1:8: `1` is int and `b[0]` is real: write splat(1)"},
    {"a[0] = x;", "1:2: `a[0]` is const: it is only read"},
    {"p[1] = 1;", "1:2: `p[1]` is const: it is only read"},
    {"*p = 2;", "1:1: `*p` is const: it is only read"},
    {"q = p;", "1:5: `p` is const ureal * and `q` is ureal *: what is const is only read"},
    {"q = (ureal *)p;", "1:5: `(ureal *)p` takes const away: what is const is only read"},
    {"q = b;", "1:5: `b` is real * and `q` is ureal *"},
    {"q = (ureal *)b;", "1:5: `(ureal *)b`: casts are between plain numbers, and between pointers to them"},
    {"n = (int)x;",
     "1:10: `x` is real and what it is cast to is int: lanes become plain only through any, all and stores"},
    {"x = (real)u;", "1:11: `u` is ureal and what it is cast to is real: write splat(u)"},
    {"x = (real)i;", "1:11: `i` is lint and what it is cast to is real: write to_real(i)"},
    {"i = (lint)x;", "1:11: `x` is real and what it is cast to is lint: write to_int(x)"},
    {"u = (ureal)p;", "1:5: `(ureal)p`: casts are between plain numbers, and between pointers to them"},
};

/* Calls, names and places. */
static const check_case calls[] = {
    {"x = fma(x, y, 1);", "1:15: `1` is int and argument 3 of fma is real: ufma is for plain values"},
    {"x = fma(u, u, u);", "1:9: `u` is ureal and argument 1 of fma is real: ufma is for plain values\n1:12: `u` is "
                          "ureal and argument 2 of fma is real: ufma is for plain values\n1:15: `u` is ureal and "
                          "argument 3 of fma is real: ufma is for plain values"},
    {"x = sqrt(u);", "1:10: `u` is ureal and argument 1 of sqrt is real: usqrt is for plain values"},
    {"u = usqrt(x);", "1:11: `x` is real and argument 1 of usqrt is ureal: sqrt is for lanes"},
    {"u = umin(x, y);", "1:10: `x` is real and argument 1 of umin is ureal: rmin is for lanes\n1:13: `y` is real and "
                        "argument 2 of umin is ureal: rmin is for lanes"},
    {"n = nmin(u, 2);", "1:10: `u` is ureal and argument 1 of nmin is int: write (int)u"},
    {"x = lt(x);",
     "1:5: lt takes 2 arguments, not 1\n1:5: `lt(x)` is mask and `x` is real: write select(lt(x), splat(1), splat(0))"},
    {"m = lt(x, y, x);", "1:5: lt takes 2 arguments, not 3"},
    {"x = put(b, 0, x);", "1:5: `put(b, 0, x)` has no value"},
    {"put(a, 0, x);", "1:5: `a` is const real * and argument 1 of put is real *: what is const is only read"},
    {"put(b, 0, u);", "1:11: `u` is ureal and argument 3 of put is real: write splat(u)"},
    {"put(b, i, x);",
     "1:8: `i` is lint and argument 2 of put is i64: lanes become plain only through any, all and stores"},
    {"store(q, u);", "1:10: `u` is ureal and argument 2 of store is real: write splat(u)"},
    {"store(b, x);", "1:7: `b` is real * and argument 1 of store is ureal *"},
    {"x = select(n, x, y);", "1:12: `n` is int and argument 1 of select is mask: decide by if or ?:, or compare lanes"},
    {"x = load(a);", "1:10: `a` is const real * and argument 1 of load is const ureal *"},
    {"x = gather(p, n);", "1:15: `n` is int and argument 2 of gather is lint: write isplat(n)"},
    {"n = any(x);", "1:9: `x` is real and argument 1 of any is mask: write m_not(eq(x, splat(0)))"},
    {"x = splat(x);",
     "1:11: `x` is real and argument 1 of splat is ureal: lanes become plain only through any, all and stores"},
    {"x = fabs(x);", "1:5: `fabs` is no function of the language: use rabs (lanes) or uabs"},
    {"x = fmaxf(x, y);", "1:5: `fmaxf` is no function of the language: use rmax (lanes) or umax"},
    {"memcpy(s, t, 4);", "1:1: `memcpy` is no function of the language: use a `for` over the elements"},
    {"x = my_function(x);",
     "1:5: `my_function` is no function of the language or this source: define it with LFN before its use"},
    {"x = later(x);", "1:5: `later` is defined further down: define it before its first use"},
    {"f(x, y, i, j, m, u, n, big, a, b, p, q, t, s, bytes);",
     "1:1: `f` calls itself: there is no recursion; write a for with a stack of constant size"},
    {"x = z;", "1:5: `z` is not declared"},
    {"x = lt;", "1:5: `lt` is a function: it can only be called"},
    {"n(3);", "1:1: `n` is no function"},
    {"x = &x;", "1:5: `&x` is real * and `x` is real"},
    {"q = &p;", "1:5: `&p`: nothing points to pointers"},
    {"n = sizeof(real);", "1:5: sizeof takes a plain type: lanes have another size on each device"},
    {"n = sizeof(int);", ""},
    {"q->x = 1;", "1:2: `q` is no structure"},
    {"n.x = 1;", "1:2: `n` is no structure"},
    {"x + y;", "1:3: `x + y` does nothing: assign it, or leave it out"},
    {"n = n = 2;", "1:7: one assignment at a time: write two statements"},
    {"p[n = 2];", "1:5: `n = 2`: an assignment is a statement of its own"},
    {"u = (n, u);", "1:7: a comma stands between assignments, not in a value"},
    {"splat(u) = x;", "1:1: `splat(u)` is a value: only variables and elements are assigned"},
    {"1 = n;", "1:1: `1` is a value: only variables and elements are assigned"},
    {"STET_W = 4;", "1:1: `STET_W` is a constant"},
};

/* Variables, arrays and loops. */
static const check_case variables[] = {
    {"real r = 0;", "1:10: `0` is int and `r` is real: write splat(0)"},
    {"real r = {splat(0)};", "1:10: `r` is one value: write it without braces"},
    {"real r[2] = splat(0);", "1:13: `r` is an array: write a list { … }, or assign its elements in a for"},
    {"real r[2] = {splat(0), splat(1), splat(2)};", "1:34: the list has more values than `r` has room for: 2"},
    {"real r[2] = {0, splat(1)};", "1:14: `0` is int and `r` is real: write splat(0)"},
    {"real r[2] = {};", "1:13: an empty list: write the first value"},
    {"real r[n];", "1:8: the size `n` is not a constant: write a number or a #define"},
    {"real r[0];", "1:8: the size `0` is 0: an array has 1 to 16777216 elements"},
    {"real r[-1];", "1:8: the size `-1` is -1: an array has 1 to 16777216 elements"},
    {"real r[1 << 30];", "1:10: the size `1 << 30` is 1073741824: an array has 1 to 16777216 elements"},
    {"real r[4096][4096][4096];", "1:8: an array of more than 16777216 elements"},
    {"real r[1.5];", "1:8: the size `1.5` is not a constant: write a number or a #define"},
    {"real r[1][1][1][1][1][1][1][1], s[1][1][1][1][1][1][1][1][1];", "1:33: `s` has more than 8 sizes: use fewer"},
    {"real r[2], w; r = w;", "1:15: `r` is an array: assign its elements"},
    {"void v;", "1:6: `v`: nothing is of type void"},
    {"wreal v;", "1:7: `v`: wreal and wint are arrays of all worlds, const wreal *; one number is ureal or int"},
    {"const int c = 2; c = 3;", "1:18: `c` is const: it is only read"},
    {"int n2 = 1; int n2 = 2;", "1:17: `n2` is declared already, in line 3"},
    {"const real *r[2];", "1:13: `r`: there are no arrays of pointers; keep indices"},
    {"int v = v;", "1:9: `v` is not declared"},
    {"int v = 1; { int v = v; }",
     "1:22: `v` is the variable that is declared here, which has no value yet, and none of "
     "that name outside: choose another name"},
    {"{ real x = sin(x); }",
     "1:16: `x` is the variable that is declared here, which has no value yet, and none of that "
     "name outside: choose another name"},
    {"for (int n = n; n < 3; ++n) ;", "1:14: `n` is the variable that is declared here, which has no value yet, and "
                                      "none of that name outside: choose another name"},
    {"real nmin = splat(nmin(1, 2));", "1:19: `nmin` is the variable that is declared here, which has no value yet, "
                                       "and none of that name outside: choose another name"},
    {"{ int m = n, n = m; n = 2; }", ""},
    {"shared(real, w, n);", "1:17: the size `n` is not a constant: write a number or a #define"},
    {"shared(const real, w, 3);",
     "1:20: shared(…): elements are real, lint, mask, ureal, int, i64, u64, u32, u16 or u8"},
    {"shared(wreal, w, 3);", "1:15: shared(…): elements are real, lint, mask, ureal, int, i64, u64, u32, u16 or u8"},
    {"staged(real, w, p, 3);", "1:17: `p` is const ureal * and the source of staged is const real *"},
    {"shared(real, w, 3); w = 0;", "1:21: `w` is an array: assign its elements"},
    {"each (k, n) k = 2;", "1:13: `k` belongs to its loop: it is not assigned"},
    {"each (k, x) n = 2;",
     "1:10: `x` is real and the count of a loop is int: lanes become plain only through any, all and stores\n1:13: `n` "
     "is declared outside of each: there, only elements of shared and a kernel's arrays are assigned"},
    {"each (k, u) put(b, k, x);", "1:10: `u` is ureal and the count of a loop is int: write (int)u"},
    {"int k_n = 3; each (k, n) put(b, k, x);", "1:20: each uses the name k_n itself, for `k`: rename one of the two"},
    {"int w_ = 2; shared(real, w, 3);", "1:26: shared uses the name w_ itself, for `w`: rename one of the two"},
    {"int new = 3;",
     "1:5: `new` is not in the language: GPUs compile C++, which keeps it for itself; choose another name"},
    {"n = this;",
     "1:5: `this` is not in the language: GPUs compile C++, which keeps it for itself; choose another name"},
    {"int sti_n = 3;", "1:5: `sti_n` belongs to the language: choose another name"},
    {"int a__b = 3;", "1:5: `a__b` belongs to the language: choose another name"},
    {"ureal r[2] = {n, 2};", "1:15: `n` is int in a list of ureal: write a cast (ureal)"},
    {"ureal r[2] = {u, 2};", ""},
    {"int r[2] = {(int)sizeof(u8), (u32)n};", "1:30: `(u32)n` is u32 in a list of int: write a cast (int)"},
    {"i64 r[2] = {n, (u32)n};", ""},
    {"u64 r[2] = {(u32)n, n};", "1:21: `n` is int in a list of u64: write a cast (u64)"},
    {"return x;", "1:1: f returns nothing: write return;"},
    {"break;", "1:1: break stands in a loop only"},
    {"continue;", "1:1: continue stands in a loop only"},
};

/* Numbers, and what else is left. */
static const check_case numbers[] = {
    {"n = \"text\";", "1:5: there are no strings and characters in a kernel: write numbers"},
    {"n = 'c';", "1:5: there are no strings and characters in a kernel: write numbers"},
    {"n = 08;", "1:5: `08` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"n = 0x;", "1:5: `0x` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"u = 1.5.2;", "1:5: `1.5.2` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"u = 1e;", "1:5: `1e` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"n = 1uu;", "1:5: `1uu` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"n = 99999999999999999999;",
     "1:5: `99999999999999999999` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are"},
    {"n = p - q;", "1:7: `p - q`: pointers have + and - of a plain number, == and !="},
    {"n = p == t;", "1:7: `p == t`: pointers have + and - of a plain number, == and !="},
    {"n = p * 2;", "1:7: `p * 2`: pointers have + and - of a plain number, == and !="},
    {"p += 1.5;", "1:3: `p += 1.5`: pointers have + and - of a plain number, == and !="},
    {"q++; x = *x;", "1:10: `x` is no pointer"},
    {"m = m & 1;", "1:7: `m & 1` mixes lanes (mask) and plain (int): write m & isplat(1)"},
    {"x = a + b;", "1:7: `a + b`: pointers have + and - of a plain number, == and !="},
    {"n = i ? 1 : 2;", "1:7: `?:` on lanes: write select(i, 1, 2)"},
    {"m = lt(x, 0) && n;", "1:11: `0` is int and argument 2 of lt is real: write splat(0)\n1:14: `lt(x, 0) && n` on "
                           "lanes: write any(lt(x, 0)) or all(lt(x, 0))"},
    {"i = t;", "1:5: `t` is const int * and `i` is lint"},
    {"n -= x;", "1:6: `x` is real and `n` is int: lanes become plain only through any, all and stores"},
    {"n = p && lt(x, y);", "1:7: `p && lt(x, y)` on lanes: write any(lt(x, y)) or all(lt(x, y))"},
    {"big = 5000000000; n = 5000000000;", "1:23: `5000000000` is i64 and `n` is int: write (int)5000000000"},
};

static void mistakes_in_lanes(void **state) { CHECK_CASES(lanes, before, after); }

static void mistakes_in_values(void **state) { CHECK_CASES(values, before, after); }

static void mistakes_in_calls(void **state) { CHECK_CASES(calls, before, after); }

static void mistakes_in_variables(void **state) { CHECK_CASES(variables, before, after); }

static void mistakes_in_numbers(void **state) { CHECK_CASES(numbers, before, after); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_lanes),   cmocka_unit_test(mistakes_in_values),
        cmocka_unit_test(mistakes_in_calls),   cmocka_unit_test(mistakes_in_variables),
        cmocka_unit_test(mistakes_in_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
