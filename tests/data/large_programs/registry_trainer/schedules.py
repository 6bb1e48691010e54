import jax.numpy as jnp

from registry_trainer.registry import SCHEDULES


@SCHEDULES.register("constant")
def constant(base, steps, warmup):
    return lambda step: base


@SCHEDULES.register("linear")
def linear(base, steps, warmup):
    def schedule(step):
        return base * jnp.minimum((step + 1) / warmup, 1.0 - step / (2 * steps))

    return schedule


@SCHEDULES.register("cosine")
def cosine(base, steps, warmup):
    def schedule(step):
        warm = jnp.minimum(1.0, (step + 1) / warmup)
        return base * warm * 0.5 * (1 + jnp.cos(jnp.pi * step / steps))

    return schedule


@SCHEDULES.register("rsqrt", "inverse_square_root")
class RSqrt:
    def __init__(self, base, steps, warmup):
        self.base, self.warmup = base, warmup

    def __call__(self, step):
        return self.base / jnp.sqrt(jnp.maximum(step, self.warmup))


def create_schedule(config):
    make = SCHEDULES.partial(config.schedule.name, warmup=config.schedule.warmup)
    return make(config.optimizer.learning_rate, config.steps)
