import json
import re
import shlex

import pytest
from fuzz import rest_long

from mlsysim import TrainingMemoryModel
from mlsysim.cli.question import question_command
from mlsysim.cli.words import command_line
from mlsysim.inputs.spellings import option_name
from mlsysim.models import every_model
from mlsysim.models.registry import Registry, words_for
from mlsysim.study.results.basis import of_result

MODELS = {words_for(model): model for model in every_model()}
FIRST_ORDER = "serve --variant first_order"
FIRST = ("--variant", "first_order")
LLAMA = ("memory", "--model", "Llama3_8B", "--hardware", "H100", "--batch-size", "8")
OWN = """
[Hardware.Mine.H100]
name = "My H100"
source = "https://example.org/sheet"
date = "2025-01"
kind = "measured"
memory_capacity = "20 GB"
memory_bandwidth = "3 TB/s"
[Hardware.Mine.H100.peak_flops]
fp16 = "900 TFLOP/s"
"""


def command(name):
    """The words a shell makes of the command line that the demo prints, by the first variant."""
    return shlex.split(command_line(MODELS[name], variant=next(iter(MODELS[name].variants))).replace("\\\n", ""))[1:]


def options(name):
    registry = Registry()
    listed = next(each for each in registry.commands[MODELS[name].command] if each.words == name)
    return {option.name: option for option in question_command(listed, registry).params}


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("name", rest_long(MODELS, quick=2))
def test_every_argument_of_the_model_is_an_option_and_nothing_else(name):
    model = MODELS[name]
    own = {"shown", "variant", "catalog", "as_json", "explain", "help_all"}
    own |= {"strict"} if "feasible" in model.headline else set()
    own |= {"ignore"} if "model" in model.slots else set()
    taken = {argument for variant in model.variants for argument in model(variant).arguments}
    assert set(options(name)) == taken | own
    for argument in taken:
        assert options(name)[argument].opts == [option_name(argument)]


@pytest.mark.parametrize("name", MODELS)
def test_the_help_of_an_option_says_meaning_allowed_values_unit_and_default(name):
    model = MODELS[name]
    shown = options(name)
    for argument, variable in model.arguments.items():
        if argument not in shown:
            continue
        option = shown[argument]
        given = any(argument in slot.gives for slot in model.slots.values())
        if variable is None:
            assert option.help.startswith(f"Entry of the catalog ({model.slots[argument].entry.what}), by name")
            continue
        assert variable.description in option.help
        assert variable.domain.describe() in option.help
        for variant in model.variants_using(argument):
            defaults = model(variant).defaults
            if argument in defaults:
                assert f"default {defaults[argument]}" in option.help
            else:
                assert ("default from --" if given else "required") in option.help
        if variable.unit not in ("", "count"):
            assert option.metavar == variable.unit


def test_help_has_sections_and_an_example_that_is_not_rewrapped(run):
    text = run("memory", "--help-all").stdout
    for heading in ("From the catalog:", "Inputs:", "In place of the catalog:", "Options:"):
        assert f"\n{heading}\n" in text
    for line in command_line(TrainingMemoryModel, width=74).splitlines():
        assert f"\n  {line}\n" in text


@pytest.mark.parametrize("name", MODELS)
def test_json_is_that_of_the_result(run, name):
    """The commands the demo and the help print give what the library gives."""
    done = run(*command(name), "--json")
    assert done.exit_code == 0, done.output
    result = MODELS[name].solve_example()
    assert json.loads(done.stdout) == {**result.to_dict(), "basis": of_result(result).to_dict()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--qps", "20"), "--qps: an option of `mlsysim serve --variant first_order`"),
        (("--tensor-parallel-size", "2"), "no such option: --tensor-parallel-size: did you mean --tp-size?"),
        (("--variant", "prefill_aware", "--tp-size=2"), "--tp-size: an option of `mlsysim serve`"),
        (("--variant", "first_ordr"), "unknown variant of serve 'first_ordr': did you mean first_order?"),
    ],
)
def test_an_option_of_another_model_of_the_command_names_its_variant(run, words, said):
    done = run("serve", *words)
    assert (done.exit_code, done.stderr) == (2, f"error: {said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [(("train", "--gpus", "64"), "--gpus: did you mean --fleet-size, --tp-size?"),
     (("serve", "--max-model-len", "8192"), "--max-model-len: did you mean --isl, --osl?"),
     (("offload", "--hardware", "H100"), "--hardware: did you mean --design?"),
     (("run", "--mtbf", "3 h"), "--mtbf: did you mean --node-failure-rate?"),
     (("train", "--mfu", "0.4"), "--mfu: mfu is an output; "
      "`mlsysim solve-for train efficiency mfu=VALUE ...` finds the argument that gives it")],
)  # fmt: skip
def test_an_option_of_other_tools_is_pointed_to(run, words, said):
    done = run(*words)
    assert (done.exit_code, done.stderr) == (2, f"error: no such option: {said}\n")


