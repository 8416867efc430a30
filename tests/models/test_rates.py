"""Times of products, collectives and exchanges: measured points, limits, and what grows with what."""

import heapq

import numpy as np
import pytest

from mlsysim import Q_, CollectiveModel, DistributedModel, KernelModel, MoERoutingModel, Stacks, Systems
from mlsysim.catalog import Fabric, Fleet, Stack
from mlsysim.errors import InputError

RINGS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
EXCHANGES = ("dispatch", "combine", "low_latency_dispatch", "low_latency_combine")
TOKENS = {"tokens_per_rank": 4096, "hidden_dim": 7168, "active_experts_per_token": 8, "node_limit": 4}
AT_ONCE = {
    "collective_latency": 0, "node_latency": 0, "fabric_latency": 0, "switch_latency": 0, "all_to_all_start": 0,
    "all_to_all_step": 0, "exchange_latency": 0,
}  # fmt: skip


def product(m, n, k, hardware="H100", variant="waves", **given):
    shape = {"product_rows": m, "product_columns": n, "product_inner": k}
    return KernelModel(variant).solve(hardware=hardware, **shape, **{"stack": "cuBLAS", **given})


@pytest.mark.parametrize("kind", ["dispatch", "low_latency_combine"])
def test_an_exchange_of_no_tokens_is_refused(kind):
    with pytest.raises(InputError, match="tokens_per_rank=0: must be above 0"):
        CollectiveModel(kind).solve(fleet="SuperPOD_H100", collective_ranks=16, tokens_per_rank=0, hidden_dim=7168,
                                    active_experts_per_token=8)  # fmt: skip


def collective(kind, **given):
    """Seconds of a kind of collective, by what of these arguments it takes."""
    model = CollectiveModel(kind)
    asked = {"node": "DGX_H100", "collective_ranks": 8, "message_bytes": "256 MiB", **TOKENS, **given}
    return model.solve(**{name: value for name, value in asked.items() if name in model.arguments})


def seconds(kind, **given):
    return collective(kind, **given).canonical("collective_time")


@pytest.mark.parametrize(
    ("shape", "hardware", "precision", "law", "measured", "off"),
    [
        ((4096, 8192, 8192), "H100", "bf16", 0.7331, 0.7236, 0.02),
        ((8192, 8192, 8192), "A100", "bf16", 4.092, 4.189, 0.03),
        ((1, 8192, 8192), "H100", "bf16", 0.0495, 0.0479, 0.04),
        ((1024, 16384, 4096), "B200", "fp8", 0.0774, 0.0679, 0.15),
    ],
)
def test_products(shape, hardware, precision, law, measured, off):
    found = product(*shape, hardware, precision=precision).kernel_time.to("ms").magnitude
    assert found == pytest.approx(law, rel=1e-3)
    assert found == pytest.approx(measured, rel=off)


@pytest.mark.parametrize(
    ("hardware", "precision", "ceiling"),
    [
        ("A100", "bf16", 0.87),
        ("H100", "bf16", 0.78),
        ("H100", "fp8", 0.64),
        ("B200", "bf16", 0.69),
        ("B200", "fp8", 0.53),
        ("B200", "nvfp4", 0.53),
    ],
)
def test_the_ceiling_follows_from_power(hardware, precision, ceiling):
    found = product(64, 64, 64, hardware, precision=precision)
    assert found.ceiling_efficiency == pytest.approx(ceiling, abs=0.006)


def scheduled(groups, columns, multiprocessors):
    """Outputs that multiprocessors compute until the last one has ended, each taking the next tile when it is free."""
    free = [0] * multiprocessors
    for rows in groups:
        for _ in range(0, rows, 64):
            for _ in range(0, columns, 64):
                heapq.heappush(free, heapq.heappop(free) + 1)
    return max(free) * multiprocessors * 64 * 64


@pytest.mark.parametrize(("hardware", "multiprocessors"), [("H100", 132), ("A100", 108)])
@pytest.mark.parametrize(("b", "m", "n"), [(1, 100, 8192), (16, 100, 300), (512, 1, 128), (7, 640, 1000)])
def test_tiles_of_a_batch_fill_waves_together(b, m, n, hardware, multiprocessors):
    found = product(b * m, n, 128, hardware, product_groups=b)
    assert found.computed_outputs == scheduled([m] * b, n, multiprocessors)
    alone = product(m, n, 128, hardware)
    assert b * alone.computed_outputs >= found.computed_outputs
    for name in ("kernel_bytes", "kernel_flops"):
        assert found.canonical(name) == pytest.approx(b * alone.canonical(name), rel=1e-15)


