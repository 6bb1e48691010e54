def check(thing):
    print(thing.target["w"])
    return thing


def twice(function):
    return lambda thing, x: function(function(thing, x), x)
