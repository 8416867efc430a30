"""Times of iterations by kind of layer and by number format, and stacks of engines that give them."""

import pytest

from mlsysim import IterationModel, ServingModel, Stacks
from mlsysim.catalog import Stack
from mlsysim.errors import CatalogError, InputError

MODEL = IterationModel()
DECODES = {"hardware": "H200", "tp_size": 8, "decode_requests": 32, "context_tokens": 2000}
LATENT = {"model": "DeepSeek_V3", "precision": "fp8", **DECODES}
TAXES = {
    "DeepSeek_V3": {"layer_tax": 61, "moe_layer_tax": 58, "mla_layer_tax": 61, "index_layer_tax": 0},
    "GLM_5": {"layer_tax": 78, "moe_layer_tax": 75, "mla_layer_tax": 78, "index_layer_tax": 78},
    "Llama3_1_70B": {"layer_tax": 80, "moe_layer_tax": 0, "mla_layer_tax": 0, "index_layer_tax": 0},
    "Kimi_Linear_48B_A3B": {"layer_tax": 27, "moe_layer_tax": 26, "mla_layer_tax": 7, "index_layer_tax": 0},
}


@pytest.mark.parametrize(("model", "layers"), TAXES.items(), ids=TAXES)
def test_every_kind_of_layer_takes_its_time_as_often_as_the_model_has_it(model, layers):
    given = {**DECODES, "model": model, "layer_tax": 0}
    plain = MODEL.solve(**given).canonical("iteration_time")
    for name, number in layers.items():
        taxed = MODEL.solve(**{**given, name: "0.1 ms"}).canonical("iteration_time")
        assert taxed - plain == pytest.approx(number * 1e-4, rel=1e-9, abs=1e-12), name


def test_the_host_is_a_floor_of_iterations_with_prompts_alone():
    times = {"prompt_host_layer_time": "0.4 ms", "prompt_host_mla_time": "1 ms", "prompt_host_moe_time": "0.1 ms"}
    assert MODEL.solve(**LATENT, **times).iteration_time == MODEL.solve(**LATENT).iteration_time
    short = MODEL.solve(**LATENT, **times, prompts=1, seq_len=100)
    assert short.canonical("host_time") == pytest.approx(61 * 1.4e-3 + 58 * 1e-4)
    assert short["iteration_bottleneck"] == "Host"
    long = {"prompts": 4, "seq_len": 16384}
    assert MODEL.solve(**LATENT, **times, **long).iteration_time == MODEL.solve(**LATENT, **long).iteration_time
    both = MODEL.solve(**LATENT, **times, host_layer_time="5 ms", prompts=1, seq_len=100)
    assert both.canonical("host_time") == pytest.approx(61 * 5e-3)


def test_experts_reach_a_share_of_their_own():
    given = {**LATENT, "prompts": 4, "seq_len": 4096}
    assert MODEL.solve(**given)["expert_product_efficiency"] == MODEL.solve(**given)["efficiency"]
    slow = MODEL.solve(**given, expert_efficiency=0.05)
    assert slow["expert_product_efficiency"] == 0.05
    assert slow.canonical("expert_product_time") > 5 * MODEL.solve(**given).canonical("expert_product_time")
    assert slow["dense_product_time"] == MODEL.solve(**given)["dense_product_time"]


def test_experts_that_are_widened_reach_a_share_of_the_rate_at_16_bit():
    given = {"model": "gpt_oss_120B", "hardware": "B200", "decode_requests": 64, "context_tokens": 1000}
    shares = {"expert_efficiency": 0.1, "weight_only_expert_efficiency": 0.5}
    assert MODEL.solve(**given, **shares)["expert_product_efficiency"] == 0.5
    assert MODEL.solve(**given, **shares, compute_dtype="fp8")["expert_product_efficiency"] == pytest.approx(0.25)
    assert MODEL.solve(**given, **shares, precision="bf16")["expert_product_efficiency"] == pytest.approx(0.1)


def test_popular_experts_are_fewer():
    def touched(requests, **given):
        asked = {**LATENT, "decode_requests": requests, "context_tokens": 1}
        return MODEL.solve(**asked, **given).canonical("touched_expert_weights")

    assert touched(64, expert_popularity=1e6) == pytest.approx(touched(64, expert_popularity=0), rel=0.02)
    assert touched(64, expert_popularity=0.8) < touched(64, expert_popularity=3) < touched(64)
    everything = touched(1e6)
    assert touched(64, expert_popularity=2) == pytest.approx(everything * (1 - (1 + 64 * 8 / (256 * 2)) ** -2))


def test_a_stack_gives_shares_by_number_format():
    stack = Stack(name="Mine", efficiency={"fp8": 0.7, "bf16": 0.8}, expert_efficiency=0.1)
    given = {"model": "Llama3_1_70B", **DECODES, "stack": stack}
    assert [MODEL.solve(**given, precision=each)["efficiency"] for each in ("bf16", "fp16", "fp8")] == [0.8, 0.8, 0.7]
    swept = MODEL.sweep(**given | {"precision": ["fp8", "bf16"]})
    one = [MODEL.solve(**given, precision=each).iteration_time.magnitude for each in ("fp8", "bf16")]
    assert swept.iteration_time.values.tolist() == one
    with pytest.raises(CatalogError, match=r"unknown number format 'fp9'.*fp8"):
        Stack(name="Mine", efficiency={"fp9": 0.7})
    with pytest.raises(CatalogError, match="not a pure number"):
        Stack(name="Mine", efficiency={"fp8": "0.7 ms"})


def test_products_of_four_bits_run_where_a_device_has_them():
    given = {"model": "Llama3_1_70B", "decode_requests": 8, "context_tokens": 100, "precision": "nvfp4"}
    assert MODEL.solve(**given, hardware="B200").canonical("peak_flops") == 9e15
    with pytest.raises(InputError, match="has no rate for it"):
        MODEL.solve(**given, hardware="H200")


@pytest.mark.parametrize("stack", ["vLLM_2026_Blackwell", "SGLang_2026_Blackwell", "TensorRT_LLM_1_2_Blackwell"])
def test_a_simulation_has_the_floors_of_the_host_too(stack):
    entry = getattr(Stacks, stack)
    assert entry.prompt_host_layer_time.value > 0
    loop = {"concurrency": 16, "isl": 1000, "osl": 1000, "num_replicas": 1, "isl_cv": 0.06, "osl_cv": 0.06}
    asked = {"model": "Llama3_1_70B", "hardware": "B200", "stack": stack, "precision": "fp8", "tp_size": 8, **loop}
    model = ServingModel("colocated" if "SGLang" in stack else "chunked")
    ours = model.solve(**asked)
    drawn = model.simulate(**asked, requests=1000)
    assert (ours.tpot_mean / drawn.tpot_mean).to("").magnitude == pytest.approx(1, rel=0.05)
