"""All that there is to do with an optimizer, done with one that was added just now."""

import ast
import contextlib
import io
import pathlib
import sys
import warnings

import flax
import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat import cli, optax_source, optim, parity, to_optax

folder = pathlib.Path(sys.argv[1])
PARAMS = {"dense": {"kernel": jnp.linspace(-1.0, 1.0, 6).reshape(2, 3), "bias": jnp.ones(3)}}
GRADS = [jax.tree.map(lambda leaf, n=n: jnp.sin(leaf * (n + 1)), PARAMS) for n in range(5)]
EXACT = optax.chain(
    optax.scale_by_lion(b1=0.8, b2=0.99), optax.add_decayed_weights(0.1), optax.sgd(0.01)
)


def command(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cli.main(list(arguments))
    return code, out.getvalue()


def close(first, second):
    return jax.tree.all(jax.tree.map(lambda a, b: jnp.allclose(a, b, 1e-6, 0), first, second))


def trained(tx, grads=GRADS):
    params, state = PARAMS, tx.init(PARAMS)
    for each in grads:
        updates, state = tx.update(each, state, params)
        params = optax.apply_updates(params, updates)
    return params


# The warning names the replacement for these very values.
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    definition = optim.Lion(0.01, beta1=0.8, weight_decay=0.1)
TEXT = (
    "optax.chain(optax.scale_by_lion(b1=0.8, b2=0.99), optax.add_decayed_weights(0.1),"
    " optax.scale_by_learning_rate(0.01))"
)
assert TEXT in str(shown[0].message), shown[0].message
warnings.simplefilter("ignore")

# Steps outside jit and inside, and one with another rate.
outside = inside = definition.create(PARAMS)
step = jax.jit(lambda optimizer, grads: optimizer.apply_gradient(grads))
for each in GRADS:
    outside, inside = outside.apply_gradient(each), step(inside, each)
assert close(outside.target, trained(EXACT)) and close(inside.target, trained(EXACT))
still = outside.apply_gradient(GRADS[0], learning_rate=0.0)
assert close(still.target, outside.target) and still.state.step == 6
first = definition.create(PARAMS).apply_gradient(GRADS[0])
for override in ({"beta2": 0.5}, {"weight_decay": 0.5}):
    other = definition.create(PARAMS).apply_gradient(GRADS[0], **override)
    assert not close((other.target, other.state), (first.target, first.state)), override

# The way out, and its text.
assert close(trained(to_optax(definition, PARAMS)), trained(EXACT))
scope = {}
exec(optax_source(definition), scope)
assert close(trained(scope["tx"]), trained(EXACT))
state = outside.to_train_state()
assert optim.Optimizer.from_train_state(state).state.step == 5

# A MultiOptimizer: the kernel moves, the bias does not.
kernels = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
part = optim.MultiOptimizer((kernels, definition)).create(PARAMS).apply_gradient(GRADS[0])
assert (part.target["dense"]["bias"] == 1).all()
assert (part.target["dense"]["kernel"] != PARAMS["dense"]["kernel"]).any()

# A checkpoint: restored, inspected, and converted to a TrainState of optax.
path = folder / "old.msgpack"
path.write_bytes(flax.serialization.to_bytes(outside))
restored = flax.serialization.from_bytes(definition.create(PARAMS), path.read_bytes())
assert close(restored.state, outside.state)
code, text = command("checkpoint", "inspect", str(path))
assert code == 0 and "Lion" in text, text
new = str(folder / "new.msgpack")
code, text = command(
    "checkpoint", "convert", str(path), new, "--to", "train-state", "--optimizer", "Lion"
)
assert code == 0, text

# Parity finds out what was done wrong.
wrong = optax.chain(
    optax.add_decayed_weights(0.1), optax.scale_by_lion(b1=0.8), optax.scale_by_learning_rate(0.01)
)
report = parity.compare(definition, wrong, PARAMS, GRADS)
assert [cause.key for cause in report.causes] == ["decay-before-moments"], report
report = parity.compare(definition, EXACT, PARAMS, GRADS)
assert report.equal

# A program is scanned, and rewritten in both ways.
OLD = """\
from flax import optim


def train(params, grads, rate):
    optimizer = optim.Lion(learning_rate=rate, beta1=0.8).create(params)
    for each in grads:
        optimizer = optimizer.apply_gradient(each)
    return optimizer.target
"""
program = folder / "train.py"
for target, expected in (("shim", "optim.Lion("), ("optax", "optax.scale_by_lion(b1=0.8)")):
    program.write_text(OLD)
    code, text = command("scan", str(program))
    assert "FOC201" in text, text
    code, text = command("rewrite", "--to", target, "--write", str(program))
    new = program.read_text()
    ast.parse(new)
    assert expected in new and "from flax import optim" not in new, new
    scope = {}
    exec(new, scope)
    moved = optim.Lion(0.01, beta1=0.8).create(PARAMS)
    for each in GRADS:
        moved = moved.apply_gradient(each)
    assert close(scope["train"](PARAMS, GRADS, 0.01), moved.target)
print("all of it")
