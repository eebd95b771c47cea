"""stet's vector environments as learning libraries want them, under the names that Isaac Lab's users know:

    from stet.gym.adapters.sb3 import Sb3VecEnvWrapper          # Stable-Baselines3
    from stet.gym.adapters.rsl_rl import RslRlVecEnvWrapper     # rsl_rl
    from stet.gym.adapters.skrl import SkrlVecEnvWrapper        # skrl

TorchRL's GymWrapper and CleanRL's scripts take the environments as they are. Make them with autoreset_mode "SAME_STEP":
the observation after the last step of an episode is the first of the next one; or with "DISABLED", where the adapter
begins the worlds again that are over.
"""
