"""Files of gin, which has the tokens of Python and a grammar of its own."""

from __future__ import annotations

import ast
import io
import tokenize

from flaxoptim_compat.migrate.parsing import Unparsable

_BETWEEN = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def parse_gin(text: str) -> ast.Module:
    """The statements of gin as a module of as many ``pass``: rules for Python find nothing in it.

    Args:
      text: of the file.

    Raises:
      Unparsable: gin could not read it either.
    """
    body: list[ast.stmt] = []
    first: tuple[int, int] | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NEWLINE and first is not None:
                line, column = token.start
                places = {"lineno": first[0], "col_offset": first[1]}
                body.append(ast.Pass(**places, end_lineno=line, end_col_offset=column))
                first = None
            elif first is None and token.type not in _BETWEEN:
                first = token.start
    except tokenize.TokenError as error:
        raise Unparsable(error.args[1][0], error.args[0]) from error
    except SyntaxError as error:
        raise Unparsable(error.lineno or 0, error.msg) from error
    return ast.Module(body, [])
