import tempfile

from registry_trainer.config import experiments
from registry_trainer.data import Dataset
from registry_trainer.hooks import CheckSteps, PrintLoss, Record
from registry_trainer.trainer import create_trainer


def train(name, config):
    record = Record()
    dataset = Dataset(config.classes, seed=config.root().seed)
    trainer = create_trainer(config, dataset, hooks=[PrintLoss(name), record, CheckSteps()])
    trainer.train()
    with tempfile.TemporaryDirectory() as directory:
        trainer.save(directory)
        restored = create_trainer(config, dataset).restore(directory)
    assert restored.current_step() == trainer.current_step()
    restored.run_step(config.steps)
    return dict(record.values), trainer.params, trainer.evaluate(), restored.optimizer.target


def run():
    return {name: train(name, config) for name, config in experiments().items()}


if __name__ == "__main__":
    run()
