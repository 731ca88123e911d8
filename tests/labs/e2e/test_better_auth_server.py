"""The official client at Better Auth's own server and here: the documented differences are the only ones."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import packages
from tests.labs.e2e import organization_differences
from tests.labs.e2e.organization_differences import ABSENT
from tests.live import administrator, serving
from tests.ports import free_port
from tests.service import PASSWORD

HERE = Path(__file__).parent / "official_client"
BASE_PATH = "/api/auth"
ADMIN = "root@example.com"
TIME_LIMIT = 180.0


Difference = dict[str, tuple[Any, Any]]
"""By the place in the outcome: what Better Auth says there, and what is said here."""

_KEY: Difference = {
    # Who made a key is known.
    "createdBy": (ABSENT, "<random>"),
    # Keys can be told from other texts, by people and scanners.
    "prefix": (None, "gwk_"),
    # Ten uses a day surprise; no limit is on by default.
    "rateLimitEnabled": (True, False),
    "rateLimitMax": (10, 600),
    "rateLimitTimeWindow": (86_400_000, 60_000),
}
_INVALID: Difference = {"code": (ABSENT, "VALIDATION_ERROR"), "status": (ABSENT, 400)}

DIFFERENCES: dict[str, Difference] = {
    # Every error has a code.
    "list users signed out": {"code": (None, "UNAUTHORIZED")},
    "stop what was not begun": {"code": (None, "NOT_IMPERSONATING")},
    "signed out": {"code": ("UNAUTHORIZED_SESSION", "UNAUTHORIZED")},
    # Lists are bounded, and say so; what cannot be asked is an error.
    "find a user": {"offset": (ABSENT, 0), "totalCapped": (ABSENT, False)},
    "list keys": {"0.1": ("total", "limit"), "0.2": (ABSENT, "offset"), "0.3": (ABSENT, "total")},
    "limit 0": {"": (True, ABSENT), **_INVALID},
    "sort by a secret": {"": (0, ABSENT), **_INVALID},
    # A new password is set after a compromise.
    "the sessions after it": {"": (True, False)},
    # A list of sessions opens none.
    "list the sessions of a user": {
        "sessions.0.impersonatedBy": (None, ABSENT),
        "sessions.0.token": ("<random>", "<handle>"),
    },
    "create a key": _KEY,
    "get a key": _KEY,
    # Tokens name their type and their session; a role may be outdated, and is not in them.
    "its header": {"2": (ABSENT, "typ")},
    "its life": {"": (900, 300)},
    "its issuer and audience": {
        "0": ("http://127.0.0.1", "http://localhost/api/auth"),
        "1": ("http://127.0.0.1", "http://localhost/api/auth"),
    },
    "the keys": {"0": ("alg,crv,kid,kty,x", "alg,crv,kid,kty,use,x,y")},
}
CLAIMS = [
    "amr",
    "aud",
    "auth_time",
    "email",
    "emailVerified",
    "exp",
    "iat",
    "iss",
    "jti",
    "name",
    "sid",
    "sub",
]
BY_BEARER: dict[str, Difference] = {
    # Without the administrator's cookie, there is nobody to come back to.
    "stop": {"0": (ABSENT, "session"), "1": (ABSENT, "user"), "code": (None, ABSENT), "status": (500, ABSENT)}
}


def without_language(theirs: Any, ours: Any) -> Difference:
    """Return the differences but that every user here has a language, which none has chosen."""
    found = compare(theirs, ours)
    return {
        place: values
        for place, values in found.items()
        if not (place.endswith("locale") and values == (ABSENT, None))
    }


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the scripts, which find the packages they name."""
    return packages.better_auth(HERE)


@pytest.mark.parametrize("carried_by", ["bearer", "cookie"])
def test_the_documented_differences_are_the_only_ones(
    installed: Path, tmp_path: Path, carried_by: str
) -> None:
    with better_auth(installed) as url:
        theirs = outcomes(installed, url, carried_by)
    with serving(tmp_path, {"base_path": BASE_PATH}) as live:
        administrator(live.url + BASE_PATH, tmp_path)
        ours = outcomes(installed, live.url, carried_by)

    assert ours.pop("its claims") == CLAIMS
    assert set(CLAIMS) & set(theirs.pop("its claims")) >= {"aud", "exp", "iat", "iss", "sub"}
    assert differences(theirs, ours) == DIFFERENCES | (BY_BEARER if carried_by == "bearer" else {})


@pytest.mark.parametrize("carried_by", ["bearer", "cookie"])
def test_those_of_organizations_are_the_only_ones(installed: Path, tmp_path: Path, carried_by: str) -> None:
    with better_auth(installed, TEAMS="on") as url:
        theirs = outcomes(installed, url, carried_by, "organization_cases.mjs", TEAMS="on")
    settings = {"organizations.enabled": "true", "organizations.teams.enabled": "true"}
    with serving(tmp_path, {"base_path": BASE_PATH, **settings}) as live:
        mails = {"TEAMS": "on", "MAIL_FILE": str(tmp_path / "mail.jsonl")}
        ours = outcomes(installed, live.url, carried_by, "organization_cases.mjs", **mails)

    assert differences(theirs, ours) == organization_differences.DIFFERENCES


def differences(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Difference]:
    """Return the differences of each case that has any."""
    assert list(theirs) == list(ours)
    return {name: found for name in theirs if (found := without_language(theirs[name], ours[name]))}


@contextmanager
def better_auth(installed: Path, **variables: str) -> Iterator[str]:
    """Run Better Auth's server with an administrator, and yield its origin."""
    port = free_port()
    environment = {**os.environ, "PORT": str(port), "ADMIN_EMAIL": ADMIN, **variables}
    process = subprocess.Popen(
        ["node", "peer.mjs"], cwd=installed, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        url = f"http://127.0.0.1:{port}"
        user = {"name": "Root", "email": ADMIN, "password": PASSWORD}
        httpx.post(f"{url}{BASE_PATH}/sign-up/email", json=user, headers={"Origin": url}).raise_for_status()
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=60)


def outcomes(
    installed: Path, url: str, carried_by: str, script: str = "cases.mjs", **variables: str
) -> dict[str, Any]:
    """Return what the client was told, by the name of the case."""
    environment = {
        **os.environ,
        "SERVICE_ROOT": url,
        "SERVICE_BASE_PATH": BASE_PATH,
        "CARRIED_BY": carried_by,
        "ADMIN_EMAIL": ADMIN,
        "ORIGIN": url,
        **variables,
    }
    run = subprocess.run(
        ["node", script],
        check=False, cwd=installed, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    told: dict[str, Any] = json.loads(run.stdout)
    return told


def compare(theirs: Any, ours: Any) -> Difference:
    """Return where two outcomes differ, and how."""
    one, other = dict(flat(theirs)), dict(flat(ours))
    return {
        place: (one.get(place, ABSENT), other.get(place, ABSENT))
        for place in sorted(one.keys() | other.keys())
        if one.get(place, ABSENT) != other.get(place, ABSENT)
    }


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value within an outcome and its place."""
    match value:
        case dict():
            inner = [(str(key), each) for key, each in value.items()]
        case list():
            inner = [(str(number), each) for number, each in enumerate(value)]
        case _:
            yield place, value
            return
    for key, each in inner:
        yield from flat(each, f"{place}.{key}" if place else key)
