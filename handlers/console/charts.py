"""Charts of the overview: stacked bars, one for each day, as values of an SVG element."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 600, 120
"""The size of a chart in its own units; the page scales it."""

_GAP = 4
_LEAST = 2
"""The height of the smallest number above 0, so that it is seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a day's bar."""

    x: float
    y: float
    width: float
    height: float
    series: int
    """The number of its series, which has a colour."""
    text: str
    """What it shows, such as `12 March 2026: Password 5`."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers by day, in one or several series."""

    title: str
    days: Sequence[datetime]
    series: Mapping[str, Sequence[int]]
    """By label, one number per day."""

    @property
    def total(self) -> int:
        """The sum of all numbers."""
        return sum(sum(numbers) for numbers in self.series.values())

    @property
    def highest(self) -> int:
        """The highest sum of a day."""
        return max((sum(numbers) for numbers in zip(*self.series.values(), strict=True)), default=0)

    def bars(self, dates: Sequence[str]) -> Sequence[Bar]:
        """Return the parts of the bars; `dates` are the days in the language of the page."""
        highest, step = self.highest, WIDTH / max(len(self.days), 1)
        bars = []
        for place, date in enumerate(dates):
            top = float(HEIGHT)
            for number, (label, numbers) in enumerate(self.series.items()):
                if not numbers[place]:
                    continue
                height = max(numbers[place] / highest * HEIGHT, _LEAST)
                top -= height
                bars.append(
                    Bar(
                        round(place * step, 1),
                        round(max(top, 0), 1),
                        round(step - _GAP, 1),
                        round(height, 1),
                        number,
                        f"{date}: {label} {numbers[place]}",
                    )
                )
        return bars
