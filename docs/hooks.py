"""MkDocs hooks for building the site: add generated pages, rewrite links, complete the navigation."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Set
from itertools import chain
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.links import PAGES, mended
from docs.site import generated_pages

_GENERATED = {page.path: page for page in generated_pages()}
_LINK = re.compile(r"\]\(([\w-]+\.md)")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)

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

    The pages that it does not name are in the order of the links of the index, in groups by its headings. `pages` has
    the text of each page by its path.
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
    return entries + [entry for index in indexes for entry in _rest(index, pages[index], unnamed)]


def _rest(index: str, text: str, unnamed: Set[str]) -> Navigation:
    """Return the pages next to an index that the navigation does not name, in the order in which it links to them.

    Pages that it links to below a heading of the second level are a group with that title, unless it would be the only
    one. Pages without a link come last.
    """
    folder = posixpath.dirname(index)
    first, *rest = _HEADING.split(text)
    parts = {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
    left = {path for path in unnamed if posixpath.dirname(path) == folder}
    groups: dict[str, list[str]] = {}
    for title, part in parts.items():
        linked = dict.fromkeys(posixpath.join(folder, link) for link in _LINK.findall(part))
        groups[title] = [path for path in linked if path in left]
        left -= linked.keys()
    untitled = groups.pop("")
    titled = {title: paths for title, paths in groups.items() if paths}
    if len(titled) > 1:
        return [*untitled, *({title: paths} for title, paths in titled.items()), *sorted(left)]
    return [*untitled, *chain(*titled.values()), *sorted(left)]


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
    """Rewrite the links of a page. Generated pages, which are long lists, come last in the search."""
    path = page.file.src_uri
    if path not in _GENERATED:
        return mended(markdown, PAGES + path, path)
    page.meta.setdefault("search", {"boost": 0.5})
    return mended(markdown, _GENERATED[path].source, path)
