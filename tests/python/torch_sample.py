# SPDX-License-Identifier: Apache-2.0
"""How many of the models that people train floptally.from_torch reads: a random sample of classes of eight libraries.

`python tests/python/torch_sample.py [--seed N] [--count 200] [--only timm,peft]` draws as many of each library, builds
them without numbers, makes inputs by the names of the arguments of their forward, and prints what was read and why not.
What is read must count what FlopCounterMode counts at a size that from_torch did not run.
A class that runs with these inputs in no other way either (not built, or its forward refuses them) is drawn again.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import random
import re
import signal
import time
import warnings
from typing import Any

import torch

import floptally
import torch_models

FEWER = "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers".split()


class NotBuilt(Exception):
    """The script has no model or no inputs."""


# Names of each library.


def of_timm() -> list[str]:
    import timm

    return timm.list_models()


def of_torchvision() -> list[str]:
    import torchvision

    return [name for name in torchvision.models.list_models() if "quantized" not in name]


def of_diffusers() -> list[str]:
    import diffusers

    found = []
    for name in dir(diffusers):
        kind = getattr(diffusers, name, None) if not name.startswith(("_", "Flax")) and "Model" in name else None
        if inspect.isclass(kind) and issubclass(kind, torch.nn.Module) and hasattr(kind, "from_config"):
            found.append(name)
    return found


def of_open_clip() -> list[str]:
    import open_clip

    return [name for name in open_clip.list_models() if not name.startswith(("hf-", "local"))]


def of_peft() -> list[str]:
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

    return [f"{kind.value} {base}" for kind in PEFT_TYPE_TO_CONFIG_MAPPING for base in ("llama", "gpt2", "bert")]


def of_litgpt() -> list[str]:
    from litgpt.config import configs

    return [one["name"] for one in configs]


def of_torchtune() -> list[str]:
    import importlib
    import pkgutil

    import torchtune.models

    found = []
    for one in pkgutil.iter_modules(torchtune.models.__path__):
        module = importlib.import_module(f"torchtune.models.{one.name}")
        names = [name for name in getattr(module, "__all__", []) if "tokenizer" not in name and "transform" not in name]
        functions = [name for name in names if inspect.isfunction(getattr(module, name, None))]
        found += [f"{one.name}.{name}" for name in functions if "b" in name]
    return found


def of_transformers() -> list[str]:
    import transformers.models.auto.modeling_auto as auto

    found: set[str] = set()
    for name in dir(auto):
        if name.startswith("MODEL") and name.endswith("MAPPING_NAMES"):
            for one in getattr(auto, name).values():
                found.update([one] if isinstance(one, str) else one)
    return sorted(found)


# A model and its inputs.


def made(library: str, name: str) -> tuple[torch.nn.Module, Any, dict[str, Any]]:
    return globals()[f"made_{library}"](name)


def on_meta(make: Any) -> torch.nn.Module:
    try:
        with torch.device("meta"):
            return make()
    except Exception:
        return make()


def made_timm(name: str) -> Any:
    import timm

    model = on_meta(lambda: timm.create_model(name))
    size = model.default_cfg.get("input_size", (3, 224, 224)) if isinstance(model.default_cfg, dict) else (3, 224, 224)
    return model, lambda batch: torch.zeros(batch, *size), {}


def made_torchvision(name: str) -> Any:
    import torchvision

    real = any(word in name for word in ("rcnn", "retinanet", "ssd", "fcos"))
    more = {"weights_backbone": None} if real or "deeplab" in name or "fcn" in name or "lraspp" in name else {}
    make = lambda: torchvision.models.get_model(name, weights=None, **more)
    if real:
        def targets(batch: int) -> Any:
            boxes = torch.tensor([[10.0, 10.0, 60.0, 60.0]])
            one = {"boxes": boxes, "labels": torch.tensor([1])}
            if "mask" in name:
                one["masks"] = torch.ones(1, 96, 96, dtype=torch.uint8)
            if "keypoint" in name:
                one["keypoints"] = torch.tensor([[[20.0, 20.0, 1.0]] * 17])
            return [torch.rand(3, 96, 96) for _ in range(batch)], [one] * batch

        return make(), targets, {"real": True}
    if "raft" in name:
        return on_meta(make), lambda batch: (torch.zeros(batch, 3, 128, 128), torch.zeros(batch, 3, 128, 128)), {}
    video = any(word in name for word in ("r3d", "mc3", "r2plus1d", "mvit", "s3d", "swin3d"))
    size = (3, 16, 224, 224) if video else (3, 299, 299) if "inception" in name else (3, 224, 224)
    model = on_meta(make)
    if "vit_h" in name or "vit_l" in name:
        size = (3, model.image_size, model.image_size)
    return model, lambda batch: torch.zeros(batch, *size), {}


def made_open_clip(name: str) -> Any:
    import open_clip

    model = on_meta(lambda: open_clip.create_model(name))
    size = model.visual.image_size
    size = size if isinstance(size, (tuple, list)) else (size, size)
    words = getattr(model, "context_length", 77) or 77
    return model, lambda batch: (torch.zeros(batch, 3, *size), torch.ones(batch, words, dtype=torch.long)), {}


def made_peft(name: str) -> Any:
    import peft
    import transformers
    from peft.mapping import PEFT_TYPE_TO_CONFIG_MAPPING

    kind, base = name.split()
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes["vocab_size"] = 101
    if base == "llama":
        config: Any = transformers.LlamaConfig(**sizes)
        model: Any = transformers.LlamaForCausalLM(config)
        target = ["q_proj", "v_proj"]
    elif base == "gpt2":
        config = transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=101)
        model, target = transformers.GPT2LMHeadModel(config), ["c_attn"]
    else:
        config = transformers.BertConfig(**sizes)
        model, target = transformers.BertForMaskedLM(config), ["query", "value"]
    types = {one.value: configs for one, configs in PEFT_TYPE_TO_CONFIG_MAPPING.items()}
    options: dict[str, Any] = {}
    names = inspect.signature(types[kind]).parameters
    if "target_modules" in names:
        options["target_modules"] = target
    if "num_virtual_tokens" in names:
        options["num_virtual_tokens"] = 5
    if "feedforward_modules" in names:
        options["feedforward_modules"] = []
    if "total_step" in names:
        options["total_step"] = 100
    if "task_type" in names and base != "bert":
        options["task_type"] = "CAUSAL_LM"
    adapted = peft.get_peft_model(model, types[kind](**options))
    return adapted, lambda batch, length: {"input_ids": torch.ones(batch, length, dtype=torch.long)}, {}


def made_litgpt(name: str) -> Any:
    from litgpt import GPT, Config

    config = Config.from_name(name)
    config.n_layer = min(config.n_layer, 2)
    return on_meta(lambda: GPT(config)), lambda batch, length: torch.ones(batch, length, dtype=torch.long), {}


def made_torchtune(name: str) -> Any:
    import importlib

    module, function = name.split(".")
    build = getattr(importlib.import_module(f"torchtune.models.{module}"), function)
    adapted = "lora_attn_modules" in inspect.signature(build).parameters
    options = {"lora_attn_modules": ["q_proj", "v_proj"]} if adapted else {}
    with torch.device("meta"):
        model = build(**options)
    if not isinstance(model, torch.nn.Module):
        raise NotBuilt("no model")
    parameters = inspect.signature(model.forward).parameters
    if "tokens" not in parameters:
        raise NotBuilt(f"takes {list(parameters)}")
    if isinstance(getattr(model, "layers", None), torch.nn.ModuleList):
        model.layers = model.layers[:2]
    for module in model.modules():
        if hasattr(module, "rope_init"):
            module.rope_init()  # which a model on meta waits for
    return model, lambda batch, length: torch.ones(batch, length, dtype=torch.long), {}


def by_names(model: torch.nn.Module, config: Any) -> tuple[Any, bool]:
    """Inputs by the names that a forward takes, and whether they have a length."""
    names = list(inspect.signature(model.forward).parameters)
    size = getattr(config, "image_size", None) or getattr(config, "sample_size", None) or 224
    size = size if isinstance(size, (tuple, list)) else (size, size)
    channels = getattr(config, "num_channels", None) or 3
    main = getattr(model, "main_input_name", "input_ids")

    def inputs(batch: int, length: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if main == "pixel_values" and "pixel_values" in names:
            frames = getattr(config, "num_frames", None)
            shape = (batch, frames, channels, *size) if frames else (batch, channels, *size)
            result["pixel_values"] = torch.zeros(shape)
            if "input_ids" in names:
                result["input_ids"] = torch.ones(batch, length, dtype=torch.long)
        elif main == "input_features":
            bins = getattr(config, "num_mel_bins", None) or getattr(config, "feature_size", 80)
            result["input_features"] = torch.zeros(batch, length, bins)
        elif main == "input_values":
            result["input_values"] = torch.zeros(batch, 320 * length + 80)  # so many frames
        elif main == "input_ids":
            result["input_ids"] = torch.ones(batch, length, dtype=torch.long)
            if "pixel_values" in names and type(model).__name__.find("CLIP") >= 0:
                result["pixel_values"] = torch.zeros(batch, channels, *size)
        else:
            raise NotBuilt(f"takes {main}")
        if "decoder_input_ids" in names:
            result["decoder_input_ids"] = torch.ones(batch, length, dtype=torch.long)
        return result

    return inputs, main != "pixel_values" or "input_ids" in names


def fewer_layers(config: Any) -> None:
    inner = ("text_config", "vision_config", "encoder", "decoder")
    for one in (config, *(getattr(config, name, None) for name in inner)):
        for name in FEWER:
            if isinstance(getattr(one, name, None), int) and getattr(one, name) > 2:
                try:
                    setattr(one, name, 2)
                    for lists in ("layer_types", "mlp_layer_types"):
                        if isinstance(getattr(one, lists, None), list):
                            setattr(one, lists, getattr(one, lists)[:2])
                except Exception:
                    pass


def made_transformers(name: str) -> Any:
    import transformers

    kind = getattr(transformers, name)
    config = kind.config_class()
    fewer_layers(config)
    config.use_cache = False
    try:
        with torch.device("meta"):
            model = kind._from_config(config)
    except Exception:
        config = kind.config_class()
        model = kind._from_config(config)
    inputs, has_length = by_names(model, config)
    return model.train(), (inputs if has_length else lambda batch: inputs(batch, 32)), {}


WIDTHS = (
    "cross_attention_dim joint_attention_dim caption_channels text_embed_dim text_dim encoder_hid_dim "
    "caption_projection_dim".split()
)
#: Arguments that are given where a forward has them; others where it needs them.
ALWAYS = ("timestep", "encoder_hidden_states", "pooled_projections", "img_ids", "txt_ids", "img_shapes")


def made_diffusers(name: str) -> Any:
    import diffusers

    kind = getattr(diffusers, name)
    takes = inspect.signature(kind.__init__).parameters
    small = {one: 2 for one in ("num_layers", "num_single_layers", "num_refiner_layers") if one in takes}
    missing = {"in_channels": 4, "out_channels": 4, "sample_size": 32, "patch_size": 2}
    missing = {one: n for one, n in missing.items() if one in takes and takes[one].default in (None, takes[one].empty)}
    try:
        model = on_meta(lambda: kind(**small))
    except Exception:
        model = on_meta(lambda: kind(**small, **missing))
    config = model.config
    names = inspect.signature(model.forward).parameters
    size = config.get("sample_size") or 32
    size = size if isinstance(size, int) and size <= 128 else 32
    channels = config.get("in_channels") or 3
    widths = [config.get(one) for one in WIDTHS if config.get(one)]
    width = next((one if isinstance(one, int) else one[0] for one in widths), 768)
    forms = {
        "image": (channels, size, size),
        "tokens": (36, channels),
        "video": (channels, 5, size, size),
        "frames": (5, channels, size, size),
        "sound": (channels, 64),
    }

    def of_form(form: str) -> Any:
        def inputs(batch: int) -> dict[str, Any]:
            known = {
                "timestep": lambda: torch.ones(batch),
                "timesteps": lambda: torch.ones(batch),
                "t": lambda: torch.ones(batch),
                "encoder_hidden_states": lambda: torch.zeros(batch, 17, width),
                "encoder_hidden_states_t5": lambda: torch.zeros(batch, 17, width),
                "encoder_hidden_states_mask": lambda: torch.ones(batch, 17),
                "encoder_attention_mask": lambda: torch.ones(batch, 17),
                "attention_mask": lambda: torch.ones(batch, 17),
                "pooled_projections": lambda: torch.zeros(batch, config.get("pooled_projection_dim") or 768),
                "controlnet_cond": lambda: torch.zeros(batch, 3 if form == "image" else channels, 8 * size, 8 * size),
                "img_ids": lambda: torch.zeros(36, 3),
                "txt_ids": lambda: torch.zeros(17, 3),
                "guidance": lambda: torch.ones(batch),
                "img_shapes": lambda: [(1, 6, 6)] * batch,
                "txt_seq_lens": lambda: [17] * batch,
                "num_frames": lambda: 5,
                "height": lambda: size,
                "width": lambda: size,
                "added_time_ids": lambda: torch.zeros(batch, 3),
                "original_size": lambda: torch.full((batch, 2), 8.0 * size),
                "target_size": lambda: torch.full((batch, 2), 8.0 * size),
                "crop_coords": lambda: torch.zeros(batch, 2),
                "class_labels": lambda: torch.ones(batch, dtype=torch.long),
            }
            result: dict[str, Any] = {}
            for argument in names.values():
                one = argument.name
                needed = argument.default is argument.empty
                if one in ("sample", "x", "hidden_states", "image"):
                    result[one] = torch.zeros(batch, *forms[form])
                elif one in known and (
                    needed
                    or one in ALWAYS
                    or one == "guidance" and config.get("guidance_embeds")
                    or one == "class_labels" and config.get("num_embeds_ada_norm")
                ):
                    result[one] = known[one]()
            return result

        return inputs

    is_video = any(word in name for word in ("3D", "Video", "Wan", "Temporal"))
    order = ["video", "frames", *forms] if is_video else list(forms)
    running = (of_form(form) for form in order if runs_without_us(model, of_form(form), False))
    return model, next(running, of_form(order[0])), {}


# The sample.


class TooLate(BaseException):
    """Time is over; no Exception, which what runs may catch."""


def late(*_: Any) -> None:
    raise TooLate


def runs_without_us(model: torch.nn.Module, inputs: Any, real: bool) -> bool:
    """Whether a training step of it runs on fake tensors under PyTorch alone, or needs the data."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

    from floptally._from_torch import split, summed
    from floptally._torch_trace import fake_copy

    if real:
        return True
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        copied = fake_copy(model, mode)
        with mode:
            arity = len(inspect.signature(inputs).parameters)
            args, kwargs = split(inputs(*(2, 64)[:arity]))
            summed(copied(*args, **kwargs)).backward()
        return True
    except (DataDependentOutputException, DynamicOutputShapeException):
        return True
    except Exception:
        return False


