"""Runs from the files of frameworks: what each option becomes, its default, and that nothing is passed over."""

import pytest

from mlsysim import (
    DistributedModel,
    TrainingMemoryModel,
    from_megatron_config,
    from_torchtitan_toml,
    from_trainer_arguments,
)
from mlsysim.catalog import builtin
from mlsysim.catalog.run_configs import from_file
from mlsysim.errors import CatalogError, MissingInputError, MlsysimError

MEMORY = TrainingMemoryModel("per_operator")
GPT = {
    "num-layers": 12,
    "hidden-size": 512,
    "num-attention-heads": 8,
    "tokenizer-type": "GPT2BPETokenizer",
    "seq-length": 1024,
    "max-position-embeddings": 1024,
    "micro-batch-size": 4,
    "global-batch-size": 32,
    "bf16": True,
}
MOE = {
    **GPT,
    "num-experts": 8,
    "moe-ffn-hidden-size": 1024,
    "expert-model-parallel-size": 2,
    "moe-grouped-gemm": True,
    "disable-bias-linear": True,
}
TITAN = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
[parallelism]
data_parallel_shard_degree = 8
[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
[compile]
enable = true
[metrics]
log_freq = 10
[experimental_engine]
turbo = true
"""
TRAINER = {
    "model_name_or_path": "Llama3_8B",
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "max_seq_length": 4096,
    "bf16": True,
    "torch_dtype": "bfloat16",
    "gradient_checkpointing": True,
    "learning_rate": 2e-5,
}
OFFLOADED = {"deepspeed": {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}}


def _said(recipe):
    found = {name: recipe.arguments[name].value for name in recipe.arguments}
    return {name: {"yes": True, "no": False}.get(value, value) for name, value in found.items()}


class TestMegatron:
    def test_defaults_are_those_of_megatron(self):
        run = from_megatron_config(GPT, accelerators=8)
        shape = {name: value.value for name, value in run.model.values().items()}
        assert shape | {"ffn_dim": 2048, "vocab_size": 50_257, "learned_positions": 1024, "head_dim": 64} == shape
        flags = ("tied_embeddings", "qkv_bias", "mlp_bias", "attention_output_bias", "norm_bias")
        assert all(shape[name] == 1 for name in flags)
        assert shape["gated"] == shape["qk_norm"] == 0
        said = _said(run)
        assert said["gradient_dtype"] == "fp32"
        assert (said["dropout_mask_bytes"], said["loaded_mask"], said["loss_kernel"]) == (1, True, "megatron")
        assert (said["zero_stage"], said["batch_size"], said["gradient_accumulation_steps"]) == (0, 32, 1)
        assert (said["vocab_multiple"], said["activation_checkpointing"]) == (128, "none")
        assert run.stack.key == "Megatron_LM"
        assert run.not_read == ()
        assert MEMORY.solve(recipe=run, hardware="A100").dp_size == 8

    def test_it_is_an_argument_by_itself(self):
        run = from_megatron_config(GPT, accelerators=8)
        asked = MEMORY.solve(**run, hardware="A100")
        assert asked.total_memory == MEMORY.solve(recipe=run, hardware="A100").total_memory
        with pytest.raises(KeyError):
            run["model"]

    @pytest.mark.parametrize(("device", "mebibytes"), [("A100", 20.25), ("H100", 96), ("GB200", 48.25), ("H200", 96)])
    def test_workspaces_by_device(self, device, mebibytes):
        said = _said(from_megatron_config(GPT, accelerators=8, hardware=device))["workspace"]
        assert said == pytest.approx(mebibytes * 2**20 / 1e9, rel=1e-5)

    def test_the_form_of_swiglu_and_latent_attention(self):
        run = from_megatron_config(
            {**GPT, "swiglu": True, "multi-latent-attention": True, "q-lora-rank": 192, "normalization": "RMSNorm"}
        )
        assert run.model.ffn_dim.value == 64 * (8 * 512 // 3 // 64)
        assert (run.model.kv_lora_rank.value, run.model.head_dim.value, run.model.v_head_dim.value) == (512, 192, 128)
        assert run.model.norm_bias.value == 0

    @pytest.mark.parametrize(
        ("more", "name", "value"),
        [
            ({"use-distributed-optimizer": True}, "zero_stage", 1),
            ({"grad-reduce-in-bf16": True}, "gradient_dtype", "bf16"),
            ({"bf16": False, "fp16": True}, "gradient_dtype", "both"),
            ({"cross-entropy-loss-fusion": True}, "loss_kernel", "megatron_fused"),
            ({"attention-backend": "unfused"}, "attention_kernel", "unfused"),
            ({"attention-backend": "local"}, "attention_kernel", "unfused"),
            ({"attention-backend": "flash"}, "attention_kernel", "flash_te"),
            ({"no-create-attention-mask-in-dataloader": True}, "loaded_mask", False),
            ({"fp32-residual-connection": True}, "residual_dtype", "fp32"),
            ({"wgrad-deferral-limit": 2}, "deferred_head_gradients", 2),
            ({"defer-embedding-wgrad-compute": True, "pipeline-model-parallel-size": 2}, "deferred_head_gradients", 2),
            ({"recompute-granularity": "full", "recompute-method": "uniform"}, "activation_checkpointing", "full"),
            ({"recompute-granularity": "selective", "recompute-modules": "[core_attn, layernorm]"},
             "recompute_layernorm", True),
            ({"pipeline-model-parallel-size": 4, "num-layers-per-virtual-pipeline-stage": 1}, "interleaved_stages", 3),
            ({"pipeline-model-parallel-size": 2, "pipeline-model-parallel-layout": "Et*2|(tt|)*5t|tmL"},
             "interleaved_stages", 4),
            ({"pipeline-model-parallel-size": 2, "account-for-embedding-in-pipeline-split": True,
              "account-for-loss-in-pipeline-split": True}, "layers_last_stage", 6),
            ({"optimizer": "dist_muon"}, "optimizer", "muon"),
            ({"make-vocab-size-divisible-by": 64}, "vocab_multiple", 64),
            ({"decoder-first-pipeline-num-layers": 2, "pipeline-model-parallel-size": 2}, "layers_first_stage", 2),
        ],
    )  # fmt: skip
    def test_options_and_what_they_become(self, more, name, value):
        assert _said(from_megatron_config({**GPT, **more}, accelerators=8))[name] == value

    def test_the_vocabulary_of_a_tokenizer(self):
        for more, size in (
            ({"tokenizer-type": "NullTokenizer", "vocab-size": 131_072}, 131_073),
            ({"tokenizer-type": "TikTokenizer", "tokenizer-model": "/data/nemotron_2_256k.json"}, 256_000),
            ({"tokenizer-type": "BertWordPieceCase"}, 28_996),
        ):
            assert from_megatron_config({**GPT, **more}).model.vocab_size.value == size

    def test_experts(self):
        run = from_megatron_config({**MOE, "moe-layer-freq": "([0]*3+[1]*9)"}, accelerators=8, hardware="H100")
        assert (run.model.moe_layers.value, run.model.active_experts_per_token.value) == (9, 2)
        said = _said(run)
        assert (said["ep_size"], said["etp_size"], said["routing_weights"]) == (2, 1, "in_activation")
        assert said["workspace"] == pytest.approx((64 + 5 * 32) * 2**20 / 1e9, rel=1e-5)
        assert (said["token_dispatcher"], said.get("dispatcher"), run.not_read) == ("allgather", None, ())
        other = from_megatron_config({**MOE, "moe-token-dispatcher-type": "flex"}, accelerators=8)
        assert other.not_read == ("moe-token-dispatcher-type = flex (its buffers are not counted)",)
        assert _said(other)["dispatcher"] == "fused"
        sends = from_megatron_config({**MOE, "moe-token-dispatcher-type": "alltoall"}, accelerators=8)
        assert _said(sends)["dispatcher"] == "all_to_all"
        assert MEMORY.solve(recipe=run).total_memory
        assert from_megatron_config({**MOE, "moe-layer-freq": 2}).model.moe_layers.value == 6

    def test_what_no_argument_expresses_is_named_and_the_rest_is_not(self):
        more = {"cuda-graph-impl": "local", "use-megatron-fsdp": True, "tp-comm-overlap": True, "lr": 1e-4, "seed": 7}
        more |= {"data-path": "/data", "data-parallel-sharding-strategy": "optim", "no-masked-softmax-fusion": True}
        off = {"enable-cuda-graph": False, "export-kd-cfg": None, "save-interval": 50}
        run = from_megatron_config({**GPT, **more, **off}, accelerators=8)
        assert run.not_read == (
            "cuda-graph-impl", "data-parallel-sharding-strategy", "no-masked-softmax-fusion", "tp-comm-overlap",
            "use-megatron-fsdp",
        )  # fmt: skip
        notes = MEMORY.solve(recipe=run, hardware="A100").notes
        assert f"of a run of Megatron-LM is not read: {', '.join(run.not_read)}" in notes

    def test_a_file_of_yaml_and_a_command_line_say_the_same(self, tmp_path):
        rows = [f"  --{name}: {str(value).lower() if value is True else value}" for name, value in GPT.items()]
        yaml = tmp_path / "model_config.yaml"
        yaml.write_text("ENV_VARS:\n  CUBLAS_WORKSPACE_CONFIG: :4096:8\nMODEL_ARGS:\n" + "\n".join(rows))
        words = [f"--{name}" + ("" if value is True else f" {value}") for name, value in GPT.items()]
        shell = tmp_path / "run.sh"
        shell.write_text("export CUBLAS_WORKSPACE_CONFIG=:4096:8\ntorchrun pretrain_gpt.py \\\n" + " \\\n".join(words))
        first, second = (from_megatron_config(each, accelerators=8, hardware="A100") for each in (yaml, shell))
        assert _said(first) == _said(second)
        assert first.model.values().keys() == second.model.values().keys()
        assert _said(first)["workspace"] == pytest.approx((64 + 4) * 2**20 / 1e9, rel=1e-5)
        nested = {"MODEL_ARGS": GPT, "ENV_VARS": {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}}
        assert _said(from_megatron_config(nested, accelerators=8, hardware="A100")) == _said(first)

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"num-layers": None}, "num-layers is missing"),
            ({"num-layers": "many"}, "num-layers: 'many' is not a number"),
            ({"hidden-size": 0.5}, "hidden-size: 0.5 is not a whole number >= 1"),
            ({"tokenizer-type": "HuggingFaceTokenizer"}, "vocab-size is missing"),
            ({"attention-backend": "flsh"}, "did you mean flash"),
            ({"optimizer": "adagrad"}, "optimizer"),
            ({"global-batch-size": 33}, "global-batch-size 33 is no multiple of micro-batch-size 4 times 8"),
            ({"tensor-model-parallel-size": 3}, "8 accelerators are no multiple of its 3 model-parallel ranks"),
            ({"num-experts": 8, "moe-layer-freq": "[1]*3"}, "a pattern of 3 layers for 12"),
            ({"num-experts": 8, "moe-layer-freq": "__import__('os')"}, "neither a number nor a pattern"),
            ({"num-experts": 8, "moe-layer-freq": 0}, "'0' is neither a number nor a pattern"),
            ({"bf16": "$MORE_ARGS"}, "bf16: '$MORE_ARGS' is neither true nor false"),
            ({"micro-batch-size": True}, "micro-batch-size: True is not a number"),
            ({"num-layers-per-virtual-pipeline-stage": 5}, "5 times 1 stages do not divide 12 layers"),
        ],
    )
    def test_bad_options_are_named(self, more, said):
        with pytest.raises(MlsysimError) as refused:
            from_megatron_config({**GPT, **more}, accelerators=8)
        assert said in str(refused.value)

    def test_arrays_of_a_script_end_an_option(self, tmp_path):
        script = tmp_path / "run.sh"
        options = [f"    --{name}{'' if value is True else f' {value}'}" for name, value in GPT.items()]
        script.write_text(
            "\n".join(["MODEL_ARGS=(", *options, ")", "torchrun pretrain_gpt.py --bf16 ${MODEL_ARGS[@]}"])
        )
        assert _said(from_megatron_config(script))["precision"] == "bf16"

    def test_devices_are_asked_for_where_no_option_says_them(self):
        run = from_megatron_config({**GPT, "tensor-model-parallel-size": 2})
        assert _said(run)["fleet_size"] == 2
        assert run.not_read == ("accelerators (no option says how many: 2, the fewest that its layout takes)",)


class TestTorchtitan:
    def test_a_job(self, tmp_path):
        file = tmp_path / "llama3_8b.toml"
        file.write_text(TITAN)
        run = from_torchtitan_toml(file, hardware="H100")
        said = _said(run)
        assert run.model is builtin().find("model", "Llama3_1_8B")
        assert (said["fleet_size"], said["batch_size"], said["zero_stage"], said["seq_len"]) == (8, 8, 3, 8192)
        assert (said["loss_kernel"], said["elementwise_kernels"], said["update_buffer"]) == (
            "compiled",
            "fused",
            "fused",
        )
        assert (said["weight_dtype"], said["gradient_dtype"]) == ("fp32", "fp32")
        assert (said["activation_checkpointing"], said["selective_policy"]) == ("selective", "alternate_matmuls")
        assert run.not_read == ("experimental_engine.turbo",)
        assert MEMORY.solve(recipe=run).dp_size == 8
        links = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us"}
        assert DistributedModel().solve(recipe=run, **links).step_time

    def test_other_degrees_and_devices_that_nobody_says(self):
        job = {"model": {"name": "llama3", "flavor": "70B"}, "parallelism": {"tensor_parallel_degree": 8}}
        run = from_torchtitan_toml(job, accelerators=64)
        assert (_said(run)["tp_size"], _said(run)["sequence_parallel"], _said(run)["batch_size"]) == (8, True, 64)
        assert "data_parallel_shard_degree takes all there are" in from_torchtitan_toml(job).not_read[0]

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"model": {"name": "llama3", "flavor": "9B"}}, "'llama3 9B' has no entry; give model=..."),
            ({"training": {"seq_len": "long"}}, "training.seq_len: 'long' is not a number"),
            ({"optimizer": {"implementation": "quick"}}, "optimizer.implementation"),
            ({"training": {"global_batch_size": 3}}, "training.global_batch_size 3 is no multiple of"),
            ({"parallelism": {"data_parallel_shard_degree": 4}}, "its parallel degrees are of 4 accelerators, not 8"),
            ({"parallelism": {"fsdp_reshard_after_forward": "nver"}}, "did you mean never?"),
            ({"compile": {"enable": "yess"}}, "compile.enable: 'yess' is neither true nor false"),
        ],
    )
    def test_bad_jobs_are_named(self, more, said):
        with pytest.raises(CatalogError) as refused:
            from_torchtitan_toml({"model": {"name": "llama3", "flavor": "8B"}, **more}, accelerators=8)
        assert said in str(refused.value)

    def test_a_file_that_is_none(self, tmp_path):
        file = tmp_path / "job.toml"
        file.write_text("[model\n")
        with pytest.raises(CatalogError, match="not torchtitan"):
            from_torchtitan_toml(file)


class TestTrainer:
    def test_full_finetuning(self):
        run = from_trainer_arguments(TRAINER, hardware="A100")
        said = _said(run)
        assert (said["batch_size"], said["gradient_accumulation_steps"], said["seq_len"]) == (8, 4, 4096)
        assert (said["optimizer"], said["master_weights"], said["update_buffer"]) == ("adam_bf16", False, "foreach")
        assert (said["activation_checkpointing"], said["finetuning"]) == ("full", "full")
        assert run.not_read == ()
        assert MEMORY.solve(recipe=run).weights.to("GB").magnitude == pytest.approx(16.06, rel=1e-3)

    @pytest.mark.parametrize(
        ("more", "name", "value"),
        [
            ({"optim": "adamw_torch_fused"}, "update_buffer", "fused"),
            ({"optim": "paged_adamw_8bit"}, "optimizer_device", "host"),
            ({"optim": "adamw_bnb_8bit"}, "optimizer", "adam_8bit"),
            ({"use_liger_kernel": True}, "loss_kernel", "fused_linear"),
            ({"torch_compile": True}, "loss_kernel", "compiled"),
            ({"attn_implementation": "eager"}, "attention_kernel", "eager"),
            ({"fsdp": "full_shard auto_wrap"}, "zero_stage", 3),
            (OFFLOADED, "zero_stage", 2),
            (OFFLOADED, "optimizer_device", "host"),
            ({"use_peft": True, "lora_r": 16, "lora_target_modules": "q_proj k_proj v_proj o_proj"},
             "lora_target_modules", "attention"),
            ({"use_peft": True, "load_in_4bit": True}, "finetuning", "qlora"),
            ({"use_peft": True, "load_in_4bit": True}, "weight_dtype", "nf4"),
            ({"use_peft": True, "load_in_4bit": True}, "residual_dtype", "fp32"),
            ({"use_peft": True, "fsdp": "full_shard"}, "residual_dtype", "fp32"),
        ],
    )  # fmt: skip
    def test_arguments_and_what_they_become(self, more, name, value):
        run = from_trainer_arguments({**TRAINER, **more}, accelerators=4, hardware="A100")
        assert _said(run)[name] == value
        assert MEMORY.solve(recipe=run).total_memory

    def test_what_no_argument_expresses_is_named(self):
        more = {"galore_rank": 128, "fsdp": "full_shard offload", "torch_dtype": None, "model_name_or_path": "me/mine"}
        run = from_trainer_arguments({**TRAINER, **more}, model="Llama3_8B")
        assert [each.partition(" ")[0] for each in run.not_read] == ["torch_dtype", "fsdp", "galore_rank"]
        named = from_trainer_arguments({**TRAINER, "model_name_or_path": "me/mine"})
        assert named.not_read == ("model_name_or_path = me/mine (no entry: give model=...)",)
        with pytest.raises(MissingInputError, match=r"needs model: give model=.*; model_name_or_path = me/mine"):
            MEMORY.solve(recipe=named, hardware="A100")

    @pytest.mark.parametrize(
        ("named", "entry", "said"),
        [
            ("Qwen/Qwen3-8B", "Qwen3_8B", ()),
            ("mistralai/Mistral-7B-v0.1", "Mistral_7B", ()),
            ("/models/Llama-2-7b-hf", "Llama2_7B", ("Llama 2 7B",)),
            ("meta-llama/Meta-Llama-3-8B", "Llama3_8B", ("Llama 3 8B",)),
            ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama3_1_8B", ("Llama 3.1 8B",)),
            ("mistralai/Mistral-7B-Instruct-v0.1", "Mistral_7B", ("Mistral 7B v0.1",)),
        ],
    )
    def test_repositories_are_entries_and_copies_are_said(self, named, entry, said):
        run = from_trainer_arguments({**TRAINER, "model_name_or_path": named})
        assert run.model.key == entry
        assert run.not_read == tuple(f"model_name_or_path = {named} (taken as {each})" for each in said)

    @pytest.mark.parametrize("named", ["mistralai/Mistral-7B-v0.3", "me/base", "me/Llama", "x/Llama-3-8B-hfx"])
    def test_other_versions_are_no_entry(self, named):
        run = from_trainer_arguments({**TRAINER, "model_name_or_path": named})
        assert run.model is None
        assert run.not_read == (f"model_name_or_path = {named} (no entry: give model=...)",)

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"max_seq_length": None}, "no max_seq_length, max_length or cutoff_len; give seq_len=..."),
            ({"optim": "adam_torch"}, "did you mean adamw_torch"),
            ({"per_device_train_batch_size": 0}, "not a whole number >= 1"),
            ({"per_device_train_batch_size": "nan"}, "per_device_train_batch_size: 'nan' is not a number"),
            ({"max_seq_length": "long"}, "max_seq_length: 'long' is not a number"),
            ({"use_peft": True, "lora_r": "auto"}, "lora_r: 'auto' is not a number"),
            ({"gradient_checkpointing": "treu"}, "gradient_checkpointing: 'treu' is neither true nor false"),
            ({"torch_dtype": "bf17"}, "unknown torch_dtype 'bf17': did you mean bf16?"),
            ({"load_in_4bit": True}, "weights in 4 bit are trained by adapters alone"),
            ({"fsdp": "full_shrd auto_wrap"}, "unknown fsdp 'full_shrd': did you mean full_shard?"),
            (
                {"deepspeed": {"zero_optimization": {"stage": "auto"}}},
                "zero_optimization.stage: 'auto' is not a number",
            ),
            ({"deepspeed": {"zero_optimization": {"stage": 4}}}, "zero_optimization.stage: 4 is none of 0 to 3"),
        ],
    )
    def test_bad_arguments_are_named(self, more, said):
        with pytest.raises(MlsysimError) as refused:
            from_trainer_arguments({**TRAINER, **more})
        assert said in str(refused.value)

    def test_deepspeed_keeps_states_in_fp32_and_its_other_options_are_named(self):
        shards = {
            "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "stage3_prefetch_bucket_size": "auto"},
            "activation_checkpointing": {"cpu_checkpointing": True},
        }
        run = from_trainer_arguments({**TRAINER, "deepspeed": shards}, accelerators=8, hardware="A100")
        assert [each.rpartition(".")[2] for each in run.not_read] == ["cpu_checkpointing", "reduce_bucket_size"]
        found = MEMORY.solve(recipe=run)
        parameters = found.parameters_per_rank
        assert found.optimizer_state.to("byte").magnitude == pytest.approx(12 * parameters / 8)
        assert found.gradients.to("byte").magnitude == pytest.approx(6 * parameters / 8)

    def test_adapters_of_a_pattern_are_of_all_products(self):
        run = from_trainer_arguments({**TRAINER, "use_peft": True, "lora_target_modules": ".*"})
        assert _said(run)["lora_target_modules"] == "all_linear"

    def test_what_fsdp_is_told_beside_is_named(self):
        more = {"fsdp": ["full_shard"], "fsdp_config": {"fsdp_cpu_offload": True, "limit_all_gathers": True}}
        assert from_trainer_arguments({**TRAINER, **more}, accelerators=2).not_read == ("fsdp_config.cpu_offload",)


@pytest.mark.parametrize(
    ("read", "options"),
    [(from_megatron_config, GPT), (from_torchtitan_toml, {"model": {"name": "llama3", "flavor": "8B"}}),
     (from_trainer_arguments, TRAINER)],
)  # fmt: skip
def test_no_number_of_devices_and_no_file(read, options):
    for accelerators in (0, -8, 1.5, "some"):
        with pytest.raises(MlsysimError, match=r"accelerators: .* is not a"):
            read(options, accelerators=accelerators)
    with pytest.raises(MlsysimError, match="config=5: must be options"):
        read(5)


MEGATRON_LINE = "torchrun pretrain_gpt.py " + " ".join(f"--{name} {value}" for name, value in GPT.items())


class TestFiles:
    """The framework of a file is told by its options, not by its ending."""

    @pytest.mark.parametrize(
        ("name", "text", "stack"),
        [
            ("run.yaml", "per_device_train_batch_size: 2\nmax_seq_length: 2048\nbf16: true\n", "HF_Trainer"),
            ("run.sh", "python train.py --model_name_or_path Llama3_8B --max_seq_length 2048\n", "HF_Trainer"),
            ("run.json", '{"max_length": 512}', "HF_Trainer"),
            ("run.toml", '{"per_device_train_batch_size": 2, "max_length": 512}', "HF_Trainer"),
            ("run.yaml", '{"per_device_train_batch_size": 2,\n "max_length": 512}', "HF_Trainer"),
            ("run.sh", "per_device_train_batch_size: 2\nmax_length: 512\n", "HF_Trainer"),
            ("run.sh", MEGATRON_LINE, "Megatron_LM"),
        ],
    )
    def test_told_by_options(self, tmp_path, name, text, stack):
        file = tmp_path / name
        file.write_text(text)
        found = from_file(str(file))
        assert found.stack == stack or found.stack.key == stack

    @pytest.mark.parametrize(
        ("name", "text", "framework"),
        [
            ("run.yaml", "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n", "torchtune"),
            ("run.yml", "base_model: Llama3_8B\nmicro_batch_size: 2\n", "axolotl"),
            ("ds.json", '{\n "zero_optimization": {"stage": 2}\n}', "DeepSpeed"),
        ],
    )
    def test_a_framework_that_is_not_read_is_named(self, tmp_path, name, text, framework):
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(CatalogError, match=f"{name}: a run of {framework}, which is not read.*read are options of"):
            from_file(str(file))

    def test_a_file_of_nobody(self, tmp_path):
        file = tmp_path / "run.yaml"
        file.write_text("colour: blue\n")
        with pytest.raises(CatalogError, match="not known as a run of any framework; read are"):
            from_file(str(file))

    def test_the_command_line_reads_a_run_of_a_trainer_in_yaml(self, tmp_path):
        file = tmp_path / "run.yaml"
        file.write_text("per_device_train_batch_size: 2\nmax_seq_length: 2048\nbf16: true\n")
        found = TrainingMemoryModel("per_operator").solve(recipe=str(file), model="Llama3_8B", hardware="A100")
        assert (found.seq_len.magnitude, found.batch_size, found.gradients_at_loss) == (2048, 2, False)


@pytest.mark.parametrize(("staged", "steps"), [({}, 8), ({"pipeline_parallel_microbatch_size": 2}, 4)])
def test_a_pipeline_of_torchtitan_cuts_the_local_batch_into_micro_batches(staged, steps):
    job = {
        "training": {"local_batch_size": 8, "seq_len": 4096},
        "parallelism": {"pipeline_parallel_degree": 2, "data_parallel_shard_degree": 4, **staged},
    }
    run = from_torchtitan_toml(job, model="Llama3_8B")
    assert run.arguments["batch_size"].value == 32
    assert run.arguments["gradient_accumulation_steps"].value == steps
    with pytest.raises(CatalogError, match="local_batch_size 8 is no multiple of 3"):
        from_torchtitan_toml({**job, "parallelism": {**job["parallelism"], "pipeline_parallel_microbatch_size": 3}},
                             model="Llama3_8B")  # fmt: skip
