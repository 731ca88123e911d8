"""What a new password must satisfy."""

from dataclasses import replace

import pytest

from domain.passwords import strength
from domain.passwords.errors import PasswordTooCommon, PasswordTooLong, PasswordTooShort
from domain.passwords.policy import Blocklist, PasswordPolicy
from tests.policies import policy

POLICY = policy(Blocklist(frozenset({"password", "correct horse", "strasse123"})), app_name="Example App")
RULES = POLICY[PasswordPolicy]
OWNER = {"email": "ada.lovelace@example.com", "username": "countess_ada", "name": "Ada Lovelace"}


class TestCheckLength:
    @pytest.mark.parametrize(
        "password", ["x" * 8, "x" * 128, "😀" * 8, "        ", "\u2460" * 8, "e\u0301" * 128]
    )
    def test_passes(self, password: str) -> None:
        strength.check_length(RULES, password)

    @pytest.mark.parametrize("password", ["", "x" * 7, "😀" * 7, "e\u0301" * 7])
    def test_too_short_after_nfkc(self, password: str) -> None:
        with pytest.raises(PasswordTooShort):
            strength.check_length(RULES, password)

    @pytest.mark.parametrize("password", ["x" * 129, "\ufdfa" * 8, "e\u0301" * 129])
    def test_too_long_after_nfkc(self, password: str) -> None:
        with pytest.raises(PasswordTooLong):
            strength.check_length(RULES, password)

    def test_1024_as_sent_are_the_limit_whatever_nfkc_makes_of_them(self) -> None:
        generous = replace(RULES, max_length=100_000)

        strength.check_length(generous, "x" * 1024)
        with pytest.raises(PasswordTooLong):
            strength.check_length(generous, "e\u0301" * 513)

    @pytest.mark.threat("V72")
    def test_a_combining_bomb_is_refused_as_it_was_sent(self) -> None:
        with pytest.raises(PasswordTooLong):
            strength.check_length(RULES, "a" + "\u0316\u0301" * 500_000)


class TestCheckCommon:
    @pytest.mark.parametrize(
        "password",
        [
            "password",
            "PassWord",
            "ｐａｓｓｗｏｒｄ",  # noqa: RUF001
            "Correct Horse",
            "Straße123",
            "ada.lovelace@example.com",
            "ADA.lovelace@EXAMPLE.com",
            "Ada.Lovelace",
            "Countess_Ada",
            "ada lovelace",
            "example app",
        ],
    )
    def test_refuses_what_is_tried_first(self, password: str) -> None:
        with pytest.raises(PasswordTooCommon):
            strength.check_common(POLICY, password, **OWNER)

    @pytest.mark.parametrize(
        "password", ["password ", "passwords", "xpassword", "adalovelace", "example.com", "        "]
    )
    def test_compares_wholes(self, password: str) -> None:
        strength.check_common(POLICY, password, **OWNER)

    def test_unset_names_match_nothing(self) -> None:
        strength.check_common(POLICY, "whatever it is", email="a@b.test", username=None, name=None)
        strength.check_common(POLICY, "", email="a@b.test", username="", name="")

    def test_nothing_is_common_when_switched_off(self) -> None:
        lax = policy(app_name="Example App", password={"blocklist": False})

        strength.check_common(lax, "ada.lovelace", **OWNER)


class TestCheck:
    def test_too_short_comes_before_too_common(self) -> None:
        parts = {**POLICY.parts, PasswordPolicy: replace(RULES, min_length=9)}

        with pytest.raises(PasswordTooShort):
            strength.check(replace(POLICY, parts=parts), "password", **OWNER)
        with pytest.raises(PasswordTooCommon):
            strength.check(POLICY, "password", **OWNER)
        strength.check(POLICY, "battery staple", **OWNER)
