"""A layer of one rank of an expert-parallel group, with the rows that the other ranks send it.

All ranks route tokens of their own with one real router; the rank with the most rows is the one that is measured. What
it sends and gets are buffers of the right sizes, with its own rows in front: nothing that is counted depends on what
stands in rows of others. A group of one rank computes what the layer computes without a group.
"""

from __future__ import annotations

import torch
from counted.layers import BF16, MIXTURES, Shape, TitanMoE
from torch import nn

#: Rows to a multiple of which grouped products have those of every expert padded, as in torchtitan.
ALIGNMENT = 8


class Exchange(torch.autograd.Function):
    """An all-to-all of rows: it keeps nothing but how many there were."""

    @staticmethod
    def forward(ctx, rows, received):
        ctx.sent = len(rows)
        return resized(rows, received)

    @staticmethod
    def backward(ctx, gradient):
        return resized(gradient, ctx.sent), None


def resized(rows, count):
    found = rows.new_zeros(count, rows.shape[1])
    own = min(count, len(rows))
    found[:own] = rows[:own]
    return found


class ExpertRank(TitanMoE):
    """As torchtitan with expert parallelism: exchange, permutation with padding, grouped products, and back."""

    def __init__(self, shape: Shape):
        super().__init__(shape)
        self.local = shape.experts // shape.ranks
        for name in ("w1", "w2", "w3"):
            setattr(self, name, nn.Parameter(torch.empty(self.local, *getattr(self, name).shape[1:])))
        places = torch.arange(1, shape.experts + 1, dtype=torch.float32)
        self.register_buffer("bias", -shape.skew * places.log(), persistent=False)
        self.counts: torch.Tensor | None = None
        self.rank = 0

    def choose(self, flat):
        logits = self.gate(flat).float()
        probabilities = logits.softmax(-1)
        chosen = (logits.detach() + self.bias).topk(self.shape.top_k, dim=-1).indices
        self.receive(chosen)
        return probabilities.gather(1, chosen), chosen

    @torch.no_grad()
    def receive(self, chosen):
        """Count tokens of every rank for every expert, once; the rank with the most is the one that is measured."""
        if self.counts is not None:
            return
        experts = self.shape.experts
        mine, others = torch.bincount(chosen.reshape(-1), minlength=experts), []
        for _ in range(self.shape.ranks - 1):
            logits = self.gate(torch.randn(self.shape.tokens, self.shape.h, dtype=BF16)).float()
            picked = (logits + self.bias).topk(self.shape.top_k, dim=-1).indices
            others.append(torch.bincount(picked.reshape(-1), minlength=experts))
        loads = (mine + sum(others)).view(self.shape.ranks, self.local).sum(1)
        self.rank = int(loads.argmax())
        others.insert(self.rank, mine)
        self.counts = torch.stack(others)

    def experts(self, routed, counts):
        mine = self.counts.view(self.shape.ranks, self.shape.ranks, self.local)[:, self.rank]
        rows = int(mine.sum())
        index, offsets = self.permutation(mine)
        if self.shape.ranks == 1:
            return self.held(routed, index, offsets)
        return Exchange.apply(self.held(Exchange.apply(routed, rows), index, offsets), len(routed))

    def held(self, received, index, offsets):
        """What a module is called with lives until it returns."""
        rows = torch.vstack((received, received.new_zeros(received.shape[-1])))
        shape = rows.shape
        rows = rows[index]
        rows = self.products(rows, offsets)
        back = rows.new_empty(shape)
        back[index] = rows
        return back[:-1]

    def products(self, rows, offsets):
        gate = torch._grouped_mm(rows, self.w1.transpose(-2, -1), offs=offsets)
        inner = self.swiglu(gate, torch._grouped_mm(rows, self.w3.transpose(-2, -1), offs=offsets))
        return torch._grouped_mm(inner, self.w2.transpose(-2, -1), offs=offsets)

    def permutation(self, mine):
        """Where each padded row comes from, rows by sender and expert, and where the rows of an expert end."""
        rows = int(mine.sum())
        starts = mine.reshape(-1).cumsum(0).view_as(mine) - mine
        index = torch.full((rows + ALIGNMENT * self.local,), rows)
        ends, place = [], 0
        for expert in range(self.local):
            blocks = zip(starts[:, expert].tolist(), mine[:, expert].tolist(), strict=True)
            taken = torch.cat([torch.arange(start, start + count) for start, count in blocks])
            index[place : place + len(taken)] = taken
            place += max(ALIGNMENT, -(-len(taken) // ALIGNMENT) * ALIGNMENT)
            ends.append(place)
        return index, torch.tensor(ends, dtype=torch.int32)


MIXTURES["expert_rank"] = ExpertRank
