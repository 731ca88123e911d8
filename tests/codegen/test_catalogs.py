"""The catalogs of translations."""

from pathlib import Path

import pytest

from codegen.catalogs import LANGUAGES, Tree, main

PAGE = """
{% trans name=user.name %}
  Hello {{ name }},
  welcome.
{% endtrans %}
{{ _("Sign in") }}
{% trans count=keys %}One key{% pluralize %}{{ count }} keys{% endtrans %}
"""
MODULE = 'from domain.errors import NotFound\n\nclass DoorNotFound(NotFound):\n    message = "No such door"\n'
PROTOCOL = 'class InvalidDoor(OAuthError):\n    error = "invalid_door"\n    message = "For developers"\n'


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small tree: a page, an email, an error."""
    for name, text in {
        "handlers/pages/templates/sign-in.html": PAGE,
        "handlers/pages/sign_in.py": 'TITLE = localization.gettext("Welcome back")\n'
        'OTHER = localization.gettext(TITLES.get(name, N_("Welcome")))\n',
        "server/templates/email/test/subject.txt": "{% trans %}A test{% endtrans %}",
        "domain/doors/errors.py": MODULE,
        "domain/oauth/errors.py": PROTOCOL,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "locales").mkdir()
    return Tree(tmp_path, tmp_path / "locales")


def translate(tree: Tree, language: str, translations: dict[str, str]) -> None:
    """Fill the empty translations of a catalog; those that are not named become a copy of their text."""
    lines: list[str] = []
    text = ""
    for line in tree.catalog(language).read_text("utf-8").splitlines():
        if line.startswith("msgid"):
            text = line.partition('"')[2][:-1]
        head, empty, _ = line.partition('""')
        is_empty = head.startswith("msgstr") and empty and text
        lines.append(f'{head}"{translations.get(text, text)}"' if is_empty else line)
    tree.catalog(language).write_text("\n".join(lines) + "\n", "utf-8")


def translate_all(tree: Tree, **translations: str) -> None:
    """Translate all texts, the named ones in this way."""
    main([], tree=tree)
    for language in LANGUAGES:
        translate(tree, language, {key.replace("_", " "): text for key, text in translations.items()})


class TestTexts:
    def test_are_those_of_pages_modules_emails_and_errors(self, tree: Tree) -> None:
        main([], tree=tree)

        german = tree.catalog("de").read_text("utf-8")
        for text in (
            "Sign in",
            "Hello %(name)s, welcome.",
            "Welcome back",
            "Welcome",
            "A test",
            "No such door",
            "One key",
        ):
            assert f'msgid "{text}"\nmsg' in german
        assert "#: domain/doors/errors.py\nmsgid" in german
        assert "For developers" not in german

    def test_one_that_went_is_dropped_and_the_others_keep_their_translation(self, tree: Tree) -> None:
        translate_all(tree, A_test="Ein Test")
        (tree.root / "domain/doors/errors.py").write_text("")

        assert main(["--check"], tree=tree) == 1
        assert main([], tree=tree) == 0
        german = tree.catalog("de").read_text("utf-8")
        assert "No such door" not in german
        assert 'msgstr "Ein Test"' in german


class TestCheck:
    def test_accepts_what_was_written_and_translated(self, tree: Tree) -> None:
        translate_all(tree)

        assert main(["--check"], tree=tree) == 0

    def test_names_a_text_without_translation(self, tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
        translate_all(tree)
        with (tree.root / "handlers/pages/sign_in.py").open("a") as module:
            module.write('MORE = N_("New here?")\n')

        assert main([], tree=tree) == 0
        assert main(["--check"], tree=tree) == 1
        assert "de: no translation: 'New here?'" in capsys.readouterr().err

    def test_names_a_catalog_that_is_out_of_date(
        self, tree: Tree, capsys: pytest.CaptureFixture[str]
    ) -> None:
        translate_all(tree)
        capsys.readouterr()
        with tree.catalog("fr").open("a") as catalog:
            catalog.write('\n#, fuzzy\nmsgid "Old"\nmsgstr "Vieux"\n')

        assert main(["--check"], tree=tree) == 1
        assert capsys.readouterr().err == "fr.po is stale: run `make translations`\n"

    @pytest.mark.parametrize(
        "translation",
        ["Hallo, willkommen.", "Hallo %(nom)s, willkommen.", "Hallo %(name)s, 100 % willkommen."],
    )
    def test_names_a_translation_with_other_placeholders(
        self, tree: Tree, translation: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main([], tree=tree)
        for language in LANGUAGES:
            translate(tree, language, {"Hello %(name)s, welcome.": translation})

        assert main(["--check"], tree=tree) == 1
        assert "de: other placeholders: 'Hello %(name)s, welcome.'" in capsys.readouterr().err

    def test_names_a_translation_with_other_markup(
        self, tree: Tree, capsys: pytest.CaptureFixture[str]
    ) -> None:
        translate_all(tree, Sign_in="<b>Anmelden</b>")

        assert main(["--check"], tree=tree) == 1
        assert "de: other markup: 'Sign in'" in capsys.readouterr().err
