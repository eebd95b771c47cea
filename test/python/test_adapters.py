"""stet.gym.adapters: what learners of other projects see is what the environment gave. Where the libraries are not
installed, learner_doubles.py has their interfaces; that they learn is tested with the libraries (make test-learners).
"""

import contextlib
import copy
import importlib.util

import gymnasium
import learner_doubles as doubles
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import stet.gym
from stet.gym.robots import QuadrupedJoystickVectorEnv

N = 8


def ant(mode="SAME_STEP", **more):
    return gymnasium.make_vec("stet/Ant-v5", N, device="cpu", physics="native", autoreset_mode=mode,
                              max_episode_steps=7, **more)


def actions_of(env, count):
    random = np.random.default_rng(2)
    low, high = env.single_action_space.low, env.single_action_space.high
    return random.uniform(low, high, (count, env.num_envs, *low.shape)).astype(np.float32)


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


@pytest.fixture
def sb3(monkeypatch):
    """The adapter; over a double, if Stable-Baselines3 is not there."""
    if not installed("stable_baselines3"):
        doubles.install(monkeypatch, "stable_baselines3")
    from stet.gym.adapters.sb3 import Sb3VecEnvWrapper

    yield Sb3VecEnvWrapper
    doubles.forget_adapters()


@pytest.fixture
def learners(monkeypatch):
    """Whether these are rsl_rl and skrl themselves, not doubles."""
    real = installed("torch", "rsl_rl", "skrl")
    if not real:
        doubles.install(monkeypatch, "torch", "tensordict", "rsl_rl", "skrl")
    yield real
    doubles.forget_adapters()


def begin(env, mode, over, seen):
    """The worlds that are over begin, if the environment leaves that to its caller."""
    return env.reset(options={"reset_mask": over})[0] if mode == "DISABLED" and over.any() else seen


@pytest.mark.parametrize("mode", ["SAME_STEP", "DISABLED"])
def test_sb3_sees_what_the_environment_gave(sb3, mode):
    env, plain = sb3(ant(mode)), ant(mode)
    env.seed(5)
    assert env.observation_space.dtype == env.reset().dtype == np.float32
    seeds = [5 + k for k in range(N)]
    seen = plain.reset(seed=seeds)[0]
    returns, ended = np.zeros(N), 0
    for action in actions_of(plain, 20):
        now, reward, done, said = env.step(action)
        seen, worth, terminated, truncated, info = plain.step(action)
        over, last = terminated | truncated, seen
        seen = begin(plain, mode, over, seen)
        assert np.array_equal(now, seen.astype(np.float32)) and np.array_equal(reward, worth.astype(np.float32))
        assert np.array_equal(done, over) and len(said) == N
        returns += worth
        for k in range(N):
            assert bool(said[k]) == over[k]
            if not over[k]:
                continue
            before = info["final_obs"][k] if mode == "SAME_STEP" else last[k]
            assert np.array_equal(said[k]["terminal_observation"], before.astype(np.float32))
            assert said[k]["TimeLimit.truncated"] == (truncated[k] and not terminated[k])
            assert said[k]["episode"]["r"] == pytest.approx(returns[k]) and 1 <= said[k]["episode"]["l"] <= 7
            ended += 1
        returns[over] = 0
    assert ended >= 2 * N
    env.close()
    plain.close()


def test_sb3_s_other_methods(sb3):
    env = sb3(ant(render_mode="rgb_array", width=32, height=24))
    env.reset()
    assert [picture.shape for picture in env.get_images()] == [(24, 32, 3)] * N
    assert env.get_attr("num_envs", [0, 3]) == [N, N] and env.env_method("render", indices=1)[0][0].shape == (24, 32, 3)
    env.set_attr("note", 3)
    assert env.unwrapped.note == 3
    with pytest.raises(ValueError, match=r"all worlds are one environment; 'note' is set for all"):
        env.set_attr("note", 4, indices=[1])
    with pytest.raises(AttributeError):
        env.get_attr("nothing_of_this_name")
    env.close()


def test_what_sb3_cannot_take(sb3):
    with contextlib.closing(ant("NEXT_STEP")) as env:
        with pytest.raises(ValueError, match=r'autoreset_mode is NEXT_STEP; make it with autoreset_mode="SAME_STEP"'):
            sb3(env)
    with pytest.raises(TypeError, match=r"takes a gymnasium.vector.VectorEnv, not a 'int'"):
        sb3(3)


class Reach(stet.gym.VectorEnv):
    """A dict of observations, as groups."""

    def __init__(self, num_envs, **more):
        super().__init__(stet.load(ARM), num_envs, "cpu", frame_skip=4,
                         max_episode_steps=6, **more)

    def observation(self, state):
        return {"policy": state.qpos, "critic": self._library.module.concatenate([state.qpos, state.qvel], -1)}

    def reward(self, state, action):
        return {"upright": -abs(state.qpos[:, 0]), "small": -(action**2).sum(-1)}


