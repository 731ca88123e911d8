"""Authentication methods. Each capability declares the methods that it adds, next to its audit events."""

from dataclasses import dataclass

METHODS: "dict[str, AuthenticationMethod]" = {}
"""Every declared method by name."""


@dataclass(frozen=True, slots=True)
class AuthenticationMethod:
    """A way to authenticate, such as a password, as sessions and audit records name it.

    Creating one registers it in `METHODS`.
    """

    name: str
    label: str | None
    """The name shown to people, in English, marked with `N_`; None if the provider is shown instead, as for
    `oauth:google`."""
    amr: str = ""
    """The values of `amr` (RFC 8176) of a session that this method opens, separated by spaces; empty if it opens none,
    or if the values differ between sign-ins."""

    def __post_init__(self) -> None:
        """Register the method. Raises ValueError if the name is already registered."""
        if self.name in METHODS:
            raise ValueError(f"the authentication method {self.name!r} is declared twice")
        METHODS[self.name] = self


def find(name: str) -> AuthenticationMethod | None:
    """Return the method with the name that a session or audit record has; None if it is unknown.

    A provider after a colon, as in `oauth:google`, is ignored.
    """
    return METHODS.get(name.partition(":")[0])


def amr_of(name: str) -> str:
    """Return the values of `amr` for the method with this name, separated by spaces; empty if there are none."""
    method = find(name)
    return "" if method is None else method.amr
