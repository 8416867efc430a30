"""Weights, gradients and optimizer state against the tensors of real training steps, split over ranks.

The number of the step, one scalar per tensor that torch's optimizers keep, is not counted.
"""

import itertools

import pytest

from mlsysim import TrainingMemoryModel
from mlsysim.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

DENSE = ("gpt2", "opt", "opt_untied", "llama", "llama_biases", "llama_tied", "mistral", "qwen2", "qwen3")
SPARSE = (
    "mixtral",
    "qwen3_moe",
    "qwen3_moe_interleaved",
    "deepseek_v3",
    "deepseek_v3_plain_query",
    "llama4",
)
#: Optimizer, format of the weights, formats of the gradients.
RECIPES = (
    ("adamw", "bf16", "as_precision"),
    ("adam", "fp16", "as_precision"),
    ("adamw", "bf16", "fp32"),
    ("adamw", "bf16", "both"),
    ("sgd", "bf16", "as_precision"),
    ("adamw", "fp32", "as_precision"),
    ("sgd", "fp32", "as_precision"),
)
SHARDED_FROM = {"weights": 3, "gradients": 2, "optimizer_state": 1}


def trained_workload(spec):
    """Without the correction of router scores: it is a buffer that no optimizer sees."""
    return spec.workload(router_bias=False) if "router_bias" in spec.shape else spec.workload()


def states(models, name, optimizer, precision, gradients):
    found = models.trained(name, precision, optimizer, gradients)
    return {"weights": found.weights, "gradients": found.gradients, "optimizer_state": found.optimizer}


@pytest.mark.parametrize(("optimizer", "precision", "gradients"), RECIPES)
@pytest.mark.parametrize("name", DENSE + SPARSE)
def test_bytes_after_a_step(models, name, optimizer, precision, gradients):
    said = models.solve(
        trained_workload(models.SMALL[name]), optimizer=optimizer, precision=precision, gradient_dtype=gradients
    )
    for state, kept in states(models, name, optimizer, precision, gradients).items():
        assert models.size(itertools.chain(*kept.values())) == said.canonical(state), state


def layouts(dense):
    """Every split of four heads and two stages or four, with experts over some or all data-parallel ranks."""
    for tp, pp in itertools.product((1, 2, 4), (1, 2, 4)):
        for dp, ep in ((1, 1), (8, 1)) if dense else ((1, 1), (8, 1), (4, 4), (8, 2), (8, 8)):
            yield tp, pp, dp, ep


def of_ends(models, workload, layout, **given):
    """Results for the ranks of both ends, of which one holds the most."""
    return [models.solve(workload, layout, **given, peak_rank=rank) for rank in ("first", "last")]


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
@pytest.mark.parametrize("name", DENSE + SPARSE)
def test_bytes_of_the_fullest_rank(models, name, zero):
    spec = models.SMALL[name]
    kept = states(models, name, "adamw", "bf16", "as_precision")
    for tp, pp, dp, ep in layouts(name in DENSE):
        layout = models.Layout(tp, pp, dp, ep, zero)
        said = of_ends(models, trained_workload(spec), layout, precision="bf16", optimizer="adamw")
        for state, tensors in kept.items():
            most = max(each.canonical(state) for each in said)
            assert models.most_bytes(tensors, spec, layout, SHARDED_FROM[state]) == most, layout


@pytest.mark.parametrize("name", DENSE + SPARSE)
def test_parameters_of_the_fullest_rank(models, name):
    """Over all tensor-parallel ranks; buffers that are stored count as parameters here."""
    spec = models.SMALL[name]
    named = models.tensors(spec.build())
    for tp, pp, dp, ep in layouts(name in DENSE):
        layout = models.Layout(tp, pp, dp, ep)
        most = max(models.most_parameters(named, spec, layout, rank) for rank in range(tp))
        assert most == max(each["parameters_per_rank"] for each in of_ends(models, spec.workload(), layout)), layout


