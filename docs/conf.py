"""The site: pages in Portuguese and English, executed as it is built, and the API reference. Needs no network."""

import os
import sys
from importlib import metadata
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "atenta"
version = release = metadata.version("atenta")
html_title = "atenta"
smartquotes_action = "D"  # dashes; quotation marks would turn where a quotation ends with a space, "Era uma vez "
language = "en"  # of the theme's own words; each page tells browsers its own (see languages.py)
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "languages",
    "markdown_docstrings",
    "mathml",
]
exclude_patterns = ["_build", "README.md"]
templates_path = ["_templates"]

# Pages are executed at every build, in a temporary folder, under settings that are the same for everyone.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300  # seconds for one cell
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # its default loads scripts from the network
profile = HERE / "_build" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text(
    """c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"  # no advice on encrypting what stays on this machine
""",
    encoding="utf-8",
)
os.environ |= {
    "IPYTHONDIR": str(profile.parent),
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "OMP_NUM_THREADS": "1",  # as many pages are run at once as there are jobs
    "PYTHONWARNINGS": "ignore:IProgress not found",  # progress bars are text here
}

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": "config_class, save_pretrained, validate",  # set on our classes by transformers and `strict`
}
napoleon_use_param = False  # several names in one entry stay one entry
napoleon_use_ivar = True  # attributes as a list, as parameters are
autoclass_content = "both"  # what __init__ takes too
autodoc_inherit_docstrings = False  # else every model repeats what transformers says of its base
autodoc_preserve_defaults = True
default_role = "code"  # what docstrings write between single backticks
maximum_signature_line_length = 88
add_module_names = False
python_use_unqualified_type_names = True
# Names of ours that do not exist are an error; those of the libraries have no page here to link to.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!atenta\b).*")]

html_theme = "furo"
pygments_dark_style = "github-dark"
html_static_path = ["_static", str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf")]
html_css_files = ["atenta.css"]
html_copy_source = False
html_show_copyright = False
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