@pytest.mark.parametrize("mean", [16, 64, 100, 200])
@pytest.mark.parametrize("imbalance", [1.1, 1.5, 2, 4])
def test_rows_of_experts_differ(mean, imbalance):
    busy = round(128 * min(1, 2 / imbalance))
    middles = (np.arange(busy) + 0.5) / busy
    rows = np.round(mean * (max(0, 2 - imbalance) + min(imbalance, 2 * imbalance - 2) * middles)).astype(int)
    found = product(int(rows.sum()), 1536, 2048, product_groups=128, group_imbalance=imbalance)
    assert found.groups_with_rows == busy
    assert found.computed_outputs == pytest.approx(scheduled(rows, 1536, 132), rel=0.05)


def test_random_routing_is_an_imbalance():
    """A router that takes experts at random spreads rows as evenly as sqrt(3 / mean) around the mean would."""
    for mean in (40, 64, 130):
        rows = np.random.default_rng(0).poisson(mean, 256)
        total = int(rows.sum())
        found = product(total, 2048, 768, product_groups=256, group_imbalance=1 + (3 * 256 / total) ** 0.5)
        assert found.row_tiles == pytest.approx(np.ceil(rows / 64).sum(), rel=0.06)


@pytest.mark.parametrize("variant", ["waves", "smooth", "roofline"])
def test_one_group_is_a_product_and_more_take_longer(variant):
    asked = {"m": 4096, "n": 2048, "k": 768, "variant": variant}
    times = [product(**asked, product_groups=groups).canonical("kernel_time") for groups in (1, 8, 64, 256)]
    assert times[0] == product(**asked).canonical("kernel_time")
    assert times == sorted(times)
    assert times[3] > 1.5 * times[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"product_groups": 0}, "product_groups=0: must be "),
        ({"product_groups": 2.5}, "product_groups=2.5: must be "),
        ({"product_groups": 8, "group_imbalance": 0.9}, "group_imbalance=0.9: must be "),
        ({"product_groups": 8, "group_imbalance": 9}, "group_imbalance=9: must be at most product_groups=8"),
        ({"group_imbalance": 2}, "group_imbalance=2: must be at most product_groups=1"),
        ({"product_groups": 65}, "product_groups=65: must be at most product_rows=64 where group_imbalance=1"),
    ],
)
def test_groups_that_are_none_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        product(64, 64, 64, **given)


def test_a_ceiling_of_ones_own():
    found = product(4096, 8192, 8192, flop_energy=0, efficiency=0.6)
    assert found.ceiling_efficiency == 0.6
    assert found.ridge_point.magnitude == pytest.approx(989e12 * 0.6 / (3.35e12 * 0.91))


def test_outputs_are_computed_in_whole_tiles_and_waves():
    assert product(64, 64 * 132, 4096).tile_efficiency == 1
    assert product(64, 64 * 133, 4096).tile_efficiency == pytest.approx(133 / 264)
    assert product(1, 64 * 132, 4096).tile_efficiency == pytest.approx(1 / 64)
    assert product(64, 64 * 133, 4096, variant="smooth").tile_efficiency == 1


def test_a_product_is_bound_by_what_takes_longest():
    assert product(1, 64, 64).kernel_bottleneck == "Launch"
    assert product(1, 8192, 8192).kernel_bottleneck == "Memory bandwidth"
    assert product(8192, 8192, 8192).kernel_bottleneck == "Arithmetic"


def test_activations_below_16_bit_are_quantised_unless_that_is_fused():
    fused = product(1024, 4096, 4096, precision="fp8", dynamic_quantization=False)
    dynamic = product(1024, 4096, 4096, precision="fp8")
    between = dynamic.canonical("kernel_time") - fused.canonical("kernel_time")
    assert between == pytest.approx(11e-6 + 3 * 1024 * 4096 / (0.91 * 3.35e12), rel=1e-9)
    wide = [product(1024, 4096, 4096, dynamic_quantization=flag).canonical("kernel_time") for flag in (True, False)]
    assert wide[0] == wide[1]


def test_an_ideal_product_takes_the_longer_of_its_times_at_the_peak():
    found = product(2**14, 2**14, 2**14, stack="Ideal", multiprocessors=1)
    assert found.kernel_rate.to("TFLOP/s").magnitude == pytest.approx(989, rel=2e-3)
    assert product(2**14, 2**14, 2**14, variant="roofline", stack="Ideal").kernel_rate.magnitude == pytest.approx(
        989, rel=1e-9
    )


