import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax.training import common_utils


def weighted_cross_entropy(logits, targets, weights=None, label_smoothing=0.0):
    one_hot = common_utils.onehot(targets, logits.shape[-1])
    one_hot = one_hot * (1 - label_smoothing) + label_smoothing / logits.shape[-1]
    loss = -jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1)
    return loss.mean() if weights is None else (loss * weights).sum() / weights.sum()


def correct(logits, targets):
    return jnp.mean(jnp.argmax(logits, axis=-1) == targets)


METRICS = {"loss": weighted_cross_entropy, "accuracy": correct}


def compute_metrics(logits, targets, axis_name="batch"):
    metrics = {name: fn(logits, targets) for name, fn in METRICS.items()}
    return jax.lax.pmean(metrics, axis_name)


@flax.struct.dataclass
class Average:
    """A mean that is fed one value after the other."""

    total: float = 0.0
    count: int = 0

    def update(self, value):
        return self.replace(total=self.total + value, count=self.count + 1)

    def compute(self):
        return np.float32(self.total / max(self.count, 1))
