"""Authentication methods. A capability declares its own next to its audit events."""

from dataclasses import dataclass

METHODS: "dict[str, AuthenticationMethod]" = {}
"""Every declared method by name."""


@dataclass(frozen=True, slots=True)
class AuthenticationMethod:
    """A method as sessions and audit records name it. Declaring one registers it in `METHODS`."""

    name: str
    label: str | None
    """Its name for people, in English, marked with `N_`; None if the provider is shown, as of `oauth:google`."""
    amr: str = ""
    """The values of `amr` (RFC 8176) of a session that begins with it, separated by spaces; empty if it begins none, or
    if they differ between uses."""

    def __post_init__(self) -> None:
        """Register the method. Raises ValueError if the name is already registered."""
        if self.name in METHODS:
            raise ValueError(f"the authentication method {self.name!r} is declared twice")
        METHODS[self.name] = self


def find(name: str) -> AuthenticationMethod | None:
    """Return the method that a session or audit record names, without the provider after a colon; None if unknown."""
    return METHODS.get(name.partition(":")[0])


def amr_of(name: str) -> str:
    """Return the values of `amr` for the method of a session, separated by spaces; empty if none is known."""
    method = find(name)
    return "" if method is None else method.amr
