"""A page that runs Python in the browser, where Pyodide and its packages were fetched."""

from __future__ import annotations

import json
from html import escape

from mlsysim.book.markdown import joined
from website import browser_python

#: Examples by the question they answer; each prints.
EXAMPLES = {
    "How long does a decode step take?": """\
from mlsysim import ServingCapacityModel

serving = ServingCapacityModel("prefill_aware")
result = serving.solve(
    model="Llama3_8B",
    hardware="H100",
    output_tokens=256,
    qps=10,
    target_p99_latency_ms=10_000,
    seq_len=4096,
    max_batch_size=64,
)
print(result.explain("decode_step_time").steps()[-1])
print(result.decode_step_time.to("ms"))
""",
    "How does it grow with the prompt and the batch?": """\
from mlsysim import ServingCapacityModel

grid = ServingCapacityModel("prefill_aware").sweep(
    model="Llama3_8B",
    hardware="H100",
    output_tokens=256,
    qps=10,
    target_p99_latency_ms=10_000,
    seq_len=[1024, 4096],
    max_batch_size=[1, 16, 64],
    outputs=["decode_step_time"],
)
times = grid.decode_step_time
print(times.attrs["units"])
print(times.to_pandas())
""",
    "Does a training run fit?": """\
from mlsysim import TrainingMemoryModel

memory = TrainingMemoryModel("per_operator")
for batch_size in (16, 24):
    result = memory.solve(
        model="Llama3_8B",
        hardware="A100",
        stack="torchtitan",
        precision="bf16",
        seq_len=4096,
        batch_size=batch_size,
        dp_size=8,
        zero_stage=3,
    )
    print(batch_size, result.total_memory.to("GB"), result.fit)
""",
    "Which ZeRO stage, and what batch?": """\
from mlsysim import TrainingMemoryModel

grid = TrainingMemoryModel("per_operator").sweep(
    model="Llama3_8B",
    hardware="A100",
    stack="torchtitan",
    precision="bf16",
    seq_len=4096,
    batch_size=[8, 16, 24],
    dp_size=8,
    zero_stage=[1, 2, 3],
    outputs=["total_memory"],
)
memory_needed = grid.total_memory
print(memory_needed.attrs["units"])
print(memory_needed.to_pandas())
""",
    "How many replicas does a request rate need?": """\
from mlsysim import ServingModel

grid = ServingModel().sweep(
    model="Llama3_3_70B",
    hardware="H100",
    precision="w8a8",
    stack="TensorRT_LLM_H100",
    request_rate=[5, 10, 20, 40],
    tp_size=[2, 4],
    isl=1024,
    osl=256,
    ttft_slo=1000,
    tpot_slo=50,
    outputs=["deployed_replicas"],
)
print(grid.deployed_replicas.to_pandas())
""",
}


def pages() -> dict[str, str | bytes]:
    """The page and what it loads; nothing where Python for the browser was not fetched."""
    files = browser_python.files()
    if not files:
        print("no page runs Python: python -m website.browser_python fetches what it needs")
        return {}
    weights = [0.0, 0.0]
    for name, data in files.items():
        weights[name.partition("-")[0] in browser_python.ON_DEMAND] += len(data) / 1e6
    return {"try_it/index.md": _page(*weights), **{f"static/python/{name}": data for name, data in files.items()}}


def _page(weight: float, on_demand: float) -> str:
    options = "".join(f"<option>{escape(question)}</option>" for question in EXAMPLES)
    examples = json.dumps(EXAMPLES).replace("<", "\\u003c")
    return joined([
        "---", "hide-toc: true", "---", "",
        "# Try it in this browser", "",
        f"Change the code and press *Run* or Ctrl+Enter. The first run loads Python and mlsysim, {weight:.0f} MB, from "
        "this site alone, and takes about 20 seconds; later runs take one or two.", "",
        "```{raw} html",
        '<div id="try-it" data-worker="../_static/try-it-worker.js">',
        f'<p><label>Question <select id="try-example">{options}</select></label></p>',
        '<textarea id="try-cell" aria-label="Code" rows="16" spellcheck="false" autocapitalize="off"></textarea>',
        '<p><button id="try-run">Run</button> <button id="try-stop" disabled>Stop</button> '
        '<span id="try-state" role="status"></span></p>',
        '<pre id="try-output" aria-label="Output" tabindex="0"></pre>',
        "<noscript>This page needs JavaScript.</noscript>",
        "</div>",
        f'<script type="application/json" id="try-examples">{examples}</script>',
        '<script defer src="../_static/try-it.js"></script>',
        "```", "",
        f"Verbs that need SciPy, as do some queues of requests, load {on_demand:.0f} MB more. Functions and grids of "
        "millions of points need JAX, and figures matplotlib: [install mlsysim](../index.md#install) for those. "
        f"Python is that of Pyodide {browser_python.PINS['pyodide']}.",
    ])  # fmt: skip
