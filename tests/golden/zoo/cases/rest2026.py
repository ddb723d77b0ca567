# SPDX-License-Identifier: Apache-2.0
"""What the other groups left out: lfm3_vl; t5gemma and its windows on both sides; aria; molmo2; instructblip; sam and
gemma3n whole; neomme; pop2piano; inkling_text."""

import feeds
from cases.audio import of_waveform
from cases.encoder_decoders import relative_bias
from cases.qwen_vl import RAGGED
from cases.speech2026 import of_gemma3n
from cases.text2026 import short_convolution
from cases.vision2026 import whole_windows
from cases.vision_language_b import bias_of_text

S, F, CONV = "sliding_attention", "full_attention", "conv"
TOKEN = dict(image_token_id=7)


def cases(case):
    lfm(case)
    t5gemma(case)
    aria(case)
    instructed(case)
    molmo(case)
    sam(case)
    gemma3n(case)
    neomme(case)
    piano(case)
    inkling(case)
    sewd(case)


# ---- lfm3_vl: a tower of convolutions over rows and columns between layers of attention ----


def grid_convolutions(config, batch, length, fused, grids, **_):
    """The text's short convolutions pad (kernel - 1 positions too many); a depthwise weight gradient is taken as dense."""
    vision = getattr(config, "vision_config", config)
    patches = sum(t * h * w for t, h, w in grids)
    layers = sum(kind == CONV for kind in vision.layer_types)
    dense = 2 * layers * patches * vision.conv_kernel_size ** 2 * vision.hidden_size * (vision.hidden_size - 1)
    found = {"grid_weights": {"forward": 0, "backward": dense,
                              "why": "the counter takes a depthwise weight gradient as dense"}}
    if vision is not config:
        found.update(short_convolution(config.text_config, batch, length, fused))
    return found


def lfm(case):
    text = dict(model_type="lfm3", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=4,
                num_attention_heads=6, num_key_value_heads=2, head_dim=10, sliding_window=5, pad_token_id=0)
    tower = dict(hidden_size=40, intermediate_size=58, num_hidden_layers=4, num_attention_heads=5,
                 num_key_value_heads=5, in_channels=2, patch_size=3)
    shared = dict(tower, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
                  layer_types=[F, CONV, F], conv_kernel_size=5)
    whole = dict(text_config=text, image_token_id=7, video_token_id=8, vision_start_token_id=9, vision_end_token_id=10,
                 _differences=grid_convolutions)
    case("lfm3_vl/generation", "Lfm3VlForConditionalGeneration", **whole, vision_config=tower,
         projector_hidden_size=66, _feed=feeds.patches)
    case("lfm3_vl/untied-grouped", "Lfm3VlForConditionalGeneration", **whole, vision_config=shared,
         projector_hidden_size=50, projector_bias=False, tie_word_embeddings=False, _feed=feeds.patches,
         _samples=RAGGED)
    case("lfm3_vl/model", "Lfm3VlModel", **whole, vision_config=tower, projector_hidden_size=66, _feed=feeds.patches)
    case("lfm3_vl_vision/model", "Lfm3VlVisionModel", **tower, _differences=grid_convolutions,
         _feed=feeds.variant(feeds.patches_alone, values_name="pixel_values", grid_name="grid_thw"))


# ---- t5gemma: an encoder that sees windows to both sides ----


def t5gemma(case):
    side = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=2, head_dim=10, sliding_window=2, pad_token_id=0)
    wider = dict(side, hidden_size=36, num_key_value_heads=3, intermediate_size=50,
                 num_hidden_layers=4, layer_types=[F, S, S, F], attention_bias=True, vocab_size=71)
    for name, built in (("generation", "T5GemmaForConditionalGeneration"), ("model", "T5GemmaModel"),
                        ("classification", "T5GemmaForSequenceClassification"),
                        ("tokens", "T5GemmaForTokenClassification")):
        case(f"t5gemma/{name}", built, encoder=side, decoder=dict(side, vocab_size=61), pad_token_id=0)
    case("t5gemma/two-widths", "T5GemmaForConditionalGeneration", encoder=wider, decoder=dict(side, sliding_window=4),
         tie_word_embeddings=False, pad_token_id=0)


