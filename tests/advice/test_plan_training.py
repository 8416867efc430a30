"""Layouts of a training run: from the search, read back from their options, and beside published ones."""

from __future__ import annotations

from itertools import product

import pytest

from mlsysim import DistributedModel, RunModel, plan_training
from mlsysim.advice.plan_training import read_back
from mlsysim.catalog import builtin
from mlsysim.catalog.launchers import launcher
from mlsysim.errors import InputError, MissingInputError, UnknownNameError

RUN = {"model": "Llama3_70B", "hardware": "H100", "accelerators": 64, "batch_size": 256, "seq_len": 8192}
#: A model, its accelerators and sequences of a step; and the framework.
RUNS = [
    ("Llama3_70B", 64, 256, "Megatron_LM"),
    ("Llama3_1_405B", 1024, 1536, "Megatron_LM"),
    ("GPT3_175B", 512, 2048, "Megatron_LM"),
    pytest.param("DeepSeek_V3", 1024, 8192, "Megatron_LM", marks=pytest.mark.long),
    ("Qwen3_30B_A3B", 16, 256, "Megatron_LM"),
    ("Llama3_70B", 64, 256, "torchtitan"),
    ("DeepSeek_V3", 1024, 8192, "torchtitan"),
]
#: Counted by the search with stages as even as they can be; the options say which layers the ends have.
ENDS = ("layers_first_stage", "layers_last_stage")


def chosen(layout):
    return {name: layout.settings[name] for name in ("tp_size", "pp_size", "cp_size", "ep_size")}


@pytest.mark.parametrize(("model", "accelerators", "batch", "framework"), RUNS)
def test_options_are_read_back_as_what_was_planned(model, accelerators, batch, framework):
    found = plan_training(
        model, "H100", accelerators=accelerators, batch_size=batch, seq_len=4096, framework=framework, pp_size=[1, 2, 8]
    )
    entry, device, made = (
        builtin().find("model", model),
        builtin().find("hardware", "H100"),
        launcher(framework, "framework"),
    )
    # 405B fits in four layouts of these pipelines: eight tensor ranks, eight stages, 1 to 8 context ranks.
    assert len(found) == (4 if model == "Llama3_1_405B" else 5)
    for layout in found:
        (command,) = layout.commands[framework]
        options = command[command.index(" --", command.index(".py" if ".py" in command else "FILE")) :]
        run = read_back(made, options, accelerators, entry, device)
        assert not run.not_read
        for name, setting in run.arguments.items():
            if name in ENDS or name not in layout.result.input_names:
                continue
            value, ours = setting.value, layout.result[name]
            ours = getattr(ours, "magnitude", ours)
            if name == "sequence_parallel" and layout.settings["tp_size"] == 1:
                continue
            if value in ("yes", "no"):
                value = float(value == "yes")
            assert ours == (value if isinstance(value, str) else pytest.approx(value)), name
        for name in ("layers", "hidden_dim", "heads", "head_dim", "ffn_dim", "vocab_size", "experts", "moe_layers"):
            theirs, ours = (getattr(each, name, None) for each in (run.model, entry))
            if theirs is not None and ours is not None and ours.value:
                assert theirs.value == ours.value, name


