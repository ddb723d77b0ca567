// SPDX-License-Identifier: Apache-2.0
//
// The program `floptally` as a function of text. The page of the docs that counts in the browser calls it.
// .ci/browser compiles it to WebAssembly.

#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include <floptally/core.hpp>

#include "../program/commands.hpp"

namespace {

/// Standard input with a text, as long as this object lives: `--config -` reads it.
class input_text {
  public:
    explicit input_text(const std::string& text) : text_(text), old_(std::cin.rdbuf(text_.rdbuf())) {
        std::cin.clear();
    }
    input_text(const input_text&) = delete;
    input_text& operator=(const input_text&) = delete;
    ~input_text() { std::cin.rdbuf(old_); }

  private:
    std::istringstream text_;
    std::streambuf* old_;
};

nlohmann::json answer_to(const char* request_text) {
    try {
        const nlohmann::json request = nlohmann::json::parse(request_text);
        auto words = request.at("arguments").get<std::vector<std::string>>();
        words.insert(words.begin(), "floptally");
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        const input_text config(request.value("config", ""));
        return {{"output", program::output_of(static_cast<int>(words.size()), argv.data())}};
    } catch (const floptally::error& problem) {
        return {{"error", problem.what()}, {"field", problem.field()}};
    } catch (const std::exception& problem) {
        return {{"error", fmt::format("failure: {}", problem.what())}, {"field", ""}};
    }
}

}  // namespace

/// Runs one command of the program. `request` is JSON: {"arguments": ["flops", "--config", "-", …], "config": "text"}.
/// The config is what `--config -` reads. Returns JSON: {"output": "what the program prints"}, or {"error": "the
/// program's sentence", "field": "its subject"}. The text is valid until the next call.
extern "C" const char* floptally_answer(const char* request) {
    static std::string answer;
    // A config's names may have any bytes; JSON takes UTF-8 alone.
    answer = answer_to(request).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return answer.c_str();
}
