"""The base class of groups of settings: the policies they fill, and the checks of their values."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from server.config.settings import Settings

PolicyType = TypeVar("PolicyType", bound="DataclassInstance")


class Group(BaseModel):
    """Settings that share a prefix. Unknown names and wrong types are refused, nothing changes afterwards."""

    # defence: R43 unknown-keys
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )

    fills: ClassVar[tuple[type["DataclassInstance"], ...]] = ()
    """Policies whose fields are all settings of this group."""

    former_keys: ClassVar[tuple[str, ...]] = ()
    """Deprecated keys of settings of this group, each with its old prefix; they still work, with a warning."""

    def policies(self, settings: "Settings") -> Iterable[object]:
        """Return the policies that these settings fill, one instance per class."""
        return [fill(kind, self) for kind in self.fills]

    def problems(self, settings: "Settings") -> Iterator[str]:
        """Yield one line per reason not to start, each beginning with the key."""
        yield from ()

    def production_problems(self, settings: "Settings") -> Iterator[str]:
        """Yield the additional problems in the production profile, in the same form."""
        yield from ()


def fill(kind: type[PolicyType], source: BaseModel, *, prefix: str = "", **computed: object) -> PolicyType:
    """Create a policy from the settings named like its fields, and from what is computed.

    `prefix` precedes the names of the settings. Raises AttributeError for a field that no setting fills, and TypeError
    for a computed one that does not exist.
    """
    names = [field.name for field in fields(kind) if field.name not in computed]
    return kind(**computed, **{name: getattr(source, prefix + name) for name in names})
