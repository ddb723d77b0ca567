# SPDX-License-Identifier: Apache-2.0
"""The classes of diffusers that are counted: for each a function that draws its arguments, and its inputs."""

import torch


def even(choose, least, most):
    return 2 * choose.randint(least, most)


def flag(choose):
    return choose.random() < 0.5


def heads_of(choose):
    """Heads and their width; a multiple of 4, of which rotary embeddings have thirds."""
    return choose.randint(1, 4), 4 * choose.randint(2, 5)


def batch_of(choose, frames=False, side=1, side_frames=1):
    """A number of equal samples, and the grid of each in cells."""
    t = side_frames * choose.randint(1, 3) if frames else 1
    return choose.randint(1, 2), (t, side * choose.randint(2, 5), side * choose.randint(2, 5)), choose.randint(2, 9)


def samples(batch, grid, text):
    return {"grids": [list(grid)] * batch, "texts": [text] * batch}


def depthwise(products, channels):
    """What the counter takes of a grouped convolution's weight gradient besides what is multiplied."""
    return {"conv_groups": {"forward": 0, "backward": 2 * products * (channels - 1),
                            "why": "the counter takes a depthwise weight gradient as dense"}}


def times(batch):
    return torch.arange(batch) * 100 + 7


def rope(dim):
    """Three even widths whose sum is that of a head."""
    return [dim - 2 * (dim // 3 // 2 * 2), dim // 3 // 2 * 2, dim // 3 // 2 * 2]


def FluxTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    guidance = flag(choose)
    config = dict(in_channels=even(choose, 2, 9), out_channels=choose.choice([None, 6]), num_layers=choose.randint(1, 3),
                  num_single_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  joint_attention_dim=even(choose, 4, 20), pooled_projection_dim=even(choose, 4, 20),
                  guidance_embeds=guidance, axes_dims_rope=rope(dim))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        image = grid[1] * grid[2]
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, image, config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]),
                    pooled_projections=torch.randn(batch, config["pooled_projection_dim"]), timestep=times(batch),
                    img_ids=torch.zeros(image, 3), txt_ids=torch.zeros(text, 3),
                    guidance=torch.ones(batch) if guidance else None)

    return config, inputs


def SD3Transformer2DModel(choose):
    heads, dim = heads_of(choose)
    layers, side = choose.randint(1, 4), choose.choice([1, 2])
    config = dict(sample_size=8, patch_size=side, in_channels=choose.randint(2, 6), num_layers=layers,
                  attention_head_dim=dim, num_attention_heads=heads, joint_attention_dim=even(choose, 4, 20),
                  caption_projection_dim=heads * dim, pooled_projection_dim=even(choose, 4, 20),
                  out_channels=choose.choice([None, 5]), pos_embed_max_size=24, qk_norm=choose.choice([None, "rms_norm"]),
                  dual_attention_layers=tuple(layer for layer in range(layers) if flag(choose)))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]),
                    pooled_projections=torch.randn(batch, config["pooled_projection_dim"]), timestep=times(batch))

    return config, inputs


def Flux2Transformer2DModel(choose):
    heads, dim = heads_of(choose)
    dim = 8 * (dim // 8 + 1)
    config = dict(in_channels=even(choose, 2, 9), out_channels=choose.choice([None, 6]), num_layers=choose.randint(1, 3),
                  num_single_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  joint_attention_dim=even(choose, 4, 20), timestep_guidance_channels=choose.choice([32, 256]),
                  mlp_ratio=choose.choice([2.0, 3.0, 2.5]), axes_dims_rope=[dim // 4] * 4, guidance_embeds=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        image = grid[1] * grid[2]
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, image, config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]), timestep=times(batch).float(),
                    img_ids=torch.zeros(image, 4), txt_ids=torch.zeros(text, 4), guidance=torch.ones(batch))

    return config, inputs


def QwenImageTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    zero, more = flag(choose), flag(choose)
    config = dict(patch_size=choose.choice([1, 2]), in_channels=even(choose, 2, 9), out_channels=choose.randint(2, 6),
                  num_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  joint_attention_dim=even(choose, 4, 20), axes_dims_rope=rope(dim), zero_cond_t=zero,
                  use_additional_t_cond=more)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, grid[1] * grid[2], config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]),
                    encoder_hidden_states_mask=None, timestep=times(batch) / 1000, img_shapes=[[grid]] * batch,
                    additional_t_cond=torch.zeros(batch, dtype=torch.long) if more else None)

    return config, inputs


def LongCatImageTransformer2DModel(choose):
    config, inputs = FluxTransformer2DModel(choose)
    for name in ("out_channels", "guidance_embeds"):
        config.pop(name)

    def own(choose, model):
        made = inputs(choose, model)
        made["guidance"] = None
        made.pop("pooled_projections")
        return made

    return config, own


def OvisImageTransformer2DModel(choose):
    config, _ = FluxTransformer2DModel(choose)
    for name in ("guidance_embeds", "pooled_projection_dim"):
        config.pop(name)

    return config, lambda choose, model: ovis_inputs(config, choose)


def ovis_inputs(config, choose):
    batch, grid, text = batch_of(choose)
    image = grid[1] * grid[2]
    return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, image, config["in_channels"]),
                encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]), timestep=times(batch),
                img_ids=torch.zeros(image, 3), txt_ids=torch.zeros(text, 3))


def ChromaTransformer2DModel(choose):
    config, _ = FluxTransformer2DModel(choose)
    for name in ("guidance_embeds", "pooled_projection_dim"):
        config.pop(name)
    config.update(approximator_num_channels=16 * choose.randint(1, 3), approximator_hidden_dim=even(choose, 5, 20),
                  approximator_layers=choose.randint(1, 3))
    return config, lambda choose, model: ovis_inputs(config, choose)


def AuraFlowTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(sample_size=8, patch_size=side, in_channels=choose.randint(2, 5), num_mmdit_layers=choose.randint(1, 3),
                  num_single_dit_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  joint_attention_dim=even(choose, 4, 20), caption_projection_dim=heads * dim,
                  out_channels=choose.randint(2, 5), pos_embed_max_size=256)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]),
                    timestep=times(batch) / 1000)

    return config, inputs


def video(channels, text, name="encoder_hidden_states", **more):
    """Inputs of a class that takes latents [batch, channels, frames, rows, columns] and text."""
    side, side_frames = more.pop("side", 1), more.pop("side_frames", 1)
    later = more.pop("later", lambda *given: {})

    def inputs(choose, model):
        batch, grid, tokens = batch_of(choose, True, side, side_frames)
        return dict(samples(batch, grid, tokens), hidden_states=torch.randn(batch, channels, *grid), timestep=times(batch),
                    **{name: torch.randn(batch, tokens, text)}, **more, **later(choose, batch, grid, tokens))

    return inputs


def pictures_of(config, batch):
    """A picture of a Wan, or its first and last."""
    each = 2 if config["pos_embed_seq_len"] else 1
    return {"encoder_hidden_states_image":
            torch.randn(each * batch, 257, config["image_dim"]) if config["image_dim"] else None}


def WanTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    pictures = flag(choose)
    patch = (choose.choice([1, 2]), choose.choice([1, 2]), 2)
    patch = (patch[0], patch[1], patch[1])
    config = dict(patch_size=patch, num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 6),
                  out_channels=choose.choice([None, 5]), text_dim=even(choose, 4, 20), freq_dim=even(choose, 5, 20),
                  ffn_dim=even(choose, 10, 40), num_layers=choose.randint(1, 3), cross_attn_norm=flag(choose),
                  image_dim=even(choose, 4, 12) if pictures else None, added_kv_proj_dim=heads * dim if pictures else None,
                  pos_embed_seq_len=choose.choice([None, 514]) if pictures else None)

    def later(choose, batch, grid, tokens):
        return pictures_of(config, batch)

    return config, video(config["in_channels"], config["text_dim"], side=patch[1], side_frames=patch[0], later=later)


def ChronoEditTransformer3DModel(choose):
    config, inputs = WanTransformer3DModel(choose)

    def own(choose, model):
        made = inputs(choose, model)
        while made["grids"][0][0] == config["patch_size"][0] == 2:  # two frames in one token, which fails
            made = inputs(choose, model)
        return made

    return config, own


def SkyReelsV2Transformer3DModel(choose):
    config, _ = WanTransformer3DModel(choose)
    config["inject_sample_info"] = flag(choose)
    patch = config["patch_size"]

    def later(choose, batch, grid, tokens):
        made = pictures_of(config, batch)
        if config["inject_sample_info"]:
            made["fps"] = torch.zeros(batch, dtype=torch.long)
        return made

    return config, video(config["in_channels"], config["text_dim"], side=patch[1], side_frames=patch[0], later=later)


def WanVACETransformer3DModel(choose):
    config, _ = WanTransformer3DModel(choose)
    patch = config["patch_size"]
    config["vace_layers"] = [layer for layer in range(config["num_layers"]) if layer == 0 or flag(choose)]
    config["vace_in_channels"] = choose.randint(3, 9)

    def later(choose, batch, grid, tokens):
        return {"control_hidden_states": torch.randn(batch, config["vace_in_channels"], *grid),
                **pictures_of(config, batch)}

    return config, video(config["in_channels"], config["text_dim"], side=patch[1], side_frames=patch[0], later=later)


def HunyuanVideoTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    kind = choose.choice([None, None, "latent_concat", "token_replace"])
    config = dict(in_channels=choose.randint(2, 6), out_channels=choose.choice([None, None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_single_layers=choose.randint(1, 3),
                  num_refiner_layers=choose.randint(1, 2), mlp_ratio=choose.choice([2.0, 4.0]), patch_size=side,
                  patch_size_t=side_frames, guidance_embeds=flag(choose), text_embed_dim=even(choose, 4, 20),
                  pooled_projection_dim=even(choose, 4, 20), rope_axes_dim=tuple(rope(dim)), image_condition_type=kind)

    def later(choose, batch, grid, tokens):
        return {"encoder_attention_mask": torch.ones(batch, tokens, dtype=torch.long),
                "pooled_projections": torch.randn(batch, config["pooled_projection_dim"]),
                "guidance": torch.ones(batch) * 1000 if config["guidance_embeds"] else None}

    return config, video(config["in_channels"], config["text_embed_dim"], side=side, side_frames=side_frames, later=later)


def LTXVideoTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    config = dict(in_channels=even(choose, 2, 9), out_channels=choose.choice([None, 6]), num_attention_heads=heads,
                  attention_head_dim=dim, cross_attention_dim=heads * dim, num_layers=choose.randint(1, 3),
                  caption_channels=even(choose, 4, 20), attention_bias=flag(choose), attention_out_bias=flag(choose),
                  norm_elementwise_affine=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True)
        return dict(samples(batch, grid, text),
                    hidden_states=torch.randn(batch, grid[0] * grid[1] * grid[2], config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["caption_channels"]),
                    encoder_attention_mask=torch.ones(batch, text), timestep=times(batch), num_frames=grid[0],
                    height=grid[1], width=grid[2])

    return config, inputs


def PixArtTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    side, more = choose.choice([1, 2]), flag(choose)
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 5),
                  out_channels=choose.choice([None, 5]), num_layers=choose.randint(1, 3), cross_attention_dim=heads * dim,
                  attention_bias=flag(choose), sample_size=8, patch_size=side, use_additional_conditions=more,
                  caption_channels=choose.choice([None, even(choose, 4, 20)]), norm_elementwise_affine=flag(choose))
    config["num_attention_heads"] = 3 * heads  # thirds of the width embed the sizes
    config["cross_attention_dim"] = 3 * heads * dim

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        added = {"resolution": torch.ones(batch, 2), "aspect_ratio": torch.ones(batch, 1)} if more else \
            {"resolution": None, "aspect_ratio": None}
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["caption_channels"] or 3 * heads * dim), timestep=times(batch),
                    added_cond_kwargs=added)

    return config, inputs


def SanaTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    cross = choose.randint(1, 3)
    side = choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 5), out_channels=choose.choice([None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_cross_attention_heads=cross,
                  cross_attention_head_dim=4 * choose.randint(1, 4), cross_attention_dim=heads * dim,
                  caption_channels=even(choose, 4, 20), mlp_ratio=choose.choice([2.0, 2.5]), attention_bias=flag(choose),
                  sample_size=8, patch_size=side, guidance_embeds=flag(choose), norm_elementwise_affine=flag(choose),
                  qk_norm=choose.choice([None, "rms_norm_across_heads"]))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        tokens, width = batch * (grid[1] // side) * (grid[2] // side), 2 * int(config["mlp_ratio"] * heads * dim)
        return dict(samples(batch, grid, text),
                    differences=depthwise(tokens * width * 9 * config["num_layers"], width), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["caption_channels"]), timestep=times(batch),
                    guidance=torch.ones(batch) if config["guidance_embeds"] else None)

    return config, inputs


def CogVideoXTransformer3DModel(choose):
    heads, dim = choose.randint(1, 3), 16 * choose.randint(1, 2)
    rotary = flag(choose)
    side, side_frames = choose.choice([1, 2]), choose.choice([None, None, 2])
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 5),
                  out_channels=choose.randint(2, 5), time_embed_dim=even(choose, 5, 20),
                  ofs_embed_dim=None, text_embed_dim=even(choose, 4, 20),
                  num_layers=choose.randint(1, 3), attention_bias=flag(choose), sample_width=8, sample_height=8,
                  sample_frames=9, patch_size=side, patch_size_t=side_frames, max_text_seq_length=choose.randint(3, 9),
                  use_rotary_positional_embeddings=rotary, patch_bias=choose.random() < 0.6,
                  norm_elementwise_affine=flag(choose))
    config["ofs_embed_dim"] = choose.choice([None, config["time_embed_dim"]])

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames or 1)
        text = text if rotary else config["max_text_seq_length"]
        return dict(samples(batch, grid, text),
                    hidden_states=torch.randn(batch, grid[0], config["in_channels"], *grid[1:]), timestep=times(batch),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    ofs=torch.ones(batch) if config["ofs_embed_dim"] else None)

    return config, inputs


def CogView4Transformer2DModel(choose):
    heads, dim = heads_of(choose)
    dim = 8 * (dim // 8 + 1)
    side = choose.choice([1, 2])
    config = dict(patch_size=side, in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5),
                  num_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  text_embed_dim=even(choose, 4, 20), time_embed_dim=even(choose, 5, 20), condition_dim=even(choose, 5, 20),
                  pos_embed_max_size=16, sample_size=8, rope_axes_dim=(16, 16))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        two = torch.ones(batch, 2)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]), timestep=times(batch),
                    original_size=two, target_size=two, crop_coords=two)

    return config, inputs


def CogView3PlusTransformer2DModel(choose):
    config, inputs = CogView4Transformer2DModel(choose)
    config.pop("rope_axes_dim")
    return config, inputs


def DiTTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 5),
                  out_channels=choose.choice([None, 6]), num_layers=choose.randint(1, 3), attention_bias=flag(choose),
                  sample_size=8, patch_size=side, num_embeds_ada_norm=choose.randint(5, 30))

    def inputs(choose, model):
        batch, grid, _ = batch_of(choose, side=side)
        return {"grids": [[1, grid[1], grid[1]]] * batch, "texts": [0] * batch,
                "hidden_states": torch.randn(batch, config["in_channels"], grid[1], grid[1]), "timestep": times(batch),
                "class_labels": torch.zeros(batch, dtype=torch.long)}

    return config, inputs