def test_rows_are_the_best_of_their_layouts():
    """Every point of a small grid, each solved by itself."""
    axes = {"tp_size": [4, 8], "pp_size": [4, 8], "gradient_accumulation_steps": [64, 128],
            "activation_checkpointing": ["none", "full"]}  # fmt: skip
    found = plan_training(**RUN, **axes, cp_size=1, interleaved_stages=1)
    recipe = found[0].result
    same = {name: recipe[name] for name in ("loss_kernel", "attention_kernel", "workspace", "gradient_dtype")}
    fleet = recipe.entries["fleet"]
    best: dict[tuple[int, int], float] = {}
    for values in product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        if 256 % (64 // (point["tp_size"] * point["pp_size"]) * point["gradient_accumulation_steps"]):
            continue
        result = DistributedModel().solve(
            model="Llama3_70B", fleet=fleet, fleet_size=64, stack="Megatron_Bridge_H100", batch_size=256, seq_len=8192,
            precision="bf16", zero_stage=1, sequence_parallel=True, vocab_multiple=128, **same, **point,
        )  # fmt: skip
        if result.feasible and result["fit_probability"] >= 0.9:
            layout, time = (point["tp_size"], point["pp_size"]), result["step_time"].to("s").magnitude
            best[layout] = min(time, best.get(layout, time))
    assert [each.result["step_time"].to("s").magnitude for each in found] == pytest.approx(sorted(best.values()))
    assert [(e.settings["tp_size"], e.settings["pp_size"]) for e in found] == sorted(best, key=best.__getitem__)


class TestPublished:
    """Layouts of Megatron-Bridge (docs/how_to/plan_a_training_run.md), among ours and how much slower."""

    @pytest.mark.parametrize(
        ("model", "accelerators", "batch", "seq_len", "layout", "slower"),
        [
            ("Llama3_70B", 64, 256, 8192, {"tp_size": 4, "pp_size": 4, "cp_size": 2}, 0.06),
            ("Llama3_1_405B", 1024, 1536, 8192, {"tp_size": 8, "pp_size": 8, "cp_size": 2}, 0.06),
            ("GPT3_175B", 512, 2048, 2048, {"tp_size": 4, "pp_size": 8, "cp_size": 1}, 0.02),
        ],
    )
    def test_layout_of_its_performance_recipes(self, model, accelerators, batch, seq_len, layout, slower):
        """They reduce gradients in bf16; in fp32, that of 405B has to recompute its layers and is 40% slower."""
        asked = {"accelerators": accelerators, "batch_size": batch, "seq_len": seq_len, "gradient_dtype": "bf16"}
        found = plan_training(model, "H100", **asked, top=40)
        times = [each.result["step_time"].magnitude for each in found]
        place = next(i for i, each in enumerate(found) if layout.items() <= chosen(each).items())
        assert times[place] / times[0] - 1 <= slower


class TestRun:
    def test_days_and_dollars_of_a_run_that_fails(self):
        more = {"storage": "Tectonic", "placement_time": "60 s", "rental_price": 2, "training_tokens": 1e12}
        (layout,) = plan_training(**RUN, **more, top=1)
        row, result = layout.row, layout.result
        assert float(row["days, P90"]) > float(row["days"]) > result["training_time"].to("day").magnitude
        cost = float(row["cost (USD)"].replace(",", ""))
        assert cost == pytest.approx(64 * 24 * 2 * float(row["days"]), rel=1e-3)
        assert RunModel("overlapped").variant == "overlapped"

    def test_dollars_without_failures(self):
        (layout,) = plan_training(**RUN, rental_price=2, training_tokens=1e12, top=1)
        days = layout.result["training_time"].to("day").magnitude
        assert float(layout.row["cost (USD)"].replace(",", "")) == pytest.approx(64 * 24 * 2 * days, rel=1e-5)

    def test_memory_by_hand(self):
        """Of 405B on 64 devices 18 bytes a parameter, over all, are 114 GB of the 85 that a device has."""
        found = plan_training("Llama3_1_405B", "H100", accelerators=64, batch_size=64, seq_len=4096)
        assert not found.layouts
        assert 18 * 405.9 / 64 > 85.9
        assert found.shortfall[0] == "No layout on 64 NVIDIA H100 SXM5 80 GB holds the run."
        assert "give more accelerators" in found.shortfall[1]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"accelerators": 0}, InputError, "accelerators=0: must be a whole number of at least 1"),
        ({"batch_size": 2.5}, InputError, "batch_size=2.5: must be a whole number"),
        ({"confidence": 1}, InputError, "confidence=1: must be a probability"),
        ({"framework": "Megatron"}, UnknownNameError, "unknown framework 'Megatron'.*Megatron_LM"),
        ({"hardware": "H999"}, UnknownNameError, "unknown hardware 'H999'.*H100"),
        ({"precision": ["bf16", "fp8"]}, InputError, "precision=.*: has one value in a plan"),
        ({"tp_sizes": 4}, UnknownNameError, "unknown argument of plan_training 'tp_sizes'.*tp_size"),
    ],
)
def test_refused(given, error, said):
    with pytest.raises(error, match=said):
        plan_training(**{**RUN, **given})


def test_missing():
    with pytest.raises(MissingInputError, match="plan_training needs batch_size"):
        plan_training("Llama3_70B", "H100", accelerators=64, seq_len=8192)
