"""Domain randomisation: a table of what differs between worlds, and of when it is drawn again; doc/environments.md has
an example.

Invariants:
    R1  a number drawn is a function of (key of the world's episodes, world, episode, row of the table, which draw of
        the row in the episode, place): num_envs and other worlds have no part in it
    R2  a value is what its rows make of the model's number, in their order, and never of an earlier draw
"""

from __future__ import annotations

import dataclasses
import difflib

import numpy as np
from gymnasium import spaces

import stet

from .._places import Places, find_places, pick_items, regular

_DISTRIBUTIONS = ("uniform", "loguniform", "normal", "choice", "constant")
_OPERATIONS = {"abs": lambda x, y: y, "add": lambda x, y: x + y, "scale": lambda x, y: x * y}
_STATES = ("qpos", "qvel")
_FORCES = ("xfrc_applied", "qfrc_applied")
_SIGNALS = ("observation", "action")
_DELAYS = ("action_delay", "observation_delay")
_OWN = (*_STATES, *_FORCES, *_SIGNALS, *_DELAYS)


@dataclasses.dataclass(frozen=True, eq=False)
class Randomize:
    """A row of an environment's table of domain randomisation (`VectorEnv.randomize`).

    field        what is drawn, by MuJoCo's name, or several such names:
                 a parameter of the physics (`stet.Sim.parameters`: body_mass, geom_friction, gravity, actuator_kp and
                 actuator_kv of servos, whose set point actuator_gainprm alone would move …; friction, damping and
                 stiffness are factors on all of their kind), or a look of pictures (geom_matid: numbers of materials,
                 geom_rgb, mat_rgb, light_ambient, light_diffuse, light_specular, cam_fovy, cam_pos, cam_quat,
                 light_pos, light_dir)
                 "qpos", "qvel": the state at the beginning of an episode; with every=K a kick, each K steps
                 "xfrc_applied", "qfrc_applied": forces on bodies (force, torque; world frame) and on joints
                 "observation", "action": noise on what the policy sees, and on what it does
                 "action_delay": how many steps an action is late; an episode's first action holds until then
                 "observation_delay": how many steps an observation (with its noise) is late; likewise
    of           which elements: a name, a regular expression that a whole name matches, a number, or a list of them;
                 None: all. Elements are bodies, geoms, lights … by the field's name; of an observation the columns
    component    which of an element's numbers, such as 0 of geom_friction's three; a number or a list; None: all

    One distribution: uniform=(low, high), loguniform=(low, high), normal=(mean, deviation), choice=(one, another, …) or
    constant=value; each of its parts is a number, or one a chosen number. A choice may be of such lists.

    operation    what is drawn replaces the value ("abs"), is added to it ("add") or is a factor on it ("scale"). The
                 value is the model's; of states, observations and actions the present one. By default "add" for
                 observations and actions, else "abs"
    every        "episode", "world" (once, when the world gets a seed), or K: each K steps of an episode. By default 1
                 for observations and actions, else "episode"
    correlated   False: each number has a draw of its own. "element": numbers of one element share a draw, also those of
                 several fields. True: all numbers of a world do
    clip         (least, most) that the value may be
    lasting      of forces with every=K: for how many steps they push; None: until they are drawn again
    name         by which `VectorEnv.randomized` has what was drawn; None: the field's, and what it is of
    """

    field: str | tuple[str, ...]
    of: object = None
    component: object = None
    _: dataclasses.KW_ONLY
    uniform: object = None
    loguniform: object = None
    normal: object = None
    choice: object = None
    constant: object = None
    operation: str | None = None
    every: str | int | None = None
    correlated: bool | str = False
    clip: tuple[float, float] | None = None
    lasting: int | None = None
    name: str | None = None


def _refuse(what):
    raise stet.InvalidArgumentError(what)


# ---- which numbers a row is of ---------------------------------------------------------------------------------------


