# SPDX-License-Identifier: Apache-2.0
"""Writes zoo.json: tiny real models, run forward and backward under PyTorch's FlopCounterMode.

    pip install -r requirements.txt
    python generate_zoo.py            # writes zoo.json beside this file
    python generate_zoo.py --check    # runs everything again and compares with the zoo.json that is there

Without PyTorch and transformers, or with other versions of them, it says so and exits with status 77.

Every case starts from a config as a user would write it in config.json, goes through AutoConfig and the model's own
class, and runs in train mode. Beside that, `Hand` counts the same config from the file's fields alone, without
transformers: parameters, forward, backward and the visible pairs of each layer's mask. A case is written only if both
agree to the integer (counted = by hand + `differences`), for the config as written and for the resolved one.

How the counter counts: every mask is the full length x length; eager attention has a backward of 2x; the fused CPU
kernel has 2.5x; experts run eagerly, so every routed token is counted. Dropout is set to 0, unless a case keeps it.
"""

import argparse
import json
import logging
import os
import pathlib
import sys
import tempfile
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

HERE = pathlib.Path(__file__).resolve().parent


def skip(reason):
    """Exit status 77 is a skipped test."""
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import torch  # noqa: E402
    import transformers  # noqa: E402
    from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
except ImportError as missing:
    skip(f"{missing.name} cannot be imported; see requirements.txt")

for pinned in (HERE / "requirements.txt").read_text().splitlines():
    package, _, version = pinned.partition("==")
    found = {"torch": torch, "transformers": transformers}.get(package)
    if found is not None and found.__version__.partition("+")[0] != version:
        skip(f"{package} is {found.__version__}, zoo.json was counted with {version}")

logging.disable(logging.WARNING)
torch.set_num_threads(1)

SHAPES = ((2, 11), (3, 7))

# ---------------------------------------------------------------------------------------------------------------------
# The cases.

CASES = []


def case(name, architecture, model_type=None, **config):
    """One case. `_loss`: the outputs that are summed; `_choices`: input is (1, batch, length); `_dropout`: keep it."""
    model_type = model_type or name.split("/")[0]
    options = {key[1:]: config.pop(key) for key in list(config) if key.startswith("_")}
    written = {"model_type": model_type}
    if architecture is not None:
        written["architectures"] = [architecture]
    written.update(config)
    if any(written == other["config"] and options == other["options"] for other in CASES):
        sys.exit(f"{name}: the same config twice")
    if any(name == other["id"] for other in CASES):
        sys.exit(f"{name}: the same id twice")
    CASES.append({"id": name, "config": written, "options": options})


S, F = "sliding_attention", "full_attention"
LABELS = {"0": "A", "1": "B", "2": "C"}


