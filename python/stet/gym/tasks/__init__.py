"""Tasks that people train on, with robots of other projects' packages: `stet train Go1Velocity`.

Each is a page over `KernelVectorEnv` and a kernel: copy one and change it. Models come from packages of other projects
(scene.py says how to install them).
"""

from .lift import TASKS as _LIFT
from .rotate import TASKS as _ROTATE
from .tracking import TASKS as _TRACKING
from .velocity import TASKS as _VELOCITY

TASKS = {**_VELOCITY, **_LIFT, **_ROTATE, **_TRACKING}
"""The tasks by name."""