# ---- aria: so many queries of an image as a table of its patches says ----


def aria(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=22, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3, moe_num_experts=5, moe_topk=2, moe_num_shared_experts=2, pad_token_id=0)
    tower = dict(model_type="idefics3_vision", hidden_size=40, num_hidden_layers=4, num_attention_heads=5,
                 intermediate_size=66, image_size=28, patch_size=7, num_channels=2)
    table = {"16": 3, "9": 5}
    whole = dict(text_config=text, image_token_index=7, _feed=feeds.image_text, _differences=plain_queries)
    case("aria/generation", "AriaForConditionalGeneration", **whole, vision_config=tower,
         projector_patch_to_query_dict=table)
    case("aria/other-entry", "AriaForConditionalGeneration", **whole, vision_config=dict(tower, image_size=21),
         projector_patch_to_query_dict=table, vision_feature_layer=-2)
    case("aria/table-absent", "AriaModel", **dict(whole, _attention=("eager",)), vision_config=dict(
        tower, image_size=70, patch_size=2))
    case("aria/one-entry", "AriaModel", **whole, vision_config=tower, projector_patch_to_query_dict={"16": 4})


def plain_queries(config, batch, length, fused, grids):
    """nn.MultiheadAttention returns its weights, for which it runs the plain products, whatever the towers run."""
    table, width = config.projector_patch_to_query_dict, config.vision_config.hidden_size
    product = sum(2 * t * h * w * table[h * w] * width for t, h, w in grids)
    return {"plain_core": {"forward": 0, "backward": -product if fused else 0,
                           "why": "the queries' attention is not fused: its backward runs QKᵀ no second time"}}


# ---- instructblip: queries beside the words of an instruction ----


