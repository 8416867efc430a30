"""Printed by tests/type_stubs.py: what editors know of models, results and the catalog."""

from typing import Any, TypedDict, Unpack

import xarray
from pint import Quantity

from mlsysim import catalog as _catalog
from mlsysim.study.searches.designs import Designs as _Designs
from mlsysim.study.function import PureFunction as _PureFunction

from mlsysim.catalog import Accelerator as Accelerator
from mlsysim.catalog import Catalog as Catalog
from mlsysim.catalog import Fabric as Fabric
from mlsysim.catalog import Failures as Failures
from mlsysim.catalog import Fleet as Fleet
from mlsysim.catalog import Grid as Grid
from mlsysim.catalog import MemoryDesign as MemoryDesign
from mlsysim.catalog import MemoryKind as MemoryKind
from mlsysim.catalog import Recipe as Recipe
from mlsysim.catalog import Rent as Rent
from mlsysim.catalog import Node as Node
from mlsysim.catalog import SparseTransformerWorkload as SparseTransformerWorkload
from mlsysim.catalog import Storage as Storage
from mlsysim.catalog import Traffic as Traffic
from mlsysim.catalog import TransformerWorkload as TransformerWorkload
from mlsysim.catalog.run_configs import from_megatron_config as from_megatron_config
from mlsysim.catalog.run_configs import from_torchtitan_toml as from_torchtitan_toml
from mlsysim.catalog.run_configs import from_trainer_arguments as from_trainer_arguments
from mlsysim.catalog import load_catalog as load_catalog
from mlsysim.models import CollectiveModel as _CollectiveModel
from mlsysim.models import DistributedModel as _DistributedModel
from mlsysim.models import EconomicsModel as _EconomicsModel
from mlsysim.models import ExpertParallelModel as _ExpertParallelModel
from mlsysim.models import KernelModel as _KernelModel
from mlsysim.models.memory_expansion import MemoryExpansionModel as _MemoryExpansionModel
from mlsysim.models import IterationModel as _IterationModel
from mlsysim.models import MoERoutingModel as _MoERoutingModel
from mlsysim.models import ParameterCountModel as _ParameterCountModel
from mlsysim.models import PerformanceModel as PerformanceModel
from mlsysim.models import RunModel as _RunModel
from mlsysim.models import PostTrainingModel as _PostTrainingModel
from mlsysim.study.results.result import Result as Result
from mlsysim.simulation.outcome import Simulation as Simulation
from mlsysim.study.inverse.solution import Solution as Solution
from mlsysim.models import ServingCapacityModel as _ServingCapacityModel
from mlsysim.models import ServingModel as _ServingModel
from mlsysim.models import TrainingMemoryModel as _TrainingMemoryModel
from mlsysim.study.results.comparison import compare as compare
from mlsysim.study.uncertainties import distributions as distributions
from mlsysim.inputs.slot import Slot as Slot
from mlsysim.inputs.variant import Variant as Variant
from mlsysim.symbolic import swapped as swapped
from mlsysim.inputs.axes import derived as derived
from mlsysim.inputs.axes import linked as linked
from mlsysim.references import Reference as Reference
from mlsysim.references import add_reference as add_reference
from mlsysim.study.routing_log import dropped_tokens as dropped_tokens
from mlsysim.study.routing_log import expert_loads as expert_loads
from mlsysim.study.routing_log import routing_imbalance as routing_imbalance
from mlsysim.symbolic import Example as Example
from mlsysim.symbolic import Formula as Formula
from mlsysim.symbolic import Index as Index
from mlsysim.symbolic import LeastInteger as LeastInteger
from mlsysim.symbolic import Requirement as Requirement
from mlsysim.symbolic import Root as Root
from mlsysim.symbolic import Source as Source
from mlsysim.symbolic import System as System
from mlsysim.symbolic import UnitSymbol as UnitSymbol
from mlsysim.symbolic import at_least as at_least
from mlsysim.symbolic import between as between
from mlsysim.symbolic import boolean as boolean
from mlsysim.symbolic import by_label as by_label
from mlsysim.symbolic import by_member as by_member
from mlsysim.symbolic import byte as byte
from mlsysim.symbolic import choice as choice
from mlsysim.symbolic import evaluated_at as evaluated_at
from mlsysim.symbolic import family as family
from mlsysim.symbolic import flag as flag
from mlsysim.symbolic import flop as flop
from mlsysim.symbolic import integer as integer
from mlsysim.symbolic import label as label
from mlsysim.symbolic import nonnegative as nonnegative
from mlsysim.symbolic import positive as positive
from mlsysim.symbolic import request as request
from mlsysim.symbolic import sharded as sharded
from mlsysim.symbolic import token as token
from mlsysim.symbolic import total as total
from mlsysim.symbolic import variable as variable
from mlsysim.symbolic import when as when
from mlsysim.advice.what_fits import what_fits as what_fits
from mlsysim.advice.fit_table import Fits as Fits
from mlsysim.advice.plans import Plans as Plans
from mlsysim.advice.plan import plan as plan
from mlsysim.advice.plan_training import plan_training as plan_training
from mlsysim.models.verify import verify as verify
from mlsysim.study.proofs.verification import Verification as Verification
from mlsysim.units import Q_ as Q_
from mlsysim.units import ureg as ureg

__all__ = ['Accelerator', 'Catalog', 'CollectiveModel', 'DistributedModel', 'EconomicsModel', 'Example', 'ExpertParallelModel', 'Fabric', 'Failures', 'Fits', 'Fleet', 'Formula', 'Grid', 'Hardware', 'Index', 'IterationModel', 'KernelModel', 'LeastInteger', 'MemoryDesign', 'MemoryExpansionModel', 'MemoryKind', 'MoERoutingModel', 'Models', 'Node', 'ParameterCountModel', 'PerformanceModel', 'Plans', 'PostTrainingModel', 'Q_', 'Recipe', 'Recipes', 'Reference', 'Rent', 'Requirement', 'Result', 'Root', 'RunModel', 'ServingCapacityModel', 'ServingModel', 'Simulation', 'Slot', 'Solution', 'Source', 'SparseTransformerWorkload', 'Stacks', 'Storage', 'System', 'Systems', 'Traffic', 'TrainingMemoryModel', 'TransformerWorkload', 'UnitSymbol', 'Variant', 'Verification', '__version__', 'add_reference', 'at_least', 'between', 'boolean', 'by_label', 'by_member', 'byte', 'choice', 'compare', 'derived', 'distributions', 'dropped_tokens', 'evaluated_at', 'expert_loads', 'family', 'flag', 'flop', 'from_megatron_config', 'from_torchtitan_toml', 'from_trainer_arguments', 'integer', 'label', 'linked', 'load_catalog', 'nonnegative', 'plan', 'plan_training', 'positive', 'request', 'routing_imbalance', 'sharded', 'swapped', 'token', 'total', 'ureg', 'variable', 'verify', 'what_fits', 'when']
__version__: str

class _ParameterCountInputs(TypedDict, total=False):
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
class _ParameterCountResult(Result):
    active_experts_per_token: float
    active_parameters: float
    attention_layers: float
    attention_output_bias: float
    attention_parameters: float
    attention_sinks: float
    block_norms: float
    blockless_layers: float
    compressed_attention_parameters: float
    compressed_layers: float
    conv_channels: float
    conv_kernel: float
    cross_layers: float
    embedding_dim: float
    embedding_parameters: float
    expert_bias: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_parameters: float
    experts: float
    ffn_dim: float
    ffn_parameters: float
    further_matrices: float
    further_vectors: float
    gate_width: float
    gated: float
    head_dim: float
    head_dim_in_window: float
    head_parameters: float
    heads: float
    heads_in_window: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    indexer_parameters: float
    kv_heads: float
    kv_heads_in_window: float
    kv_lora_rank: float
    layers: float
    learned_positions: float
    lookup_parameters: float
    mixer_parameters: float
    mixerless_layers: float
    mlp_bias: float
    moe_layers: float
    mtp_layers: float
    norm_bias: float
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    o_groups: float
    o_lora_rank: float
    parallel_layers: float
    parameters: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    reused_parameters: float
    router_bias: float
    router_parameters: float
    sandwich_norm: float
    shared_cache_layers: float
    shared_expert_parameters: float
    shared_ffn_dim: float
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    source_hidden_dim: float
    source_parameters: float
    source_projections: float
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_parameters: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    tied_embeddings: float
    unbounded_attention_layers: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vocab_size: float
class ParameterCountModel(_ParameterCountModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., **inputs: Unpack[_ParameterCountInputs]) -> _ParameterCountResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _ParameterCountResult: ...

class _TrainingMemoryInputs(TypedDict, total=False):
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    dp_size: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    stack: str | _catalog.Stack
    recipe: str | _catalog.Recipe
class _TrainingMemoryResult(Result):
    activation_bytes: Quantity[Any]
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activations: Quantity[Any]
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_parameters_per_rank: float
    adapter_weights: Quantity[Any]
    alternate_matmul_activation: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_kernel: str
    attention_layers: float
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_sinks: float
    attention_vectors_per_rank: float
    backward_buffer: Quantity[Any]
    batch_size: float
    binding_rank: str
    block_norms: float
    blockless_layers: float
    bytes_per_element: Quantity[Any]
    capacity_factor: float
    cast_weights: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_dtype: str
    context_memory: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    cp_size: float
    cross_layers: float
    deferred_head_gradients: float
    dense_layer_activation: Quantity[Any]
    dense_parameters_per_rank: float
    dp_replicate_size: float
    dp_size: float
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    edge_parameters_per_rank: float
    edp_ranks: float
    elementwise_kernels: str
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    end_activations: Quantity[Any]
    end_edge_parameters: float
    end_expert_parameters: float
    end_layers: float
    end_memory: Quantity[Any]
    end_parameters: float
    ep_size: float
    etp_ranks: float
    etp_size: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_edges_per_rank: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_vectors_per_rank: float
    experts: float
    feasible: bool
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    finetuning: str
    first_rank_memory: Quantity[Any]
    fit: str
    fit_probability: float
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    gradient_accumulation_steps: float
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_at_loss_bytes: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_memory: Quantity[Any]
    head_parameters: float
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    holds_first_stage: float
    holds_last_stage: float
    hot_rank_factor: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    indexer_parameters: float
    inner_bytes: Quantity[Any]
    interleaved_stages: float
    kept_beside_ffn: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    last_rank_memory: Quantity[Any]
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_input: Quantity[Any]
    layer_memory: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    least_dropped_share: float
    loaded_mask: float
    local_micro_batch: float
    logit_bytes: Quantity[Any]
    lookup_parameters: float
    lora_rank: float
    lora_target_modules: str
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_memory: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matrix_edges_per_rank: float
    mean_rank_factor: float
    memory_after_step: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_margin: Quantity[Any]
    memory_reading: str
    memory_spread: float
    memory_utilization: float
    micro_batch_tokens: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixerless_layers: float
    mlp_bias: float
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_interval: float
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    near_core_activation: Quantity[Any]
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    o_groups: float
    o_lora_rank: float
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_state: Quantity[Any]
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    parameters_per_rank: float
    peak_activations: Quantity[Any]
    peak_moment: str
    peak_rank: str
    pipeline_schedule: str
    plain_layers_of_rank: float
    pool_share: float
    pp_size: float
    precision: str
    product_bytes: Quantity[Any]
    product_input_bytes: Quantity[Any]
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    rank_memory: Quantity[Any]
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    reported_memory: Quantity[Any]
    reserved_memory: Quantity[Any]
    resident_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    reused_parameters: float
    routed_buffer: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    sandwich_norm: float
    saved_bytes: Quantity[Any]
    saved_dtype: str
    score_activation: Quantity[Any]
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    selective_policy: str
    seq_len: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    single_expert_edges_per_rank: float
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    source_hidden_dim: float
    source_parameters: float
    source_projections: float
    stage_activations: Quantity[Any]
    stages_per_rank: float
    state_chunk: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    tied_embeddings: float
    token_dispatcher: str
    total_memory: Quantity[Any]
    tp_size: float
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    trained_parameters_per_rank: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    up_projection_activation: Quantity[Any]
    update_buffer: str
    update_memory: Quantity[Any]
    usable_memory: Quantity[Any]
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gradient_share: float
    weights: Quantity[Any]
    workspace: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class TrainingMemoryModel(_TrainingMemoryModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **inputs: Unpack[_TrainingMemoryInputs]) -> _TrainingMemoryResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _TrainingMemoryResult: ...

class _ServingInputs(TypedDict, total=False):
    request_rate: float | str | Quantity[Any]
    concurrency: float | str | Quantity[Any]
    num_rounds: float | str | Quantity[Any]
    isl: float | str | Quantity[Any]
    osl: float | str | Quantity[Any]
    ttft_slo: float | str | Quantity[Any]
    tpot_slo: float | str | Quantity[Any]
    e2e_slo: float | str | Quantity[Any]
    slo_quantile: float | str | Quantity[Any]
    num_replicas: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    dp_attention_size: float | str | Quantity[Any]
    two_batch_overlap: bool | str
    num_redundant_experts: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    node_limit: float | str | Quantity[Any]
    dispatch_dtype: str
    combine_dtype: str
    max_num_seqs: float | str | Quantity[Any]
    max_num_batched_tokens: float | str | Quantity[Any]
    whole_prompts: bool | str
    precision: str
    weight_dtype: str
    compute_dtype: str
    kv_cache_dtype: str
    prefix_hit_rate: float | str | Quantity[Any]
    prefix_cache_memory: float | str | Quantity[Any]
    num_prefixes: float | str | Quantity[Any]
    prefix_len: float | str | Quantity[Any]
    prefix_zipf: float | str | Quantity[Any]
    num_loras: float | str | Quantity[Any]
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    lora_zipf: float | str | Quantity[Any]
    max_loras: float | str | Quantity[Any]
    lora_layer_tax: float | str | Quantity[Any]
    num_speculative_tokens: float | str | Quantity[Any]
    acceptance_rate: float | str | Quantity[Any]
    draft_cost: float | str | Quantity[Any]
    prefill_workers: float | str | Quantity[Any]
    decode_workers: float | str | Quantity[Any]
    kv_transfer_bandwidth: float | str | Quantity[Any]
    prefill_tp_size: float | str | Quantity[Any]
    prefill_pp_size: float | str | Quantity[Any]
    prefill_ep_size: float | str | Quantity[Any]
    prefill_dp_attention_size: float | str | Quantity[Any]
    isl_cv: float | str | Quantity[Any]
    osl_cv: float | str | Quantity[Any]
    burstiness: float | str | Quantity[Any]
    poll_interval: float | str | Quantity[Any]
    batch_wait: float | str | Quantity[Any]
    kv_page_size: float | str | Quantity[Any]
    attention_mask: str
    congestion_factor: float | str | Quantity[Any]
    images: float | str | Quantity[Any]
    duration: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_element_bytes: float | str | Quantity[Any]
    mixer_bytes: float | str | Quantity[Any]
    dense_bytes: float | str | Quantity[Any]
    expert_bytes: float | str | Quantity[Any]
    shared_expert_bytes: float | str | Quantity[Any]
    head_bytes: float | str | Quantity[Any]
    source_tokens: float | str | Quantity[Any]
    image_patches: float | str | Quantity[Any]
    source_token_flops: float | str | Quantity[Any]
    source_pair_flops: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    expert_efficiency: float | str | Quantity[Any]
    weight_only_expert_efficiency: float | str | Quantity[Any]
    memory_efficiency: float | str | Quantity[Any]
    expert_popularity: float | str | Quantity[Any]
    weight_read_efficiency: float | str | Quantity[Any]
    prefill_attention_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    moe_layer_tax: float | str | Quantity[Any]
    mla_layer_tax: float | str | Quantity[Any]
    index_layer_tax: float | str | Quantity[Any]
    host_layer_time: float | str | Quantity[Any]
    prompt_host_layer_time: float | str | Quantity[Any]
    prompt_host_mla_time: float | str | Quantity[Any]
    prompt_host_moe_time: float | str | Quantity[Any]
    iteration_overhead: float | str | Quantity[Any]
    worker_overhead: float | str | Quantity[Any]
    sequence_overhead: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    communication_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    busy_bandwidth_share: float | str | Quantity[Any]
    busy_peak_share: float | str | Quantity[Any]
    kernel_gap: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    frontend_time: float | str | Quantity[Any]
    frontend_token_time: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    rental_price: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    engine: str | _catalog.Engine
class _ServingResult(Result):
    accelerators: float
    accelerators_per_decode_worker: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_prefill_worker: float
    accelerators_per_replica: float
    accelerators_per_segment: float
    acceptance_rate: float
    activation_time: Quantity[Any]
    active_experts_per_token: float
    adapted_attention_edges: float
    added_prefill: Quantity[Any]
    allreduce_time: Quantity[Any]
    answer_crowding: float
    answer_steps: float
    answers_ended: float
    arrival_scv: float
    attention_edges_per_rank: float
    attention_flops: Quantity[Any]
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    average_power: Quantity[Any]
    bare_step_time: Quantity[Any]
    batch_seen: Quantity[Any]
    batch_variance: Quantity[Any]
    batch_wait: float
    best_num_speculative_tokens: float
    between_further_prompts: float
    between_gap_prompts: float
    between_gap_time: Quantity[Any]
    between_long_share: float
    between_prompts_cv: float
    between_stop_probability: float
    between_stopping_prompts: float
    bidirectional: float
    blockless_layers: float
    bulk_start: Quantity[Any]
    bunch_size: Quantity[Any]
    burst_prompts: float
    burst_stall: Quantity[Any]
    burstiness: float
    busy_bandwidth_share: float
    busy_peak_share: float
    busy_power: float
    busy_share: float
    busy_stages: float
    c10_log_rank: float
    c10_lora_log_rank: float
    c10_loras: float
    c10_other_lora_share: float
    c10_prefixes: float
    c11_log_rank: float
    c11_lora_log_rank: float
    c11_loras: float
    c11_other_lora_share: float
    c11_prefixes: float
    c12_log_rank: float
    c12_lora_log_rank: float
    c12_loras: float
    c12_other_lora_share: float
    c12_prefixes: float
    c13_log_rank: float
    c13_lora_log_rank: float
    c13_loras: float
    c13_other_lora_share: float
    c13_prefixes: float
    c14_log_rank: float
    c14_lora_log_rank: float
    c14_loras: float
    c14_other_lora_share: float
    c14_prefixes: float
    c1_log_rank: float
    c1_lora_log_rank: float
    c1_loras: float
    c1_other_lora_share: float
    c1_prefixes: float
    c2_log_rank: float
    c2_lora_log_rank: float
    c2_loras: float
    c2_other_lora_share: float
    c2_prefixes: float
    c3_log_rank: float
    c3_lora_log_rank: float
    c3_loras: float
    c3_other_lora_share: float
    c3_prefixes: float
    c4_log_rank: float
    c4_lora_log_rank: float
    c4_loras: float
    c4_other_lora_share: float
    c4_prefixes: float
    c5_log_rank: float
    c5_lora_log_rank: float
    c5_loras: float
    c5_other_lora_share: float
    c5_prefixes: float
    c6_log_rank: float
    c6_lora_log_rank: float
    c6_loras: float
    c6_other_lora_share: float
    c6_prefixes: float
    c7_log_rank: float
    c7_lora_log_rank: float
    c7_loras: float
    c7_other_lora_share: float
    c7_prefixes: float
    c8_log_rank: float
    c8_lora_log_rank: float
    c8_loras: float
    c8_other_lora_share: float
    c8_prefixes: float
    c9_log_rank: float
    c9_lora_log_rank: float
    c9_loras: float
    c9_other_lora_share: float
    c9_prefixes: float
    cache_bound_batch: Quantity[Any]
    cache_tokens_of_all_layers: Quantity[Any]
    cache_width: float
    cache_width_in_window: float
    cached_prefixes: float
    cached_prompt_share: float
    cap_exponent: float
    carbon: Quantity[Any]
    chunk_limit: Quantity[Any]
    chunked_attention: float
    cleared_tokens: Quantity[Any]
    cleared_variance: Quantity[Any]
    clearing_ratio: float
    clearing_share: float
    clearing_time: Quantity[Any]
    clock_stretch: float
    closed_batch: Quantity[Any]
    closed_context: Quantity[Any]
    closed_first: Quantity[Any]
    closed_slots: Quantity[Any]
    closed_stalls: Quantity[Any]
    closed_step: Quantity[Any]
    cohort_cycle: Quantity[Any]
    cohort_place_p50: Quantity[Any]
    cohort_place_p90: Quantity[Any]
    cohort_place_p99: Quantity[Any]
    cohort_rounds: float
    cohort_size: Quantity[Any]
    cohort_step: Quantity[Any]
    cohort_waiting: Quantity[Any]
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    colocated_goodput_per_accelerator: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_memory: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_bound_batch: Quantity[Any]
    compute_dtype: str
    computed_prompt_tokens: Quantity[Any]
    computed_time: Quantity[Any]
    concurrency: Quantity[Any]
    congestion_factor: float
    context_tokens: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    cost_per_hour: Quantity[Any]
    cost_per_input_token: Quantity[Any]
    cost_per_output_token: Quantity[Any]
    cost_per_token: Quantity[Any]
    counted_rate: Quantity[Any]
    cross_attention_flops: Quantity[Any]
    cross_layers: float
    decode_attention_flops: Quantity[Any]
    decode_attention_time: Quantity[Any]
    decode_batch: Quantity[Any]
    decode_batch_limit: Quantity[Any]
    decode_iteration_time: Quantity[Any]
    decode_rate_limit: Quantity[Any]
    decode_requests: Quantity[Any]
    decode_time: Quantity[Any]
    decode_workers: float
    delta_rule: float
    dense_bytes: Quantity[Any]
    dense_product_time: Quantity[Any]
    dense_weights_per_rank: float
    deployed_replicas: float
    device_power: Quantity[Any]
    device_time: Quantity[Any]
    direct_mesh: float
    disaggregation_gain: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    double_prompt_time: Quantity[Any]
    dp_attention_size: float
    draft_cost: float
    draft_time: Quantity[Any]
    driver_memory: Quantity[Any]
    duration: Quantity[Any]
    e2e_attainment: float
    e2e_mean: Quantity[Any]
    e2e_p50: Quantity[Any]
    e2e_p50_beyond: Quantity[Any]
    e2e_p90: Quantity[Any]
    e2e_p90_beyond: Quantity[Any]
    e2e_p99: Quantity[Any]
    e2e_p99_beyond: Quantity[Any]
    e2e_slo: Quantity[Any]
    efficiency: float
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    empty_share: float
    energy: Quantity[Any]
    energy_per_request: Quantity[Any]
    energy_per_token: Quantity[Any]
    engine_slots: Quantity[Any]
    entry_key_width: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_node_bandwidth: Quantity[Any]
    expert_bias: float
    expert_bytes: Quantity[Any]
    expert_efficiency: float
    expert_exchange_time: Quantity[Any]
    expert_ffn_dim: float
    expert_group_loras: float
    expert_group_tokens: Quantity[Any]
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_padding: Quantity[Any]
    expert_parameters: float
    expert_popularity: float
    expert_product_efficiency: float
    expert_product_time: Quantity[Any]
    expert_weight_bytes: Quantity[Any]
    expert_width_multiple: float
    experts: float
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    feasible: bool
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    first_further_prompts: float
    first_gap_prompts: float
    first_gap_time: Quantity[Any]
    first_long_share: float
    first_prompts_cv: float
    first_stall: Quantity[Any]
    first_stop_probability: float
    first_stopping_prompts: float
    first_token_correlation: float
    first_token_law: float
    first_token_skewness: float
    first_token_variance: Quantity[Any]
    flop_power: float
    flop_share: float
    followed_probability: float
    format_energy: float
    frontend_time: Quantity[Any]
    frontend_token_time: Quantity[Any]
    frontend_wait: Quantity[Any]
    full_batch: Quantity[Any]
    full_iteration_time: Quantity[Any]
    full_prompt_time: Quantity[Any]
    full_share: float
    full_share_of_answer: float
    full_slots_share: float
    full_time_seen: Quantity[Any]
    further_layer_time: Quantity[Any]
    further_matrices: float
    gate_width: float
    gated: float
    gathered_tokens: Quantity[Any]
    goodput: Quantity[Any]
    goodput_per_accelerator: Quantity[Any]
    gpu_memory_utilization: float
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    half_prompt_time: Quantity[Any]
    hardware_cost: Quantity[Any]
    head_bytes: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_time: Quantity[Any]
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    host_layer_time: Quantity[Any]
    host_power_fraction: float
    host_time: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    image_patches: Quantity[Any]
    images: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layer_tax: Quantity[Any]
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    isl: Quantity[Any]
    isl_cv: float
    iteration_bottleneck: str
    iteration_budget: Quantity[Any]
    iteration_loras: float
    iteration_mean: Quantity[Any]
    iteration_overhead: Quantity[Any]
    iteration_requests: float
    iteration_second_moment: Quantity[Any]
    iteration_time: Quantity[Any]
    iteration_tokens: Quantity[Any]
    itl_p99: Quantity[Any]
    kernel_gap: Quantity[Any]
    kernel_traffic: Quantity[Any]
    kv_bytes_per_token: Quantity[Any]
    kv_bytes_per_token_per_rank: Quantity[Any]
    kv_cache_bytes: Quantity[Any]
    kv_cache_dtype: str
    kv_cache_tokens: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_memory: Quantity[Any]
    kv_memory_fraction: float
    kv_page_size: Quantity[Any]
    kv_read_efficiency: float
    kv_read_stretch: float
    kv_transfer_bandwidth: Quantity[Any]
    kv_transfer_time: Quantity[Any]
    last_piece: Quantity[Any]
    last_piece_time: Quantity[Any]
    latency_skewness: float
    latency_third_cumulant: Quantity[Any]
    latency_variance: Quantity[Any]
    layer_tax: Quantity[Any]
    layers: float
    least_kv_transfer_bandwidth: Quantity[Any]
    left_tokens: Quantity[Any]
    lifetime: Quantity[Any]
    link_efficiency: float
    logit_weight_bytes: Quantity[Any]
    lone_tpot: Quantity[Any]
    longest_iteration_part: Quantity[Any]
    lookup_parameters: float
    loop_room: Quantity[Any]
    loop_step: Quantity[Any]
    loop_wait: Quantity[Any]
    lora_expert_pairs: float
    lora_expert_parameters: float
    lora_layer_tax: Quantity[Any]
    lora_memory: Quantity[Any]
    lora_parameters: float
    lora_parameters_per_rank: float
    lora_parameters_per_token: float
    lora_popularity_sum: float
    lora_rank: float
    lora_target_modules: str
    lora_time: Quantity[Any]
    lora_zipf: float
    lost_bunch_share: float
    low_latency_bandwidth: Quantity[Any]
    matched_goodput_per_accelerator: Quantity[Any]
    max_loras: float
    max_num_batched_tokens: Quantity[Any]
    max_num_seqs: Quantity[Any]
    mean_prompt_time: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    missed_iteration: Quantity[Any]
    mixer_bytes: Quantity[Any]
    mixer_matrix_elements: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixerless_layers: float
    mla_layer_tax: Quantity[Any]
    mlp_bias: float
    moe_layer_tax: Quantity[Any]
    moe_layers: float
    mtp_layers: float
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    nodes_per_token: float
    norm_bias: float
    num_loras: float
    num_prefixes: float
    num_redundant_experts: float
    num_replicas: float
    num_rounds: float
    num_speculative_tokens: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    osl: Quantity[Any]
    osl_cv: float
    others_kept_share: float
    output_tokens: Quantity[Any]
    oversubscription: float
    parallel_layers: float
    parameters: float
    passed_weight_bytes: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_seq_len: Quantity[Any]
    picked_entry_width: float
    poisson_wait: Quantity[Any]
    poisson_wait_scale: Quantity[Any]
    poll_interval: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    precision: str
    prefill_attention_efficiency: float
    prefill_attention_ranks: float
    prefill_attention_time: Quantity[Any]
    prefill_cost_share: float
    prefill_decode_ratio: float
    prefill_dp_attention_size: float
    prefill_ep_size: float
    prefill_expert_ranks: float
    prefill_groups: float
    prefill_pp_size: float
    prefill_rate_limit: Quantity[Any]
    prefill_stages: float
    prefill_tensor_ranks: float
    prefill_tp_size: float
    prefill_workers: float
    prefix_cache_memory: Quantity[Any]
    prefix_found_share: float
    prefix_hit_rate: float
    prefix_len: Quantity[Any]
    prefix_lifetime: float
    prefix_popularity_sum: float
    prefix_zipf: float
    product_bytes: Quantity[Any]
    promise_share: float
    prompt_chunks: float
    prompt_host_layer_time: Quantity[Any]
    prompt_host_mla_time: Quantity[Any]
    prompt_host_moe_time: Quantity[Any]
    prompt_interval: Quantity[Any]
    prompt_iterations: float
    prompt_load: float
    prompt_pair_time: Quantity[Any]
    prompt_room: Quantity[Any]
    prompt_room_seen: Quantity[Any]
    prompt_slot_wait_probability: float
    prompt_slots: Quantity[Any]
    prompt_sojourn: Quantity[Any]
    prompt_stay: Quantity[Any]
    prompt_time: Quantity[Any]
    prompt_time_bend: Quantity[Any]
    prompt_time_curvature: Quantity[Any]
    prompt_time_cv: float
    prompt_time_log_variance: float
    prompt_time_p50: Quantity[Any]
    prompt_time_p90: Quantity[Any]
    prompt_time_p99: Quantity[Any]
    prompt_time_slope: Quantity[Any]
    prompt_time_third_cumulant: float
    prompt_token_growth: Quantity[Any]
    prompt_token_time: Quantity[Any]
    prompt_tokens_mean: Quantity[Any]
    prompt_wait: Quantity[Any]
    prompt_wait_probability: float
    prompt_wait_scale: Quantity[Any]
    prompts: Quantity[Any]
    prompts_gathered: float
    prompts_together: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    r1_ended_share: float
    r1_first_score: float
    r1_kept_share: float
    r2_ended_share: float
    r2_first_score: float
    r2_kept_share: float
    r3_ended_share: float
    r3_first_score: float
    r3_kept_share: float
    r4_ended_share: float
    r4_first_score: float
    r4_kept_share: float
    r5_ended_share: float
    r5_first_score: float
    r5_kept_share: float
    r6_ended_share: float
    r6_first_score: float
    r6_kept_share: float
    r7_ended_share: float
    r7_first_score: float
    r7_kept_share: float
    r8_ended_share: float
    r8_first_score: float
    r8_kept_share: float
    rank_decode_requests: Quantity[Any]
    rank_prompts: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    read_width: float
    read_width_in_window: float
    rental_price: Quantity[Any]
    replica_capacity: Quantity[Any]
    replica_concurrency: Quantity[Any]
    replica_goodput: Quantity[Any]
    replica_load: float
    replica_rate: Quantity[Any]
    replica_weights: Quantity[Any]
    request_flops: Quantity[Any]
    request_groups: float
    request_rate: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    run_requests: Quantity[Any]
    run_tokens: Quantity[Any]
    runtime_memory: Quantity[Any]
    sampled_requests: float
    sampled_tokens: Quantity[Any]
    sampling_bytes: Quantity[Any]
    saturated_iteration_time: Quantity[Any]
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_flops: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_share: float
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_overhead: Quantity[Any]
    served_weights: Quantity[Any]
    serving_bottleneck: str
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_bytes: Quantity[Any]
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    short_answer_excess: Quantity[Any]
    short_answer_variance: Quantity[Any]
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    sliding_attention_flops: Quantity[Any]
    sliding_decode_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slo_attainment: float
    slo_quantile: float
    slot_batch: Quantity[Any]
    slot_capacity: Quantity[Any]
    slot_decode_share: float
    slot_growth: float
    slot_load: float
    slot_time_scv: float
    slot_wait_mean: Quantity[Any]
    slot_wait_probability: float
    slots: float
    slots_taken: float
    source_cache_per_request: Quantity[Any]
    source_flops: Quantity[Any]
    source_hidden_dim: float
    source_pair_flops: Quantity[Any]
    source_parameters: float
    source_projections: float
    source_time: Quantity[Any]
    source_token_flops: Quantity[Any]
    source_tokens: Quantity[Any]
    source_tokens_per_request: Quantity[Any]
    stage_send_time: Quantity[Any]
    state_bytes_per_request: Quantity[Any]
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_growth_at_load: Quantity[Any]
    step_time_at_load: Quantity[Any]
    step_time_per_token: Quantity[Any]
    step_wait_probability: float
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    tokens_per_decode_step: float
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    total_cost: Quantity[Any]
    touched_expert_weights: float
    touched_lora_parameters: float
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    tpot_attainment: float
    tpot_excess: Quantity[Any]
    tpot_excess_cv: float
    tpot_mean: Quantity[Any]
    tpot_p50: Quantity[Any]
    tpot_p90: Quantity[Any]
    tpot_p99: Quantity[Any]
    tpot_slo: Quantity[Any]
    tpot_spread: Quantity[Any]
    ttft_attainment: float
    ttft_burst: Quantity[Any]
    ttft_log_variance: float
    ttft_mean: Quantity[Any]
    ttft_p50: Quantity[Any]
    ttft_p90: Quantity[Any]
    ttft_p99: Quantity[Any]
    ttft_slo: Quantity[Any]
    ttft_steady: Quantity[Any]
    two_batch_overlap: float
    unbounded_attention_layers: float
    uneven_stage_time: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    varied_prompt_time: Quantity[Any]
    vocab_size: float
    wait_decay: float
    waiting_tokens: Quantity[Any]
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_only_expert_efficiency: float
    weight_read_efficiency: float
    weights_read_stretch: float
    whole_law: float
    whole_prompts: bool
    widening_bytes: Quantity[Any]
    window_reach: Quantity[Any]
    worker_overhead: Quantity[Any]
    workspace_memory: Quantity[Any]