def llama_like():
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)

    case("llama/kv-absent", "LlamaForCausalLM", **base)
    case("llama/gqa-untied", "LlamaForCausalLM", **gqa, tie_word_embeddings=False)
    case("llama/gqa-tied", "LlamaForCausalLM", **gqa, tie_word_embeddings=True)
    case("llama/head-dim", "LlamaForCausalLM", **gqa, head_dim=10)
    case("llama/nulls-and-biases", "LlamaForCausalLM", **base, num_key_value_heads=None, head_dim=None,
         attention_bias=True, mlp_bias=True)
    case("llama/mqa-mlp-bias", "LlamaForCausalLM", **base, num_key_value_heads=1, mlp_bias=True)
    case("llama/attention-bias-head-dim", "LlamaForCausalLM", **gqa, head_dim=14, attention_bias=True)
    case("llama/ignored-fields", "LlamaForCausalLM", **gqa, pretraining_tp=2, max_position_embeddings=5,
         sliding_window=4, rope_scaling={"rope_type": "linear", "factor": 2.0}, rope_theta=500000.0)
    case("llama/no-architectures", None, **dict(gqa, vocab_size=59))
    case("llama/model", "LlamaModel", **gqa)
    case("llama/sequence-classification", "LlamaForSequenceClassification", **gqa, pad_token_id=0, id2label=LABELS)
    case("llama/sequence-classification-default-labels", "LlamaForSequenceClassification", **gqa, pad_token_id=0)
    case("llama/token-classification", "LlamaForTokenClassification", **gqa, num_labels=5)
    case("llama/token-classification-no-bias", "LlamaForTokenClassification", **gqa, num_labels=5,
         token_classification_bias=False)
    case("llama/labels-twice", "LlamaForTokenClassification", **gqa, num_labels=5, id2label=LABELS)
    case("llama/question-answering", "LlamaForQuestionAnswering", **gqa, num_labels=7)

    case("mistral/window", "MistralForCausalLM", **gqa, sliding_window=5)
    case("mistral/window-absent", "MistralForCausalLM", **gqa)
    case("mistral/window-null", "MistralForCausalLM", **gqa, sliding_window=None)
    case("mistral/window-1", "MistralForCausalLM", **gqa, sliding_window=1, tie_word_embeddings=True)
    case("mistral/kv-absent", "MistralForCausalLM", **dict(base, num_attention_heads=16, hidden_size=96),
         sliding_window=5)
    case("mistral/head-dim", "MistralForCausalLM", **gqa, head_dim=10, sliding_window=4)
    case("mistral/head-dim-floor", "MistralForCausalLM", **dict(gqa, hidden_size=50), head_dim=None, sliding_window=4)
    case("mistral/layer-types", "MistralForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=12, sliding_window=4,
         layer_types=[F, S, F])
    case("mistral/biases-ignored", "MistralForCausalLM", **gqa, attention_bias=True, mlp_bias=True, sliding_window=None)
    case("mistral/model", "MistralModel", **gqa, sliding_window=5)
    case("mistral/sequence-classification", "MistralForSequenceClassification", **gqa, sliding_window=5,
         pad_token_id=0, num_labels=5)
    case("mistral/token-classification", "MistralForTokenClassification", **gqa, sliding_window=5)
    case("mistral/question-answering", "MistralForQuestionAnswering", **gqa, sliding_window=5)

    case("phi3/kv-absent", "Phi3ForCausalLM", **base, pad_token_id=0)
    case("phi3/gqa-window", "Phi3ForCausalLM", **gqa, pad_token_id=0, sliding_window=5)
    case("phi3/window-null-tied", "Phi3ForCausalLM", **gqa, pad_token_id=0, sliding_window=None,
         tie_word_embeddings=True)
    case("phi3/head-dim", "Phi3ForCausalLM", **gqa, pad_token_id=0, head_dim=10, partial_rotary_factor=1.0)
    case("phi3/kv-null-floor", "Phi3ForCausalLM", **dict(base, hidden_size=50), num_key_value_heads=None,
         pad_token_id=0)
    case("phi3/model", "Phi3Model", **gqa, pad_token_id=0, sliding_window=5)
    case("phi3/sequence-classification", "Phi3ForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("phi3/token-classification", "Phi3ForTokenClassification", **gqa, pad_token_id=0, num_labels=3)

    case("olmo2/kv-absent", "Olmo2ForCausalLM", **base)
    case("olmo2/gqa-tied", "Olmo2ForCausalLM", **gqa, tie_word_embeddings=True)
    case("olmo2/attention-bias", "Olmo2ForCausalLM", **gqa, attention_bias=True)
    case("olmo2/head-dim", "Olmo2ForCausalLM", **gqa, head_dim=10)
    case("olmo2/kv-null", "Olmo2ForCausalLM", **dict(base, num_hidden_layers=3), num_key_value_heads=None)
    case("olmo2/model", "Olmo2Model", **gqa)
    case("olmo2/sequence-classification", "Olmo2ForSequenceClassification", **gqa, num_labels=3)

    case("granite/kv-absent", "GraniteForCausalLM", **base)
    case("granite/gqa-tied", "GraniteForCausalLM", **gqa, tie_word_embeddings=True, embedding_multiplier=12.0,
         logits_scaling=16.0, residual_multiplier=0.22, attention_multiplier=0.0078125)
    case("granite/biases", "GraniteForCausalLM", **gqa, attention_bias=True, mlp_bias=True)
    case("granite/attention-bias", "GraniteForCausalLM", **gqa, attention_bias=True)
    case("granite/head-dim", "GraniteForCausalLM", **gqa, head_dim=10)
    case("granite/model", "GraniteModel", **base, num_key_value_heads=None)

    case("starcoder2/kv-absent", "Starcoder2ForCausalLM", **base)
    case("starcoder2/window-untied", "Starcoder2ForCausalLM", **base, num_key_value_heads=1, sliding_window=5,
         tie_word_embeddings=False)
    case("starcoder2/no-bias", "Starcoder2ForCausalLM", **base, num_key_value_heads=4, use_bias=False)
    case("starcoder2/head-dim", "Starcoder2ForCausalLM", **gqa, head_dim=10)
    case("starcoder2/head-dim-null", "Starcoder2ForCausalLM", **dict(gqa, hidden_size=50), head_dim=None,
         sliding_window=None)
    case("starcoder2/model", "Starcoder2Model", **gqa, sliding_window=4)
    case("starcoder2/sequence-classification", "Starcoder2ForSequenceClassification", **gqa, pad_token_id=0,
         num_labels=3)
    case("starcoder2/token-classification", "Starcoder2ForTokenClassification", **gqa, num_labels=3)


def qwen():
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=4, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)
    two = dict(gqa, num_hidden_layers=2)

    case("qwen2/plain", "Qwen2ForCausalLM", **gqa)
    case("qwen2/tied-window-off", "Qwen2ForCausalLM", **gqa, tie_word_embeddings=True, use_sliding_window=False,
         sliding_window=5, max_window_layers=1)
    case("qwen2/window", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=5, max_window_layers=1)
    case("qwen2/window-null", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=None,
         max_window_layers=1)
    case("qwen2/max-window-layers-absent", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=5)
    case("qwen2/layer-types", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=4,
         max_window_layers=0, layer_types=[S, F, F, S])
    case("qwen2/layer-types-legacy-name", "Qwen2ForCausalLM", **two, layer_types=["attention", F])
    case("qwen2/kv-absent", "Qwen2ForCausalLM",
         **dict(base, num_attention_heads=32, hidden_size=64, num_hidden_layers=1))
    case("qwen2/kv-null", "Qwen2ForCausalLM", **dict(base, num_hidden_layers=2), num_key_value_heads=None)
    case("qwen2/head-dim", "Qwen2ForCausalLM", **two, head_dim=10)
    case("qwen2/head-dim-floor", "Qwen2ForCausalLM", **dict(two, hidden_size=50))
    case("qwen2/model", "Qwen2Model", **two)
    case("qwen2/sequence-classification", "Qwen2ForSequenceClassification", **two, pad_token_id=0, num_labels=3)
    case("qwen2/token-classification", "Qwen2ForTokenClassification", **two, num_labels=3)
    case("qwen2/question-answering", "Qwen2ForQuestionAnswering", **two)

    case("qwen3/head-dim", "Qwen3ForCausalLM", **two, head_dim=10)
    case("qwen3/head-dim-absent-tied", "Qwen3ForCausalLM", **two, tie_word_embeddings=True)
    case("qwen3/attention-bias", "Qwen3ForCausalLM", **two, head_dim=14, attention_bias=True)
    case("qwen3/window", "Qwen3ForCausalLM", **gqa, head_dim=10, use_sliding_window=True, sliding_window=4,
         max_window_layers=3)
    case("qwen3/layer-types", "Qwen3ForCausalLM", **gqa, head_dim=10, use_sliding_window=True, sliding_window=5,
         layer_types=[S, S, F, S])
    case("qwen3/kv-absent", "Qwen3ForCausalLM", **dict(base, num_attention_heads=32, num_hidden_layers=1), head_dim=6)
    case("qwen3/kv-null", "Qwen3ForCausalLM", **dict(base, num_hidden_layers=1), num_key_value_heads=None, head_dim=10)
    case("qwen3/model", "Qwen3Model", **two, head_dim=10)
    case("qwen3/sequence-classification", "Qwen3ForSequenceClassification", **two, head_dim=10, pad_token_id=0)
    case("qwen3/token-classification", "Qwen3ForTokenClassification", **two, head_dim=10, num_labels=3)
    case("qwen3/question-answering", "Qwen3ForQuestionAnswering", **two, head_dim=10)


