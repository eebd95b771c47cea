/*
 * Episodes: when they end, what the caller is told, how the next one begins. The same for each task; a task's own
 * kernels say what a step was worth and whether it failed (cartpole.k.h, hand.k.h).
 *
 *   EPISODE-1  a world's initial states are a function of (key, world, number of its episode), whatever the other
 *       worlds do
 *   EPISODE-2  arrays for the caller (reward, terminated, truncated) are plain, one element a world, in the order of
 *       worlds
 */
#include "stet/lang.h"

#include "worlds/random.k.h"

/* Lanes whose world is one of the nworld that there are, and its number, which is never beyond the last one. */
LFN mask ep_live(int world, int nworld) { return in_range(world, nworld); }
LFN lint ep_world(int world, int nworld) { return imin(lane() + isplat(world), isplat(nworld - 1)); }

/*
 * After the physics. worth [1], failed [1]: of this step, from the task. fault [1]: what the physics found; its bits
 * `lost` end the episode (0: there is none) and are left in broke [1]. steps [1]: of the episode. ended [1]: the
 * episode ended with this step. again [1]: the world is put back now. reward, terminated, truncated [nworld]. limit:
 * steps of an episode, 0: no limit. same_step: worlds that ended are put back now; next_step: now those that had ended
 * before (they have no reward, and their action counts for nothing); neither: none is.
 */
world_kernel void k_episode(const real *worth, const lint *failed, const lint *fault, lint *broke, lint *steps,
                            lint *ended, lint *again, ureal *reward, u8 *terminated, u8 *truncated, int lost,
                            int same_step, int next_step, int limit, int nworld, int world)
{
    each (i, 1) {
        mask fresh = next_step ? m_not(ieq(ended[0], isplat(0))) : m_none();
        lint n = steps[0] + isplat(1);
        lint bits = iselect(fresh, isplat(0), fault[0] & isplat(lost));
        mask fail = m_or(m_andnot(m_not(ieq(failed[0], isplat(0))), fresh), m_not(ieq(bits, isplat(0))));
        mask late = limit > 0 ? m_andnot(m_not(ilt(n, isplat(limit))), fresh) : m_none();
        mask over = m_or(fail, late), live = ep_live(world, nworld);
        lint at = ep_world(world, nworld);
        steps[0] = n;
        broke[0] = bits;
        ended[0] = iselect(over, isplat(1), isplat(0));
        again[0] = iselect(same_step ? over : fresh, isplat(1), isplat(0));
        scatter_if(live, reward, at, select(fresh, splat(0), worth[0]));
        bstore_if(live, terminated, at, iselect(fail, isplat(1), isplat(0)));
        bstore_if(live, truncated, at, iselect(late, isplat(1), isplat(0)));
    }
}

/*
 * Where again [1] is not 0, an episode begins: q [nq] and v [nv] are home + width * u with u in [-1, 1), counters are
 * 0. home, width [nq + nv] are plain. key [2]: from the seed. episode [1]: number of the episode that begins, then of
 * the next one.
 */
world_kernel void k_begin(const lint *again, const lint *key, lint *episode, lint *steps, lint *ended,
                          const ureal *home, const ureal *width, real *q, real *v, int nq, int nv, int world)
{
    each (g, (nq + nv + 3) / 4) {
        mask begins = m_not(ieq(again[0], isplat(0)));
        if (!any(begins)) continue;
        lint c[4] = {isplat(g), isplat(0), lane() + isplat(world), episode[0]};
        rk_philox(c, key[0], key[1]);
        for (int k = 0; k < 4; ++k) {
            int i = 4 * g + k, j = i - nq;
            if (i >= nq + nv) continue;
            real x = fma(splat(width[i]), rk_uniform(c[k]), splat(home[i]));
            if (i < nq)
                put(q, i, select(begins, x, q[i]));
            else
                put(v, j, select(begins, x, v[j]));
        }
    }
    sync();
    each (i, 1) {
        mask begins = m_not(ieq(again[0], isplat(0)));
        episode[0] = episode[0] + iselect(begins, isplat(1), isplat(0));
        steps[0] = iselect(begins, isplat(0), steps[0]);
        ended[0] = iselect(begins, isplat(0), ended[0]);
    }
}

/* ---- of a task in arrays of worlds (tensors.py) ------------------------------------------------------------------ */

/* ctrl [nu] of the caller's actions [nworld][nu], plain. */
world_kernel void k_take(const ureal *action, real *ctrl, int nu, int nworld, int world)
{
    each (i, nu) put(ctrl, i, gather(action, ep_world(world, nworld) * isplat(nu) + isplat(i)));
}