class ServingModel(_ServingModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., traffic: str | _catalog.Traffic = ..., rent: str | _catalog.Rent = ..., **inputs: Unpack[_ServingInputs]) -> _ServingResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., traffic: str | _catalog.Traffic = ..., rent: str | _catalog.Rent = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., traffic: str | _catalog.Traffic = ..., rent: str | _catalog.Rent = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    def simulate(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., traffic: str | _catalog.Traffic = ..., rent: str | _catalog.Rent = ..., **inputs: Any) -> Simulation: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _ServingResult: ...

class _ServingCapacityInputs(TypedDict, total=False):
    qps: float | str | Quantity[Any]
    target_p99_latency_ms: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    output_tokens: float | str | Quantity[Any]
    max_batch_size: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    kv_cache_dtype: str
    max_replicas: float | str | Quantity[Any]
    service_time_cv: float | str | Quantity[Any]
    kv_page_size: float | str | Quantity[Any]
    attention_mask: str
    images: float | str | Quantity[Any]
    duration: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_element_bytes: float | str | Quantity[Any]
    mixer_bytes: float | str | Quantity[Any]
    dense_bytes: float | str | Quantity[Any]
    expert_bytes: float | str | Quantity[Any]
    shared_expert_bytes: float | str | Quantity[Any]
    head_bytes: float | str | Quantity[Any]
    source_tokens: float | str | Quantity[Any]
    image_patches: float | str | Quantity[Any]
    source_token_flops: float | str | Quantity[Any]
    source_pair_flops: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    memory_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    dispatch_tax: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
class _ServingCapacityResult(Result):
    accelerators: float
    active_batch_size: Quantity[Any]
    active_experts_per_token: float
    arrival_noise: float
    attention_flops: Quantity[Any]
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_parameters: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    average_power: Quantity[Any]
    base_request_latency: Quantity[Any]
    bidirectional: float
    blockless_layers: float
    bottleneck: str
    busy_power: float
    busy_share: float
    bytes_per_element: Quantity[Any]
    cache_width: float
    cache_width_in_window: float
    cap_exponent: float
    carbon: Quantity[Any]
    chunked_attention: float
    clock_stretch: float
    compressed_attention_parameters: float
    compressed_layers: float
    compute_dtype: str
    conv_channels: float
    conv_kernel: float
    cross_attention_flops: Quantity[Any]
    cross_layers: float
    decode_attention_flops: Quantity[Any]
    decode_share: float
    decode_step_time: Quantity[Any]
    delta_rule: float
    dense_bytes: Quantity[Any]
    device_power: Quantity[Any]
    dispatch_tax: Quantity[Any]
    driver_memory: Quantity[Any]
    duration: Quantity[Any]
    efficiency: float
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    energy: Quantity[Any]
    energy_per_request: Quantity[Any]
    energy_per_token: Quantity[Any]
    entry_key_width: float
    estimated_p99_latency: Quantity[Any]
    exclusive_work: Quantity[Any]
    expert_bias: float
    expert_bytes: Quantity[Any]
    expert_ffn_dim: float
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_padding: Quantity[Any]
    expert_parameters: float
    expert_weight_bytes: Quantity[Any]
    expert_width_multiple: float
    experts: float
    feasible: bool
    ffn_dim: float
    ffn_parameters: float
    first_batch_estimate: float
    fitted_p99: Quantity[Any]
    flop_power: float
    flop_share: float
    format_energy: float
    free_share: float
    further_matrices: float
    gate_width: float
    gated: float
    gpu_memory_utilization: float
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    head_bytes: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    heads: float
    heads_in_window: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    host_power_fraction: float
    idle_power_fraction: float
    image_patches: Quantity[Any]
    images: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    itl: Quantity[Any]
    kv_bytes_per_request: Quantity[Any]
    kv_bytes_per_token: Quantity[Any]
    kv_bytes_read: Quantity[Any]
    kv_cache_bytes: Quantity[Any]
    kv_cache_dtype: str
    kv_cache_tokens: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_lora_rank: float
    kv_memory: Quantity[Any]
    kv_memory_fraction: float
    kv_page_size: Quantity[Any]
    kv_read_efficiency: float
    latency_skewness: float
    latency_third_cumulant: Quantity[Any]
    latency_variance: Quantity[Any]
    layer_tax: Quantity[Any]
    layers: float
    lifetime: Quantity[Any]
    light_load_p99: Quantity[Any]
    logit_flops: Quantity[Any]
    logit_weight_bytes: Quantity[Any]
    lookup_parameters: float
    max_batch_size: Quantity[Any]
    max_replicas: float
    mean_batch: float
    mean_latency: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    mixer_bytes: Quantity[Any]
    mixer_matrix_elements: float
    mixer_parameters: float
    mixerless_layers: float
    mlp_bias: float
    moe_layers: float
    mtp_layers: float
    norm_bias: float
    o_groups: float
    o_lora_rank: float
    offered_load: float
    operational_carbon: Quantity[Any]
    output_tokens: Quantity[Any]
    own_share: float
    padded_seq_len: Quantity[Any]
    parallel_layers: float
    parameters: float
    peak_flops: Quantity[Any]
    peak_seq_len: Quantity[Any]
    per_replica_qps_capacity: float
    picked_entry_width: float
    power_bottleneck: str
    power_limit: Quantity[Any]
    precision: str
    prefill_flops: Quantity[Any]
    prefill_load: float
    prefill_time: Quantity[Any]
    prefill_wait: Quantity[Any]
    prefill_wait_probability: float
    product_bytes: Quantity[Any]
    product_flops: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    qps: float
    qps_capacity: float
    queue_wait_p99: Quantity[Any]
    read_entry_width: float
    read_width: float
    read_width_in_window: float
    replica_arrival_rate: Quantity[Any]
    replicas: float
    request_flops: Quantity[Any]
    required_replicas: float
    residence_time: Quantity[Any]
    residence_variance: Quantity[Any]
    routed_flops: Quantity[Any]
    router_bias: float
    router_parameters: float
    run_requests: Quantity[Any]
    run_tokens: Quantity[Any]
    runtime_memory: Quantity[Any]
    sampled_requests: float
    sampling_bytes: Quantity[Any]
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_flops: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_share: float
    second_batch_estimate: float
    seq_len: Quantity[Any]
    served_weights: Quantity[Any]
    service_time_cv: float
    shared_cache_layers: float
    shared_expert_bytes: Quantity[Any]
    shared_expert_parameters: float
    shared_ffn_dim: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    size_quantile: float
    sliding_attention_flops: Quantity[Any]
    sliding_decode_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slot_wait: Quantity[Any]
    source_cache_per_request: Quantity[Any]
    source_flops: Quantity[Any]
    source_hidden_dim: float
    source_pair_flops: Quantity[Any]
    source_parameters: float
    source_projections: float
    source_token_flops: Quantity[Any]
    source_tokens: Quantity[Any]
    source_tokens_per_request: Quantity[Any]
    state_bytes_per_request: Quantity[Any]
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_compute_time: Quantity[Any]
    step_experts_time: Quantity[Any]
    step_floor: Quantity[Any]
    step_kv_time: Quantity[Any]
    step_slope: Quantity[Any]
    step_weights_time: Quantity[Any]
    step_weights_time_at_load: Quantity[Any]
    target_p99_latency_ms: float
    tdp: Quantity[Any]
    tied_embeddings: float
    touched_experts: float
    ttft: Quantity[Any]
    unbounded_attention_layers: float
    undisturbed_time: Quantity[Any]
    used_share: float
    utilization: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vocab_size: float
    wait_probability: float
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    window_reach: Quantity[Any]
    workspace_memory: Quantity[Any]
class ServingCapacityModel(_ServingCapacityModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **inputs: Unpack[_ServingCapacityInputs]) -> _ServingCapacityResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _ServingCapacityResult: ...

class _IterationInputs(TypedDict, total=False):
    precision: str
    weight_dtype: str
    compute_dtype: str
    kv_cache_dtype: str
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    dp_attention_size: float | str | Quantity[Any]
    two_batch_overlap: bool | str
    num_redundant_experts: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    node_limit: float | str | Quantity[Any]
    dispatch_dtype: str
    combine_dtype: str
    decode_requests: float | str | Quantity[Any]
    context_tokens: float | str | Quantity[Any]
    prompts: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    prefix_hit_rate: float | str | Quantity[Any]
    num_speculative_tokens: float | str | Quantity[Any]
    num_loras: float | str | Quantity[Any]
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    lora_zipf: float | str | Quantity[Any]
    max_loras: float | str | Quantity[Any]
    lora_layer_tax: float | str | Quantity[Any]
    output_tokens: float | str | Quantity[Any]
    max_batch_size: float | str | Quantity[Any]
    max_num_batched_tokens: float | str | Quantity[Any]
    sent_one_by_one: bool | str
    attention_mask: str
    congestion_factor: float | str | Quantity[Any]
    images: float | str | Quantity[Any]
    measured_iteration_time: float | str | Quantity[Any]
    measured_busy_share: float | str | Quantity[Any]
    duration: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_element_bytes: float | str | Quantity[Any]
    mixer_bytes: float | str | Quantity[Any]
    dense_bytes: float | str | Quantity[Any]
    expert_bytes: float | str | Quantity[Any]
    shared_expert_bytes: float | str | Quantity[Any]
    head_bytes: float | str | Quantity[Any]
    source_tokens: float | str | Quantity[Any]
    image_patches: float | str | Quantity[Any]
    source_token_flops: float | str | Quantity[Any]
    source_pair_flops: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    expert_efficiency: float | str | Quantity[Any]
    weight_only_expert_efficiency: float | str | Quantity[Any]
    memory_efficiency: float | str | Quantity[Any]
    expert_popularity: float | str | Quantity[Any]
    weight_read_efficiency: float | str | Quantity[Any]
    prefill_attention_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    moe_layer_tax: float | str | Quantity[Any]
    mla_layer_tax: float | str | Quantity[Any]
    index_layer_tax: float | str | Quantity[Any]
    host_layer_time: float | str | Quantity[Any]
    prompt_host_layer_time: float | str | Quantity[Any]
    prompt_host_mla_time: float | str | Quantity[Any]
    prompt_host_moe_time: float | str | Quantity[Any]
    iteration_overhead: float | str | Quantity[Any]
    worker_overhead: float | str | Quantity[Any]
    sequence_overhead: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    communication_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    busy_bandwidth_share: float | str | Quantity[Any]
    busy_peak_share: float | str | Quantity[Any]
    kernel_gap: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
class _IterationResult(Result):
    accelerators: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    activation_time: Quantity[Any]
    active_experts_per_token: float
    adapted_attention_edges: float
    all_prompts_time: Quantity[Any]
    allreduce_time: Quantity[Any]
    attention_edges_per_rank: float
    attention_flops: Quantity[Any]
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    average_power: Quantity[Any]
    bidirectional: float
    blockless_layers: float
    bulk_start: Quantity[Any]
    busy_bandwidth_share: float
    busy_peak_share: float
    busy_power: float
    busy_share: float
    busy_stages: float
    c10_lora_log_rank: float
    c10_loras: float
    c10_other_lora_share: float
    c11_lora_log_rank: float
    c11_loras: float
    c11_other_lora_share: float
    c12_lora_log_rank: float
    c12_loras: float
    c12_other_lora_share: float
    c13_lora_log_rank: float
    c13_loras: float
    c13_other_lora_share: float
    c14_lora_log_rank: float
    c14_loras: float
    c14_other_lora_share: float
    c1_lora_log_rank: float
    c1_loras: float
    c1_other_lora_share: float
    c2_lora_log_rank: float
    c2_loras: float
    c2_other_lora_share: float
    c3_lora_log_rank: float
    c3_loras: float
    c3_other_lora_share: float
    c4_lora_log_rank: float
    c4_loras: float
    c4_other_lora_share: float
    c5_lora_log_rank: float
    c5_loras: float
    c5_other_lora_share: float
    c6_lora_log_rank: float
    c6_loras: float
    c6_other_lora_share: float
    c7_lora_log_rank: float
    c7_loras: float
    c7_other_lora_share: float
    c8_lora_log_rank: float
    c8_loras: float
    c8_other_lora_share: float
    c9_lora_log_rank: float
    c9_loras: float
    c9_other_lora_share: float
    cache_tokens_of_all_layers: Quantity[Any]
    cache_width: float
    cache_width_in_window: float
    cached_prompt_share: float
    cap_exponent: float
    capped_iteration_time: Quantity[Any]
    carbon: Quantity[Any]
    chunked_attention: float
    clock_stretch: float
    clock_time: Quantity[Any]
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_memory: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_dtype: str
    computed_time: Quantity[Any]
    congestion_factor: float
    context_tokens: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    cross_attention_flops: Quantity[Any]
    cross_layers: float
    decode_attention_flops: Quantity[Any]
    decode_attention_time: Quantity[Any]
    decode_requests: Quantity[Any]
    delta_rule: float
    dense_bytes: Quantity[Any]
    dense_product_time: Quantity[Any]
    dense_weights_per_rank: float
    device_power: Quantity[Any]
    device_time: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    dp_attention_size: float
    driver_memory: Quantity[Any]
    duration: Quantity[Any]
    e2e_mean: Quantity[Any]
    efficiency: float
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    energy: Quantity[Any]
    energy_per_token: Quantity[Any]
    entry_key_width: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_node_bandwidth: Quantity[Any]
    expert_bias: float
    expert_bytes: Quantity[Any]
    expert_efficiency: float
    expert_exchange_time: Quantity[Any]
    expert_ffn_dim: float
    expert_group_loras: float
    expert_group_tokens: Quantity[Any]
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_padding: Quantity[Any]
    expert_parameters: float
    expert_popularity: float
    expert_product_efficiency: float
    expert_product_time: Quantity[Any]
    expert_weight_bytes: Quantity[Any]
    expert_width_multiple: float
    experts: float
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    first_prompt_time: Quantity[Any]
    flop_power: float
    flop_share: float
    format_energy: float
    further_layer_time: Quantity[Any]
    further_matrices: float
    gate_width: float
    gated: float
    gpu_memory_utilization: float
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    head_bytes: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_time: Quantity[Any]
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    host_layer_time: Quantity[Any]
    host_power_fraction: float
    host_time: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    image_patches: Quantity[Any]
    images: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layer_tax: Quantity[Any]
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    iteration_bottleneck: str
    iteration_bytes: Quantity[Any]
    iteration_flops: Quantity[Any]
    iteration_loras: float
    iteration_overhead: Quantity[Any]
    iteration_requests: float
    iteration_time: Quantity[Any]
    iteration_tokens: Quantity[Any]
    kernel_gap: Quantity[Any]
    kernel_traffic: Quantity[Any]
    kv_bytes_per_token: Quantity[Any]
    kv_bytes_per_token_per_rank: Quantity[Any]
    kv_cache_bytes: Quantity[Any]
    kv_cache_dtype: str
    kv_cache_tokens: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_memory: Quantity[Any]
    kv_memory_fraction: float
    kv_read_efficiency: float
    kv_read_stretch: float
    last_prefill_batch: Quantity[Any]
    layer_tax: Quantity[Any]
    layers: float
    lifetime: Quantity[Any]
    link_efficiency: float
    logit_weight_bytes: Quantity[Any]
    longest_iteration_part: Quantity[Any]
    lookup_parameters: float
    lora_expert_pairs: float
    lora_expert_parameters: float
    lora_layer_tax: Quantity[Any]
    lora_memory: Quantity[Any]
    lora_parameters: float
    lora_parameters_per_rank: float
    lora_parameters_per_token: float
    lora_popularity_sum: float
    lora_rank: float
    lora_target_modules: str
    lora_time: Quantity[Any]
    lora_zipf: float
    low_latency_bandwidth: Quantity[Any]
    max_batch_size: Quantity[Any]
    max_loras: float
    max_num_batched_tokens: Quantity[Any]
    measured_busy_share: float
    measured_iteration_time: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    mixer_bytes: Quantity[Any]
    mixer_matrix_elements: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixerless_layers: float
    mla_layer_tax: Quantity[Any]
    mlp_bias: float
    moe_layer_tax: Quantity[Any]
    moe_layers: float
    mtp_layers: float
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    nodes_per_token: float
    norm_bias: float
    num_loras: float
    num_redundant_experts: float
    num_speculative_tokens: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    output_tokens: Quantity[Any]
    output_tokens_per_second: Quantity[Any]
    oversubscription: float
    parallel_layers: float
    parameters: float
    passed_weight_bytes: Quantity[Any]
    peak_flops: Quantity[Any]
    picked_entry_width: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    precision: str
    prefill_attention_efficiency: float
    prefill_attention_time: Quantity[Any]
    prefill_batch: Quantity[Any]
    prefill_batch_time: Quantity[Any]
    prefill_batches: float
    prefix_hit_rate: float
    product_bytes: Quantity[Any]
    prompt_host_layer_time: Quantity[Any]
    prompt_host_mla_time: Quantity[Any]
    prompt_host_moe_time: Quantity[Any]
    prompts: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    rank_decode_requests: Quantity[Any]
    rank_prompts: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    read_width: float
    read_width_in_window: float
    replica_weights: Quantity[Any]
    request_flops: Quantity[Any]
    request_groups: float
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    run_tokens: Quantity[Any]
    runtime_memory: Quantity[Any]
    sampled_requests: float
    sampled_tokens: Quantity[Any]
    sampling_bytes: Quantity[Any]
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_flops: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_share: float
    send_time: Quantity[Any]
    sent_one_by_one: float
    seq_len: Quantity[Any]
    sequence_overhead: Quantity[Any]
    served_weights: Quantity[Any]
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_bytes: Quantity[Any]
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    sliding_attention_flops: Quantity[Any]
    sliding_decode_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    source_cache_per_request: Quantity[Any]
    source_flops: Quantity[Any]
    source_hidden_dim: float
    source_pair_flops: Quantity[Any]
    source_parameters: float
    source_projections: float
    source_time: Quantity[Any]
    source_token_flops: Quantity[Any]
    source_tokens: Quantity[Any]
    source_tokens_per_request: Quantity[Any]
    stage_send_time: Quantity[Any]
    state_bytes_per_request: Quantity[Any]
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    tokens_per_rank: Quantity[Any]
    torus_axes: float
    touched_expert_weights: float
    touched_lora_parameters: float
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    tpot_mean: Quantity[Any]
    ttft_mean: Quantity[Any]
    two_batch_overlap: float
    unbounded_attention_layers: float
    uneven_stage_time: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vocab_size: float
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_only_expert_efficiency: float
    weight_read_efficiency: float
    weights_read_stretch: float
    widening_bytes: Quantity[Any]
    window_reach: Quantity[Any]
    worker_overhead: Quantity[Any]
    workspace_memory: Quantity[Any]
class IterationModel(_IterationModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_IterationInputs]) -> _IterationResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _IterationResult: ...

class _MoERoutingInputs(TypedDict, total=False):
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    dispatch_dtype: str
    combine_dtype: str
    ep_size: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    activation_checkpointing: str
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_bias: bool | str
    expert_input_dim: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    stack: str | _catalog.Stack
class _MoERoutingResult(Result):
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    activation_checkpointing: str
    active_experts_per_token: float
    active_parameter_multiplier: float
    active_parameters: float
    all_to_all_latency: Quantity[Any]
    batch_size: float
    bytes_per_element: Quantity[Any]
    capacity_factor: float
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    congestion_factor: float
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    effective_active_experts: float
    effective_active_parameters: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    expert_bias: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_parameters: float
    experts: float
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    fleet_size: float
    gated: float
    hidden_dim: float
    hidden_dim_in_experts: float
    hot_rank_bytes: Quantity[Any]
    hot_rank_factor: float
    layers: float
    least_dropped_share: float
    link_bandwidth: Quantity[Any]
    mean_rank_factor: float
    moe_layers: float
    node_bandwidth: Quantity[Any]
    node_limit: float
    nodes_per_token: float
    oversubscription: float
    pad_to_capacity: float
    port_bandwidth: Quantity[Any]
    precision: str
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    routed_payload: Quantity[Any]
    routing_imbalance_factor: float
    seq_len: Quantity[Any]
    step_all_to_all_time: Quantity[Any]
    step_dispatch_bytes: Quantity[Any]
    token_dispatch_bytes: Quantity[Any]
    tokens_per_rank: Quantity[Any]
    torus_axes: float
class MoERoutingModel(_MoERoutingModel):
    def solve(self, model: str | _catalog.SparseTransformerWorkload = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_MoERoutingInputs]) -> _MoERoutingResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.SparseTransformerWorkload = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.SparseTransformerWorkload = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _MoERoutingResult: ...

class _DistributedInputs(TypedDict, total=False):
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    document_len: float | str | Quantity[Any]
    flop_convention: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    training_tokens: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    recipe: str | _catalog.Recipe
class _DistributedResult(Result):
    accelerators: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activations: Quantity[Any]
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_edges: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_flops: Quantity[Any]
    adapter_parameters_per_rank: float
    adapter_traffic: Quantity[Any]
    adapter_weights: Quantity[Any]
    all_to_all_operations: float
    alternate_matmul_activation: Quantity[Any]
    attended_len: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_efficiency: float
    attention_flops: Quantity[Any]
    attention_kernel: str
    attention_kernel_share: float
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    attention_vectors_per_rank: float
    average_power: Quantity[Any]
    backward_buffer: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    backward_exposed_exchange: Quantity[Any]
    backward_free_time: Quantity[Any]
    backward_share: float
    batch_size: float
    besides_launch_time: Quantity[Any]
    bidirectional: float
    binding_rank: str
    block_norms: float
    blockless_layers: float
    bubble_fraction: float
    bubble_time: Quantity[Any]
    bulk_start: Quantity[Any]
    busy_power: float
    busy_share: float
    cap_exponent: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    cast_traffic: Quantity[Any]
    cast_weights: Quantity[Any]
    chunked_attention: float
    clock: Quantity[Any]
    clock_stretch: float
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_capability: float
    compute_dtype: str
    compute_time: Quantity[Any]
    computing_share: float
    congestion_factor: float
    context_memory: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    cp_bandwidth: Quantity[Any]
    cp_chunk_latency: Quantity[Any]
    cp_exposed_time: Quantity[Any]
    cp_gather_time: Quantity[Any]
    cp_latency: Quantity[Any]
    cp_link_bandwidth: Quantity[Any]
    cp_message_bytes: Quantity[Any]
    cp_overlap: float
    cp_ranks_per_node: float
    cp_size: float
    cp_stride: float
    cp_time: Quantity[Any]
    cp_traffic_time: Quantity[Any]
    cross_layers: float
    deferred_head_gradients: float
    delta_rule: float
    dense_layer_activation: Quantity[Any]
    dense_parameters_per_rank: float
    device_power: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    dispatcher: str
    document_len: Quantity[Any]
    dp_all_reduce_time: Quantity[Any]
    dp_bandwidth: Quantity[Any]
    dp_chunk_latency: Quantity[Any]
    dp_gather_time: Quantity[Any]
    dp_latency: Quantity[Any]
    dp_link_bandwidth: Quantity[Any]
    dp_message_bytes: Quantity[Any]
    dp_overlap: float
    dp_ranks_per_node: float
    dp_reduction_time: Quantity[Any]
    dp_replicate_size: float
    dp_ring_time: Quantity[Any]
    dp_size: float
    dp_stride: float
    dp_summed_bytes: Quantity[Any]
    dp_switch_time: Quantity[Any]
    dp_time: Quantity[Any]
    dp_traffic_bytes: Quantity[Any]
    dp_traffic_time: Quantity[Any]
    dp_tree_time: Quantity[Any]
    dp_tree_wire_time: Quantity[Any]
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    edge_parameters_per_rank: float
    edp_all_reduce_time: Quantity[Any]
    edp_bandwidth: Quantity[Any]
    edp_chunk_latency: Quantity[Any]
    edp_gather_time: Quantity[Any]
    edp_latency: Quantity[Any]
    edp_link_bandwidth: Quantity[Any]
    edp_message_bytes: Quantity[Any]
    edp_ranks: float
    edp_ranks_per_node: float
    edp_reduction_time: Quantity[Any]
    edp_ring_time: Quantity[Any]
    edp_stride: float
    edp_summed_bytes: Quantity[Any]
    edp_switch_time: Quantity[Any]
    edp_tree_time: Quantity[Any]
    edp_tree_wire_time: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elementwise_efficiency: float
    elementwise_kernels: str
    elementwise_time: Quantity[Any]
    elementwise_traffic: Quantity[Any]
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    end_activations: Quantity[Any]
    end_edge_parameters: float
    end_expert_parameters: float
    end_layers: float
    end_memory: Quantity[Any]
    end_parameters: float
    energy: Quantity[Any]
    energy_per_step: Quantity[Any]
    energy_per_token: Quantity[Any]
    ep_exposed_time: Quantity[Any]
    ep_overlap: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    ep_time: Quantity[Any]
    etp_bandwidth: Quantity[Any]
    etp_chunk_latency: Quantity[Any]
    etp_gather_time: Quantity[Any]
    etp_latency: Quantity[Any]
    etp_link_bandwidth: Quantity[Any]
    etp_message_bytes: Quantity[Any]
    etp_ranks: float
    etp_ranks_per_node: float
    etp_size: float
    etp_stride: float
    exchange_fill_time: Quantity[Any]
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_edges_per_rank: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_launch_time: Quantity[Any]
    expert_operations: float
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_product_factor: float
    expert_product_ratio: float
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_time: Quantity[Any]
    expert_vectors_per_rank: float
    experts: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    exposed_backward_traffic: Quantity[Any]
    exposed_edge_traffic: Quantity[Any]
    exposed_gather_time: Quantity[Any]
    exposed_reduction_time: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    feasible: bool
    fewest_last_layers: float
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    fill_share: float
    finetuning: str
    first_rank_memory: Quantity[Any]
    fit: str
    fit_probability: float
    flash_kernel: str
    fleet_size: float
    flop_convention: str
    flop_power: float
    flop_share: float
    format_energy: float
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    forward_exposed_exchange: Quantity[Any]
    forward_free_time: Quantity[Any]
    forward_share: float
    free_link_time: Quantity[Any]
    full_stage_layers: float
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    gradient_accumulation_steps: float
    gradient_all_reduce_time: Quantity[Any]
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradient_reduction_time: Quantity[Any]
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_at_loss_bytes: Quantity[Any]
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    grouped_experts: float
    hardware_flops: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_layers: float
    head_memory: Quantity[Any]
    head_parameters: float
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hfu: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    hidden_traffic_cost: float
    holds_first_stage: float
    holds_last_stage: float
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    host_wait_time: Quantity[Any]
    hot_product_flops: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    inner_bytes: Quantity[Any]
    inner_vectors: float
    inner_width: float
    interleaved_stages: float
    kept_beside_ffn: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_width_per_rank: float
    largest_dense_parameters: float
    largest_edge_parameters: float
    largest_expert_parameters: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    largest_optimizer_state: Quantity[Any]
    largest_trained_dense_parameters: float
    largest_trained_expert_parameters: float
    last_rank_memory: Quantity[Any]
    last_stage_is_slowest: float
    last_stage_layers: float
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_hiding_time: Quantity[Any]
    layer_input: Quantity[Any]
    layer_launch_time: Quantity[Any]
    layer_memory: Quantity[Any]
    layer_operations: float
    layer_time: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    least_dropped_share: float
    lifetime: Quantity[Any]
    link_efficiency: float
    loaded_mask: float
    local_micro_batch: float
    logit_bytes: Quantity[Any]
    logit_flops: Quantity[Any]
    longest_part_time: Quantity[Any]
    lookup_parameters: float
    lora_rank: float
    lora_target_modules: str
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_memory: Quantity[Any]
    loss_time: Quantity[Any]
    low_latency_bandwidth: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matrix_edges_per_rank: float
    mean_adapted_products: float
    mean_compute_time: Quantity[Any]
    mean_layer_parameters: float
    mean_rank_factor: float
    memory_after_step: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    memory_margin: Quantity[Any]
    memory_reading: str
    memory_spread: float
    memory_utilization: float
    mfu: float
    micro_batch_compute_time: Quantity[Any]
    micro_batch_launch_time: Quantity[Any]
    micro_batch_time: Quantity[Any]
    micro_batch_tokens: Quantity[Any]
    micro_batch_wait_time: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixer_product_widths: float
    mixerless_layers: float
    mlp_bias: float
    model_flops: Quantity[Any]
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_interval: float
    moe_layer_operations: float
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    multiprocessors: float
    near_core_activation: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    nodes_per_token: float
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_state: Quantity[Any]
    optimizer_time: Quantity[Any]
    other_stage_layers: float
    oversubscription: float
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    parameters_per_rank: float
    peak_activations: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_moment: str
    peak_rank: str
    picked_entry_width: float
    pipeline_schedule: str
    pipeline_split: str
    plain_layers_of_rank: float
    pool_share: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    pp_time: Quantity[Any]
    precision: str
    product_bytes: Quantity[Any]
    product_efficiency: float
    product_flops: Quantity[Any]
    product_input_bytes: Quantity[Any]
    product_rate: Quantity[Any]
    product_time: Quantity[Any]
    product_widths: float
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    rank_memory: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    recomputed_attention: float
    recomputed_elementwise: float
    recomputed_flops: Quantity[Any]
    recomputed_products: float
    recomputed_traffic: Quantity[Any]
    reduce_dtype: str
    reduced_bytes: Quantity[Any]
    rep_all_reduce_time: Quantity[Any]
    rep_bandwidth: Quantity[Any]
    rep_chunk_latency: Quantity[Any]
    rep_latency: Quantity[Any]
    rep_link_bandwidth: Quantity[Any]
    rep_ranks_per_node: float
    rep_ring_time: Quantity[Any]
    rep_stride: float
    rep_summed_bytes: Quantity[Any]
    rep_switch_time: Quantity[Any]
    rep_tree_time: Quantity[Any]
    rep_tree_wire_time: Quantity[Any]
    repeated_matrix_elements: float
    reported_memory: Quantity[Any]
    reserved_memory: Quantity[Any]
    resident_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    rest_time: Quantity[Any]
    reused_parameters: float
    routed_buffer: Quantity[Any]
    routed_flops: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    rows_per_expert: Quantity[Any]
    run_tokens: Quantity[Any]
    sandwich_norm: float
    saved_bytes: Quantity[Any]
    saved_dtype: str
    scaling_efficiency: float
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_activation: Quantity[Any]
    score_flops: Quantity[Any]
    score_time: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    selective_policy: str
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    short_sequence_factor: float
    single_expert_edges_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    slice_cost: float
    sliding_attention_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slowest_factor: float
    slowest_stage_layers: float
    slowest_stage_moe_layers: float
    slowest_stage_summing_layers: float
    source_hidden_dim: float
    source_parameters: float
    source_projections: float
    stage_activations: Quantity[Any]
    stage_time: Quantity[Any]
    stage_wait_time: Quantity[Any]
    stages_per_rank: float
    state_chunk: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_bottleneck: str
    step_elementwise_time: Quantity[Any]
    step_flop_energy: Quantity[Any]
    step_loss_time: Quantity[Any]
    step_product_time: Quantity[Any]
    step_score_time: Quantity[Any]
    step_time: Quantity[Any]
    straggler_factor: float
    straggler_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    token_dispatcher: str
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    total_memory: Quantity[Any]
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_exchange_time: Quantity[Any]
    tp_exposed_time: Quantity[Any]
    tp_gather_time: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_message_bytes: Quantity[Any]
    tp_overlap: float
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    trained_parameters_per_rank: float
    training_steps: float
    training_time: Quantity[Any]
    training_tokens: Quantity[Any]
    two_batch_hidden_share: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    up_projection_activation: Quantity[Any]
    up_projection_elements: float
    update_buffer: str
    update_memory: Quantity[Any]
    updated_parameters_per_rank: float
    usable_memory: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gather_time: Quantity[Any]
    weight_gradient_share: float
    weights: Quantity[Any]
    wide_rate: Quantity[Any]
    widening_traffic: Quantity[Any]
    width_vectors: float
    window_reach: Quantity[Any]
    workspace: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class DistributedModel(_DistributedModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_DistributedInputs]) -> _DistributedResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _DistributedResult: ...

