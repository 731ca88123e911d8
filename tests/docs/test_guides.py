"""The guides are true: their commands are typed into a shell as they stand there, against a running service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.config.groups.social import ProviderSettings
from server.identity_providers.configuration import secret_of
from server.identity_providers.presets import PRESETS
from server.services import load_settings
from tests.docs.typing_in import BASE, Shell, blocks, follow, guide, placed, walk
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port

SOCIAL = guide("social-sign-in")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the service that guides share whose users differ."""
    return tmp_path_factory.mktemp("guides")


@pytest.fixture(scope="module")
def live(folder: Path) -> Iterator[LiveService]:
    """A service that prints its mails, for guides whose users differ."""
    settings = {
        "mail.sender": "console",
        "email_codes.enabled": "true",
        "magic_links.enabled": "true",
        "magic_links.confirm": "false",
    }
    with serving(folder, settings) as service:
        yield service


def test_two_factor_is_turned_on_as_it_says(live: LiveService, folder: Path) -> None:
    printed = walk(guide("two-factor"), live, folder, {BASE: live.url})

    enabled, confirmed, by_app, _, by_mail, by_backup, trusted, disabled, again, lost = printed
    assert "otpauth://totp/" in enabled
    assert confirmed.startswith('{"status":true')
    assert by_app.startswith('{"message":"Unauthorized"')
    assert '{"status":true,"token":"' in by_app
    assert by_mail.startswith('{"token":"')
    assert "service.trust-device=" in by_backup
    assert "service.session-token=" in trusted
    assert disabled.startswith('{"status":true}')
    assert "pending" not in disabled
    assert again.startswith('{"status":true')
    assert lost.startswith("grace@example.com signs in with the password alone; ")
    assert "by=operator" in lost
    assert '{"message":"Unauthorized"' in lost
    assert "pending" not in lost.partition("Unauthorized")[2]


def test_users_are_administered_and_recorded_as_it_says(tmp_path: Path) -> None:
    [records] = blocks(guide("audit"), "sh")
    wrong = '{"email": "ada@example.com", "password": "not this one"}'
    with serving(tmp_path, {"mail.sender": "console"}) as live:
        printed = walk(guide("administer-users"), live, tmp_path, {BASE: live.url})
        shell = Shell(tmp_path, {"GATEWRIGHT_PROFILE": "development"})
        shell.type(f"curl -s {live.url}/sign-in/email -H 'Content-Type: application/json' -d '{wrong}'")
        of_ada, failed, _ = (shell.type(placed(line, {})) for line in records.text.splitlines())

    assert shell.leave() == 0
    assert "user.created" in of_ada
    assert "sign_in.failed" in failed
    assert "user.created" not in failed
    first, found, banned, helped, mailed, accounts, _, acting, shared, trail, _, figures, seen = printed
    assert "Roles of ada@example.com: user,admin." in first
    assert [found.count(part) for part in ('"total":1', "eve@example.com")] == [2, 3]
    assert [banned.count(part) for part in ('"banned":true', "BANNED_USER", '"banned":false')] == [1, 1, 1]
    assert '"token":"' in banned.rpartition("BANNED_USER")[2]
    assert ['"token":"rvk_' in helped, '{"status":true}' in helped] == [True, True]
    parts = (
        '"impersonatedBy":"',
        "NOT_ALLOWED_WHILE_IMPERSONATING",
        "1 session in the name",
        '{"session":null',
    )
    assert [acting.count(part) for part in parts] == [1, 1, 1, 1]
    assert "2 administrators" in shared
    assert '{"success":true}' in mailed
    assert '"providerId":"credential"' in accounts
    assert "eve@example.com" in (tmp_path / "eve-data.json").read_text()
    assert '"event":"user.banned"' in trail.rpartition("nextCursor")[2]
    assert "ada@example.com" in (tmp_path / "users.csv").read_text()
    assert "sign_in.succeeded" in (tmp_path / "sign-ins.csv").read_text()
    assert '"users":2' in figures
    assert '"instances":[{' in seen


def test_api_keys_work_as_it_says(tmp_path: Path) -> None:
    # A first start creates the token that the guide reads.
    with serving(tmp_path, {"mail.sender": "console", "api_keys.verifiers": None}) as live:
        printed = walk(guide("api-keys"), live, tmp_path, {BASE: live.url})

    created, verified, permissions, _, ended, listed = printed
    assert re.search(r"^gwk_[A-Za-z0-9]{64}$", created, re.MULTILINE)
    assert '"total":1' in created
    assert [verified.count(part) for part in ('"valid":true', '"INVALID_API_KEY"')] == [1, 1]
    verdicts = re.findall(r'"code":"(\w+)"|"(valid)":true', permissions)
    assert ["".join(verdict) for verdict in verdicts] == [
        "KEY_PERMISSIONS_INSUFFICIENT", "valid", "valid", "USAGE_EXCEEDED",
    ]  # fmt: skip
    assert [ended.count(part) for part in ('"enabled":false', '"KEY_DISABLED"', '{"success":true}')] == [
        1,
        1,
        1,
    ]
    assert "ada.keys@example.com (" in ended
    assert '"owner":{' in listed
    assert "2 keys" in ended
    assert re.fullmatch(r"gwk_[A-Za-z0-9]{64}\n", (tmp_path / "partner.key").read_text("utf-8"))


