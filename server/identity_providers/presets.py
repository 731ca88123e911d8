"""The providers known by name: where they are, and in what each differs from the standards, as data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

Names = Mapping[str, tuple[str, ...]]
"""For id, email, email_verified, name and image: what a provider may call it, the likeliest name first.

A name with dots that is no name itself leads into the objects and lists of a profile."""

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
    """The preset of one provider. Without endpoints, OpenID Connect discovery at its issuer finds them."""

    scopes: tuple[str, ...] = ("openid", "email", "profile")
    issuer: str = ""
    """With endpoints: the one that RFC 9207 names in redirects. `{tenant}` stands for the setting."""
    aliases: tuple[str, ...] = ()
    """Other spellings of the issuer that ID tokens carry."""
    endpoints: Endpoints | None = None
    names: Names = field(default_factory=dict)
    """The claims, if not the usual ones; an empty tuple: the provider does not send it."""
    extra_params: Mapping[str, str] = field(default_factory=dict)
    pkce: bool = True
    nonce: bool = True
    """False: the provider leaves the nonce out of its ID tokens, so that asking for it would refuse everybody."""
    refreshes: bool = True
    asks_userinfo: bool = True
    """False: the ID token says all, and the endpoint wants tokens of another kind than an application may ask for."""
    tenanted: bool = False
    """Issuers and keys belong to tenants, and the discovered issuer is a pattern (microsoft)."""
    signs_secret: bool = False
    """The client secret is a JWT signed with a key of the operator, and the name comes in the first form (apple)."""
    text_verifies: bool = False
    """The text "true" counts as the mark that an address is verified (apple)."""
    emails_path: str = ""
    """The suffix of the profile's endpoint for the list of email addresses (github)."""
    image_address: str = ""
    """The address of a picture that the profile names by a word only (discord)."""

    @property
    def is_openid(self) -> bool:
        """Return whether it speaks OpenID Connect."""
        return self.endpoints is None


_TWITCH_CLAIMS = dict.fromkeys(("email", "email_verified", "preferred_username", "picture"))

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
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
