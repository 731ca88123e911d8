"""Upgrades from every release to this one, as docs/pages/operations/upgrade.md promises them."""

import itertools
import re
from pathlib import Path

import pytest

from server.config.settings import FORMER_KEYS
from tests.labs.faults.places import LONG, Place
from tests.labs.provider.process import ProviderProcess
from tests.labs.upgrades.releases import RELEASES, NotFound, Release, program_of, show
from tests.labs.upgrades.scenario import Record, upgrade
from tests.live import ROOT

OLDEST, NEWEST = RELEASES[0], RELEASES[-1]
SHORT = [(OLDEST, "sqlite"), (NEWEST, "postgresql")]
"""What `make test-long` tests; the other upgrades are long."""
UPGRADES = [
    pytest.param(
        (release, dialect), id=f"{release.name}-{dialect}", marks=() if (release, dialect) in SHORT else LONG
    )
    for release, dialect in itertools.product(RELEASES, ("sqlite", "postgresql"))
]
REFERENCE = "docs/pages/reference/settings.md"


@pytest.fixture(scope="module", params=UPGRADES)
async def record(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    provider_process: ProviderProcess,
) -> Record:
    """What was seen of one upgrade, which all tests share."""
    release, dialect = request.param
    directory: Path = tmp_path_factory.mktemp("upgrade")
    try:
        program_of(release)
    except NotFound as reason:
        pytest.skip(str(reason))
    if dialect == "sqlite":
        url = f"sqlite:///{directory / 'gatewright.db'}"
    else:
        url = request.getfixturevalue("cluster").create()
    provider_process.reset()
    return await upgrade(release, Place(directory, url), provider_process)


@pytest.mark.threat("R22")
class TestUpgrade:
    """Old and new run on one database, and get requests in turn: each of these has the right response."""

    def test_begins_with_rows_in_every_table(self, record: Record) -> None:
        assert record.empty_tables == []

    def test_keeps_every_row(self, record: Record) -> None:
        assert record.lost_rows == []

    def test_keeps_sessions_passwords_tokens_and_keys(self, record: Record) -> None:
        assert record.unusable == {}

    def test_shares_what_the_new_release_issues_with_the_old_one(self, record: Record) -> None:
        assert record.unusable_at_old == {}

    def test_shares_what_the_old_release_issues_with_the_new_one(self, record: Record) -> None:
        assert record.unusable_at_new == {}

    def test_delivers_the_emails_that_waited(self, record: Record) -> None:
        assert record.undelivered == []

    def test_causes_no_defect(self, record: Record) -> None:
        assert record.faults == []

    def test_can_be_taken_back(self, record: Record) -> None:
        assert record.lost_by_return == []


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_settings_keep_their_names_or_have_an_alias(release: Release) -> None:
    try:
        before = _settings(show(release, REFERENCE))
    except NotFound as reason:
        pytest.skip(str(reason))

    known = _settings((ROOT / REFERENCE).read_text()) | {".".join(key) for key in FORMER_KEYS}

    assert len(before) > 100
    assert before - known == set()


def _settings(reference: str) -> set[str]:
    """Return the names of all settings in the reference."""
    return set(re.findall(r"^\| `([\w.<>-]+)`", reference, re.MULTILINE))