def test_users_sign_in_by_mail_as_it_says(live: LiveService, folder: Path) -> None:
    printed = walk(guide("sign-in-by-mail"), live, folder, {BASE: live.url})

    requested, by_code, mailed, by_link = printed
    assert requested.startswith('{"success":true}')
    assert [by_code.count(part) for part in ('"token":"', '"INVALID_OTP"')] == [1, 1]
    assert mailed.startswith('{"status":true}')
    parts = ('"newUser":false', '"url":"', '"INVALID_TOKEN"')
    assert [by_link.count(part) for part in parts] == [1, 1, 1]


def test_hosted_pages_are_used_as_it_says(live: LiveService, folder: Path) -> None:
    refused, found = walk(guide("hosted-pages"), live, folder, {BASE: live.url})

    assert refused.strip() == "403"
    assert found.strip() == f"302 {live.url}/account/password"


def test_pages_are_made_yours_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    shell = Shell(tmp_path)
    printed = []
    for block in blocks(guide("customize-pages")):
        if block.language != "sh":
            shell.write(block)
        elif not block.title:
            printed.append(shell.type(f"({placed(block.text, {})}) 2>&1"))
    assert shell.leave() == 0
    with serving(tmp_path, {}) as live:
        out = httpx.get(f"{live.url}/account/signed-out", trust_env=False, timeout=TIMEOUT).text
        entry = httpx.get(
            f"{live.url}/account/sign-up", headers={"Accept-Language": "ar"}, trust_env=False, timeout=TIMEOUT
        ).text
        loaded = re.findall(r'(?:src|href)="(/account/static/[^"]+)"', out)
        files = {
            path: httpx.get(f"{live.url}{path}", trust_env=False, timeout=TIMEOUT).text for path in loaded
        }

    accepted, exported, broken = printed
    assert "The configuration is valid." in accepted
    assert "pages.accent: has a contrast of" in accepted
    assert accepted.rstrip().endswith("refused")
    assert "Wrote 1 template to templates." in exported
    assert "sign_up.html, line 1: there is no template bse.html" in broken
    assert "Rose Street Books freut sich auf Ihren nächsten Besuch." in out
    assert '<html lang="ar" dir="rtl">' in entry
    assert 'href="https://books.example/terms"' in entry
    assert any("--accent: #8a1c4a" in text for text in files.values())
    assert any("--radius: 4px" in text for text in files.values())
    assert any(text.startswith("<svg") for text in files.values())


def test_the_links_of_emails_lead_to_the_pages_of_the_application(live: LiveService, folder: Path) -> None:
    pages = f"127.0.0.1:{free_port()}"
    places = {
        "localhost:3000": pages,
        "http.server 3000": f"http.server {pages.partition(':')[2]}",
        BASE: live.url,
    }

    printed = walk(guide("reset-and-verification-pages"), live, folder, places)

    _, _, signed_up, verified, requested, reset, refused, _ = printed
    assert '"email":"mary@example.com"' in signed_up
    assert verified.strip() == f"302 http://{pages}/verified.html"
    assert requested.strip() == '{"status":true}'
    assert reset.startswith(f"302 http://{pages}/reset.html?token=")
    assert '"INVALID_REDIRECT_URL"' in refused


def test_a_provider_is_tried_as_it_says(tmp_path: Path, provider: ProviderProcess) -> None:
    provider.reset()
    port = free_port()
    settings = {
        **social_settings(provider),
        "base_url": f"http://127.0.0.1:{port}",
        "session.cookie_secure": "false",
    }

    came_back, looked, again = follow(guide("try-a-provider"), tmp_path, settings, port=port)

    session, accounts, tokens, renewed = (json.loads(line) for line in looked.splitlines() if line)
    refused, kept = (line for line in again.splitlines() if line)
    assert came_back.strip() == f"302 http://127.0.0.1:{port}/welcome"
    assert session["user"]["email"] == "ada@example.com"
    assert [account["providerId"] for account in accounts] == ["test"]
    assert tokens["accessToken"] != renewed["accessToken"]
    assert refused.startswith(f"302 http://127.0.0.1:{port}/error?error=state_mismatch")
    assert json.loads(kept)["code"] == "FAILED_TO_UNLINK_LAST_ACCOUNT"


def test_the_tables_of_providers_are_settings_of_the_program(tmp_path: Path) -> None:
    [table] = blocks(SOCIAL, "toml")
    (tmp_path / "gatewright.toml").write_text(table.text, "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert list(settings.named(ProviderSettings)) == ["google", "github", "company", "forge"]


def test_the_variables_of_a_provider_are_settings_of_the_program(tmp_path: Path) -> None:
    secret = tmp_path / "google"
    secret.write_text("of-your-own", "utf-8")
    variables = dict(re.findall(r"^export (\w+)=(\S+)$", blocks(SOCIAL, "sh")[0].text, re.MULTILINE))
    variables["GATEWRIGHT_PROVIDERS__GOOGLE__CLIENT_SECRET_FILE"] = str(secret)

    settings = load_settings({"GATEWRIGHT_PROFILE": "development", **variables}, tmp_path)

    google = settings.named(ProviderSettings)["google"]
    assert (google.preset, secret_of(google.client_secret)) == ("google", "of-your-own")


def test_every_preset_has_its_line() -> None:
    assert re.findall(r"^\| `([a-z]+)` \| [^|]*(?:User settings|\[)", SOCIAL, re.MULTILINE) == list(PRESETS)


def test_production_starts_with_the_settings_it_names(tmp_path: Path) -> None:
    shell = Shell(tmp_path)

    [block] = blocks(guide("run-it-for-others"), "sh")
    printed = shell.type(placed(block.text, {}))

    assert shell.leave() == 0
    assert "database    postgresql://gatewright:***@localhost/gatewright" in printed
    assert "The configuration is valid." in printed
