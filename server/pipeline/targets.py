"""Redirect targets: every field with `format: redirect-target` must lead to a trusted place (behaviour 1.6)."""

from typing import Any

from domain import errors
from domain.origins import TrustedOrigins

FORMAT = "redirect-target"

_REFUSALS: dict[str, type[errors.Refusal]] = {
    "callbackURL": errors.InvalidCallbackUrl,
    "redirectTo": errors.InvalidRedirectUrl,
    "errorCallbackURL": errors.InvalidErrorCallbackUrl,
    "newUserCallbackURL": errors.InvalidNewUserCallbackUrl,
}

Targets = tuple[tuple[str, type[errors.Refusal]], ...]
"""The fields of one place that hold a redirect target, and how a wrong one is refused."""


def compile_targets(properties: dict[str, Any]) -> Targets:
    """Find the redirect targets among the properties of a schema. Raises ValueError for one that has no refusal."""
    names = [name for name, schema in properties.items() if _is_target(schema)]
    unknown = sorted(set(names) - set(_REFUSALS))
    if unknown:
        raise ValueError(f"no refusal exists for the redirect targets {unknown}")
    return tuple((name, _REFUSALS[name]) for name in names)


def check(targets: Targets, origins: TrustedOrigins, values: dict[str, Any]) -> None:
    """Refuse a target that leads elsewhere; an empty one is taken out, it counts as absent.

    Raises InvalidCallbackUrl, InvalidRedirectUrl, InvalidErrorCallbackUrl, InvalidNewUserCallbackUrl.
    """
    for name, refusal in targets:
        target = values.get(name)
        if target is None:
            continue
        if target == "":
            del values[name]
        elif not origins.accepts(target):
            raise refusal


def _is_target(schema: dict[str, Any]) -> bool:
    return any(part.get("format") == FORMAT for part in (schema, *schema.get("allOf", ())))
