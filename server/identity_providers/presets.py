"""The presets of well-known providers: their endpoints, and where they differ from the standards."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

Names = Mapping[str, tuple[str, ...]]
"""For each of id, email, email_verified, name and image, the claims that may contain it, in order of preference.

A name with dots, such as `picture.data.url`, is a path into the objects and lists of a profile."""

OPENID_NAMES: Names = MappingProxyType(
    {
        "id": ("sub",),
        "email": ("email",),
        "email_verified": ("email_verified",),
        "name": ("name",),
        "image": ("picture",),
    }
)
OAUTH_NAMES: Names = MappingProxyType(
    {**OPENID_NAMES, "id": ("id", "sub"), "image": ("picture", "avatar_url")}
)


class Endpoints(NamedTuple):
    """The endpoints of a provider of plain OAuth 2.0."""

    authorization: str
    token: str
    userinfo: str


@dataclass(frozen=True, slots=True)
class Preset:
    """The preset of one provider. If `endpoints` is None, the endpoints come from the issuer's discovery document."""

    scopes: tuple[str, ...] = ("openid", "email", "profile")
    issuer: str = ""
    """The issuer; `{tenant}` is replaced by the setting. With `endpoints`, it is only used for redirects (RFC 9207)."""
    aliases: tuple[str, ...] = ()
    """Other spellings of the issuer in ID tokens."""
    endpoints: Endpoints | None = None
    names: Names = field(default_factory=dict)
    """The claim names that differ from the default ones; an empty tuple if the provider does not send the claim."""
    extra_params: Mapping[str, str] = field(default_factory=dict)
    pkce: bool = True
    nonce: bool = True
    """False if the provider omits the nonce in its ID tokens, so that a check would refuse all of them."""
    refreshes: bool = True
    asks_userinfo: bool = True
    """False if the ID token is complete, and the userinfo endpoint does not accept the application's access token."""
    tenanted: bool = False
    """Whether each tenant has its own issuer, and the issuer in the discovery document is a pattern (microsoft)."""
    signs_secret: bool = False
    """Whether the client secret is a JWT that the service signs, and the user's name comes in a form (apple)."""
    text_verifies: bool = False
    """Whether `email_verified` may be the text "true" in place of the boolean (apple)."""
    emails_path: str = ""
    """The path of the list of email addresses, to be added to the userinfo endpoint (github); empty for none."""
    image_address: str = ""
    """Template of the URL of an image, if the profile contains only the file name (discord); empty otherwise."""

    @property
    def is_openid(self) -> bool:
        """Return whether the provider implements OpenID Connect."""
        return self.endpoints is None


# Twitch sends these only if the parameter `claims` requests them.
_TWITCH_CLAIMS = dict.fromkeys(("email", "email_verified", "preferred_username", "picture"))

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # Google documents that its ID tokens may have the issuer without `https://`.
        "google": Preset(issuer="https://accounts.google.com", aliases=("accounts.google.com",)),
        "github": Preset(
            scopes=("read:user", "user:email"),
            issuer="https://github.com/login/oauth",
            endpoints=Endpoints(
                "https://github.com/login/oauth/authorize",
                "https://github.com/login/oauth/access_token",
                "https://api.github.com/user",
            ),
            names={"id": ("id",), "name": ("name", "login"), "image": ("avatar_url",)},
            emails_path="/emails",
        ),
        "gitlab": Preset(issuer="https://gitlab.com"),
        "microsoft": Preset(
            scopes=("openid", "email", "profile", "offline_access"),
            issuer="https://login.microsoftonline.com/{tenant}/v2.0",
            # Any tenant can set any `email`. Entra ID reports in `xms_edov` whether the tenant owns its domain.
            names={"email_verified": ("email_verified", "xms_edov")},
            asks_userinfo=False,
            tenanted=True,
        ),
        "apple": Preset(
            scopes=("openid", "email", "name"),
            issuer="https://appleid.apple.com",
            extra_params={"response_mode": "form_post"},
            signs_secret=True,
            text_verifies=True,
        ),
        "discord": Preset(
            scopes=("identify", "email"),
            endpoints=Endpoints(
                "https://discord.com/oauth2/authorize",
                "https://discord.com/api/oauth2/token",
                "https://discord.com/api/users/@me",
            ),
            names={
                "id": ("id",),
                "email_verified": ("verified",),
                "name": ("global_name", "username"),
                "image": ("avatar",),
            },
            image_address="https://cdn.discordapp.com/avatars/{subject}/{image}.png",
        ),
        "facebook": Preset(
            scopes=("email", "public_profile"),
            endpoints=Endpoints(
                "https://www.facebook.com/dialog/oauth",
                "https://graph.facebook.com/oauth/access_token",
                "https://graph.facebook.com/me?fields=id,name,email,picture.type(large)",
            ),
            names={"id": ("id",), "email_verified": (), "image": ("picture.data.url",)},
            pkce=False,
            refreshes=False,
        ),
        "linkedin": Preset(issuer="https://www.linkedin.com/oauth", pkce=False, nonce=False),
        "slack": Preset(issuer="https://slack.com", pkce=False),
        "spotify": Preset(
            scopes=("user-read-email",),
            endpoints=Endpoints(
                "https://accounts.spotify.com/authorize",
                "https://accounts.spotify.com/api/token",
                "https://api.spotify.com/v1/me",
            ),
            names={
                "id": ("id",),
                "email_verified": (),
                "name": ("display_name",),
                "image": ("images.0.url",),
            },
        ),
        "twitch": Preset(
            scopes=("openid", "user:read:email"),
            issuer="https://id.twitch.tv/oauth2",
            names={"name": ("preferred_username",)},
            extra_params={"claims": json.dumps({"id_token": _TWITCH_CLAIMS, "userinfo": _TWITCH_CLAIMS})},
            pkce=False,
        ),
    }
)