def differs(cost: Any, model: torch.nn.Module, inputs: Any, real: bool) -> str:
    """How PyTorch alone counts a step of a size that from_torch did not run; empty where that is what the cost says."""
    from floptally._from_torch import PLAIN_INPUTS, sized_inputs, summed
    from floptally._torch_kernels import fake_mode
    from floptally._torch_trace import fake_copy, run_step

    arity = len(inspect.signature(inputs).parameters)
    # A length between those of the fit, for models of few positions too.
    fitted = [int(n) for n in re.findall(r" x (\d+)", cost.notes[0].split("checked")[0])]
    length = max(fitted) - 1 if arity > 1 else 0
    size = [4, length][:arity]
    try:
        forward, backward, excess = torch_models.counted(model, inputs, summed, size, real)
    except (RuntimeError, floptally.Error):  # it asks for numbers that fake tensors of PyTorch alone have not
        make, _ = sized_inputs(inputs)
        mode = fake_mode()
        step = run_step(fake_copy(model, mode), mode, lambda: make((4, length, 0)), summed, PLAIN_INPUTS, {}, 0, True)
        forward, backward = step.total, 0
        excess = sum(product.groups_excess for product in step.products)
    convention = "torch_flop_counter" if "torch_flop_counter gives" in cost.notes[0] else "torch_flop_counter_eager"
    pairs = any(mask.name == "measured(sample_pairs)" for mask in cost.masks)
    measured = {"sample_pairs": 16} if pairs else None
    work = cost.flops(convention=convention, lengths=[length or 1] * 4, measured=measured)
    counted = work.useful.total + work.executed.recompute
    return "" if counted == forward + backward - excess else f"{counted} for {forward + backward - excess} at {size}"


