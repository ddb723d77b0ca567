# SPDX-License-Identifier: Apache-2.0
"""The classes of diffusers that are counted: for each a function that draws its arguments, and its inputs.

Inputs have "grids" and "texts": of a class that takes several texts, the tokens of each in a list. "conditions" are the
cells of what a sample is made from.
"""

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
    config["added_kv_proj_dim"] = choose.choice([None, config["added_kv_proj_dim"]])

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
    config["num_layers"] = choose.randint(2, 4)
    config["vace_layers"] = [layer for layer in range(config["num_layers"]) if layer == 0 or flag(choose)]
    config["vace_in_channels"] = choose.randint(3, 9)

    def later(choose, batch, grid, tokens):
        return {"control_hidden_states": torch.randn(batch, config["vace_in_channels"], *grid),
                **pictures_of(config, batch)}

    return config, video(config["in_channels"], config["text_dim"], side=patch[1], side_frames=patch[0], later=later)


def WanAnimateTransformer3DModel(choose):
    config, _ = WanTransformer3DModel(choose)
    patch, latents = (1, *config["patch_size"][1:]), choose.randint(2, 6)
    left = {"latent_channels": None}
    size, none, channels = choose.choice(
        [(16, False, {}), (32, False, left), (64, False, {}), (128, False, left), (8, True, {}), (1024, False, left),
         (4, False, {"in_channels": None}), (256, False, {}), (512, False, left), (8, False, {})])
    every = choose.randint(1, 2)
    wide, dim, out = {str(2 ** k): choose.randint(2, 5) for k in range(2, 11)}, choose.randint(2, 5), choose.randint(6, 12)
    config.update({"patch_size": patch, "in_channels": 2 * latents + 4, "latent_channels": latents, "motion_encoder_size": size,
                   "motion_encoder_channel_sizes": None if none else wide, "motion_style_dim": choose.randint(6, 12), "motion_dim": dim,
                   "motion_encoder_dim": out, "face_encoder_hidden_dim": choose.randint(4, 9), "face_encoder_num_heads": choose.randint(1, 4),
                   "inject_face_latents_blocks": every, "num_layers": every * choose.randint(1, 3), **channels,
                   "motion_encoder_batch_size": choose.choice([2, 8])})

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, patch[1])
        grid = (grid[0] + 2, *grid[1:])  # a reference, and frames that have faces
        frames = 4 * grid[0] - 7
        blurs = sum(2 * 16 * module.in_channels * cells ** 2 for module, cells in blurred(model, size))
        diagonal = 2 * (dim - 1) * dim * out * frames * batch
        calls = -(-frames * batch // config["motion_encoder_batch_size"])
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, 2 * latents + 4, *grid), timestep=times(batch),
                    encoder_hidden_states=torch.randn(batch, text, config["text_dim"]), **pictures_of(config, batch),
                    pose_hidden_states=torch.randn(batch, latents, grid[0] - 1, *grid[1:]),
                    face_pixel_values=torch.randn(batch, 3, frames, size, size), differences={
                        "blurs": {"forward": blurs * frames * batch, "backward": blurs * frames * batch,
                                  "why": "fixed filters of pixels run as convolutions"},
                        "diagonal": {"forward": diagonal, "backward": 2 * diagonal,
                                     "why": "a vector is a diagonal matrix"},
                        "directions": {"forward": 0, "backward": calls * 4 * dim * dim * out,
                                       "why": "the gradient of a QR decomposition"}})

    return config, inputs


def blurred(model, size):
    """The convolutions that a filter runs before, each with the side of what it makes."""
    for block in model.motion_encoder.res_blocks:
        yield block.conv2, size + 1
        yield block.conv_skip, size - 1
        size //= 2


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
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
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
    config = dict(in_channels=choose.choice([32, 3, 16, 2]), patch_size=side, context_in_dim=choose.choice([heads * dim, even(choose, 4, 20)]),
                  hidden_size=heads * dim, mlp_ratio=choose.choice([2.0, 3.5]), num_heads=heads, depth=choose.randint(1, 3),
                  axes_dim=[dim // 2, dim // 2])

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch) / 1000, encoder_hidden_states=torch.randn(batch, text, config["context_in_dim"]))

    return config, inputs


PRXTransformer2DModel.draws = 8


def SanaVideoTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    cross = choose.randint(1, 3)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(in_channels=choose.choice([5, 16, 128]), out_channels=choose.choice([None, None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_cross_attention_heads=cross,
                  cross_attention_head_dim=4 * choose.randint(1, 4), cross_attention_dim=heads * dim,
                  caption_channels=even(choose, 4, 20), mlp_ratio=choose.choice([2.0, 2.5]), attention_bias=flag(choose),
                  sample_size=8, patch_size=(side_frames, side, side), guidance_embeds=flag(choose), norm_elementwise_affine=flag(choose),
                  qk_norm=choose.choice([None, "rms_norm_across_heads"]))

    def later(choose, batch, grid, tokens):
        return {"guidance": torch.ones(batch) if config["guidance_embeds"] else None}

    return config, video(config["in_channels"], config["caption_channels"], side=side, side_frames=side_frames, later=later)


def ErnieImageTransformer2DModel(choose):
    heads = choose.randint(1, 3)
    dim = 8 * choose.randint(1, 3)
    side = choose.choice([1, 2])
    config = dict(hidden_size=heads * dim, num_attention_heads=heads, num_layers=choose.randint(1, 3),
                  ffn_hidden_size=even(choose, 10, 40), in_channels=choose.choice([3, 128]), out_channels=choose.randint(2, 6),
                  patch_size=side, text_in_dim=choose.choice([heads * dim, even(choose, 4, 20)]), rope_axes_dim=(dim - dim // 4 * 2, dim // 4, dim // 4),
                  qk_layernorm=True)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch), text_bth=torch.randn(batch, text, config["text_in_dim"]),
                    text_lens=torch.full((batch,), text))

    return config, inputs


def AllegroTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(patch_size=side, patch_size_t=1, num_attention_heads=heads, attention_head_dim=dim,
                  in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), num_layers=choose.randint(1, 3),
                  cross_attention_dim=heads * dim, attention_bias=flag(choose), norm_elementwise_affine=flag(choose),
                  caption_channels=even(choose, 4, 20))

    return config, video(config["in_channels"], config["caption_channels"], side=side, image_rotary_emb=None)


AllegroTransformer3DModel.draws = 20


