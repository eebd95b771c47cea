/* Resets of worlds with native physics. Kind world. */
#include "stet/lang.h"

#include "physics/model/world.k.h"
#include "physics/model/math.k.h"
#include "physics/model/spatial.k.h"
#include "worlds/random.k.h"

/* Item i of a state: `to` where the lane is put back. */
LFN void ph_begin(mask on, real *state, int i, real to) { put(state, i, select(on, to, state[i])); }

/* Noise of a reset: half-widths, and where its numbers come from. */
typedef struct ph_noise {
    ureal qpos, qvel;
    int stream, seed_low, seed_high;
    lint world, draw;
} ph_noise;

/*
 * Adds uniform noise to qpos and qvel, numbers of a draw on STI_STREAM_RESET, and normalises the quaternions in qpos if
 * it has noise, as mj_normalizeQuat does.
 */
LFN void ph_reset_noise(ph_world w, mask on, ph_noise noise, real *qpos, real *qvel)
{
    int nq = nq(w), n = nq + nv(w);
    each (i, (n + 3) / 4) {
        lint c[4] = {isplat(i), isplat(noise.stream), noise.world, noise.draw};
        rk_philox(c, isplat(noise.seed_low), isplat(noise.seed_high));
        for (int k = 0; k < 4; ++k) {
            int at = 4 * i + k;
            real x = rk_uniform(c[k]);
            if (at < nq)
                ph_begin(on, qpos, at, qpos[at] + splat(noise.qpos) * x);
            else if (at < n)
                ph_begin(on, qvel, at - nq, qvel[at - nq] + splat(noise.qvel) * x);
        }
    }
    sync();
    if (!(noise.qpos > 0)) return;
    each (j, njnt(w)) {
        int type = jnt_type(w)[j], at = jnt_qposadr(w)[j] + (type == PH_FREE ? 3 : 0);
        real q[4];
        if (type > PH_BALL) continue; /* neither free nor ball */
        for (int k = 0; k < 4; ++k) q[k] = qpos[at + k];
        ph_quat_unit(q);
        for (int k = 0; k < 4; ++k) ph_begin(on, qpos, at + k, q[k]);
    }
}

/*
 * The worlds whose `chosen` [1] is not 0 get the state and the inputs of `key`, which holds qpos, qvel, act, ctrl,
 * mocap_pos and mocap_quat (which are those of the bodies if `mocap` is 0), and history. Their faults are forgotten
 * (PH_WAS_PUT_BACK), their ticks begin again. resets [3] of each world: the number of its resets, which is the draw of
 * its noise; the launch of the latest one since the last pull, from 1 on, or 0; and how many launches there were.
 */
world_kernel void k_native_reset(const int *tables, const ureal *reals, const real *own, const ureal *key,
                                 const lint *chosen, real *qpos, real *qvel, real *act, real *history, real *ctrl,
                                 real *qfrc_applied, real *xfrc_applied, real *mocap_pos, real *mocap_quat, real *warm,
                                 real *eq_active, real *sensordata, lint *fault, lint *ticks, lint *resets, int mocap,
                                 ureal qpos_noise, ureal qvel_noise, int stream, int seed_low, int seed_high, int first,
                                 int world)
{
    ph_world w = {tables, reals, own, 0, 0};
    mask on = m_not(ieq(chosen[0], isplat(0)));
    lint number = resets[0] + iselect(on, isplat(1), isplat(0)), launch = resets[2] + isplat(1);
    sync();
    each (i, 1) {
        resets[0] = number;
        resets[1] = iselect(on, launch, resets[1]);
        resets[2] = launch;
        fault[0] = iselect(on, isplat(PH_WAS_PUT_BACK), fault[0]);
        ticks[0] = iselect(on, isplat(0), ticks[0]);
    }
    if (!any(on)) return;
    const ureal *vel = key + nq(w), *activation = vel + nv(w), *control = activation + na(w);
    const ureal *pos = control + nu(w), *quat = pos + 3 * nmocap(w);
    const ureal *past = quat + 4 * nmocap(w);
    each (i, nq(w)) ph_begin(on, qpos, i, mocap ? splat(key[i]) : qpos0(w, i));
    each (i, nv(w)) {
        ph_begin(on, qvel, i, splat(vel[i]));
        ph_begin(on, qfrc_applied, i, splat(0));
        ph_begin(on, warm, i, splat(0));
    }
    each (i, na(w)) ph_begin(on, act, i, splat(activation[i]));
    each (i, nhistory(w)) ph_begin(on, history, i, splat(past[i]));
    each (i, nu(w)) ph_begin(on, ctrl, i, splat(control[i]));
    each (i, 6 * nbody(w)) ph_begin(on, xfrc_applied, i, splat(0));
    each (i, 3 * nmocap(w)) ph_begin(on, mocap_pos, i, mocap ? splat(pos[i]) : reset_mocap_pos(w, i));
    each (i, 4 * nmocap(w)) ph_begin(on, mocap_quat, i, mocap ? splat(quat[i]) : reset_mocap_quat(w, i));
    each (i, neq(w)) ph_begin(on, eq_active, i, eq_active0(w, i));
    each (i, nsensordata(w)) ph_begin(on, sensordata, i, splat(0));
    if (!(qpos_noise > 0) && !(qvel_noise > 0)) return;
    sync();
    ph_noise noise = {qpos_noise, qvel_noise, stream, seed_low, seed_high, rk_world(first, world), number};
    ph_reset_noise(w, on, noise, qpos, qvel);
}

/* chosen [1] of each world: its byte of bytes [nworld]. */
world_kernel void k_native_chosen(const u8 *bytes, lint *chosen, int nworld, int world)
{
    each (i, 1) {
        lint x = isplat(0);
        for (int k = 0; k < STET_W && world + k < nworld; ++k)
            x = iselect(ieq(lane(), isplat(k)), isplat(bytes[world + k]), x);
        chosen[0] = x;
    }
}
