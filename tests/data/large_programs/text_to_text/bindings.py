"""Arguments of functions from a text, for programs that are too small for gin."""

import ast
import functools
import inspect

_CONFIGURABLES = {}
_BINDINGS = {}


def configurable(fn_or_name=None):
    def decorator(fn, name=None):
        name = name or fn.__name__

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            bound = {**_BINDINGS.get(name, {}), **kwargs}
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
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    name = value[1:].removesuffix("()")
    made = functools.partial(_CONFIGURABLES[name], **_BINDINGS.get(name, {}))
    return made() if value.endswith("()") else made


def parse_config(text):
    _BINDINGS.clear()
    for line in text.splitlines():
        key, _, value = line.strip().partition(" = ")
        if key:
            name, _, argument = key.rpartition(".")
            value = value if value.startswith("@") else ast.literal_eval(value)
            _BINDINGS.setdefault(name, {})[argument] = value
