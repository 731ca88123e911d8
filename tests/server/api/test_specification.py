"""The quick check of the contract leaves nothing to Connexion's own that the contract could fail."""

import copy

import pytest
from connexion.exceptions import InvalidSpecification
from connexion.spec import OpenAPISpecification

from codegen.bundle import bundle
from server.api.build import load_specification


def test_the_contract_passes_connexions_own_check() -> None:
    OpenAPISpecification(bundle())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document["paths"]["/ok"]["get"].pop("responses"),
        lambda document: document["paths"]["/ok"]["get"].update(surprise=1),
        lambda document: document["components"]["schemas"]["User"].update(type="person"),
    ],
)
def test_a_broken_contract_is_refused_in_connexions_words(spoil) -> None:  # type: ignore[no-untyped-def]
    document = copy.deepcopy(bundle())
    spoil(document)

    with pytest.raises(InvalidSpecification):
        load_specification(document)
