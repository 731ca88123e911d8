"""The user who goes on the journey, and what they type."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.labs.provider.process import ProviderProcess
from tests.security.witness import Witness

ADA = "ada@example.com"
EVE = "eve@example.com"
FIRST, SECOND, THIRD, WRONG = (
    "seven red bicycles",
    "eight green bicycles",
    "nine blue bicycles",
    "a wrong bicycle",
)
UNKNOWN = "Q7" * 16
"""Of the form of a token, and none."""


@dataclass
class Traveller:
    """Who goes: the witness, the provider that knows them, and the session they have at the moment."""

    witness: Witness
    provider: ProviderProcess
    promote: Callable[[str], None]
    """Makes the user with an email address an administrator."""
    session: str = ""
