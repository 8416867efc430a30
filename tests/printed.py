"""Pages and notebooks that show their output: run, compared number by number, and written anew.

``python tests/printed.py --write [PAGES]`` puts in what is printed and drawn today where what stands there is old.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from mlsysim import plot
from mlsysim.cli import app
from mlsysim.plot.themes import THEMES

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from PIL.Image import Image

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$\n?", re.M | re.S)
#: The paragraph above a block that is a file.
FILE = re.compile(r"^`(\w+\.py)`[^\n]*\n\n\Z", re.M)
#: A picture of the figure that the block above it draws.
PICTURE = re.compile(r"!\[[^\]]*\]\((\S+\.png)\)")
#: Colours of a picture, levels of 255 by which a pixel may differ, and the share of pixels that may differ by more.
COLOURS, LEVELS, PIXELS = 128, 48, 1e-4
#: A command of mlsysim in a transcript, and its output; one that shows none is not run.
TYPED = re.compile(r"^\$ (mlsysim .*)\n((?:(?!\$ ).*\n)+)", re.M)
PROSE = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
#: Pages with blocks that run.
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in PROSE
    if {"python", "console"} & {kind for kind, _ in FENCE.findall(path.read_text(encoding="utf-8"))}
]

#: A number that is no part of a word, of a version or of a digest.
NUMBER = re.compile(
    r"(?:(?<![\w.)\]°⁰-⁹₀-₉])[-+−])?(?<![\w.⁰-⁹₀-₉])"
    r"\d+(?:,\d{3})*(?:\.\d+|\.(?=\s*[-\d\]]))?(?:e[-+]?\d+)?(?!\.?\w)"
)
#: Units of what is measured, after a whole number; tokens, requests and devices are counted.
MEASURED = re.compile(
    r"\s?(?:%|[A-Za-zµ][^\s,;:()/]* ?/ ?[^\s,;:()]+|[nµum]?s\b|(?:min|h|d|hours?|days?|years?)\b"
    r"|(?:[kMGTPE]i?)?(?:B|FLOPs?|bytes?)\b|[kMGT]?(?:W|Wh|J|QPS|USD|kg)\b)"
)
#: How long a search took, which is another time every time.
TOOK = re.compile(r"\bin [\d.e+-]+ s(?= by \w+\.)")
#: Most of a number by which it may differ, however few its digits.
MOST = 0.005


@dataclass(frozen=True)
class Number:
    """A printed number: its value, what its last digit counts, and whether it is a count."""

    value: float
    unit: float
    exact: bool

    @classmethod
    def read(cls, text: str, after: str, before: str) -> Number:
        """Read a number between what stands after and before it."""
        mantissa, _, exponent = text.replace(",", "").replace("−", "-").partition("e")
        decimals = len(mantissa.partition(".")[2])
        measured = "." in mantissa or exponent or before.endswith("$") or MEASURED.match(after)
        return cls(float(f"{mantissa}e{exponent or 0}"), 10.0 ** (int(exponent or 0) - decimals), not measured)

    def agrees(self, other: Number) -> bool:
        """One unit of the last digit apart at most, and half a percent; counts not at all."""
        if self.exact:
            return other.exact and self.value == other.value
        room = min(self.unit, MOST * max(abs(self.value), abs(other.value)))
        return abs(self.value - other.value) <= room * (1 + 1e-9)


def _parts(line: str) -> tuple[list[str], list[Number]]:
    """Words and numbers of a line, however far apart: the width of a column follows from its numbers."""
    line = re.sub(r"─+", "─", " ".join(line.split()))
    line = TOOK.sub("in some time", line)
    numbers = [Number.read(found[0], line[found.end() :], line[: found.start()]) for found in NUMBER.finditer(line)]
    return NUMBER.sub("#", line).split(), numbers


def differences(said: str, printed: str) -> list[str]:
    """Lines that differ in more than the last digits of what is measured, as ``said -> printed``."""
    ours, theirs = said.splitlines(), printed.splitlines()
    if len(ours) != len(theirs):
        return [f"{len(ours)} lines -> {len(theirs)} lines:\n{said}\n->\n{printed}"]
    return [f"{one} -> {other}" for one, other in zip(ours, theirs, strict=True) if not _agree(one, other)]


def _agree(one: str, other: str) -> bool:
    if one == other:
        return True
    (words, numbers), (others, found) = _parts(one), _parts(other)
    return words == others and all(mine.agrees(yours) for mine, yours in zip(numbers, found, strict=True))


@dataclass(frozen=True)
class Output:
    """Output on a page: where it stands, what it says, what is printed today."""

    start: int
    end: int
    said: str
    printed: str

    @property
    def old(self) -> list[str]:
        return differences(self.said, self.printed)


@dataclass(frozen=True)
class Picture:
    """Picture on a page: its file, and the figure that its block draws today."""

    path: Path
    drawn: Image

    @classmethod
    def taken(cls, path: Path, theme: str) -> Picture:
        """Take the last figure that was drawn; the dark picture stands beside the light one."""
        from matplotlib import pyplot
        from PIL import Image

        written = io.BytesIO()
        pyplot.gcf().savefig(written, dpi=150)
        image = Image.open(written)
        drawn = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        drawn.info["Software"] = image.info["Software"]
        return cls(path if theme == "light" else path.with_stem(f"{path.stem}_{theme}"), drawn)

    @property
    def old(self) -> list[str]:
        """Name the file if another version of matplotlib drew it, or if a reader would see a difference."""
        from PIL import Image, ImageChops

        if self.path.exists():
            shown = Image.open(self.path)
            if (shown.size, shown.info.get("Software")) == (self.drawn.size, self.drawn.info["Software"]):
                apart = ImageChops.difference(shown.convert("RGB"), self.drawn.convert("RGB")).convert("L")
                if sum(apart.histogram()[LEVELS:]) <= PIXELS * apart.width * apart.height:
                    return []
        return [f"{self.path.name} is not what its page draws"]

    def write(self) -> None:
        from PIL.PngImagePlugin import PngInfo

        about = PngInfo()
        about.add_text("Software", self.drawn.info["Software"])
        self.path.parent.mkdir(exist_ok=True)
        self.drawn.save(self.path, optimize=True, pnginfo=about)


def commands(block: str) -> list[str]:
    """Commands of mlsysim in a block of shell, each on one line."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.startswith("mlsysim ")]


