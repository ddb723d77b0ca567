# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of DeviceTally into the file that the wheel has: CMake calls it.

    python kernels.py NVCC PTXAS "80;90" _kernels.fatbin.gz -Iinclude kernels.cu

PTXAS: an older one than nvcc's own, or "". The PTX stays text, for tests that execute it on the host.
"""

import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

nvcc, ptxas, generations, to = sys.argv[1:5]
sources = sys.argv[5:]
oldest, *_ = every = generations.split(";")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def assembled(folder: pathlib.Path) -> None:
    """What nvcc's PTX is in the hands of another ptxas, put together by nvcc's fatbinary."""
    ptx = folder / "kernels.ptx"
    run(nvcc, "-std=c++20", *sources, "--ptx", f"-arch=compute_{oldest}", "-o", str(ptx))
    # PTX 8.0 is of CUDA 12.0. Newer pragmas are hints: an older ptxas says of each that it leaves it out.
    ptx.write_text(re.sub(r"(?m)^\s*\.pragma \"used_bytes_mask .*\n", "", re.sub(r"(?m)^\.version .*", ".version 8.0", ptx.read_text())))
    images = [f"--image3=kind=ptx,sm={oldest},file={ptx}"]
    for generation in every:
        code = folder / f"sm_{generation}.cubin"
        run(ptxas, f"-arch=sm_{generation}", str(ptx), "-o", str(code))
        images.append(f"--image3=kind=elf,sm={generation},file={code}")
    run(str(pathlib.Path(nvcc).resolve().with_name("fatbinary")), "-64", "--compress=false", f"--create={folder / 'fatbin'}", *images)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    if ptxas:
        assembled(folder)
    else:
        code = ",".join(f"sm_{generation}" for generation in every)
        run(nvcc, "-std=c++20", *sources, "--fatbin", "--no-compress",
            f"--generate-code=arch=compute_{oldest},code=[compute_{oldest},{code}]", "-o", str(folder / "fatbin"))  # fmt: skip
    pathlib.Path(to).write_bytes(gzip.compress((folder / "fatbin").read_bytes(), mtime=0))
