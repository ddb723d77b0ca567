# SPDX-License-Identifier: Apache-2.0
"""Linear attention and linear recurrences: qwen3_next, qwen3_5_text, qwen3_5_moe_text, olmo_hybrid, minimax,
kimi_linear, bailing_hybrid, lfm2, lfm2_moe, recurrent_gemma, rwkv, xlstm.

The library counts a state as it is defined: of a delta rule three products of state size a token, of the others two;
and a convolution over its taps. Without kernels, transformers runs chunks of tokens in their place.
"""

F, R, CONV = "full_attention", "linear_attention", "conv"
LONG = ((2, 11), (1, 70), (1, 131))  # one chunk, two, three


def count(config, kind):
    return sum(layer == kind for layer in config.layer_types)


def conv(batch, length, layers, channels, kernel):
    """FLOPs of depthwise convolutions beyond 2·kernel·channels a token."""
    padding = 2 * batch * kernel * channels * (kernel - 1) * layers
    weight_gradient = 2 * batch * kernel * channels * (length + kernel - 1) * layers
    return {
        "conv_padding": {
            "forward": padding, "backward": 2 * padding,
            "why": "kernel - 1 more positions, cut off afterwards"},
        "conv_groups": {
            "forward": 0, "backward": (channels - 1) * weight_gradient,
            "why": "the counter takes a depthwise weight gradient as dense"},
    }


