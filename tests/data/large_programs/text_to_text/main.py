import tempfile

import jax

from text_to_text import bindings, train_lib, utils
from text_to_text.models import Encoder, EncoderModel

BASE = """
create_learning_rate_scheduler.base = 0.3
create_learning_rate_scheduler.factors = 'constant * linear_warmup * rsqrt'
train.num_steps = 3
"""
CONFIGS = {
    "adafactor": """
        train.optimizer_def = @Adafactor()
        Adafactor.min_dim_size_to_factor = 8
        Adafactor.decay_rate = 0.8
        train.num_microbatches = 2
    """,
    "split": """
        train.optimizer_def = @split_optimizer()
        split_optimizer.patterns = ('norm', 'embedder', 'mixer')
        create_learning_rate_scheduler.base = 0.05
    """,
    "adam": """
        train.optimizer_def = @Adam()
        Adam.beta2 = 0.98
        Adam.weight_decay = 0.01
        create_learning_rate_scheduler.base = 0.02
    """,
}


@bindings.configurable
def train(directory, optimizer_def, num_steps, num_microbatches=None, seed=0):
    model = EncoderModel(Encoder(), optimizer_def, z_loss=1e-4)
    optimizer = train_lib.create_optimizer(model, jax.random.PRNGKey(seed))
    checkpointer = train_lib.Checkpointer(directory)
    optimizer = checkpointer.restore(optimizer)
    trainer = train_lib.Trainer(
        model,
        optimizer,
        learning_rate_fn=utils.create_learning_rate_scheduler(),
        num_microbatches=num_microbatches,
    )
    batches = utils.get_batches(seed=trainer.step)
    metrics = trainer.train(batches, num_steps)
    checkpointer.save(trainer.optimizer)
    return metrics, trainer.step, trainer.evaluate(next(batches)), trainer.optimizer.target


def run():
    found = {}
    for name, text in CONFIGS.items():
        bindings.parse_config(BASE + text)
        with tempfile.TemporaryDirectory() as directory:
            train(directory)
            *results, params = train(directory)
        found[name] = results, params, utils.norms(params)
    return found


if __name__ == "__main__":
    run()
