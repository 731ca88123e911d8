"""The contract as one document: openapi/openapi.yaml and its files.

To read the YAML files takes a quarter of a second, so the result is saved in openapi/bundle/, which is not part of the
repository: by the build of the package, `make setup` included, and whenever the files have changed since.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from http.client import BAD_REQUEST
from pathlib import Path
from typing import Any

import orjson
import yaml

from codegen.requests_only import without_answers
from codegen.walk import operations, resolve
from codegen.webhooks import KEY

Document = dict[str, Any]

INDEX = Path(__file__).resolve().parent.parent / "openapi" / "openapi.yaml"
"""The root of the contract; next to this package, in the source tree and once installed."""

FOLDER = "bundle"
"""The folder of saved bundles, beside the root of the contract."""

EXTENSION = "x-gatewright"
"""The key of an operation's data for this service, which is not published."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML loader with the types of JSON: an unquoted date stays a string."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and the type are PyYAML's
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_SECTIONS = (
    "schemas",
    "responses",
    "parameters",
    "examples",
    "headers",
    "requestBodies",
    "links",
    "securitySchemes",
)
"""The sections of components. A file with one of these names holds that section; any other has sections of its own."""

_WITH_COMPONENTS = ("components", "webhooks")
"""The folders of files whose sections are components of the document."""

_STRING, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


def _read(text: str) -> Any:
    """Parse a YAML text, in half the time of PyYAML's own constructor."""
    loader = _Loader(text)
    try:
        return _value(loader.get_single_node(), loader)
    finally:
        loader.dispose()


def _value(node: Any, loader: Any) -> Any:
    """Return the value of a node. PyYAML constructs numbers and other special values."""
    if isinstance(node, yaml.MappingNode):
        members: Document = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                # Merged here, because releases of PyYAML differ in the order of the members.
                for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    members = {**_value(part, loader), **members}
        return members | {
            _value(key, loader): _value(value, loader) for key, value in node.value if key.tag != _MERGE
        }
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, loader) for item in node.value]
    return node.value if node.tag == _STRING else loader.construct_object(node)


def bundle(
    *,
    cookie_name: str = "service.session-token",
    pending_cookie: str = "service.two-factor",
    base_path: str = "",
    index: Path = INDEX,
    internal: bool = False,
    requests_only: bool = False,
) -> Document:
    """Return the whole contract as one OpenAPI 3.0.3 document without references to files; a fresh copy each time.

    `cookie_name` and `pending_cookie` are written into the security schemes, `base_path` (empty, or `/…` without a
    trailing slash) becomes the server's URL. Paths are inlined, components stay references. Operations keep the
    extension `x-gatewright` only in an `internal` document, which is not for publication. `requests_only` leaves out
    what requests do not need, as `without_answers` does. Raises KeyError for a reference without a target.
    """
    document: Document = orjson.loads(_bundled(index, "requests" if requests_only else "contract"))
    if not internal:
        for operation in operations(document):
            operation.spec.pop(EXTENSION, None)
    schemes = document["components"].get("securitySchemes", {})
    for scheme, cookie in (("cookieAuth", cookie_name), ("pendingCookieAuth", pending_cookie)):
        if scheme in schemes:
            schemes[scheme]["name"] = cookie
    document["servers"] = [{"url": base_path or "/"}]
    return document


@lru_cache(maxsize=4)
def _bundled(index: Path, form: str) -> bytes:
    """Return the bundled contract in one of its forms as JSON; bytes, so callers cannot modify the cached value."""
    body = _saved(index, form)
    if body is None:
        bundled = forms(index)
        # An installed service may not be allowed to write there.
        with suppress(OSError):
            save(bundled, index.parent / FOLDER)
        body = bundled[form].partition(b"\n")[2]
    return body


def forms(index: Path) -> dict[str, bytes]:
    """Bundle the contract; return each of its forms as it is saved: the digest of its sources, a new line, and JSON."""
    document = _Files(index).bundled()
    return {
        form: _digest(index) + b"\n" + orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)
        for form, content in (("contract", document), ("requests", without_answers(document)))
    }


