# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How Sphinx builds the documents: make htmldocs."""

import re

project = "rdma_cm_alt"
author = copyright = "the rdma_cm_alt maintainers"
extensions = ["sphinx.ext.graphviz"]
# The first is included by others, the second is for man.
exclude_patterns = ["results", "man"]
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "fixed_sidebar": True}
html_show_sourcelink = False
graphviz_output_format = "svg"
nitpicky = True

# The documents link to each other by file names, which any reader of reStructuredText understands, and to
# files of the tree. Here the ones become references, which are checked, the others files to download.
LINK = re.compile(r"`([^`<]+?)\s*<([\w./-]+)>`_")


def link(match):
    """What a link is to Sphinx."""
    text, target = match.groups()
    if target.endswith(".rst") and "/" not in target:
        return f":doc:`{text} <{target[:-4]}>`"
    return f":download:`{text} <{target}>`"


def on_source_read(app, docname, source):
    """Changes the text of a document before it is parsed."""
    source[0] = LINK.sub(link, source[0])


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", on_source_read)
