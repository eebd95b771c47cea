/*
 * The grammar that random programs are drawn from: every form that the checker accepts.
 *
 * GRAMMAR(X): X(name, of, in, needs, text)
 *
 *   of    what it is a form of, a letter (see below)
 *   in    the kinds of program in which it stands: F function, P places, T team, I items; "": all
 *   needs flags of programs_writer.h
 *   text  what is written; in it
 *
 *     $R real  $B real of a size near 1  $U ureal  $M mask  $L lint  $C plain condition  $W whole number, small and not
 *     negative $V place of a real  $A statement without a declaration  $S statement  $J index of an element of the
 *     program's own $T 0 … 4, which follows from the arguments
 *     $I 0, 1 or 2 by any way      $d digit 1 … 9      $e 0, 1 or 2      $n a whole number that programs differ by
 *     $k the variable of the loop that begins    $x that of a loop around    $Z a block that is its body    $z a body
 *     without braces $H $G what an item program declares before its items    $Q what a whole team does
 *     $b digits of an item program    $p its first element    $i an index of one of TEAM_ITEMS    $q a shared array, of
 *     a team program $Y a block    $f a call of an earlier function    @ a number that makes names new
 *
 * A form that may be refused (ODD) is the only such one in its program, so the table that the test prints says which
 * are. A program without one may not be refused.
 */
#define GRAMMAR(X)                                                                                                     \
    GRAMMAR_REALS(X) GRAMMAR_PLAIN(X) GRAMMAR_STATEMENTS(X) GRAMMAR_DECLARATIONS(X) GRAMMAR_LOOPS(X) GRAMMAR_CALLS(X)  \
    GRAMMAR_ARRAYS(X) GRAMMAR_ODD(X)

#define GRAMMAR_REALS(X)                                                                                               \
    X("splat of a number", 'R', "", 0, "splat((ureal)0.$d)")                                                           \
    X("splat of a ureal", 'R', "", 0, "splat(c)")                                                                      \
    X("a place", 'R', "", NOT_INDEX, "$V")                                                                                     \
    X("+", 'R', "", 0, "($R + $R)")                                                                                    \
    X("-", 'R', "", 0, "($R - $R)")                                                                                    \
    X("*", 'R', "", 0, "($R * $R)")                                                                                    \
    X("/", 'R', "", 0, "$R / (splat((ureal)1.5) + sin($R))")                                                           \
    X("negation", 'R', "", 0, "(-$R)")                                                                                 \
    X("precedence", 'R', "", 0, "($R + $R * $R - $R)")                                                                 \
    X("cast to real", 'R', "", 0, "(real)($R)")                                                                        \
    X("fma", 'R', "", 0, "fma($R, $R, $R)")                                                                            \
    X("sin", 'R', "", 0, "sin($R)")                                                                                    \
    X("cos", 'R', "", 0, "cos($R)")                                                                                    \
    X("tan", 'R', "", 0, "tan(sin($R) * splat((ureal)0.7))")                                                           \
    X("asin", 'R', "", 0, "asin(sin($R) * splat((ureal)0.6))")                                                         \
    X("acos", 'R', "", 0, "acos(cos($R) * splat((ureal)0.7))")                                                         \
    X("atan", 'R', "", 0, "atan($R)")                                                                                  \
    X("atan2", 'R', "", 0, "atan2($R, splat((ureal)2.5) + cos($R))")                                                   \
    X("sqrt", 'R', "", 0, "sqrt(splat((ureal)1.3) + sin($R))")                                                         \
    X("exp", 'R', "", 0, "exp(sin($R))")                                                                               \
    X("exp2", 'R', "", 0, "exp2(cos($R))")                                                                             \
    X("log", 'R', "", 0, "log(splat((ureal)2.5) + cos($R))")                                                           \
    X("log2", 'R', "", 0, "log2(splat((ureal)1.7) + sin($R))")                                                         \
    X("pow", 'R', "", 0, "pow(splat((ureal)1.6) + sin($R), sin($R) + splat(1))")                                       \
    X("pow of a constant", 'R', "", 0, "pow(splat((ureal)1.2) + sin($R), splat($e))")                                  \
    X("tanh", 'R', "", 0, "tanh($R)")                                                                                  \
    X("rmin", 'R', "", 0, "rmin($R, $R)")                                                                              \
    X("rmax", 'R', "", 0, "rmax($R, $R)")                                                                              \
    X("clamp", 'R', "", 0, "clamp($R, splat((ureal)0.1), $R)")                                                         \
    X("rabs", 'R', "", 0, "rabs($R)")                                                                                  \
    X("copysign_", 'R', "", 0, "copysign_($R, $R)")                                                                    \
    X("canon", 'R', "", 0, "canon($R)")                                                                                \
    X("floor", 'R', "", 0, "floor($R) * $R")                                                                           \
    X("rint", 'R', "", 0, "(rint($R) + $R)")                                                                           \
    X("select", 'R', "", 0, "select($M, $R, $R)")                                                                      \
    X("?: of reals", 'R', "", CHOOSES, "($C ? $R : $R)")                                                                     \
    X("to_real", 'R', "", 0, "to_real($L & isplat(3)) * $R")                                                           \
    X("from_bits", 'R', "", 0, "(from_bits((sti_bits)isplat(0)) + $R)")                                                \
    X("splat of an expression", 'R', "", 0, "splat($U)")                                                               \
    X("macro with an argument", 'R', "", 0, "TWICE($R)")                                                               \
    X("nested macros", 'R', "", 0, "FOUR_TIMES(sin($R))")                                                              \
    X("of the function before", 'R', "", NOT_CHOSEN, "square(sin($R))")                                                         \
    X("bounded: sin", 'B', "", 0, "sin($R)")                                                                           \
    X("bounded: cos", 'B', "", 0, "cos($R)")                                                                           \
    X("bounded: tanh", 'B', "", 0, "tanh($R)")                                                                         \
    X("bounded: atan", 'B', "", 0, "splat((ureal)0.7) * atan($R)")                                                     \
    X("bounded: a product", 'B', "", 0, "sin($R) * splat((ureal)0.8)")                                                 \
    X("a variable", 'V', "", 0, "r$e")                                                                                 \
    X("an element of a local array", 'V', "", 0, "v[$I]")                                                              \
    X("an element of a local array of arrays", 'V', "", 0, "m[$I % 2][$I]")                                            \
    X("a field", 'V', "", 0, "s.x")                                                                                    \
    X("an element of a field", 'V', "", 0, "s.w[$I % 2]")                                                              \
    X("what a pointer and an offset point to", 'V', "", 0, "*(v + $I)")                                                \
    X("an element from an offset", 'V', "", 0, "(v + 1)[$e % 2]")                                                      \
    X("what an address points to", 'V', "", 0, "*&r$e")                                                                \
    X("a field by an address", 'V', "", 0, "(&s)->x")                                                                  \
    X("an element of a field by an address", 'V', "", 0, "(&s)->w[1]")                                                 \
    X("an element of an address", 'V', "", 0, "(&v[1])[$e % 2]")