def test_a_device_without_multiprocessors_says_what_is_missing():
    with pytest.raises(InputError, match="multiprocessors"):
        product(1, 64, 64, "Gaudi3")
    assert product(64, 64, 64, "Gaudi3", multiprocessors=24)
    assert product(64, 64, 64, "Gaudi3", variant="roofline")


@pytest.mark.parametrize(
    ("kind", "node", "given", "law", "measured", "off"),
    [
        ("all_reduce", "DGX_H100", {"message_bytes": "256 MiB"}, 1.100, 1.088, 0.02),
        ("all_reduce", "DGX_H100", {"message_bytes": "512 MiB"}, 2.118, 2.112, 0.01),
        ("all_reduce", "DGX_H100", {"message_bytes": "256 MiB", "switch_reduces": 0}, 1.378, None, None),
        ("all_reduce", "DGX_H100", {"message_bytes": "512 MiB", "switch_reduces": 0}, 2.678, None, None),
        ("all_gather", "DGX_H100", {"message_bytes": "512 MiB", "collective_ranks": 2}, 1.140, 1.038, 0.10),
        ("all_reduce", "DGX_B200", {"message_bytes": "512 MiB"}, 1.283, 1.375, 0.07),
    ],
)
def test_collectives(kind, node, given, law, measured, off):
    found = 1e3 * seconds(kind, node=node, stack=node.replace("DGX", "NCCL"), **given)
    assert found == pytest.approx(law, rel=1e-3)
    assert measured is None or found == pytest.approx(measured, rel=off)


@pytest.mark.parametrize("kind", [*RINGS, *EXCHANGES])
class TestEveryKind:
    def test_a_rank_alone_sends_nothing(self, kind):
        assert seconds(kind, collective_ranks=1) == 0

    def test_infinite_bandwidth_leaves_latencies(self, kind):
        fast = {"node_bandwidth": "1e15 GB/s", "fabric_bandwidth": "1e15 GB/s"}
        assert 5e-6 < seconds(kind, collective_ranks=64, **fast) < 1e-3
        assert seconds(kind, collective_ranks=64, **fast, **AT_ONCE) < 1e-9

    @pytest.mark.parametrize("ranks", [8, 64])
    def test_more_bandwidth_never_takes_longer(self, kind, ranks):
        slow = {"node_bandwidth": "100 GB/s", "fabric_bandwidth": "10 GB/s"}
        times = [seconds(kind, collective_ranks=ranks, **dict.fromkeys(slow, f"{x} GB/s")) for x in (5, 50, 500)]
        assert times[0] > times[1] > times[2]

    def test_more_bytes_take_longer(self, kind):
        more = {"message_bytes": "300 MiB", "tokens_per_rank": 5000}
        assert seconds(kind, **more) > seconds(kind)

    def test_groups_that_straddle_nodes_are_refused(self, kind):
        with pytest.raises(InputError, match="multiple of it"):
            seconds(kind, collective_ranks=12)


@pytest.mark.parametrize("kind", RINGS)
def test_nothing_to_send_takes_no_time(kind):
    assert seconds(kind, message_bytes=0) == 0


@pytest.mark.parametrize("kind", RINGS)
def test_a_pair_on_a_direct_mesh_has_one_link(kind):
    pair = {"collective_ranks": 2, **AT_ONCE}
    mesh = seconds(kind, node="HGX_MI300X", **pair)
    assert mesh == pytest.approx(seconds(kind, node="HGX_MI300X", direct_mesh=0, node_bandwidth="64 GB/s", **pair))
    assert seconds(kind, node="HGX_MI300X") == seconds(kind, node="HGX_MI300X", direct_mesh=0)


@pytest.mark.parametrize(
    ("hardware", "links", "joined"),
    [("MI300X", 7, 8), ("MI325X", 7, 8), ("MI355X", 7, 8), ("Gaudi2", 7, 8), ("Gaudi3", 7, 8), ("MI300A_128GB", 3, 4),
     ("MI210", 3, 4)],
)  # fmt: skip
def test_what_no_switch_joins_has_a_link_for_each_neighbour(hardware, links, joined):
    pair, whole = (
        collective("all_reduce", node=None, hardware=hardware, accelerators_per_node=joined, collective_ranks=ranks)
        for ranks in (2, joined)
    )
    assert whole.collective_link_bandwidth / pair.collective_link_bandwidth == pytest.approx(links)


