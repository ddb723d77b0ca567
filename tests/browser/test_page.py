# SPDX-License-Identifier: Apache-2.0
"""The page that counts in the browser, in headless Chromium, next to the program. `.ci/long browser` runs it.

It needs selenium, Debian's chromium and chromium-driver, the page of `.ci/browser` and FLOPTALLY_PROGRAM.
"""

import functools
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import threading
import urllib.parse

import pytest
from selenium import webdriver

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "build/browser/page"
PROGRAM = os.environ.get("FLOPTALLY_PROGRAM", str(ROOT / "build/gcc-release/examples/floptally"))
BATCH = ["--lengths", "512,1024,2048", "--row-length", "2048"]
STEP = ["--seconds", "1.5", "--gpus", "8", "--accelerator", "H100 SXM"]
INPUT = {"form": "lengths", "batch": "512,1024,2048", "row": "2048", "seconds": "1.5", "gpus": "8", "layout": "dp=8", "zero": "weights"}
HTML = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script><svg onload='window.hacked=1'>"


def program(words: list[str], config: str) -> tuple[str, str]:
    """What the program prints, and its error without the words before it."""
    ran = subprocess.run([PROGRAM, words[0], "--config", "-", *words[1:]], input=config, capture_output=True, text=True)
    return ran.stdout, ran.stderr.removeprefix("floptally: error: ").removesuffix("\n")


