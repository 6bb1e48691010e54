import functools

import jax
import jax.numpy as jnp

from vision.models import cross_entropy
from vision.state import TrainState


def learning_rate_fn(base, step, warmup=2, total=8):
    progress = jnp.clip((step - warmup) / (total - warmup), 0.0, 1.0)
    warm = jnp.minimum(1.0, (step + 1) / warmup)
    return base * warm * 0.5 * (1.0 + jnp.cos(jnp.pi * progress))


def clip_by_global_norm(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree_leaves(grads)))
    scale = jnp.minimum(1.0, max_norm / (norm + 1e-6))
    return jax.tree_map(lambda g: g * scale, grads), norm


def train_step(flax_module, hparams, train_state: TrainState, batch):
    rng, dropout_rng = jax.random.split(train_state.rng)
    dropout_rng = jax.random.fold_in(dropout_rng, jax.lax.axis_index("batch"))

    def training_loss_fn(params):
        logits, new_model_state = flax_module.apply(
            {"params": params, **train_state.model_state},
            batch["image"],
            train=True,
            mutable=["batch_stats"],
            rngs={"dropout": dropout_rng},
        )
        return cross_entropy(logits, batch["label"]), new_model_state

    optimizer = train_state.optimizer
    grad_fn = jax.value_and_grad(training_loss_fn, has_aux=True)
    (loss, new_model_state), grad = grad_fn(optimizer.target)
    loss, grad = jax.lax.pmean((loss, grad), axis_name="batch")
    if hparams.get("max_grad_norm"):
        grad, _ = clip_by_global_norm(grad, hparams["max_grad_norm"])
    lr = learning_rate_fn(hparams["base"], train_state.global_step)
    new_optimizer = optimizer.apply_gradient(grad, learning_rate=lr)

    ema_params = train_state.ema_params
    if ema_params is not None:
        ema_params = jax.tree_multimap(
            lambda ema, p: 0.9 * ema + 0.1 * p, ema_params, new_optimizer.target
        )
    new_train_state = train_state.replace(
        global_step=train_state.global_step + 1,
        optimizer=new_optimizer,
        model_state=new_model_state,
        rng=rng,
        ema_params=ema_params,
    )
    return new_train_state, {"loss": loss, "learning_rate": lr}


def eval_step(flax_module, train_state: TrainState, batch):
    ema_params = train_state.ema_params
    params = train_state.optimizer.target if ema_params is None else ema_params
    variables = {"params": params, **train_state.model_state}
    logits = flax_module.apply(variables, batch["image"], train=False, mutable=False)
    return jax.lax.pmean({"loss": cross_entropy(logits, batch["label"])}, "batch")


def pmapped(step_fn, *args, **kwargs):
    return jax.pmap(functools.partial(step_fn, *args), axis_name="batch", **kwargs)
