import arrays

from .making import create


class Agent:
    def __init__(self, config):
        self.opt = create(config, arrays.parameters())
