/*
 * Kernels of the cart-pole: policy, reward and termination, observation. State (scenes/cartpole.xml): x of the cart
 * (m), angle of the pole from upright (rad), and their rates. A lane, or on a GPU a thread, is a world.
 */
#include "stet/lang.h"

/*
 * ctrl [1], force / 10 N: linear feedback on obs [4], or, if `random`, a number in [-1, 1). seed [1]: xorshift, 0 at
 * the start.
 */
world_kernel void k_policy(const real *obs, lint *seed, real *ctrl, int random, int world)
{
    each (i, 1) {
        real u = splat(0.5f) * obs[0] + obs[1] + splat(6) * obs[2] + splat(1.2f) * obs[3];
        if (random) {
            lint s = iselect(ieq(seed[0], isplat(0)), (lane() + isplat(world + 1)) * isplat(0x9e3779b), seed[0]);
            s = s ^ ishl(s, 13);
            s = s ^ ishr(s, 17);
            s = s ^ ishl(s, 5);
            seed[0] = s;
            u = fma(to_real(ishr(s, 8)), splat(1.1920929e-7f), splat(-1));
        }
        put(ctrl, i, clamp(u, splat(-1), splat(1)));
    }
}

/*
 * reward [1]: 1 upright in the middle, less elsewhere. done [1]: the pole fell, the cart left, or the episode has
 * `limit` steps. episode [2]: its steps and rewards so far. ended [3]: episodes that ended, the sums of their steps and
 * of their rewards.
 */
world_kernel void k_judge(const real *qpos, real *reward, lint *done, real *episode, real *ended, int limit)
{
    each (i, 1) {
        real x = qpos[0], angle = qpos[1];
        real r = splat(1) - splat(0.2f) * x * x - angle * angle, n = episode[0] + splat(1), sum = episode[1] + r;
        mask over = m_or(m_or(gt(rabs(x), splat(0.9f)), gt(rabs(angle), splat(0.5f))), ge(n, splat(limit)));
        put(reward, i, r);
        done[i] = iselect(over, isplat(1), isplat(0));
        put(episode, 0, n);
        put(episode, 1, sum);
        put(ended, 0, ended[0] + select(over, splat(1), splat(0)));
        put(ended, 1, ended[1] + select(over, n, splat(0)));
        put(ended, 2, ended[2] + select(over, sum, splat(0)));
    }
}

/* obs [4] of the worlds as they are now; those that were put back begin an episode. */
world_kernel void k_observe(const real *qpos, const real *qvel, const lint *done, real *episode, real *obs)
{
    each (i, 2) {
        put(obs, 2 * i, qpos[i]);
        put(obs, 2 * i + 1, qvel[i]);
        put(episode, i, select(ieq(done[0], isplat(0)), episode[i], splat(0)));
    }
}
