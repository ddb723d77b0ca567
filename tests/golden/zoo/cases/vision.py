# SPDX-License-Identifier: Apache-2.0
"""Vision models by themselves: vit and family, dinov2 and family, siglip and clip, swin, convnext, masked autoencoders."""

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


def vit_family(case):
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
    case("yolos/positions-at-the-start-alone", "YolosModel", **yolos, use_mid_position_embeddings=False,
         _feed=feeds.pixels)
    case("beit/masked-of-its-class-token", "BeitForMaskedImageModeling", **vit, vocab_size=53, use_mask_token=True,
         use_mean_pooling=False, _inputs=masked, _feed=feeds.pixels)
    for name, prefix in (("beit", "Beit"), ("data2vec-vision", "Data2VecVision")):
        case(name + "/pooled-by-its-class-token", prefix + "ForImageClassification", **vit, use_mean_pooling=False,
             num_labels=5, _feed=feeds.pixels)
    case("data2vec-vision/model-of-its-class-token", "Data2VecVisionModel", **vit, use_mean_pooling=False,
         _feed=feeds.pixels)
    case("yolos/model", "YolosModel", **yolos, _feed=feeds.pixels)
    case("beit/positions", "BeitModel", **vit, use_absolute_position_embeddings=True, use_mean_pooling=False,
         use_shared_relative_position_bias=True, layer_scale_init_value=0.0, head_dim=6, _feed=feeds.pixels)


