"""Broken catalog files: only CatalogError comes out, and what loads is refused or answered by every model."""

import math
from importlib import resources

from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel, load_catalog
from mlsysim.catalog import Accelerator, Fleet, SparseTransformerWorkload, TransformerWorkload
from mlsysim.errors import CatalogError, MlsysimError

BUILT_IN = "\n".join(
    file.read_text(encoding="utf-8")
    for file in sorted((resources.files("mlsysim.catalog") / "data").iterdir(), key=lambda f: f.name)
    if file.name.endswith(".toml")
)
SMALL = """
[Hardware.Mine.Chip]
name = "My chip"
source = "https://example.org/chip"
date = "2025-05"
kind = "measured"
memory_capacity = "48 GiB"
memory_bandwidth = { value = 1.5, unit = "TB/s", kind = "assumed" }
[Hardware.Mine.Chip.peak_flops]
fp16 = "200 TFLOP/s"

[Models.Mine.Small]
name = "Small"
source = "kwon2023"
date = "2025-05"
kind = "paper"
parameters = 1e9
active_parameters = 5e8
layers = 16
hidden_dim = 2048
heads = 16
kv_lora_rank = 64
qk_rope_head_dim = 16
experts = 8
active_experts_per_token = 2

[Systems.Fabrics.Net]
name = "Net"
source = "https://example.org/net"
date = "2025-05"
kind = "assumed"
bandwidth = "100 Gbit/s"
latency = "5 us"
oversubscription = 1

[Systems.Nodes.Box]
name = "Box"
source = "https://example.org/box"
date = "2025-05"
kind = "assumed"
accelerator = "Hardware.Mine.Chip"
accelerators_per_node = 4

[Systems.Clusters.Lab]
name = "Lab"
source = "https://example.org/box"
date = "2025-05"
kind = "assumed"
node = "Systems.Nodes.Box"
count = 2
fabric = "Systems.Fabrics.Net"
"""
TOKENS = (
    "0", "-1", "1", "2.5", "1e300", "1e999", "nan", "-inf", "true", "[]", "[1, 2]", "{}", "{ value = 1 }", '""', '"x"',
    '"48 GB"', '"0 GB/s"', '"9**9**9 GB"', '"80,5 GB"', '"1e999 GB"', "2024-01-01", "12:00:00", '"Hardware.Mine.Chip"',
    '"Systems.Nodes.Box"', '"Systems.Clusters.Lab"', '"Hardware.Cloud.H100"', '"user"', '"paper"', '"https://x.org"',
    "99999999999999999999999", '{ value = 1, unit = "GB" }', '{ value = true, unit = "GB", note = 5 }',
)  # fmt: skip
FAMILIES = st.sampled_from(
    ["[Hardware.A.B]", "[Hardware]", "[Systems.Nodes.Box]", "[Models.Mine]", '[Models."a.b".c]', "["]
)


@st.composite
def broken(draw, text, most=4):
    """A file with some lines dropped, doubled, moved, retyped or given another value."""
    lines = text.strip().splitlines()
    for _ in range(draw(st.integers(1, most))):
        place = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["drop", "double", "value", "key", "heading", "letter", "move"]))
        line = lines[place]
        if what == "drop":
            del lines[place]
        elif what == "double":
            lines.insert(place, line)
        elif what == "value" and " = " in line:
            lines[place] = f"{line.partition(' = ')[0]} = {draw(st.sampled_from(TOKENS))}"
        elif what == "key" and " = " in line:
            lines[place] = (
                f"{draw(st.sampled_from(['name', 'experts', 'tdp', 'node', 'x']))} = {line.partition(' = ')[2]}"
            )
        elif what == "heading":
            lines.insert(place, draw(FAMILIES))
        elif what == "letter" and line:
            at = draw(st.integers(0, len(line) - 1))
            lines[place] = line[:at] + draw(st.characters()) + line[at + 1 :]
        elif what == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(place))
        if not lines:
            return ""
    return "\n".join(lines)


def solved(catalog):
    """Every entry of a catalog in the model it is for."""
    for path in catalog.paths():
        entry = catalog.entry(path)
        if isinstance(entry, Accelerator):
            yield lambda e=entry: ServingCapacityModel().solve("Llama3_8B", e, qps=20, target_p99_latency_ms=4000)
        if isinstance(entry, TransformerWorkload):
            yield lambda e=entry: TrainingMemoryModel().solve(e, "H100", batch_size=8)
            yield lambda e=entry: ServingCapacityModel().solve(e, "H100", qps=20, target_p99_latency_ms=4000)
        if isinstance(entry, SparseTransformerWorkload):
            yield lambda e=entry: MoERoutingModel().solve(e, batch_size=4)
        if isinstance(entry, Fleet):
            yield lambda e=entry: MoERoutingModel().solve("Mixtral_8x7B", e, batch_size=4, ep_size=8)


def check(file, content):
    file.write_bytes(content)
    refusal, catalog = "", None
    try:
        catalog = load_catalog(file)
    except CatalogError as error:
        refusal = str(error)
    if catalog is None:
        assert refusal.startswith(f"{file}: ")
        assert "pydantic" not in refusal
        return 0
    for solve in solved(catalog):
        try:
            result = solve()
        except MlsysimError:
            continue
        assert not any(math.isnan(result.canonical(name)) for name in (*result.inputs, *result.outputs))
    return 1


def fuzz(tmp_path, strategy, examples, quick=None):
    file = tmp_path / "fuzz.toml"
    loaded = []

    @fuzzing(examples, quick)
    @given(strategy)
    def run(text):
        loaded.append(check(file, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")))

    run()
    return loaded


def test_the_whole_file_loads_before_it_is_broken(tmp_path):
    file = tmp_path / "good.toml"
    for text in (SMALL, BUILT_IN):
        file.write_text(text, encoding="utf-8")
        assert check(file, text.encode()) == 1


def test_a_small_file_broken(tmp_path):
    loaded = fuzz(tmp_path, broken(SMALL), 500, quick=200)
    assert 0 < sum(loaded) < len(loaded)


def test_the_built_in_files_broken(tmp_path):
    loaded = fuzz(tmp_path, broken(BUILT_IN, most=2), 60)
    assert 0 < sum(loaded) < len(loaded)


def test_files_of_nothing_but_noise(tmp_path):
    fuzz(tmp_path, st.one_of(st.binary(max_size=60), st.text(max_size=60), st.text('[]={}".\n#ab1', max_size=60)), 300)
