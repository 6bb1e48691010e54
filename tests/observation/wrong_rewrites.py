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
    """

    old: str
    new: str
    wrong: list[tuple[str, str, str]]
    harmless: list[tuple[str, str, str]]


def _cases(table: str) -> list[tuple[str, str, str]]:
    """The rows ``what: text -> by`` of a table, of which some go on below, indented."""
    table = table.replace("\\n\n    ", "\\n").replace("\n    ", " ").strip()
    found = re.findall("^(.+?): (.+?) ?->(?: (.+))?$", table, re.MULTILINE)
    assert len(found) == len(table.splitlines())
    lines = [[each.replace("\\n", "\n") for each in row] for row in found]
    return [(what, text, by) for what, text, by in lines]


def _program(diff: str, wrong: str, harmless: str = "") -> Program:
    old, new = sides(diff)
    return Program(_OPTIM + old, _OPTAX + new, _cases(wrong), _cases(harmless))


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
another rate: 0.1 / (1.0 -> 0.1001 / (1.0
a schedule that is one step behind: (1.0 + count) -> (1.0 + jnp.maximum(count - 1, 0))
a schedule of its first value: adamw(rate -> adamw(rate(0)
b1 and b2 exchanged: b1=0.9, b2=0.99 -> b1=0.99, b2=0.9
eps inside of the root: eps=1e-3 -> eps=0.0, eps_root=1e-3
another eps: eps=1e-3 -> eps=1e-2
the decay of optax: , weight_decay=0.1 ->
another decay: weight_decay=0.1 -> weight_decay=0.11
decay before the moments: optax.adamw(rate, b1=0.9, b2=0.99, eps=1e-3, weight_decay=0.1)
    -> optax.chain(optax.add_decayed_weights(0.1), optax.adam(rate, 0.9, 0.99, 1e-3))
decay of kernels only: weight_decay=0.1
    -> weight_decay=0.1, mask={'dense': {'kernel': True, 'bias': False}}
moments in half precision: eps=1e-3 -> eps=1e-3, mu_dtype=jnp.bfloat16
Nesterov's Adam: eps=1e-3 -> eps=1e-3, nesterov=True
another optimizer: adamw(rate, b1=0.9, b2=0.99, eps=1e-3, -> lion(rate,
gradients at the start: (state.params, x) -> (params, x)
no gradients: grads=grads -> grads=jax.tree.map(jnp.zeros_like, grads)
gradients of the other sign: grads=grads -> grads=jax.tree.map(jnp.negative, grads)
clipped gradients: grads=grads -> grads=jax.tree.map(lambda g: jnp.clip(g, -0.1, 0.1), grads)
a step left out: return state.apply_gradients(grads=grads) -> return state
the last step left out: for x in batches: -> for x in batches[:-1]:
a step too many: for x in batches: -> for x in [*batches, batches[0]]:
other batches: for x in batches: -> for x in batches[::-1]:
parameters without their moments: return state.apply_gradients(grads=grads)
    -> new = state.apply_gradients(grads=grads)\n    return new.replace(opt_state=state.opt_state)
a step that does not count: return state.apply_gradients(grads=grads)
    -> return state.apply_gradients(grads=grads).replace(step=state.step)
a count that begins at 1: for x in batches: -> state = state.replace(step=1)\nfor x in batches:
one leaf held: grads=grads -> grads=dict(dense=dict(grads['dense'], bias=jnp.zeros(2)))
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
Nesterov lost: , nesterov=True ->
another momentum: momentum=0.8 -> momentum=0.9
the optimizer of the other: tx=optax.adam(0.01) -> tx=optax.sgd(0.1, 0.8, nesterov=True)
the gradients of the other: gradient(self.actor.params, x)) -> grads)
gradients of the target: gradient(self.critic.params, x) -> gradient(self.target.params, x)
a step twice: if is_late:
    -> self.critic = self.critic.apply_gradients(grads=grads)\n
            if is_late:
the wrong one of two: self.target = self.target.replace( -> self.target = self.critic.replace(
the result given to the wrong one: self.target = self.target.replace(
    -> self.critic = self.critic.replace(
a call missing in a branch: if is_late: -> if False:
a branch that is negated: if is_late: -> if not is_late:
the target follows the other: mixed(self.target.params, self.critic.params)
    -> mixed(self.target.params, self.actor.params)
the target is not replaced: self.target = self.target.replace( -> self.target.replace(
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
a leaf not masked: "frozen": {"scale": "frozen"} -> "frozen": {"scale": "biases"}
a leaf masked: "bias": "biases" -> "bias": "frozen"
labels exchanged: "kernel": "kernels", "bias": "biases" -> "kernel": "biases", "bias": "kernels"
the rate of a part: optax.sgd(0.5) -> optax.sgd(0.4)
a part with momentum: optax.sgd(0.5) -> optax.sgd(0.5, momentum=0.1)
the decay rate of a part: optax.rmsprop(0.01, 0.9, -> optax.rmsprop(0.01, 0.99,
a part that is not centered: , centered=True ->
eps inside of the root: eps_in_sqrt=False -> eps_in_sqrt=True
gradients that are not averaged: grads = jax.lax.pmean -> jax.lax.pmean
gradients that are summed: jax.lax.pmean( -> jax.lax.psum(
steps of a scan left out: scan(one, state, xs) -> scan(one, state, xs[1:])
a scan that returns what it got: return jax.lax.scan(one, state, xs)[0] -> return state
held by multiplying: optax.set_to_zero() -> optax.sgd(1e-3)
""",
)

# After a single step decay rates show in moments only.
ONE_STEP = ADAM._replace(
    old=ADAM.old.replace("in batches:", "in batches[:1]:"),
    new=ADAM.new.replace("in batches:", "in batches[:1]:"),
    wrong=_cases("""
another b1: b1=0.9 -> b1=0.91
another b2: b2=0.99 -> b2=0.999
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

PROGRAMS = {"adam": ADAM, "one_step": ONE_STEP, "agent": AGENT, "parts": PARTS}
# Programs whose wrong rewrites show in what is printed and written only.
PROGRAMS_WITH_RESULTS = {"results": RESULTS}
