"""Times the same questions on whichever mlsysim the interpreter has: ours, or 0.3.0 of PyPI.

Reads a line ``question number`` and answers with the seconds one call took, the best of five runs
of ``number`` calls. ``python worker.py first QUESTION`` answers it once and ends.
"""

import sys
import timeit


def questions():
    """The four questions as callables, written for the installed version."""
    import mlsysim

    if mlsysim.__version__ == "0.3.0":
        from mlsysim.core.units import ureg
        from mlsysim.models.types import SparseTransformerWorkload
        from mlsysim.solvers import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel

        serving_length = "max_seq_len"
    else:
        from mlsysim import (
            MoERoutingModel,
            ServingCapacityModel,
            SparseTransformerWorkload,
            TrainingMemoryModel,
            ureg,
        )

        serving_length = "seq_len"
    from mlsysim import Hardware, Models, Systems

    llama, h100 = Models.Language.Llama3_8B, Hardware.Cloud.H100
    fleet = Systems.Clusters.Research_256
    toy = SparseTransformerWorkload(
        name="Toy-MoE-64B",
        architecture="Sparse Transformer",
        parameters=64e9 * ureg.count,
        active_parameters=8e9 * ureg.count,
        experts=8,
        active_experts_per_token=2,
        layers=32,
        hidden_dim=4096,
        heads=32,
    )
    memory, serving, moe = TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel()

    def serve(qps):
        return serving.solve(
            model=llama,
            hardware=h100,
            qps=qps,
            target_p99_latency_ms=2000,
            output_tokens=64,
            max_batch_size=16,
            efficiency=0.35,
            **{serving_length: 1024},
        )

    def explore():
        """Their search over 256 layouts, in seconds a point; ours is timed by itself."""
        from mlsysim.engine.dse import DSE

        space = {
            "batch_size": [1, 2, 4, 8, 16, 32, 64, 128],
            "dp_size": [1, 2, 4, 8, 16, 32, 64, 128],
            "zero_stage": [0, 1, 2, 3],
        }
        found = DSE(space, "minimize: total_memory", ["total_memory < 64"])
        found.search(lambda point: memory.solve(model=llama, hardware=h100, seq_len=2048, **point))

    return {
        "dse": explore,
        "memory": lambda: memory.solve(model=llama, hardware=h100, batch_size=8, seq_len=2048, dp_size=8, zero_stage=2),
        "serving": lambda: serve(20),
        "serving_44_replicas": lambda: serve(2000),
        "moe": lambda: moe.solve(
            model=toy, batch_size=4, seq_len=2048, ep_size=8, routing_imbalance_factor=1.25, fleet=fleet
        ),
    }


def main():
    """Answer lines from standard input until it ends."""
    if sys.argv[1:2] == ["first"]:
        questions()[sys.argv[2]]()
        return
    known = questions()
    print("ready", flush=True)
    for line in sys.stdin:
        question, number = line.split()
        seconds = min(timeit.repeat(known[question], number=int(number), repeat=5)) / int(number)
        print(repr(seconds), flush=True)


if __name__ == "__main__":
    main()