/* total [1]: the sum of the first n of worth, which is the reward. */
world_kernel void k_total(const real *worth, real *total, int n)
{
    each (i, 1) {
        real sum = splat(0);
        for (int k = 0; k < n; ++k) sum = sum + worth[k];
        put(total, i, sum);
    }
}

/* observation [nworld][n], plain, of observed [n]; of some worlds only (some is not 0): where begun [1] is not 0. */
world_kernel void k_show(const real *observed, const lint *begun, ureal *observation, int n, int some, int nworld,
                         int world)
{
    each (i, n) {
        mask shown = ep_live(world, nworld);
        if (some) shown = m_andnot(shown, ieq(begun[0], isplat(0)));
        scatter_if(shown, observation, ep_world(world, nworld) * isplat(n) + isplat(i), observed[i]);
    }
}

/*
 * state [n], in worlds that begin an episode (begun [1]): a number of the normal distribution with the standard
 * deviation spread [n] is added; spread is plain. row: which part of the state it is, -1 or -2; rows of k_draw are
 * positive. Box and Muller, "A note on the generation of random normal deviates" (1958).
 */
world_kernel void k_disturb(const lint *begun, const lint *key, const lint *episode, const ureal *spread, real *state,
                            int n, int row, int world)
{
    each (g, (n + 1) / 2) {
        mask begins = m_not(ieq(begun[0], isplat(0)));
        lint c[4] = {isplat(g), isplat(row), lane() + isplat(world), episode[0]};
        rk_philox(c, key[0], key[1]);
        for (int k = 0; k < 2; ++k) {
            int i = 2 * g + k;
            if (i >= n) continue;
            real u = (splat(1) - rk_uniform(c[2 * k])) * splat((ureal)0.5); /* in (0, 1] */
            real x = sqrt(splat(-2) * log(u)) * cos(splat((ureal)3.14159265358979324) * rk_uniform(c[2 * k + 1]));
            put(state, i, select(begins, fma(splat(spread[i]), x, state[i]), state[i]));
        }
    }
}

/*
 * drawn [n], in worlds that begin an episode (begun [1]): numbers between low and high [n], which are plain. row: which
 * array it is, from 1 on; the state's own numbers are row 0.
 */
world_kernel void k_draw(const lint *begun, const lint *key, const lint *episode, const ureal *low, const ureal *high,
                         real *drawn, int n, int row, int world)
{
    each (g, (n + 3) / 4) {
        mask begins = m_not(ieq(begun[0], isplat(0)));
        lint c[4] = {isplat(g), isplat(row), lane() + isplat(world), episode[0]};
        rk_philox(c, key[0], key[1]);
        for (int k = 0; k < 4; ++k) {
            int i = 4 * g + k;
            if (i >= n) continue;
            real half = splat((ureal)0.5 * (high[i] - low[i])), middle = splat((ureal)0.5 * (high[i] + low[i]));
            put(drawn, i, select(begins, fma(half, rk_uniform(c[k]), middle), drawn[i]));
        }
    }
}

/* ---- of functions over tensors (_device.py) ---------------------------------------------------------------------- */

/*
 * branch [2]: the key of a row of a table, when it is drawn for the occasion [1] of this world's episode [1], as
 * draws.py has it on the host: streams are those from 2^31 on.
 */
world_kernel void k_branch(const lint *key, const lint *episode, const lint *occasion, lint *branch, int row, int world)
{
    each (i, 1) {
        lint stream = occasion[0] + isplat((int)0x80000000u);
        lint c[4] = {isplat(row), stream, lane() + isplat(world), episode[0]};
        rk_philox(c, key[0], key[1]);
        branch[0] = c[0];
        branch[1] = c[1];
    }
}

/*
 * words [4 * blocks]: random words of the counters (first, stream, world, episode), (first + 1, …) … under the key [2];
 * episode [1]. Those that draws.py has on the host.
 */
world_kernel void k_words(const lint *key, const lint *episode, lint *words, int stream, int first, int blocks,
                          int world)
{
    each (b, blocks) {
        lint c[4] = {isplat(first + b), isplat(stream), lane() + isplat(world), episode[0]};
        rk_philox(c, key[0], key[1]);
        for (int k = 0; k < 4; ++k) words[4 * b + k] = c[k];
    }
}

/* lost [1]: the bits `which` of fault [1], what the physics found. */
world_kernel void k_lost(const lint *fault, lint *lost, int which)
{
    each (i, 1) lost[0] = fault[0] & isplat(which);
}
