"""Every example of the gallery starts with the same style of plots, whatever ran before it."""

from pathlib import Path

import matplotlib.pyplot as plt

STYLE = Path(__file__).resolve().parents[2] / "examples" / "gallery.mplstyle"


def apply(gallery_conf, name):
    plt.style.use(STYLE)
