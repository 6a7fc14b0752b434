"""Draw lazy_selection.svg: tickets of columns, one drawn ticket, and the few columns scored.

Run ``python docs/_static/draw_lazy_selection.py`` after a change; the drawing is committed.
"""

from pathlib import Path

CELL, GAP, LEFT, FLOOR = 22, 13, 44, 330
TICKETS = [3, 3, 4, 3, 8, 3, 3, 5, 3, 10, 3, 4, 3, 3]  # of the envelope, one number per column
# Columns that were proposed: tickets that release plus, and those that release minus.
SCORED = {4: (4.4, 0.6), 9: (7.3, 0.4)}
VOID, RELEASED = (4, 6), (9, 3)  # the two tickets that were drawn: column, height
INK, GREY, PLUS, MINUS, FREE = "#22313f", "#dfe5ea", "#2f7ab8", "#e39b34", "#f6f8f9"


def text(
    x: float, y: float, said: str, *, size: int = 14, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{INK}"{weight}>'
        f"{said}</text>"
    )


def box(x: float, y: float, high: float, fill: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{high:g}" fill="{fill}" stroke="none"/>'
    )


def column(place: int) -> list[str]:
    """The tickets of one column; of a scored column, those that release it in colour."""
    x, high = LEFT + place * (CELL + GAP), TICKETS[place] * CELL
    found = [box(x, FLOOR - high, high, FREE if place in SCORED else GREY)]
    if place in SCORED:
        plus, minus = (part * CELL for part in SCORED[place])
        found += [box(x, FLOOR - plus, plus, PLUS), box(x, FLOOR - plus - minus, minus, MINUS)]
    for level in range(TICKETS[place]):
        found.append(
            f'<rect x="{x}" y="{FLOOR - (level + 1) * CELL}" width="{CELL}" height="{CELL}" '
            f'fill="none" stroke="{INK}" stroke-opacity="0.35"/>'
        )
    found.append(text(x + CELL / 2, FLOOR + 18, str(place + 1), size=12, anchor="middle"))
    return found


def drawn(ticket: tuple[int, int], said: list[str], y: float) -> list[str]:
    """A ring around a drawn ticket, and a remark to its right or left."""
    place, level = ticket
    x = LEFT + place * (CELL + GAP) + CELL / 2
    middle = FLOOR - (level + 0.5) * CELL
    right = place == RELEASED[0]
    end = x + 44 if right else x - 40
    lines = [
        text(end + (6 if right else -6), y + 17 * line, part, anchor="start" if right else "end")
        for line, part in enumerate(said)
    ]
    return [
        f'<circle cx="{x:g}" cy="{middle:g}" r="8" fill="white" stroke="{INK}" '
        'stroke-width="2.5"/>',
        f'<path d="M{end:g} {y - 4:g} L{x + (9 if right else -9):g} {middle:g}" stroke="{INK}" '
        'stroke-width="1.2" fill="none"/>',
        *lines,
    ]


def legend(x: float, y: float) -> list[str]:
    rows = [
        (GREY, "bound only: this score was never computed"),
        (PLUS, "weight of (column, +), from the exact score"),
        (MINUS, "weight of (column, −), from the exact score"),
        (FREE, "the rest of the bound: rejected, draw again"),
    ]
    found = []
    for line, (fill, said) in enumerate(rows):
        top = y + 22 * line
        found.append(
            f'<rect x="{x}" y="{top - 11:g}" width="14" height="14" fill="{fill}" stroke="{INK}" '
            'stroke-opacity="0.35"/>'
        )
        found.append(text(x + 22, top, said, size=13))
    return found


def drawing() -> str:
    wide, high = 700, 484
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        'font-family="Helvetica, Arial, sans-serif">',
        "<title>Lazy selection: one ticket is drawn among the bounds of all columns, and only the "
        "column that owns it is scored</title>",
        f'<rect width="{wide}" height="{high}" rx="8" fill="white"/>',
        text(LEFT, 34, "One round of lazy selection", size=18, bold=True),
        text(
            LEFT,
            58,
            "Each square is a ticket. A column owns at least as many tickets as its true weight.",
        ),
    ]
    for place in range(len(TICKETS)):
        parts += column(place)
    end = LEFT + len(TICKETS) * (CELL + GAP) - GAP
    parts.append(f'<path d="M{LEFT - 8} {FLOOR} H{end + 8}" stroke="{INK}" stroke-width="1.5"/>')
    parts.append(text((LEFT + end) / 2, FLOOR + 38, "columns", size=13, anchor="middle"))
    parts += drawn(VOID, ["first draw:", "column 5 is scored,", "the ticket is void"], 112)
    parts += drawn(RELEASED, ["second draw:", "column 10 is scored,", "(10, +) is released"], 156)
    parts += legend(LEFT, 398)
    parts += [
        text(430, 398, f"{sum(TICKETS)} tickets, all equally likely", size=13, bold=True),
        text(430, 420, "2 columns scored, 12 not", size=13),
        text(430, 442, "the released vertex follows exactly", size=13),
        text(430, 460, "the exponential mechanism", size=13),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("lazy_selection.svg").write_text(drawing())
