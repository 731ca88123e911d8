"""The list of common passwords."""

from pathlib import Path

import pytest

from domain.passwords.strength import canonical
from server.crypto.blocklist import COMMON_PASSWORDS, blocklist


class TestBuiltInList:
    def test_says_where_it_comes_from_and_holds_canonical_passwords_of_8_and_more(self) -> None:
        source, *lines = COMMON_PASSWORDS.read_text(encoding="utf-8").splitlines()

        assert source.startswith("# ")
        assert 3000 <= len(lines) == len(set(lines)) < 20_000
        assert all(line == canonical(line) and len(line) >= 8 for line in lines)
        assert lines == sorted(lines)
        assert all(line in blocklist(True, None) for line in lines)

    def test_knows_what_everybody_takes(self) -> None:
        listed = blocklist(True, None)

        assert listed >= {
            "password",
            "12345678",
            "qwertyuiop",
            "iloveyou",
            "password1",
            "trustno1",
            "football",
            "00000000",
            "jennifer",
            "password1!",
        }
        assert canonical(COMMON_PASSWORDS.read_text(encoding="utf-8").partition("\n")[0]) not in listed


class TestBlocklist:
    def test_is_empty_when_switched_off(self, tmp_path: Path) -> None:
        assert blocklist(False, tmp_path / "missing.txt") == frozenset()

    def test_adds_the_operator_s_own(self, tmp_path: Path) -> None:
        file = tmp_path / "own.txt"
        file.write_bytes("\ufeffGatewright2026\r\n\r\nStra\u00dfe \u2460\n# hash\u2028sign\nlast".encode())

        added = blocklist(True, file) - blocklist(True, None)

        assert added == {"gatewright2026", "strasse 1", "# hash\u2028sign", "last"}

    def test_a_file_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            blocklist(True, tmp_path / "missing.txt")
