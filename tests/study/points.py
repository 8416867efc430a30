"""A point that is accepted for every model and variant."""

TRAINING = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "precision": "bf16"}
LAYOUT = {"tp_size": 2, "pp_size": 2, "gradient_accumulation_steps": 4, "interleaved_stages": 2}
NETWORK = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "fleet_size": 16}
SAVED = {"placement_time": 60, "storage_bandwidth": "100 GB/s", "spare_nodes": 1}
SERVING = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000, "max_batch_size": 16}
ROUTING = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}
ENGINE = {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "seq_len": 1024}
ADAPTERS = {"num_loras": 40, "lora_zipf": 0.9, "max_loras": 30, "lora_layer_tax": 0.01}
SPREAD = {"dp_attention_size": 2, "ep_size": 4, "two_batch_overlap": True}
DEPLOYED = {name: value for name, value in ENGINE.items() if name != "seq_len"} | {
    "request_rate": 20,
    "isl": 1024,
    "max_num_seqs": 24,
}
PROMISED = {"ttft_slo": 500, "tpot_slo": 40}
FLEET = {"accelerators": 8, "run_tokens": 1e12}
PRICE = {"price": 30000, "tdp": 700}
RENTAL = {"rental_price": 2, "tdp": 700}
ON_DESIGN = {name: value for name, value in TRAINING.items() if name != "hardware"} | {"design": "GH200"}
STUDY = {"model": "DeepSpeedMoE_24B_MoE_128", "design": "GH200"}
SERVED = {**DEPLOYED, **PROMISED, "design": "GH200"}
del SERVED["hardware"]
PRODUCT = {"hardware": "H100", "product_rows": 1000, "product_columns": 8192, "product_inner": 4096, "precision": "fp8"}
GROUP = {"fleet": "SuperPOD_H100", "collective_ranks": 16}
TOKENS = {"tokens_per_rank": 512, "hidden_dim": 7168, "active_experts_per_token": 8}
SAVED = {"placement_time": 60, "storage_bandwidth": "100 GB/s"}
RENTED = {**SAVED, "rental_price": 2}
RUN = {"training_time": 48.6, "fleet_size": 16384, "accelerators_per_node": 8}
STALLED = {"placement_time": 60, "save_stall": 60, "load_time": 130}
REPLICAS = {"elastic_stall": 180, "away_time": 900}
SAMPLES = {
    **{name: TRAINING[name] for name in ("model", "hardware", "precision")},
    "fleet_size": 64,
    "num_prompts": 64,
    "num_generations": 16,
    "prompt_len": 200,
    "mean_response_length": 1500,
    "max_response_length": 4000,
    "optimizer_steps": 2,
    "rollout_tp_size": 4,
    "tp_size": 2,
    "pp_size": 2,
    "ep_size": 2,
    "zero_stage": 1,
}
POINTS = {
    ("ParameterCountModel", "counted"): {"model": "DeepSeek_V3"},
    ("TrainingMemoryModel", "first_order"): {**TRAINING, "tp_size": 2, "dp_size": 4, "ep_size": 1},
    ("TrainingMemoryModel", "korthikanti"): {**TRAINING, **LAYOUT, "dp_size": 4, "ep_size": 1},
    ("TrainingMemoryModel", "per_operator"): {**TRAINING, **LAYOUT, "dp_size": 4, "ep_size": 2},
    ("ServingCapacityModel", "first_order"): SERVING,
    ("ServingCapacityModel", "prefill_aware"): SERVING,
    ("IterationModel", "iteration"): {
        **ENGINE,
        **SPREAD,
        **ADAPTERS,
        "decode_requests": 16,
        "context_tokens": 2000,
        "prompts": 8,
    },
    ("IterationModel", "saturated"): {**ENGINE, "output_tokens": 512},
    ("IterationModel", "capped"): {**ENGINE, "decode_requests": 20, "prompts": 1, "power_limit": 400},
    ("IterationModel", "static"): {**ENGINE, "output_tokens": 512, "decode_requests": 20, "sent_one_by_one": True},
    ("ServingModel", "colocated"): {**DEPLOYED, **PROMISED, **RENTAL, **ADAPTERS},
    ("ServingModel", "disaggregated"): {
        **DEPLOYED,
        **PROMISED,
        **RENTAL,
        "decode_workers": 2,
        "pp_size": 2,
        "prefill_tp_size": 4,
        "prefill_pp_size": 1,
    },
    ("ServingModel", "chunked"): {**DEPLOYED, **PROMISED, "rental_price": 2},
    ("ServingModel", "chunked_estimate"): {**DEPLOYED, **PROMISED, "rental_price": 2, "max_num_batched_tokens": 2048},
    ("MoERoutingModel", "first_order"): ROUTING,
    ("MoERoutingModel", "per_layer"): ROUTING,
    ("DistributedModel", "per_operator"): {**TRAINING, **LAYOUT, **NETWORK},
    **{
        ("PostTrainingModel", kind): SAMPLES
        for kind in ("colocated", "disaggregated", "one_step_off", "fully_asynchronous")
    },
    ("DistributedModel", "load_line"): {**TRAINING, **LAYOUT, **NETWORK},
    ("ExpertParallelModel", "fsdp"): {**TRAINING, **LAYOUT, **NETWORK, "zero_stage": 3, "ep_size": 2},
    ("ExpertParallelModel", "per_operator"): {**TRAINING, **LAYOUT, **NETWORK, "ep_size": 2},
    ("RunModel", "overlapped"): {**TRAINING, **LAYOUT, **NETWORK, **RENTED},
    ("RunModel", "blocking"): {**TRAINING, **LAYOUT, **NETWORK, **RENTED},
    ("RunModel", "two_level"): {**TRAINING, **LAYOUT, **NETWORK, **RENTED},
    ("RunModel", "elastic"): {**TRAINING, **LAYOUT, **NETWORK, **REPLICAS, "rental_price": 2},
    ("RunModel", "given"): {**RUN, **STALLED},
    ("RunModel", "given_overlapped"): {**RUN, **RENTED, "save_bytes": "5.67 TB"},
    ("RunModel", "given_blocking"): {**RUN, **RENTED, "save_bytes": "5.67 TB"},
    ("RunModel", "given_two_level"): {**RUN, **STALLED, "memory_save_stall": 0.6},
    ("RunModel", "given_elastic"): {**RUN, **REPLICAS, "elastic_replicas": 48},
    ("EconomicsModel", "owned_training"): {**TRAINING, **LAYOUT, **NETWORK, **PRICE},
    ("EconomicsModel", "rented_training"): {**TRAINING, **LAYOUT, **NETWORK, **RENTAL},
    ("EconomicsModel", "owned_serving"): {**SERVING, **PRICE},
    ("EconomicsModel", "rented_serving"): {**SERVING, **RENTAL},
    ("EconomicsModel", "owned_deployment"): {**DEPLOYED, **PROMISED, **PRICE},
    ("EconomicsModel", "rented_deployment"): {**DEPLOYED, **PROMISED, **RENTAL},
    ("EconomicsModel", "owned_disaggregated_deployment"): {**DEPLOYED, **PROMISED, **PRICE},
    ("EconomicsModel", "rented_disaggregated_deployment"): {**DEPLOYED, **PROMISED, **RENTAL},
    ("EconomicsModel", "owned_chunked_deployment"): {**DEPLOYED, **PROMISED, **PRICE},
    ("EconomicsModel", "rented_chunked_deployment"): {**DEPLOYED, **PROMISED, **RENTAL},
    ("EconomicsModel", "owned_chunked_deployment_estimate"): {**DEPLOYED, **PROMISED, **PRICE},
    ("EconomicsModel", "rented_chunked_deployment_estimate"): {**DEPLOYED, **PROMISED, **RENTAL},
    ("EconomicsModel", "owned_run"): {**TRAINING, **LAYOUT, **NETWORK, **SAVED, **PRICE},
    ("EconomicsModel", "rented_run"): {**TRAINING, **LAYOUT, **NETWORK, **SAVED, **RENTAL},
    ("EconomicsModel", "owned_post_training"): {**SAMPLES, **PRICE},
    ("EconomicsModel", "rented_post_training"): {**SAMPLES, **RENTAL},
    ("EconomicsModel", "owned_fleet"): {"hardware": "H100", **FLEET, **PRICE},
    ("EconomicsModel", "rented_fleet"): {"hardware": "H100", **FLEET, **RENTAL},
    ("EconomicsModel", "owned_fleet_load_line"): {"hardware": "H100", **FLEET, **PRICE},
    ("EconomicsModel", "rented_fleet_load_line"): {"hardware": "H100", **FLEET, **RENTAL},
    ("MemoryExpansionModel", "by_policy"): STUDY,
    ("MemoryExpansionModel", "by_share"): STUDY,
    ("MemoryExpansionModel", "offloaded_training"): {**ON_DESIGN, **LAYOUT, **NETWORK},
    ("MemoryExpansionModel", "offloaded_by_share"): {**ON_DESIGN, **LAYOUT, **NETWORK},
    ("MemoryExpansionModel", "serving"): SERVED,
    ("MemoryExpansionModel", "disaggregated_serving"): SERVED,
    ("MemoryExpansionModel", "chunked_serving"): SERVED,
    ("MemoryExpansionModel", "chunked_serving_estimate"): SERVED,
    ("KernelModel", "waves"): PRODUCT,
    ("KernelModel", "smooth"): PRODUCT,
    ("KernelModel", "roofline"): PRODUCT,
    ("KernelModel", "elementwise"): {"hardware": "H100", "kernel_bytes": "100 MB"},
    ("KernelModel", "attention"): {"hardware": "H100", "seq_len": 4096, "heads": 32, "head_dim": 128},
    **{
        ("CollectiveModel", kind): {**GROUP, "message_bytes": "64 MiB"}
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    },
    **{
        ("CollectiveModel", kind): {**GROUP, **TOKENS}
        for kind in ("dispatch", "combine", "low_latency_dispatch", "low_latency_combine")
    },
}
#: Points that are roots within roots.
DEPLOYMENTS = {
    *(case for case in POINTS if case[0] == "ServingModel" or "deployment" in case[1]),
    *(case for case in POINTS if case[0] == "MemoryExpansionModel" and "serving" in case[1]),
}
#: Those among them that are read off a Markov chain.
CHAINS = {case for case in DEPLOYMENTS if "chunked" in case[1] and "estimate" not in case[1]}
