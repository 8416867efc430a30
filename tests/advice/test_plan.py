"""Layouts of a deployment: from the search, against a grid by hand, memory by hand and published recipes."""

from __future__ import annotations

from itertools import product

import pytest

from mlsysim import ServingModel, plan
from mlsysim.advice.plan import LAYOUT, MODES
from mlsysim.errors import InputError, MissingInputError, UnknownNameError

SERVED = {
    "model": "Llama3_3_70B",
    "hardware": "H100",
    "precision": "fp8",
    "request_rate": 10,
    "isl": 1024,
    "osl": 256,
    "ttft_slo": "1 s",
    "tpot_slo": "50 ms",
}
#: What DeepSeek-V3 is asked for.
SPARSE = {
    "model": "DeepSeek_V3",
    "precision": "fp8_deepseek",
    "request_rate": 2,
    "isl": 1024,
    "osl": 512,
    "ttft_slo": "3 s",
    "tpot_slo": "60 ms",
}


@pytest.fixture(scope="module")
def plans():
    return plan(**SERVED, accelerators=8, rental_price=2)


class TestAgainstTheGrid:
    """Every point of a small grid, each solved by itself."""

    AXES = {"tp_size": [1, 2, 4], "max_num_seqs": [64, 256], "max_num_batched_tokens": [1024, 8192]}

    @pytest.mark.parametrize("mode", ["chunked", "colocated"])
    def test_rows_are_the_best_of_their_layouts(self, mode):
        axes = {name: values for name, values in self.AXES.items() if mode == "chunked" or "tokens" not in name}
        best: dict[int, float] = {}
        for values in product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            result = ServingModel(MODES[mode]).solve(**SERVED, **point, engine="vllm")
            if not result.feasible or result["accelerators"] > 8:
                continue
            rank = result["accelerators"] + 10 / result["goodput"].magnitude / 2
            best[point["tp_size"]] = min(rank, best.get(point["tp_size"], rank))
        found = plan(**SERVED, **axes, pp_size=1, modes=mode, accelerators=8, top=len(best) + 1)
        ranks = [each.result["accelerators"] + 10 / each.result["goodput"].magnitude / 2 for each in found]
        assert [each.settings["tp_size"] for each in found] == sorted(best, key=best.__getitem__)
        assert ranks == pytest.approx(sorted(best.values()))
        assert all(each.proven for each in found)


class TestRows:
    def test_five_layouts_each_once_and_in_order(self, plans):
        told = [(each.mode, *(each.settings.get(name) for name in LAYOUT)) for each in plans]
        ranks = [each.result["accelerators"] + 5 / each.result["goodput"].magnitude for each in plans]
        assert len(plans) == len({*told}) == 5
        assert ranks == sorted(ranks)

    def test_targets_are_met_on_the_accelerators_at_hand(self, plans):
        for each in plans:
            assert each.result.feasible
            assert each.result["accelerators"] <= 8
            assert each.result["ttft_p90"].to("ms").magnitude <= 1000
            assert each.result["tpot_p90"].to("ms").magnitude <= 50

    def test_rent(self, plans):
        best = plans[0].result
        assert best["cost_per_hour"].magnitude == pytest.approx(2 * best["accelerators"])

    def test_the_nearest_limit(self, plans):
        name, share = plans[1].binds.split()
        result = plans[1].result
        assert name == "TPOT"
        assert share == f"{result['tpot_p90'].to('ms').magnitude / 50:.0%}"

    def test_text_and_data(self, plans):
        said = plans.to_dict()
        assert [each["mode"] for each in said["layouts"]] == [each.mode for each in plans]
        assert "Proven best of" in plans.text()
        assert "vllm serve meta-llama/Llama-3.3-70B-Instruct" in plans.show(2)
        assert max(map(len, plans.text(80).splitlines())) <= 80
        with pytest.raises(InputError, match="number=6: must be a layout of the table, from 1 to 5"):
            plans.show(6)


class TestMemoryByHand:
    def test_weights_decide_the_fewest_ranks(self):
        """141 GB of bf16 weights are more than the 85 GB of one device, and 203 GB a rank of 405B on 2 are."""
        found = plan(**{**SERVED, "precision": "bf16", "request_rate": 1}, accelerators=8, modes="chunked", top=10)
        assert 2 * 70.6 / 1 > 85.9 > 2 * 70.6 / 4
        assert min(each.settings["tp_size"] for each in found) > 1
        large = plan(**{**SERVED, "model": "Llama3_1_405B", "request_rate": 1}, accelerators=8, modes="chunked", top=10)
        assert 405.9 / 4 > 85.9 > 405.9 / 8
        assert [each.settings["tp_size"] for each in large] == [8]


