"""Sphinx configuration of the site: executed pages in Portuguese and English, and the API reference."""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "atenta"
version = release = metadata.version("atenta")
html_title = "atenta"
smartquotes_action = "D"  # dashes only: smart quotes fail where a quotation ends with a space, "Era uma vez "
language = "en"  # of the theme's texts; each page declares its own language (see languages.py)
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "languages",
    "markdown_docstrings",
    "mathml",
    "notebooks",
]
# The project's address on GitHub, for the buttons of Colab and Binder: from ATENTA_REPOSITORY, or from `Repository` of
# `[project.urls]` in pyproject.toml. Without one there are no buttons.
urls = dict(url.split(", ", 1) for url in metadata.metadata("atenta").get_all("Project-URL") or [])
repository = os.environ.get("ATENTA_REPOSITORY", urls.get("Repository", ""))
exclude_patterns = ["_build", "README.md"]
templates_path = ["_templates"]

# Every build executes all pages but those that `SKIPPED_PAGES` names, in a temporary folder and with an IPython
# profile of its own.
nb_execution_mode = "force"
nb_execution_excludepatterns = os.environ.get("SKIPPED_PAGES", "").split()  # such as docs/en/*
nb_execution_in_temp = True
nb_execution_timeout = 300  # seconds for one cell
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_markdown_format = "myst"  # the default has no tables
nb_ipywidgets_js = {}  # the default loads scripts from the network
profile = HERE / "_build" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text(
    """c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"  # hides advice on encrypting connections, which are all local
""",
    encoding="utf-8",
)
os.environ |= {
    "IPYTHONDIR": str(profile.parent),
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "OMP_NUM_THREADS": "1",  # each parallel job of the build runs a page
    "PYTHONWARNINGS": "ignore:IProgress not found",  # progress bars are plain text
}

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": "config_class, save_pretrained, validate, code_collector, card_writer",  # not for users
}
napoleon_use_param = False  # keeps an entry for several names together
napoleon_use_ivar = True  # lists attributes in the same way as parameters
autoclass_content = "both"  # the docstrings of the class and of __init__
autodoc_inherit_docstrings = False  # otherwise every model repeats the docstrings of its base in transformers
autodoc_preserve_defaults = True
default_role = "code"  # for text in single backticks
maximum_signature_line_length = 88
add_module_names = False
python_use_unqualified_type_names = True
# A link to an unknown name is an error if the name is from the package; names of other libraries have no page here.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!atenta\b).*")]

html_theme = "furo"
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["atenta.css", "laboratory.css"]
# Plain scripts in this order, not modules: those do not run where a built page is opened from a file.
scripts = (
    "atenta.js",
    "attention_steps.js",
    "attention_lab.js",
    "backprop.js",
    "block.js",
    "pronoun_model.js",
    "training_lab.js",
    "small_transformer.js",
    "transformer_lab.js",
    "accents_model.js",
    "decoding_lab.js",
    "exercises.js",
)
html_js_files = [(script, {"defer": "defer"}) for script in scripts]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False  # the theme credits it in English only
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "language.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
