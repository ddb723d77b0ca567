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
    // The pages show what a release prints: between releases a version has its commit.
    for (std::size_t at = 0; (at = printed.find(".dev0", at)) != std::string::npos;) {
        printed.erase(at, printed.find_first_not_of("+.abcdefg0123456789v", at) - at);
    }
    return printed;
}

/// What a test file has above its tests, and what it is linked with, by the version of Catch2 that these tests use.
#if __has_include(<catch2/catch_test_macros.hpp>)
constexpr const char* test_head = "#include <catch2/catch_test_macros.hpp>\n#include <floptally/floptally.hpp>\n";
constexpr const char* test_libraries = " -lCatch2Main -lCatch2";
#else
constexpr const char* test_head = "#include <catch2/catch.hpp>\n#include <floptally/floptally.hpp>\n";
constexpr const char* test_libraries = "";
#endif

}  // namespace

TEST_CASE("the README shows the output of its first command") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    const std::string readme = read_text(source_dir / "README.md");
    const std::string line = fenced_blocks(readme, "sh").at(0);
    const std::string program = "build/program/examples/floptally";
    const std::size_t at = line.find(program);
    REQUIRE(at != std::string::npos);
    const std::string arguments = line.substr(at + program.size());

    const std::string command = "cd '" + source_dir.string() + "' && '" FLOPTALLY_PROGRAM "' " + arguments;
    CHECK(printed_by(command) == output_of(readme, line));
}

TEST_CASE("the C++ of the README compiles unchanged and prints what the README shows") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    const std::string readme = read_text(source_dir / "README.md");
    const std::vector<std::string> blocks = fenced_blocks(readme, "cpp");
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].find("int main() {\n") != std::string::npos);
    CHECK(blocks[1].starts_with("TEST_CASE("));
    const std::filesystem::path folder = page_files("floptally_readme");
    for (const std::string& block : blocks) {
        INFO(block);
        const bool is_test = block.starts_with("TEST_CASE(");
        std::ofstream(folder / "page.cpp") << (is_test ? test_head : "") << block;
        const std::string command = "cd '" + folder.string() +
                                    "' && '" FLOPTALLY_CXX "' -std=c++20 -DCATCH_CONFIG_MAIN -I'" +
                                    (source_dir / "include").string() + "' page.cpp -o page" +
                                    (is_test ? test_libraries : "") + " 2>&1 && ./page";
        CHECK(printed_by(command) == output_of(readme, block));
    }
}

TEST_CASE("console blocks of the docs show what the program prints") {
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    std::size_t shown = 0;
    for (const std::filesystem::path& page : docs_pages()) {
        for (const std::string& block : fenced_blocks(read_text(page), "console")) {
            const std::string name = "$ floptally ";
            REQUIRE(block.starts_with(name));
            std::size_t end = block.find('\n');
            while (block[end - 1] == '\\') {  // the command goes on
                end = block.find('\n', end + 1);
            }
            const std::string arguments = block.substr(name.size(), end - name.size());
            INFO(page << ": " << arguments);
            CHECK(printed_by("cd '" + source_dir.string() + "' && '" FLOPTALLY_PROGRAM "' " + arguments) ==
                  block.substr(end + 1));
            ++shown;
        }
    }
    CHECK(shown >= 3);
}

TEST_CASE("commands of the docs run and print the numbers that the docs state") {
    const std::filesystem::path program = FLOPTALLY_PROGRAM;
    const std::string environment =
        "CLONE='" FLOPTALLY_SOURCE_DIR "' PATH=\"" + program.parent_path().string() + ":$PATH\"";
    std::size_t shown = 0;
    std::size_t compared = 0;
    for (const std::filesystem::path& page : docs_pages()) {
        const std::filesystem::path folder = page_files("floptally_commands");
        const std::string text = read_text(page);
        for (const std::string& block : fenced_blocks(text, "sh")) {
            std::ofstream(folder / "block.sh") << block;
            const std::string printed = printed_by("cd '" + folder.string() + "' && " + environment +
                                                   " sh -eu block.sh 2>&1 && echo 'all of it ran'");
            INFO(page << "\n" << block << "\n" << printed);
            CHECK(printed.ends_with("all of it ran\n"));
            const std::string end = block + "```\n\n```output\n";
            if (const std::size_t at = text.find(end); at != std::string::npos) {
                const std::size_t begin = at + end.size();
                CHECK(printed == text.substr(begin, text.find("```\n", begin) - begin) + "all of it ran\n");
            }
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
    CHECK(shown >= 5);  // those of start.md are run by tests/python/test_start.py
    CHECK(compared >= 3);
}

TEST_CASE("docs/balance.md shows the table that compare_balancers prints") {
    const std::string table = printed_by("'" FLOPTALLY_COMPARE_BALANCERS "'");
    REQUIRE(table.starts_with("| workload | ranks |"));
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/balance.md");
    CHECK(page.find("\n\n" + table + "\n") != std::string::npos);
}

}  // namespace readme_test
