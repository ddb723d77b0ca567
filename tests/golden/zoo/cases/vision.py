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


def pooling_of(vision, images):
    """A product each of the pooling head of siglip: a learned query attends the patches, an MLP follows."""
    width, patches = vision.hidden_size, (vision.image_size // vision.patch_size) ** 2
    mlp = 2 * width * vision.intermediate_size
    return images * 2 * (2 * width * width + 2 * patches * width * width + 2 * patches * width + mlp)


def pooled(config, batch, length, fused, grids):
    return {"pooler": {"forward": 0, "backward": 2 * pooling_of(config, batch),
                       "why": "this loss reaches pooler_output; the loss on last_hidden_state leaves the pooling head "
                              "forward only"}}


def vit_kin(case):
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2)
    for name, prefix in {"vit": "ViT", "deit": "DeiT", "vit_msn": "ViTMSN", "ijepa": "IJepa",}.items():
        case(name + "/classification", prefix + "ForImageClassification", **vit, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **vit, _feed=feeds.pixels)
        case(name + "/classification-two-labels", prefix + "ForImageClassification", **vit, _feed=feeds.pixels)
    case("vit/no-qkv-bias", "ViTModel", **vit, qkv_bias=False, _feed=feeds.pixels)
    case("vit/sizes-in-pairs", "ViTForImageClassification", **dict(vit, image_size=[28, 21], patch_size=[7, 7]),
         _feed=feeds.pixels)
    case("vit/any-size", "ViTForImageClassification", **vit, _feed=feeds.pixels,
         _samples=((2, (1, 3, 5)), (1, (1, 6, 2))), _kwargs=dict(interpolate_pos_encoding=True))
    case("vit/pooler-size", "ViTModel", **vit, pooler_output_size=24, _feed=feeds.pixels)
    case("vit/masked", "ViTForMaskedImageModeling", **vit, encoder_stride=7, _loss=["reconstruction"],
         _inputs=masked, _feed=feeds.pixels)
    case("deit/teacher", "DeiTForImageClassificationWithTeacher", **vit, num_labels=5, _feed=feeds.pixels)


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


def clip_kin(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
                 patch_size=7, num_channels=2)
    for name, prefix in (("clip", "CLIP"), ("siglip", "Siglip")):
        case(name + "_vision_model/model", prefix + "VisionModel", **tower, _feed=feeds.pixels)
    case("clip_vision_model/pooled", "CLIPVisionModel", **tower, _loss=["pooler_output"], _feed=feeds.pixels)
    case("siglip_vision_model/pooled", "SiglipVisionModel", **tower, _loss=["pooler_output"], _differences=pooled,
         _feed=feeds.pixels)
    case("siglip_vision_model/no-head", "SiglipVisionModel", **tower, vision_use_head=False, _feed=feeds.pixels)


def cases(case):
    vit_kin(case)
    dino_kin(case)
    clip_kin(case)
