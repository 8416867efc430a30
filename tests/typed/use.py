"""What a type checker knows of models, results and the catalog; checked by pyright, never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from typing import Any, assert_type

from pint import Quantity

from mlsysim import Hardware, Models, ServingModel, TrainingMemoryModel
from mlsysim.catalog import Accelerator, TransformerWorkload

memory = TrainingMemoryModel().solve("Llama3_8B", Hardware.Cloud.H100, batch_size=8, zero_stage=2)
assert_type(memory.total_memory, Quantity[Any])
assert_type(memory.feasible, bool)
assert_type(Hardware.Cloud.H100, Accelerator)
assert_type(Models.Language.Llama3_8B, TransformerWorkload)
TrainingMemoryModel().solve("Llama3_8B", "H100", batchsize=8)  # pyright: ignore[reportCallIssue]
TrainingMemoryModel().solve("Llama3_8B", "H100", optimizer=8)  # pyright: ignore[reportArgumentType]

served = ServingModel("colocated").solve(model="Llama3_8B", hardware="H100", request_rate=2, ttft_slo="1 s")
assert_type(served.ttft_p99, Quantity[Any])
assert_type(served.serving_bottleneck, str)
TrainingMemoryModel().sweep("Llama3_8B", batch_size=range(8), layout=None)
