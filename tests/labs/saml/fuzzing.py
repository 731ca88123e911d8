"""Random changes of good messages: each is refused, or means what it meant before.

    python -m tests.labs.saml.fuzzing 600

goes on for so many seconds, with a new seed. A message that raises anything but a refusal, or that is read as something
else, is printed.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping
from copy import deepcopy

from lxml import etree

from domain.sso.saml import LogoutMessage, MetadataRefused, SamlRefused
from tests.server.saml.provider import (
    CBC_256,
    EXPECTED,
    NOW,
    SAML,
    Answer,
    answer,
    encoded,
    encrypted,
    own,
    provider,
    read,
    signed,
)
from tests.server.saml.test_logout import query_of, request_xml
from tests.server.saml.test_metadata import metadata
from tests.server.saml.wrapping import FORMS

TOKENS = (
    "<!---->", "<?x?>", "<!DOCTYPE a>", "<![CDATA[", "]]>", "&#0;", "&amp;", "&x;", "\x00", "\u200b", "\ud7ff", "%00",
    "%", "=", "&", "+", " ", "_assertion1", "_response1", 'ID="_1"', "xmlns:a=''", "<saml:Assertion/>", "9" * 30, "-1",
    "2026-11-28T12:00:00Z", "9999-99-99T99:99:99Z", "http://www.w3.org/2000/09/xmldsig#rsa-sha1", "</", "/>", "<a>",
)  # fmt: skip


def texts(source: random.Random, text: str) -> str:
    """Return a text with a few pieces removed, repeated, moved or inserted."""
    for _ in range(source.randint(1, 4)):
        start = source.randrange(len(text) + 1)
        end = min(len(text), start + source.choice((0, 1, 1, 8, 60, 600)))
        piece = source.choice(
            ("", text[start:end] * 2, source.choice(TOKENS), chr(source.randrange(1, 0xD7FF)))
        )
        text = text[:start] + piece + text[end:]
    return text


def trees(source: random.Random, text: str) -> str:
    """Return a document with elements removed, repeated, moved or with other attributes."""
    root = etree.fromstring(text.encode())
    for _ in range(source.randint(1, 3)):
        elements = [one for one in root.iter("*") if one is not root]
        if not elements:
            break
        element, other = source.choice(elements), source.choice(elements)
        match source.randrange(5):
            case 0:
                element.getparent().remove(element)
            case 1:
                element.addnext(deepcopy(element))
            case 2:
                other.append(deepcopy(element))
            case 3:
                element.text = source.choice((*TOKENS[:1], other.text or "", "x"))
            case _:
                name = source.choice((*element.keys(), "ID", "Algorithm", "URI"))
                element.set(name, source.choice((*other.values(), "", "x")))
    return str(etree.tostring(root), "ascii")


Reader = Callable[[str], object]


def _logout(query: str) -> object:
    return SAML.read_logout(LogoutMessage(query), own(), provider(), EXPECTED, NOW)


def _logout_form(document: str) -> object:
    form = {"SAMLRequest": encoded(document.encode("utf-8", "surrogatepass"))}
    return SAML.read_logout(LogoutMessage(form=form), own(), provider(), EXPECTED, NOW)


def corpus() -> Mapping[str, tuple[str, Reader]]:
    """Return messages by name, each with what reads it."""
    assertion = signed(Answer().assertion_xml())
    both = answer(sign=("assertion", "response"))
    wrapped = {f"form {name}": form(etree.fromstring(both)) for name, form in FORMS.items()}
    responses = {
        "assertion": answer(),
        "response": answer(sign=("response",)),
        "both": both,
        "gcm": Answer().response_xml(encrypted(assertion)),
        "cbc": Answer().response_xml(encrypted(assertion, CBC_256)),
        **{name: str(etree.tostring(root), "ascii") for name, root in wrapped.items()},
    }
    return {
        **{name: (text, _response) for name, text in responses.items()},
        "field": (encoded(answer()), _field),
        "query": (query_of(request_xml().encode()), _logout),
        "logout form": (signed(request_xml()), _logout_form),
        "metadata": (metadata().decode(), lambda text: SAML.read_metadata(text.encode("utf-8", "surrogatepass"), NOW)),
    }  # fmt: skip


def _response(document: str) -> object:
    return read(document.encode("utf-8", "surrogatepass"))


def _field(text: str) -> object:
    return SAML.read_response(text, own(), provider(), EXPECTED, NOW)


def outcome(reader: Reader, text: str) -> object:
    """Return what is read, or None for a refusal."""
    try:
        return reader(text)
    except (SamlRefused, MetadataRefused):
        return None


def run(source: random.Random, number: int) -> tuple[int, list[str]]:
    """Try changed messages; return how many were read all the same, and those that were read as something else."""
    # A change can undo the wrapping of a message, which then means what it meant before it was wrapped.
    genuine = _response(answer())
    known = {
        name: (text, reader, outcome(reader, text) or genuine) for name, (text, reader) in corpus().items()
    }
    accepted, wrong = 0, []
    for _ in range(number):
        name = source.choice([*known])
        text, reader, meant = known[name]
        is_tree = name not in {"query", "field"} and source.random() < 0.5
        changed = (trees if is_tree else texts)(source, text)
        found = outcome(reader, changed)
        accepted += found is not None
        # Metadata is not signed: it may say something else.
        if name != "metadata" and found is not None and found != meant:
            wrong.append(f"{name}: {changed}")
    return accepted, wrong


def main(seconds: float) -> int:
    """Go on for so many seconds; return the exit code."""
    seed, end, total = time.time_ns(), time.monotonic() + seconds, 0
    source = random.Random(seed)
    while time.monotonic() < end:
        accepted, wrong = run(source, 2_000)
        total += 2_000
        print(f"seed {seed}: {total} messages, of the last 2,000 {accepted} read", flush=True)
        if wrong:
            print(*wrong, sep="\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
