"""The pages of the rules, and writing them: ``python -m tests.rule_pages``."""

from __future__ import annotations

from pathlib import Path

from flaxoptim_compat.cli.rules import all_rules
from flaxoptim_compat.migrate.rules.pages import index, page

FOLDER = Path(__file__).parents[1] / "migration_guide" / "rules"


def pages() -> dict[Path, str]:
    """The text of every file in the folder."""
    rules = all_rules()
    texts = {FOLDER / f"{rule.code}.md": page(rule) for rule in rules}
    return {FOLDER / "README.md": index(rules), **texts}


def write() -> None:
    """Make the folder hold these files and no others."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)
    for path in set(FOLDER.iterdir()) - set(pages()):
        path.unlink()


if __name__ == "__main__":
    write()
