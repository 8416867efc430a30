"""Engines: the variant that serves as they do, their newest stack for a device, and what the command line takes."""

import pytest

from mlsysim import IterationModel, ServingModel, Traffic, linked
from mlsysim.catalog import Engine, Stack, builtin, load_catalog, stacks_of
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs import engines

ASKED = {"model": "Llama3_1_8B", "hardware": "H100", "request_rate": 2}
NAMES = [path.rpartition(".")[2] for path in builtin().paths() if path.startswith("Systems.Engines.")]
FAST = {"efficiency": 0.9, "max_num_seqs": 32, "max_num_batched_tokens": 512, "gpu_memory_utilization": 0.8}


@pytest.fixture
def made(monkeypatch):
    """Two stacks of vLLM, the first of which knows H100 alone."""
    vllm, card, older = builtin().find("engine", "vllm"), builtin().find("hardware", "H100"), {"efficiency": 0.3}
    new = Stack(name="new", engine=vllm, devices=(card,), **FAST)
    old = Stack(name="old", engine=vllm, devices=(card, builtin().find("hardware", "H200")), **older)
    monkeypatch.setattr(engines, "stacks_of", {"vLLM": (new, old)}.get)
    return new, old


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("name", NAMES)
def test_each_names_a_variant_and_says_where_it_is_from(name):
    engine = builtin().find(Engine.what, name)
    assert engine.variant.value in ServingModel.variants
    assert engine.variant.source.startswith("https://")
    assert str(engine) == f"<Engine {engine.name}: variant={engine.variant.value}>"
    result = ServingModel().solve(**ASKED, engine=name)
    assert result.model.variant == engine.variant.value
    assert f"answers by {engine.variant.value}, as {engine.name} schedules" in "; ".join(result.notes)


def test_it_is_a_name_for_a_variant_and_a_stack():
    named = ServingModel().solve(**ASKED, engine="trtllm")
    plain = ServingModel("chunked_estimate").solve(**ASKED, stack="TensorRT_LLM_H100")
    assert {name: named.canonical(name) for name in named} == {name: plain.canonical(name) for name in plain}
    assert named.entries["stack"].key == "TensorRT_LLM_H100"
    kept = ServingModel("colocated").solve(**ASKED, engine="trtllm")
    assert kept.canonical("tpot_mean") == ServingModel().solve(**ASKED, stack="TensorRT_LLM_H100").canonical(
        "tpot_mean"
    )


def test_stacks_are_listed_from_the_newest_on():
    for name in NAMES:
        found = stacks_of(builtin().find(Engine.what, name).name)
        dates = [builtin()._raw[f"Stacks.{each.key}"]["date"] for each in found]
        assert dates == sorted(dates, reverse=True)
        assert all(each.devices for each in found)


def test_the_newest_stack_that_knows_the_device_gives_its_flags(made):
    result = ServingModel().solve(**ASKED, engine="vllm")
    assert result.entries["stack"] is made[0]
    assert {name: result.canonical(name) for name in FAST} == FAST
    typed = ServingModel().solve(**ASKED, engine="vllm", max_num_seqs=8)
    assert typed.canonical("max_num_seqs") == 8
    whole = Stack(name="whole", whole_prompts=True)
    assert ServingModel("chunked_estimate").solve(**ASKED, isl=500, stack=whole)["whole_prompts"]
    other = ServingModel().solve(**{**ASKED, "hardware": "H200"}, engine="vLLM")
    assert other.entries["stack"] is made[1]
    assert other.canonical("max_num_seqs") == 256
    node = ServingModel().solve(model="Llama3_1_8B", node="DGX_H100", request_rate=2, engine="vllm")
    assert node.entries["stack"] is made[0]


