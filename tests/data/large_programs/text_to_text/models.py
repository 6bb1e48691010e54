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


class Layer(nn.Module):
    """Mixes positions by fixed weights instead of by attention, and then features."""

    hidden: int

    @nn.compact
    def __call__(self, x, memory=None):
        mixer = self.param("mixer", nn.initializers.normal(0.4), (LENGTH, LENGTH))
        y = RMSNorm(name="mixer_norm")(x)
        x = x + jnp.einsum("blc,lm->bmc", y, mixer)
        if memory is not None:
            cross = self.param("cross", nn.initializers.normal(0.4), (LENGTH, LENGTH))
            x = x + jnp.einsum("blc,lm->bmc", memory, cross)
        y = nn.gelu(nn.Dense(self.hidden, use_bias=False, name="wi")(RMSNorm(name="mlp_norm")(x)))
        return x + nn.Dense(x.shape[-1], use_bias=False, name="wo")(y)


class EncoderDecoder(nn.Module):
    dim: int = 16
    hidden: int = 32

    @nn.compact
    def __call__(self, inputs, decoder_inputs):
        embed = nn.Embed(VOCAB, self.dim, name="token_embedder")
        memory = RMSNorm(name="encoder_norm")(Layer(self.hidden, name="encoder")(embed(inputs)))
        y = Layer(self.hidden, name="decoder")(embed(decoder_inputs), memory)
        return embed.attend(RMSNorm(name="decoder_norm")(y)) / jnp.sqrt(self.dim)


class BaseModel:
    """A module, its loss, and the definition of its optimizer."""

    def __init__(self, module: nn.Module, optimizer_def: optim.OptimizerDef):
        self.module = module
        self.optimizer_def = optimizer_def

    def get_initial_params(self, rng):
        ones = jnp.ones((1, LENGTH), jnp.int32)
        return self.module.init(rng, ones, ones)["params"]

    def eval_fn(self, params, batch):
        loss, (weight_sum, metrics) = self.loss_fn(params, batch)
        return loss, weight_sum, metrics


@configurable
class EncoderDecoderModel(BaseModel):
    def __init__(self, module, optimizer_def, z_loss=0.0):
        super().__init__(module, optimizer_def)
        self.z_loss = z_loss

    def compute_logits(self, params, batch):
        targets = batch["targets"]
        decoder_inputs = jnp.pad(targets[:, :-1], ((0, 0), (1, 0)))
        return self.module.apply({"params": params}, batch["inputs"], decoder_inputs)

    def loss_fn(self, params, batch):
        logits = self.compute_logits(params, batch)
        one_hot = jax.nn.one_hot(batch["targets"], VOCAB)
        log_z = jax.scipy.special.logsumexp(logits, axis=-1)
        losses = log_z - jnp.sum(one_hot * logits, axis=-1) + self.z_loss * log_z**2
        weights = batch["weights"]
        correct = (jnp.argmax(logits, axis=-1) == batch["targets"]) * weights
        metrics = {"loss": jnp.sum(losses * weights), "accuracy": jnp.sum(correct)}
        return metrics["loss"], (jnp.sum(weights), metrics)
