"""Prints the coefficients and split constants of the kernel language's elementary functions (include/stet/lang_math.h).

Each fit is a Remez exchange, in 75 digits, of the relative error of the whole function. Coefficients are rounded to
float: for k = 0, 1, … the first k are fixed, lowest power first, the rest is fitted again and rounded; the best k is
printed. Needs mpmath.
"""
import sys

from mpmath import mp, mpf

mp.dps = 75


def to_float(x):
    """The float nearest to x (normal range)."""
    if x == 0:
        return mpf(0)
    m, e = mp.frexp(x)
    return mp.ldexp(mp.nint(m * 2**24), int(e) - 24)


def remez(g, w, a, b, n):
    """n coefficients c with max |w(t) (sum c_k t^k - g(t))| least on [a, b]; returns them and that maximum."""
    k = n + 1
    pts = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * k)) for i in range(k)]
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / (24 * k)) for i in range(24 * k + 1)]
    gg, ww = [g(t) for t in grid], [w(t) for t in grid]
    for _ in range(12):
        m = mp.matrix(k, k)
        r = mp.matrix(k, 1)
        for i, t in enumerate(pts):
            for j in range(n):
                m[i, j] = w(t) * t**j
            m[i, n] = (-1) ** i
            r[i] = w(t) * g(t)
        s = mp.lu_solve(m, r)
        c = [s[j] for j in range(n)]
        err = [wi * (mp.polyval(c[::-1], t) - gi) for t, gi, wi in zip(grid, gg, ww)]
        # One extremum for each run of equal signs; keep the k largest neighbours.
        ext = []
        for i, e in enumerate(err):
            if ext and (e > 0) == (err[ext[-1]] > 0):
                if abs(e) > abs(err[ext[-1]]):
                    ext[-1] = i
            else:
                ext.append(i)
        while len(ext) > k:
            ext.pop(0 if abs(err[ext[0]]) < abs(err[ext[-1]]) else -1)
        if len(ext) < k:
            break
        pts = [grid[i] for i in ext]
        es = [abs(err[i]) for i in ext]
        if max(es) - min(es) < max(es) * mpf("1e-3"):
            break
    return c, max(abs(e) for e in err)


def fit(name, g, w, a, b, n):
    """Prints n float coefficients, lowest first, of the fit of g on [a, b] under weight w."""
    a, b = mpf(a), mpf(b)
    _, best = remez(g, w, a, b, n)
    worst, out = mp.inf, None
    fixed = []
    while len(fixed) < n:
        k = len(fixed)
        c, _ = remez(lambda t: (g(t) - mp.polyval(fixed[::-1], t)) / t**k if k else g(t),
                     lambda t: w(t) * abs(t) ** k, a, b, n - k)
        trial = fixed + [to_float(x) for x in c]
        e = max(
            abs(w(t) * (mp.polyval(trial[::-1], t) - g(t))) for t in (a + (b - a) * i / mpf(999) for i in range(1000))
        )
        if e < worst:
            worst, out = e, trial
        fixed.append(to_float(c[0]))
    fixed = out
    print(f"{name}: exact 2^{mp.nstr(mp.log(best, 2), 4)} rounded 2^{mp.nstr(mp.log(worst, 2), 4)}")
    print("   ", " ".join(f"{float.hex(float(x))}" for x in fixed))
    print("   ", " ".join(f"{mp.nstr(x, 9)}f" for x in fixed), flush=True)


def parts(name, x, n):
    """x as a sum of n floats."""
    out = []
    for _ in range(n):
        out.append(to_float(x))
        x -= out[-1]
    print(f"{name}: {' '.join(mp.nstr(v, 9) + 'f' for v in out)} rest 2^{mp.nstr(mp.log(abs(x), 2), 4)}")