def test_without_a_stack_that_knows_the_device_times_are_generic(made):
    asked = {**ASKED, "hardware": "A100"}
    result = ServingModel().solve(**asked, engine="vllm")
    assert "stack" not in result.entries
    assert result.canonical("tpot_mean") == ServingModel("chunked_estimate").solve(**asked).canonical("tpot_mean")
    assert any(note.startswith("no stack of vLLM knows A100: its times are those of Generic") for note in result.notes)
    own = builtin().find("hardware", "H100").changed(memory_bandwidth="4 TB/s")
    assert ServingModel().solve(**{**ASKED, "hardware": own}, engine="vllm").entries["stack"] is made[0]


@pytest.mark.long
def test_along_an_axis_each_device_and_engine_has_its_own(made):
    devices = ["H100", "H200", "A100"]
    found = ServingModel().sweep(**{**ASKED, "hardware": devices}, engine="vllm", outputs="tpot_mean")
    one = [ServingModel().solve(**{**ASKED, "hardware": each}, engine="vllm").tpot_mean.m for each in devices]
    assert found["tpot_mean"].values.tolist() == pytest.approx(one, rel=1e-12)
    assert "1 of 3 points: no stack of vLLM knows A100" in found.attrs["notes"]
    pairs = linked(hardware=["H100", "H200"], engine=["vllm", "vllm"])
    found = ServingModel("chunked_estimate").sweep(model="Llama3_1_8B", request_rate=2, run=pairs, outputs="tpot_mean")
    assert found["tpot_mean"].values.tolist() == pytest.approx(one[:2], rel=1e-12)
    found = ServingModel.asked("chunked").sweep(model="Llama3_1_8B", request_rate=2, run=pairs, outputs="engine_slots")
    assert found["engine_slots"].values.tolist() == [32, 256]
    with pytest.raises(InputError, match="must be one where hardware varies; link them, or give stack"):
        ServingModel("chunked").sweep(
            **{**ASKED, "hardware": devices}, engine=["vllm", "trtllm"], outputs="engine_slots"
        )


def test_engines_that_schedule_otherwise_are_asked_one_by_one():
    with pytest.raises(InputError, match="chunked_estimate describes vllm; colocated describes sglang"):
        ServingModel().sweep(**ASKED, engine=["vllm", "sglang"])
    found = ServingModel("colocated").sweep(**ASKED, engine=["vllm", "trtllm", "sglang"], outputs="tpot_mean")
    stacks = ["vLLM_2026_Hopper", "TensorRT_LLM_H100", "SGLang_2026_Hopper"]
    one = [ServingModel().solve(**ASKED, stack=each).tpot_mean.m for each in stacks]
    assert found["tpot_mean"].values.tolist() == pytest.approx(one, rel=1e-12)


def test_the_command_line_takes_vllm_and_python_none(made):
    asked = ServingModel.asked()
    assert (asked.variant, ServingModel().variant) == ("chunked_estimate", "colocated")
    result, plain = asked.solve(**ASKED), ServingModel().solve(**ASKED)
    assert (result.entries["stack"], "engine" in plain.entries) == (made[0], False)
    assert any("before, by colocated, with Generic where no stack is named" in note for note in result.notes)
    assert not any("before" in note for note in asked.solve(**ASKED, engine="vllm").notes)
    followed = asked.solve(**ASKED, stack="TensorRT_LLM_H100")
    assert followed.entries["engine"].name == "TensorRT-LLM"
    as_before = ServingModel.asked("colocated").solve(**ASKED, stack="Generic")
    assert {name: as_before.canonical(name) for name in plain} == {name: plain.canonical(name) for name in plain}
    assert "engine" not in as_before.entries
    kept = ServingModel.asked("colocated").solve(**ASKED)
    assert (kept.entries["stack"], kept.model.variant) == (made[0], "colocated")


@pytest.mark.long
def test_calls_that_recur_keep_their_engine(made):
    asked, plain = ServingModel.asked(), ServingModel("chunked_estimate")
    found = [(asked.solve(**ASKED, isl=n), plain.solve(**ASKED, isl=n)) for n in range(100, 240)]
    assert all(one.canonical("max_num_seqs") == 32 and two.canonical("max_num_seqs") == 256 for one, two in found)


