"""Policy for passkeys, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta

from domain.authenticators import RelyingParty


@dataclass(frozen=True, slots=True)
class PasskeyPolicy:
    """Requirements, limits and lifetimes of passkeys and their challenges."""

    enabled: bool
    rp_id: str
    rp_name: str
    origins: tuple[str, ...]
    """The origins of the pages whose responses are accepted, as browsers write them."""
    requires_user_verification: bool
    counts_as_two_factors: bool
    """Whether a passkey with user verification counts as two factors."""
    challenge_expires_in: timedelta
    max_per_user: int
    mail_signs_in: bool
    """Whether emails let every user sign in or set a password, so that a passkey is never the only way."""
    on_pages: bool
    """Whether the hosted pages can use passkeys: passkeys are enabled, and the pages have one of the origins."""

    @property
    def relying_party(self) -> RelyingParty:
        """The relying party that responses must be created for."""
        return RelyingParty(self.rp_id, self.origins, self.requires_user_verification)

    @property
    def user_verification(self) -> str:
        """The value of `userVerification` in the options for browsers."""
        return "required" if self.requires_user_verification else "preferred"
