# SPDX-License-Identifier: Apache-2.0
"""What a rank holds against a real run: the tensors that autograd keeps, parameters, gradients, an optimizer's state."""

from __future__ import annotations

import itertools
import json
from typing import Any

import floptally
import pytest
from conftest import SOURCE

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

BATCH, LENGTH = 3, 16
HIDDEN, HEADS, INNER, LAYERS, VOCABULARY = 64, 4, 96, 3, 128


def tiny(heads: int = HEADS, kv_heads: int = HEADS, attention: str = "sdpa") -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=heads,
        num_key_value_heads=kv_heads, vocab_size=VOCABULARY, attn_implementation=attention, tie_word_embeddings=False,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).train()


def kept(model: Any, ids: Any, *, weights: Any = ()) -> int:
    """Bytes of all tensors that autograd keeps of a forward, each storage once, without the model's weights."""
    own = {weight.untyped_storage().data_ptr() for weight in [*model.parameters(), *model.buffers(), *weights]}
    storages: dict[int, int] = {}
    alive = []

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own and tensor.is_floating_point():
            storages[storage.data_ptr()] = storage.nbytes()
            alive.append(storage)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(ids, use_cache=False).logits
        assert logits.requires_grad
    return sum(storages.values())


def fit(model: Any, plan: floptally.Plan | None = None, **how: Any) -> floptally.Fit:
    cost = floptally.cost(model.config.to_dict())
    bits = {"weight_bits": 32, "gradient_bits": 32, "activation_bits": 32}
    work = cost.flops(lengths=[LENGTH] * BATCH, plan=plan or floptally.Plan())
    return work.fit(**bits, **how)


# What runs besides, and is not counted: of each norm 1 / RMS of a token; of rotary embeddings cos and sin of a position,
# once for all layers. Each is named in docs/plans.md.
NORMS = BATCH * LENGTH * 4 * (2 * LAYERS + 1)


def rotary() -> int:
    return 2 * LENGTH * (HIDDEN // HEADS) * 4


def test_activation_bytes_equal_the_bytes_of_tensors_that_autograd_keeps() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    found = kept(model, ids)
    counted = fit(model, fused_elementwise=False).stages[0]
    assert counted.held["activations"] == found - NORMS - rotary()


def test_eager_attention_stores_its_probabilities_for_the_backward() -> None:
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    model = tiny(attention="eager")
    counted = fit(model, fused_elementwise=False, flash_attention=False).stages[0]
    assert counted.held["activations"] == kept(model, ids) - NORMS - rotary()


def test_model_state_bytes_equal_the_bytes_of_parameters_and_gradients_and_optimizer_states() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    result = {
        "adamw_without_master": torch.optim.AdamW(model.parameters()),
        "sgd_momentum": torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        "sgd": torch.optim.SGD(model.parameters(), lr=0.1),
    }
    for name, optimizer in result.items():
        optimizer.zero_grad()
        model(ids, labels=ids, use_cache=False).loss.backward()
        optimizer.step()
        held = fit(model, optimizer=name).stages[0].held
        assert held["weights"] == sum(weight.numel() * 4 for weight in model.parameters())
        assert held["gradients"] == sum(weight.grad.numel() * 4 for weight in model.parameters())
        tensors = [value for state in optimizer.state.values() for value in state.values()]
        found = sum(value.numel() * 4 for value in tensors if torch.is_tensor(value) and value.dim() > 0)
        assert held["optimizer"] == found


def test_memory_of_logits_includes_all_tokens() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    logits = model(ids, use_cache=False).logits
    assert fit(model, logits_bits=32).stages[0].held["logits"] == logits.numel() * logits.element_size()


def test_bytes_of_the_kv_cache_equal_a_transformers_dynamic_cache() -> None:
    model = tiny(kv_heads=2)
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    cache = model(ids, use_cache=True).past_key_values
    found = sum(
        tensor.numel() * tensor.element_size() for layer in cache.layers for tensor in (layer.keys, layer.values)
    )
    plan = floptally.Plan(phase="forward")
    held = fit(model, plan, cached_tokens=BATCH * LENGTH, cache_bits=32).stages[0].held
    assert held["cache"] == found
    assert held["activations"] == held["gradients"] == held["optimizer"] == 0


def test_a_layer_with_frozen_weights_stores_no_input_for_its_backward() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    base = tiny()
    config = base.config.to_dict()
    model = peft.get_peft_model(base, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0))
    plan = floptally.Plan(
        weights=[
            floptally.WeightSetting("*", "frozen"),
            floptally.WeightSetting("*/q_proj", "lora", rank=8),
            floptally.WeightSetting("*/v_proj", "lora", rank=8),
        ]
    )
    result = floptally.cost(config).flops(lengths=[LENGTH] * BATCH, plan=plan).fit(weight_bits=32, gradient_bits=32)
    stage = result.stages[0]
    assert stage.trainable == sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    assert stage.parameters == sum(weight.numel() for weight in model.parameters())


