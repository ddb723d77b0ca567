# SPDX-License-Identifier: Apache-2.0
"""Inputs of models with a vision or audio tower, without processors: tiny random tensors and placeholder tokens.

A feed is a function (model, run) of two values: a dict of forward's inputs, and what the run adds to a tally,

    {"lengths": [...], "grids": [[t, h, w], ...], "audio_frames": [...], "measured": {"word": n, ...}}

Lengths are of text with its placeholders (or of a decoder), grids in patches before merging, one for each image or
clip; audio frames are what enters the tower, mel frames or samples of a waveform. A case names a feed,
`_feed=feeds.pixels`, and may replace its runs by `_samples=(run, run)`. What a run is, each feed says; `feed.runs` are
those that a case without `_samples` has.

No row is padded: text fills every sample of a run up to the length of the longest. How many placeholders an image has
is asked of the model (`get_image_features` and its family), so a new type mostly needs no code here.
"""

import functools


def feed(*runs):
    """A feed with its default runs."""
    def with_runs(function):
        function.runs = runs
        return function
    return with_runs


def variant(function, *runs, **fixed):
    """The same feed with some arguments fixed, or other default runs."""
    other = functools.partial(function, **fixed)
    other.runs = runs or function.runs
    return other


# ---------------------------------------------------------------------------------------------------------------------
# Text around placeholders.


def pair(size):
    """(height, width) of a size that may be one number."""
    return tuple(size) if isinstance(size, (list, tuple)) else (size, size)


def inner(config, *names):
    """The first config of these names inside a config, else the config itself."""
    return next((getattr(config, name) for name in names if getattr(config, name, None) is not None), config)


def vision_of(config):
    return inner(config, "vision_config")


def audio_of(config):
    return inner(config, "audio_config", "encoder_config")


def channels_of(vision):
    vision = inner(vision, "sam_config")
    return next((getattr(vision, name) for name in ("num_channels", "in_channels", "in_chans")
                 if getattr(vision, name, None) is not None), 3)


def special_tokens(config):
    """Every token that a config names, its inner configs' too."""
    found = set()
    for name, value in vars(config).items():
        if name.endswith(("_token_id", "_token_index", "_token_ids")):
            found |= set(value if isinstance(value, (list, tuple)) else [value])
        elif hasattr(value, "to_dict"):
            found |= special_tokens(value)
    return {token for token in found if isinstance(token, int)}


def words(config, *shape):
    """Random tokens of the text model, none of them special."""
    import torch
    vocabulary = config.get_text_config().vocab_size
    plain = torch.tensor(sorted(set(range(vocabulary - 1)) - special_tokens(config) - set(range(5))))
    return plain[torch.randint(0, len(plain), shape)]


def placeholder_of(config, *kinds):
    for kind in kinds or ("image",):
        for name in (kind + "_token_id", kind + "_token_index"):
            if getattr(config, name, None) is not None:
                return getattr(config, name)
    raise ValueError("the config names no placeholder token")


def text_around(model, rows, token, text=5):
    """input_ids of samples with a word before each block of `rows[sample][i]` placeholders and words to the end.

    Given under the names that forward has for it: the mask of placeholders as mm_token_type_ids too."""
    import inspect

    import torch
    length = max(sum(blocks) + len(blocks) for blocks in rows) + text
    ids = words(model.config, len(rows), length)
    for sample, blocks in enumerate(rows):
        start = 1
        for block in blocks:
            ids[sample, start:start + block] = token
            start += block + 1
    inputs = {"input_ids": ids, "use_cache": False}
    names = dict(inspect.signature(model.forward).parameters)
    if type(model).__name__.endswith("Classification"):  # it hands on what the model around the towers takes
        names.update(inspect.signature(model.base_model.forward).parameters)
    if "mm_token_type_ids" in names:
        inputs["mm_token_type_ids"] = (ids == token).int()
    if "token_type_ids" in names:
        inputs["token_type_ids"] = (ids == token).long()
    if "attention_mask" in names:
        inputs["attention_mask"] = torch.ones_like(ids)
    return inputs, [length] * len(rows)