def instructed(case):
    vision = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=21,
                  patch_size=7)
    former = dict(hidden_size=36, num_hidden_layers=3, num_attention_heads=4, intermediate_size=50, vocab_size=71,
                  max_position_embeddings=20, encoder_hidden_size=40)
    opt = dict(model_type="opt", vocab_size=101, hidden_size=48, ffn_dim=70, num_hidden_layers=2,
               num_attention_heads=6, word_embed_proj_dim=48, max_position_embeddings=64)
    llama = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3)
    t5 = dict(model_type="t5", vocab_size=101, d_model=48, d_kv=7, d_ff=70, num_layers=2, num_decoder_layers=3,
              num_heads=6, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    case("instructblip/generation", "InstructBlipForConditionalGeneration", vision_config=vision, num_query_tokens=5,
         qformer_config=former, text_config=opt, image_token_index=7, _feed=feeds.instructed)
    case("instructblip/each-layer", "InstructBlipForConditionalGeneration", vision_config=dict(vision, qkv_bias=False), text_config=llama,
         qformer_config=dict(former, cross_attention_frequency=1), num_query_tokens=3, image_token_index=7,
         _feed=feeds.instructed)
    case("instructblip/text-to-text", "InstructBlipForConditionalGeneration", vision_config=vision, text_config=t5,
         qformer_config=former, num_query_tokens=5, image_token_index=7,
         _feed=feeds.variant(feeds.instructed, decoded=11), _differences=lambda *shape, measured, **more: bias_of_text(
             *shape, **more))
    case("instructblipvideo/generation", "InstructBlipVideoForConditionalGeneration", vision_config=vision,
         qformer_config=former, text_config=opt, num_query_tokens=5, video_token_index=7,
         _feed=feeds.variant(feeds.instructed, frames=3))


# ---- molmo2: words that pool patches of crops, as the processor chooses ----


def molmo(case):
    text = dict(vocab_size=101, additional_vocab_size=7, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                num_attention_heads=6, num_key_value_heads=3, head_dim=10)
    tower = dict(hidden_size=40, num_hidden_layers=4, num_attention_heads=5, num_key_value_heads=5, head_dim=8,
                 intermediate_size=66, image_size=[21, 28], patch_size=7, num_channels=2)
    adapter = dict(hidden_size=40, num_attention_heads=5, num_key_value_heads=5, head_dim=8, intermediate_size=38,
                   text_hidden_size=48, vision_feature_layer=[3, 1])
    tokens = dict(image_patch_id=7, image_start_token_id=8, low_res_image_start_token_id=9, image_end_token_id=10,
                  frame_start_token_id=11, frame_end_token_id=12)
    case("molmo2/generation", "Molmo2ForConditionalGeneration", text_config=text, vision_config=tower,
         adapter_config=adapter, **tokens, _feed=feeds.pooled_crops)
    case("molmo2/one-layer-before-the-last", "Molmo2Model", **tokens, _feed=feeds.pooled_crops,
         text_config=dict(text, qk_norm_type="olmo", norm_after=True, attention_bias=True),
         vision_config=dict(tower, attention_bias=False, num_key_value_heads=1),
         adapter_config=dict(adapter, vision_feature_layer=[-2], attention_bias=False, mlp_bias=True))
    case("molmo2/layers-and-size-absent", "Molmo2Model", text_config=text, **tokens, _feed=feeds.pooled_crops,
         vision_config=dict({key: value for key, value in tower.items() if key != "image_size"}, patch_size=126,
                            num_hidden_layers=25),
         adapter_config={key: value for key, value in adapter.items() if key != "vision_feature_layer"})
    case("molmo2_text/model", "Molmo2TextModel", **text)
    case("molmo2_text/full-norms", "Molmo2TextModel", **dict(text, additional_vocab_size=0), qk_norm_type="olmo")


# ---- sam: a mask for each prompt, whose points see the cells of an image and are seen ----


def sam(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, mlp_dim=58, output_channels=32,
                 image_size=48, patch_size=8, num_channels=2, window_size=4, global_attn_indexes=[1], num_pos_feats=16)
    prompts = dict(hidden_size=32, image_size=48, patch_size=8, mask_input_channels=8)
    decoder = dict(hidden_size=32, mlp_dim=50, num_hidden_layers=2, num_attention_heads=4, iou_head_hidden_dim=22)
    case("sam/points", "SamModel", vision_config=tower, prompt_encoder_config=prompts, mask_decoder_config=decoder,
         _feed=feeds.prompted, _loss=["pred_masks", "iou_scores"], _differences=padded_windows, _attention=("eager",))
    case("sam/shallow", "SamModel", vision_config=tower, prompt_encoder_config=prompts, mask_decoder_config=dict(
        decoder, iou_head_depth=2, num_hidden_layers=1), _feed=feeds.prompted, _loss=["pred_masks", "iou_scores"],
         _differences=padded_windows, _attention=("eager",))
    case("sam/deeper", "SamModel", vision_config=dict(tower, window_size=3), prompt_encoder_config=prompts,
         mask_decoder_config=dict(decoder, num_hidden_layers=3, num_multimask_outputs=4, iou_head_depth=4,
                                  attention_downsample_rate=1), _feed=feeds.prompted,
         _loss=["pred_masks", "iou_scores"], _differences=padded_windows, _attention=("eager",))


def padded_windows(config, batch, length, fused, grids, measured):
    return whole_windows(config.vision_config, batch, length, fused, grids)


# ---- gemma3n whole: timm's MobileNet-V5, as the library builds it ----


def gemma3n(case):
    text = dict(vocab_size=115, vocab_size_per_layer_input=101, hidden_size=48, intermediate_size=70,
                num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=8, num_kv_shared_layers=1,
                hidden_size_per_layer_input=6, altup_num_inputs=3, laurel_rank=4, sliding_window=9,
                layer_types=[S, F, S], pad_token_id=0)
    sound = dict(hidden_size=40, conf_num_hidden_layers=2, conf_num_attention_heads=5, sscp_conv_channel_size=[12, 6],
                 conf_attention_chunk_size=4, conf_attention_context_left=5, input_feat_size=14, vocab_size=5,
                 vocab_offset=110)
    case("gemma3n/generation", "Gemma3nForConditionalGeneration", text_config=text, audio_config=sound,
         vision_config=dict(vocab_size=9, vocab_offset=101), image_token_id=105, audio_token_id=112, boi_token_id=90,
         eoi_token_id=103, boa_token_id=91, eoa_token_id=111, _feed=feeds.cells_and_sound, _attention=("eager",),
         _differences=of_gemma3n_whole, _pairs=False)
    case("gemma3n_vision/model", None, _class="TimmWrapperModel", num_classes=2, _feed=feeds.cells_of_pixels, _attention=("eager",),
         _differences=lambda config, *shape, grids: depthwise(grids))


def depthwise(grids):
    """The weight gradients of MobileNet-V5's convolutions of each channel by itself."""
    cells = sum(t * h * w for t, h, w in grids)
    # (side of the kernel, channels, cells of the level by cells of the grid): each channel by itself
    kernels = ([(3, 128, 16), (5, 768, 4)] + [(5, 256, 4), (3, 256, 4)] * 2 + [(5, 256, 4), (5, 1536, 1)]
               + [(5, 640, 1)] * 7 + [(3, 640, 1 / 4)] * 28 + [(5, 640, 1), (5, 3840, 1 / 4)])
    dense = sum(int(2 * side ** 2 * channels * (channels - 1) * share * cells) for side, channels, share in kernels)
    return {"depthwise": {"forward": 0, "backward": dense,
                          "why": "the counter takes a depthwise weight gradient as dense"}}


def of_gemma3n_whole(config, batch, length, fused, grids, audio_frames=()):
    """Every word of the text passes the tables of both towers' words, and one of those is kept; the rest is the towers'."""
    wide, sound, text = config.vision_config.hidden_size, config.audio_config.hidden_size, config.text_config.hidden_size
    words = 2 * batch * length * text * (wide + sound) + (2 * text * sound if audio_frames else 0)
    found = {"hard_words": {"forward": words, "backward": 2 * words,
                            "why": "all words are looked up among those of images and of sound, projected, and left out"}, **depthwise(grids)}
    inner = config.text_config
    scores = 2 * batch * length ** 2 * inner.num_hidden_layers * inner.num_attention_heads * inner.head_dim
    if audio_frames:
        audio = config.audio_config
        found.update(of_gemma3n(audio, batch, length, fused, audio_frames))
        frames, reach = ((audio_frames[0] - 1) // 2 + 1 - 1) // 2 + 1, audio.conf_attention_context_left
        pairs = sum(query - key < reach for query in range(frames) for key in range(query + 1))
        scores += 2 * 2 * pairs * audio.hidden_size * audio.conf_num_hidden_layers * len(audio_frames)
    # Only the images' attention is in a fused kernel.
    found["plain_cores"] = {"forward": 0, "backward": -scores,
                            "why": "words and frames attend by plain products: their backward runs QKᵀ no second time"}
    return found


# ---- neomme: words and patches in one encoder ----


def neomme(case):
    text = dict(vocab_size=101, embedding_rank=12, hidden_size=48, intermediate_size=70, num_hidden_layers=7,
                num_attention_heads=4, num_key_value_heads=2, head_dim=16, sliding_window=3, patch_size=3,
                image_token_id=7, embedding_dim=10)
    case("neomme/masked-words", "NeoMMEForMaskedLM", **text, _feed=feeds.documents)
    case("neomme/untied-biases", "NeoMMEForMaskedLM", **dict(text, num_hidden_layers=4), layer_types=[S, S, F, S],
         attention_bias=True, mlp_bias=True, tie_word_embeddings=False, _feed=feeds.documents)
    case("neomme/retrieval", "NeoMMEForRetrieval", **dict(text, num_hidden_layers=3), _feed=feeds.documents,
         _loss=["embeddings"])
    case("neomme/model", "NeoMMEModel", **text, _feed=feeds.documents)


# ---- pop2piano: T5 from frames of a spectrogram ----


def piano(case):
    t5 = dict(vocab_size=101, composer_vocab_size=7, d_model=40, d_kv=7, d_ff=66, num_layers=2, num_decoder_layers=3,
              num_heads=6)
    for name, more in (("generation", {}), ("plain", {"feed_forward_proj": "relu", "num_decoder_layers": None})):
        case(f"pop2piano/{name}", "Pop2PianoForConditionalGeneration", **dict(t5, **more), _inputs=spectrogram,
             _differences=relative_bias)


def spectrogram(config, batch, length, encoder_length):
    import torch
    return {"input_ids": None, "input_features": torch.randn(batch, encoder_length, config.d_model)}


# ---- inkling: four short convolutions in a layer ----


def inkling(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, moe_intermediate_size=22, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=2, head_dim=10, swa_num_attention_heads=4,
                swa_num_key_value_heads=4, swa_head_dim=10, sliding_window_size=5, d_rel=3, rel_extent=6,
                n_routed_experts=5, num_experts_per_tok=2, n_shared_experts=2, pad_token_id=0,
                layer_types=["hybrid", "hybrid_sliding", "hybrid"], _differences=four_convolutions)
    case("inkling_text/plain", "InklingForCausalLM", **text)
    case("inkling_text/dense-first", "InklingForCausalLM", **dict(text, layer_types=None, num_hidden_layers=7),
         mlp_layer_types=["dense"] + ["sparse"] * 6)
    case("inkling_text/older-names", "InklingForCausalLM", **dict(text, layer_types=None), local_layer_ids=[0, 2],
         dense_mlp_idx=2, dense_intermediate_size=58, sconv_kernel_size=3, num_local_experts=4)
    case("inkling_text/model", "InklingTextModel", **dict(text, swa_num_attention_heads=2, swa_num_key_value_heads=1,
                                                       swa_head_dim=20))


def four_convolutions(config, batch, length, fused):
    """Convolutions over kernel - 1 positions too many, whose weight gradient the counter takes as dense."""
    kernel, padding, weights = config.conv_kernel_size, 0, 0
    for kind in config.layer_types:
        keys = (config.swa_num_key_value_heads * config.swa_head_dim if kind == "hybrid_sliding"
                else config.num_key_value_heads * config.head_dim)
        for channels in (keys, keys, config.hidden_size, config.hidden_size):
            padding += 2 * batch * kernel * channels * (kernel - 1)
            weights += 2 * batch * kernel * channels * (length + kernel - 1) * (channels - 1)
    return {"padding": {"forward": padding, "backward": 2 * padding,
                        "why": "the convolutions run over kernel - 1 positions too many, cut off afterwards"},
            "conv_groups": {"forward": 0, "backward": weights,
                            "why": "the counter takes a depthwise weight gradient as dense"}}


# ---- sew-d: SEW with DeBERTa's layers ----


def sewd(case):
    sizes = dict(vocab_size=31, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=70,
                 conv_dim=[12, 14, 20], conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2], num_feat_extract_layers=3,
                 num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4, classifier_proj_size=22,
                 position_buckets=5, _feed=feeds.waveform, _differences=of_sewd, _attention=("eager",))
    for name, built in (("ctc", "SEWDForCTC"), ("model", "SEWDModel"), ("classification", "SEWDForSequenceClassification")):
        case(f"sew-d/{name}", built, **sizes)
    case("sew-d/keys-of-their-own", "SEWDModel", **dict(sizes, share_att_key=False, pos_att_type=["c2p"]),
         norm_rel_ebd="none")
    case("sew-d/without-positions", "SEWDModel", **dict(sizes, position_buckets=-1), relative_attention=False,
         mask_time_prob=0.0, mask_feature_prob=0.0)
    case("sew-d/so-many-distances", "SEWDModel", **dict(sizes, position_buckets=-1), max_relative_positions=7)
    case("sew-d/every-distance", "SEWDForSequenceClassification", **dict(sizes, position_buckets=-1),
         max_position_embeddings=9)


def of_sewd(config, batch, length, fused, audio_frames):
    found = of_waveform(config, batch, length, fused, audio_frames)
    terms = len(config.pos_att_type) if config.relative_attention else 0
    far = getattr(config, "max_relative_positions", -1)
    span = config.position_buckets if config.position_buckets > 0 else far if far > 0 else config.max_position_embeddings
    once = 2 * config.num_hidden_layers * terms * 2 * span * config.hidden_size ** 2
    found["positions"] = {"forward": once, "backward": 2 * once,
                          "why": "the table of relative positions, projected once a step"}
    return found
