import functools


class Registry:
    """Classes and functions by their names."""

    def __init__(self, kind):
        self.kind = kind
        self._entries = {}

    def register(self, *names):
        def decorator(obj):
            for name in names or (obj.__name__,):
                if name in self._entries:
                    raise KeyError("%s %s is registered twice" % (self.kind, name))
                self._entries[name] = obj
            return obj

        return decorator

    def register_all(self, entries):
        for name, obj in entries.items():
            self.register(name)(obj)

    def get(self, name):
        try:
            return self._entries[name]
        except KeyError:
            raise KeyError("no %s is called %s" % (self.kind, name)) from None

    def partial(self, name, **kwargs):
        return functools.partial(self.get(name), **kwargs)

    def __contains__(self, name):
        return name in self._entries

    def names(self):
        return sorted(self._entries)


MODELS = Registry("model")
OPTIMIZERS = Registry("optimizer")
SCHEDULES = Registry("schedule")
LOSSES = Registry("loss")
TRAINERS = Registry("trainer")
