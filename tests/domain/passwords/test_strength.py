"""What a new password must satisfy."""

from dataclasses import replace

import pytest

from domain.passwords import strength
from domain.passwords.errors import PasswordTooCommon, PasswordTooLong
from domain.passwords.policy import Blocklist, PasswordPolicy
from tests.policies import policy

POLICY = policy(Blocklist(frozenset({"password", "correct horse", "strasse123"})), app_name="Example App")
RULES = POLICY[PasswordPolicy]
OWNER = {"email": "ada.lovelace@example.com", "username": "countess_ada", "name": "Ada Lovelace"}


class TestCheckLength:
    def test_1024_as_sent_are_the_limit_whatever_nfkc_makes_of_them(self) -> None:
        generous = replace(RULES, max_length=100_000)

        strength.check_length(generous, "x" * 1024)
        with pytest.raises(PasswordTooLong):
            strength.check_length(generous, "e\u0301" * 513)


class TestCheckCommon:
    @pytest.mark.parametrize(
        "password", ["Correct Horse", "Straße123", "ADA.lovelace@EXAMPLE.com", "Ada.Lovelace", "example app"]
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
