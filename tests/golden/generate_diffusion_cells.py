# SPDX-License-Identifier: Apache-2.0
"""The latents that the pipelines of diffusers make of a size in pixels, for the table in docs/how_to/diffusion.md.

    python tests/golden/generate_diffusion_cells.py > tests/golden/diffusion_cells.json
    python tests/golden/generate_diffusion_cells.py --docs     # writes the table from tests/golden/diffusion_cells.json

Each pipeline is built without weights. Its own `prepare_latents` makes the latents that its denoiser takes.
"""

from __future__ import annotations

import inspect
import json
import math
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = ROOT / "tests" / "golden" / "diffusion_cells.json"
PAGE = ROOT / "docs" / "how_to" / "diffusion.md"
BEGIN = "<!-- tests/golden/generate_diffusion_cells.py --docs writes this table -->\n\n"
END = "\n<!-- end of the table -->"
#: What every pipeline is asked for, in pixels: 48 frames after the first are a multiple of 4, 6 and 8.
HEIGHT, WIDTH, FRAMES = 1024, 768, 49
CHANNELS = 16
#: A pipeline for each class that denoises.
PIPELINES = {
    "AllegroTransformer3DModel": "AllegroPipeline", "AnyFlowTransformer3DModel": "AnyFlowPipeline",
    "AuraFlowTransformer2DModel": "AuraFlowPipeline", "BriaFiboTransformer2DModel": "BriaFiboPipeline",
    "ChromaTransformer2DModel": "ChromaPipeline", "CogVideoXTransformer3DModel": "CogVideoXPipeline",
    "CogView3PlusTransformer2DModel": "CogView3PlusPipeline", "CogView4Transformer2DModel": "CogView4Pipeline",
    "CosmosTransformer3DModel": "CosmosTextToWorldPipeline", "DreamLiteUNetModel": "DreamLitePipeline",
    "EasyAnimateTransformer3DModel": "EasyAnimatePipeline", "Flux2Transformer2DModel": "Flux2Pipeline",
    "FluxTransformer2DModel": "FluxPipeline", "GlmImageTransformer2DModel": "GlmImagePipeline",
    "HiDreamImageTransformer2DModel": "HiDreamImagePipeline", "HunyuanDiT2DModel": "HunyuanDiTPipeline",
    "HunyuanImageTransformer2DModel": "HunyuanImagePipeline", "HunyuanVideo15Transformer3DModel": "HunyuanVideo15Pipeline",
    "HunyuanVideoFramepackTransformer3DModel": "HunyuanVideoFramepackPipeline",
    "HunyuanVideoTransformer3DModel": "HunyuanVideoPipeline", "I2VGenXLUNet": "I2VGenXLPipeline",
    "Kandinsky5Transformer3DModel": "Kandinsky5T2VPipeline", "Kandinsky6Transformer3DModel": "Kandinsky6TI2VAPipeline",
    "Krea2Transformer2DModel": "Krea2Pipeline", "LTX2VideoTransformer3DModel": "LTX2Pipeline",
    "LTXVideoTransformer3DModel": "LTXPipeline", "LatteTransformer3DModel": "LattePipeline",
    "LongCatImageTransformer2DModel": "LongCatImagePipeline", "Lumina2Transformer2DModel": "Lumina2Pipeline",
    "LuminaNextDiT2DModel": "LuminaPipeline", "MochiTransformer3DModel": "MochiPipeline",
    "MotifVideoTransformer3DModel": "MotifVideoPipeline", "NucleusMoEImageTransformer2DModel": "NucleusMoEImagePipeline",
    "OvisImageTransformer2DModel": "OvisImagePipeline", "PRXTransformer2DModel": "PRXPipeline",
    "PixArtTransformer2DModel": "PixArtAlphaPipeline", "QwenImageTransformer2DModel": "QwenImagePipeline",
    "SD3Transformer2DModel": "StableDiffusion3Pipeline", "SanaTransformer2DModel": "SanaPipeline",
    "SanaVideoTransformer3DModel": "SanaVideoPipeline", "SkyReelsV2Transformer3DModel": "SkyReelsV2Pipeline",
    "UNet2DConditionModel": "StableDiffusionPipeline", "UNet2DModel": "ConsistencyModelPipeline",
    "UNet3DConditionModel": "TextToVideoSDPipeline", "UNetMotionModel": "AnimateDiffPipeline",
    "UNetSpatioTemporalConditionModel": "StableVideoDiffusionPipeline", "WanTransformer3DModel": "WanPipeline",
    "WanVACETransformer3DModel": "WanVACEPipeline", "ZImageTransformer2DModel": "ZImagePipeline",
}  # fmt: skip


class Anything:
    """Stands for a part that a pipeline asks for and hardly uses here: a scheduler, a safety checker."""

    init_noise_sigma = sigma_max = 1.0
    visual_cond = False

    @property
    def config(self) -> Anything:
        return self


