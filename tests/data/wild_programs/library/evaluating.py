from . import public


def evaluate(config):
    agent = public.Agent(config)
    return agent.opt.target
