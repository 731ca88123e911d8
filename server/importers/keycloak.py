"""Users and organizations of a Keycloak realm, from the files of `kc.sh export`.

The formats: https://www.keycloak.org/server/importExport,
https://github.com/keycloak/keycloak/tree/main/core/src/main/java/org/keycloak/representations/idm.
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from domain.data_import.eligibility import Field, Problem
from domain.organizations.roles import MEMBER, OWNER
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import json_document, metadata
from server.importers.keycloak_credentials import passkeys, password, second_factor
from server.importers.source import Row, SourceRefused
from server.importers.tables import instant
from server.importers.values import Fields

ORIGIN = "keycloak"
DISABLED = "Disabled in Keycloak"
_REALM = "-realm.json"
_OF_EVERY_USER = re.compile(r"default-roles-.*|offline_access|uma_authorization")
_USERS = re.compile(r"-users-([0-9]+)\.json")


@dataclass(frozen=True, slots=True)
class RealmFiles:
    """The files of one realm: the file that describes the realm, and the files of its users, in order."""

    realm: Path
    users: Sequence[Path]


def find_files(path: Path) -> RealmFiles:
    """Return the files of a realm. `path` is a file with the whole realm, a folder with the files of one realm, or the
    file of one of the realms in a folder.

    Raises SourceRefused if the realm is not found, or if a folder has several.
    """
    if path.is_dir():
        realms = sorted(each for each in path.iterdir() if each.name.endswith(_REALM))
        if len(realms) != 1:
            names = ", ".join(each.name for each in realms) or "none"
            raise SourceRefused(
                f"{path} must have one file REALM{_REALM}, and has {names}: name the file itself"
            )
        path = realms[0]
    # With `--users realm_file`, the users are in the file of the realm.
    return RealmFiles(path, [path, *_files_of_users(path)])


def _files_of_users(realm: Path) -> list[Path]:
    """Return the files of users next to that of their realm, by number."""
    if not realm.name.endswith(_REALM):
        return []
    name = realm.name.removesuffix(_REALM)
    numbered = {
        int(match[1]): each
        for each in realm.parent.iterdir()
        if each.name.startswith(name) and (match := _USERS.fullmatch(each.name[len(name) :]))
    }
    return [numbered[number] for number in sorted(numbered)]


class Keycloak:
    """The source that reads an exported realm."""

    origin = ORIGIN

    def __init__(self, files: RealmFiles, user_ids: TemporaryMap, owner: str | None = None) -> None:
        """Create the source; `user_ids` is an empty map, which is filled while the users are read.

        `owner` is the username of the user who becomes the owner of each organization, because Keycloak has no owners.
        """
        self._files = files
        self._user_ids = user_ids
        self._owner = owner
        self.total = sum(file.stat().st_size for file in files.users)

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails, or if there is no user."""
        number = before = 0
        for path in self._files.users:
            with path.open("rb") as file:
                for user in json_document.items(file, "users.item"):
                    number += 1
                    yield self._row(user, f"user {number}", before + file.tell())
                before += file.tell()
        if number == 0:
            raise SourceRefused(
                "the export has no users: it must be what `kc.sh export --realm REALM` writes, with its users"
            )

    def _row(self, user: object, name: str, position: int) -> Row:
        if not isinstance(user, dict):
            return Row(name, Problem("users", "is not a list of objects"), name, position)
        if user.get("serviceAccountClientId"):
            return Row(name, {}, name, position, "service accounts")
        id_, username = user.get("id"), user.get("username")
        if isinstance(id_, str) and isinstance(username, str):
            self._user_ids.update({username: id_})
        return Row(name if id_ is None else f"id {id_}", _fields(user), name, position)

    @cached_property
    def organization_total(self) -> int | None:
        """Return the number of organizations. Raises SourceRefused."""
        return sum(1 for _ in self._organizations()) or None

    async def organization_rows(self, now: datetime) -> AsyncIterator[Row]:
        """Yield every organization with its members; their users must have been read. Raises SourceRefused."""
        for position, organization in enumerate(self._organizations(), 1):
            parsed = metadata.parse(organization)
            yield Row(f"organization {parsed.get('id')}", self._organization(parsed), position=position)

    def _organizations(self) -> Iterator[object]:
        with self._files.realm.open("rb") as file:
            yield from json_document.items(file, "organizations.item")

    def _organization(self, organization: Fields) -> Fields | Problem:
        if organization.get("enabled") is False:
            return Problem("enabled", "is false: enable the organization, or leave it behind")
        members = {
            username: ",".join(str(role) for role in metadata.parse_list(member.get("organizationRoles")))
            or MEMBER
            for member in map(metadata.parse, metadata.parse_list(organization.get("members")))
            if isinstance(username := member.get("username"), str)
        }
        if self._owner is not None:
            members[self._owner] = OWNER
        ids = self._user_ids.find(list(members))
        attributes = metadata.parse(organization.get("attributes"))
        return {
            "id": organization.get("id"),
            "name": organization.get("name"),
            "slug": organization.get("alias"),
            "metadata": attributes or None,
            "members": [
                {"id": f"{organization.get('id')} {name}", "userId": ids.get(name, name), "role": role}
                for name, role in members.items()
            ],
        }


def _fields(user: Fields) -> Fields:
    credentials = [metadata.parse(each) for each in metadata.parse_list(user.get("credentials"))]
    name = " ".join(part for key in ("firstName", "lastName") if (part := metadata.text(user.get(key))))
    enabled = user.get("enabled", True)
    email, username = user.get("email"), user.get("username")
    # In realms with the email address as username, Keycloak stores it twice.
    has_username = isinstance(username, str) and isinstance(email, str) and username.lower() != email.lower()
    return {
        "id": user.get("id"),
        "email": email or Problem("email", "is missing: the user signs in without one"),
        "emailVerified": user.get("emailVerified"),
        "name": name or None,
        "image": _attribute(user, "picture"),
        "locale": _attribute(user, "locale"),
        "username": username if has_username else None,
        "role": _role(user),
        "banned": not enabled if isinstance(enabled, bool) else enabled,
        "banReason": DISABLED if enabled is False else None,
        "createdAt": instant(user.get("createdTimestamp")),
        "passwordHash": _password(user, credentials),
        "twoFactor": second_factor(credentials),
        "passkeys": passkeys(credentials, user.get("id")),
        "accounts": [
            {"providerId": each.get("identityProvider"), "accountId": each.get("userId")}
            for each in map(metadata.parse, metadata.parse_list(user.get("federatedIdentities")))
        ],
    }


def _role(user: Fields) -> str | None:
    """Return the realm roles, without those that Keycloak gives to every user."""
    names = [each for each in metadata.parse_list(user.get("realmRoles")) if isinstance(each, str)]
    return ",".join(name for name in names if not _OF_EVERY_USER.fullmatch(name)) or None


def _password(user: Fields, credentials: Sequence[metadata.Metadata]) -> object:
    if "UPDATE_PASSWORD" in metadata.parse_list(user.get("requiredActions")):
        return Problem(
            "passwordHash", "must be replaced at the next sign-in (UPDATE_PASSWORD)", Field.PASSWORD
        )
    found = password(credentials)
    if found is None and user.get("federationLink"):
        return Problem("passwordHash", "is kept by a user federation provider, such as LDAP", Field.PASSWORD)
    return found


def _attribute(user: Fields, name: str) -> str | None:
    return metadata.text(*metadata.parse_list(metadata.parse(user.get("attributes")).get(name)))
