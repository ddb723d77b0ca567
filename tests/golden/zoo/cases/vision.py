# SPDX-License-Identifier: Apache-2.0
"""Vision models by themselves: vit and kin, dinov2 and kin, siglip and clip, swin, convnext, masked autoencoders."""

import feeds


def masked(config, batch, length, grids):
    """The same number of hidden patches in each row."""
    import torch
    frames, height, width = grids[0]
    hidden = torch.zeros(batch, frames * height * width, dtype=torch.bool)
    hidden[:, ::3] = True
    return {"bool_masked_pos": hidden}


def vit_kin(case):
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2)
    for name, prefix in {"vit": "ViT", "deit": "DeiT", "vit_msn": "ViTMSN", "ijepa": "IJepa", "beit": "Beit",
                         "data2vec-vision": "Data2VecVision"}.items():
        case(name + "/classification", prefix + "ForImageClassification", **vit, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **vit, _feed=feeds.pixels)
        case(name + "/classification-two-labels", prefix + "ForImageClassification", **vit, _feed=feeds.pixels)
    case("vit/no-qkv-bias", "ViTModel", **vit, qkv_bias=False, _feed=feeds.pixels)
    case("vit/sizes-in-pairs", "ViTForImageClassification", **dict(vit, image_size=[28, 21], patch_size=[7, 7]),
         _feed=feeds.pixels)
    case("vit/any-size", "ViTForImageClassification", **vit, _feed=feeds.pixels,
         _samples=((2, (1, 3, 5)), (1, (1, 6, 2))), _kwargs=dict(interpolate_pos_encoding=True))
    case("vit/pooler-size", "ViTModel", **vit, pooler_output_size=24, _loss=["pooler_output"], _feed=feeds.pixels)
    case("vit/masked", "ViTForMaskedImageModeling", **vit, encoder_stride=7, _loss=["reconstruction"],
         _inputs=masked, _feed=feeds.pixels)
    case("deit/teacher", "DeiTForImageClassificationWithTeacher", **vit, num_labels=5, _feed=feeds.pixels)
    case("beit/relative-bias", "BeitForImageClassification", **vit, use_relative_position_bias=True, num_labels=5,
         _feed=feeds.pixels)
    case("beit/masked", "BeitForMaskedImageModeling", **vit, vocab_size=53, use_mask_token=True, _inputs=masked,
         _feed=feeds.pixels)
    yolos = dict(vit, num_detection_tokens=6, image_size=[28, 28])
    case("yolos/detection", "YolosForObjectDetection", **yolos, num_labels=4, _loss=["logits", "pred_boxes"],
         _feed=feeds.pixels)
    case("yolos/model", "YolosModel", **yolos, _feed=feeds.pixels)


def dino_kin(case):
    dino = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, mlp_ratio=3, image_size=28, patch_size=7,
                num_channels=2)
    for name, prefix, more in (("dinov2", "Dinov2", {}),
                               ("dinov2_with_registers", "Dinov2WithRegisters", dict(num_register_tokens=3))):
        case(name + "/classification", prefix + "ForImageClassification", **dino, **more, num_labels=5,
             _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **dino, **more, _feed=feeds.pixels)
        case(name + "/gated", prefix + "ForImageClassification", **dino, **more, use_swiglu_ffn=True, num_labels=5,
             _feed=feeds.pixels)
        case(name + "/any-size", prefix + "Model", **dino, **more, _feed=feeds.pixels,
             _samples=((2, (1, 3, 5)), (1, (1, 6, 2))))
    dinov3 = {key: value for key, value in dino.items() if key != "mlp_ratio"}
    dinov3.update(intermediate_size=66, num_register_tokens=2)
    case("dinov3_vit/model", "DINOv3ViTModel", **dinov3, _feed=feeds.pixels)
    case("dinov3_vit/gated-any-size", "DINOv3ViTModel", **dinov3, use_gated_mlp=True, key_bias=True, _feed=feeds.pixels,
         _samples=((2, (1, 3, 5)), (1, (1, 6, 2))))
    case("dinov3_vit/no-biases", "DINOv3ViTModel", **dict(dinov3, num_register_tokens=0), mlp_bias=False,
         query_bias=False, value_bias=False, proj_bias=False, _feed=feeds.pixels)
    case("dinov3_convnext/model", "DINOv3ConvNextModel", num_channels=2, hidden_sizes=[12, 20, 28, 36],
         depths=[1, 2, 1, 1], image_size=64, _feed=feeds.variant(feeds.pixels, patch=4))