def Lumina2Transformer2DModel(choose):
    heads, kv, dim = 2 * choose.randint(1, 2), choose.choice([1, 2]), 12 * choose.randint(1, 2)
    side = choose.choice([1, 2])
    config = dict(sample_size=8, patch_size=side, in_channels=choose.randint(2, 5), out_channels=None,
                  hidden_size=heads * dim, num_layers=choose.randint(1, 3), num_refiner_layers=choose.randint(1, 2),
                  num_attention_heads=heads, num_kv_heads=kv, multiple_of=choose.choice([8, 16]),
                  ffn_dim_multiplier=choose.choice([None, 1.3]), axes_dim_rope=(dim // 3,) * 3, axes_lens=(30, 30, 30),
                  cap_feat_dim=even(choose, 4, 20))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch) / 1000, encoder_hidden_states=torch.randn(batch, text, config["cap_feat_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.bool))

    return config, inputs


def ZImageTransformer2DModel(choose):
    heads, dim = choose.randint(1, 3), 12 * choose.randint(1, 2)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(all_patch_size=(side,), all_f_patch_size=(side_frames,), in_channels=choose.randint(2, 5),
                  dim=heads * dim, n_layers=choose.randint(1, 3), n_refiner_layers=choose.randint(1, 2), n_heads=heads,
                  n_kv_heads=heads, qk_norm=flag(choose), cap_feat_dim=even(choose, 4, 20), axes_dims=[dim // 3] * 3,
                  axes_lens=[128, 64, 64])

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        return dict(samples(batch, grid, text), x=[torch.randn(config["in_channels"], *grid) for _ in range(batch)],
                    t=times(batch) / 1000, cap_feats=[torch.randn(text, config["cap_feat_dim"]) for _ in range(batch)],
                    patch_size=side, f_patch_size=side_frames)

    return config, inputs


def MochiTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(patch_size=side, num_attention_heads=heads, attention_head_dim=dim, num_layers=choose.randint(1, 3),
                  pooled_projection_dim=even(choose, 4, 20), in_channels=choose.randint(2, 5),
                  out_channels=choose.choice([None, 5]), text_embed_dim=8 * choose.randint(1, 4), time_embed_dim=256,
                  max_sequence_length=8)

    def later(choose, batch, grid, tokens):
        products = 3 * heads * dim * grid[0] * (grid[1] // side) * (grid[2] // side)
        return {"encoder_attention_mask": torch.ones(batch, tokens, dtype=torch.bool),
                "differences": {"rope": {"forward": products, "backward": products, "why":
                                         "learned frequencies of positions are multiplied once, whatever the batch"}}}

    return config, video(config["in_channels"], config["text_embed_dim"], side=side, later=later)


def CosmosTransformer3DModel(choose):
    heads, dim = choose.randint(1, 3), 12 * choose.randint(1, 2)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), mlp_ratio=choose.choice([2.0, 4.0]),
                  text_embed_dim=even(choose, 4, 20), adaln_lora_dim=even(choose, 4, 12), max_size=(8, 24, 24),
                  patch_size=(side_frames, side, side), concat_padding_mask=flag(choose),
                  extra_pos_embed_type=choose.choice([None, "learnable"]))

    def later(choose, batch, grid, tokens):
        return {"padding_mask": torch.zeros(1, 1, *grid[1:]), "fps": 24}

    return config, video(config["in_channels"], config["text_embed_dim"], side=side, side_frames=side_frames, later=later)


def StableAudioDiTModel(choose):
    heads, kv, dim = choose.choice([(2, 1), (4, 2), (3, 3)]) + (4 * choose.randint(2, 5),)
    config = dict(sample_size=64, in_channels=choose.randint(2, 6), num_layers=choose.randint(1, 3), attention_head_dim=dim,
                  num_attention_heads=heads, num_key_value_attention_heads=kv, out_channels=choose.randint(2, 6),
                  cross_attention_dim=kv * dim, time_proj_dim=even(choose, 4, 20),
                  global_states_input_dim=even(choose, 4, 20), cross_attention_input_dim=even(choose, 4, 20))

    def inputs(choose, model):
        batch, length, text = choose.randint(1, 2), choose.randint(3, 20), choose.randint(2, 9)
        width = max(dim // 2, 32)
        return {"grids": [[1, 1, length]] * batch, "texts": [text] * batch,
                "hidden_states": torch.randn(batch, config["in_channels"], length), "timestep": times(batch) / 1000,
                "encoder_hidden_states": torch.randn(batch, text, config["cross_attention_input_dim"]),
                "global_hidden_states": torch.randn(batch, 1, config["global_states_input_dim"]),
                "rotary_embedding": None}

    return config, inputs


def BriaTransformer2DModel(choose):
    config, _ = FluxTransformer2DModel(choose)
    for name in ("guidance_embeds", "pooled_projection_dim", "out_channels"):
        config.pop(name)

    def inputs(choose, model):
        return dict(ovis_inputs(config, choose), pooled_projections=None)

    return config, inputs


def HunyuanImageTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 6), out_channels=choose.randint(2, 6), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_single_layers=choose.randint(1, 3),
                  num_refiner_layers=choose.randint(1, 2), mlp_ratio=choose.choice([2.0, 4.0]), patch_size=(side, side),
                  guidance_embeds=flag(choose), text_embed_dim=even(choose, 4, 20), rope_axes_dim=(dim // 2, dim // 2),
                  use_meanflow=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch).float(), encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.long),
                    timestep_r=times(batch).float() if config["use_meanflow"] else None,
                    guidance=torch.ones(batch) * 1000 if config["guidance_embeds"] else None)

    return config, inputs


def Kandinsky5Transformer3DModel(choose):
    dim = 16 * choose.randint(1, 2)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    visual = flag(choose)
    config = dict(in_visual_dim=choose.randint(2, 5), in_text_dim=even(choose, 4, 20), in_text_dim2=even(choose, 4, 20),
                  time_dim=even(choose, 5, 20), out_visual_dim=choose.randint(2, 5), patch_size=(side_frames, side, side),
                  model_dim=dim * choose.randint(1, 3), ff_dim=even(choose, 10, 40), num_text_blocks=choose.randint(1, 2),
                  num_visual_blocks=choose.randint(1, 3), axes_dims=(dim // 2, dim // 4, dim // 4), visual_cond=visual)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        batch = 1
        channels = 2 * config["in_visual_dim"] + 1 if visual else config["in_visual_dim"]
        t, h, w = grid[0] // side_frames, grid[1] // side, grid[2] // side
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, *grid, channels),
                    encoder_hidden_states=torch.randn(batch, text, config["in_text_dim"]), timestep=times(batch),
                    pooled_projections=torch.randn(batch, config["in_text_dim2"]),
                    visual_rope_pos=[torch.arange(t), torch.arange(h), torch.arange(w)], text_rope_pos=torch.arange(text))

    return config, inputs


def GlmImageTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    dim = 8 * (dim // 8 + 1)
    side = choose.choice([1, 2])
    config = dict(patch_size=side, in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5),
                  num_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  text_embed_dim=even(choose, 4, 20), time_embed_dim=even(choose, 5, 20), condition_dim=even(choose, 5, 20),
                  prior_vq_quantizer_codebook_size=choose.randint(10, 30))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        two = torch.ones(batch, 2)
        image = (grid[1] // side) * (grid[2] // side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]), timestep=times(batch),
                    prior_token_id=torch.zeros(batch, image, dtype=torch.long),
                    prior_token_drop=torch.zeros(batch, dtype=torch.bool), target_size=two, crop_coords=two)

    return config, inputs