class _PostTrainingInputs(TypedDict, total=False):
    fleet_size: float | str | Quantity[Any]
    num_prompts: float | str | Quantity[Any]
    num_generations: float | str | Quantity[Any]
    prompt_len: float | str | Quantity[Any]
    mean_response_length: float | str | Quantity[Any]
    max_response_length: float | str | Quantity[Any]
    longest_response: float | str | Quantity[Any]
    response_cv: float | str | Quantity[Any]
    optimizer_steps: float | str | Quantity[Any]
    pack_length: float | str | Quantity[Any]
    logprob_passes: float | str | Quantity[Any]
    critic: str
    kept_group_share: float | str | Quantity[Any]
    staleness: float | str | Quantity[Any]
    rollout_accelerators: float | str | Quantity[Any]
    rollout_tp_size: float | str | Quantity[Any]
    rollout_ep_size: float | str | Quantity[Any]
    rollout_precision: str
    kv_cache_dtype: str
    max_num_seqs: float | str | Quantity[Any]
    max_num_batched_tokens: float | str | Quantity[Any]
    offload: str
    duration: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    context_memory: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    state_element_bytes: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    rollout_peak_flops: float | str | Quantity[Any]
    rollout_attention_peak_flops: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    rollout_stretch: float | str | Quantity[Any]
    update_stretch: float | str | Quantity[Any]
    refit_time: float | str | Quantity[Any]
    refit_bandwidth: float | str | Quantity[Any]
    sync_bandwidth: float | str | Quantity[Any]
    rest_stretch: float | str | Quantity[Any]
    rollout_efficiency: float | str | Quantity[Any]
    expert_efficiency: float | str | Quantity[Any]
    weight_only_expert_efficiency: float | str | Quantity[Any]
    rollout_memory_efficiency: float | str | Quantity[Any]
    expert_popularity: float | str | Quantity[Any]
    weight_read_efficiency: float | str | Quantity[Any]
    prefill_attention_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    rollout_scan_efficiency: float | str | Quantity[Any]
    rollout_scan_chunk_time: float | str | Quantity[Any]
    rollout_link_efficiency: float | str | Quantity[Any]
    rollout_fabric_efficiency: float | str | Quantity[Any]
    rollout_exchange_link_efficiency: float | str | Quantity[Any]
    rollout_exchange_latency: float | str | Quantity[Any]
    rollout_collective_latency: float | str | Quantity[Any]
    rollout_node_latency: float | str | Quantity[Any]
    rollout_switch_latency: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    moe_layer_tax: float | str | Quantity[Any]
    mla_layer_tax: float | str | Quantity[Any]
    index_layer_tax: float | str | Quantity[Any]
    host_layer_time: float | str | Quantity[Any]
    prompt_host_layer_time: float | str | Quantity[Any]
    prompt_host_mla_time: float | str | Quantity[Any]
    prompt_host_moe_time: float | str | Quantity[Any]
    iteration_overhead: float | str | Quantity[Any]
    worker_overhead: float | str | Quantity[Any]
    sequence_overhead: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    communication_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    busy_bandwidth_share: float | str | Quantity[Any]
    busy_peak_share: float | str | Quantity[Any]
    kernel_gap: float | str | Quantity[Any]
    rollout_format_energy: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    stack: str | _catalog.Stack
    rollout_stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    recipe: str | _catalog.Recipe
class _PostTrainingResult(Result):
    accelerators: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    active_experts_per_token: float
    adapter_dtype: str
    all_to_all_operations: float
    attention_efficiency: float
    attention_kernel: str
    attention_kernel_share: float
    attention_mask: str
    attention_output_bias: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    average_power: Quantity[Any]
    best_rollout_accelerators: float
    bidirectional: float
    block_norms: float
    blockless_layers: float
    bulk_start: Quantity[Any]
    busy_bandwidth_share: float
    busy_peak_share: float
    busy_power: float
    busy_share: float
    cap_exponent: float
    cap_over_scale: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    chunked_attention: float
    clock: Quantity[Any]
    clock_stretch: float
    collective_latency: Quantity[Any]
    combine_dtype: str
    communication_memory: Quantity[Any]
    compressed_layers: float
    compute_capability: float
    compute_dtype: str
    congestion_factor: float
    context_memory: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    cp_overlap: float
    cp_size: float
    critic: str
    cross_layers: float
    cut_share: float
    deferred_head_gradients: float
    delta_rule: float
    device_power: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatcher: str
    dp_overlap: float
    dp_replicate_size: float
    driver_memory: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elementwise_efficiency: float
    elementwise_kernels: str
    embedding_dim: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    energy: Quantity[Any]
    energy_per_step: Quantity[Any]
    energy_per_token: Quantity[Any]
    engine_weights: Quantity[Any]
    ep_overlap: float
    ep_size: float
    etp_size: float
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    expert_bias: float
    expert_efficiency: float
    expert_ffn_dim: float
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_operations: float
    expert_popularity: float
    expert_product_ratio: float
    expert_row_padding: Quantity[Any]
    expert_width_multiple: float
    experts: float
    exponentials_per_clock: float
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    feasible: bool
    ffn_dim: float
    finetuning: str
    flash_kernel: str
    fleet_size: float
    flop_power: float
    flop_share: float
    format_energy: float
    free_rollout_floor: Quantity[Any]
    free_rollout_steps: Quantity[Any]
    full_steps: Quantity[Any]
    full_time: Quantity[Any]
    further_matrices: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gpu_memory_utilization: float
    gradient_dtype: str
    gradients_at_loss: float
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_experts: float
    half_split: float
    half_split_rollout_work: Quantity[Any]
    half_split_update_work: Quantity[Any]
    head_dim: float
    heads: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_dim: float
    hidden_traffic_cost: float
    host_layer_time: Quantity[Any]
    host_memory: Quantity[Any]
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    idle_power_fraction: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layer_tax: Quantity[Any]
    index_layers: float
    index_topk: Quantity[Any]
    interleaved_stages: float
    iteration_overhead: Quantity[Any]
    kept_group_share: float
    kept_trainer_memory: Quantity[Any]
    kernel_gap: Quantity[Any]
    kv_cache_dtype: str
    kv_heads: float
    kv_lora_rank: float
    kv_memory_fraction: float
    kv_read_efficiency: float
    layer_operations: float
    layer_tax: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    learned_positions: float
    lifetime: Quantity[Any]
    link_efficiency: float
    loaded_mask: float
    logprob_passes: float
    logprob_time: Quantity[Any]
    lone_empty_step: Quantity[Any]
    lone_position: Quantity[Any]
    lone_requests: Quantity[Any]
    lone_squares: Quantity[Any]
    lone_time: Quantity[Any]
    lone_token_cost: Quantity[Any]
    lone_tokens: Quantity[Any]
    longest_response: Quantity[Any]
    longest_response_high: Quantity[Any]
    longest_response_low: Quantity[Any]
    lookup_parameters: float
    lora_rank: float
    lora_target_modules: str
    loss_chunks: float
    loss_kernel: str
    low_latency_bandwidth: Quantity[Any]
    master_weights: float
    max_num_batched_tokens: Quantity[Any]
    max_num_seqs: Quantity[Any]
    max_response_length: Quantity[Any]
    mean_response_length: Quantity[Any]
    mean_staleness: float
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    microbatch_group: float
    mixerless_layers: float
    mla_layer_tax: Quantity[Any]
    mlp_bias: float
    moe_layer_interval: float
    moe_layer_operations: float
    moe_layer_tax: Quantity[Any]
    moe_layers: float
    mtp_layers: float
    multiprocessors: float
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    norm_bias: float
    norm_scale: float
    num_generations: float
    num_prompts: Quantity[Any]
    o_groups: float
    o_lora_rank: float
    offload: str
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_steps: float
    overlapped_time: Quantity[Any]
    oversubscription: float
    pack_fill: float
    pack_length: Quantity[Any]
    packed_length: Quantity[Any]
    packs: float
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    peak_flops: Quantity[Any]
    peak_rank: str
    phase_bottleneck: str
    pipeline_schedule: str
    pipeline_split: str
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    precision: str
    prefill_attention_efficiency: float
    prompt_host_layer_time: Quantity[Any]
    prompt_host_mla_time: Quantity[Any]
    prompt_host_moe_time: Quantity[Any]
    prompt_len: Quantity[Any]
    prompts_time: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    quarter_drain_time: Quantity[Any]
    quarter_empty_step: Quantity[Any]
    quarter_position: Quantity[Any]
    quarter_request_cost: Quantity[Any]
    quarter_requests: Quantity[Any]
    quarter_squares: Quantity[Any]
    quarter_token_cost: Quantity[Any]
    quarter_tokens: Quantity[Any]
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    reduce_dtype: str
    refit_bandwidth: Quantity[Any]
    refit_time: Quantity[Any]
    replica_samples: Quantity[Any]
    reserved_memory: Quantity[Any]
    residual_dtype: str
    response_cv: float
    response_scale: Quantity[Any]
    response_square: Quantity[Any]
    rest_drain_time: Quantity[Any]
    rest_empty_step: Quantity[Any]
    rest_position: Quantity[Any]
    rest_request_cost: Quantity[Any]
    rest_requests: Quantity[Any]
    rest_squares: Quantity[Any]
    rest_stretch: float
    rest_token_cost: Quantity[Any]
    rest_tokens: Quantity[Any]
    reused_parameters: float
    rollout_accelerators: float
    rollout_attention_peak_flops: Quantity[Any]
    rollout_batch: Quantity[Any]
    rollout_busy_share: float
    rollout_cache_tokens: Quantity[Any]
    rollout_collective_latency: Quantity[Any]
    rollout_context: Quantity[Any]
    rollout_efficiency: float
    rollout_ep_size: float
    rollout_exchange_latency: Quantity[Any]
    rollout_exchange_link_efficiency: float
    rollout_fabric_efficiency: float
    rollout_floor: Quantity[Any]
    rollout_flops: Quantity[Any]
    rollout_format_energy: float
    rollout_idle_share: float
    rollout_link_efficiency: float
    rollout_memory: Quantity[Any]
    rollout_memory_efficiency: float
    rollout_node_latency: Quantity[Any]
    rollout_peak_flops: Quantity[Any]
    rollout_pool: float
    rollout_precision: str
    rollout_room: Quantity[Any]
    rollout_rounds: float
    rollout_scan_chunk_time: Quantity[Any]
    rollout_scan_efficiency: float
    rollout_slots: Quantity[Any]
    rollout_steps: Quantity[Any]
    rollout_stretch: float
    rollout_switch_latency: Quantity[Any]
    rollout_tail_time: Quantity[Any]
    rollout_time: Quantity[Any]
    rollout_time_low: Quantity[Any]
    rollout_tp_size: float
    rollout_work: Quantity[Any]
    router_bias: float
    routing_imbalance_factor: float
    routing_weights: str
    run_tokens: Quantity[Any]
    runtime_memory: Quantity[Any]
    sampled_requests: float
    samples_per_second: Quantity[Any]
    sampling_bytes: Quantity[Any]
    sandwich_norm: float
    saved_dtype: str
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scoring_passes: float
    selective_policy: str
    sequence_overhead: Quantity[Any]
    sequence_parallel: float
    shared_cache_layers: float
    shared_ffn_dim: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    sixteenth_drain_time: Quantity[Any]
    sixteenth_empty_step: Quantity[Any]
    sixteenth_position: Quantity[Any]
    sixteenth_request_cost: Quantity[Any]
    sixteenth_requests: Quantity[Any]
    sixteenth_squares: Quantity[Any]
    sixteenth_token_cost: Quantity[Any]
    sixteenth_tokens: Quantity[Any]
    sixtyfourth_drain_time: Quantity[Any]
    sixtyfourth_empty_step: Quantity[Any]
    sixtyfourth_position: Quantity[Any]
    sixtyfourth_request_cost: Quantity[Any]
    sixtyfourth_requests: Quantity[Any]
    sixtyfourth_squares: Quantity[Any]
    sixtyfourth_token_cost: Quantity[Any]
    sixtyfourth_tokens: Quantity[Any]
    slice_cost: float
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slotted_split: float
    source_hidden_dim: float
    source_parameters: float
    split_above: float
    split_below: float
    split_optimum: float
    split_unit: float
    staleness: float
    started_share: float
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_flop_energy: Quantity[Any]
    step_samples: Quantity[Any]
    step_time: Quantity[Any]
    straggler_factor: float
    switch_latency: Quantity[Any]
    switch_reduces: float
    sync_bandwidth: Quantity[Any]
    sync_time: Quantity[Any]
    synced_weights: Quantity[Any]
    tdp: Quantity[Any]
    tied_embeddings: float
    token_dispatcher: str
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    tp_overlap: float
    tp_size: float
    trainable_fraction: float
    trainer_gradients: Quantity[Any]
    trainer_memory: Quantity[Any]
    trainer_optimizer_state: Quantity[Any]
    trainer_room: Quantity[Any]
    trainer_unit: float
    trainer_weights: Quantity[Any]
    training_steps: float
    two_batch_hidden_share: float
    two_batch_overlap: float
    unslotted_optimum: float
    update_buffer: str
    update_busy_share: float
    update_dp_size: float
    update_flops: Quantity[Any]
    update_idle_share: float
    update_pass_time: Quantity[Any]
    update_pool: float
    update_sequences: float
    update_step_time: Quantity[Any]
    update_stretch: float
    update_time: Quantity[Any]
    update_work: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_projections: float
    vocab_multiple: float
    vocab_size: float
    waiting_rollout_floor: Quantity[Any]
    waiting_rollout_work: Quantity[Any]
    water: Quantity[Any]
    weight_dtype: str
    weight_only_expert_efficiency: float
    weight_read_efficiency: float
    whole_drain_time: Quantity[Any]
    whole_empty_step: Quantity[Any]
    whole_position: Quantity[Any]
    whole_request_cost: Quantity[Any]
    whole_requests: Quantity[Any]
    whole_squares: Quantity[Any]
    whole_token_cost: Quantity[Any]
    whole_tokens: Quantity[Any]
    worker_overhead: Quantity[Any]
    workspace: Quantity[Any]
    workspace_memory: Quantity[Any]
    zero_stage: float
class PostTrainingModel(_PostTrainingModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_PostTrainingInputs]) -> _PostTrainingResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _PostTrainingResult: ...

class _RunInputs(TypedDict, total=False):
    training_time: float | str | Quantity[Any]
    save_interval: float | str | Quantity[Any]
    interval_rule: str
    memory_save_interval: float | str | Quantity[Any]
    spare_nodes: float | str | Quantity[Any]
    spare_coverage: float | str | Quantity[Any]
    scheduled_share: float | str | Quantity[Any]
    restarts_fail: bool | str
    corruption_rate: float | str | Quantity[Any]
    corruption_lost_time: float | str | Quantity[Any]
    save_bytes: float | str | Quantity[Any]
    save_stall: float | str | Quantity[Any]
    save_latency: float | str | Quantity[Any]
    memory_save_stall: float | str | Quantity[Any]
    load_time: float | str | Quantity[Any]
    memory_load_time: float | str | Quantity[Any]
    save_barrier: float | str | Quantity[Any]
    save_writers: float | str | Quantity[Any]
    writer_bandwidth: float | str | Quantity[Any]
    storage_share: float | str | Quantity[Any]
    other_save_pressure: float | str | Quantity[Any]
    storage_multiplier: float | str | Quantity[Any]
    host_buffers: float | str | Quantity[Any]
    memory_copies: float | str | Quantity[Any]
    host_memory_capacity: float | str | Quantity[Any]
    lost_nodes: float | str | Quantity[Any]
    elastic_replicas: float | str | Quantity[Any]
    shrunk_replicas: float | str | Quantity[Any]
    recovery_deviation: float | str | Quantity[Any]
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    document_len: float | str | Quantity[Any]
    flop_convention: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    training_tokens: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    host_copy_bandwidth: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    node_failure_rate: float | str | Quantity[Any]
    failure_clock: str
    measured_nodes: float | str | Quantity[Any]
    failures_observed: float | str | Quantity[Any]
    failure_size_exponent: float | str | Quantity[Any]
    planned_rate: float | str | Quantity[Any]
    restart_share: float | str | Quantity[Any]
    detection_time: float | str | Quantity[Any]
    placement_time: float | str | Quantity[Any]
    initialization_time: float | str | Quantity[Any]
    warmup_time: float | str | Quantity[Any]
    memory_survival: float | str | Quantity[Any]
    repair_time: float | str | Quantity[Any]
    elastic_stall: float | str | Quantity[Any]
    away_time: float | str | Quantity[Any]
    storage_bandwidth: float | str | Quantity[Any]
    storage_read_bandwidth: float | str | Quantity[Any]
    node_storage_bandwidth: float | str | Quantity[Any]
    metadata_time: float | str | Quantity[Any]
    rental_price: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    step_spread: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    failures: str | _catalog.Failures
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    recipe: str | _catalog.Recipe
class _RunResult(Result):
    absent_share: float
    accelerators: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activations: Quantity[Any]
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_edges: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_flops: Quantity[Any]
    adapter_parameters_per_rank: float
    adapter_traffic: Quantity[Any]
    adapter_weights: Quantity[Any]
    all_to_all_operations: float
    alternate_matmul_activation: Quantity[Any]
    attended_len: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_efficiency: float
    attention_flops: Quantity[Any]
    attention_kernel: str
    attention_kernel_share: float
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    attention_vectors_per_rank: float
    availability_interval: Quantity[Any]
    average_power: Quantity[Any]
    away_time: Quantity[Any]
    backward_buffer: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    backward_exposed_exchange: Quantity[Any]
    backward_free_time: Quantity[Any]
    backward_share: float
    batch_size: float
    besides_launch_time: Quantity[Any]
    best_memory_interval: Quantity[Any]
    best_save_interval: Quantity[Any]
    bidirectional: float
    binding_rank: str
    block_norms: float
    blockless_layers: float
    bubble_fraction: float
    bubble_time: Quantity[Any]
    bulk_start: Quantity[Any]
    busy_power: float
    busy_share: float
    cap_exponent: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    cast_traffic: Quantity[Any]
    cast_weights: Quantity[Any]
    chunked_attention: float
    clock: Quantity[Any]
    clock_stretch: float
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_capability: float
    compute_dtype: str
    compute_time: Quantity[Any]
    computing_share: float
    congestion_factor: float
    context_memory: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    copy_deviation: Quantity[Any]
    copy_load: float
    copy_survival: float
    copy_wall_time: Quantity[Any]
    core_width_per_rank: float
    corruption_lost_time: Quantity[Any]
    corruption_rate: Quantity[Any]
    corruption_share: float
    cp_bandwidth: Quantity[Any]
    cp_chunk_latency: Quantity[Any]
    cp_exposed_time: Quantity[Any]
    cp_gather_time: Quantity[Any]
    cp_latency: Quantity[Any]
    cp_link_bandwidth: Quantity[Any]
    cp_message_bytes: Quantity[Any]
    cp_overlap: float
    cp_ranks_per_node: float
    cp_size: float
    cp_stride: float
    cp_time: Quantity[Any]
    cp_traffic_time: Quantity[Any]
    cross_layers: float
    daly_interval: Quantity[Any]
    deferred_head_gradients: float
    delta_rule: float
    dense_layer_activation: Quantity[Any]
    dense_parameters_per_rank: float
    detection_time: Quantity[Any]
    device_power: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    dispatcher: str
    document_len: Quantity[Any]
    dp_all_reduce_time: Quantity[Any]
    dp_bandwidth: Quantity[Any]
    dp_chunk_latency: Quantity[Any]
    dp_gather_time: Quantity[Any]
    dp_latency: Quantity[Any]
    dp_link_bandwidth: Quantity[Any]
    dp_message_bytes: Quantity[Any]
    dp_overlap: float
    dp_ranks_per_node: float
    dp_reduction_time: Quantity[Any]
    dp_replicate_size: float
    dp_ring_time: Quantity[Any]
    dp_size: float
    dp_stride: float
    dp_summed_bytes: Quantity[Any]
    dp_switch_time: Quantity[Any]
    dp_time: Quantity[Any]
    dp_traffic_bytes: Quantity[Any]
    dp_traffic_time: Quantity[Any]
    dp_tree_time: Quantity[Any]
    dp_tree_wire_time: Quantity[Any]
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    edge_parameters_per_rank: float
    edp_all_reduce_time: Quantity[Any]
    edp_bandwidth: Quantity[Any]
    edp_chunk_latency: Quantity[Any]
    edp_gather_time: Quantity[Any]
    edp_latency: Quantity[Any]
    edp_link_bandwidth: Quantity[Any]
    edp_message_bytes: Quantity[Any]
    edp_ranks: float
    edp_ranks_per_node: float
    edp_reduction_time: Quantity[Any]
    edp_ring_time: Quantity[Any]
    edp_stride: float
    edp_summed_bytes: Quantity[Any]
    edp_switch_time: Quantity[Any]
    edp_tree_time: Quantity[Any]
    edp_tree_wire_time: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elastic_capacity: float
    elastic_replicas: float
    elastic_stall: Quantity[Any]
    elementwise_efficiency: float
    elementwise_kernels: str
    elementwise_time: Quantity[Any]
    elementwise_traffic: Quantity[Any]
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    end_activations: Quantity[Any]
    end_edge_parameters: float
    end_expert_parameters: float
    end_layers: float
    end_memory: Quantity[Any]
    end_parameters: float
    energy: Quantity[Any]
    energy_per_step: Quantity[Any]
    energy_per_token: Quantity[Any]
    ep_exposed_time: Quantity[Any]
    ep_overlap: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    ep_time: Quantity[Any]
    etp_bandwidth: Quantity[Any]
    etp_chunk_latency: Quantity[Any]
    etp_gather_time: Quantity[Any]
    etp_latency: Quantity[Any]
    etp_link_bandwidth: Quantity[Any]
    etp_message_bytes: Quantity[Any]
    etp_ranks: float
    etp_ranks_per_node: float
    etp_size: float
    etp_stride: float
    ettr: float
    exchange_fill_time: Quantity[Any]
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    expected_failures: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_edges_per_rank: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_launch_time: Quantity[Any]
    expert_operations: float
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_product_factor: float
    expert_product_ratio: float
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_time: Quantity[Any]
    expert_vectors_per_rank: float
    experts: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    exposed_backward_traffic: Quantity[Any]
    exposed_edge_traffic: Quantity[Any]
    exposed_gather_time: Quantity[Any]
    exposed_reduction_time: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    failure_clock: str
    failure_cost: Quantity[Any]
    failure_cost_deviation: Quantity[Any]
    failure_deviation: Quantity[Any]
    failure_elasticity: float
    failure_size_exponent: float
    failures_observed: float
    feasible: bool
    fewest_last_layers: float
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    fill_share: float
    finetuning: str
    first_order_ettr: float
    first_rank_memory: Quantity[Any]
    fit: str
    fit_probability: float
    flash_kernel: str
    fleet_size: float
    flop_convention: str
    flop_power: float
    flop_share: float
    format_energy: float
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    forward_exposed_exchange: Quantity[Any]
    forward_free_time: Quantity[Any]
    forward_share: float
    free_link_time: Quantity[Any]
    full_stage_layers: float
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    gradient_accumulation_steps: float
    gradient_all_reduce_time: Quantity[Any]
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradient_reduction_time: Quantity[Any]
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_at_loss_bytes: Quantity[Any]
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    grouped_experts: float
    hardware_flops: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_layers: float
    head_memory: Quantity[Any]
    head_parameters: float
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hfu: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    hidden_traffic_cost: float
    holds_first_stage: float
    holds_last_stage: float
    host_buffers: float
    host_copy_bandwidth: Quantity[Any]
    host_memory_capacity: Quantity[Any]
    host_memory_per_node: Quantity[Any]
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    host_wait_time: Quantity[Any]
    hot_product_flops: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    initialization_time: Quantity[Any]
    inner_bytes: Quantity[Any]
    inner_vectors: float
    inner_width: float
    interleaved_stages: float
    interval_deviation: Quantity[Any]
    interval_rule: str
    job_failure_rate: Quantity[Any]
    kept_beside_ffn: Quantity[Any]
    kept_share: float
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_width_per_rank: float
    largest_dense_parameters: float
    largest_edge_parameters: float
    largest_expert_parameters: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    largest_optimizer_state: Quantity[Any]
    largest_trained_dense_parameters: float
    largest_trained_expert_parameters: float
    last_rank_memory: Quantity[Any]
    last_stage_is_slowest: float
    last_stage_layers: float
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_hiding_time: Quantity[Any]
    layer_input: Quantity[Any]
    layer_launch_time: Quantity[Any]
    layer_memory: Quantity[Any]
    layer_operations: float
    layer_time: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    least_dropped_share: float
    lifetime: Quantity[Any]
    link_efficiency: float
    load_time: Quantity[Any]
    loaded_mask: float
    local_micro_batch: float
    logit_bytes: Quantity[Any]
    logit_flops: Quantity[Any]
    longest_part_time: Quantity[Any]
    lookup_parameters: float
    lora_rank: float
    lora_target_modules: str
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_memory: Quantity[Any]
    loss_time: Quantity[Any]
    lost_nodes: float
    low_latency_bandwidth: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matrix_edges_per_rank: float
    mean_adapted_products: float
    mean_compute_time: Quantity[Any]
    mean_layer_parameters: float
    mean_rank_factor: float
    mean_time_between_interruptions: Quantity[Any]
    measured_nodes: float
    memory_after_step: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_copies: float
    memory_efficiency: float
    memory_load_time: Quantity[Any]
    memory_margin: Quantity[Any]
    memory_reading: str
    memory_recovery_time: Quantity[Any]
    memory_save_interval: Quantity[Any]
    memory_save_period: Quantity[Any]
    memory_save_stall: Quantity[Any]
    memory_segment_load: float
    memory_segment_loss: float
    memory_spread: float
    memory_survival: float
    memory_utilization: float
    metadata_time: Quantity[Any]
    mfu: float
    micro_batch_compute_time: Quantity[Any]
    micro_batch_launch_time: Quantity[Any]
    micro_batch_time: Quantity[Any]
    micro_batch_tokens: Quantity[Any]
    micro_batch_wait_time: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixer_product_widths: float
    mixerless_layers: float
    mlp_bias: float
    model_flops: Quantity[Any]
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_interval: float
    moe_layer_operations: float
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    mttf: Quantity[Any]
    multiprocessors: float
    near_core_activation: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_failure_rate: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    node_storage_bandwidth: Quantity[Any]
    nodes: float
    nodes_away: float
    nodes_per_token: float
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_state: Quantity[Any]
    optimizer_time: Quantity[Any]
    other_save_pressure: float
    other_stage_layers: float
    oversubscription: float
    pad_to_capacity: float
    pair_survival: float
    parallel_layers: float
    parameters: float
    parameters_per_rank: float
    peak_activations: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_moment: str
    peak_rank: str
    picked_entry_width: float
    pipeline_schedule: str
    pipeline_split: str
    placement_time: Quantity[Any]
    plain_layers_of_rank: float
    planned_rate: Quantity[Any]
    planned_share: float
    planned_stop_time: Quantity[Any]
    pool_share: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    pp_time: Quantity[Any]
    precision: str
    product_bytes: Quantity[Any]
    product_efficiency: float
    product_flops: Quantity[Any]
    product_input_bytes: Quantity[Any]
    product_rate: Quantity[Any]
    product_time: Quantity[Any]
    product_widths: float
    published_failure_rate: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    rank_memory: Quantity[Any]
    rank_save_bytes: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    recomputed_attention: float
    recomputed_elementwise: float
    recomputed_flops: Quantity[Any]
    recomputed_products: float
    recomputed_traffic: Quantity[Any]
    recovery_deviation: Quantity[Any]
    recovery_share: float
    recovery_time: Quantity[Any]
    reduce_dtype: str
    reduced_bytes: Quantity[Any]
    rental_price: Quantity[Any]
    rep_all_reduce_time: Quantity[Any]
    rep_bandwidth: Quantity[Any]
    rep_chunk_latency: Quantity[Any]
    rep_latency: Quantity[Any]
    rep_link_bandwidth: Quantity[Any]
    rep_ranks_per_node: float
    rep_ring_time: Quantity[Any]
    rep_stride: float
    rep_summed_bytes: Quantity[Any]
    rep_switch_time: Quantity[Any]
    rep_tree_time: Quantity[Any]
    rep_tree_wire_time: Quantity[Any]
    repair_time: Quantity[Any]
    repeated_matrix_elements: float
    reported_memory: Quantity[Any]
    reserved_memory: Quantity[Any]
    resident_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    rest_time: Quantity[Any]
    restart_share: float
    restarts_fail: float
    reused_parameters: float
    rework_share: float
    routed_buffer: Quantity[Any]
    routed_flops: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    rows_per_expert: Quantity[Any]
    run_cost: Quantity[Any]
    run_cost_deviation: Quantity[Any]
    run_cost_p90: Quantity[Any]
    run_goodput: float
    run_time: Quantity[Any]
    run_time_deviation: Quantity[Any]
    run_time_p90: Quantity[Any]
    run_tokens: Quantity[Any]
    running_share: float
    sandwich_norm: float
    save_barrier: Quantity[Any]
    save_bytes: Quantity[Any]
    save_bytes_per_parameter: Quantity[Any]
    save_interval: Quantity[Any]
    save_latency: Quantity[Any]
    save_period: Quantity[Any]
    save_price: Quantity[Any]
    save_stall: Quantity[Any]
    save_write_time: Quantity[Any]
    save_writers: float
    saved_bytes: Quantity[Any]
    saved_dtype: str
    saves_per_failure: float
    scaling_efficiency: float
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    scheduled_share: float
    score_activation: Quantity[Any]
    score_flops: Quantity[Any]
    score_time: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    segment_load: float
    selective_policy: str
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_interval: Quantity[Any]
    shared_parameters_per_rank: float
    short_sequence_factor: float
    shrunk_replicas: float
    shrunk_throughput: float
    single_expert_edges_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    slice_cost: float
    sliding_attention_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slowest_factor: float
    slowest_stage_layers: float
    slowest_stage_moe_layers: float
    slowest_stage_summing_layers: float
    source_hidden_dim: float
    source_parameters: float
    source_projections: float
    spare_coverage: float
    spare_nodes: float
    spare_nodes_needed: float
    spare_wait_share: float
    stage_activations: Quantity[Any]
    stage_time: Quantity[Any]
    stage_wait_time: Quantity[Any]
    stages_per_rank: float
    stall_factor: float
    stall_share: float
    state_chunk: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_bottleneck: str
    step_elementwise_time: Quantity[Any]
    step_flop_energy: Quantity[Any]
    step_loss_time: Quantity[Any]
    step_product_time: Quantity[Any]
    step_score_time: Quantity[Any]
    step_spread: float
    step_time: Quantity[Any]
    storage_bandwidth: Quantity[Any]
    storage_mttf: Quantity[Any]
    storage_multiplier: Quantity[Any]
    storage_read_bandwidth: Quantity[Any]
    storage_recovery_time: Quantity[Any]
    storage_share: float
    storage_use: float
    storage_wall_load: float
    straggler_factor: float
    straggler_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    time_down: Quantity[Any]
    time_in_absence: Quantity[Any]
    time_in_recovery: Quantity[Any]
    time_in_rework: Quantity[Any]
    time_in_stalls: Quantity[Any]
    time_in_work: Quantity[Any]
    token_dispatcher: str
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    total_memory: Quantity[Any]
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_exchange_time: Quantity[Any]
    tp_exposed_time: Quantity[Any]
    tp_gather_time: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_message_bytes: Quantity[Any]
    tp_overlap: float
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    trained_parameters_per_rank: float
    training_steps: float
    training_time: Quantity[Any]
    training_tokens: Quantity[Any]
    two_batch_hidden_share: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    up_projection_activation: Quantity[Any]
    up_projection_elements: float
    up_share: float
    update_buffer: str
    update_memory: Quantity[Any]
    updated_parameters_per_rank: float
    usable_memory: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    warmup_time: Quantity[Any]
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gather_time: Quantity[Any]
    weight_gradient_share: float
    weights: Quantity[Any]
    wide_rate: Quantity[Any]
    widening_traffic: Quantity[Any]
    width_vectors: float
    window_reach: Quantity[Any]
    workspace: Quantity[Any]
    writer_bandwidth: Quantity[Any]
    young_interval: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class RunModel(_RunModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., storage: str | _catalog.Storage = ..., rent: str | _catalog.Rent = ..., **inputs: Unpack[_RunInputs]) -> _RunResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., storage: str | _catalog.Storage = ..., rent: str | _catalog.Rent = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., storage: str | _catalog.Storage = ..., rent: str | _catalog.Rent = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _RunResult: ...