def clip_kin(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
                 patch_size=7, num_channels=2)
    text = dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=54,
                max_position_embeddings=19, bos_token_id=0, pad_token_id=1, eos_token_id=2)
    logits = ["logits_per_image"]
    for name, prefix in (("clip", "CLIP"), ("siglip", "Siglip"), ("metaclip_2", "MetaClip2")):
        alone = name + "_vision_model"
        case(alone + "/model", prefix + "VisionModel", **tower, _feed=feeds.pixels)
        case(alone + "/pooled", prefix + "VisionModel", **tower, _loss=["pooler_output"], _feed=feeds.pixels)
        two = dict(text_config=text, vision_config=tower, **({} if name == "siglip" else dict(projection_dim=26)))
        if name == "siglip":
            two["text_config"] = dict(text, projection_size=40)
        case(name + "/model", prefix + "Model", **two, _loss=logits, _feed=feeds.contrastive)
        case(name + "/classification", prefix + "ForImageClassification", **two, num_labels=7, _feed=feeds.pixels)
    case("siglip_vision_model/no-head", "SiglipVisionModel", **tower, vision_use_head=False, _feed=feeds.pixels)
    case("clip_text_model/model", "CLIPTextModel", **text)
    case("siglip_text_model/model", "SiglipTextModel", **text, projection_size=26, _loss=["pooler_output"])
    two = dict(text_config=dict(text, projection_size=40),
               vision_config=dict({key: value for key, value in tower.items() if key != "image_size"}, num_patches=36))
    case("siglip2/model", "Siglip2Model", **two, _loss=logits, _feed=feeds.contrastive_padded)
    case("siglip2/classification", "Siglip2ForImageClassification", **two, num_labels=7, _feed=feeds.padded)
    case("siglip2_vision_model/model", "Siglip2VisionModel", **two["vision_config"], _feed=feeds.padded)
    case("siglip2_vision_model/pooled", "Siglip2VisionModel", **two["vision_config"], _loss=["pooler_output"],
         _feed=feeds.padded)
    align = dict(text_config=dict(text, hidden_size=40), vision_config=tower, projection_dim=26)
    case("clipseg/model", "CLIPSegModel", **align, _loss=logits, _feed=feeds.contrastive)
    case("chinese_clip/model", "ChineseCLIPModel", **dict(two, text_config=text, vision_config=tower),
         projection_dim=26, _loss=logits, _feed=feeds.contrastive)
    case("altclip/model", "AltCLIPModel", text_config=dict(text, project_dim=26, max_position_embeddings=29),
         vision_config=tower, projection_dim=26, _loss=logits, _feed=feeds.contrastive)


def hierarchical(case):
    swin = dict(image_size=48, patch_size=4, num_channels=2, embed_dim=12, depths=[1, 2], num_heads=[2, 3],
                window_size=5, mlp_ratio=3.0)
    for name, prefix in (("swin", "Swin"), ("swinv2", "Swinv2")):
        case(name + "/classification", prefix + "ForImageClassification", **swin, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **swin, _feed=feeds.pixels)
        case(name + "/no-padding", prefix + "Model", **dict(swin, window_size=3), _feed=feeds.pixels)
    convnext = dict(num_channels=2, hidden_sizes=[12, 20, 28], num_stages=3, depths=[1, 2, 1], image_size=32,
                    patch_size=4)
    for name, prefix in (("convnext", "ConvNext"), ("convnextv2", "ConvNextV2")):
        case(name + "/classification", prefix + "ForImageClassification", **convnext, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **convnext, _feed=feeds.pixels)
    case("hiera/classification", "HieraForImageClassification", image_size=[48, 48], patch_size=[7, 7],
         patch_stride=[4, 4], patch_padding=[3, 3], num_channels=2, embed_dim=12, depths=[1, 2], num_heads=[2, 4],
         query_stride=[2, 2], masked_unit_size=[2, 2], num_query_pool=1, masked_unit_attention=[True, False],
         mlp_ratio=3.0, num_labels=5, _feed=feeds.variant(feeds.pixels, patch=4))
    stages = dict(image_size=64, num_channels=2, depths=[1, 1, 2, 1], hidden_sizes=[8, 12, 20, 28],
                  num_attention_heads=[1, 2, 2, 4], mlp_ratios=[3, 2, 3, 2], num_labels=5)
    case("segformer/classification", "SegformerForImageClassification", **stages, sr_ratios=[8, 4, 2, 1],
         _feed=feeds.variant(feeds.pixels, patch=4))
    case("pvt/classification", "PvtForImageClassification", **stages, _feed=feeds.variant(feeds.pixels, patch=4))


def autoencoders(case):
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2, decoder_hidden_size=24, decoder_num_hidden_layers=2,
               decoder_num_attention_heads=3, decoder_intermediate_size=38)
    case("vit_mae/pretraining", "ViTMAEForPreTraining", **vit, _feed=feeds.pixels)
    case("vit_mae/model", "ViTMAEModel", **vit, mask_ratio=0.5, _feed=feeds.pixels)
    video = dict(vit, num_frames=4, tubelet_size=2)
    case("videomae/classification", "VideoMAEForVideoClassification", **video, num_labels=5, _feed=feeds.frames)
    case("videomae/model", "VideoMAEModel", **video, use_mean_pooling=False, _feed=feeds.frames)
    case("videomae/pretraining", "VideoMAEForPreTraining", **video, _inputs=masked, _feed=feeds.frames)
    vjepa = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=3.0, crop_size=28, patch_size=7,
                 in_chans=2, frames_per_clip=4, tubelet_size=2, pred_hidden_size=24, pred_num_hidden_layers=2,
                 pred_num_attention_heads=2, pred_mlp_ratio=2.0, num_pooler_layers=2)
    clips = feeds.variant(feeds.frames, name="pixel_values_videos")
    case("vjepa2/model", "VJEPA2Model", **vjepa, _feed=clips)
    case("vjepa2/encoder", "VJEPA2Model", **vjepa, _kwargs=dict(skip_predictor=True), _feed=clips)
    case("vjepa2/classification", "VJEPA2ForVideoClassification", **vjepa, num_labels=5, _feed=clips)
    timesformer = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=66, image_size=28,
                       patch_size=7, num_channels=2, num_frames=4)
    case("timesformer/classification", "TimesformerForVideoClassification", **timesformer, num_labels=5,
         _feed=feeds.frames)
    case("vivit/classification", "VivitForVideoClassification", **dict(timesformer, tubelet_size=[2, 7, 7]),
         num_labels=5, _feed=feeds.frames)


def cases(case):
    vit_kin(case)
    dino_kin(case)
    clip_kin(case)
    hierarchical(case)
    autoencoders(case)