def PRXTransformer2DModel(choose):
    heads, dim = choose.randint(1, 3), 8 * choose.randint(1, 3)
    side = choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 5), patch_size=side, context_in_dim=choose.choice([heads * dim, even(choose, 4, 20)]),
                  hidden_size=heads * dim, mlp_ratio=choose.choice([2.0, 3.5]), num_heads=heads, depth=choose.randint(1, 3),
                  axes_dim=[dim // 2, dim // 2])

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch) / 1000, encoder_hidden_states=torch.randn(batch, text, config["context_in_dim"]))

    return config, inputs


def SanaVideoTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    cross = choose.randint(1, 3)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 5), out_channels=choose.choice([None, None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_cross_attention_heads=cross,
                  cross_attention_head_dim=4 * choose.randint(1, 4), cross_attention_dim=heads * dim,
                  caption_channels=even(choose, 4, 20), mlp_ratio=choose.choice([2.0, 2.5]), attention_bias=flag(choose),
                  sample_size=8, patch_size=(side_frames, side, side), guidance_embeds=flag(choose), norm_elementwise_affine=flag(choose),
                  qk_norm=choose.choice([None, "rms_norm_across_heads"]))

    def later(choose, batch, grid, tokens):
        count = batch * (grid[0] // side_frames) * (grid[1] // side) * (grid[2] // side)
        width = 2 * int(config["mlp_ratio"] * heads * dim)
        return {"guidance": torch.ones(batch) if config["guidance_embeds"] else None,
                "differences": depthwise(count * width * 9 * config["num_layers"], width)}

    return config, video(config["in_channels"], config["caption_channels"], side=side, side_frames=side_frames, later=later)


def ErnieImageTransformer2DModel(choose):
    heads = choose.randint(1, 3)
    dim = 8 * choose.randint(1, 3)
    side = choose.choice([1, 2])
    config = dict(hidden_size=heads * dim, num_attention_heads=heads, num_layers=choose.randint(1, 3),
                  ffn_hidden_size=even(choose, 10, 40), in_channels=choose.randint(2, 6), out_channels=choose.randint(2, 6),
                  patch_size=side, text_in_dim=choose.choice([heads * dim, even(choose, 4, 20)]), rope_axes_dim=(dim - dim // 4 * 2, dim // 4, dim // 4),
                  qk_layernorm=True)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch), text_bth=torch.randn(batch, text, config["text_in_dim"]),
                    text_lens=torch.full((batch,), text))

    return config, inputs


# ---- UNets ----

def maybe(choose, value):
    return value if flag(choose) else None


def unet_grid(choose, levels, frames=False):
    """A number of equal samples, and the grid of each; one that halves is odd now and then."""
    side = 2 ** (levels - 1)
    return choose.randint(1, 2), (choose.randint(2, 3) if frames else 1, choose.randint(side, 2 * side + 3),
                                  choose.randint(side, 2 * side + 3))


def levels_of(choose, attending, plain, most=3):
    """The levels of a UNet: their widths, and the blocks down and up."""
    levels = choose.randint(2, most)
    down = [choose.choice([attending, plain]) for _ in range(levels)]
    up = [choose.choice([attending, plain]) for _ in range(levels)]
    return dict(block_out_channels=tuple(8 * choose.randint(1, 3) for _ in range(levels)),
                down_block_types=tuple(name.replace("WAY", "Down") for name in down),
                up_block_types=tuple(name.replace("WAY", "Up") for name in up))


def UNet2DConditionModel(choose):
    attending, plain, middle = choose.choice([
        ("CrossAttnWAYBlock2D", "WAYBlock2D", "UNetMidBlock2DCrossAttn"),
        ("CrossAttnWAYBlock2D", "WAYBlock2D", "UNetMidBlock2DCrossAttn"),
        ("SimpleCrossAttnWAYBlock2D", "ResnetWAYsampleBlock2D", "UNetMidBlock2DSimpleCrossAttn")])
    config = levels_of(choose, attending, plain)
    simple = attending.startswith("Simple")
    levels = len(config["block_out_channels"])
    context = 32 if simple else even(choose, 4, 12)  # 32 groups of a norm
    embedded, width = choose.choice([None, "timestep", "projection", "simple_projection", "identity"]), 8 * choose.randint(1, 3)
    time = maybe(choose, 4 * choose.randint(3, 8))
    fourier = flag(choose)
    embedding = time or (2 if fourier else 4) * config["block_out_channels"][0]
    caption = choose.choice([None, None, even(choose, 4, 12)])
    added = maybe(choose, "text_time")
    depths = choose.choice([1, 2, [choose.randint(1, 2) for _ in range(levels)]])
    per_block = choose.choice([1, 2, [choose.randint(1, 3) for _ in range(levels)]])
    config.update(
        in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), mid_block_type=choose.choice([middle, middle, middle, "UNetMidBlock2D", None]),
        only_cross_attention=choose.choice([False, [flag(choose) for _ in range(levels)], flag(choose)]),
        layers_per_block=per_block, downsample_padding=1 if simple else choose.choice([0, 1]), norm_num_groups=4,
        cross_attention_dim=choose.choice([context, [even(choose, 4, 12)] * levels]) if caption is None and not simple else context,
        transformer_layers_per_block=depths, encoder_hid_dim=caption,
        attention_head_dim=4 if simple else choose.choice([2, [choose.choice([1, 2, 4]) for _ in range(levels)]]),
        use_linear_projection=flag(choose), class_embed_type=embedded, addition_embed_type=added,
        addition_time_embed_dim=8 if added else None, num_class_embeds=maybe(choose, 7),
        projection_class_embeddings_input_dim=6 * 8 + width if added else width,
        resnet_time_scale_shift="scale_shift" if simple and flag(choose) else "default",
        time_embedding_type="fourier" if fourier else "positional", time_embedding_dim=time,
        time_cond_proj_dim=maybe(choose, 6), conv_in_kernel=choose.choice([1, 3]), conv_out_kernel=choose.choice([1, 3]),
        class_embeddings_concat=flag(choose) if embedded and not added else False,
        cross_attention_norm=maybe(choose, "group_norm") if simple else None,
        mid_block_only_cross_attention=choose.choice([None, True, False]))
    if not simple and flag(choose):  # of an asymmetric one
        many = config["layers_per_block"] if isinstance(config["layers_per_block"], list) else [config["layers_per_block"]] * levels
        config["reverse_transformer_layers_per_block"] = [[choose.randint(1, 2) for _ in range(count + 1)] for count in reversed(many)]
    for name in ("cross_attention_dim", "layers_per_block", "attention_head_dim", "only_cross_attention", "transformer_layers_per_block"):
        if isinstance(config[name], list):
            config[name] = tuple(config[name])

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels)
        if simple or config["downsample_padding"] == 0:
            grid = (1, *(2 ** levels * choose.randint(1, 2) for _ in range(2)))
        text = choose.randint(2, 9)
        width = caption or (config["cross_attention_dim"] if isinstance(config["cross_attention_dim"], int) else config["cross_attention_dim"][0])
        labels = {None: torch.zeros(batch, dtype=torch.long) if config["num_class_embeds"] else None,
                  "timestep": times(batch), "identity": torch.randn(batch, embedding)}.get(
                      embedded, torch.randn(batch, config["projection_class_embeddings_input_dim"]))
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch, text, width), class_labels=labels,
                    timestep_cond=torch.randn(batch, 6) if config["time_cond_proj_dim"] else None,
                    added_cond_kwargs={"text_embeds": torch.randn(batch, config["projection_class_embeddings_input_dim"] - 48),
                                       "time_ids": torch.ones(batch, 6)} if added else None)

    return config, inputs


