import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import optim

from text_to_text.bindings import configurable

VOCAB, LENGTH = 12, 5


class RMSNorm(nn.Module):
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        return scale * x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


class Encoder(nn.Module):
    """Mixes positions by fixed weights instead of by attention, and then features."""

    dim: int = 16

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(VOCAB, self.dim, name="token_embedder")
        x = embed(tokens)
        mixer = self.param("mixer", nn.initializers.normal(0.4), (LENGTH, LENGTH))
        x = x + jnp.einsum("blc,lm->bmc", RMSNorm(name="mixer_norm")(x), mixer)
        y = nn.Dense(2 * self.dim, use_bias=False, name="wi")(RMSNorm(name="mlp_norm")(x))
        x = x + nn.Dense(self.dim, use_bias=False, name="wo")(nn.gelu(y))
        return embed.attend(RMSNorm(name="final_norm")(x)) / jnp.sqrt(self.dim)


class BaseModel:
    """A module, its loss, and the definition of its optimizer."""

    def __init__(self, module: nn.Module, optimizer_def: optim.OptimizerDef):
        self.module = module
        self.optimizer_def = optimizer_def

    def get_initial_params(self, rng):
        ones = jnp.ones((1, LENGTH), jnp.int32)
        return self.module.init(rng, ones)["params"]

    def eval_fn(self, params, batch):
        loss, (weight_sum, metrics) = self.loss_fn(params, batch)
        return loss, weight_sum, metrics


@configurable
class EncoderModel(BaseModel):
    def __init__(self, module, optimizer_def, z_loss=0.0):
        super().__init__(module, optimizer_def)
        self.z_loss = z_loss

    def loss_fn(self, params, batch):
        logits = self.module.apply({"params": params}, batch["inputs"])
        one_hot = jax.nn.one_hot(batch["targets"], VOCAB)
        log_z = jax.scipy.special.logsumexp(logits, axis=-1)
        losses = log_z - jnp.sum(one_hot * logits, axis=-1) + self.z_loss * log_z**2
        weights = batch["weights"]
        correct = (jnp.argmax(logits, axis=-1) == batch["targets"]) * weights
        metrics = {"loss": jnp.sum(losses * weights), "accuracy": jnp.sum(correct)}
        return metrics["loss"], (jnp.sum(weights), metrics)
