"""Update the catalogs of translations: `python -m codegen.catalogs` writes domain/locales/*.po, `--check` compares.

The texts come from the hosted pages, the emails, the error messages and the audit events. They are read from the source
files, so the service need not be importable. A catalog has no line numbers and no dates: it changes only if texts
change.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("ar", "de", "es", "fr", "pt-BR")
TEMPLATES = (("handlers/pages", "**/*.html"), ("server/templates/email", "**/*.*"))
"""Jinja templates, with `{% trans %}` and `_()`."""
MODULES = (
    ("domain", "**/*.py"),
    ("models", "*.py"),
    ("handlers", "*/**/*.py"),
    ("server/audit", "*.py"),
)
"""Python modules, with `gettext("...")`, `ngettext`, `N_`, and the label of an `Access`; in domain, also the messages
of errors."""

_KEYWORDS = {"_": None, "gettext": None, "N_": None, "ngettext": (1, 2), "Access": (2,)}
_JINJA = {"trimmed": "true", "newstyle_gettext": "true", "silent": "false"}
_PLACEHOLDER = re.compile(r"%\((\w+)\)[a-z]")
_TAG = re.compile(r"</?\w[^>]*>")
_NUMBERS = frozenset({"num", "count", "number"})
"""The placeholders that a plural form may leave out, as in "one key"."""
_PROTOCOL_ERRORS = ("OAuthError", "ScimError")
"""The classes of errors of other protocols, whose messages are not translated."""
_HEADER = """msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural_forms}\\n"

"""

Text = str | tuple[str, str]
"""A text, or its singular and plural."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files whose texts are translated, and the folder of the catalogs."""

    root: Path = ROOT
    catalogs: Path = field(default=ROOT / "domain" / "locales")

    def catalog(self, language: str) -> Path:
        """Return the file of a language."""
        return self.catalogs / f"{language}.po"


def texts(root: Path) -> dict[Text, set[str]]:
    """Return every text that is translated, with the files in which it occurs."""
    places_by_text: dict[Text, set[str]] = {}
    for path, text in (*_of_templates(root), *_of_modules(root)):
        places_by_text.setdefault(text, set()).add(path.relative_to(root).as_posix())
    return places_by_text


def updated(root: Path, language: str, catalog: Path) -> bytes:
    """Return the content of a catalog with the current texts: new ones are empty, obsolete ones are removed."""
    template = Catalog()
    for text, places in texts(root).items():
        template.add(text, locations=[(place, 0) for place in sorted(places)])
    existing = _read(language, catalog.read_bytes() if catalog.exists() else b"")
    existing.update(template, no_fuzzy_matching=True)
    for message in existing:
        message.flags = set()
    content = BytesIO()
    content.write(
        _HEADER.format(language=language, plural_forms=existing.plural_forms.removesuffix(";")).encode()
    )
    write_po(
        content,
        existing,
        width=110,
        omit_header=True,
        sort_output=True,
        ignore_obsolete=True,
        include_lineno=False,
    )
    return content.getvalue().rstrip(b"\n") + b"\n"


def problems(language: str, content: bytes) -> Iterator[str]:
    """Yield a message for each missing translation and each placeholder that differs from the source text."""
    for message in _read(language, content):
        if message.id:
            yield from (f"{language}: {problem}: {_singular(message)!r}" for problem in _wrong_with(message))


def _of_templates(root: Path) -> Iterator[tuple[Path, Text]]:
    for path in _files(root, TEMPLATES):
        yield from ((path, text) for text in _extracted("jinja2.ext:babel_extract", path, _JINJA))


def _of_modules(root: Path) -> Iterator[tuple[Path, Text]]:
    for path in _files(root, MODULES):
        yield from ((path, text) for text in _extracted("python", path, {}))
        yield from ((path, text) for text in _marked(path))
        if path.is_relative_to(root / "domain"):
            yield from ((path, text) for text in _messages_of_errors(path))


def _files(root: Path, patterns: tuple[tuple[str, str], ...]) -> Iterator[Path]:
    for folder, pattern in patterns:
        yield from (path for path in sorted((root / folder).glob(pattern)) if path.is_file())


def _extracted(method: str, path: Path, options: dict[str, str]) -> Iterator[Text]:
    with path.open("rb") as file:
        for _, text, _, _ in extract(method, file, keywords=_KEYWORDS, options=options):
            yield text if isinstance(text, str) else (text[0], text[1])


def _marked(path: Path) -> Iterator[str]:
    """Yield the texts in `N_("...")`; Babel does not find those inside the arguments of another call."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Call(func=ast.Name("N_"), args=[ast.Constant(str(text))]):
                yield text


def _messages_of_errors(path: Path) -> Iterator[str]:
    """Yield the messages of error classes: `message = "..."` in the body of a class.

    Errors of other protocols are for developers and are not translated.
    """
    protocol = set(_PROTOCOL_ERRORS)
    for node in ast.walk(ast.parse(path.read_bytes())):
        if not isinstance(node, ast.ClassDef):
            continue
        constants = dict(_constants(node))
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if node.name in protocol or bases & protocol:
            protocol.add(node.name)
        elif "message" in constants:
            yield constants["message"]


def _constants(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the constants in the body of a class, as text."""
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(value)):
                yield name, str(value)


def _read(language: str, content: bytes) -> Catalog:
    return read_po(BytesIO(content), locale=language.replace("-", "_"))


def _singular(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _wrong_with(message: Message) -> Iterator[str]:
    sources = [message.id] if isinstance(message.id, str) else list(message.id)
    forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
    if not forms or not all(forms):
        yield "no translation"
        return
    placeholders = set(_PLACEHOLDER.findall(sources[-1]))
    optional = _NUMBERS if len(forms) > 1 else frozenset()
    for form in forms:
        named = set(_PLACEHOLDER.findall(form))
        if named - placeholders or placeholders - named - optional or _unnamed(form) > _unnamed(sources[-1]):
            yield "other placeholders"
        if sorted(_TAG.findall(form)) != sorted(_TAG.findall(sources[-1])):
            yield "other markup"


def _unnamed(text: str) -> int:
    """Return the number of percent signs that do not begin a named placeholder; `%%` is not counted."""
    return _PLACEHOLDER.sub("", text).replace("%%", "").count("%")


def main(arguments: list[str] | None = None, *, tree: Tree | None = None) -> int:
    """Write the catalogs, and print the texts that are not translated.

    With `--check`, nothing is written; return 1 if a translation is missing or a catalog is out of date.
    """
    parser = argparse.ArgumentParser(prog="python -m codegen.catalogs", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when a catalog is not what would be written"
    )
    check = parser.parse_args(arguments).check
    files = tree or Tree()
    messages: list[str] = []
    for language in LANGUAGES:
        path = files.catalog(language)
        fresh = updated(files.root, language, path)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(fresh)
        elif not path.exists() or path.read_bytes() != fresh:
            messages.append(f"{path.name} is stale: run `make translations`")
        messages += problems(language, fresh)
    for problem in messages:
        print(problem, file=sys.stderr)
    return 1 if check and messages else 0


if __name__ == "__main__":
    sys.exit(main())
