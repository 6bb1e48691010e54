"""Modules of ``flax.nn``, and models: a module with its parameters."""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar

import jax
from flax import jax_utils, struct
from jax import random

from flaxoptim_compat import deprecation
from flaxoptim_compat.nn import stochasticity
from flaxoptim_compat.nn.arguments import documented
from flaxoptim_compat.nn.collection import Collection as Collection
from flaxoptim_compat.nn.collection import ModuleState as ModuleState
from flaxoptim_compat.nn.collection import capture_module_outputs as capture_module_outputs
from flaxoptim_compat.nn.collection import collection_from_iterable as collection_from_iterable
from flaxoptim_compat.nn.collection import get_state as get_state
from flaxoptim_compat.nn.collection import is_stateful as is_stateful
from flaxoptim_compat.nn.collection import iterate_collection as iterate_collection
from flaxoptim_compat.nn.collection import keep_output
from flaxoptim_compat.nn.collection import stateful as stateful
from flaxoptim_compat.nn.frames import MODULE_STACK, ModuleFrame, top_frame
from flaxoptim_compat.nn.frames import CallStack as CallStack
from flaxoptim_compat.nn.frames import classproperty as classproperty
from flaxoptim_compat.nn.stochasticity import fold_in_name, outside_of_transformations

# The class methods that take the arguments of ``apply`` after their own.
MODULE_CLASSMETHODS = ["create", "create_by_shape", "init", "init_by_shape", "call", "partial"]


