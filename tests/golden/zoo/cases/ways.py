# SPDX-License-Identifier: Apache-2.0
"""Ways of the pages that no other case goes: the other side of an `and` or an `or`."""

S, F, A, L = "sliding_attention", "full_attention", "attention", "linear_attention"


def cases(case):
    like = case.like
    like("moe_decoders_a", "aria_text/no-shared", "no-shared-biases", mlp_bias=True)
    like("audio", "audio-spectrogram-transformer/model", "no-architectures", architectures=...,
         _class="ASTForAudioClassification")
    like("encoders_b", "deberta-v2/c2p-types", "types-in-capitals", pos_att_type="P2C|C2P")
    like("linear_attention", "qwen3_next/plain", "no-experts", num_experts=0)
    like("qwen_vl", "qwen3_vl_moe/generation", "no-experts", text_config={"num_local_experts": 0})
    like("audio", "wav2vec2/ctc", "features-masked", mask_time_prob=0.0, mask_feature_prob=0.1)
    like("state_space", "zamba/one-by-rule", "offset-above-the-period", num_hidden_layers=9, attn_layer_offset=3,
         attn_layer_period=2)
    like("state_space", "zamba2/no-hybrids", "no-hybrids-adapters", use_shared_attention_adapter=True)
    # A text that says it is tied, in a model that says no.
    for group, name in (("image_text2026", "blip/captions"), ("image_text2026", "kosmos-2/generation"),
                        ("image_text2026", "ernie4_5_vl_moe/generation"),
                        ("sparse_vision_language", "glm5_next/generation"), ("vision_language", "llava/generation"),
                        ("vision_language", "llava_next_video/tiles"), ("vision_language", "llava_onevision/generation"),
                        ("qwen_vl", "glm4v/generation"), ("qwen_vl", "qwen2_vl/generation"),
                        ("qwen_vl", "qwen3_vl/generation"), ("qwen_vl", "qwen2_5_vl/generation"),
                        ("qwen_vl", "video_llama_3/generation"), ("sparse_vision_language", "minimax_m3_vl/generation"),
                        ("qwen_vl", "hunyuan_vl/generation"), ("qwen_vl", "paddleocr_vl/generation"),
                        ("vision_language", "aya_vision/generation"), ("vision_language", "mistral3/generation"),
                        ("vision_language", "internvl/generation"), ("vision_language", "lfm2_vl/generation")):
        like(group, name, "text-tied", tie_word_embeddings=False, text_config={"tie_word_embeddings": True})
        like(group, name, "tied-but-the-text", tie_word_embeddings=True, text_config={"tie_word_embeddings": False})
    for name in ("hunyuan_vl", "paddleocr_vl"):
        like("qwen_vl", name + "/generation", "untied", tie_word_embeddings=False,
             text_config={"tie_word_embeddings": False})
        like("qwen_vl", name + "/generation", "text-alone-tied", text_config={"tie_word_embeddings": True})
        like("qwen_vl", name + "/flat", "flat-untied", tie_word_embeddings=False)
    like("image_text2026", "ernie4_5_vl_moe/generation", "no-shared-biases",
         text_config={"use_bias": True, "moe_num_shared_experts": 0})
    # A text alone that says it is not is another matter: these classes would tie it, and lose a matrix that its file has.
    for name in ("aya_vision", "mistral3", "internvl", "lfm2_vl"):
        like("vision_language", name + "/generation", "text-alone-tied", text_config={"tie_word_embeddings": True})
    for group, name in (("image_text2026", "ernie4_5_vl_moe/generation"), ("image_text2026", "blip/captions"),
                        ("image_text2026", "kosmos-2/generation"),
                        ("sparse_vision_language", "glm5_next/generation"),
                        ("vision_language", "llava_onevision/generation"), ("vision_language", "llava/generation")):
        like(group, name, "text-alone-tied", text_config={"tie_word_embeddings": True})
        like(group, name, "text-alone-untied", text_config={"tie_word_embeddings": False})
    # Layers by rule, beyond those of the published models.
    like("linear_attention", "olmo_hybrid/few-layers", "attention-by-an-older-name", layer_types=[L, A])
    like("linear_attention", "minimax/plain", "attention-by-an-older-name", layer_types=[L, A, F])
    like("qwen_vl", "qwen2_5_vl/generation", "more-blocks-than-its-list",
         vision_config={"depth": 40, "fullatt_block_indexes": ...})
    like("linear_attention", "bailing_hybrid/plain", "attention-by-an-older-name", layer_types=[L, A, L, F])
    like("linear_attention", "kimi_linear/plain", "attention-by-an-older-name", layer_types=[L, A, L])
    like("image_text2026", "muse_glimmer/generation", "four-blocks", vision_config={"num_hidden_layers": 5})
    like("vision_language_b", "mllama/lists-absent", "more-layers-than-its-list",
         text_config={"num_hidden_layers": 44, "cross_attention_layers": ...})
    like("linear_attention", "kimi_linear/checkpoint-names", "one-list", linear_attn_config={"kda_layers": ...})
    like("linear_attention", "kimi_linear/checkpoint-names", "a-layer-in-both-lists",
         linear_attn_config={"full_attn_layers": [1, 2, 4], "kda_layers": [1, 3]})
    like("vision2026", "regnet/x", "levels-as-wide", embedding_size=16, hidden_sizes=[16, 16, 40])
    like("vision2026", "resnet/basic", "levels-as-wide", embedding_size=16, hidden_sizes=[16, 16, 40])
    like("image_text2026", "deepseek_ocr2_vision/model", "heads-of-keys-null", encoder_config={"num_key_value_heads": None})
