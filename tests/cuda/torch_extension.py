# SPDX-License-Identifier: Apache-2.0
"""Compiles the extension of PyTorch that docs/cuda.md shows, with the headers of the PyTorch that this Python has.

    python torch_extension.py [nvcc]

Without PyTorch, its headers for CUDA or nvcc this says so and exits with status 77. PyTorch's own streams need a GPU: what
runs without one is in the other tests, and the calls are the same.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys


def main() -> int:
    nvcc = sys.argv[1] if len(sys.argv) > 1 else shutil.which("nvcc")
    if nvcc is None:
        print("skipped: nvcc is not here")
        return 77
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        print("skipped: PyTorch is not here")
        return 77
    headers = pathlib.Path(torch.origin).parent / "include"
    if not (headers / "c10/cuda/impl/cuda_cmake_macros.h").exists():
        print("skipped: this PyTorch has no headers for CUDA")
        return 77
    project = pathlib.Path(__file__).resolve().parents[2]
    command = [nvcc, "-std=c++20", "-arch=compute_80", "-ptx", "-o", "torch_extension.ptx", f"-I{project / 'include'}"]
    command += ["-isystem", str(headers), "-isystem", str(headers / "torch/csrc/api/include")]
    command += [str(project / "examples/torch_extension.cu")]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
