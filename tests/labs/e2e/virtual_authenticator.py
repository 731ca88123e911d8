"""Authenticators that Chromium has in software (the domain WebAuthn of the DevTools protocol)."""

from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Page


@dataclass(frozen=True, slots=True)
class VirtualAuthenticator:
    """An authenticator of one page. Its user agrees to everything at once, until told otherwise."""

    devtools: CDPSession
    id: str

    async def credentials(self) -> list[dict[str, Any]]:
        """Return what it keeps, with the private keys."""
        answer = await self.devtools.send("WebAuthn.getCredentials", {"authenticatorId": self.id})
        found: list[dict[str, Any]] = answer["credentials"]
        return found

    async def verify_user(self, verified: bool) -> None:
        """Set whether the user passes the check of fingerprint, face or PIN."""
        await self.devtools.send(
            "WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": verified}
        )

    async def respond(self, enabled: bool) -> None:
        """Set whether the user agrees at once, or does nothing."""
        named = {"authenticatorId": self.id, "enabled": enabled}
        await self.devtools.send("WebAuthn.setAutomaticPresenceSimulation", named)


async def attach(page: Page, **options: Any) -> VirtualAuthenticator:
    """Add an authenticator to a page that is part of the device and keeps passkeys."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable", {"enableUI": False})
    wanted = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
        **options,
    }
    added = await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": wanted})
    return VirtualAuthenticator(devtools, added["authenticatorId"])