def HiDreamImageTransformer2DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    double, single = choose.randint(1, 2), choose.randint(1, 2)
    experts = choose.choice([0, 3, 4])
    config = dict(patch_size=side, in_channels=choose.randint(2, 5), out_channels=choose.choice([None, 3]), num_layers=double,
                  num_single_layers=single, attention_head_dim=dim, num_attention_heads=heads,
                  caption_channels=[even(choose, 4, 20), even(choose, 4, 20)], text_emb_dim=even(choose, 4, 20),
                  num_routed_experts=experts, num_activated_experts=choose.randint(1, 2), axes_dims_rope=rope(dim),
                  max_resolution=(64, 64), llama_layers=[choose.randint(0, 3) for _ in range(double + single)])

    def inputs(choose, model):
        batch, grid, t5 = batch_of(choose, side=side)
        llama = choose.randint(2, 9)
        edge = grid[1]
        return {"grids": [[1, edge, edge]] * batch, "texts": [[t5, llama]] * batch,
                "hidden_states": torch.randn(batch, config["in_channels"], edge, edge), "timesteps": times(batch),
                "encoder_hidden_states_t5": torch.randn(batch, t5, config["caption_channels"][0]),
                "encoder_hidden_states_llama3": torch.randn(4, batch, llama, config["caption_channels"][1]),
                "pooled_embeds": torch.randn(batch, config["text_emb_dim"])}

    return config, inputs


def HunyuanDiT2DModel(choose):
    heads, dim = heads_of(choose)
    side = choose.choice([1, 2])
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 5), patch_size=side,
                  hidden_size=heads * dim, num_layers=even(choose, 1, 3), mlp_ratio=choose.choice([2.0, 4.0, 2.5]),
                  learn_sigma=flag(choose), cross_attention_dim=even(choose, 4, 20), cross_attention_dim_t5=8 * choose.randint(1, 4),
                  pooled_projection_dim=even(choose, 4, 20), text_len=choose.randint(2, 9), text_len_t5=choose.randint(2, 9),
                  use_style_cond_and_image_meta_size=flag(choose))

    def inputs(choose, model):
        batch, grid, _ = batch_of(choose, side=side)
        clip, t5 = config["text_len"], config["text_len_t5"]
        return dict(samples(batch, grid, 0), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch).float(), encoder_hidden_states=torch.randn(batch, clip, config["cross_attention_dim"]),
                    text_embedding_mask=torch.ones(batch, clip, dtype=torch.long),
                    encoder_hidden_states_t5=torch.randn(batch, t5, config["cross_attention_dim_t5"]),
                    text_embedding_mask_t5=torch.ones(batch, t5, dtype=torch.long), image_meta_size=torch.ones(batch, 6),
                    style=torch.zeros(batch, dtype=torch.long))

    return config, inputs


def HunyuanVideo15Transformer3DModel(choose):
    heads, dim = heads_of(choose)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 6), out_channels=choose.choice([None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_refiner_layers=choose.randint(1, 2),
                  mlp_ratio=choose.choice([2.0, 4.0]), patch_size=side, patch_size_t=side_frames,
                  text_embed_dim=even(choose, 4, 20), text_embed_2_dim=even(choose, 4, 20), image_embed_dim=even(choose, 4, 20),
                  rope_axes_dim=tuple(rope(dim)), use_meanflow=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        byt5, picture = choose.randint(2, 9), choose.randint(2, 9)
        return dict(samples(batch, grid, [text, byt5, picture]), timestep=times(batch).float(),
                    hidden_states=torch.randn(batch, config["in_channels"], *grid),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.long),
                    timestep_r=times(batch).float() if config["use_meanflow"] else None,
                    encoder_hidden_states_2=torch.randn(batch, byt5, config["text_embed_2_dim"]),
                    encoder_attention_mask_2=torch.ones(batch, byt5, dtype=torch.long),
                    image_embeds=torch.randn(batch, picture, config["image_embed_dim"]))

    return config, inputs


def EasyAnimateTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    dim = 16 * choose.randint(1, 2)
    side = choose.choice([1, 2])
    two = flag(choose)
    layers = choose.randint(1, 4)
    channels, text = choose.randint(2, 5), even(choose, 4, 20)
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=channels, out_channels=channels,
                  patch_size=side, num_layers=layers, mmdit_layers=choose.randint(0, layers), time_embed_dim=even(choose, 5, 20),
                  add_norm_text_encoder=flag(choose), text_embed_dim=text, text_embed_dim_t5=text if two else None,
                  norm_elementwise_affine=flag(choose), after_norm=flag(choose))

    def inputs(choose, model):
        batch, grid, words = batch_of(choose, True, side)
        t5 = choose.randint(2, 9)
        return dict(samples(batch, grid, [words, t5] if two else words), timestep=times(batch),
                    hidden_states=torch.randn(batch, channels, *grid), encoder_hidden_states=torch.randn(batch, words, text),
                    encoder_hidden_states_t5=torch.randn(batch, t5, text) if two else None)

    return config, inputs


EasyAnimateTransformer3DModel.draws = 20


