"""Arguments of functions from a text, for programs that are too small for gin."""

import ast
import functools
import inspect

_CONFIGURABLES = {}


class Scope:
    """The bindings of one name; those of the scopes around it count too."""

    def __init__(self, name="", parent=None):
        self.name, self.parent, self.values = name, parent, {}

    def lookup(self, key):
        scope = self
        while scope is not None:
            if key in scope.values:
                return scope.values[key]
            scope = scope.parent
        return None

    def path(self):
        names, scope = [], self
        while scope.parent is not None:
            names.append(scope.name)
            scope = scope.parent
        return "/".join(reversed(names))


_SCOPES = {"": Scope()}


def configurable(fn_or_name=None):
    def decorator(fn, name=None):
        name = name or fn.__name__

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            bound = dict(_SCOPES[name].values) if name in _SCOPES else {}
            bound.update(kwargs)
            return fn(*args, **{k: _resolve(v) for k, v in bound.items()})

        _CONFIGURABLES[name] = fn if inspect.isclass(fn) else wrapped
        return _CONFIGURABLES[name]

    if callable(fn_or_name):
        return decorator(fn_or_name)
    return functools.partial(decorator, name=fn_or_name)


def external_configurable(obj, name):
    _CONFIGURABLES[name] = obj
    return obj


def _resolve(value):
    if isinstance(value, str) and value.startswith("@"):
        name = value[1:]
        call = name.endswith("()")
        name = name[:-2] if call else name
        scope = _SCOPES.get(name, _SCOPES[""])
        made = functools.partial(
            _CONFIGURABLES[name], **{k: _resolve(v) for k, v in scope.values.items()}
        )
        return made() if call else made
    return value


def parse_config(text):
    for name in [name for name in _SCOPES if name]:
        del _SCOPES[name]
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        key, _, value = line.partition(" = ")
        name, _, argument = key.rpartition(".")
        scope = _SCOPES.setdefault(name, Scope(name, _SCOPES[""]))
        scope.values[argument] = value if value.startswith("@") else ast.literal_eval(value)


def query(name, argument):
    scope = _SCOPES.get(name, _SCOPES[""])
    return scope.lookup(argument)
