"""Operation ids of the published document, and links between operations."""

from codegen.bundle import bundle
from codegen.links import link_holders, without_links
from codegen.operation_ids import bare_ids, flat_ids
from codegen.walk import operations

DOCUMENT = bundle()


def test_dots_become_underscores_in_links_too() -> None:
    document = flat_ids(DOCUMENT)
    signed_up = document["paths"]["/sign-up/email"]["post"]["responses"]["200"]

    assert document["paths"]["/get-session"]["get"]["operationId"] == "sessions_get_current"
    assert [one.path for one in operations(document) if "." in one.spec["operationId"]] == []
    assert signed_up["links"]["signIn"]["operationId"] == "authentication_sign_in_email"


def test_bare_ids_leave_the_tag_and_links_out() -> None:
    document = bare_ids(DOCUMENT)

    assert document["paths"]["/get-session"]["get"]["operationId"] == "get_current"
    assert not any("links" in holder for holder in link_holders(document))


def test_without_links_the_rest_stays() -> None:
    stripped = without_links(DOCUMENT)

    assert any("links" in holder for holder in link_holders(DOCUMENT))
    assert not any("links" in holder for holder in link_holders(stripped))
    assert list(stripped["paths"]) == list(DOCUMENT["paths"])