UNet2DConditionModel.draws = 20


def UNet2DModel(choose):
    config = levels_of(choose, "AttnWAYBlock2D", choose.choice(["WAYBlock2D", "ResnetWAYsampleBlock2D"]))
    levels = len(config["block_out_channels"])
    embedded = choose.choice([None, "timestep", "identity"])
    time = maybe(choose, 4 * choose.randint(3, 8))
    embedding = time or 4 * config["block_out_channels"][0]
    config.update(
        in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), layers_per_block=choose.randint(1, 2),
        mid_block_type=choose.choice(["UNetMidBlock2D", "UNetMidBlock2D", None]), add_attention=choose.random() < 0.8,
        attention_head_dim=choose.choice([None, 4, 8]), norm_num_groups=4, attn_norm_num_groups=choose.choice([None, None, 2]),
        downsample_type=choose.choice(["conv", "resnet"]), upsample_type=choose.choice(["conv", "resnet"]),
        downsample_padding=choose.choice([0, 1]), resnet_time_scale_shift=choose.choice(["default", "scale_shift"]),
        time_embedding_type=choose.choice(["positional", "fourier", "learned"]), time_embedding_dim=time,
        num_train_timesteps=1000, class_embed_type=embedded, num_class_embeds=maybe(choose, 7))

    def inputs(choose, model):
        batch = choose.randint(1, 2)
        grid = (1, *(2 ** (levels - 1) * choose.randint(1, 3) for _ in range(2)))
        labels = {None: torch.zeros(batch, dtype=torch.long) if config["num_class_embeds"] else None,
                  "timestep": times(batch), "identity": torch.randn(batch, embedding)}[embedded]
        return dict(samples(batch, grid, 0), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch),
                    class_labels=labels)

    return config, inputs


UNet2DModel.draws = 8


def UNet3DConditionModel(choose):
    config = levels_of(choose, "CrossAttnWAYBlock3D", "WAYBlock3D")
    levels = len(config["block_out_channels"])
    config.update(in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), layers_per_block=choose.randint(1, 2),
                  norm_num_groups=4, cross_attention_dim=even(choose, 4, 12), attention_head_dim=choose.choice([2, 4, 8]),
                  time_cond_proj_dim=maybe(choose, 6), downsample_padding=1)

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels, True)
        text = choose.randint(2, 9)
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch, text, config["cross_attention_dim"]),
                    timestep_cond=torch.randn(batch, 6) if config["time_cond_proj_dim"] else None)

    return config, inputs


def UNetSpatioTemporalConditionModel(choose):
    config = levels_of(choose, "CrossAttnWAYBlockSpatioTemporal", "WAYBlockSpatioTemporal")
    levels = len(config["block_out_channels"])
    config["block_out_channels"] = tuple(32 * choose.randint(1, 2) for _ in range(levels))
    context = even(choose, 4, 12)
    config.update(in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5),
                  layers_per_block=choose.choice([1, tuple(choose.randint(1, 2) for _ in range(levels))]),
                  cross_attention_dim=choose.choice([context, (context,) * levels]),
                  transformer_layers_per_block=choose.choice([1, tuple(choose.randint(1, 2) for _ in range(levels))]),
                  num_attention_heads=choose.choice([2, tuple(choose.choice([1, 2, 4]) for _ in range(levels))]),
                  addition_time_embed_dim=8, projection_class_embeddings_input_dim=24)

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels, True)
        text = choose.randint(1, 3)
        return dict(samples(batch, grid, text), sample=torch.randn(batch, grid[0], config["in_channels"], *grid[1:]),
                    timestep=times(batch).float(), encoder_hidden_states=torch.randn(batch, text, context),
                    added_time_ids=torch.ones(batch, 3))

    return config, inputs


