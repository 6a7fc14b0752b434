"""
A rare class: weights, thresholds and the right score
=====================================================

If a fifth of the visits are followed by a readmission, a model that never predicts one is right in
four of five cases, and useless. This example shows three remedies: a score that ranks, a threshold
that you choose, and ``class_weight``.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, precision_recall_curve, roc_auc_score

from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_visits

visits = pd.DataFrame(make_visits(30_000))
columns = ["age", "systolic", "creatinine", "earlier_visits"]
ranges = [(18, 100), (70, 230), (0.2, 12), (0, 10)]
X, y = visits[columns].to_numpy(float), visits.readmitted.to_numpy()
X_train, y_train, X_test, y_test = X[:20_000], y[:20_000], X[20_000:], y[20_000:]
truth = y_test == "yes"


def fitted(**settings):
    model = PrivateLassoClassifier(
        1.0, x_bound=ranges, classes=["no", "yes"], n_rows=20_000, **settings
    )
    return model.fit(X_train, y_train)


# %%
# As it comes, the model is accurate and finds almost nobody: few probabilities exceed one half.

plain = fitted()
probabilities = plain.predict_proba(X_test)[:, 1]
found = (plain.predict(X_test) == "yes")[truth].mean()
print(f"readmitted: {truth.mean():.3f} of the visits")
print(f"accuracy {plain.score(X_test, y_test):.3f}, readmissions found {found:.3f}")
print(f"area under the ROC {roc_auc_score(truth, probabilities):.3f}")

# %%
# Public weights of the classes make the model answer "yes" more often. A weight is at most 1, so
# the common class is weighed down, and the noise does not grow.

weighted = fitted(class_weight={"no": 0.25, "yes": 1.0})
answers = weighted.predict(X_test)
print(f"with weights: balanced accuracy {balanced_accuracy_score(y_test, answers):.3f}, ", end="")
print(f"readmissions found {(answers == 'yes')[truth].mean():.3f}")
ranked = roc_auc_score(truth, weighted.predict_proba(X_test)[:, 1])
print(f"area under the ROC {ranked:.3f}")

# %%
# A threshold does the same without another fit, and you can choose it by what a false alarm costs.
# Prefer it: weights make the rows of the common class count less against the same noise, so with
# a rarer class or a smaller epsilon the weighted model ranks worse, and its probabilities are those
# of weighted rows. Here a fifth of the rows is of the rare class, and both models rank about
# equally well.

precision, recall, thresholds = precision_recall_curve(truth, probabilities)
shown = (thresholds > 0.05) & (thresholds < 0.6)
figure, axes = plt.subplots()
axes.plot(thresholds[shown], recall[:-1][shown], color="C0")
axes.plot(thresholds[shown], precision[:-1][shown], color="C1")
axes.axvline(0.5, color="0.5", ls=":")
axes.text(0.508, 0.3, "predict() says\nyes from here", color="0.3")
axes.text(0.14, 0.85, "readmissions found (recall)", color="C0")
axes.text(0.1, 0.12, "alarms that are right (precision)", color="C1")
axes.set(
    xlabel="threshold on the probability",
    ylabel="share",
    ylim=(0, 1.02),
    title="One private model serves every threshold",
)
plt.show()
