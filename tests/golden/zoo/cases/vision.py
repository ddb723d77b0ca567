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


def nothing(config, batch, length, fused, grids):
    return {}


def pooled(config, batch, length, fused, grids):
    return {"pooler": {"forward": 0, "backward": 2 * pooling_of(config, batch),
                       "why": "this loss reaches pooler_output; the loss on last_hidden_state leaves the pooling head "
                              "forward only"}}


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
    case("vit/pooler-size", "ViTModel", **vit, pooler_output_size=24, _feed=feeds.pixels)
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
    case("beit/positions", "BeitModel", **vit, use_absolute_position_embeddings=True, use_mean_pooling=False,
         use_shared_relative_position_bias=True, layer_scale_init_value=0.0, head_dim=6, _feed=feeds.pixels)


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


def contrasted(width):
    """The logits: a product of all texts with all images."""
    def difference(config, batch, length, fused, grids):
        product = 2 * batch * len(grids) * width
        return {"similarity": {"forward": product, "backward": 2 * product,
                               "why": "texts x images of the whole batch: not a sum over samples"}}
    return difference


def both(*functions):
    return lambda *shapes, **more: {name: value for function in functions
                                    for name, value in function(*shapes, **more).items()}


def plain_pooling(config, batch, length, fused, grids):
    """The query's core is batched products also where all others are fused."""
    vision = config.vision_config
    patches = (vision.image_size // vision.patch_size) ** 2
    return {"pooling": {"forward": 0, "backward": -2 * len(grids) * patches * vision.hidden_size if fused else 0,
                        "why": "nn.MultiheadAttention is plain: one product less backward than a fused kernel"}}


def padding(reached, slots=40):
    """siglip2 runs every image as one of `slots` patches; `reached`: the pooling head is in the loss."""
    def difference(config, batch, length, fused, grids):
        vision = getattr(config, "vision_config", config)
        width, layers = vision.hidden_size, vision.num_hidden_layers
        patches = [height * columns for _, height, columns in grids]
        tokens, pairs = (sum(slots ** power - one ** power for one in patches) for power in (1, 2))
        stem = 2 * tokens * vision.num_channels * vision.patch_size ** 2 * width
        linears = 2 * tokens * (4 * width * width + 2 * width * vision.intermediate_size) * layers
        cores = 2 * pairs * width * layers
        pooling = 2 * tokens * (2 * width * width + 2 * width)
        plain = -2 * slots * len(grids) * width if fused and reached else 0
        # The rows of real tokens are in the library's count, of a core that it takes for a fused one.
        backward = stem + 2 * linears + (5 if fused else 4) * cores + plain
        head = 2 * pooling + (2 * tokens * width if fused else 0) if reached else 0
        return {"padding": {"forward": stem + linears + 2 * cores + pooling, "backward": backward + head,
                            "why": "every image is padded to one number of patches"
                                   + ("; the query's core is plain: one product less backward" if reached else "")}}
    return difference


def clip_kin(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
                 patch_size=7, num_channels=2)
    text = dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=54,
                max_position_embeddings=19, bos_token_id=0, pad_token_id=1, eos_token_id=2)
    logits = ["logits_per_image"]
    for name, prefix in (("clip", "CLIP"), ("siglip", "Siglip"), ("metaclip_2", "MetaClip2")):
        alone = name + "_vision_model"
        case(alone + "/model", prefix + "VisionModel", **tower, _feed=feeds.pixels)
        case(alone + "/pooled", prefix + "VisionModel", **tower, _loss=["pooler_output"], _feed=feeds.pixels,
             _differences=pooled if name == "siglip" else nothing)
        two = dict(text_config=text, vision_config=tower, **({} if name == "siglip" else dict(projection_dim=26)))
        differences = contrasted(26)
        if name == "siglip":
            two["text_config"] = dict(text, projection_size=40)
            differences = both(contrasted(40), plain_pooling)
        case(name + "/model", prefix + "Model", **two, _loss=logits, _feed=feeds.contrastive, _differences=differences)
        case(name + "/classification", prefix + "ForImageClassification", **two, num_labels=7, _feed=feeds.pixels)
        case(name + "_text_model/model", prefix + "TextModel", **text)
    case("siglip_vision_model/no-head", "SiglipVisionModel", **tower, vision_use_head=False, _feed=feeds.pixels)
    case("siglip_text_model/projection", "SiglipTextModel", **text, projection_size=26)
    padded_tower = dict({key: value for key, value in tower.items() if key != "image_size"}, num_patches=36)
    two = dict(text_config=dict(text, projection_size=40), vision_config=padded_tower)
    case("siglip2/model", "Siglip2Model", **two, _loss=logits, _feed=feeds.contrastive_padded,
         _differences=both(contrasted(40), padding(True)))
    case("siglip2/classification", "Siglip2ForImageClassification", **two, num_labels=7, _feed=feeds.padded,
         _differences=padding(False))
    case("siglip2_vision_model/model", "Siglip2VisionModel", **padded_tower, _feed=feeds.padded,
         _differences=padding(False))
    case("siglip2_text_model/model", "Siglip2TextModel", **text)


def cases(case):
    vit_kin(case)
    dino_kin(case)
    clip_kin(case)