#define GRAMMAR_PLAIN(X)                                                                                               \
    X("ureal: a number", 'U', "", 0, "(ureal)0.$d")                                                                    \
    X("ureal: a number with a suffix", 'U', "", 0, "(ureal)$d.5e-1f")                                                  \
    X("ureal: a parameter", 'U', "", 0, "c")                                                                           \
    X("ureal: a variable", 'U', "", 0, "u$e")                                                                          \
    X("ureal: of a table", 'U', "", 0, "heights[$I]")                                                                  \
    X("ureal: +", 'U', "", 0, "($U + $U)")                                                                             \
    X("ureal: -", 'U', "", 0, "($U - $U)")                                                                             \
    X("ureal: *", 'U', "", 0, "($U * $U)")                                                                             \
    X("ureal: /", 'U', "", 0, "$U / ((ureal)1.2 + uabs($U))")                                                          \
    X("ureal: negation", 'U', "", 0, "(-$U)")                                                                          \
    X("ureal: sign", 'U', "", 0, "(+$U)")                                                                              \
    X("ureal: cast of a whole number", 'U', "", 0, "(ureal)($W % 3) * (ureal)0.3")                                     \
    X("ureal: ?:", 'U', "", CHOOSES, "($C ? $U : $U)")                                                                       \
    X("usqrt", 'U', "", 0, "usqrt((ureal)1.3 + uabs($U))")                                                             \
    X("ufma", 'U', "", 0, "ufma($U, (ureal)0.4, $U)")                                                                  \
    X("umin", 'U', "", 0, "umin($U, $U)")                                                                              \
    X("umax", 'U', "", 0, "umax($U, $U)")                                                                              \
    X("uabs", 'U', "", 0, "uabs($U)")                                                                                  \
    X("mask: lt", 'M', "", 0, "lt($R, $R)")                                                                            \
    X("mask: le", 'M', "", 0, "le($R, $R)")                                                                            \
    X("mask: gt", 'M', "", 0, "gt($R, $R)")                                                                            \
    X("mask: ge", 'M', "", 0, "ge($R, $R)")                                                                            \
    X("mask: eq", 'M', "", 0, "eq(floor($R), splat($e))")                                                              \
    X("mask: ilt", 'M', "", 0, "ilt($L, $L)")                                                                          \
    X("mask: ieq", 'M', "", 0, "ieq($L, $L)")                                                                          \
    X("mask: igt", 'M', "", 0, "igt($L, $L)")                                                                          \
    X("mask: m_and", 'M', "", 0, "m_and($M, $M)")                                                                      \
    X("mask: m_or", 'M', "", 0, "m_or($M, $M)")                                                                        \
    X("mask: m_not", 'M', "", 0, "m_not($M)")                                                                          \
    X("mask: m_andnot", 'M', "", 0, "m_andnot($M, $M)")                                                                \
    X("mask: m_none", 'M', "", 0, "m_none()")                                                                          \
    X("mask: m_all", 'M', "", 0, "m_all()")                                                                            \
    X("mask: is_nan", 'M', "", 0, "is_nan($R)")                                                                        \
    X("mask: in_range", 'M', "", 0, "in_range($W, $W)")                                                                \
    X("mask: a variable", 'M', "", 0, "m0")                                                                            \
    X("mask: &", 'M', "", 0, "($M & $M)")                                                                              \
    X("mask: |", 'M', "", 0, "($M | $M)")                                                                              \
    X("mask: ^", 'M', "", 0, "($M ^ $M)")                                                                              \
    X("mask: ~", 'M', "", 0, "(~$M)")                                                                                  \
    X("lint: isplat", 'L', "", 0, "isplat($W)")                                                                        \
    X("lint: lane", 'L', "", 0, "lane()")                                                                              \
    X("lint: a variable", 'L', "", 0, "l0")                                                                            \
    X("lint: +", 'L', "", 0, "($L + $L)")                                                                              \
    X("lint: -", 'L', "", 0, "($L - $L)")                                                                              \
    X("lint: *", 'L', "", 0, "($L * isplat($d))")                                                                      \
    X("lint: &", 'L', "", 0, "($L & $L)")                                                                              \
    X("lint: |", 'L', "", 0, "($L | $L)")                                                                              \
    X("lint: ^", 'L', "", 0, "($L ^ $L)")                                                                              \
    X("lint: ~", 'L', "", 0, "(~$L)")                                                                                  \
    X("lint: negation", 'L', "", 0, "(-$L)")                                                                           \
    X("ishr", 'L', "", 0, "ishr($L, $e)")                                                                              \
    X("ishl", 'L', "", 0, "ishl($L & isplat(15), $e)")                                                                 \
    X("imulhi", 'L', "", 0, "imulhi($L, $L)")                                                                          \
    X("iselect", 'L', "", 0, "iselect($M, $L, $L)")                                                                    \
    X("imin", 'L', "", 0, "imin($L, $L)")                                                                              \
    X("imax", 'L', "", 0, "imax($L, $L)")                                                                              \
    X("to_int", 'L', "", 0, "to_int($B * splat(3))")                                                                   \
    X("as_bits of a constant", 'L', "", 0, "(lint)(as_bits(splat(2)) & as_bits(splat(0)))")                            \
    X("iload", 'L', "", 0, "iload(count + $I)")                                                                        \
    X("igather", 'L', "", 0, "igather(count, imin(imax($L, isplat(0)), isplat(7)))")                                   \
    X("condition: <", 'C', "", 0, "$W < $W")                                                                           \
    X("condition: <=", 'C', "", 0, "$W <= $W")                                                                         \
    X("condition: >", 'C', "", 0, "$W > $W")                                                                           \
    X("condition: >=", 'C', "", 0, "$W >= $W")                                                                         \
    X("condition: ==", 'C', "", 0, "$W == $W")                                                                         \
    X("condition: !=", 'C', "", 0, "$W != $W")                                                                         \
    X("condition: of programs", 'C', "", 0, "$n % 2 == $e")                                                            \
    X("condition: of ureals", 'C', "", 0, "$U < (ureal)0.$d")                                                          \
    X("condition: &&", 'C', "", CHOOSES, "($C) && ($C)")                                                                     \
    X("condition: ||", 'C', "", CHOOSES, "($C) || ($C)")                                                                     \
    X("condition: !", 'C', "", 0, "!($C)")                                                                             \
    X("condition: a number", 'C', "", 0, "$W")                                                                         \
    X("condition: any", 'C', "", 0, "any($M)")                                                                         \
    X("condition: all", 'C', "", 0, "all($M)")                                                                         \
    X("condition: a choice", 'C', "", CHOOSES, "(($C) ? $W : $W)")                                                           \
    X("condition: pointers are equal", 'C', "", 0, "v == &v[$e]")                                                      \
    X("condition: of a loop", 'C', "", NEEDS_LOOP, "$x == $e")                                                         \
    X("whole: a number", 'W', "", 0, "$d")                                                                             \
    X("whole: hexadecimal", 'W', "", 0, "0x$d")                                                                        \
    X("whole: of programs", 'W', "", 0, "$n")                                                                          \
    X("whole: a variable", 'W', "", 0, "j$e")                                                                          \
    X("whole: a loop's variable", 'W', "", NEEDS_LOOP, "$x")                                                           \
    X("whole: a macro", 'W', "", 0, "LIMIT")                                                                           \
    X("whole: a macro that depends on another", 'W', "", 0, "CHOSEN")                                                  \
    X("whole: of an array", 'W', "", 0, "count[$I]")                                                                   \
    X("whole: of a table", 'W', "", 0, "places[$I]")                                                                   \
    X("whole: a field", 'W', "", 0, "s.n")                                                                             \
    X("whole: +", 'W', "", 0, "($W + $W)")                                                                             \
    X("whole: -", 'W', "", 0, "(9 + $W - $W % 9)")                                                                     \
    X("whole: *", 'W', "", 0, "($W % 9) * $d")                                                                         \
    X("whole: /", 'W', "", 0, "$W / $d")                                                                               \
    X("whole: %", 'W', "", 0, "$W % $d")                                                                               \
    X("whole: &", 'W', "", 0, "($W & $W)")                                                                             \
    X("whole: |", 'W', "", 0, "($W | $d)")                                                                             \
    X("whole: ^", 'W', "", 0, "($W ^ $d)")                                                                             \
    X("whole: ~", 'W', "", 0, "(~$W & 7)")                                                                             \
    X("whole: <<", 'W', "", 0, "($W % 9 << $e)")                                                                       \
    X("whole: >>", 'W', "", 0, "($W >> $e)")                                                                           \
    X("whole: signs", 'W', "", 0, "(-(-$W) + +$W)")                                                                    \
    X("whole: !", 'W', "", 0, "!$W")                                                                                   \
    X("whole: of a condition", 'W', "", 0, "($C)")                                                                     \
    X("whole: ?:", 'W', "", CHOOSES, "($C ? $W : $W)")                                                                       \
    X("whole: sizeof", 'W', "", 0, "(int)sizeof(int)")                                                                 \
    X("whole: sizeof a structure", 'W', "", 0, "(int)(sizeof(counts) / sizeof(u8) / 4)")                               \
    X("whole: cast to i64", 'W', "", 0, "(int)((i64)$W + 1ll)")                                                        \
    X("whole: cast to u64", 'W', "", 0, "(int)((u64)$W >> 1u)")                                                        \
    X("whole: cast to u32", 'W', "", 0, "(int)((u32)$W * 2u % 9u)")                                                    \
    X("whole: cast to u16", 'W', "", 0, "(u16)$W")                                                                     \
    X("whole: cast to u8", 'W', "", 0, "(u8)$W")                                                                       \
    X("whole: cast of a ureal", 'W', "", 0, "nmax((int)($U * 3), 0) % 3")                                              \
    X("nmin", 'W', "", 0, "nmin($W, $W)")                                                                              \
    X("nmax", 'W', "", 0, "nmax($W, $W)")                                                                              \
    X("whole: a function of any", 'W', "", 0, "any($M)")                                                               \
    X("whole: a called function", 'W', "", 0, "next($W % 9, count)")                                                   \
    X("trips: a constant", 'T', "", 0, "$e")                                                                           \
    X("trips: a macro", 'T', "", 0, "LIMIT")                                                                           \
    X("trips: of programs", 'T', "", 0, "nmin($n, 3)")                                                                 \
    X("trips: of an array", 'T', "", 0, "count[($n + $d) % 8]")                                                        \
    X("trips: of a loop", 'T', "", NEEDS_LOOP, "$x")                                                                   \
    X("index: a constant", 'I', "", 0, "$e")                                                                           \
    X("index: of an expression", 'I', "", 0, "($W) % 3")                                                               \
    X("index: of a loop", 'I', "", NEEDS_LOOP, "($x + $e) % 3")                                                        \
    X("index: gathered", 'I', "", 0, "(count[($n + $d) % 8] % 3)")                                                     \
    X("index: of a table", 'I', "", 0, "places[$e]")

