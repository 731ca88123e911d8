"""Libraries for three languages verify what receivers of webhooks get: before, during and after a rotation."""

import base64
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.webhooks import secrets
from tests.conftest import MakeService
from tests.labs.verifiers.test_verifiers import HERE, Peer, in_go, verifying
from tests.packages import from_npm
from tests.receiver import Receiver, respond
from tests.service import Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, happen, rotate

MODULE = "github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1"
OVERLAP = {"webhooks.secret_overlap": "1m"}
TEXT = '\r\n"\\ \u2028\u2029 Ada <b> 👩‍🚀 \u0301'
"""Characters that programs escape in different ways."""


def python() -> list[str | Path]:
    return [sys.executable, HERE / "python" / "webhooks.py"]


def node() -> list[str | Path]:
    packages = from_npm("verifiers-node", HERE / "node" / "package.json")
    return ["node", shutil.copy(HERE / "node" / "webhooks.mjs", packages)]


def go() -> list[str | Path]:
    return in_go("standardwebhooks", MODULE)


VERIFIERS = [python, node, go]


@dataclass(frozen=True, slots=True)
class Request:
    """What a receiver got."""

    headers: Mapping[str, str]
    body: bytes

    def having(self, **headers: str) -> "Request":
        """Return the request with other headers; `id`, for example, is `webhook-id`."""
        return replace(
            self, headers={**self.headers, **{f"webhook-{name}": text for name, text in headers.items()}}
        )

    def lacking(self, name: str) -> "Request":
        """Return the request without a header."""
        return replace(self, headers={key: text for key, text in self.headers.items() if key != name})

    @property
    def signatures(self) -> list[str]:
        """Return the signatures, the newest secret's first."""
        return self.headers["webhook-signature"].split(" ")


async def capture(service: Service, receiver: Receiver, age: timedelta) -> Request:
    """Publish and send an event as if it were so much earlier; return the request."""
    service.clock.now = datetime.now(UTC) - age
    await happen(service, text=TEXT)
    return await again(service, receiver, age)


async def again(service: Service, receiver: Receiver, age: timedelta) -> Request:
    """Send what is due as if it were so much earlier; return the last request."""
    service.clock.now = datetime.now(UTC) - age
    await attempt(service)
    request = receiver.requests[-1]
    assert json.loads(request.body)["data"]["text"] == TEXT
    return Request(request.headers, request.body)


def verdict(peer: Peer, secret: str, request: Request) -> str:
    """Return `ok webhook.test` or `refused`."""
    body = base64.b64encode(request.body).decode()
    return peer.verdict(json.dumps({"secret": secret, "headers": request.headers, "body": body}))


def altered(request: Request, other: Request) -> dict[str, Request]:
    """Return what an attacker makes of a request, and of another one with the same secret."""
    [signature] = request.signatures
    time = int(request.headers["webhook-timestamp"])
    body = request.body
    return {
        "other id": request.having(id=other.headers["webhook-id"]),
        "longer id": request.having(id=f"{request.headers['webhook-id']}x"),
        "one second later": request.having(timestamp=str(time + 1)),
        "time of another": request.having(timestamp=other.headers["webhook-timestamp"]),
        "no time": request.having(timestamp="now"),
        "other body": replace(request, body=other.body),
        "longer body": replace(request, body=body + b" "),
        "body in another form": replace(request, body=json.dumps(json.loads(body)).encode()),
        "other member": replace(request, body=body.replace(b'"number":0', b'"number":1')),
        "no UTF-8": replace(request, body=body.replace(b'"number"', b'"numbe\xff"')),
        "no body": replace(request, body=b""),
        "signature of another": request.having(signature=other.signatures[0]),
        "shorter signature": request.having(signature=signature[:-4]),
        "other version": request.having(signature=f"v2{signature[2:]}"),
        "no version": request.having(signature=signature[3:]),
        "nonsense": request.having(signature="v1,ä v1"),
        **{
            f"no {name}": request.lacking(name)
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        },
    }


@pytest.mark.threat("WH6", "WH7")
@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda one: one.__name__)
async def test_a_library_verifies(
    verifier: Callable[[], list[str | Path]], make_service: MakeService
) -> None:
    command, service = verifier(), await make_service({**SETTINGS, **OVERLAP})
    old, new, foreign = secrets.create(), secrets.create(), secrets.create()
    async with Receiver() as receiver:
        endpoint_id = await add_endpoint(service, receiver.url(), secret=old)
        receiver.script.append(respond(500))
        stale = await capture(service, receiver, timedelta(minutes=6))
        repeated = await again(service, receiver, timedelta(minutes=3, seconds=10))
        before = await capture(service, receiver, timedelta(minutes=3))
        await rotate(service, endpoint_id, new)
        during = await capture(service, receiver, timedelta(minutes=2, seconds=30))
        early = await capture(service, receiver, timedelta(minutes=1))
        after = await capture(service, receiver, timedelta(seconds=30))
        ahead = await capture(service, receiver, -timedelta(minutes=10))

    by_new, by_old = during.signatures
    broken_new, broken_old = (
        f"{one[:9]}{'A' if one[9] != 'A' else 'B'}{one[10:]}" for one in (by_new, by_old)
    )
    refused = altered(after, early)
    with verifying(command, "") as peer:
        seen = {
            (name, which): verdict(peer, secret, request)
            for name, request in {
                "before": before,
                "during": during,
                "after": after,
                "first signature altered": during.having(signature=f"{broken_new} {by_old}"),
                "second signature altered": during.having(signature=f"{by_new} {broken_old}"),
                "both altered": during.having(signature=f"{broken_new} {broken_old}"),
            }.items()
            for which, secret in {"old": old, "new": new, "foreign": foreign}.items()
        }
        verdicts = {name: verdict(peer, new, request) for name, request in refused.items()}
        times = [verdict(peer, old, stale), verdict(peer, old, repeated), verdict(peer, new, ahead)]

    assert {case for case, told in seen.items() if told == "ok webhook.test"} == {
        ("before", "old"),
        ("during", "old"),
        ("during", "new"),
        ("after", "new"),
        ("first signature altered", "old"),
        ("second signature altered", "new"),
    }
    assert set(seen.values()) == {"ok webhook.test", "refused"}
    assert {name: told for name, told in verdicts.items() if told != "refused"} == {}
    assert times == ["refused", "ok webhook.test", "refused"]
    assert repeated.headers["webhook-id"] == stale.headers["webhook-id"]
