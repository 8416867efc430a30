"""Imbalance, routed bytes and dropped tokens against tokens counted at a real router under skewed inputs."""

from dataclasses import dataclass

import numpy as np
from validation.checks import Check, Group

from mlsysim import MoERoutingModel, dropped_tokens, routing_imbalance

#: Bytes of one bf16 number.
BF16 = 2


@dataclass(frozen=True)
class Routed:
    """Tokens every rank sent to every expert, those of each in order, and what follows by counting alone."""

    counts: np.ndarray
    chosen: np.ndarray
    width: int

    @property
    def ranks(self) -> int:
        return len(self.counts)

    def by_rank(self) -> np.ndarray:
        """Tokens from each rank (rows) to each rank (columns)."""
        per_rank = self.counts.shape[1] // self.ranks
        return self.counts.reshape(self.ranks, self.ranks, per_rank).sum(axis=-1)

    def imbalance(self) -> float:
        loads = self.by_rank().sum(axis=0)
        return loads.max() / loads.mean()

    def leaving(self) -> float:
        sent = self.by_rank()
        return (sent.sum() - np.trace(sent)) * self.width * BF16

    def taken(self, factor: float) -> np.ndarray:
        """Whether each choice finds room: those that come to an expert after it is full are dropped."""
        room = np.ceil(self.chosen.size / self.counts.shape[1] * factor)
        order = np.argsort(self.chosen, kind="stable")
        first = np.searchsorted(self.chosen[order], self.chosen[order], side="left")
        found = np.empty(self.chosen.size, bool)
        found[order] = np.arange(self.chosen.size) - first < room
        return found

    def left(self, factor: float) -> float:
        """What the busiest rank takes over the mean of all that were routed."""
        experts = np.bincount(self.chosen[self.taken(factor)], minlength=self.counts.shape[1])
        return experts.reshape(self.ranks, -1).sum(axis=1).max() / (self.chosen.size / self.ranks)

    def hot_rank(self) -> float:
        sent = self.by_rank()
        return (sent.sum(axis=0) - np.diag(sent)).max() * self.width * BF16


def route(experts: int, top_k: int, ranks: int, width: int, skew: float, tokens: int = 8192) -> Routed:
    """Token ids by Zipf's law through the embedding and the router of a Mixtral layer."""
    import torch
    from transformers import MixtralConfig
    from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter

    torch.manual_seed(0)
    config = MixtralConfig(hidden_size=width, num_local_experts=experts, num_experts_per_tok=top_k)
    router, embedding = MixtralTopKRouter(config), torch.nn.Embedding(1000, width)
    torch.nn.init.normal_(router.weight)
    rank = 1.0 / torch.arange(1, 1001, dtype=torch.float64) ** skew
    ids = torch.multinomial(rank / rank.sum(), ranks * tokens, replacement=True).view(ranks, tokens)
    counts, picked = np.zeros((ranks, experts), int), []
    with torch.no_grad():
        for place in range(ranks):
            *_, chosen = router(embedding(ids[place]))
            counts[place] = np.bincount(chosen.flatten().numpy(), minlength=experts)
            picked.append(chosen.flatten().numpy())
    return Routed(counts, np.concatenate(picked), width)


def routed() -> list[Check]:
    """Factor, bytes that leave their rank, bytes the hot rank receives, and what experts with a capacity drop."""
    found = []
    for experts, top_k, ranks in ((8, 2, 8), (8, 2, 4), (64, 6, 8), (128, 8, 16)):
        for skew in (0.0, 1.0, 2.0):
            seen = route(experts, top_k, ranks, 64, skew)
            name = f"{top_k} of {experts} experts on {ranks} ranks, Zipf {skew:g}"
            factor = routing_imbalance(seen.counts.sum(axis=0), ep_size=ranks)
            inputs = {
                "batch_size": ranks, "seq_len": int(seen.counts[0].sum() / top_k), "precision": "bf16",
                "hidden_dim": 64, "experts": experts, "active_experts_per_token": top_k, "ep_size": ranks,
                "active_parameters": 1e6, "layers": 1, "moe_layers": 1, "expert_ffn_dim": 64, "gated": True,
            }  # fmt: skip
            known = {key: value for key, value in inputs.items() if key in MoERoutingModel().arguments}
            ours = MoERoutingModel("per_layer").solve(
                **inputs, routing_imbalance_factor=factor, accelerators_per_node=8
            )
            first = MoERoutingModel().solve(**known, routing_imbalance_factor=factor)
            leaving, dispatched = seen.leaving() / 1e6, "token_dispatch_bytes"
            hot, received = seen.hot_rank() / 1e6, ours.canonical("hot_rank_bytes") / 1e6
            found += [
                Check(f"{name}: imbalance", seen.imbalance(), factor, 0),
                Check(f"{name}: leaving their rank", leaving, ours.canonical(dispatched) / 1e6, 0.01, "MB",
                      first.canonical(dispatched) / 1e6),
                Check(f"{name}: received by the hot rank", hot, received, 0.01, "MB"),
                Check(f"{name}: dropped at a capacity of 1.25", 1 - seen.taken(1.25).mean(),
                      dropped_tokens(seen.counts.sum(axis=0), capacity_factor=1.25), 0),
                Check(f"{name}: imbalance then", seen.left(1.25),
                      routing_imbalance(seen.counts.sum(axis=0), ep_size=ranks, capacity_factor=1.25), 0),
            ]  # fmt: skip
    return found


GROUPS = (
    Group(
        "counted_routing",
        "Routing of a real router",
        "Variant `per_layer`, with the imbalance out of the counts. Which token goes where is counted, so one in so "
        "many ranks stays only on average (1%). The first-order form multiplies the bytes by the imbalance.",
        "the router of a Mixtral layer of transformers, random weights, token ids by Zipf's law",
        routed,
        ("torch", "transformers"),
    ),
)