ARM = """<mujoco><worldbody><body><joint name="a" axis="0 1 0" damping=".1"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>"""


def environments():
    yield "kernels", lambda mode: ant(mode)
    yield "tensors", lambda mode: stet.gym.TensorVectorEnv(
        QuadrupedJoystickVectorEnv(N, "cpu", autoreset_mode=mode, max_episode_steps=7))
    yield "numpy", lambda mode: Reach(N, autoreset_mode=mode)
    yield "torch", lambda mode: Reach(N, autoreset_mode=mode, arrays="torch")
    yield "torch, on the device", lambda mode: Reach(N, autoreset_mode=mode, arrays="torch", episodes="device")


MAKE = dict(environments())


@pytest.mark.parametrize("mode", ["SAME_STEP", "DISABLED"])
@pytest.mark.parametrize("kind", MAKE)
def test_rsl_rl_and_skrl_see_what_the_environment_gave(learners, kind, mode):
    if "torch" in kind and not learners:
        pytest.skip("torch is not installed")
    import torch
    from stet.gym.adapters.rsl_rl import RslRlVecEnvWrapper
    from stet.gym.adapters.skrl import SkrlVecEnvWrapper

    make = MAKE[kind]
    plain, theirs = make(mode), RslRlVecEnvWrapper(make(mode), seed=4)
    third = SkrlVecEnvWrapper(make(mode))
    third._seed = 4
    seen = plain.reset(seed=4)[0]

    def number(x):
        return torch.as_tensor(x).to(torch.float32)

    def check(seen):
        groups = theirs.get_observations()
        parts = seen if isinstance(seen, dict) else {"policy": seen}
        assert sorted(groups.keys()) == sorted(parts)
        assert all(torch.equal(groups[name], number(part)) for name, part in parts.items())
        return number(parts["policy"]), number(parts["critic"]) if "critic" in parts else None

    policy, state = check(seen)
    assert torch.equal(third.reset()[0], policy) and third.observation_space.shape == tuple(policy.shape[1:])
    ended, kept = 0, []
    for action in map(torch.from_numpy, actions_of(plain, 20)):
        seen, reward, terminated, truncated, _ = plain.step(action if "torch" in kind else action.numpy())
        over = np.asarray(terminated) | np.asarray(truncated)
        seen = begin(plain, mode, over, seen)
        groups, worth, done, extras = theirs.step(action)
        policy, state = check(seen)
        assert torch.equal(worth, number(reward)) and np.array_equal(done.numpy(), over)
        assert np.array_equal(extras["time_outs"].numpy(), np.asarray(truncated) & ~np.asarray(terminated))
        now, worth, failed, late, _ = third.step(action)
        assert torch.equal(now, policy) and torch.equal(worth[:, 0], number(reward))
        assert np.array_equal(failed[:, 0].numpy(), terminated) and np.array_equal(late[:, 0].numpy(), truncated)
        assert (third.state() is None) == (state is None) and (state is None or torch.equal(third.state(), state))
        assert torch.equal(groups["policy"], theirs.get_observations()["policy"])
        assert all(torch.equal(x, before) for x, before in kept), "what a step gave stays as it is"
        kept = [(x, x.clone()) for x in (groups["policy"], extras["time_outs"], done, worth, now)]
        ended += over.sum()
    assert ended >= 2 * N
    theirs.episode_length_buf = torch.arange(N)
    assert torch.equal(theirs.episode_length_buf, torch.arange(N))
    _, _, done, _ = theirs.step(torch.zeros(N, theirs.num_actions))
    limit = theirs.max_episode_length
    assert (done[torch.arange(N) >= limit - 1] == 1).all(), "an episode ends where its length says"
    for env in plain, theirs, third:
        env.close()


PPO = {
    "num_steps_per_env": 8, "save_interval": 1000, "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "algorithm": {
        "class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2, "learning_rate": 1e-3,
        "schedule": "fixed", "gamma": 0.99, "lam": 0.95, "entropy_coef": 0.005, "clip_param": 0.2,
        "value_loss_coef": 1.0, "use_clipped_value_loss": True, "max_grad_norm": 1.0, "desired_kl": 0.01,
        "rnd_cfg": None, "symmetry_cfg": None},
    "actor": {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu",
              "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
    "critic": {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}}


@pytest.mark.parametrize("kind", ["kernels", "tensors", "numpy"])
def test_rsl_rl_s_runner_takes_it(learners, kind):
    """What its runner calls, and how; with the library itself, too, which then learns."""
    from rsl_rl.runners import OnPolicyRunner

    from stet.gym.adapters.rsl_rl import RslRlVecEnvWrapper

    env = RslRlVecEnvWrapper(MAKE[kind]("SAME_STEP"), clip_actions=1.0)
    runner = OnPolicyRunner(env, copy.deepcopy(PPO), log_dir=None, device="cpu")
    if not learners:
        runner.learn(2, init_at_random_ep_len=True)
        reward, goes_on, late = (np.stack(column) for column in zip(*runner.kept))
        assert len(reward) == 16 and reward.std() > 0 and 0 < (1 - goes_on).sum() < goes_on.size
        assert not (late & (goes_on == 1)).any(), "who is late is over"
        env.close()
        return
    import torch

    before = [p.clone() for p in runner.alg.get_policy().parameters()]
    runner.learn(2, init_at_random_ep_len=True)
    assert any(not torch.equal(*pair) for pair in zip(before, runner.alg.get_policy().parameters()))
    env.close()


