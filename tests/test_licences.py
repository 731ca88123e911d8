"""The licences of everything that an installation with all extras contains go with that of this project."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Unlicense"),
    *(
        "3-Clause BSD License",
        "Apache 2.0",
        "Apache License, Version 2.0",
        "BSD",
        "ISC License",
        "MIT License",
    ),
    *("Apache Software License", "BSD License"),
}
"""Identifiers of SPDX, and what packages and classifiers say instead. These licences ask only to be named."""

OTHERS = {
    "certifi": "MPL-2.0: for its list of certificates, which is used unchanged",
    "orjson": "MPL-2.0: for its own source files, which are used unchanged",
    "publicsuffixlist": "MPL-2.0: for its list of suffixes, which is used unchanged",
}
"""Packages with another licence, and why they can be used."""


def installed(requirement: str) -> dict[str, Distribution]:
    """Return a package and everything that it needs, by normalized name."""
    found: dict[str, Distribution] = {}
    wanted = [Requirement(requirement)]
    done: set[tuple[str, str]] = set()
    while wanted:
        each = wanted.pop()
        package = found[canonicalize_name(each.name)] = distribution(each.name)
        for extra in {"", *each.extras}:
            if (canonicalize_name(each.name), extra) not in done:
                done.add((canonicalize_name(each.name), extra))
                needed = map(Requirement, package.requires or ())
                wanted += [one for one in needed if not one.marker or one.marker.evaluate({"extra": extra})]
    return found


def licences(package: Distribution) -> Iterator[str]:
    """Yield the licences that a package declares: by an expression, in short, or else by classifiers."""
    metadata = package.metadata.json
    declared = str(metadata.get("license_expression") or metadata.get("license") or "")
    if declared:
        yield from (part for part in re.split(r" AND | OR |[()]", declared) if part.strip())
        return
    classifiers = metadata.get("classifier", ())
    yield from (each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: "))


def test_every_dependency_has_a_licence_that_goes_with_mit() -> None:
    found = {name: set(licences(package)) for name, package in installed("gatewright[otel]").items()}

    assert len(found) > 50
    assert [name for name, declared in found.items() if not declared] == []
    assert {name: declared - PERMISSIVE for name, declared in found.items() if declared - PERMISSIVE} == {
        name: {reason.partition(":")[0]} for name, reason in OTHERS.items()
    }
