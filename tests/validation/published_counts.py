"""Parameter counts by formula against what publishers print and what others counted."""

from validation.cases import CASES
from validation.checks import Check, Group

from mlsysim import Models, ParameterCountModel

#: Printed to so few digits that the rounding alone is larger than 1%.
COARSE = {
    "Llama2_7B": 0.04, "Llama2_70B": 0.016, "GPT2_XL": 0.04, "OPT_13B": 0.012, "Llama4_Scout": 0.012,
    "Qwen3_1_7B": 0.013,
    "Kimi_K2": 0.014, "Gemma2_9B": 0.027, "Gemma3_4B": 0.03, "Gemma3_12B": 0.02, "Ministral_3_8B": 0.011,
}  # fmt: skip
#: Active counts as published leave out the embedding, or are printed to two digits.
ACTIVE = {
    "Qwen3_30B_A3B": 0.017, "DeepSeek_V3": 0.016, "Llama4_Scout": 0.012, "Llama4_Maverick": 0.012,
    "Kimi_K2": 0.03,
}  # fmt: skip

#: The embedding is a large part of the little that these have at work, and is not in what is published.
WITHOUT_EMBEDDING = {"gpt_oss_20B", "gpt_oss_120B"}


def published() -> list[Check]:
    """Totals, and active parameters of mixtures of experts."""
    found = []
    for name in Models.Language:
        entry = Models.Language[name]
        if entry.vocab_size is None:
            continue
        count = ParameterCountModel().solve(entry)
        total = count.canonical("parameters")
        if entry.parameters is not None:
            found.append(Check(entry.name, entry.parameters.value / 1e9, total / 1e9, COARSE.get(name, 0.01), "B"))
        if entry.value_of("experts", "").value > 1 and entry.active_parameters is not None:
            active, printed = count.canonical("active_parameters"), entry.active_parameters.value
            active -= entry.vocab_size.value * entry.hidden_dim.value * (name in WITHOUT_EMBEDDING)
            what = f"{entry.name}, active"
            found.append(Check(what, printed / 1e9, active / 1e9, ACTIVE.get(name, 0.01), "B"))
    return found


def counted() -> list[Check]:
    """The exact totals others counted over the tensors of released weights."""
    found = []
    for name in Models.Language:
        entry = Models.Language[name]
        if entry.counted_parameters is not None:
            ours = ParameterCountModel().solve(entry).canonical("parameters")
            found.append(Check(entry.name, entry.counted_parameters.value, ours, 0))
    return found


def deepspeed_moe() -> list[Check]:
    """Matrices of the layers, as DeepSpeed-MoE counts: 12 L h^2 and 127 more experts in every other layer."""
    found = []
    for name, billions, layers, width in CASES["deepspeed_moe_table6"]["measured"]["table"]:
        shape = {
            "layers": layers, "hidden_dim": width, "heads": 1, "kv_heads": 1, "head_dim": width, "gated": False,
            "ffn_dim": 4 * width, "expert_ffn_dim": 4 * width, "experts": 128, "active_experts_per_token": 1,
            "moe_layers": layers // 2, "shared_ffn_dim": 0, "router_bias": False,
        }  # fmt: skip
        count = ParameterCountModel().solve(vocab_size=1, **shape)
        part = {name: count.canonical(f"{name}_parameters") for name in ("attention", "ffn", "expert")}
        ours = layers * part["attention"] + layers // 2 * (part["ffn"] + 128 * part["expert"])
        found.append(Check(name, billions, ours / 1e9, 0.01, "B"))
    return found


GROUPS = (
    Group(
        "published_counts",
        "Parameters as published",
        "Total and active parameters by formula, embeddings and head "
        "included, in billions. Names such as 7B are coarser than 1%; DeepSeek leaves the embedding out of its 37 B.",
        "papers and model cards, as the catalog cites them",
        published,
    ),
    Group(
        "counted_parameters",
        "Parameters as counted",
        "The exact totals of released weights.",
        "checkpoint headers and model cards, as the catalog cites them",
        counted,
    ),
    Group(
        "deepspeed_moe",
        "DeepSpeed-MoE",
        "Matrices of the layers alone, as the source counts. The printed table "
        "swaps two layer counts and two digits; the vendor's tutorial has them right and is used.",
        "DeepSpeed-MoE (arXiv 2201.05596), table 6, with the vendor's inference tutorial",
        deepspeed_moe,
    ),
)