EXPERTS = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "vocab_size": 97, "hidden_size": 64,
    "num_hidden_layers": 7, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "tie_word_embeddings": False,
}  # fmt: skip


def test_the_method_fit_accepts_layer_splits_and_recipe_settings_and_separate_layouts_of_attention_and_experts() -> None:
    work = floptally.cost(EXPERTS).flops(lengths=[64])
    by_text = work.fit(layout="attn:d1p1t2c4|ffn:d1p1t1e8", sequence_parallel=True, gpus_per_node=4)
    by_name = work.fit(tp=2, cp=4, ep=8, etp=1, sequence_parallel=True, gpus_per_node=4)
    assert by_text.to_dict() == by_name.to_dict()
    stage = by_text.stages[0]
    assert set(stage.between_nodes) == set(stage.groups) and stage.between_nodes["tp"] == 0 < stage.between_nodes["ep"]
    assert all(row.between_nodes is not None and row.between_nodes <= row.bytes for row in stage.sent)
    assert by_text.split == ""
    assert work.fit(pp=3, microbatches=3).split == "Megatron's split where embedding and loss count as a layer each: 2 x 1, 3 x 1, 2 x 1"
    assert work.fit(pp=3, microbatches=3, layer_split="torchtitan").split.startswith("torchtitan's split")
    assert work.fit(pp=3, microbatches=3, pipeline_model_parallel_layout="Et*3|t*3|tL").split.startswith("the split of the layout text")
    usual = work.fit().stages[0]
    for how in (
        {"matrix_inputs": "mxfp8"}, {"recompute_modules": ["layernorm", "moe_act"]}, {"offload_modules": ["core_attn"]},
        {"offload_layers": 5}, {"weights_inside_experts": True},
    ):  # fmt: skip
        assert work.fit(**how).stages[0].held["activations"] < usual.held["activations"]  # type: ignore[arg-type,unused-ignore]
    assert work.fit(optimizer_offload=0.5).stages[0].host == usual.held["optimizer"] // 2
    assert work.fit(matrix_weights="fp8").stages[0].held["weights"] == usual.held["weights"]
    assert work.fit(optimizer="adamw_16bit_moments").stages[0].held["optimizer"] * 3 == usual.held["optimizer"] * 2
    assert work.fit(dp=8, zero="weights").stages[0].held["buffers"] > 0 == usual.held["buffers"]
    assert "does not fit" in str(work.fit(memory_gib=1, reserve_gib=1))
    with pytest.raises(floptally.Error, match="^memory_gib: is missing: pass memory_gib=, which reserve_gib needs"):
        work.fit(reserve_gib=1)
    with pytest.raises(floptally.Error, match="^layer_split: must be one of automatic, even, torchtitan"):
        work.fit(pp=3, layer_split="odd")  # type: ignore[arg-type]
    with pytest.raises(floptally.Error, match="^layers: the 7 remaining layers must be a multiple of the 3 pipeline stages"):
        work.fit(pp=3, layer_split="even")


def test_waterfall_accepts_a_separate_parallel_layout_for_experts() -> None:
    work = floptally.cost(EXPERTS).flops(lengths=[64] * 8)
    whole = work.waterfall(seconds=1, gpus=8, peak_tflops=10, tp=2, sequence_parallel=True, network_gbps=0.01)
    by_name = whole.what_if(ep=8, etp=1, kernel_rate=1)
    by_text = whole.what_if(layout="attn:d4p1t2c1|ffn:d1p1t1e8", kernel_rate=1)
    assert by_name.lines == by_text.lines != whole.what_if(kernel_rate=1).lines
    for how, text in (
        ({"ep": 3}, "ep: ep x etp must divide dp x cp x tp = 8, got 3 x 1"),
        ({"layout": "attn:d2p1t1c4|ffn:d1p1t1e8"}, "cp: must be a ContextShards of 4 ranks, because the layout says so, got 1"),
        ({"layout": "attn:d4p1t2c1|ffn:d1p1t1e8", "tp": 4}, "tp: is 4, but the layout says 2: leave one of them out"),
    ):
        with pytest.raises(floptally.Error) as raised:
            work.waterfall(seconds=1, gpus=8, peak_tflops=10, **how)  # type: ignore[arg-type,unused-ignore]
        assert str(raised.value) == text


