"""Programs, right rewrites of them, what makes those wrong, and what does not."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.migrate.diffs import sides


class Program(NamedTuple):
    """A program with a right rewrite, and wrong ones.

    Args:
      old: the program.
      new: rewritten as it should be.
      wrong: what is wrong, the text that is replaced in that, and by what.
      harmless: the same of what only looks at states more often, or makes them in other ways.
      told: the same of what is not compared, and the sentence that says so.
    """

    old: str
    new: str
    wrong: list[tuple[str, str, str]]
    harmless: list[tuple[str, str, str]]
    told: list[tuple[str, str, str]]


def _cases(table: str) -> list[tuple[str, str, str]]:
    """The rows ``what: text -> by`` of a table, of which some go on below, indented.

    A line ``[kind]`` stands before the rows of a kind.
    """
    table = table.replace("\\n\n    ", "\\n").replace("\n    ", " ").strip()
    cases, kind = [], ""
    for line in table.splitlines():
        if line.startswith("["):
            kind = f"{line[1:-1]}, "
            continue
        found = re.fullmatch("(.+?): (.+?) ?->(?: (.+))?", line)
        assert found is not None, line
        what, text, by = (each.replace("\\n", "\n") for each in found.groups(""))
        cases.append((kind + what, text, by))
    return cases


def _program(diff: str, wrong: str, harmless: str = "", told: str = "") -> Program:
    old, new = sides(diff)
    return Program(_OPTIM + old, _OPTAX + new, *map(_cases, (wrong, harmless, told)))


def _definition(old: str, new: str, wrong: str, before: str = "", steps: int = 1) -> Program:
    """A program that does some steps by a definition, in one place of which it has a tx."""
    return _program(
        f"""\
 {before or "..."}
-state = {old}.create(params)
+tx = {new}
+state = TrainState.create(apply_fn=None, params=params, tx=tx)


 @jax.jit
 def train_step(state, x):
-    return state.apply_gradient(jax.grad(loss)(state.target, x))
+    return state.apply_gradients(grads=jax.grad(loss)(state.params, x))


 for x in batches[:{steps}]:
     state = train_step(state, x)
""",
        wrong,
    )


_DATA = """\
import functools
import json
import pathlib
import pickle

import jax
import jax.numpy as jnp
import numpy as np
{imports}

draw = np.random.RandomState(0)
params = {{"dense": {{"kernel": jnp.asarray(draw.randn(3, 2), jnp.float32), "bias": jnp.ones(2)}}}}
batches = [jnp.asarray(draw.randn(4, 3), jnp.float32) for _ in range(6)]


def loss(params, x):
    y = jnp.tanh(x @ params["dense"]["kernel"] + params["dense"]["bias"])
    return jnp.mean((y - 1.0) ** 2)


"""
_OPTIM = _DATA.format(imports="from flax import jax_utils, optim, serialization")
_OPTAX = _DATA.format(
    imports="import optax\nfrom flax import jax_utils, serialization\n"
    "from flax.training.train_state import TrainState\nfrom flaxoptim_compat import transforms"
)

ADAM = _program(
    """\
 def rate(count):
     return 0.1 / (1.0 + count)


-state = optim.Adam(beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1).create(params)
+tx = optax.adamw(rate, b1=0.9, b2=0.99, eps=1e-3, weight_decay=0.1)
+state = TrainState.create(apply_fn=None, params=params, tx=tx)


 @jax.jit
 def train_step(state, x):
-    grads = jax.grad(loss)(state.target, x)
-    return state.apply_gradient(grads, learning_rate=rate(state.state.step))
+    grads = jax.grad(loss)(state.params, x)
+    return state.apply_gradients(grads=grads)


 for x in batches:
     state = train_step(state, x)
""",
    r"""