def I2VGenXLUNet(choose):
    config, inputs = UNet3DConditionModel(choose)
    config["in_channels"] = 4
    config.pop("downsample_padding")
    config.pop("time_cond_proj_dim")

    def own(choose, model):
        levels = len(config["block_out_channels"])
        batch, grid = unet_grid(choose, levels, True)
        text = choose.randint(2, 9)
        return dict(samples(batch, grid, text), sample=torch.randn(batch, 4, *grid), timestep=times(batch).float(), fps=times(batch),
                    image_latents=torch.randn(batch, 4, *grid), image_embeddings=torch.randn(batch, config["cross_attention_dim"]),
                    encoder_hidden_states=torch.randn(batch, text, config["cross_attention_dim"]))

    return config, own


def UNetMotionModel(choose):
    config = levels_of(choose, "CrossAttnWAYBlockMotion", "WAYBlockMotion")
    levels = len(config["block_out_channels"])
    context = even(choose, 4, 12)
    each = lambda: tuple(choose.randint(1, 2) for _ in range(levels))
    added = maybe(choose, "text_time")
    depths = choose.choice([1, each()])
    config.update(in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), layers_per_block=depths,
                  norm_num_groups=4, cross_attention_dim=choose.choice([context, (context,) * levels]),
                  transformer_layers_per_block=choose.choice([1, 2, each()]), temporal_transformer_layers_per_block=choose.choice([1, 2, each()]),
                  transformer_layers_per_mid_block=choose.choice([None, 2, (1,)]),
                  temporal_transformer_layers_per_mid_block=choose.choice([1, 2, (2,)]), use_linear_projection=flag(choose),
                  num_attention_heads=choose.choice([2, tuple(choose.choice([1, 2, 4]) for _ in range(levels))]),
                  motion_num_attention_heads=choose.choice([2, tuple(choose.choice([1, 2, 4]) for _ in range(levels))]),
                  use_motion_mid_block=flag(choose), addition_embed_type=added, addition_time_embed_dim=8 if added else None,
                  projection_class_embeddings_input_dim=56 if added else None, time_cond_proj_dim=maybe(choose, 6))
    if flag(choose):  # of an asymmetric one
        many = depths if isinstance(depths, tuple) else (depths,) * levels
        nested = lambda more: tuple(tuple(choose.randint(1, 2) for _ in range(count + more)) for count in (reversed(many) if more else many))
        config.update(reverse_transformer_layers_per_block=nested(1), reverse_temporal_transformer_layers_per_block=nested(1),
                      transformer_layers_per_block=nested(0), temporal_transformer_layers_per_block=nested(0),
                      reverse_motion_num_attention_heads=tuple(choose.choice([1, 2, 4]) for _ in range(levels)))

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels, True)
        text = choose.randint(2, 9)
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch * grid[0], text, context),
                    timestep_cond=torch.randn(batch, 6) if config["time_cond_proj_dim"] else None,
                    added_cond_kwargs={"text_embeds": torch.randn(batch, 8), "time_ids": torch.ones(batch, 6)} if added else None)

    return config, inputs

UNetMotionModel.draws = 10



# ---- control networks: all of their outputs are in the loss ----

def all_of(outputs):
    if isinstance(outputs, (list, tuple)):
        return [tensor for one in outputs for tensor in all_of(one)]
    return [] if outputs is None else [outputs]


def ControlNetModel(choose):
    config, _ = UNet2DConditionModel(choose)
    while config["mid_block_type"] is None or "Simple" in config["mid_block_type"] or config["class_embed_type"] == "simple_projection":
        config, _ = UNet2DConditionModel(choose)
    levels = len(config["block_out_channels"])
    for name in ("out_channels", "up_block_types", "reverse_transformer_layers_per_block", "time_embedding_type", "time_embedding_dim",
                 "time_cond_proj_dim", "conv_in_kernel", "conv_out_kernel", "class_embeddings_concat", "cross_attention_norm",
                 "mid_block_only_cross_attention"):
        config.pop(name, None)
    context = even(choose, 4, 12)
    config.update(layers_per_block=choose.randint(1, 2), cross_attention_dim=context, downsample_padding=1,
                  attention_head_dim=choose.choice([2, 4]), conditioning_channels=choose.randint(1, 4),
                  down_block_types=tuple(name.replace("Simple", "").replace("ResnetDownsampleBlock2D", "DownBlock2D") for name in config["down_block_types"]),
                  conditioning_embedding_out_channels=tuple(choose.randint(2, 6) for _ in range(4)))
    embedding = 4 * config["block_out_channels"][0]
    added = config["addition_embed_type"]
    if config["encoder_hid_dim"]:
        config["_unused"] = {"encoder_hid_proj": {"count": (config["encoder_hid_dim"] + 1) * context,
                                                  "why": "the class makes a projection of the text that it never runs"}}

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels)
        text = choose.randint(2, 9)
        labels = {None: torch.zeros(batch, dtype=torch.long) if config["num_class_embeds"] else None,
                  "timestep": times(batch), "identity": torch.randn(batch, embedding)}.get(
                      config["class_embed_type"], torch.randn(batch, config["projection_class_embeddings_input_dim"]))
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch, text, context), class_labels=labels, loss=all_of,
                    controlnet_cond=torch.randn(batch, config["conditioning_channels"], 8 * grid[1], 8 * grid[2]),
                    added_cond_kwargs={"text_embeds": torch.randn(batch, config["projection_class_embeddings_input_dim"] - 48),
                                       "time_ids": torch.ones(batch, 6)} if added else None)

    return config, inputs


ControlNetModel.draws = 10


