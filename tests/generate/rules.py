"""The pages of the rules in ``migration_guide/rules``."""

from __future__ import annotations

from flaxoptim_compat.cli.rules import all_rules
from flaxoptim_compat.migrate.rules.pages import index, page
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE

FOLDER = GUIDE / "rules"


def files() -> Files:
    """The text of every file in the folder."""
    rules = all_rules()
    texts = {FOLDER / f"{rule.code}.md": page(rule) for rule in rules}
    texts = {FOLDER / "README.md": index(rules), **texts}
    return {path: text.encode() for path, text in texts.items()}


GENERATOR = Generator("migration_guide/rules: the rules of scan and rewrite", files, FOLDER)