#: Experts cut over fewer ranks than the rest: sizes of tp, pp, dp, ep, and of the ranks of an expert.
FOLDED = ((2, 1, 1, 2, 1), (4, 2, 1, 4, 1), (4, 1, 2, 4, 2), (4, 1, 4, 2, 1), (4, 2, 2, 1, 2), (2, 2, 4, 8, 1))


@pytest.mark.parametrize("name", ["mixtral", "deepseek_v3"])
@pytest.mark.parametrize("sizes", FOLDED)
def test_bytes_of_the_fullest_rank_with_experts_cut_over_fewer(models, name, sizes):
    spec = models.SMALL[name]
    kept = states(models, name, "adamw", "bf16", "as_precision")
    for zero in range(4):
        layout = models.Layout(*sizes[:4], zero, sizes[4])
        said = of_ends(models, trained_workload(spec), layout, precision="bf16", optimizer="adamw")
        for state, tensors in kept.items():
            most = max(each.canonical(state) for each in said)
            assert models.most_bytes(tensors, spec, layout, SHARDED_FROM[state]) == most, layout


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("Llama 3 8B", (8, 4, 8, 1)),
        ("Llama 3 8B", (16, 2, 8, 1)),
        ("Llama 3.1 405B", (8, 1, 16, 1)),
        ("Llama 3.1 405B", (8, 9, 16, 1)),
        ("OPT-13B", (4, 10, 8, 1)),
        ("Mixtral 8x7B", (1, 1, 8, 8)),
        ("Mixtral 8x7B", (4, 2, 8, 4)),
        ("Qwen3 30B-A3B", (2, 4, 32, 32)),
        ("Qwen3 30B-A3B", (4, 12, 64, 16)),
        ("Qwen3 0.6B", (4, 7, 8, 1)),
        ("DeepSeek-V3", (1, 1, 128, 64)),
        ("DeepSeek-V3", (8, 1, 64, 32)),
        ("DeepSeek-V3", (8, 1, 64, 256, 0, 1)),
        ("Llama 4 Maverick", (8, 6, 32, 16)),
    ],
)
def test_parameters_of_the_fullest_rank_of_a_release(models, name, sizes):
    spec = models.PUBLISHED[name]
    layout = models.Layout(*sizes)
    most = models.most_parameters(models.tensors(spec.build()), spec, layout)
    assert most == max(each["parameters_per_rank"] for each in of_ends(models, spec.workload(), layout))


@pytest.mark.parametrize("name", DENSE + SPARSE)
def test_parameters_of_the_largest_layer(models, name):
    """What ZeRO-3 gathers for a layer; an expert on one rank alone is there already."""
    spec = models.SMALL[name]
    named = models.tensors(spec.build())
    folded = () if name in DENSE else FOLDED
    for tp, _, dp, ep, *etp in (*layouts(name in DENSE), *folded):
        layers, layout = {}, models.Layout(tp, 1, dp, ep, 0, *etp)
        alone = {kind for kind, ranks in layout.copies.items() if ranks == 1}
        # Where nothing is shared, everything but the experts counts.
        gathered = {"dense", "experts"} - ({"experts"} if len(alone) == 2 else alone)
        for key, tensor in named.items():
            kind = "experts" if models.part(key) == "experts" else "dense"
            if models.layer(key) is not None and kind in gathered:
                tensor = tensor.chunk(ep)[0] if kind == "experts" else tensor
                layers.setdefault(models.layer(key), []).append(
                    models.split(key, tensor, spec.shape.get("kv_heads", spec.shape["heads"]), layout.cut[kind])
                )
        said = models.solve(spec.workload(), layout)
        assert max(map(models.count, layers.values())) == said["largest_layer_parameters"], layout


def test_experts_over_ranks_are_refused_where_everything_would_be_divided(models):
    """Mixtral over 8 expert-parallel ranks: 5.838e9 were everything split, 7.243e9 are there."""
    spec = models.PUBLISHED["Mixtral 8x7B"]
    named = models.tensors(spec.build())
    layout = models.Layout(dp=8, ep=8)
    most = models.most_parameters(named, spec, layout)
    assert most == models.solve(spec.workload(), layout)["parameters_per_rank"] == 7_242_780_672
    with pytest.raises(InputError, match="ep_size=8: must be 1 in this variant"):
        TrainingMemoryModel(variant="first_order").solve(
            model=spec.workload(), hardware="H100", batch_size=8, dp_size=8, ep_size=8
        )


