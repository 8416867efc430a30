"""The best layouts of a deployment: ranks, batch, chunk or pools, with the commands that launch them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlsysim import units
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
from mlsysim.catalog import Accelerator, Fleet, Node, SparseTransformerWorkload, TransformerWorkload
from mlsysim.catalog.launchers import NotLaunchableError, launcher, launchers, repository, weights_of
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.inputs.spellings import unknown_argument
from mlsysim.models import ServingModel
from mlsysim.study.results.result import Result
from mlsysim.study.searches.certificate import Certificate
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

#: Scheduling modes of prompts, and the variant that describes each.
MODES = {"chunked": "chunked_estimate", "colocated": "colocated", "pools": "disaggregated"}
#: Fewest accelerators first; among equals, the layout with the highest goodput.
OBJECTIVE = "accelerators + request_rate / goodput / 2"
RANKED = (
    "In order of accelerators, then of requests per second that meet the targets. Latencies are those of the share "
    "slo_quantile of requests; errors are medians of mean TTFT and TPOT, with the batch and chunk of the stack."
)
#: Requests and tokens that an engine may process at once.
SEQS, TOKENS = [32, 64, 128, 256, 512], [1024, 2048, 4096, 8192, 16384]
#: Most ranks of one engine, and engines of a pool.
RANKS, WORKERS = 32, 4
#: Arguments that make a layout; the others are its settings.
LAYOUT = (
    "tp_size", "pp_size", "ep_size", "dp_attention_size", "prefill_tp_size", "prefill_pp_size", "prefill_ep_size",
    "prefill_dp_attention_size", "prefill_workers", "decode_workers",
)  # fmt: skip
#: Settings for which a stack has defaults.
FLAGS = ("max_num_seqs", "max_num_batched_tokens")
#: Latency quantiles that a model computes.
QUANTILES = {0.5: "p50", 0.9: "p90", 0.99: "p99"}
#: Engines whose commands are written.
ENGINES = ("vllm", "sglang", "trtllm")
#: Multiple of the accelerators at hand on which layouts are searched if these are too few.
FURTHER = 8


@at_the_call
def plan(
    model: str | TransformerWorkload,
    hardware: str | Accelerator | Node | Fleet,
    *,
    accelerators: int = 8,
    engine: str = "",
    modes: Sequence[str] = tuple(MODES),
    top: int = 5,
    progress: bool | None = None,
    **given: Any,
) -> Plans:
    """Find the best layouts that serve some traffic within latency targets.

    Parameters
    ----------
    model : str or TransformerWorkload
        Model to serve.
    hardware : str, Accelerator, Node or Fleet
        Hardware to serve on: accelerators by themselves, in nodes, or in a fleet.
    accelerators : int
        Number of accelerators at hand.
    engine : {"vllm", "sglang", "trtllm"}, optional
        Engine that must be able to launch the layouts, with the step times of its newest stack. Without one, layouts
        for any of the three, with the step times of vLLM's stack.
    modes : sequence of {"chunked", "colocated", "pools"}
        Scheduling of prompts: in chunks beside decoding requests, whole in turns with them, or in a pool of their own.
    top : int
        Number of layouts.
    progress : bool, optional
        Show progress; by default on a terminal.
    **given
        Arguments of ``ServingModel``: ``request_rate`` (requests per second) or ``traffic``, ``isl``, ``osl``,
        ``ttft_slo``, ``tpot_slo``, ``slo_quantile``, ``precision``, ``rent`` or ``rental_price``, and any other. An
        argument that a plan chooses, such as ``tp_size``, is restricted to the value or list given.

    Returns
    -------
    Plans
        Best layouts first, each once with its best batch and chunk.

    Raises
    ------
    InputError
        If an argument is refused, or there is no traffic.

    Examples
    --------
    >>> from mlsysim import plan
    >>> load = dict(request_rate=2, isl=1024, osl=128, ttft_slo="1 s", tpot_slo="50 ms", precision="fp8")
    >>> plans = plan("Llama3_8B", "H100", accelerators=2, modes=["colocated"], top=1, **load)
    >>> len(plans)
    1
    """
    deployment = _Deployment(model, hardware, accelerators, engine, modes, top, progress, given)
    return deployment.plans()


class _Deployment:
    """One planning question, and the searches that answer it."""

    def __init__(
        self,
        model: Any,
        hardware: Any,
        accelerators: Any,
        engine: str,
        modes: Sequence[str],
        top: int,
        progress: bool | None,
        given: Mapping[str, Any],
    ) -> None:
        self.at_hand, self.top, self.progress = whole("accelerators", accelerators), whole("top", top), progress
        for name in given:
            if name not in ServingModel.arguments:
                raise unknown_argument("plan", name, (*ServingModel.arguments, "accelerators", "modes", "top"))
        for name, closed in (("concurrency", "a plan is for open-loop arrivals"),
                             ("num_replicas", "a plan finds the fewest")):  # fmt: skip
            if name in given:
                raise InputError(name, given[name], f"must be left out: {closed}")
        check_lists(given, (*LAYOUT, *FLAGS))
        rate, traffic = given.get("request_rate"), entry_of("traffic", given["traffic"]) if "traffic" in given else None
        if isinstance(rate, int | float) and rate <= 0:
            raise InputError("request_rate", rate, "must be above 0")
        if rate is None and (traffic is None or traffic.request_rate is None):
            raise MissingInputError("plan", "request_rate", "give request_rate=..., or traffic=... that has one")
        self.modes = (modes,) if isinstance(modes, str) else tuple(modes)
        for mode in self.modes:
            if mode not in MODES:
                raise UnknownNameError("mode of plan", mode, MODES)
        self.model = entry_of("model", model)
        argument, machines, self.device = machines_of(hardware)
        self.engine = launcher(engine).key if engine else ""
        if self.engine and not any(self.launches(mode) for mode in self.modes):
            raise InputError("modes", modes, f"{engine} has none of them: {launcher(engine).unmixed}")
        self.modes = tuple(mode for mode in self.modes if not self.engine or self.launches(mode))
        stack = {} if "stack" in given else {"engine": engine or ENGINES[0]}
        self.given = {"model": self.model, argument: machines, **stack, **given}
        self.held = scalars(self.given, (*LAYOUT, *FLAGS))
        self.quantile = QUANTILES.get(given.get("slo_quantile", ServingModel.defaults["slo_quantile"]), "mean")

    def launches(self, mode: str) -> bool:
        """Tell whether the engine supports a scheduling mode."""
        return mode == "pools" or mode in launcher(self.engine).modes

    def plans(self) -> Plans:
        """Return the layouts of all scheduling modes, best first."""
        ranked: list[tuple[float, Layout]] = []
        certificates: dict[str, Certificate] = {}
        for mode in self.modes:
            designs = self.search(mode, self.at_hand)
            certificates[mode] = designs.certificate
            for index, settings in self.first(mode, designs, self.top):
                result = designs.solve(index)
                layout = self.layout(mode, settings, result, designs.certificate.proven)
                ranked.append((_rank(result), layout))
        best = [layout for _, layout in sorted(ranked, key=lambda pair: pair[0])[: self.top]]
        return Plans(self.title, RANKED, best, certificates, () if best else tuple(self.shortfall()))

    @property
    def title(self) -> str:
        return f"{self.model.name} on up to {self.at_hand} {self.device.name}"

    def search(self, mode: str, most: int, minimize: str = OBJECTIVE, **further: Any) -> Designs:
        """Search all designs of a scheduling mode on at most so many accelerators, in order."""
        model = ServingModel(MODES[mode])
        arguments = {
            name: value for name, value in {**self.axes(mode, most), **self.given}.items() if name in model.arguments
        }
        if further:
            arguments = {**arguments, "max_num_seqs": SEQS, **further}
        else:
            further = {"subject_to": ["feasible", f"accelerators <= {most}"]}
            arguments |= further
        return model.search(**arguments, minimize=minimize, top=LISTED, progress=self.progress)

    def first(self, mode: str, designs: Designs, most: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the best design of each layout that can be launched."""
        return first_of_each(designs, LAYOUT, most, lambda settings: self.accepts(mode, settings), self.held)

    def axes(self, mode: str, most: int) -> dict[str, list[int]]:
        """Return the values that a plan chooses from, by argument."""
        ranks = powers_of_two(min(most, RANKS))
        sparse = isinstance(self.model, SparseTransformerWorkload)
        axes = {"tp_size": ranks, "max_num_seqs": SEQS}
        if sparse:
            axes |= {"ep_size": ranks, "dp_attention_size": ranks}
        if mode == "chunked":
            return {**axes, "max_num_batched_tokens": TOKENS}
        if mode == "colocated":
            return {**axes, "pp_size": [stages for stages in (1, 2, 4) if stages <= most]}
        workers = list(range(1, min(WORKERS, max(1, most - 1)) + 1))
        axes |= {"prefill_workers": workers, "decode_workers": workers}
        return axes if sparse else {**axes, "prefill_tp_size": ranks}

    def accepts(self, mode: str, settings: Mapping[str, Any]) -> bool:
        """Tell whether the requested engine, or any if none was requested, can launch a layout."""
        commands = self.commands(mode, settings)
        return (
            isinstance(commands[self.engine], tuple)
            if self.engine
            else any(isinstance(command, tuple) for command in commands.values())
        )

    def commands(self, mode: str, settings: Mapping[str, Any]) -> dict[str, tuple[str, ...] | str]:
        """Return the commands of every engine, or the reason why it has none."""
        precision = str(self.given.get("precision", "bf16"))
        typed = {name: value for name, value in self.given.items() if isinstance(value, int | float | str)}
        values = {
            **typed,
            **settings,
            "repository": repository(self.model),
            "weights": weights_of(self.model, precision),
        }
        values.setdefault("kv_cache_dtype", "fp8" if precision == "w8a8" else "as_precision")
        commands: dict[str, tuple[str, ...] | str] = {}
        for key in ENGINES:
            try:
                commands[key] = launchers()[key].serving(values, mode)
            except NotLaunchableError as error:
                commands[key] = str(error)
        return commands

    def layout(self, mode: str, settings: Mapping[str, Any], result: Result, proven: bool) -> Layout:
        """Build a layout with its row of the table."""
        ttft, tpot = result[f"ttft_{self.quantile}"], result[f"tpot_{self.quantile}"]
        error, binds = median_error(self.by_flags(mode, settings), ("ttft_mean", "tpot_mean")), self.binds(result)
        priced = {}
        if "rental_price" in result.input_names and result.canonical("rental_price") > 0:
            priced = {"per hour": result["cost_per_hour"], "per Mtoken": result["cost_per_token"]}
        row = {
            "prompts": mode,
            "layout": _words(mode, settings),
            "replicas": int(result["deployed_replicas"]),
            "accelerators": int(result["accelerators"]),
            "seqs": int(settings.get("max_num_seqs", result.canonical("max_num_seqs"))),
            "chunk": settings.get("max_num_batched_tokens", "") if mode == "chunked" else "",
            "TTFT": ttft,
            "TPOT": tpot,
            "holds": result["goodput"],
            **priced,
            "nearest limit": binds,
            "error": "not known" if error is None else f"{error:.0%}",
        }
        return Layout(mode, dict(settings), result, row, binds, error, self.commands(mode, settings), proven)

    def by_flags(self, mode: str, settings: Mapping[str, Any]) -> Result:
        """Solve the layout with the batch and chunk of its stack, for which errors were measured."""
        model = ServingModel(MODES[mode])
        arguments = {**self.given, **settings}
        return model.solve(
            **{
                argument: value
                for argument, value in arguments.items()
                if argument in model.arguments and argument not in FLAGS
            }
        )

    def binds(self, result: Result) -> str:
        """Name the nearest limit, with the fraction of it that is used."""
        shares = {"load": result.canonical("replica_load")}
        for name in ("ttft", "tpot"):
            target = result.canonical(f"{name}_slo")
            if target > 0:
                shares[name.upper()] = result.canonical(f"{name}_{self.quantile}") / target
        name = max(shares, key=shares.__getitem__)
        return f"{name} {shares[name]:.0%}"

    def shortfall(self) -> Iterator[str]:
        """Say why no layout meets the targets, and what would."""
        yield f"No layout on {self.at_hand} {self.device.name} meets the targets."
        more = [(mode, self.search(mode, FURTHER * self.at_hand)) for mode in self.modes]
        enough = [
            (_rank(designs.solve(index)), mode, settings, designs.solve(index))
            for mode, designs in more
            for index, settings in self.first(mode, designs, 1)
        ]
        if enough:
            _, mode, settings, result = min(enough, key=lambda candidate: candidate[0])
            count = int(result["accelerators"])
            yield f"{count} meet them: {mode}, {_words(mode, settings)}, {int(result['deployed_replicas'])} replicas."
            return
        yield f"No layout on {FURTHER * self.at_hand} does either."
        yield from self.floors()

    def floors(self) -> Iterator[str]:
        """Compare the lowest latencies of a request without others to the targets."""
        alone = {"request_rate": 1e-6, "num_replicas": 1, "allow_infeasible": True}
        for name in ("ttft", "tpot"):
            if not self.given.get(f"{name}_slo"):
                continue
            output, floors = f"{name}_{self.quantile}", []
            for mode in self.modes:
                designs = self.search(mode, FURTHER * self.at_hand, minimize=output, **alone)
                if len(designs):
                    floors.append(
                        (
                            designs.solve(0).canonical(output),
                            mode,
                            designs.solve(0),
                            {**self.held, **designs.settings(0)},
                        )
                    )
            if not floors:
                yield f"{name.upper()}: no layout holds the model and one request in memory."
                continue
            least, mode, result, settings = min(floors, key=lambda floor: floor[0])
            target = result.canonical(f"{name}_slo")
            verdict = "cannot be met" if least > target else "can be met alone"
            yield (
                f"{name.upper()} {verdict}: a request that meets no other has {units.own(result[output]):.3g~} in the "
                f"fastest layout ({mode}, {_words(mode, settings)}), and the target is {result[f'{name}_slo']:.3g~}."
            )


def _rank(result: Result) -> float:
    """Evaluate the objective at a design."""
    return result.canonical("accelerators") + result.canonical("request_rate") / result.canonical("goodput") / 2


def _words(mode: str, settings: Mapping[str, Any]) -> str:
    """Describe a layout in words."""

    def engine(before: str) -> str:
        names = (("tp", "tp_size"), ("pp", "pp_size"), ("dp", "dp_attention_size"), ("ep", "ep_size"))
        sizes = {short: settings.get(before + name) or settings.get(name, 1) for short, name in names}
        return " ".join(f"{short}{size}" for short, size in sizes.items() if size > 1 or short == "tp")

    if mode != "pools":
        return engine("")
    workers = settings["prefill_workers"], settings["decode_workers"]
    return f"{workers[0]} x {engine('prefill_')} + {workers[1]} x {engine('')}"