def experts():
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)

    case("mixtral/plain", "MixtralForCausalLM", **gqa, num_local_experts=7, num_experts_per_tok=3)
    case("mixtral/experts-absent", "MixtralForCausalLM", **gqa)
    case("mixtral/window-tied", "MixtralForCausalLM", **gqa, num_local_experts=5, sliding_window=4,
         tie_word_embeddings=True)
    case("mixtral/alias", "MixtralForCausalLM", **gqa, num_experts=5, num_experts_per_tok=1, head_dim=None)
    case("mixtral/both-names", "MixtralForCausalLM", **gqa, num_local_experts=6, num_experts=5)
    case("mixtral/kv-absent", "MixtralForCausalLM",
         **dict(base, num_attention_heads=16, hidden_size=64, num_hidden_layers=1), num_local_experts=5)
    case("mixtral/head-dim", "MixtralForCausalLM", **gqa, num_local_experts=5, head_dim=10)
    case("mixtral/model", "MixtralModel", **gqa, num_local_experts=5)
    case("mixtral/sequence-classification", "MixtralForSequenceClassification", **gqa, num_local_experts=5,
         pad_token_id=0, num_labels=3)
    case("mixtral/token-classification", "MixtralForTokenClassification", **gqa, num_local_experts=5, num_labels=3)

    moe = dict(gqa, num_hidden_layers=4, moe_intermediate_size=22, num_experts=7, num_experts_per_tok=3)
    shared = dict(moe, shared_expert_intermediate_size=34)
    case("qwen2_moe/plain", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2))
    case("qwen2_moe/no-qkv-bias-tied", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2), qkv_bias=False,
         tie_word_embeddings=True)
    case("qwen2_moe/mlp-only", "Qwen2MoeForCausalLM", **shared, mlp_only_layers=[0, 2, 9])
    case("qwen2_moe/sparse-step", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=5), decoder_sparse_step=2)
    case("qwen2_moe/sparse-step-and-mlp-only", "Qwen2MoeForCausalLM", **shared, decoder_sparse_step=2,
         mlp_only_layers=[3])
    case("qwen2_moe/no-experts", "Qwen2MoeForCausalLM", **dict(shared, num_experts=0, num_hidden_layers=2))
    case("qwen2_moe/window", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=6), use_sliding_window=True,
         sliding_window=5, max_window_layers=3)
    case("qwen2_moe/window-off", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=2), use_sliding_window=False,
         sliding_window=5, max_window_layers=9)
    case("qwen2_moe/layer-types", "Qwen2MoeForCausalLM", **shared, use_sliding_window=True, sliding_window=4,
         layer_types=[F, S, S, F])
    case("qwen2_moe/head-dim", "Qwen2MoeForCausalLM", **dict(shared, num_hidden_layers=1), head_dim=10)
    case("qwen2_moe/defaults", "Qwen2MoeForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1)
    case("qwen2_moe/model", "Qwen2MoeModel", **dict(shared, num_hidden_layers=1))
    case("qwen2_moe/sequence-classification", "Qwen2MoeForSequenceClassification",
         **dict(shared, num_hidden_layers=1), pad_token_id=0, num_labels=5)

    case("qwen3_moe/plain", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10)
    case("qwen3_moe/head-dim-absent", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2))
    case("qwen3_moe/attention-bias-tied", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=14,
         attention_bias=True, tie_word_embeddings=True)
    case("qwen3_moe/mlp-only", "Qwen3MoeForCausalLM", **moe, head_dim=10, mlp_only_layers=[0, 1])
    case("qwen3_moe/sparse-step", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=5), head_dim=10,
         decoder_sparse_step=2, mlp_only_layers=None)
    case("qwen3_moe/window", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10,
         use_sliding_window=True, sliding_window=5, max_window_layers=1)
    case("qwen3_moe/window-off", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=2), head_dim=10,
         use_sliding_window=False, sliding_window=5)
    local = {key: value for key, value in moe.items() if key != "num_experts"}
    case("qwen3_moe/alias", "Qwen3MoeForCausalLM", **dict(local, num_hidden_layers=1), num_local_experts=6)
    case("qwen3_moe/both-names", "Qwen3MoeForCausalLM", **dict(moe, num_hidden_layers=1), num_local_experts=6)
    case("qwen3_moe/no-experts", "Qwen3MoeForCausalLM", **dict(moe, num_experts=0, num_hidden_layers=1))
    case("qwen3_moe/defaults", "Qwen3MoeForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=1)
    case("qwen3_moe/model", "Qwen3MoeModel", **dict(moe, num_hidden_layers=1), head_dim=10)
    case("qwen3_moe/token-classification", "Qwen3MoeForTokenClassification", **dict(moe, num_hidden_layers=1),
         head_dim=10, num_labels=3)
    case("qwen3_moe/question-answering", "Qwen3MoeForQuestionAnswering", **dict(moe, num_hidden_layers=1), head_dim=10)

    oss = dict(gqa, num_hidden_layers=3, intermediate_size=26, head_dim=10, num_local_experts=7,
               num_experts_per_tok=3, sliding_window=5)
    one = dict(oss, num_hidden_layers=1)
    case("gpt_oss/plain", "GptOssForCausalLM", **oss)
    case("gpt_oss/layer-types", "GptOssForCausalLM", **oss, layer_types=[F, F, S])
    case("gpt_oss/no-bias-tied", "GptOssForCausalLM", **oss, attention_bias=False, tie_word_embeddings=True)
    case("gpt_oss/window-and-head-dim-absent", "GptOssForCausalLM",
         **{key: value for key, value in oss.items() if key not in ("sliding_window", "head_dim")})
    case("gpt_oss/kv-absent", "GptOssForCausalLM",
         **{**{key: value for key, value in one.items() if key != "num_key_value_heads"}, "num_attention_heads": 16})
    case("gpt_oss/alias-experts-per-token-absent", "GptOssForCausalLM", num_experts=5, experts_per_token=2,
         **{key: value for key, value in one.items() if key not in ("num_local_experts", "num_experts_per_tok")})
    case("gpt_oss/experts-absent", "GptOssForCausalLM",
         **{key: value for key, value in one.items() if key not in ("num_local_experts", "num_experts_per_tok")})
    case("gpt_oss/model", "GptOssModel", **one)
    case("gpt_oss/sequence-classification", "GptOssForSequenceClassification", **one, pad_token_id=0, num_labels=5)
    case("gpt_oss/token-classification", "GptOssForTokenClassification", **one, num_labels=5)


def gemma():
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2, head_dim=10)

    case("gemma/plain", "GemmaForCausalLM", **gqa)
    case("gemma/untied-bias", "GemmaForCausalLM", **gqa, tie_word_embeddings=False, attention_bias=True)
    case("gemma/head-dim-absent", "GemmaForCausalLM", **base, num_key_value_heads=1)
    case("gemma/kv-absent", "GemmaForCausalLM", **dict(base, num_attention_heads=16, num_hidden_layers=1), head_dim=6)
    case("gemma/model", "GemmaModel", **gqa)
    case("gemma/sequence-classification", "GemmaForSequenceClassification", **gqa, num_labels=3)
    case("gemma/token-classification", "GemmaForTokenClassification", **gqa, num_labels=3)

    more = dict(gqa, num_hidden_layers=5)
    case("gemma2/plain", "Gemma2ForCausalLM", **more, sliding_window=5)
    case("gemma2/layer-types-untied", "Gemma2ForCausalLM", **more, sliding_window=4, layer_types=[F, S, F, F, S],
         tie_word_embeddings=False)
    case("gemma2/window-absent-bias", "Gemma2ForCausalLM", **gqa, attention_bias=True)
    case("gemma2/head-dim-and-kv-absent", "Gemma2ForCausalLM", **base, sliding_window=5)
    case("gemma2/model", "Gemma2Model", **gqa, sliding_window=5)
    case("gemma2/sequence-classification", "Gemma2ForSequenceClassification", **gqa, sliding_window=5, num_labels=3)
    case("gemma2/token-classification", "Gemma2ForTokenClassification", **gqa, sliding_window=5, num_labels=3)

    seven = dict(gqa, num_hidden_layers=7)
    case("gemma3_text/plain", "Gemma3ForCausalLM", **seven, sliding_window=5)
    case("gemma3_text/pattern", "Gemma3ForCausalLM", **seven, sliding_window=4, sliding_window_pattern=3)
    case("gemma3_text/layer-types-untied", "Gemma3ForCausalLM", **dict(gqa, num_hidden_layers=3), sliding_window=4,
         sliding_window_pattern=2, layer_types=[F, S, S], tie_word_embeddings=False)
    case("gemma3_text/window-absent-bias", "Gemma3ForCausalLM", **gqa, attention_bias=True)
    case("gemma3_text/head-dim-and-kv-absent", "Gemma3ForCausalLM", **base, sliding_window=5)
    case("gemma3_text/bidirectional", "Gemma3ForCausalLM", **dict(gqa, num_hidden_layers=3), sliding_window=5,
         sliding_window_pattern=2, use_bidirectional_attention=True)
    case("gemma3_text/model", "Gemma3TextModel", **gqa, sliding_window=5)
    case("gemma3_text/sequence-classification", "Gemma3TextForSequenceClassification", **gqa, sliding_window=5,
         num_labels=3)


