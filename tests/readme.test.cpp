// SPDX-License-Identifier: Apache-2.0
//
// The README's first command is run, and what it prints is what the README shows.

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "catch2.hpp"
#include "markdown.hpp"

TEST_CASE("The README shows what its first command prints") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    const std::string readme = read_text(source_dir / "README.md");
    const std::string line = fenced_blocks(readme, "sh").at(0);
    const std::string program = "build/program/examples/floptally";
    const std::size_t at = line.find(program);
    REQUIRE(at != std::string::npos);
    const std::string arguments = line.substr(at + program.size());

    const std::string command = "cd '" + source_dir.string() + "' && '" FLOPTALLY_PROGRAM "' " + arguments;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    REQUIRE(pipe);
    std::string printed;
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
        printed.append(buffer.data(), n);
    }
    CHECK(printed == fenced_blocks(readme, "text").at(0));
}