class _ExpertParallelInputs(TypedDict, total=False):
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    document_len: float | str | Quantity[Any]
    flop_convention: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    training_tokens: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    fsdp_prefetch: str
    parameters: float | str | Quantity[Any]
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    count_sync_time: float | str | Quantity[Any]
    remap_bandwidth: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    recipe: str | _catalog.Recipe
class _ExpertParallelResult(Result):
    accelerators: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    accumulated_weights: Quantity[Any]
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activations: Quantity[Any]
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_edges: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_flops: Quantity[Any]
    adapter_parameters_per_rank: float
    adapter_traffic: Quantity[Any]
    adapter_weights: Quantity[Any]
    added_traffic_time: Quantity[Any]
    again_time: Quantity[Any]
    all_to_all_operations: float
    allocator_retries: bool
    alternate_matmul_activation: Quantity[Any]
    attended_len: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_efficiency: float
    attention_flops: Quantity[Any]
    attention_kernel: str
    attention_kernel_share: float
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    attention_vectors_per_rank: float
    average_power: Quantity[Any]
    backward_buffer: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    backward_exposed_exchange: Quantity[Any]
    backward_free_time: Quantity[Any]
    backward_layer_time: Quantity[Any]
    backward_share: float
    backward_wait_time: Quantity[Any]
    batch_size: float
    besides_launch_time: Quantity[Any]
    besides_time: Quantity[Any]
    bidirectional: float
    binding_rank: str
    block_norms: float
    blockless_layers: float
    break_even_bandwidth: Quantity[Any]
    break_even_experts_per_token: float
    break_even_imbalance: float
    break_even_rows: Quantity[Any]
    break_even_seq_len: Quantity[Any]
    break_even_slowdown: float
    break_even_tokens: Quantity[Any]
    bubble_fraction: float
    bubble_time: Quantity[Any]
    bulk_start: Quantity[Any]
    busy_power: float
    busy_share: float
    cap_exponent: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    cast_traffic: Quantity[Any]
    cast_weights: Quantity[Any]
    chunked_attention: float
    clock: Quantity[Any]
    clock_stretch: float
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_capability: float
    compute_dtype: str
    compute_pool: Quantity[Any]
    compute_time: Quantity[Any]
    computing_share: float
    congestion_factor: float
    context_memory: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    count_sync_time: Quantity[Any]
    count_time: Quantity[Any]
    cp_bandwidth: Quantity[Any]
    cp_chunk_latency: Quantity[Any]
    cp_exposed_time: Quantity[Any]
    cp_gather_time: Quantity[Any]
    cp_latency: Quantity[Any]
    cp_link_bandwidth: Quantity[Any]
    cp_message_bytes: Quantity[Any]
    cp_overlap: float
    cp_ranks_per_node: float
    cp_size: float
    cp_stride: float
    cp_time: Quantity[Any]
    cp_traffic_time: Quantity[Any]
    cross_layers: float
    deferred_head_gradients: float
    delta_rule: float
    dense_layer_activation: Quantity[Any]
    dense_parameters_per_rank: float
    device_power: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    dispatcher: str
    document_len: Quantity[Any]
    dp_all_reduce_time: Quantity[Any]
    dp_bandwidth: Quantity[Any]
    dp_chunk_latency: Quantity[Any]
    dp_gather_time: Quantity[Any]
    dp_latency: Quantity[Any]
    dp_link_bandwidth: Quantity[Any]
    dp_message_bytes: Quantity[Any]
    dp_overlap: float
    dp_ranks_per_node: float
    dp_reduction_time: Quantity[Any]
    dp_replicate_size: float
    dp_ring_time: Quantity[Any]
    dp_size: float
    dp_stride: float
    dp_summed_bytes: Quantity[Any]
    dp_switch_time: Quantity[Any]
    dp_time: Quantity[Any]
    dp_traffic_bytes: Quantity[Any]
    dp_traffic_time: Quantity[Any]
    dp_tree_time: Quantity[Any]
    dp_tree_wire_time: Quantity[Any]
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    edge_gradient: Quantity[Any]
    edge_parameters_per_rank: float
    edge_traffic_saved_time: Quantity[Any]
    edp_all_reduce_time: Quantity[Any]
    edp_bandwidth: Quantity[Any]
    edp_chunk_latency: Quantity[Any]
    edp_gather_time: Quantity[Any]
    edp_latency: Quantity[Any]
    edp_link_bandwidth: Quantity[Any]
    edp_message_bytes: Quantity[Any]
    edp_ranks: float
    edp_ranks_per_node: float
    edp_reduction_time: Quantity[Any]
    edp_ring_time: Quantity[Any]
    edp_stride: float
    edp_summed_bytes: Quantity[Any]
    edp_switch_time: Quantity[Any]
    edp_tree_time: Quantity[Any]
    edp_tree_wire_time: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elementwise_efficiency: float
    elementwise_kernels: str
    elementwise_time: Quantity[Any]
    elementwise_traffic: Quantity[Any]
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    end_activations: Quantity[Any]
    end_edge_parameters: float
    end_expert_parameters: float
    end_layers: float
    end_memory: Quantity[Any]
    end_parameters: float
    energy: Quantity[Any]
    energy_per_step: Quantity[Any]
    energy_per_token: Quantity[Any]
    ep_exposed_time: Quantity[Any]
    ep_overlap: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    ep_time: Quantity[Any]
    etp_bandwidth: Quantity[Any]
    etp_chunk_latency: Quantity[Any]
    etp_gather_time: Quantity[Any]
    etp_latency: Quantity[Any]
    etp_link_bandwidth: Quantity[Any]
    etp_message_bytes: Quantity[Any]
    etp_ranks: float
    etp_ranks_per_node: float
    etp_size: float
    etp_stride: float
    exchange_fill_time: Quantity[Any]
    exchange_growth: float
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_edges_per_rank: float
    expert_ffn_dim: float
    expert_input_dim: float
    expert_lag_time: Quantity[Any]
    expert_launch_time: Quantity[Any]
    expert_operations: float
    expert_parallel_gain: Quantity[Any]
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_product_factor: float
    expert_product_ratio: float
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_time: Quantity[Any]
    expert_vectors_per_rank: float
    experts: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    exposed_backward_traffic: Quantity[Any]
    exposed_edge_traffic: Quantity[Any]
    exposed_gather_time: Quantity[Any]
    exposed_reduction_time: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    feasible: bool
    fewest_last_layers: float
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    fill_share: float
    finetuning: str
    first_rank_memory: Quantity[Any]
    fit: str
    fit_probability: float
    fixed_exchange_time: Quantity[Any]
    fixed_expert_time: Quantity[Any]
    flash_kernel: str
    fleet_size: float
    flop_convention: str
    flop_power: float
    flop_share: float
    format_energy: float
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    forward_exposed_exchange: Quantity[Any]
    forward_free_time: Quantity[Any]
    forward_layer_time: Quantity[Any]
    forward_share: float
    forward_wait_time: Quantity[Any]
    free_link_time: Quantity[Any]
    fsdp_prefetch: str
    full_stage_layers: float
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gather_pool: Quantity[Any]
    gathered_block: Quantity[Any]
    gathered_edge: Quantity[Any]
    gathered_experts: Quantity[Any]
    gathered_layers: float
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    gathers_behind: bool
    gradient_accumulation_steps: float
    gradient_all_reduce_time: Quantity[Any]
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradient_reduction_time: Quantity[Any]
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_at_loss_bytes: Quantity[Any]
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    grouped_experts: float
    growing_traffic_time: Quantity[Any]
    hardware_flops: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_layers: float
    head_memory: Quantity[Any]
    head_parameters: float
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hfu: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    hidden_traffic_cost: float
    hiding_share: float
    holds_first_stage: float
    holds_last_stage: float
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    host_sync_time: Quantity[Any]
    host_wait_time: Quantity[Any]
    hot_product_flops: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    inner_bytes: Quantity[Any]
    inner_vectors: float
    inner_width: float
    interleaved_stages: float
    kept_beside_ffn: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_width_per_rank: float
    largest_dense_parameters: float
    largest_edge_parameters: float
    largest_expert_parameters: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    largest_optimizer_state: Quantity[Any]
    largest_trained_dense_parameters: float
    largest_trained_expert_parameters: float
    last_rank_memory: Quantity[Any]
    last_stage_is_slowest: float
    last_stage_layers: float
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_hiding_time: Quantity[Any]
    layer_input: Quantity[Any]
    layer_launch_time: Quantity[Any]
    layer_memory: Quantity[Any]
    layer_operations: float
    layer_time: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    least_dropped_share: float
    lifetime: Quantity[Any]
    link_efficiency: float
    live_memory: Quantity[Any]
    loaded_mask: float
    local_micro_batch: float
    logit_bytes: Quantity[Any]
    logit_flops: Quantity[Any]
    longest_part_time: Quantity[Any]
    lookup_parameters: float
    lora_rank: float
    lora_target_modules: str
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_memory: Quantity[Any]
    loss_pool: Quantity[Any]
    loss_time: Quantity[Any]
    low_latency_bandwidth: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matrix_edges_per_rank: float
    mean_adapted_products: float
    mean_compute_time: Quantity[Any]
    mean_layer_parameters: float
    mean_rank_factor: float
    memory_after_step: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_efficiency: float
    memory_margin: Quantity[Any]
    memory_reading: str
    memory_spread: float
    memory_utilization: float
    mfu: float
    micro_batch_compute_time: Quantity[Any]
    micro_batch_launch_time: Quantity[Any]
    micro_batch_time: Quantity[Any]
    micro_batch_tokens: Quantity[Any]
    micro_batch_wait_time: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixer_product_widths: float
    mixerless_layers: float
    mlp_bias: float
    model_flops: Quantity[Any]
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_interval: float
    moe_layer_operations: float
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    multiprocessors: float
    near_core_activation: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    nodes_per_token: float
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_state: Quantity[Any]
    optimizer_time: Quantity[Any]
    other_stage_layers: float
    other_traffic_time: Quantity[Any]
    oversubscription: float
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    parameters_per_rank: float
    peak_activations: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_moment: str
    peak_rank: str
    picked_entry_width: float
    pipeline_schedule: str
    pipeline_split: str
    plain_layers_of_rank: float
    pool_share: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    pp_time: Quantity[Any]
    precision: str
    product_bytes: Quantity[Any]
    product_efficiency: float
    product_flops: Quantity[Any]
    product_input_bytes: Quantity[Any]
    product_rate: Quantity[Any]
    product_time: Quantity[Any]
    product_widths: float
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    rank_live_memory: Quantity[Any]
    rank_memory: Quantity[Any]
    rank_remap_time: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    recomputed_attention: float
    recomputed_elementwise: float
    recomputed_flops: Quantity[Any]
    recomputed_products: float
    recomputed_traffic: Quantity[Any]
    reduce_dtype: str
    reduced_bytes: Quantity[Any]
    reduction_pool: Quantity[Any]
    regather_time: Quantity[Any]
    remap_bandwidth: Quantity[Any]
    remap_time: Quantity[Any]
    rep_all_reduce_time: Quantity[Any]
    rep_bandwidth: Quantity[Any]
    rep_chunk_latency: Quantity[Any]
    rep_latency: Quantity[Any]
    rep_link_bandwidth: Quantity[Any]
    rep_ranks_per_node: float
    rep_ring_time: Quantity[Any]
    rep_stride: float
    rep_summed_bytes: Quantity[Any]
    rep_switch_time: Quantity[Any]
    rep_tree_time: Quantity[Any]
    rep_tree_wire_time: Quantity[Any]
    repeated_matrix_elements: float
    reported_memory: Quantity[Any]
    reserved_memory: Quantity[Any]
    resident_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    rest_time: Quantity[Any]
    reused_parameters: float
    routed_buffer: Quantity[Any]
    routed_flops: Quantity[Any]
    routed_time: Quantity[Any]
    routed_traffic: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    rows_per_expert: Quantity[Any]
    rows_saved_time: Quantity[Any]
    run_tokens: Quantity[Any]
    sandwich_norm: float
    saved_bytes: Quantity[Any]
    saved_dtype: str
    scaling_efficiency: float
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_activation: Quantity[Any]
    score_flops: Quantity[Any]
    score_time: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    selective_policy: str
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    sharing_time: Quantity[Any]
    short_sequence_factor: float
    single_expert_edges_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    slice_cost: float
    sliding_attention_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slowest_factor: float
    slowest_stage_layers: float
    slowest_stage_moe_layers: float
    slowest_stage_summing_layers: float
    source_hidden_dim: float
    source_parameters: float
    source_projections: float
    split_traffic_time: Quantity[Any]
    stage_activations: Quantity[Any]
    stage_time: Quantity[Any]
    stage_wait_time: Quantity[Any]
    stages_per_rank: float
    state_chunk: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_bottleneck: str
    step_elementwise_time: Quantity[Any]
    step_flop_energy: Quantity[Any]
    step_loss_time: Quantity[Any]
    step_product_time: Quantity[Any]
    step_score_time: Quantity[Any]
    step_time: Quantity[Any]
    straggler_factor: float
    straggler_time: Quantity[Any]
    swap_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    token_dispatcher: str
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    total_memory: Quantity[Any]
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_exchange_time: Quantity[Any]
    tp_exposed_time: Quantity[Any]
    tp_gather_time: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_message_bytes: Quantity[Any]
    tp_overlap: float
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    traffic_saved_time: Quantity[Any]
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    trained_parameters_per_rank: float
    training_steps: float
    training_time: Quantity[Any]
    training_tokens: Quantity[Any]
    two_batch_hidden_share: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    unsplit_bandwidth: Quantity[Any]
    unsplit_compute_time: Quantity[Any]
    unsplit_expert_time: Quantity[Any]
    unsplit_fixed_time: Quantity[Any]
    unsplit_free_time: Quantity[Any]
    unsplit_gather_time: Quantity[Any]
    unsplit_launch_time: Quantity[Any]
    unsplit_link_bandwidth: Quantity[Any]
    unsplit_message_bytes: Quantity[Any]
    unsplit_micro_batch_time: Quantity[Any]
    unsplit_overlapped_time: Quantity[Any]
    unsplit_product_factor: float
    unsplit_ranks: float
    unsplit_ranks_per_node: float
    unsplit_routed_time: Quantity[Any]
    unsplit_sharing_time: Quantity[Any]
    unsplit_tp_time: Quantity[Any]
    unsplit_traffic_time: Quantity[Any]
    up_projection_activation: Quantity[Any]
    up_projection_elements: float
    update_buffer: str
    update_memory: Quantity[Any]
    updated_parameters_per_rank: float
    usable_memory: Quantity[Any]
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gather_time: Quantity[Any]
    weight_gradient_share: float
    weights: Quantity[Any]
    wide_rate: Quantity[Any]
    widening_traffic: Quantity[Any]
    width_vectors: float
    window_reach: Quantity[Any]
    workspace: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class ExpertParallelModel(_ExpertParallelModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_ExpertParallelInputs]) -> _ExpertParallelResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _ExpertParallelResult: ...

class _EconomicsInputs(TypedDict, total=False):
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    document_len: float | str | Quantity[Any]
    flop_convention: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    training_tokens: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    qps: float | str | Quantity[Any]
    target_p99_latency_ms: float | str | Quantity[Any]
    output_tokens: float | str | Quantity[Any]
    max_batch_size: float | str | Quantity[Any]
    kv_cache_dtype: str
    max_replicas: float | str | Quantity[Any]
    service_time_cv: float | str | Quantity[Any]
    kv_page_size: float | str | Quantity[Any]
    images: float | str | Quantity[Any]
    duration: float | str | Quantity[Any]
    request_rate: float | str | Quantity[Any]
    concurrency: float | str | Quantity[Any]
    num_rounds: float | str | Quantity[Any]
    isl: float | str | Quantity[Any]
    osl: float | str | Quantity[Any]
    ttft_slo: float | str | Quantity[Any]
    tpot_slo: float | str | Quantity[Any]
    e2e_slo: float | str | Quantity[Any]
    slo_quantile: float | str | Quantity[Any]
    num_replicas: float | str | Quantity[Any]
    dp_attention_size: float | str | Quantity[Any]
    num_redundant_experts: float | str | Quantity[Any]
    max_num_seqs: float | str | Quantity[Any]
    max_num_batched_tokens: float | str | Quantity[Any]
    whole_prompts: bool | str
    prefix_hit_rate: float | str | Quantity[Any]
    prefix_cache_memory: float | str | Quantity[Any]
    num_prefixes: float | str | Quantity[Any]
    prefix_len: float | str | Quantity[Any]
    prefix_zipf: float | str | Quantity[Any]
    num_loras: float | str | Quantity[Any]
    lora_zipf: float | str | Quantity[Any]
    max_loras: float | str | Quantity[Any]
    lora_layer_tax: float | str | Quantity[Any]
    num_speculative_tokens: float | str | Quantity[Any]
    acceptance_rate: float | str | Quantity[Any]
    draft_cost: float | str | Quantity[Any]
    prefill_workers: float | str | Quantity[Any]
    decode_workers: float | str | Quantity[Any]
    kv_transfer_bandwidth: float | str | Quantity[Any]
    prefill_tp_size: float | str | Quantity[Any]
    prefill_pp_size: float | str | Quantity[Any]
    prefill_ep_size: float | str | Quantity[Any]
    prefill_dp_attention_size: float | str | Quantity[Any]
    isl_cv: float | str | Quantity[Any]
    osl_cv: float | str | Quantity[Any]
    burstiness: float | str | Quantity[Any]
    poll_interval: float | str | Quantity[Any]
    batch_wait: float | str | Quantity[Any]
    training_time: float | str | Quantity[Any]
    save_interval: float | str | Quantity[Any]
    interval_rule: str
    memory_save_interval: float | str | Quantity[Any]
    spare_nodes: float | str | Quantity[Any]
    spare_coverage: float | str | Quantity[Any]
    scheduled_share: float | str | Quantity[Any]
    restarts_fail: bool | str
    corruption_rate: float | str | Quantity[Any]
    corruption_lost_time: float | str | Quantity[Any]
    save_bytes: float | str | Quantity[Any]
    save_stall: float | str | Quantity[Any]
    save_latency: float | str | Quantity[Any]
    memory_save_stall: float | str | Quantity[Any]
    load_time: float | str | Quantity[Any]
    memory_load_time: float | str | Quantity[Any]
    save_barrier: float | str | Quantity[Any]
    save_writers: float | str | Quantity[Any]
    writer_bandwidth: float | str | Quantity[Any]
    storage_share: float | str | Quantity[Any]
    other_save_pressure: float | str | Quantity[Any]
    storage_multiplier: float | str | Quantity[Any]
    host_buffers: float | str | Quantity[Any]
    memory_copies: float | str | Quantity[Any]
    host_memory_capacity: float | str | Quantity[Any]
    lost_nodes: float | str | Quantity[Any]
    elastic_replicas: float | str | Quantity[Any]
    shrunk_replicas: float | str | Quantity[Any]
    recovery_deviation: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    num_prompts: float | str | Quantity[Any]
    num_generations: float | str | Quantity[Any]
    prompt_len: float | str | Quantity[Any]
    mean_response_length: float | str | Quantity[Any]
    max_response_length: float | str | Quantity[Any]
    longest_response: float | str | Quantity[Any]
    response_cv: float | str | Quantity[Any]
    optimizer_steps: float | str | Quantity[Any]
    pack_length: float | str | Quantity[Any]
    logprob_passes: float | str | Quantity[Any]
    critic: str
    kept_group_share: float | str | Quantity[Any]
    staleness: float | str | Quantity[Any]
    rollout_accelerators: float | str | Quantity[Any]
    rollout_tp_size: float | str | Quantity[Any]
    rollout_ep_size: float | str | Quantity[Any]
    rollout_precision: str
    offload: str
    accelerators: float | str | Quantity[Any]
    busy_share: float | str | Quantity[Any]
    flop_share: float | str | Quantity[Any]
    run_tokens: float | str | Quantity[Any]
    rental_price: float | str | Quantity[Any]
    electricity_price: float | str | Quantity[Any]
    infrastructure_fraction: float | str | Quantity[Any]
    amortization: float | str | Quantity[Any]
    maintenance_rate: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    state_element_bytes: float | str | Quantity[Any]
    mixer_bytes: float | str | Quantity[Any]
    dense_bytes: float | str | Quantity[Any]
    expert_bytes: float | str | Quantity[Any]
    shared_expert_bytes: float | str | Quantity[Any]
    head_bytes: float | str | Quantity[Any]
    source_tokens: float | str | Quantity[Any]
    image_patches: float | str | Quantity[Any]
    source_token_flops: float | str | Quantity[Any]
    source_pair_flops: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    host_copy_bandwidth: float | str | Quantity[Any]
    rollout_peak_flops: float | str | Quantity[Any]
    rollout_attention_peak_flops: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    price: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    node_failure_rate: float | str | Quantity[Any]
    failure_clock: str
    measured_nodes: float | str | Quantity[Any]
    failures_observed: float | str | Quantity[Any]
    failure_size_exponent: float | str | Quantity[Any]
    planned_rate: float | str | Quantity[Any]
    restart_share: float | str | Quantity[Any]
    detection_time: float | str | Quantity[Any]
    placement_time: float | str | Quantity[Any]
    initialization_time: float | str | Quantity[Any]
    warmup_time: float | str | Quantity[Any]
    memory_survival: float | str | Quantity[Any]
    repair_time: float | str | Quantity[Any]
    elastic_stall: float | str | Quantity[Any]
    away_time: float | str | Quantity[Any]
    storage_bandwidth: float | str | Quantity[Any]
    storage_read_bandwidth: float | str | Quantity[Any]
    node_storage_bandwidth: float | str | Quantity[Any]
    metadata_time: float | str | Quantity[Any]
    rollout_efficiency: float | str | Quantity[Any]
    expert_efficiency: float | str | Quantity[Any]
    weight_only_expert_efficiency: float | str | Quantity[Any]
    rollout_memory_efficiency: float | str | Quantity[Any]
    expert_popularity: float | str | Quantity[Any]
    weight_read_efficiency: float | str | Quantity[Any]
    prefill_attention_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    rollout_scan_efficiency: float | str | Quantity[Any]
    rollout_scan_chunk_time: float | str | Quantity[Any]
    rollout_link_efficiency: float | str | Quantity[Any]
    rollout_fabric_efficiency: float | str | Quantity[Any]
    rollout_exchange_link_efficiency: float | str | Quantity[Any]
    rollout_exchange_latency: float | str | Quantity[Any]
    rollout_collective_latency: float | str | Quantity[Any]
    rollout_node_latency: float | str | Quantity[Any]
    rollout_switch_latency: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    moe_layer_tax: float | str | Quantity[Any]
    mla_layer_tax: float | str | Quantity[Any]
    index_layer_tax: float | str | Quantity[Any]
    host_layer_time: float | str | Quantity[Any]
    prompt_host_layer_time: float | str | Quantity[Any]
    prompt_host_mla_time: float | str | Quantity[Any]
    prompt_host_moe_time: float | str | Quantity[Any]
    iteration_overhead: float | str | Quantity[Any]
    worker_overhead: float | str | Quantity[Any]
    sequence_overhead: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    communication_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    busy_bandwidth_share: float | str | Quantity[Any]
    busy_peak_share: float | str | Quantity[Any]
    kernel_gap: float | str | Quantity[Any]
    rollout_format_energy: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    dispatch_tax: float | str | Quantity[Any]
    frontend_time: float | str | Quantity[Any]
    frontend_token_time: float | str | Quantity[Any]
    step_spread: float | str | Quantity[Any]
    rollout_stretch: float | str | Quantity[Any]
    update_stretch: float | str | Quantity[Any]
    refit_time: float | str | Quantity[Any]
    refit_bandwidth: float | str | Quantity[Any]
    sync_bandwidth: float | str | Quantity[Any]
    rest_stretch: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    failures: str | _catalog.Failures
    rollout_stack: str | _catalog.Stack
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
    recipe: str | _catalog.Recipe