def test_a_sweep_over_variants_keeps_it(made):
    found = ServingModel.asked().sweep(**ASKED, variant=["colocated", "chunked_estimate"], outputs="tpot_mean")
    one = ServingModel("colocated").solve(**ASKED, engine="vllm").tpot_mean.m
    assert found["tpot_mean"].sel(variant="colocated").item() == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"engine": "vlm"}, UnknownNameError, "unknown engine 'vlm': did you mean vllm?"),
        ({"engine": "TensorRT-LLM", "hardware": "H10"}, UnknownNameError, "unknown hardware 'H10'"),
        ({"engine": "H100"}, UnknownNameError, "it is an entry for hardware"),
        ({"engine": 3}, InputError, "must be an entry of the catalog (engine)"),
        (
            {"engine": "vllm", "stack": "TensorRT_LLM_H100"},
            InputError,
            "must be that of TensorRT_LLM_H100, trtllm; leave out engine, or give engine='trtllm'",
        ),
    ],
)
def test_refused(changed, error, said):
    with pytest.raises(error) as refused:
        ServingModel().solve(**{**ASKED, **changed})
    assert said in str(refused.value)


def test_other_models_take_none():
    with pytest.raises(UnknownNameError, match="unknown argument of IterationModel 'engine'"):
        IterationModel().solve(model="Llama3_1_8B", hardware="H100", engine="vllm")


def test_a_stack_of_ones_own_names_its_engine(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        '[Stacks.Mine]\nname = "mine"\nsource = "own measurement"\ndate = "2026-11"\nkind = "measured"\n'
        'engine = "Systems.Engines.sglang"\nefficiency = 0.5\nmax_num_seqs = "64 request"\n'
    )
    stack = load_catalog(file).Stacks.Mine
    result = ServingModel.asked().solve(**ASKED, stack=stack)
    assert (result.model.variant, result.canonical("max_num_seqs")) == ("colocated", 64)


def test_experts_of_another_shape_are_a_guess():
    fitted = tuple(builtin().find("model", name) for name in ("DeepSeek_V3", "Mixtral_8x7B"))
    stack = Stack(name="fit", expert_models=fitted)
    model, asked = ServingModel("colocated"), {"hardware": "H100", "tp_size": 8, "request_rate": 1, "precision": "fp8"}

    def guesses(name, stack):
        return [note for note in model.solve(name, stack=stack, **asked).notes if "a guess of +-25%" in note]

    said = "experts of Qwen3_235B_A22B are of another shape than those of DeepSeek_V3, Mixtral_8x7B, on which fit rests"
    assert guesses("Qwen3_235B_A22B", stack)[0].startswith(said)
    assert not guesses("Mixtral_8x7B", stack)
    assert not guesses("Llama3_1_8B", stack)
    assert not guesses("Qwen3_235B_A22B", "Generic")
    found = model.sweep(["Mixtral_8x7B", "Qwen3_235B_A22B"], stack=stack, **asked, outputs="tpot_mean")
    assert f"1 of 2 points: {said}" in found.attrs["notes"]


def test_what_is_not_given_or_not_used_is_said():
    model = ServingModel("chunked_estimate")

    def said(**changed):
        return "; ".join(model.solve("Llama3_1_8B", "H100", **changed).notes)

    assert "no arrival rate is given" in said()
    assert "nothing says" not in said(request_rate=2) + said(concurrency=2)
    bursts = Traffic(name="bursts", isl=500, osl=50, request_rate=2, burstiness=0.3)
    assert "burstiness, 0.300, is not used: chunked prefill takes Poisson's arrivals" in said(traffic=bursts)
    assert "burstiness" not in said(traffic=bursts.changed(burstiness=1))
    assert "chunked prefill" not in "; ".join(
        ServingModel("colocated").solve("Llama3_1_8B", "H100", traffic=bursts).notes
    )
