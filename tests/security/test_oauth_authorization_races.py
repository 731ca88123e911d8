"""Authorization requests continued by many at once: on SQLite, and on PostgreSQL with two instances."""

from collections import Counter

import pytest

from tests.handlers.steps import join
from tests.oauth import add_client
from tests.oauth_flow import arrive, arrive_by_uri, consent, error_of, handle_of, push, query_of, uri_of
from tests.security.crowd import CROWDS, all_of, turns
from tests.service import Service

pytestmark = pytest.mark.both_databases


@pytest.mark.threat("O21")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_request_gives_one_code(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    shop, ada = await add_client(service, skip_consent=True), await join(service)
    uri = (await push(service, shop)).json()["request_uri"]

    answers = await all_of(
        [arrive_by_uri(each, shop, uri, ada) for each in turns(unlimited_instances, number)]
    )

    assert Counter(map(error_of, answers)) == {None: 1, "invalid_request_uri": number - 1}
    assert sum("code" in query_of(answer) for answer in answers) == 1
    assert len(await service.rows("SELECT code FROM oauth_code")) == 1
    assert await service.rows("SELECT handle FROM oauth_request") == []


@pytest.mark.threat("O5")
@pytest.mark.parametrize("number", CROWDS)
async def test_consents_at_once_are_one(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    shop, ada = await add_client(service), await join(service)
    scopes = ["openid", "openid email", "openid profile"]
    handles = [handle_of(await arrive(service, shop, ada, scope=scopes[turn % 3])) for turn in range(number)]

    everywhere = turns(unlimited_instances, number)
    answers = await all_of(
        [consent(each, handle, ada) for each, handle in zip(everywhere, handles, strict=True)]
    )

    assert {answer.status_code for answer in answers} == {200}
    [(stored,)] = await service.rows("SELECT scopes FROM oauth_consent")
    assert set(stored.split()) == {"openid", "email", "profile"}


@pytest.mark.threat("O5")
async def test_a_request_is_allowed_or_refused(unlimited_instances: list[Service]) -> None:
    service = unlimited_instances[0]
    shop, ada = await add_client(service), await join(service)
    handle = handle_of(await arrive(service, shop, ada))

    everywhere = turns(unlimited_instances, 10)
    answers = await all_of(
        [consent(each, handle, ada, accept=turn % 2 == 0) for turn, each in enumerate(everywhere)]
    )

    refused = [one for one in answers if one.status_code == 200 and "access_denied" in one.json()["url"]]
    assert len(refused) == 1
    assert {one.status_code for one in answers} <= {200, 404}
    assert error_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == "invalid_request_uri"
