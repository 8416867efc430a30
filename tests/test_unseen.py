"""What a terminal obeys never reaches it, whoever wrote it; and no error repeats what is long."""

import json
import re

import pytest
from typer.testing import CliRunner

import mlsysim
from mlsysim import (
    Hardware,
    KernelModel,
    ServingModel,
    Traffic,
    TrainingMemoryModel,
    load_catalog,
    verify,
)
from mlsysim.catalog import TransformerWorkload, Value
from mlsysim.cli import app
from mlsysim.errors import LONGEST_MESSAGE, UNSEEN, CatalogError, InputError, MlsysimError, legible, printable
from mlsysim.jsontext import json_text
from mlsysim.show import html_table, render

#: A terminal moves its cursor, changes its title, rings, and turns letters round.
ODD = "\x1b7\x1b]0;title\x07\u202eX\u2066\x9b2J\x7f"
GIVEN = {"model": "Llama3_8B", "hardware": "H100"}
TRAIN = TrainingMemoryModel()


def unseen(text):
    """Characters of a text that do not belong on a screen."""
    return sorted(set(UNSEEN.findall(text)))


def test_characters_are_shown_as_their_escapes():
    assert printable("a\x1b[31mb\u202ec") == r"a\x1b[31mb\u202ec"
    assert printable("tab\tand\nline") == "tab\tand\nline"
    assert printable("tab\tand\nline\r", lines=False) == r"tab\tand\nline\r"
    assert printable("é µ — 中文 ↑ 😀") == "é µ — 中文 ↑ 😀"
    assert printable("\udcff\U000e0041") == r"\udcff\U000e0041"
    assert not unseen(printable("".join(map(chr, range(0x11000)))))


def test_long_messages_are_shortened():
    assert legible("x" * 10_000 + " is unknown").endswith("x" * 80 + " is unknown")
    assert len(legible("x" * 10_000 + " is unknown")) == 411
    assert legible("x " * 10_000 + "is unknown").endswith("x x is unknown")
    assert len(legible("x " * 10_000)) == LONGEST_MESSAGE
    assert legible("/a/path/of" * 40) == "/a/path/of" * 40
    error = InputError("x" * 10_000, 3, "must be known")
    assert len(str(error)) < 500
    assert len(error.args[0]) > 10_000
    assert error.argument == "x" * 10_000


#: Whoever takes a text, by name.
ENTRIES = {
    "a model": lambda text: TRAIN.solve(**{**GIVEN, "model": text}, batch_size=1),
    "a device": lambda text: TRAIN.solve(**{**GIVEN, "hardware": text}, batch_size=1),
    "an argument": lambda text: TRAIN.solve(**GIVEN, **{text: 1}),
    "a value": lambda text: TRAIN.solve(**GIVEN, batch_size=text),
    "a label": lambda text: TRAIN.solve(**GIVEN, precision=text),
    "a unit": lambda text: TRAIN.solve(**GIVEN, batch_size=1, memory_capacity=f"8 {text}"),
    "values of an axis": lambda text: TRAIN.sweep(**GIVEN, batch_size=[1, text]),
    "an objective": lambda text: TRAIN.search(**GIVEN, batch_size=[1, 2], minimize=text),
    "a condition": lambda text: TRAIN.search(
        **GIVEN, batch_size=[1, 2], minimize="total_memory", subject_to=f"total_memory <= 3 {text}"
    ),
    "a certificate": lambda text: TRAIN.search(
        **GIVEN, batch_size=[1, 2], minimize="total_memory", certificate=f"{text}/best.json"
    ),
    "a checkpoint": lambda text: TRAIN.search(
        **GIVEN, batch_size=[1, 2], minimize="total_memory", checkpoint=f"{text}/best.json"
    ),
    "a store": lambda text: TRAIN.sweep(**GIVEN, batch_size=[1, 2], store=f"{text}/grid.zarr"),
    "an output": lambda text: TRAIN.sensitivity(text, **GIVEN, batch_size=1),
    "an unknown": lambda text: TRAIN.solve_for(text, **GIVEN, total_memory="8 GB"),
    "a derivative": lambda text: TRAIN.derivative("total_memory", text),
    "a variant": TrainingMemoryModel,
    "an entry": lambda text: Hardware[text],
    "a catalog": load_catalog,
    "a config.json": TransformerWorkload.from_hf,
    "a trace": Traffic.from_trace,
    "traffic": lambda text: ServingModel("colocated").solve(**GIVEN, traffic=f"{text}.csv", num_replicas=1),
    "measurements": lambda text: KernelModel("roofline").calibrate("memory_efficiency", text, hardware="H100"),
    "a saved certificate": verify,
    "a book": lambda text: mlsysim.book.write(f"{text}"),
    "a provenance": lambda text: Value(value=1, unit="GB", source=text, date="2026-01", kind="paper"),
    "a date": lambda text: Value(value=1, unit="GB", source="own measurement", date=text, kind="paper"),
}


