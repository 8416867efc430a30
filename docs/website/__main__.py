"""Builds the site into ``build/site/html`` and follows every link of it: ``make docs``."""

import argparse
import os
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from website import search
from website.sources import ROOT, write
from website.walk import broken, of_markdown, pages

HERE = Path(__file__).parent


def main() -> int:
    """Write the sources, run Sphinx, to which every warning is an error, index the pages and check every link."""
    parser = argparse.ArgumentParser(prog="website", description=__doc__)
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "site", help="folder of sources and pages")
    parser.add_argument("--stored", action="store_true", help="show stored outputs of the tutorial, do not execute it")
    given = parser.parse_args()
    os.environ["SITE_EXECUTES"] = "" if given.stored else "tutorial"
    write(given.into / "source")
    html = given.into / "html"
    options = ["-b", "html", "-W", "--keep-going", "-q", "-j", "2", "-c", str(HERE), "-d", str(given.into / "doctrees")]
    if failed := sphinx([*options, str(given.into / "source"), str(html)]):
        return failed
    index = search.write(html)
    found = pages(html)
    wrong = [f"{page}: {address} leads nowhere" for page, address in broken(html, found)]
    wrong += [f"{page}: {link} names a file of Markdown" for page, link in of_markdown(found)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{index.stat().st_size / 1e3:,.0f} kB of search index: {index}")
    print(f"{len(found)} pages, {sum(len(page.links) for page in found.values())} links: {html / 'index.html'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
