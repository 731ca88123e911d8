"""The documents of the SCIM discovery endpoints: capabilities, resource types and schemas (RFC 7644, 4)."""

from collections.abc import Sequence
from typing import Any

from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    Context,
    EnterpriseUser,
    ETag,
    Filter,
    Group,
    Meta,
    Mutability,
    Pagination,
    Patch,
    ResourceType,
    Schema,
    ServiceProviderConfig,
    Sort,
    User,
)

from domain.scim.protocol import Document

_User = User[EnterpriseUser]


def service_configuration(base_url: str, page_size: int) -> Document:
    """Return the document with the SCIM capabilities of the service. `page_size` is the most results of a page."""
    configuration = ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=page_size),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=True),
        pagination=Pagination(
            cursor=True,
            index=True,
            default_pagination_method=Pagination.DefaultPaginationMethod.index,
            max_page_size=page_size,
        ),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="A token of the connection, created by an owner of the organization or an administrator.",
                primary=True,
            )
        ],
        meta=_meta("ServiceProviderConfig", f"{base_url}/ServiceProviderConfig"),
    )
    return _dumped(configuration)


def resource_types(base_url: str) -> Sequence[Document]:
    """Return the types of resources."""
    found = []
    for model in (_User, Group):
        resource_type = ResourceType.from_resource(model)
        resource_type.meta = _meta("ResourceType", f"{base_url}/ResourceTypes/{resource_type.id}")
        found.append(_dumped(resource_type))
    return found


def schemas(base_url: str) -> Sequence[Document]:
    """Return the schemas."""
    found = []
    models: Sequence[Any] = (User, EnterpriseUser, Group)
    for model in models:
        schema = _as_served(model.to_schema())
        schema.meta = _meta("Schema", f"{base_url}/Schemas/{schema.id}")
        found.append(_dumped(schema))
    return found


def _as_served(schema: Schema) -> Schema:
    """Return a schema without what this service does not take: passwords, and names of members of groups."""
    schema.attributes = [each for each in schema.attributes or () if each.name != "password"]
    for attribute in schema.attributes:
        if attribute.name == "members":
            for part in attribute.sub_attributes or ():
                if part.name == "display":
                    part.mutability = Mutability.read_only
    return schema


def _meta(resource_type: str, location: str) -> Meta:
    return Meta(resource_type=resource_type, location=location)


def _dumped(resource: Any) -> Document:
    dumped: Document = resource.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE)
    return dumped