def test_a_fit_report_equals_the_output_of_the_command_line_program_and_invalid_fit_arguments_are_errors(tmp_path: Any) -> None:
    model = tiny(kv_heads=2)
    cost = floptally.cost(model.config.to_dict())
    result = cost.flops(lengths=[64, 64]).fit(
        dp=2, tp=2, pp=3, zero="optimizer", sequence_parallel=True, microbatches=4, network_gbps={"tp": 400, "dp": 50}, memory_gib=1
    )
    assert [stage.unsaid for stage in result.stages] == [[], [], []]
    first, _, last = result.stages
    assert first.total > last.total or first.held["activations"] > last.held["activations"]
    assert set(first.groups) == {"tp", "dp", "pp"} and set(first.seconds) == {"tp", "dp"}
    assert first.seconds["tp"] == pytest.approx(first.groups["tp"] / 400e9)
    assert first.groups["tp"] == sum(row.bytes for row in first.sent if row.group == "tp")
    assert "fits: " in str(result) and result.most == max(stage.total for stage in result.stages)
    assert json.loads(result.to_json()) == result.to_dict()
    for how, text in (
        ({"tp": 3}, "num_attention_heads"),
        ({"zero": "2"}, 'zero: must be one of none, optimizer, gradients, weights, got "2"'),
        ({"optimizer": "adam"}, 'optimizer: must be one of adamw, adamw_without_master'),
        ({"context_exchange": "p2p"}, 'context_exchange: must be one of ring, all_gather, ulysses, got "p2p"'),
        ({"network_gbps": {"xp": 1}}, "network_gbps: must be one of tp, cp, dp, pp, ep, expert_dp"),
        ({"network_gbps": -1}, "network_gbps: must be a finite number above 0"),
        ({"memory_gib": 0}, "memory_gib: must be a finite number above 0"),
    ):
        with pytest.raises(floptally.Error) as raised:
            cost.flops(lengths=[64]).fit(**how)
        assert text in str(raised.value)


def peak_bits(elements: int, run: Any) -> float:
    """The most bytes of tensors that live at once while `run` runs, in bits of each of so many elements."""
    import weakref

    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter

    class Live(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.sizes: dict[int, int] = {}
            self.most = 0

        def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = operator(*args, **(kwargs or {}))
            for tensor in tree_iter(result):
                storage = tensor.untyped_storage() if isinstance(tensor, torch.Tensor) else None
                if storage is not None and storage._cdata not in self.sizes:
                    self.sizes[storage._cdata] = storage.nbytes()
                    weakref.finalize(storage, self.sizes.pop, storage._cdata, None)
            self.most = max(self.most, sum(self.sizes.values()))
            return result

    with Live() as live:
        run()
    return 8 * live.most / elements


@pytest.mark.parametrize(("drops", "bits"), [(False, 112), (True, 96)], ids=["held", "dropped"])
def test_cross_entropy_in_fp32_needs_the_documented_number_of_bits_per_logit(drops: bool, bits: int) -> None:
    tokens, vocabulary = 256, 4096
    states = torch.randn(tokens, 8, dtype=torch.bfloat16)
    head = torch.randn(vocabulary, 8, dtype=torch.bfloat16, requires_grad=True)
    labels = torch.randint(0, vocabulary, (tokens,))

    def step() -> None:
        logits = states @ head.t()
        loss = torch.nn.functional.cross_entropy(logits.float(), labels)
        if drops:
            del logits
        loss.backward()

    assert bits <= peak_bits(tokens * vocabulary, step) < bits + 1  # and some small tensors
    assert f"{bits}" in (SOURCE / "docs" / "plans.md").read_text()


@pytest.fixture
def alone(tmp_path: Any) -> Any:
    dist = torch.distributed
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield dist
    dist.destroy_process_group()


@pytest.mark.parametrize("views", [False, True])
def test_ddp_copies_all_gradients_into_buckets_unless_the_gradients_are_views_of_the_buckets(alone: Any, views: bool) -> None:
    model = tiny()
    gradients = sum(weight.numel() * 4 for weight in model.parameters())
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as profiled:
        wrapped = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=views)
        ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
        wrapped(ids, labels=ids, use_cache=False).loss.backward()
    kept = sum(event.nbytes() for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]")
    stage = fit(model, bucket_elements=0 if views else 2**50).stages[0]
    assert stage.held["gradients"] == gradients
    assert stage.held["gradients"] + stage.held["buffers"] == (1 if views else 2) * gradients
    storages = {weight.grad.untyped_storage().data_ptr(): weight.grad.untyped_storage() for weight in model.parameters()}
    of_gradients = sum(one.nbytes() for one in storages.values())
    of_buckets = sum(one.buffer().untyped_storage().nbytes() for one in wrapped.reducer._get_zeros_like_grad_buckets())
    assert (of_gradients, of_buckets) == (gradients, gradients)
    if views:  # the gradients lie in the buckets: the profiler also counts the tensors that they replace
        assert len(storages) < sum(1 for _ in model.parameters())
    else:
        assert len(storages) == sum(1 for _ in model.parameters())
        assert of_gradients + of_buckets == stage.held["gradients"] + stage.held["buffers"]
        # The profiler misses what gloo's own threads release.
        assert kept / (stage.held["gradients"] + stage.held["buffers"]) > 0.95