def answer(command: str) -> str:
    """Standard output of a command."""
    done = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="mlsysim")
    assert done.exit_code == 0, f"{command}\n{done.output}"
    return done.stdout


def outputs(text: str, name: str = "page", themes: Sequence[str] = ("light",)) -> Iterator[Output | Picture]:
    """Run the blocks of a page one after the other; a block shows its output in the text block right under it.

    A transcript shows it under each command. A block under the name of a file is that file, in a folder of its own.
    A picture shows what the block above it draws, which runs once for each theme.
    """
    fences = [*FENCE.finditer(text)]
    namespace: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, _importable(folder):
        for fence, follower in zip(fences, [*fences[1:], None], strict=True):
            shown = follower
            ends = (other.start() for other in fences if other.start() > fence.start() and other[1] != "text")
            pictured = PICTURE.search(text, fence.end(), next(ends, len(text)))
            if not follower or follower[1] != "text" or text[fence.end() : follower.start()].strip():
                shown = None
            if file := FILE.search(text[: fence.start()]):
                Path(folder, file[1]).write_text(fence[2], encoding="utf-8")
            elif fence[1] == "python":
                earlier, theme = {**namespace}, themes[0] if pictured else None
                yield _under(fence, shown, _run(fence[2], name, namespace, theme))
                for theme in themes if pictured else ():
                    if theme != themes[0]:
                        _run(fence[2], name, {**earlier}, theme)
                    yield Picture.taken((ROOT / name).parent / pictured[1], theme)
            elif fence[1] == "sh" and shown:
                yield _under(fence, shown, "".join(map(answer, commands(fence[2]))))
            elif fence[1] == "console":
                with contextlib.chdir(folder):
                    for typed in TYPED.finditer(fence[2]):
                        start, end = (fence.start(2) + place for place in typed.span(2))
                        yield Output(start, end, typed[2], answer(typed[1]))