def dino_family(case):
    dino = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, mlp_ratio=3, image_size=28, patch_size=7,
                num_channels=2)
    for name, prefix, more in (("dinov2", "Dinov2", {}),
                               ("dinov2_with_registers", "Dinov2WithRegisters", dict(num_register_tokens=3))):
        case(name + "/classification", prefix + "ForImageClassification", **dino, **more, num_labels=5,
             _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **dino, **more, _feed=feeds.pixels)
        # 106 is no multiple of 8
        case(name + "/gated", prefix + "ForImageClassification", **dict(dino, mlp_ratio=4), **more,
             use_swiglu_ffn=True, num_labels=5,
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


def clip_family(case):
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
        if name != "siglip":
            case(alone + "/projection", prefix + "VisionModelWithProjection", **tower, projection_dim=26,
                 _loss=["image_embeds"], _feed=feeds.pixels)
        two = dict(text_config=text, vision_config=tower, **({} if name == "siglip" else dict(projection_dim=26)))
        differences = contrasted(26)
        if name == "siglip":
            two["text_config"] = dict(text, projection_size=40)
            differences = both(contrasted(40), plain_pooling)
        case(name + "/model", prefix + "Model", **two, _loss=logits, _feed=feeds.contrastive, _differences=differences)
        case(name + "/classification", prefix + "ForImageClassification", **two, num_labels=7, _feed=feeds.pixels)
        case(name + "/two-labels", prefix + "ForImageClassification", **two, _feed=feeds.pixels)
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


def pieces(cells, window, shift):
    """How windows cut an axis: the first one ends after `shift` cells."""
    cut = [min(shift, cells)]
    while sum(cut) < cells:
        cut.append(min(window, cells - sum(cut)))
    return cut


def windows(config, batch, length, fused, grids):
    """Swin pads each level to whole windows and runs them all; Swin 2 also makes its biases, once for all images."""
    second = config.model_type == "swinv2"
    linears = cores = biases = inputs = 0
    for level, (depth, heads) in enumerate(zip(config.depths, config.num_heads)):
        width = config.embed_dim * 2 ** level
        for index in range(depth):
            window, shift = config.window_size, config.window_size // 2 if index % 2 else 0
            if second:
                cells = (config.image_size // config.patch_size) // 2 ** level
                window, shift = min(window, cells), shift if cells > window else 0
                inputs += 2 * (2 * window - 1) ** 2 * 2 * 512
                biases += 2 * (2 * window - 1) ** 2 * 512 * heads
            for _, *axes in grids:
                cells = [-(-axis // 2 ** level) for axis in axes]
                side, by = window, shift
                if not second and min(cells) <= window:
                    side, by = min(cells), 0
                whole = [-(-axis // side) * side for axis in cells]
                tokens, slots = cells[0] * cells[1], whole[0] * whole[1]
                seen = [sum(piece ** 2 for piece in pieces(axis, side, by)) for axis in cells]
                linears += 2 * (slots - tokens) * 4 * width * width
                cores += 2 * 2 * width * (slots * side * side - seen[0] * seen[1])
    extra = {"padding": {"forward": linears + cores, "backward": 2 * (linears + cores),
                         "why": "every window is whole, and masked or shifted-in cells are computed"}}
    if second:
        extra["biases"] = {"forward": inputs + biases, "backward": inputs + 2 * biases,
                           "why": "two small matrices make the biases of the scores, once for all images"}
    return extra


def hierarchical(case):
    swin = dict(image_size=48, patch_size=4, num_channels=2, embed_dim=12, depths=[1, 2], num_heads=[2, 3],
                window_size=5, mlp_ratio=3.0)
    sizes = ((2, (1, 13, 10)), (1, (1, 11, 18)))
    case("swin/positions", "SwinModel", **swin, use_absolute_embeddings=True, _feed=feeds.pixels)
    for name, prefix in (("swin", "Swin"), ("swinv2", "Swinv2")):
        case(name + "/classification", prefix + "ForImageClassification", **swin, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **swin, _feed=feeds.pixels)
        case(name + "/no-padding", prefix + "Model", **dict(swin, window_size=3), _feed=feeds.pixels)
        case(name + "/any-size", prefix + "Model", **dict(swin, depths=[2, 2, 2], num_heads=[2, 3, 6], window_size=3),
             qkv_bias=False, _samples=sizes, _feed=feeds.pixels)
    convnext = dict(num_channels=2, hidden_sizes=[12, 20, 28], num_stages=3, depths=[1, 2, 1], image_size=32,
                    patch_size=4)
    sizes = ((2, (1, 9, 6)), (1, (1, 7, 18)))
    for name, prefix in (("convnext", "ConvNext"), ("convnextv2", "ConvNextV2")):
        case(name + "/classification", prefix + "ForImageClassification", **convnext, num_labels=5, _feed=feeds.pixels)
        case(name + "/model", prefix + "Model", **convnext, _feed=feeds.pixels)
        case(name + "/any-size", prefix + "Model", **convnext, _samples=sizes, _feed=feeds.pixels)
    case("convnext/no-scales", "ConvNextModel", **convnext, layer_scale_init_value=0.0, _feed=feeds.pixels)
    case("dinov3_convnext/patch-size-null", "DINOv3ConvNextModel", num_channels=2, hidden_sizes=[12, 20, 28, 36],
         depths=[1, 1, 1, 1], image_size=64, patch_size=None, _feed=feeds.variant(feeds.pixels, patch=4))
    case("dinov3_convnext/model", "DINOv3ConvNextModel", num_channels=2, hidden_sizes=[12, 20, 28, 36],
         depths=[1, 2, 1, 1], image_size=64, _feed=feeds.variant(feeds.pixels, patch=4))


def predictor(config):
    """The classifier keeps the predictor and does not run it."""
    width = config.pred_hidden_size
    mlp = int(width * config.pred_mlp_ratio)
    layer = 4 * width * width + 4 * width + 2 * width * mlp + mlp + width + 4 * width
    outside = 2 * width * config.hidden_size + width + config.hidden_size + 2 * width
    return {"predictor": {"count": config.pred_num_hidden_layers * layer + outside + config.pred_num_mask_tokens * width,
                          "why": "the classifier keeps the predictor and does not run it"}}


def autoencoders(case):
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2)
    decoder = dict(decoder_hidden_size=24, decoder_num_hidden_layers=2, decoder_num_attention_heads=3,
                   decoder_intermediate_size=38)
    case("vit_mae/pretraining", "ViTMAEForPreTraining", **vit, **decoder, _feed=feeds.pixels)
    case("vit_mae/model", "ViTMAEModel", **vit, mask_ratio=0.5, _feed=feeds.pixels)
    case("vit_mae/any-size", "ViTMAEForPreTraining", **vit, **decoder, mask_ratio=0.9, qkv_bias=False,
         _samples=((2, (1, 3, 5)), (1, (1, 6, 5))), _kwargs=dict(interpolate_pos_encoding=True), _feed=feeds.pixels)
    video = dict(vit, num_frames=4, tubelet_size=2)
    case("videomae/classification", "VideoMAEForVideoClassification", **video, num_labels=5, _feed=feeds.frames)
    case("videomae/model", "VideoMAEModel", **video, use_mean_pooling=False, _feed=feeds.frames)
    case("videomae/no-biases", "VideoMAEModel", **video, qv_bias=False, _feed=feeds.frames)
    vjepa = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=3.0, crop_size=28, patch_size=7,
                 in_chans=2, frames_per_clip=4, tubelet_size=2, pred_hidden_size=24, pred_num_hidden_layers=2,
                 pred_num_attention_heads=2, pred_mlp_ratio=2.0, num_pooler_layers=2)
    clips = feeds.variant(feeds.frames, name="pixel_values_videos")
    case("vjepa2/model", "VJEPA2Model", **vjepa, _feed=clips)
    case("vjepa2/classification", "VJEPA2ForVideoClassification", **vjepa, num_labels=5, _parameters=predictor,
         _feed=clips)


DIFFERENCES = {"swin": windows, "swinv2": windows}


def cases(case):
    vit_family(case)
    dino_family(case)
    clip_family(case)
    hierarchical(case)
    autoencoders(case)
