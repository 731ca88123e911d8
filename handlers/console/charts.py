"""Charts of the overview: stacked bars, one for each day, as values of an SVG element."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.localization import Localization

WIDTH, HEIGHT = 600, 120
"""The size of a chart in units of its SVG element, which the page scales."""

MOST_SERIES = 6
"""The most series of a chart; if there are more, the last one is the sum of the rarest.

The style sheet has a colour for each."""

_GAP = 4
_LEAST = 2
"""The least height of the part for a number above 0, so that it is visible."""

_SEAM = 1
"""The gap between two parts of a bar, so that they can be distinguished without colours."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a day's bar; `series` is the index of its series, which determines the colour."""

    y: float
    height: float
    series: int


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a day."""

    x: float
    width: float
    parts: Sequence[Part]
    text: str
    """What the bar shows, such as `12 March 2026: Password 5, Google 2`."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart of numbers by day, in one or several series."""

    name: str
    """The id of the chart on the page."""
    title: str
    days: Sequence[datetime]
    series: Mapping[str, Sequence[int]]
    """The numbers of each series by its label, one number per day; the largest series comes first."""
    has_legend: bool = True

    @property
    def totals(self) -> Mapping[str, int]:
        """The sum of each series, by label."""
        return {label: sum(numbers) for label, numbers in self.series.items()}

    @property
    def total(self) -> int:
        """The sum of all numbers."""
        return sum(self.totals.values())

    @property
    def sums(self) -> Sequence[int]:
        """The sum of all series for each day."""
        return [sum(numbers) for numbers in zip(*self.series.values(), strict=True)]

    @property
    def top(self) -> int:
        """The number at the upper end of the scale: round, even, and at least the sum of each day."""
        highest, power = max(self.sums, default=0), 1
        while power * 10 < highest:
            power *= 10
        ends = (step * power for step in (2, 3, 4, 5, 6, 8, 10))
        # Even, because the page labels the middle of the scale as well.
        return next(end for end in ends if end >= highest and end % 2 == 0)

    def bars(self, localization: Localization) -> Iterator[Bar]:
        """Yield the bar of each day, with its text in the language of the page."""
        step, top = WIDTH / max(len(self.days), 1), self.top
        for place, day in enumerate(self.days):
            numbers = {label: of_days[place] for label, of_days in self.series.items()}
            shown = [f"{label} {localization.format_number(n)}" for label, n in numbers.items() if n] or ["0"]
            yield Bar(
                round(place * step, 1),
                round(step - _GAP, 1),
                list(_parts(list(numbers.values()), top)),
                f"{localization.format_date(day)}: {', '.join(shown)}",
            )


def _parts(numbers: Sequence[int], top: int) -> Iterator[Part]:
    end = float(HEIGHT)
    for series, number in enumerate(numbers):
        if number:
            height = max(number / top * HEIGHT, _LEAST)
            end = max(end - height, 0)
            yield Part(round(end, 1), round(max(height - _SEAM, _LEAST - _SEAM), 1), series)


def by_label(
    counts: Sequence[Mapping[str, int]], label_of: Callable[[str], str], others: str
) -> Mapping[str, Sequence[int]]:
    """Return the series of a chart by label, the largest first; `counts` has the numbers of each day by name.

    Names with the same label are added up. If there are more than `MOST_SERIES` labels, the rarest are added up under
    the label `others`.
    """
    days = [_labelled(of_day, label_of) for of_day in counts]
    totals: Counter[str] = Counter()
    for day in days:
        totals.update(day)
    ranked = [label for label, _ in totals.most_common()]
    if len(ranked) <= MOST_SERIES:
        return {label: [day[label] for day in days] for label in ranked}
    shown = ranked[: MOST_SERIES - 1]
    series = {label: [day[label] for day in days] for label in shown}
    return {**series, others: [sum(day.values()) - sum(day[label] for label in shown) for day in days]}


def _labelled(counts: Mapping[str, int], label_of: Callable[[str], str]) -> Counter[str]:
    labelled: Counter[str] = Counter()
    for name, number in counts.items():
        labelled[label_of(name)] += number
    return labelled