def latents(pipeline: str, frames: int) -> list[int]:
    """The shape of the latents that a pipeline makes of a clip in pixels."""
    import diffusers
    import torch

    made = getattr(diffusers, pipeline)
    parts = {name: part for name, part in inspect.signature(made.__init__).parameters.items() if name != "self"}
    given: dict[str, Any] = {name: None if part.default is part.empty else part.default for name, part in parts.items()}
    if pipeline.startswith("Cosmos"):  # which makes one where it gets none
        given["safety_checker"] = Anything()
    vae = str(parts["vae"].annotation).split(".")[-1].strip("'>") if "vae" in parts else ""
    try:
        built = made(**given)
    except AttributeError:  # it reads the factors of its autoencoder's config
        with torch.device("meta"):
            built = made(**{**given, "vae": getattr(diffusers, vae)()})
    if "scheduler" in parts:
        built.scheduler = Anything()
    if pipeline.startswith("Kandinsky5"):
        built.transformer = Anything()
    asked: dict[str, Any] = {
        "batch_size": 1, "num_channels_latents": CHANNELS, "num_latents_channels": CHANNELS, "num_channels": CHANNELS, "patch_size": 2,
        "height": HEIGHT, "width": WIDTH, "num_frames": frames, "dtype": torch.float32, "device": "cpu", "generator": None,
    }  # fmt: skip
    wanted = inspect.signature(built.prepare_latents).parameters
    result = built.prepare_latents(**{name: asked[name] for name in wanted if name in asked})
    while not hasattr(result, "shape"):
        result = result[0]
    return list(result.shape)


def cells_of(shape: list[int]) -> int:
    """Cells of latents [1, cells, channels], or with a row and a column, and perhaps frames, of their own."""
    if len(shape) == 3:
        return shape[1]
    channels = next(size for size in shape[1:] if size in (CHANNELS, CHANNELS // 2))
    return math.prod(shape) // channels


def row(name: str, pipeline: str) -> dict[str, Any]:
    import diffusers

    one, clip = cells_of(latents(pipeline, 1)), cells_of(latents(pipeline, FRAMES))
    side = math.isqrt(HEIGHT * WIDTH // one)
    assert side * side * one == HEIGHT * WIDTH and clip % one == 0, (name, one, clip)
    text = inspect.signature(getattr(diffusers, pipeline).__call__).parameters.get("max_sequence_length")
    found = {"class": name, "pipeline": pipeline, "grid": [clip // one, HEIGHT // side, WIDTH // side]}
    return found if text is None or text.default is None else {**found, "text": text.default}


#: What a config must say besides its class, where the class has no default.
MORE: dict[str, dict[str, Any]] = {
    "EasyAnimateTransformer3DModel": {"in_channels": 16, "out_channels": 16, "patch_size": 2},
    "HiDreamImageTransformer2DModel": {"patch_size": 2, "caption_channels": [4096, 4096], "llama_layers": list(range(48))},
    "HunyuanDiT2DModel": {"hidden_size": 1408, "in_channels": 4, "patch_size": 2},
    "HunyuanVideoFramepackTransformer3DModel": {"has_clean_x_embedder": True, "has_image_proj": True},
    "LatteTransformer3DModel": {"in_channels": 4, "patch_size": 2, "caption_channels": 4096, "cross_attention_dim": 1408},
    "LuminaNextDiT2DModel": {"num_kv_heads": 8},
}


def model_of(name: str) -> Any:
    import floptally

    return floptally.cost({"_class_name": name, **MORE.get(name, {})})


def texts_of(model: Any, grid: list[int]) -> int:
    """How many lengths a class takes for each sample in `encoder_lengths`."""
    import floptally

    for texts in range(6):
        try:
            model.flops(grid_thw=[grid], **({"encoder_lengths": [16] * texts} if texts else {}))
        except floptally.Error:
            continue
        return texts
    raise AssertionError(model.model_type)


def takes_pixels(model: Any, pixels: list[int], grid: list[int], texts: int) -> bool:
    """Whether floptally converts pixels for this class; if it does, to the grid of diffusers' pipeline."""
    import floptally

    text = {"encoder_lengths": [16] * texts} if texts else {}
    try:
        total = model.flops(pixels=[pixels], **text).total
    except floptally.Error as error:
        if "does not say how pixels become a grid" in error.problem:
            return False
        raise
    assert total == model.flops(grid_thw=[grid], **text).total, model.model_type
    return True


def table() -> str:
    """The table of the page: how many pixels and frames are a cell, and an example."""
    read = json.loads(CELLS.read_text())
    frames, height, width = read["pixels"]
    lines = [
        "| class | pixels of a cell | frames | grid of the example | texts | longest text | `pixels=` |",
        "| --- | --- | --- | --- | ---: | ---: | --- |",
    ]
    for found in read["rows"]:
        name, (t, h, w) = found["class"], found["grid"]
        model = model_of(name)
        texts = texts_of(model, found["grid"])
        known = takes_pixels(model, [frames if t > 1 else 1, height, width], found["grid"], texts)
        of_frames = "one" if t == 1 else "each" if t == frames else f"first, then each {(frames - 1) // (t - 1)}"
        lines.append(
            f"| `{name}` | {height // h} x {width // w} | {of_frames} | `{t},{h},{w}` | {texts} | {found.get('text') or '-'} |"
            f" {'yes' if known else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    if sys.argv[1:] == ["--docs"]:
        text = PAGE.read_text()
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        PAGE.write_text(text[:begin] + table() + text[end:])
        return
    import diffusers

    rows = ",\n".join(json.dumps(row(name, pipeline)) for name, pipeline in sorted(PIPELINES.items()))
    release = re.sub(r"\.dev.*", "", diffusers.__version__)
    print(f'{{"diffusers": "{release}", "pixels": {[FRAMES, HEIGHT, WIDTH]}, "rows": [\n{rows}\n]}}')


if __name__ == "__main__":
    main()
