# SPDX-License-Identifier: Apache-2.0
"""Backbone classes, which hand out the stream after some stages; bridgetower and cvt."""

import feeds


def biases_of_windows(config, batch, length, fused, grids):
    """swinv2: two small matrices make the biases of each layer's scores. Layers after the last stage run forward only."""
    forward = backward = 0
    for level, heads in enumerate(config.num_heads):
        window = min(config.window_size, config.image_size // config.patch_size // 2 ** level)
        first, second = (2 * (2 * window - 1) ** 2 * size for size in (2 * 512, 512 * heads))
        forward += config.depths[level] * (first + second)
        if level < config.out_indices[-1] % (len(config.depths) + 1):
            backward += config.depths[level] * (first + 2 * second)
    return {"biases": {"forward": forward, "backward": backward,
                       "why": "two small matrices make the biases of the scores, once for all images"}}


def compared(width):
    """A product each of texts with images, of texts and of images with the pairs."""
    def found(config, batch, length, fused, grids, texts):
        work = 3 * 2 * len(grids) ** 2 * width
        return plain_cores(config, batch, length, fused, grids, texts) | {"logits": {"forward": work, "backward": 0, "why": "all texts, images and pairs of the batch are compared; `logits` are the vectors"}}
    return found


def plain_cores(config, batch, length, fused, grids, texts):
    """bridgetower: the image's own layers attend in a kernel, those of the text and of both in plain products."""
    text, layers = config.text_config, config.num_hidden_layers
    of_image = layers - ("MaskedLM" in config.architectures[0])  # its last layer reaches no loss
    pairs = 0
    for words, (_, height, width) in zip(texts, grids):
        cells = height * width + 1
        pairs += text.num_hidden_layers * words ** 2 + layers * words * (words + cells) + of_image * cells * (words + cells)
    return {"plain cores": {"forward": 0, "backward": -2 * text.hidden_size * pairs,
                            "why": "cores without a fused kernel: their backward runs QKᵀ no second time"}}


@feeds.feed((2, 9), (1, 7))
def words_and_pictures(model, run):
    """bridgetower: texts with an image each. A run is (texts, words)."""
    import torch
    texts, length = run
    values, grids = feeds.image_batch(model.config, texts)
    return ({"input_ids": torch.randint(5, model.config.text_config.vocab_size - 1, (texts, length)), "pixel_values": values},
            {"lengths": [], "grids": grids, "texts": [length] * texts})


def backbones(case):
    def stages(name, architecture, last, *more, feed=feeds.pixels, first=0, **config):
        """The last stage, two stages by their names, two by their numbers, and what else is asked for."""
        config.update(_loss=["feature_maps"], _feed=feed)
        case(f"{name}/backbone-last", architecture, **config)
        case(f"{name}/backbone-names", architecture, **config, out_features=["stage1", f"stage{last - 1}"])
        case(f"{name}/backbone-numbers", architecture, **config, out_indices=[-3, -2])
        for place, other in enumerate(more):
            case(f"{name}/backbone-{place}", architecture, **{**config, **other})

    tower = dict(hidden_size=40, num_hidden_layers=4, num_attention_heads=5, image_size=28, patch_size=7)
    rotary = dict(tower, num_attention_heads=4, hidden_size=48)
    stages("beit", "BeitBackbone", 4, dict(add_fpn=True, out_indices=[1, 2, 3, 4]),
           dict(add_fpn=True, out_indices=[0, 1, 2, 3], use_relative_position_bias=True), dict(out_features=["stem", "stage3"]),
           **tower, intermediate_size=54, reshape_hidden_states=True)
    stages("pixio", "PixioBackbone", 4, dict(apply_layernorm=False), **tower, mlp_ratio=3, n_cls_tokens=3)
    stages("sapiens2", "Sapiens2Backbone", 4, dict(normalize_backbone_outputs=False, out_indices=[2]), **rotary, intermediate_size=54,
           num_register_tokens=2, num_key_value_attention_heads=2, num_first_full_attention_layers=1, num_last_full_attention_layers=1)
    stages("dinov2", "Dinov2Backbone", 4, **tower, mlp_ratio=3)
    stages("dinov3_vit", "DINOv3ViTBackbone", 4, **rotary, intermediate_size=54)
    stages("vitdet", "VitDetBackbone", 4, **tower, mlp_ratio=3, pretrain_image_size=28)

    levels = dict(num_channels=3, image_size=64, depths=[1, 2, 1, 1])
    for name, architecture in (("convnext", "ConvNextBackbone"), ("convnextv2", "ConvNextV2Backbone"), ("dinov3_convnext", "DINOv3ConvNextBackbone")):
        stages(name, architecture, 4, dict(out_features=["stem", "stage4"]), **levels, hidden_sizes=[8, 12, 20, 24],
               feed=feeds.variant(feeds.pixels, patch=4))
    net = dict(num_channels=3, embedding_size=12, hidden_sizes=[16, 24, 32, 40], depths=[1, 2, 1, 1])
    stages("resnet", "ResNetBackbone", 4, **net, feed=feeds.variant(feeds.pixels, (2, (1, 12, 16)), (1, (1, 19, 23)), patch=2))
    fours = feeds.variant(feeds.pixels, (2, (1, 16, 24)), (1, (1, 19, 17)), patch=4)
    stages("pvt_v2", "PvtV2Backbone", 4, dict(out_indices=[0, 1]), feed=fours, num_channels=2, hidden_sizes=[8, 12, 20, 24],
           depths=[1, 2, 1, 1], num_attention_heads=[1, 2, 5, 3])
    stages("hiera", "HieraBackbone", 4, dict(out_features=["stem", "stage2", "stage4"]), feed=feeds.variant(feeds.pixels, patch=4), embed_dim=8,
           image_size=[64, 96], num_channels=2, depths=[1, 2, 2, 1], num_heads=[1, 2, 4, 2], mlp_ratio=3.0)
    stages("focalnet", "FocalNetBackbone", 4, dict(use_conv_embed=True, out_indices=[2]), image_size=64, patch_size=4, num_channels=2,
           embed_dim=6, hidden_sizes=[6, 12, 24, 48], depths=[1, 2, 1, 1], focal_levels=[2, 3, 1, 1], focal_windows=[3, 5, 3, 3], mlp_ratio=3.0)
    swin = dict(image_size=64, patch_size=4, num_channels=2, embed_dim=12, depths=[1, 1, 1, 1], num_heads=[2, 3, 4, 6], window_size=2)
    stages("swin", "SwinBackbone", 4, dict(out_features=["stem", "stage2"], qkv_bias=False), **swin)
    stages("maskformer-swin", "MaskFormerSwinBackbone", 4, **swin)
    stages("swinv2", "Swinv2Backbone", 4, **swin, _differences=biases_of_windows)


def cases(case):
    backbones(case)
    side = dict(hidden_size=128, num_hidden_layers=3, image_size=24, patch_size=8, num_channels=2)
    text = dict(vocab_size=71, hidden_size=48, num_hidden_layers=3, num_attention_heads=6, intermediate_size=70, max_position_embeddings=40)
    whole = dict(text_config=text, vision_config=side, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, _feed=words_and_pictures,
                 _attention=("eager",), _differences=plain_cores)
    every = dict(_loss=["text_features", "image_features", "pooler_output"])
    case("bridgetower/model", "BridgeTowerModel", **whole, **every)
    case("bridgetower/layers-of-their-own", "BridgeTowerModel", **dict(whole, num_hidden_layers=3, text_config=dict(text, type_vocab_size=2)),
         share_cross_modal_transformer_layers=False, link_tower_type="scaled_add", **every)
    case("bridgetower/norms-of-each-layer", "BridgeTowerModel", **dict(whole, num_hidden_layers=3, vision_config=dict(
        side, num_hidden_layers=4, remove_last_layer=True, share_layernorm=False)), link_tower_type="interpolate", **every)
    case("bridgetower/retrieval", "BridgeTowerForImageAndTextRetrieval", **whole)
    case("bridgetower/masked", "BridgeTowerForMaskedLM", **whole)
    case("bridgetower/masked-tied", "BridgeTowerForMaskedLM", **whole, tie_word_embeddings=True)
    case("bridgetower/contrastive", "BridgeTowerForContrastiveLearning", **dict(whole, hidden_size=128, _differences=compared(26), text_config=dict(text, hidden_size=128, num_attention_heads=4)), contrastive_hidden_size=26, logit_scale_init_value=2.6)

    net = dict(num_channels=2, embed_dim=[8, 12, 20], num_heads=[1, 3, 5], depth=[1, 2, 3], mlp_ratio=[4.0, 2.0, 3.0])
    sizes = feeds.variant(feeds.pixels, (2, (1, 12, 16)), (1, (1, 9, 13)), patch=4)
    case("cvt/classification", "CvtForImageClassification", **net, num_labels=5, _feed=sizes)
    case("cvt/model", "CvtModel", **net, qkv_bias=[True, False, False], _feed=sizes)
    case("cvt/no-token", "CvtModel", **dict(net, depth=[2, 2, 3]), cls_token=[False] * 3, _feed=sizes)
    case("cvt/strides", "CvtModel", **net, stride_kv=[3, 1, 2], kernel_qkv=[3, 5, 3], padding_q=[1, 2, 1], padding_kv=[1, 2, 1],
         patch_stride=[4, 2, 1], patch_sizes=[7, 3, 5], patch_padding=[2, 1, 2], _feed=sizes)
