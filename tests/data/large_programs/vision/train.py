import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

from vision import models, optimizers, trainer
from vision import state as state_lib

DEFAULTS = {"optimizer": "momentum", "base": 0.05, "weight_decay": 1e-3, "ema": False}
EXPERIMENTS = {
    "decayed": {"optimizer": "decayed"},
    "ema": {"ema": True, "max_grad_norm": 0.5},
    "lars": {"optimizer": "lars", "base": 1.0},
}


def get_batch(step, size=8):
    templates = np.random.RandomState(7).normal(size=(3, 6, 6, 3))
    rng = np.random.RandomState(step)
    label = rng.randint(len(templates), size=size)
    image = templates[label] + rng.normal(scale=0.4, size=(size, 6, 6, 3))
    return common_utils.shard({"image": image.astype(np.float32), "label": label})


def init_state(flax_module, hparams, rng):
    rng, init_rng = jax.random.split(rng)
    variables = jax.jit(flax_module.init)({"params": init_rng}, jnp.ones((1, 6, 6, 3)))
    model_state, params = variables.pop("params")
    optimizer = optimizers.get_optimizer(hparams).create(params)
    return state_lib.TrainState(
        global_step=0,
        optimizer=optimizer,
        model_state=model_state,
        rng=rng,
        ema_params=params if hparams["ema"] else None,
    )


def train(hparams, workdir, steps, init_from=None):
    flax_module = models.ConvNet()
    train_state = init_state(flax_module, hparams, jax.random.PRNGKey(0))
    if init_from is not None:
        params = state_lib.pretrained_params(init_from, train_state)
        new_optimizer = train_state.optimizer.replace(target=params)
        train_state = train_state.replace(optimizer=new_optimizer)
    train_state = state_lib.restore_checkpoint(workdir, train_state)
    start_step = int(train_state.global_step)
    assert start_step == int(train_state.optimizer.state.step)
    train_state = jax_utils.replicate(train_state)

    train_step = trainer.pmapped(trainer.train_step, flax_module, hparams)
    eval_step = trainer.pmapped(trainer.eval_step, flax_module)
    history = []
    for step in range(start_step, start_step + steps):
        train_state, metrics = train_step(train_state, get_batch(step))
        metrics = jax.tree_map(lambda x: float(x[0]), metrics)
        history.append(metrics["loss"])
        print("step %d loss %.5f rate %.4f" % (step, metrics["loss"], metrics["learning_rate"]))
        if step % 2:
            state_lib.save_checkpoint(workdir, train_state)

    train_state = state_lib.sync_batch_stats(train_state)
    metrics = eval_step(train_state, get_batch(1000))
    train_state = jax_utils.unreplicate(train_state)
    best_loss = min(float(train_state.best_loss), float(metrics["loss"][0]))
    return train_state.replace(best_loss=best_loss), history


def summary(train_state, history):
    return {
        "history": np.array(history),
        "params": train_state.optimizer.target,
        "steps": [train_state.global_step, train_state.optimizer.state.step],
        "count": state_lib.param_count(train_state),
        "ema": train_state.ema_params,
        "best": train_state.best_loss,
    }


def run():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, changes in EXPERIMENTS.items():
            workdir = os.path.join(folder, name)
            found[name] = summary(*train(dict(DEFAULTS, **changes), workdir, steps=2))
        hparams = dict(DEFAULTS, **EXPERIMENTS["ema"])
        ema = os.path.join(folder, "ema")
        found["resumed"] = summary(*train(hparams, ema, steps=1))
        tuned = os.path.join(folder, "tuned")
        found["tuned"] = summary(*train(hparams, tuned, steps=1, init_from=ema))
    return found


if __name__ == "__main__":
    run()
