# SPDX-License-Identifier: Apache-2.0
"""State spaces and their hybrids with attention: mamba, falcon_mamba, mamba2, bamba, granitemoehybrid, falcon_h1,
nemotron_h, jamba, zamba2, zamba.

The library counts a state as it is defined, 2 products of channels x state to update it and to read it, and a
convolution over its taps. Without kernels, transformers runs others in their place.
"""

R, F, H = "linear_attention", "full_attention", "hybrid"


def first(config, *names):
    return next(getattr(config, name) for name in names if hasattr(config, name))


def mixers(config):
    """How many layers have a state space."""
    return sum(kind in (R, H) for kind in config.layer_types)


def conv(config, channels, batch, length):
    """FLOPs of a depthwise convolution beyond 2·kernel·channels a token."""
    kernel = first(config, "conv_kernel", "mamba_d_conv")
    layers = mixers(config)
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


def mamba(config, batch, length, fused):
    channels = config.intermediate_size if config.model_type in ("mamba", "falcon_mamba") else \
        config.mamba_expand * config.hidden_size
    update = 2 * batch * length * channels * first(config, "state_size", "mamba_d_state") * mixers(config)
    return {
        **conv(config, channels, batch, length),
        "state_update": {"forward": -update, "backward": -2 * update,
                         "why": "element by element, so only the read is a product"},
    }