#define GRAMMAR_STATEMENTS(X)                                                                                          \
    X("=", 'A', "", 0, "$V = $B;")                                                                                     \
    X("+=", 'A', "", 0, "$V += splat((ureal)0.1) * $B;")                                                               \
    X("-=", 'A', "", 0, "$V -= splat((ureal)0.1) * $B;")                                                               \
    X("*=", 'A', "", 0, "$V *= $B;")                                                                                   \
    X("/=", 'A', "", 0, "$V /= splat((ureal)2.5) + $B;")                                                               \
    X("= of a structure", 'A', "", 0, "s = o;")                                                                        \
    X("a field of a field's array", 'A', "", 0, "o.w[$I % 2] = s.x * $B;")                                             \
    X("ureal =", 'A', "", 0, "u$e = $U / ((ureal)1.5 + uabs($U));")                                                    \
    X("ureal *=", 'A', "", 0, "u$e *= (ureal)0.$d;")                                                                   \
    X("mask =", 'A', "", 0, "m0 = $M;")                                                                                \
    X("mask &=", 'A', "", 0, "m0 &= $M;")                                                                              \
    X("lint =", 'A', "", 0, "l0 = $L;")                                                                                \
    X("lint +=", 'A', "", 0, "l0 += $L & isplat(3);")                                                                  \
    X("whole =", 'A', "", 0, "j$e = $W % 8;")                                                                          \
    X("whole +=", 'A', "", 0, "j$e += $W % 3;")                                                                        \
    X("whole %=", 'A', "", 0, "j$e %= $d;")                                                                            \
    X("whole /=", 'A', "", 0, "j$e /= $d;")                                                                            \
    X("whole &=", 'A', "", 0, "j$e &= $W;")                                                                            \
    X("whole |=", 'A', "", 0, "j$e |= $d;")                                                                            \
    X("whole ^=", 'A', "", 0, "j$e ^= $d;")                                                                            \
    X("whole >>=", 'A', "", 0, "j$e >>= $e;")                                                                          \
    X("++ before", 'A', "", 0, "++j$e;")                                                                               \
    X("++ behind", 'A', "", 0, "j$e++;")                                                                               \
    X("a comma", 'A', "", 0, "r0 = $B, r1 = r0 * $B;")                                                                 \
    X("an unused value", 'A', "", 0, "(void)$V;")                                                                      \
    X("turns a local array", 'A', "", 0, "turn(v, $R, $n);")                                                           \
    X("changes by an address", 'A', "", 0, "grow(&r$e, $R);")                                                          \
    X("changes an element by an address", 'A', "", 0, "grow(&v[$I], $R);")                                             \
    X("changes an element from an offset", 'A', "", 0, "grow(v + $I, $R);")                                            \
    X("changes a field by an address", 'A', "", 0, "grow(&s.w[$e % 2], $R);")                                          \
    X("changes a structure by an address", 'A', "", 0, "bend(&s, $R);")                                                \
    X("changes a whole number by an address", 'A', "", 0, "advance(&j$e);")                                            \
    X("a jump in a loop", 'A', "", NEEDS_JUMP, "if ($C) break;")                                                       \
    X("a jump to the next trip", 'A', "", NEEDS_JUMP, "if ($C) continue;")                                             \
    X("an early return", 'A', "F", NEEDS_RETURN, "if ($C) return $B;")                                                 \
    X("a statement", 'S', "", 0, "$A")                                                                                 \
    X("two statements", 'S', "", 0, "$A $A")                                                                           \
    X("an empty statement", 'S', "", 0, ";")                                                                           \
    X("a block", 'S', "", 0, "$Y")                                                                                     \
    X("if", 'S', "", 0, "if ($C) $Y")                                                                                  \
    X("if without braces", 'S', "", 0, "if ($C) $A")                                                                   \
    X("if with an empty body", 'S', "", 0, "if ($C) ; else $A")                                                        \
    X("if else", 'S', "", 0, "if ($C) $Y else $Y")                                                                     \
    X("else if", 'S', "", 0, "if ($C) $Y else if ($C) $A else $Y")                                                     \
    X("if in if", 'S', "", 0, "if ($C) if ($C) $A else $A")                                                            \
    X("decremented", 'S', "", 0, "j$e = $W % 4 + 1; --j$e, j0 = nmax(j0, 0), j1 = nmax(j1, 0), j2 = nmax(j2, 0);")     \
    X("decremented behind", 'S', "", 0, "if (j1 > 0) j1--;")                                                           \
    X("whole *=", 'S', "", 0, "j0 = $W % 8; j0 *= $d;")                                                                \
    X("whole <<=", 'S', "", 0, "j1 = $W % 8; j1 <<= $e;")                                                              \
    X("whole -=", 'S', "", 0, "j2 = $W % 8 + 9; j2 -= $d;")

