# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes pages of Debian's furo complete: a Sphinx extension that conf.py loads.

Debian 12 has furo without what its own build bundles: the styles import /javascript/..., which only a web server with
Debian's files has, the script imports another one, which a browser refuses in a file, and the rules for readers who
prefer the dark are missing, so only the button leads there. The pages get these parts from the installed packages. A
furo that has them is left as it is.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

DARK = 'body[data-theme="dark"]'
SHARED = Path("/usr/share/javascript")


def _shared(match):
    """The text of a style sheet that the theme imports."""
    try:
        return (SHARED / match[1]).read_text()
    except OSError as error:
        raise ExtensionError(f"the theme imports {error.filename}: {error.strerror}; reinstall furo") from error


def _styles(path):
    text = re.sub(r"@import url\(/javascript/([^)]+)\);?", _shared, path.read_text())
    if "prefers-color-scheme: dark" not in text:
        # The button shows which of the three choices is on; the rules for its pictures are complete.
        rules = re.findall(rf"^ *(?:html )?{re.escape(DARK)}(?! .theme-toggle)[^{{}}]*{{[^}}]*}}", text, re.MULTILINE)
        if not rules:
            raise ExtensionError(f"{path.name} of the theme has no rule for {DARK}")
        text += ("@media screen and (prefers-color-scheme: dark) {\n"
                 + "\n".join(rules).replace(DARK, 'body[data-theme="auto"]') + "\n}\n")
    path.write_text(text)


def _script(path):
    text = path.read_text()
    found = re.match(r'import \w+ from "\./([\w-]+\.js)";\n', text)
    if found:
        path.write_text((path.parent / found[1]).read_text() + text[found.end():])


def complete(app, error):
    """Called when the pages are written."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    _styles(static / "styles/furo.css")
    _script(static / "scripts/furo.js")


def setup(app):
    """Called by Sphinx."""
    app.connect("build-finished", complete)
    return {"parallel_read_safe": True}
