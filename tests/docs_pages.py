#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the words of each page of docs/ and of the README, as `wc -w` counts them, with and without generated tables.

With --check, exits 1 where a link leads to no file or to no heading, where .ci/site.yml leaves out a page, where a page
has no link to the glossary, where no test runs a block that is not listed here with the reason, or where a name in `code`
stands nowhere in the project.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
#: Pages that a program writes, and the first lines of tables that one writes into a page.
GENERATED_PAGES = {"models.md"}
GENERATED_TABLES = ("| part | fp64 |", "| convention | FLOPs |", "| accelerator, precision", "| how the source", "| source | date |")

#: Which test runs the fenced blocks of a language, on which pages: on all of them where none is named.
RUN_BY = (
    ("cmake", "install.md extending.md", "tests/consumer/consumer.cmake"),
    ("cmake", "install.md", "tests/consumer/without_packages.cmake"),
    ("cmake", "tutorial_cpp.md", "tests/consumer/tutorial.cmake"),
    ("cmake", "cuda.md", "tests/cuda/page.cmake"),
    ("console", "", "tests/readme.test.cpp"),
    ("cpp", "", "tests/snippets.test.cpp"),
    ("cpp", "README.md", "tests/readme.test.cpp"),
    ("diff", "python.md", "tests/python/test_adopt.py"),
    ("diff", "megatron.md verl.md", "tests/python/test_how_to_trainers.py"),
    ("json", "specs.md", "tests/config/floptally_format.test.cpp"),
    ("log", "meter.md", "tests/step/throughput_log.test.cpp"),
    ("output", "", "tests/python/shown.py"),
    ("promql", "meter.md", "tests/step/open_metrics.test.cpp"),
    ("python", "", "tests/python/test_readme.py"),
    ("modules", "architecture.md", "tests/architecture.test.cpp"),
    ("sh", "", "tests/readme.test.cpp"),
)
#: The blocks of `text`, one a page, and why they are not run as they stand.
TEXTS = {
    "specs.md": "the grammar: tests/spec_language/spec.test.cpp looks for every word of the language",
    "waterfall.md": "times of another machine: tests/python/test_waterfall.py runs the block before it",
}
#: Pages with indented blocks, and what those are.
INDENTED = {
    "architecture.md": "a drawing",
    "balance.md": "a formula",
    "command_line.md": "the form of JSON and of errors: tests/program.test.cpp",
    "contributing.md": "builds, which CI does",
    "cuda.md": "installs and builds of other machines, and an error's text",
    "install.md": "installs: the table on the page says when each was tried",
    "specs.md": "one page, put together and read by tests/spec_language/spec.test.cpp",
    "parallel.md": "a formula",
    "search.md": "what tests/benchmark/rank_layouts.cpp prints",
    "start.md": "the install, which CI does, and Prometheus's settings, tried on 2026-12-01",
    "tutorial_cpp.md": "commands, which tests/consumer/tutorial.cmake runs, and Prometheus's settings, tried on 2026-12-01",
}

#: Pages that name what is not the project's: types that no page reads, and what was called otherwise.
WITHOUT_NAMES = GENERATED_PAGES | {"changelog.md", "limitations.md"}
#: Names in `code` that are others': of trainers, frameworks and tools, or that stand for any.
NAMES_OF_OTHERS = set("""
        AXES CMAKE_PREFIX_PATH CPMAddPackage Catch2WithMain engine_workers PERF_ANALYSIS SUFFIX SUFFIX_OF_TWO_SIDES _ref _transformers a_statistic b_statistic
    chunked_nll cost_analysis cu13     deep_ep device_kind finetune fsdp_utils fwd_logprobs_values_reward
    get_data_parallel_group group_of_sample     grpo_fast helper lm_policy make_experience metric_logger
    ncclCommSplit num_microbatches num_processes observability     old_log_probs policy_train ppo_train
    rank1 recompute_logp ref_log_probs_values ref_logp reinstall
    snapshot_rankNN_pPdDcCtT_stepS step_generate step_train teacher_logp train_fsdp2 train_metric_utils
    train_step train_utils use_sparse_loss with_context_parallel
""".split())