#define GRAMMAR_DECLARATIONS(X)                                                                                        \
    X("real", 'S', "", 0, "real t@ = $B; $V = t@ * $B;")                                                               \
    X("const real", 'S', "", 0, "const real t@ = $B; $V = sin(t@ + $R);")                                              \
    X("real without a value", 'S', "", 0, "real t@; t@ = $B; $V = t@;")                                                \
    X("several reals", 'S', "", 0, "real t@ = $B, w@ = t@ * $B; $V = w@ - t@;")                                        \
    X("an array", 'S', "", 0, "real t@[3] = {$B, $B, $B}; $V = t@[$I] * t@[$I];")                                      \
    X("an array that is filled in part", 'S', "", 0, "real t@[3] = {$B}; $V = t@[$I] + t@[0];")                        \
    X("an array of a macro's size", 'S', "", 0,                                                                        \
      "real t@[LIMIT * 2]; for (int h@ = 0; h@ < LIMIT * 2; ++h@) t@[h@] = $B; $V = t@[$I + 2];")                      \
    X("an array of arrays", 'S', "", 0, "real t@[2][2] = {{$B, $B}, {$B}}; $V = t@[$W % 2][$W % 2];")                  \
    X("an array that is assigned", 'S', "", 0, "real t@[2]; t@[0] = $B; t@[1] = $B * t@[0]; $V = t@[$I % 2];")         \
    X("a structure", 'S', "", 0, "pair t@ = s; t@.x = $B; s = t@;")                                                    \
    X("a structure with values", 'S', "", 0, "pair t@ = {$B, {$B, $B}, $e}; $V = t@.x * t@.w[$I % 2];")                \
    X("a structure that is assigned", 'S', "", 0, "pair t@; t@.x = $B; t@.w[0] = $B; t@.w[1] = $B; t@.n = $e; s = t@;")\
    X("an array of structures", 'S', "", 0, "pair t@[2] = {s, o}; t@[$W % 2].x = $B; o = t@[$I % 2];")                 \
    X("a structure within a structure", 'S', "", 0, "nest t@ = {s, {$B, $B}}; t@.in.x *= t@.w[1]; s = t@.in;")         \
    X("int", 'S', "", 0, "int t@ = $W; j$e = t@ % 8;")                                                                 \
    X("several ints", 'S', "", 0, "int t@ = $W % 9, w@ = t@ + $W; j$e = w@ % 8;")                                      \
    X("i64", 'S', "", 0, "i64 t@ = $W; j$e = (int)(t@ % 8);")                                                          \
    X("u64", 'S', "", 0, "u64 t@ = (u64)$W; j$e = (int)(t@ % 8u);")                                                    \
    X("u32", 'S', "", 0, "u32 t@ = (u32)$W; j$e = (int)(t@ % 8u);")                                                    \
    X("u16", 'S', "", 0, "u16 t@ = (u16)($W); j$e = t@ % 8;")                                                          \
    X("u8", 'S', "", 0, "const u8 t@ = (u8)($W); j$e = t@ % 8;")                                                       \
    X("ureal", 'S', "", 0, "ureal t@ = $U; $V = splat(t@) * $B;")                                                      \
    X("lint", 'S', "", 0, "lint t@ = $L; l0 = t@ & isplat(7);")                                                        \
    X("mask", 'S', "", 0, "mask t@ = $M; $V = select(t@, $B, $B);")                                                    \
    X("sti_bits", 'S', "", 0, "sti_bits t@ = as_bits(splat($e)); l0 = (lint)(t@ & as_bits(splat(0)));")                \
    X("an array of ints", 'S', "", 0, "int t@[3] = {$e, 1}; t@[$I] = $W % 8; j$e = t@[$I];")                           \
    X("an array of ureals", 'S', "", 0, "ureal t@[2] = {c, $U}; $V = splat(t@[$W % 2]) * $B;")                         \
    X("an array of masks", 'S', "", 0, "mask t@[2] = {$M, $M}; $V = select(t@[$W % 2], $B, $B);")                      \
    X("an array of lints", 'S', "", 0, "lint t@[2] = {$L, $L}; $V = to_real(t@[$W % 2] & isplat(3)) * $B;")            \
    X("a pointer that reads", 'S', "", 0, "const real *t@ = v; $V = t@[$I] * $B;")                                     \
    X("a pointer from an offset", 'S', "", 0, "const real *t@ = v + 1; $V = *t@ * t@[1];")                             \
    X("a pointer to an element", 'S', "", 0, "const real *t@ = &v[$e]; $V = *t@ * $B;")                                \
    X("a pointer to a row", 'S', "", 0, "const real *t@ = m[$I % 2]; $V = t@[$I] * $B;")                               \
    X("a pointer that writes", 'S', "", 0, "real *t@ = v; t@[$I] = $B;")                                               \
    X("a pointer to a variable", 'S', "", 0, "real *t@ = &r$e; *t@ = $B * *t@;")                                       \
    X("a pointer to a structure", 'S', "", 0, "pair *t@ = &s; t@->x = $B; t@->w[$I % 2] = $B * t@->x;")                \
    X("a pointer to whole numbers", 'S', "", 0, "const int *t@ = count + $e; j$e = t@[$I];")                           \
    X("a name that hides another", 'S', "", ODD, "{ real t@ = $B; real r0 = t@; v[$I] = r0 * r1; }")