def _run(block: str, name: str, namespace: dict[str, object], theme: str | None) -> str:
    """Output of a block, whose figures have the colours of a theme."""
    printed = io.StringIO()
    if theme:
        from matplotlib import pyplot

        pyplot.close("all")
    with plot.themed(theme), contextlib.redirect_stdout(printed):
        exec(compile(block, name, "exec"), namespace)
    return printed.getvalue()


def _under(fence: re.Match, shown: re.Match | None, printed: str) -> Output:
    """Output in the block under another one, or of a block that shows none."""
    return Output(*(shown.span(2) if shown else (fence.end(), fence.end())), shown[2] if shown else "", printed)


@contextlib.contextmanager
def _importable(folder: str) -> Iterator[None]:
    """Modules of a folder can be imported, and are forgotten again."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for path in Path(folder).glob("*.py"):
            sys.modules.pop(path.stem, None)


def rewritten(text: str, name: str = "page") -> tuple[str, list[Picture]]:
    """Page with the outputs of today where those that stand there are old, and pictures of today likewise."""
    old = [output for output in outputs(text, name, tuple(THEMES)) if output.old]
    for output in reversed(old):
        if isinstance(output, Output):
            shown = output.printed if output.said else f"\n```text\n{output.printed}```\n"
            text = text[: output.start] + shown + text[output.end :]
    return text, [output for output in old if isinstance(output, Picture)]


def executed(notebook: NotebookNode) -> NotebookNode:
    """Notebook with the outputs of today but warnings, run in a process of its own in the folder of the notebooks."""
    from nbclient import NotebookClient

    fresh = copy.deepcopy(notebook)
    where = {"metadata": {"path": str(ROOT / "notebooks")}}
    NotebookClient(fresh, timeout=1200, kernel_name="python3", resources=where, record_timing=False).execute()
    for cell in fresh.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return fresh


def shown(cell: NotebookNode) -> list[tuple[str, str]]:
    """Outputs of a cell as kind and text: streams in one piece, HTML a tag a line, of figures the kind alone."""
    streams: dict[str, str] = {}
    found = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            streams[output.name] = streams.get(output.name, "") + output.text
        for kind, data in sorted(output.get("data", {}).items()):
            found.append((kind, data.replace("><", ">\n<") if kind.startswith("text/") else ""))
    return [*streams.items(), *found]


def old_lines(stored: NotebookNode, fresh: NotebookNode) -> list[str]:
    """Lines of the stored outputs of a cell that are not what it prints today."""
    ours, theirs = shown(stored), shown(fresh)
    if [kind for kind, _ in ours] != [kind for kind, _ in theirs]:
        return [f"{ours} -> {theirs}"]
    return [line for (_, one), (_, other) in zip(ours, theirs, strict=True) for line in differences(one, other)]


def renewed(text: str) -> str:
    """Notebook with the outputs of today where those that are stored are old, and then with today's figures."""
    import nbformat

    stored = nbformat.reads(text, as_version=4)
    fresh = executed(stored)
    pairs = [*zip(stored.cells, fresh.cells, strict=True)]
    if not any(old_lines(*pair) for pair in pairs):
        return text
    for place, pair in enumerate(pairs):
        if old_lines(*pair) or any(kind.startswith("image/") for kind, _ in shown(pair[1])):
            stored.cells[place] = pair[1]
    return f"{nbformat.writes(stored)}\n"


def main() -> int:
    """Name the pages and notebooks whose outputs are old, or write them anew, with pictures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown pages and notebooks; by default all")
    parser.add_argument("--write", action="store_true", help="write what is printed today, in place")
    asked = parser.parse_args()
    paths = [path.resolve() for path in asked.pages] or [*(ROOT / page for page in PAGES), *NOTEBOOKS]
    os.environ["COLUMNS"] = "100"
    os.chdir(ROOT)
    status = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            fresh, pictures = (renewed(text), []) if path.suffix == ".ipynb" else rewritten(text, str(path))
        except Exception as error:
            print(f"does not run: {path.relative_to(ROOT)}: {error}", flush=True)
            status = 1
            continue
        if asked.write:
            path.write_text(fresh, encoding="utf-8")
            for picture in pictures:
                picture.write()
        for each in [path] * (fresh != text) + [picture.path for picture in pictures]:
            status = status or int(not asked.write)
            print(f"{'written' if asked.write else 'old'}: {os.path.relpath(each)}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