def _find_places(env, field):
    """Of a field that there is."""
    if field in _DELAYS:
        return regular(1, [""], "delay")
    if field in _SIGNALS:
        model = env.sim.model
        space = env.single_observation_space if field == "observation" else env.single_action_space
        if isinstance(space, spaces.Dict):
            sizes = [int(np.prod(part.shape)) for part in space.values()]
            return Places(np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(n) for n in sizes]),
                          list(space), "part")
        size = int(np.prod(space.shape))
        named = field == "action" and size == model.nu
        return regular(size, model.actuators if named else [""] * size, "actuator" if named else "column")
    return find_places(env.sim, field)


def _pick_items(places, row, who):
    """Where the numbers are that the row is of."""
    if not len(places.element):
        _refuse(f"{who}: the model has none; remove the row")
    return pick_items(places, row.of, row.component, who)


# ---- distributions ---------------------------------------------------------------------------------------------------


def _numbers(x, count, what, who):
    """A number, or one each of the count."""
    try:
        x = np.asarray(x, np.float64)
        if not np.isfinite(x).all():
            raise ValueError
        return np.broadcast_to(x, count)
    except (TypeError, ValueError):
        _refuse(f"{who}: {what} is {x!r}; give a finite number, or {count} of them")


def _pair(row, kind, count, who):
    given = getattr(row, kind)
    if not np.iterable(given) or len(given) != 2:
        parts = "mean, deviation" if kind == "normal" else "low, high"
        _refuse(f"{who}: {kind} is {given!r}; give {kind}=({parts})")
    return (_numbers(x, count, kind, who) for x in given)


class _Distribution:
    """From draws in [0, 1) (two a number for normal) to numbers."""

    def __init__(self, row, count, who):
        given = [kind for kind in _DISTRIBUTIONS if getattr(row, kind) is not None]
        if len(given) != 1:
            _refuse(f"{who}: it has {' and '.join(given) or 'no distribution'}; "
                    f"give one of {', '.join(_DISTRIBUTIONS)}")
        self.kind = given[0]
        if self.kind == "choice":
            options = list(row.choice) if np.iterable(row.choice) else []
            if not options:
                _refuse(f"{who}: choice is {row.choice!r}; give a list of what to choose from")
            self.options = np.array([_numbers(x, count, "a choice", who) for x in options])
        elif self.kind == "constant":
            self.options = _numbers(row.constant, count, "constant", who)[None]
        else:
            self.low, self.high = _pair(row, self.kind, count, who)
            self._check_bounds(who)

    def _check_bounds(self, who):
        if self.kind == "normal":
            if (self.high < 0).any():
                _refuse(f"{who}: the deviation of normal is {self.high.min():g}; give 0 or more")
        elif (self.low > self.high).any():
            at = np.flatnonzero(self.low > self.high)[0]
            _refuse(f"{who}: {self.kind} between {self.low[at]:g} and {self.high[at]:g}; give the lower bound first")
        elif self.kind == "loguniform" and (self.low <= 0).any():
            _refuse(f"{who}: loguniform from {self.low.min():g}; give bounds above 0")

    def draw(self, draws, groups):
        """[worlds, count], or [1, count] if all have the same; numbers of one group share a draw."""
        constant, library = draws.constant, draws.library
        size, of = int(groups.max()) + 1, constant(groups)
        if self.kind == "constant":
            return constant(self.options)
        if self.kind == "normal":
            return constant(self.low) + constant(self.high) * draws.normal(size)[:, of]
        u = draws.uniform(0, 1, size)[:, of]
        if self.kind == "uniform":
            return constant(self.low) + constant(self.high - self.low) * u
        if self.kind == "loguniform":
            return constant(self.low) * library.exp(constant(np.log(self.high / self.low)) * u)
        place, chosen = u * len(self.options), constant(self.options[0])
        for number, option in enumerate(self.options[1:], 1):
            chosen = library.where(place >= number, constant(option), chosen)
        return chosen

    def extremes(self):
        """Numbers that bound all others, where there are such."""
        if self.kind == "normal":
            return [self.low] if (self.high == 0).all() else []
        return list(self.options) if self.kind in ("choice", "constant") else [self.low, self.high]


