"""From the samples of several processes, those that are gone included, to one value for each metric."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from server.observability.metrics.families import BOUNDS, FAMILIES, Family, Sample

Value = float | list[float]
Values = dict[tuple[str, tuple[str, ...]], Value]


def merge(groups: Iterable[Iterable[Sample]]) -> Values:
    """Give the value of each metric and labels over the samples of several processes."""
    merged: Values = {}
    for group in groups:
        for name, labels, value in group:
            key = name, labels
            merged[key] = _joined(FAMILIES[name], merged[key], value) if key in merged else value
    return merged


def lasting(values: Mapping[tuple[str, tuple[str, ...]], Value]) -> list[Sample]:
    """Give what stays true of processes that have ended: what they counted, and nothing of how they were."""
    return [
        Sample(name, labels, value)
        for (name, labels), value in values.items()
        if FAMILIES[name].kind != "gauge"
    ]


def metrics(values: Values) -> Iterator[Metric]:
    """Give the values in the form of the Prometheus client, in the order of the families."""
    for family in FAMILIES.values():
        exposed = _exposed(family)
        for (name, labels), value in sorted(values.items(), key=lambda item: item[0]):
            if name == family.name:
                _add(exposed, labels, value)
        yield exposed


def _joined(family: Family, one: Value, other: Value) -> Value:
    if isinstance(one, list) and isinstance(other, list):
        return [first + second for first, second in zip(one, other, strict=True)]
    assert not isinstance(one, list)  # noqa: S101 - for the types: the values of one family are alike
    assert not isinstance(other, list)  # noqa: S101
    return max(one, other) if family.shared else one + other


def _exposed(family: Family) -> Metric:
    if family.kind == "histogram":
        return HistogramMetricFamily(family.name, family.meaning, labels=family.labels)
    make = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    return make(family.name, family.meaning, labels=family.labels)


def _add(exposed: Metric, labels: tuple[str, ...], value: Value) -> None:
    if isinstance(exposed, HistogramMetricFamily) and isinstance(value, list):
        *buckets, total = value
        exposed.add_metric(labels, list(_cumulated(buckets)), sum_value=total)
    elif isinstance(exposed, CounterMetricFamily | GaugeMetricFamily) and not isinstance(value, list):
        exposed.add_metric(labels, value)


def _cumulated(buckets: list[float]) -> Iterator[tuple[str, float]]:
    """Give each bucket's bound with the number of all that lie below it."""
    so_far = 0.0
    for bound, number in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
        so_far += number
        yield bound, so_far
