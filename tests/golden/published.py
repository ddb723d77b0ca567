# SPDX-License-Identifier: Apache-2.0
"""Builds the models of published.json with transformers and diffusers, without memory, and compares their parameters.

    pip install -r zoo/requirements.txt
    python published.py [TEXT...]      # only names that contain one of these

`build` of a line holds the fields to build it with in place of the file's, or false where transformers has no such
class. Without PyTorch and transformers it says so and exits with status 77.
"""

import json
import logging
import os
import pathlib
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent


def build(torch, transformers, written):
    if "_class_name" in written:
        import diffusers
        with torch.device("meta"):
            return getattr(diffusers, written["_class_name"]).from_config(written)
    # Neither code beside the checkpoint nor its quantized weights.
    written = {key: value for key, value in written.items() if key not in ("auto_map", "quantization_config")}
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(written))
        config = transformers.AutoConfig.from_pretrained(folder)
    if written.get("architectures"):
        built = getattr(transformers, written["architectures"][0])
    else:
        built = transformers.AutoModelForCausalLM._model_mapping[type(config)]
    with torch.device("meta"):
        return built._from_config(config)


def main(names):
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    warnings.filterwarnings("ignore")
    try:
        import torch
        import transformers
    except ImportError as missing:
        print(f"skipped: {missing.name} cannot be imported; see zoo/requirements.txt")
        return 77
    logging.disable(logging.WARNING)
    different = 0
    for line in json.loads((HERE / "published.json").read_text()):
        if line.get("build") is False or (names and not any(name in line["name"] for name in names)):
            continue
        model = build(torch, transformers, {**line["config"], **line.get("build", {})})
        parameters = sum(weight.numel() for weight in model.parameters())
        if parameters != line["parameters"]:
            print(f"{line['name']}: built with {parameters} parameters, the file has {line['parameters']}")
            different += 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
