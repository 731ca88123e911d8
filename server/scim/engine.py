"""The resources of the SCIM protocol, read, changed and written with scim2-models (RFC 7643, RFC 7644, RFC 9865)."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from scim2_models import (
    Context,
    EnterpriseUser,
    Error,
    Group,
    ListResponse,
    Meta,
    PatchOp,
    ResponseParameters,
    SCIMException,
    ScimPolicy,
    User,
)

from domain.scim.errors import (
    InvalidPath,
    InvalidSyntax,
    InvalidValue,
    Mutability,
    NoTarget,
    ScimError,
    TooMany,
)
from domain.scim.protocol import GROUPS, USERS, Condition, Document, Facts, GroupAttributes, UserAttributes
from server.scim import discovery, filters
from server.scim.members import apply, separated

POLICY = ScimPolicy(
    # Attributes of other schemas are kept and returned.
    unknown=ScimPolicy.Unknown.keep,
    # The next two are how Microsoft Entra ID removes members, and sets an address that is not there yet.
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
MOST_OPERATIONS = 1000
"""The most operations of a PATCH request."""
MOST_APPLIED = 100
"""The most operations that do not change members of a group. scim2-models copies the resource for each of these."""
MOST_ATTRIBUTES = 8192
"""The largest stored attributes of a resource, in bytes."""

_User = User[EnterpriseUser]
_OF_THE_SERVICE = ("id", "meta", "groups", "password")
_MANAGER = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:manager"
_ERRORS: Mapping[str, type[ScimError]] = {
    "invalidSyntax": InvalidSyntax,
    "invalidValue": InvalidValue,
    "invalidPath": InvalidPath,
    "noTarget": NoTarget,
    "mutability": Mutability,
    "tooMany": TooMany,
}


class Engine:
    """The implementation of `domain.scim.protocol.ScimProtocol`."""

    def read_user(self, body: Any) -> UserAttributes:
        """Return the user in the body of a request that creates or replaces it. Raises InvalidSyntax, InvalidValue."""
        user = _validated(_User, body, Context.RESOURCE_CREATION_REQUEST)
        if user.active is None:
            user.active = True
        return _user(user)

    def patch_user(self, before: Document, body: Any) -> UserAttributes:
        """Return the user `before` as the operations of a PATCH body change it. Raises ScimError."""
        return _user(_patched(_User, before, _patch(_User, body, _with_manager)))

    def read_group(self, body: Any) -> GroupAttributes:
        """Return the group in the body of a request that creates or replaces it. Raises ScimError."""
        return _group(_validated(Group, body, Context.RESOURCE_CREATION_REQUEST))

    def patch_group(self, before: Document, members: Sequence[str], body: Any) -> GroupAttributes:
        """Return the group `before`, with the ids of its members, as a PATCH body changes it. Raises ScimError."""
        present = dict.fromkeys(members)
        patch = _patch(Group, body, separated)
        others = [each for each in patch.operations if not apply(present, each)]
        rest = patch.model_copy(update={"operations": others})
        return _group(_patched(Group, before, rest))._replace(members=list(present))

    def conditions(self, endpoint: str, text: str) -> Sequence[Condition]:
        """Parse a filter; return its conditions, all of which must be met. Raises InvalidFilter."""
        return filters.conditions(Group if endpoint == GROUPS else _User, text)

    def resource(self, endpoint: str, document: Document, facts: Facts, query: Mapping[str, str]) -> Document:
        """Return a resource as JSON, with the attributes that `query` selects. Raises InvalidValue, InvalidPath."""
        model: Any = Group if endpoint == GROUPS else _User
        values = {name: value for name, value in document.items() if name not in _OF_THE_SERVICE}
        resource = model.model_validate({**values, **_facts(endpoint, document, facts)}, scim_policy=POLICY)
        resource.meta = Meta(
            resource_type=model.__name__.partition("[")[0],
            created=facts.created_at,
            last_modified=facts.updated_at,
            location=facts.location,
            version=facts.version,
        )
        dumped: Document = resource.model_dump(
            scim_ctx=Context.RESOURCE_QUERY_RESPONSE,
            scim_policy=POLICY,
            response_parameters=_selection(model, query),
        )
        return dumped

    def page(
        self,
        resources: Sequence[Document],
        *,
        number: int,
        total: int | None,
        start: int | None,
        cursor: str | None,
    ) -> Document:
        """Return the response with a page of resources; `number` includes resources that are left out."""
        page = {
            "schemas": [str(ListResponse.__schema__)],
            "totalResults": total,
            "startIndex": start,
            "itemsPerPage": number,
            "nextCursor": cursor,
            "Resources": list(resources),
        }
        return {name: value for name, value in page.items() if value is not None}

    def service_configuration(self, base_url: str, page_size: int) -> Document:
        """Return the document with the SCIM capabilities of the service. `page_size` is the most results of a page."""
        return discovery.service_configuration(base_url, page_size)

    def resource_types(self, base_url: str) -> Sequence[Document]:
        """Return the types of resources."""
        return discovery.resource_types(base_url)

    def schemas(self, base_url: str) -> Sequence[Document]:
        """Return the schemas."""
        return discovery.schemas(base_url)


def _validated(model: Any, body: Any, context: Context) -> Any:
    """Return a resource or message. Raises ScimError."""
    if not isinstance(body, dict):
        raise InvalidSyntax
    try:
        return model.model_validate(body, scim_ctx=context, scim_policy=POLICY)
    except (ValidationError, SCIMException) as refused:
        raise _refusal(refused) from refused


def _patch(model: Any, body: Any, rewritten: Callable[[Any], Iterable[Any]]) -> Any:
    """Return the message of a PATCH request, each of whose operations is rewritten first. Raises ScimError."""
    sent = body.get("Operations") if isinstance(body, dict) else None
    if isinstance(sent, list):
        if len(sent) > MOST_OPERATIONS:  # defence: SSO12 operations
            raise TooMany
        body = {**body, "Operations": [each for operation in sent for each in rewritten(operation)]}
    return _validated(PatchOp[model], body, Context.RESOURCE_PATCH_REQUEST)


def _patched(model: Any, before: Document, patch: Any) -> Any:
    """Return a resource after the operations of a message. Raises ScimError."""
    if len(patch.operations) > MOST_APPLIED:  # defence: SSO12 applied
        raise TooMany
    resource = model.model_validate(before, scim_policy=POLICY)
    try:
        patch.patch(resource, scim_policy=POLICY)
    except SCIMException as refused:
        raise _refusal(refused) from refused
    return resource


def _with_manager(operation: Any) -> Iterable[Any]:
    """Return an operation; Entra ID sends the id of a manager as a text, where the schema has an object."""
    if not isinstance(operation, dict) or not isinstance(operation.get("value"), str):
        return [operation]
    is_manager = str(operation.get("path", "")).lower() == _MANAGER
    return [{**operation, "value": {"value": operation["value"]}} if is_manager else operation]


def _refusal(refused: ValidationError | SCIMException) -> ScimError:
    # The text of an exception that a validation has caused is one for developers.
    cause = refused.__cause__ if isinstance(refused.__cause__, ValidationError) else refused
    first = Error.from_validation_errors(cause)[0] if isinstance(cause, ValidationError) else cause.to_error()
    kind = _ERRORS.get(str(first.scim_type), InvalidValue)
    # The detail names the attribute, and may repeat a part of the value: nothing that the caller has not sent.
    refusal = kind(str(first.detail or kind.message)[:500])
    refusal.quotes_request = True
    return refusal


def _document(resource: Any) -> Document:
    document: dict[str, Any] = resource.model_dump(scim_ctx=Context.DEFAULT, scim_policy=POLICY)
    kept = {name: value for name, value in document.items() if name not in _OF_THE_SERVICE}
    if len(json.dumps(kept)) > MOST_ATTRIBUTES:  # defence: SSO12 size
        raise TooMany("The attributes of the resource take more than 8 KiB")
    return kept


def _user(user: Any) -> UserAttributes:
    if user.password is not None:  # defence: SSO12 password
        raise InvalidValue("password: directories set no passwords")
    photos = [str(each.value) for each in user.photos or () if each.value]
    return UserAttributes(
        user_name=user.user_name,
        active=user.active is not False,
        external_id=user.external_id or None,
        name=_name(user),
        image=photos[0] if photos else None,
        document=_document(user),
    )


def _name(user: Any) -> str:
    """Return the name to show: `displayName`, or `name`."""
    name = user.name
    if user.display_name or name is None:
        return str(user.display_name or "")
    return str(name.formatted or " ".join(each for each in (name.given_name, name.family_name) if each))


def _group(group: Any) -> GroupAttributes:
    if not group.display_name:
        raise InvalidValue("displayName: a name is needed")
    members = list(dict.fromkeys(each.value for each in group.members or () if each.value))
    document = {name: value for name, value in _without_members(group).items() if name != "members"}
    return GroupAttributes(group.display_name, group.external_id or None, members, document)


def _without_members(group: Any) -> Document:
    return _document(group.model_copy(update={"members": None}))


def _facts(endpoint: str, document: Document, facts: Facts) -> dict[str, Any]:
    known: dict[str, Any] = {"id": facts.id}
    if facts.external_id is not None:
        known["externalId"] = facts.external_id
    if endpoint == GROUPS:
        base = facts.location.removesuffix(f"/{GROUPS}/{facts.id}")
        members = [
            {"value": id_, "display": name, "type": "User", "$ref": f"{base}/{USERS}/{id_}"}
            for id_, name in facts.related
        ]
        return {**known, "displayName": facts.name, **({"members": members} if members else {})}
    groups = [{"value": id_, "display": name} for id_, name in facts.related]
    return {
        **known,
        "userName": facts.name,
        # RFC 7644, 3.5.2.2: an attribute that PATCH has removed is unassigned; the conformance tests read that.
        **({"active": facts.active} if "active" in document or not facts.active else {}),
        **({"groups": groups} if groups else {}),
    }


def _selection(model: Any, query: Mapping[str, str]) -> Any:
    """Return the selection of attributes. Raises InvalidPath, InvalidValue."""
    names = ("attributes", "excludedAttributes")
    chosen = {name: query[name] for name in names if query.get(name)}
    if not chosen:
        return None
    return _validated(ResponseParameters[model], chosen, Context.RESOURCE_QUERY_REQUEST)