def gpt():
    two = dict(vocab_size=61, n_positions=29, n_embd=48, n_layer=2, n_head=4)
    case("gpt2/plain", "GPT2LMHeadModel", **two)
    case("gpt2/inner-untied", "GPT2LMHeadModel", **two, n_inner=70, tie_word_embeddings=False)
    case("gpt2/inner-null", "GPT2LMHeadModel", **dict(two, n_layer=3), n_inner=None)
    case("gpt2/long-names", "GPT2LMHeadModel", vocab_size=61, max_position_embeddings=29, hidden_size=48,
         num_hidden_layers=2, num_attention_heads=6, intermediate_size=70)
    case("gpt2/both-names", "GPT2LMHeadModel", **two, hidden_size=40, num_hidden_layers=3, num_attention_heads=5,
         max_position_embeddings=31)
    case("gpt2/defaults-positions-layers-heads", "GPT2LMHeadModel", vocab_size=61, n_embd=24)
    case("gpt2/reorder-and-upcast", "GPT2LMHeadModel", **two, reorder_and_upcast_attn=True,
         scale_attn_by_inverse_layer_idx=True)
    case("gpt2/dropout-kept", "GPT2LMHeadModel", **two, n_ctx=29, attn_pdrop=0.1, _dropout=True)
    case("gpt2/model", "GPT2Model", **two)
    case("gpt2/double-heads", "GPT2DoubleHeadsModel", **two, num_labels=5)
    case("gpt2/double-heads-choices", "GPT2DoubleHeadsModel", **dict(two, n_layer=1), _choices=True)
    case("gpt2/double-heads-hidden", "GPT2DoubleHeadsModel", **two, summary_proj_to_labels=False,
         summary_type="mean")
    case("gpt2/double-heads-no-projection", "GPT2DoubleHeadsModel", **two, summary_use_proj=False)
    case("gpt2/sequence-classification", "GPT2ForSequenceClassification", **two, pad_token_id=0, num_labels=3)
    case("gpt2/token-classification", "GPT2ForTokenClassification", **two, num_labels=3)
    case("gpt2/question-answering", "GPT2ForQuestionAnswering", **two)

    neox = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6)
    case("gpt_neox/plain", "GPTNeoXForCausalLM", **neox)
    case("gpt_neox/no-attention-bias-tied", "GPTNeoXForCausalLM", **neox, attention_bias=False,
         tie_word_embeddings=True, rotary_pct=1.0, use_parallel_residual=False)
    case("gpt_neox/intermediate-absent", "GPTNeoXForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1,
         num_attention_heads=4)
    case("gpt_neox/kv-ignored", "GPTNeoXForCausalLM", **neox, num_key_value_heads=2)
    case("gpt_neox/model", "GPTNeoXModel", **neox)
    case("gpt_neox/sequence-classification", "GPTNeoXForSequenceClassification", **neox, pad_token_id=0, num_labels=3)
    case("gpt_neox/token-classification", "GPTNeoXForTokenClassification", **neox, num_labels=3)
    case("gpt_neox/question-answering", "GPTNeoXForQuestionAnswering", **neox)