#define GRAMMAR_LOOPS(X)                                                                                               \
    X("for: up", 'S', "", LOOP, "for (int $k = 0; $k < $e + 1; ++$k) $Z")                                              \
    X("for: up behind", 'S', "", LOOP, "for (int $k = 0; $k < $e; $k++) $Z")                                           \
    X("for: down", 'S', "", LOOP, "for (int $k = $e; $k >= 0; --$k) $Z")                                               \
    X("for: down behind", 'S', "", LOOP, "for (int $k = $e; $k > 0; $k--) $Z")                                         \
    X("for: steps", 'S', "", LOOP, "for (int $k = 0; $k < 5; $k += 2) $Z")                                             \
    X("for: steps down", 'S', "", LOOP, "for (int $k = 4; $k > 0; $k -= 2) $Z")                                        \
    X("for: assigned", 'S', "", LOOP | ODD, "for (int $k = 0; $k < 3; $k = $k + 1) $Z")                                \
    X("for: i64", 'S', "", LOOP, "for (i64 $k = 1; $k <= 2; $k++) $Z")                                                 \
    X("for: u32", 'S', "", LOOP | ODD, "for (u32 $k = 0; $k < 3u; $k++) $Z")                                           \
    X("for: no braces", 'S', "", LOOP, "for (int $k = 0; $k < 3; ++$k) $z")                                            \
    X("for: in for without braces", 'S', "", LOOP, "for (int $k = 0; $k < 2; ++$k) for (int h@ = 0; h@ < 2; ++h@) $z") \
    X("for: bounds of an array", 'S', "", LOOP, "for (int $k = 0; $k < count[($n + $d) % 8]; ++$k) $Z")                \
    X("for: from an array", 'S', "", LOOP, "for (int $k = count[($n + $d) % 8]; $k < 4; ++$k) $Z")                     \
    X("for: bounds of a function", 'S', "", LOOP, "for (int $k = 0; $k < nmin($T + 1, 3); ++$k) $Z")                   \
    X("for: bounds of a variable", 'S', "", LOOP, "int h@ = nmin($T, 3); for (int $k = 0; $k < h@; ++$k) $Z")          \
    X("for: bounds that come of anything", 'S', "", LOOP | ODD,                                                        \
      "int h@ = nmin($W, 3); for (int $k = 0; $k < h@; ++$k) $Z")                                                      \
    X("for: of a loop around", 'S', "", LOOP | NEEDS_LOOP, "for (int $k = 0; $k <= $x && $k < 3; ++$k) $Z")            \
    X("for: a range of an array", 'S', "", LOOP, "for (int $k = count[0]; $k < count[0] + count[$e]; ++$k) $Z")        \
    X("for: two conditions", 'S', "", LOOP, "for (int $k = 0; $k < 3 && j0 < 99; ++$k) $Z")                            \
    X("for: an expression first", 'S', "", LOOP | ODD, "int h@; for (h@ = 0; h@ < 3; ++h@) $Z")                        \
    X("for: nothing first", 'S', "", LOOP | ODD, "int h@ = 0; for (; h@ < 3; ++h@) $Z")                                \
    X("for: nothing last", 'S', "", LOOP | ODD, "for (int h@ = 0; h@ < 3;) { ++h@; $Z }")                              \
    X("for: a break alone ends it", 'S', "", LOOP | ODD, "for (int $k = 0; ; ++$k) { if ($k == 3) break; $Z }")        \
    X("for: nothing at all", 'S', "", LOOP | ODD, "int h@ = 0; for (;;) { if (h@ >= 3) break; ++h@; $Z }")             \
    X("for: two variables", 'S', "", LOOP | ODD, "for (int $k = 0, h@ = 3; $k < h@; ++$k, --h@) $Z")                   \
    X("for: leaves when no lane goes on", 'S', "", LOOP,                                                               \
      "mask g@ = m_all(); for (int $k = 0; $k < 4; ++$k) { if (!any(g@)) break; r0 = select(g@, $B, r0); "             \
      "g@ = m_and(g@, lt(r0, splat((ureal)0.5))); }")                                                                  \
    X("for: a search", 'S', "", LOOP, "int h@ = 0; for (; h@ < 7 && count[h@] < 2;) ++h@; j$e = h@;")                  \
    X("for: sums in an array", 'S', "", LOOP,                                                                          \
      "real t@ = splat(0); for (int $k = 0; $k < 3; ++$k) t@ = fma(v[$k % 3], m[1][$k % 3], t@); $V = sin(t@);")

#define GRAMMAR_CALLS(X)                                                                                               \
    X("call: an earlier function", 'S', "FTI", CALLS, "$V = $f;")                                                      \
    X("call: nested functions", 'S', "FTI", CALLS, "$V = square($f);")                                                 \
    X("call: by value", 'S', "", 0, "$V = square($B);")                                                                \
    X("call: of a call", 'S', "", 0, "$V = square(sin(square($B)));")                                                  \
    X("call: returns early", 'S', "", 0, "$V = early($B, $T);")                                                        \
    X("call: a structure by value", 'S', "", 0, "$V = sin(length(s));")                                                \
    X("call: a structure by a const pointer", 'S', "", 0, "$V = sin(area(&s) + area(&o));")                            \
    X("call: returns a structure", 'S', "", ODD, "s = made($B, $B, $W % 3);")                                          \
    X("call: returns a ureal", 'S', "", 0, "u$e = smaller($U, $U) / ((ureal)1.5 + uabs($U));")                         \
    X("call: returns a mask", 'S', "", 0, "m0 = between($R, $R);")                                                     \
    X("call: returns a lint", 'S', "", 0, "l0 = steps($R, $L);")                                                       \
    X("call: reads an array", 'S', "", 0, "$V = sin(dot(v, m[$I % 2], 3));")                                           \
    X("call: reads one array twice", 'S', "", 0, "$V = sin(dot(v, v, 3));")                                            \
    X("call: fills an array", 'S', "", 0, "real t@[2]; two($R, $R, t@); $V = sin(t@[0] * t@[1]);")                     \
    X("call: fills variables", 'S', "", 0, "real t@, w@; polar($R, &t@, &w@); $V = t@ * w@;")                          \
    X("call: fills a field's array", 'S', "", 0, "two(sin($R), cos($R), s.w); s.w[0] = sin(s.w[0]);")                  \
    X("call: other arrays", 'S', "", 0, "rotate(v, m[$I % 2]);")                                                       \
    X("call: a structure with pointers", 'S', "", 0, "rows held@ = {v, m[1], 3}; $V = sin(meet(held@));")              \
    X("call: writes through one", 'S', "", 0,                                                                           \
      "rows held@ = {m[0], v, 3}; carry(held@, $B); $V = sin(held@.b[1] * held@.a[2]);")                               \
    X("call: passes on a pointer", 'S', "", ODD, "turn_twice(v, $B, $n);")                                             \
    X("call: with loops on an array", 'S', "", 0, "smooth(v, 3, $T);")                                                 \
    X("call: in a loop", 'S', "", NEEDS_LOOP, "smooth(v, 2, $T);")                                                     \
    X("call: without parameters", 'S', "", 0, "$V = half() * $B;")