def SparseControlNetModel(choose):
    config, _ = UNetMotionModel(choose)
    levels = len(config["block_out_channels"])
    context, simple = even(choose, 4, 12), flag(choose)
    each = lambda: tuple(choose.randint(1, 2) for _ in range(levels))
    config = dict(block_out_channels=config["block_out_channels"], down_block_types=config["down_block_types"],
                  in_channels=choose.randint(2, 5), conditioning_channels=choose.randint(2, 5), layers_per_block=choose.randint(1, 2),
                  norm_num_groups=4, cross_attention_dim=choose.choice([context, (context,) * levels]),
                  transformer_layers_per_block=choose.choice([1, each()]), transformer_layers_per_mid_block=choose.choice([None, 2, (1,)]),
                  temporal_transformer_layers_per_block=choose.choice([1, each()]), use_linear_projection=flag(choose),
                  attention_head_dim=choose.choice([2, tuple(choose.choice([1, 2, 4]) for _ in range(levels))]),
                  num_attention_heads=choose.choice([None, 2]), motion_num_attention_heads=choose.choice([1, 2, 4]),
                  resnet_time_scale_shift=choose.choice(["default", "scale_shift"]), concat_conditioning_mask=flag(choose),
                  use_simplified_condition_embedding=simple, conditioning_embedding_out_channels=tuple(choose.randint(2, 6) for _ in range(4)))

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels, True)
        text = choose.randint(2, 9)
        given = grid if simple else (grid[0], 8 * grid[1], 8 * grid[2])
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch * grid[0], text, context), loss=all_of,
                    controlnet_cond=torch.randn(batch, config["conditioning_channels"], *given),
                    conditioning_mask=torch.ones(batch, 1, *given))

    return config, inputs


def FluxControlNetModel(choose):
    config, inputs = FluxTransformer2DModel(choose)
    config.pop("out_channels")
    config["num_mode"] = maybe(choose, 5)

    def own(choose, model):
        made = inputs(choose, model)
        batch = len(made["grids"])
        return dict(made, controlnet_cond=torch.randn(*made["hidden_states"].shape), loss=all_of,
                    controlnet_mode=torch.zeros(batch, 1, dtype=torch.long) if config["num_mode"] else None)

    return config, own


def SD3ControlNetModel(choose):
    config, inputs = SD3Transformer2DModel(choose)
    texted, embeds, extra = choose.random() < 0.7, flag(choose), choose.randint(0, 2)
    config.update(extra_conditioning_channels=extra, use_pos_embed=embeds)
    if not texted:
        config["joint_attention_dim"] = None

    def own(choose, model):
        batch, grid, text = batch_of(choose, side=config["patch_size"])
        width = config["num_attention_heads"] * config["attention_head_dim"]
        cells = (grid[1] // config["patch_size"]) * (grid[2] // config["patch_size"])
        return dict(samples(batch, grid, text), timestep=times(batch), loss=all_of,
                    hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]) if embeds else torch.randn(batch, cells, width),
                    controlnet_cond=torch.randn(batch, config["in_channels"] + extra, *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]) if texted else None,
                    pooled_projections=torch.randn(batch, config["pooled_projection_dim"]))

    return config, own


def QwenImageControlNetModel(choose):
    config, inputs = QwenImageTransformer2DModel(choose)
    for name in ("zero_cond_t", "use_additional_t_cond"):
        config.pop(name)
    config["extra_condition_channels"] = choose.randint(0, 3)

    def own(choose, model):
        made = inputs(choose, model)
        made.pop("additional_t_cond")
        states = made["hidden_states"]
        return dict(made, loss=all_of, controlnet_cond=torch.randn(*states.shape[:2], states.shape[2] + config["extra_condition_channels"]))

    return config, own


def SanaControlNetModel(choose):
    drawn, inputs = SanaTransformer2DModel(choose)
    drawn["guidance_embeds"] = False
    config = {name: value for name, value in drawn.items() if name not in ("guidance_embeds", "qk_norm")}

    def own(choose, model):
        made = inputs(choose, model)
        made.pop("guidance", None)
        return dict(made, loss=all_of, controlnet_cond=torch.randn(*made["hidden_states"].shape))

    return config, own


def ControlNetUnionModel(choose):
    config, inputs = ControlNetModel(choose)
    while config["class_embed_type"] == "identity":
        config, inputs = ControlNetModel(choose)
    first = config["block_out_channels"][0]
    config = dict(config, addition_time_embed_dim=8, num_control_type=choose.randint(1, 6), num_trans_channel=first,
                  num_trans_head=choose.choice([1, 2, 4]), num_trans_layer=choose.randint(1, 2), num_proj_channel=first)
    for name in ("mid_block_type", "encoder_hid_dim", "_unused"):
        config.pop(name, None)

    def own(choose, model):
        made = inputs(choose, model)
        while len(made["grids"]) > 1:  # its attention mixes samples
            made = inputs(choose, model)
        kinds = torch.zeros(1, config["num_control_type"])
        return dict(made, controlnet_cond=[made["controlnet_cond"]], control_type=kinds, control_type_idx=[0])

    return config, own


ControlNetUnionModel.draws = 10


def CosmosControlNetModel(choose):
    config, _ = CosmosTransformer3DModel(choose)
    side, side_frames = config["patch_size"][1], config["patch_size"][0]
    for name in ("out_channels", "num_layers", "concat_padding_mask"):
        config.pop(name)
    channels = choose.randint(2, 5)
    config.update(n_controlnet_blocks=choose.randint(1, 3), in_channels=choose.randint(5, 9), latent_channels=channels + 2,
                  model_channels=config["num_attention_heads"] * config["attention_head_dim"])

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        return dict(samples(batch, grid, text), controls_latents=torch.randn(batch, 3, *grid), latents=torch.randn(batch, channels, *grid),
                    timestep=times(batch), encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    condition_mask=torch.ones(batch, 1, *grid), padding_mask=torch.zeros(1, 1, *grid[1:]), fps=24, loss=all_of)

    return config, inputs


CLASSES = [name for name, value in list(globals().items()) if name[0].isupper() and callable(value)]