@pytest.mark.parametrize(
    "text", [ODD, "q" * 10_000, "a " * 5_000, "x" * 300, "a\0b"], ids=["odd", "a word", "words", "300", "null"]
)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_refusal_is_legible(entry, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mlsysim.book.pages", lambda own: {"README.md": "text"})
    with pytest.raises(MlsysimError) as refused:
        ENTRIES[entry](text if entry != "a book" else f"{text}\0/")
    assert not unseen(str(refused.value))
    assert len(str(refused.value)) <= LONGEST_MESSAGE


WORDS = [
    lambda text: [text],
    lambda text: ["memory", text],
    lambda text: ["memory", f"--{text}"],
    lambda text: ["memory", "--model", text],
    lambda text: ["memory", "--model", "Llama3_8B", "--hardware", "H100", "--batch-size", text],
    lambda text: ["search", "memory", f"{text}=3"],
    lambda text: ["demo", text],
    lambda text: ["book", "--check", "--out", text],
    lambda text: [f"--{text}"],
    lambda text: ["--with", text, "memory"],
    lambda text: ["verify", text],
]


@pytest.mark.parametrize("text", [ODD, "q" * 10_000, "a " * 5_000], ids=["odd", "one word", "many words"])
@pytest.mark.parametrize("words", WORDS, ids=[" ".join(words("TEXT")) for words in WORDS])
def test_every_command_refuses_legibly(words, text):
    ran = CliRunner().invoke(app, words(text))
    assert ran.exit_code in (1, 2)
    assert isinstance(ran.exception, SystemExit)
    assert not unseen(ran.output)
    assert len(ran.output) < 2 * LONGEST_MESSAGE + 200


@pytest.fixture
def own(tmp_path):
    """A model and a device with odd names, as files that have them, too."""
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2}
    config = {
        "model_type": "llama",
        **shape,
        "num_key_value_heads": 4,
        "vocab_size": 100,
        "_name_or_path": f"a{ODD}\nb",
    }
    (tmp_path / f"c{ODD}.json").write_text(json.dumps(config))
    (tmp_path / f"o{ODD}.toml").write_text(
        f"[Hardware.Own.Chip]\nname = {json.dumps(ODD)}\ndescription = {json.dumps(ODD)}\n"
        f'source = {json.dumps("https://a" + ODD)}\ndate = "2026-01"\nkind = "measured"\n'
        f'memory_capacity = {{ value = 80, unit = "GB", note = {json.dumps(ODD)} }}\n'
        'memory_bandwidth = "2 TB/s"\npeak_flops = { bf16 = "900 TFLOP/s" }\n'
    )
    return tmp_path / f"c{ODD}.json", tmp_path / f"o{ODD}.toml"


def test_answers_have_names_as_they_are_safe_to_show(own):
    config, catalog = own
    chip = load_catalog(catalog).Hardware.Own.Chip
    found = TRAIN.solve(model=str(config), hardware=chip, batch_size=8)
    for answer in (chip, chip.memory_capacity, found, found.explain(), found.to_json(), *found.notes):
        assert not unseen(str(answer))
        assert not unseen(repr(answer))
    assert "\n" not in TransformerWorkload.from_hf(config).name
    swept = TRAIN.sweep(model=[str(config), "Llama3_8B"], hardware=chip, batch_size=[1, 2])
    assert not unseen(repr(swept))
    assert not unseen(str(swept.attrs))


def test_names_of_a_catalog_have_nothing_unseen(own):
    catalog = own[1]
    catalog.write_text(catalog.read_text().replace("Own.Chip", f"Own.{json.dumps('Chip' + ODD)}"))
    with pytest.raises(CatalogError, match=r"has a dot or a character that is not shown"):
        load_catalog(catalog)


def test_commands_show_names_as_they_are_safe_to_show(own):
    config, catalog = own
    options = ["--hardware", "Chip", "--catalog", str(catalog)]
    for more in ([], ["--explain"], ["--json"]):
        ran = CliRunner().invoke(app, ["memory", "--model", str(config), "--batch-size", "8", *options, *more])
        assert ran.exit_code == 0, ran.output
        assert not unseen(ran.output)
    ran = CliRunner().invoke(app, ["catalog", "Chip", "--catalog", str(catalog)])
    assert ran.exit_code == 0, ran.output
    assert not unseen(ran.output)
    written = config.with_name(f"w{ODD}.csv")
    words = ["sweep", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=1,2", "--output", str(written)]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    assert not unseen(ran.output)


def test_measurements_of_an_odd_file(tmp_path):
    file = tmp_path / f"r{ODD}.csv"
    header = f"product_rows,product_columns,product_inner,kernel_time [us],a{ODD.replace(']', '')}"
    file.write_text(f"{header}\n8,1024,1024,10,x\n8,2048,1024,20,{ODD}\n8,4096,1024,44,z\n")
    column = header.rpartition(",")[2]
    found = KernelModel("roofline").calibrate(
        "memory_efficiency", file, hardware="H100", precision="bf16", ignore=column
    )
    for answer in (found, found.residuals, found.leave_one_out, found.to_json(), found.observations):
        assert not unseen(str(answer))
        assert not unseen(getattr(answer, "_repr_html_", str)())
    found.save(tmp_path / "own.toml", "Ours", source=f"https://a{ODD}")
    assert not unseen((tmp_path / "own.toml").read_text())


def test_json_says_the_same_with_escapes():
    assert json.loads(json_text({ODD: [ODD, "é\U000e0041"]})) == {ODD: [ODD, "é\U000e0041"]}
    assert not unseen(json_text({ODD: ODD}))
    assert "é" in json_text("é")


def test_tables_have_one_line_a_row():
    text = render(["name", "value"], [["a\nb\x1b", 1], ["c", 2]])
    assert len(text.splitlines()) == 4
    assert not unseen(text)
    assert not unseen(html_table([ODD], [[ODD]], ODD, [ODD]))
    assert not re.search(r"\x1b", text)
