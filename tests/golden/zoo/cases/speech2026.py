# SPDX-License-Identifier: Apache-2.0
"""Speech and omni models of 2025 and 2026."""

import feeds
from cases.audio import of_chunks

DIFFERENCES = {"qwen3_omni_moe_thinker": of_chunks, "qwen3_omni_moe": of_chunks, "qwen2_5_omni": of_chunks}


def qwen_omni(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3, rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                                            mrope_section=[2, 1, 1]))
    sparse = dict(text, num_hidden_layers=3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=22,
                  mlp_only_layers=[1])
    audio = dict(num_mel_bins=10, d_model=40, encoder_layers=3, encoder_attention_heads=5, encoder_ffn_dim=66)
    audio3 = dict(audio, output_dim=48, downsample_hidden_size=12, n_window_infer=230, max_source_positions=30)
    vision = dict(depth=3, hidden_size=24, num_heads=3, intermediate_size=38, out_hidden_size=48, patch_size=5)
    deep = dict(vision, num_position_embeddings=49, deepstack_visual_indexes=[0, 2])
    tokens = dict(audio_token_id=7, image_token_id=8, video_token_id=9, audio_start_token_id=6)
    thinker = dict(text_config=sparse, audio_config=audio3, vision_config=deep, **tokens)
    case("qwen3_omni_moe_thinker/generation", "Qwen3OmniMoeThinkerForConditionalGeneration", **thinker,
         _feed=feeds.omni)
    case("qwen3_omni_moe_thinker/tied", "Qwen3OmniMoeThinkerForConditionalGeneration", **{
        **thinker, "text_config": dict(sparse, head_dim=10)}, tie_word_embeddings=True, _feed=feeds.omni)
    case("qwen3_omni_moe_thinker/model", "Qwen3OmniMoeThinkerModel", **thinker, _feed=feeds.omni)
    case("qwen3_omni_moe/thinker", None, thinker_config=thinker, enable_audio_output=False,
         _class="Qwen3OmniMoeThinkerForConditionalGeneration", _feed=feeds.omni)
    case("qwen3_omni_moe_text/model", "Qwen3OmniMoeThinkerTextModel", **sparse)
    case("qwen3_omni_moe_text/every-second", "Qwen3OmniMoeThinkerTextModel", **dict(sparse, decoder_sparse_step=2),
         attention_bias=True)
    case("qwen3_omni_moe_vision_encoder/encoder", "Qwen3OmniMoeVisionEncoder", **dict(
        deep, deepstack_visual_indexes=[]), _loss=["pooler_output"], _feed=feeds.patches_alone)
    case("qwen2_5_omni/thinker", None, thinker_config=dict(
        text_config=text, audio_config=dict(audio, n_window=6, max_source_positions=30, output_dim=48),
        vision_config=dict(vision, window_size=20, fullatt_block_indexes=[1]), audio_token_index=7,
        image_token_index=8, video_token_index=9, audio_start_token_id=6, audio_end_token_id=5),
         _class="Qwen2_5OmniThinkerForConditionalGeneration", _feed=feeds.seen_and_heard)
    case("qwen2_5_omni_text/model", "Qwen2_5OmniThinkerTextModel", **text)
    case("qwen2_5_omni_text/window", "Qwen2_5OmniThinkerTextModel", **text, use_sliding_window=True, sliding_window=4,
         max_window_layers=1)
    case("qwen2_5_omni_vision_encoder/encoder", "Qwen2_5OmniVisionEncoder", **vision, window_size=20,
         fullatt_block_indexes=[1], _loss=["pooler_output"], _feed=feeds.patches_alone)


def cases(case):
    qwen_omni(case)
