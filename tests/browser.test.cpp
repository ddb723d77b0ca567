// SPDX-License-Identifier: Apache-2.0
//
// What the page of the docs that counts in the browser calls, compiled natively, next to the program.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "catch2.hpp"
#include "markdown.hpp"

extern "C" const char* floptally_answer(const char* request);

namespace browser_test {
namespace {

using nlohmann::json;

const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;

json file_json(const char* path) { return json::parse(read_text(source_dir / path)); }

/// An answer; its error is one line, as the program prints it.
json answer(const std::vector<std::string>& arguments, const std::string& config) {
    json found = json::parse(floptally_answer(json{{"arguments", arguments}, {"config", config}}.dump().c_str()));
    if (found.contains("error")) {
        std::string line = found["error"];
        std::replace(line.begin(), line.end(), '\n', ' ');
        found["error"] = line;
    }
    return found;
}

/// What the program prints and says, for the same command line and the same config at its standard input.
class program_process {
  public:
    program_process() {
        std::string name = (std::filesystem::temp_directory_path() / "floptally_browser_XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        folder_ = name;
    }
    program_process(const program_process&) = delete;
    program_process& operator=(const program_process&) = delete;
    ~program_process() { std::filesystem::remove_all(folder_); }

    /// An answer as the browser's function gives it, without a field.
    [[nodiscard]] json run(const std::vector<std::string>& arguments, const std::string& config) const {
        std::ofstream(folder_ / "config.json", std::ios::binary) << config;
        std::string command = "cd '" + folder_.string() + "' && '" FLOPTALLY_PROGRAM "'";
        for (const std::string& word : arguments) {
            command.append(" '").append(word).append("'");
        }
        const int status = std::system((command + " <config.json >out 2>err").c_str());
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            return {{"output", read_text(folder_ / "out")}};
        }
        const std::string line = read_text(folder_ / "err");
        const std::string start = "floptally: error: ";
        REQUIRE(line.starts_with(start));
        return {{"error", line.substr(start.size(), line.size() - start.size() - 1)}};
    }

  private:
    std::filesystem::path folder_;
};

const std::vector<std::vector<std::string>> commands = {
    {"flops", "--config", "-", "--lengths", "512,1024,2048", "--row-length", "2048", "--format", "json"},
    {"mfu", "--config", "-", "--cu-seqlens", "0,512,1536,3584", "--seconds", "0.9", "--gpus", "8", "--accelerator",
     "H100 SXM", "--convention", "megatron", "--format", "json"},
    {"compare", "--config", "-", "--lengths", "2048x3", "--format", "json"},
    {"waterfall", "--config", "-", "--lengths", "512,1024,2048", "--seconds", "0.9", "--gpus", "8", "--accelerator",
     "H100 SXM", "--format", "json"},
    {"fit", "--config", "-", "--lengths", "512,1024,2048", "--layout", "dp=4", "--format", "json"}};

}  // namespace

TEST_CASE("the browser's function answers what the program prints, for 50 published configs") {
    const program_process program;
    std::size_t counted = 0;
    const json published = file_json("tests/golden/published.json");
    for (std::size_t i = 0; i < published.size() && counted < 50; i += 5) {
        const std::string config = published[i]["config"].dump();
        std::size_t outputs = 0;
        for (const std::vector<std::string>& arguments : commands) {
            INFO(published[i]["name"] << " " << arguments.front());
            json found = answer(arguments, config);
            found.erase("field");
            CHECK(found == program.run(arguments, config));
            outputs += found.count("output");
        }
        counted += outputs > 0 ? 1 : 0;
    }
    CHECK(counted == 50);
}

TEST_CASE("the browser's function refuses a broken config with the program's sentence and names the field") {
    const program_process program;
    const json broken = file_json("tests/browser/broken_configs.json");
    REQUIRE(broken.size() == 10);
    for (const json& config : broken) {
        INFO(config["name"]);
        json found = answer(commands.front(), config["text"]);
        REQUIRE(found.contains("error"));
        const std::string field = found["field"];
        CHECK_FALSE(field.empty());
        CHECK(found["error"].get<std::string>().starts_with(field + ": "));
        found.erase("field");
        CHECK(found == program.run(commands.front(), config["text"]));
    }
}

TEST_CASE("the browser's function answers any request with JSON") {
    CHECK(answer({"flops"}, "")["error"] == "config: is missing: pass --config FILE");
    CHECK(answer({}, "")["field"] == "command");
    for (const char* const request :
         {"", "[]", "{}", R"({"arguments": [1]})", R"({"arguments": ["flops"], "config": 1})"}) {
        INFO(request);
        CHECK(json::parse(floptally_answer(request))["error"].get<std::string>().starts_with("failure: "));
    }
}

TEST_CASE("the browser's function forgets the config of an earlier call") {
    const json first = answer(commands.front(), "{}");
    const std::string config = read_text(source_dir / "examples/data/mistral-7b-v0.1.json");
    CHECK(answer(commands.front(), config).contains("output"));
    CHECK(answer(commands.front(), "{}") == first);
}

}  // namespace browser_test