def encoders():
    esm = dict(vocab_size=33, pad_token_id=1, mask_token_id=32, hidden_size=48, intermediate_size=70,
               num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=29)
    case("esm/absolute", "EsmForMaskedLM", **esm)
    case("esm/rotary-token-dropout", "EsmForMaskedLM", **esm, position_embedding_type="rotary", token_dropout=True,
         emb_layer_norm_before=False)
    case("esm/norm-before-untied", "EsmForMaskedLM", **esm, emb_layer_norm_before=True, tie_word_embeddings=False)
    case("esm/relative-key", "EsmForMaskedLM", **esm, position_embedding_type="relative_key")
    case("esm/positions-absent", "EsmForMaskedLM",
         **{key: value for key, value in esm.items() if key != "max_position_embeddings"})
    case("esm/decoder", "EsmForMaskedLM", **esm, is_decoder=True)
    case("esm/no-architectures", None, **dict(esm, num_hidden_layers=2))
    case("esm/model", "EsmModel", **esm)
    case("esm/sequence-classification", "EsmForSequenceClassification", **esm, num_labels=5)
    case("esm/token-classification", "EsmForTokenClassification", **esm, num_labels=5)

    bert = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=29)
    case("bert/masked-lm", "BertForMaskedLM", **bert)
    case("bert/masked-lm-untied", "BertForMaskedLM", **bert, tie_word_embeddings=False)
    case("bert/masked-lm-types-positions-absent", "BertForMaskedLM", type_vocab_size=3,
         position_embedding_type="relative_key",
         **{key: value for key, value in bert.items() if key != "max_position_embeddings"})
    case("bert/lm-head-decoder", "BertLMHeadModel", **bert, is_decoder=True)
    case("bert/lm-head", "BertLMHeadModel", **bert)
    case("bert/pre-training", "BertForPreTraining", **bert)
    case("bert/pre-training-untied", "BertForPreTraining", **bert, tie_word_embeddings=False)
    case("bert/next-sentence", "BertForNextSentencePrediction", **bert)
    case("bert/sequence-classification", "BertForSequenceClassification", **bert, num_labels=5)
    case("bert/multiple-choice", "BertForMultipleChoice", **bert, num_labels=5, _choices=True)
    case("bert/token-classification", "BertForTokenClassification", **bert, num_labels=5)
    case("bert/question-answering", "BertForQuestionAnswering", **bert)
    case("bert/model", "BertModel", **bert)
    case("bert/model-loss-on-pooler", "BertModel", **bert, _loss=["last_hidden_state", "pooler_output"])
    case("bert/heads-layers-absent", "BertForMaskedLM", vocab_size=61, hidden_size=24, intermediate_size=38)


llama_like()
qwen()
experts()
gemma()
gpt()
encoders()

# ---------------------------------------------------------------------------------------------------------------------
# The count by hand, from the fields of the file alone.

DECODERS = {
    "llama": dict(vocab_size=32000, hidden_size=4096, intermediate_size=11008, layers=32, heads=32, tie=False),
    "mistral": dict(vocab_size=32000, hidden_size=4096, intermediate_size=14336, layers=32, heads=32, kv=8, tie=False,
                    window=4096),
    "mixtral": dict(vocab_size=32000, hidden_size=4096, intermediate_size=14336, layers=32, heads=32, kv=8, tie=False,
                    experts=8, top_k=2),
    "qwen2": dict(vocab_size=151936, hidden_size=4096, intermediate_size=22016, layers=32, heads=32, kv=32, tie=False,
                  window=4096),
    "qwen2_moe": dict(vocab_size=151936, hidden_size=2048, intermediate_size=5632, layers=24, heads=16, kv=16,
                      tie=False, window=4096, experts=60, top_k=4, width=1408, shared=5632),
    "qwen3": dict(vocab_size=151936, hidden_size=4096, intermediate_size=22016, layers=32, heads=32, kv=32, tie=False,
                  window=4096, head_dim=128),
    "qwen3_moe": dict(vocab_size=151936, hidden_size=2048, intermediate_size=6144, layers=24, heads=32, kv=4,
                      tie=False, window=4096, experts=128, top_k=8, width=768),
    "gemma": dict(vocab_size=256000, hidden_size=3072, intermediate_size=24576, layers=28, heads=16, kv=16, tie=True,
                  head_dim=256),
    "gemma2": dict(vocab_size=256000, hidden_size=2304, intermediate_size=9216, layers=26, heads=8, kv=4, tie=True,
                   head_dim=256, window=4096),
    "gemma3_text": dict(vocab_size=262208, hidden_size=2304, intermediate_size=9216, layers=26, heads=8, kv=4,
                        tie=True, head_dim=256, window=4096),
    "phi3": dict(vocab_size=32064, hidden_size=3072, intermediate_size=8192, layers=32, heads=32, tie=False),
    "gpt_oss": dict(vocab_size=201088, hidden_size=2880, intermediate_size=2880, layers=36, heads=64, kv=8, tie=False,
                    head_dim=64, window=128, experts=128, top_k=4),
    "olmo2": dict(vocab_size=50304, hidden_size=4096, intermediate_size=11008, layers=32, heads=32, tie=False),
    "granite": dict(vocab_size=32000, hidden_size=4096, intermediate_size=11008, layers=32, heads=32, tie=False),
    "starcoder2": dict(vocab_size=49152, hidden_size=3072, intermediate_size=12288, layers=30, heads=24, kv=2,
                       tie=True),
}
OTHER = {
    "gpt2": dict(vocab_size=50257, hidden_size=768, layers=12, heads=12, tie=True, positions=1024),
    "gpt_neox": dict(vocab_size=50432, hidden_size=6144, intermediate_size=24576, layers=44, heads=64, tie=False),
    "esm": dict(hidden_size=768, intermediate_size=3072, layers=12, heads=12, tie=True, positions=1026),
    "bert": dict(vocab_size=30522, hidden_size=768, intermediate_size=3072, layers=12, heads=12, tie=True,
                 positions=512),
}
USUAL_HEAD = {"gpt2": "GPT2LMHeadModel", "esm": "EsmForMaskedLM"}


