# SPDX-License-Identifier: Apache-2.0
"""Bytes against the tensors of small real models: numel * element_size of what each product reads and writes."""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
BITS = 8 * torch.float32.itemsize

COMPONENTS = {
    "q_proj": "attention.qkv",
    "k_proj": "attention.qkv",
    "v_proj": "attention.qkv",
    "q_a_proj": "attention.qkv",
    "q_b_proj": "attention.qkv",
    "kv_a_proj_with_mqa": "attention.qkv",
    "kv_b_proj": "attention.qkv",
    "o_proj": "attention.output",
    "gate_proj": "mlp",
    "up_proj": "mlp",
    "down_proj": "mlp",
    "lm_head": "lm_head",
    "embed_tokens": "embedding",
}


def size(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def pointer(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()


class Traffic(TorchDispatchMode):
    """Operands and results of the products that really run, forward and backward, by component and kind."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.moved: dict[str, dict[str, int]] = collections.defaultdict(lambda: collections.defaultdict(int))
        self.weights = {}
        self.inputs: dict[int, str] = {}
        self.kept: list[Any] = []
        for name, parameter in model.named_parameters():
            component = COMPONENTS.get(name.split(".")[-2], "norm")
            self.weights[pointer(parameter)] = component

            def count(grown: Any, component: str = component) -> None:
                self.add(component, "gradients", grown.grad)

            parameter.register_post_accumulate_grad_hook(count)

    def add(self, component: str, kind: str, tensor: Any) -> None:
        self.moved[component][kind] += size(tensor)

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = op(*args, **(kwargs or {}))
        if op is aten.mm.default:
            self.product(args, out)
        elif op is aten.embedding.default:  # a row of the table for each token
            self.add("embedding", "weights", out)
            self.add("embedding", "activations", out)
        elif op is aten.embedding_dense_backward.default:
            self.add("embedding", "activations", args[0])
        elif op is aten.mul.Tensor:
            for one in args:
                if isinstance(one, torch.Tensor) and self.weights.get(pointer(one)) == "norm":
                    self.add("norm", "weights", one)
        return out

    def product(self, operands: Any, out: Any) -> None:
        weight = [one for one in operands if pointer(one) in self.weights]
        if weight:
            component = self.weights[pointer(weight[0])]
            self.add(component, "weights", weight[0])
            for one in operands:
                if one is not weight[0]:
                    self.add(component, "activations", one)
                    self.inputs.setdefault(pointer(one), component)
                    self.kept.append(one)
            self.add(component, "activations", out)
        else:  # dW of the matrix whose input is an operand; its result is counted where it becomes a gradient
            component = next(self.inputs[pointer(one)] for one in operands if pointer(one) in self.inputs)
            for one in operands:
                self.add(component, "activations", one)


class Attention(TorchFunctionMode):
    """Tensors of the fused attention: q, k, v and o, and in its backward those again, do, dq, dk and dv."""

    def __init__(self, traffic: Traffic) -> None:
        super().__init__()
        self.traffic = traffic

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if function is torch.nn.functional.scaled_dot_product_attention:
            read = args[:3]
            for one in (*read, out):
                self.count(one)
            if out.requires_grad:
                out.register_hook(lambda grad: [self.count(one) for one in (*read, out, grad)] and None)
                for one in read:
                    one.register_hook(lambda grad: self.count(grad))
        return out

    def count(self, tensor: Any) -> None:
        self.traffic.add("attention.core", "activations", tensor)


def counted(program: str, config: Any, folder: pathlib.Path, *options: str) -> Any:
    path = folder / "config.json"
    path.write_text(json.dumps({**config.to_dict(), "architectures": [architecture(config)]}))
    bits = [f"--{kind}-bits={BITS}" for kind in ("weight", "gradient", "activation", "cache")]
    command = [program, "bytes", "--config", str(path), "--format", "json", *bits, *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def architecture(config: Any) -> str:
    return transformers.AutoModelForCausalLM._model_mapping[type(config)].__name__


def built(config: Any) -> Any:
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")


SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 120,
    "tie_word_embeddings": False,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


MLA = {
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 12,
    "num_key_value_heads": 4,
    "first_k_dense_replace": 3,
}


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("rows, columns", [(1, 33), (2, 16)])
@pytest.mark.parametrize(
    "config",
    [
        transformers.LlamaConfig(**SIZES, num_key_value_heads=4),
        transformers.LlamaConfig(**SIZES, num_key_value_heads=2, head_dim=24),
        transformers.Qwen3Config(**SIZES, num_key_value_heads=1, head_dim=16),
        transformers.DeepseekV3Config(**SIZES, **MLA),
    ],
    ids=["mha", "gqa", "mqa", "mla"],
)
def test_counted_bytes_of_a_step_equal_the_bytes_of_the_tensors_that_pytorch_reads_and_writes(
    program: str, tmp_path: pathlib.Path, config: Any, rows: int, columns: int, trains: bool
) -> None:
    model = built(config)
    traffic = Traffic(model)
    ids = torch.randint(3, 120, (rows, columns))
    with torch.set_grad_enabled(trains), traffic, Attention(traffic):
        logits = model(ids, use_cache=False).logits
        if trains:
            logits.sum().backward()
    lengths = "--lengths=" + ",".join([str(columns)] * rows)
    result = counted(program, config, tmp_path, lengths, "--phase", "train" if trains else "forward")
    assert result["unsaid"] == []
    seen = {
        one["name"]: {kind: int(count) for kind, count in one["bytes"].items() if kind != "total" and count != "0"}
        for one in result["components"]
    }
    assert seen == {component: dict(kinds) for component, kinds in traffic.moved.items()}


CACHED = {
    "mha": transformers.LlamaConfig(**SIZES, num_key_value_heads=4),
    "gqa": transformers.LlamaConfig(**SIZES, num_key_value_heads=2, head_dim=24),
    "fused": transformers.Phi3Config(**SIZES, num_key_value_heads=2),
    "mqa": transformers.GPTBigCodeConfig(n_embd=64, n_layer=2, n_head=4, vocab_size=120),
    "gpt2": transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=120),
    "neox": transformers.GPTNeoXConfig(**SIZES),
    "window": transformers.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=16),
    "windows": transformers.Gemma3TextConfig(**SIZES, num_key_value_heads=2, head_dim=16, sliding_window=8),
    "mla": transformers.DeepseekV3Config(**SIZES, **MLA),
}


@pytest.mark.parametrize("past", [5, 40])
@pytest.mark.parametrize("name", CACHED)
def test_counted_bytes_of_a_decode_step_include_reading_the_existing_kv_cache(
    program: str, tmp_path: pathlib.Path, name: str, past: int
) -> None:
    config = CACHED[name]
    model = built(config).eval()
    with torch.no_grad():
        cache = model(torch.randint(3, 120, (2, past)), use_cache=True).past_key_values
    assert isinstance(cache, transformers.DynamicCache)
    if name == "mla" and cache.layers[0].keys.shape[1] == config.num_attention_heads:
        pytest.skip("this transformers caches the heads' keys and values, not their latent")
    held = sum(size(layer.keys) + size(layer.values) for layer in cache.layers)
    tokens = [f"--new-tokens=1@{past}"] * 2
    result = counted(program, config, tmp_path, *tokens, "--phase", "forward")
    assert int(result["total"]["bytes"]["cache"]) == held