class Handler(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []

    def log_message(self, *_: object) -> None:
        Handler.asked.append(self.path)


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(PAGE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()


def chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def first_number(driver, address: str) -> dict[str, float]:
    """Opens the page and waits for its first number. Milliseconds since the start of the navigation."""
    driver.get(address)
    driver.set_script_timeout(60)
    return driver.execute_async_script("""
        const done = arguments[0];
        const look = () => {
          const mark = performance.getEntriesByName("first number")[0];
          const load = performance.getEntriesByType("navigation")[0].loadEventEnd;
          if (mark && load > 0) { done({number: mark.startTime, load}); } else { setTimeout(look, 5); }
        };
        look();""")


@pytest.fixture(scope="module")
def page(address):
    driver = chromium()
    first_number(driver, address)
    driver.get_log("performance")
    Handler.asked.clear()
    yield driver
    driver.quit()


def open_link(driver, **values: str) -> None:
    """Writes a link's fragment into the address and waits until the page has counted it."""
    driver.execute_async_script("""
        const [fragment, done] = arguments;
        if (location.hash === fragment) { done(); return; }
        const output = document.getElementById("output");
        const before = output.dataset.counts;
        const look = () => output.dataset.counts === before ? setTimeout(look, 5) : done();
        location.hash = fragment;
        look();""", "#" + urllib.parse.urlencode(values))


def type_config(driver, text: str) -> None:
    """Writes into the text area as a user does, and waits until the page has counted it."""
    driver.execute_async_script("""
        const [text, done] = arguments;
        const [area, output] = [document.querySelector("textarea"), document.getElementById("output")];
        const before = output.dataset.counts;
        area.value = text;
        area.dispatchEvent(new Event("input", {bubbles: true}));
        const look = () => output.dataset.counts === before ? setTimeout(look, 5) : done();
        look();""", text)


def error_of(driver) -> str | None:
    """The error that the page shows, in one line as the program prints it; None where the page shows numbers."""
    return driver.execute_script(
        "const e = document.getElementById('error'); return e.hidden ? null : e.textContent.replaceAll('\\n', ' ')")


def section_error(driver, section: str) -> str:
    return driver.execute_script("return document.querySelector(`#${arguments[0]} .error`).textContent.replaceAll('\\n', ' ')", section)


def rows(driver, section: str) -> list[list[str]]:
    return driver.execute_script("""
        return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map((row) => [...row.children].map(
          (cell) => (cell.querySelector("[title]")?.title ?? cell.textContent).replaceAll("\\u202f", "")));""", section)


def published() -> list[dict]:
    entries = json.loads((ROOT / "tests/golden/published.json").read_text(encoding="utf-8"))
    found = [entry for entry in entries[::5] if program(["flops", *BATCH, "--format", "json"], json.dumps(entry["config"]))[0]]
    return found[:50]


def test_50_published_configs_are_counted_to_the_digit(page):
    entries = published()
    assert len(entries) == 50
    for entry in entries:
        config, name = json.dumps(entry["config"]), entry["name"]
        open_link(page, model=name, **INPUT)
        assert error_of(page) is None, name
        report = json.loads(program(["mfu", *BATCH, *STEP, "--format", "json"], config)[0])
        views = [report["flops"][view] for view in ("useful", "padded", "executed")]
        expected = [[part["name"], *(next((x["total"] for x in view["components"] if x["name"] == part["name"]), "0") for view in views)]
                    for part in views[0]["components"]]
        expected.append(["total", *(view["total"] for view in views)])
        shown = [row[:4] for row in rows(page, "components")]
        assert sorted(shown) == sorted(expected), name
        figures = page.execute_script("return [...document.querySelectorAll('dd')].map((e) => e.textContent.replaceAll('\\u202f', ''))")
        rates = [report["mfu"][view] for view in ("useful", "padded", "executed")]
        assert figures[:4] == [views[0]["total"], *(f"{100 * rate:.2f} %" for rate in rates)], name

        compared = json.loads(program(["compare", *BATCH, "--format", "json"], config)[0])
        assert [[row[0], row[2]] for row in rows(page, "conventions")] == [[x["name"], x["total"]] for x in compared["conventions"]], name
        out, error = program(["fit", *BATCH, "--layout", "dp=8", "--zero", "weights", "--gpus-of", "--format", "json"], config)
        if out:
            held = [stage["held"]["total"] for stage in json.loads(out)["stages"]]
            assert [row[-1] for row in rows(page, "memory")] == [f"{int(total) / 2**30:.2f}" for total in held], name
        else:
            assert section_error(page, "memory") == error, name
        out, error = program(["waterfall", *BATCH, *STEP, "--layout", "dp=8", "--format", "json"], config)
        if out:
            lines = [x for x in json.loads(out)["lines"][1:] if x["known"] and x["gpu_nanoseconds"] != "0"]
            assert [row[0] for row in rows(page, "waterfall")] == ["peak", *(x["name"] for x in lines), "measured MFU"], name
        else:
            assert section_error(page, "waterfall") == error, name


def test_a_broken_config_shows_the_library_s_sentence(page):
    broken = json.loads((pathlib.Path(__file__).parent / "broken_configs.json").read_text(encoding="utf-8"))
    assert len(broken) == 10
    open_link(page, **INPUT)
    for entry in broken:
        type_config(page, entry["text"])
        expected = program(["mfu", *BATCH, *STEP], entry["text"])[1]
        assert expected and error_of(page) == expected, entry["name"]
        assert page.execute_script("return document.querySelectorAll('section:not([hidden])').length") == 0
        assert page.execute_script("return document.querySelector('[aria-invalid]').name") == "config", entry["name"]
    type_config(page, (ROOT / "examples/data/mistral-7b-v0.1.json").read_text(encoding="utf-8"))
    assert error_of(page) is None


@pytest.mark.parametrize("field, value", [("batch", "512,x"), ("row", "-3"), ("seconds", "soon"), ("gpus", "0"), ("accelerator", "H999")])
def test_an_error_marks_its_field(page, field, value):
    open_link(page, **{**INPUT, field: value})
    assert error_of(page)
    assert page.execute_script("return document.querySelector('[aria-invalid]').name") == field


def test_a_hostile_config_or_link_injects_no_html(page):
    elements = "return document.querySelectorAll('img, script, iframe, main svg [onload], [onerror]').length"
    open_link(page, **INPUT)
    before = page.execute_script(elements)
    own = {"model_type": "floptally", "name": HTML, "hidden_size": 64, "vocab_size": 100, "layers": [
        {"parts": [{"type": "attention", "num_heads": 4}, {"type": "mlp", "intermediate_size": 128}]}]}
    hostile = [json.dumps(own), json.dumps({"model_type": HTML}), json.dumps({HTML: HTML, "model_type": "llama", "hidden_size": HTML}),
               HTML, "[" * 100_000, json.dumps({**own, "hidden_size": HTML})]
    for config in hostile:
        type_config(page, config)
        expected = program(["mfu", *BATCH, *STEP], config)[1]
        assert (error_of(page) or "") == expected
        assert page.execute_script(elements) == before
    for name in ("model", "config", "form", "batch", "row", "convention", "recompute", "seconds", "gpus", "accelerator", "precision",
                 "layout", "zero", "options"):
        open_link(page, **{**INPUT, name: HTML})
        assert page.execute_script(elements) == before, name
    open_link(page, **INPUT)
    type_config(page, hostile[0])
    assert HTML in page.execute_script("return document.getElementById('numbers').textContent")  # shown as text
    assert page.execute_script("return window.hacked") is None


def test_a_link_holds_the_input(page):
    open_link(page, **INPUT)
    config = (ROOT / "examples/data/mistral-7b-v0.1.json").read_text(encoding="utf-8")
    type_config(page, config)
    link = dict(urllib.parse.parse_qsl(page.execute_script("return location.hash.slice(1)")))
    assert link.pop("config") == config
    assert link == INPUT
    before = rows(page, "components")
    open_link(page)
    assert rows(page, "components") != before
    open_link(page, model="", config=config, **INPUT)
    assert rows(page, "components") == before


def test_nothing_is_sent_after_loading(page):
    # The tests above have counted, typed, refused and opened links in this page.
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert sent == []
    assert Handler.asked == []
    assert [entry["message"] for entry in page.get_log("browser")] == []  # no refusal by the policy either


def test_the_first_number_stands_soon(address, capsys):
    times = []
    for _ in range(5):
        driver = chromium()
        times.append(first_number(driver, address))
        driver.quit()
    after = [max(time["number"] - time["load"], 0) for time in times]
    since = [time["number"] for time in times]
    with capsys.disabled():
        print(f"\nfirst number: {statistics.median(after):.0f} ms after loading, {statistics.median(since):.0f} ms after the navigation began")
    assert statistics.median(after) <= 300
