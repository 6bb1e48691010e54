"""Names that numpy dropped between 1.19 and today."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import group, stand_ins

BUILTINS = (
    *group(
        "numpy",
        "builtins",
        "numpy 1.24.0",
        "complex float int long=int object str unicode=str",
        "{}",
    ),
    Entry("numpy.math", "math", "numpy 2.0.0"),
    # Modules that numpy imported for itself, and that programs silenced warnings with.
    *(Entry(f"numpy.{name}", name, "numpy 1.24.0") for name in ("os", "sys", "warnings")),
)

ALIASES = (
    *group(
        "numpy",
        "numpy",
        "numpy 2.0.0",
        "bool8=bool_ bytes0=bytes_ cfloat=complex128 clongfloat=clongdouble complex_=complex128"
        " float_=float64 int0=intp longcomplex=clongdouble longfloat=longdouble object0=object_"
        " singlecomplex=complex64 str0=str_ string_=bytes_ uint0=uintp unicode_=str_ void0=void",
    ),
    *group(
        "numpy", "numpy", "numpy 2.0.0", "Inf=inf Infinity=inf NAN=nan NaN=nan PINF=inf infty=inf"
    ),
    *group(
        "numpy",
        "numpy",
        "numpy 2.0.0",
        "alltrue=all cumproduct=cumprod mat=asmatrix product=prod round_=round sometrue=any",
    ),
    Entry("numpy.trapz", "numpy:trapezoid", "numpy 2.4.0"),
    Entry("numpy.row_stack", "numpy:vstack", "numpy 2.5.0"),
    Entry("numpy.typeDict", "numpy:sctypeDict", "numpy 1.24.0"),
)

MOVED = (
    *group(
        "numpy",
        "numpy.exceptions",
        "numpy 2.0.0",
        "AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError"
        " VisibleDeprecationWarning",
    ),
    *group("numpy", "numpy.lib", "numpy 2.0.0", "add_docstring add_newdoc tracemalloc_domain"),
    Entry("numpy.DataSource", "numpy.lib.npyio:DataSource", "numpy 2.0.0"),
    Entry("numpy.byte_bounds", "numpy.lib.array_utils:byte_bounds", "numpy 2.0.0"),
    Entry("numpy.compare_chararrays", "numpy.char:compare_chararrays", "numpy 2.0.0"),
    Entry("numpy.format_parser", "numpy.rec:format_parser", "numpy 2.0.0"),
    Entry("numpy.safe_eval", "ast:literal_eval", "numpy 2.0.0"),
    Entry("numpy.lib.pad", "numpy:pad", "numpy 2.0.0"),
)

STOOD_IN_FOR = (
    *stand_ins("numpy", "numpy_names", "numpy 1.23.0", {"alen": "len(a)", "asscalar": "a.item()"}),
    *stand_ins("numpy", "numpy_names", "numpy 2.4.0", {"in1d": "numpy.isin"}),
    *stand_ins(
        "numpy",
        "numpy_names",
        "numpy 2.0.0",
        {
            "NINF": "-numpy.inf",
            "NZERO": "-0.0",
            "PZERO": "0.0",
            "asfarray": "numpy.asarray(a, dtype=float)",
            "disp": "print",
            "msort": "numpy.sort(a, axis=0)",
        },
    ),
    *stand_ins(
        "numpy",
        "numpy_types",
        "numpy 2.0.0",
        {
            "cast": "numpy.asarray(x).astype(dtype)",
            "find_common_type": "numpy.result_type",
            "issctype": "issubclass(rep, numpy.generic)",
            "issubclass_": "issubclass",
            "issubsctype": "numpy.issubdtype",
            "maximum_sctype": "the type that you need",
            "nbytes": "numpy.dtype(type).itemsize",
            "obj2sctype": "numpy.dtype(rep).type",
            "sctype2char": "numpy.dtype(sctype).char",
            "sctypes": "the types that you need",
        },
    ),
)

# What was public in these was public in numpy itself too.
MODULES = (
    *(
        Entry(f"numpy.lib.{name}", "numpy", "numpy 2.0.0")
        for name in (
            "arraypad",
            "arraysetops",
            "function_base",
            "histograms",
            "index_tricks",
            "nanfunctions",
            "polynomial",
            "shape_base",
            "twodim_base",
            "type_check",
            "ufunclike",
            "utils",
        )
    ),
    Entry("numpy.fft.helper", "numpy.fft", "numpy 2.4.0"),
    Entry("numpy.linalg.linalg", "numpy.linalg", "numpy 2.4.0"),
    Entry("numpy.testing.utils", "numpy.testing", "numpy 1.25.0"),
)

ENTRIES: tuple[Entry, ...] = (*BUILTINS, *ALIASES, *MOVED, *STOOD_IN_FOR, *MODULES)