class _EconomicsResult(Result):
    accelerators: float
    accelerators_per_decode_worker: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_prefill_worker: float
    accelerators_per_replica: float
    accelerators_per_segment: float
    acceptance_rate: float
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activation_time: Quantity[Any]
    activations: Quantity[Any]
    active_batch_size: Quantity[Any]
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_edges: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_flops: Quantity[Any]
    adapter_parameters_per_rank: float
    adapter_traffic: Quantity[Any]
    adapter_weights: Quantity[Any]
    added_prefill: Quantity[Any]
    all_to_all_operations: float
    allreduce_time: Quantity[Any]
    alternate_matmul_activation: Quantity[Any]
    amortization: Quantity[Any]
    answer_crowding: float
    answer_steps: float
    answers_ended: float
    arrival_noise: float
    arrival_scv: float
    attended_len: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_efficiency: float
    attention_flops: Quantity[Any]
    attention_kernel: str
    attention_kernel_share: float
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    attention_vectors_per_rank: float
    availability_interval: Quantity[Any]
    average_power: Quantity[Any]
    away_time: Quantity[Any]
    backward_buffer: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    backward_exposed_exchange: Quantity[Any]
    backward_free_time: Quantity[Any]
    backward_share: float
    bare_step_time: Quantity[Any]
    base_request_latency: Quantity[Any]
    batch_seen: Quantity[Any]
    batch_size: float
    batch_variance: Quantity[Any]
    batch_wait: float
    besides_launch_time: Quantity[Any]
    best_num_speculative_tokens: float
    best_save_interval: Quantity[Any]
    between_further_prompts: float
    between_gap_prompts: float
    between_gap_time: Quantity[Any]
    between_long_share: float
    between_prompts_cv: float
    between_stop_probability: float
    between_stopping_prompts: float
    bidirectional: float
    binding_rank: str
    block_norms: float
    blockless_layers: float
    bottleneck: str
    bubble_fraction: float
    bubble_time: Quantity[Any]
    bulk_start: Quantity[Any]
    bunch_size: Quantity[Any]
    burst_prompts: float
    burst_stall: Quantity[Any]
    burstiness: float
    busy_bandwidth_share: float
    busy_peak_share: float
    busy_power: float
    busy_share: float
    busy_stages: float
    c10_log_rank: float
    c10_lora_log_rank: float
    c10_loras: float
    c10_other_lora_share: float
    c10_prefixes: float
    c11_log_rank: float
    c11_lora_log_rank: float
    c11_loras: float
    c11_other_lora_share: float
    c11_prefixes: float
    c12_log_rank: float
    c12_lora_log_rank: float
    c12_loras: float
    c12_other_lora_share: float
    c12_prefixes: float
    c13_log_rank: float
    c13_lora_log_rank: float
    c13_loras: float
    c13_other_lora_share: float
    c13_prefixes: float
    c14_log_rank: float
    c14_lora_log_rank: float
    c14_loras: float
    c14_other_lora_share: float
    c14_prefixes: float
    c1_log_rank: float
    c1_lora_log_rank: float
    c1_loras: float
    c1_other_lora_share: float
    c1_prefixes: float
    c2_log_rank: float
    c2_lora_log_rank: float
    c2_loras: float
    c2_other_lora_share: float
    c2_prefixes: float
    c3_log_rank: float
    c3_lora_log_rank: float
    c3_loras: float
    c3_other_lora_share: float
    c3_prefixes: float
    c4_log_rank: float
    c4_lora_log_rank: float
    c4_loras: float
    c4_other_lora_share: float
    c4_prefixes: float
    c5_log_rank: float
    c5_lora_log_rank: float
    c5_loras: float
    c5_other_lora_share: float
    c5_prefixes: float
    c6_log_rank: float
    c6_lora_log_rank: float
    c6_loras: float
    c6_other_lora_share: float
    c6_prefixes: float
    c7_log_rank: float
    c7_lora_log_rank: float
    c7_loras: float
    c7_other_lora_share: float
    c7_prefixes: float
    c8_log_rank: float
    c8_lora_log_rank: float
    c8_loras: float
    c8_other_lora_share: float
    c8_prefixes: float
    c9_log_rank: float
    c9_lora_log_rank: float
    c9_loras: float
    c9_other_lora_share: float
    c9_prefixes: float
    cache_bound_batch: Quantity[Any]
    cache_tokens_of_all_layers: Quantity[Any]
    cache_width: float
    cache_width_in_window: float
    cached_prefixes: float
    cached_prompt_share: float
    cap_exponent: float
    cap_over_scale: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    cast_traffic: Quantity[Any]
    cast_weights: Quantity[Any]
    chunk_limit: Quantity[Any]
    chunked_attention: float
    cleared_tokens: Quantity[Any]
    cleared_variance: Quantity[Any]
    clearing_ratio: float
    clearing_share: float
    clearing_time: Quantity[Any]
    clock: Quantity[Any]
    clock_stretch: float
    closed_batch: Quantity[Any]
    closed_context: Quantity[Any]
    closed_first: Quantity[Any]
    closed_slots: Quantity[Any]
    closed_stalls: Quantity[Any]
    closed_step: Quantity[Any]
    cohort_cycle: Quantity[Any]
    cohort_place_p50: Quantity[Any]
    cohort_place_p90: Quantity[Any]
    cohort_place_p99: Quantity[Any]
    cohort_rounds: float
    cohort_size: Quantity[Any]
    cohort_step: Quantity[Any]
    cohort_waiting: Quantity[Any]
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    colocated_goodput_per_accelerator: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    communication_memory: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_bound_batch: Quantity[Any]
    compute_capability: float
    compute_dtype: str
    compute_time: Quantity[Any]
    computed_prompt_tokens: Quantity[Any]
    computed_time: Quantity[Any]
    computing_share: float
    concurrency: Quantity[Any]
    congestion_factor: float
    context_memory: Quantity[Any]
    context_tokens: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    corruption_lost_time: Quantity[Any]
    corruption_rate: Quantity[Any]
    corruption_share: float
    cost_per_hour: Quantity[Any]
    cost_per_input_token: Quantity[Any]
    cost_per_output_token: Quantity[Any]
    cost_per_request: Quantity[Any]
    cost_per_token: Quantity[Any]
    counted_rate: Quantity[Any]
    cp_bandwidth: Quantity[Any]
    cp_chunk_latency: Quantity[Any]
    cp_exposed_time: Quantity[Any]
    cp_gather_time: Quantity[Any]
    cp_latency: Quantity[Any]
    cp_link_bandwidth: Quantity[Any]
    cp_message_bytes: Quantity[Any]
    cp_overlap: float
    cp_ranks_per_node: float
    cp_size: float
    cp_stride: float
    cp_time: Quantity[Any]
    cp_traffic_time: Quantity[Any]
    critic: str
    cross_attention_flops: Quantity[Any]
    cross_layers: float
    cut_share: float
    daly_interval: Quantity[Any]
    decode_attention_flops: Quantity[Any]
    decode_attention_time: Quantity[Any]
    decode_batch: Quantity[Any]
    decode_batch_limit: Quantity[Any]
    decode_iteration_time: Quantity[Any]
    decode_rate_limit: Quantity[Any]
    decode_requests: Quantity[Any]
    decode_share: float
    decode_step_time: Quantity[Any]
    decode_time: Quantity[Any]
    decode_workers: float
    deferred_head_gradients: float
    delta_rule: float
    dense_bytes: Quantity[Any]
    dense_layer_activation: Quantity[Any]
    dense_parameters_per_rank: float
    dense_product_time: Quantity[Any]
    dense_weights_per_rank: float
    deployed_replicas: float
    detection_time: Quantity[Any]
    device_power: Quantity[Any]
    device_time: Quantity[Any]
    direct_mesh: float
    disaggregation_gain: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_tax: Quantity[Any]
    dispatch_time: Quantity[Any]
    dispatcher: str
    document_len: Quantity[Any]
    double_prompt_time: Quantity[Any]
    dp_all_reduce_time: Quantity[Any]
    dp_attention_size: float
    dp_bandwidth: Quantity[Any]
    dp_chunk_latency: Quantity[Any]
    dp_gather_time: Quantity[Any]
    dp_latency: Quantity[Any]
    dp_link_bandwidth: Quantity[Any]
    dp_message_bytes: Quantity[Any]
    dp_overlap: float
    dp_ranks_per_node: float
    dp_reduction_time: Quantity[Any]
    dp_replicate_size: float
    dp_ring_time: Quantity[Any]
    dp_size: float
    dp_stride: float
    dp_summed_bytes: Quantity[Any]
    dp_switch_time: Quantity[Any]
    dp_time: Quantity[Any]
    dp_traffic_bytes: Quantity[Any]
    dp_traffic_time: Quantity[Any]
    dp_tree_time: Quantity[Any]
    dp_tree_wire_time: Quantity[Any]
    draft_cost: float
    draft_time: Quantity[Any]
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    e2e_attainment: float
    e2e_mean: Quantity[Any]
    e2e_p50: Quantity[Any]
    e2e_p50_beyond: Quantity[Any]
    e2e_p90: Quantity[Any]
    e2e_p90_beyond: Quantity[Any]
    e2e_p99: Quantity[Any]
    e2e_p99_beyond: Quantity[Any]
    e2e_slo: Quantity[Any]
    edge_parameters_per_rank: float
    edp_all_reduce_time: Quantity[Any]
    edp_bandwidth: Quantity[Any]
    edp_chunk_latency: Quantity[Any]
    edp_gather_time: Quantity[Any]
    edp_latency: Quantity[Any]
    edp_link_bandwidth: Quantity[Any]
    edp_message_bytes: Quantity[Any]
    edp_ranks: float
    edp_ranks_per_node: float
    edp_reduction_time: Quantity[Any]
    edp_ring_time: Quantity[Any]
    edp_stride: float
    edp_summed_bytes: Quantity[Any]
    edp_switch_time: Quantity[Any]
    edp_tree_time: Quantity[Any]
    edp_tree_wire_time: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elastic_replicas: float
    elastic_stall: Quantity[Any]
    electricity_price: Quantity[Any]
    elementwise_efficiency: float
    elementwise_kernels: str
    elementwise_time: Quantity[Any]
    elementwise_traffic: Quantity[Any]
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    empty_share: float
    end_activations: Quantity[Any]
    end_edge_parameters: float
    end_expert_parameters: float
    end_layers: float
    end_memory: Quantity[Any]
    end_parameters: float
    energy: Quantity[Any]
    energy_cost: Quantity[Any]
    energy_per_request: Quantity[Any]
    energy_per_step: Quantity[Any]
    energy_per_token: Quantity[Any]
    engine_slots: Quantity[Any]
    engine_weights: Quantity[Any]
    entry_key_width: float
    ep_exposed_time: Quantity[Any]
    ep_overlap: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    ep_time: Quantity[Any]
    estimated_p99_latency: Quantity[Any]
    etp_bandwidth: Quantity[Any]
    etp_chunk_latency: Quantity[Any]
    etp_gather_time: Quantity[Any]
    etp_latency: Quantity[Any]
    etp_link_bandwidth: Quantity[Any]
    etp_message_bytes: Quantity[Any]
    etp_ranks: float
    etp_ranks_per_node: float
    etp_size: float
    etp_stride: float
    ettr: float
    exchange_fill_time: Quantity[Any]
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    exclusive_work: Quantity[Any]
    expected_failures: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_bytes: Quantity[Any]
    expert_edges_per_rank: float
    expert_efficiency: float
    expert_exchange_time: Quantity[Any]
    expert_ffn_dim: float
    expert_group_loras: float
    expert_group_tokens: Quantity[Any]
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_launch_time: Quantity[Any]
    expert_operations: float
    expert_padding: Quantity[Any]
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_popularity: float
    expert_product_efficiency: float
    expert_product_factor: float
    expert_product_ratio: float
    expert_product_time: Quantity[Any]
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_time: Quantity[Any]
    expert_vectors_per_rank: float
    expert_weight_bytes: Quantity[Any]
    expert_width_multiple: float
    experts: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    exposed_backward_traffic: Quantity[Any]
    exposed_edge_traffic: Quantity[Any]
    exposed_gather_time: Quantity[Any]
    exposed_reduction_time: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    failure_clock: str
    failure_cost: Quantity[Any]
    failure_cost_deviation: Quantity[Any]
    failure_deviation: Quantity[Any]
    failure_elasticity: float
    failure_size_exponent: float
    failures_observed: float
    feasible: bool
    fewest_last_layers: float
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    fill_share: float
    finetuning: str
    first_batch_estimate: float
    first_further_prompts: float
    first_gap_prompts: float
    first_gap_time: Quantity[Any]
    first_long_share: float
    first_order_ettr: float
    first_prompts_cv: float
    first_rank_memory: Quantity[Any]
    first_stall: Quantity[Any]
    first_stop_probability: float
    first_stopping_prompts: float
    first_token_correlation: float
    first_token_law: float
    first_token_skewness: float
    first_token_variance: Quantity[Any]
    fit: str
    fit_probability: float
    fitted_p99: Quantity[Any]
    flash_kernel: str
    fleet_size: float
    flop_convention: str
    flop_power: float
    flop_share: float
    followed_probability: float
    format_energy: float
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    forward_exposed_exchange: Quantity[Any]
    forward_free_time: Quantity[Any]
    forward_share: float
    free_link_time: Quantity[Any]
    free_rollout_steps: Quantity[Any]
    free_share: float
    frontend_time: Quantity[Any]
    frontend_token_time: Quantity[Any]
    frontend_wait: Quantity[Any]
    full_batch: Quantity[Any]
    full_iteration_time: Quantity[Any]
    full_prompt_time: Quantity[Any]
    full_share: float
    full_share_of_answer: float
    full_slots_share: float
    full_stage_layers: float
    full_steps: Quantity[Any]
    full_time: Quantity[Any]
    full_time_seen: Quantity[Any]
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_layer_time: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gathered_tokens: Quantity[Any]
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    goodput: Quantity[Any]
    goodput_per_accelerator: Quantity[Any]
    gpu_memory_utilization: float
    gradient_accumulation_steps: float
    gradient_all_reduce_time: Quantity[Any]
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradient_reduction_time: Quantity[Any]
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_at_loss_bytes: Quantity[Any]
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    grouped_experts: float
    half_prompt_time: Quantity[Any]
    hardware_cost: Quantity[Any]
    hardware_flops: Quantity[Any]
    head_bytes: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_layers: float
    head_memory: Quantity[Any]
    head_parameters: float
    head_time: Quantity[Any]
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hfu: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    hidden_traffic_cost: float
    holds_first_stage: float
    holds_last_stage: float
    host_buffers: float
    host_copy_bandwidth: Quantity[Any]
    host_layer_time: Quantity[Any]
    host_memory: Quantity[Any]
    host_memory_capacity: Quantity[Any]
    host_memory_per_node: Quantity[Any]
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    host_time: Quantity[Any]
    host_wait_time: Quantity[Any]
    hot_product_flops: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    image_patches: Quantity[Any]
    images: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layer_tax: Quantity[Any]
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    infrastructure_fraction: float
    initialization_time: Quantity[Any]
    inner_bytes: Quantity[Any]
    inner_vectors: float
    inner_width: float
    interleaved_stages: float
    interval_rule: str
    isl: Quantity[Any]
    isl_cv: float
    iteration_bottleneck: str
    iteration_budget: Quantity[Any]
    iteration_loras: float
    iteration_mean: Quantity[Any]
    iteration_overhead: Quantity[Any]
    iteration_requests: float
    iteration_second_moment: Quantity[Any]
    iteration_time: Quantity[Any]
    iteration_tokens: Quantity[Any]
    itl: Quantity[Any]
    itl_p99: Quantity[Any]
    job_failure_rate: Quantity[Any]
    kept_beside_ffn: Quantity[Any]
    kept_group_share: float
    kept_share: float
    kept_trainer_memory: Quantity[Any]
    kernel_gap: Quantity[Any]
    kernel_traffic: Quantity[Any]
    kv_bytes_per_request: Quantity[Any]
    kv_bytes_per_token: Quantity[Any]
    kv_bytes_per_token_per_rank: Quantity[Any]
    kv_bytes_read: Quantity[Any]
    kv_cache_bytes: Quantity[Any]
    kv_cache_dtype: str
    kv_cache_tokens: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_memory: Quantity[Any]
    kv_memory_fraction: float
    kv_page_size: Quantity[Any]
    kv_read_efficiency: float
    kv_read_stretch: float
    kv_transfer_bandwidth: Quantity[Any]
    kv_transfer_time: Quantity[Any]
    kv_width_per_rank: float
    largest_dense_parameters: float
    largest_edge_parameters: float
    largest_expert_parameters: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    largest_optimizer_state: Quantity[Any]
    largest_trained_dense_parameters: float
    largest_trained_expert_parameters: float
    last_piece: Quantity[Any]
    last_piece_time: Quantity[Any]
    last_rank_memory: Quantity[Any]
    last_stage_is_slowest: float
    last_stage_layers: float
    latency_skewness: float
    latency_third_cumulant: Quantity[Any]
    latency_variance: Quantity[Any]
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_hiding_time: Quantity[Any]
    layer_input: Quantity[Any]
    layer_launch_time: Quantity[Any]
    layer_memory: Quantity[Any]
    layer_operations: float
    layer_tax: Quantity[Any]
    layer_time: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    least_dropped_share: float
    least_kv_transfer_bandwidth: Quantity[Any]
    left_tokens: Quantity[Any]
    lifetime: Quantity[Any]
    light_load_p99: Quantity[Any]
    link_efficiency: float
    load_time: Quantity[Any]
    loaded_mask: float
    local_micro_batch: float
    logit_bytes: Quantity[Any]
    logit_flops: Quantity[Any]
    logit_weight_bytes: Quantity[Any]
    logprob_passes: float
    logprob_time: Quantity[Any]
    lone_empty_step: Quantity[Any]
    lone_position: Quantity[Any]
    lone_requests: Quantity[Any]
    lone_squares: Quantity[Any]
    lone_time: Quantity[Any]
    lone_token_cost: Quantity[Any]
    lone_tokens: Quantity[Any]
    lone_tpot: Quantity[Any]
    longest_iteration_part: Quantity[Any]
    longest_part_time: Quantity[Any]
    longest_response: Quantity[Any]
    longest_response_high: Quantity[Any]
    longest_response_low: Quantity[Any]
    lookup_parameters: float
    loop_room: Quantity[Any]
    loop_step: Quantity[Any]
    loop_wait: Quantity[Any]
    lora_expert_pairs: float
    lora_expert_parameters: float
    lora_layer_tax: Quantity[Any]
    lora_memory: Quantity[Any]
    lora_parameters: float
    lora_parameters_per_rank: float
    lora_parameters_per_token: float
    lora_popularity_sum: float
    lora_rank: float
    lora_target_modules: str
    lora_time: Quantity[Any]
    lora_zipf: float
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_memory: Quantity[Any]
    loss_time: Quantity[Any]
    lost_bunch_share: float
    lost_nodes: float
    low_latency_bandwidth: Quantity[Any]
    maintenance_cost: Quantity[Any]
    maintenance_rate: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matched_goodput_per_accelerator: Quantity[Any]
    matrix_edges_per_rank: float
    max_batch_size: Quantity[Any]
    max_loras: float
    max_num_batched_tokens: Quantity[Any]
    max_num_seqs: Quantity[Any]
    max_replicas: float
    max_response_length: Quantity[Any]
    mean_adapted_products: float
    mean_batch: float
    mean_compute_time: Quantity[Any]
    mean_latency: Quantity[Any]
    mean_layer_parameters: float
    mean_prompt_time: Quantity[Any]
    mean_rank_factor: float
    mean_response_length: Quantity[Any]
    mean_staleness: float
    mean_time_between_interruptions: Quantity[Any]
    measured_nodes: float
    memory_after_step: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_copies: float
    memory_efficiency: float
    memory_load_time: Quantity[Any]
    memory_margin: Quantity[Any]
    memory_reading: str
    memory_save_interval: Quantity[Any]
    memory_save_stall: Quantity[Any]
    memory_spread: float
    memory_survival: float
    memory_utilization: float
    metadata_time: Quantity[Any]
    mfu: float
    micro_batch_compute_time: Quantity[Any]
    micro_batch_launch_time: Quantity[Any]
    micro_batch_time: Quantity[Any]
    micro_batch_tokens: Quantity[Any]
    micro_batch_wait_time: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    missed_iteration: Quantity[Any]
    mixer_bytes: Quantity[Any]
    mixer_matrix_elements: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixer_product_widths: float
    mixerless_layers: float
    mla_layer_tax: Quantity[Any]
    mlp_bias: float
    model_flops: Quantity[Any]
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_interval: float
    moe_layer_operations: float
    moe_layer_tax: Quantity[Any]
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    mttf: Quantity[Any]
    multiprocessors: float
    near_core_activation: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_failure_rate: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    node_storage_bandwidth: Quantity[Any]
    nodes: float
    nodes_away: float
    nodes_per_token: float
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    num_generations: float
    num_loras: float
    num_prefixes: float
    num_prompts: Quantity[Any]
    num_redundant_experts: float
    num_replicas: float
    num_rounds: float
    num_speculative_tokens: float
    o_groups: float
    o_lora_rank: float
    offered_load: float
    offload: str
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_state: Quantity[Any]
    optimizer_steps: float
    optimizer_time: Quantity[Any]
    osl: Quantity[Any]
    osl_cv: float
    other_save_pressure: float
    other_stage_layers: float
    others_kept_share: float
    output_tokens: Quantity[Any]
    oversubscription: float
    own_share: float
    pack_fill: float
    pack_length: Quantity[Any]
    packed_length: Quantity[Any]
    packs: float
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    parameters_per_rank: float
    passed_weight_bytes: Quantity[Any]
    peak_activations: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_moment: str
    peak_rank: str
    peak_seq_len: Quantity[Any]
    per_replica_qps_capacity: float
    phase_bottleneck: str
    picked_entry_width: float
    pipeline_schedule: str
    pipeline_split: str
    placement_time: Quantity[Any]
    plain_layers_of_rank: float
    planned_rate: Quantity[Any]
    planned_share: float
    planned_stop_time: Quantity[Any]
    poisson_wait: Quantity[Any]
    poisson_wait_scale: Quantity[Any]
    poll_interval: float
    pool_share: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    pp_time: Quantity[Any]
    precision: str
    prefill_attention_efficiency: float
    prefill_attention_ranks: float
    prefill_attention_time: Quantity[Any]
    prefill_cost_share: float
    prefill_decode_ratio: float
    prefill_dp_attention_size: float
    prefill_ep_size: float
    prefill_expert_ranks: float
    prefill_flops: Quantity[Any]
    prefill_groups: float
    prefill_load: float
    prefill_pp_size: float
    prefill_rate_limit: Quantity[Any]
    prefill_stages: float
    prefill_tensor_ranks: float
    prefill_time: Quantity[Any]
    prefill_tp_size: float
    prefill_wait: Quantity[Any]
    prefill_wait_probability: float
    prefill_workers: float
    prefix_cache_memory: Quantity[Any]
    prefix_found_share: float
    prefix_hit_rate: float
    prefix_len: Quantity[Any]
    prefix_lifetime: float
    prefix_popularity_sum: float
    prefix_zipf: float
    price: Quantity[Any]
    product_bytes: Quantity[Any]
    product_efficiency: float
    product_flops: Quantity[Any]
    product_input_bytes: Quantity[Any]
    product_rate: Quantity[Any]
    product_time: Quantity[Any]
    product_widths: float
    promise_share: float
    prompt_chunks: float
    prompt_host_layer_time: Quantity[Any]
    prompt_host_mla_time: Quantity[Any]
    prompt_host_moe_time: Quantity[Any]
    prompt_interval: Quantity[Any]
    prompt_iterations: float
    prompt_len: Quantity[Any]
    prompt_load: float
    prompt_pair_time: Quantity[Any]
    prompt_room: Quantity[Any]
    prompt_room_seen: Quantity[Any]
    prompt_slot_wait_probability: float
    prompt_slots: Quantity[Any]
    prompt_sojourn: Quantity[Any]
    prompt_stay: Quantity[Any]
    prompt_time: Quantity[Any]
    prompt_time_bend: Quantity[Any]
    prompt_time_curvature: Quantity[Any]
    prompt_time_cv: float
    prompt_time_log_variance: float
    prompt_time_p50: Quantity[Any]
    prompt_time_p90: Quantity[Any]
    prompt_time_p99: Quantity[Any]
    prompt_time_slope: Quantity[Any]
    prompt_time_third_cumulant: float
    prompt_token_growth: Quantity[Any]
    prompt_token_time: Quantity[Any]
    prompt_tokens_mean: Quantity[Any]
    prompt_wait: Quantity[Any]
    prompt_wait_probability: float
    prompt_wait_scale: Quantity[Any]
    prompts: Quantity[Any]
    prompts_gathered: float
    prompts_time: Quantity[Any]
    prompts_together: Quantity[Any]
    published_failure_rate: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    qps: float
    qps_capacity: float
    quarter_drain_time: Quantity[Any]
    quarter_empty_step: Quantity[Any]
    quarter_position: Quantity[Any]
    quarter_request_cost: Quantity[Any]
    quarter_requests: Quantity[Any]
    quarter_squares: Quantity[Any]
    quarter_token_cost: Quantity[Any]
    quarter_tokens: Quantity[Any]
    query_value_width_per_rank: float
    query_width_per_rank: float
    queue_wait_p99: Quantity[Any]
    r1_ended_share: float
    r1_first_score: float
    r1_kept_share: float
    r2_ended_share: float
    r2_first_score: float
    r2_kept_share: float
    r3_ended_share: float
    r3_first_score: float
    r3_kept_share: float
    r4_ended_share: float
    r4_first_score: float
    r4_kept_share: float
    r5_ended_share: float
    r5_first_score: float
    r5_kept_share: float
    r6_ended_share: float
    r6_first_score: float
    r6_kept_share: float
    r7_ended_share: float
    r7_first_score: float
    r7_kept_share: float
    r8_ended_share: float
    r8_first_score: float
    r8_kept_share: float
    rank_decode_requests: Quantity[Any]
    rank_memory: Quantity[Any]
    rank_prompts: Quantity[Any]
    rank_save_bytes: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    read_width: float
    read_width_in_window: float
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    recomputed_attention: float
    recomputed_elementwise: float
    recomputed_flops: Quantity[Any]
    recomputed_products: float
    recomputed_traffic: Quantity[Any]
    recovery_deviation: Quantity[Any]
    recovery_share: float
    recovery_time: Quantity[Any]
    reduce_dtype: str
    reduced_bytes: Quantity[Any]
    refit_bandwidth: Quantity[Any]
    refit_time: Quantity[Any]
    rental_price: Quantity[Any]
    rep_all_reduce_time: Quantity[Any]
    rep_bandwidth: Quantity[Any]
    rep_chunk_latency: Quantity[Any]
    rep_latency: Quantity[Any]
    rep_link_bandwidth: Quantity[Any]
    rep_ranks_per_node: float
    rep_ring_time: Quantity[Any]
    rep_stride: float
    rep_summed_bytes: Quantity[Any]
    rep_switch_time: Quantity[Any]
    rep_tree_time: Quantity[Any]
    rep_tree_wire_time: Quantity[Any]
    repair_time: Quantity[Any]
    repeated_matrix_elements: float
    replica_arrival_rate: Quantity[Any]
    replica_capacity: Quantity[Any]
    replica_concurrency: Quantity[Any]
    replica_goodput: Quantity[Any]
    replica_load: float
    replica_rate: Quantity[Any]
    replica_samples: Quantity[Any]
    replica_weights: Quantity[Any]
    replicas: float
    reported_memory: Quantity[Any]
    request_flops: Quantity[Any]
    request_groups: float
    request_rate: Quantity[Any]
    required_replicas: float
    reserved_memory: Quantity[Any]
    residence_time: Quantity[Any]
    residence_variance: Quantity[Any]
    resident_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    response_cv: float
    response_scale: Quantity[Any]
    response_square: Quantity[Any]
    rest_drain_time: Quantity[Any]
    rest_empty_step: Quantity[Any]
    rest_position: Quantity[Any]
    rest_request_cost: Quantity[Any]
    rest_requests: Quantity[Any]
    rest_squares: Quantity[Any]
    rest_stretch: float
    rest_time: Quantity[Any]
    rest_token_cost: Quantity[Any]
    rest_tokens: Quantity[Any]
    restart_share: float
    restarts_fail: float
    reused_parameters: float
    rework_share: float
    rollout_accelerators: float
    rollout_attention_peak_flops: Quantity[Any]
    rollout_batch: Quantity[Any]
    rollout_busy_share: float
    rollout_cache_tokens: Quantity[Any]
    rollout_collective_latency: Quantity[Any]
    rollout_context: Quantity[Any]
    rollout_efficiency: float
    rollout_ep_size: float
    rollout_exchange_latency: Quantity[Any]
    rollout_exchange_link_efficiency: float
    rollout_fabric_efficiency: float
    rollout_floor: Quantity[Any]
    rollout_flops: Quantity[Any]
    rollout_format_energy: float
    rollout_link_efficiency: float
    rollout_memory: Quantity[Any]
    rollout_memory_efficiency: float
    rollout_node_latency: Quantity[Any]
    rollout_peak_flops: Quantity[Any]
    rollout_pool: float
    rollout_precision: str
    rollout_room: Quantity[Any]
    rollout_rounds: float
    rollout_scan_chunk_time: Quantity[Any]
    rollout_scan_efficiency: float
    rollout_slots: Quantity[Any]
    rollout_steps: Quantity[Any]
    rollout_stretch: float
    rollout_switch_latency: Quantity[Any]
    rollout_tail_time: Quantity[Any]
    rollout_time: Quantity[Any]
    rollout_time_low: Quantity[Any]
    rollout_tp_size: float
    rollout_work: Quantity[Any]
    routed_buffer: Quantity[Any]
    routed_flops: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    rows_per_expert: Quantity[Any]
    run_cost: Quantity[Any]
    run_cost_deviation: Quantity[Any]
    run_cost_p90: Quantity[Any]
    run_goodput: float
    run_requests: Quantity[Any]
    run_time: Quantity[Any]
    run_time_deviation: Quantity[Any]
    run_time_p90: Quantity[Any]
    run_tokens: Quantity[Any]
    running_share: float
    runtime_memory: Quantity[Any]
    sampled_requests: float
    sampled_tokens: Quantity[Any]
    samples_per_second: Quantity[Any]
    sampling_bytes: Quantity[Any]
    sandwich_norm: float
    saturated_iteration_time: Quantity[Any]
    save_barrier: Quantity[Any]
    save_bytes: Quantity[Any]
    save_bytes_per_parameter: Quantity[Any]
    save_interval: Quantity[Any]
    save_latency: Quantity[Any]
    save_period: Quantity[Any]
    save_price: Quantity[Any]
    save_stall: Quantity[Any]
    save_write_time: Quantity[Any]
    save_writers: float
    saved_bytes: Quantity[Any]
    saved_dtype: str
    saves_per_failure: float
    scaling_efficiency: float
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    scheduled_share: float
    score_activation: Quantity[Any]
    score_flops: Quantity[Any]
    score_time: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    scoring_passes: float
    second_batch_estimate: float
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    segment_load: float
    selective_policy: str
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_overhead: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    served_weights: Quantity[Any]
    service_time_cv: float
    serving_bottleneck: str
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_bytes: Quantity[Any]
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_interval: Quantity[Any]
    shared_parameters_per_rank: float
    short_answer_excess: Quantity[Any]
    short_answer_variance: Quantity[Any]
    short_sequence_factor: float
    shrunk_replicas: float
    single_expert_edges_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    sixteenth_drain_time: Quantity[Any]
    sixteenth_empty_step: Quantity[Any]
    sixteenth_position: Quantity[Any]
    sixteenth_request_cost: Quantity[Any]
    sixteenth_requests: Quantity[Any]
    sixteenth_squares: Quantity[Any]
    sixteenth_token_cost: Quantity[Any]
    sixteenth_tokens: Quantity[Any]
    sixtyfourth_drain_time: Quantity[Any]
    sixtyfourth_empty_step: Quantity[Any]
    sixtyfourth_position: Quantity[Any]
    sixtyfourth_request_cost: Quantity[Any]
    sixtyfourth_requests: Quantity[Any]
    sixtyfourth_squares: Quantity[Any]
    sixtyfourth_token_cost: Quantity[Any]
    sixtyfourth_tokens: Quantity[Any]
    size_quantile: float
    slice_cost: float
    sliding_attention_flops: Quantity[Any]
    sliding_decode_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slo_attainment: float
    slo_quantile: float
    slot_batch: Quantity[Any]
    slot_capacity: Quantity[Any]
    slot_decode_share: float
    slot_growth: float
    slot_load: float
    slot_time_scv: float
    slot_wait: Quantity[Any]
    slot_wait_mean: Quantity[Any]
    slot_wait_probability: float
    slots: float
    slots_taken: float
    slowest_factor: float
    slowest_stage_layers: float
    slowest_stage_moe_layers: float
    slowest_stage_summing_layers: float
    source_cache_per_request: Quantity[Any]
    source_flops: Quantity[Any]
    source_hidden_dim: float
    source_pair_flops: Quantity[Any]
    source_parameters: float
    source_projections: float
    source_time: Quantity[Any]
    source_token_flops: Quantity[Any]
    source_tokens: Quantity[Any]
    source_tokens_per_request: Quantity[Any]
    spare_coverage: float
    spare_nodes: float
    spare_nodes_needed: float
    spare_wait_share: float
    stage_activations: Quantity[Any]
    stage_send_time: Quantity[Any]
    stage_time: Quantity[Any]
    stage_wait_time: Quantity[Any]
    stages_per_rank: float
    staleness: float
    stall_factor: float
    stall_share: float
    started_share: float
    state_bytes_per_request: Quantity[Any]
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_bottleneck: str
    step_compute_time: Quantity[Any]
    step_elementwise_time: Quantity[Any]
    step_experts_time: Quantity[Any]
    step_floor: Quantity[Any]
    step_flop_energy: Quantity[Any]
    step_growth_at_load: Quantity[Any]
    step_kv_time: Quantity[Any]
    step_loss_time: Quantity[Any]
    step_product_time: Quantity[Any]
    step_samples: Quantity[Any]
    step_score_time: Quantity[Any]
    step_slope: Quantity[Any]
    step_spread: float
    step_time: Quantity[Any]
    step_time_at_load: Quantity[Any]
    step_time_per_token: Quantity[Any]
    step_wait_probability: float
    step_weights_time: Quantity[Any]
    step_weights_time_at_load: Quantity[Any]
    storage_bandwidth: Quantity[Any]
    storage_multiplier: Quantity[Any]
    storage_read_bandwidth: Quantity[Any]
    storage_share: float
    storage_use: float
    straggler_factor: float
    straggler_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    sync_bandwidth: Quantity[Any]
    sync_time: Quantity[Any]
    synced_weights: Quantity[Any]
    target_p99_latency_ms: float
    tdp: Quantity[Any]
    tied_embeddings: float
    time_down: Quantity[Any]
    time_in_recovery: Quantity[Any]
    time_in_rework: Quantity[Any]
    time_in_stalls: Quantity[Any]
    time_in_work: Quantity[Any]
    token_dispatcher: str
    tokens_per_decode_step: float
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    torus_axes: float
    total_cost: Quantity[Any]
    total_memory: Quantity[Any]
    touched_expert_weights: float
    touched_experts: float
    touched_lora_parameters: float
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_exchange_time: Quantity[Any]
    tp_exposed_time: Quantity[Any]
    tp_gather_time: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_message_bytes: Quantity[Any]
    tp_overlap: float
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    tpot_attainment: float
    tpot_excess: Quantity[Any]
    tpot_excess_cv: float
    tpot_mean: Quantity[Any]
    tpot_p50: Quantity[Any]
    tpot_p90: Quantity[Any]
    tpot_p99: Quantity[Any]
    tpot_slo: Quantity[Any]
    tpot_spread: Quantity[Any]
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    trained_parameters_per_rank: float
    trainer_gradients: Quantity[Any]
    trainer_memory: Quantity[Any]
    trainer_optimizer_state: Quantity[Any]
    trainer_room: Quantity[Any]
    trainer_weights: Quantity[Any]
    training_steps: float
    training_time: Quantity[Any]
    training_tokens: Quantity[Any]
    ttft: Quantity[Any]
    ttft_attainment: float
    ttft_burst: Quantity[Any]
    ttft_log_variance: float
    ttft_mean: Quantity[Any]
    ttft_p50: Quantity[Any]
    ttft_p90: Quantity[Any]
    ttft_p99: Quantity[Any]
    ttft_slo: Quantity[Any]
    ttft_steady: Quantity[Any]
    two_batch_hidden_share: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    undisturbed_time: Quantity[Any]
    uneven_stage_time: Quantity[Any]
    up_projection_activation: Quantity[Any]
    up_projection_elements: float
    up_share: float
    update_buffer: str
    update_busy_share: float
    update_dp_size: float
    update_flops: Quantity[Any]
    update_memory: Quantity[Any]
    update_pass_time: Quantity[Any]
    update_pool: float
    update_sequences: float
    update_step_time: Quantity[Any]
    update_stretch: float
    update_time: Quantity[Any]
    update_work: Quantity[Any]
    updated_parameters_per_rank: float
    usable_memory: Quantity[Any]
    used_share: float
    utilization: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    varied_prompt_time: Quantity[Any]
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    wait_decay: float
    wait_probability: float
    waiting_tokens: Quantity[Any]
    warmup_time: Quantity[Any]
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gather_time: Quantity[Any]
    weight_gradient_share: float
    weight_only_expert_efficiency: float
    weight_read_efficiency: float
    weights: Quantity[Any]
    weights_read_stretch: float
    whole_drain_time: Quantity[Any]
    whole_empty_step: Quantity[Any]
    whole_law: float
    whole_position: Quantity[Any]
    whole_prompts: bool
    whole_request_cost: Quantity[Any]
    whole_requests: Quantity[Any]
    whole_squares: Quantity[Any]
    whole_token_cost: Quantity[Any]
    whole_tokens: Quantity[Any]
    wide_rate: Quantity[Any]
    widening_bytes: Quantity[Any]
    widening_traffic: Quantity[Any]
    width_vectors: float
    window_reach: Quantity[Any]
    worker_overhead: Quantity[Any]
    workspace: Quantity[Any]
    workspace_memory: Quantity[Any]
    writer_bandwidth: Quantity[Any]
    young_interval: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class EconomicsModel(_EconomicsModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., rent: str | _catalog.Rent = ..., storage: str | _catalog.Storage = ..., traffic: str | _catalog.Traffic = ..., **inputs: Unpack[_EconomicsInputs]) -> _EconomicsResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., rent: str | _catalog.Rent = ..., storage: str | _catalog.Storage = ..., traffic: str | _catalog.Traffic = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., hardware: str | _catalog.Accelerator = ..., fleet: str | _catalog.Fleet = ..., rent: str | _catalog.Rent = ..., storage: str | _catalog.Storage = ..., traffic: str | _catalog.Traffic = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _EconomicsResult: ...

