# One of two definitions, of which the run chooses the first; the text alone does not move them.
from flax import optim


def definition(name):
    if name == "adam":
        return optim.Adam(learning_rate=0.1)
    return optim.RMSProp(learning_rate=0.1)


def step(optimizer, grads):
    # The run does not come here.
    return optimizer.apply_gradient(grads)


def run(params, name, write, grads=None):
    optimizer = definition(name).create(params)
    if grads is not None:
        optimizer = step(optimizer, grads)
    results = {"loss": 0.5, "optimizer": optimizer}
    for each in results:
        if each.startswith("loss"):
            write(each, results[each])
    return results["optimizer"].target
