/*
 * The derivative of each operator and function of the kernel language.
 *
 *   STI_DERIVATIVES(X): X(name, kind, first, second, third)
 *
 * `name` as a source writes it. Kinds:
 *   SMOOTH   first … third: the gradient of each argument, in lanes; "": none (a mask, a number of places)
 *   LINEAR   the same, and no partial derivative needs the values of arguments that have a gradient
 *   ZERO     a step function of its real arguments: its derivative is 0 wherever it has one
 *   CHOICE   no real argument reaches a real result: masks, whole numbers
 *   MEMORY   loads and stores: handled by code, not by this table
 *   REFUSED  has a real argument whose effect cannot be followed
 *
 * In the texts $a $b $c are the arguments, $r is the result and $g the gradient of the result, all in lanes. Where a
 * function has a kink or a step, the derivative is that of the side that the function itself takes. Formulas: I. N.
 * Bronshtein, K. A. Semendyayev, Handbook of Mathematics, 6.1.2 (table of derivatives).
 */
#define STI_DERIVATIVES(X)                                                                                             \
    X("+", LINEAR, "$g", "$g", "")                                                                                     \
    X("-", LINEAR, "$g", "-$g", "")                                                                                    \
    X("*", SMOOTH, "$g * $b", "$g * $a", "")                                                                           \
    X("/", SMOOTH, "$g / $b", "-($g * $r / $b)", "")                                                                   \
    X("neg", LINEAR, "-$g", "", "")                                                                                    \
    X("splat", LINEAR, "$g", "", "")                                                                                   \
    X("canon", LINEAR, "$g", "", "")                                                                                   \
    X("fma", SMOOTH, "$g * $b", "$g * $a", "$g")                                                                       \
    X("ufma", SMOOTH, "$g * $b", "$g * $a", "$g")                                                                      \
    X("select", LINEAR, "", "select($a, $g, splat(0))", "select($a, splat(0), $g)")                                    \
    X("rmin", SMOOTH, "select(lt($a, $b), $g, splat(0))", "select(lt($a, $b), splat(0), $g)", "")                      \
    X("rmax", SMOOTH, "select(lt($b, $a), $g, splat(0))", "select(lt($b, $a), splat(0), $g)", "")                      \
    X("umin", SMOOTH, "select(lt($a, $b), $g, splat(0))", "select(lt($a, $b), splat(0), $g)", "")                      \
    X("umax", SMOOTH, "select(lt($b, $a), $g, splat(0))", "select(lt($b, $a), splat(0), $g)", "")                      \
    X("clamp", SMOOTH, "select(m_and(lt($b, $a), lt($a, $c)), $g, splat(0))",                                          \
      "select(m_andnot(lt($b, $c), lt($b, $a)), $g, splat(0))", "select(lt(rmax($a, $b), $c), splat(0), $g)")          \
    X("rabs", SMOOTH, "select(lt($a, splat(0)), -$g, select(lt(splat(0), $a), $g, splat(0)))", "", "")                 \
    X("uabs", SMOOTH, "select(lt($a, splat(0)), -$g, select(lt(splat(0), $a), $g, splat(0)))", "", "")                 \
    X("copysign_", SMOOTH, "$g * copysign_(splat(1), $a) * copysign_(splat(1), $b)", "", "")                           \
    X("sqrt", SMOOTH, "$g / ($r + $r)", "", "")                                                                        \
    X("usqrt", SMOOTH, "$g / ($r + $r)", "", "")                                                                       \
    X("sin", SMOOTH, "$g * cos($a)", "", "")                                                                           \
    X("cos", SMOOTH, "-($g * sin($a))", "", "")                                                                        \
    X("tan", SMOOTH, "$g * fma($r, $r, splat(1))", "", "")                                                             \
    X("asin", SMOOTH, "$g / sqrt(fma(-$a, $a, splat(1)))", "", "")                                                     \
    X("acos", SMOOTH, "-($g / sqrt(fma(-$a, $a, splat(1))))", "", "")                                                  \
    X("atan", SMOOTH, "$g / fma($a, $a, splat(1))", "", "")                                                            \
    X("atan2", SMOOTH, "select(m_and(eq($a, splat(0)), eq($b, splat(0))), splat(0), $g * $b / fma($a, $a, $b * $b))",  \
      "select(m_and(eq($a, splat(0)), eq($b, splat(0))), splat(0), -($g * $a / fma($a, $a, $b * $b)))", "")            \
    X("exp", SMOOTH, "$g * $r", "", "")                                                                                \
    X("exp2", SMOOTH, "$g * $r * splat((ureal)0.69314718055994530942)", "", "")                                        \
    X("log", SMOOTH, "$g / $a", "", "")                                                                                \
    X("log2", SMOOTH, "$g / ($a * splat((ureal)0.69314718055994530942))", "", "")                                      \
    X("pow", SMOOTH, "select(eq($b, splat(0)), splat(0), $g * $b * pow($a, $b - splat(1)))",                           \
      "select(lt(splat(0), $a), $g * $r * log($a), splat(0))", "")                                                     \
    X("tanh", SMOOTH, "$g * fma(-$r, $r, splat(1))", "", "")                                                           \
    X("floor", ZERO, "", "", "")                                                                                       \
    X("rint", ZERO, "", "", "")                                                                                        \
    X("to_int", ZERO, "", "", "")                                                                                      \
    X("to_real", CHOICE, "", "", "")                                                                                   \
    X("isplat", CHOICE, "", "", "")                                                                                    \
    X("lane", CHOICE, "", "", "")                                                                                      \
    X("lt", CHOICE, "", "", "")                                                                                        \
    X("le", CHOICE, "", "", "")                                                                                        \
    X("eq", CHOICE, "", "", "")                                                                                        \
    X("gt", CHOICE, "", "", "")                                                                                        \
    X("ge", CHOICE, "", "", "")                                                                                        \
    X("ilt", CHOICE, "", "", "")                                                                                       \
    X("ieq", CHOICE, "", "", "")                                                                                       \
    X("igt", CHOICE, "", "", "")                                                                                       \
    X("m_and", CHOICE, "", "", "")                                                                                     \
    X("m_or", CHOICE, "", "", "")                                                                                      \
    X("m_not", CHOICE, "", "", "")                                                                                     \
    X("m_andnot", CHOICE, "", "", "")                                                                                  \
    X("m_none", CHOICE, "", "", "")                                                                                    \
    X("m_all", CHOICE, "", "", "")                                                                                     \
    X("is_nan", CHOICE, "", "", "")                                                                                    \
    X("iselect", CHOICE, "", "", "")                                                                                   \
    X("any", CHOICE, "", "", "")                                                                                       \
    X("all", CHOICE, "", "", "")                                                                                       \
    X("ishr", CHOICE, "", "", "")                                                                                      \
    X("ishl", CHOICE, "", "", "")                                                                                      \
    X("imulhi", CHOICE, "", "", "")                                                                                    \
    X("imin", CHOICE, "", "", "")                                                                                      \
    X("imax", CHOICE, "", "", "")                                                                                      \
    X("nmin", CHOICE, "", "", "")                                                                                      \
    X("nmax", CHOICE, "", "", "")                                                                                      \
    X("in_range", CHOICE, "", "", "")                                                                                  \
    X("iload", CHOICE, "", "", "")                                                                                     \
    X("igather", CHOICE, "", "", "")                                                                                   \
    X("istore", CHOICE, "", "", "")                                                                                    \
    X("istream", CHOICE, "", "", "")                                                                                   \
    X("istore_if", CHOICE, "", "", "")                                                                                 \
    X("bstore_if", CHOICE, "", "", "")                                                                                 \
    X("wide_load", CHOICE, "", "", "")                                                                                 \
    X("wide_store", CHOICE, "", "", "")                                                                                \
    X("prefetch", CHOICE, "", "", "")                                                                                  \
    X("align_teams", CHOICE, "", "", "")                                                                               \
    X("from_bits", CHOICE, "", "", "")                                                                                 \
    X("as_bits", REFUSED, "", "", "")                                                                                  \
    X("load", MEMORY, "", "", "")                                                                                      \
    X("gather", MEMORY, "", "", "")                                                                                    \
    X("of_world", MEMORY, "", "", "")                                                                                  \
    X("put", MEMORY, "", "", "")                                                                                       \
    X("store", MEMORY, "", "", "")                                                                                     \
    X("store_if", MEMORY, "", "", "")                                                                                  \
    X("scatter_if", MEMORY, "", "", "")                                                                                \
    X("load4", MEMORY, "", "", "")                                                                                     \
    X("put4", MEMORY, "", "", "")                                                                                      \
    X("listed_place", REFUSED, "", "", "")                                                                             \
    X("listed_lanes", REFUSED, "", "", "")                                                                             \
    X("sum_listed", REFUSED, "", "", "")                                                                               \
    X("add_listed", REFUSED, "", "", "")                                                                               \
    X("add_listed_lanes", REFUSED, "", "", "")                                                                         \
    X("add_planned", REFUSED, "", "", "")
