"""What torch's optimizers keep after a step, with and without 32-bit copies, against the states of each optimizer.

A fused tensor (queries, keys and values; a gate beside its input; all experts) is taken apart first: each matrix has
rows and columns of its own.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

NAMES = ("gpt2", "opt_untied", "llama_biases", "llama_tied", "qwen3", "mixtral", "qwen3_moe_interleaved", "deepseek_v3",
         "deepseek_v3_plain_query", "llama4")  # fmt: skip
FUSED = {"c_attn": 3, "gate_up_proj": 2}
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def apart(models, name, tensor):
    """The matrices and vectors of a tensor, each for itself."""
    blocks = next((count for key, count in FUSED.items() if key in name), 1)
    flipped = name.endswith(("c_attn.weight", "c_attn.bias")) or (blocks > 1 and "feed_forward.experts" in name)
    parts = tensor.chunk(blocks, -1 if flipped else -2 if tensor.dim() > 1 else 0)
    return [matrix for part in parts for matrix in (part.unbind() if models.part(name) == "experts" else [part])]


def stepped(models, name, optimizer, dtype, kept):
    """Bytes of all that optimizers keep for a model after a step on its tensors, or on 32-bit copies of them."""
    inside, others = [], []
    for key, tensor in models.SMALL[name].build("cpu").to(DTYPES[dtype]).named_parameters():
        for part in apart(models, key, tensor.detach()):
            trained = torch.nn.Parameter((part.float() if kept == "copies" else part).clone())
            trained.grad = torch.ones_like(trained)
            hidden = trained.dim() == 2 and models.part(key) not in ("embedding", "head")
            (inside if hidden else others).append(trained)
    groups = {
        "adam": [torch.optim.Adam(inside + others)],
        "adamw": [torch.optim.AdamW(inside + others)],
        "sgd": [torch.optim.SGD(inside + others)],
        "adafactor": [torch.optim.Adafactor(inside + others)],
        "muon": [torch.optim.Muon(inside), torch.optim.AdamW(others)],
    }
    copies = sum(trained.nbytes for trained in inside + others) if kept == "copies" else 0
    for each in groups[optimizer]:
        each.step()
        copies += sum(
            value.nbytes for state in each.state.values() for key, value in state.items()
            if key != "step" and isinstance(value, torch.Tensor)
        )  # fmt: skip
    return copies


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "adafactor", "muon"])
@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_torch_keeps(models, name, optimizer):
    spec = models.SMALL[name]
    shape = spec.workload(router_bias=False) if "router_bias" in spec.shape else spec.workload()
    for dtype, kept in (("bf16", "copies"), ("bf16", "alone"), ("fp32", "alone")):
        said = models.solve(shape, optimizer=optimizer, precision=dtype, master_weights=kept == "copies")
        assert said.canonical("optimizer_state") == stepped(models, name, optimizer, dtype, kept), (dtype, kept)


class Adapter(torch.nn.Module):
    """A frozen product with a matrix of low rank beside it."""

    def __init__(self, inner, rank):
        super().__init__()
        self.inner = inner
        self.down = torch.nn.Linear(inner.in_features, rank, bias=False, dtype=inner.weight.dtype)
        self.up = torch.nn.Linear(rank, inner.out_features, bias=False, dtype=inner.weight.dtype)

    def forward(self, x):
        return self.inner(x) + self.up(self.down(x))


TARGETS = {
    "query_value": ("q_proj", "v_proj"),
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj"),
    "all_linear": ("gate_proj", "up_proj", "down_proj"),
}
TARGETS["all_linear"] += TARGETS["attention"]


def adapted(model, rank, targets):
    """The model with everything frozen but adapters of some of its products."""
    model.requires_grad_(False)
    for path, module in list(model.named_modules()):
        owner, _, leaf = path.rpartition(".")
        if isinstance(module, torch.nn.Linear) and leaf in TARGETS[targets]:
            setattr(model.get_submodule(owner), leaf, Adapter(module, rank))
    return model


CASES = [
    *((name, targets) for name in ("llama", "llama_biases", "qwen3") for targets in TARGETS),
    ("deepseek_v3", "attention"),
    ("deepseek_v3_plain_query", "attention"),
]


@pytest.mark.parametrize("optimizer", ["adam", "adafactor", "muon"])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize(("name", "targets"), CASES)
def test_adapters(models, name, targets, rank, optimizer):
    """Parameters, gradients and states after a step of a model with adapters."""
    spec = models.SMALL[name]
    model = adapted(spec.build("cpu").to(torch.bfloat16), rank, targets).train()
    model(input_ids=torch.randint(2, 90, (1, 8)), use_cache=False).logits.float().sum().backward()
    trained = [weight for weight in model.parameters() if weight.grad is not None]
    assert trained == [weight for weight in model.parameters() if weight.requires_grad]
    kinds = {"adam": torch.optim.Adam, "adafactor": torch.optim.Adafactor, "muon": torch.optim.Muon}
    step = kinds[optimizer](trained)
    step.step()
    kept = [value for state in step.state.values() for key, value in state.items() if key != "step"]
    said = models.solve(
        spec.workload(), precision="bf16", finetuning="lora", lora_rank=rank, lora_target_modules=targets,
        optimizer=optimizer, master_weights=False,
    )  # fmt: skip
    assert said["trained_parameters_per_rank"] == models.count(trained)
    assert said.canonical("gradients") == models.size(weight.grad for weight in trained)
    assert said.canonical("optimizer_state") == models.size(kept)
    extra = said.canonical("weights") - models.solve(spec.workload(), precision="bf16").canonical("weights")
    assert extra == models.size(trained)


@pytest.mark.parametrize("targets", [None, "query_value", "attention", "all_linear"])
@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_arithmetic_of_a_step(models, name, targets):
    """Forward and backward products as PyTorch counts them, with every weight trained and with adapters alone."""
    from torch.utils.flop_counter import FlopCounterMode

    from mlsysim import DistributedModel

    spec = models.SMALL[name]
    model = spec.build("cpu")
    model.set_attn_implementation("eager")
    more = {}
    if targets:
        model = adapted(model, 3, targets)
        model.enable_input_require_grads()
        more = {"finetuning": "lora", "lora_rank": 3, "lora_target_modules": targets}
    with FlopCounterMode(display=False) as counter:
        model(input_ids=torch.randint(2, 90, (1, 8)), use_cache=False).logits.sum().backward()
    said = DistributedModel().solve(
        spec.workload(), hardware="H100", fleet_size=1, batch_size=1, seq_len=8, attention_mask="full",
        precision="bf16", fabric_bandwidth="50 GB/s", fabric_latency=0, **more,
    )  # fmt: skip
    norms = said.canonical("attention_vectors_per_rank") * 4
    vectors = 2 * 8 * norms * (2 if targets else 3)
    assert said.canonical("hardware_flops") - vectors == pytest.approx(counter.get_total_flops(), rel=1e-12)
