"""What trainers call after each step."""

from collections import defaultdict


class Hook:
    every = 1

    def __call__(self, trainer, step, metrics):
        if step % self.every == 0:
            self.run(trainer, step, metrics)

    def run(self, trainer, step, metrics):
        raise NotImplementedError


class PrintLoss(Hook):
    def __init__(self, name):
        self.name = name

    def run(self, trainer, step, metrics):
        print("%s step %d loss %.5f" % (self.name, step, metrics["loss"]), flush=True)


class Record(Hook):
    def __init__(self):
        self.values = defaultdict(list)

    def run(self, trainer, step, metrics):
        for key, value in metrics.items():
            self.values[key].append(float(value))


class CheckSteps(Hook):
    """The optimizer has made as many steps as the trainer."""

    every = 2

    def run(self, trainer, step, metrics):
        assert trainer.current_step() == step + 1
