# Optimizers that threads and pools of them are given, make and keep.
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

from arrays import gradients, parameters
from flax import optim


def work(rate):
    optimizer = optim.Momentum(rate).create(parameters())
    return optimizer.apply_gradient(gradients(optimizer.target))


class Saver:
    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.saved = {}

    def save(self, name, optimizer):
        return self.pool.submit(self._keep, name, optimizer)

    def _keep(self, name, optimizer):
        self.saved[name] = optimizer.target, int(optimizer.state.step)


class Worker(threading.Thread):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate
        self.trained = None

    def run(self):
        self.trained = work(self.rate)


class Schedule:
    rate_of = staticmethod(lambda step: 0.5 / (1 + step))
    steps = property(lambda self: self.optimizer.state.step)

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        optimizer = self.optimizer
        grads = gradients(optimizer.target)
        return type(self)(optimizer.apply_gradient(grads, learning_rate=self.rate_of(self.steps)))


def evaluate(found, optimizer):
    found["evaluated"] = optimizer.target


def run():
    with ThreadPoolExecutor(2) as pool:
        pooled = [trained.target for trained in pool.map(work, [0.1, 0.2])]
        pooled.append(pool.submit(work, 0.3).result().target)
        futures = {pool.submit(work, rate): name for name, rate in (("a", 0.4), ("b", 0.5))}
        named = {futures[done]: done.result().target for done in as_completed(futures)}

    saver, found = Saver(), {}
    optimizer = optim.Adam(0.1).create(parameters())
    for step in range(2):
        optimizer = optimizer.apply_gradient(gradients(optimizer.target))
        saver.save(step, optimizer).result()
    thread = threading.Thread(target=evaluate, args=(found, optimizer))
    worker = Worker(0.6)
    for each in (thread, worker):
        each.start()
    for each in (thread, worker):
        each.join()
    schedule = Schedule(optim.GradientDescent(0.0).create(parameters())).step().step()
    return pooled, named, saver.saved, found, worker.trained.target, schedule.optimizer.target
