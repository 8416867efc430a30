"""Fastest layouts of a training run: ranks, micro-batch, sharding, recomputation, and the options that set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlsysim.advice.plans import (
    LISTED,
    Layout,
    Plans,
    check_lists,
    entry_of,
    first_of_each,
    machines_of,
    median_error,
    powers_of_two,
    scalars,
    whole,
)
from mlsysim.catalog import Accelerator, Fleet, Recipe, SparseTransformerWorkload, TransformerWorkload, builtin
from mlsysim.catalog.launchers import Launcher, launcher, shape_of
from mlsysim.catalog.run_configs import command_options, from_megatron_config, from_torchtitan_toml
from mlsysim.errors import InputError, MissingInputError
from mlsysim.inputs.spellings import unknown_argument
from mlsysim.models import DistributedModel, EconomicsModel, RunModel
from mlsysim.study.results.result import Result
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

#: Arguments that define a layout; the others are its settings.
LAYOUT = ("tp_size", "pp_size", "cp_size", "ep_size")
RANKED = "In order of the time of a step."
#: Most ranks of each kind.
RANKS = {"tp_size": 8, "pp_size": 16, "cp_size": 8}
#: Fabric between nodes if a call names none.
FABRIC = "InfiniBand_NDR"
#: Arguments that describe a run with checkpoints and failures.
SAVED = ("storage", "storage_bandwidth")


@at_the_call
def plan_training(
    model: str | TransformerWorkload,
    hardware: str | Accelerator | Fleet,
    *,
    accelerators: int,
    framework: str = "Megatron_LM",
    confidence: float = 0.9,
    top: int = 5,
    progress: bool | None = None,
    **given: Any,
) -> Plans:
    """Find the fastest layouts that train a model on some accelerators.

    Parameters
    ----------
    model : str or TransformerWorkload
        Model to train.
    hardware : str, Accelerator or Fleet
        Hardware to train on: an accelerator, in the first node of the catalog that contains it and with InfiniBand NDR
        between nodes; or a fleet.
    accelerators : int
        Number of accelerators; all are used.
    framework : {"Megatron_LM", "torchtitan"}
        Framework that launches the run, with its formats, kernels and sharding.
    confidence : float
        Least probability that a layout fits in memory, given the error of the memory model.
    top : int
        Number of layouts.
    progress : bool, optional
        Show progress; by default on a terminal.
    **given
        Arguments of ``DistributedModel``: ``batch_size`` (sequences per step) and ``seq_len`` (tokens), which are
        required, ``training_tokens``, and any other. An argument that a plan chooses, such as ``tp_size``, is
        restricted to the value or list given. With arguments of ``RunModel`` (``storage`` and ``placement_time`` or
        ``failures``), days and dollars include failures, in the mean and at the 90th percentile. ``rental_price``
        (USD/hour) or ``rent`` is the rent of one accelerator.

    Returns
    -------
    Plans
        Fastest layouts first, each once with its best micro-batch, sharding and recomputation.

    Raises
    ------
    InputError
        If an argument is refused or missing.

    Examples
    --------
    >>> from mlsysim import plan_training
    >>> plans = plan_training("Llama3_8B", "H100", accelerators=16, batch_size=128, seq_len=4096, top=1)
    >>> len(plans)
    1
    """
    return _Training(model, hardware, accelerators, framework, confidence, top, progress, given).plans()


class _Training:
    """One planning question, and the search that answers it."""

    def __init__(
        self,
        model: Any,
        hardware: Any,
        accelerators: Any,
        framework: str,
        confidence: Any,
        top: Any,
        progress: bool | None,
        given: Mapping[str, Any],
    ) -> None:
        self.devices, self.top, self.progress = whole("accelerators", accelerators), whole("top", top), progress
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence < 1:
            raise InputError("confidence", confidence, "must be a probability of at least 0 and below 1")
        known = (*DistributedModel.arguments, *RunModel.arguments)
        for name in given:
            if name not in known:
                raise unknown_argument("plan_training", name, (*known, "accelerators", "framework", "confidence"))
        check_lists(given, (*LAYOUT, "gradient_accumulation_steps", *launcher(framework, "framework").axes))
        for name in ("batch_size", "seq_len"):
            if name not in given:
                raise MissingInputError("plan_training", name, f"give {name}=...")
            whole(name, given[name])
        self.confidence, self.framework = confidence, launcher(framework, "framework")
        self.model = entry_of("model", model)
        self.argument, self.machines, self.device = machines_of(hardware)
        self.sparse = isinstance(self.model, SparseTransformerWorkload)
        self.cut = {"etp_size": 1} if self.sparse else {}
        gated = self.model.gated is not None and self.model.gated.value
        self.unusual = self.sparse or self.model.kv_lora_rank is not None or not gated
        self.paid = {name: given[name] for name in ("rent", "rental_price") if name in given}
        self.of_run = {name: value for name, value in given.items() if name not in DistributedModel.arguments}
        self.given = {**self.where(given), **{name: value for name, value in given.items() if name not in self.of_run}}
        self.held = scalars(self.given, (*LAYOUT, "gradient_accumulation_steps", *self.framework.axes))

    def where(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hardware as arguments; a bare accelerator is placed in the first catalog node that contains it."""
        nodes = (getattr(builtin().Systems.Nodes, name) for name in builtin().Systems.Nodes)
        node = next((candidate for candidate in nodes if candidate.accelerator == self.device), None)
        if self.argument != "hardware" or node is None or "fabric_bandwidth" in given:
            return {self.argument: self.machines, "fleet_size": self.devices}
        fabric, count = builtin().find("fabric", FABRIC), -(-self.devices // int(node.accelerators_per_node.value))
        fleet = Fleet(name=f"{count} {node.name}, {fabric.name}", node=node, count=count, fabric=fabric)  # pyright: ignore[reportArgumentType]
        return {"fleet": fleet, "fleet_size": self.devices}

    def plans(self) -> Plans:
        """Return the layouts, fastest first."""
        designs = self.search("step_time", ["feasible", f"fit_probability >= {self.confidence}"])
        layouts = [
            self.layout(settings, designs.solve(index), designs.certificate.proven)
            for index, settings in first_of_each(designs, LAYOUT, self.top, self.accepts, self.held)
        ]
        title = f"{self.model.name} on {self.devices} {self.device.name} by {self.framework.name}"
        shortfall = () if layouts else tuple(self.shortfall())
        return Plans(title, RANKED, layouts, {"training": designs.certificate}, shortfall)

    def accepts(self, settings: Mapping[str, Any]) -> bool:
        """Tell whether the framework can split the layers over the stages."""
        return self.framework.key == "torchtitan" or self.ends(settings) is not None

    def ends(self, settings: Mapping[str, Any]) -> bool | None:
        """Tell whether embedding and head must count as layers for even stages; None if stages are never even."""
        layers = int(self.model.layers.value)
        chunks = settings["pp_size"] * settings.get("interleaved_stages", 1)
        return False if layers % chunks == 0 else True if (layers + 2) % chunks == 0 else None

    def search(self, minimize: str, subject_to: Sequence[str], **options: Any) -> Designs:
        """Search all designs that meet some conditions, in order."""
        arguments = {**self.axes(), **self.run_arguments(), **self.given}
        return DistributedModel().search(
            **arguments, minimize=minimize, subject_to=list(subject_to), top=LISTED, progress=self.progress, **options
        )

    def run_arguments(self) -> dict[str, Any]:
        """Return the run of the framework with its default layout, read from its own files."""
        kept = "full" if self.unusual else "selective"
        plain = dict.fromkeys(LAYOUT, 1) | {
            "batch_size": self.devices, "fleet_size": self.devices, "gradient_accumulation_steps": 1,
            "seq_len": self.given["seq_len"], "zero_stage": max(self.framework.axes["zero_stage"]),
            "activation_checkpointing": "none" if self.framework.key == "Megatron_LM" else kept,
        }  # fmt: skip
        run = self.read_back(self.options(plain))
        return {"recipe": run, "model": self.model, "sequence_parallel": True, **self.cut}

    def axes(self) -> dict[str, Any]:
        """Return the values that a plan chooses from, by argument."""
        batch = self.given["batch_size"]
        axes: dict[str, Any] = {name: powers_of_two(min(most, self.devices)) for name, most in RANKS.items()}
        if self.sparse:
            axes["ep_size"] = powers_of_two(self.devices)
        axes["gradient_accumulation_steps"] = [steps for steps in range(1, batch + 1) if batch % steps == 0]
        for name, values in self.framework.axes.items():
            axes[name] = list(values)
        if self.framework.key == "torchtitan" and self.unusual:  # its selective policy is modelled for dense layers
            axes["activation_checkpointing"].remove("selective")
        return axes

    def options(self, values: Mapping[str, Any]) -> str:
        """Write the framework's options for a layout."""
        return self.framework.options(self.flag_values(values))

    def flag_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Add to the arguments of a layout the sizes that the framework uses, such as micro-batches."""
        ranks = values["tp_size"] * values["pp_size"] * values["cp_size"]
        steps, data_parallel = values["gradient_accumulation_steps"], values["fleet_size"] // ranks
        micro, staged = values["batch_size"] // (data_parallel * steps), values["pp_size"] > 1
        return {
            **shape_of(self.model),
            **values,
            **self.cut,
            "bf16_gradients": self.given.get("gradient_dtype") == "bf16",
            "even_ends": bool(self.ends(values)),
            "data_parallel_size": data_parallel,
            "micro_batch_size": micro,
            "stage_batch_size": micro if staged else 0,
            "local_batch_size": micro * steps if staged else micro,
        }

    def read_back(self, options: str) -> Recipe:
        """Read the run that some options start."""
        return read_back(self.framework, options, self.devices, self.model, self.device)

    def chosen(self, settings: Mapping[str, Any], result: Result) -> dict[str, Any]:
        """Return the arguments for which options are written."""
        fixed = {"batch_size": self.given["batch_size"], "seq_len": self.given["seq_len"], "fleet_size": self.devices}
        names = (*LAYOUT, "gradient_accumulation_steps", *self.framework.axes)
        known = {name: result[name] for name in names if name in result}
        return {**fixed, **known, **settings, "ep_size": settings.get("ep_size", 1)}

    def layout(self, settings: Mapping[str, Any], result: Result, proven: bool) -> Layout:
        """Build a layout with its row of the table."""
        chosen = self.chosen(settings, result)
        values = self.flag_values(chosen)
        per_node = int(result["accelerators_per_node"])
        values |= {"accelerators_per_node": min(per_node, self.devices), "nodes": -(-self.devices // per_node)}
        error, used = median_error(result, ("step_time",)), result["memory_utilization"]
        row = {
            "layout": _words(values),
            "micro-batch": f"{values['micro_batch_size']} x {chosen['gradient_accumulation_steps']}",
            "ZeRO": chosen["zero_stage"],
            "recompute": chosen["activation_checkpointing"],
            "memory left": result["memory_margin"],
            "step": result["step_time"],
            "MFU": f"{result['mfu']:.1%}",
            **self.bill(settings, result),
            "most time": str(result["step_bottleneck"]),
            "error": "not known" if error is None else f"{error:.0%}",
        }
        commands = {self.framework.key: (self.framework.training(values),)}
        binds = f"{result['step_bottleneck']}, memory {used:.0%}"
        return Layout("training", chosen, result, row, binds, error, commands, proven)

    def bill(self, settings: Mapping[str, Any], result: Result) -> dict[str, Any]:
        """Compute days and dollars, including failures if the storage is known."""
        arguments = {**self.run_arguments(), **self.given, **settings}
        if any(name in self.of_run for name in SAVED):
            run = RunModel("overlapped").solve(**{**arguments, **self.of_run})
            times = {"days": run["run_time"], "days, P90": run["run_time_p90"]}
            bill = {"cost": run["run_cost"], "cost, P90": run["run_cost_p90"]}
        else:
            times, bill = {"days": result["training_time"]}, {}
            if self.paid:
                paid = EconomicsModel("rented_training").solve(**{**arguments, **self.of_run})
                bill = {"cost": paid["total_cost"]}
        cells = {name: f"{time.to('day').magnitude:,.1f}" for name, time in times.items()}
        if self.paid:
            cells |= {f"{name} (USD)": f"{cost.magnitude:,.0f}" for name, cost in bill.items()}
        return cells

    def shortfall(self) -> Iterator[str]:
        """Say why no layout fits, and which comes nearest."""
        yield f"No layout on {self.devices} {self.device.name} holds the run."
        designs = self.search("total_memory", (), allow_infeasible=True)
        if not len(designs):
            yield f"Every layout is refused. {designs.certificate.refusals}"
            return
        result = designs.solve(0)
        values = self.flag_values(self.chosen({**self.held, **designs.settings(0)}, result))
        yield (
            f"The least memory is {result['total_memory']:.3g~} of {result['usable_memory']:.3g~}, with "
            f"{_words(values)}, recomputation {values['activation_checkpointing']} and ZeRO {values['zero_stage']}, "
            f"which fits with a probability of {result['fit_probability']:.0%}: give more accelerators."
        )


def read_back(
    framework: Launcher, options: str, accelerators: int, model: TransformerWorkload, hardware: Accelerator
) -> Recipe:
    """Read the run that options of a framework start, from its files."""
    read: dict[str, Any] = {
        "accelerators": accelerators, "hardware": hardware, "stack": framework.stack_for(hardware)
    }  # fmt: skip
    if framework.key == "torchtitan":
        named = {name.lstrip("-"): value for name, value in command_options(options).items()}
        return from_torchtitan_toml(named, model=model, **read)
    return from_megatron_config(command_options(options), **read)


def _words(values: Mapping[str, Any]) -> str:
    """Describe a layout in words."""
    sizes = {short: values[f"{short}_size"] for short in ("tp", "pp", "cp", "ep")}
    chunks = values.get("interleaved_stages", 1)
    parts = [f"{short}{size}" for short, size in sizes.items() if size > 1]
    return " ".join([*parts, f"dp{values['data_parallel_size']}", *[f"v{chunks}"] * (chunks > 1)])