class _ModuleMeta(abc.ABCMeta):
    """The metaclass that gives a module the docstring and the signature of its ``apply``."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        apply: Any = getattr(cls, "apply")  # noqa: B009
        parameters = tuple(inspect.signature(apply).parameters.values())[1:]
        cls.__doc__ = apply.__doc__
        cls.__signature__ = inspect.Signature(parameters)
        if bases:
            for method in MODULE_CLASSMETHODS:
                setattr(cls, method, classmethod(_with_arguments_of(cls, method, parameters)))


def _with_arguments_of(
    cls: type, method: str, parameters: tuple[inspect.Parameter, ...]
) -> Callable[..., Any]:
    """The method of the class above, with a signature that includes the arguments of ``apply``."""
    general = getattr(Module, method)

    @functools.wraps(general)
    def special(class_: type, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(cls, class_), method)(*args, **kwargs)

    own = [
        parameter
        for parameter in inspect.signature(general).parameters.values()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    special.__doc__ = f"{general.__doc__}\n\nOf apply:\n\n{cls.__doc__}"
    special.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *parameters], __validate_parameters__=False
    )
    return special


class Module(metaclass=_ModuleMeta):
    """A function of inputs and parameters, written as the method ``apply`` of a class.

    The class itself is called like that function: in the ``apply`` of another module,
    ``Dense(x, features=3)`` is the output of a new ``Dense`` for ``x``.
    """

    _frame: ModuleFrame
    # The arguments that ``partial`` and ``shared`` settle.
    _settled: ClassVar[dict[str, Any]] = {}
    # The name that ``partial`` and ``shared`` settle.
    _default_name: ClassVar[str | None] = None
    # The module that holds the parameters of a shared module.
    _shared_in: ClassVar[ModuleFrame | None] = None
    # True if paths leave out the module inside this one.
    _is_transparent: ClassVar[bool] = False

    def __new__(cls, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """The output of a new module inside the module that is being applied.

        The default name of the new module is its class and a number.
        """
        if not MODULE_STACK:
            raise ValueError(
                f"{cls.__name__}(...) is called outside of a module. Only the `apply` of a flax.nn"
                f" module can call another module like that. Elsewhere, `{cls.__name__}.init(rng,"
                f" ...)` makes parameters, and `flax.nn.Model({cls.__name__}, params)` makes a"
                " model to call."
            )
        parent: ModuleFrame = cls._shared_in or MODULE_STACK[-1]
        if name is None:
            name = cls._default_name
        elif cls._shared_in is not None:
            raise ValueError(
                f"`name={name!r}` is given in a call of a shared module: give it to `shared(...)`."
            )
        if name is None:
            name = f"{cls.__name__}_{parent.create_name()}"
        cls._check_name(name, parent)
        rng = None
        if parent.is_init and name not in parent.params:
            rng = outside_of_transformations(parent.rng, lambda: fold_in_name(parent.rng, name))
            parent.params[name] = {}
        elif name not in parent.params:
            raise ValueError(
                f"There are no parameters for a module {name!r} in {parent.path}: `init` did not"
                " call that module. Initialize the model with the same calls."
            )
        frame = ModuleFrame(name, parent, parent.params[name], rng, transparent=cls._is_transparent)
        return cls._apply_in(frame, args, kwargs)

    @classmethod
    def _apply_in(cls, frame: ModuleFrame, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        instance: Any = object.__new__(cls)
        instance._frame = frame
        with MODULE_STACK.frame(frame):
            output = instance.apply(*args, **{**cls._settled, **kwargs})
            keep_output(output)
        return output

    @abc.abstractmethod
    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """The output for some inputs; each module overrides this with its formula."""

    @classmethod
    def shared(cls, *, name: str | None = None, **kwargs: Any) -> Any:
        """A module that has the same parameters in each call.

        Args:
          name: the name of the module; by default a number.
          **kwargs: arguments of ``apply`` that are settled.
        """
        if not MODULE_STACK:
            raise ValueError(
                f"`{cls.__name__}.shared(...)` is for the apply of a module. Elsewhere, make a"
                " `flax.nn.Model`, which can be called more than once."
            )
        parent: ModuleFrame = MODULE_STACK[-1]
        shared_name = parent.create_name() if name is None else name
        if shared_name in parent.shared_names:
            raise ValueError(f"There is another shared module {shared_name!r} in {parent.path}.")
        parent.shared_names.add(shared_name)
        return cls.partial(**kwargs)._derived(_default_name=shared_name, _shared_in=parent)

    @classmethod
    def partial(cls, *, name: str | None = None, **kwargs: Any) -> Any:
        """A module with some arguments settled; the arguments and the name of a call override them.

        Args:
          name: the default name of the module.
          **kwargs: arguments of ``apply`` that are settled.
        """
        name = cls._default_name if name is None else name
        return cls._derived(_default_name=name, _settled={**cls._settled, **kwargs})

    @classmethod
    def _derived(cls, **attributes: Any) -> Any:
        """A subclass with these attributes; the class keeps its name, which names parameters."""
        names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        kind: Any = type(cls)
        return kind(cls.__name__, (cls,), {**names, **attributes})

    @classmethod
    @documented
    def create(cls, _rng: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """The output for some inputs, and a model with new parameters."""
        deprecation.warn(_SAY_INIT.format("create", "init"))
        output, params = cls.init(_rng, *args, name=name, **kwargs)
        return output, Model(cls, params)

    @classmethod
    @documented
    def create_by_shape(
        cls, _rng: Any, input_specs: Any, *args: Any, name: str | None = None, **kwargs: Any
    ) -> Any:
        """The shape of the output for some shapes of inputs, and a model with new parameters."""
        deprecation.warn(_SAY_INIT.format("create_by_shape", "init_by_shape"))
        output, params = cls.init_by_shape(_rng, input_specs, *args, name=name, **kwargs)
        return output, Model(cls, params)

    @classmethod
    @documented
    def init(cls, _rng: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """The output for some inputs, and new parameters."""
        frame = cls._outermost(name, None, _rng)
        output = cls._apply_in(frame, args, kwargs)
        return output, cls._post_process_params(frame.params)

    @classmethod
    @documented
    def init_by_shape(
        cls, _rng: Any, input_specs: Any, *args: Any, name: str | None = None, **kwargs: Any
    ) -> Any:
        """The shape of the output for some shapes of inputs, and new parameters."""
        # A new key for the trace below: drawing keys from the block outside would change its count.
        key = stochasticity.make_rng() if stochasticity.is_stochastic() else None

        def initialize(*inputs: Any) -> Any:
            with nullcontext() if key is None else stochasticity.stochastic(key):
                return cls.init(_rng, *inputs, *args, name=name, **kwargs)

        return jax_utils.partial_eval_by_shape(initialize, input_specs)

    @classmethod
    @documented
    def call(cls, params: Any, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """The output for some inputs and parameters."""
        frame = cls._outermost(name, cls._pre_process_params(params), None)
        return cls._apply_in(frame, args, kwargs)

    @classmethod
    def _outermost(cls, name: str | None, params: Any, rng: Any) -> ModuleFrame:
        """The frame of a module with parameters of its own, also inside another module."""
        parent = MODULE_STACK[-1] if MODULE_STACK else None
        name = cls._default_name if name is None else name
        return ModuleFrame(name, parent, params, rng, transparent=cls._is_transparent)

    def param(self, name: str, shape: Any, initializer: Callable[..., Any]) -> Any:
        """A parameter of this module.

        Args:
          name: the name in this module.
          shape: the shape; None for a parameter of any type and shape.
          initializer: makes the parameter from a key and the shape.
        """
        frame = self._frame
        if frame.is_init:
            if name in frame.params:
                raise ValueError(f"There is another parameter {name!r} in {_place(frame)}.")
            frame.params[name] = outside_of_transformations(
                frame.rng, lambda: initializer(fold_in_name(frame.rng, name), shape)
            )
        value = self.get_param(name)
        if shape is not None and value.shape != shape:
            raise ValueError(
                f"The parameter {name!r} of {_place(frame)} has the shape {value.shape}, and the"
                f" module asks for {shape}. Give inputs of the shape with which the module was"
                " initialized, or initialize the module anew."
            )
        return value

    def get_param(self, name: str) -> Any:
        """A parameter that this module already has, by name."""
        if name not in self._frame.params:
            raise ValueError(
                f"There is no parameter {name!r} in {_place(self._frame)}, only"
                f" {', '.join(map(repr, self._frame.params)) or 'nothing'}. Make the parameter with"
                " `self.param(name, shape, initializer)`."
            )
        return self._frame.params[name]

    def state(
        self,
        name: str,
        shape: Any = None,
        initializer: Callable[..., Any] | None = None,
        collection: Any = None,
    ) -> ModuleState:
        """A variable of this module, whose ``value`` can be read and set.

        Args:
          name: the name in this module.
          shape: the second argument of the initializer.
          initializer: makes the first value from a key and the shape.
          collection: the collection that keeps the variable; by default that of the innermost block
            of ``stateful``.
        """
        top_frame("Module.state")
        kept_in = get_state() if collection is None else collection
        variable = ModuleState(kept_in, name)
        initializing = [frame for frame in MODULE_STACK if frame.is_init]
        if initializer is not None and initializing:
            frame = initializing[-1]

            def initialize() -> tuple[Any, Any]:
                rng, key = random.split(frame.rng)
                return rng, initializer(key, shape)

            frame.rng, variable.value = outside_of_transformations(frame.rng, initialize)
        return variable

    def is_stateful(self) -> bool:
        """True if there is a block of ``stateful`` around this call."""
        return is_stateful()

    def is_initializing(self) -> bool:
        """True if ``init`` is running, which makes the parameters."""
        top_frame("Module.is_initializing")
        return self._frame.is_init

    @classmethod
    def _check_name(cls, name: str, parent: ModuleFrame) -> None:
        if not isinstance(name, str):
            raise ValueError(f"The name of a module is a string, not {name!r}.")
        if "/" in name or ":" in name:
            raise ValueError(
                f"The name {name!r} of a module contains a slash or a colon. Give a name without"
                " these signs."
            )
        is_shared = cls._shared_in is not None
        if name in parent.shared and not (parent.shared[name] and is_shared):
            raise ValueError(
                f"There is another module {name!r} in {parent.path}. Give another name; to call one"
                " module more than once, make it with shared(...)."
            )
        parent.shared[name] = is_shared

    @classmethod
    def _pre_process_params(cls, params: Any) -> Any:
        return params

    @classmethod
    def _post_process_params(cls, params: Any) -> Any:
        return params


_SAY_INIT = (
    "flax.nn.Module.{0} was deprecated, and removed from Flax in 0.4.0. Use {1}, which returns the"
    " parameters, and flax.nn.Model(module, params)."
)


def _place(frame: ModuleFrame) -> str:
    try:
        return frame.path
    except TypeError:
        return "the module"


def module(fun: Callable[..., Any]) -> Any:
    """A module whose ``apply`` is a function.

    Args:
      fun: the function; all its parameters belong to modules that it calls.
    """

    @functools.wraps(fun)
    def apply(self: Module, *args: Any, **kwargs: Any) -> Any:
        del self
        return fun(*args, **kwargs)

    return _ModuleMeta(fun.__name__, (Module,), {"apply": apply, "__module__": fun.__module__})


def module_method(fn: Callable[..., Any]) -> Any:
    """A method that uses the parameters of a module, for calls on a model or a shared module.

    Args:
      fn: the method, with the arguments of its own.
    """
    made: dict[type, type] = {}

    def method_of(cls: Any) -> type:
        if cls not in made:
            # The method is a module too, a subclass of the same class, and can call other methods.
            derived = _ModuleMeta(fn.__name__, (cls,), {"apply": fn, "__module__": cls.__module__})
            derived.__qualname__ = f"{cls.__qualname__}.{fn.__name__}"
            made[cls] = derived
        return made[cls]

    return classproperty(method_of)


class TransparentModule(Module):
    """A module around a single module, whose parameters it has as its own."""

    _is_transparent = True

    @classmethod
    def _pre_process_params(cls, params: Any) -> Any:
        return {"0": params}

    @classmethod
    def _post_process_params(cls, params: Any) -> Any:
        if list(params) != ["0"]:
            raise ValueError(
                "A transparent module calls one module, with name='0', and has no parameters of"
                f" its own. The module here has {', '.join(map(repr, params)) or 'no parameters'}."
            )
        return params["0"]


class TruncatedModule(TransparentModule):
    """A module that returns the outputs of modules inside another: see ``Model.truncate_at``."""

    def apply(
        self,
        *args: Any,
        wrapped_module: Any = None,
        truncate_path: Any = None,
        **kwargs: Any,
    ) -> Any:
        """The outputs of modules inside ``wrapped_module``.

        Args:
          *args: positional arguments of the wrapped module.
          wrapped_module: the module to call.
          truncate_path: a path inside the wrapped module, or a list or a dict of paths.
          **kwargs: arguments of the wrapped module by name.
        """
        if wrapped_module is None or truncate_path is None:
            raise ValueError(
                "TruncatedModule takes wrapped_module=... and truncate_path=...: give both."
            )
        with capture_module_outputs() as outputs:
            wrapped_module(*args, **kwargs, name="0")
        return jax.tree.map(lambda path: outputs[path], truncate_path)


@struct.dataclass
class Model:
    """A module with its parameters, which is called like a function of the inputs.

    Args:
      module: the module.
      params: the parameters that its ``init`` returned.
    """

    module: Any = struct.field(pytree_node=False)
    params: Any = struct.field(pytree_node=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output for some inputs; the arguments are those of ``apply``, and ``name``."""
        return self.module.call(self.params, *args, **kwargs)

    def truncate_at(self, module_path: Any) -> Any:
        """A model that returns the outputs of modules inside this model.

        Args:
          module_path: a path such as ``/encoder/Dense_0``, or a list or a dict of paths. The result
            for a path is a list with the output of each call.
        """
        truncated = TruncatedModule.partial(wrapped_module=self.module, truncate_path=module_path)
        return self.replace(module=truncated)

    def __getattr__(self, name: str) -> Any:
        # copy and pickle ask for attributes before the model has a module.
        if not name.startswith("__"):
            method = getattr(self.module, name)
            if inspect.isclass(method) and issubclass(method, Module):
                return functools.partial(method.call, self.params)
        raise AttributeError(
            f"The model has no attribute {name!r}, only `module`, `params` and the methods of its"
            " module that are made with `@flax.nn.module_method`."
        )

    def __contains__(self, name: object) -> bool:
        # Today's TrainState calls ``in`` for its parameters and for their gradients.
        return name in self.params

    def __hash__(self) -> int:
        # By identity: a function that jax compiled for a model contains the model's parameters.
        return id(self)
