"""Rewrite the links of documents from elsewhere in the repository for their place on the site."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = "docs/pages/"
"""The folder of the site's pages in the repository."""

HOMES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "contributing/code-of-conduct.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "SECURITY.md": "security/index.md",
    "SECURITY-TESTS.md": "security/tests.md",
    "openapi/CHANGELOG.md": "reference/changelog.md",
}
"""The documents of the repository that are also pages of the site."""

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|[#/]")


def mended(text: str, source: str, at: str) -> str:
    """Return the text of the file `source` of the repository, with its links rewritten for the path `at` of the
    site.

    A link to another document leads to its page. A link to a file that is not a page, such as a module, is replaced by
    the file's name. A broken link is left unchanged, so that the build reports it.
    """

    def mend(link: re.Match[str]) -> str:
        label, target = link.groups()
        if _ELSEWHERE.match(target):
            return link[0]
        path, mark, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        home = HOMES.get(file) or (file.removeprefix(PAGES) if file.startswith(PAGES) else None)
        if home is not None:
            return f"[{label}]({posixpath.relpath(home, posixpath.dirname(at) or '.')}{mark}{anchor})"
        if (ROOT / file).exists():
            return label if "`" in label else f"`{label}`"
        return link[0]

    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _LINK.sub(mend, part) for number, part in enumerate(parts))