#define GRAMMAR_ARRAYS(X)                                                                                              \
    X("places: an element", 'V', "P", READ_ONLY, "y[first + $J]")                                                      \
    X("places: an element by a pointer", 'V', "P", READ_ONLY, "own[$J]")                                               \
    X("places: what is only read", 'V', "P", READ_ONLY, "x[i]")                                                        \
    X("places: put", 'A', "P", 0, "put(y, first + $J, $B);")                                                           \
    X("places: put by a pointer", 'A', "P", 0, "put(own, $J, $B);")                                                    \
    X("places: put by an address", 'S', "P", ODD, "put(&y[first + $J], 0, $B);")                                       \
    X("places: put at an offset", 'A', "P", 0, "put(own + $J, 0, $B);")                                                \
    X("places: put over itself", 'A', "P", 0, "put(y, first + $J, sin(y[first + $J]) * y[first + $J]);")               \
    X("places: put in a branch", 'A', "P", 0, "if ($C) put(own, $J, $B);")                                             \
    X("places: an index by name", 'S', "P", 0,                                                                         \
      "int at@ = first + (int)($J); real h@ = $B; put(y, at@, h@ * y[at@]);")                                          \
    X("places: a pointer by name", 'S', "P", 0, "real *t@ = own + $J; put(t@, 0, $B * *t@);")                          \
    X("places: a function that puts", 'S', "P", 0, "put_three(own + $e, v, $B);")                                      \
    X("places: a function that reads", 'S', "P", 0, "$V = sin(dot(own + $J, v, 1));")                                  \
    X("places: load4", 'S', "P", 0, "real t@[4]; load4(x, 0, t@); $V = t@[$I] * t@[3];")                               \
    X("places: prefetch", 'A', "P", 0, "prefetch(y + first);")                                                         \
    X("places: a constant", 'J', "P", 0, "$e")                                                                         \
    X("places: affine", 'J', "P", 0, "$j")                                                                             \
    X("places: affine and gathered", 'J', "P", 0, "count[$W % 8]")                                                     \
    X("places: of whole numbers", 'J', "P", 0, "($W) % ROOM")                                                          \
    X("items: load", 'V', "I", READ_ONLY, "load(a + q)")                                                               \
    X("items: gather", 'V', "I", READ_ONLY, "gather(a, i)")                                                            \
    X("items: gather at an offset", 'V', "I", READ_ONLY, "gather(t + $e, i)")                                          \
    X("items: what all share", 'V', "I", READ_ONLY, "splat(t[$I])")                                                    \
    X("items: of_world", 'V', "I", READ_ONLY, "splat(of_world(u, 2, $e % 2, $e % 2))")                                 \
    X("items: store_if", 'O', "I", 0, "store_if(in_range(q, n), made + q, load(z + q) * $B);")                         \
    X("items: store_if a mask", 'O', "I", 0, "store_if(m_and(in_range(q, n), $M), made + q, $B);")                     \
    X("items: scatter_if", 'O', "I", 0, "scatter_if(in_range(q, n), made, isplat(q) + lane(), $B);")                   \
    X("items: store", 'O', "I", 0, "store(other + q, $B);")                                                            \
    X("items: a shared whole number", 'W', "I", 0, "hh$b[$I]")                                                          \
    X("items: an element of an array of the team's", 'V', "I", READ_ONLY, "splat(gg$b[$I])")                            \
    X("items: istore", 'S', "I", 0, "istore(whole + q, $L);")                                                          \
    X("items: istream", 'S', "I", 0, "istream(whole + q, l0);")                                                        \
    X("items: wide_load", 'S', "I", 0, "lint t@[STET_WIDE]; wide_load(count, t@); l0 = t@[$I] & isplat(7);")           \
    X("items: wide_store", 'S', "I", 0,                                                                                \
      "lint t@[STET_WIDE]; for (int h@ = 0; h@ < STET_WIDE; ++h@) t@[h@] = $L; "                                       \
      "wide_store(wides + q * STET_WIDE, t@);")                                                                        \
    X("items: shared, filled by an each", 'H', "I", 0,                                                                 \
      "shared(int, hh$b, 8); each (e, 8) hh$b[e] = (count[(e + $d) % 8] + e * $d) % 8; sync();")                         \
    X("items: shared, filled by one", 'H', "I", 0,                                                                     \
      "shared(int, hh$b, 3); each (e, 1) { hh$b[0] = $d; hh$b[1] = count[$e]; hh$b[2] = places[$e]; } sync();")   \
    X("items: staged whole numbers", 'H', "I", 0, "staged(int, hh$b, count, 8);")                                       \
    X("items: staged ureals", 'G', "I", 0, "staged(ureal, gg$b, t, 4);")                                                \
    X("items: staged ureals from an offset", 'G', "I", 0, "staged(ureal, gg$b, t + $d, 3);")                            \
    X("items: shared ureals without a gradient", 'G', "I", 0,                                                          \
      "shared(ureal, gg$b, 3); each (e, 3) gg$b[e] = heights[e] * (ureal)0.$d; sync();")                                 \
    X("items: istore_if", 'S', "I", 0, "istore_if(in_range(q, n), whole + q, l0);")                                    \
    X("items: bstore_if", 'S', "I", 0, "bstore_if(in_range(q, n), bytes, isplat(q) + lane(), l0 & isplat(7));")        \
    X("team: a shared array", 'V', "T", READ_ONLY, "$t")                                                               \
    X("team: a staged array", 'V', "T", READ_ONLY, "sp[$p + $i]")                                                      \
    X("team: a staged array of ureals", 'V', "T", READ_ONLY, "splat(sg[$i])")                                          \
    X("team: a gathered element of it", 'V', "T", READ_ONLY, "gather(sg, isplat($i))")                                 \
    X("team: a staged array of whole numbers", 'W', "T", 0, "sat[(i + $d) % 8]")                                       \
    X("team: a variable of all", 'Q', "T", 0,                                                                          \
      "real t@ = p[$p] * splat(c); each (i, 5) $q[i] = sin($q[i] * t@); sync();")                                      \
    X("team: an array of all", 'Q', "T", 0,                                                                            \
      "real t@[2] = {p[$p + $e], splat(g[$e])}; each (i, 5) $q[i] = tanh($q[i] + t@[i % 2]); sync();")                 \
    X("team: a pointer to an array of all", 'Q', "T", 0,                                                               \
      "real w@[3] = {p[$p], splat(c), p[$p + $e]}; const real *t@ = w@ + 1; "                                          \
      "each (i, 5) $q[i] = sin(t@[i % 2] - $q[i]); sync();")                                                           \
    X("team: a pointer to a structure of all", 'Q', "T", 0,                                                            \
      "pair w@ = {p[$p], {splat((ureal)0.$d), p[$p + $e]}, $e}; const pair *t@ = &w@; "                                \
      "each (i, 5) $q[(i + 1) % 5] = cos(t@->x * $q[(i + 1) % 5] + t@->w[(t@->n + i) % 2]); sync();")                  \
    X("team: a structure's address as an argument", 'Q', "T", 0,                                                       \
      "pair t@ = {splat(c), {p[$p + $e], splat((ureal)0.$d)}, $e}; relax($q, &t@, 5);")                                \
    X("team: an address of a structure of ureals", 'Q', "T", 0,                                                        \
      "plain t@ = {{c, g[$e]}, $e, $d}; press($q, p + $p, &t@, 5);")                                                   \
    X("team: a function of shared arrays", 'Q', "T", 0, "spread(a0, a1, 5);")                                          \
    X("team: align_teams", 'Q', "T", 0, "align_teams();")                                                              \
    X("team: one's own element", 'A', "T", 0, "$o")