def LuminaNextDiT2DModel(choose):
    heads, kv, dim = 2 * choose.randint(1, 2), choose.choice([1, 2]), 4 * choose.randint(1, 5)
    side = choose.choice([1, 2])
    config = dict(sample_size=8, patch_size=side, in_channels=choose.randint(2, 5), hidden_size=heads * dim,
                  num_layers=choose.randint(1, 3), num_attention_heads=heads, num_kv_heads=kv,
                  multiple_of=choose.choice([8, 16]), ffn_dim_multiplier=choose.choice([None, 1.3]), learn_sigma=flag(choose),
                  qk_norm=flag(choose), cross_attention_dim=even(choose, 4, 20))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]),
                    timestep=times(batch) / 1000, encoder_hidden_states=torch.randn(batch, text, config["cross_attention_dim"]),
                    encoder_mask=torch.ones(batch, text, dtype=torch.long),
                    image_rotary_emb=torch.ones(16, 16, dim // 2, dtype=torch.complex64), cross_attention_kwargs={})

    return config, inputs


LuminaNextDiT2DModel.draws = 20


def OmniGenTransformer2DModel(choose):
    heads, dim = choose.randint(1, 3), 4 * choose.randint(1, 4)
    side = choose.choice([1, 2])
    config = dict(in_channels=choose.randint(2, 5), patch_size=side, hidden_size=heads * dim, num_attention_heads=heads,
                  num_key_value_heads=heads, intermediate_size=even(choose, 10, 40), num_layers=choose.randint(1, 3),
                  pad_token_id=0, vocab_size=choose.randint(10, 40), pos_embed_max_size=16, time_step_dim=even(choose, 5, 20),
                  max_position_embeddings=4096, original_max_position_embeddings=4096,
                  rope_scaling={"short_factor": [1.0] * (dim // 2), "long_factor": [1.0] * (dim // 2)})

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        shown = (side * choose.randint(1, 3), side * choose.randint(1, 3))
        edited = flag(choose)
        count = shown[0] * shown[1] // side ** 2 if edited else 0
        length = text + count + 1 + grid[1] * grid[2] // side ** 2
        positions = {"rope": {"forward": batch * length * dim, "backward": 0, "why":
                              "angles of positions are multiplied out"}}
        return dict(samples(batch, grid, text), differences=positions, conditions=[shown[0] * shown[1] if edited else 0] * batch,
                    hidden_states=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch),
                    input_ids=torch.ones(batch, text + count, dtype=torch.long),
                    input_img_latents=[torch.randn(1, config["in_channels"], *shown) for _ in range(batch if edited else 0)],
                    input_image_sizes={one: [[1, 1 + count]] for one in range(batch)} if edited else {},
                    attention_mask=torch.ones(batch, length, length), position_ids=torch.arange(length).repeat(batch, 1))

    return config, inputs


def PriorTransformer(choose):
    heads, dim = heads_of(choose)
    read = flag(choose)
    text = flag(choose)
    tokens = choose.randint(3, 9)
    config = dict(num_attention_heads=heads, attention_head_dim=dim, num_layers=choose.randint(1, 3),
                  embedding_dim=even(choose, 4, 20), num_embeddings=tokens, additional_embeddings=4 if read else 3 if text else 0,
                  norm_in_type=choose.choice([None, "layer"]), embedding_proj_norm_type=choose.choice([None, "layer"]),
                  encoder_hid_proj_type="linear" if text else None, added_emb_type="prd" if read else None,
                  time_embed_dim=choose.choice([None, even(choose, 4, 20)]), embedding_proj_dim=choose.choice([None, 10]),
                  clip_embed_dim=choose.choice([None, 14]))

    def inputs(choose, model):
        batch = choose.randint(1, 2)
        made = 1 if read else tokens
        words = tokens if text else 0
        if not read and text:
            made = 1
        shape = (batch, config["embedding_dim"]) if made == 1 else (batch, made, config["embedding_dim"])
        return dict(samples(batch, (1, 1, made), words), hidden_states=torch.randn(shape), timestep=times(batch),
                    proj_embedding=torch.randn(batch, config["embedding_proj_dim"] or config["embedding_dim"]),
                    encoder_hidden_states=torch.randn(batch, words, config["embedding_dim"]) if text else None)

    return config, inputs


def T5FilmDecoder(choose):
    heads, dim = heads_of(choose)
    config = dict(input_dims=even(choose, 4, 20), targets_length=choose.randint(20, 30), d_model=even(choose, 4, 20),
                  num_layers=choose.randint(1, 3), num_heads=heads, d_kv=dim, d_ff=even(choose, 10, 40))

    def inputs(choose, model):
        batch, frames = choose.randint(1, 2), choose.randint(3, 20)
        parts = [choose.randint(2, 9) for _ in range(choose.randint(1, 2))]
        return dict(samples(batch, (1, 1, frames), sum(parts)),
                    encodings_and_masks=[(torch.randn(batch, part, config["d_model"]), torch.ones(batch, part)) for part in parts],
                    decoder_input_tokens=torch.randn(batch, frames, config["input_dims"]),
                    decoder_noise_time=torch.full((batch,), 0.5),
                    call=lambda model, return_dict, **given: (model(**given),))

    return config, inputs


def Flux3Transformer2DModel(choose):
    heads, dim = heads_of(choose)
    dim = 8 * (dim // 8 + 1)
    config = dict(in_channels=even(choose, 2, 9), cond_in_channels=even(choose, 2, 9), num_layers=choose.randint(1, 3),
                  num_single_layers=choose.randint(1, 3), attention_head_dim=dim, num_attention_heads=heads,
                  joint_attention_dim=even(choose, 4, 20), timestep_channels=choose.choice([32, 256]),
                  mlp_ratio=choose.choice([2.0, 3.0, 2.5]), axes_dims_rope=[dim // 4] * 4, flow_map=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        image, edited = grid[1] * grid[2], choose.choice([0, choose.randint(2, 9)])
        return dict(samples(batch, grid, text), conditions=[edited] * batch,
                    hidden_states=torch.randn(batch, image, config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]), timestep=times(batch) / 1000,
                    img_ids=torch.zeros(image, 4), txt_ids=torch.zeros(text, 4),
                    image_cond_hidden_states=torch.randn(batch, edited, config["cond_in_channels"]) if edited else None,
                    image_cond_ids=torch.zeros(edited, 4) if edited else None,
                    target_timestep=torch.ones(batch) if config["flow_map"] else None)

    return config, inputs


def BriaFiboTransformer2DModel(choose):
    config, _ = FluxTransformer2DModel(choose)
    for name in ("pooled_projection_dim", "out_channels"):
        config.pop(name)
    config["text_encoder_dim"] = even(choose, 4, 20)

    def inputs(choose, model):
        made = ovis_inputs(config, choose)
        batch, text = made["encoder_hidden_states"].shape[:2]
        layers = config["num_layers"] + config["num_single_layers"]
        return dict(made, text_encoder_layers=[torch.randn(batch, text, config["text_encoder_dim"]) for _ in range(layers)],
                    guidance=torch.ones(batch) if config["guidance_embeds"] else None)

    return config, inputs


def Krea2Transformer2DModel(choose):
    heads, kv, dim = 2 * choose.randint(1, 2), choose.choice([1, 2]), 8 * choose.randint(1, 3)
    t_heads, t_kv, t_dim = 2 * choose.randint(1, 2), choose.choice([1, 2]), 4 * choose.randint(1, 4)
    config = dict(in_channels=even(choose, 2, 9), num_layers=choose.randint(1, 3), attention_head_dim=dim,
                  num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=even(choose, 10, 40),
                  timestep_embed_dim=even(choose, 5, 20), text_hidden_dim=t_heads * t_dim, num_text_layers=choose.randint(2, 5),
                  text_num_attention_heads=t_heads, text_num_key_value_heads=t_kv,
                  text_intermediate_size=even(choose, 10, 40), num_layerwise_text_blocks=choose.randint(1, 2),
                  num_refiner_text_blocks=choose.randint(1, 2), axes_dims_rope=(dim // 2, dim // 4, dim // 4))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        image = grid[1] * grid[2]
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, image, config["in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, config["num_text_layers"], config["text_hidden_dim"]),
                    timestep=times(batch) / 1000, position_ids=torch.zeros(text + image, 3))

    return config, inputs


def JoyImageEditTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    config = dict(patch_size=[side_frames, side, side], in_channels=choose.randint(2, 5), out_channels=choose.choice([None, 5]),
                  hidden_size=heads * dim, num_attention_heads=heads, text_dim=even(choose, 4, 20),
                  mlp_width_ratio=choose.choice([2.0, 4.0, 2.5]), num_layers=choose.randint(1, 3), rope_dim_list=rope(dim),
                  rope_type=choose.choice(["rope", "mrope"]))
    return config, video(config["in_channels"], config["text_dim"], side=side, side_frames=side_frames)


def Ideogram4Transformer2DModel(choose):
    heads, dim = choose.randint(1, 3), 16
    config = dict(in_channels=even(choose, 2, 9), num_layers=choose.randint(1, 3), attention_head_dim=dim,
                  num_attention_heads=heads, intermediate_size=even(choose, 10, 40), adaln_dim=even(choose, 4, 20),
                  llm_features_dim=even(choose, 4, 20), mrope_section=(4, 2, 2))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        length = text + grid[1] * grid[2]
        kinds = torch.tensor([[3] * text + [2] * (length - text)] * batch)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, length, config["in_channels"]),
                    timestep=times(batch) / 1000, encoder_hidden_states=torch.randn(batch, length, config["llm_features_dim"]),
                    position_ids=torch.zeros(batch, length, 3, dtype=torch.long),
                    segment_ids=torch.zeros(batch, length, dtype=torch.long), indicator=kinds,
                    differences={"rope": {"forward": batch * length * dim * 3, "backward": 0, "why":
                                          "angles of positions are multiplied out"}})

    return config, inputs


def NucleusMoEImageTransformer2DModel(choose):
    heads, kv, dim = 2 * choose.randint(1, 2), choose.choice([None, 1, 2]), 8 * choose.randint(1, 3)
    experts, factor = choose.choice([(4, 2.0), (6, 3.0), (4, 1.0), (3, 3.0)])
    layers = choose.randint(2, 5)
    config = dict(patch_size=choose.choice([1, 2]), in_channels=even(choose, 2, 9), out_channels=choose.choice([None, 3]),
                  num_layers=layers, attention_head_dim=dim, num_attention_heads=heads, num_key_value_heads=kv,
                  joint_attention_dim=even(choose, 4, 20), axes_dims_rope=(dim // 2, dim // 4, dim // 4),
                  mlp_ratio=choose.choice([30.0, 24.5]), moe_enabled=choose.random() < 0.8,
                  dense_moe_strategy=choose.choice(["leave_first_three_and_last_block_dense", "leave_first_three_blocks_dense",
                                                    "leave_first_block_dense", "all_moe", "all_dense"]),
                  num_experts=experts, moe_intermediate_dim=even(choose, 4, 20),
                  capacity_factors=[factor] * layers if flag(choose) else factor)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose)
        return dict(samples(batch, grid, text), hidden_states=torch.randn(batch, grid[1] * grid[2], config["in_channels"]),
                    img_shapes=[grid] * batch, encoder_hidden_states=torch.randn(batch, text, config["joint_attention_dim"]),
                    timestep=times(batch) / 1000)

    return config, inputs


NucleusMoEImageTransformer2DModel.draws = 20


def LatteTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side, frames = choose.choice([1, 2]), choose.randint(1, 4)
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=choose.randint(2, 5),
                  out_channels=choose.choice([None, 5]), num_layers=choose.randint(1, 3), cross_attention_dim=heads * dim,
                  attention_bias=flag(choose), sample_size=8, patch_size=side, activation_fn="gelu-approximate",
                  norm_type="ada_norm_single", norm_elementwise_affine=flag(choose), caption_channels=even(choose, 4, 20),
                  video_length=frames)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=side)
        return dict(samples(batch, (frames, *grid[1:]), text), timestep=times(batch),
                    hidden_states=torch.randn(batch, config["in_channels"], frames, *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["caption_channels"]))

    return config, inputs


def StableAudio3DiTModel(choose):
    heads, dim = choose.randint(1, 3), 64
    patch = choose.choice([1, 1, 2])
    config = dict(io_channels=even(choose, 2, 5), patch_size=patch, embed_dim=heads * dim, depth=choose.randint(1, 3), num_heads=heads,
                  cond_token_dim=even(choose, 4, 20), global_cond_dim=even(choose, 4, 20), local_add_cond_dim=choose.randint(3, 9),
                  timestep_features_dim=even(choose, 4, 20), ff_mult=choose.choice([2.0, 4.0]),
                  num_memory_tokens=choose.choice([0, 3, 5]), use_differential_attention=flag(choose))

    def inputs(choose, model):
        batch, length, text = choose.randint(1, 2), patch * choose.randint(3, 20), choose.randint(2, 9)
        local = patch == 1 and flag(choose)
        return dict(samples(batch, (length, 1, 1), text), conditions=[length if local else 0] * batch,
                    hidden_states=torch.randn(batch, config["io_channels"], length), timestep=times(batch) / 1000,
                    encoder_hidden_states=torch.randn(batch, text, config["cond_token_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.long),
                    global_hidden_states=torch.randn(batch, config["global_cond_dim"]),
                    local_add_cond=torch.randn(batch, config["local_add_cond_dim"], length) if local else None)

    return config, inputs


def LongCatAudioDiTTransformer(choose):
    heads, dim = heads_of(choose)
    dim = even(choose, 3, 10)
    config = dict(dit_dim=heads * dim, dit_depth=choose.randint(1, 3), dit_heads=heads, dit_text_dim=even(choose, 4, 20),
                  latent_dim=even(choose, 2, 6), bias=flag(choose), cross_attn=choose.random() < 0.8,
                  adaln_type=choose.choice(["global", "local"]), adaln_use_text_cond=flag(choose), long_skip=flag(choose),
                  text_conv=flag(choose), qk_norm=flag(choose), cross_attn_norm=flag(choose),
                  use_latent_condition=choose.random() < 0.7, ff_mult=choose.choice([2.0, 4.0, 2.5]))

    def inputs(choose, model):
        batch, length, text = 1, choose.randint(3, 20), choose.randint(2, 9)
        prompt = config["use_latent_condition"] and flag(choose)
        return dict(samples(batch, (length, 1, 1), text), conditions=[length if prompt else 0] * batch,
                    hidden_states=torch.randn(batch, length, config["latent_dim"]), timestep=times(batch) / 1000,
                    encoder_hidden_states=torch.randn(batch, text, config["dit_text_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.bool),
                    latent_cond=torch.randn(batch, length, config["latent_dim"]) if prompt else None)

    return config, inputs


LongCatAudioDiTTransformer.draws = 30


def AnyFlowTransformer3DModel(choose):
    config, _ = WanTransformer3DModel(choose)
    for name in ("added_kv_proj_dim", "pos_embed_seq_len"):
        config.pop(name)
    side = config["patch_size"][1]
    config["patch_size"] = (1, side, side)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side)
        picture = choose.randint(2, 9)
        shown = config["image_dim"]
        return dict(samples(batch, grid, [text, picture] if shown else text), hidden_states=torch.randn(batch, grid[0], config["in_channels"], *grid[1:]),
                    timestep=times(batch).repeat(grid[0], 1).T, r_timestep=times(batch).repeat(grid[0], 1).T,
                    encoder_hidden_states=torch.randn(batch, text, config["text_dim"]),
                    encoder_hidden_states_image=torch.randn(batch, picture, shown) if shown else None)

    return config, inputs


def HunyuanVideoFramepackTransformer3DModel(choose):
    config, _ = HunyuanVideoTransformer3DModel(choose)
    config.update(patch_size=2, patch_size_t=1, image_condition_type=None, has_image_proj=True, has_clean_x_embedder=True,
                  image_proj_dim=even(choose, 4, 20), out_channels=choose.choice([None, 5]))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, 2)
        picture, rows, columns = choose.randint(2, 9), *grid[1:]
        past, past2, past4 = choose.randint(1, 2), choose.randint(1, 3), choose.randint(1, 5)
        tokens = [-(-frames // patch) * -(-rows // (2 * patch)) * -(-columns // (2 * patch)) for frames, patch in ((past2, 2), (past4, 4))]

        def latents(frames):
            return torch.randn(batch, config["in_channels"], frames, rows, columns)

        return dict(samples(batch, grid, [text, picture, *tokens]), conditions=[past * rows * columns] * batch,
                    hidden_states=latents(grid[0]), timestep=times(batch), guidance=torch.ones(batch) * 1000 if config["guidance_embeds"] else None,
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    encoder_attention_mask=torch.ones(batch, text, dtype=torch.long),
                    pooled_projections=torch.randn(batch, config["pooled_projection_dim"]),
                    image_embeds=torch.randn(batch, picture, config["image_proj_dim"]),
                    indices_latents=torch.arange(grid[0]),
                    latents_clean=latents(past), indices_latents_clean=torch.arange(past),
                    latents_history_2x=latents(past2), indices_latents_history_2x=torch.arange(past2),
                    latents_history_4x=latents(past4), indices_latents_history_4x=torch.arange(past4))

    return config, inputs


def ConsisIDTransformer3DModel(choose):
    config, _ = CogVideoXTransformer3DModel(choose)
    for name in ("ofs_embed_dim", "patch_size_t", "patch_bias"):
        config.pop(name)
    heads, face = 3 * choose.randint(1, 2), flag(choose)
    width, scales = heads * config["attention_head_dim"], choose.randint(1, 2)
    config.update(num_attention_heads=heads, num_layers=even(choose, 1, 2), is_train_face=face, cross_attn_interval=choose.choice([1, 2]),
                  cross_attn_dim_head=even(choose, 2, 5), cross_attn_num_heads=choose.randint(1, 3), LFE_id_dim=even(choose, 4, 20),
                  LFE_vit_dim=even(choose, 4, 20), LFE_depth=scales * choose.randint(1, 2), LFE_dim_head=even(choose, 2, 5),
                  LFE_num_heads=choose.randint(1, 3), LFE_num_id_token=choose.randint(1, 4), LFE_num_querie=choose.randint(2, 5),
                  LFE_output_dim=2 * width // 3, LFE_ff_mult=choose.randint(2, 4), LFE_num_scale=scales)
    side, rotary = config["patch_size"], config.get("use_rotary_positional_embeddings", False)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side)
        text = text if rotary else config["max_text_seq_length"]
        seen = choose.randint(2, 9)
        return dict(samples(batch, grid, [text, seen] if face else text), timestep=times(batch),
                    hidden_states=torch.randn(batch, grid[0], config["in_channels"], *grid[1:]),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    id_cond=torch.randn(batch, config["LFE_id_dim"]) if face else None,
                    id_vit_hidden=[torch.randn(batch, seen, config["LFE_vit_dim"]) for _ in range(scales)] if face else None)

    return config, inputs


def everything(outputs):
    """A loss over all that a class makes: of a video and of its sound."""
    return [output for output in outputs if output is not None]


def LTX2VideoTransformer3DModel(choose):
    heads, dim = choose.randint(1, 3), 8 * choose.randint(1, 3)
    s_dim = 4 * choose.randint(2, 5)
    worded, video_mod, sound_mod = choose.random() < 0.7, flag(choose), flag(choose)
    config = dict(in_channels=even(choose, 2, 9), out_channels=choose.choice([None, 6]), num_attention_heads=heads,
                  attention_head_dim=dim, cross_attention_dim=heads * dim, gated_attn=flag(choose), cross_attn_mod=video_mod,
                  audio_in_channels=even(choose, 2, 9), audio_out_channels=choose.choice([None, 6]),
                  audio_num_attention_heads=heads, audio_attention_head_dim=s_dim,
                  audio_cross_attention_dim=heads * s_dim, audio_gated_attn=flag(choose), audio_cross_attn_mod=sound_mod,
                  num_layers=choose.randint(1, 3), norm_elementwise_affine=flag(choose), caption_channels=even(choose, 4, 20),
                  attention_bias=flag(choose), attention_out_bias=flag(choose), use_prompt_embeddings=worded,
                  ff_bias=flag(choose), audio_ff_bias=flag(choose), use_prompt_adaln_single=flag(choose),
                  use_keyframes_abs_pos_embedding=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True)
        sound = choose.randint(2, 9)
        width, s_width = (config["caption_channels"],) * 2 if worded else (heads * dim, heads * s_dim)
        return dict(samples(batch, grid, [text, sound]), loss=everything,
                    hidden_states=torch.randn(batch, grid[0] * grid[1] * grid[2], config["in_channels"]),
                    audio_hidden_states=torch.randn(batch, sound, config["audio_in_channels"]),
                    encoder_hidden_states=torch.randn(batch, text, width),
                    audio_encoder_hidden_states=torch.randn(batch, text, s_width), timestep=times(batch), sigma=times(batch),
                    num_frames=grid[0], height=grid[1], width=grid[2], audio_num_frames=sound)

    return config, inputs


LTX2VideoTransformer3DModel.draws = 20


def MotifVideoTransformer3DModel(choose):
    heads, dim = heads_of(choose)
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    shown = choose.choice([None, even(choose, 4, 20)])
    config = dict(in_channels=choose.randint(2, 6), out_channels=choose.choice([None, 5]), num_attention_heads=heads,
                  attention_head_dim=dim, num_layers=choose.randint(1, 3), num_single_layers=choose.randint(1, 3),
                  mlp_ratio=choose.choice([2.0, 4.0]), patch_size=side, patch_size_t=side_frames,
                  text_embed_dim=even(choose, 4, 20), image_embed_dim=shown, rope_axes_dim=tuple(rope(dim)),
                  enable_text_cross_attention_dual=flag(choose), enable_text_cross_attention_single=flag(choose))

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        picture = choose.randint(2, 9)
        return dict(samples(batch, grid, [text, picture] if shown else text), timestep=times(batch).float(),
                    hidden_states=torch.randn(batch, config["in_channels"], *grid),
                    encoder_hidden_states=torch.randn(batch, text, config["text_embed_dim"]),
                    image_embeds=torch.randn(batch, picture, shown) if shown else None)

    return config, inputs


def JoyImageEditPlusTransformer3DModel(choose):
    config, _ = JoyImageEditTransformer3DModel(choose)
    frames, side, _ = config["patch_size"]

    def inputs(choose, model):
        batch, shape, text = batch_of(choose)
        edited = (1, choose.randint(1, 4), choose.randint(1, 4)) if flag(choose) else (0, 0, 0)
        count, given = shape[1] * shape[2], edited[0] * edited[1] * edited[2]
        cells = frames * side * side
        return {"grids": [[frames, side * shape[1], side * shape[2]]] * batch, "texts": [text] * batch,
                "conditions": [given * cells] * batch, "timestep": times(batch),
                "hidden_states": torch.randn(batch, count + given, config["in_channels"], frames, side, side),
                "encoder_hidden_states": torch.randn(batch, text, config["text_dim"]),
                "shape_list": [[edited, shape] if given else [shape]] * batch}

    return config, inputs


def Kandinsky6Transformer3DModel(choose):
    dim, s_dim = 16 * choose.randint(1, 2), 16
    side, side_frames = choose.choice([1, 2]), choose.choice([1, 2])
    visual, own = flag(choose), flag(choose)
    config = dict(in_visual_dim=choose.randint(2, 5), out_visual_dim=choose.randint(2, 5), in_text_dim=even(choose, 4, 20),
                  in_text_dim2=even(choose, 4, 20), time_dim=even(choose, 5, 20), patch_size=(side_frames, side, side),
                  model_dim=dim * choose.randint(1, 3), ff_dim=even(choose, 10, 40), num_text_blocks=choose.randint(1, 2),
                  num_visual_blocks=choose.randint(1, 3), axes_dims=(dim // 2, dim // 4, dim // 4), visual_cond=visual,
                  in_audio_dim=even(choose, 2, 6), out_audio_dim=even(choose, 2, 6), model_dim_a=32 if own else None,
                  time_dim_a=18 if own else None, ff_dim_a=20 if own else None,
                  axes_dims_a=(s_dim // 2, s_dim // 4, s_dim // 4) if own else None, cross_gates=flag(choose),
                  fix_modulation=not own and flag(choose), visual_token_type_num_embeddings=choose.choice([0, 3]))
    if own:
        config["fix_modulation"] = True

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, True, side, side_frames)
        sound = choose.randint(2, 9)
        channels = 2 * config["in_visual_dim"] + 1 if visual else config["in_visual_dim"]
        return dict(samples(batch, grid, [text, sound]), loss=everything, hidden_states=torch.randn(batch, *grid, channels),
                    encoder_hidden_states=torch.randn(batch, text, config["in_text_dim"]), timestep=times(batch),
                    pooled_projections=torch.randn(batch, config["in_text_dim2"]),
                    audio_hidden_states=torch.randn(batch, sound, config["in_audio_dim"]))

    return config, inputs


def Transformer2DModel(choose):
    config, inputs = PixArtTransformer2DModel(choose)
    config.update(norm_type="ada_norm_single", activation_fn="gelu-approximate", num_embeds_ada_norm=1000)
    if config["caption_channels"] is None:
        config["caption_channels"] = config["cross_attention_dim"]
    return config, inputs


def TransformerTemporalModel(choose):
    heads, dim = heads_of(choose)
    channels = 4 * choose.randint(1, 4)
    config = dict(num_attention_heads=heads, attention_head_dim=dim, in_channels=channels, num_layers=choose.randint(1, 3),
                  norm_num_groups=4, attention_bias=flag(choose), norm_elementwise_affine=flag(choose),
                  double_self_attention=flag(choose))

    def inputs(choose, model):
        batch, grid, _ = batch_of(choose, True)
        return dict(samples(batch, grid, 0), hidden_states=torch.randn(batch * grid[0], channels, *grid[1:]), num_frames=grid[0])

    return config, inputs


TransformerTemporalModel.draws = 20


def RFD4ProteinaTransformer(choose):
    heads, dim = heads_of(choose)

    def some(*names):
        return [name for name in names if flag(choose)]

    config = dict(nlayers=choose.randint(2, 5), token_dim=heads * dim, nheads=heads, dim_cond=even(choose, 4, 12),
                  pair_repr_dim=even(choose, 4, 12), latent_dim=even(choose, 2, 6), token_type_emb_dim=even(choose, 2, 6),
                  t_emb_dim=even(choose, 4, 9), seq_sep_dim=choose.randint(4, 9), xt_pair_dist_dim=choose.randint(4, 9),
                  feats_seq=["xt_bb_ca", *some("xt_local_latents", "token_type", "chain_centroid_xyz", "rasa_binned", "hotspot",
                                               "cond_a37coors_nm", "cond_a37coors_internal_nm", "sequence_probabilities",
                                               "na_ss_state", "coord_group_seq", "secondary_structure", "atom_charge",
                                               "atomic_element", "chirality")],
                  feats_cond_seq=["time_emb_bb_ca", *some("time_emb_local_latents", "recycle_remaining", "cath_code")],
                  feats_pair_repr=["xt_bb_ca_pair_dists", *some("bond_mask", "bond_order", "is_aromatic", "na_ss_pair",
                                                               "molecule_idx_pair", "molecule_entity_pair",
                                                               "token_bond_path_length", "canonical_polymer_ordering")],
                  feats_pair_cond=some("time_emb_bb_ca", "time_emb_local_latents"), update_pair_repr_every_n=choose.randint(1, 3),
                  tri_mult_c=even(choose, 2, 9), num_sequence_classes=choose.randint(5, 20), num_token_types=choose.randint(4, 9),
                  recycle_conditioning_dim=choose.randint(1, 3))

    def inputs(choose, model):
        batch, n = choose.randint(1, 2), choose.randint(4, 12)
        whole = torch.zeros(batch, n, dtype=torch.long)
        return {"grids": [[n, n, 1]] * batch, "texts": [0] * batch, "loss": everything, "bb_ca": torch.randn(batch, n, 3),
                "local_latents": torch.randn(batch, n, config["latent_dim"]), "bb_ca_time": torch.rand(batch),
                "local_latents_time": torch.rand(batch), "padding_mask": torch.ones(batch, n, dtype=torch.bool),
                "token_type": whole, "atom37_mask": torch.ones(batch, n, 37),
                "conditioning": {"is_in_context_conditioning": whole, "supports_local_latent": whole + 1, "molecule_iid": whole,
                                 "molecule_entity_id": whole,
                                 "token_bond_path_length": torch.zeros(batch, n, n, dtype=torch.long)}}

    return config, inputs


RFD4ProteinaTransformer.draws = 12


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



def UVit2DModel(choose):
    heads, dim = heads_of(choose)
    own_heads, halves = choose.randint(1, 3), flag(choose)
    channels = choose.choice([heads * dim, own_heads * 4 * choose.randint(1, 4)])
    if channels % own_heads:
        own_heads = heads
    config = dict(hidden_size=heads * dim, use_bias=flag(choose), cond_embed_dim=even(choose, 4, 12), micro_cond_encode_dim=4,
                  micro_cond_embed_dim=20, encoder_hidden_size=even(choose, 4, 12), vocab_size=choose.randint(10, 30),
                  codebook_size=choose.randint(8, 20), in_channels=even(choose, 4, 10), block_out_channels=channels,
                  num_res_blocks=choose.randint(1, 2), downsample=halves, upsample=halves, block_num_heads=own_heads,
                  num_hidden_layers=choose.randint(1, 3), num_attention_heads=heads, intermediate_size=even(choose, 10, 30),
                  ln_elementwise_affine=flag(choose), sample_size=8)

    def inputs(choose, model):
        batch, grid, text = batch_of(choose, side=2 if halves else 1)
        return dict(samples(batch, grid, text), input_ids=torch.zeros(batch, *grid[1:], dtype=torch.long),
                    encoder_hidden_states=torch.randn(batch, text, config["encoder_hidden_size"]),
                    pooled_text_emb=torch.randn(batch, config["cond_embed_dim"]), micro_conds=torch.ones(batch, 5),
                    call=lambda model, return_dict, **given: model(**given), loss=lambda outputs: [outputs])

    return config, inputs


UVit2DModel.draws = 8


def Kandinsky3UNet(choose):
    levels, dim = choose.randint(1, 4), choose.choice([4, 8])
    config = dict(in_channels=choose.randint(2, 5), time_embedding_dim=dim * choose.randint(1, 4), groups=choose.choice([2, 4]),
                  attention_head_dim=dim, layers_per_block=choose.randint(2, 3), cross_attention_dim=dim * choose.randint(1, 3),
                  block_out_channels=tuple(16 * choose.randint(1, 3) for _ in range(levels)), encoder_hid_dim=even(choose, 4, 12))

    def inputs(choose, model):
        batch, text, side = choose.randint(1, 2), choose.randint(2, 9), 2 ** (levels - 1)
        grid = (1, side * choose.randint(1, 3), side * choose.randint(1, 3))
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch),
                    encoder_hidden_states=torch.randn(batch, text, config["encoder_hid_dim"]),
                    encoder_attention_mask=torch.ones(batch, text))

    return config, inputs


Kandinsky3UNet.draws = 8


def StableCascadeUNet(choose):
    levels, conditioned, texted = choose.randint(1, 3), 4 * choose.randint(1, 3), flag(choose)
    each = lambda: tuple(choose.randint(1, 2) for _ in range(levels))
    heads = each()
    others = ["SDCascadeResBlock", "SDCascadeTimestepBlock", "SDCascadeAttnBlock", "SDCascadeAttnBlock"]
    config = dict(in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), patch_size=choose.choice([1, 2]),
                  timestep_ratio_embedding_dim=even(choose, 2, 8), conditioning_dim=conditioned, num_attention_heads=heads,
                  block_out_channels=tuple(8 * choose.randint(1, 3) for _ in range(levels)), clip_seq=choose.randint(1, 4),
                  down_num_layers_per_block=each(), up_num_layers_per_block=each(), down_blocks_repeat_mappers=each(),
                  up_blocks_repeat_mappers=each(), kernel_size=choose.choice([1, 3]), dropout=0.1,
                  block_types_per_layer=(*(("SDCascadeResBlock", *choose.sample(others, choose.randint(0, 3))) for _ in range(levels - 1)),
                                         ("SDCascadeResBlock", *choose.choice([others[2:], others[2:3], others[:3]]))),
                  clip_text_in_channels=even(choose, 4, 12) if texted else None, clip_image_in_channels=even(choose, 4, 12) if texted else None,
                  clip_text_pooled_in_channels=even(choose, 4, 12), effnet_in_channels=maybe(choose, 5), pixel_mapper_in_channels=maybe(choose, 3),
                  self_attn=choose.choice([True, False, tuple(flag(choose) for _ in range(levels))]),
                  timestep_conditioning_type=choose.choice([(), ("sca",), ("sca", "crp")]),
                  switch_level=maybe(choose, tuple(flag(choose) for _ in range(levels - 1))))

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels)
        side = config["patch_size"]
        grid, text = (1, side * grid[1], side * grid[2]), choose.randint(2, 9) if texted else 0
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep_ratio=times(batch) / 1000,
                    clip_text_pooled=torch.randn(batch, 1, config["clip_text_pooled_in_channels"]),
                    clip_text=torch.randn(batch, text, config["clip_text_in_channels"]) if texted else None,
                    clip_img=torch.randn(batch, 1, config["clip_image_in_channels"]) if texted else None,
                    effnet=torch.randn(batch, config["effnet_in_channels"], 3, 3) if config["effnet_in_channels"] else None)

    return config, inputs


StableCascadeUNet.draws = 12


def DreamLiteUNetModel(choose):
    levels = choose.randint(2, 3)
    names = ["CrossAttnNoSelfAttnWAYBlock2D", "CrossAttnWAYBlock2D", "WAYBlock2D"]
    older = {"DreamLiteCrossAttnNoSelfAttnDownBlock2D": "CrossAttnDownRemoveSelfAttnBlock2D", "DreamLiteCrossAttnDownBlock2D": "CrossAttnDownBlock2D",
             "DreamLiteDownBlock2D": "DownBlock2D", "DreamLiteCrossAttnNoSelfAttnUpBlock2D": "CrossAttnUpRemoveSelfAttnBlock2D",
             "DreamLiteCrossAttnUpBlock2D": "CrossAttnUpBlock2D", "DreamLiteUpBlock2D": "UpBlock2D"}
    down, up = (["DreamLite" + choose.choice(names).replace("WAY", way) for _ in range(levels)] for way in ("Down", "Up"))
    down[-1] = "DreamLiteCrossAttnDownBlock2D"
    if flag(choose):
        down, up = [older[name] for name in down], [older[name] for name in up]
    context, caption, added, width = even(choose, 4, 12), choose.choice([None, even(choose, 4, 12)]), choose.choice([None, "text_time", "time"]), 8 * choose.randint(1, 3)
    config = dict(block_out_channels=tuple(8 * choose.randint(1, 3) for _ in range(levels)), down_block_types=tuple(down), up_block_types=tuple(up),
                  in_channels=choose.randint(2, 5), out_channels=choose.randint(2, 5), layers_per_block=choose.choice([1, 2, tuple(choose.randint(1, 2) for _ in range(levels))]),
                  mid_block_type=choose.choice(["DreamLiteUNetMidBlock2DCrossAttn", "UNetMidBlock2DCrossAttn", None]), norm_num_groups=4,
                  only_cross_attention=choose.choice([False, False, True, tuple(flag(choose) for _ in range(levels))]),
                  cross_attention_dim=context if caption or flag(choose) else (context,) * levels, encoder_hid_dim=caption,
                  encoder_hid_dim_type=choose.choice(["text_proj", "text_proj_rms"]) if caption else None,
                  transformer_layers_per_block=choose.choice([1, 2, tuple(choose.randint(1, 2) for _ in range(levels))]),
                  attention_head_dim=choose.choice([2, 4, tuple(choose.choice([2, 4]) for _ in range(levels))]),
                  num_kv_heads=choose.choice([None, 1, 2]), qk_norm=choose.choice([None, "rms_norm"]), use_sep_conv=choose.random() < 0.7,
                  ff_mult=choose.randint(2, 6), use_linear_projection=flag(choose), downsample_padding=choose.choice([0, 1]),
                  resnet_time_scale_shift=choose.choice(["default", "scale_shift"]), addition_embed_type=added,
                  addition_time_embed_dim=8 if added else None, projection_class_embeddings_input_dim=6 * 8 + (width if added == "text_time" else 0) if added else None)

    def inputs(choose, model):
        batch, grid = unet_grid(choose, levels)
        if config["downsample_padding"] == 0:
            grid = (1, *(2 ** levels * choose.randint(1, 2) for _ in range(2)))
        text = choose.randint(2, 9)
        return dict(samples(batch, grid, text), sample=torch.randn(batch, config["in_channels"], *grid[1:]), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch, text, caption or context),
                    added_cond_kwargs={"text_embeds": torch.randn(batch, width), "time_ids": torch.ones(batch, 6)} if added else None)

    return config, inputs


DreamLiteUNetModel.draws = 16


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


def UNetControlNetXSModel(choose):
    config = levels_of(choose, "CrossAttnWAYBlock2D", "WAYBlock2D")
    levels = len(config["block_out_channels"])
    context, added, width = even(choose, 4, 12), maybe(choose, "text_time"), 8 * choose.randint(1, 3)
    some = lambda values: choose.choice([choose.choice(values), tuple(choose.choice(values) for _ in range(levels))])
    config.update(norm_num_groups=4, cross_attention_dim=choose.choice([context, (context,) * levels]),
                  transformer_layers_per_block=some([1, 2]), num_attention_heads=some([1, 2, 4]), use_linear_projection=flag(choose),
                  addition_embed_type=added, addition_time_embed_dim=8 if added else None,
                  projection_class_embeddings_input_dim=6 * 8 + width if added else None, ctrl_learn_time_embedding=flag(choose),
                  ctrl_conditioning_channels=choose.randint(1, 4), ctrl_num_attention_heads=some([1, 2]),
                  ctrl_conditioning_embedding_out_channels=tuple(choose.randint(2, 6) for _ in range(4)),
                  ctrl_block_out_channels=tuple(4 * choose.randint(1, 3) for _ in range(levels)))

    def inputs(choose, model):
        side, text = 2 ** (levels - 1), choose.randint(2, 9)
        batch, grid = choose.randint(1, 2), (1, side * choose.randint(1, 3), side * choose.randint(1, 3))
        return dict(samples(batch, grid, text), sample=torch.randn(batch, 4, *grid[1:]), timestep=times(batch).float(),
                    encoder_hidden_states=torch.randn(batch, text, context),
                    controlnet_cond=torch.randn(batch, config["ctrl_conditioning_channels"], 8 * grid[1], 8 * grid[2]),
                    added_cond_kwargs={"text_embeds": torch.randn(batch, width), "time_ids": torch.ones(batch, 6)} if added else None)

    return config, inputs


UNetControlNetXSModel.draws = 10


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


def HunyuanDiT2DControlNetModel(choose):
    config, inputs = HunyuanDiT2DModel(choose)
    for name in ("num_layers", "learn_sigma"):
        config.pop(name)
    config["transformer_num_layers"] = choose.randint(4, 9)

    def own(choose, model):
        made = inputs(choose, model)
        return dict(made, loss=all_of, controlnet_cond=torch.randn(*made["hidden_states"].shape))

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
