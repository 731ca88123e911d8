"""Moving in from a file of JSON lines: what comes in, what is refused, and what a second run does."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cbor2
import pyotp
import pytest

from domain.data_import.eligibility import Field
from server.crypto.imported_secrets import UNKNOWN
from server.importers.json_lines import LONGEST_LINE
from tests.authenticator import Authenticator, base64url
from tests.conftest import MakeService
from tests.handlers.steps import bearer, join, sign_in, user_of
from tests.security import second_factor
from tests.server.importers.moving import HASH, HASHED, counts, refusals, take_lines
from tests.service import Service

ADA, BOB = "ada@example.com", "bob@example.com"
ID = "abcdefghijklmnopqrstuvwxyzABCDEF"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

ENROLLED = 'SELECT email FROM "user" JOIN two_factor ON two_factor.user_id = "user".id'

Row = Mapping[str, Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users.jsonl"


class TestUsers:
    async def test_every_field(self, service: Service, file: Path) -> None:
        row = {
            "id": ID, "email": "Ada@Example.COM", "emailVerified": True, "name": "Ada Lovelace",
            "image": "https://example.com/ada.png", "username": "Ada_L", "displayUsername": "Ada L.", "role": "admin",
            "banned": True, "banReason": "spam", "banExpires": "2025-06-30T12:00:00Z", "locale": "de-AT",
            "createdAt": "2024-01-31T12:00:00.123+01:00", "updatedAt": "2024-02-01", "passwordHash": HASH,
        }  # fmt: skip

        report = await take_lines(service, file, [row], roles=["admin"])

        session = await sign_in(service, ADA, HASHED)
        assert counts(report) == (1, 0, 0)
        assert await user_of(service, bearer(session.json()["token"])) == {
            "id": ID, "email": ADA, "emailVerified": True, "name": "Ada Lovelace",
            "image": "https://example.com/ada.png", "username": "ada_l", "displayUsername": "Ada L.", "role": "admin",
            "banned": False, "banReason": None, "banExpires": None, "twoFactorEnabled": False,
            "locale": "de",
            "createdAt": "2024-01-31T11:00:00.123Z", "updatedAt": "2026-01-01T12:00:00.000Z",
        }  # fmt: skip

    async def test_an_address_is_enough(self, service: Service, file: Path) -> None:
        report = await take_lines(service, file, [{"email": ADA}, b"", {"email": BOB}])

        stored = await service.rows('SELECT name, email FROM "user" ORDER BY email')
        assert counts(report) == (2, 0, 0)
        assert [tuple(row) for row in stored] == [("ada", ADA), ("bob", BOB)]

    async def test_a_second_factor(self, service: Service, file: Path) -> None:
        spelt = " ".join(SECRET[start : start + 4] for start in range(0, 32, 4)).lower()
        row = {"email": ADA, "passwordHash": HASH, "twoFactor": {"secret": spelt, "issuer": "Old"}}

        await take_lines(service, file, [row])

        answer = await sign_in(service, ADA, HASHED)
        code = pyotp.TOTP(SECRET).at(service.clock.now)
        entered = await second_factor.enter(service, "totp", code, bearer(answer.json()["token"]))
        assert second_factor.is_pending(answer)
        assert entered.status_code == 200
        [stored] = await service.rows("SELECT secret, issuer FROM two_factor")
        assert SECRET.encode() not in bytes(stored.secret)
        assert stored.issuer == "Old"

    async def test_a_second_factor_by_mail_alone(self, service: Service, file: Path) -> None:
        await take_lines(service, file, [{"email": ADA, "passwordHash": HASH, "twoFactor": {}}])

        answer = await sign_in(service, ADA, HASHED)

        assert answer.json()["twoFactorMethods"] == ["otp"]

    @pytest.mark.parametrize("switch", [{"mail.sender": "none"}, {"two_factor.otp_enabled": "false"}])
    async def test_nobody_comes_who_would_wait_for_codes_that_nobody_mails(
        self, make_service: MakeService, file: Path, switch: dict[str, str]
    ) -> None:
        service = await make_service(switch)
        rows = [{"email": ADA, "twoFactor": {}}, {"email": BOB, "twoFactor": {"secret": SECRET}}]

        strict = await take_lines(service, file, rows)
        lenient = await take_lines(service, file, rows, Field.TWO_FACTOR)

        assert dict(strict.refused) == {"twoFactor: has no secret, and email codes are not available": 1}
        assert counts(strict) == (1, 0, 1)
        assert counts(lenient) == (1, 1, 0)
        assert [row.email for row in await service.rows(ENROLLED)] == [BOB]


_DEVICE = Authenticator()
PASSKEY = {
    "credentialID": base64url(_DEVICE.credential_id),
    "publicKey": base64.b64encode(cbor2.dumps(_DEVICE.cose_key)).decode(),
}
DIGEST = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
"""A SHA-256 in base64url."""

REFUSED: list[tuple[str, Row | bytes, str]] = [
    ("no JSON", b"{", "line: is not JSON"),
    ("a list", b"[]", "line: is not a JSON object"),
    ("not UTF-8", b'{"email": "\xff@example.com"}', "line: is not JSON"),
    ("a lone surrogate", b'{"email": "\\ud800@example.com"}', "line: is not JSON"),
    ("deep", b'{"a":' * 5000 + b"1" + b"}" * 5000, "line: is not JSON"),
    ("too long", b'{"email": "' + b"x" * LONGEST_LINE + b'"}', f"line: is longer than {LONGEST_LINE} bytes"),
    ("an unknown field", {"email": ADA, "emailverified": True}, "emailverified: is not a field of the format"),
    ("no address", {"name": "Ada"}, "email: is missing"),
    ("an address that is no text", {"email": 7}, "email: must be text"),
    ("an address without a domain", {"email": "ada"}, "email: is not a valid email address"),
    ("a Cyrillic letter", {"email": "\u0430da@example.com"}, "email: is not a valid email address"),
    ("a full-width letter", {"email": "\uff41da@example.com"}, "email: is not a valid email address"),
    ("NUL", {"email": "ada\0@example.com"}, "email: contains U+0000 or an unpaired surrogate"),
    ("a long address", {"email": "a" * 3000}, "email: is longer than 2048 characters"),
    ("a flag as text", {"email": ADA, "emailVerified": "true"}, "emailVerified: must be true or false"),
    ("a flag as number", {"email": ADA, "banned": 1}, "banned: must be true or false"),
    ("a name with a line break", {"email": ADA, "name": "Ada\nBcc: x"}, "name: contains control characters"),
    ("a name turned around", {"email": ADA, "name": "Ada\u202e"}, "name: contains control characters"),
    ("a name with NUL", {"email": ADA, "name": "A\0"}, "name: contains U+0000 or an unpaired surrogate"),
    ("a long name", {"email": ADA, "name": "x" * 257}, "name: is longer than 256 characters"),
    ("a script as image", {"email": ADA, "image": "javascript:alert(1)"},
     "image: is not an http or https URL of at most 2048 characters"),
    ("a short username", {"email": ADA, "username": "ab"}, "username: is not accepted: Username is too short"),
    ("a Cyrillic username", {"email": ADA, "username": "\u0430dmin"},
     "username: is not accepted: Username is invalid"),
    ("a time that is none", {"email": ADA, "createdAt": "yesterday"},
     "createdAt: must be a time such as 2026-01-31T12:00:00.000Z"),
    ("a time as number", {"email": ADA, "createdAt": 1700000000},
     "createdAt: must be a time such as 2026-01-31T12:00:00.000Z"),
    ("the future", {"email": ADA, "createdAt": "2999-01-01T00:00:00Z"}, "createdAt: is in the future"),
    ("before all time", {"email": ADA, "createdAt": "0001-01-01T00:00:00+14:00"},
     "createdAt: is outside the years 1 to 9999"),
    ("an id that is a list", {"id": [], "email": ADA}, "id: must be text or a whole number"),
    ("a long id", {"id": "x" * 300, "email": ADA}, "id: must be text of at most 255 characters without U+0000"),
    ("an unknown hash", {"email": ADA, "passwordHash": "$6$a$b"}, f"passwordHash: {UNKNOWN}"),
    ("a password in the clear", {"email": ADA, "passwordHash": "hunter2"}, f"passwordHash: {UNKNOWN}"),
    ("a damaged hash", {"email": ADA, "passwordHash": HASH[:-5]},
     "passwordHash: is damaged: it begins like a supported format and does not go on like it"),
    ("a hash that costs a minute", {"email": ADA, "passwordHash": HASH.replace("$04$", "$31$")},
     "passwordHash: costs too much to check"),
    ("a second factor that is text", {"email": ADA, "twoFactor": SECRET}, "twoFactor: must be an object"),
    ("a secret that is not base32", {"email": ADA, "twoFactor": {"secret": "0189"}},
     "twoFactor: the secret is not base32"),
    ("a short secret", {"email": ADA, "twoFactor": {"secret": "AAAA"}},
     "twoFactor: the secret does not have 10 to 128 bytes"),
    ("an issuer with a colon", {"email": ADA, "twoFactor": {"secret": SECRET, "issuer": "a:b"}},
     "twoFactor: the issuer contains a colon or control characters"),
    ("keys that are no list", {"email": ADA, "apiKeys": {}}, "apiKeys: must be a list of at most 10000 objects"),
    *((f"a key with {field}", {"email": ADA, "apiKeys": [{"digest": DIGEST, **key}]}, f"apiKeys: {reason}")
      for field, key, reason in (
          ("a plain text", {"digest": "gwk_secret"}, "needs the SHA-256 of a key in base64url"),
          ("no digest", {"digest": None}, "needs the SHA-256 of a key in base64url"),
          ("an unknown kind", {"configId": "ci"}, "ci is not a configured kind of keys"),
          ("a negative number", {"remaining": -1}, "remaining must be a whole number of 0 or more"),
          ("half a use", {"remaining": 0.5}, "remaining must be a whole number of 0 or more"),
          ("an empty refill", {"refillAmount": 0}, "refillAmount must be a whole number of 1 or more"),
          ("permissions that are text", {"permissions": "files"},
           "permissions must be lists of actions by resource, of at most 4096 bytes"),
      )),
    ("passkeys that are no list", {"email": ADA, "passkeys": {}}, "passkeys: must be a list of at most 100 objects"),
    ("a passkey twice", {"email": ADA, "passkeys": [PASSKEY, PASSKEY]}, "passkeys: contains a credential twice"),
    *((f"a passkey with {field}", {"email": ADA, "passkeys": [{**PASSKEY, **key}]}, f"passkeys: {reason}")
      for field, key, reason in (
          ("no credential", {"credentialID": None}, "credentialID must be 1 to 1023 bytes in base64url"),
          ("a credential that is no base64url", {"credentialID": "a b"},
           "credentialID must be 1 to 1023 bytes in base64url"),
          ("no key", {"publicKey": None}, "publicKey must be a COSE key of ES256, EdDSA or RS256 in base64"),
          ("another key", {"publicKey": "AAAA"}, "publicKey must be a COSE key of ES256, EdDSA or RS256 in base64"),
          ("a negative counter", {"counter": -1}, "counter must be a whole number up to 4294967295"),
          ("a strange device", {"deviceType": "phone"}, "deviceType must be singleDevice or multiDevice"),
          ("a long handle", {"userHandle": "A" * 88}, "userHandle must be 1 to 64 bytes in base64url"),
      )),
    ("accounts that are no list", {"email": ADA, "accounts": {}},
     "accounts: must be a list of at most 100 objects"),
    ("a forged password account", {"email": ADA, "accounts": [{"providerId": "credential", "accountId": "1"}]},
     "accounts: needs the providerId of a provider"),
    ("a provider that is a list", {"email": ADA, "accounts": [{"providerId": [], "accountId": "1"}]},
     "providerId: must be text"),
    ("an unknown provider", {"email": ADA, "accounts": [{"providerId": "elsewhere", "accountId": "1"}]},
     "accounts: elsewhere is not a configured provider"),
]  # fmt: skip


class TestRefused:
    @pytest.mark.parametrize(
        ("row", "reason"), [pytest.param(row, reason, id=name) for name, row, reason in REFUSED]
    )
    async def test_a_row_and_why(self, file: Path, row: Row | bytes, reason: str) -> None:
        assert await refusals(file, [row, {"email": BOB}]) == [reason]

    async def test_one_key_twice(self, service: Service, file: Path) -> None:
        rows = [{"email": email, "apiKeys": [{"digest": DIGEST}]} for email in (ADA, BOB)]

        for _ in range(2):
            report = await take_lines(service, file, rows)
            assert dict(report.refused) == {"apiKeys: a key belongs to another user": 1}
        assert counts(await take_lines(service, file, rows, Field.API_KEYS)) == (1, 1, 0)
        assert len(await service.rows("SELECT id FROM api_key")) == 1

    async def test_a_passkey_of_another_user(self, service: Service, file: Path) -> None:
        rows = [{"email": email, "passkeys": [PASSKEY]} for email in (ADA, BOB)]

        for _ in range(2):
            report = await take_lines(service, file, rows)
            assert dict(report.refused) == {"passkeys: a credential belongs to another user": 1}
        assert counts(await take_lines(service, file, rows, Field.PASSKEYS)) == (1, 1, 0)
        assert len(await service.rows("SELECT id FROM passkey")) == 1

    async def test_users_without_a_role_get_the_default_role(
        self, make_service: MakeService, file: Path
    ) -> None:
        roles = '{"reader": {}, "admin": {"user": ["list"]}}'
        service = await make_service({"admin.roles": roles, "admin.default_role": "reader"})

        await take_lines(service, file, [{"email": ADA}, {"email": BOB, "role": "admin"}], roles=["admin"])

        found = await service.rows('SELECT role FROM "user" ORDER BY email')
        assert [row.role for row in found] == ["reader", "admin"]

    @pytest.mark.threat("ADM27")
    async def test_only_roles_that_are_named_come_in(self, service: Service, file: Path) -> None:
        rows = [
            {"email": ADA, "role": "admin"},
            {"email": BOB, "role": "support, admin,editor,support"},
            {"email": "eve@example.com", "role": "user"},
            {"email": "guest@example.com", "role": "sup\x07port,"},
        ]

        report = await take_lines(service, file, rows, roles=["editor", "support"])

        found = await service.rows('SELECT role FROM "user" ORDER BY email')
        assert counts(report) == (4, 0, 0)
        assert [row.role for row in found] == ["user", "support,editor", "user", "user"]
        assert dict(report.left) == {
            "role: admin is not named with --role": 2, "role: support is not named with --role": 1,
        }  # fmt: skip

    async def test_more_roles_than_a_user_may_have(self, service: Service, file: Path) -> None:
        names = [f"role{number}" for number in range(17)]
        rows = [{"email": ADA, "role": ",".join(names)}, {"email": BOB, "role": ",".join(names[1:])}]

        report = await take_lines(service, file, rows, roles=names)

        assert counts(report) == (1, 0, 1)
        assert dict(report.refused) == {"role: has more than 16 roles": 1}

    async def test_one_address_twice(self, service: Service, file: Path) -> None:
        rows = [{"email": ADA, "name": "Ada"}, {"email": "ADA@EXAMPLE.COM", "name": "Eve"}]

        report = await take_lines(service, file, rows)

        assert dict(report.refused) == {"email: belongs to another user": 1}
        assert [row.name for row in await service.rows('SELECT name FROM "user"')] == ["Ada"]

    async def test_an_address_that_has_signed_up(self, service: Service, file: Path) -> None:
        await join(service, ADA)

        report = await take_lines(service, file, [{"email": ADA, "passwordHash": HASH}])

        assert dict(report.refused) == {"email: belongs to another user": 1}
        assert (await sign_in(service, ADA, HASHED)).status_code == 401

    async def test_an_id_of_somebody_else(self, service: Service, file: Path) -> None:
        rows = [{"id": ID, "email": ADA}, {"id": ID, "email": BOB}]

        report = await take_lines(service, file, rows)

        assert dict(report.refused) == {"id: belongs to a user with another email address": 1}

    async def test_a_username_that_is_taken(self, service: Service, file: Path) -> None:
        await join(service, ADA, username="ada_l")
        rows = [{"email": BOB, "username": "ADA_L"}]

        refused = await take_lines(service, file, rows)
        taken = await take_lines(service, file, rows, Field.USERNAME)

        assert dict(refused.refused) == {"username: belongs to another user": 1}
        assert (counts(taken), dict(taken.left)) == ((1, 0, 0), {"username: belongs to another user": 1})

    async def test_the_memory_of_reasons_is_bounded(self, service: Service, file: Path) -> None:
        rows = [{"email": ADA, f"field{number}": 1} for number in range(500)]

        report = await take_lines(service, file, rows)

        assert len(report.refused) < 300
        assert report.refused.total() == 500


class TestWithout:
    @pytest.mark.parametrize(
        ("field", "row"),
        [
            (Field.IMAGE, {"image": "data:image/png;base64,AAAA"}),
            (Field.USERNAME, {"username": "no spaces"}),
            (Field.PASSWORD, {"passwordHash": "md5$a$b"}),
            (Field.TWO_FACTOR, {"twoFactor": {"secret": "0"}}),
            (Field.ACCOUNTS, {"accounts": [{"providerId": "google", "accountId": "1"}]}),
            (Field.API_KEYS, {"apiKeys": [{"digest": DIGEST, "configId": "ci"}]}),
            (Field.PASSKEYS, {"passkeys": [{**PASSKEY, "counter": "x"}]}),
        ],
    )
    async def test_what_may_be_left_behind(
        self, service: Service, file: Path, field: Field, row: Row
    ) -> None:
        others = [each for each in Field if each is not field]
        rows = [{"email": ADA, **row}]

        refused = await take_lines(service, file, rows, *others)
        taken = await take_lines(service, file, rows, field)

        assert (counts(refused), counts(taken)) == ((0, 0, 1), (1, 0, 0))
        assert taken.left.total() == 1


MANY = [{"email": f"user{number}@example.com", "username": f"user{number}"} for number in range(450)]


class TestAgain:
    async def test_a_dry_run_says_the_same_and_writes_nothing(self, service: Service, file: Path) -> None:
        rows = [
            *MANY,
            {"email": "USER3@example.com"},
            {"email": ADA, "username": "USER4"},
            {"email": "x"},
        ]

        rehearsed = await take_lines(service, file, rows, dry_run=True)
        nobody = await service.rows('SELECT id FROM "user"')
        done = await take_lines(service, file, rows)

        assert nobody == []
        assert counts(rehearsed) == counts(done) == (450, 0, 3)
        assert rehearsed.refused == done.refused

    async def test_who_is_there_is_left_as_they_are(self, service: Service, file: Path) -> None:
        await take_lines(service, file, [{"id": ID, "email": ADA, "name": "Ada", "passwordHash": HASH}])

        report = await take_lines(service, file, [{"id": ID, "email": ADA, "name": "Eve"}])

        assert counts(report) == (0, 1, 0)
        session = await sign_in(service, ADA, HASHED)
        assert session.json()["user"]["name"] == "Ada"

    async def test_a_repeated_line_is_the_same_user(self, service: Service, file: Path) -> None:
        first = await take_lines(service, file, MANY[:3])
        second = await take_lines(service, file, MANY)

        assert (counts(first), counts(second)) == ((3, 0, 0), (447, 3, 0))
        assert not second.refused