def tried(library: str, name: str, seconds: int) -> tuple[str, str]:
    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of this process, whatever else the machine does
    try:
        try:
            model, inputs, options = made(library, name)
        except Exception as problem:
            return "not built", f"{type(problem).__name__}: {str(problem)[:90]}"
        try:
            cost = floptally.from_torch(model, inputs, **options)
        except Exception as problem:
            text = f"{'' if isinstance(problem, floptally.Error) else type(problem).__name__ + ' '}{problem}"
            runs = runs_without_us(model, inputs, bool(options))
            return "refused" if runs else "not built", text.splitlines()[0][:230]
        try:
            problem = differs(cost, model, inputs, bool(options))
        except Exception as raised:
            problem = f"not checked: {type(raised).__name__}: {str(raised)[:150]}"
        limits = [note for note in cost.notes if note.startswith("holds up to")]
        return ("wrong", problem) if problem else ("read", limits[0][:160] if limits else "")
    except TooLate:
        return "too long", f"more than {seconds} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=240, help="of a processor, for each class")
    parser.add_argument("--only", default="timm,torchvision,diffusers,open_clip,peft,litgpt,torchtune,transformers")
    parser.add_argument("--first", type=int, default=0, help="number of the first class of a draw, after a run that ended early")
    given = parser.parse_args()
    libraries = given.only.split(",")
    found: dict[str, collections.Counter[str]] = {}
    print(f"seed {given.seed}")
    for number, library in enumerate(libraries):
        share = given.count * (number + 1) // len(libraries) - given.count * number // len(libraries)
        try:
            names = globals()[f"of_{library}"]()
        except ImportError as problem:
            print(f"{library}: not installed, {problem}")
            continue
        random.Random(given.seed).shuffle(names)
        found[library] = counts = collections.Counter()
        for name in names[given.first :]:
            if sum(counts.values()) - counts["not built"] >= share:
                break
            begin = time.process_time()
            verdict, why = tried(library, name, given.seconds)
            counts[verdict] += 1
            print(f"{library:12} {verdict:9} {time.process_time() - begin:5.1f} s  {name}  {why}", flush=True)
        print(f"{library}: {dict(counts)}", flush=True)
    total = sum(found.values(), collections.Counter())
    drawn = sum(total.values()) - total["not built"]
    print(f"seed {given.seed}: {total['read']} of {drawn} read, {total['wrong']} wrong, {total['not built']} not built")


if __name__ == "__main__":
    main()
