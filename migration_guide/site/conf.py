"""The site made of this guide, as Sphinx reads it: CONTRIBUTING.md has the command."""

from __future__ import annotations

import sys
from pathlib import Path

from flaxoptim_compat import __version__, addresses

sys.path.insert(0, str(Path(__file__).parent))

project = "flaxoptim_compat"
release = version = __version__
html_title = f"{project} {release}"

root_doc = "README"
exclude_patterns = ["site"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reading_order", "api"]

# GitHub makes anchors of the headings, and the pages link to them.
myst_heading_anchors = 6
# The notebooks carry what they printed; their own test runs them.
nb_execution_mode = "off"

autodoc_typehints = "signature"
# These say more than what they stand for, and api.md says what that is.
autodoc_type_aliases = {name: name for name in ("Number", "PyTree", "Definition", "Params")}
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "sphinx_book_theme"
html_baseurl = addresses.urls().get("Documentation", "")
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
# Light or dark as the reader has it; the theme complains if nobody says so.
html_context = {"default_mode": "auto"}
html_use_index = False
html_domain_indices = False
html_copy_source = False
html_theme_options = {
    "footer_content_items": [],
    "use_download_button": False,
    "use_fullscreen_button": False,
    # The sidebar has a search field; a second one above it would be all that the header has.
    "navbar_persistent": [],
    "show_toc_level": 2,
    "show_navbar_depth": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
if repository := addresses.urls().get("Repository"):
    html_theme_options |= {
        "repository_url": repository,
        "path_to_docs": "migration_guide",
        "use_repository_button": True,
        "use_issues_button": True,
    }