def test_model_states_under_fsdp2_are_a_shard_of_each_tensor() -> None:
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    try:
        model = tiny()
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
        model(ids, labels=ids, use_cache=False).loss.backward()
        optimizer.step()
        held = fit(model, dp=4, zero="weights", optimizer="adamw_without_master").stages[0].held

        def local(tensors: Any) -> int:
            return sum(4 * tensor.to_local().numel() for tensor in tensors)

        assert held["weights"] == local(model.parameters())
        assert held["gradients"] == local(weight.grad for weight in model.parameters())
        states = [value for state in optimizer.state.values() for value in state.values() if value.dim() > 0]
        assert held["optimizer"] == local(states)
    finally:
        torch.distributed.destroy_process_group()


@pytest.fixture
def ranks_of_tensors() -> Any:
    """A mesh of eight tensor-parallel ranks. This process is the first; the others are not there."""
    store = pytest.importorskip("torch.testing._internal.distributed.fake_pg").FakeStore()
    torch.distributed.init_process_group("fake", store=store, rank=0, world_size=8)
    yield torch.distributed.device_mesh.init_device_mesh("cpu", (8,))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(("drops", "bits"), [(False, 144), (True, 128)], ids=["held", "dropped"])
def test_cross_entropy_over_a_sharded_vocabulary_needs_the_documented_number_of_bits_per_logit(
    ranks_of_tensors: Any, drops: bool, bits: int
) -> None:
    tokens, columns = 256, 512
    states = torch.randn(tokens, 8, dtype=torch.bfloat16)
    head = torch.randn(columns, 8, dtype=torch.bfloat16, requires_grad=True)
    labels = torch.randint(0, columns, (tokens,))
    sharded = pytest.importorskip("torch.distributed.tensor.parallel")

    def step() -> None:
        local = states @ head.t()
        logits = torch.distributed.tensor.DTensor.from_local(local, ranks_of_tensors, [torch.distributed.tensor.Shard(1)])
        del local
        with sharded.loss_parallel():
            loss = torch.nn.functional.cross_entropy(logits.float(), labels)
            if drops:
                del logits
            loss.backward()

    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as profiled:
        step()
    events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
    live = list(itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))
    assert bits <= 8 * max(live) / (tokens * columns) < bits + 1  # and some small tensors
    assert f"{bits}" in (SOURCE / "docs" / "plans.md").read_text()


def test_matrices_of_dtensor_keep_the_tokens_that_they_gather(ranks_of_tensors: Any) -> None:
    parallel = pytest.importorskip("torch.distributed.tensor.parallel")
    gathers = parallel.ColwiseParallel(input_layouts=torch.distributed.tensor.Shard(1))
    up = torch.nn.Linear(HIDDEN, INNER, bias=False)
    parallel.parallelize_module(up, ranks_of_tensors, gathers)
    kept: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        up(torch.randn(BATCH, LENGTH // 8, HIDDEN, requires_grad=True))
    assert [tensor.numel() for tensor in kept].count(BATCH * LENGTH * HIDDEN) == 1  # the tokens of all eight ranks

    model = tiny(heads=8, kv_heads=8)
    own, gathered = (fit(model, tp=8, sequence_parallel=True, keep_gathered_inputs=keeps).stages[0].held["activations"]
                     for keeps in (False, True))  # fmt: skip
    inputs = 2 * LAYERS + 1  # of attention and of the MLP in each layer, and of the head
    assert gathered - own == inputs * BATCH * LENGTH * HIDDEN * 4 * 7 // 8
