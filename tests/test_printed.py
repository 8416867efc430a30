"""Printed text is compared number by number, and pages are written anew where they are old."""

import nbformat
import pytest
from printed import differences, old_lines, rewritten


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("first token 1310 ms", "first token 1309 ms"),
        ("2.00 GB", "2.01 GB"),
        ("3.577e-7 ms", "3.578e-7 ms"),
        ("1.209e16 GB", "1.210e16 GB"),
        ("4930 token/s", "4931 token/s"),
        ("4,930 tokens / s", "4,931 tokens / s"),
        ("$2,000 a month", "$2,001 a month"),
        ("[2128. 2111.]", "[2128. 2112.]"),
        ("-11.18 ms, −2.25 ms", "-11.17 ms, −2.26 ms"),
        ("a   9.99 GB\n─────────\n", "a  10.00 GB\n──────────\n"),
        ("0.000 ms", "-0.000 ms"),
        ("7.35 ms {'tp_size': 8}", "7.36 ms {'tp_size': 8}"),
    ],
)
def test_last_digits_of_what_is_measured_may_differ(said, printed):
    assert differences(said, printed) == []


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        ("1310 ms", "1308 ms"),
        ("2.00 GB", "2.02 GB"),
        ("36 ms", "37 ms"),
        ("98%", "97%"),
        ("2,000 of 1,048,576 fit", "2,001 of 1,048,576 fit"),
        ("[ 4.  8. 13.]", "[ 4.  9. 13.]"),
        ("14 token", "15 token"),
        ("16", "16.0"),
        ("8 replicas, 1.25 s", "9 replicas, 1.25 s"),
        ("True, bound by Memory", "True, bound by Link"),
        ("1.25 ms", "1.25 s"),
        ("1.25 ms", "-1.25 ms"),
        ("0.0 ms", "0.1 ms"),
        ("on H100", "on H200"),
        ("sha256 1f039276d367", "sha256 1f039276d368"),
        ("version 0.3.0", "version 0.3.1"),
        ("8192*rows", "8193*rows"),
        ("7.35 ms {'tp_size': 8}", "7.35 ms {'tp_size': 4}"),
        ("nan", "1.0"),
        ("one line\n", "one line\nanother\n"),
    ],
)
def test_counts_choices_and_words_may_not(said, printed):
    assert differences(said, printed)


PAGE = """\
`written_down.py`, a file:

```python
"three lines"
seven = 7
```

```python
from written_down import seven
print(seven)
```

```text
8
```

Words.

```python
print(1.0001, "s")
```

```text
1.0002 s
```

```python
print("not shown")
```
"""


def test_a_page_is_written_anew_where_it_is_old():
    anew = PAGE.replace("8\n", "7\n") + "\n```text\nnot shown\n```\n"
    assert rewritten(PAGE) == (anew, [])
    assert rewritten(anew) == (anew, [])


def test_a_picture_is_old_where_its_figure_changed(tmp_path):
    page = (
        "```python\nfrom matplotlib import pyplot\n\n_, ax = pyplot.subplots()\nax.set_ylim(0, 3)\n"
        "ax.plot([1, {}])\n```\n\n![A line](a.png)\n"
    )
    name = str(tmp_path / "a.md")
    drawn = rewritten(page.format(2), name)[1]
    assert [picture.path.name for picture in drawn] == ["a.png", "a_dark.png"]
    for picture in drawn:
        picture.write()
    assert rewritten(page.format(2), name) == (page.format(2), [])
    assert [picture.path for picture in rewritten(page.format(2.1), name)[1]] == [picture.path for picture in drawn]


def cell(*outputs):
    return nbformat.v4.new_code_cell(outputs=[*outputs])


def stream(text):
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def drawn(picture, **texts):
    return nbformat.v4.new_output("display_data", {"image/png": picture, **texts})


def test_outputs_of_a_cell_are_compared_however_they_were_flushed():
    stored = cell(stream("1310 ms\n"), drawn("one"), stream("4\n"))
    assert old_lines(stored, cell(drawn("two"), stream("1309 ms\n4\n"))) == []
    assert old_lines(stored, cell(drawn("two"), stream("1310 ms\n5\n"))) == ["4 -> 5"]
    assert old_lines(stored, cell(stream("1310 ms\n4\n")))
    table = "<tr><td>{}</td><td>{}</td></tr>"
    one, other = (cell(drawn("", **{"text/html": table.format(3, time)})) for time in ("1.25 s", "1.30 s"))
    assert old_lines(one, other) == ["<td>1.25 s</td> -> <td>1.30 s</td>"]


def test_how_long_a_search_took_is_not_compared():
    said = "129,024 evaluated in 2.2 s by enumeration."
    assert differences(said, said.replace("2.2", "1.44")) == []
    assert differences(said, said.replace("129,024", "129,025"))
    assert differences("a step in 2.2 s by hand", "a step in 1.44 s by hand")