def test_another_spelling_is_an_option(run):
    asked = run("serve", "--model", "Llama3_8B", "--hardware", "H100", "--request-rate", "2", "--replicas=3", "--json")
    assert json.loads(asked.stdout)["outputs"]["deployed_replicas"]["value"] == 3


def test_the_help_of_a_command_names_the_other_models_that_it_asks(run):
    text = run("serve", "--help").stdout
    assert "\n  mlsysim serve --variant first_order --help\n      How many replicas meet a latency target?\n" in text
    assert "--qps " not in text
    other = run("serve", "--variant", "first_order", "--help").stdout
    assert "\n  mlsysim serve --help\n" in other
    assert "--qps " in other


def test_a_table_of_the_headline_outputs_with_their_meaning(run):
    lines = run(*LLAMA, "--dp-size", "8", "--zero-stage", "2", *FIRST).stdout.splitlines()
    assert lines[0] == "model: Llama 3 8B, hardware: NVIDIA H100 SXM5 80 GB"
    assert lines[2].split() == ["Output", "Value", "Meaning"]
    table = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[3:11]}
    assert tuple(table) == TrainingMemoryModel.headline
    assert table["total_memory"].strip() == "32.90 GB  Memory one rank needs."
    assert table["feasible"].strip().startswith("True  ")
    assert lines[11] == "Given    batch_size=8, zero_stage=2, dp_size=8"
    assert lines[12].startswith("Assumed  seq_len=2048 token, precision=fp16, optimizer=adam,")


#: A short run on one node.
RUN = ("run", "--variant", "given", "--training-time", "2", "--fleet-size", "8", "--save-stall", "1",
       "--load-time", "9", "--placement-time", "60")  # fmt: skip


def test_entries_that_nobody_named_are_named_with_what_they_give(run):
    said = "Failures Llama3_405B (default): node_failure_rate=0.00379 1/d, planned_rate=0.870"
    assert said in run(*RUN).stdout
    assert "(default): node" not in run(*RUN, "--failures", "Llama3_405B").stdout
    assert (
        "Failures Llama3_405B (default): planned_rate=0.870 1/d, detection_time=600.0 s"
        in run(*RUN, "--failures", "Meta_RSC1_A100").stdout
    )


def test_a_total_and_its_parts_have_the_unit_of_the_table(run):
    text = run(*RUN).stdout
    assert " day " not in text[: text.index("Given")]


def test_help_shows_the_common_inputs_and_says_how_many_more_there_are(run):
    text, whole = run("memory", "--help").stdout, run("memory", "--help-all").stdout
    assert "--tp-size" in text
    assert "--mlp-bias" not in text
    more = re.search(r"(\d+) more options: --help-all", text)
    shown, every = (set(re.findall(r"^  (--[\w-]+)", each, re.M)) for each in (text, whole))
    assert int(more[1]) == len(every - shown)
    assert "What entries of the catalog give:\n  --model     parameters, layers," in whole


def test_every_value_has_its_unit(run):
    table = run(*command(FIRST_ORDER)).stdout
    for value in ("46.00 QPS", "1299.0 ms", "5.76 ms", "16 request"):
        assert f" {value}  " in table


def test_text_brings_its_own_unit(run):
    def capacity(text):
        return json.loads(run(*LLAMA, "--memory-capacity", text, "--json").stdout)["inputs"]["memory_capacity"]

    assert capacity("80") == capacity("80 GB") == {"value": 80.0, "unit": "GB", "source": "given"}
    assert capacity("80 GiB")["value"] == pytest.approx(85.89934592)


def test_explain_prints_the_formulas_with_numbers(run):
    text = run(*LLAMA, "--variant", "first_order", "--explain").stdout
    assert "P_r = P/(t·p·e)" in text
    assert "= 8.03e9/(1·1·1)" in text
    assert "parameters  [paper: huggingface.co" in text


