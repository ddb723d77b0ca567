# SPDX-License-Identifier: Apache-2.0
"""Vision models by themselves: vit."""

import feeds


def vit_kin(case):
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2)
    case("vit/classification", "ViTForImageClassification", **vit, num_labels=5, _feed=feeds.pixels)
    case("vit/model", "ViTModel", **vit, _feed=feeds.pixels)


def cases(case):
    vit_kin(case)