def test_sb3_learns():
    if importlib.util.find_spec("stable_baselines3") is None:
        pytest.skip("stable_baselines3 is not installed")
    from stable_baselines3 import PPO as Ppo, SAC
    from stable_baselines3.common.evaluation import evaluate_policy

    from stet.gym.adapters.sb3 import Sb3VecEnvWrapper

    env = Sb3VecEnvWrapper(gymnasium.make_vec("stet/InvertedPendulum-v5", N, device="cpu", physics="native",
                                              autoreset_mode="SAME_STEP"))
    learner = Ppo("MlpPolicy", env, n_steps=32, batch_size=64, seed=1, device="cpu").learn(2 * 32 * N)
    assert len(learner.ep_info_buffer) > 0, "the logger has returns of episodes"
    assert evaluate_policy(learner, env, n_eval_episodes=3)[0] > 0
    SAC("MlpPolicy", env, seed=1, device="cpu", learning_starts=50).learn(100)
    env.close()
    pixels = Sb3VecEnvWrapper(gymnasium.make_vec("stet/HandPixels-v0", 2, device="cpu", autoreset_mode="DISABLED",
                                                 max_episode_steps=3))
    Ppo("CnnPolicy", pixels, n_steps=4, batch_size=8, seed=1, device="cpu").learn(16)
    pixels.close()


def test_skrl_learns(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("skrl")
    from skrl.agents.torch.ppo import PPO as Ppo, PPO_CFG
    from skrl.memories.torch import RandomMemory
    from skrl.trainers.torch import SequentialTrainer
    from skrl.utils.model_instantiators.torch import deterministic_model, gaussian_model

    from stet.gym.adapters.skrl import SkrlVecEnvWrapper

    env = SkrlVecEnvWrapper(MAKE["kernels"]("SAME_STEP"))
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [16], "activations": "elu"}]
    about = {"observation_space": env.observation_space, "action_space": env.action_space, "device": env.device}
    models = {"policy": gaussian_model(**about, network=network, output="ACTIONS"),
              "value": deterministic_model(**about, network=network, output="ONE")}
    for role, model in models.items():
        model.init_state_dict(role=role)
    settings = PPO_CFG(rollouts=8, learning_epochs=2, mini_batches=2)
    settings.experiment.directory, settings.experiment.write_interval = str(tmp_path), 0
    settings.experiment.checkpoint_interval = 0
    agent = Ppo(models=models, memory=RandomMemory(memory_size=8, num_envs=N, device=env.device), cfg=settings,
                observation_space=env.observation_space, action_space=env.action_space, device=env.device)
    before = [p.clone() for p in models["policy"].parameters()]
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": 16, "headless": True,
                                                  "disable_progressbar": True}).train()
    assert any(not torch.equal(*pair) for pair in zip(before, models["policy"].parameters()))


def test_torchrl_takes_environments_as_they_are():
    pytest.importorskip("torch")
    torchrl = pytest.importorskip("torchrl.envs")
    for mode in "SAME_STEP", "DISABLED":
        env = torchrl.GymWrapper(ant(mode), device="cpu")
        env.set_seed(1)
        rollout = env.rollout(20, break_when_any_done=False)
        assert rollout.batch_size == (N, 20) and rollout["next", "done"].sum() >= 2 * N
        assert (rollout["next", "reward"][:, :5] != 0).all()
        env.close()


def test_a_loop_as_cleanrl_has_it():
    """Its scripts' wrappers, around make_vec in place of SyncVectorEnv, with gymnasium's own autoreset_mode."""
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(ant("NEXT_STEP"))
    envs = gymnasium.wrappers.vector.ClipAction(envs)
    envs = gymnasium.wrappers.vector.NormalizeObservation(envs)
    envs = gymnasium.wrappers.vector.NormalizeReward(envs, gamma=0.99)
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (N, *envs.single_observation_space.shape)
    ended = 0
    for action in actions_of(envs.unwrapped, 20):
        seen, _, terminated, truncated, info = envs.step(2 * action)
        over = terminated | truncated
        assert over.any() == ("episode" in info) and (not over.any() or (info["episode"]["l"][over] >= 1).all())
        ended += over.sum()
    assert ended >= 2 * N and np.isfinite(seen).all()
    assert envs.unwrapped.autoreset_mode is AutoresetMode.NEXT_STEP
    envs.close()
