import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax.training import common_utils


def cross_entropy(logits, targets, label_smoothing=0.0):
    one_hot = common_utils.onehot(targets, logits.shape[-1])
    one_hot = one_hot * (1 - label_smoothing) + label_smoothing / logits.shape[-1]
    return -jnp.mean(jnp.sum(one_hot * jax.nn.log_softmax(logits), axis=-1))


def compute_metrics(logits, targets, axis_name="batch"):
    accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == targets)
    metrics = {"loss": cross_entropy(logits, targets), "accuracy": accuracy}
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