[rate]
another rate: 0.1 / (1.0 -> 0.1001 / (1.0
[schedule]
a schedule that is one step behind: (1.0 + count) -> (1.0 + jnp.maximum(count - 1, 0))
a schedule of its first value: adamw(rate -> adamw(rate(0)
[beta]
b1 and b2 exchanged: b1=0.9, b2=0.99 -> b1=0.99, b2=0.9
[eps]
eps inside of the root: eps=1e-3 -> eps=0.0, eps_root=1e-3
another eps: eps=1e-3 -> eps=1e-2
[decay]
the decay of optax: , weight_decay=0.1 ->
another decay: weight_decay=0.1 -> weight_decay=0.11
decay before the moments: optax.adamw(rate, b1=0.9, b2=0.99, eps=1e-3, weight_decay=0.1)
    -> optax.chain(optax.add_decayed_weights(0.1), optax.adam(rate, 0.9, 0.99, 1e-3))
[mask]
decay of kernels only: weight_decay=0.1
    -> weight_decay=0.1, mask={'dense': {'kernel': True, 'bias': False}}
[dtype]
moments in half precision: eps=1e-3 -> eps=1e-3, mu_dtype=jnp.bfloat16
[another optimizer]
Nesterov's Adam: eps=1e-3 -> eps=1e-3, nesterov=True
another optimizer: adamw(rate, b1=0.9, b2=0.99, eps=1e-3, -> lion(rate,
[gradients]
gradients at the start: (state.params, x) -> (params, x)
no gradients: grads=grads -> grads=jax.tree.map(jnp.zeros_like, grads)
gradients of the other sign: grads=grads -> grads=jax.tree.map(jnp.negative, grads)
clipped gradients: grads=grads -> grads=jax.tree.map(lambda g: jnp.clip(g, -0.1, 0.1), grads)
[steps]
a step left out: return state.apply_gradients(grads=grads) -> return state
the last step left out: for x in batches: -> for x in batches[:-1]:
a step too many: for x in batches: -> for x in [*batches, batches[0]]:
other batches: for x in batches: -> for x in batches[::-1]:
parameters without their moments: return state.apply_gradients(grads=grads)
    -> new = state.apply_gradients(grads=grads)\n    return new.replace(opt_state=state.opt_state)
a step that does not count: return state.apply_gradients(grads=grads)
    -> return state.apply_gradients(grads=grads).replace(step=state.step)
a count that begins at 1: for x in batches: -> state = state.replace(step=1)\nfor x in batches:
[mask]
one leaf held: grads=grads -> grads=dict(dense=dict(grads['dense'], bias=jnp.zeros(2)))
[last state]
without its moments: state = train_step(state, x)\n
    -> state = train_step(state, x)\n
    state = state.replace(opt_state=tx.init(params))\n
with moments of the step before: for x in batches:\n    state = train_step(state, x)\n
    -> for x in batches:\n    last, state = state, train_step(state, x)\n
    state = state.replace(opt_state=last.opt_state)\n
parameters of the step before: for x in batches:\n    state = train_step(state, x)\n
    -> for x in batches:\n    last, state = state, train_step(state, x)\n
    state = state.replace(params=last.params)\n
[start]
other parameters at the start: params=params, tx
    -> params=jax.tree.map(lambda p: p * 1.0001, params), tx
parameters in half precision: params=params, tx
    -> params=jax.tree.map(lambda p: p.astype(jnp.bfloat16), params), tx
""",
    r"""
fetched: state = train_step(state, x) -> state = jax.device_get(train_step(state, x))
copied: train_step(state, x)\n -> train_step(jax.tree.map(jnp.copy, state), x)\n
replaced: state = train_step(state, x)
    -> state = train_step(state, x).replace(step=state.step + 1)
evaluated: state = train_step(state, x)
    -> state = train_step(state, x)\n
        jax.jit(lambda state: (state, loss(state.params, x)))(state)
donated: @jax.jit\n -> @functools.partial(jax.jit, donate_argnums=0)\n
saved and restored: train_step(state, x)\n
    -> serialization.from_bytes(state, serialization.to_bytes(train_step(state, x)))\n
without jit: @jax.jit\n ->
a TrainState of its own: state = TrainState.create(
    -> class Own(TrainState):\n    more: int = 0\n\nstate = Own.create(
""",
)

AGENT = _program(
    """\
 class Agent:
     def __init__(self):
-        self.actor = optim.Momentum(0.1, beta=0.8, nesterov=True).create(params)
-        self.critic = optim.Adam(0.01).create(params)
-        self.target = optim.GradientDescent(0.1).create(params)
+        self.actor = TrainState.create(
+            apply_fn=None, params=params, tx=optax.sgd(0.1, momentum=0.8, nesterov=True)
+        )
+        self.critic = TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.01))
+        self.target = TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))

     def save(self):
         return serialization.to_bytes((self.actor, self.critic))

     def restore(self, data):
         self.actor, self.critic = serialization.from_bytes((self.actor, self.critic), data)

     def update(self, x, is_late):
-        grads = gradient(self.critic.target, x)
-        self.critic = self.critic.apply_gradient(grads)
+        grads = gradient(self.critic.params, x)
+        self.critic = self.critic.apply_gradients(grads=grads)
         if is_late:
-            self.actor = self.actor.apply_gradient(gradient(self.actor.target, x))
-        self.target = self.target.replace(target=mixed(self.target.target, self.critic.target))
+            self.actor = self.actor.apply_gradients(grads=gradient(self.actor.params, x))
+        self.target = self.target.replace(params=mixed(self.target.params, self.critic.params))


 gradient = jax.jit(jax.grad(loss))


 @jax.jit
 def mixed(old, new):
     return jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, old, new)


 agent = Agent()
 for number, x in enumerate(batches):
     agent.update(x, number > 1)
     if number == 3:
         saved = agent.save()
 agent = Agent()
 agent.restore(saved)
 agent.update(batches[0], True)
""",
    r"""
[momentum]
Nesterov lost: , nesterov=True ->
another momentum: momentum=0.8 -> momentum=0.9
[swapped optimizers]
the optimizer of the other: tx=optax.adam(0.01) -> tx=optax.sgd(0.1, 0.8, nesterov=True)
the gradients of the other: gradient(self.actor.params, x)) -> grads)
gradients of the target: gradient(self.critic.params, x) -> gradient(self.target.params, x)
[steps]
a step twice: if is_late:
    -> self.critic = self.critic.apply_gradients(grads=grads)\n
            if is_late:
[targets]
the wrong one of two: self.target = self.target.replace( -> self.target = self.critic.replace(
the result given to the wrong one: self.target = self.target.replace(
    -> self.critic = self.critic.replace(
[branch]
a call missing in a branch: if is_late: -> if False:
a branch that is negated: if is_late: -> if not is_late:
[targets]
the target follows the other: mixed(self.target.params, self.critic.params)
    -> mixed(self.target.params, self.actor.params)
the target is not replaced: self.target = self.target.replace( -> self.target.replace(
[restored]
saved the wrong way round: to_bytes((self.actor, self.critic))
    -> to_bytes((self.actor, self.actor.replace(opt_state=self.critic.opt_state)))
one is not restored: self.actor, self.critic = serialization -> _, self.critic = serialization
the step is not restored: , data)\n
    -> , data)\n        self.critic = self.critic.replace(step=0)\n
moments are not restored: , data)\n
    -> , data)\n        self.critic = self.critic.replace(opt_state=Agent().critic.opt_state)\n
parameters are not restored: , data)\n
    -> , data)\n        self.critic = self.critic.replace(params=params)\n
saved at another time: if number == 3: -> if number == 4:
""",
    r"""
restored in two calls: self.actor, self.critic =
    serialization.from_bytes((self.actor, self.critic), data)
    -> actor, self.critic = serialization.from_bytes((self.actor, self.critic), data)\n
            self.actor = self.actor.replace(params=actor.params)\n
            self.actor = self.actor.replace(step=actor.step, opt_state=actor.opt_state)
created once more: agent.restore(saved) -> agent.restore(Agent() and saved)
""",
)

PARTS = _program(
    """\
-kernels = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
-biases = optim.ModelParamTraversal(lambda path, _: "bias" in path)
 params = {**params, "frozen": {"scale": jnp.ones(3)}}
-definition = optim.MultiOptimizer(
-    (kernels, optim.RMSProp(0.01, beta2=0.9, eps=1e-3, centered=True)),
-    (biases, optim.GradientDescent(0.5)),
+labels = {"dense": {"kernel": "kernels", "bias": "biases"}, "frozen": {"scale": "frozen"}}
+tx = optax.partition(
+    {
+        "kernels": optax.rmsprop(0.01, 0.9, eps=1e-3, eps_in_sqrt=False, centered=True),
+        "biases": optax.sgd(0.5),
+        "frozen": optax.set_to_zero(),
+    },
+    labels,
 )
-state = jax_utils.replicate(definition.create(params))
+state = jax_utils.replicate(TrainState.create(apply_fn=None, params=params, tx=tx))


 def inner(params, x):
     return loss(params, x * params["frozen"]["scale"])


 def train(state, xs):
     def one(state, x):
-        grads = jax.grad(inner)(state.target, x)
+        grads = jax.grad(inner)(state.params, x)
         grads = jax.lax.pmean(grads, "devices")
-        return state.apply_gradient(grads), None
+        return state.apply_gradients(grads=grads), None

     return jax.lax.scan(one, state, xs)[0]


 train = jax.pmap(train, axis_name="devices")
 count = jax.local_device_count()
 for start in (0, 3):
     xs = jnp.stack(batches[start : start + 3])
     scales = jnp.arange(1.0, count + 1).reshape(-1, 1, 1, 1)
     state = train(state, xs[None] * scales)
""",
    r"""
[mask]
a leaf not masked: "frozen": {"scale": "frozen"} -> "frozen": {"scale": "biases"}
a leaf masked: "bias": "biases" -> "bias": "frozen"
labels exchanged: "kernel": "kernels", "bias": "biases" -> "kernel": "biases", "bias": "kernels"
[rate]
the rate of a part: optax.sgd(0.5) -> optax.sgd(0.4)
[momentum]
a part with momentum: optax.sgd(0.5) -> optax.sgd(0.5, momentum=0.1)
[beta]
the decay rate of a part: optax.rmsprop(0.01, 0.9, -> optax.rmsprop(0.01, 0.99,
[another optimizer]
a part that is not centered: , centered=True ->
eps inside of the root: eps_in_sqrt=False -> eps_in_sqrt=True
[gradients]
gradients that are not averaged: grads = jax.lax.pmean -> jax.lax.pmean
gradients that are summed: jax.lax.pmean( -> jax.lax.psum(
[steps]
steps of a scan left out: scan(one, state, xs) -> scan(one, state, xs[1:])
a scan that returns what it got: return jax.lax.scan(one, state, xs)[0] -> return state
[mask]
held by multiplying: optax.set_to_zero() -> optax.sgd(1e-3)
""",
)

# After a single step decay rates show in moments only.
ONE_STEP = ADAM._replace(
    old=ADAM.old.replace("in batches:", "in batches[:1]:"),
    new=ADAM.new.replace("in batches:", "in batches[:1]:"),
    wrong=_cases("""
[beta]
another b1: b1=0.9 -> b1=0.91
another b2: b2=0.99 -> b2=0.999
[steps]
a step left out: in batches[:1]: -> in batches[:0]:
"""),
    harmless=[],
)

# What a program makes of its optimizers shows in what it prints and writes, and nowhere else.
RESULTS = _program(
    """\
-first = optim.Adam(0.1).create(params)
-second = optim.Adam(0.1).create(params)
+first = TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.1))
+second = TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.1))
 start, best, average = first, first, params
 here = pathlib.Path(__file__).parent
 log = ["step,loss"]


 def predict(state, x):
-    params = state.target
+    params = state.params
     return jnp.tanh(x @ params["dense"]["kernel"] + params["dense"]["bias"])


 def total(tree):
     return sum(jnp.sum(each**2) for each in jax.tree.leaves(tree))


 for number, x in enumerate(batches):
-    grads = jax.grad(loss)(first.target, x)
-    value = loss(first.target, x)
-    first = first.apply_gradient(grads)
-    second = second.apply_gradient(jax.grad(loss)(second.target, -x))
-    average = jax.tree.map(lambda a, b: 0.5 * a + 0.5 * b, average, first.target)
+    grads = jax.grad(loss)(first.params, x)
+    value = loss(first.params, x)
+    first = first.apply_gradients(grads=grads)
+    second = second.apply_gradients(grads=jax.grad(loss)(second.params, -x))
+    average = jax.tree.map(lambda a, b: 0.5 * a + 0.5 * b, average, first.params)
     if value < 0.9:
         best = first
-    print(f"step {int(first.state.step)}: loss {value:.4f}")
+    print(f"step {int(first.step)}: loss {value:.4f}")
     log.append(f"{number},{value}")
-norm = total(first.target)
-print("test", loss(second.target, batches[0]), "norm", norm)
+norm = total(first.params)
+print("test", loss(second.params, batches[0]), "norm", norm)
 print("prediction", predict(first, batches[1])[0])
-np.savez(here / "best.npz", **best.target["dense"])
-np.save(here / "kernel.npy", first.target["dense"]["kernel"])
+np.savez(here / "best.npz", **best.params["dense"])
+np.save(here / "kernel.npy", first.params["dense"]["kernel"])
-(here / "params.msgpack").write_bytes(serialization.to_bytes(second.target))
+(here / "params.msgpack").write_bytes(serialization.to_bytes(second.params))
 (here / "average.msgpack").write_bytes(serialization.to_bytes(average))
 (here / "checkpoint_6").write_bytes(serialization.to_bytes(first))
 (here / "log.csv").write_text("\\n".join(log))
-results = {"steps": int(first.state.step), "largest": float(first.target["dense"]["bias"].max())}
+results = {"steps": int(first.step), "largest": float(first.params["dense"]["bias"].max())}
 (here / "results.json").write_text(json.dumps(results))
-(here / "model.pkl").write_bytes(pickle.dumps(jax.device_get(second.target)))
+(here / "model.pkl").write_bytes(pickle.dumps(jax.device_get(second.params)))
""",
    r"""
saved from the start: **best.params -> **start.params
the last in place of the best: **best.params -> **first.params
the best is never kept: best = first -> pass
moments for parameters: save(here / "kernel.npy", first.params
    -> save(here / "kernel.npy", first.opt_state[0].mu
the wrong one of two is saved: to_bytes(second.params) -> to_bytes(first.params)
exchanged after the last step: norm = total -> first, second = second, first\nnorm = total
the loss of the wrong copy: loss(second.params, batches[0]) -> loss(first.params, batches[0])
the loss after the step: value = loss(first.params, x)\n
        first = first.apply_gradients(grads=grads)
    -> first = first.apply_gradients(grads=grads)\n    value = loss(first.params, x)
the global parameters: params = state.params\n -> \n
the average of the other: average, first.params) -> average, second.params)
an average that stands still: average = jax.tree.map -> jax.tree.map
a checkpoint of the other: to_bytes(first)) -> to_bytes(second))
a checkpoint without moments: to_bytes(first))
    -> to_bytes(first.replace(opt_state=start.opt_state)))
