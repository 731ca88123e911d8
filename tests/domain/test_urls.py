"""Public addresses come from the settings alone."""

from domain import urls
from tests.policies import policy


def test_a_link_is_base_address_base_path_and_path() -> None:
    assert urls.public_url(policy(), "/ok") == "https://auth.example.com/ok"
    assert urls.public_url(policy(base_path="/api/auth"), "/ok") == "https://auth.example.com/api/auth/ok"


def test_query_values_are_encoded_and_absent_ones_left_out() -> None:
    link = urls.public_url(policy(), "/verify-email", token="abc", callbackURL="https://app.test/a?b=c&d=é#e")

    assert link == (
        "https://auth.example.com/verify-email?token=abc"
        "&callbackURL=https%3A%2F%2Fapp.test%2Fa%3Fb%3Dc%26d%3D%C3%A9%23e"
    )
    assert urls.public_url(policy(), "/reset-password/abc", callbackURL=None) == (
        "https://auth.example.com/reset-password/abc"
    )
