"""How Sphinx builds these pages. What the code says in them is written by `generate.py`, before."""

import hedgerow

project = "hedgerow"
author = "the hedgerow authors"
copyright = author
version = release = hedgerow.__version__
language = "en-GB"

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"hedgerow {release}"
html_static_path = ["_static"]
html_css_files = ["fold.css"]
myst_heading_anchors = 3
smartquotes = False  # they turn the dashes of options into other dashes