@pytest.mark.parametrize(
    ("hardware", "ranks", "links"),
    [("TPU_v5p", 2, 1), ("TPU_v5p", 4, 2), ("TPU_v5p", 8, 3), ("TPU_v5p", 32, 3), ("TPU_v5p", 64, 6),
     ("TPU_v6e", 2, 1), ("TPU_v6e", 16, 2), ("TPU_v6e", 64, 4), ("Trainium2", 4, 2), ("H100", 2, 1)],
)  # fmt: skip
@pytest.mark.parametrize("kind", [*RINGS, "dispatch"])
def test_a_part_of_a_torus_has_a_link_for_each_axis(kind, hardware, ranks, links):
    torus = {"TPU_v5p": 6, "TPU_v6e": 4, "Trainium2": 4, "H100": 1}[hardware]
    found = [
        collective(kind, node=None, hardware=hardware, accelerators_per_node=64, collective_ranks=ranks, **each)
        for each in ({}, {"torus_axes": 0})
    ]
    part, whole = (each.collective_link_bandwidth for each in found)
    assert part / whole == pytest.approx(links / torus)


def test_a_step_pays_the_links_that_there_are():
    step = {
        "model": "Llama3_8B",
        "precision": "bf16",
        "hardware": "TPU_v5p",
        "accelerators_per_node": 64,
        "fleet_size": 64,
        "batch_size": 64,
    }
    found = [DistributedModel().solve(**step, tp_size=4, **each) for each in ({}, {"torus_axes": 0})]
    assert found[1].tp_link_bandwidth / found[0].tp_link_bandwidth == pytest.approx(3)
    # Those that share weights reach through all of it.
    assert found[0].dp_link_bandwidth == found[1].dp_link_bandwidth
    assert found[0].step_time > found[1].step_time


def test_slices_cost_where_devices_are_tpus():
    """Every stack calibrated on TPUs has a cost of slices, and no other one."""
    stacks = {name: each for name in Stacks if (each := getattr(Stacks, name)).slice_cost and each.slice_cost.value}
    assert stacks.keys() == {name for name in Stacks if "TPU" in name}
    assert all(each.name.startswith("Google TPU") for stack in stacks.values() for each in stack.devices)
    step = {"model": "Llama3_8B", "precision": "bf16", "hardware": "TPU_v5e", "accelerators_per_node": 256,
            "batch_size": 8192, "fabric_bandwidth": "25 GB/s", "fabric_latency": "10 us"}  # fmt: skip
    slices = DistributedModel().solve(**step, stack="MaxText_TPU_v5e", fleet_size=8192)
    waiting = slices.canonical("straggler_time") / slices.canonical("step_time")
    assert waiting == pytest.approx(1 - 1 / (1 + 5 * Stacks.MaxText_TPU_v5e.slice_cost.value))
    assert not DistributedModel().solve(**step, stack="MaxText_TPU_v5e", fleet_size=256).straggler_time
    assert not DistributedModel().solve(**step, fleet_size=8192).straggler_time


@pytest.mark.parametrize("axes", [-1, 1.5])
def test_axes_of_a_torus_are_a_count(axes):
    with pytest.raises(InputError, match=f"torus_axes={axes}"):
        seconds("all_reduce", torus_axes=axes)


@pytest.mark.parametrize("kind", [*RINGS, *EXCHANGES])
def test_a_tapered_level_slows_only_groups_that_cross_it(kind):
    tapered = {"oversubscription": 16, "accelerators_per_pod": 32}
    full = {"oversubscription": 1}
    assert seconds(kind, **tapered) == seconds(kind, **full)
    assert seconds(kind, collective_ranks=32, **tapered) == seconds(kind, collective_ranks=32, **full)
    crossing = [seconds(kind, collective_ranks=64, **given) for given in (tapered, full)]
    assert crossing[0] > crossing[1]


def test_one_rank_of_each_node_drives_one_port():
    all_ports = seconds("all_gather", collective_ranks=64)
    one_port = seconds("all_gather", collective_ranks=8, rank_stride=8)
    assert one_port > 5 * all_ports


def test_a_tree_beats_a_ring_over_many_nodes_with_few_bytes():
    ring = 2 * seconds("all_gather", collective_ranks=1024, message_bytes="64 KiB")
    assert seconds("all_reduce", collective_ranks=1024, message_bytes="64 KiB") < ring / 5


