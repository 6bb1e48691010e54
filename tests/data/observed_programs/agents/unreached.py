from flax import optim


def run(params, grads):
    optimizer = optim.GradientDescent(learning_rate=0.1).create(params)
    return optimizer.apply_gradient(grads).target