class _MemoryExpansionInputs(TypedDict, total=False):
    policy: str
    weights_offload: float | str | Quantity[Any]
    checkpoints_offload: float | str | Quantity[Any]
    activations_offload: float | str | Quantity[Any]
    gradients_offload: float | str | Quantity[Any]
    optimizer_offload: float | str | Quantity[Any]
    kv_offload: float | str | Quantity[Any]
    prefetch_fraction: float | str | Quantity[Any]
    weight_passes: float | str | Quantity[Any]
    checkpoint_passes: float | str | Quantity[Any]
    activation_passes: float | str | Quantity[Any]
    gradient_passes: float | str | Quantity[Any]
    optimizer_passes: float | str | Quantity[Any]
    update_place: str
    bare_price: float | str | Quantity[Any]
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    saved_dtype: str
    gradient_dtype: str
    optimizer: str
    master_weights: bool | str
    finetuning: str
    lora_rank: float | str | Quantity[Any]
    lora_target_modules: str
    adapter_dtype: str
    activation_checkpointing: str
    zero_stage: float | str | Quantity[Any]
    tp_size: float | str | Quantity[Any]
    pp_size: float | str | Quantity[Any]
    cp_size: float | str | Quantity[Any]
    ep_size: float | str | Quantity[Any]
    etp_size: float | str | Quantity[Any]
    dp_replicate_size: float | str | Quantity[Any]
    gradient_accumulation_steps: float | str | Quantity[Any]
    trainable_fraction: float | str | Quantity[Any]
    communication_buffer_fraction: float | str | Quantity[Any]
    sequence_parallel: bool | str
    interleaved_stages: float | str | Quantity[Any]
    pipeline_schedule: str
    two_batch_overlap: bool | str
    attention_kernel: str
    elementwise_kernels: str
    selective_policy: str
    recompute_layernorm: bool | str
    recompute_mla_up_proj: bool | str
    recompute_activation_func: bool | str
    dropout_mask_bytes: float | str | Quantity[Any]
    routing_imbalance_factor: float | str | Quantity[Any]
    capacity_factor: float | str | Quantity[Any]
    pad_to_capacity: bool | str
    routing_weights: str
    expert_row_padding: float | str | Quantity[Any]
    gathered_layers: float | str | Quantity[Any]
    reserved_memory: float | str | Quantity[Any]
    peak_rank: str
    loss_kernel: str
    loss_chunks: float | str | Quantity[Any]
    vocab_multiple: float | str | Quantity[Any]
    gradients_at_loss: bool | str
    update_buffer: str
    optimizer_in_backward: bool | str
    optimizer_device: str
    activation_offload: bool | str
    residual_dtype: str
    workspace: float | str | Quantity[Any]
    token_dispatcher: str
    loaded_mask: bool | str
    deferred_head_gradients: float | str | Quantity[Any]
    layers_first_stage: float | str | Quantity[Any]
    layers_last_stage: float | str | Quantity[Any]
    microbatch_group: float | str | Quantity[Any]
    memory_spread: float | str | Quantity[Any]
    memory_reading: str
    context_memory: float | str | Quantity[Any]
    pool_share: float | str | Quantity[Any]
    pipeline_split: str
    reduce_dtype: str
    dispatch_dtype: str
    combine_dtype: str
    attention_mask: str
    document_len: float | str | Quantity[Any]
    flop_convention: str
    node_limit: float | str | Quantity[Any]
    congestion_factor: float | str | Quantity[Any]
    straggler_factor: float | str | Quantity[Any]
    training_tokens: float | str | Quantity[Any]
    host_power_fraction: float | str | Quantity[Any]
    pue: float | str | Quantity[Any]
    lifetime: float | str | Quantity[Any]
    used_share: float | str | Quantity[Any]
    site_water: float | str | Quantity[Any]
    request_rate: float | str | Quantity[Any]
    concurrency: float | str | Quantity[Any]
    num_rounds: float | str | Quantity[Any]
    isl: float | str | Quantity[Any]
    osl: float | str | Quantity[Any]
    ttft_slo: float | str | Quantity[Any]
    tpot_slo: float | str | Quantity[Any]
    e2e_slo: float | str | Quantity[Any]
    slo_quantile: float | str | Quantity[Any]
    num_replicas: float | str | Quantity[Any]
    dp_attention_size: float | str | Quantity[Any]
    num_redundant_experts: float | str | Quantity[Any]
    max_num_seqs: float | str | Quantity[Any]
    max_num_batched_tokens: float | str | Quantity[Any]
    whole_prompts: bool | str
    kv_cache_dtype: str
    prefix_hit_rate: float | str | Quantity[Any]
    prefix_cache_memory: float | str | Quantity[Any]
    num_prefixes: float | str | Quantity[Any]
    prefix_len: float | str | Quantity[Any]
    prefix_zipf: float | str | Quantity[Any]
    num_loras: float | str | Quantity[Any]
    lora_zipf: float | str | Quantity[Any]
    max_loras: float | str | Quantity[Any]
    lora_layer_tax: float | str | Quantity[Any]
    num_speculative_tokens: float | str | Quantity[Any]
    acceptance_rate: float | str | Quantity[Any]
    draft_cost: float | str | Quantity[Any]
    prefill_workers: float | str | Quantity[Any]
    decode_workers: float | str | Quantity[Any]
    kv_transfer_bandwidth: float | str | Quantity[Any]
    prefill_tp_size: float | str | Quantity[Any]
    prefill_pp_size: float | str | Quantity[Any]
    prefill_ep_size: float | str | Quantity[Any]
    prefill_dp_attention_size: float | str | Quantity[Any]
    isl_cv: float | str | Quantity[Any]
    osl_cv: float | str | Quantity[Any]
    burstiness: float | str | Quantity[Any]
    poll_interval: float | str | Quantity[Any]
    batch_wait: float | str | Quantity[Any]
    kv_page_size: float | str | Quantity[Any]
    images: float | str | Quantity[Any]
    duration: float | str | Quantity[Any]
    parameters: float | str | Quantity[Any]
    active_parameters: float | str | Quantity[Any]
    layers: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    kv_heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    vocab_size: float | str | Quantity[Any]
    embedding_dim: float | str | Quantity[Any]
    ffn_dim: float | str | Quantity[Any]
    gated: bool | str
    experts: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    moe_layers: float | str | Quantity[Any]
    expert_ffn_dim: float | str | Quantity[Any]
    expert_input_dim: float | str | Quantity[Any]
    shared_ffn_dim: float | str | Quantity[Any]
    router_bias: bool | str
    tied_embeddings: bool | str
    lookup_parameters: float | str | Quantity[Any]
    learned_positions: float | str | Quantity[Any]
    qkv_bias: bool | str
    attention_output_bias: bool | str
    mlp_bias: bool | str
    norm_bias: bool | str
    norm_scale: bool | str
    qk_norm: bool | str
    q_lora_rank: float | str | Quantity[Any]
    kv_lora_rank: float | str | Quantity[Any]
    qk_nope_head_dim: float | str | Quantity[Any]
    qk_rope_head_dim: float | str | Quantity[Any]
    v_head_dim: float | str | Quantity[Any]
    attention_sinks: bool | str
    gate_width: float | str | Quantity[Any]
    block_norms: float | str | Quantity[Any]
    sandwich_norm: bool | str
    expert_bias: bool | str
    mtp_layers: float | str | Quantity[Any]
    sliding_layers: float | str | Quantity[Any]
    sliding_heads: float | str | Quantity[Any]
    sliding_kv_heads: float | str | Quantity[Any]
    sliding_head_dim: float | str | Quantity[Any]
    sliding_v_head_dim: float | str | Quantity[Any]
    value_projections: bool | str
    shared_cache_layers: float | str | Quantity[Any]
    sliding_shared_layers: float | str | Quantity[Any]
    mixerless_layers: float | str | Quantity[Any]
    blockless_layers: float | str | Quantity[Any]
    state_layers: float | str | Quantity[Any]
    parallel_layers: float | str | Quantity[Any]
    state_key_heads: float | str | Quantity[Any]
    state_key_dim: float | str | Quantity[Any]
    state_heads: float | str | Quantity[Any]
    state_value_dim: float | str | Quantity[Any]
    state_gates: float | str | Quantity[Any]
    state_scalars: float | str | Quantity[Any]
    conv_channels: float | str | Quantity[Any]
    conv_kernel: float | str | Quantity[Any]
    state_matrices: float | str | Quantity[Any]
    state_vectors: float | str | Quantity[Any]
    index_layers: float | str | Quantity[Any]
    index_heads: float | str | Quantity[Any]
    index_head_dim: float | str | Quantity[Any]
    compressed_layers: float | str | Quantity[Any]
    heavily_compressed_layers: float | str | Quantity[Any]
    index_compression: float | str | Quantity[Any]
    heavy_compression: float | str | Quantity[Any]
    o_lora_rank: float | str | Quantity[Any]
    o_groups: float | str | Quantity[Any]
    further_matrices: float | str | Quantity[Any]
    further_vectors: float | str | Quantity[Any]
    reused_parameters: float | str | Quantity[Any]
    cross_layers: float | str | Quantity[Any]
    source_hidden_dim: float | str | Quantity[Any]
    source_parameters: float | str | Quantity[Any]
    sliding_window: float | str | Quantity[Any]
    chunked_attention: bool | str
    index_topk: float | str | Quantity[Any]
    state_operations: float | str | Quantity[Any]
    state_chunk: float | str | Quantity[Any]
    delta_rule: bool | str
    bidirectional: bool | str
    state_matrix_width: float | str | Quantity[Any]
    moe_layer_interval: float | str | Quantity[Any]
    state_element_bytes: float | str | Quantity[Any]
    mixer_bytes: float | str | Quantity[Any]
    dense_bytes: float | str | Quantity[Any]
    expert_bytes: float | str | Quantity[Any]
    shared_expert_bytes: float | str | Quantity[Any]
    head_bytes: float | str | Quantity[Any]
    source_tokens: float | str | Quantity[Any]
    image_patches: float | str | Quantity[Any]
    source_token_flops: float | str | Quantity[Any]
    source_pair_flops: float | str | Quantity[Any]
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    power_limit: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    remote_bandwidth: float | str | Quantity[Any]
    remote_sharers: float | str | Quantity[Any]
    link_bandwidth: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    unified: bool | str
    idle_power_fraction: float | str | Quantity[Any]
    busy_power: float | str | Quantity[Any]
    flop_power: float | str | Quantity[Any]
    embodied_device: float | str | Quantity[Any]
    embodied_host: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    memory_capacity: float | str | Quantity[Any]
    driver_memory: float | str | Quantity[Any]
    remote_capacity: float | str | Quantity[Any]
    local_price: float | str | Quantity[Any]
    remote_price: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    efficiency: float | str | Quantity[Any]
    step_flop_energy: float | str | Quantity[Any]
    expert_product_ratio: float | str | Quantity[Any]
    attention_efficiency: float | str | Quantity[Any]
    attention_kernel_share: float | str | Quantity[Any]
    flash_kernel: str
    memory_efficiency: float | str | Quantity[Any]
    elementwise_efficiency: float | str | Quantity[Any]
    scan_efficiency: float | str | Quantity[Any]
    scan_chunk_time: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    dp_overlap: float | str | Quantity[Any]
    tp_overlap: float | str | Quantity[Any]
    cp_overlap: float | str | Quantity[Any]
    ep_overlap: float | str | Quantity[Any]
    two_batch_hidden_share: float | str | Quantity[Any]
    hidden_traffic_cost: float | str | Quantity[Any]
    slice_cost: float | str | Quantity[Any]
    exchange_multiprocessor_share: float | str | Quantity[Any]
    eight_bit_efficiency: float | str | Quantity[Any]
    host_operation_time: float | str | Quantity[Any]
    layer_operations: float | str | Quantity[Any]
    moe_layer_operations: float | str | Quantity[Any]
    all_to_all_operations: float | str | Quantity[Any]
    dispatcher: str
    expert_operations: float | str | Quantity[Any]
    grouped_experts: bool | str
    captured_share: float | str | Quantity[Any]
    cap_exponent: float | str | Quantity[Any]
    format_energy: float | str | Quantity[Any]
    expert_efficiency: float | str | Quantity[Any]
    weight_only_expert_efficiency: float | str | Quantity[Any]
    expert_popularity: float | str | Quantity[Any]
    weight_read_efficiency: float | str | Quantity[Any]
    prefill_attention_efficiency: float | str | Quantity[Any]
    kv_read_efficiency: float | str | Quantity[Any]
    layer_tax: float | str | Quantity[Any]
    moe_layer_tax: float | str | Quantity[Any]
    mla_layer_tax: float | str | Quantity[Any]
    index_layer_tax: float | str | Quantity[Any]
    host_layer_time: float | str | Quantity[Any]
    prompt_host_layer_time: float | str | Quantity[Any]
    prompt_host_mla_time: float | str | Quantity[Any]
    prompt_host_moe_time: float | str | Quantity[Any]
    iteration_overhead: float | str | Quantity[Any]
    worker_overhead: float | str | Quantity[Any]
    sequence_overhead: float | str | Quantity[Any]
    gpu_memory_utilization: float | str | Quantity[Any]
    kv_memory_fraction: float | str | Quantity[Any]
    workspace_memory: float | str | Quantity[Any]
    runtime_memory: float | str | Quantity[Any]
    communication_memory: float | str | Quantity[Any]
    sampled_requests: float | str | Quantity[Any]
    sampling_bytes: float | str | Quantity[Any]
    expert_hidden_multiple: float | str | Quantity[Any]
    expert_width_multiple: float | str | Quantity[Any]
    busy_bandwidth_share: float | str | Quantity[Any]
    busy_peak_share: float | str | Quantity[Any]
    kernel_gap: float | str | Quantity[Any]
    frontend_time: float | str | Quantity[Any]
    frontend_token_time: float | str | Quantity[Any]
    grid_carbon: float | str | Quantity[Any]
    grid_water: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    stack: str | _catalog.Stack
    grid: str | _catalog.Grid
