# SPDX-License-Identifier: Apache-2.0
"""Counts random small models of diffusers with LoRA on their attention, under PyTorch's FlopCounterMode.

    python generate_diffusion_lora.py            # writes diffusion_lora.json; --check compares with what is there

The models are those of zoo/diffusion_cases.py. Without PyTorch, diffusers and peft it exits with status 77.
"""

import json
import pathlib
import random
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "diffusion_lora.json"
RANK = 4
PROJECTIONS = ["to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"]
CLASSES = ["FluxTransformer2DModel", "SD3Transformer2DModel", "WanTransformer3DModel", "QwenImageTransformer2DModel",
           "LTXVideoTransformer3DModel", "CogVideoXTransformer3DModel", "HunyuanVideoTransformer3DModel"]


def main():
    warnings.filterwarnings("ignore")
    try:
        import diffusers
        import torch
        from peft import LoraConfig
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as missing:
        print(f"skipped: {missing.name} cannot be imported")
        return 77
    diffusers.utils.logging.set_verbosity_error()
    sys.path.insert(0, str(HERE / "zoo"))
    import diffusion_cases
    cases = []
    for name in CLASSES:
        for draw in range(3):
            choose = random.Random(f"{name} {draw}")
            arguments, inputs = getattr(diffusion_cases, name)(choose)
            torch.manual_seed(0)
            model = getattr(diffusers, name)(**arguments).train()
            config = {key: value for key, value in json.loads(model.to_json_string()).items()
                      if key not in ("_name_or_path", "_use_default_values")}
            model.requires_grad_(False)
            model.add_adapter(LoraConfig(r=RANK, target_modules=PROJECTIONS))
            made = inputs(choose, model)
            grids, texts = made.pop("grids"), made.pop("texts")
            made.pop("differences", None)
            with FlopCounterMode(display=False) as forward:
                outputs = model(**made, return_dict=False)[0]
            with FlopCounterMode(display=False) as backward:
                outputs.sum().backward()
            cases.append({"id": f"{name}/{draw}", "config": config, "grids": grids, "texts": texts,
                          "forward": forward.get_total_flops(), "backward": backward.get_total_flops()})
    cases = json.loads(json.dumps(cases))
    if "--check" in sys.argv[1:]:
        return 0 if cases == json.loads(FILE.read_text()) else 1
    FILE.write_text("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in cases) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
