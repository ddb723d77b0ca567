# SPDX-License-Identifier: Apache-2.0
"""floptally.cost of what people have: configurations with infinities, wrapped models, models with adapters of PEFT."""

from __future__ import annotations

import copy
import pickle
import socket
import warnings

import pytest

import floptally
from conftest import LLAMA_3_8B
from floptally import Plan, WeightSetting

LLAMA = {
    "vocab_size": 101,
    "hidden_size": 24,
    "intermediate_size": 56,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
LORA = Plan(weights=[WeightSetting("*", "frozen"), WeightSetting("attention.qkv/q_proj", "lora", rank=4)])


# A plan that a cost has.


def test_a_cost_is_counted_by_the_plan_that_is_stored_in_the_cost(llama):
    planned = llama.planned(LORA)
    assert planned.plan == LORA and llama.plan == Plan()
    of = {"lengths": [512, 9]}
    lora = llama.flops(**of, plan=LORA).total
    assert lora != llama.flops(**of).total
    assert planned.flops(**of).total == lora == floptally.flops(planned, **of).total
    assert planned.flops(**of, plan=Plan()).total == lora  # a plan that says nothing adds nothing
    assert planned.planned(Plan()).flops(**of).total == llama.flops(**of).total
    assert sum(planned.sample_flops([512, 9])) == lora
    meter = floptally.Meter(planned, gpus=1, peak_tflops=1)
    with meter.step(1.0):
        meter.add(**of)
    assert meter.last_step.useful == lora
    tally = floptally.Tally(planned)
    tally.add_lengths([512, 9])
    assert planned.flops(tally=tally).total == lora


def test_a_plan_stored_in_a_cost_is_kept_by_pickles_and_sums_and_products_of_the_cost(llama):
    planned = llama.planned(LORA)
    assert planned != llama and planned == llama.planned(LORA)
    assert pickle.loads(pickle.dumps(planned)) == planned
    assert (2 * planned).plan == LORA == planned.keep(floptally.Mask.measured("loss_tokens")).plan
    assert (planned + planned).plan == LORA
    with pytest.raises(floptally.Error, match="^plan: must be the same in both costs"):
        planned + llama


def test_a_batch_counts_one_forward_pass_if_no_number_of_passes_is_given():
    row = floptally.Entry("table", floptally.Mask.measured("passes"), "linear", 100)
    cost = floptally.Cost.from_entries([row, ("head", "tokens", "linear", 1)])
    assert cost.flops(lengths=[5, 6]).useful.forward == 100 + 11
    assert cost.flops(lengths=[5, 6], measured={"passes": 3}).useful.forward == 300 + 11
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1)
    with meter.step(1.0):
        meter.add(lengths=[5])
        meter.add(lengths=[6])
    assert meter.last_step.useful == 3 * (200 + 11)


# Configurations.


def test_a_config_that_is_not_json_is_an_error_that_names_the_field_config():
    deep = dict(LLAMA_3_8B)
    deep["itself"] = deep
    for fields, problem in (
        (deep, "nested too deep"),
        ({**LLAMA_3_8B, "name": "\ud800"}, "surrogates not allowed"),
        ({**LLAMA_3_8B, (1, 2): 3}, "keys must be str"),
    ):
        with pytest.raises(floptally.Error, match=f"^config: cannot be written as JSON: .*{problem}"):
            floptally.cost(fields)
    assert floptally.cost({**LLAMA_3_8B, "dtype": object()}).parameters == floptally.cost(LLAMA_3_8B).parameters


def test_an_infinite_number_in_a_config_is_an_error_only_in_a_key_that_the_spec_reads():
    odd = {**LLAMA_3_8B, "time_step_limit": [0.0, float("inf")]}
    assert floptally.cost(odd) == floptally.cost(LLAMA_3_8B)
    with pytest.raises(floptally.Error, match="^hidden_size: .*Infinity"):
        floptally.cost({**LLAMA_3_8B, "hidden_size": float("inf")})


