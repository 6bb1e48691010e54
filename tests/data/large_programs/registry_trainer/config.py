"""Settings in scopes: what a scope does not have is looked up in the one around it."""


class Config:
    def __init__(self, parent=None, **entries):
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "_entries", dict(entries))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        scope = self
        while scope is not None:
            if name in scope._entries:
                return scope._entries[name]
            scope = scope.parent
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self._entries[name] = value

    def get(self, name, default=None):
        return getattr(self, name, default)

    def child(self, **entries):
        return Config(self, **entries)

    def to_dict(self):
        found = {} if self.parent is None else self.parent.to_dict()
        found.update(self._entries)
        return found

    def root(self):
        scope = self
        while scope.parent:
            scope = scope.parent
        return scope


def default_config():
    config = Config(seed=0, steps=4, batch_size=16, features=(16, 16), classes=4, weight_decay=0.0)
    config.optimizer = config.child(name="adam", learning_rate=1e-2, beta1=0.9, beta2=0.999)
    config.schedule = config.child(name="constant", warmup=2)
    config.model = config.child(name="mlp")
    config.trainer = "single"
    config.loss = "cross_entropy"
    return config


def experiments():
    def changed(trainer="single", model="mlp", schedule="constant", steps=4, **optimizer):
        config = default_config()
        config.trainer, config.steps = trainer, steps
        config.model = config.child(name=model)
        config.schedule = config.child(name=schedule, warmup=2)
        config.optimizer = config.optimizer.child(**optimizer)
        return config

    return {
        "adam": changed(schedule="cosine"),
        "adamw": changed(name="adamw", weight_decay=0.01),
        "momentum": changed(name="momentum", learning_rate=0.1, beta=0.8, schedule="linear"),
        "sgd": changed(name="sgd", learning_rate=0.2, model="linear"),
        "lamb": changed(name="lamb", learning_rate=0.02),
        "rmsprop": changed(name="rmsprop", trainer="parallel"),
        "wide": changed(trainer="parallel", model="wide", schedule="rsqrt"),
        "averaged": changed(trainer="averaged", name="nesterov", learning_rate=0.05),
    }
