#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make man-pages.txt: the token counts of real documents.

What is counted: every page of one section of the Debian package `manpages`
(section 7 by default), as `man` shows it on a terminal of 80 columns, ragged
right and without hyphenation (`man --nj --nh`), with overstrike removed.
Names that are only links to another page are left out, so no text counts
twice.  Each page is one sequence: the token that begins a sequence (BOS)
once, then all the tokens of the text, nothing cut off.  A page longer than
--max-tokens (by default 32768, the positions Mistral-7B-v0.1 declares) is
left out whole and named on stderr.

What counts: the tokenizer of Mistral-7B-v0.1, the sentencepiece model with a
vocabulary of 32000 that the Python package `mistral-common` ships as
`tokenizer.model.v1`; its SHA-256 is checked.

What is written: one integer a line, in the order of the page names sorted by
code point.  Only counts; no text.

How to run it again (Debian 12 made the file that is here):

    apt-get install man-db groff-base bsdextrautils manpages
    python3 -m venv venv
    venv/bin/pip install 'mistral-common==1.13.1' 'sentencepiece==0.2.3'
    venv/bin/python make_lengths.py --check    # same bytes again?
    venv/bin/python make_lengths.py            # write man-pages.txt

The versions of every package that has a say, and the statistics, go to
stderr.  Other versions of them may give other counts.
"""

import argparse
import hashlib
import importlib.metadata
import os
import pathlib
import re
import statistics
import subprocess
import sys

TOKENIZER_SHA256 = "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055"
TOKENIZER_WORDS = 32000
WINDOW = 4096  # Mistral-7B-v0.1's sliding_window
MAX_POSITIONS = 32768  # its max_position_embeddings

# All that `man` sees: neither the caller's locale nor MANOPT, MANROFFOPT,
# MAN_KEEP_FORMATTING or ~/.manpath may change the text.
MAN_ENV = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "MANWIDTH": "80",
    "HOME": "/nonexistent",
}


def run(*argv):
    return subprocess.run(argv, env=MAN_ENV, check=True, capture_output=True).stdout.decode("utf-8")


def pages(package, section):
    """(name, path) of the package's own pages of one section, links left out."""
    tail = re.compile(rf"/man{re.escape(section)}/([^/]+)\.{re.escape(section)}\.gz$")
    found = []
    for line in run("dpkg", "-L", package).splitlines():
        match = tail.search(line)
        if not match or os.path.islink(line):
            continue
        if not os.path.isfile(line):
            sys.exit(f"{line}: {package} lists it, but it is not installed (a dpkg path-exclude?)")
        found.append((match.group(1), line))
    return sorted(found)


def plain_text(path):
    """The page as a person reads it."""
    text = run("man", "--nj", "--nh", "-E", "UTF-8", "-l", path)
    if "\b" in text or "\x1b" in text or not text.strip():
        sys.exit(f"{path}: not rendered as plain text")
    return text


def load_tokenizer():
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.v1().instruct_tokenizer.tokenizer
    path = pathlib.Path(tokenizer.file_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != TOKENIZER_SHA256 or tokenizer.n_words != TOKENIZER_WORDS:
        sys.exit(f"{path}: not the tokenizer of Mistral-7B-v0.1 (SHA-256 {digest})")
    return tokenizer, path.name


def say(*words):
    print(*words, file=sys.stderr)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Count the tokens of a Debian package's manual pages.")
    parser.add_argument("--package", default="manpages", help="Debian package (default: %(default)s)")
    parser.add_argument("--section", default="7", help="section of the manual (default: %(default)s)")
    parser.add_argument("--max-tokens", type=int, default=MAX_POSITIONS, metavar="N",
                        help="leave out pages longer than N tokens; 0: none (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=here / "man-pages.txt",
                        help="file to write (default: man-pages.txt beside this script)")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 unless --out already holds exactly these counts")
    parser.add_argument("--names", action="store_true", help="also print each count with its page's name")
    args = parser.parse_args()

    tokenizer, tokenizer_file = load_tokenizer()
    found = pages(args.package, args.section)
    if not found:
        sys.exit(f"{args.package}: no page of section {args.section}")

    counts = []
    for name, path in found:
        count = len(tokenizer.encode(plain_text(path), bos=True, eos=False))
        if args.max_tokens and count > args.max_tokens:
            say(f"left out: {name}({args.section}), {count} tokens")
            continue
        counts.append(count)
        if args.names:
            print(count, f"{name}({args.section})")
    if not counts:
        sys.exit("no page is left to count")

    for package in dict.fromkeys((args.package, "man-db", "groff-base", "bsdextrautils")):
        say("Debian package:", package, run("dpkg-query", "-W", "-f", "${Version}", package))
    for package in ("mistral-common", "sentencepiece"):
        say("Python package:", package, importlib.metadata.version(package))
    say("tokenizer file:", tokenizer_file, "SHA-256", TOKENIZER_SHA256)
    say(f"count {len(counts)}  sum {sum(counts)}  min {min(counts)}  "
        f"median {statistics.median(counts):g}  mean {statistics.fmean(counts):.1f}  max {max(counts)}")
    say(f"below 500: {sum(c < 500 for c in counts)}  above {WINDOW}: {sum(c > WINDOW for c in counts)}  "
        f"above {2 * WINDOW}: {sum(c > 2 * WINDOW for c in counts)}  "
        f"sum of squares {sum(c * c for c in counts)}")

    data = "".join(f"{count}\n" for count in counts).encode("ascii")
    if args.check:
        if not args.out.is_file() or args.out.read_bytes() != data:
            sys.exit(f"{args.out}: differs")
        say(f"{args.out}: the same, byte for byte")
    else:
        args.out.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