def delta(batch, length, layers, heads, key, value, squares):
    """The gated delta rule in chunks of 64 against 6·key·value a token and head; `squares` is what the chunk x chunk
    products of one chunk are, without the triangular solve."""
    chunk = 64
    chunks = -(-length // chunk)
    state = 2 * chunk * key * value  # one product of a chunk with the state
    ran = batch * heads * layers * chunks * (squares + 3 * state)
    defined = batch * heads * layers * length * 6 * key * value
    # The first chunk multiplies a state of zeros twice, without a gradient to it; nothing reads what the last one adds.
    no_gradient = batch * heads * layers * 4 * state
    return {"chunks": {"forward": ran - defined, "backward": 2 * (ran - defined) - no_gradient,
                       "why": "attention within padded chunks of 64, a state between them"}}


def gated_delta_net(config, batch, length, fused):
    heads, key, value = config.linear_num_value_heads, config.linear_key_head_dim, config.linear_value_head_dim
    channels = 2 * config.linear_num_key_heads * key + heads * value
    layers, chunk, chunks = count(config, R), 64, -(-length // 64)
    return {
        **conv(batch, length, layers, channels, config.linear_conv_kernel_dim),
        **delta(batch, length, layers, heads, key, value, 2 * chunk * chunk * (2 * key + value)),
        "solve": {
            "forward": 0, "backward": batch * heads * layers * chunks * 2 * chunk * chunk * (key + value),
            "why": "the triangular solve is no product forward; the gradient of its matrix is one"},
    }


def kimi_delta(config, batch, length, fused):
    heads, dim = config.linear_num_heads, config.linear_head_dim
    return {
        **conv(batch, length, count(config, R), 3 * heads * dim, config.linear_conv_kernel_dim),
        # Scores and the inverse are element by element; the inverse times keys and values, the scores times values.
        **delta(batch, length, count(config, R), heads, dim, dim, 6 * 64 * 64 * dim),
    }


def lightning(config, batch, length, fused):
    heads, dim = config.num_attention_heads, config.head_dim or config.hidden_size // config.num_attention_heads
    each = batch * heads * count(config, R)
    blocks = [min(config.block_size, length - start) for start in range(0, length, config.block_size)]
    ran = each * sum(4 * block * block * dim + 4 * block * dim * dim for block in blocks)
    defined = each * length * 4 * dim * dim
    no_gradient = each * (2 * blocks[0] * dim * dim + 4 * blocks[-1] * dim * dim)
    return {"blocks": {"forward": ran - defined, "backward": 2 * (ran - defined) - no_gradient,
                       "why": "attention within blocks, a state between them"}}


def rg_lru(config, batch, length, fused):
    return conv(batch, length, count(config, R), config.lru_width, config.conv1d_width)


def short_convolution(config, batch, length, fused):
    return conv(batch, length, count(config, CONV), config.hidden_size, config.conv_L_cache)


def matrix_memory(config, batch, length, fused):
    each = batch * config.num_blocks * config.num_heads
    key = int(config.hidden_size * config.qk_dim_factor) // config.num_heads
    value = int(config.hidden_size * config.v_dim_factor) // config.num_heads
    # In mode "inference" what is left after whole chunks runs token by token, as defined; "train" refuses it.
    chunks = length // config.chunk_size
    extra = each * chunks * 2 * config.chunk_size ** 2 * (key + value)
    return {"chunks": {"forward": extra, "backward": 2 * extra, "why": "attention within chunks, besides the memory"}}


DIFFERENCES = {"qwen3_next": gated_delta_net, "qwen3_5_text": gated_delta_net, "qwen3_5_moe_text": gated_delta_net,
               "olmo_hybrid": gated_delta_net, "minimax": lightning, "kimi_linear": kimi_delta,
               "bailing_hybrid": kimi_delta, "lfm2": short_convolution, "lfm2_moe": short_convolution,
               "recurrent_gemma": rg_lru, "xlstm": matrix_memory}


def without(config, *names):
    return {key: value for key, value in config.items() if key not in names}


def cases(case):
    delta_heads = dict(linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=7,
                       linear_value_head_dim=9)
    attention = dict(vocab_size=61, hidden_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=12)
    experts = dict(moe_intermediate_size=22, shared_expert_intermediate_size=26, num_experts=5, num_experts_per_tok=3)

    base = dict(attention, **delta_heads, **experts, intermediate_size=70, num_hidden_layers=3)
    case("qwen3_next/plain", "Qwen3NextForCausalLM", **base, layer_types=[R, F, R], _shapes=LONG)
    case("qwen3_next/interval-absent", "Qwen3NextForCausalLM", **dict(base, num_hidden_layers=5))
    case("qwen3_next/interval", "Qwen3NextForCausalLM", **dict(base, num_hidden_layers=4), full_attention_interval=3,
         linear_conv_kernel_dim=3, tie_word_embeddings=True)
    case("qwen3_next/biases-sparse-step", "Qwen3NextForCausalLM", **dict(base, num_hidden_layers=4), layer_types=[
        F, R, F, F], attention_bias=True, decoder_sparse_step=2, mlp_only_layers=[3])
    case("qwen3_next/legacy-names", "Qwen3NextForCausalLM", **base, layer_types=["mamba", "attention", "mamba"])
    case("qwen3_next/absent", "Qwen3NextForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         layer_types=[R, F], num_experts=11, intermediate_size=70, _shapes=((1, 11),), _attention=("eager",))
    case("qwen3_next/model", "Qwen3NextModel", **base, layer_types=[R, F, R])
    case("qwen3_next/sequence-classification", "Qwen3NextForSequenceClassification", **base, layer_types=[R, F, F],
         num_labels=3, pad_token_id=0)
    case("qwen3_next/token-classification", "Qwen3NextForTokenClassification", **base, layer_types=[R, F, F])
    case("qwen3_next/question-answering", "Qwen3NextForQuestionAnswering", **base, layer_types=[R, F, F])

    base = dict(attention, **delta_heads, intermediate_size=70, num_hidden_layers=3)
    case("qwen3_5_text/plain", "Qwen3_5ForCausalLM", **base, layer_types=[R, F, R], _shapes=LONG)
    case("qwen3_5_text/interval-absent", "Qwen3_5ForCausalLM", **dict(base, num_hidden_layers=5), attention_bias=True,
         linear_conv_kernel_dim=3, tie_word_embeddings=True)
    case("qwen3_5_text/absent", "Qwen3_5ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         full_attention_interval=2, intermediate_size=70, _shapes=((1, 11),), _attention=("eager",))
    case("qwen3_5_text/model", "Qwen3_5TextModel", **base, layer_types=[R, F, R])
    case("qwen3_5_text/sequence-classification", "Qwen3_5TextForSequenceClassification", **base, num_labels=3,
         layer_types=[F, F, R], pad_token_id=0)

    base = dict(attention, **delta_heads, **experts, num_hidden_layers=3)
    case("qwen3_5_moe_text/plain", "Qwen3_5MoeForCausalLM", **base, layer_types=[R, F, R], _shapes=LONG)
    case("qwen3_5_moe_text/interval-absent", "Qwen3_5MoeForCausalLM", **dict(base, num_hidden_layers=5),
         attention_bias=True, linear_conv_kernel_dim=3, tie_word_embeddings=True)
    case("qwen3_5_moe_text/absent", "Qwen3_5MoeForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         full_attention_interval=2, num_experts=9, _shapes=((1, 11),), _attention=("eager",))
    case("qwen3_5_moe_text/model", "Qwen3_5MoeTextModel", **base, layer_types=[R, F, R])

    base = dict(without(attention, "head_dim"), **delta_heads, intermediate_size=70, num_hidden_layers=4,
                pad_token_id=0)
    case("olmo_hybrid/plain", "OlmoHybridForCausalLM", **base, layer_types=[F, R, F, R], _shapes=LONG)
    case("olmo_hybrid/layer-types-absent", "OlmoHybridForCausalLM", **dict(base, num_hidden_layers=5),
         linear_conv_kernel_dim=3, tie_word_embeddings=True)
    case("olmo_hybrid/few-layers", "OlmoHybridForCausalLM", **dict(base, num_hidden_layers=2), attention_bias=True,
         head_dim=14)
    case("olmo_hybrid/linear-absent", "OlmoHybridForCausalLM", vocab_size=61, hidden_size=40, num_attention_heads=4,
         intermediate_size=70, num_hidden_layers=4, pad_token_id=0)
    case("olmo_hybrid/linear-null", "OlmoHybridForCausalLM", vocab_size=61, hidden_size=40, num_attention_heads=4,
         intermediate_size=70, num_hidden_layers=4, pad_token_id=0, linear_num_key_heads=None, linear_num_value_heads=8,
         linear_key_head_dim=None, linear_value_head_dim=None, num_key_value_heads=None)
    case("olmo_hybrid/model", "OlmoHybridModel", **base, layer_types=[F, R, F, R])

    base = dict(attention, intermediate_size=22, num_hidden_layers=3, num_local_experts=5, num_experts_per_tok=3,
                block_size=8)
    case("minimax/plain", "MiniMaxForCausalLM", **base, layer_types=[R, F, R], _shapes=((2, 11), (3, 7), (1, 24)))
    case("minimax/layer-types-absent", "MiniMaxForCausalLM", **base, tie_word_embeddings=True)
    case("minimax/window", "MiniMaxForCausalLM", **base, sliding_window=5, layer_types=[F, R, F])
    case("minimax/absent", "MiniMaxForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=2,
         intermediate_size=22)
    case("minimax/num-experts-head-dim-null", "MiniMaxForCausalLM", **dict(
        without(base, "num_local_experts"), head_dim=None), num_experts=4)
    case("minimax/model", "MiniMaxModel", **base)
    case("minimax/sequence-classification", "MiniMaxForSequenceClassification", **base, num_labels=3, pad_token_id=0)
    case("minimax/token-classification", "MiniMaxForTokenClassification", **base)
    case("minimax/question-answering", "MiniMaxForQuestionAnswering", **base)

    latent = dict(vocab_size=61, hidden_size=40, intermediate_size=70, num_attention_heads=4, num_key_value_heads=4,
                  kv_lora_rank=14, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=9)
    linear = dict(linear_num_heads=3, linear_head_dim=8)
    routed = dict(moe_intermediate_size=22, num_experts=6, num_experts_per_tok=3)
    base = dict(latent, **linear, **routed, num_hidden_layers=3, pad_token_id=0)
    case("kimi_linear/plain", "KimiLinearForCausalLM", **base, layer_types=[R, F, R], _shapes=LONG)
    case("kimi_linear/rules-absent", "KimiLinearForCausalLM", **dict(base, num_hidden_layers=6))
    case("kimi_linear/q-lora-biases", "KimiLinearForCausalLM", **base, layer_types=[F, F, R], q_lora_rank=13,
         attention_bias=True, mlp_layer_types=["sparse", "dense", "sparse"], linear_conv_kernel_dim=3)
    case("kimi_linear/checkpoint-names", "KimiLinearForCausalLM", **dict(
        without(latent, "num_key_value_heads"), num_key_value_heads=None), moe_intermediate_size=22, num_experts=6,
         num_experts_per_token=2, num_shared_experts=3, num_hidden_layers=4, first_k_dense_replace=2, moe_layer_freq=1,
         pad_token_id=0, linear_attn_config={
             "full_attn_layers": [2, 4], "kda_layers": [1, 3], "head_dim": 6, "num_heads": 5,
             "short_conv_kernel_size": 3})
    case("kimi_linear/absent", "KimiLinearForCausalLM", vocab_size=61, hidden_size=36, intermediate_size=70,
         num_hidden_layers=2, layer_types=[R, F], num_experts=9, moe_intermediate_size=22, pad_token_id=0,
         _shapes=((1, 11),), _attention=("eager",))
    case("kimi_linear/model", "KimiLinearModel", **base, layer_types=[R, F, R])

    base = dict(latent, **routed, num_hidden_layers=4, head_dim=8, n_group=2, topk_group=1, pad_token_id=0)
    case("bailing_hybrid/plain", "BailingHybridForCausalLM", **base, layer_types=[R, F, R, F], _shapes=LONG)
    case("bailing_hybrid/rules", "BailingHybridForCausalLM", **base, layer_group_size=3, first_k_dense_replace=1,
         short_conv_kernel_size=3, attention_bias=True)
    case("bailing_hybrid/rules-absent", "BailingHybridForCausalLM", **dict(base, num_hidden_layers=7),
         n_shared_experts=2)
    case("bailing_hybrid/linear-names", "BailingHybridForCausalLM", **base, linear_head_dim=6, linear_num_heads=5,
         linear_conv_kernel_dim=2, layer_types=[R, R, R, F],
         mlp_layer_types=["sparse", "dense", "sparse", "dense"], kda_safe_gate=False)
    case("bailing_hybrid/absent", "BailingHybridForCausalLM", vocab_size=61, hidden_size=36, intermediate_size=70,
         num_hidden_layers=3, layer_group_size=3, num_experts=16, moe_intermediate_size=22, pad_token_id=0,
         _shapes=((1, 11),), _attention=("eager",))
    case("bailing_hybrid/model", "BailingHybridModel", **base, layer_types=[R, F, R, F])

    base = dict(vocab_size=61, hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=70,
                num_hidden_layers=3, block_multiple_of=16)
    case("lfm2/plain", "Lfm2ForCausalLM", **base, layer_types=[CONV, F, CONV])
    case("lfm2/full-attn-idxs", "Lfm2ForCausalLM", **base, full_attn_idxs=[1, 2, 9], conv_L_cache=5,
         tie_word_embeddings=False)
    case("lfm2/layer-types-absent", "Lfm2ForCausalLM", **base, head_dim=14)
    case("lfm2/checkpoint-names", "Lfm2ForCausalLM", **dict(base, block_multiple_of=1), block_ff_dim=92,
         layer_types=[CONV, "attention", CONV], tie_embedding=False, conv_bias=True, block_ffn_dim_multiplier=1.3)
    case("lfm2/width-as-stated", "Lfm2ForCausalLM", **base, layer_types=[F, F, CONV], block_auto_adjust_ff_dim=False)
    case("lfm2/absent", "Lfm2ForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=2, intermediate_size=400,
         full_attn_idxs=[0])
    case("lfm2/model", "Lfm2Model", **base, layer_types=[CONV, F, CONV])

    base = dict(without(base, "block_multiple_of"), moe_intermediate_size=22, num_experts=5, num_experts_per_tok=3)
    case("lfm2_moe/plain", "Lfm2MoeForCausalLM", **base, layer_types=[CONV, F, CONV])
    case("lfm2_moe/all-sparse", "Lfm2MoeForCausalLM", **base, layer_types=[F, CONV, F], num_dense_layers=0,
         conv_bias=True, conv_L_cache=5, tie_embedding=False, use_expert_bias=False)
    case("lfm2_moe/absent", "Lfm2MoeForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=3,
         intermediate_size=70, layer_types=[F, CONV, F], moe_intermediate_size=22)
    case("lfm2_moe/model", "Lfm2MoeModel", **base, layer_types=[CONV, F, CONV])

    base = dict(vocab_size=61, hidden_size=40, num_attention_heads=4, num_key_value_heads=2, intermediate_size=71,
                num_hidden_layers=4, attention_window_size=5)
    case("recurrent_gemma/plain", "RecurrentGemmaForCausalLM", **base)
    case("recurrent_gemma/width-kernel", "RecurrentGemmaForCausalLM", **base, lru_width=28, conv1d_width=3,
         attention_bias=True, tie_word_embeddings=False)
    case("recurrent_gemma/block-types", "RecurrentGemmaForCausalLM", **without(base, "attention_window_size"),
         sliding_window=6, block_types=["attention", "recurrent"], lru_width=None)
    case("recurrent_gemma/kv-absent", "RecurrentGemmaForCausalLM",
         **without(base, "num_key_value_heads", "attention_window_size"))
    case("recurrent_gemma/head-dim", "RecurrentGemmaForCausalLM", **base, head_dim=14)
    case("recurrent_gemma/absent", "RecurrentGemmaForCausalLM", vocab_size=61, hidden_size=40, intermediate_size=70,
         num_hidden_layers=3, num_key_value_heads=None)
    case("recurrent_gemma/model", "RecurrentGemmaModel", **base)

    base = dict(vocab_size=61, hidden_size=40, num_hidden_layers=3)
    case("rwkv/plain", "RwkvForCausalLM", **base, attention_hidden_size=28, intermediate_size=70)
    case("rwkv/absent", "RwkvForCausalLM", **base)
    case("rwkv/tied", "RwkvForCausalLM", **base, tie_word_embeddings=True, attention_hidden_size=None,
         intermediate_size=None, context_length=16)
    case("rwkv/model", "RwkvModel", **base, attention_hidden_size=28)

    base = dict(vocab_size=61, hidden_size=42, num_hidden_layers=2, num_heads=3, chunk_size=4)
    case("xlstm/plain", "xLSTMForCausalLM", **base, mode="train", _shapes=((2, 12), (3, 4)))
    case("xlstm/inference", "xLSTMForCausalLM", **base, _note="the class's own default of `mode`")
    case("xlstm/factors", "xLSTMForCausalLM", **base, qk_dim_factor=1.3, v_dim_factor=2.0, ffn_round_up_to_multiple_of=10)
    case("xlstm/biases", "xLSTMForCausalLM", **base, use_bias=True, ffn_proj_factor=1.3)
    case("xlstm/num-blocks", "xLSTMForCausalLM", **without(base, "num_hidden_layers"), num_blocks=3, add_out_norm=False)
    case("xlstm/absent", "xLSTMForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=1)
    case("xlstm/model", "xLSTMModel", **base)
