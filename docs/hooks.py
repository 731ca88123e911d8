"""MkDocs hooks for building the site: add generated pages, rewrite links, complete the navigation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.links import PAGES, mended
from docs.site import generated_pages

_GENERATED = {page.path: page for page in generated_pages()}
_GROWING = ("contributing", "guides", "operations", "reference/operations")
"""The folders whose pages are added to the navigation automatically, after the named ones, below their index."""

Navigation = list[Any]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation."""
    there = {path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md")}
    config.nav = completed(config.nav or [], there | set(_GENERATED))
    return config


def completed(navigation: Navigation, there: set[str]) -> Navigation:
    """Return the navigation without missing pages, and with the pages of a growing folder that it does not name."""
    return _completed(navigation, there, there - set(_named(navigation)))


def _completed(navigation: Navigation, there: set[str], unnamed: set[str]) -> Navigation:
    entries = [
        {title: _below(entry, there, unnamed) for title, entry in one.items()}
        if isinstance(one, dict)
        else one
        for one in navigation
        if isinstance(one, dict) or one in there
    ]
    begun = tuple(f"{folder}/" for folder in _GROWING if f"{folder}/index.md" in entries)
    return entries + [path for path in sorted(unnamed) if begun and path.startswith(begun)]


def _below(entry: Any, there: set[str], unnamed: set[str]) -> Any:
    return _completed(entry, there, unnamed) if isinstance(entry, list) else entry


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
