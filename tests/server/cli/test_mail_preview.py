"""What emails look like: `gatewright mail preview`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from domain.localization import LANGUAGES
from domain.mail.templates import templates
from tests.server.terminal import Run, complaint


@pytest.fixture
def command_settings() -> Mapping[str, str]:
    """The development profile."""
    return {"GATEWRIGHT_PROFILE": "development"}


def test_prints_text_and_html_with_example_values(run: Run) -> None:
    done = run("mail", "preview", "reset-password", "--locale", "de-AT")

    assert done.exit_code == 0
    assert "\nSubject: Setzen Sie Ihr Passwort zurück\n\nHallo Ada Lovelace,\n" in done.stdout
    assert "für 1 Stunde gültig" in done.stdout
    assert '<html lang="de" dir="ltr">' in done.stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_writes_all_into_a_folder(run: Run, tmp_path: Path, language: str) -> None:
    done = run("mail", "preview", "--all", "--locale", language, "--output", str(tmp_path / "new" / "folder"))

    written = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert written == {f"{name}.{language}.{ending}" for name in templates() for ending in ("html", "txt")}
    assert len(done.stdout.splitlines()) == len(written)


def test_shows_the_operators_templates_and_brand(run: Run, tmp_path: Path) -> None:
    (tmp_path / "otp").mkdir()
    (tmp_path / "otp" / "subject.txt").write_text("Code of {{ app_name }}")

    done = run(
        "mail",
        "preview",
        "otp",
        GATEWRIGHT_APP_NAME="Acme",
        GATEWRIGHT_MAIL__TEMPLATES_DIR=str(tmp_path),
        GATEWRIGHT_PAGES__ACCENT="#0a6b2c",
        GATEWRIGHT_PAGES__LOCALE="fr",
    )

    assert "Subject: Code of Acme\n\nBonjour Ada Lovelace," in done.stdout
    assert ".link { color: #9db4ff !important; }" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("reset-pasword",),
            "there is no email reset-pasword; did you mean reset-password? (gatewright mail list lists all)",
        ),
        (("xyzzy",), "there is no email xyzzy (gatewright mail list lists all)"),
        (("otp", "--locale", "nl"), "there is no language nl; there are ar, de, en, es, fr, pt-BR"),
        ((), "give the name of one email, or --all; gatewright mail list lists them"),
        (("otp", "--all"), "give the name of one email, or --all; gatewright mail list lists them"),
    ],
)
def test_says_what_is_wrong(run: Run, words: tuple[str, ...], expected: str) -> None:
    done = run("mail", "preview", *words)

    assert (done.exit_code, complaint(done.stderr)) == (1, expected)


def test_a_folder_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = run("mail", "preview", "otp", "--output", str(tmp_path / "file"))

    assert done.exit_code == 1
    assert complaint(done.stderr).startswith(f"--output: {tmp_path / 'file'}: ")


def test_the_names_are_listed(run: Run) -> None:
    assert run("mail", "list").stdout.split() == list(templates())
