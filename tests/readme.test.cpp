// SPDX-License-Identifier: Apache-2.0
//
// Programs are run, and what they print is what the documentation shows.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "catch2.hpp"
#include "markdown.hpp"
#include "page_files.hpp"

namespace readme_test {
namespace {

std::string printed_by(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    REQUIRE(pipe);
    std::string printed;
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
        printed.append(buffer.data(), n);
    }
    return printed;
}

}  // namespace

TEST_CASE("The README shows what its first command prints") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    const std::string readme = read_text(source_dir / "README.md");
    const std::string line = fenced_blocks(readme, "sh").at(0);
    const std::string program = "build/program/examples/floptally";
    const std::size_t at = line.find(program);
    REQUIRE(at != std::string::npos);
    const std::string arguments = line.substr(at + program.size());

    const std::string command = "cd '" + source_dir.string() + "' && '" FLOPTALLY_PROGRAM "' " + arguments;
    CHECK(printed_by(command) == fenced_blocks(readme, "text").at(0));
}

TEST_CASE("What the pages show of a console is what the program prints") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    std::size_t shown = 0;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir / "docs")) {
        if (entry.path().extension() != ".md") {
            continue;
        }
        for (const std::string& block : fenced_blocks(read_text(entry.path()), "console")) {
            const std::string name = "$ floptally ";
            REQUIRE(block.starts_with(name));
            std::size_t end = block.find('\n');
            while (block[end - 1] == '\\') {  // the command goes on
                end = block.find('\n', end + 1);
            }
            const std::string arguments = block.substr(name.size(), end - name.size());
            INFO(entry.path() << ": " << arguments);
            CHECK(printed_by("cd '" + source_dir.string() + "' && '" FLOPTALLY_PROGRAM "' " + arguments) ==
                  block.substr(end + 1));
            ++shown;
        }
    }
    CHECK(shown >= 3);
}

TEST_CASE("The commands that pages show run, and print the numbers that stand behind them") {
    const std::filesystem::path program = FLOPTALLY_PROGRAM;
    const std::string environment =
        "CLONE='" FLOPTALLY_SOURCE_DIR "' PATH=\"" + program.parent_path().string() + ":$PATH\"";
    std::size_t shown = 0;
    std::size_t compared = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLOPTALLY_SOURCE_DIR "/docs")) {
        if (entry.path().extension() != ".md") {
            continue;
        }
        const std::filesystem::path folder = page_files("floptally_commands");
        for (const std::string& block : fenced_blocks(read_text(entry.path()), "sh")) {
            std::ofstream(folder / "block.sh") << block;
            const std::string printed = printed_by("cd '" + folder.string() + "' && " + environment +
                                                   " sh -eu block.sh 2>&1 && echo 'all of it ran'");
            INFO(entry.path() << "\n" << block << "\n" << printed);
            CHECK(printed.ends_with("all of it ran\n"));
            ++shown;
            std::istringstream lines(block);
            for (std::string line; std::getline(lines, line);) {
                const std::size_t comment = line.find(" # ");
                if (comment != std::string::npos && line.find_first_of("0123456789", comment) == comment + 3) {
                    const std::string number = line.substr(comment + 3, line.find(',', comment) - comment - 3);
                    CHECK(printed.find(" " + number + " ") != std::string::npos);
                    ++compared;
                }
            }
        }
    }
    CHECK(shown >= 7);
    CHECK(compared >= 3);
}

TEST_CASE("docs/balance.md has the table that compare_balancers prints, word for word") {
    const std::string table = printed_by("'" FLOPTALLY_COMPARE_BALANCERS "'");
    REQUIRE(table.starts_with("| workload | ranks |"));
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/balance.md");
    CHECK(page.find("\n\n" + table + "\n") != std::string::npos);
}

}  // namespace readme_test
