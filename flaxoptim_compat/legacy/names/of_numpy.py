"""Names that numpy dropped between 1.19 and today."""

from __future__ import annotations

from flaxoptim_compat.legacy.names.table import entries

ENTRIES = entries(
    """
numpy
  1.24.0 builtins: complex float int long=int object str unicode=str -> {}
  2.0.0 math math
  # Modules that numpy imported for itself, and that programs silenced warnings with.
  1.24.0 os os
  1.24.0 sys sys
  1.24.0 warnings warnings
  2.0.0 numpy: bool8=bool_ bytes0=bytes_ cfloat=complex128 clongfloat=clongdouble
      complex_=complex128 float_=float64 int0=intp longcomplex=clongdouble longfloat=longdouble
      object0=object_ singlecomplex=complex64 str0=str_ string_=bytes_ uint0=uintp unicode_=str_
      void0=void Inf=inf Infinity=inf NAN=nan NaN=nan PINF=inf infty=inf alltrue=all
      cumproduct=cumprod mat=asmatrix product=prod round_=round sometrue=any
  2.4.0 numpy: trapz=trapezoid
  2.5.0 numpy: row_stack=vstack
  1.24.0 numpy: typeDict=sctypeDict
  2.0.0 numpy.exceptions: AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError
      VisibleDeprecationWarning
  2.0.0 numpy.lib: add_docstring add_newdoc tracemalloc_domain
  2.0.0 numpy.lib.npyio: DataSource
  2.0.0 numpy.lib.array_utils: byte_bounds
  2.0.0 numpy.char: compare_chararrays
  2.0.0 numpy.rec: format_parser
  2.0.0 ast: safe_eval=literal_eval
  1.23.0 ~numpy_names: alen -> len(a)
  1.23.0 ~numpy_names: asscalar -> a.item()
  2.4.0 ~numpy_names: in1d -> numpy.isin
  2.0.0 ~numpy_names: NINF -> -numpy.inf
  2.0.0 ~numpy_names: NZERO -> -0.0
  2.0.0 ~numpy_names: PZERO -> 0.0
  2.0.0 ~numpy_names: asfarray -> numpy.asarray(a, dtype=float)
  2.0.0 ~numpy_names: disp -> print
  2.0.0 ~numpy_names: msort -> numpy.sort(a, axis=0)
  2.0.0 ~numpy_types: cast -> numpy.asarray(x).astype(dtype)
  2.0.0 ~numpy_types: find_common_type -> numpy.result_type
  2.0.0 ~numpy_types: issctype -> issubclass(rep, numpy.generic)
  2.0.0 ~numpy_types: issubclass_ -> issubclass
  2.0.0 ~numpy_types: issubsctype -> numpy.issubdtype
  2.0.0 ~numpy_types: maximum_sctype -> the type that you need
  2.0.0 ~numpy_types: nbytes -> numpy.dtype(type).itemsize
  2.0.0 ~numpy_types: obj2sctype -> numpy.dtype(rep).type
  2.0.0 ~numpy_types: sctype2char -> numpy.dtype(sctype).char
  2.0.0 ~numpy_types: sctypes -> the types that you need
numpy.lib
  2.0.0 numpy: pad
  # The public names of these modules were public in numpy itself too.
  2.0.0 numpy arraypad arraysetops function_base histograms index_tricks nanfunctions polynomial
      shape_base twodim_base type_check ufunclike utils
numpy.fft
  2.4.0 numpy.fft helper
numpy.linalg
  2.4.0 numpy.linalg linalg
numpy.testing
  1.25.0 numpy.testing utils
"""
)
