"""MkDocs hooks for building the site: add generated pages, rewrite links, complete the navigation."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.links import PAGES, mended
from docs.site import generated_pages

_GENERATED = {page.path: page for page in generated_pages()}
_LINK = re.compile(r"\]\(([\w-]+\.md)")

Navigation = list[Any]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation."""
    folder = Path(config.docs_dir)
    written = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.md")}
    generated = {path: page.text for path, page in _GENERATED.items()}
    config.nav = completed(config.nav or [], {**written, **generated})
    return config


def completed(navigation: Navigation, pages: Mapping[str, str]) -> Navigation:
    """Return the navigation without missing pages, and with all pages of the folders whose `index.md` it names.

    The pages that it does not name are in the order of the links of the index. `pages` has the text of each page by its
    path.
    """
    return _completed(navigation, pages, pages.keys() - set(_named(navigation)))


def _completed(navigation: Navigation, pages: Mapping[str, str], unnamed: Set[str]) -> Navigation:
    entries = [
        {title: _below(entry, pages, unnamed) for title, entry in one.items()}
        if isinstance(one, dict)
        else one
        for one in navigation
        if isinstance(one, dict) or one in pages
    ]
    indexes = [
        entry for entry in entries if isinstance(entry, str) and posixpath.basename(entry) == "index.md"
    ]
    return entries + [path for index in indexes for path in _rest(index, pages[index], unnamed)]


def _rest(index: str, text: str, unnamed: Set[str]) -> Sequence[str]:
    """Return the pages next to an index that the navigation does not name: those that it links to, then the others."""
    folder = posixpath.dirname(index)
    linked = [posixpath.join(folder, link) for link in _LINK.findall(text)]
    rest = sorted(path for path in unnamed if posixpath.dirname(path) == folder)
    return sorted(rest, key=lambda path: linked.index(path) if path in linked else len(linked))


def _below(entry: Any, pages: Mapping[str, str], unnamed: Set[str]) -> Any:
    return _completed(entry, pages, unnamed) if isinstance(entry, list) else entry


def _named(navigation: Navigation) -> Iterator[str]:
    """Yield every page that is named, at any depth."""
    for entry in navigation:
        if isinstance(entry, dict):
            for below in entry.values():
                yield from _named(below if isinstance(below, list) else [below])
        else:
            yield entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for generated in _GENERATED.values():
        files.append(File.generated(config, generated.path, content=generated.text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page."""
    path = page.file.src_uri
    return mended(markdown, _GENERATED[path].source if path in _GENERATED else PAGES + path, path)