def save(bundled: dict[str, bytes], folder: Path) -> None:
    """Save the forms of a bundle in a folder, for starts to come. Raises OSError if that cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    for form, content in bundled.items():
        # Written under another name first: another process may be reading the file.
        written = folder / f"{form}.{os.getpid()}"
        written.write_bytes(content)
        written.replace(folder / f"{form}.json")


def _saved(index: Path, form: str) -> bytes | None:
    """Return a saved form, or None if there is none for the files as they are now."""
    try:
        digest, _, body = (index.parent / FOLDER / f"{form}.json").read_bytes().partition(b"\n")
    except OSError:
        return None
    return body if digest == _digest(index) else None


@lru_cache(maxsize=4)
def _digest(index: Path) -> bytes:
    """Return the digest of everything a bundle is made of: the contract's files, and the modules of this package."""
    digest = hashlib.sha256()
    for file in (*sorted(index.parent.rglob("*.yaml")), *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest().encode()


class _Files:
    """The files of one contract, each read once."""

    def __init__(self, index: Path) -> None:
        self._index = index.resolve()
        self._loaded: dict[Path, Any] = {}
        self._targets: dict[tuple[Path, str], Path] = {}
        """The targets of references, by the file they are in; querying the file system each time would slow startup."""

    def bundled(self) -> Document:
        """Return the root with its paths inlined, and the sections of every file under components/ and webhooks/.

        Raises KeyError for an unknown section, and for a component that is defined twice.
        """
        document: Document = self._rewritten(self._load(self._index), self._index)
        components = document.setdefault("components", {})
        for file in sorted((self._index.parent / "components").glob("*.yaml")):
            content = self._rewritten(self._load(file), file)
            for section, named in ({file.stem: content} if file.stem in _SECTIONS else content).items():
                _add(components, section, named, file)
        for file in sorted((self._index.parent / "webhooks").glob("*.yaml")):
            for section, named in self._rewritten(self._load(file), file).items():
                if section == "webhooks":
                    _merge(document.setdefault(KEY, {}), section, named, file)
                elif not section.startswith("x-"):
                    _add(components, section, named, file)
        _complete_error_codes(document)
        return document

    def _load(self, file: Path) -> Any:
        if file not in self._loaded:
            self._loaded[file] = _read(file.read_text("utf-8"))
        return self._loaded[file]

    def _target(self, where: str, file: Path) -> Path:
        if (file, where) not in self._targets:
            self._targets[file, where] = (file.parent / where).resolve()
        return self._targets[file, where]

    def _rewritten(self, node: Any, file: Path) -> Any:
        """Return `node` of `file` with every reference made local to one document."""
        if isinstance(node, list):
            return [self._rewritten(item, file) for item in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            return self._resolved(reference, file)
        return {key: self._rewritten(value, file) for key, value in node.items()}

    def _resolved(self, reference: str, file: Path) -> Any:
        """Return the replacement of a `$ref`: a reference into the bundle's components, or the target itself."""
        where, _, pointer = reference.partition("#")
        target = self._target(where, file) if where else file
        node = self._load(target)
        for escaped in pointer.strip("/").split("/") if pointer.strip("/") else ():
            key = escaped.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, dict) or key not in node:
                raise KeyError(f"{file.name}: {reference} leads nowhere")
            node = node[key]
        if target.parent.name in _WITH_COMPONENTS and pointer:
            section = f"/{target.stem}" if target.stem in _SECTIONS else ""
            return {"$ref": f"#/components{section}{pointer}"}
        if target == self._index and pointer.startswith("/components/"):
            return {"$ref": f"#{pointer}"}
        return self._rewritten(node, target)


def _add(components: Document, section: str, named: Document, file: Path) -> None:
    """Add a file's part of a section of components."""
    if section not in _SECTIONS:
        raise KeyError(f"{file.name}: {section} is not a section of components")
    _merge(components.setdefault(section, {}), section, named, file)


def _merge(there: Document, section: str, named: Document, file: Path) -> None:
    for name, component in named.items():
        if name in there:
            raise KeyError(f"{file.name}: there is another {section}/{name}")
        there[name] = component


def _complete_error_codes(document: Document) -> None:
    """Add the code of every example of an error to the enumeration `ErrorCode`."""
    schemas = document["components"].get("schemas", {})
    if "ErrorCode" in schemas:
        listed = schemas["ErrorCode"]["enum"]
        shown = {example["code"] for example in _error_examples(document) if "code" in example}
        schemas["ErrorCode"]["enum"] = sorted({*listed, *shown})


def _error_examples(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the examples of all JSON errors; those of the OAuth protocol have no code."""
    for operation in operations(document):
        for status, response in operation.spec["responses"].items():
            content = resolve(document, response).get("content", {}).get("application/json", {})
            if int(status) >= BAD_REQUEST:
                if "example" in content:
                    yield content["example"]
                for example in content.get("examples", {}).values():
                    yield resolve(document, example)["value"]