# ---- rows of the table ----------------------------------------------------------------------------------------------


class _Part:
    """What a row does to one field: which items it changes, bool [items], and where the number that was drawn for each
    of them is.
    """

    def __init__(self, field, width, items, first):
        self.field, self.items, self.changes, self.drawn = field, items, np.zeros(width, bool), np.zeros(width, int)
        self.changes[items] = True
        self.drawn[items] = first + np.arange(len(items))


class _Row:
    """A checked row."""

    def __init__(self, env, number, row):
        if not isinstance(row, Randomize):
            raise stet.ArgumentTypeError(
                f"randomize[{number}] is a {type(row).__name__!r}; give rows of stet.gym.Randomize(field, …)")
        fields = (row.field,) if isinstance(row.field, str) else tuple(row.field)
        of = "" if row.of is None else row.of if isinstance(row.of, str) else ", ".join(map(str, np.atleast_1d(row.of)))
        self.name = row.name or " + ".join(map(str, fields)) + (f" of {of}" if of else "")
        self.who = f"randomize[{number}], {self.name}"
        self.number, self.fields = number, fields
        self._check_fields()
        self.is_parameter = fields[0] in stet.Sim.parameters
        self.operation = row.operation or ("add" if fields[0] in _SIGNALS else "abs")
        if self.operation not in _OPERATIONS:
            _refuse(f"{self.who}: operation is {row.operation!r}; use 'abs', 'add' or 'scale'")
        self.clip = self._check_clip(row.clip)
        self._set_times(row)
        self._place(env, row)
        self._check_space(env)
        self.distribution = _Distribution(row, len(self.groups), self.who)
        self._check_delay()
        self.drawn = np.zeros((env.num_envs, len(self.groups)))
        """What was drawn last, [num_envs, numbers]."""
        self.active = np.zeros(env.num_envs, np.bool_)
        """Worlds whose forces push."""

    def _check_fields(self):
        known = [*stet.Sim.parameters, *_OWN]
        for field in self.fields:
            if field not in known:
                near = difflib.get_close_matches(str(field), known, 1)
                _refuse(f"{self.who}: there is no field {field!r}; "
                        + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"))
        if len(self.fields) > 1 and any(field in _OWN for field in self.fields):
            _refuse(f"{self.who}: only parameters of the physics share a row; give each of the others its own")

    def _check_clip(self, clip):
        if clip is None:
            return None
        if not np.iterable(clip) or len(clip) != 2 or not clip[0] <= clip[1]:
            _refuse(f"{self.who}: clip is {clip!r}; give (least, most)")
        return float(clip[0]), float(clip[1])

    def _set_times(self, row):
        every = row.every if row.every is not None else 1 if self.fields[0] in _SIGNALS else "episode"
        steps = isinstance(every, (int, np.integer)) and not isinstance(every, bool)
        if every not in ("episode", "world") and not (steps and every > 0):
            _refuse(f"{self.who}: every is {every!r}; use 'episode', 'world', or a number of steps")
        self.every, self.interval = every, int(every) if steps else 0
        self.lasting = row.lasting
        if row.lasting is None:
            return
        if self.fields[0] not in _FORCES or not self.interval:
            _refuse(f"{self.who}: lasting is of {' and '.join(_FORCES)} with every=K; leave it out")
        if row.lasting not in range(1, self.interval):
            _refuse(f"{self.who}: lasting is {row.lasting!r}; give a number of steps from 1 to {self.interval - 1}")

    def _place(self, env, row):
        self.parts, elements, count, nouns = [], [], 0, set()
        for field in self.fields:
            places = _find_places(env, field)
            nouns.add(places.noun)
            items = _pick_items(places, row, self.who)
            self.parts.append(_Part(field, len(places.element), items, count))
            elements.append(places.element[items])
            count += len(items)
        elements = np.concatenate(elements)
        if row.correlated not in (False, True, "element"):
            _refuse(f"{self.who}: correlated is {row.correlated!r}; use False, 'element' or True")
        if row.correlated == "element" and len(nouns) > 1:
            _refuse(f"{self.who}: a {' and a '.join(sorted(nouns))} are no one element; give each field a row")
        if row.correlated == "element":
            self.groups = np.unique(elements, return_inverse=True)[1]
        else:
            self.groups = np.zeros(count, int) if row.correlated else np.arange(count)

    def _check_space(self, env):
        if self.fields[0] == "observation_delay" and env._pixels:
            _refuse(f"{self.who}: pictures are not kept; leave the row out, or pixels=True")
        if self.fields[0] not in _SIGNALS:
            return
        space = getattr(env, f"single_{self.fields[0]}_space")
        parts = list(space.values()) if isinstance(space, spaces.Dict) else [space]
        if any(part.dtype is None or np.dtype(part.dtype).kind != "f" for part in parts):
            _refuse(f"{self.who}: noise is for a Box of floats; the space is {space}")

    def _check_delay(self):
        if self.fields[0] not in _DELAYS:
            return
        extremes = self.distribution.extremes() if self.distribution.kind in ("choice", "constant") else []
        if not extremes or self.operation != "abs" or any((x < 0).any() or (x % 1).any() for x in extremes):
            _refuse(f"{self.who}: a delay is a whole number of steps, 0 or more; give choice= or constant= of such")
        self.most = int(np.max(extremes))

    def draw(self, draws, worlds, occasion):
        """New numbers for some worlds."""
        self.drawn[worlds] = self.distribution.draw(draws.branch(self.number, occasion), self.groups)
        self.active[worlds] = True

    def change(self, part, values, worlds, library=np, constant=np.asarray):
        """What a field of these worlds, [worlds, items], becomes by what they have drawn."""
        made = _OPERATIONS[self.operation](values, self.drawn[worlds][:, constant(part.drawn)])
        if self.clip:
            made = library.clip(made, *self.clip)
        return library.where(self.active[worlds][:, None] & constant(part.changes), made, values)


class _Late:
    """What came in the last steps of an episode, the latest first, as many as a delay needs."""

    def __init__(self, env):
        self._env, self._kept = env, []

    def pass_on(self, x, row, again=False):
        """What came as many steps ago as the row has drawn, or else first. again: x is of the step of the last call."""
        env, delays, put = self._env, row.drawn[:, 0], self._env._library.put
        self._kept = self._kept or [env._copy(x) for _ in range(row.most + 1)]
        fresh, kept = env.steps == 0, self._kept
        for steps in range(row.most, 0, -1):
            kept[steps] = put(kept[steps], env._where(fresh, x, kept[steps if again else steps - 1]))
        kept[0] = put(kept[0], x)
        out = kept[0]
        for steps in range(1, row.most + 1):
            out = env._where(delays == steps, self._kept[steps], out)
        return out


class Randomizer:
    """The table of an environment at work."""

    _module = np  # that computes with the numbers

    def __init__(self, env, rows):
        self._env, self._sim = env, env.sim
        if not np.iterable(rows) and not isinstance(rows, Randomize):
            raise stet.ArgumentTypeError(f"randomize is a {type(rows).__name__!r}; give a list of Randomize(field, …)")
        self._table = list(enumerate([rows] if isinstance(rows, Randomize) else rows))
        self.rows = []
        self._make_rows(lambda row: getattr(row, "field", None) not in _SIGNALS)
        fields = {part.field for row in self.rows for part in row.parts}
        self._own = {field: self._sim.parameter(field)[0] for field in stet.Sim.parameters if field in fields}
        self._own |= {field: np.zeros(self._sim.array(field).shape[1]) for field in _FORCES if field in fields}
        self._values = {field: np.tile(own, (env.num_envs, 1)) for field, own in self._own.items()}
        self._late = {name: _Late(env) for name in _DELAYS}
        self._stepped = False  # since an observation was last passed on
        for row in self.rows:
            self._try(row)

    def __bool__(self):
        return bool(self._table)

    def _make_rows(self, wanted):
        self.rows += [_Row(self._env, number, row) for number, row in self._table if wanted(row)]
        names = [row.name for row in self.rows]
        for row in self.rows:
            if names.count(row.name) > 1:
                _refuse(f"{row.who}: another row has this name, too; give one of them name=")

    def add_signals(self):
        """Makes the rows of observations and actions, whose spaces are known now: an observation may have shown what
        the others drew.
        """
        self._make_rows(lambda row: row.field in _SIGNALS)

    @property
    def _drawn_here(self):
        """Rows whose numbers are drawn on the host."""
        return self.rows

    @property
    def _steps(self):
        """[num_envs] Steps of each world's episode."""
        return self._env.steps

    def changes_actions(self):
        """Whether actuators get something else than the policy's actions."""
        return any(getattr(row, "field", None) in ("action", "action_delay") for _, row in self._table)

    def _rows_of(self, *fields):
        return [(row, part) for row in self.rows for part in row.parts if part.field in fields]

    def _try(self, row):
        """Whether the physics takes what the row may draw, as far as that is bounded."""
        for numbers in row.distribution.extremes():
            for part in (part for part in row.parts if part.field in stet.Sim.parameters):
                values = self._own[part.field].copy()
                made = _OPERATIONS[row.operation](values[part.items], numbers[part.drawn[part.items]])
                values[part.items] = np.clip(made, *row.clip) if row.clip else made
                self._set(row.who, part.field, values)
                self._sim.set_parameter(part.field, None)

    def _set(self, who, field, values, mask=None):
        try:
            self._sim.set_parameter(field, values, mask)
        except stet.Error as error:
            raise type(error)(f"{who}: {error}") from None

    # ---- when it is drawn --------------------------------------------------------------------------------------------

    def begin(self, worlds):
        """Worlds begin an episode: draws numbers, and sets parameters and forces."""
        for row in self._drawn_here:
            new = worlds[self._env._episode[worlds] == 0] if row.every == "world" else worlds
            if len(new):
                row.draw(self._env._draws(new), new, 0)
        self._write(self._own, worlds)

    def begin_state(self, states, worlds=slice(None)):
        """What the initial states of these worlds, qpos and qvel, become."""
        states = dict(zip(_STATES, states))
        for row, part in self._rows_of(*_STATES):
            states[part.field] = self._change(row, part, states[part.field], worlds)
        if self._rows_of("qpos"):
            states["qpos"] = self._normalize(states["qpos"])
        return list(states.values())

    def before_step(self):
        """Draws what is due before the physics of a step."""
        fields, steps = set(), self._steps
        for row in self._drawn_here:
            if not row.interval or row.fields[0] == "observation":
                continue
            phase = steps % row.interval
            due = np.flatnonzero((phase == 0) & (steps > 0))
            over = phase == row.lasting if row.lasting else np.zeros_like(phase, np.bool_)
            row.active &= ~over
            self._draw_again(row, due)
            if len(due) or over.any():
                fields.update(row.fields)
                self._kick(row, due)
        if fields:
            self._write(fields, np.arange(self._env.num_envs))

    def after_step(self):
        """Draws noise of the observation that follows."""
        self._stepped = True
        for row, _ in self._rows_of("observation"):
            if row.interval:
                self._draw_again(row, np.flatnonzero(self._env.steps % row.interval == 0))

    def _draw_again(self, row, worlds):
        if len(worlds):
            occasion = self._steps[worlds] // row.interval
            row.draw(self._env._draws(worlds, 1), worlds, occasion)

    # ---- what it does ------------------------------------------------------------------------------------------------

    def _write(self, fields, worlds):
        """Parameters and forces of some worlds, made anew of what their rows have drawn."""
        for field in self._own.keys() & set(fields):
            values = np.tile(self._own[field], (len(worlds), 1))
            who = ""
            for row, part in self._rows_of(field):
                values = row.change(part, values, worlds)
                who = row.who
            self._values[field][worlds] = values
            if field in _FORCES:
                self._sim.array(field).write(self._values[field])
            else:
                mask = np.zeros(self._env.num_envs, np.bool_)
                mask[worlds] = True
                self._set(who, field, self._values[field], mask)

    def _kick(self, row, worlds):
        if row.fields[0] not in _STATES or not len(worlds):
            return
        array = self._sim.array(row.fields[0])
        now = array.numpy()
        now[worlds] = self._kicked(row, now[worlds].astype(np.float64), worlds)
        array.write(now)

    def _kicked(self, row, values, worlds):
        values = self._change(row, row.parts[0], values, worlds)
        return self._normalize(values) if row.fields[0] == "qpos" else values

    def _change(self, row, part, values, worlds):
        return row.change(part, values, worlds)

    def _normalize(self, qpos):
        """The same with quaternions of length 1."""
        model, library, parts, end = self._sim.model, self._module, [], 0
        for kind, first in zip(model.jnt_type, model.jnt_qposadr):
            if kind < 2:  # free, ball
                first = int(first) + 3 * (kind == 0)
                w, x, y, z = (qpos[:, first + k : first + k + 1] for k in range(4))
                length = library.sqrt(w * w + x * x + y * y + z * z)
                parts += [qpos[:, end:first], qpos[:, first : first + 4] / length]
                end = first + 4
        return library.concatenate([*parts, qpos[:, end:]], 1)

    def _disturb(self, field, x):
        rows = self._rows_of(field) if self.rows else None
        if not rows:
            return x
        values = self._doubles(x).reshape(self._env.num_envs, -1)
        for row, part in rows:
            values = self._change(row, part, values, slice(None))
        return self._like(values.reshape(x.shape), x)

    def _doubles(self, x):
        """Numbers of the policy's where the rows' are, and back."""
        return np.array(self._env._library.to_numpy(x), np.float64)

    def _like(self, values, x):
        return self._env._library.like(values, x)

    def observe(self, x):
        """An observation with its noise, and late."""
        x = self._disturb_parts(x) if isinstance(x, dict) else self._disturb("observation", x)
        for row, _ in self._rows_of("observation_delay")[-1:]:
            late, again = self._late["observation_delay"], not self._stepped
            if isinstance(x, dict):
                for name in x:
                    self._late.setdefault(f"observation_delay of {name}", _Late(self._env))
                x = {name: self._late[f"observation_delay of {name}"].pass_on(part, row, again)
                     for name, part in x.items()}
            else:
                x = late.pass_on(x, row, again)
        self._stepped = False
        return x

    def _disturb_parts(self, x):
        """The same of an observation that is a dict."""
        rows, n = self._rows_of("observation"), self._env.num_envs
        if not rows:
            return x
        parts = [self._doubles(part).reshape(n, -1) for part in x.values()]
        ends = np.cumsum([0] + [part.shape[1] for part in parts])
        values = self._module.concatenate(parts, 1)
        for row, part in rows:
            values = self._change(row, part, values, slice(None))
        return {name: self._like(values[:, first:end].reshape(part.shape), part)
                for (name, part), first, end in zip(x.items(), ends[:-1].tolist(), ends[1:].tolist())}

    def act(self, actions):
        """What the actuators get of the policy's actions: late, and with noise."""
        for row, _ in self._rows_of("action_delay")[-1:]:
            actions = self._late["action_delay"].pass_on(actions, row)
        return self._disturb("action", actions)

    def seen(self):
        """What the rows drew last, by name."""
        out = {}
        for row in self.rows:
            out[row.name] = row.drawn.view()
            out[row.name].flags.writeable = False
        return out
