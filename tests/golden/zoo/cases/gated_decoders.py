# SPDX-License-Identifier: Apache-2.0
"""Dense decoders with a gated MLP: cohere, cohere2, glm, glm4, ernie4_5, smollm3, olmo, olmo3, seed_oss, helium,
stablelm, exaone4, ministral3, cwm, hunyuan_v1_dense, internlm3, iquestcoder, granite_swa, vaultgemma, bitnet,
hyperclovax."""

S, F = "sliding_attention", "full_attention"


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)
    five = dict(gqa, num_hidden_layers=5)

    case("cohere/kv-absent", "CohereForCausalLM", **base)
    case("cohere/gqa-untied-bias", "CohereForCausalLM", **gqa, attention_bias=True, tie_word_embeddings=False)
    case("cohere/query-key-norm", "CohereForCausalLM", **gqa, use_qk_norm=True)
    case("cohere/head-dim", "CohereForCausalLM", **gqa, head_dim=10, use_qk_norm=True)
    case("cohere/nulls", "CohereForCausalLM", **base, num_key_value_heads=None, use_qk_norm=None)
    case("cohere/model", "CohereModel", **gqa)

    case("cohere2/kv-absent", "Cohere2ForCausalLM", **dict(base, num_hidden_layers=5), sliding_window=5)
    case("cohere2/pattern-bias", "Cohere2ForCausalLM", **five, sliding_window=4, sliding_window_pattern=3,
         attention_bias=True)
    case("cohere2/layer-types-untied", "Cohere2ForCausalLM", **dict(gqa, num_hidden_layers=3), sliding_window=4,
         sliding_window_pattern=2, layer_types=[F, S, S], tie_word_embeddings=False)
    case("cohere2/window-absent", "Cohere2ForCausalLM", **gqa)
    case("cohere2/head-dim", "Cohere2ForCausalLM", **gqa, head_dim=10, sliding_window=5)
    case("cohere2/model", "Cohere2Model", **gqa, sliding_window=5)

    for kind, prefix in (("glm", "Glm"), ("glm4", "Glm4")):
        case(kind + "/plain", prefix + "ForCausalLM", **gqa, head_dim=10, pad_token_id=0)
        case(kind + "/kv-and-head-dim-absent", prefix + "ForCausalLM", **dict(base, num_attention_heads=6),
             pad_token_id=0)
        case(kind + "/no-bias-tied", prefix + "ForCausalLM", **gqa, head_dim=14, pad_token_id=0, attention_bias=False,
             tie_word_embeddings=True)
        case(kind + "/model", prefix + "Model", **gqa, head_dim=10, pad_token_id=0)
        case(kind + "/sequence-classification", prefix + "ForSequenceClassification", **gqa, head_dim=10,
             pad_token_id=0, num_labels=3)
        case(kind + "/token-classification", prefix + "ForTokenClassification", **gqa, head_dim=10, pad_token_id=0,
             num_labels=3)

    case("ernie4_5/plain", "Ernie4_5ForCausalLM", **gqa, head_dim=10)
    case("ernie4_5/kv-and-head-dim-absent", "Ernie4_5ForCausalLM", **base)
    case("ernie4_5/nulls", "Ernie4_5ForCausalLM", **base, num_key_value_heads=None, head_dim=None, use_bias=None)
    case("ernie4_5/bias-untied", "Ernie4_5ForCausalLM", **gqa, head_dim=14, use_bias=True, tie_word_embeddings=False)
    case("ernie4_5/model", "Ernie4_5Model", **gqa, head_dim=10)

    case("smollm3/kv-absent", "SmolLM3ForCausalLM", **base, pad_token_id=0)
    case("smollm3/kv-null-window-off", "SmolLM3ForCausalLM", **base, num_key_value_heads=None, pad_token_id=0,
         sliding_window=5)
    case("smollm3/window", "SmolLM3ForCausalLM", **five, pad_token_id=0, use_sliding_window=True, sliding_window=5)
    case("smollm3/window-interval", "SmolLM3ForCausalLM", **five, pad_token_id=0, use_sliding_window=True,
         sliding_window=4, no_rope_layer_interval=2)
    case("smollm3/window-no-rope-layers", "SmolLM3ForCausalLM", **dict(gqa, num_hidden_layers=3), pad_token_id=0,
         use_sliding_window=True, sliding_window=4, no_rope_layers=[0, 1, 0])
    case("smollm3/window-null", "SmolLM3ForCausalLM", **five, pad_token_id=0, use_sliding_window=True)
    case("smollm3/layer-types-head-dim", "SmolLM3ForCausalLM", **dict(gqa, num_hidden_layers=3), pad_token_id=0,
         head_dim=10, use_sliding_window=True, sliding_window=4, layer_types=[S, F, S])
    case("smollm3/biases-untied", "SmolLM3ForCausalLM", **gqa, pad_token_id=0, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=False)
    case("smollm3/model", "SmolLM3Model", **gqa, pad_token_id=0)
    case("smollm3/sequence-classification", "SmolLM3ForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("smollm3/token-classification", "SmolLM3ForTokenClassification", **gqa, pad_token_id=0, num_labels=3)
    case("smollm3/question-answering", "SmolLM3ForQuestionAnswering", **gqa, pad_token_id=0)

    case("olmo/kv-absent", "OlmoForCausalLM", **base)
    case("olmo/gqa-tied", "OlmoForCausalLM", **gqa, tie_word_embeddings=True, clip_qkv=8.0)
    case("olmo/attention-bias-head-dim", "OlmoForCausalLM", **gqa, head_dim=10, attention_bias=True)
    case("olmo/model", "OlmoModel", **base, num_key_value_heads=None)
    case("olmo/sequence-classification", "OlmoForSequenceClassification", **gqa, num_labels=3)

    case("olmo3/kv-absent", "Olmo3ForCausalLM", **dict(base, num_hidden_layers=5), sliding_window=5)
    case("olmo3/window-absent-bias", "Olmo3ForCausalLM", **gqa, attention_bias=True)
    case("olmo3/layer-types-tied", "Olmo3ForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=10, sliding_window=4,
         layer_types=[F, S, S], tie_word_embeddings=True)
    case("olmo3/pattern-ignored", "Olmo3ForCausalLM", **five, sliding_window=4, sliding_window_pattern=2)
    case("olmo3/model", "Olmo3Model", **gqa, sliding_window=5)
    case("olmo3/sequence-classification", "Olmo3ForSequenceClassification", **gqa, sliding_window=5, num_labels=3)

    case("seed_oss/plain", "SeedOssForCausalLM", **gqa, head_dim=10)
    case("seed_oss/kv-absent-head-dim-null", "SeedOssForCausalLM", **dict(base, num_attention_heads=8), head_dim=None)
    case("seed_oss/biases-tied", "SeedOssForCausalLM", **gqa, head_dim=14, attention_bias=False,
         attention_out_bias=True, mlp_bias=True, tie_word_embeddings=True)
    case("seed_oss/head-dim-absent", "SeedOssForCausalLM", **base, num_key_value_heads=None)
    case("seed_oss/model", "SeedOssModel", **gqa, head_dim=10)
    case("seed_oss/sequence-classification", "SeedOssForSequenceClassification", **gqa, head_dim=10, num_labels=3)
    case("seed_oss/token-classification", "SeedOssForTokenClassification", **gqa, head_dim=10, num_labels=3)
    case("seed_oss/question-answering", "SeedOssForQuestionAnswering", **gqa, head_dim=10)

    case("helium/plain", "HeliumForCausalLM", **gqa, head_dim=12)
    case("helium/biases-tied", "HeliumForCausalLM", **gqa, head_dim=12, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=True)
    case("helium/kv-and-head-dim-absent", "HeliumForCausalLM", vocab_size=61, hidden_size=2560, intermediate_size=70,
         num_hidden_layers=1, num_attention_heads=20)
    case("helium/model", "HeliumModel", **gqa, head_dim=12)
    case("helium/sequence-classification", "HeliumForSequenceClassification", **gqa, head_dim=12, num_labels=3)
    case("helium/token-classification", "HeliumForTokenClassification", **gqa, head_dim=12, num_labels=3)

    stable = dict(gqa, hidden_size=64)
    case("stablelm/plain", "StableLmForCausalLM", **stable)
    case("stablelm/kv-absent", "StableLmForCausalLM", **dict(base, num_attention_heads=32, hidden_size=256))
    case("stablelm/bias-norms-tied", "StableLmForCausalLM", **stable, use_qkv_bias=True, qk_layernorm=True,
         tie_word_embeddings=True)
    case("stablelm/parallel-residual", "StableLmForCausalLM", **stable, use_parallel_residual=True)
    case("stablelm/model", "StableLmModel", **stable, use_parallel_residual=True, qk_layernorm=True)
    case("stablelm/sequence-classification", "StableLmForSequenceClassification", **stable, num_labels=3,
         pad_token_id=0)
    case("stablelm/token-classification", "StableLmForTokenClassification", **stable, num_labels=3)

    case("exaone4/plain", "Exaone4ForCausalLM", **five, sliding_window=5)
    case("exaone4/pattern-tied", "Exaone4ForCausalLM", **five, sliding_window=4, sliding_window_pattern=3,
         tie_word_embeddings=True)
    case("exaone4/layer-types-head-dim", "Exaone4ForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=10,
         sliding_window=4, sliding_window_pattern="LLG", layer_types=[F, S, S])
    case("exaone4/window-null", "Exaone4ForCausalLM", **gqa, sliding_window=None, layer_types=[F, F])
    case("exaone4/kv-and-window-absent", "Exaone4ForCausalLM", **dict(base, num_attention_heads=32, hidden_size=64))
    case("exaone4/model", "Exaone4Model", **gqa, sliding_window=5)
    case("exaone4/sequence-classification", "Exaone4ForSequenceClassification", **gqa, sliding_window=5, num_labels=3,
         pad_token_id=0)
    case("exaone4/token-classification", "Exaone4ForTokenClassification", **gqa, sliding_window=5, num_labels=3)
    case("exaone4/question-answering", "Exaone4ForQuestionAnswering", **gqa, sliding_window=5)

    case("ministral3/plain", "Ministral3ForCausalLM", **gqa, head_dim=10)
    case("ministral3/window-tied", "Ministral3ForCausalLM", **gqa, head_dim=14, sliding_window=5,
         tie_word_embeddings=True)
    case("ministral3/layer-types-ignored", "Ministral3ForCausalLM", **gqa, head_dim=10, sliding_window=5,
         layer_types=[S, F])
    case("ministral3/window-null", "Ministral3ForCausalLM", **base, num_key_value_heads=1, sliding_window=None)
    case("ministral3/kv-and-head-dim-absent", "Ministral3ForCausalLM", **dict(base, num_attention_heads=16))
    case("ministral3/model", "Ministral3Model", **gqa, head_dim=10)
    case("ministral3/sequence-classification", "Ministral3ForSequenceClassification", **gqa, head_dim=10, num_labels=3,
         pad_token_id=0)
    case("ministral3/token-classification", "Ministral3ForTokenClassification", **gqa, head_dim=10, num_labels=3)
    case("ministral3/question-answering", "Ministral3ForQuestionAnswering", **gqa, head_dim=10)

    case("cwm/plain", "CwmForCausalLM", **five, head_dim=10, sliding_window=5)
    case("cwm/bias-layer-types-tied", "CwmForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=14, mlp_bias=True,
         sliding_window=4, layer_types=[S, S, F], tie_word_embeddings=True)
    case("cwm/kv-head-dim-window-absent", "CwmForCausalLM", **dict(base, num_attention_heads=16))
    case("cwm/model", "CwmModel", **gqa, head_dim=10, sliding_window=5)

    case("hunyuan_v1_dense/kv-absent", "HunYuanDenseV1ForCausalLM", **base, head_dim=12)
    case("hunyuan_v1_dense/gqa-tied", "HunYuanDenseV1ForCausalLM", **gqa, head_dim=10, tie_word_embeddings=True)
    case("hunyuan_v1_dense/attention-bias", "HunYuanDenseV1ForCausalLM", **gqa, head_dim=14, attention_bias=True)
    case("hunyuan_v1_dense/model", "HunYuanDenseV1Model", **gqa, head_dim=10)
    case("hunyuan_v1_dense/sequence-classification", "HunYuanDenseV1ForSequenceClassification", **gqa, head_dim=10,
         num_labels=3)

    case("internlm3/plain", "InternLM3ForCausalLM", **gqa, head_dim=10, qkv_bias=False, bias=False,
         _class="LlamaForCausalLM")
    case("internlm3/biases-tied", "InternLM3ForCausalLM", **gqa, head_dim=10, qkv_bias=True, bias=True,
         tie_word_embeddings=True, _class="LlamaForCausalLM")
    case("internlm3/biases-other-names", "LlamaForCausalLM", **gqa, head_dim=14, attention_bias=True, mlp_bias=True)
    case("internlm3/kv-and-head-dim-absent", "LlamaForCausalLM", **base)
    case("internlm3/nulls-model", "InternLM3Model", **base, num_key_value_heads=None, head_dim=None,
         _class="LlamaModel")

    case("iquestcoder/plain", "IQuestCoderForCausalLM", **gqa, head_dim=10, _class="LlamaForCausalLM")
    case("iquestcoder/biases-tied", "LlamaForCausalLM", **gqa, head_dim=10, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=True)
    case("iquestcoder/kv-and-head-dim-absent", "LlamaForCausalLM", **dict(base, num_attention_heads=16))
    case("iquestcoder/nulls-model", "LlamaModel", **base, num_key_value_heads=None, head_dim=None)

    case("granite_swa/plain", "GraniteSWAForCausalLM", **five, sliding_window=5)
    case("granite_swa/biases-untied", "GraniteSWAForCausalLM", **gqa, sliding_window=4, attention_bias=True,
         mlp_bias=True, tie_word_embeddings=False)
    case("granite_swa/layer-types-head-dim", "GraniteSWAForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=10,
         sliding_window=4, layer_types=[S, F, S])
    case("granite_swa/kv-and-window-absent", "GraniteSWAForCausalLM", **dict(base, num_attention_heads=12))
    case("granite_swa/kv-null-model", "GraniteSWAModel", **base, num_key_value_heads=None, sliding_window=5)

    case("vaultgemma/plain", "VaultGemmaForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=10, sliding_window=5)
    case("vaultgemma/layer-types-untied-bias", "VaultGemmaForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=14,
         sliding_window=4, layer_types=[F, S, S], tie_word_embeddings=False, attention_bias=True)
    case("vaultgemma/kv-head-dim-window-absent", "VaultGemmaForCausalLM", **base)
    case("vaultgemma/model", "VaultGemmaModel", **gqa, head_dim=10, sliding_window=5)

    case("bitnet/plain", "BitNetForCausalLM", **gqa)
    case("bitnet/bias-tied", "BitNetForCausalLM", **gqa, attention_bias=True, tie_word_embeddings=True)
    case("bitnet/kv-absent", "BitNetForCausalLM", **dict(base, num_attention_heads=10, hidden_size=60))
    case("bitnet/model", "BitNetModel", **base, num_key_value_heads=None)

    case("hyperclovax/kv-absent", "HyperCLOVAXForCausalLM", **base)
    case("hyperclovax/no-post-norm-tied", "HyperCLOVAXForCausalLM", **gqa, use_post_norm=False, head_dim=10,
         tie_word_embeddings=True)
    case("hyperclovax/biases", "HyperCLOVAXForCausalLM", **gqa, attention_bias=True, mlp_bias=True)
    case("hyperclovax/nulls-model", "HyperCLOVAXModel", **base, num_key_value_heads=None, head_dim=None)
