// SPDX-License-Identifier: Apache-2.0
//
// Texts that are made to break a reader of JSON, for each that the library has: configs of a model's type and of our
// own format, a pipeline's index, states, measured times, traces. Each is an error of a named field.

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/json.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/step/throughput_log.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "sanitized.hpp"

namespace hostile_json_test {
namespace {

constexpr std::size_t million = is_sanitized ? 10'000 : 1'000'000;  // whose frames are many times larger

std::string repeated(const std::string& text, std::size_t times) {
    std::string out;
    out.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

struct json_reader {
    std::string field;  ///< of an error of the whole text
    std::string text;   ///< with `@` for the value of a field that is read
    std::string value;  ///< that it should have
    std::function<void(const std::string&)> read;
};

std::filesystem::path file_of(const std::string& name, const std::string& text) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "floptally_hostile_json";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
}

std::vector<json_reader> readers() {
    const auto config = [](const std::string& text) {
        std::istringstream stream(text);
        static_cast<void>(floptally::read_config(stream));
    };
    floptally::meter m(floptally::presets::llama_3_8b.cost(), floptally::conventions::exact, {},
                       {.gpus = 1, .peak_tflops = 989});
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{7, 9});
    m.end_step(0.5);
    nlohmann::ordered_json state = floptally::to_json(floptally::state_of(m));
    const std::string seconds = state["seconds"].dump();
    state["seconds"] = "@";
    std::string saved = state.dump();
    saved.replace(saved.find("\"@\""), 3, "@");
    return {
        {"config",
         R"({"model_type": "llama", "hidden_size": @, "vocab_size": 96, "num_hidden_layers": 2,
             "intermediate_size": 160, "num_attention_heads": 4})",
         "64", config},
        {"config",
         R"({"model_type": "floptally", "hidden_size": 64, "layers": [{"parts": [
             {"type": "mlp", "intermediate_size": @}]}]})",
         "160", config},
        {"config", R"({"_class_name": "FluxPipeline", "transformer": @})", R"(["diffusers", "FluxTransformer2DModel"])",
         [](const std::string& text) {
             static_cast<void>(floptally::load_config(file_of("model_index.json", text).parent_path()));
         }},
        {"state", saved, seconds,
         [](const std::string& text) { static_cast<void>(floptally::load_state(file_of("state", text))); }},
        {"component_times", R"({"seconds": 2, "times": [{"name": "attention", "seconds": @}]})", "0.5",
         [](const std::string& text) {
             std::istringstream stream(text);
             static_cast<void>(floptally::read_component_times(floptally::read_json(stream, "component_times")));
         }},
        {"trace",
         R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "mm", "pid": 1, "tid": 1, "ts": 1, "dur": @}]})",
         "2.5",
         [](const std::string& text) {
             std::istringstream stream(text);
             static_cast<void>(floptally::read_kineto_trace(stream));
         }},
    };
}

std::string with(const json_reader& reader, const std::string& value) {
    std::string text = reader.text;
    return text.replace(text.find('@'), 1, value);
}

std::string error_of_reading(const json_reader& by, const std::string& text) {
    return error_of([&] { by.read(text); });
}

}  // namespace

TEST_CASE("deeply nested, long or invalid JSON is an error that names the argument that was read") {
    std::vector<std::pair<const char*, std::string>> texts{
        {"nothing", ""},
        {"lists without an end", repeated("[", million)},
        {"objects without an end", repeated("{\"a\":", million)},
        {"a comment", "/* */ {}"},
        {"two values", "{} {}"},
        {"a zero byte", std::string("{\"a\": 1}\0", 9)},
    };
    for (const json_reader& by : readers()) {
        for (const auto& [name, value] : std::vector<std::pair<const char*, std::string>>{
                 {"lists that are not closed", repeated("[", million)},
                 {"a number of a million digits", repeated("9", million)},
                 {"a negative one", "-" + repeated("9", million)},
                 {"an exponent of a million digits", "1e" + repeated("9", million)},
                 {"no number", "NaN"},
                 {"infinity", "Infinity"},
                 {"half of a character", "\"\xc3\""},
                 {"an overlong one", "\"\xc0\xaf\""},
                 {"half of a pair", R"("\ud800")"},
                 {"a line's end in a string", "\"a\nb\""},
                 {"a name of bytes", "{\"\xff\": 1}"}}) {
            texts.emplace_back(name, with(by, value));
        }
        for (const auto& [name, text] : texts) {
            INFO(by.field << ", " << name);
            const std::string error = error_of_reading(by, text);
            const bool is_infinite = std::string_view(name) == "no number" || std::string_view(name) == "infinity";
            if (by.field == "config" && is_infinite) {  // Python writes them into configs
                CHECK(error.find("cannot be parsed") == std::string::npos);
                CHECK(error.size() < 300);
                continue;
            }
            CHECK(error.substr(0, 300).starts_with(by.field + ": "));
            CHECK(error.size() < 300);
        }
        texts.resize(6);
        CHECK(error_of_reading(by, with(by, by.value)).find("cannot be parsed") == std::string::npos);
    }
}

