"""Charts as inline SVG. The style sheet defines colours and dashes by class."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dplasso.report.markup import Markup, join, tag
from dplasso.report.names import number

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 346, 30, 206  # edges of the plot area

Range = tuple[float, float]
_FARTHEST, _NEAREST = 1e307, 1e-300  # beyond these, floats cannot hold the ticks of an axis


@dataclass(frozen=True)
class Line:
    """A curve. ``style`` is the n of class ``line-n``; a ``stepped`` curve changes in jumps."""

    points: Sequence[tuple[float, float]]
    style: str = "1"
    stepped: bool = False


@dataclass(frozen=True)
class Whisker:
    """A point that was measured several times, and the range of the results."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Box:
    """A filled rectangle between two corners; ``shade``, from 0 to 1, is how dark it is."""

    left: float
    bottom: float
    right: float
    top: float
    shade: float = 1.0


@dataclass(frozen=True)
class Plot:
    """Lines over two axes, and a description of them in words."""

    name: str  # name of the element
    title: str
    description: str
    x_label: str
    y_label: str
    x: Range
    y: Range
    lines: Sequence[Line]
    whiskers: Sequence[Whisker] = ()
    diamonds: Sequence[tuple[float, float]] = ()
    boxes: Sequence[Box] = ()
    log_x: bool = False
    cursor: bool = False  # whether there is a line that the page moves

    def place(self, x: float, y: float) -> str:
        """Return the position of a point in units of the drawing."""
        span = [math.log(v) if self.log_x else v for v in (*self.x, x)]
        right = (span[2] - span[0]) / (span[1] - span[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return f"{LEFT + right * (RIGHT - LEFT):.1f},{BOTTOM - up * (BOTTOM - TOP):.1f}"


def draw(plot: Plot) -> Markup:
    """Return a figure with a caption; screen readers read its title and description."""
    title = tag("title", plot.title, id=f"{plot.name}-title")
    description = tag("desc", plot.description, id=f"{plot.name}-desc")
    drawing = tag(
        "svg",
        title,
        description,
        _axes(plot),
        *(_box(plot, box) for box in plot.boxes),
        *(_path(plot, line) for line in plot.lines),
        *(_whisker(plot, found) for found in plot.whiskers),
        *(_diamond(plot.place(x, y)) for x, y in plot.diamonds),
        _cursor(plot),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{plot.name}-title",
        aria_describedby=f"{plot.name}-desc",
        # The page converts a pointer position to a value on the horizontal axis.
        data_span=f"{LEFT} {RIGHT} {plot.x[0]:g} {plot.x[1]:g}" if plot.cursor else None,
    )
    caption = tag("figcaption", plot.title, aria_hidden="true")
    return tag("figure", caption, drawing, id=plot.name, class_="chart")


def bar(value: float, largest: float) -> Markup:
    """Return a bar to the left or right of a middle line, which stretches with its cell."""
    length = 100 * abs(value) / largest
    box = tag(
        "rect",
        x=f"{min(0.0, math.copysign(length, value)):.2f}",
        y=2,
        width=f"{length:.2f}",
        height=12,
        class_="down" if value < 0 else "up",
    )
    middle = tag("line", x1=0, x2=0, y1=0, y2=16, class_="axis")
    return tag(
        "svg",
        box,
        middle,
        viewBox="-100 0 200 16",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def length_bar(value: float, largest: float) -> Markup:
    """Return a bar from the left that stretches with its cell."""
    length = 100 * value / largest if largest > 0.0 else 0.0
    box = tag("rect", x=0, y=2, width=f"{length:.2f}", height=12, class_="up")
    return tag("svg", box, viewBox="0 0 100 16", preserveAspectRatio="none", aria_hidden="true")


def stacked(name: str, title: str, description: str, parts: Mapping[str, float]) -> Markup:
    """Return one bar made of parts that add up to 1; each has the class ``part-<its name>``."""
    boxes, start = [], 0.0
    for part, share in parts.items():
        width = 100 * share
        box = tag("rect", x=f"{start:.2f}", y=0, width=f"{width:.2f}", height=10)
        boxes.append(tag("g", box, class_=f"part-{part}"))
        start += width
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *boxes,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
        id=name,
        class_="stacked",
    )


def swatch(part: str) -> Markup:
    """Return a small square in the colour of a part of `stacked`."""
    box = tag("rect", x=0.5, y=0.5, width=9, height=9, class_=f"swatch-{part}")
    return tag("svg", box, viewBox="0 0 10 10", class_="swatch", aria_hidden="true")


def legend(items: Sequence[tuple[str, Markup | str]], labelled_by: str) -> Markup:
    """Explain each line style of a chart, or the "diamond", with a sample and words."""
    rows = []
    for style, words in items:
        line = tag("path", d="M0,6H28", class_=f"line line-{style}")
        drawn = _diamond("14,6") if style == "diamond" else line
        sample = tag("svg", drawn, viewBox="0 0 28 12", aria_hidden="true")
        rows.append(tag("li", sample, " ", words))
    return tag("ul", *rows, class_="legend", aria_labelledby=labelled_by)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, spaced by 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    least = high / (most - 1) - low / (most - 1)  # the difference alone might overflow
    if not _NEAREST / most < least < math.inf:
        return [low]
    unit = 10.0 ** math.floor(math.log10(least))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def compact(value: float) -> str:
    """Write the number of a tick, a large one in thousands, millions or billions.

    >>> compact(0.25), compact(-200_000.0), compact(5e6)
    ('0.25', '−200k', '5M')
    """
    for least, unit, sign in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if least <= abs(value) < 1e13:
            return f"{number(value / unit)}{sign}"
    return number(value)


def whole_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return ticks of a logarithmic axis: 1, 2 and 5 times powers of ten, or only the powers.

    >>> whole_ticks(0.1, 2.0)
    [0.1, 0.2, 0.5, 1.0, 2.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = (float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5))
    inside = [tick for tick in every if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    return inside if len(inside) <= most else [tick for tick in inside if f"{tick:e}"[0] == "1"]


def rounded_out(low: float, high: float) -> Range:
    """Return the smallest range between two ticks that contains both numbers.

    >>> rounded_out(0.13, 0.87)
    (0.0, 1.0)
    """
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in (low, high))
    size = max(abs(low), abs(high))
    if not high - low > max(1e-9 * size, _NEAREST):  # the same number, or nearly
        low, high = low - max(0.5, 1e-3 * size), high + max(0.5, 1e-3 * size)
    found = ticks(low, high)
    step = found[1] - found[0]
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def thinned(items: Sequence[tuple[float, ...]], most: int) -> list[tuple[float, ...]]:
    """Return at most ``most`` items, evenly spread, including the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]


def _axes(plot: Plot) -> Markup:
    parts = []
    for tick in ticks(*plot.y):
        y = plot.place(plot.x[0], tick).split(",")[1]
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", compact(tick), x=LEFT - 6, y=y, dy=4, text_anchor="end"))
    for tick in whole_ticks(*plot.x) if plot.log_x else ticks(*plot.x):
        x = plot.place(tick, plot.y[0]).split(",")[0]
        parts.append(tag("line", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 4, class_="axis"))
        parts.append(_x_tick(compact(tick), x))
    base = plot.place(plot.x[0], min(max(0.0, plot.y[0]), plot.y[1])).split(",")[1]
    middle = (LEFT + RIGHT) / 2
    return join(
        *parts,
        tag("line", x1=LEFT, x2=RIGHT, y1=base, y2=base, class_="axis"),
        tag("text", plot.y_label, x=4, y=14, class_="label"),
        tag("text", plot.x_label, x=middle, y=HEIGHT - 6, text_anchor="middle", class_="label"),
    )


def _x_tick(text: str, x: str) -> Markup:
    """Return the number of a tick below the axis; a long one at the right edge stays inside."""
    if len(text) > 3 and float(x) > RIGHT - 10:
        return tag("text", text, x=WIDTH, y=BOTTOM + 20, text_anchor="end")
    return tag("text", text, x=x, y=BOTTOM + 20, text_anchor="middle")


def _path(plot: Plot, line: Line) -> Markup:
    places = [plot.place(x, y) for x, y in line.points]
    if not line.stepped:
        return tag("path", d="M" + "L".join(places), class_=f"line line-{line.style}")
    moves = (f"H{x}V{y}" for x, y in (place.split(",") for place in places[1:]))
    return tag("path", d=f"M{places[0]}{''.join(moves)}", class_=f"line line-{line.style}")


def _box(plot: Plot, box: Box) -> Markup:
    left, bottom = map(float, plot.place(box.left, box.bottom).split(","))
    right, top = map(float, plot.place(box.right, box.top).split(","))
    return tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{top:.1f}",
        width=f"{right - left:.1f}",
        height=f"{bottom - top:.1f}",
        class_="box",
        fill_opacity=f"{box.shade:.2f}",
    )


def _whisker(plot: Plot, found: Whisker) -> Markup:
    x, y = plot.place(found.x, found.y).split(",")
    low, high = (plot.place(found.x, end).split(",")[1] for end in (found.low, found.high))
    ends = f"M{x},{low}V{high}m-4,0h8M{x},{low}m-4,0h8"
    span = tag("path", d=ends, class_="whisker") if found.low < found.high else Markup()
    return join(span, tag("circle", cx=x, cy=y, r=3, class_="dot"))


def _diamond(place: str) -> Markup:
    return tag("path", d=f"M{place}m0,-6l6,6l-6,6l-6,-6z", class_="diamond")


def _cursor(plot: Plot) -> Markup:
    if not plot.cursor:
        return Markup()
    return tag("line", x1=RIGHT, x2=RIGHT, y1=TOP, y2=BOTTOM, class_="cursor")