def mamba2(config, batch, length, fused):
    heads = first(config, "num_heads", "mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    head_dim = first(config, "mamba_d_head", "mamba_headdim", "mamba_head_dim", "head_dim")
    state = first(config, "state_size", "mamba_d_state", "ssm_state_size")
    groups = first(config, "mamba_n_groups", "mamba_ngroups", "n_groups")
    chunk = first(config, "chunk_size", "mamba_chunk_size")
    layers = mixers(config)
    chunks = -(-length // chunk)
    within = 2 * chunk * chunk * state + 2 * chunk * chunk * head_dim  # scores of C and B, their values
    between = 2 * chunk * state * head_dim + 2 * chunk * state * head_dim  # states of the chunks, their read
    carried = 2 * (chunks + 1) ** 2 * head_dim * state
    scan = batch * heads * (chunks * (within + between) + carried) * layers
    defined = 4 * batch * length * heads * head_dim * state * layers
    return {
        **conv(config, heads * head_dim + 2 * groups * state, batch, length),
        "chunked_scan": {"forward": scan - defined, "backward": 2 * (scan - defined),
                         "why": "attention within padded chunks, a recurrence between them"},
    }


DIFFERENCES = {"mamba": mamba, "falcon_mamba": mamba, "jamba": mamba, "zamba": mamba, "mamba2": mamba2,
               "bamba": mamba2, "granitemoehybrid": mamba2, "falcon_h1": mamba2, "nemotron_h": mamba2,
               "zamba2": mamba2}


def cases(case):
    for name, prefix in (("mamba", "Mamba"), ("falcon_mamba", "FalconMamba")):
        base = dict(vocab_size=61, hidden_size=40, num_hidden_layers=2, state_size=7)
        case(f"{name}/plain", f"{prefix}ForCausalLM", **base)
        case(f"{name}/expand-rank-kernel", f"{prefix}ForCausalLM", **base, expand=3, time_step_rank=5, conv_kernel=3)
        case(f"{name}/biases-untied", f"{prefix}ForCausalLM", **base, use_bias=True, use_conv_bias=False,
             time_step_rank="auto", tie_word_embeddings=False)
        case(f"{name}/intermediate-size", f"{prefix}ForCausalLM", **base, intermediate_size=70, expand=3)
        case(f"{name}/state-absent", f"{prefix}ForCausalLM", vocab_size=61, hidden_size=36, num_hidden_layers=3)
        case(f"{name}/model", f"{prefix}Model", **base)

    base = dict(vocab_size=61, hidden_size=42, num_hidden_layers=2, state_size=7, num_heads=6, head_dim=14, n_groups=3,
                chunk_size=4)
    case("mamba2/plain", "Mamba2ForCausalLM", **base)
    case("mamba2/one-chunk", "Mamba2ForCausalLM", **dict(base, chunk_size=32))
    case("mamba2/expand-kernel-tied", "Mamba2ForCausalLM", **dict(base, head_dim=21), expand=3, conv_kernel=5,
         tie_word_embeddings=True)
    case("mamba2/biases", "Mamba2ForCausalLM", **base, use_bias=True, use_conv_bias=False)
    case("mamba2/intermediate-size-ignored", "Mamba2ForCausalLM", **base, intermediate_size=70)
    case("mamba2/absent", "Mamba2ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1, num_heads=8,
         head_dim=8, chunk_size=5)
    case("mamba2/head-dim-absent", "Mamba2ForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=1,
         num_heads=2, n_groups=2, state_size=9, chunk_size=5)
    case("mamba2/model", "Mamba2Model", **base)

    attention = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_attention_heads=4, num_key_value_heads=2)
    ssm = dict(mamba_n_heads=6, mamba_n_groups=3, mamba_d_state=7, mamba_chunk_size=4)
    base = dict(attention, **ssm, num_hidden_layers=3)
    case("bamba/plain", "BambaForCausalLM", **base, attn_layer_indices=[1])
    case("bamba/no-attention", "BambaForCausalLM", **base)
    case("bamba/indices-beyond", "BambaForCausalLM", **base, attn_layer_indices=[0, 2, 9])
    case("bamba/biases-tied", "BambaForCausalLM", **base, attn_layer_indices=[2], attention_bias=True, mlp_bias=True,
         mamba_proj_bias=True, mamba_conv_bias=False, tie_word_embeddings=True)
    case("bamba/expand-head-dim", "BambaForCausalLM", **base, attn_layer_indices=[1], mamba_expand=3, mamba_d_head=24,
         mamba_d_conv=3, head_dim=10)
    case("bamba/absent", "BambaForCausalLM", vocab_size=61, hidden_size=64, intermediate_size=70, num_hidden_layers=2,
         num_attention_heads=8, attn_layer_indices=[0], mamba_d_head="auto", mamba_chunk_size=3)
    case("bamba/kv-null", "BambaForCausalLM", **dict(base, num_key_value_heads=None), attn_layer_indices=[1])
    case("bamba/model", "BambaModel", **base, attn_layer_indices=[1])

    moe = dict(base, num_local_experts=5, num_experts_per_tok=3, shared_intermediate_size=22)
    case("granitemoehybrid/plain", "GraniteMoeHybridForCausalLM", **moe, layer_types=[R, F, R])
    case("granitemoehybrid/layer-types-absent", "GraniteMoeHybridForCausalLM", **moe)
    case("granitemoehybrid/legacy-names", "GraniteMoeHybridForCausalLM", **moe, layer_types=["mamba", "mamba",
                                                                                            "attention"])
    case("granitemoehybrid/layers-block-type", "GraniteMoeHybridForCausalLM", **moe,
         layers_block_type=[F, F, "mamba"])
    case("granitemoehybrid/no-experts", "GraniteMoeHybridForCausalLM", **dict(moe, num_local_experts=0),
         layer_types=[F, R, F], tie_word_embeddings=True)
    case("granitemoehybrid/biases", "GraniteMoeHybridForCausalLM", **moe, layer_types=[R, R, F], attention_bias=True,
         mamba_proj_bias=True, mamba_conv_bias=False)
    case("granitemoehybrid/absent", "GraniteMoeHybridForCausalLM", vocab_size=61, hidden_size=64,
         num_hidden_layers=1, intermediate_size=70, num_attention_heads=4, mamba_chunk_size=3)
    case("granitemoehybrid/kv-absent", "GraniteMoeHybridForCausalLM",
         **{key: value for key, value in moe.items() if key != "num_key_value_heads"}, layer_types=[F, R, F],
         head_dim=10)
    case("granitemoehybrid/model", "GraniteMoeHybridModel", **moe, layer_types=[R, F, R])

    two = dict(base, num_hidden_layers=2)
    case("falcon_h1/plain", "FalconH1ForCausalLM", **two, mamba_d_ssm=54)
    case("falcon_h1/d-ssm-null", "FalconH1ForCausalLM", **two, mamba_d_ssm=None, mamba_expand=3)
    case("falcon_h1/d-ssm-absent", "FalconH1ForCausalLM", **dict(two, mamba_n_heads=64, mamba_n_groups=2,
                                                                num_hidden_layers=1), mamba_d_head=16)
    case("falcon_h1/biases-norm-tied", "FalconH1ForCausalLM", **two, mamba_d_ssm=54, mamba_rms_norm=True,
         attention_bias=True, mlp_bias=True, mamba_proj_bias=True, mamba_conv_bias=False, tie_word_embeddings=True)
    case("falcon_h1/projectors-bias", "FalconH1ForCausalLM", **two, mamba_d_ssm=54, projectors_bias=True,
         mamba_norm_before_gate=False, mamba_rms_norm=True)
    case("falcon_h1/head-dim", "FalconH1ForCausalLM", **two, mamba_d_ssm=54, head_dim=10, mamba_d_conv=5)
    case("falcon_h1/kv-absent", "FalconH1ForCausalLM",
         **{key: value for key, value in dict(two, num_attention_heads=16).items() if key != "num_key_value_heads"},
         mamba_d_ssm=30, head_dim=6)
    case("falcon_h1/model", "FalconH1Model", **two, mamba_d_ssm=54)

    nemotron = dict(attention, head_dim=10, mamba_num_heads=6, mamba_head_dim=5, n_groups=2, ssm_state_size=7,
                    chunk_size=4, conv_kernel=3, n_routed_experts=5, num_experts_per_tok=3, moe_intermediate_size=22,
                    moe_shared_expert_intermediate_size=34)
    case("nemotron_h/plain", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="M-M*-", num_hidden_layers=5)
    case("nemotron_h/experts", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="MEM*E")
    case("nemotron_h/pattern-decides", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="M*-",
         num_hidden_layers=3)
    case("nemotron_h/pattern-absent", "NemotronHForCausalLM", **nemotron)
    case("nemotron_h/layers-block-type", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="MMMM",
         layers_block_type=["mamba", "moe", "attention", "mlp", R, F])
    case("nemotron_h/latent", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="ME*E", moe_latent_size=20)
    case("nemotron_h/biases", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="M-E*", use_bias=True,
         mlp_bias=True, use_conv_bias=False, attention_bias=True, mamba_proj_bias=True)
    case("nemotron_h/latent-biases", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="EM", mlp_bias=True,
         moe_latent_size=20, mamba_conv_bias=False)
    case("nemotron_h/aliases", "NemotronHForCausalLM", **nemotron, hybrid_override_pattern="M*E", mamba_n_groups=3,
         mamba_d_conv=5, num_local_experts=7, mamba_expand=5)
    case("nemotron_h/absent", "NemotronHForCausalLM", vocab_size=61, hidden_size=16, num_attention_heads=8,
         intermediate_size=40, mamba_num_heads=16, chunk_size=3, hybrid_override_pattern="ME*-")
    case("nemotron_h/model", "NemotronHModel", **nemotron, hybrid_override_pattern="M*-E")

    base = dict(attention, num_hidden_layers=5, mamba_d_state=7, attn_layer_period=3, attn_layer_offset=1,
                num_experts=5, num_experts_per_tok=3, expert_layer_period=2, expert_layer_offset=0)
    case("jamba/plain", "JambaForCausalLM", **base)
    case("jamba/offsets", "JambaForCausalLM", **dict(base, attn_layer_offset=2, expert_layer_period=4,
                                                     expert_layer_offset=3), tie_word_embeddings=True)
    case("jamba/one-expert", "JambaForCausalLM", **dict(base, num_experts=1, num_hidden_layers=2))
    case("jamba/biases-rank", "JambaForCausalLM", **dict(base, num_hidden_layers=3), mamba_dt_rank=5,
         mamba_proj_bias=True, mamba_conv_bias=False, mamba_expand=3, mamba_d_conv=3)
    case("jamba/head-dim-alias", "JambaForCausalLM", **dict(base, num_hidden_layers=3), head_dim=10,
         num_local_experts=4)
    case("jamba/absent", "JambaForCausalLM", vocab_size=61, hidden_size=32, intermediate_size=30, num_hidden_layers=6,
         num_attention_heads=8)
    case("jamba/model", "JambaModel", **dict(base, num_hidden_layers=3))
    case("jamba/sequence-classification", "JambaForSequenceClassification", **dict(base, num_hidden_layers=3),
         num_labels=3)

    base = dict(vocab_size=61, hidden_size=40, intermediate_size=70, num_attention_heads=4, n_mamba_heads=5,
                mamba_d_state=7, mamba_ngroups=5, chunk_size=4, adapter_rank=3, num_hidden_layers=5)
    two = ["mamba", H, "mamba", "mamba", H]
    three = [R, H, H, R, H]
    case("zamba2/plain", "Zamba2ForCausalLM", **base, layers_block_type=two)
    case("zamba2/two-blocks", "Zamba2ForCausalLM", **base, layers_block_type=three, num_mem_blocks=2)
    case("zamba2/more-blocks-than-uses", "Zamba2ForCausalLM", **base, layers_block_type=two, num_mem_blocks=3)
    case("zamba2/attention-adapters", "Zamba2ForCausalLM", **base, layers_block_type=three, num_mem_blocks=2,
         use_shared_attention_adapter=True, hybrid_layer_ids=[1, 2, 4])
    case("zamba2/biases-untied", "Zamba2ForCausalLM", **base, layers_block_type=two, add_bias_linear=True,
         use_conv_bias=False, tie_word_embeddings=False, use_mem_rope=True)
    case("zamba2/untied-blocks", "Zamba2ForCausalLM", **dict(base, num_hidden_layers=6),
         layers_block_type=[H, R, H, H, H, H], num_mem_blocks=3, use_shared_attention_adapter=True,
         tie_word_embeddings=False)
    case("zamba2/kv-head-dim", "Zamba2ForCausalLM", **base, layers_block_type=two, num_key_value_heads=2,
         attention_head_dim=14, mamba_expand=3, mamba_d_conv=3, mamba_headdim=24)
    case("zamba2/layers-absent", "Zamba2ForCausalLM", vocab_size=61, hidden_size=32, num_attention_heads=4,
         n_mamba_heads=4, mamba_d_state=3, chunk_size=4, adapter_rank=2, _shapes=((2, 5),))
    case("zamba2/no-hybrids", "Zamba2ForCausalLM", **base, layers_block_type=[R] * 5)
    case("zamba2/ids-without-layers", "Zamba2ForCausalLM", vocab_size=61, hidden_size=32, num_attention_heads=4,
         n_mamba_heads=4, mamba_d_state=3, chunk_size=4, adapter_rank=2,
         hybrid_layer_ids=[6, 12, 18, 24, 30, 36, 42, 47, 51], _shapes=((2, 5),))
    case("zamba2/absent", "Zamba2ForCausalLM", vocab_size=61, hidden_size=64, num_hidden_layers=3,
         layers_block_type=[R, H, R], chunk_size=4)
    case("zamba2/model", "Zamba2Model", **base, layers_block_type=two)
    case("zamba2/sequence-classification", "Zamba2ForSequenceClassification", **base, layers_block_type=two,
         num_labels=3)

    base = dict(vocab_size=61, hidden_size=40, intermediate_size=70, num_attention_heads=4, num_key_value_heads=2,
                n_mamba_heads=5, mamba_d_state=7, num_hidden_layers=5)
    case("zamba/plain", "ZambaForCausalLM", **base, layers_block_type=two)
    case("zamba/rule", "ZambaForCausalLM", **dict(base, num_hidden_layers=7), attn_layer_period=3, attn_layer_offset=1)
    case("zamba/one-by-rule", "ZambaForCausalLM", **dict(base, num_hidden_layers=4),
         tie_word_embeddings=False)
    case("zamba/rule-absent", "ZambaForCausalLM", **dict(base, num_hidden_layers=8), mamba_d_conv=3, mamba_dt_rank=6)
    case("zamba/layer-types", "ZambaForCausalLM", **base, layer_types=three, tie_word_embeddings=False)
    case("zamba/biases-expand", "ZambaForCausalLM", **base, layers_block_type=two, mamba_proj_bias=True,
         mamba_conv_bias=False, mamba_expand=3, attention_hidden_size=80)
    case("zamba/head-dim", "ZambaForCausalLM", **base, layers_block_type=two, attention_head_dim=14)
    case("zamba/head-dim-null", "ZambaForCausalLM", **base, layers_block_type=three, attention_head_dim=None,
         attention_hidden_size=None)
    case("zamba/absent", "ZambaForCausalLM", vocab_size=61, hidden_size=32, intermediate_size=30, num_hidden_layers=4,
         layers_block_type=[H, R, H, R])
    case("zamba/model", "ZambaModel", **base, layers_block_type=two)
    case("zamba/sequence-classification", "ZambaForSequenceClassification", **base, layers_block_type=two,
         num_labels=3)
