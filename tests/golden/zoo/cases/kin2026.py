# SPDX-License-Identifier: Apache-2.0
"""What stands nearest to a type that was read before, of sizes that are drawn at random."""

import feeds
from cases.detectors import backbone_pixels, rf_detr
from cases.rest2026 import padded_windows
from cases.sound_drawn import of_omniasr, waves, waves_alone
from cases.sparse_decoders import latent_pair
from draws import drawn


def omniasr_ctc(draw):
    return {"class": draw.turn("OmniASRForCTC", "OmniASRForCTC", "OmniASRCTCModel"), "audio_config": waves_alone(draw),
            "vocab_size": draw.size(20, 60), "_feed": waves}


# ---- hy_v4_vl ----


def hy_v4(draw):
    heads, layers, rope = draw.size(2, 4), draw.size(2, 4), 2 * draw.size(3, 5)
    return dict(vocab_size=draw.size(50, 90), hidden_size=draw.size(20, 40, of=2), intermediate_size=draw.size(20, 60),
                moe_intermediate_size=draw.size(10, 30), num_hidden_layers=layers, num_attention_heads=heads,
                q_lora_rank=draw.size(8, 16), kv_lora_rank=draw.size(8, 16), qk_nope_head_dim=draw.size(6, 12), qk_rope_head_dim=rope,
                v_head_dim=draw.size(6, 12), n_routed_experts=draw.size(4, 8), num_experts_per_tok=draw.size(1, 3),
                n_shared_experts=draw.size(1, 2), index_topk=draw.size(3, 9), index_head_dim=rope + draw.size(1, 4, of=2),
                index_n_heads=draw.size(2, 4), hc_mult=draw.size(2, 4), attention_bias=draw.flag(), pad_token_id=0,
                rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[1, 1, rope // 2 - 2]))


def hy_tower(draw):
    heads = draw.size(2, 4)
    side = draw.turn(2, 2, 1)
    return dict(hidden_size=heads * draw.size(2, 4, of=4), num_attention_heads=heads, num_hidden_layers=draw.size(1, 3),
                intermediate_size=draw.size(20, 60), num_channels=draw.size(1, 3), patch_size=draw.size(2, 4), spatial_merge_size=side,
                max_image_size=draw.size(12, 20), out_hidden_size=draw.size(20, 40))


def hy_v4_vl(draw):
    text = {**hy_v4(draw), "tie_word_embeddings": draw.turn(False, False, False, True)}
    return {"class": "HYV4VL" + draw.turn("ForConditionalGeneration", "Model", "ForConditionalGeneration", "ForConditionalGeneration"), "text_config": text,
            "vision_config": {**hy_tower(draw), "out_hidden_size": text["hidden_size"]}, "image_token_id": 7, "video_token_id": 8,
            "tie_word_embeddings": draw.turn(False, False, True), "_feed": hy_patches}


def typed(model, samples):
    """Whether a token is of words or of an image."""
    inputs, record = feeds.patches(model, samples)
    return {**inputs, "mm_token_type_ids": (inputs["input_ids"] == 7).int()}, record


hy_patches = feeds.feed(*feeds.GRIDS)(typed)


# ---- heads of levels over a tower, as dpt's ----


def fused(draw, kind, **more):
    heads, patch = draw.size(2, 4), draw.size(2, 4)
    width, layers = heads * draw.size(2, 4, of=4), draw.size(4, 6)
    taken = sorted(draw.sample(range(1, layers + 1), 4))
    inside = dict(model_type=kind, hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, patch_size=patch, num_channels=3,
                  image_size=patch * draw.size(3, 5), num_register_tokens=draw.size(1, 3), out_indices=taken, apply_layernorm=draw.flag(), **more)
    return inside, dict(fusion_hidden_size=draw.size(3, 6, of=2), _feed=backbone_pixels, _attention=("eager",))


def chmv2(draw):
    inside, made = fused(draw, "dinov3_vit", intermediate_size=draw.size(20, 60), reshape_hidden_states=True, return_class_token=True,
                         use_gated_mlp=draw.flag(), key_bias=draw.flag())
    return {"class": "CHMv2ForDepthEstimation", **made, "backbone_config": inside, "patch_size": inside["patch_size"],
            "post_process_channels": draw.some(4, 6, 8, 10), "readout_type": draw.turn("project", "add", "ignore", "project"),
            "head_hidden_size": draw.size(3, 8), "number_output_channels": draw.size(1, 9), "_loss": ["predicted_depth"]}


def tipsv2_dpt(draw):
    inside, made = fused(draw, "tipsv2_vision_model", mlp_ratio=2, reshape_hidden_states=False)
    kind, loss = draw.turn(("DepthEstimation", "predicted_depth"), ("SemanticSegmentation", "logits"), ("NormalEstimation", "normals"))
    return {"class": "Tipsv2DptFor" + kind, **made, "backbone_config": inside, "neck_hidden_sizes": draw.some(4, 6, 8, 10),
            "num_depth_bins": draw.size(3, 9), "num_labels": draw.size(3, 7), "_loss": [loss]}


# ---- lw_detr ----


def lw_detr_vit(draw):
    heads, patch, side, layers = draw.size(2, 4), draw.size(2, 4, of=2), draw.turn(2, 1, 2), draw.size(2, 4)
    outs = sorted({*draw.sample(range(1, layers), draw.size(1, 1)), layers})
    # A layer after the last that hands out features has no gradient.
    return {"class": "LwDetrViTBackbone", "hidden_size": heads * draw.size(3, 6, of=2), "num_attention_heads": heads,
            "num_hidden_layers": layers, "image_size": patch * draw.turn(4, 5, 8), "pretrain_image_size": patch * 3, "patch_size": patch,
            "mlp_ratio": draw.size(1, 3), "num_windows": side * side, "qkv_bias": draw.flag(), "out_indices": outs,
            "window_block_indices": sorted(draw.sample(range(layers), layers // 2)), "_feed": feeds.pixels, "_loss": ["feature_maps"]}


def lw_detr(draw):
    inside = {**lw_detr_vit(draw), "model_type": "lw_detr_vit"}
    inside = {name: value for name, value in inside.items() if name != "class" and not name.startswith("_")}
    if draw.place == 3:
        inside.update(hidden_size=516, num_attention_heads=3, mlp_ratio=1, num_hidden_layers=2, out_indices=[1, 2], window_block_indices=[1])
    made = {name: value for name, value in rf_detr(draw).items() if name != "backbone_config"}
    return {**made, "class": made["class"].replace("Rf", "Lw"), "backbone_config": inside,
            "projector_scale_factors": draw.turn([2.0, 0.5], [1.0], [2.0, 1.0, 0.5], [2.0], [0.5, 1.0])}


# ---- vitmatte ----


def vitmatte(draw):
    heads, layers = draw.size(1, 3), draw.size(2, 4)
    width = heads * draw.size(3, 6, of=2)
    inside = dict(model_type="vitdet", hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, mlp_ratio=2,
                  image_size=48, pretrain_image_size=32, patch_size=16, num_channels=4, qkv_bias=draw.flag(),
                  use_relative_position_embeddings=draw.flag(), window_size=draw.turn(0, 3), window_block_indices=[0],
                  residual_block_indices=[1], **draw.turn(dict(out_indices=[layers]), dict(out_features=[f"stage{layers}"]),
                                                        dict(out_indices=[layers - 1])))
    return {"class": "VitMatteForImageMatting", "backbone_config": inside, "hidden_size": width, "convstream_hidden_sizes": draw.some(3, 4, 6, 9),
            "fusion_hidden_sizes": draw.some(4, 5, 8, 10), "_feed": backbone_pixels, "_loss": ["alphas"], "_attention": ("eager",)}


# ---- sam_hq ----


def sam_hq(draw):
    width, heads = 16 * draw.size(1, 2), draw.size(2, 4)
    layers = draw.size(2, 4)
    tower = dict(hidden_size=heads * draw.size(3, 6, of=2), num_hidden_layers=layers, num_attention_heads=heads, mlp_dim=draw.size(20, 60),
                 output_channels=width, image_size=48, patch_size=8, num_channels=2, window_size=draw.turn(4, 0, 3, 4), num_pos_feats=width // 2,
                 global_attn_indexes=draw.turn([layers - 1], [1], [0, 1], []))
    decoder = dict(hidden_size=width, mlp_dim=draw.size(20, 60), num_hidden_layers=draw.size(1, 3), num_attention_heads=draw.size(1, 2, of=2),
                   iou_head_hidden_dim=draw.size(10, 30), iou_head_depth=draw.size(2, 4), num_multimask_outputs=draw.size(2, 4),
                   vit_dim=tower["hidden_size"])
    return {"class": "SamHQModel", "vision_config": tower, "mask_decoder_config": decoder,
            "prompt_encoder_config": dict(hidden_size=width, image_size=48, patch_size=8, mask_input_channels=8), "_feed": feeds.prompted,
            "_loss": ["pred_masks", "iou_scores"], "_differences": padded_windows, "_attention": ("eager",)}


# ---- glm_image: images that are given are words, which a tower finds without a gradient ----


def glm_text(draw):
    heads, dim = draw.choice([2, 4]), draw.choice([8, 16])
    return dict(vocab_size=draw.size(50, 90), hidden_size=heads * dim, intermediate_size=draw.size(20, 60),
                num_hidden_layers=draw.size(1, 3), num_attention_heads=heads, num_key_value_heads=draw.choice([2, None]), vision_vocab_size=draw.size(20, 40),
                attention_bias=draw.flag(), rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[1, 1, dim // 2 - 2]),
                pad_token_id=0)


def glm_tower(draw):
    heads = draw.size(2, 4)
    return dict(depth=draw.size(1, 3), hidden_size=heads * draw.size(2, 4, of=4), num_heads=heads, intermediate_size=draw.size(20, 60),
                image_size=draw.size(12, 20), patch_size=draw.size(2, 4), in_channels=draw.size(1, 3), attention_bias=draw.flag())


@feeds.feed(((4, 6), (2, 3)), ((3, 5),))
def given_images(model, grids):
    """A text with one image that is given, whose words stand in it, and one that is made. A run is the grids of the first."""
    import torch
    config = model.config
    counts = [height * width for height, width in grids]
    texts = [[11, 12] + [config.image_token_id] * count + [13, 14] for count in counts]
    longest = max(map(len, texts))
    tower = config.vision_config
    return ({"input_ids": torch.tensor([ids + [15] * (longest - len(ids)) for ids in texts]), "use_cache": False,
             "pixel_values": torch.randn(sum(counts), tower.in_channels * tower.patch_size ** 2),
             "position_ids": torch.arange(longest).expand(3, len(grids), longest),
             "images_per_sample": torch.tensor([2] * len(grids)),
             "image_grid_thw": torch.tensor([[1, *grid] for pair in grids for grid in (pair, (2, 2))])},
            {"lengths": [longest] * len(grids), "grids": [[1, *grid] for grid in grids]})


def glm_image(draw):
    tower = glm_tower(draw)
    return {"class": "GlmImage" + draw.turn("ForConditionalGeneration", "Model"), "text_config": glm_text(draw), "vision_config": tower,
            "vq_config": dict(embed_dim=draw.size(5, 9), num_embeddings=draw.size(20, 40), latent_channels=tower["hidden_size"]),
            "image_token_id": 7, "_feed": given_images}


# ---- granite_speech5: layers that halve the frames ----


def granite_speech5(draw):
    heads, layers = draw.size(2, 4), draw.turn(2, 3, 4, 3)
    context = draw.size(3, 8)
    return dict(vocab_size=draw.size(20, 40), hidden_size=heads * draw.size(3, 6, of=2), intermediate_size=draw.size(20, 60),
                num_hidden_layers=layers, num_attention_heads=heads, num_mel_bins=draw.size(3, 6), max_position_embeddings=context + draw.size(0, 4),
                context_size=context, conv_kernel_size=draw.choice([3, 5]), conv_expansion_factor=draw.size(1, 3),
                attention_bias=draw.flag(),
                **draw.turn({}, dict(subsample_layers=sorted(draw.sample(range(layers), draw.size(1, 2)))),
                            dict(subsample_layers=[0, 1, layers - 2]), dict(subsample_layers=[])))


@feeds.feed((2, 23), (1, 30))
def stacked(model, run):
    """Frames of sound, stacked in pairs and expanded. A run is (clips, frames)."""
    import torch
    clips, frames = run
    audio = getattr(model.config, "encoder_config", model.config)
    return ({"input_features": torch.randn(clips, frames, 4 * audio.num_mel_bins)}, {"lengths": [], "audio_frames": [frames] * clips})


def of_granite5(config, batch, length, fused, audio_frames):
    """Frames are padded to whole blocks, in each layer."""
    audio = getattr(config, "encoder_config", config)
    inner, block, frames, clips = audio.num_attention_heads * audio.head_dim, audio.context_size, audio_frames[0], len(audio_frames)
    padded = pairs = depthwise = 0
    channels = audio.hidden_size * audio.conv_expansion_factor
    for layer in range(audio.num_hidden_layers):
        rest = -frames % block
        hidden = (frames + rest) * block - (frames // block * block ** 2 + (frames % block) ** 2)
        padded += clips * 2 * audio.hidden_size * 3 * inner * rest
        pairs += clips * 2 * inner * hidden
        made = -(-frames // 2) if layer in audio.subsample_layers else frames
        depthwise += 2 * audio.conv_kernel_size * channels * made * clips
        frames = frames // 2 if layer in audio.subsample_layers else frames
    return {"padded_blocks": {"forward": padded + 3 * pairs, "backward": 2 * padded + 6 * pairs + (pairs if fused else 0),
                              "why": "frames are padded to whole blocks, in which every one sees every other"}}


# ---- apertus1p5: images and sounds are words of the text ----


def tokenisers(config):
    import torch
    import transformers
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    return {"tokenisers": {"count": sum(weight.numel() for part in (model.vision_tokenizer, model.audio_tokenizer)
                                        for weight in part.parameters()),
                           "why": "tokens of images and sounds are made by tokenisers, which stand idle here"}}


def apertus1p5(draw):
    heads = draw.choice([2, 4])
    text = dict(vocab_size=draw.size(70, 90), hidden_size=heads * draw.size(4, 8, of=2), intermediate_size=draw.size(20, 60), num_attention_heads=heads,
                num_key_value_heads=draw.choice([1, 2, None]), num_hidden_layers=draw.size(1, 3), attention_bias=draw.flag(), pad_token_id=0,
                tie_word_embeddings=False)
    codes = dict(codebook_size=16, embed_dim=4, latent_channels=4, base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1,
                 attn_resolutions=[1], resolution=4)
    return {"class": "Apertus1p5" + draw.turn("ForConditionalGeneration", "ForConditionalGeneration", "Model"), "text_config": text,
            "vision_config": codes, "audio_config": {"model_type": "wavtokenizer_encoder", "codebook_size": 8}, "image_token_id": 5, "audio_token_id": 6,
            "image_token_offset": 40, "audio_token_offset": 56, "tie_word_embeddings": draw.turn(False, True, False), "_parameters": tokenisers, "_attention": ("eager",)}


def cases(case):
    tower = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=2, patch_size=5, _feed=feeds.pixels, _loss=["feature_maps"])
    case("dinov3_vit/backbone", "DINOv3ViTBackbone", **tower, image_size=15, intermediate_size=40, num_register_tokens=2)
    case("tipsv2_vision_model/backbone", "Tipsv2VisionBackbone", **tower, image_size=15, mlp_ratio=2)
    case("vitdet/backbone", "VitDetBackbone", **tower, image_size=15, pretrain_image_size=10, mlp_ratio=2, _attention=("eager",))
    case.like("text2026", "beam/plain", "tokens", architectures=["BeamForTokenClassification"])
    for name in ("LlamaForCausalLM", "LlamaModel"):  # which transformers runs
        case("exaone/" + name, name, vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6,
             num_key_value_heads=3, head_dim=8, tie_word_embeddings=False)
    drawn(case, "apertus1p5", 3, apertus1p5)
    drawn(case, "omniasr_ctc", 3, omniasr_ctc)
    drawn(case, "hy_v4_vl_text", 3, lambda draw: {"class": "HYV4VLTextModel", **hy_v4(draw), "_pair_flops": latent_pair})
    drawn(case, "hy_v4_vl_vision", 3, lambda draw: {
        "class": "HYV4VLVisionModel", **hy_tower(draw), "_loss": ["pooler_output"],
        "_feed": feeds.variant(feeds.patches_alone, values_name="pixel_values")})
    drawn(case, "hy_v4_vl", 4, hy_v4_vl)
    drawn(case, "chmv2", 4, chmv2)
    drawn(case, "tipsv2_dpt", 4, tipsv2_dpt)
    drawn(case, "lw_detr_vit", 3, lw_detr_vit)
    drawn(case, "lw_detr", 6, lw_detr)
    drawn(case, "vitmatte", 3, vitmatte)
    drawn(case, "sam_hq", 4, sam_hq)
    drawn(case, "glm_image_text", 3, lambda draw: {"class": "GlmImageTextModel", **glm_text(draw)})
    drawn(case, "glm_image_vision", 3, lambda draw: {
        "class": "GlmImageVisionModel", **glm_tower(draw), "_loss": ["pooler_output"],
        "_feed": feeds.variant(feeds.patches_alone, values_name="pixel_values")})
    drawn(case, "glm_image", 4, glm_image)
    drawn(case, "granite_speech5_encoder", 4, lambda draw: {"class": "GraniteSpeech5Encoder", **granite_speech5(draw), "_feed": stacked})
    drawn(case, "granite_speech5_ctc", 3, lambda draw: (lambda inside: {
        "class": "GraniteSpeech5ForCTC", "encoder_config": inside, "vocab_size": inside["vocab_size"], "tie_word_embeddings": draw.turn(True, False),
        "_feed": stacked})(granite_speech5(draw)))


def mean_of_bins(config, batch, length, fused, grids, **shapes):
    """Depths of bins, which are no weights, are multiplied as a matrix."""
    if config.architectures != ["Tipsv2DptForDepthEstimation"]:
        return {}
    pixels = sum(256 * -(-h // 2) * -(-w // 2) for _, h, w in grids)
    return {"bins": {"forward": 2 * config.num_depth_bins * pixels, "backward": 2 * config.num_depth_bins * pixels,
                     "why": "the mean of the bins' depths runs as a product of matrices"}}


DIFFERENCES = {"granite_speech5_encoder": of_granite5, "granite_speech5_ctc": of_granite5, "tipsv2_dpt": mean_of_bins, "omniasr_ctc": of_omniasr}