class Hand:
    """Counts one config. Every product is [rows, inputs, outputs, runs a backward]; rows is a function of (B, L)."""

    def __init__(self, config):
        self.config = config
        # AutoConfig reads a mistral file with the key layer_types as ministral: the same model, a mask for each layer.
        self.type = "mistral" if config["model_type"] == "ministral" else config["model_type"]
        self.defaults = {**DECODERS, **OTHER}[self.type]
        self.parameters = 0
        self.products = []
        self.masks = []  # per layer: (kind, window)
        self.hidden = self.field("hidden_size", "n_embd")
        self.layers = self.field("num_hidden_layers", "n_layer", default="layers")
        self.heads = self.field("num_attention_heads", "n_head", default="heads")
        self.vocabulary = self.field("vocab_size")
        self.head = (config.get("architectures") or [USUAL_HEAD.get(self.type, "ForCausalLM")])[0]
        labels = config.get("id2label")
        self.labels = config.get("num_labels", len(labels) if labels is not None else 2)
        getattr(self, self.type if self.type in OTHER else "decoder")()

    def field(self, *names, default=None):
        for name in names:
            if name in self.config:
                return self.config[name]
        return self.defaults.get(default or names[0])

    # Building blocks -------------------------------------------------------------------------------------------------

    def linear(self, inputs, outputs, bias=False, rows=lambda batch, length: batch * length, backward=True, copies=1):
        """`copies` weights of this shape exist (experts) while `rows` says how many rows run in all."""
        self.parameters += copies * (inputs * outputs + (outputs if bias else 0))
        self.products.append((rows, inputs, outputs, backward))

    def attention(self, kv, size, qkv_bias, output_bias):
        wide, narrow = self.heads * size, kv * size
        self.size = size
        self.linear(self.hidden, wide, qkv_bias)
        self.linear(self.hidden, narrow, qkv_bias)
        self.linear(self.hidden, narrow, qkv_bias)
        self.linear(wide, self.hidden, output_bias)

    def gated(self, width, bias=False, **kind):
        self.linear(self.hidden, width, bias, **kind)
        self.linear(self.hidden, width, bias, **kind)
        self.linear(width, self.hidden, bias, **kind)

    def vocabulary_head(self):
        self.linear(self.hidden, self.vocabulary)
        if self.field("tie_word_embeddings", default="tie"):
            self.parameters -= self.hidden * self.vocabulary

    def per_sequence(self):
        return lambda batch, length: batch

    # Decoders --------------------------------------------------------------------------------------------------------

    def decoder(self):
        get, kind = self.config.get, self.type
        kv = get("num_key_value_heads", self.defaults.get("kv"))
        kv = self.heads if kv is None else kv
        size = get("head_dim", self.defaults.get("head_dim"))
        size = self.hidden // self.heads if size is None else size
        width = self.field("intermediate_size")
        norm = 2 * self.hidden if kind == "starcoder2" else self.hidden
        if kind in ("mistral", "mixtral", "phi3"):
            qkv_bias = output_bias = False
        elif kind == "qwen2":
            qkv_bias, output_bias = True, False
        elif kind == "qwen2_moe":
            qkv_bias, output_bias = get("qkv_bias", True), False
        elif kind == "starcoder2":
            qkv_bias = output_bias = get("use_bias", True)
        else:
            qkv_bias = output_bias = get("attention_bias", kind == "gpt_oss")
        mlp_bias = kind in ("llama", "granite") and get("mlp_bias", False)

        self.parameters += self.vocabulary * self.hidden + norm
        self.decoder_masks()
        for layer in range(self.layers):
            self.attention(kv, size, qkv_bias, output_bias)
            self.parameters += (4 if kind in ("gemma2", "gemma3_text") else 2) * norm
            if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
                self.parameters += 2 * size
            if kind == "olmo2":
                self.parameters += (self.heads + kv) * size
            if kind == "gpt_oss":
                self.parameters += self.heads  # sinks
            if self.is_sparse(layer):
                self.experts(width)
            elif kind == "starcoder2":
                self.linear(self.hidden, width, qkv_bias)
                self.linear(width, self.hidden, qkv_bias)
            else:
                self.gated(width, mlp_bias)
        self.decoder_head()

    def decoder_masks(self):
        get, kind, layers = self.config.get, self.type, range(self.layers)
        window = get("sliding_window", self.defaults.get("window"))
        types = get("layer_types")
        if kind in ("qwen2", "qwen2_moe", "qwen3", "qwen3_moe") and not get("use_sliding_window", False):
            window = None
        if kind in ("llama", "gemma", "olmo2", "granite"):
            window, types = None, None
        if kind in ("mixtral", "phi3", "starcoder2", "qwen3_moe"):
            types = None
        if types is not None:
            sliding = [entry == S for entry in types]
        elif kind in ("qwen2", "qwen3"):
            sliding = [index >= get("max_window_layers", 28) for index in layers]
        elif kind == "qwen2_moe":
            sliding = [index % 2 == 0 and index < get("max_window_layers", 28) for index in layers]
        elif kind in ("gemma2", "gpt_oss"):
            sliding = [index % 2 == 0 for index in layers]
        elif kind == "gemma3_text":
            sliding = [(index + 1) % get("sliding_window_pattern", 6) != 0 for index in layers]
        else:
            sliding = [True for index in layers]
        two_sided = kind == "gemma3_text" and get("use_bidirectional_attention", False)
        for slides in sliding:
            if slides and window is not None:
                self.masks.append(("two-sided window", window // 2) if two_sided else ("window", window))
            else:
                self.masks.append(("full", None) if two_sided else ("causal", None))

    def is_sparse(self, layer):
        if self.type in ("mixtral", "gpt_oss"):
            return True
        if self.type not in ("qwen2_moe", "qwen3_moe") or self.number_of_experts() == 0:
            return False
        step = self.config.get("decoder_sparse_step", 1)
        return layer not in (self.config.get("mlp_only_layers") or []) and (layer + 1) % step == 0

    def number_of_experts(self):
        names = {"qwen2_moe": ("num_experts",), "qwen3_moe": ("num_local_experts", "num_experts")}
        return self.field(*names.get(self.type, ("num_experts", "num_local_experts")), default="experts")

    def experts(self, intermediate):
        experts, top_k = self.number_of_experts(), self.field("num_experts_per_tok", default="top_k")
        routed = dict(rows=lambda batch, length: batch * length * top_k, copies=experts)
        biased = self.type == "gpt_oss"
        self.linear(self.hidden, experts, biased)
        if self.type in ("mixtral", "gpt_oss"):
            self.gated(intermediate, biased, **routed)
        else:
            self.gated(self.field("moe_intermediate_size", default="width"), **routed)
        if self.type == "qwen2_moe":
            self.gated(self.field("shared_expert_intermediate_size", default="shared"))
            self.linear(self.hidden, 1)

    def decoder_head(self):
        if "ForCausalLM" in self.head or "LMHead" in self.head:
            self.vocabulary_head()
        elif self.head.endswith("ForSequenceClassification"):
            self.linear(self.hidden, self.labels)
        elif self.head.endswith("ForTokenClassification"):
            self.linear(self.hidden, self.labels, self.config.get("token_classification_bias", True))
        elif self.head.endswith("ForQuestionAnswering"):
            self.linear(self.hidden, 2, True)
        else:
            assert self.head.endswith("Model"), self.head

    def gpt2(self):
        # With both names in the file the long one wins.
        positions = self.field("max_position_embeddings", "n_positions", default="positions")
        width = self.config.get("n_inner")
        width = 4 * self.hidden if width is None else width
        self.parameters += (self.vocabulary + positions) * self.hidden + 2 * self.hidden
        for _ in range(self.layers):
            self.attention(self.heads, self.hidden // self.heads, True, True)
            self.linear(self.hidden, width, True)
            self.linear(width, self.hidden, True)
            self.parameters += 4 * self.hidden
            self.masks.append(("causal", None))
        if self.head == "GPT2DoubleHeadsModel":
            self.vocabulary_head()
            if self.config.get("summary_use_proj", True):
                labels = 1 if self.config.get("summary_proj_to_labels", True) else self.hidden
                self.linear(self.hidden, labels, True, rows=self.per_sequence())
        else:
            self.decoder_head()

    def gpt_neox(self):
        bias = self.config.get("attention_bias", True)
        width = self.field("intermediate_size")
        self.parameters += self.vocabulary * self.hidden + 2 * self.hidden
        for _ in range(self.layers):
            self.attention(self.heads, self.hidden // self.heads, bias, bias)
            self.linear(self.hidden, width, True)
            self.linear(width, self.hidden, True)
            self.parameters += 4 * self.hidden
            self.masks.append(("causal", None))
        self.decoder_head()

    # Encoders --------------------------------------------------------------------------------------------------------

    def encoder(self):
        width = self.field("intermediate_size")
        self.parameters += self.vocabulary * self.hidden
        for _ in range(self.layers):
            self.attention(self.heads, self.hidden // self.heads, True, True)
            self.linear(self.hidden, width, True)
            self.linear(width, self.hidden, True)
            self.parameters += 4 * self.hidden
            self.masks.append(("causal" if self.config.get("is_decoder", False) else "full", None))

    def pooler(self, backward=True):
        self.linear(self.hidden, self.hidden, True, rows=self.per_sequence(), backward=backward)

    def masked_lm(self):
        self.linear(self.hidden, self.hidden, True)
        self.parameters += 2 * self.hidden + self.vocabulary
        self.vocabulary_head()

    def esm(self):
        self.encoder()
        self.parameters += 2 * self.hidden + self.layers * self.heads + 1  # norm after the stack, contact head
        if self.config.get("position_embedding_type", "absolute") == "absolute":
            self.parameters += self.field("max_position_embeddings", default="positions") * self.hidden
        if self.config.get("emb_layer_norm_before"):
            self.parameters += 2 * self.hidden
        if self.head == "EsmForMaskedLM":
            self.masked_lm()
        elif self.head == "EsmForSequenceClassification":
            self.linear(self.hidden, self.hidden, True, rows=self.per_sequence())
            self.linear(self.hidden, self.labels, True, rows=self.per_sequence())
        elif self.head == "EsmForTokenClassification":
            self.linear(self.hidden, self.labels, True)
        else:
            self.pooler(backward=False)

    def bert(self):
        self.encoder()
        tables = self.field("max_position_embeddings", default="positions") + self.config.get("type_vocab_size", 2)
        self.parameters += tables * self.hidden + 2 * self.hidden
        if self.head in ("BertForMaskedLM", "BertLMHeadModel", "BertForPreTraining"):
            self.masked_lm()
            if not self.field("tie_word_embeddings", default="tie"):
                self.parameters += self.vocabulary  # the decoder's own bias beside the head's
        if self.head in ("BertForPreTraining", "BertForNextSentencePrediction"):
            self.pooler()
            self.linear(self.hidden, 2, True, rows=self.per_sequence())
        elif self.head in ("BertForSequenceClassification", "BertForMultipleChoice"):
            self.pooler()
            labels = 1 if self.head == "BertForMultipleChoice" else self.labels
            self.linear(self.hidden, labels, True, rows=self.per_sequence())
        elif self.head in ("BertForTokenClassification", "BertForQuestionAnswering"):
            self.linear(self.hidden, self.labels, True)
        elif self.head == "BertModel":
            self.pooler(backward=False)

    # Results ---------------------------------------------------------------------------------------------------------

    def linears(self, batch, length):
        forward = backward = 0
        for rows, inputs, outputs, trained in self.products:
            product = 2 * rows(batch, length) * inputs * outputs
            forward += product
            backward += 2 * product if trained else 0
        return forward, backward

    def core(self, batch, length, fused):
        """As the counter has it: the full square. Forward 2 products; backward 4, and 5 where scores are recomputed."""
        product = 2 * batch * self.heads * length * length * self.size * self.layers
        return 2 * product, (5 if fused else 4) * product

    def pairs(self, length):
        def visible(kind, window):
            if kind == "full":
                return length * length
            if kind == "causal":
                return length * (length + 1) // 2
            if kind == "window":  # the token itself and the window - 1 before it
                return sum(min(query + 1, window) for query in range(length))
            return sum(1 for q in range(length) for k in range(length) if abs(q - k) <= window)

        return [visible(*mask) for mask in self.masks]


# ---------------------------------------------------------------------------------------------------------------------
# The run.


def load(written, keep_dropout):
    """The config object, read as AutoConfig reads a config.json; dropout to 0 and experts eager."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(written))
        config = transformers.AutoConfig.from_pretrained(folder)
    if not keep_dropout:
        for name in list(vars(config)):
            if ("dropout" in name or "pdrop" in name) and isinstance(getattr(config, name), float):
                setattr(config, name, 0.0)
    config._experts_implementation = "eager"
    return config


def model_class(written):
    read = load(written, True)
    if read.model_type != written["model_type"]:
        return transformers.AutoModelForCausalLM._model_mapping[type(read)]
    if "architectures" in written:
        return getattr(transformers, written["architectures"][0])
    if written["model_type"] == "esm":
        return transformers.EsmForMaskedLM
    return transformers.AutoModelForCausalLM._model_mapping[type(read)]


def counts(mode):
    operators = mode.get_flop_counts().get("Global", {})
    return {str(operator).removeprefix("aten."): count for operator, count in sorted(operators.items(), key=str)}


OUTPUTS = ("logits", "prediction_logits", "seq_relationship_logits", "mc_logits", "start_logits", "end_logits")


def run(built, written, options, attention, batch, length):
    config = load(written, options.get("dropout", False))
    torch.manual_seed(0)
    model = built._from_config(config, attn_implementation=attention).train()
    low = 5 if model.config.vocab_size > 10 else 0
    ids = torch.randint(low, model.config.vocab_size - 1, (batch, length))
    if options.get("choices"):
        ids = ids[None]
    extra = {} if written["model_type"] in ("bert", "esm") else {"use_cache": False}
    if written["model_type"] == "bert" and written.get("is_decoder"):
        extra = {"use_cache": False}
    with FlopCounterMode(display=False) as forward:
        outputs = model(input_ids=ids, **extra)
    names = options.get("loss") or [name for name in OUTPUTS if outputs.get(name) is not None] or ["last_hidden_state"]
    loss = sum(outputs[name].sum() for name in names)
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    operators = {"forward": counts(forward), "backward": counts(backward)}
    pairs = None
    if attention == "eager" and not options.get("dropout"):
        with torch.no_grad():
            weights = model(input_ids=ids, output_attentions=True, **extra).attentions
        seen = [(layer != 0).flatten(0, 1).sum((1, 2)) for layer in weights]
        assert all(bool((layer == layer[0]).all()) for layer in seen)
        pairs = [int(layer[0]) for layer in seen]
    parameters = sum(parameter.numel() for parameter in model.parameters())
    unreached = sorted(name for name, value in model.named_parameters() if value.grad is None)
    return dict(names=names, operators=operators, pairs=pairs, parameters=parameters, unreached=unreached)


# What of the resolved config matters (the rest is tokens, dropout, initialisation, positions of no table, ...).
MATTERS = (
    "model_type architectures vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads "
    "num_key_value_heads head_dim sliding_window use_sliding_window max_window_layers layer_types "
    "tie_word_embeddings max_position_embeddings attention_bias mlp_bias qkv_bias use_bias num_local_experts "
    "num_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size decoder_sparse_step "
    "mlp_only_layers n_embd n_layer n_head n_positions n_inner add_cross_attention is_decoder is_encoder_decoder "
    "type_vocab_size position_embedding_type emb_layer_norm_before is_folding_model use_bidirectional_attention "
    "summary_type summary_use_proj summary_proj_to_labels token_classification_bias id2label pretraining_tp "
    "reorder_and_upcast_attn pad_token_id"
).split()


def resolve(written):
    everything = json.loads(load(written, True).to_json_string(use_diff=False))
    resolved = {name: everything[name] for name in MATTERS if name in everything and everything[name] is not None}
    # Null is kept where it means something else than an absent field.
    for name in ("sliding_window", "head_dim", "n_inner"):
        if name in everything:
            resolved[name] = everything[name]
    if resolved.get("id2label") == {"0": "LABEL_0", "1": "LABEL_1"}:
        del resolved["id2label"]
    return resolved


def differences(item, hand, batch):
    """What the run executes beyond the count by hand, from the shapes."""
    found = {}
    if "pooler_output" in item["options"].get("loss", ()):
        found["pooler"] = {
            "forward": 0, "backward": 2 * 2 * batch * hand.hidden * hand.hidden,
            "why": "this loss also reaches pooler_output; the loss on last_hidden_state leaves the pooler forward only",
        }
    return found


def describe(item):
    written, options = item["config"], item["options"]
    built = model_class(written)
    resolved = resolve(written)
    hand = Hand(written)
    again = Hand(resolved)
    runs, parameters, unreached, names = [], None, None, None
    for attention in ("eager", "sdpa") if built._supports_sdpa else ("eager",):
        for batch, length in SHAPES:
            result = run(built, written, options, attention, batch, length)
            ops = result["operators"]
            names = result["names"]
            parameters, unreached = result["parameters"], result["unreached"]
            kernel = [name for name in ops["forward"] if "scaled_dot_product" in name]
            fused = bool(kernel)
            core = ("bmm", "baddbmm") if not fused else kernel + [name + "_backward" for name in kernel]
            assert not fused or not {"bmm", "baddbmm"} & {*ops["forward"], *ops["backward"]}, ops
            measured = [[sum(count for name, count in ops[phase].items() if (name in core) == inside)
                         for phase in ("forward", "backward")] for inside in (False, True)]
            extra = differences(item, hand, batch)
            for count in (hand, again):
                expected = list(count.linears(batch, length))
                for reason in extra.values():
                    expected[0] += reason["forward"]
                    expected[1] += reason["backward"]
                check(item, "linears", measured[0], expected)
                check(item, "attention", measured[1], list(count.core(batch, length, fused)))
                check(item, "parameters", parameters, count.parameters)
                if result["pairs"] is not None:
                    check(item, "pairs", result["pairs"], count.pairs(length))
            entry = {"batch": batch, "length": length, "attention": attention, "fused": fused,
                     "forward": sum(ops["forward"].values()), "backward": sum(ops["backward"].values()),
                     "operators": ops}
            if result["pairs"] is not None:
                entry["pairs"] = result["pairs"]
            entry["differences"] = extra
            runs.append(entry)
    written_case = {"id": item["id"], "model_type": written["model_type"], "class": built.__name__,
                    "config": written, "resolved": resolved, "loss": names, "parameters": parameters}
    if options.get("choices"):
        written_case["input"] = "1 x batch x length: batch sequences are the choices of one question"
    if options.get("dropout"):
        written_case["note"] = "attention dropout is kept, so scaled_dot_product_attention does not fuse on a CPU"
    if resolved["model_type"] != written["model_type"]:
        written_case["note"] = "AutoConfig reads mistral with the key layer_types as " + resolved["model_type"]
    if unreached:
        written_case["without_gradient"] = unreached
    written_case["runs"] = runs
    return written_case


def check(item, what, measured, expected):
    if measured != expected:
        raise SystemExit(f"{item['id']}: {what}: the model has {measured}, by hand it is {expected}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the zoo.json that is there, write nothing")
    parser.add_argument("--only", default="", help="only ids that contain this; nothing is written")
    arguments = parser.parse_args()
    chosen = [item for item in CASES if arguments.only in item["id"]]
    lines = []
    for item in chosen:
        lines.append(json.dumps(describe(item), separators=(",", ":")))
        print(item["id"], file=sys.stderr)
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    target = HERE / "zoo.json"
    if arguments.check:
        if arguments.only:
            kept = target.read_text().splitlines()
            same = all(line in [row.rstrip(",") for row in kept] for line in lines)
        else:
            same = target.read_text() == text
        print(f"{len(chosen)} cases: {'equal' if same else 'DIFFERENT'}")
        return 0 if same else 1
    if not arguments.only:
        target.write_text(text)
    print(f"{len(chosen)} cases, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
