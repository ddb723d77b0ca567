# SPDX-License-Identifier: Apache-2.0
"""Writes quantised.json: what each tool writes as `quantization_config`, by running the tools' own code.

    pip install transformers torchao && pip install --no-deps compressed-tensors nvidia-modelopt autoawq loguru
    python generate_quantised.py

A class of transformers whose package is not installed (hqq, amd-quark) is left out and printed.
"""

from __future__ import annotations

import enum
import importlib.metadata
import importlib.util
import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# What a class cannot do without.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "bitsandbytes_4bit": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True},
    "bitsandbytes_8bit": {"load_in_8bit": True},
    "gguf": {"gguf_file": "model.gguf"},
    "gptq": {"bits": 4},
}


def plain(value: Any) -> Any:
    """Returns a value as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def of_transformers() -> dict[str, Any]:
    from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING as classes

    found = {}
    for name, kind in classes.items():
        try:
            if name == "torchao":
                from torchao.quantization import Int4WeightOnlyConfig

                made = kind(quant_type=Int4WeightOnlyConfig(group_size=128))
            else:
                made = kind(**ARGUMENTS.get(name, {}))
        except ImportError as problem:
            print(f"{name} is left out: {problem}", file=sys.stderr)
            continue
        found[f"transformers {name}"] = made.to_dict()
    return found


def of_compressed_tensors() -> dict[str, Any]:
    from compressed_tensors.quantization import QuantizationConfig, preset_name_to_scheme
    from compressed_tensors.quantization.quant_scheme import PRESET_SCHEMES

    found = {}
    for name in sorted(PRESET_SCHEMES):
        groups = {"group_0": preset_name_to_scheme(name, ["Linear"])}
        found[f"compressed-tensors {name}"] = QuantizationConfig(config_groups=groups, ignore=["lm_head"]).to_dict()
    return found


def of_modelopt() -> dict[str, Any]:
    # The file alone, since its package asks for more than this needs.
    file = importlib.metadata.distribution("nvidia-modelopt").locate_file("modelopt/torch/export/convert_hf_config.py")
    spec = importlib.util.spec_from_file_location("convert_hf_config", str(file))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for algorithm in ("FP8", "NVFP4", "W4A16_AWQ", "MXFP8"):
        details = {"quant_algo": algorithm, "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
        made = module.convert_hf_quant_config_format({"producer": {"name": "modelopt"}, "quantization": details})
        found[f"modelopt {algorithm}"] = made
    return found


def of_autoawq() -> dict[str, Any]:
    file = importlib.metadata.distribution("autoawq").locate_file("awq/models/_config.py")
    spec = importlib.util.spec_from_file_location("awq_config", str(file))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {"autoawq": module.AwqConfig().to_transformers_dict()}


def main() -> None:
    warnings.simplefilter("ignore")
    config = json.loads((HERE / "quantised.json").read_text())["config"]
    packages = ("transformers", "torchao", "compressed-tensors", "nvidia-modelopt", "autoawq")
    releases = {name: importlib.metadata.version(name) for name in packages}
    found = {**of_transformers(), **of_compressed_tensors(), **of_modelopt(), **of_autoawq()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(plain(found[name]), sort_keys=True)}" for name in sorted(found))
    text = f'{{"config": {json.dumps(config, sort_keys=True)},\n "releases": {json.dumps(releases)},\n "quantization": {{\n{lines}\n }}}}\n'
    (HERE / "quantised.json").write_text(text)


if __name__ == "__main__":
    main()