TEST_CASE("every truncated JSON text is an error that names the argument that was read") {
    for (const json_reader& by : readers()) {
        const std::string whole = with(by, by.value);
        for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
            INFO(by.field << ", " << whole.substr(0, size));
            CHECK(error_of_reading(by, whole.substr(0, size)).starts_with(by.field + ": "));
        }
    }
}

TEST_CASE("a value nested a million levels deep is an error that names its field") {
    for (const json_reader& by : readers()) {
        for (const std::string& deep : {repeated("[", million) + repeated("]", million),
                                        repeated("{\"a\":", million) + "1" + repeated("}", million)}) {
            INFO(by.field);
            const std::string error = error_of_reading(by, with(by, deep));
            CHECK(error != "no error");
            CHECK(error.size() < 400);
        }
    }
}

TEST_CASE("a repeated JSON key is an error, also in a nested object") {
    std::vector<json_reader> all = readers();
    REQUIRE(all.back().field == "trace");
    all.pop_back();  // below: it keeps few of its keys
    for (const json_reader& by : all) {
        INFO(by.field);
        const std::string whole = with(by, by.value);
        const std::string twice = by.field + ": has the key \"a\" twice in the object at line 1, column ";
        CHECK(error_of_reading(by, "{\"a\": 1, \"a\": 1, " + whole.substr(1)) == twice + "12; remove one");
        CHECK(error_of_reading(by, "{\"b\": [{\"a\": {\"a\": 1}, \"c\": 1, \"a\": 2}], " + whole.substr(1)) ==
              twice + "34; remove one");
        CHECK(error_of_reading(by, with(by, "[{\"a\": 1}, {\"a\": {\"a\": 1}}]")).find("twice") == std::string::npos);
        const std::string first = whole.substr(0, whole.find(':'));  // the first key, again at the end
        CHECK(error_of_reading(by, whole.substr(0, whole.rfind('}')) + "," + first.substr(1) + ": 1}")
                  .find(" twice in the object at line ") != std::string::npos);
    }
}

TEST_CASE("repeated keys with conflicting values in a profiler trace are an error") {
    const auto read = [](const std::string& more, const std::string& event) {
        std::istringstream text("{" + more +
                                R"("traceEvents": [{"ph": "X", "cat": "kernel", "name": "mm", "pid": 1, "tid": 1,
                                    "ts": 1, "dur": 2, )" +
                                event + "}]}");
        return error_of([&] { static_cast<void>(floptally::read_kineto_trace(text)); });
    };
    CHECK(read("", R"("args": {"device": 0, "device": 0, "grid": 1, "grid": 2})") == "no error");
    CHECK(read("", R"("name": "mm", "dur": 2.0)") == "no error");
    CHECK(read("", R"("name": "mn")") == "traceEvents[0].name: appears twice with two values; keep one");
    CHECK(read("", R"("dur": 3)") == "traceEvents[0].dur: appears twice with two values; keep one");
    CHECK(read("", R"("args": {"device": 0, "device": 1})") ==
          "traceEvents[0].args.device: appears twice with two values; keep one");
    CHECK(read("", R"("args": {"correlation": 4}, "args": {"correlation": 5})") ==
          "traceEvents[0].args.correlation: appears twice with two values; keep one");
    CHECK(read("", R"("args": {"Collective name": "allreduce", "Collective name": "send"})") ==
          "traceEvents[0].args.Collective name: appears twice with two values; keep one");
    CHECK(read(R"("traceEvents": [], )", R"("a": 1)") == "traceEvents: appears twice; keep one");
    CHECK(read(R"("distributedInfo": {"rank": 1, "rank": 2}, )", R"("a": 1)") ==
          "distributedInfo.rank: appears twice with two values; keep one");
}

TEST_CASE("a log with very long or binary lines is read, or is an error with the line number") {
    for (const std::string& line :
         {"[train] [iter " + repeated("9", million) + ", tokens 5",
          "[train] [iter 1, tokens 5, elapsed_time " + repeated("9", million) + " ms",
          "[train] [iter 1, tokens " + repeated("[", million), std::string("[train] [iter 1, tokens \xff\xfe\0", 27)}) {
        std::istringstream text(line + "\n");
        const std::string error = error_of([&] { static_cast<void>(floptally::read_throughput_log(text)); });
        CHECK(error.starts_with("line 1: "));
        CHECK(error.size() < 400);
    }
    std::istringstream text(repeated("[", million) + "\n\xff\n");
    CHECK(error_of([&] {
              static_cast<void>(floptally::read_throughput_log(text));
          }).starts_with("log: has no throughput in its 2 lines: "));
}

TEST_CASE("reading many JSON objects takes time linear in the text") {
    const auto listed = [](std::size_t objects) {
        std::istringstream text("[" + repeated("{\"a\":{\"b\":1}},", objects) + "1]");
        return floptally::read_json(text, "config").size();
    };
    CHECK(listed(200'000) == 200'001);  // by the parser's own callbacks it would take the square of that
}

}  // namespace hostile_json_test
