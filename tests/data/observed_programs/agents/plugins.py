import importlib


def prepared(thing):
    return importlib.import_module("tools").check(thing)


def hooks(function):
    return [getattr(importlib.import_module("tools"), "twice")(function)]