class _MemoryExpansionResult(Result):
    accelerators: float
    accelerators_per_decode_worker: float
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_prefill_worker: float
    accelerators_per_replica: float
    accelerators_per_segment: float
    acceptance_rate: float
    activation_checkpointing: str
    activation_dtype: str
    activation_offload: float
    activation_passes: float
    activation_traffic: Quantity[Any]
    activations: Quantity[Any]
    activations_offload: float
    active_experts_per_token: float
    active_parameters: float
    adapted_attention_edges: float
    adapted_attention_products: float
    adapted_edges: float
    adapted_expert_products_per_rank: float
    adapted_products_per_rank: float
    adapter_dtype: str
    adapter_flops: Quantity[Any]
    adapter_parameters_per_rank: float
    adapter_traffic: Quantity[Any]
    adapter_weights: Quantity[Any]
    added_prefill: Quantity[Any]
    all_to_all_operations: float
    alternate_matmul_activation: Quantity[Any]
    answer_crowding: float
    answer_steps: float
    answers_ended: float
    arrival_scv: float
    attended_len: Quantity[Any]
    attention_activation: Quantity[Any]
    attention_core_activation: Quantity[Any]
    attention_edges_per_rank: float
    attention_efficiency: float
    attention_flops: Quantity[Any]
    attention_kernel: str
    attention_kernel_share: float
    attention_layers: float
    attention_mask: str
    attention_output_bias: float
    attention_output_bytes: Quantity[Any]
    attention_parameters: float
    attention_parameters_per_rank: float
    attention_peak_flops: Quantity[Any]
    attention_sinks: float
    attention_vectors_per_rank: float
    average_power: Quantity[Any]
    backward_buffer: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    backward_exposed_exchange: Quantity[Any]
    backward_free_time: Quantity[Any]
    backward_share: float
    bare_price: Quantity[Any]
    bare_step_time: Quantity[Any]
    batch_seen: Quantity[Any]
    batch_size: float
    batch_variance: Quantity[Any]
    batch_wait: float
    besides_launch_time: Quantity[Any]
    between_further_prompts: float
    between_gap_prompts: float
    between_gap_time: Quantity[Any]
    between_long_share: float
    between_prompts_cv: float
    between_stop_probability: float
    between_stopping_prompts: float
    bidirectional: float
    binding_rank: str
    block_norms: float
    blocking_link_traffic: Quantity[Any]
    blockless_layers: float
    bubble_time: Quantity[Any]
    bulk_start: Quantity[Any]
    bunch_size: Quantity[Any]
    burst_prompts: float
    burst_stall: Quantity[Any]
    burstiness: float
    busy_bandwidth_share: float
    busy_peak_share: float
    busy_power: float
    busy_share: float
    c10_log_rank: float
    c10_lora_log_rank: float
    c10_loras: float
    c10_other_lora_share: float
    c10_prefixes: float
    c11_log_rank: float
    c11_lora_log_rank: float
    c11_loras: float
    c11_other_lora_share: float
    c11_prefixes: float
    c12_log_rank: float
    c12_lora_log_rank: float
    c12_loras: float
    c12_other_lora_share: float
    c12_prefixes: float
    c13_log_rank: float
    c13_lora_log_rank: float
    c13_loras: float
    c13_other_lora_share: float
    c13_prefixes: float
    c14_log_rank: float
    c14_lora_log_rank: float
    c14_loras: float
    c14_other_lora_share: float
    c14_prefixes: float
    c1_log_rank: float
    c1_lora_log_rank: float
    c1_loras: float
    c1_other_lora_share: float
    c1_prefixes: float
    c2_log_rank: float
    c2_lora_log_rank: float
    c2_loras: float
    c2_other_lora_share: float
    c2_prefixes: float
    c3_log_rank: float
    c3_lora_log_rank: float
    c3_loras: float
    c3_other_lora_share: float
    c3_prefixes: float
    c4_log_rank: float
    c4_lora_log_rank: float
    c4_loras: float
    c4_other_lora_share: float
    c4_prefixes: float
    c5_log_rank: float
    c5_lora_log_rank: float
    c5_loras: float
    c5_other_lora_share: float
    c5_prefixes: float
    c6_log_rank: float
    c6_lora_log_rank: float
    c6_loras: float
    c6_other_lora_share: float
    c6_prefixes: float
    c7_log_rank: float
    c7_lora_log_rank: float
    c7_loras: float
    c7_other_lora_share: float
    c7_prefixes: float
    c8_log_rank: float
    c8_lora_log_rank: float
    c8_loras: float
    c8_other_lora_share: float
    c8_prefixes: float
    c9_log_rank: float
    c9_lora_log_rank: float
    c9_loras: float
    c9_other_lora_share: float
    c9_prefixes: float
    cache_tokens_of_all_layers: Quantity[Any]
    cache_width: float
    cache_width_in_window: float
    cached_prefixes: float
    cached_prompt_share: float
    cap_exponent: float
    capacity_factor: float
    captured_share: float
    carbon: Quantity[Any]
    cast_traffic: Quantity[Any]
    checkpoint_bytes: Quantity[Any]
    checkpoint_passes: float
    checkpoints_offload: float
    chunked_attention: float
    cleared_tokens: Quantity[Any]
    cleared_variance: Quantity[Any]
    clearing_ratio: float
    clearing_share: float
    clearing_time: Quantity[Any]
    clock: Quantity[Any]
    clock_stretch: float
    closed_batch: Quantity[Any]
    closed_context: Quantity[Any]
    closed_first: Quantity[Any]
    closed_slots: Quantity[Any]
    closed_stalls: Quantity[Any]
    closed_step: Quantity[Any]
    cohort_cycle: Quantity[Any]
    cohort_place_p50: Quantity[Any]
    cohort_place_p90: Quantity[Any]
    cohort_place_p99: Quantity[Any]
    cohort_rounds: float
    cohort_size: Quantity[Any]
    cohort_step: Quantity[Any]
    cohort_waiting: Quantity[Any]
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    combine_fabric_bytes: Quantity[Any]
    combine_link_bytes: Quantity[Any]
    combine_time: Quantity[Any]
    communication_buffer_fraction: float
    communication_buffers: Quantity[Any]
    communication_memory: Quantity[Any]
    compressed_attention_activation: Quantity[Any]
    compressed_attention_parameters: float
    compressed_attention_parameters_per_rank: float
    compressed_layers: float
    compute_capability: float
    compute_dtype: str
    compute_time: Quantity[Any]
    computed_prompt_tokens: Quantity[Any]
    computing_share: float
    concurrency: Quantity[Any]
    congestion_factor: float
    context_memory: Quantity[Any]
    context_tokens: Quantity[Any]
    conv_channels: float
    conv_kernel: float
    core_width_per_rank: float
    counted_rate: Quantity[Any]
    cp_bandwidth: Quantity[Any]
    cp_chunk_latency: Quantity[Any]
    cp_exposed_time: Quantity[Any]
    cp_gather_time: Quantity[Any]
    cp_latency: Quantity[Any]
    cp_link_bandwidth: Quantity[Any]
    cp_message_bytes: Quantity[Any]
    cp_overlap: float
    cp_ranks_per_node: float
    cp_size: float
    cp_stride: float
    cp_time: Quantity[Any]
    cp_traffic_time: Quantity[Any]
    cross_attention_flops: Quantity[Any]
    cross_layers: float
    decode_attention_flops: Quantity[Any]
    decode_batch: Quantity[Any]
    decode_iteration_time: Quantity[Any]
    decode_workers: float
    deferred_head_gradients: float
    delta_rule: float
    dense_bytes: Quantity[Any]
    dense_layer_activation: Quantity[Any]
    dense_layer_gather: Quantity[Any]
    dense_layer_kept: float
    dense_layer_time: Quantity[Any]
    dense_layer_traffic: Quantity[Any]
    dense_layers_of_rank: float
    dense_parameters_per_rank: float
    dense_weights_per_rank: float
    deployed_replicas: float
    device_power: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    dispatch_fabric_bytes: Quantity[Any]
    dispatch_link_bytes: Quantity[Any]
    dispatch_time: Quantity[Any]
    dispatcher: str
    document_len: Quantity[Any]
    double_prompt_time: Quantity[Any]
    dp_all_reduce_time: Quantity[Any]
    dp_attention_size: float
    dp_bandwidth: Quantity[Any]
    dp_chunk_latency: Quantity[Any]
    dp_gather_time: Quantity[Any]
    dp_latency: Quantity[Any]
    dp_link_bandwidth: Quantity[Any]
    dp_message_bytes: Quantity[Any]
    dp_overlap: float
    dp_ranks_per_node: float
    dp_reduction_time: Quantity[Any]
    dp_replicate_size: float
    dp_ring_time: Quantity[Any]
    dp_size: float
    dp_stride: float
    dp_summed_bytes: Quantity[Any]
    dp_switch_time: Quantity[Any]
    dp_time: Quantity[Any]
    dp_tree_time: Quantity[Any]
    dp_tree_wire_time: Quantity[Any]
    draft_cost: float
    draft_time: Quantity[Any]
    driver_memory: Quantity[Any]
    dropout_activation: Quantity[Any]
    dropout_mask_bytes: Quantity[Any]
    duration: Quantity[Any]
    e2e_attainment: float
    e2e_mean: Quantity[Any]
    e2e_p50: Quantity[Any]
    e2e_p50_beyond: Quantity[Any]
    e2e_p90: Quantity[Any]
    e2e_p90_beyond: Quantity[Any]
    e2e_p99: Quantity[Any]
    e2e_p99_beyond: Quantity[Any]
    e2e_slo: Quantity[Any]
    edge_parameters_per_rank: float
    edp_all_reduce_time: Quantity[Any]
    edp_bandwidth: Quantity[Any]
    edp_chunk_latency: Quantity[Any]
    edp_gather_time: Quantity[Any]
    edp_latency: Quantity[Any]
    edp_link_bandwidth: Quantity[Any]
    edp_message_bytes: Quantity[Any]
    edp_ranks: float
    edp_ranks_per_node: float
    edp_reduction_time: Quantity[Any]
    edp_ring_time: Quantity[Any]
    edp_stride: float
    edp_summed_bytes: Quantity[Any]
    edp_switch_time: Quantity[Any]
    edp_tree_time: Quantity[Any]
    edp_tree_wire_time: Quantity[Any]
    efficiency: float
    eight_bit_efficiency: float
    elementwise_efficiency: float
    elementwise_kernels: str
    elementwise_time: Quantity[Any]
    elementwise_traffic: Quantity[Any]
    embedding_bytes: Quantity[Any]
    embedding_dim: float
    embedding_parameters: float
    embodied_carbon: Quantity[Any]
    embodied_device: Quantity[Any]
    embodied_host: Quantity[Any]
    empty_share: float
    end_edge_parameters: float
    end_layers: float
    energy: Quantity[Any]
    energy_per_token: Quantity[Any]
    engine_slots: Quantity[Any]
    entry_key_width: float
    ep_exposed_time: Quantity[Any]
    ep_overlap: float
    ep_ranks_per_node: float
    ep_size: float
    ep_stride: float
    ep_time: Quantity[Any]
    etp_bandwidth: Quantity[Any]
    etp_chunk_latency: Quantity[Any]
    etp_gather_time: Quantity[Any]
    etp_latency: Quantity[Any]
    etp_link_bandwidth: Quantity[Any]
    etp_message_bytes: Quantity[Any]
    etp_ranks: float
    etp_ranks_per_node: float
    etp_size: float
    etp_stride: float
    exchange_fill_time: Quantity[Any]
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_multiprocessor_share: float
    exchange_node_bandwidth: Quantity[Any]
    exchanges_per_layer: float
    expert_adapter_parameters_per_rank: float
    expert_bias: float
    expert_bytes: Quantity[Any]
    expert_edges_per_rank: float
    expert_efficiency: float
    expert_ffn_dim: float
    expert_hidden_multiple: float
    expert_input_dim: float
    expert_launch_time: Quantity[Any]
    expert_operations: float
    expert_padding: Quantity[Any]
    expert_parameters: float
    expert_parameters_per_rank: float
    expert_popularity: float
    expert_product_efficiency: float
    expert_product_factor: float
    expert_product_ratio: float
    expert_row_padding: Quantity[Any]
    expert_rows_per_token: float
    expert_sequence_shards: float
    expert_slices: float
    expert_time: Quantity[Any]
    expert_vectors_per_rank: float
    expert_weight_bytes: Quantity[Any]
    expert_width_multiple: float
    experts: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    exposed_backward_traffic: Quantity[Any]
    exposed_edge_traffic: Quantity[Any]
    exposed_gather_time: Quantity[Any]
    exposed_link_time: Quantity[Any]
    exposed_local_time: Quantity[Any]
    exposed_reduction_time: Quantity[Any]
    exposed_remote_time: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    feasible: bool
    fewest_last_layers: float
    ffn_activation: Quantity[Any]
    ffn_dim: float
    ffn_edges_per_rank: float
    ffn_parameters: float
    ffn_parameters_per_rank: float
    ffn_tensors: float
    fill_share: float
    finetuning: str
    first_further_prompts: float
    first_gap_prompts: float
    first_gap_time: Quantity[Any]
    first_long_share: float
    first_prompts_cv: float
    first_rank_memory: Quantity[Any]
    first_stall: Quantity[Any]
    first_stop_probability: float
    first_stopping_prompts: float
    first_token_correlation: float
    first_token_law: float
    first_token_skewness: float
    first_token_variance: Quantity[Any]
    flash_kernel: str
    fleet_size: float
    flop_convention: str
    flop_power: float
    flop_share: float
    followed_probability: float
    format_energy: float
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    forward_exposed_exchange: Quantity[Any]
    forward_free_time: Quantity[Any]
    forward_share: float
    free_link_time: Quantity[Any]
    frontend_time: Quantity[Any]
    frontend_token_time: Quantity[Any]
    frontend_wait: Quantity[Any]
    full_batch: Quantity[Any]
    full_iteration_time: Quantity[Any]
    full_prompt_time: Quantity[Any]
    full_share: float
    full_share_of_answer: float
    full_slots_share: float
    full_stage_layers: float
    full_time_seen: Quantity[Any]
    full_weight_bytes: Quantity[Any]
    further_expert_state_numbers: float
    further_inputs: Quantity[Any]
    further_layer_time: Quantity[Any]
    further_matrices: float
    further_state_numbers: float
    further_vectors: float
    gate_width: float
    gated: float
    gathered_layers: float
    gathered_tokens: Quantity[Any]
    gathered_weight_bytes: Quantity[Any]
    gathered_weights: Quantity[Any]
    goodput: Quantity[Any]
    goodput_per_accelerator: Quantity[Any]
    gpu_memory_utilization: float
    gradient_accumulation_steps: float
    gradient_all_reduce_time: Quantity[Any]
    gradient_bytes: Quantity[Any]
    gradient_dtype: str
    gradient_passes: float
    gradient_reduction_time: Quantity[Any]
    gradients: Quantity[Any]
    gradients_at_loss: float
    gradients_offload: float
    grid_carbon: Quantity[Any]
    grid_water: Quantity[Any]
    grid_water_use: Quantity[Any]
    grouped_attention_activation: Quantity[Any]
    grouped_experts: float
    half_prompt_time: Quantity[Any]
    hardware_flops: Quantity[Any]
    head_bytes: Quantity[Any]
    head_dim: float
    head_dim_in_window: float
    head_layers: float
    head_parameters: float
    heads: float
    heads_in_window: float
    heads_per_rank: float
    heavily_compressed_layers: float
    heavy_compression: float
    hidden_bytes: Quantity[Any]
    hidden_dim: float
    hidden_dim_in_embedding: float
    hidden_dim_in_experts: float
    hidden_traffic_cost: float
    holds_first_stage: float
    holds_last_stage: float
    host_layer_time: Quantity[Any]
    host_operation_time: Quantity[Any]
    host_power_fraction: float
    host_wait_time: Quantity[Any]
    hot_product_flops: Quantity[Any]
    hot_rank_factor: float
    idle_power_fraction: float
    image_patches: Quantity[Any]
    images: float
    in_flight_micro_batches: float
    index_compression: float
    index_head_dim: float
    index_heads: float
    index_layer_tax: Quantity[Any]
    index_layers: float
    index_topk: Quantity[Any]
    indexer_flops: Quantity[Any]
    indexer_parameters: float
    inner_bytes: Quantity[Any]
    inner_vectors: float
    inner_width: float
    interleaved_stages: float
    isl: Quantity[Any]
    isl_cv: float
    iteration_budget: Quantity[Any]
    iteration_mean: Quantity[Any]
    iteration_overhead: Quantity[Any]
    iteration_second_moment: Quantity[Any]
    itl_p99: Quantity[Any]
    kept_beside_ffn: Quantity[Any]
    kernel_gap: Quantity[Any]
    kernel_traffic: Quantity[Any]
    kv_bytes_per_token: Quantity[Any]
    kv_bytes_per_token_per_rank: Quantity[Any]
    kv_cache_bytes: Quantity[Any]
    kv_cache_dtype: str
    kv_cache_tokens: Quantity[Any]
    kv_heads: float
    kv_heads_in_window: float
    kv_heads_per_rank: float
    kv_lora_rank: float
    kv_memory: Quantity[Any]
    kv_memory_fraction: float
    kv_offload: float
    kv_page_size: Quantity[Any]
    kv_read_efficiency: float
    kv_read_stretch: float
    kv_transfer_bandwidth: Quantity[Any]
    kv_transfer_time: Quantity[Any]
    kv_width_per_rank: float
    largest_dense_parameters: float
    largest_edge_parameters: float
    largest_expert_parameters: float
    largest_layer_activation: Quantity[Any]
    largest_layer_adapter_parameters: float
    largest_layer_parameters: float
    largest_layer_trained_parameters: float
    largest_optimizer_state: Quantity[Any]
    largest_trained_dense_parameters: float
    largest_trained_expert_parameters: float
    last_piece: Quantity[Any]
    last_piece_time: Quantity[Any]
    last_rank_memory: Quantity[Any]
    last_stage_is_slowest: float
    last_stage_layers: float
    latency_skewness: float
    latency_third_cumulant: Quantity[Any]
    latency_variance: Quantity[Any]
    latent_activation: Quantity[Any]
    layer_experts_per_rank: float
    layer_hiding_time: Quantity[Any]
    layer_input: Quantity[Any]
    layer_launch_time: Quantity[Any]
    layer_operations: float
    layer_tax: Quantity[Any]
    layer_time: Quantity[Any]
    layers: float
    layers_first_stage: float
    layers_last_stage: float
    layers_of_rank: float
    layers_per_stage: float
    learned_positions: float
    left_tokens: Quantity[Any]
    lifetime: Quantity[Any]
    link_bandwidth: Quantity[Any]
    link_efficiency: float
    loaded_mask: float
    local_memory: Quantity[Any]
    local_micro_batch: float
    local_price: Quantity[Any]
    logit_bytes: Quantity[Any]
    logit_flops: Quantity[Any]
    logit_weight_bytes: Quantity[Any]
    lone_tpot: Quantity[Any]
    longest_segment: str
    lookup_parameters: float
    loop_room: Quantity[Any]
    loop_step: Quantity[Any]
    loop_wait: Quantity[Any]
    lora_expert_parameters: float
    lora_layer_tax: Quantity[Any]
    lora_memory: Quantity[Any]
    lora_parameters_per_rank: float
    lora_parameters_per_token: float
    lora_popularity_sum: float
    lora_rank: float
    lora_target_modules: str
    lora_zipf: float
    loss_buffer: Quantity[Any]
    loss_chunks: float
    loss_kernel: str
    loss_time: Quantity[Any]
    lost_bunch_share: float
    low_latency_bandwidth: Quantity[Any]
    master_bytes: Quantity[Any]
    master_weights: float
    matrix_edges_per_rank: float
    max_loras: float
    max_num_batched_tokens: Quantity[Any]
    max_num_seqs: Quantity[Any]
    mean_adapted_products: float
    mean_compute_time: Quantity[Any]
    mean_layer_parameters: float
    mean_prompt_time: Quantity[Any]
    mean_rank_factor: float
    memory_bandwidth: Quantity[Any]
    memory_capacity: Quantity[Any]
    memory_cost: Quantity[Any]
    memory_efficiency: float
    memory_reading: str
    memory_spread: float
    mfu: float
    micro_batch_compute_time: Quantity[Any]
    micro_batch_time: Quantity[Any]
    micro_batch_tokens: Quantity[Any]
    micro_batch_wait_time: Quantity[Any]
    micro_batches: float
    microbatch_group: float
    missed_iteration: Quantity[Any]
    mixer_bytes: Quantity[Any]
    mixer_matrix_elements: float
    mixer_parameters: float
    mixer_parameters_per_rank: float
    mixer_product_widths: float
    mixerless_layers: float
    mla_layer_tax: Quantity[Any]
    mlp_bias: float
    model_flops: Quantity[Any]
    moe_activation: Quantity[Any]
    moe_layer_activation: Quantity[Any]
    moe_layer_gather: Quantity[Any]
    moe_layer_interval: float
    moe_layer_kept: float
    moe_layer_operations: float
    moe_layer_tax: Quantity[Any]
    moe_layer_time: Quantity[Any]
    moe_layer_traffic: Quantity[Any]
    moe_layers: float
    moe_layers_per_stage: float
    moment_bytes: Quantity[Any]
    mtp_layers: float
    mtp_layers_of_rank: float
    multiprocessors: float
    near_core_activation: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    node_power: Quantity[Any]
    nodes_per_token: float
    norm_activation: Quantity[Any]
    norm_bias: float
    norm_copy_bytes: Quantity[Any]
    norm_parameters: float
    norm_scale: float
    norms_per_layer: float
    num_loras: float
    num_prefixes: float
    num_redundant_experts: float
    num_replicas: float
    num_rounds: float
    num_speculative_tokens: float
    o_groups: float
    o_lora_rank: float
    operational_carbon: Quantity[Any]
    optimizer: str
    optimizer_bytes: Quantity[Any]
    optimizer_device: str
    optimizer_in_backward: float
    optimizer_offload: float
    optimizer_passes: float
    optimizer_state: Quantity[Any]
    optimizer_time: Quantity[Any]
    osl: Quantity[Any]
    osl_cv: float
    other_stage_layers: float
    others_kept_share: float
    output_tokens: Quantity[Any]
    oversubscription: float
    pad_to_capacity: float
    parallel_layers: float
    parameters: float
    passed_weight_bytes: Quantity[Any]
    peak_activations: Quantity[Any]
    peak_flops: Quantity[Any]
    peak_rank: str
    peak_seq_len: Quantity[Any]
    picked_entry_width: float
    pipeline_schedule: str
    pipeline_split: str
    plain_layers_of_rank: float
    poisson_wait: Quantity[Any]
    poisson_wait_scale: Quantity[Any]
    policy: str
    poll_interval: float
    pool_share: float
    port_bandwidth: Quantity[Any]
    power_bottleneck: str
    power_limit: Quantity[Any]
    pp_size: float
    pp_time: Quantity[Any]
    precision: str
    prefetch_fraction: float
    prefill_attention_efficiency: float
    prefill_attention_ranks: float
    prefill_dp_attention_size: float
    prefill_ep_size: float
    prefill_expert_ranks: float
    prefill_groups: float
    prefill_pp_size: float
    prefill_stages: float
    prefill_tensor_ranks: float
    prefill_tp_size: float
    prefill_workers: float
    prefix_cache_memory: Quantity[Any]
    prefix_found_share: float
    prefix_hit_rate: float
    prefix_len: Quantity[Any]
    prefix_lifetime: float
    prefix_popularity_sum: float
    prefix_zipf: float
    product_bytes: Quantity[Any]
    product_efficiency: float
    product_flops: Quantity[Any]
    product_input_bytes: Quantity[Any]
    product_rate: Quantity[Any]
    product_time: Quantity[Any]
    product_widths: float
    prompt_chunks: float
    prompt_host_layer_time: Quantity[Any]
    prompt_host_mla_time: Quantity[Any]
    prompt_host_moe_time: Quantity[Any]
    prompt_interval: Quantity[Any]
    prompt_iterations: float
    prompt_load: float
    prompt_pair_time: Quantity[Any]
    prompt_room: Quantity[Any]
    prompt_room_seen: Quantity[Any]
    prompt_slot_wait_probability: float
    prompt_slots: Quantity[Any]
    prompt_sojourn: Quantity[Any]
    prompt_stay: Quantity[Any]
    prompt_time: Quantity[Any]
    prompt_time_bend: Quantity[Any]
    prompt_time_curvature: Quantity[Any]
    prompt_time_cv: float
    prompt_time_log_variance: float
    prompt_time_p50: Quantity[Any]
    prompt_time_p90: Quantity[Any]
    prompt_time_p99: Quantity[Any]
    prompt_time_slope: Quantity[Any]
    prompt_time_third_cumulant: float
    prompt_token_growth: Quantity[Any]
    prompt_token_time: Quantity[Any]
    prompt_tokens_mean: Quantity[Any]
    prompt_wait: Quantity[Any]
    prompt_wait_probability: float
    prompt_wait_scale: Quantity[Any]
    prompts_gathered: float
    prompts_together: Quantity[Any]
    pue: float
    q_lora_rank: float
    qk_nope_head_dim: float
    qk_norm: float
    qk_rope_head_dim: float
    qkv_bias: float
    query_value_width_per_rank: float
    query_width_per_rank: float
    r1_ended_share: float
    r1_first_score: float
    r1_kept_share: float
    r2_ended_share: float
    r2_first_score: float
    r2_kept_share: float
    r3_ended_share: float
    r3_first_score: float
    r3_kept_share: float
    r4_ended_share: float
    r4_first_score: float
    r4_kept_share: float
    r5_ended_share: float
    r5_first_score: float
    r5_kept_share: float
    r6_ended_share: float
    r6_first_score: float
    r6_kept_share: float
    r7_ended_share: float
    r7_first_score: float
    r7_kept_share: float
    r8_ended_share: float
    r8_first_score: float
    r8_kept_share: float
    rank_memory: Quantity[Any]
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    read_entry_width: float
    read_width: float
    read_width_in_window: float
    recompute_activation_func: float
    recompute_layernorm: float
    recompute_mla_up_proj: float
    recomputed_activation: Quantity[Any]
    recomputed_activations: Quantity[Any]
    recomputed_attention: float
    recomputed_elementwise: float
    recomputed_flops: Quantity[Any]
    recomputed_products: float
    recomputed_traffic: Quantity[Any]
    reduce_dtype: str
    reduced_bytes: Quantity[Any]
    remote_bandwidth: Quantity[Any]
    remote_capacity: Quantity[Any]
    remote_kv_share: float
    remote_memory: Quantity[Any]
    remote_price: Quantity[Any]
    remote_sharers: float
    remote_traffic: Quantity[Any]
    remote_weights: Quantity[Any]
    rep_all_reduce_time: Quantity[Any]
    rep_bandwidth: Quantity[Any]
    rep_chunk_latency: Quantity[Any]
    rep_latency: Quantity[Any]
    rep_link_bandwidth: Quantity[Any]
    rep_ranks_per_node: float
    rep_ring_time: Quantity[Any]
    rep_stride: float
    rep_summed_bytes: Quantity[Any]
    rep_switch_time: Quantity[Any]
    rep_tree_time: Quantity[Any]
    rep_tree_wire_time: Quantity[Any]
    repeated_matrix_elements: float
    replica_capacity: Quantity[Any]
    replica_concurrency: Quantity[Any]
    replica_goodput: Quantity[Any]
    replica_load: float
    replica_rate: Quantity[Any]
    replica_weights: Quantity[Any]
    request_flops: Quantity[Any]
    request_groups: float
    request_rate: Quantity[Any]
    reserved_memory: Quantity[Any]
    residual_bytes: Quantity[Any]
    residual_dtype: str
    rest_time: Quantity[Any]
    reused_parameters: float
    routed_buffer: Quantity[Any]
    routed_flops: Quantity[Any]
    router_bias: float
    router_parameters: float
    routing_imbalance_factor: float
    routing_weight_bytes: Quantity[Any]
    routing_weights: str
    rows_per_expert: Quantity[Any]
    run_requests: Quantity[Any]
    run_tokens: Quantity[Any]
    runtime_memory: Quantity[Any]
    sampled_requests: float
    sampling_bytes: Quantity[Any]
    sandwich_norm: float
    saturated_iteration_time: Quantity[Any]
    saved_bytes: Quantity[Any]
    saved_dtype: str
    scan_chunk_time: Quantity[Any]
    scan_efficiency: float
    scan_flops: Quantity[Any]
    scan_time_per_token: Quantity[Any]
    scan_traffic: Quantity[Any]
    score_activation: Quantity[Any]
    score_flops: Quantity[Any]
    score_time: Quantity[Any]
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    second_output_bytes: Quantity[Any]
    second_rank_memory: Quantity[Any]
    selective_policy: str
    send_time: Quantity[Any]
    seq_len: Quantity[Any]
    sequence_overhead: Quantity[Any]
    sequence_parallel: float
    sequence_shards: float
    served_weights: Quantity[Any]
    serving_bottleneck: str
    shared_cache_layers: float
    shared_edges_per_rank: float
    shared_expert_bytes: Quantity[Any]
    shared_expert_parameters: float
    shared_ffn_dim: float
    shared_parameters_per_rank: float
    short_answer_excess: Quantity[Any]
    short_answer_variance: Quantity[Any]
    short_sequence_factor: float
    single_expert_edges_per_rank: float
    site_water: Quantity[Any]
    site_water_use: Quantity[Any]
    slice_cost: float
    sliding_attention_flops: Quantity[Any]
    sliding_decode_flops: Quantity[Any]
    sliding_head_dim: float
    sliding_heads: float
    sliding_kv_heads: float
    sliding_layers: float
    sliding_shared_layers: float
    sliding_v_head_dim: float
    sliding_window: Quantity[Any]
    slo_attainment: float
    slo_quantile: float
    slot_batch: Quantity[Any]
    slot_capacity: Quantity[Any]
    slot_decode_share: float
    slot_growth: float
    slot_load: float
    slot_time_scv: float
    slot_wait_mean: Quantity[Any]
    slot_wait_probability: float
    slots: float
    slots_kv_cache: Quantity[Any]
    slots_taken: float
    slowest_factor: float
    slowest_stage_layers: float
    slowest_stage_moe_layers: float
    slowest_stage_summing_layers: float
    source_cache_per_request: Quantity[Any]
    source_flops: Quantity[Any]
    source_hidden_dim: float
    source_pair_flops: Quantity[Any]
    source_parameters: float
    source_projections: float
    source_token_flops: Quantity[Any]
    source_tokens: Quantity[Any]
    source_tokens_per_request: Quantity[Any]
    stage_activations: Quantity[Any]
    stage_time: Quantity[Any]
    stage_wait_time: Quantity[Any]
    stages_per_rank: float
    staging_buffer: Quantity[Any]
    state_bytes_per_request: Quantity[Any]
    state_chunk: Quantity[Any]
    state_element_bytes: Quantity[Any]
    state_gates: float
    state_heads: float
    state_key_dim: float
    state_key_heads: float
    state_layers: float
    state_matrices: float
    state_matrix_width: float
    state_operations: Quantity[Any]
    state_parameters: float
    state_parameters_per_rank: float
    state_scalars: float
    state_value_dim: float
    state_vectors: float
    step_flop_energy: Quantity[Any]
    step_growth_at_load: Quantity[Any]
    step_time: Quantity[Any]
    step_time_at_load: Quantity[Any]
    step_wait_probability: float
    straggler_factor: float
    straggler_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    tdp: Quantity[Any]
    tied_embeddings: float
    token_dispatcher: str
    tokens_per_decode_step: float
    tokens_per_rank: Quantity[Any]
    tokens_per_second: Quantity[Any]
    tokens_per_second_per_accelerator: Quantity[Any]
    tokens_per_second_per_dollar: Quantity[Any]
    torus_axes: float
    tp_all_reduce_time: Quantity[Any]
    tp_bandwidth: Quantity[Any]
    tp_chunk_latency: Quantity[Any]
    tp_exchange_time: Quantity[Any]
    tp_exposed_time: Quantity[Any]
    tp_gather_time: Quantity[Any]
    tp_latency: Quantity[Any]
    tp_link_bandwidth: Quantity[Any]
    tp_message_bytes: Quantity[Any]
    tp_overlap: float
    tp_ranks_per_node: float
    tp_ring_time: Quantity[Any]
    tp_size: float
    tp_stride: float
    tp_summed_bytes: Quantity[Any]
    tp_switch_time: Quantity[Any]
    tp_time: Quantity[Any]
    tp_tree_time: Quantity[Any]
    tp_tree_wire_time: Quantity[Any]
    tpot_attainment: float
    tpot_excess: Quantity[Any]
    tpot_excess_cv: float
    tpot_mean: Quantity[Any]
    tpot_p50: Quantity[Any]
    tpot_p90: Quantity[Any]
    tpot_p99: Quantity[Any]
    tpot_slo: Quantity[Any]
    tpot_spread: Quantity[Any]
    trainable_fraction: float
    trained_bytes: Quantity[Any]
    trained_dense_parameters_per_rank: float
    trained_expert_parameters_per_rank: float
    training_time: Quantity[Any]
    training_tokens: Quantity[Any]
    ttft_attainment: float
    ttft_burst: Quantity[Any]
    ttft_log_variance: float
    ttft_mean: Quantity[Any]
    ttft_p50: Quantity[Any]
    ttft_p90: Quantity[Any]
    ttft_p99: Quantity[Any]
    ttft_slo: Quantity[Any]
    ttft_steady: Quantity[Any]
    two_batch_hidden_share: float
    two_batch_overlap: float
    unbound_core_activation: Quantity[Any]
    unbounded_attention_layers: float
    unhidden_fetch_time: Quantity[Any]
    unified: float
    up_projection_activation: Quantity[Any]
    up_projection_elements: float
    update_buffer: str
    update_place: str
    update_slowdown: float
    update_traffic: Quantity[Any]
    updated_parameters_per_rank: float
    used_share: float
    v_head_dim: float
    value_dim: float
    value_dim_in_window: float
    value_projections: float
    varied_prompt_time: Quantity[Any]
    vector_parameters_per_rank: float
    vocab_multiple: float
    vocab_size: float
    vocabulary_rows: float
    wait_decay: float
    waiting_tokens: Quantity[Any]
    water: Quantity[Any]
    weight_bytes: Quantity[Any]
    weight_dtype: str
    weight_gather_time: Quantity[Any]
    weight_gradient_share: float
    weight_only_expert_efficiency: float
    weight_passes: float
    weight_read_efficiency: float
    weights: Quantity[Any]
    weights_offload: float
    weights_read_stretch: float
    whole_law: float
    whole_prompts: bool
    wide_rate: Quantity[Any]
    widening_bytes: Quantity[Any]
    widening_traffic: Quantity[Any]
    width_vectors: float
    window_reach: Quantity[Any]
    worker_overhead: Quantity[Any]
    working_buffer: Quantity[Any]
    workspace: Quantity[Any]
    workspace_memory: Quantity[Any]
    zero_ranks: float
    zero_stage: float
class MemoryExpansionModel(_MemoryExpansionModel):
    def solve(self, model: str | _catalog.TransformerWorkload = ..., design: str | _catalog.MemoryDesign = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_MemoryExpansionInputs]) -> _MemoryExpansionResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, model: str | _catalog.TransformerWorkload = ..., design: str | _catalog.MemoryDesign = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, model: str | _catalog.TransformerWorkload = ..., design: str | _catalog.MemoryDesign = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _MemoryExpansionResult: ...

class _KernelInputs(TypedDict, total=False):
    product_rows: float | str | Quantity[Any]
    product_columns: float | str | Quantity[Any]
    product_inner: float | str | Quantity[Any]
    product_groups: float | str | Quantity[Any]
    group_imbalance: float | str | Quantity[Any]
    precision: str
    weight_dtype: str
    compute_dtype: str
    activation_dtype: str
    output_bytes: float | str | Quantity[Any]
    dynamic_quantization: bool | str
    efficiency: float | str | Quantity[Any]
    kernel_bytes: float | str | Quantity[Any]
    batch_size: float | str | Quantity[Any]
    seq_len: float | str | Quantity[Any]
    heads: float | str | Quantity[Any]
    head_dim: float | str | Quantity[Any]
    bidirectional: bool | str
    attention_mask: str
    attention_kernel: str
    flash_kernel: str
    memory_bandwidth: float | str | Quantity[Any]
    peak_flops: float | str | Quantity[Any]
    attention_peak_flops: float | str | Quantity[Any]
    multiprocessors: float | str | Quantity[Any]
    tdp: float | str | Quantity[Any]
    clock: float | str | Quantity[Any]
    exponentials_per_clock: float | str | Quantity[Any]
    compute_capability: float | str | Quantity[Any]
    memory_efficiency: float | str | Quantity[Any]
    flop_energy: float | str | Quantity[Any]
    launch_time: float | str | Quantity[Any]
    quantization_time: float | str | Quantity[Any]
    stack: str | _catalog.Stack
