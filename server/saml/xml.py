"""Bounded parsing of XML by lxml: no document type, no entities, no network, few nodes, little depth.

The text is searched before the parser sees it, so that nothing is expanded, fetched or built first.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from lxml import etree

from domain.sso.saml import SamlRefusal, SamlRefused

Element: TypeAlias = Any  # lxml has no types
"""An element of lxml."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of an XML document. Real responses have a few hundred nodes and eleven levels."""

    nodes: int = 5_000
    depth: int = 40
    attributes: int = 64
    """The most attributes of one element, because libxml2 sorts them in quadratic time for canonicalization."""
    namespaces: int = 1_000
    """The most namespace declarations in the whole document."""
    has_comments: bool = False
    """Whether comments are removed; otherwise a document with comments is refused."""


MESSAGE = Bounds()
METADATA = Bounds(nodes=50_000, has_comments=True)

_DECLARATION = re.compile(
    r"\s*<\?xml\s+version\s*=\s*(?:'1\.0'|\"1\.0\")"
    r"(?:\s+encoding\s*=\s*(?:'utf-8'|\"utf-8\"))?"
    r"(?:\s+standalone\s*=\s*(?:'(?:yes|no)'|\"(?:yes|no)\"))?\s*\?>",
    re.IGNORECASE | re.ASCII,
)
_FORBIDDEN = re.compile(r"<\?|<!(?!\[CDATA\[)")
_FORBIDDEN_EXCEPT_COMMENTS = re.compile(r"<\?|<!(?!\[CDATA\[|--)")
_DATE_TIME = re.compile(r"[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
WHITESPACE = " \t\r\n"
"""The white space of XML. `str.strip` without it also removes other characters, such as a no-break space."""


def parser(bounds: Bounds = MESSAGE) -> Any:
    """Return a new parser that loads no external files and expands no entities."""
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        collect_ids=False,
        remove_comments=bounds.has_comments,
    )


def parse(document: bytes, bounds: Bounds = MESSAGE) -> Element:
    """Return the root element of a document in UTF-8. Raises SamlRefused."""
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SamlRefused(SamlRefusal.MALFORMED) from None
    # Only at the beginning: a search would look from every space of a document for the end of its white space.
    declaration = _DECLARATION.match(text)  # defence: SSO2 declaration
    if declaration is not None:
        text = text[declaration.end() :]
    forbidden = _FORBIDDEN_EXCEPT_COMMENTS if bounds.has_comments else _FORBIDDEN
    if forbidden.search(text):  # defence: SSO2 SSO3 forbidden
        raise SamlRefused(SamlRefusal.FORBIDDEN_XML)
    # Both are upper bounds, and cost nothing.
    is_small = text.count("<") <= 2 * bounds.nodes and text.count("xmlns") <= bounds.namespaces
    if not is_small:  # defence: SSO2 nodes
        raise SamlRefused(SamlRefusal.TOO_COMPLEX)
    try:
        root = etree.fromstring(text.encode(), parser(bounds))
    except etree.XMLSyntaxError:
        raise SamlRefused(SamlRefusal.MALFORMED) from None
    _check_shape(root, bounds)
    return root


def _check_shape(root: Element, bounds: Bounds) -> None:
    """Raise SamlRefused if the tree is too deep, too wide, or has nodes other than elements and text."""
    depth = 0
    for event, node in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event in {"comment", "pi"} or not isinstance(node.tag, str):  # defence: SSO3 kinds
            raise SamlRefused(SamlRefusal.FORBIDDEN_XML)
        depth += 1 if event == "start" else -1
        if depth > bounds.depth or len(node.attrib) > bounds.attributes:  # defence: SSO2 depth
            raise SamlRefused(SamlRefusal.TOO_COMPLEX)


def document_of(element: Element) -> Element:
    """Return a copy of an element as the root of a new document, with the namespaces that are in scope there."""
    # In ASCII, names with other letters would be written as references, which no parser reads.
    return etree.fromstring(etree.tostring(element, with_tail=False, encoding="utf-8"), parser())


def child(parent: Element, name: str) -> Element | None:
    """Return the only child of this name, or None. Raises SamlRefused if there are several."""
    found = parent.findall(name)
    if len(found) > 1:
        raise SamlRefused(SamlRefusal.UNEXPECTED)
    return found[0] if found else None


def text_of(element: Element | None) -> str | None:
    """Return the text of an element without white space around it; None if it is absent, empty, or has children."""
    if element is None or len(element):
        return None
    return (element.text or "").strip(WHITESPACE) or None


def time_of(text: str) -> datetime:
    """Return the time of an `xs:dateTime`, which is in UTC unless it says otherwise. Raises SamlRefused."""
    if not _DATE_TIME.fullmatch(text):
        raise SamlRefused(SamlRefusal.MALFORMED)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise SamlRefused(SamlRefusal.MALFORMED) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def time_attribute(element: Element, name: str) -> datetime | None:
    """Return the time in an attribute, or None without one. Raises SamlRefused."""
    text = element.get(name)
    return None if text is None else time_of(text)


def format_time(time: datetime) -> str:
    """Return a time as an `xs:dateTime` in UTC, without fractions of seconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