class TestPublished:
    """Recipes of vLLM and SGLang (docs/how_to/plan_a_deployment.md)."""

    def test_vllm_recipe_of_deepseek_on_eight_h200(self):
        found = plan(**SPARSE, hardware="H200", accelerators=8, engine="vllm", top=20)
        layouts = [
            (s.get("tp_size"), s.get("dp_attention_size"), s.get("ep_size")) for s in (e.settings for e in found)
        ]
        assert (8, 1, 8) in layouts
        assert (1, 8, 8) in layouts
        commands = {command for each in found for command in each.commands["vllm"]}
        assert any("--data-parallel-size 8 --enable-expert-parallel" in each for each in commands)
        assert any("--tensor-parallel-size 8 --enable-expert-parallel" in each for each in commands)
        assert not any("--quantization" in each for each in commands)

    @pytest.mark.long
    def test_sglang_asks_for_two_nodes_of_h100(self):
        few = plan(**SPARSE, hardware="H100", accelerators=8, engine="sglang")
        assert not few.layouts
        assert few.shortfall[0] == "No layout on 8 NVIDIA H100 SXM5 80 GB meets the targets."
        assert few.shortfall[1].startswith("16 meet them")
        enough = plan(**SPARSE, hardware="H100", accelerators=16, engine="sglang", top=30)
        assert 16 in [each.settings["tp_size"] * each.settings["dp_attention_size"] for each in enough]


class TestInfeasible:
    def test_the_target_that_cannot_be_met(self):
        found = plan(**{**SERVED, "tpot_slo": "2 ms"}, accelerators=2, modes="chunked")
        assert not found.layouts
        assert found.shortfall[2].startswith("TTFT can be met alone")
        assert found.shortfall[3].startswith("TPOT cannot be met: a request that meets no other has")
        assert "TPOT cannot be met" in found.text()
        assert found.to_dict()["layouts"] == []


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "error", "said"),
        [
            ({"accelerators": 0}, InputError, "accelerators=0: must be a whole number of at least 1"),
            ({"accelerators": 2.5}, InputError, "accelerators=2.5: must be a whole number"),
            ({"top": True}, InputError, "top=True: must be a whole number"),
            ({"hardware": "H999"}, UnknownNameError, "unknown hardware 'H999'.*H100"),
            ({"model": "Llama3_3_71B"}, UnknownNameError, "unknown model 'Llama3_3_71B'.*Llama3_3_70B"),
            ({"modes": "chunky"}, UnknownNameError, "unknown mode of plan 'chunky'.*chunked"),
            ({"engine": "vlm"}, UnknownNameError, "unknown engine 'vlm'.*vllm"),
            ({"engine": "vllm", "modes": "colocated"}, InputError, "modes='colocated': vllm has none of them"),
            ({"tpot_slow": 3}, UnknownNameError, "unknown argument of plan 'tpot_slow'.*tpot_slo"),
            ({"concurrency": 3}, InputError, "concurrency=3: must be left out"),
            ({"request_rate": 0}, InputError, "request_rate=0: must be above 0"),
            ({"request_rate": [1, 2]}, InputError, "request_rate=.*: has one value in a plan, which chooses tp_size"),
            ({"hardware": ["H100", "H200"]}, InputError, "hardware=.*: must be an accelerator, a node or a fleet"),
            ({"model": 7}, InputError, "model=7: must be an entry of the catalog"),
            ({"num_replicas": 3}, InputError, "num_replicas=3: must be left out"),
            ({"precision": "fp9"}, InputError, "precision='fp9': must be one of"),
        ],
    )
    def test_refused(self, given, error, said):
        with pytest.raises(error, match=said):
            plan(**{**SERVED, **given})

    def test_no_traffic(self):
        with pytest.raises(MissingInputError, match="plan needs request_rate"):
            plan("Llama3_3_70B", "H100", isl=1024, osl=256)
        with pytest.raises(MissingInputError, match="plan needs request_rate"):
            plan("Llama3_3_70B", "H100", traffic="ShareGPT")
