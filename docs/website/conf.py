"""How Sphinx builds the site."""

import os
from pathlib import Path

import sphinx.search

from mlsysim.version import __version__

project = "mlsysim"
author = copyright = "The mlsysim developers"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "website.equations",
    "website.head",
    "website.navigation",
]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
# The tutorial is executed where the site is built; the other notebooks show the outputs they were stored with.
nb_execution_mode = "force" if os.environ.get("SITE_EXECUTES") else "off"
nb_execution_excludepatterns = ["**/[!t]*.ipynb", "**/training_*.ipynb"]
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_ipywidgets_js = {}
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = f"mlsysim {__version__}"
# MiniSearch 7.2.0 of npm (MIT) searches, in stems of words as Sphinx cuts them: files by name, not all its languages.
stemmers = Path(sphinx.search.__file__).with_name("minified-js")
html_static_path = [
    "static",
    "minisearch",
    "../../mlsysim/web/katex",
    *(str(stemmers / f"{name}-stemmer.js") for name in ("base", "english")),
]
html_css_files = ["katex.min.css", "site.css"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
# The address that the site will have, if any: for canonical links and the preview image.
html_baseurl = os.environ.get("SITE_URL", "")
templates_path = ["templates"]
html_additional_pages = {"search": "search.html"}
html_theme_options = {"top_of_page_buttons": [], "navigation_with_keys": False}
pygments_dark_style = "monokai"
math_numfig = False


def setup(app):
    """Take scripts and files of the book from the sources, and leave out the index of Sphinx: the site has its own."""
    app.connect("builder-inited", _with_files)


def _with_files(app):
    app.builder.search = False
    app.config.html_static_path.append(str(Path(app.srcdir) / "static"))
    app.config.html_extra_path.append(str(Path(app.srcdir) / "extra"))