def rows_of(features, count):
    """How many rows each of `count` images or clips has in what get_image_features returns: a list of them, or any
    other nesting of equal ones."""
    layered = getattr(features, "deepstack_features", None)
    if layered is not None and getattr(features, "pooler_output", None) is None:
        features = layered[0][1]  # granite4_vision: (layer of the text, rows) of each, all alike
    features = next((getattr(features, name) for name in ("pooler_output", "last_hidden_state")
                     if getattr(features, name, None) is not None), features)
    parts = features if isinstance(features, (list, tuple)) else [features]
    rows = [part.numel() // part.shape[-1] for part in parts]
    return rows if len(rows) == count else [sum(rows) // count] * count


def ask(model, name, inputs):
    """What model.<name>(**inputs) returns, of the model or of the one inside it."""
    import torch
    owner = model if hasattr(model, name) else model.model
    with torch.no_grad():
        return getattr(owner, name)(**inputs)


def by_sample(rows, counts):
    """Rows of images, grouped by the number of images of each sample."""
    if sum(counts) != len(rows):
        raise ValueError(f"{sum(counts)} images, features of {len(rows)}")
    rows = iter(rows)
    return [[next(rows) for _ in range(count)] for count in counts]


def placeholders(model, method, media, counts):
    """The number of placeholders of every image or clip, by sample: what the model's own features say."""
    return by_sample(rows_of(ask(model, method, media), sum(counts)), counts)


# ---------------------------------------------------------------------------------------------------------------------
# Images of the config's size.


def image_batch(config, count, grid=None, patch=None):
    """`count` random images and the grid of each; of `grid` patches, else of the config's image_size. `patch` is the
    stride of the first convolution, where the config has no patch_size that says so."""
    import torch
    vision = vision_of(config)
    patch = pair(patch or getattr(vision, "patch_size", None) or vision.tubelet_size[1:])
    if grid is None:
        height, width = pair(getattr(vision, "image_size", None) or vision.crop_size)
    else:
        height, width = grid[1] * patch[0], grid[2] * patch[1]
    return (torch.randn(count, channels_of(vision), height, width),
            [[1, height // patch[0], width // patch[1]] for _ in range(count)])


@feed(2, 3)
def pixels(model, images, patch=None, name="pixel_values"):
    """A plain vision model: pixel_values. A run is a number of images of the config's size, or (number, (t, h, w))."""
    count, grid = images if isinstance(images, tuple) else (images, None)
    values, grids = image_batch(model.config, count, grid, patch)
    return {name: values}, {"lengths": [], "grids": grids}


@feed(2, 3)
def frames(model, run, name="pixel_values"):
    """A video model: [batch, frames, channels, height, width]. A run is a number of clips of the config's frames, or
    (clips, frames). A clip is a grid of as many frames as it has tubelets."""
    vision = vision_of(model.config)
    count = getattr(vision, "num_frames", None) or getattr(vision, "frames_per_clip", None)
    clips, count = run if isinstance(run, tuple) else (run, count)
    values, grids = image_batch(model.config, clips * count)
    values = values.unflatten(0, (clips, count))
    tubelet = getattr(vision, "tubelet_size", 1)
    tubelets = count // (tubelet[0] if isinstance(tubelet, (list, tuple)) else tubelet)
    return {name: values}, {"lengths": [], "grids": [[tubelets, *grids[0][1:]]] * clips}


@feed((2, 11, 3), (3, 7, 2))
def contrastive(model, run):
    """clip and siglip: texts and images side by side. A run is (texts, length, images)."""
    texts, length, images = run
    values, grids = image_batch(model.config, images)
    return ({"input_ids": words(model.config, texts, length), "pixel_values": values},
            {"lengths": [length] * texts, "grids": grids})


@feed((4, 2), (7, 3))
def image_text_to_text(model, run, grid=None, patch=None):
    """BLIP-2 before an encoder and a decoder: one image in each text of the encoder, of `grid` patches, else of the
    config's size. A run is (decoder length, texts)."""
    length, texts = run
    values, grids = image_batch(model.config, texts, grid, patch)
    images = {"pixel_values": values}
    rows = placeholders(model, "get_image_features", images, [1] * texts)
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    inputs.pop("use_cache")
    return ({**inputs, **images, "decoder_input_ids": words(model.config, texts, length)},
            {"lengths": [length] * texts, "grids": grids, "encoder_length": lengths[0]})


@feed((4, 2), (7, 3))
def instructed(model, run, frames=0, decoded=0):
    """instructblip: one image of the config's size in each text, or a clip of so many `frames`, and an instruction that
    its queries are steered by. A run is (tokens of an instruction, texts); `decoded`: of a text of two sides."""
    import torch
    length, texts = run
    config = model.config
    images = max(frames, 1)
    values, grids = image_batch(config, texts * images)
    if frames:
        values = values.unflatten(0, (texts, frames))
    rows = [[images * config.num_query_tokens]] * texts
    inputs, lengths = text_around(model, rows, placeholder_of(config, "video" if frames else "image"))
    if decoded:
        inputs["decoder_input_ids"] = words(config, texts, decoded)
    asked = torch.randint(1, config.qformer_config.vocab_size, (texts, length))
    record = {"lengths": [decoded or lengths[0]] * texts,
              "grids": [[images, *grids[0][1:]]] * texts,
              "measured": {"prompt_tokens": texts * images * length, "prompt_squares": texts * images * length ** 2}}
    if decoded:
        record["encoder_length"] = lengths[0]
    return {**inputs, "pixel_values": values, "qformer_input_ids": asked}, record


@feed(((2, 3), 4), ((3,), 9))
def pooled_crops(model, run):
    """molmo2: crops of the config's size, of which words of the text pool `slots` patches each, some of them none. A run
    is (crops of each image, slots); an image is a grid of its crops."""
    import torch
    crops, slots = run
    config = model.config
    vision = config.vision_config
    height, width = (side // vision.patch_size for side in vision.image_size)
    values = torch.randn(sum(crops), height * width, vision.num_channels * vision.patch_size ** 2)
    shapes = [[2, 3, 1, count] for count in crops]  # words of the whole image, and of its crops
    tokens = [a * b + c * d for a, b, c, d in shapes]
    pooling = torch.randint(-1, sum(crops) * height * width, (sum(tokens), slots))
    pooling[:, 0] = 0
    inputs, lengths = text_around(model, [tokens], placeholder_of(config))
    measured = {"pooled_tokens": sum(tokens), "pooled_patches": pooling.numel(),
                "later_pairs": sum(tokens) * (sum(tokens) - 1) // 2}
    return ({**inputs, "pixel_values": values, "image_token_pooling": pooling, "image_grids": torch.tensor(shapes)},
            {"lengths": lengths, "grids": [[count, height, width] for count in crops], "measured": measured})


@feed(((1, 4, 6), (1, 4, 6)), ((1, 3, 5),))
def documents(model, grids):
    """neomme: one document in each text, its patches as they are. A run is the grid of each, all alike."""
    import torch
    config = model.config
    _, rows, columns = grids[0]
    values = torch.randn(len(grids) * rows * columns, config.patch_dim)
    inputs, lengths = text_around(model, [[rows * columns]] * len(grids), config.image_token_id)
    return {**inputs, "pixel_values": values}, {"lengths": lengths, "grids": [list(grid) for grid in grids]}


@feed((2, 8, 8), (1, 8, 12))
def cells_of_pixels(model, run):
    """gemma3n's tower: images of `height` x `width` cells of 16 pixels. A run is (images, height, width)."""
    import torch
    images, height, width = run
    return ({"pixel_values": torch.randn(images, 3, 16 * height, 16 * width)},
            {"lengths": [], "grids": [[1, height, width]] * images})


@feed(((1, 1), 8, 8, None), ((2,), 8, 16, None), ((1,), 8, 8, 61))
def cells_and_sound(model, run):
    """gemma3n: images of `height` x `width` cells of 16 pixels, and clips of so many mel frames, one for each image. A run
    is (images of each text, height, width, frames or None)."""
    import torch
    counts, height, width, frames = run
    config = model.config
    inputs = {"pixel_values": torch.randn(sum(counts), 3, 16 * height, 16 * width)}
    rows = [[config.vision_soft_tokens_per_image] * count for count in counts]
    sound = [[config.audio_soft_tokens_per_image] * count if frames else [] for count in counts]
    ids, lengths = text_around(model, [a + b for a, b in zip(rows, sound)], config.image_token_id)
    for sample, count in enumerate(counts):
        start = 1 + count * (config.vision_soft_tokens_per_image + 1)
        for _ in sound[sample]:
            ids["input_ids"][sample, start:start + config.audio_soft_tokens_per_image] = config.audio_token_id
            start += config.audio_soft_tokens_per_image + 1
    record = {"lengths": lengths, "grids": [[1, height, width]] * sum(counts)}
    if frames:
        inputs["input_features"] = torch.randn(sum(counts), frames, config.audio_config.input_feat_size)
        inputs["input_features_mask"] = torch.ones(sum(counts), frames, dtype=torch.bool)
        record["audio_frames"] = [frames] * sum(counts)
    return {**ids, **inputs}, record


@feed((1, 2, 3), (2, 3, 1))
def prompted(model, run):
    """sam: images of the config's size, with prompts of so many points each, to which a padded one comes. A run is
    (images, prompts of each, points of each)."""
    import torch
    images, prompts, points = run
    values, grids = image_batch(model.config, images)
    inputs = {"pixel_values": values, "input_points": torch.rand(images, prompts, points, 2) * 40,
              "input_labels": torch.ones(images, prompts, points, dtype=torch.int)}
    count, tokens = images * prompts, points + 1
    return inputs, {"lengths": [], "grids": grids, "measured": {
        "prompts": count, "prompt_points": count * tokens, "prompt_squares": count * tokens ** 2, "passes": 1}}


@feed((11, 2), (7, 3))
def captions(model, run, grid=None, patch=None):
    """vision-encoder-decoder: a text of each image, whose keys are what the tower leaves. A run is (length, texts)."""
    import torch
    length, texts = run
    values, grids = image_batch(model.config.encoder, texts, grid, patch)
    with torch.no_grad():
        keys = model.encoder(pixel_values=values).last_hidden_state.shape[1]
    return ({"pixel_values": values, "decoder_input_ids": words(model.config.decoder, texts, length)},
            {"lengths": [length] * texts, "grids": grids, "encoder_length": keys})


@feed((11, 2), (7, 3))
def attended(model, run):
    """blip: a text whose layers attend an image. A run is (length, texts)."""
    length, texts = run
    values, grids = image_batch(model.config, texts)
    return ({"pixel_values": values, "input_ids": words(model.config, texts, length)},
            {"lengths": [length] * texts, "grids": grids, "encoder_length": grids[0][1] * grids[0][2] + 1})


@feed((11, 2, (1, 4, 6)), (7, 3, (1, 3, 5)))
def flat_patches(model, run):
    """pix2struct: patches with their row and column. A run is (length, texts, grid); length is 0 of the tower alone."""
    import torch
    length, texts, (_, rows, columns) = run
    at = torch.tensor([[row, column] for row in range(rows) for column in range(columns)]).float() + 1
    values = torch.randn(texts, rows * columns, vision_of(model.config).patch_embed_hidden_size)
    inputs = {"flattened_patches": torch.cat([at.expand(texts, -1, 2), values], 2)}
    record = {"lengths": [length] * texts if length else [], "grids": [[1, rows, columns]] * texts}
    if not length:
        return inputs, record
    return {**inputs, "decoder_input_ids": words(model.config, texts, length)}, {
        **record, "encoder_length": rows * columns}


@feed((2, 11, 5), (1, 7, 9))
def encoder_states(model, run):
    """A decoder whose tower is elsewhere: what that made, with a gradient. A run is (texts, length, keys)."""
    import torch
    texts, length, keys = run
    return ({"input_ids": words(model.config, texts, length), "use_cache": False,
             "encoder_hidden_states": torch.randn(texts, keys, model.config.hidden_size, requires_grad=True)},
            {"lengths": [length] * texts, "grids": [], "encoder_length": keys})


@feed((11, 2, 1), (7, 3, 1))
def prepended(model, run):
    """git: images whose tokens stand before the text's and are counted with it. A run is (length, texts, images)."""
    length, texts, images = run
    values, grids = image_batch(model.config, texts * images)
    tokens = grids[0][1] * grids[0][2] + 1
    clips = getattr(model.config, "num_image_with_embedding", None) is not None
    return ({"pixel_values": values.unflatten(0, (texts, images)) if clips else values,
             "input_ids": words(model.config, texts, length), "use_cache": False},
            {"lengths": [length + images * tokens] * texts, "grids": grids})


@feed((1, 1), (2, 1))
def image_text(model, counts, extra=None):
    """llava and family: images of the config's size in a text. A run is the number of images of each sample. `extra` is
    (model, images) to more inputs of get_image_features and of forward."""
    values, grids = image_batch(model.config, sum(counts))
    images = {"pixel_values": values, **(extra(model, sum(counts)) if extra else {})}
    rows = placeholders(model, "get_image_features", images, counts)
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, {"lengths": lengths, "grids": grids}


@feed((1, 1), (2, 2))
def image_rows(model, counts):
    """modernvbert: as image_text, the images of a sample in a row; each sample has as many."""
    values, grids = image_batch(model.config, sum(counts))
    images = {"pixel_values": values.unflatten(0, (len(counts), counts[0]))}
    rows = placeholders(model, "get_image_features", images, counts)
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, {"lengths": lengths, "grids": grids}


def inside(config):
    """The model that a retriever is made of."""
    return config.vlm_config


@feed((1, 1), (1, 1, 1))
def retrieved(model, counts, rows=False):
    """colpali, colmodernvbert (`rows`): one image in each sample, of the config's size."""
    config = inside(model.config)
    values, grids = image_batch(config, len(counts))
    images = {"pixel_values": values[:, None] if rows else values}
    blocks = by_sample(rows_of(ask(model.vlm, "get_image_features", images), len(counts)), counts)
    inputs, lengths = text_around(model.vlm, blocks, placeholder_of(config))
    return {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], **images}, {
        "lengths": lengths, "grids": grids}


@feed(((1, 4, 6), (1, 8, 4)), ((1, 4, 4),))
def retrieved_patches(model, grids):
    """colqwen2: one image of any size in each sample, its patches padded to the largest; the padding is cut away."""
    import torch
    config = inside(model.config)
    vision = vision_of(config)
    counts = [t * h * w for t, h, w in grids]
    values = torch.randn(len(grids), max(counts), patch_width(vision))
    inputs, lengths = text_around(model.vlm, [[count // vision.spatial_merge_size ** 2] for count in counts],
                                  placeholder_of(config))
    return {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], "use_cache": False,
            "pixel_values": values, "image_grid_thw": torch.tensor(grids)}, {
                "lengths": lengths, "grids": [list(grid) for grid in grids]}


@feed((((30, 41),), ((40, 12),)), (((20, 20), (41, 41)),))
def tiles(model, samples, tiles_per_image=None):
    """llava_next and family: the tiles of images of any size, image_sizes. A run is the sizes in pixels of each sample's
    images; which tiles they have follows from image_grid_pinpoints. Every tile is a grid."""
    import importlib

    import torch
    config = model.config
    sizes = flatten(samples)
    module = importlib.import_module(type(model).__module__)
    side = config.vision_config.image_size
    count = tiles_per_image or (lambda size: module.image_size_to_num_patches(size, config.image_grid_pinpoints, side))
    counts = [count(size) for size in sizes]
    values, grids = image_batch(config, len(sizes) * max(counts))
    images = {"pixel_values": values.unflatten(0, (len(sizes), max(counts))), "image_sizes": torch.tensor(sizes)}
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, lengths = text_around(model, rows, placeholder_of(config))
    return {**inputs, **images}, {"lengths": lengths, "grids": grids[:sum(counts)]}


@feed((2, 3), (1, 2))
def clip_text(model, run):
    """llava_next_video, llava_onevision: one clip in each text, of frames of the config's size. A run is (texts,
    frames); a clip is a grid."""
    texts, frames_of_each = run
    values, grids = image_batch(model.config, texts * frames_of_each)
    clips = {"pixel_values_videos": values.unflatten(0, (texts, frames_of_each))}
    rows = placeholders(model, "get_video_features", clips, [1] * texts)
    inputs, lengths = text_around(model, rows, placeholder_of(model.config, "video"))
    return {**inputs, **clips}, {"lengths": lengths, "grids": [[frames_of_each, *grids[0][1:]]] * texts}


@feed((1, 1), (2, 2))
def cross_attended(model, counts, padded=0):
    """mllama: tiles that the text reaches by cross attention only; a run is the number of images of each sample, which
    must be equal. Every image has max_num_tiles tiles, of which the last `padded` are padding, and every position of a
    text sees every tile. An image is a grid of as many frames as it has tiles."""
    import torch
    config = model.config
    vision = vision_of(config)
    samples, images, slots = len(counts), counts[0], vision.max_num_tiles
    values, grids = image_batch(config, samples * images * slots)
    _, height, width = grids[0]
    inputs = {"pixel_values": values.unflatten(0, (samples, images, slots)),
              "aspect_ratio_ids": torch.ones(samples, images, dtype=torch.long) * len(vision.supported_aspect_ratios),
              "aspect_ratio_mask": torch.ones(samples, images, slots, dtype=torch.long)}
    real = slots - padded
    inputs["aspect_ratio_mask"][:, :, real:] = 0
    record = {"lengths": [], "grids": [[real, height, width]] * (samples * images)}
    if vision is config:
        return inputs, record
    length = 9 + 2 * images
    ids = words(config, samples, length)
    ids[:, :images] = placeholder_of(config)
    inputs.update(input_ids=ids, use_cache=False,
                  cross_attention_mask=torch.ones(samples, length, images, slots, dtype=torch.long))
    inputs["cross_attention_mask"][..., real:] = 0
    return inputs, {**record, "lengths": [length] * samples, "encoder_length": images * real * (height * width + 1)}


@feed((2, 11, 5), (1, 7, 9))
def cross_states(model, run):
    """mllama's text alone: what a tower made, with a gradient. A run is (texts, length, keys)."""
    import torch
    texts, length, keys = run
    states = torch.randn(texts, keys, model.config.hidden_size, requires_grad=True)
    return ({"input_ids": words(model.config, texts, length), "use_cache": False, "cross_attention_states": states,
             "cross_attention_mask": torch.zeros(texts, 1, length, keys)},
            {"lengths": [length] * texts, "grids": [], "encoder_length": keys})


# ---------------------------------------------------------------------------------------------------------------------
# Images of any size.

# Two samples of one image each, of different sizes; one sample with two images.
GRIDS = ((((1, 4, 6),), ((1, 8, 4),)), (((1, 6, 4), (1, 4, 4)),))


def flatten(samples):
    return [grid for sample in samples for grid in sample]


def patch_width(vision):
    """Values of one flattened patch of Qwen-VL family."""
    import math
    return channels_of(vision) * getattr(vision, "temporal_patch_size", 1) * math.prod(pair(vision.patch_size))


@feed(*GRIDS)
def patches(model, samples, square=False, more=None, values=None):
    """Qwen-VL family: flattened patches (`square`: patches as little images; `values` of each, where the config says them
    by other names) and image_grid_thw. A run is the grids of
    each sample's images, as tuples (t, h, w); h and w are multiples of spatial_merge_size. A clip is an image with t
    above 1. `more` makes further inputs of the grids."""
    import torch
    grids = flatten(samples)
    vision = vision_of(model.config)
    count = sum(t * h * w for t, h, w in grids)
    shape = (channels_of(vision), *pair(vision.patch_size)) if square else (values or patch_width(vision),)
    images = {"pixel_values": torch.randn(count, *shape), "image_grid_thw": torch.tensor(grids)}
    images.update(more(grids) if more else {})
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, {"lengths": lengths, "grids": [list(grid) for grid in grids]}


@feed(((1, 4, 6), (1, 4, 6)), ((1, 3, 5),))
def raw_patches(model, grids):
    """fuyu: one image in each text, its patches as they are. A run is the grid of each, all alike."""
    import torch
    config = model.config
    _, rows, columns = grids[0]
    values = torch.randn(len(grids), rows * columns, config.num_channels * config.patch_size ** 2)
    inputs, lengths = text_around(model, [[rows * columns]] * len(grids), placeholder_of(config))
    return {**inputs, "pixel_values": values}, {"lengths": lengths, "grids": [list(grid) for grid in grids]}


@feed((11, 2), (9, 3))
def marked(model, run):
    """kosmos-2: a mask says where in a text its image stands. A run is (length, texts)."""
    import torch
    length, texts = run
    values, grids = image_batch(model.config, texts)
    mask = torch.zeros(texts, length)
    mask[:, 1:1 + model.config.latent_query_num] = 1
    return ({"pixel_values": values, "input_ids": words(model.config, texts, length), "use_cache": False,
             "image_embeds_position_mask": mask}, {"lengths": [length] * texts, "grids": grids})


@feed((11, 2, (1, 4, 6)), (9, 3, (1, 3, 5)))
def marked_patches(model, run):
    """kosmos-2.5: as kosmos-2, of patches with their row and column. A run is (length, texts, grid)."""
    import torch
    length, texts, grid = run
    inputs, record = flat_patches(model, run)
    mask = torch.zeros(texts, length)
    mask[:, 1:1 + model.config.latent_query_num] = 1
    return ({"flattened_patches": inputs["flattened_patches"], "input_ids": words(model.config, texts, length),
             "use_cache": False, "image_embeds_position_mask": mask},
            {"lengths": [length] * texts, "grids": record["grids"]})


@feed((11, 2), (7, 3))
def one_stream(model, run):
    """vilt: images behind texts, counted with them. A run is (length, texts)."""
    import torch
    length, texts = run
    values, grids = image_batch(model.config, texts)
    return ({"pixel_values": values, "pixel_mask": torch.ones_like(values[:, 0]).long(),
             "input_ids": words(model.config, texts, length), "attention_mask": torch.ones(texts, length).long()},
            {"lengths": [length + grids[0][1] * grids[0][2] + 1] * texts, "grids": grids})


@feed((1,))
def image_pages(model, counts):
    """deepseek_ocr2: one image in each text, of the size that SAM's config says."""
    config = model.config
    first = config.vision_config.sam_config
    side = first.image_size // first.patch_size
    values, grids = image_batch(first, len(counts))
    images = {"pixel_values": values}
    rows = placeholders(model, "get_image_features", images, [1] * len(counts))
    inputs, lengths = text_around(model, rows, placeholder_of(config))
    return {**inputs, **images}, {"lengths": lengths, "grids": [[1, side, side]] * len(counts)}


@feed(*GRIDS)
def patches_by_kind(model, samples):
    """ERNIE-4.5-VL: experts of text and of images apart, and clips, where t is above 1, apart from images. The visits of
    experts of both kinds are measured, summed over layers."""
    import torch
    config = model.config
    text, vision = config.text_config, vision_of(config)
    grids = flatten(samples)
    clips = grids[0][0] > 1
    values = torch.randn(sum(t * h * w for t, h, w in grids), channels_of(vision) * vision.patch_size ** 2)
    media = ({"pixel_values_videos": values, "video_grid_thw": torch.tensor(grids)} if clips else
             {"pixel_values": values, "image_grid_thw": torch.tensor(grids)})
    rows = placeholders(model, "get_video_features" if clips else "get_image_features", media,
                        [len(sample) for sample in samples])
    token = placeholder_of(config, "video" if clips else "image")
    inputs, lengths = text_around(model, rows, token)
    seen = inputs["input_ids"] == token
    inputs.update(mm_token_type_ids=seen.int() * (2 if clips else 1), moe_mm_token_type_ids=seen.int())
    times = text.num_experts_per_tok * text.mlp_layer_types.count("sparse")
    measured = {"text_visits": times * int((~seen).sum()), "image_visits": times * int(seen.sum())}
    return {**inputs, **media}, {"lengths": lengths, "grids": [list(grid) for grid in grids], "measured": measured}


@feed(((((1, 4, 8),), ((1, 8, 4),))), ((((1, 8, 4), (1, 4, 4)),)))
def patches_in_a_row(model, samples):
    """MiniCPM-V: the patches of all images side by side, one patch high, with target_sizes."""
    import torch
    config = model.config
    vision = vision_of(config)
    grids = flatten(samples)
    side = vision.patch_size
    images = {"pixel_values": torch.randn(1, channels_of(vision), side, side * sum(h * w for _, h, w in grids)),
              "target_sizes": torch.tensor([[h, w] for _, h, w in grids])}
    record = {"lengths": [], "grids": [list(grid) for grid in grids]}
    if vision is config:
        return images, record
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, record["lengths"] = text_around(model, rows, placeholder_of(config))
    return {**inputs, **images}, record


@feed((2, 11), (3, 7))
def two_kinds(model, run):
    """ERNIE-4.5-VL's text alone: every third token is one of an image. A run is (texts, length)."""
    import torch
    texts, length = run
    config = model.config
    seen = (torch.arange(texts * length) % 3 == 0).view(texts, length)
    times = config.num_experts_per_tok * config.mlp_layer_types.count("sparse")
    return ({"input_ids": words(config, texts, length), "moe_mm_token_type_ids": seen.int(), "use_cache": False},
            {"lengths": [length] * texts, "grids": [],
             "measured": {"text_visits": times * int((~seen).sum()), "image_visits": times * int(seen.sum())}})


@feed(*GRIDS)
def patches_alone(model, samples, grid_name="grid_thw", values_name="hidden_states", square=False, more=None,
                  values=None):
    """The vision tower of Qwen-VL family by itself; the rest as in `patches`."""
    import torch
    grids = flatten(samples)
    vision = vision_of(model.config)
    shape = (channels_of(vision), *pair(vision.patch_size)) if square else (values or patch_width(vision),)
    images = {values_name: torch.randn(sum(t * h * w for t, h, w in grids), *shape), grid_name: torch.tensor(grids)}
    images.update(more(grids) if more else {})
    return images, {"lengths": [], "grids": [list(grid) for grid in grids]}


@feed(*GRIDS)
def images_in_one_canvas(model, samples):
    """pixtral, mistral3: images padded to the largest (the padding is cut before the first block), with image_sizes."""
    import torch
    config = model.config
    vision = vision_of(config)
    grids = flatten(samples)
    patch = pair(vision.patch_size)
    sizes = [(h * patch[0], w * patch[1]) for _, h, w in grids]
    values = torch.randn(len(grids), channels_of(vision), *(max(side) for side in zip(*sizes)))
    images = {"pixel_values": values, "image_sizes": torch.tensor(sizes)}
    record = {"lengths": [], "grids": [list(grid) for grid in grids]}
    if vision is config:
        return images, record
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, record["lengths"] = text_around(model, rows, placeholder_of(config))
    return {**inputs, **images}, record


@feed(*GRIDS)
def positioned(model, samples, slots=36):
    """gemma4: flattened patches of three channels with their positions, each image padded to `slots` patches."""
    import torch
    vision = vision_of(model.config)
    grids = flatten(samples)
    at = [[(x, y) for y in range(h) for x in range(w)] + [(-1, -1)] * (slots - h * w) for _, h, w in grids]
    values, positions = torch.rand(len(grids), slots, 3 * vision.patch_size ** 2), torch.tensor(at)
    record = {"lengths": [], "grids": [list(grid) for grid in grids]}
    if vision is model.config:
        return {"pixel_values": values, "pixel_position_ids": positions}, record
    images = {"pixel_values": values, "image_position_ids": positions}
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, record["lengths"] = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, record


@feed(*GRIDS)
def masked_canvas(model, samples, square=False):
    """idefics2, idefics3, smolvlm: images padded to the largest of the run (to a square for the latter two), with
    pixel_attention_mask. The blocks run on the padding."""
    import torch
    config = model.config
    vision = vision_of(config)
    grids = flatten(samples)
    patch = pair(vision.patch_size)
    sizes = [(h * patch[0], w * patch[1]) for _, h, w in grids]
    height, width = (max(side) for side in zip(*sizes))
    if square:
        height = width = max(height, width)
    most = max(len(sample) for sample in samples)
    values = torch.zeros(len(samples), most, channels_of(vision), height, width)
    mask = torch.zeros(len(samples), most, height, width, dtype=torch.bool)
    sizes = iter(sizes)
    for row, sample in enumerate(samples):
        for image in range(len(sample)):
            h, w = next(sizes)
            values[row, image, :, :h, :w] = torch.rand(channels_of(vision), h, w) + 0.5
            mask[row, image, :h, :w] = True
    images = {"pixel_values": values, "pixel_attention_mask": mask}
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, lengths = text_around(model, rows, placeholder_of(config))
    return {**inputs, **images}, {"lengths": lengths, "grids": [list(grid) for grid in grids]}


def padded_patches(vision, grids, slots):
    """pixel_values [images, slots, values], pixel_attention_mask and spatial_shapes of siglip2."""
    import torch
    mask = torch.tensor([[int(slot < h * w) for slot in range(slots)] for _, h, w in grids])
    return {"pixel_values": torch.randn(len(grids), slots, patch_width(vision)), "pixel_attention_mask": mask,
            "spatial_shapes": torch.tensor([[h, w] for _, h, w in grids])}


@feed(*GRIDS)
def padded(model, samples, slots=40):
    """siglip2's tower: images of any size, each padded to `slots` patches (max_num_patches of the processor)."""
    grids = flatten(samples)
    return (padded_patches(vision_of(model.config), grids, slots),
            {"lengths": [], "grids": [list(grid) for grid in grids]})


@feed(*GRIDS)
def padded_text(model, samples, slots=40):
    """lfm2_vl: images padded as siglip2's, in a text."""
    images, record = padded(model, samples, slots)
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, {**record, "lengths": lengths}


@feed((2, 11, GRIDS[0]), (3, 7, GRIDS[1]))
def contrastive_padded(model, run, slots=40):
    """siglip2: texts beside padded images. A run is (texts, length, grids of each sample)."""
    texts, length, samples = run
    images, record = padded(model, samples, slots)
    return {"input_ids": words(model.config, texts, length), **images}, {**record, "lengths": [length] * texts}


# ---------------------------------------------------------------------------------------------------------------------
# Audio.


@feed((2, 11), (3, 7))
def speech_to_text(model, run):
    """whisper: input_features of the length that the encoder demands, and a decoder. A run is (clips, length of the
    decoder). Frames are mel frames, before the stem of stride 2; encoder_length is the decoder's number of keys."""
    import torch
    clips, length = run
    config = model.config
    count = 2 * config.max_source_positions
    inputs = {"input_features": torch.randn(clips, config.num_mel_bins, count),
              "decoder_input_ids": words(config, clips, length), "use_cache": False}
    return inputs, {"lengths": [length] * clips, "audio_frames": [count] * clips,
                    "encoder_length": config.max_source_positions}


@feed(2, 3)
def mel(model, clips, bins="num_mel_bins", frames=None):
    """An encoder of mel frames by itself: whisper's for classification. Of `frames`, else as many as it demands."""
    import torch
    count = frames or 2 * model.config.max_source_positions
    return ({"input_features": torch.randn(clips, getattr(model.config, bins), count)},
            {"lengths": [], "audio_frames": [count] * clips})


@feed((25, 11), (24,))
def packed_mel(model, counts):
    """The audio tower of Qwen's omni models: the frames of all clips in one row. A run is the frames of each clip."""
    import torch
    return ({"input_features": torch.randn(model.config.num_mel_bins, sum(counts)),
             "feature_lens": torch.tensor(counts)}, {"lengths": [], "audio_frames": list(counts)})


@feed((((1, 8, 12),), (25, 11)), (((1, 4, 4), (1, 8, 4)), (24,)))
def seen_and_heard(model, run):
    """The thinker of Qwen's omni models: one text with images and clips of sound. A run is (grids, frames of clips)."""
    import torch
    grids, counts = run
    config, longest = model.config, max(run[1])
    vision = vision_of(config)
    media = {"pixel_values": torch.randn(sum(t * h * w for t, h, w in grids), patch_width(vision)),
             "image_grid_thw": torch.tensor(grids),
             "input_features": torch.randn(len(counts), config.audio_config.num_mel_bins, longest),
             "feature_attention_mask": torch.tensor([[int(i < count) for i in range(longest)] for count in counts])}
    blocks = [(placeholder_of(config), t * h * w // vision.spatial_merge_size ** 2) for t, h, w in grids]
    blocks += [(placeholder_of(config, "audio"), ((count - 1) // 2 - 1) // 2 + 1) for count in counts]
    ids = torch.cat([part for token, size in blocks for part in (words(config, 2), torch.full((size,), token))])[None]
    length = ids.shape[1]
    return ({**media, "input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False,
             "position_ids": torch.arange(length).expand(3, 1, length)},
            {"lengths": [length], "grids": [list(grid) for grid in grids], "audio_frames": list(counts)})


@feed((2, 187), (3, 133))
def waveform(model, run):
    """wav2vec2 and family: input_values. A run is (clips, samples), and so are the frames of the record."""
    import torch
    clips, samples = run
    return ({"input_values": torch.randn(clips, samples)}, {"lengths": [], "audio_frames": [samples] * clips})


@feed((2, 9), (3, 6))
def features(model, run, width):
    """An encoder of given features, [batch, frames, width]. A run is (clips, frames), `width` the config's field."""
    import torch
    clips, count = run
    return ({"input_features": torch.randn(clips, count, getattr(audio_of(model.config), width)),
             "attention_mask": torch.ones(clips, count, dtype=torch.long)},
            {"lengths": [], "audio_frames": [count] * clips})


@feed(2, 3)
def spectrogram(model, clips):
    """audio-spectrogram-transformer: [batch, frames, mel bins] cut into overlapping patches. A run is a number of
    clips, each of which is a grid, as an image is."""
    import torch
    config = model.config
    height = (config.num_mel_bins - config.patch_size) // config.frequency_stride + 1
    width = (config.max_length - config.patch_size) // config.time_stride + 1
    return ({"input_values": torch.randn(clips, config.max_length, config.num_mel_bins)},
            {"lengths": [], "grids": [[1, height, width]] * clips})


@feed((2, 11, 21), (3, 7, 33))
def speech_features(model, run):
    """speech_to_text: [batch, frames, features] and a decoder. A run is (clips, length of the decoder, frames)."""
    import torch
    clips, length, count = run
    config = model.config
    keys = count
    for _ in range(config.num_conv_layers):
        keys = (keys - 1) // 2 + 1
    return ({"input_features": torch.randn(clips, count, config.input_feat_per_channel * config.input_channels),
             "attention_mask": torch.ones(clips, count, dtype=torch.long),
             "decoder_input_ids": words(config, clips, length), "use_cache": False},
            {"lengths": [length] * clips, "audio_frames": [count] * clips, "encoder_length": keys})


@feed((2, 11, 2300), (3, 7, 1711))
def speech_waveform(model, run, kernels=(127, 7, 3), strides=(64, 3, 2)):
    """moonshine: a waveform and a decoder. A run is (clips, length of the decoder, samples)."""
    import torch
    clips, length, samples = run
    keys = samples
    for kernel, stride in zip(kernels, strides):
        keys = (keys - kernel) // stride + 1
    return ({"input_values": torch.randn(clips, samples), "decoder_input_ids": words(model.config, clips, length),
             "use_cache": False},
            {"lengths": [length] * clips, "audio_frames": [samples] * clips, "encoder_length": keys})


def masked_clips(audio, counts):
    """Mel frames of clips, padded to whole chunks of 2 x n_window, and which are none of the padding."""
    import torch
    longest = -(-max(counts) // (2 * audio.n_window)) * 2 * audio.n_window
    return {"input_features": torch.randn(len(counts), audio.num_mel_bins, longest),
            "input_features_mask": torch.tensor([[int(i < count) for i in range(longest)] for count in counts])}


@feed((230, 137), (99,))
def masked_mel(model, counts):
    """The audio tower of Qwen3-ASR. A run is the frames of each clip."""
    return masked_clips(model.config, counts), {"lengths": [], "audio_frames": list(counts)}


@feed((230, 137), (99,))
def heard(model, counts):
    """Qwen3-ASR: one text with clips of any length. A run is the frames of each."""
    audio = audio_of(model.config)
    blocks = [rows_of(ask(model, "get_audio_features", masked_clips(audio, [count])), 1)[0] for count in counts]
    inputs, lengths = text_around(model, [blocks], placeholder_of(model.config, "audio"))
    return {**inputs, **masked_clips(audio, counts)}, {"lengths": lengths, "audio_frames": list(counts)}


@feed((1, 1), (2, 1))
def audio_text(model, counts, rows=None):
    """voxtral and family: clips of the length that the tower demands, in a text. A run is the number of clips of each
    sample. `rows` is the number of placeholders by mel frames, where the model has no get_audio_features."""
    import inspect

    import torch
    config = model.config
    audio = audio_of(config)
    count = 2 * (getattr(audio, "max_source_positions", None) or audio.max_position_embeddings)
    clips = {"input_features": torch.randn(sum(counts), audio.num_mel_bins, count)}
    for name in ("feature_attention_mask", "input_features_mask"):
        if name in inspect.signature(model.forward).parameters:
            clips[name] = torch.ones(sum(counts), count, dtype=torch.long)
    blocks = ([[rows(count)] * number for number in counts] if rows else
              placeholders(model, "get_audio_features", clips, counts))
    inputs, lengths = text_around(model, blocks, placeholder_of(config, "audio"))
    return {**inputs, **clips}, {"lengths": lengths, "audio_frames": [count] * sum(counts)}


@feed((((1, 8, 12),), (230, 137)), (((1, 4, 4), (1, 8, 4)), (99,)))
def omni(model, run):
    """The thinker of Qwen3-Omni: as seen_and_heard, with as many placeholders of sound as the model makes of a clip."""
    import torch
    grids, counts = run
    config = model.config
    vision, audio = vision_of(config), audio_of(config)
    images = {"pixel_values": torch.randn(sum(t * h * w for t, h, w in grids), patch_width(vision)),
              "image_grid_thw": torch.tensor(grids)}

    def clips(counts):
        return {"input_features": torch.randn(len(counts), audio.num_mel_bins, max(counts)),
                "feature_attention_mask": torch.tensor([[int(i < count) for i in range(max(counts))]
                                                        for count in counts])}
    blocks = [(placeholder_of(config), size) for size in rows_of(ask(model, "get_image_features", images), len(grids))]
    blocks += [(placeholder_of(config, "audio"), rows_of(ask(model, "get_audio_features", clips([count])), 1)[0])
               for count in counts]
    ids = torch.cat([part for token, size in blocks for part in (words(config, 2), torch.full((size,), token))])[None]
    length = ids.shape[1]
    return ({**images, **clips(counts), "input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False,
             "position_ids": torch.arange(length).expand(3, 1, length)},
            {"lengths": [length], "grids": [list(grid) for grid in grids], "audio_frames": list(counts)})


@feed((2, 11, 41), (3, 7, 25))
def features_to_text(model, run):
    """A conformer of mel frames and a decoder. A run is (clips, length of the decoder, frames)."""
    import torch
    clips, length, count = run
    config = model.config
    frames = {"input_features": torch.randn(clips, count, config.encoder_config.num_mel_bins),
              "attention_mask": torch.ones(clips, count, dtype=torch.long)}
    with torch.no_grad():
        keys = getattr(model, "model", model).encoder(**frames).last_hidden_state.shape[1]
    return ({**frames, "decoder_input_ids": words(config, clips, length), "use_cache": False},
            {"lengths": [length] * clips, "audio_frames": [count] * clips, "encoder_length": keys})


@feed((1, 1), (2, 1))
def timed_audio_text(model, counts, samples=0):
    """musicflamingo and moss_transcribe_diarize, whose get_audio_features wants more than the sound: clips of the
    length that the tower demands, of so many `samples` each. A run is the number of clips of each text."""
    import torch
    config, audio = model.config, audio_of(model.config)
    count = 2 * audio.max_source_positions
    clips = {"input_features": torch.randn(sum(counts), audio.num_mel_bins, count),
             "input_features_mask": torch.ones(sum(counts), count, dtype=torch.long)}
    if samples:
        clips["padding_mask"] = torch.ones(sum(counts), samples, dtype=torch.long)
    rows = -(-count // (2 * getattr(config, "audio_merge_size", 2)))
    inputs, lengths = text_around(model, [[rows] * number for number in counts], placeholder_of(config, "audio"))
    return {**inputs, **clips}, {"lengths": lengths, "audio_frames": [count] * sum(counts)}


@feed((2, 48), (3, 64))
def streamed(model, run):
    """voxtral_realtime: a text as long as its sound. A run is (clips, mel frames)."""
    import torch
    clips, count = run
    config, audio = model.config, audio_of(model.config)
    frames = {"input_features": torch.randn(clips, audio.num_mel_bins, count), "use_cache": False}
    if audio is config:
        return frames, {"lengths": [], "audio_frames": [count] * clips}
    length = count // 2 // config.downsample_factor
    return ({**frames, "input_ids": words(config, clips, length), "num_delay_tokens": 3},
            {"lengths": [length] * clips, "audio_frames": [count] * clips})


@feed(((2, 1), 23), ((1,), 12))
def windows_of_features(model, run, name="input_features"):
    """granite_speech: clips of given features, of equal length, in texts; the encoder by itself without texts. A run
    is (clips of each text, frames of each clip)."""
    import torch
    counts, frames = run
    config = model.config
    audio = audio_of(config)
    clips = {name: torch.randn(sum(counts), frames, audio.input_dim)}
    if audio is config:
        return clips, {"lengths": [], "audio_frames": [frames] * sum(counts)}
    blocks = placeholders(model, "get_audio_features", clips, counts)
    inputs, lengths = text_around(model, blocks, placeholder_of(config, "audio"))
    return {**inputs, **clips}, {"lengths": lengths, "audio_frames": [frames] * sum(counts)}


@feed(((2, 1), 46), ((1,), 33))
def masked_features(model, run, bins=None):
    """gemma4 and gemma3n: clips of mel frames, of equal length, in texts; the tower by itself without texts. A run is
    (clips of each text, frames of each clip); `bins` are the values of a frame."""
    import inspect

    import torch
    counts, frames = run
    config = model.config
    audio = audio_of(config)
    width = bins or getattr(audio, "input_feat_size", None) or 4 * (audio.subsampling_conv_channels[0] // 4)
    values, mask = torch.randn(sum(counts), frames, width), torch.ones(sum(counts), frames, dtype=torch.bool)
    if audio_of(config) is config:
        name = next(name for name in ("attention_mask", "audio_mel_mask") if name in
                    inspect.signature(model.forward).parameters)
        values_name = "audio_mel" if name == "audio_mel_mask" else "input_features"
        return ({values_name: values, name: mask if name == "attention_mask" else ~mask},
                {"lengths": [], "audio_frames": [frames] * sum(counts)})
    clips = {"input_features": values, "input_features_mask": mask}
    blocks = placeholders(model, "get_audio_features", clips, counts)
    inputs, lengths = text_around(model, blocks, placeholder_of(config, "audio"))
    inputs["mm_token_type_ids"] = inputs["input_ids"] * 0
    return {**inputs, **clips}, {"lengths": lengths, "audio_frames": [frames] * sum(counts)}


@feed(*GRIDS)
def positioned_squares(model, samples, slots=36):
    """gemma4_unified: squares of pixels with their positions, each image padded to `slots` of them."""
    import torch
    grids = flatten(samples)
    side = vision_of(model.config).model_patch_size
    at = [[(x, y) for y in range(h) for x in range(w)] + [(-1, -1)] * (slots - h * w) for _, h, w in grids]
    images = {"pixel_values": torch.rand(len(grids), slots, 3 * side ** 2), "image_position_ids": torch.tensor(at)}
    rows = placeholders(model, "get_image_features", images, [len(sample) for sample in samples])
    inputs, lengths = text_around(model, rows, placeholder_of(model.config))
    return {**inputs, **images}, {"lengths": lengths, "grids": [list(grid) for grid in grids]}


@feed(((2, 1), 11), ((1,), 7))
def stacked_features(model, run):
    """fun_asr_nano: clips of stacked frames, of equal length, in texts; the encoder by itself without texts. A run is
    (clips of each text, rows of each clip)."""
    import torch
    counts, rows = run
    config, audio = model.config, audio_of(model.config)
    clips = {"input_features": torch.randn(sum(counts), rows, audio.num_mel_bins * audio.num_stacked_frames),
             "input_features_mask": torch.ones(sum(counts), rows, dtype=torch.long)}
    if audio is config:
        return clips, {"lengths": [], "audio_frames": [rows] * sum(counts)}
    blocks = placeholders(model, "get_audio_features", clips, counts)
    inputs, lengths = text_around(model, blocks, placeholder_of(config, "audio"))
    return {**inputs, **clips}, {"lengths": lengths, "audio_frames": [rows] * sum(counts)}


@feed((((2, 1),), 41), (((1, 2), (2, 1)), 27), ((), 33))
def pieces_and_sound(model, run):
    """phi4_multimodal: texts of one image and one clip each, or of two clips and no image. A run is (rows and columns
    of pieces of each text's image, mel frames of a clip). An image is two grids, the whole and a small one."""
    import torch
    shapes, frames = run
    config = model.config
    vision, audio = config.vision_config, config.audio_config
    side, texts = vision.crop_size // vision.patch_size, len(shapes) or 2
    per_clip = -(-frames // audio.time_reduction)
    inputs = {"audio_input_features": torch.randn(texts, frames, audio.input_size),
              "audio_embed_sizes": torch.tensor([per_clip] * texts),
              "audio_attention_mask": torch.ones(texts, frames, dtype=torch.bool)}
    blocks, grids = [[(audio.audio_token_id, per_clip)] for _ in range(texts)], []
    if shapes:
        pieces = shapes[0][0] * shapes[0][1] + 1
        inputs.update(image_pixel_values=torch.randn(texts, pieces, 3, vision.crop_size, vision.crop_size),
                      image_sizes=torch.tensor([[h * vision.crop_size, w * vision.crop_size] for h, w in shapes]),
                      image_attention_mask=torch.ones(texts, pieces, side, side))
        for block, (h, w) in zip(blocks, shapes):
            half = side // 2
            block.append((vision.image_token_id, half * h * (half * w + 1) + 1 + half * (half + 1)))
            grids += [[1, h * side, w * side], [1, side, side]]
    length = max(sum(size + 2 for _, size in block) for block in blocks) + 1
    ids = words(config, texts, length)
    for text, block in zip(ids, blocks):
        start = 2
        for token, size in block:
            text[start:start + size] = token
            start += size + 2
    return ({**inputs, "input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False},
            {"lengths": [ids.shape[1]] * texts, "grids": grids, "audio_frames": [frames] * texts})


@feed((2, 11, 41), (3, 7, 25))
def features_and_decoder(model, run):
    """seamless_m4t: given features of frames, and a decoder. A run is (clips, length of the decoder, frames)."""
    import torch
    clips, length, count = run
    config = model.config
    frames = {"input_features": torch.randn(clips, count, config.feature_projection_input_dim),
              "attention_mask": torch.ones(clips, count, dtype=torch.long)}
    with torch.no_grad():
        keys = model.speech_encoder(**frames).last_hidden_state.shape[1]
    return ({**frames, "decoder_input_ids": words(config, clips, length), "use_cache": False},
            {"lengths": [length] * clips, "audio_frames": [count] * clips, "encoder_length": keys})


@feed((2, 11, 5), (3, 7, 9))
def text_and_codes(model, run):
    """musicgen: texts, and codes of sound in every codebook. A run is (texts, frames of codes, tokens of a text)."""
    import torch
    texts, length, keys = run
    encoder, decoder = model.config.text_encoder, model.config.decoder
    return ({"input_ids": torch.randint(5, encoder.vocab_size - 1, (texts, keys)),
             "decoder_input_ids": torch.randint(0, decoder.vocab_size - 1, (texts * decoder.num_codebooks, length))},
            {"lengths": [length] * texts, "grids": [], "encoder_length": keys})


@feed((2, 11, 23), (3, 7, 16))
def pieces_to_text(model, run):
    """moonshine_streaming: pieces of a waveform and a decoder. A run is (clips, length of the decoder, pieces)."""
    import torch
    clips, length, pieces = run
    encoder = model.config.encoder_config
    samples = pieces * round(encoder.sample_rate * encoder.frame_ms / 1000)
    keys = ((pieces - 1) // 2) // 2 + 1
    return ({"input_values": torch.randn(clips, samples), "decoder_input_ids": words(model.config, clips, length),
             "attention_mask": torch.ones(clips, samples, dtype=torch.long), "use_cache": False},
            {"lengths": [length] * clips, "audio_frames": [samples] * clips, "encoder_length": keys})


@feed((2, 11, 5), (3, 7, 9))
def text_and_channels(model, run):
    """dia: texts, and the codes of every channel of a frame. A run is (texts, frames, bytes of a text)."""
    import torch
    texts, length, keys = run
    decoder = model.config.decoder_config
    return ({"input_ids": torch.randint(5, model.config.encoder_config.vocab_size - 1, (texts, keys)),
             "use_cache": False,
             "decoder_input_ids": torch.randint(0, decoder.vocab_size - 1, (texts, length, decoder.num_channels))},
            {"lengths": [length] * texts, "grids": [], "encoder_length": keys})