def main():
    q = mp.pi / 4 + mpf("0.004")
    l2 = mp.log(2) / 2 + mpf("0.0001")
    tiny = mpf("1e-9")
    # In t = x^2: sin x = x + x t S(t), cos x = 1 - t/2 + t^2 C(t), tan x = x + x t T(t).
    sq = mp.sqrt
    fit("sin", lambda t: (mp.sin(sq(t)) / sq(t) - 1) / t, lambda t: t * sq(t) / mp.sin(sq(t)), tiny, q * q, 4)
    fit("cos", lambda t: (mp.cos(sq(t)) - 1 + t / 2) / t**2, lambda t: t**2 / mp.cos(sq(t)), tiny, q * q, 3)
    fit("tan", lambda t: (mp.tan(sq(t)) / sq(t) - 1) / t, lambda t: t * sq(t) / mp.tan(sq(t)), tiny, q * q, 7)
    # exp r = 1 + r + r^2 E(r), 2^r = 1 + r E2(r).
    ne = lambda f: (lambda r: f(r if abs(r) > tiny else tiny))
    fit("exp", ne(lambda r: (mp.exp(r) - 1 - r) / r**2), ne(lambda r: r**2 / mp.exp(r)), -l2, l2 * mpf("1.001"), 5)
    fit("exp2", ne(lambda r: (mpf(2)**r - 1) / r), ne(lambda r: abs(r) / mpf(2)**r), mpf("-0.5001"), mpf("0.5004"), 6)
    # log(1 + f) = f - f^2/2 + f^3 L(f); log2(1 + f) = f L2(f).
    lo, hi = sq(mpf(1) / 2) - 1 - mpf("1e-6"), sq(mpf(2)) - 1 + mpf("1e-6")
    fit("log", ne(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3), ne(lambda f: abs(f**3 / mp.log1p(f))), lo, hi, 9)
    fit("log2", ne(lambda f: mp.log1p(f) / f / mp.log(2)), ne(lambda f: abs(f / mp.log1p(f))), lo, hi, 10)
    # pow: log2(m) = s (C0 + t (C1 + t Q(t))), s = (m - 1) / (m + 1), t = s^2.
    sm = ((sq(mpf(2)) - 1) / (sq(mpf(2)) + 1))**2 * mpf("1.0001")
    at = lambda t: 2 * mp.atanh(sq(t)) / sq(t) / mp.log(2)
    c0, c1 = 2 / mp.log(2), 2 / (3 * mp.log(2))
    fit("pow", lambda t: (at(t) - c0 - t * c1) / t**2, lambda t: t**2 / at(t), tiny, sm, 4)
    parts("pow c0", c0, 2)
    parts("pow c1", c1, 2)
    # atan x = x + x t A(t) on [0, 1]; asin x = x + x t A(t) on [0, 1/2]; tanh x = x + x t T(t) on [0, 0.625].
    fit("atan", lambda t: (mp.atan(sq(t)) / sq(t) - 1) / t, lambda t: t * sq(t) / mp.atan(sq(t)), tiny, 1, 9)
    fit("asin", lambda t: (mp.asin(sq(t)) / sq(t) - 1) / t, lambda t: t * sq(t) / mp.asin(sq(t)), tiny, mpf("0.25"), 5)
    fit("tanh", lambda t: (mp.tanh(sq(t)) / sq(t) - 1) / t, lambda t: t * sq(t) / mp.tanh(sq(t)), tiny, mpf("0.391"), 6)
    parts("pi/2", mp.pi / 2, 4)
    parts("pi", mp.pi, 2)
    parts("ln 2", mp.log(2), 3)
    parts("1/ln 2", 1 / mp.log(2), 2)
    parts("2/pi", 2 / mp.pi, 1)
    bits = int(mp.floor(2 / mp.pi * mpf(2)**192))
    print("2/pi:", " ".join(f"{bits >> (160 - 32 * i) & 0xffffffff:08x}" for i in range(6)))


if __name__ == "__main__":
    sys.exit(main())