/* What C has and an adjoint may not follow: refused by a sentence, or right. */
#define GRAMMAR_ODD(X)                                                                                                 \
    X("odd: ++ in an index", 'S', "", ODD, "v[j0++ % 3] = $B;")                                                        \
    X("odd: ++ in an index that is read", 'S', "", ODD, "$V = $B * v[j0++ % 3];")                                      \
    X("odd: -- in an index", 'S', "", ODD, "j0 = 3; $V = $B * v[--j0];")                                               \
    X("odd: ++ in an argument", 'S', "", ODD, "$V = early($B, j0++ % 4);")                                             \
    X("odd: ++ in a condition", 'S', "", ODD, "if (j0++ < 3) $V = $B; else $V = $B;")                                  \
    X("odd: ++ in a first value", 'S', "", ODD, "int t@ = j0++; $V = v[t@ % 3] * $B;")                                 \
    X("odd: ++ in an assigned value", 'S', "", ODD, "j1 = j0++ % 3; $V = v[j1] * $B;")                                 \
    X("odd: ++ in a return", 'S', "F", ODD, "if (n == 77) return v[j0++ % 3];")                                        \
    X("odd: ++ in ?:", 'S', "", ODD, "$V = (j0++ < 2 ? v[0] : v[1]) * $B;")                                            \
    X("odd: an assignment in a value", 'S', "", ODD, "$V = v[(j0 = 1)] * $B;")                                         \
    X("odd: a comma in a value", 'S', "", ODD, "$V = ($R, $B);")                                                       \
    X("odd: arguments that are one array", 'S', "", ODD, "rotate(v, v);")                                              \
    X("odd: arguments that overlap", 'S', "", ODD, "smear(v + 1, v, 2);")                                              \
    X("odd: arguments that may overlap", 'S', "", ODD, "grow_by(v + $W % 2, v + $I);")                                 \
    X("arguments in one array apart", 'S', "", 0, "grow_by(v, v + 2);")                                                \
    X("odd: one structure twice", 'S', "", ODD, "mix(&s, &s);")                                                        \
    X("odd: one variable twice", 'S', "", ODD, "grow_by(&r0, &r0);")                                                   \
    X("odd: a structure and a field of it", 'S', "", ODD, "grow_field(&s, s.w);")                                      \
    X("odd: arguments by pointers that overlap", 'S', "", ODD, "real *t@ = v; grow_by(t@, v);")                        \
    X("odd: a pointer that moves in a loop", 'S', "", ODD,                                                             \
      "const real *t@ = v; for (int h@ = 0; h@ < 3; ++h@) { $V = $B * *t@; ++t@; }")                                   \
    X("odd: a pointer that steps", 'S', "", ODD, "const real *t@ = v; t@++; $V = $B * *t@;")                           \
    X("odd: a pointer that adds", 'S', "", ODD, "const real *t@ = v; t@ += 2; $V = $B * *t@;")                         \
    X("odd: a pointer under an if", 'S', "", ODD, "const real *t@ = v; if ($C) t@ = m[1]; $V = $B * *t@;")             \
    X("odd: a pointer that is assigned", 'S', "", ODD, "const real *t@ = v; t@ = m[0]; $V = $B * t@[$I];")             \
    X("a pointer by ?:", 'S', "", 0, "const real *t@ = $C ? v : m[1]; $V = $B * t@[$I];")                       \
    X("a written pointer by ?:", 'S', "", 0, "real *t@ = $C ? v : m[1]; t@[$I] = $B;")                          \
    X("an argument by ?:", 'S', "", 0, "turn($C ? v : m[1], $B, $n);")                                          \
    X("odd: a pointer of a loop's header", 'S', "", ODD,                                                               \
      "for (const real *t@ = v; t@ != &v[2]; ++t@) $V = $B * *t@;")                                                    \
    X("odd: an effect behind ||", 'S', "", ODD, "if ($C || bump(&r0)) $V = $B;")                                       \
    X("odd: an effect behind &&", 'S', "", ODD, "if ($C && bump(&r0)) $V = $B;")                                       \
    X("odd: an effect in a loop's condition", 'S', "", ODD, "for (int h@ = 0; h@ < 3 && bump(&r1); ++h@) $V = $B;")    \
    X("odd: an effect in ?:", 'S', "", ODD, "$V = bump(&r0) ? $B : $B;")                                               \
    X("odd: an effect in a value", 'S', "", ODD, "$V = $B * grown(&r0, $B);")                                          \
    X("odd: an effect in a value, alone", 'S', "", ODD, "$V = grown(&r0, $B);")                                        \
    X("odd: an effect in an argument", 'S', "", ODD, "$V = early($B, bump(&r0));")                                     \
    X("odd: an effect in an index", 'S', "", ODD, "v[bump(&r0)] = $B;")                                                \
    X("an effect in an assigned value", 'S', "", 0, "r1 = grown(&r0, $B);")                                            \
    X("an effect in a first value", 'S', "", 0, "int t@ = bump(&r0); $V = v[t@] * $B;")                                \
    X("odd: an effect in a return", 'S', "F", ODD, "if (n == 77) return grown(&r0, $B);")                              \
    X("odd: an effect as a loop's last part", 'S', "", ODD, "int t@ = 0; for (; t@ < 3; advance(&t@)) $V = $B;")       \
    X("odd: a function within ?:", 'S', "", ODD, "$V = $C ? square($B) : $B;")                                         \
    X("pow of 0 to 0", 'S', "", 0, "$V = pow(r0 - r0, splat(0)) * $B;")                                                \
    X("pow of 0 to 2", 'S', "", 0, "$V = pow(r0 - r0, splat(2)) + $B;")                                                \
    X("pow of a negative number", 'S', "", 0, "$V = pow(splat(-2) + $B, splat(3)) * splat((ureal)0.1);")               \
    X("select hides a square root", 'S', "", 0,                                                                        \
      "r0 = $B; $V = select(gt(r0, splat(0)), sqrt(r0), splat(0)) * $B;")                                              \
    X("select hides a logarithm", 'S', "", 0, "r0 = $B; $V = sin(select(gt(r0, splat(0)), log(r0), r0));")             \
    X("select hides a quotient", 'S', "", 0,                                                                           \
      "r0 = $B; $V = select(m_none(), r1 / (r0 - r0), r0) * $B;")                                                      \
    X("an array declared in a loop", 'S', "", 0,                                                                       \
      "for (int h@ = 0; h@ < 3; ++h@) { real t@[2]; two($R, $R, t@); $V = sin(t@[0] * t@[1]); }")                      \
    X("a structure declared in a loop", 'S', "", 0,                                                                    \
      "for (int h@ = 0; h@ < 3; ++h@) { pair t@ = s; bend(&t@, $R); s = t@; }")                                        \
    X("variables filled in a loop", 'S', "", 0,                                                                        \
      "for (int h@ = 0; h@ < count[$e]; ++h@) { real t@, w@; polar($R, &t@, &w@); $V = t@ * w@; }")                    \
    X("odd: as_bits of a real", 'S', "", ODD, "l0 = (lint)(as_bits($R) & as_bits(splat(1)));")                         \
    X("odd: as_bits and back", 'S', "", ODD, "$V = from_bits(as_bits($B));")                                           \
    X("a real becomes a mask's number", 'S', "", 0, "l0 = (lint)lt($R, $R); j0 = any(lt($R, $R));")                    \
    X("a loop that reals end", 'S', "", 0,                                                                      \
      "for (int h@ = 0; h@ < 9; ++h@) { if (any(gt(r1, splat((ureal)0.9)))) break; $V = $B; r1 = r1 + splat((ureal)0.2); }")\
    X("odd: a loop without an end that is known", 'S', "", ODD,                                                        \
      "for (; any(lt(r1, splat((ureal)0.9)));) { $V = $B; r1 = r1 + splat((ureal)0.3); }")                             \
    X("odd: a loop whose variable its body moves", 'S', "", ODD,                                                       \
      "for (int h@ = 0; h@ < 6; ++h@) { if (count[h@] > 1) ++h@; $V = $B; }")                                          \
    X("odd: a loop that multiplies", 'S', "", ODD, "for (int h@ = 1; h@ < 8; h@ *= 2) $V = $B;")                       \
    X("odd: a loop that shifts", 'S', "", ODD, "for (int h@ = 8; h@ > 0; h@ >>= 1) $V = $B;")                          \
    X("odd: a loop of an inequality", 'S', "", ODD, "for (int h@ = 0; h@ != 3; ++h@) $V = $B;")                        \
    X("odd: a loop of reals", 'S', "", ODD,                                                                            \
      "for (ureal h@ = 0; h@ < 2; h@ = h@ + (ureal)0.6) $V = splat(h@) * $B;")                                         \
    X("odd: a loop down by u32", 'S', "", ODD, "for (u32 h@ = 3; h@ > 0u; --h@) $V = $B;")                             \
    X("odd: a loop of a pointed number", 'S', "", ODD,                                                                 \
      "int t@ = 3; const int *w@ = &t@; for (int h@ = 0; h@ < *w@; ++h@) $V = $B;")                                    \
    X("odd: a loop whose bound moves", 'S', "", ODD,                                                                   \
      "int t@ = 4; for (int h@ = 0; h@ < t@; ++h@) { $V = $B; --t@; }")                                                \
    X("a condition of pointers", 'S', "", 0, "const real *t@ = v; if (t@) $V = $B; if (!t@) $V = $B;")                 \
    X("a pointer cast", 'S', "", 0, "const ureal *t@ = (const ureal *)heights; $V = splat(t@[1]) * $B;")               \
    X("a pointer to a table", 'S', "", 0, "const ureal *t@ = heights; $V = splat(t@[$I]) * $B;")                       \
    X("a parameter that is written", 'S', "F", 0, "a = $B; $V = a * b;")                                               \
    X("odd: a parameter whose address is taken", 'S', "F", ODD, "grow(&a, $B); $V = sin(a * b);")                      \
    X("~ of a cast", 'S', "", 0, "l0 = ~(lint)($M); $V = to_real(l0 & isplat(1)) * $B;")                               \
    X("load in a function", 'S', "F", 0, "$V = load(t + $I) * $B;")                                                    \
    X("gather in a function", 'S', "F", 0, "$V = gather(t, isplat($I)) * $B;")                                         \
    X("a plain element in a function", 'S', "F", 0, "$V = splat(t[$I]) * $B;")                                         \
    X("a whole array of worlds", 'S', "P", 0, "lints[i] = l0 & isplat(3); $V = to_real(lints[i]) * $B;")        \
    X("an element is stepped", 'S', "P", 0, "int t@[2] = {0, 1}; t@[$W % 2]++; $V = v[t@[0]] * $B;")                   \
    X("put4", 'S', "P", 0, "real t@[4] = {r0, r1, $B, $B}; put4(fours, i * 4, t@);")                                   \
    X("odd: places: put with an effect in its index", 'S', "P", ODD, "j0 = 2; put(own, j0++, $B);")                    \
    X("places: an array under two names", 'S', "P", 0,                                                                 \
      "real *t@ = own; put(t@, 1, $B); put(own, 2, own[1] * t@[2]);")                                                  \
    X("places: overlapping parts", 'S', "P", 0, "shift(own, own + 1, 3);")                                             \
    X("odd: places: a pointer that moves", 'S', "P", ODD,                                                              \
      "real *t@ = own; for (int h@ = 0; h@ < 3; ++h@) { put(t@, 0, $B * *t@); ++t@; }")