TCP = {"fabric_bandwidth": "25 GB/s", "fabric_latency": "60 us", "collective_ranks": 16, "stack": "NCCL_H100"}
PROTOCOLS = {"low_latency_bandwidth": "20.3 GB/s", "bulk_start": "880 us"}


@pytest.mark.parametrize(("size", "ms"), [("8 B", 0.1232), ("16 MiB", 0.9776), ("64 MiB", 1.2616), ("8 GiB", 47.535)])
def test_short_messages_have_a_protocol_of_their_own(size, ms):
    found = seconds("all_reduce", message_bytes=size, **TCP, **PROTOCOLS)
    assert found == pytest.approx(ms / 1e3, rel=0.08)
    assert found == seconds("all_reduce", message_bytes=size, fleet="A3_Mega_16", node=None, **{
        name: TCP[name] for name in ("collective_ranks", "stack")})  # fmt: skip
    # A node alone, and a fabric that says nothing of protocols.
    alone = [
        seconds("all_reduce", message_bytes=size, **TCP | {"collective_ranks": 8}, **each) for each in (PROTOCOLS, {})
    ]
    assert alone[0] == alone[1]
    given = {"low_latency_bandwidth": 0, "bulk_start": "880 us"}
    assert seconds("all_reduce", message_bytes=size, **TCP, **given) == seconds("all_reduce", message_bytes=size, **TCP)


def test_a_step_reduces_by_both_protocols():
    step = {"model": "Llama3_8B", "fleet": "A3_Mega_16", "tp_size": 8, "batch_size": 16, "zero_stage": 0}
    found = DistributedModel().solve(**step)
    usual = DistributedModel().solve(**step, low_latency_bandwidth=0)
    assert found.canonical("dp_all_reduce_time") < usual.canonical("dp_all_reduce_time")
    assert found.canonical("tp_all_reduce_time") == usual.canonical("tp_all_reduce_time")


def test_a_tree_of_two_nodes_is_bound_by_their_links_too():
    found = collective("all_reduce", fleet="SuperPOD_H100", node=None, collective_ranks=16, message_bytes="8 GiB",
                       stack="NCCL_H100")  # fmt: skip
    # 330 and 369 GB/s are published without reductions in the switches (NVIDIA/nccl#1221, nccl-tests#309).
    assert 330 <= found.bus_bandwidth.to("GB/s").magnitude <= 369


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_below_zero_is_refused(name):
    with pytest.raises(InputError, match=f"{name}=-1.*: must be a finite number >= 0"):
        seconds("all_reduce", **TCP, **PROTOCOLS | {name: -1})


def test_a_token_crosses_the_fabric_once_per_node():
    found = collective("dispatch", collective_ranks=64)
    assert found.nodes_per_token == pytest.approx(4 * (1 - 0.75**8))
    free = collective("dispatch", collective_ranks=64, node_limit=0)
    assert free.nodes_per_token == pytest.approx(8 * (1 - (7 / 8) ** 8))
    assert free.canonical("fabric_bytes") > found.canonical("fabric_bytes")
    every = collective("low_latency_dispatch", collective_ranks=64)
    assert every.canonical("fabric_bytes") == pytest.approx(4096 * 8 * 2 * 7168 * 7 / 8)


def test_a_dispatch_at_8_bit_carries_its_scales():
    assert collective("dispatch", dispatch_dtype="fp8_block").copy_bytes.magnitude == 7168 + 4 * 7168 / 128
    assert collective("dispatch", precision="fp8_deepseek").copy_bytes.magnitude == 7392
    assert collective("combine", precision="fp8_deepseek").copy_bytes.magnitude == 2 * 7168
    assert collective("low_latency_combine", combine_dtype="fp8").copy_bytes.magnitude == 7168
    # Transformer Engine sends what it computes at 8 bit as 16.
    assert collective("dispatch", precision="fp8").copy_bytes.magnitude == 2 * 7168


def test_a_stack_of_ones_own_gives_latencies():
    stack = Stack(name="mine", collective_latency="50 us", node_latency="10 us")
    assert seconds("all_gather", stack=stack) > seconds("all_gather") + 100e-6


TRAINING = {
    "model": "Llama3_70B", "batch_size": 1024, "seq_len": 4096, "precision": "bf16", "tp_size": 8, "pp_size": 4,
    "gradient_accumulation_steps": 32, "activation_checkpointing": "full",
}  # fmt: skip