@pytest.mark.parametrize("rows", [97, 98, 99])
def test_a_vocabulary_that_does_not_divide(models, rows):
    """The first rank holds the most rows; Megatron pads the table further, to a multiple of 128 per rank."""
    spec = models.llama(4, 32, 4, 2, 64, rows)
    for tp, pp in itertools.product((1, 2, 4), (1, 2, 4)):
        layout = models.Layout(tp, pp)
        named = {
            name: torch.nn.functional.pad(tensor, (0, 0, 0, -rows % tp)) if tensor.shape[0] == rows else tensor
            for name, tensor in models.tensors(spec.build()).items()
        }
        most = models.most_parameters(named, spec, layout)
        assert most == models.solve(spec.workload(), layout)["parameters_per_rank"]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("layers", range(2, 10))
def test_stages_that_do_not_divide_are_bounded(models, layers, tied):
    """The fullest stage is taken to hold an embedding or a head; where it holds neither, that is too much."""
    spec = models.llama(layers, 32, 4, 2, 64, 96, tied=tied)
    named = models.tensors(spec.build())
    for pp in range(1, layers + 1):
        layout = models.Layout(pp=pp)
        said = models.solve(spec.workload(), layout)["parameters_per_rank"]
        over = said - models.most_parameters(named, spec, layout)
        assert 0 <= over <= 96 * 32 + 32
        assert over == 0 or layers % pp


@pytest.mark.parametrize("layers", range(2, 13))
def test_interleaved_experts_on_stages_that_do_not_divide_are_bounded(models, layers):
    spec = models.qwen3_moe(layers, 32, 4, 2, 16, 16, 16, 96, 8, 2, interval=2)
    named = models.tensors(spec.build())
    for pp in range(1, layers + 1):
        layout = models.Layout(pp=pp)
        over = models.solve(spec.workload(), layout)["parameters_per_rank"] - models.most_parameters(
            named, spec, layout
        )
        assert over >= 0
        assert over == 0 or layers % pp or layers % 2


@pytest.mark.parametrize("name", DENSE + SPARSE)
def test_shards_that_do_not_divide_are_padded(models, name):
    """The formula gives the mean; the first rank of an uneven cut holds up to one number more of each kind."""
    spec = models.SMALL[name]
    named = dict(spec.build().to(torch.bfloat16).named_parameters())
    for dp in (3, 5, 7):
        layout = models.Layout(dp=dp, zero=3)
        (stage,) = models.held(named, spec, layout)
        first = sum(-(-models.count(stage[kind]) // dp) for kind in stage)
        over = 2 * first - models.solve(trained_workload(spec), layout, precision="bf16").canonical("weights")
        assert 0 <= over < 2 * len(stage)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("DeepSeek-V3", (1, 16, 128, 64)), ("DeepSeek-V3", (8, 16, 256, 64)), ("DeepSeek-V3", (1, 61, 128, 128))],
)
def test_leading_dense_layers_may_be_the_fullest_stage(models, name, sizes):
    """Three dense layers of DeepSeek-V3 hold more than three with one sixty-fourth of the experts."""
    spec = models.PUBLISHED[name]
    layout = models.Layout(*sizes)
    most = models.most_parameters(models.tensors(spec.build()), spec, layout)
    assert most <= models.solve(spec.workload(), layout)["parameters_per_rank"]


@pytest.mark.parametrize("state", ["gradients", "optimizer_state"])
def test_the_correction_of_router_scores_is_not_trained(models, state):
    spec = models.SMALL["deepseek_v3"]
    kept = states(models, "deepseek_v3", "adamw", "bf16", "as_precision")[state]
    said = models.solve(spec.workload(), precision="bf16", optimizer="adamw")
    assert models.size(itertools.chain(*kept.values())) == said.canonical(state)


COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "fc1", "q_b_proj", "kv_b_proj", "lm_head")
ROWS = ("o_proj", "out_proj", "down_proj", "fc2", "embed_tokens")


@pytest.fixture
def mesh():
    """Meshes of ranks that talk to nobody: torch's process group for tests."""
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    from torch.distributed.device_mesh import init_device_mesh

    def of(**sizes):
        world = torch.Size(sizes.values()).numel()
        torch.distributed.init_process_group("fake", rank=0, world_size=world, store=fake.FakeStore())
        return init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))

    yield of
    torch.distributed.destroy_process_group()


def local_bytes(model):
    parameters = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    return sum(parameter.nbytes for parameter in parameters)


def layers_of(model):
    inner = model.model
    return inner.decoder.layers if hasattr(inner, "decoder") else inner.layers


@pytest.mark.parametrize("dp", [2, 4, 8])
@pytest.mark.parametrize("name", ["llama", "llama_biases", "opt_untied", "mistral", "qwen2", "qwen3"])
def test_tensor_parallel_and_fully_sharded_by_torch(models, mesh, name, dp):
    """The plan of torch itself: DTensor over two tensor-parallel ranks, then FSDP2 over the data-parallel ones."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    spec = models.SMALL[name]
    model = spec.build().to(torch.bfloat16)
    ranks = mesh(dp=dp, tp=2)
    styles = {**dict.fromkeys(COLUMNS, ColwiseParallel), **dict.fromkeys(ROWS, RowwiseParallel)}
    plan = {path: styles[leaf]() for path, _ in model.named_modules() if (leaf := path.rpartition(".")[2]) in styles}
    parallelize_module(model, ranks["tp"], plan)
    said = models.solve(spec.workload(), models.Layout(tp=2), precision="bf16")
    assert local_bytes(model) == said.canonical("weights")
    for layer in layers_of(model):
        fully_shard(layer, mesh=ranks["dp"])
    fully_shard(model, mesh=ranks["dp"])
    said = models.solve(spec.workload(), models.Layout(tp=2, dp=dp, zero=3), precision="bf16")
    assert local_bytes(model) == said.canonical("weights")


@pytest.mark.parametrize(("outer", "ep"), [(4, 2), (2, 4), (1, 8)])
@pytest.mark.parametrize("name", ["mixtral", "qwen3_moe", "deepseek_v3", "llama4"])
def test_expert_parallel_and_fully_sharded_by_torch(models, mesh, name, outer, ep):
    """FSDP2 over all eight ranks for what is dense, over those that hold the same experts for experts."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Shard, distribute_tensor

    spec = models.SMALL[name]
    model = spec.build().to(torch.bfloat16)
    ranks = mesh(outer=outer, ep=ep)
    everyone = ranks._flatten("everyone")
    for layer in layers_of(model):
        for path, module in layer.named_modules():
            if path.endswith(".experts"):
                for key, weight in list(module.named_parameters()):
                    split = distribute_tensor(weight.detach(), ranks["ep"], [Shard(0)])
                    module.register_parameter(key, torch.nn.Parameter(split))
                fully_shard(module, mesh=ranks["outer"])
        fully_shard(layer, mesh=everyone)
    fully_shard(model, mesh=everyone)
    said = models.solve(trained_workload(spec), models.Layout(dp=8, ep=ep, zero=3), precision="bf16")
    assert local_bytes(model) == said.canonical("weights")


@pytest.mark.parametrize("name", ["llama", "opt_untied", "qwen3"])
def test_torch_pads_shards_by_rows(models, mesh, name):
    """FSDP2 cuts every tensor by rows, so its first rank holds up to a row of each above the mean."""
    from torch.distributed.fsdp import fully_shard

    spec = models.SMALL[name]
    model = spec.build().to(torch.bfloat16)
    rows = sum(weight[0].nbytes for weight in model.parameters())
    fully_shard(model, mesh=mesh(dp=7))
    mean = models.solve(spec.workload(), models.Layout(dp=7, zero=3), precision="bf16").canonical("weights")
    assert mean < local_bytes(model) < mean + rows