class _KernelResult(Result):
    activation_dtype: str
    activation_quantization_time: Quantity[Any]
    arithmetic_intensity: Quantity[Any]
    arithmetic_time: Quantity[Any]
    attainable_rate: Quantity[Any]
    attention_backward_time: Quantity[Any]
    attention_forward_time: Quantity[Any]
    attention_kernel: str
    attention_mask: str
    attention_peak_flops: Quantity[Any]
    backward_core_share: float
    backward_core_time: Quantity[Any]
    backward_exponentials: float
    batch_size: float
    bidirectional: float
    ceiling_efficiency: float
    clock: Quantity[Any]
    compute_capability: float
    compute_dtype: str
    computed_outputs: float
    dynamic_quantization: float
    efficiency: float
    exponential_rate: Quantity[Any]
    exponentials_per_clock: float
    flash_kernel: str
    flop_energy: Quantity[Any]
    forward_core_share: float
    forward_core_time: Quantity[Any]
    forward_exponentials: float
    group_imbalance: float
    groups_with_rows: float
    head_dim: float
    heads: float
    hidden_bytes: Quantity[Any]
    kernel_bottleneck: str
    kernel_bytes: Quantity[Any]
    kernel_flops: Quantity[Any]
    kernel_rate: Quantity[Any]
    kernel_time: Quantity[Any]
    largest_group_tiles: float
    launch_time: Quantity[Any]
    memory_bandwidth: Quantity[Any]
    memory_efficiency: float
    memory_time: Quantity[Any]
    multiprocessors: float
    output_bytes: Quantity[Any]
    peak_flops: Quantity[Any]
    precision: str
    product_bytes: Quantity[Any]
    product_columns: float
    product_groups: float
    product_inner: float
    product_input_bytes: Quantity[Any]
    product_rows: float
    quantization_time: Quantity[Any]
    ridge_point: Quantity[Any]
    row_tiles: float
    scored_pair_flops: Quantity[Any]
    scores_per_token: Quantity[Any]
    scores_share: float
    seq_len: Quantity[Any]
    short_sequence_factor: float
    smallest_group_tiles: float
    tdp: Quantity[Any]
    tile_efficiency: float
    weight_bytes: Quantity[Any]
    weight_dtype: str
class KernelModel(_KernelModel):
    def solve(self, hardware: str | _catalog.Accelerator = ..., **inputs: Unpack[_KernelInputs]) -> _KernelResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, hardware: str | _catalog.Accelerator = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, hardware: str | _catalog.Accelerator = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _KernelResult: ...

class _CollectiveInputs(TypedDict, total=False):
    collective_ranks: float | str | Quantity[Any]
    message_bytes: float | str | Quantity[Any]
    rank_stride: float | str | Quantity[Any]
    tokens_per_rank: float | str | Quantity[Any]
    hidden_dim: float | str | Quantity[Any]
    active_experts_per_token: float | str | Quantity[Any]
    node_limit: float | str | Quantity[Any]
    precision: str
    dispatch_dtype: str
    combine_dtype: str
    congestion_factor: float | str | Quantity[Any]
    node_bandwidth: float | str | Quantity[Any]
    switch_reduces: float | str | Quantity[Any]
    direct_mesh: float | str | Quantity[Any]
    torus_axes: float | str | Quantity[Any]
    accelerators_per_node: float | str | Quantity[Any]
    accelerators_per_segment: float | str | Quantity[Any]
    fabric_bandwidth: float | str | Quantity[Any]
    fabric_latency: float | str | Quantity[Any]
    oversubscription: float | str | Quantity[Any]
    accelerators_per_pod: float | str | Quantity[Any]
    low_latency_bandwidth: float | str | Quantity[Any]
    bulk_start: float | str | Quantity[Any]
    fleet_size: float | str | Quantity[Any]
    link_efficiency: float | str | Quantity[Any]
    fabric_efficiency: float | str | Quantity[Any]
    exchange_link_efficiency: float | str | Quantity[Any]
    collective_latency: float | str | Quantity[Any]
    node_latency: float | str | Quantity[Any]
    all_to_all_start: float | str | Quantity[Any]
    all_to_all_step: float | str | Quantity[Any]
    switch_latency: float | str | Quantity[Any]
    exchange_latency: float | str | Quantity[Any]
    fabric: str | _catalog.Fabric
    stack: str | _catalog.Stack
class _CollectiveResult(Result):
    accelerators_per_node: float
    accelerators_per_pod: float
    accelerators_per_segment: float
    active_experts_per_token: float
    all_to_all_start: Quantity[Any]
    all_to_all_step: Quantity[Any]
    bulk_start: Quantity[Any]
    bus_bandwidth: Quantity[Any]
    chunk_latency: Quantity[Any]
    collective_bandwidth: Quantity[Any]
    collective_latency: Quantity[Any]
    collective_link_bandwidth: Quantity[Any]
    collective_ranks: float
    collective_steps: Quantity[Any]
    collective_time: Quantity[Any]
    combine_dtype: str
    combine_element_bytes: Quantity[Any]
    congestion_factor: float
    copy_bytes: Quantity[Any]
    direct_mesh: float
    dispatch_dtype: str
    dispatch_element_bytes: Quantity[Any]
    exchange_latency: Quantity[Any]
    exchange_link_efficiency: float
    exchange_node_bandwidth: Quantity[Any]
    fabric_bandwidth: Quantity[Any]
    fabric_bytes: Quantity[Any]
    fabric_efficiency: float
    fabric_latency: Quantity[Any]
    fleet_size: float
    hidden_dim: float
    link_bytes: Quantity[Any]
    link_efficiency: float
    low_latency_bandwidth: Quantity[Any]
    message_bytes: Quantity[Any]
    node_bandwidth: Quantity[Any]
    node_latency: Quantity[Any]
    node_limit: float
    nodes_per_token: float
    oversubscription: float
    port_bandwidth: Quantity[Any]
    precision: str
    rank_stride: float
    ranks_per_node: float
    ranks_per_token: float
    reachable_nodes: float
    reached_fabric_bandwidth: Quantity[Any]
    reached_node_bandwidth: Quantity[Any]
    ring_time: Quantity[Any]
    switch_latency: Quantity[Any]
    switch_reduces: float
    switch_time: Quantity[Any]
    tokens_per_rank: Quantity[Any]
    torus_axes: float
    tree_time: Quantity[Any]
    tree_wire_time: Quantity[Any]
    wire_time: Quantity[Any]
class CollectiveModel(_CollectiveModel):
    def solve(self, hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **inputs: Unpack[_CollectiveInputs]) -> _CollectiveResult: ...  # type: ignore[override]
    def function(self, outputs: Any, *entries: Any, check: bool = ..., **inputs: Any) -> _PureFunction: ...  # type: ignore[override]
    def sweep(self, hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> xarray.Dataset: ...  # type: ignore[override]
    def search(self, hardware: str | _catalog.Accelerator = ..., node: str | _catalog.Node = ..., fleet: str | _catalog.Fleet = ..., **axes: Any) -> _Designs: ...  # type: ignore[override]
    @classmethod
    def solve_example(cls, **changed: Any) -> _CollectiveResult: ...

class _HardwareCloud(_catalog.Group):
    H100: _catalog.Accelerator
    H200: _catalog.Accelerator
    A100: _catalog.Accelerator
    A100_40GB: _catalog.Accelerator
    H100_PCIe: _catalog.Accelerator
    H100_NVL: _catalog.Accelerator
    H800: _catalog.Accelerator
    H20: _catalog.Accelerator
    H20_141GB: _catalog.Accelerator
    B200: _catalog.Accelerator
    GB200: _catalog.Accelerator
    B300: _catalog.Accelerator
    GB300: _catalog.Accelerator
    A10: _catalog.Accelerator
    L4: _catalog.Accelerator
    L40S: _catalog.Accelerator
    V100: _catalog.Accelerator
    V100_16GB: _catalog.Accelerator
    T4: _catalog.Accelerator
    P100: _catalog.Accelerator
    A2: _catalog.Accelerator
    A30: _catalog.Accelerator
    A40: _catalog.Accelerator
    A800: _catalog.Accelerator
    L20: _catalog.Accelerator
    L2: _catalog.Accelerator
    GH200_96GB: _catalog.Accelerator
    GH200_144GB: _catalog.Accelerator
    MI300X: _catalog.Accelerator
    MI325X: _catalog.Accelerator
    MI355X: _catalog.Accelerator
    MI250X: _catalog.Accelerator
    MI210: _catalog.Accelerator
    MI300A_128GB: _catalog.Accelerator
    Trainium2: _catalog.Accelerator
    Trainium1: _catalog.Accelerator
    Inferentia2: _catalog.Accelerator
    Trainium3: _catalog.Accelerator
    TPU_v4: _catalog.Accelerator
    TPU_v5e: _catalog.Accelerator
    TPU_v5p: _catalog.Accelerator
    TPU_v6e: _catalog.Accelerator
    TPU7x: _catalog.Accelerator
    Gaudi2: _catalog.Accelerator
    Gaudi3: _catalog.Accelerator
class _HardwareWorkstation(_catalog.Group):
    RTX_4090: _catalog.Accelerator
    GB10: _catalog.Accelerator
    M1_Max: _catalog.Accelerator
    M1_Ultra: _catalog.Accelerator
    M2_Max: _catalog.Accelerator
    M2_Ultra: _catalog.Accelerator
    M3_Max: _catalog.Accelerator
    M3_Ultra: _catalog.Accelerator
    M4_Max: _catalog.Accelerator
    RTX_3060: _catalog.Accelerator
    RTX_3060_Ti: _catalog.Accelerator
    RTX_3070: _catalog.Accelerator
    RTX_3080: _catalog.Accelerator
    RTX_3080_Ti: _catalog.Accelerator
    RTX_3090: _catalog.Accelerator
    RTX_3090_Ti: _catalog.Accelerator
    RTX_4060: _catalog.Accelerator
    RTX_4060_Ti_16GB: _catalog.Accelerator
    RTX_4070: _catalog.Accelerator
    RTX_4070_Super: _catalog.Accelerator
    RTX_4070_Ti: _catalog.Accelerator
    RTX_4070_Ti_Super: _catalog.Accelerator
    RTX_4080: _catalog.Accelerator
    RTX_4080_Super: _catalog.Accelerator
    RTX_5060_Ti_16GB: _catalog.Accelerator
    RTX_5070: _catalog.Accelerator
    RTX_5070_Ti: _catalog.Accelerator
    RTX_5080: _catalog.Accelerator
    RTX_5090: _catalog.Accelerator
    RTX_A6000: _catalog.Accelerator
    RTX_6000_Ada: _catalog.Accelerator
    RTX_PRO_6000: _catalog.Accelerator
class _HardwareEdge(_catalog.Group):
    Jetson_AGX_Orin: _catalog.Accelerator
    Jetson_Orin_Nano: _catalog.Accelerator
    Jetson_Thor: _catalog.Accelerator
class _Hardware(_catalog.Group):
    Cloud: _HardwareCloud
    Workstation: _HardwareWorkstation
    Edge: _HardwareEdge
Hardware: _Hardware
class _ModelsLanguage(_catalog.Group):
    Llama3_8B: _catalog.TransformerWorkload
    Llama3_70B: _catalog.TransformerWorkload
    Llama3_1_8B: _catalog.TransformerWorkload
    Llama3_2_1B: _catalog.TransformerWorkload
    Llama3_2_3B: _catalog.TransformerWorkload
    Llama3_1_70B: _catalog.TransformerWorkload
    Llama3_1_405B: _catalog.TransformerWorkload
    Llama3_3_70B: _catalog.TransformerWorkload
    Llama2_7B: _catalog.TransformerWorkload
    Llama2_13B: _catalog.TransformerWorkload
    Llama2_70B: _catalog.TransformerWorkload
    Llama4_Scout: _catalog.SparseTransformerWorkload
    Llama4_Maverick: _catalog.SparseTransformerWorkload
    torchtitan_llama4_3bx128e: _catalog.SparseTransformerWorkload
    DeepSeek_V3: _catalog.SparseTransformerWorkload
    DeepSeek_R1: _catalog.SparseTransformerWorkload
    DeepSeek_V3_1: _catalog.SparseTransformerWorkload
    DeepSeek_V3_2: _catalog.SparseTransformerWorkload
    DeepSeek_V2: _catalog.SparseTransformerWorkload
    DeepSeek_V2_Lite: _catalog.SparseTransformerWorkload
    DeepSeek_V4_Pro: _catalog.SparseTransformerWorkload
    DeepSeek_V4_Flash: _catalog.SparseTransformerWorkload
    DeepSpeedMoE_1_3B_MoE_128: _catalog.SparseTransformerWorkload
    DeepSpeedMoE_2_4B_MoE_128: _catalog.SparseTransformerWorkload
    DeepSpeedMoE_8B_MoE_128: _catalog.SparseTransformerWorkload
    DeepSpeedMoE_24B_MoE_128: _catalog.SparseTransformerWorkload
    DeepSpeedMoE_47B_MoE_128: _catalog.SparseTransformerWorkload
    ERNIE_4_5_0_3B: _catalog.TransformerWorkload
    ERNIE_4_5_21B_A3B: _catalog.SparseTransformerWorkload
    ERNIE_4_5_300B_A47B: _catalog.SparseTransformerWorkload
    Falcon_H1_0_5B: _catalog.TransformerWorkload
    Falcon_H1_1_5B_Deep: _catalog.TransformerWorkload
    Falcon_H1_7B: _catalog.TransformerWorkload
    Falcon_H1_34B: _catalog.TransformerWorkload
    Gemma2_2B: _catalog.TransformerWorkload
    Gemma2_9B: _catalog.TransformerWorkload
    Gemma2_27B: _catalog.TransformerWorkload
    Gemma3_1B: _catalog.TransformerWorkload
    Gemma3_4B: _catalog.TransformerWorkload
    Gemma3_12B: _catalog.TransformerWorkload
    Gemma3_27B: _catalog.TransformerWorkload
    Gemma3n_E4B: _catalog.TransformerWorkload
    Gemma4_26B_A4B: _catalog.SparseTransformerWorkload
    Gemma4_31B: _catalog.TransformerWorkload
    GLM_4_5: _catalog.SparseTransformerWorkload
    GLM_4_5_Air: _catalog.SparseTransformerWorkload
    GLM_5: _catalog.SparseTransformerWorkload
    GLM_5_1: _catalog.SparseTransformerWorkload
    GLM_5_2: _catalog.SparseTransformerWorkload
    GPT3_175B: _catalog.TransformerWorkload
    OPT_13B: _catalog.TransformerWorkload
    OPT_30B: _catalog.TransformerWorkload
    OPT_66B: _catalog.TransformerWorkload
    OPT_175B: _catalog.TransformerWorkload
    GPT2_XL: _catalog.TransformerWorkload
    gpt_oss_20B: _catalog.SparseTransformerWorkload
    gpt_oss_120B: _catalog.SparseTransformerWorkload
    Granite_4_0_H_Small: _catalog.SparseTransformerWorkload
    Granite_4_0_H_Tiny: _catalog.SparseTransformerWorkload
    Jamba_v0_1: _catalog.SparseTransformerWorkload
    Jamba_1_5_Large: _catalog.SparseTransformerWorkload
    Kimi_K2: _catalog.SparseTransformerWorkload
    Kimi_K2_5: _catalog.SparseTransformerWorkload
    Kimi_K2_6: _catalog.SparseTransformerWorkload
    Moonlight_16B_A3B: _catalog.SparseTransformerWorkload
    Kimi_Linear_48B_A3B: _catalog.SparseTransformerWorkload
    LFM2_350M: _catalog.TransformerWorkload
    LFM2_700M: _catalog.TransformerWorkload
    LFM2_1_2B: _catalog.TransformerWorkload
    LFM2_2_6B: _catalog.TransformerWorkload
    LFM2_8B_A1B: _catalog.SparseTransformerWorkload
    MiMo_7B: _catalog.TransformerWorkload
    MiMo_V2_Flash: _catalog.SparseTransformerWorkload
    MiniMax_M2_5: _catalog.SparseTransformerWorkload
    MiniMax_M2_7: _catalog.SparseTransformerWorkload
    Mixtral_8x7B: _catalog.SparseTransformerWorkload
    Mixtral_8x22B: _catalog.SparseTransformerWorkload
    Mistral_7B: _catalog.TransformerWorkload
    Mistral_Small_3: _catalog.TransformerWorkload
    Ministral_3_3B: _catalog.TransformerWorkload
    Ministral_3_8B: _catalog.TransformerWorkload
    Ministral_3_14B: _catalog.TransformerWorkload
    Nemotron_3_Nano_30B_A3B: _catalog.SparseTransformerWorkload
    Nemotron_3_Super_120B_A12B: _catalog.SparseTransformerWorkload
    Nemotron_3_Ultra_550B_A55B: _catalog.SparseTransformerWorkload
    Nemotron_H_8B: _catalog.TransformerWorkload
    Nemotron_H_56B: _catalog.TransformerWorkload
    OLMo_2_7B: _catalog.TransformerWorkload
    OLMo_3_7B: _catalog.TransformerWorkload
    OLMo_3_32B: _catalog.TransformerWorkload
    Phi_4: _catalog.TransformerWorkload
    Phi_4_mini: _catalog.TransformerWorkload
    Qwen2_5_7B: _catalog.TransformerWorkload
    Qwen2_5_14B: _catalog.TransformerWorkload
    Qwen2_5_32B: _catalog.TransformerWorkload
    Qwen2_5_72B: _catalog.TransformerWorkload
    Qwen3_0_6B: _catalog.TransformerWorkload
    Qwen3_1_7B: _catalog.TransformerWorkload
    Qwen3_4B: _catalog.TransformerWorkload
    Qwen3_8B: _catalog.TransformerWorkload
    Qwen3_14B: _catalog.TransformerWorkload
    Qwen3_32B: _catalog.TransformerWorkload
    Qwen3_30B_A3B: _catalog.SparseTransformerWorkload
    Qwen3_235B_A22B: _catalog.SparseTransformerWorkload
    Qwen3_Next_80B_A3B: _catalog.SparseTransformerWorkload
    Qwen3_5_27B: _catalog.TransformerWorkload
    Qwen3_5_35B_A3B: _catalog.SparseTransformerWorkload
    Qwen3_5_122B_A10B: _catalog.SparseTransformerWorkload
    Qwen3_5_397B_A17B: _catalog.SparseTransformerWorkload
    Qwen3_6_27B: _catalog.TransformerWorkload
    Qwen3_6_35B_A3B: _catalog.SparseTransformerWorkload
    Qwen3_Coder_30B_A3B: _catalog.SparseTransformerWorkload
    Qwen3_Coder_480B_A35B: _catalog.SparseTransformerWorkload
    Qwen3_VL_2B: _catalog.TransformerWorkload
    Qwen3_VL_4B: _catalog.TransformerWorkload
    Qwen3_VL_8B: _catalog.TransformerWorkload
    Qwen3_VL_32B: _catalog.TransformerWorkload
    Qwen3_VL_235B_A22B: _catalog.SparseTransformerWorkload
    SmolLM3_3B: _catalog.TransformerWorkload
    Step_3_5_Flash: _catalog.SparseTransformerWorkload
class _ModelsEncoders(_catalog.Group):
    BERT_base: _catalog.TransformerWorkload
    ModernBERT_base: _catalog.TransformerWorkload
class _ModelsEncoderDecoders(_catalog.Group):
    T5_small: _catalog.TransformerWorkload
    Whisper_large_v3: _catalog.TransformerWorkload
class _ModelsVisionLanguage(_catalog.Group):
    Qwen3_VL_8B_Instruct: _catalog.TransformerWorkload
    LLaVA_1_5_7B: _catalog.TransformerWorkload
class _ModelsDiffusion(_catalog.Group):
    DiT_XL_2: _catalog.TransformerWorkload
class _Models(_catalog.Group):
    Language: _ModelsLanguage
    Encoders: _ModelsEncoders
    EncoderDecoders: _ModelsEncoderDecoders
    VisionLanguage: _ModelsVisionLanguage
    Diffusion: _ModelsDiffusion
Models: _Models
class _SystemsEngines(_catalog.Group):
    vllm: _catalog.Engine
    sglang: _catalog.Engine
    trtllm: _catalog.Engine
    lmdeploy: _catalog.Engine
class _SystemsFailures(_catalog.Group):
    Llama3_405B: _catalog.Failures
    Meta_RSC1_A100: _catalog.Failures
    Meta_RSC1_A100_Jobs: _catalog.Failures
    Meta_RSC2_A100: _catalog.Failures
    FT_HSDP_32K: _catalog.Failures
    FT_HSDP_98K: _catalog.Failures
    ByteRobust_Dense: _catalog.Failures
    ByteRobust_MoE: _catalog.Failures
    MegaScale: _catalog.Failures
    OPT_175B_Cloud: _catalog.Failures
    GLM_65B: _catalog.Failures
class _SystemsGrids(_catalog.Group):
    World: _catalog.Grid
    US: _catalog.Grid
    China: _catalog.Grid
    India: _catalog.Grid
    Germany: _catalog.Grid
    France: _catalog.Grid
    Sweden: _catalog.Grid
    Norway: _catalog.Grid
    Finland: _catalog.Grid
    Ireland: _catalog.Grid
    UK: _catalog.Grid
    Netherlands: _catalog.Grid
    Spain: _catalog.Grid
    Poland: _catalog.Grid
    Japan: _catalog.Grid
    Korea: _catalog.Grid
    Singapore: _catalog.Grid
    Taiwan: _catalog.Grid
    Australia: _catalog.Grid
    Canada: _catalog.Grid
    Brazil: _catalog.Grid
    EU: _catalog.Grid
    US_stack: _catalog.Grid
class _SystemsMemories(_catalog.Group):
    HBM: _catalog.MemoryKind
    DDR5: _catalog.MemoryKind
    LPDDR5X: _catalog.MemoryKind
    CXL_DDR5: _catalog.MemoryKind
class _SystemsDesigns(_catalog.Group):
    Per_Node: _catalog.MemoryDesign
    Per_GPU: _catalog.MemoryDesign
    Integrated_CPU_Links: _catalog.MemoryDesign
    Integrated_GPU_Links: _catalog.MemoryDesign
    DGX_H100_PCIe: _catalog.MemoryDesign
    GH200: _catalog.MemoryDesign
    GB200_Grace: _catalog.MemoryDesign
    MI300A: _catalog.MemoryDesign
    CXL3_Expander: _catalog.MemoryDesign
class _SystemsRents(_catalog.Group):
    RunPod_H100: _catalog.Rent
    RunPod_H200: _catalog.Rent
    RunPod_A100: _catalog.Rent
    RunPod_B200: _catalog.Rent
    RunPod_L4: _catalog.Rent
    RunPod_L40S: _catalog.Rent
    RunPod_RTX_4090: _catalog.Rent
    Lambda_A10: _catalog.Rent
    Lambda_A100_40GB: _catalog.Rent
    Lambda_H100_PCIe: _catalog.Rent
    Hot_Aisle_MI300X: _catalog.Rent
    Vultr_MI325X: _catalog.Rent
    Google_TPU_v5e: _catalog.Rent
    Google_TPU_v5p: _catalog.Rent
class _SystemsStorages(_catalog.Group):
    Tectonic: _catalog.Storage
    ByteCheckpoint_HDFS: _catalog.Storage
    Jean_Zay_GPFS: _catalog.Storage
    Remote_20Gbps: _catalog.Storage
class _SystemsNodes(_catalog.Group):
    DGX_H100: _catalog.Node
    DGX_H200: _catalog.Node
    DGX_A100: _catalog.Node
    DGX_B200: _catalog.Node
    GB200_NVL72: _catalog.Node
    HGX_H800: _catalog.Node
    HGX_H20: _catalog.Node
    DGX_B300: _catalog.Node
    GB300_NVL72: _catalog.Node
    HGX_MI300X: _catalog.Node
    HGX_MI325X: _catalog.Node
    HGX_MI355X: _catalog.Node
    AWS_trn2_48xlarge: _catalog.Node
    AWS_p4d_24xlarge: _catalog.Node
    AWS_p5_48xlarge: _catalog.Node
    GCP_a3_megagpu_8g: _catalog.Node
    Grand_Teton_H100: _catalog.Node
class _SystemsFabrics(_catalog.Group):
    Ethernet_100G_TCP: _catalog.Fabric
    GPUDirect_TCPXO: _catalog.Fabric
    PCIe_4_x16: _catalog.Fabric
    PCIe_5_x16: _catalog.Fabric
    InfiniBand_HDR: _catalog.Fabric
    InfiniBand_NDR: _catalog.Fabric
    InfiniBand_XDR: _catalog.Fabric
    RoCE_400G: _catalog.Fabric
    Meta_RoCE_400G: _catalog.Fabric
class _SystemsClusters(_catalog.Group):
    Research_256: _catalog.Fleet
    SuperPOD_A100: _catalog.Fleet
    SuperPOD_H100: _catalog.Fleet
    SuperPOD_GB200: _catalog.Fleet
    Llama3_16K: _catalog.Fleet
    DeepSeek_H800_2048: _catalog.Fleet
    Meta_24K: _catalog.Fleet
    A3_Mega_16: _catalog.Fleet
class _SystemsTraffic(_catalog.Group):
    InferenceX_1k_1k: _catalog.Traffic
    InferenceX_8k_1k: _catalog.Traffic
    InferenceX_1k_8k: _catalog.Traffic
    ShareGPT: _catalog.Traffic
    Mooncake_Conversation: _catalog.Traffic
    Mooncake_Agents: _catalog.Traffic
    Mooncake_Long_Context: _catalog.Traffic
    GitHub_Copilot_Agents: _catalog.Traffic
    TraceLab_Claude: _catalog.Traffic
    TraceLab_Codex: _catalog.Traffic
class _Systems(_catalog.Group):
    Engines: _SystemsEngines
    Failures: _SystemsFailures
    Grids: _SystemsGrids
    Memories: _SystemsMemories
    Designs: _SystemsDesigns
    Rents: _SystemsRents
    Storages: _SystemsStorages
    Nodes: _SystemsNodes
    Fabrics: _SystemsFabrics
    Clusters: _SystemsClusters
    Traffic: _SystemsTraffic
Systems: _Systems
class _Stacks(_catalog.Group):
    Generic: _catalog.Stack
    Ideal: _catalog.Stack
    TensorRT_LLM_H100: _catalog.Stack
    TensorRT_LLM_A100: _catalog.Stack
    DistServe_A100: _catalog.Stack
    vLLM_2023_A100: _catalog.Stack
    GPT_fast_A100: _catalog.Stack
    LMDeploy_2024_A100: _catalog.Stack
    llama_cpp_2024_Ada: _catalog.Stack
    llama_cpp_2024_Ampere: _catalog.Stack
    vLLM_2024: _catalog.Stack
    vLLM_2025: _catalog.Stack
    SGLang_2025: _catalog.Stack
    TensorRT_LLM_1_2_Blackwell: _catalog.Stack
    vLLM_2026_Hopper: _catalog.Stack
    vLLM_2026_Blackwell: _catalog.Stack
    SGLang_2026_Hopper: _catalog.Stack
    SGLang_2026_Blackwell: _catalog.Stack
    Megatron_LM: _catalog.Stack
    torchtitan: _catalog.Stack
    DeepSpeed: _catalog.Stack
    torchtune: _catalog.Stack
    HF_Trainer: _catalog.Stack
    unsloth: _catalog.Stack
    Megatron_LM_A100: _catalog.Stack
    DeepSpeed_A100: _catalog.Stack
    torchtitan_A100: _catalog.Stack
    torchtitan_H100: _catalog.Stack
    torchtitan_async_H100: _catalog.Stack
    torchtitan_H20: _catalog.Stack
    MPT_A100: _catalog.Stack
    MPT_H100: _catalog.Stack
    Megatron_Bridge_H100: _catalog.Stack
    NeMo_RL_H100: _catalog.Stack
    NeMo_RL_GB200: _catalog.Stack
    NeMo_RL_DTensor_H100: _catalog.Stack
    Megatron_Bridge_B200: _catalog.Stack
    Megatron_Bridge_GB200: _catalog.Stack
    Megatron_Bridge_GB300: _catalog.Stack
    Megatron_Bridge_B300: _catalog.Stack
    Megatron_Bridge_GB200_26_06: _catalog.Stack
    Megatron_Bridge_GB300_26_06: _catalog.Stack
    MaxText_TPU_v4: _catalog.Stack
    MaxText_TPU_v5e: _catalog.Stack
    MaxText_TPU_v5p: _catalog.Stack
    MaxText_TPU_v6e: _catalog.Stack
    MaxText_TPU7x: _catalog.Stack
    Neuron_Trn1: _catalog.Stack
    PAX_A100: _catalog.Stack
    PAX_H100: _catalog.Stack
    Primus_MI300X: _catalog.Stack
    Primus_MI325X: _catalog.Stack
    Primus_MI355X: _catalog.Stack
    DeepSeek_H800: _catalog.Stack
    cuBLAS: _catalog.Stack
    cuBLAS_A100: _catalog.Stack
    cuBLAS_H100: _catalog.Stack
    cuBLAS_B200: _catalog.Stack
    PyTorch_grouped_H200: _catalog.Stack
    NCCL_A100: _catalog.Stack
    NCCL_H100: _catalog.Stack
    RCCL_MI300X: _catalog.Stack
    NCCL_B200: _catalog.Stack
    DeepEP: _catalog.Stack
Stacks: _Stacks
class _Recipes(_catalog.Group):
    torchtitan_issue_1624: _catalog.Recipe
    Megatron_Qwen3_30B_A3B_H100: _catalog.Recipe
    Megatron_Qwen3_30B_A3B_GB200: _catalog.Recipe
    Megatron_Qwen3_235B_A22B_GB200: _catalog.Recipe
    Megatron_DeepSeek_V3_GB300_bf16: _catalog.Recipe
    Megatron_DeepSeek_V3_GB300_fp8: _catalog.Recipe
    Megatron_DeepSeek_V3_GB200_bf16: _catalog.Recipe
    Megatron_DeepSeek_V3_GB200_fp8: _catalog.Recipe
    Megatron_DeepSeek_V3_B200_fp8: _catalog.Recipe
    Megatron_gpt_oss_120B_H100: _catalog.Recipe
    Megatron_Mixtral_8x7B_H100: _catalog.Recipe
    DeepSeek_V3_2048_H800: _catalog.Recipe
    DeepSpeed_MoE: _catalog.Recipe
Recipes: _Recipes