a step that is read late: {"steps": int(first.step) -> {"steps": int(start.step)
a maximum of other parameters: first.params["dense"]["bias"].max()
    -> first.params["dense"]["kernel"].max()
a norm of gradients: total(first.params) -> total(grads)
another leaf is saved: "kernel.npy", first.params["dense"]["kernel"]
    -> "kernel.npy", first.params["dense"]["bias"]
pickled from the start: device_get(second.params) -> device_get(start.params)
nothing is saved: np.save(here -> print(end="", *[]) and np.save(here
saved under another name: "best.npz" -> "last.npz"
printed before the step: int(first.step)}: loss -> int(first.step) - 1}: loss
""",
)

# What a run of one step does not show.
ONE_MOMENTUM = _definition(
    "optim.Momentum(0.1, beta=0.9)",
    "optax.sgd(0.1, momentum=0.9)",
    r"""
[gone moment]
no momentum: , momentum=0.9 ->
[momentum]
half of it: momentum=0.9 -> momentum=0.5
a little more: momentum=0.9 -> momentum=0.901
Nesterov's: momentum=0.9 -> momentum=0.9, nesterov=True
an average: optax.sgd(0.1, momentum=0.9) -> optax.chain(optax.ema(0.9), optax.scale(-0.1))
[decay]
a small one: tx = optax.sgd(0.1, momentum=0.9)
    -> tx = optax.chain(optax.add_decayed_weights(1e-6), optax.sgd(0.1, momentum=0.9))
a small one behind: tx = optax.sgd(0.1, momentum=0.9)
    -> tx = optax.chain(optax.sgd(0.1, momentum=0.9), optax.add_decayed_weights(-1e-9))
[schedule]
a rate that falls later: 0.1, -> optax.piecewise_constant_schedule(0.1, {1: 0.1}),
a rate that falls slowly: 0.1, -> optax.exponential_decay(0.1, 100, 0.9),
a rate that ends: 0.1, -> optax.linear_schedule(0.1, 0.0, 1, 1),
[another optimizer]
Adam's second moment: optax.sgd(0.1, momentum=0.9)
    -> optax.chain(optax.trace(0.9), optax.scale_by_schedule(lambda n: -0.1 / (1 + n) ** 0.5))
""",
)
ONE_ADAM = _definition(
    "optim.Adam(0.01)",
    "optax.adam(0.01)",
    r"""
[eps]
ten times as much: adam(0.01) -> adam(0.01, eps=1e-7)
a tenth: adam(0.01) -> adam(0.01, eps=1e-9)
a little more: adam(0.01) -> adam(0.01, eps=1.1e-8)
one in the root: adam(0.01) -> adam(0.01, eps_root=1e-16)
[beta]
another b1: adam(0.01) -> adam(0.01, b1=0.8)
another b2: adam(0.01) -> adam(0.01, b2=0.99)
[gone moment]
the signs: optax.adam(0.01)
    -> optax.chain(optax.stateless(lambda g, _: jax.tree.map(jnp.sign, g)), optax.scale(-0.01))
no second one: optax.adam(0.01)
    -> optax.chain(optax.stateless(lambda g, _: jax.tree.map(jnp.sign, g)), optax.sgd(0.01, 0.9))
[decay]
a small one: optax.adam(0.01) -> optax.adamw(0.01, weight_decay=1e-6)
that of optax: optax.adam(0.01) -> optax.adamw(0.01)
one before the moments: optax.adam(0.01)
    -> optax.chain(optax.add_decayed_weights(1e-6), optax.adam(0.01))
[another optimizer]
AMSGrad: optax.adam( -> optax.amsgrad(
AdaMax: optax.adam( -> optax.adamax(
Nadam: optax.adam( -> optax.nadam(
AdaBelief: optax.adam( -> optax.adabelief(
[schedule]
a warm-up of one step: adam(0.01) -> adam(optax.linear_schedule(0.01, 0.02, 10, 1))
[dtype]
a moment in half precision: adam(0.01) -> adam(0.01, mu_dtype=jnp.bfloat16)
[mask]
a leaf held later: optax.adam(0.01)
    -> optax.chain(optax.adam(0.01), optax.masked(
    optax.scale_by_schedule(lambda n: jnp.where(n < 1, 1.0, 0.0)),
    {'dense': {'kernel': False, 'bias': True}}))
""",
)
# A leaf that is zero has no decay in the first step.
ONE_DECAY = _definition(
    "optim.Adam(0.01, weight_decay=0.1)",
    "optax.adamw(0.01, weight_decay=0.1)",
    r"""
[mask]
of a zero leaf: decay=0.1 -> decay=0.1, mask={'dense': {'kernel': True, 'bias': False}}
by dimension: decay=0.1 -> decay=0.1, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)
of nothing: decay=0.1 -> decay=0.1, mask={'dense': {'kernel': False, 'bias': False}}
[decay]
a little more: decay=0.1 -> decay=0.1001
""",
    'params = {"dense": {**params["dense"], "bias": jnp.zeros(2)}}',
)
ONE_RMSPROP = _definition(
    "optim.RMSProp(0.01, beta2=0.9, eps=1e-8)",
    "optax.rmsprop(0.01, 0.9, eps=1e-8, eps_in_sqrt=False)",
    r"""
[eps]
inside of the root: eps_in_sqrt=False -> eps_in_sqrt=True
ten times as much: eps=1e-8 -> eps=1e-7
[beta]
a slower decay: 0.9, -> 0.99,
[momentum]
with one: eps_in_sqrt=False -> eps_in_sqrt=False, momentum=0.1
[another optimizer]
centered: eps_in_sqrt=False -> eps_in_sqrt=False, centered=True
that of optax: , eps_in_sqrt=False ->
""",
)
ONE_ADAGRAD = _definition(
    "optim.Adagrad(0.1, eps=1e-8)",
    "optax.chain(transforms.scale_by_sum_of_squares(0.1, eps=1e-8), optax.scale(-1.0))",
    r"""
[another optimizer]
that of optax: tx = optax.chain(transforms.scale_by_sum_of_squares(0.1, eps=1e-8),
    optax.scale(-1.0)) -> tx = optax.adagrad(0.1)
[start]
squares that start at zero: tx = optax.chain(transforms.scale_by_sum_of_squares(0.1, eps=1e-8),
    optax.scale(-1.0)) -> tx = optax.adagrad(0.1, 0.0, 1e-8)
[eps]
ten times as much: eps=1e-8 -> eps=1e-7
[rate]
a rate behind the sum: sum_of_squares(0.1, eps=1e-8), optax.scale(-1.0)
    -> sum_of_squares(1.0, eps=1e-8), optax.scale(-0.101)
""",
)
ONE_LAMB = _definition(
    "optim.LAMB(0.01, weight_decay=0.01, eps=1e-6)",
    "optax.chain(optax.scale_by_adam(eps=1e-6), optax.add_decayed_weights(0.01),"
    " transforms.scale_by_lamb_trust_ratio(), optax.scale_by_learning_rate(0.01))",
    r"""
[another optimizer]
no trust: transforms.scale_by_lamb_trust_ratio(), ->
[eps]
ten times as much: eps=1e-6 -> eps=1e-5
[decay]
none: optax.add_decayed_weights(0.01), ->
of kernels: weights(0.01) -> weights(0.01, {'dense': {'kernel': True, 'bias': False}})
[beta]
another b1: eps=1e-6 -> eps=1e-6, b1=0.8
""",
)
ONE_LARS = _definition(
    "optim.LARS(0.1, beta=0.9, weight_decay=0.01, trust_coefficient=0.01, eps=1e-8)",
    "optax.chain(transforms.scale_by_lars_rate(0.1, weight_decay=0.01, trust_coefficient=0.01,"
    " eps=1e-8), optax.trace(decay=0.9), optax.scale(-1.0))",
    r"""
[gone moment]
no momentum: optax.trace(decay=0.9), ->
[momentum]
another one: decay=0.9) -> decay=0.8)
[decay]
a little more: weight_decay=0.01 -> weight_decay=0.011
[eps]
more of it: eps=1e-8 -> eps=1e-5
""",
)
ONE_ADADELTA = _definition(
    "optim.Adadelta(1.0, rho=0.9, eps=1e-6, weight_decay=0.1)",
    "optax.chain(optax.scale_by_adadelta(rho=0.9, eps=1e-6), optax.add_decayed_weights(0.1),"
    " optax.scale_by_learning_rate(1.0))",
    r"""
[beta]
another rho: rho=0.9 -> rho=0.95
[decay]
before the moments: optax.scale_by_adadelta(rho=0.9, eps=1e-6), optax.add_decayed_weights(0.1)
    -> optax.add_decayed_weights(0.1), optax.scale_by_adadelta(rho=0.9, eps=1e-6)
[eps]
ten times as much: eps=1e-6 -> eps=1e-5
""",
)

# A schedule whose rate each step is given, with injected hyper-parameters.
GIVEN = _program(
    """\
 def rate(step):
     return jnp.where(step < 3, 0.01 * (step + 1), 0.005)


-state = optim.Adam(beta1=0.8).create(params)
+tx = optax.inject_hyperparams(optax.adam)(0.0, b1=0.8)
+state = TrainState.create(apply_fn=None, params=params, tx=tx)


 @jax.jit
 def train_step(state, x):
-    grads = jax.grad(loss)(state.target, x)
-    return state.apply_gradient(grads, learning_rate=rate(state.state.step))
+    grads = jax.grad(loss)(state.params, x)
+    hyperparams = {**state.opt_state.hyperparams, "learning_rate": rate(state.step)}
+    state = state.replace(opt_state=state.opt_state._replace(hyperparams=hyperparams))
+    return state.apply_gradients(grads=grads)


 for x in batches:
     state = train_step(state, x)
""",
    r"""
[schedule]
off by one: rate(state.step) -> rate(state.step + 1)
of the first half: rate(state.step) -> rate(jnp.minimum(state.step, 2))
wrong in the second half: 0.005) -> 0.00501)
a boundary off by one: step < 3 -> step < 4
not set: "learning_rate": rate(state.step) ->
a rate that stays: rate(state.step) -> rate(0)
[beta]
another b1: b1=0.8 -> b1=0.9
another b2: b1=0.8 -> b1=0.8, b2=0.9999
[eps]
ten times as much: b1=0.8 -> b1=0.8, eps=1e-7
one in the root: b1=0.8 -> b1=0.8, eps_root=1e-15
""",
)
BRANCH = _program(
    """\
-state = optim.Momentum(0.1, beta=0.9).create(params)
+tx = optax.sgd(0.1, momentum=0.9)
+state = TrainState.create(apply_fn=None, params=params, tx=tx)
 best = state


 def scaled(grads, by):
     return jax.tree.map(lambda leaf: leaf * by, grads)


 def clipped(grads):
     norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(grads)))
     return scaled(grads, jnp.minimum(1.0, 0.5 / norm))


 for number, x in enumerate(batches):
-    grads = jax.grad(loss)(state.target, x)
+    grads = jax.grad(loss)(state.params, x)
     if number % 2:
         grads = scaled(grads, -1.0)
     if number == 4:
         grads = scaled(grads, 0.1)
     grads = clipped(grads)
-    state = state.apply_gradient(grads)
+    state = state.apply_gradients(grads=grads)
     if number == 2:
         best = state
-state = state.replace(target=best.target)
+state = state.replace(params=best.params)
""",
    r"""
[gradients]
clipping dropped: grads = clipped(grads) -> grads = grads
clipping to another norm: 0.5 / norm -> 0.51 / norm
clipping by value: grads = clipped(grads)
    -> grads = jax.tree.map(lambda leaf: jnp.clip(leaf, -0.5, 0.5), grads)
[branch]
another sign: scaled(grads, -1.0) -> scaled(grads, 1.0)
another scale: scaled(grads, 0.1) -> scaled(grads, 0.11)
another branch: number == 4 -> number == 5
no branch: if number % 2: -> if False:
[last state]
of another step: if number == 2: -> if number == 3:
not replaced: state = state.replace(params=best.params) -> pass
all of the best: state.replace(params=best.params) -> best
the first parameters: params=best.params -> params=params
the step of the best: params=best.params -> params=best.params, step=best.step
a reset step: params=best.params -> params=best.params, step=0
reset moments: params=best.params -> params=best.params, opt_state=tx.init(params)
moments of the best: params=best.params -> params=best.params, opt_state=best.opt_state
a half of both: params=best.params
    -> params={'dense': {**best.params['dense'], 'bias': state.params['dense']['bias']}}
""",
)
TRACED = _program(
    """\
-state = optim.GradientDescent(0.1).create(params)
+state = TrainState.create(apply_fn=None, params=params, tx=optax.sgd(0.1))


 @jax.jit
 def train_step(state, x):
-    inner = optim.Adam(0.01, beta1=0.8).create(params)
-    inner = inner.apply_gradient(jax.grad(loss)(inner.target, x))
-    state = state.apply_gradient(jax.grad(loss)(state.target, x))
-    return state, loss(inner.target, x)
+    inner = TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.01, b1=0.8))
+    inner = inner.apply_gradients(grads=jax.grad(loss)(inner.params, x))
+    state = state.apply_gradients(grads=jax.grad(loss)(state.params, x))
+    return state, loss(inner.params, x)


 for x in batches:
     state, _ = train_step(state, x)
""",
    r"""
[only traced]
another rate: adam(0.01 -> adam(0.011
another beta: b1=0.8 -> b1=0.9
another eps: b1=0.8 -> b1=0.8, eps=1e-7
another optimizer: optax.adam(0.01, b1=0.8) -> optax.sgd(0.01)
the decay of optax: optax.adam( -> optax.adamw(
a schedule: adam(0.01, -> adam(optax.linear_schedule(0.01, 0.0, 9),
""",
    told=r"""
steps left out: inner = inner.apply_gradients(grads=jax.grad(loss)(inner.params, x))
    -> inner = inner
""",
)

# One optimizer moves. The gradients of another are zero, and a third leaves the numbers.
STILL = _program(
    """\
-state = optim.GradientDescent(0.1).create(params)
-still = optim.Momentum(0.1, beta=0.9).create({"still": jnp.ones(3)})
-wild = optim.Adam(0.01).create({"wild": jnp.ones(4)})
+def created(params, tx):
+    return TrainState.create(apply_fn=None, params=params, tx=tx)
+
+
+state = created(params, optax.sgd(0.1))
+still = created({"still": jnp.ones(3)}, optax.sgd(0.1, momentum=0.9))
+wild = created({"wild": jnp.ones(4)}, optax.adam(0.01))
 for number, x in enumerate(batches):
-    state = state.apply_gradient(jax.grad(loss)(state.target, x))
-    still = still.apply_gradient({"still": jnp.zeros(3)})
-    wild = wild.apply_gradient({"wild": jnp.full(4, jnp.nan if number else 1.0)})
+    state = state.apply_gradients(grads=jax.grad(loss)(state.params, x))
+    still = still.apply_gradients(grads={"still": jnp.zeros(3)})
+    wild = wild.apply_gradients(grads={"wild": jnp.full(4, jnp.nan if number else 1.0)})
""",
    r"""
[zero gradients]
another rate: sgd(0.1, -> sgd(0.2,
no momentum: , momentum=0.9 ->
half the momentum: momentum=0.9 -> momentum=0.45
another optimizer: optax.sgd(0.1, momentum=0.9) -> optax.adam(0.1)
[not finite]
another eps: adam(0.01) -> adam(0.01, eps=1e-7)
a small decay: adam(0.01) -> adamw(0.01, weight_decay=1e-6)
another optimizer: adam(0.01) -> adamax(0.01)
a rate that falls: adam(0.01) -> adam(optax.exponential_decay(0.01, 9, 0.9, 2))
""",
)

PROGRAMS = {
    "adam": ADAM,
    "one_step": ONE_STEP,
    "agent": AGENT,
    "parts": PARTS,
    "one_momentum": ONE_MOMENTUM,
    "one_adam": ONE_ADAM,
    "one_decay": ONE_DECAY,
    "one_rmsprop": ONE_RMSPROP,
    "one_adagrad": ONE_ADAGRAD,
    "one_lamb": ONE_LAMB,
    "one_lars": ONE_LARS,
    "one_adadelta": ONE_ADADELTA,
    "given": GIVEN,
    "branch": BRANCH,
    "traced": TRACED,
    "still": STILL,
}
# Programs whose wrong rewrites show in what is printed and written only.
PROGRAMS_WITH_RESULTS = {"results": RESULTS}
