"""The order of the gallery: what most readers ask first, then what some need."""

from pathlib import Path

ORDER = [
    "plot_epsilon_curve",
    "plot_few_coefficients",
    "plot_calibration",
    "plot_regression",
    "plot_unbalanced_classes",
    "plot_bounds",
    "plot_people",
    "plot_grid_search_budget",
    "plot_million_columns",
    "plot_stream_windows",
    "plot_regret",
    "plot_federation",
    "plot_report",
    "plot_audit_canary",
]


class ReadersOrder:
    """Sorts the files of examples; those that have no place yet come last, by name."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        stem = Path(filename).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)
