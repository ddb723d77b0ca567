#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the rooms of include/floptally with their headers, lines and arrows."""

import re
import headers_page

HEADERS = headers_page.HEADERS


def room_of(name):
    return name.split("/")[0] if "/" in name else "the door"


def main():
    rooms = [room for room, _ in headers_page.rooms()] + ["the door"]
    files = {room: [] for room in rooms}
    below = {room: set() for room in rooms}
    for path in sorted(HEADERS.rglob("*")):
        if path.suffix not in (".hpp", ".cuh", ".page"):
            continue
        name = path.relative_to(HEADERS).as_posix()
        text = path.read_text()
        files[room_of(name)].append((name, text.count("\n")))
        below[room_of(name)] |= {room_of(other) for other in re.findall(r"#include <floptally/(.*?)>", text)}
    print("| room | public headers | private | lines | rooms that it includes |")
    print("| --- | ---: | ---: | ---: | --- |")
    for room in rooms:
        headers = [name for name, _ in files[room] if not name.endswith(".page")]
        private = sum("/detail/" in name for name in headers)
        lines = sum(count for _, count in files[room])
        others = ", ".join(other for other in rooms if other in below[room] - {room})
        print(f"| {room} | {len(headers) - private} | {private} | {lines} | {others} |")
    arrows = sum(len(found - {room}) for room, found in below.items())
    code = sum(count for room in rooms if room != "models" for _, count in files[room])
    print(f"\n{arrows} arrows between rooms, {code} lines without pages")


if __name__ == "__main__":
    main()
