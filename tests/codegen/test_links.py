"""Links between operations."""

from pathlib import Path

from codegen.bundle import bundle
from codegen.links import link_holders, without_links

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


def test_nothing_has_links_any_more_and_the_rest_stays() -> None:
    document = bundle(index=INDEX)

    stripped = without_links(document)

    assert any("links" in holder for holder in link_holders(document))
    assert not any("links" in holder for holder in link_holders(stripped))
    assert list(stripped["paths"]) == list(document["paths"])