@pytest.mark.parametrize(
    "kind", ["Mamba2Config", "BambaConfig", "FalconH1Config", "GraniteMoeHybridConfig", "NemotronHConfig"]
)
def test_transformers_configs_with_infinities_are_read(kind):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = getattr(transformers, kind)()
    assert floptally.cost(config).parameters > 10**9


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B", "gpt2"])
def test_a_hub_name_passed_as_config_is_an_error_that_suggests_autoconfig(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(floptally.Error, match=f"^config: there is no file .*AutoConfig.from_pretrained\\(\"{name}\"\\)"):
        floptally.cost(name)
    with pytest.raises(floptally.Error, match="^config: cannot read"):
        floptally.flops("some/config.json", lengths=[1])


# Models.


def llama_of(kind, **changes):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    kind = kind or transformers.LlamaForCausalLM
    return kind._from_config(transformers.LlamaConfig(**{**LLAMA, **changes}), attn_implementation="sdpa")


def by_pytorch(model, inputs):
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as forward:
        loss = model(**inputs).logits.sum()
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    return forward.get_total_flops(), backward.get_total_flops()


def by_cost(cost, **batch):
    view = cost.flops(convention="torch_flop_counter", **batch).executed
    return view.forward, view.backward


def test_the_function_cost_finds_a_model_inside_wrapper_classes():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = llama_of(None)
    plain = floptally.cost(model)
    assert by_cost(plain, lengths=[21] * 3) == by_pytorch(model, {"input_ids": torch.ones(3, 21, dtype=torch.long)})

    class Mine(type(model)):
        pass

    assert floptally.cost(llama_of(Mine)) == plain
    assert floptally.cost(torch.compile(model)) == plain
    assert floptally.cost(torch.nn.DataParallel(model)) == plain
    assert floptally.cost(torch.compile(torch.nn.DataParallel(model))).model_type == "llama"


@pytest.fixture
def one_rank():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    yield torch
    torch.distributed.destroy_process_group()


def test_a_data_parallel_wrapper_counts_as_the_wrapped_model(one_rank):
    torch = one_rank
    plain = floptally.cost(llama_of(None))
    assert floptally.cost(torch.nn.parallel.DistributedDataParallel(llama_of(None))) == plain
    from torch.distributed.fsdp import fully_shard

    sharded = llama_of(None)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    for layer in sharded.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    assert type(sharded).__name__ != "LlamaForCausalLM"
    assert floptally.cost(sharded) == plain
    tokens = lambda batch, length: {"input_ids": torch.ones(batch, length, dtype=torch.long)}
    counted = floptally.from_torch(sharded, tokens)
    assert counted.parameters == plain.parameters
    assert counted.flops(lengths=[21] * 3).total == plain.flops(lengths=[21] * 3).total


def test_a_torch_module_without_config_is_an_error_that_suggests_the_function_from_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(floptally.Error, match="^config: Linear is a torch.nn.Module without .* floptally.from_torch"):
        floptally.cost(torch.nn.Linear(3, 4))
    with pytest.raises(floptally.Error, match="floptally.from_torch"):
        floptally.flops(torch.nn.Linear(3, 4), lengths=[1])


def test_frozen_parameters_that_no_plan_mentions_give_a_warning():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    model = llama_of(None)
    model.model.embed_tokens.requires_grad_(False)
    assert floptally.cost(model).plan == Plan(weights=[WeightSetting("embedding", "frozen")])
    model.model.embed_tokens = torch_of_halves(model.model.embed_tokens)
    with pytest.warns(UserWarning, match=r"^\d+ parameters of LlamaForCausalLM are frozen"):
        floptally.cost(model)


def torch_of_halves(table):
    """The same table in two parameters, of which one trains: what no plan of whole weights says."""
    import torch

    class Halves(torch.nn.Embedding):
        def __init__(self) -> None:
            super().__init__(*table.weight.shape)
            rows = len(table.weight) // 2
            self.weight = None
            self.first = torch.nn.Parameter(table.weight[:rows].detach().clone(), requires_grad=False)
            self.second = torch.nn.Parameter(table.weight[rows:].detach().clone())

    return Halves()


# PEFT.

#: What of a Llama of three layers trains: (keyword arguments of LoraConfig, settings beside "*" frozen).
ADAPTERS = {
    "q and v": ({"target_modules": ["q_proj", "v_proj"]}, 2),
    "all linear": ({"target_modules": "all-linear"}, 7),
    "some layers": ({"target_modules": ["q_proj", "v_proj"], "layers_to_transform": [1, 2]}, 4),
    "and the head": ({"target_modules": ["down_proj", "k_proj"], "modules_to_save": ["lm_head"]}, 3),
    "and the table": ({"target_modules": ["down_proj"], "modules_to_save": ["embed_tokens"]}, 2),
    "two ranks": ({"target_modules": ["down_proj"], "rank_pattern": {"layers.1.mlp.down_proj": 7}}, 3),
}


def adapted(**lora):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    return peft.get_peft_model(llama_of(None), peft.LoraConfig(**{"r": 4, **lora}))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ADAPTERS)
def test_the_plan_of_a_peft_model_is_read_from_its_adapters(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    lora, settings = ADAPTERS[name]
    model = adapted(**lora)
    cost = floptally.cost(model)
    assert len(cost.plan.weights) == 1 + settings
    assert by_cost(cost, lengths=[21] * 3) == by_pytorch(model, {"input_ids": torch.ones(3, 21, dtype=torch.long)})
    assert floptally.cost(torch.compile(model)) == cost
    tokens = lambda batch, length: {"input_ids": torch.ones(batch, length, dtype=torch.long)}
    counted = floptally.from_torch(model, tokens)
    assert counted.flops(lengths=[5, 33], convention="torch_flop_counter_eager").useful.forward == (
        cost.flops(lengths=[5, 33], convention="torch_flop_counter_eager").useful.forward
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_passing_only_the_config_of_a_peft_model_warns_that_full_training_is_counted():
    model = adapted(target_modules=["q_proj"])
    with pytest.warns(UserWarning, match="^this configuration belongs to a model with PEFT adapters"):
        full = floptally.cost(model.config)
    assert full.plan == Plan()
    alone = copy.deepcopy(model.config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", floptally.AssumptionWarning)  # of the head, which a bare config does not name
        floptally.cost(alone)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda peft: peft.LoraConfig(r=4, target_modules=["down_proj"], use_dora=True), "mlp.down_proj: .* DoRA"),
        (lambda peft: peft.IA3Config(target_modules=["k_proj"], feedforward_modules=[]), "ia3_l.default: trains"),
        (lambda peft: peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"), "adds tokens"),
    ],
)
def test_peft_adapters_without_a_formula_are_an_error_that_suggests_the_function_from_torch(make, text):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    model = peft.get_peft_model(llama_of(None), make(peft))
    with pytest.raises(floptally.Error, match=f"{text}.*floptally.from_torch"):
        floptally.cost(model)


SIZES = {"vocab_size": 61, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
GPT = {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4}
GROUPED = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0}
#: Types whose class multiplies one matrix where others have two or three: (type, configuration, modules with adapters).
FUSED = [
    ("phi3", GROUPED, ["qkv_proj", "gate_up_proj"]),
    ("phi3", GROUPED, ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    ("gpt_neox", {**SIZES, "use_parallel_residual": False}, ["query_key_value"]),
    ("gpt_neox_japanese", {**SIZES, "intermediate_multiple_size": 2}, ["query_key_value", "dense"]),
    ("persimmon", SIZES, ["query_key_value", "dense"]),
    ("bloom", {"vocab_size": 61, "hidden_size": 32, "n_layer": 2, "n_head": 4}, ["query_key_value", "dense_h_to_4h"]),
    ("falcon", {**SIZES, "parallel_attn": False}, ["query_key_value"]),
    ("falcon", {**SIZES, "parallel_attn": False, "multi_query": False}, ["query_key_value", "dense_4h_to_h"]),
    ("gpt2", GPT, ["c_attn"]),
    ("gpt2", GPT, ["c_attn", "c_fc"]),
    ("gpt_bigcode", GPT, ["c_attn"]),
    ("gpt_bigcode", {**GPT, "multi_query": False}, ["c_attn", "c_fc"]),
    ("openai-gpt", GPT, ["c_attn"]),
    ("mpt", {"vocab_size": 61, "d_model": 32, "n_layers": 2, "n_heads": 4}, ["Wqkv", "up_proj"]),
    ("modernbert-decoder", {**SIZES, "pad_token_id": 0}, ["q_proj", "Wi", "Wo"]),
    ("glm", GROUPED, ["gate_up_proj", "q_proj"]),
    ("glm4", GROUPED, ["gate_up_proj"]),
    ("glm4", GROUPED, ["q_proj", "k_proj", "gate_up_proj", "down_proj"]),
]
#: Types whose feed-forward reads what entered the layer, so that an adapter of the first layer's attention is not below it.
SIDE_BY_SIDE = [
    ("gpt_neox", SIZES, ["query_key_value"]),
    ("falcon", SIZES, ["query_key_value"]),
    ("falcon", {**SIZES, "new_decoder_architecture": True, "num_kv_heads": 2}, ["query_key_value", "dense"]),
    ("gptj", {**GPT, "rotary_dim": 4}, ["q_proj", "v_proj"]),
    ("gptj", {**GPT, "rotary_dim": 4}, ["fc_in"]),
    ("codegen", {**GPT, "rotary_dim": 4}, ["qkv_proj"]),
    ("phi", SIZES, ["v_proj"]),
    ("cohere", {**SIZES, "pad_token_id": 0}, ["q_proj", "up_proj"]),
    ("cohere2", {**SIZES, "pad_token_id": 0}, ["o_proj"]),
    ("stablelm", {**SIZES, "num_key_value_heads": 4, "use_parallel_residual": True}, ["k_proj"]),
    ("stablelm", {**SIZES, "num_key_value_heads": 4}, ["k_proj"]),
]
ADAPTED = FUSED + SIDE_BY_SIDE


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:fan_in_fan_out")
@pytest.mark.parametrize(("kind", "config", "modules"), ADAPTED, ids=[f"{kind}: {' '.join(of)}" for kind, _, of in ADAPTED])
def test_peft_adapters_other_than_lora_are_counted_as_they_run(kind, config, modules):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    peft = pytest.importorskip("peft", reason="peft is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    whole = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(kind, **config), attn_implementation="eager"
    )
    model = peft.get_peft_model(whole, peft.LoraConfig(r=4, target_modules=modules))
    tokens = {"input_ids": torch.ones(3, 21, dtype=torch.long)}
    cost = floptally.cost(model)
    adapters = [one for one in cost.plan.weights if one.rank]
    assert {one.rank for one in adapters} == {4} and len(adapters) >= len(modules)
    counted = cost.flops(lengths=[21] * 3, convention="torch_flop_counter_eager").useful
    assert (counted.forward, counted.backward) == by_pytorch(model, tokens)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_adapter_on_an_unknown_matrix_is_an_error_that_suggests_the_function_from_torch():
    peft = pytest.importorskip("peft", reason="peft is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model = transformers.CTRLLMHeadModel(transformers.CTRLConfig(**GPT, dff=48))
    adapters = peft.get_peft_model(model, peft.LoraConfig(r=4, target_modules=["Wq"]))
    with pytest.raises(floptally.Error, match=r"^transformer\.h\.0\.multi_head_attention\.Wq: has an adapter, .*from_torch"):
        floptally.cost(adapters)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_peft_example_on_the_docs_page_python_runs_without_errors(capsys):
    pytest.importorskip("peft", reason="peft is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    from test_readme import blocks

    lines = [block for block in blocks("docs/python.md") if "peft.LoraConfig" in block]
    assert len(lines) == 1
    exec(compile(lines[0], "docs/python.md", "exec"), {})
    assert capsys.readouterr().out == "3\n"