def fleet(taper, pod):
    fabric = Fabric(
        name="mine", bandwidth="400 Gbit/s", latency="10 us", oversubscription=taper, accelerators_per_pod=pod
    )
    return Fleet(name="mine", node=Systems.Nodes.DGX_H100, count=128, fabric=fabric)


def test_tensor_parallel_ranks_of_a_node_never_see_the_fabric():
    near, far = (DistributedModel().solve(**TRAINING, fleet=fleet(taper, 0)) for taper in (1, 16))
    assert near.canonical("tp_time") == far.canonical("tp_time")
    assert near.canonical("dp_traffic_time") < far.canonical("dp_traffic_time")


def test_a_step_in_one_pod_does_not_see_the_taper_above_it():
    inside, without = (
        DistributedModel().solve(**TRAINING, fleet=fleet(taper, pod)) for taper, pod in ((16, 1024), (1, 0))
    )
    assert inside.canonical("step_time") == without.canonical("step_time")


def test_sums_of_a_training_step_are_the_all_reduce_of_the_collective_model():
    step = DistributedModel().solve(**TRAINING, fleet=fleet(1, 0), sequence_parallel=False)
    bytes_ = step.canonical("tp_message_bytes") / 1e6
    alone = collective("all_reduce", fleet=fleet(1, 0), message_bytes=bytes_)
    assert step.canonical("tp_exchange_time") == pytest.approx(alone.canonical("collective_time"), rel=1e-12)
    split = DistributedModel().solve(**TRAINING, fleet=fleet(1, 0), sequence_parallel=True)
    passed = collective("all_gather", fleet=fleet(1, 0), message_bytes=bytes_)
    assert split.canonical("tp_exchange_time") == pytest.approx(2 * passed.canonical("collective_time"), rel=1e-12)


@pytest.mark.parametrize("ranks", [4, 64])
@pytest.mark.parametrize("way", ["dispatch", "combine"])
def test_experts_exchange_alike_in_every_model(way, ranks):
    """In a training step, in routing, and alone; each way in a format of its own."""
    given = {"fleet": fleet(4, 32), "dispatch_dtype": "fp8_block", "node_limit": 4}
    layout = {"model": "DeepSeek_V3", "batch_size": 1024, "seq_len": 4096, "ep_size": ranks}
    step = DistributedModel().solve(**given, **layout, gradient_accumulation_steps=8, fleet_size=64)
    tokens = step.canonical("tokens_per_rank")
    routed = MoERoutingModel("per_layer").solve(**given, **{**layout, "batch_size": ranks, "seq_len": tokens})
    alone = collective(
        way, **given, collective_ranks=ranks, tokens_per_rank=tokens, hidden_dim=7168, active_experts_per_token=8,
        stack="Generic", node=None,
    )  # fmt: skip
    wanted = pytest.approx(alone.canonical("collective_time"), rel=1e-12)
    assert step.canonical(f"{way}_time") == routed.canonical(f"{way}_time") == wanted
    assert step.canonical(f"{way}_fabric_bytes") == pytest.approx(alone.canonical("fabric_bytes"), rel=1e-12)
    assert (step.dispatch_element_bytes, step.combine_element_bytes) == (Q_(1.03125, "byte"), Q_(2, "byte"))


def test_latencies_of_a_stack_are_never_left_out():
    found = DistributedModel().solve(**TRAINING, fleet=fleet(1, 0))
    assert all(found.canonical(name) > 0 for name in ("collective_latency", "node_latency", "exchange_latency"))


def test_searches_and_sweeps():
    best = CollectiveModel("all_reduce").search(
        minimize="collective_time", node=["DGX_A100", "DGX_H100", "DGX_B200"], collective_ranks=[2, 4, 8],
        message_bytes=[1, 64],
    )  # fmt: skip
    assert best.best.canonical("collective_time") > 0
    assert best.best.inputs["collective_ranks"] == 2
    tall = KernelModel().search(
        maximize="kernel_rate", hardware=["A100", "H100", "B200"], product_rows=[64, 100, 4096], product_columns=8192,
        product_inner=8192,
    )  # fmt: skip
    assert tall.best
    swept = KernelModel("smooth").sweep(
        hardware="H100", product_rows=[1, 100, 10000], product_columns=8192, product_inner=8192, outputs="kernel_time"
    )
    assert list(swept.kernel_time.values) == sorted(swept.kernel_time.values)