def pages():
    """All pages but the reference: tests/reference/ runs its examples, and .ci/site_hook.py puts its pages into the contents."""
    return [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference"] + [ROOT / "README.md"]


def words(path):
    """All words, and those that no program wrote."""
    text = path.read_text(encoding="utf-8")
    if path.name in GENERATED_PAGES:
        return len(text.split()), 0
    tables = [block for block in text.split("\n\n") if block.lstrip("\n").startswith(GENERATED_TABLES)]
    return len(text.split()), len(text.split()) - sum(len(table.split()) for table in tables)


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```$", "", text)


@functools.cache
def anchors(path):
    """The anchors of a page's headings, as forges make them, and those that it sets itself."""
    text = without_code(path.read_text(encoding="utf-8"))
    found = set(re.findall(r'<a id="([^"]*)">', text))
    for heading in re.findall(r"(?m)^#+ (.*)$", text):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def broken_links():
    """Links of all pages to a file that is not there, or to a heading that its page has not."""
    for page in [*pages(), *sorted((ROOT / "docs/reference").glob("*.md"))]:
        text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text(encoding="utf-8")))
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text):
            link = target[0] or target[1]
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists():
                yield f"{page.relative_to(ROOT)}: {link}: there is no such file"
            elif anchor and anchor not in anchors(file):
                yield f"{page.relative_to(ROOT)}: {link}: there is no such heading"


def blocks(page):
    """The language of each block: of fenced ones as they say, "indented" of others."""
    fenced, before = None, ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = None if fenced is not None else line[3:]
            if fenced is not None:
                yield fenced
        elif fenced is None and before == "" and line.startswith("    "):
            yield "indented"
        before = line


def blocks_not_run():
    """What RUN_BY, TEXTS and INDENTED do not say of the blocks of all pages, or say of none."""
    found = {page.name: list(blocks(page)) for page in pages()}
    run = {(language, name) for language, on, _ in RUN_BY for name in on.split() or found}
    for name, languages in found.items():
        for language in set(languages) - {"text", "indented"}:
            if (language, name) not in run:
                yield f"{name}: no test runs its blocks of {language or 'no language'}"
        if languages.count("text") != (name in TEXTS):
            yield f"{name}: has {languages.count('text')} blocks of text, which no test runs"
        if ("indented" in languages) != (name in INDENTED):
            yield f"{name}: INDENTED says what its indented block is, or that it has none"
    for language, on, test in RUN_BY:
        for name in on.split():
            if language not in found.get(name, []):
                yield f"{name}: has no block of {language}"
        text = (ROOT / test).read_text(encoding="utf-8")
        for word in (language, *on.split()):
            if not re.search(rf"\b{re.escape(word)}\b", text):
                yield f"{test}: names no {word}"


def dead_names():
    """Names in `code` on a page that are no word of the project's files, nor of their paths."""
    known, seen = set(), set()
    folders = ("include", "examples", "tests", ".ci", ".github", ".packages")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix != ".pyc"]
    for path in files + [path for path in ROOT.iterdir() if path.suffix != ".md"]:
        if not path.is_file():
            continue
        known.update(re.findall(r"[A-Za-z_]\w+", path.relative_to(ROOT).as_posix()))
        known.add(path.stem.replace(".", "_"))  # a target: tally.bench.cpp
        if path != pathlib.Path(__file__).resolve() and path.suffix not in (".png", ".svg", ".jsonl", ".tsv"):
            known.update(re.findall(r"[A-Za-z_]\w+", path.read_text(encoding="utf-8", errors="replace")))
    of_anybody = known | NAMES_OF_OTHERS
    for page in pages():
        if page.name in WITHOUT_NAMES:
            continue
        for code in re.findall(r"`([^`\n]+)`", without_code(page.read_text(encoding="utf-8"))):
            for name in re.findall(r"[A-Za-z_]\w+", re.sub(r"^-D", "", code)):
                seen.add(name)
                if name not in of_anybody:
                    yield f"{page.name}: `{code}`: {name} stands nowhere in the project"
    for name in sorted(NAMES_OF_OTHERS - seen | NAMES_OF_OTHERS & known):
        yield f"NAMES_OF_OTHERS: {name} is on no page, or is the project's"


def main():
    counted = {page: words(page) for page in pages()}
    every, by_hand = (sum(numbers) for numbers in zip(*counted.values()))
    if sys.argv[1:] != ["--check"]:
        for page, (number, own) in sorted(counted.items(), key=lambda one: -one[1][0]):
            print(f"{number:7} {own:7}  {page.relative_to(ROOT)}")
        print(f"{every:7} {by_hand:7}  words, and those without generated tables, on {len(counted) - 1} pages")
        return 0
    wrong = [*broken_links(), *blocks_not_run(), *dead_names()]
    site = (ROOT / ".ci/site.yml").read_text(encoding="utf-8")
    wrong += [f"{page.name} is not in the contents of .ci/site.yml" for page in pages()[:-1]
              if page.relative_to(ROOT / "docs").as_posix() not in site]
    wrong += [f"{page.name} has no link to glossary.md" for page in pages()
              if page.name != "glossary.md" and "glossary.md" not in page.read_text(encoding="utf-8")]
    print("\n".join(wrong) or f"{every} words, {by_hand} without generated tables, on {len(counted) - 1} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
