"""Where this project is on the web, as its package says: ``[project.urls]`` of ``pyproject.toml``.

While nothing stands there, nothing that is printed or written names an address.
"""

from __future__ import annotations

import functools


@functools.cache
def urls() -> dict[str, str]:
    """The addresses of the installed package by their labels, such as ``Documentation``."""
    from importlib import metadata  # takes longer to import than the command line

    try:
        found = metadata.metadata("flaxoptim_compat").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:  # only its files are there
        return {}
    return {label: url.rstrip("/") for label, url in (each.split(", ", 1) for each in found)}


def page_of_rule(code: str) -> str:
    """The page of a rule on the site or, if there is none, in the repository; else nothing.

    Args:
      code: such as ``FOC205``.
    """
    if site := urls().get("Documentation"):
        return f"{site}/rules/{code}.html"
    if repository := urls().get("Repository"):
        return f"{repository}/blob/main/migration_guide/rules/{code}.md"
    return ""
