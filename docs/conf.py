"""How Sphinx builds the documentation: ``make docs``."""

import sys
from pathlib import Path

import dplasso

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "dplasso"
author = "The dplasso developers"
copyright = author
release = version = dplasso.__version__

extensions = [
    "benchmark",
    "command_line",
    "formal_guarantees",
    "hidden_comments",
    "mathml",
    "root_pages",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
smartquotes = False
maximum_signature_line_length = 88

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
# Methods that other rooms of the package call, and those of dict, tuple and scikit-learn's mixins.
_INTERNAL = """
    after before begin bucket check_card check_data check_parameters check_precision check_process
    compiled counted decide doubted encode feature first_residual for_rows gradient_bound
    is_for label_shares limited log_probabilities moment numbered_people paces restore
    rows_to_predict settings shape_within stated_as stretch table_pace take_back tests_of values
    worst
    Category.entries Date.entries Hashed.entries Number.entries Text.entries
    PrivateLassoClassifier.prepare PrivateLassoRegressor.prepare
    clear copy count fromkeys get index items keys pop popitem setdefault update
    add_note get_metadata_routing set_output with_traceback
"""
autosummary_context = {"internal": _INTERNAL.split()}
autodoc_typehints = "none"  # numpydoc's sections say the types
numpydoc_show_class_members = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "dplasso"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "dplasso"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "thumbnail_size": (480, 320),
    "within_subsection_order": "gallery_order.ReadersOrder",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "abort_on_example_error": False,
    "doc_module": ("dplasso",),
    "reference_url": {"dplasso": None},
    "matplotlib_animations": False,
}