def test_outputs_named_are_the_ones_printed_and_explained(run):
    done = run(*LLAMA, "gradients", "total_memory")
    assert [line.split()[0] for line in done.stdout.splitlines()[3:5]] == ["gradients", "total_memory"]
    explained = run(*LLAMA, "gradients", "--explain").stdout
    assert "G = " in explained
    assert "M = " not in explained
    assert list(json.loads(run(*LLAMA, "gradients", "--json").stdout)["outputs"]) == ["gradients"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*LLAMA, "gradient"), "error: unknown output of TrainingMemoryModel 'gradient': did you mean gradients"),
        ((*LLAMA, "dp_size=1,2"), "error: 'dp_size=1,2': options are --name value; `mlsysim sweep memory` takes dp_"),
        (
            ("moe", "--model", "Mixtral_8x7B", "--batch-size", "4", "all_to_all_latency"),
            "error: MoERoutingModel needs accelerators_per_node for all_to_all_latency: give --fleet",
        ),
        (
            (*LLAMA, "--model", "Mixtral_8x7B", "--ep-size", "8", "--variant", "first_order"),
            "error: --ep-size 8: must be 1 in this variant; --variant per_operator counts what ranks hold; nearest: 1",
        ),
    ],
)
def test_what_a_question_refuses(run, words, said):
    done = run(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith(said)


def test_without_a_fleet_the_latency_is_left_out_and_named(run):
    done = run("moe", "--model", "Mixtral_8x7B", "--batch-size", "4", "--ep-size", "2")
    assert done.exit_code == 0
    assert "Left out for want of --fleet: dispatch_time, combine_time, all_to_all_latency, step_all_to_all_time" in (
        " ".join(done.stdout.split())
    )
    assert (
        "Left out" not in run("moe", "--model", "Mixtral_8x7B", "--batch-size", "4", "--fleet", "Research_256").stdout
    )


def test_own_catalog_comes_first_and_the_built_in_one_after_it(run, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN, encoding="utf-8")
    built_in = json.loads(run(*LLAMA, "--json").stdout)
    own = json.loads(run(*LLAMA, "--catalog", str(file), "--json").stdout)
    assert built_in["entries"] == {"model": "Llama 3 8B", "hardware": "NVIDIA H100 SXM5 80 GB"}
    assert own["entries"] == {"model": "Llama 3 8B", "hardware": "My H100"}
    assert own["inputs"]["memory_capacity"]["value"] == 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hardware", "H101"), "error: unknown hardware 'H101': did you mean H100"),
        (("--model", "Llama3_8"), "error: unknown model 'Llama3_8': did you mean Llama3_8B"),
        (("--batch-size", "0"), "error: --batch-size 0: must be a whole number >= 1"),
        (("--batch-size", "-3"), "error: --batch-size -3: must be a whole number >= 1"),
        (("--batch-size", "2.5"), "error: --batch-size 2.5: must be a whole number >= 1; nearest: 2, 3"),
        (("--batch-size", "many"), "error: --batch-size 'many': must be a whole number >= 1"),
        (("--batch-size", "nan"), "error: --batch-size nan: must be a whole number >= 1"),
        (("--memory-capacity", "80 s"), "error: --memory-capacity '80 s': s is not a unit of GB"),
        (
            ("--precision", "fp17"),
            "error: --precision 'fp17': must be one of fp32, tf32, bf16, fp16, fp8, int8, w8a8, fp8_deepseek, int4, "
            "w4a16, mxfp4, nvfp4, q8_0, q6_k, q5_k_m, q4_k_m, q4_0; did you mean fp16, fp8, fp32?",
        ),
        (("--zero-stage", "4"), "error: --zero-stage 4: must be a whole number >= 0 and <= 3"),
        (("--variant", "exact"), "error: unknown variant of TrainingMemoryModel 'exact': known: first_order"),
        (("--catalog", "nowhere.toml"), "error: nowhere.toml: cannot be read: No such file or directory"),
        (("--json", "--explain"), "error: --json and --explain: choose one"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_code_2(run, words, said):
    done = run(*LLAMA, *words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_missing_inputs_are_named_as_options(run):
    assert run("memory", "--model", "Llama3_8B", "--hardware", "H100").stderr == (
        "error: TrainingMemoryModel needs batch_size: give --batch-size ...\n"
    )
    assert "give --hardware ... or --memory-capacity ..." in run("memory", "--batch-size", "1", *LLAMA[1:3]).stderr


def test_a_dense_model_is_refused_where_experts_are_needed(run):
    done = run("moe", "--model", "Llama3_8B", "--batch-size", "4")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: --model 'Llama 3 8B': MoERoutingModel needs a mixture-of-experts model")


def test_infeasible_is_an_answer_unless_strict(run):
    words = command(FIRST_ORDER)
    assert run(*words, "--strict").exit_code == 0
    late = run(*words, "--output-tokens", "256")
    assert late.exit_code == 0
    assert " Base Latency  " in late.stdout
    strict = run(*words, "--output-tokens", "256", "--strict")
    assert strict.exit_code == 3
    assert strict.stdout == late.stdout


def test_an_infinite_answer_is_valid_json(run):
    late = run(*command(FIRST_ORDER), "--output-tokens", "256", "--json")
    assert "Infinity" not in late.stdout
    assert '"inf"' not in late.stdout
    replicas = json.loads(late.stdout)["outputs"]["required_replicas"]
    assert replicas == {"value": None, "infinite": "positive", "unit": ""}


@pytest.mark.parametrize(
    ("text", "shards"),
    [("true", 2), ("True", 2), ("yes", 2), ("on", 2), ("1", 2), ("false", 1), ("FALSE", 1), ("no", 1), ("0", 1)],
)
def test_a_flag_takes_what_people_type(run, text, shards):
    done = run(*LLAMA, "--variant", "per_operator", "--tp-size", "2", "--sequence-parallel", text, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["outputs"]["sequence_shards"]["value"] == shards


@pytest.mark.parametrize("text", ["2", "0.5", "maybe", "nan", ""])
def test_other_text_is_no_flag(run, text):
    done = run(*LLAMA, "--variant", "per_operator", "--sequence-parallel", text)
    assert done.exit_code == 2
    shown = text if text in ("2", "0.5", "nan") else repr(text)
    assert done.stderr == f"error: --sequence-parallel {shown}: must be True or False\n"


def test_yes_is_no_label_and_no_number(run):
    assert run(*LLAMA, "--batch-size", "yes").stderr.startswith("error: --batch-size 'yes': must be a whole number")
    assert run(*LLAMA, "--optimizer", "no").stderr.startswith("error: --optimizer 'no': must be one of adam")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((*LLAMA, "--variant", "per_operator"), "memory"),
        ((*LLAMA, "--variant", "korthikanti", "--gradient-dtype", "fp32"), "memory"),
        (("moe", "--model", "Mixtral_8x7B", "--fleet", "Research_256", "--batch-size", "4", "--ep-size", "8",
          "--variant", "per_layer", "--activation-checkpointing", "full"), "moe"),
    ],
)  # fmt: skip
def test_a_variant_shows_its_own_headline(run, words, name):
    done = run(*words, "--explain")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    found = MODELS[name](words[words.index("--variant") + 1])
    named = [line.split()[0] for line in lines[3:] if line and not line.startswith(" ")]
    assert tuple(named[: len(found.headline)]) == found.headline
    answer = json.loads(run(*words, "--json").stdout)
    assert answer["variant"] == found.variant
    assert set(found.headline) <= set(answer["outputs"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (*FIRST, "--vocab-size", "3"),
            "--vocab-size 3: the variant first_order does not use it; --variant per_operator does",
        ),
        (
            (*FIRST, "--sequence-parallel", "true"),
            "--sequence-parallel True: the variant first_order does not use it; "
            "--variant korthikanti or per_operator does",
        ),
        (
            ("--variant", "per_operator", "--parameters", "8e9"),
            "--parameters 8000000000.0: the variant per_operator computes it",
        ),
        (
            ("--variant", "per_operator", "--interleaved-stages", "2"),
            "--interleaved-stages 2: must be 1 where pp_size=1; nearest: 1",
        ),
    ],
)
def test_an_option_of_another_variant_names_it(run, words, said):
    done = run(*LLAMA, *words)
    assert done.exit_code == 2
    assert done.stderr == f"error: {said}\n"


def test_help_names_the_variants_and_who_takes_an_option(run):
    text = " ".join(run("memory", "--help-all").stdout.split())
    assert "Set of formulas (one of per_operator, first_order, korthikanti). [default: (per_operator)]" in text
    assert "--sequence-parallel TRUE|FALSE" in text
    assert "(True or False; default False; only variants korthikanti and per_operator)" in text
    assert "default core_attention; only variant per_operator)" in text


def test_the_measured_variant_answers_and_names_the_one_before(run):
    """The README's run: 12.76 GB by the tutorial's form."""
    words = (*LLAMA, "--dp-size", "8", "--zero-stage", "2")
    said, typed = (" ".join(run(*words, *more).stdout.split()) for more in ((), FIRST))
    assert "answered by per_operator, the measured variant; --variant first_order, the tutorial's form: 32.90" in said
    assert "per_operator, the measured variant: 42.86 GB, fits" in typed
    assert json.loads(run(*words, "--json").stdout)["variant"] == "per_operator"
    for more in ((), FIRST):
        grid = run("sweep", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=8,16", *more).stdout
        assert grid.startswith(f"TrainingMemoryModel ({more[1] if more else 'per_operator'})")


def test_a_call_that_only_the_first_variant_answers_is_told_so(run):
    words = ("moe", "--active-parameters", "8e9", "--hidden-dim", "4096", "--experts", "8",
             "--active-experts-per-token", "2", "--batch-size", "4", "--ep-size", "8")  # fmt: skip
    done = run(*words)
    assert done.exit_code == 2
    assert done.stderr.endswith("; --variant first_order takes them\n")
    assert run(*words, *FIRST).exit_code == 0
    grid = [f"{name[2:].replace('-', '_')}={value}" for name, value in zip(words[1::2], words[2::2], strict=True)]
    for verb, *more in (("sweep",), ("search", "--minimize", "token_dispatch_bytes")):
        done = run(verb, "moe", *grid, "seq_len=1024,2048", *more)
        assert (done.exit_code, done.stderr.endswith("; --variant first_order takes them\n")) == (2, True), done.stderr
        assert run(verb, "moe", *grid, "seq_len=1024,2048", *more, *FIRST).exit_code == 0
    refused = run("search", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=8,16", "--minimize", "memry")
    assert "first_order" not in refused.stderr


OFFLOAD = ("offload", "--model", "DeepSpeedMoE_24B_MoE_128", "--design")


def test_what_both_tiers_must_hold_and_how_long_a_step_takes(run):
    """Capacities and the slowdown that Heo et al. print, from the command line."""
    found = {}
    for policy in ("conservative", "aggressive"):
        done = run(*OFFLOAD, "Integrated_GPU_Links", "--policy", policy, "--json")
        assert done.exit_code == 0, done.output
        found[policy] = json.loads(done.stdout)["outputs"]
    near = {policy: outputs["local_memory"]["value"] for policy, outputs in found.items()}
    assert near == {"conservative": pytest.approx(16.3, rel=0.015), "aggressive": pytest.approx(6.25, rel=0.015)}
    times = {policy: outputs["step_time"]["value"] for policy, outputs in found.items()}
    assert times["aggressive"] / times["conservative"] == pytest.approx(1.48, rel=0.01)


@pytest.mark.long
def test_a_design_without_capacities_says_what_it_would_take_to_know_whether_it_fits(run):
    done = run(*OFFLOAD, "Per_Node")
    assert done.exit_code == 0
    assert "\nLeft out for want of --memory-capacity, --remote-capacity: feasible\nStack    " in done.stdout
    assert run(*OFFLOAD, "GH200", "--strict").exit_code == 0
    assert run(*OFFLOAD, "GH200", "--memory-capacity", "16 GB", "--strict").exit_code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Per_Nod",), "unknown design 'Per_Nod': did you mean Per_Node?"),
        (("GH200", "--policy", "agressive"), "--policy 'agressive': must be one of none, conservative, zero_offload, "
         "aggressive, zero_infinity; did you mean aggressive?"),
        (("GH200", "--weights-offload", "0.5"), "--weights-offload 0.5: the variant by_policy computes it"),
        (("GH200", "--variant", "by_share", "--weights-offload", "1.5"),
         "--weights-offload 1.5: must be a finite number >= 0 and <= 1"),
    ],
)  # fmt: skip
def test_what_offload_refuses(run, words, said):
    done = run(*OFFLOAD, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {said}")


def test_strict_is_offered_only_where_there_is_something_to_meet(run):
    done = run("moe", "--model", "Mixtral_8x7B", "--batch-size", "4", "--strict")
    assert done.exit_code == 2
    assert "No such option: --strict" in done.stderr


NIGHT = """
[Recipes.Night]
name = "A night"
source = "https://example.org/run"
date = "2026-01"
kind = "measured"
model = "Models.Language.Llama3_8B"
hardware = "Hardware.Mine.H100"
batch_size = 8
"""


def test_a_recipe_answers_alone_and_is_overridden(run):
    alone = run("train", "--recipe", "torchtitan_issue_1624").stdout
    assert alone.splitlines()[0].startswith(
        "recipe: torchtitan, issue 1624, model: torchtitan llama4 3bx128e, hardware: "
    )
    given = json.loads(run("train", "--recipe", "torchtitan_issue_1624", "--ep-size", "2", "--json").stdout)
    assert given["inputs"]["ep_size"] == {"value": 2, "unit": "", "source": "given"}
    assert given["inputs"]["zero_stage"]["source"].startswith("recipe torchtitan_issue_1624: 3 (reported: ")


def test_what_a_recipe_gives_in_vain_is_said(run):
    said = run("memory", "--variant", "per_operator", "--recipe", "DeepSeek_V3_2048_H800").stdout
    assert "TrainingMemoryModel (per_operator) takes no node_limit, which the recipe gives" in said


@pytest.mark.long
def test_a_recipe_of_ones_own(run, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN + NIGHT)
    found = json.loads(run("memory", "--catalog", str(file), "--recipe", "Night", "--json").stdout)
    assert found["entries"] == {"recipe": "A night", "model": "Llama 3 8B", "hardware": "My H100"}
    assert found["inputs"]["batch_size"]["value"] == 8
    swept = run("sweep", "memory", "--catalog", str(file), "recipe=Night", "batch_size=1,2").stdout
    assert "2 points: batch_size 2" in swept


def test_without_inputs_a_recipe_or_a_model_is_asked_for(run):
    asked = run("ep")
    assert asked.exit_code == 2
    assert asked.stderr.startswith(
        "error: ExpertParallelModel needs model, fleet, batch_size: give --model ..., --fleet ..., --batch-size ...; "
    )
    assert asked.stderr.endswith(", or --recipe ..., which gives several of them\n")


def test_what_is_missing_is_named_at_once_and_entries_first(run):
    said = "needs model, hardware, batch_size: give --model ..., --hardware ..., --batch-size ...; or what an entry"
    assert said in run("memory").stderr
    assert "needs hardware, batch_size: give --hardware ..., --batch-size ...;" in run("memory", *LLAMA[1:3]).stderr
    priced = run("cost", *LLAMA[1:3]).stderr
    assert priced.startswith("error: EconomicsModel needs fleet, batch_size: give --fleet ..., --batch-size ...;")
    assert "attention_peak_flops" not in priced


def test_what_does_not_fit_is_said_before_the_table(run):
    asked = ("serve", "--model", "Llama3_3_70B", "--hardware", "H100", "--request-rate", "5")
    lines = run(*asked).stdout.splitlines()
    said = "Llama3_3_70B and a request do not fit one H100: they fit with tp_size >= 2, or precision=fp8"
    assert [line for line in lines if "do not fit" in line] == [said]
    assert lines.index(said) < lines.index("")
    assert not any("∞" in line for line in lines)
    assert any(line.startswith("Infinite, for the reason above: deployed_replicas, ttft_mean, ") for line in lines)
    named = run(*asked, "ttft_mean").stdout.splitlines()
    assert said in named
    assert any(line.split()[:3] == ["ttft_mean", "∞", "ms"] for line in named)


def test_a_recipe_that_is_none(run):
    asked = run("train", "--recipe", "torchtitan_1624")
    assert asked.exit_code == 2
    assert asked.stderr.startswith("error: unknown recipe 'torchtitan_1624': did you mean torchtitan_issue_1624")


def test_several_values_of_an_option_lead_to_a_grid(run):
    found = run("ep", "--recipe", "torchtitan_issue_1624", "--ep-size", "1,2,4,8")
    assert found.exit_code == 2
    assert "`mlsysim sweep ep recipe=torchtitan_issue_1624 ep_size=1,2,4,8`" in found.stderr
    assert "sweep" not in run("ep", "--recipe", "torchtitan_issue_1624", "--ep-size", "x").stderr
