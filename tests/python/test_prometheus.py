# SPDX-License-Identifier: Apache-2.0
"""The dashboard's queries, asked of a real Prometheus that scrapes a training run, against the meter."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import floptally
from conftest import SOURCE

PROMETHEUS = shutil.which("prometheus")
DASHBOARD = json.loads((SOURCE / "examples" / "data" / "grafana_dashboard.json").read_text())
CONFIG = {"model_type": "llama", "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
          "num_attention_heads": 2}  # fmt: skip


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Serves a meter, and keeps what it served."""

    meter: floptally.Meter
    lock: threading.Lock
    served: list[dict[str, float]]

    def do_GET(self) -> None:
        with self.lock:
            text = self.meter.to_open_metrics(run="night 7")
            self.served.append(totals(text))
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


def totals(text: str) -> dict[str, float]:
    """Counters by name and view, summed over components."""
    found: dict[str, float] = {}
    for name, labels, value in re.findall(r"^(floptally_\w+)\{(.*)\} (\S+)$", text, re.M):
        assert 'run="night 7"' in labels
        view = re.search(r'view="(\w+)"', labels)
        key = f"{name} {view[1]}" if view else name
        found[key] = found.get(key, 0.0) + float(value)
    return found


def asked(port: int, query: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return list(found["data"]["result"])


@pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed: apt-get install prometheus")
def test_queries_of_the_prometheus_dashboard_equal_the_numbers_of_the_meter(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.set_num_threads(1)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{k: v for k, v in CONFIG.items() if k != "model_type"}))
    optimizer = torch.optim.AdamW(model.parameters())
    meter = floptally.Meter(floptally.cost(CONFIG), gpus=1, peak_tflops=0.1)
    Endpoint.meter, Endpoint.lock, Endpoint.served = meter, threading.Lock(), []
    server = http.server.HTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    (tmp_path / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n"
        f"  - job_name: training\n    static_configs: [{{targets: ['127.0.0.1:{server.server_port}']}}]\n"
    )
    with open(tmp_path / "log", "w") as log:
        running = subprocess.Popen(
            [str(PROMETHEUS), f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log,
        )  # fmt: skip
    try:
        begin = time.monotonic()
        while len(Endpoint.served) < 12:  # the first is before the first step
            assert running.poll() is None and time.monotonic() < begin + 120, (tmp_path / "log").read_text()
            if not Endpoint.served:
                time.sleep(0.05)
                continue
            started, length = time.perf_counter(), 20 + len(Endpoint.served) % 5 * 9
            tokens = torch.randint(0, 97, (2, length))
            model(input_ids=tokens, labels=tokens).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            with Endpoint.lock:
                meter.begin_step()
                meter.add(lengths=[length, length - 7], row_length=length)
                meter.end_step(time.perf_counter() - started)
        time.sleep(0.2)
        first, last = Endpoint.served[0], Endpoint.served[-1]
        assert first["floptally_steps_total"] == 0 and last["floptally_steps_total"] > 20

        def grown(name: str) -> float:
            return last[name] - first[name]

        peak, seconds = grown("floptally_peak_flops_total"), grown("floptally_step_seconds_total")
        ratios = {
            "MFU": grown("floptally_flops_total useful") / peak,
            "padded MFU": grown("floptally_flops_total padded") / peak,
            "HFU": grown("floptally_flops_total executed") / peak,
            "in a step": grown("floptally_tokens_total useful") / seconds,
        }
        found = {}
        for panel in DASHBOARD["panels"]:
            for target in panel["targets"]:
                query = target["expr"].replace("$__rate_interval", "5m").replace("$job", "train.*").replace("$run", ".*")
                answers = asked(port, query)
                assert answers, query
                assert all(one["metric"]["job"] == "training" and one["metric"]["run"] == "night 7" for one in answers)
                found[target["legendFormat"].split(" {{")[0]] = [float(one["value"][1]) for one in answers]
                assert asked(port, query.replace("train.*", "other")) == []
        (query,) = re.findall(r"^```promql\n(.*?)^```$", (SOURCE / "docs" / "meter.md").read_text(), re.MULTILINE | re.DOTALL)
        found["MFU of the page"] = [float(one["value"][1]) for one in asked(port, query.strip())]
        ratios["MFU of the page"] = ratios["MFU"]
        for name, expected in ratios.items():
            assert found[name] == [pytest.approx(expected, rel=1e-9)], name
        assert last["floptally_flops_total useful"] <= meter.run.useful
        assert ratios["MFU"] == pytest.approx(meter.run.mfu, rel=0.2)  # the meter went on for a moment
    finally:
        running.terminate()
        running.wait(20)
        server.shutdown()
