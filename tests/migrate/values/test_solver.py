"""What an expression can hold is found along the constraints, and there is an end to it."""

from __future__ import annotations

import textwrap

import pytest

from flaxoptim_compat.migrate.program.imported_files import imported_files
from flaxoptim_compat.migrate.values import solver
from flaxoptim_compat.migrate.values.points_to import PointsTo
from tests.support.rewriting_texts import document, rewrite

HEAD = "import jax\nfrom flax import optim\n\n\n"
STAYS = "apply_gradient("
MOVES = "apply_gradients("

# What a program does, and whether its optimizer can be told to be one all the way.
MOVING = {
    "a helper takes optimizers and arrays": """
        def first(tree):
            return jax.tree_map(lambda x: x[0], tree)

        def train(params, grads, batches):
            optimizer = optim.Adam(0.1).create(params)
            batch = first(batches)
            batch = batch.reshape(-1)
            optimizer = first(optimizer)
            return optimizer.apply_gradient(grads).target
        """,
    "a field that the class above sets": """
        class Base:
            def __init__(self, params):
                self.optimizer = optim.Adam(0.1).create(params)

        class Trainer(Base):
            def __init__(self, params):
                super().__init__(params)

            def step(self, grads):
                self.optimizer = self.optimizer.apply_gradient(grads)

        trainer = Trainer({})
        trainer.step({})
        """,
    "a field that the class below sets": """
        class Base:
            def step(self, grads):
                self.optimizer = self.optimizer.apply_gradient(grads)

        class Trainer(Base):
            def __init__(self, params):
                self.optimizer = optim.Adam(0.1).create(params)

        Trainer({}).step({})
        """,
    "a property with a setter": """
        class Trainer:
            def __init__(self, params):
                self._optimizer = optim.Adam(0.1).create(params)

            @property
            def optimizer(self):
                return self._optimizer

            @optimizer.setter
            def optimizer(self, new):
                self._optimizer = new

            def step(self, grads):
                self.optimizer = self.optimizer.apply_gradient(grads)
        """,
    "a step that a method compiles and a field keeps": """
        class Trainer:
            def __init__(self, params):
                self.step_fn = self.compile(self.step)
                self.optimizer = optim.Adam(0.1).create(params)

            def compile(self, step):
                return jax.jit(step)

            def step(self, optimizer, grads):
                return optimizer.apply_gradient(grads)

            def train(self, grads):
                self.optimizer = self.step_fn(self.optimizer, grads)
        """,
    "a registry that a decorator fills": """
        MAKERS = {}

        def register(name):
            def add(function):
                MAKERS[name] = function
                return function
            return add

        @register("adam")
        def adam():
            return optim.Adam(0.1)

        def train(name, params, grads):
            optimizer = adam().create(params)
            return optimizer.apply_gradient(grads).target
        """,
    "lists and dicts that it is put into": """
        def train(params, grads):
            made, named = [], {}
            made.insert(0, optim.Adam(0.1).create(params))
            named.setdefault("first", made.pop())
            optimizer = named["first"]
            return optimizer.apply_gradient(grads).target
        """,
    "a function that a function returns": """
        def make_step(loss):
            def step(optimizer, batch):
                return optimizer.apply_gradient(jax.grad(loss)(optimizer.target, batch))
            return jax.jit(step)

        def train(loss, params, batch):
            step = make_step(loss)
            optimizer = step(optim.Adam(0.1).create(params), batch)
            return optimizer.target
        """,
    "an attribute that lengthens itself": """
        def root(node):
            while node.parent is not None:
                node = node.parent
            return node

        def train(params, grads, node=jax):
            node = root(node)
            optimizer = optim.Adam(0.1).create(params)
            return optimizer.apply_gradient(grads).target
        """,
}


def points_to(*texts: str) -> PointsTo:
    documents = [document(text, f"file{number}") for number, text in enumerate(texts)]
    return PointsTo(documents, imported_files(documents))


@pytest.mark.parametrize("name", MOVING)
def test_an_optimizer_is_known_along_its_way(name: str) -> None:
    result = rewrite(HEAD + textwrap.dedent(MOVING[name]), "optax")
    assert MOVES in result
    assert STAYS not in result
    assert "optim." not in result.replace("flax.training", "")


def test_what_may_be_one_of_many_functions_is_not_known() -> None:
    steps = "".join(
        f"def step{number}(x, grads):\n    return x.target\n\n\n"
        for number in range(2 * solver.MOST_OBJECTS)
    )
    names = ", ".join(f"step{number}" for number in range(2 * solver.MOST_OBJECTS))
    program = f"""{HEAD}{steps}STEPS = [{names}]


def train(params, grads, number):
    optimizer = optim.Adam(0.1).create(params)
    return STEPS[number](optimizer, grads)
"""
    result = rewrite(program, "optax")
    assert "optim.Adam(0.1).create(params)" in result
    assert "to one of too many" in result


def test_what_is_passed_on_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_MOST_PER_CONSTRAINT", 0)
    monkeypatch.setattr(solver, "_MOST_ANYWAY", 10)
    program = HEAD + textwrap.dedent(MOVING["a helper takes optimizers and arrays"])
    result = rewrite(program, "optax")
    assert STAYS in result
    assert "values go through the same code here" in result


def test_ten_programs_take_ten_times_as_much_as_one() -> None:
    text = HEAD + "\n\n".join(textwrap.dedent(each) for each in MOVING.values())
    one, ten = points_to(text), points_to(*[text] * 10)
    assert ten.counts[0] == 10 * one.counts[0]
    # What files ask for together is passed on once more here and there.
    assert 10 * one.counts[1] <= ten.counts[1] <= 11 * one.counts[1]


def test_what_has_nothing_to_do_with_optimizers_is_not_followed() -> None:
    layers = "\n".join(
        f"class Layer{number}:\n    def __init__(self, size):\n        self.size = [size, size]\n\n"
        f"    def apply(self, x):\n        return [each * x for each in self.size]\n\n"
        f"def use{number}(x):\n    layers = [Layer{number}(3) for _ in range(3)]\n"
        f"    return [each.apply(x) for each in layers]\n"
        for number in range(20)
    )
    text = HEAD + textwrap.dedent(MOVING["a field that the class above sets"])
    alone, beside = points_to(text), points_to(text + "\n" + layers)
    assert beside.counts[1] - alone.counts[1] < 200
