"""
A report for the auditor
========================

``write_report`` writes one self-contained page about a model: whom it protects, what was released
and at what cost, which columns matter, and how it does on rows that you declare public. The page
needs no network. This example writes one, shows it, and reads the same facts as a program would.
"""

import tempfile
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from dplasso import PrivateLassoClassifier, Schema, read_rows
from dplasso.datasets import make_visits
from dplasso.report import describe, examine, write_report
from dplasso.schema import Category, Number, Person, Target

schema = Schema(
    {
        "patient_id": Person(),
        "age": Number(18, 100),
        "ward": Category(["medicine", "surgery", "cardiology", "maternity", "emergency"]),
        "systolic": Number(70, 230),
        "creatinine": Number(0.2, 12, log=True),
        "earlier_visits": Number(0, 10),
        "readmitted": Target(["no", "yes"]),
    },
    n_rows=20_000,
    n_people=8_000,
)
visits = pd.DataFrame(make_visits(24_000))[list(schema.columns)]
train, public = read_rows(visits[:20_000], schema=schema), read_rows(visits[20_000:], schema=schema)
model = PrivateLassoClassifier(1.0).fit(train.described(), train.y, groups=train.groups)

# %%
# The rows of the second table are declared public, so their scores may be on the page. ``by`` adds
# scores of groups of them.

examined = examine(model, public.described(), public.y, by={"ward": visits.ward[20_000:].tolist()})
page = Path(tempfile.mkdtemp()) / "report.html"
write_report(page, model, evaluation=examined, title="Readmissions")
print(f"{page.name}: {page.stat().st_size / 1024:.0f} KiB")

# %%
# ``describe`` returns the same facts as numbers and texts. Here are two of them: how much each
# column can move a prediction, and how far the model can move what an attacker believes about a
# patient. At epsilon 1, a belief of 0.5 stays between 0.27 and 0.73.

facts = describe(model, evaluation=examined)
print(facts["protects"]["meaning"])
importances = {each["column"]: each["importance"] for each in facts["columns"]}
beliefs = facts["beliefs"]

figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.3))
left.barh(list(importances)[::-1], list(importances.values())[::-1], height=0.6)
left.grid(axis="y", visible=False)
left.set(xlabel="change of the log-odds", title="What the model goes by")
positions = range(len(beliefs))
right.vlines(positions, [b["at_least"] for b in beliefs], [b["at_most"] for b in beliefs], lw=5)
right.plot(positions, [b["before"] for b in beliefs], "_", color="black", ms=14)
right.set_xticks(positions, [f"{b['before']:g}" for b in beliefs])
right.set(
    xlabel="attacker's belief before",
    ylabel="and after seeing the model",
    title="What the model can change",
    ylim=(0, 1),
)
right.grid(axis="x", visible=False)
plt.show()

# %%
# The page itself, in a frame:


class Framed:
    """A page of HTML as a notebook shows it."""

    def __init__(self, html):
        self.html = html

    def _repr_html_(self):
        shown = "width: 100%; height: 640px; border: 1px solid #ccc"
        return f'<iframe title="the report" style="{shown}" srcdoc="{escape(self.html)}"></iframe>'


Framed(page.read_text())
