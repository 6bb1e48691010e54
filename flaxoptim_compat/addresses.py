"""The web addresses of this project, from ``[project.urls]`` of ``pyproject.toml``.

Without addresses there, no text of this package names one.
"""

from __future__ import annotations

import functools


@functools.cache
def urls() -> dict[str, str]:
    """The addresses of the installed package by their labels, such as ``Documentation``."""
    from importlib import metadata  # takes longer to import than the command line

    try:
        lines = metadata.metadata("flaxoptim_compat").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:  # the files of the package are not installed
        return {}
    return {label: url.rstrip("/") for label, url in (line.split(", ", 1) for line in lines)}


def page_of_rule(code: str) -> str:
    """The page of a rule on the site, or else in the repository; "" without an address.

    Args:
      code: the code of the rule, such as ``FOC205``.
    """
    if site := urls().get("Documentation"):
        return f"{site}/rules/{code}.html"
    if repository := urls().get("Repository"):
        return f"{repository}/blob/main/migration_guide/rules/{code}.md"
    return ""
