"""
Protecting people who have several rows
=======================================

A guarantee for one row is weak for somebody with thirty rows. ``fit(X, y, groups=ids)`` protects
people, however many rows they have. A person then counts as ``rows_per_person`` rows at most. This
example shows what a guarantee for rows is worth to people, and what protecting them costs.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_visits
from dplasso.privacy.gaussian import epsilon_of, mu_of

# %%
# Visits to a hospital. Most patients come once or twice, a few come more than ten times.

visits = pd.DataFrame(make_visits(24_000))
per_patient = visits.patient_id.value_counts()
print(f"{len(visits):,} visits of {len(per_patient):,} patients, at most {per_patient.max()} each")

# %%
# With a guarantee for rows at epsilon 1, a patient with c visits is protected as if c rows had been
# removed one after the other. The exact Gaussian curve says what that amounts to.

counts = np.arange(1, 21)
for_people = np.array([epsilon_of(count * mu_of(1.0, 1e-6), 1e-6) for count in counts])
print(f"epsilon of a patient with 5 visits: {for_people[4]:.1f}")

# %%
# Now protect patients. A small ``rows_per_person`` uses less of patients who come often; a large
# one needs more noise. Test rows are of other patients.

features = visits[["age", "systolic", "creatinine", "earlier_visits"]].to_numpy(float)
ranges = [(18, 100), (70, 230), (0.2, 12), (0, 10)]
sick, ids = visits.readmitted.to_numpy(), visits.patient_id.to_numpy()
test = np.isin(ids, per_patient.sample(frac=0.25, random_state=0).index)
n_people = len(np.unique(ids[~test]))


def auc(epsilon, **protects):
    groups = {"groups": ids[~test]} if "rows_per_person" in protects else {}
    model = PrivateLassoClassifier(
        epsilon, x_bound=ranges, classes=["no", "yes"], n_rows=int((~test).sum()), **protects
    )
    model.fit(features[~test], sick[~test], **groups)
    return roc_auc_score(sick[test] == "yes", model.predict_proba(features[test])[:, 1])


epsilons = [0.03, 0.1, 0.3, 1.0]
choices = {
    "rows": {},
    "people, 1 row each": {"n_people": n_people, "rows_per_person": 1},
    "people, 10 rows each": {"n_people": n_people, "rows_per_person": 10},
}
scores = {
    name: [np.mean([auc(epsilon, **choice) for _ in range(2)]) for epsilon in epsilons]
    for name, choice in choices.items()
}
print(pd.DataFrame(scores, index=pd.Index(epsilons, name="epsilon")).round(3))

# %%
# A statement for rows at epsilon 1 promises little to a patient with ten visits. To count each
# patient as one row costs accuracy mainly at very small epsilons, and the promise then holds for
# all of them alike. Ten rows per person need ten times the noise of one, and pay only where epsilon
# or the number of people is large. These are means of two fits: differences of 0.02 are noise.

figure, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4))
left.plot(counts, for_people, "o-", ms=3)
left.axhline(1.0, color="C2")
left.text(20, 1.2, "protects people", ha="right", va="bottom", color="C2")
left.text(9, 15, "protects rows", ha="right", color="C0")
left.set(
    xlabel="visits of the patient",
    ylabel="epsilon for the patient",
    title="What a patient is promised",
    ylim=(0, None),
    xticks=[1, 5, 10, 15, 20],
)
for color, (name, values) in zip(("C0", "C2", "C1"), scores.items(), strict=True):
    right.plot(epsilons, values, "o-", color=color, label=name)
right.set_xscale("log")
right.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
right.minorticks_off()
right.legend(title="protects", alignment="left", fontsize="small", loc="lower right")
right.set(xlabel="epsilon (log scale)", ylabel="area under the ROC", title="What it costs")
plt.show()
