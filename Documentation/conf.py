# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How Sphinx builds the documents: make htmldocs."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from sphinx.errors import ConfigError, ExtensionError

if importlib.util.find_spec("furo") is None:
    raise ConfigError("the theme is not installed: apt-get install furo")

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
ROOT = Path(__file__).resolve().parent.parent

project = "rdma_cm_alt"
author = copyright = "the rdma_cm_alt maintainers"
extensions = ["sphinx.ext.graphviz", "theme"]
exclude_patterns = ["man"]
highlight_language = "none"
# It reads on a telephone and in the dark, and its pages fetch nothing from other sites.
html_theme = "furo"
html_title = "rdma_cm_alt"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
graphviz_output_format = "svg"
nitpicky = True

# Only the web pages have what repeats a source: the reference of the headers, and the diagram of states.
BUILT = re.compile(r"^\.\. built from: (scripts/gen-(?:states|uapi-doc)) (\w+)$", re.MULTILINE)

# The documents link to each other by file names, which any reader of reStructuredText understands, and to
# files of the tree. Here the ones become references, which are checked, the others files to download.
LINK = re.compile(r"`([^`<]+?)\s*<([\w./-]+)>`_")


def link(match):
    """What a link is to Sphinx."""
    text, target = match.groups()
    if target.endswith(".rst") and "/" not in target:
        # The name of a file says little in a browser: the title of the page does.
        if text == target:
            return f":doc:`{target[:-4]}`"
        return f":doc:`{text} <{target[:-4]}>`"
    return f":download:`{text} <{target}>`"


def built(match):
    """The output of a generator, between blank lines."""
    ran = subprocess.run([ROOT / match[1], match[2]], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ExtensionError(f"{match[1]} failed: {ran.stderr.strip()}")
    return f"\n{ran.stdout}\n"


def on_source_read(app, docname, source):
    """Changes the text of a document before it is parsed."""
    source[0] = LINK.sub(link, BUILT.sub(built, source[0]))


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", on_source_read)
