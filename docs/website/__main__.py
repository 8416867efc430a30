"""Builds the site into ``build/site/html`` and follows every link of it: ``make docs``."""

import argparse
import os
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from website.sources import ROOT, write
from website.walk import broken, pages

HERE = Path(__file__).parent


def main() -> int:
    """Write the sources, run Sphinx, to which every warning is an error, and look for links that lead nowhere."""
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
    found = pages(html)
    for page, address in (wrong := broken(html, found)):
        print(f"{page}: {address} leads nowhere", file=sys.stderr)
    print(f"{len(found)} pages, {sum(len(page.links) for page in found.values())} links: {html / 'index.html'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
