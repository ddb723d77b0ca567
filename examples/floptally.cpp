// SPDX-License-Identifier: Apache-2.0
//
// The program `floptally`: FLOPs and MFU of a config and a batch, as a table or as JSON. docs/command_line.md is its
// contract.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
// A repeated option's values are whole, commas and all: "8,900,100" is one sequence.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/fmt.hpp>
#include <floptally/json.hpp>

namespace {

using floptally::error;
using json = nlohmann::ordered_json;

// ---- the text of one option into numbers ----

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::int64_t parse_integer(std::string_view text, const std::string& field) {
    if (const auto value = parse<std::int64_t>(text)) {
        return *value;
    }
    throw error(field, fmt::format("must be a 64-bit integer, got \"{}\"", text));
}

std::uint64_t parse_count(std::string_view text, const std::string& field, std::uint64_t least, std::uint64_t most) {
    const auto value = parse<std::uint64_t>(text);
    if (!value || *value < least || *value > most) {
        throw error(field, fmt::format("must be an integer from {} to {}, got \"{}\"", least, most, text));
    }
    return *value;
}

/// Integers apart by white space or commas. A comma must stand between two of them.
std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& field) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::int64_t> values;
    bool after_comma = false;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n,"));
        if (word.empty() && text.empty() && !after_comma) {
            break;
        }
        values.push_back(parse_integer(word, floptally::indexed(field, values.size())));
        text.remove_prefix(word.size());
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        after_comma = !text.empty() && text.front() == ',';
        text.remove_prefix(after_comma ? 1 : 0);
    }
    if (values.empty()) {
        throw error(field, "must list at least one integer");
    }
    return values;
}

// ---- the options of a command ----

/// Parsed options. The FIELD of an error is an option's long name with _ for -.
class arguments {
  public:
    explicit arguments(const cxxopts::ParseResult& parsed) : parsed_(parsed) {
        if (!parsed.unmatched().empty()) {
            throw error("command", fmt::format("unexpected argument \"{}\"", parsed.unmatched().front()));
        }
    }

    [[nodiscard]] bool given(const std::string& option) const { return parsed_.count(option) > 0; }

    [[nodiscard]] std::optional<std::string> text(const std::string& option) const {
        if (parsed_.count(option) > 1) {
            throw error(field(option), fmt::format("is given {} times; must be given once", parsed_.count(option)));
        }
        return given(option) ? std::optional(parsed_[option].as<std::string>()) : std::nullopt;
    }

    [[nodiscard]] std::string required(const std::string& option, std::string_view meaning) const {
        if (auto value = text(option)) {
            return *value;
        }
        throw error(field(option), fmt::format("is missing; give --{} {}", option, meaning));
    }

    [[nodiscard]] std::vector<std::string> repeated(const std::string& option) const {
        return given(option) ? parsed_[option].as<std::vector<std::string>>() : std::vector<std::string>{};
    }

    /// The position of the given word in `choices`; the first where the option is absent.
    [[nodiscard]] std::size_t choice(const std::string& option, const std::vector<std::string_view>& choices) const {
        const std::string word = text(option).value_or(std::string(choices.front()));
        for (std::size_t i = 0; i < choices.size(); ++i) {
            if (choices[i] == word) {
                return i;
            }
        }
        throw error(field(option), fmt::format("must be one of {}, got \"{}\"", fmt::join(choices, ", "), word));
    }

    [[nodiscard]] bool as_json() const { return choice("format", {"table", "json"}) == 1; }

    [[nodiscard]] static std::string field(std::string option) {
        std::replace(option.begin(), option.end(), '-', '_');
        return option;
    }

  private:
    const cxxopts::ParseResult& parsed_;
};

void add_flops_options(cxxopts::Options& options) {
    options.add_options()("config",
                          "config.json of Hugging Face, a folder with one, floptally's own JSON, or - for stdin",
                          cxxopts::value<std::string>(), "FILE");
    options.add_options("Batch")("lengths", "one sequence each", cxxopts::value<std::string>(), "512,1024")(
        "lengths-file", "the same from a file, apart by white space or commas", cxxopts::value<std::string>(), "FILE")(
        "cu-seqlens", "boundaries of a packed row", cxxopts::value<std::string>(), "0,512,1536")(
        "cu-seqlens-padded", "boundaries with the padding that kernels process", cxxopts::value<std::string>(),
        "0,512,1664")("num-real-seqs", "sequences after these are mock sequences: padded, not useful",
                      cxxopts::value<std::string>(), "N")(
        "new-tokens", "n new tokens after past cached ones (repeatable)", cxxopts::value<std::vector<std::string>>(),
        "n@past")("encoder-lengths", "tokens on the encoder's side of each of --lengths", cxxopts::value<std::string>(),
                  "80,91")("sequence", "HSTU: contextual, history, targets, target group (repeatable)",
                           cxxopts::value<std::vector<std::string>>(), "c,h,t[,g]");
    options.add_options("Counting")("convention", "see: floptally conventions", cxxopts::value<std::string>(), "NAME")(
        "phase", "train, forward or backward", cxxopts::value<std::string>(), "PHASE")(
        "recompute", "none, full or attention", cxxopts::value<std::string>(), "WHAT")(
        "mtp", "layers of multi-token prediction that are trained", cxxopts::value<std::string>(), "N")(
        "mla", "core of latent attention: expanded or absorbed", cxxopts::value<std::string>(), "FORM");
}

void add_mfu_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Utilization")("seconds", "duration of the step", cxxopts::value<std::string>(), "S")(
        "gpus", "how many took part", cxxopts::value<std::string>(), "N")(
        "accelerator", "as the driver calls it; see: floptally accelerators", cxxopts::value<std::string>(), "NAME")(
        "peak-tflops", "dense peak of one GPU; wins over --accelerator", cxxopts::value<std::string>(), "X")(
        "precision", "fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4", cxxopts::value<std::string>(), "bf16");
}

// ---- flops, mfu ----

std::string read_file(const std::string& path, const std::string& field) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        throw error(field, fmt::format("cannot read \"{}\"", path));
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Values of a repeated option that may also stand in one, apart by commas.
std::vector<std::string> comma_separated(const std::vector<std::string>& values) {
    std::vector<std::string> parts;
    for (std::string_view rest : values) {
        for (std::size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
            parts.emplace_back(rest.substr(0, comma));
            rest.remove_prefix(comma + 1);
        }
        parts.emplace_back(rest);
    }
    return parts;
}

/// "512@4096": new tokens after cached ones.
floptally::sequence parse_new_tokens(std::string_view text, const std::string& field) {
    const std::size_t at = text.find('@');
    if (at == std::string_view::npos) {
        throw error(field, fmt::format("must be n@past, got \"{}\"", text));
    }
    const auto part = [&](std::string_view number) {
        return static_cast<std::uint32_t>(parse_count(number, field, 0, floptally::max_sequence_length));
    };
    return {.length = part(text.substr(0, at)), .past = part(text.substr(at + 1))};
}

/// "8,900,100,2": contextual tokens, history, targets and how many of them are a group (1 where it is not said).
floptally::sequence parse_sequence(std::string_view text, const std::string& field) {
    std::uint32_t numbers[4] = {0, 0, 0, 1};
    std::size_t given = 0;
    for (bool more = true; more && given < std::size(numbers); ++given) {
        const std::size_t comma = text.find(',');
        more = comma != std::string_view::npos;
        numbers[given] = static_cast<std::uint32_t>(parse_count(text.substr(0, comma), floptally::indexed(field, given),
                                                                given == 3 ? 1 : 0, floptally::max_sequence_length));
        text.remove_prefix(more ? comma + 1 : text.size());
    }
    if (given < 3 || !text.empty()) {
        throw error(field, "must be c,h,t or c,h,t,g: contextual tokens, history, targets and their group");
    }
    const std::uint64_t length = std::uint64_t{numbers[0]} + numbers[1] + numbers[2];
    if (length > floptally::max_sequence_length) {
        throw error(field, fmt::format("c + h + t must be at most {}, got {}", floptally::max_sequence_length, length));
    }
    return {.length = static_cast<std::uint32_t>(length),
            .context = numbers[0],
            .targets = numbers[2],
            .target_group = numbers[3]};
}

void add_sequences(const arguments& args, const floptally::model_config& model, floptally::tally& batch) {
    const auto& masks = model.cost.masks();
    const auto sequences = args.repeated("sequence");
    if (!sequences.empty() &&
        std::none_of(masks.begin(), masks.end(), [](const floptally::mask& m) { return m.is_hstu(); })) {
        throw error("sequence",
                    fmt::format("{} has no HSTU mask, which sees contextual tokens and targets; use --lengths",
                                model.model_type));
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        batch.add(parse_sequence(sequences[i], floptally::indexed("sequence", i)));
    }
}

void add_packed(const arguments& args, floptally::tally& batch) {
    const auto boundaries = args.text("cu-seqlens");
    if (!boundaries) {
        for (const char* option : {"cu-seqlens-padded", "num-real-seqs"}) {
            if (args.given(option)) {
                throw error(arguments::field(option), "needs --cu-seqlens");
            }
        }
        return;
    }
    const auto cu_seqlens = parse_integers(*boundaries, "cu_seqlens");
    const auto slots = args.text("cu-seqlens-padded");
    const auto num_real_seqs = args.text("num-real-seqs");
    batch.add_cu_seqlens(
        cu_seqlens, slots ? parse_integers(*slots, "cu_seqlens_padded") : cu_seqlens,
        num_real_seqs ? parse_count(*num_real_seqs, "num_real_seqs", 0, cu_seqlens.size() - 1) : cu_seqlens.size() - 1);
}

/// Whether some of the work is over the tokens of an encoder.
bool has_encoder(const floptally::cost& model) {
    return std::any_of(model.rows().begin(), model.rows().end(), [&](const floptally::cost_row& row) {
        return row.what == floptally::statistic::keys ||
               (row.what == floptally::statistic::pairs &&
                model.masks()[row.mask].kind() == floptally::mask_kind::cross_attention);
    });
}

/// Sequences of --lengths or of a file, each with its tokens on the encoder's side.
void add_lengths(const arguments& args, const std::vector<std::int64_t>& lengths, const std::string& field,
                 floptally::tally& batch) {
    const auto other = args.text("encoder-lengths");
    if (!other) {
        batch.add_lengths(lengths, field);
        return;
    }
    batch.add_encoder_decoder(lengths, parse_integers(*other, "encoder_lengths"), field);
}

void check_encoder_lengths(const arguments& args, const floptally::model_config& model) {
    const bool needed = has_encoder(model.cost);
    if (needed && !args.given("encoder-lengths")) {
        throw error("encoder_lengths",
                    fmt::format("is missing; {} has an encoder, and --lengths are its decoder's", model.model_type));
    }
    if (!needed && args.given("encoder-lengths")) {
        throw error("encoder_lengths", fmt::format("{} has no encoder beside its decoder", model.model_type));
    }
    if (needed && args.given("lengths") == args.given("lengths-file")) {
        throw error("encoder_lengths", "needs either --lengths or --lengths-file");
    }
    for (const char* option : {"cu-seqlens", "cu-seqlens-padded", "num-real-seqs", "new-tokens", "sequence"}) {
        if (needed && args.given(option)) {
            throw error(arguments::field(option), "has no tokens on the encoder's side; use --lengths");
        }
    }
}

floptally::tally read_batch(const arguments& args, const floptally::model_config& model,
                            const floptally::mask_set& masks) {
    constexpr const char* sources[] = {"lengths", "lengths-file", "cu-seqlens", "new-tokens", "sequence"};
    if (std::none_of(std::begin(sources), std::end(sources), [&](const char* s) { return args.given(s); }) &&
        !args.given("cu-seqlens-padded") && !args.given("num-real-seqs")) {
        throw error("lengths",
                    "no batch is given; use --lengths, --lengths-file, --cu-seqlens, --new-tokens or --sequence");
    }
    check_encoder_lengths(args, model);
    floptally::tally batch{masks};
    if (const auto lengths = args.text("lengths")) {
        add_lengths(args, parse_integers(*lengths, "lengths"), "lengths", batch);
    }
    if (const auto path = args.text("lengths-file")) {
        constexpr const char* field = "lengths_file";
        add_lengths(args, parse_integers(read_file(*path, field), field), field, batch);
    }
    add_packed(args, batch);
    add_sequences(args, model, batch);
    const auto cached = comma_separated(args.repeated("new-tokens"));
    for (std::size_t i = 0; i < cached.size(); ++i) {
        const std::string field = floptally::indexed("new_tokens", i);
        const floptally::sequence tokens = parse_new_tokens(cached[i], field);
        if (std::uint64_t{tokens.length} + tokens.past > floptally::max_sequence_length) {
            throw error(field, fmt::format("n + past must be at most {}, got \"{}\"", floptally::max_sequence_length,
                                           cached[i]));
        }
        batch.add(tokens);
    }
    return batch;
}

floptally::model_config read_model(const arguments& args) {
    const std::string path = args.required("config", "FILE");
    floptally::read_options options;
    options.mla = static_cast<floptally::mla_core>(args.choice("mla", {"expanded", "absorbed"}));
    if (const auto layers = args.text("mtp")) {
        options.mtp_layers = parse_count(*layers, "mtp", 0, 100);
    }
    return path == "-" ? floptally::read_config(std::cin, options) : floptally::load_config(path, options);
}

floptally::report count(const arguments& args) {
    const auto& how = floptally::convention_named(args.text("convention").value_or("exact"));
    const floptally::training_plan plan{
        .counted = static_cast<floptally::phases>(args.choice("phase", {"train", "forward", "backward"})),
        .recomputed = static_cast<floptally::recompute>(args.choice("recompute", {"none", "full", "attention"}))};
    const floptally::model_config model = read_model(args);
    const floptally::folded_cost cost(model.cost, how, plan);
    floptally::mask_set kept = model.cost.masks();
    for (const floptally::mask& needed : cost.masks()) {
        kept.find_or_add(needed, "masks");
    }
    const floptally::tally batch = read_batch(args, model, kept);
    return {.model_type = model.model_type,
            .counted_as = how,
            .plan = plan,
            .masks = model.cost.masks(),
            .batch = batch,
            .work = cost.evaluate(batch),
            .notes = model.notes};
}

double parse_positive(const std::string& text, const std::string& field) {
    const auto value = parse<double>(text);
    if (!value || !(*value > 0) || *value > std::numeric_limits<double>::max()) {
        throw error(field, fmt::format("must be a finite number above 0, got \"{}\"", text));
    }
    return *value;
}

floptally::mfu_report measure(const arguments& args, const floptally::report& counted) {
    floptally::mfu_report mfu;
    mfu.step.seconds = parse_positive(args.required("seconds", "S"), "seconds");
    mfu.step.gpus = parse_count(args.required("gpus", "N"), "gpus", 1, 100'000'000);
    const floptally::precision used = floptally::precision_named(args.text("precision").value_or("bf16"));
    mfu.precision = floptally::name(used);
    const auto accelerator = args.text("accelerator");
    if (const auto peak = args.text("peak-tflops")) {
        mfu.step.peak_tflops = parse_positive(*peak, "peak_tflops");
        mfu.accelerator = accelerator.value_or("");
        mfu.peak_source = "given by the user";
    } else {
        if (!accelerator) {
            throw error("accelerator", "is missing; give --accelerator NAME or --peak-tflops X");
        }
        const floptally::accelerator& part = floptally::accelerator_named(*accelerator);
        mfu.step.peak_tflops = part.peak_tflops(used);
        mfu.accelerator = part.name;
        mfu.peak_source = fmt::format("{}, {}", part.source.title, part.source.url);
    }
    mfu.utilization = floptally::utilize(counted.work, counted.batch, mfu.step);
    return mfu;
}

std::string show(const arguments& args, const floptally::report& counted) {
    // An accelerator's name is the user's: any bytes.
    return args.as_json() ? floptally::to_json(counted).dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                          : floptally::to_table(counted);
}

std::string run_flops(const arguments& args) { return show(args, count(args)); }

std::string run_mfu(const arguments& args) {
    floptally::report counted = count(args);
    counted.mfu = measure(args, counted);
    if (counted.mfu->utilization.hfu > 1) {
        counted.notes.emplace_back("more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right");
    }
    return show(args, counted);
}

// ---- models, accelerators, conventions ----

std::string run_models(const arguments& args) {
    const auto types = floptally::known_model_types();
    return args.as_json() ? json{{"version", floptally::version}, {"models", types}}.dump(2) + "\n"
                          : fmt::format("{}\n", fmt::join(types, "\n"));
}

std::string run_accelerators(const arguments& args) {
    json listed = json::array();
    std::string table = fmt::format("{:<24}{:<10}", "name", "vendor");
    for (std::size_t i = 0; i < floptally::precision_count; ++i) {
        table += fmt::format("{:>8}", floptally::name(static_cast<floptally::precision>(i)));
    }
    table += "  (dense TFLOP/s of one device; int8 in TOP/s)\n";
    for (const floptally::accelerator& part : floptally::accelerators()) {
        json peaks = json::object();
        table += fmt::format("{:<24}{:<10}", part.name, part.vendor);
        for (std::size_t i = 0; i < floptally::precision_count; ++i) {
            const auto which = static_cast<floptally::precision>(i);
            const double peak = part.published_tflops(which);
            table += peak > 0 ? fmt::format("{:>8}", peak) : fmt::format("{:>8}", "-");
            if (peak > 0) {
                peaks[std::string(floptally::name(which))] = peak;
            }
        }
        table += '\n';
        json names = json::array();
        for (const std::string_view driver_name : part.driver_names) {
            if (!driver_name.empty()) {
                names.push_back(driver_name);
            }
        }
        listed.push_back({{"name", part.name},
                          {"vendor", part.vendor},
                          {"form_factor", part.form_factor},
                          {"driver_names", names},
                          {"dense_tflops", peaks},
                          {"source", {{"title", part.source.title}, {"url", part.source.url}}},
                          {"note", part.note}});
    }
    return args.as_json() ? json{{"version", floptally::version}, {"accelerators", listed}}.dump(2) + "\n" : table;
}

std::string run_conventions(const arguments& args) {
    json listed = json::array();
    std::string table;
    for (const floptally::convention* preset : floptally::conventions::all) {
        listed.push_back({{"name", preset->name}, {"summary", preset->summary}});
        table += fmt::format("{:<26}{}\n", preset->name, preset->summary);
    }
    return args.as_json() ? json{{"version", floptally::version}, {"conventions", listed}}.dump(2) + "\n" : table;
}

// ---- the program ----

struct command {
    std::string_view name;
    std::string_view summary;
    void (*add_options)(cxxopts::Options&);
    std::string (*run)(const arguments&);
};

constexpr command commands[] = {
    {"flops", "FLOPs of a batch, by component, phase and view", add_flops_options, run_flops},
    {"mfu", "the same with MFU, padded MFU and HFU", add_mfu_options, run_mfu},
    {"models", "the model types that --config takes", nullptr, run_models},
    {"accelerators", "peaks by product name, with their sources", nullptr, run_accelerators},
    {"conventions", "how FLOPs can be counted", nullptr, run_conventions}};

std::string help() {
    std::string text = "floptally: exact FLOPs of model training, and MFU\n\nusage: floptally COMMAND [OPTIONS]\n\n";
    for (const command& known : commands) {
        text += fmt::format("  {:<14}{}\n", known.name, known.summary);
    }
    return text + "\n  floptally COMMAND --help, floptally --version\n";
}

/// The option that cxxopts complains about: it stands between quotation marks, ‘’ or ''.
std::string quoted_option(std::string_view message) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const std::size_t quote = message.find_first_of("'\xE2");
    const std::size_t first = message.find_first_of(letters, quote);
    if (quote == std::string_view::npos || first == std::string_view::npos) {
        return "command";
    }
    const std::size_t length = message.substr(first).find_first_not_of(letters);
    return arguments::field(std::string(message.substr(first, length)));
}

/// Says what is wrong in our words: those of cxxopts differ from version to version.
cxxopts::ParseResult parse_options(cxxopts::Options& options, std::string_view command, int argc, char** argv) {
    try {
        return options.parse(argc, argv);
    } catch (const cxxopts::exceptions::no_such_option& problem) {
        throw error(quoted_option(problem.what()),
                    fmt::format("unknown option; `floptally {} --help` lists the known ones", command));
    } catch (const cxxopts::exceptions::missing_argument& problem) {
        throw error(quoted_option(problem.what()), "needs a value");
    } catch (const cxxopts::exceptions::exception& problem) {
        throw error("command", fmt::format("cannot be read: {}", problem.what()));
    }
}

std::string run(int argc, char** argv) {
    const std::string_view name = argc < 2 ? "" : argv[1];
    if (name == "--help" || name == "-h" || name == "--version") {
        if (argc > 2) {
            throw error("command", fmt::format("unexpected argument \"{}\"", argv[2]));
        }
        return name == "--version" ? fmt::format("floptally {}\n", floptally::version) : help();
    }
    for (const command& known : commands) {
        if (known.name != name) {
            continue;
        }
        cxxopts::Options options("floptally " + std::string(name), std::string(known.summary));
        options.add_options()("format", "table or json", cxxopts::value<std::string>(), "FORMAT")("h,help",
                                                                                                  "this text");
        if (known.add_options != nullptr) {
            known.add_options(options);
        }
        const cxxopts::ParseResult parsed = parse_options(options, name, argc - 1, argv + 1);
        return parsed.count("help") > 0 ? options.help() : known.run(arguments(parsed));
    }
    throw error("command", name.empty() ? "is missing; must be flops, mfu, models, accelerators or conventions"
                                        : fmt::format("must be flops, mfu, models, accelerators or conventions, got "
                                                      "\"{}\"",
                                                      name));
}

/// One line, whatever stands in a message.
int fail(std::string_view message, int status) {
    std::string line(message);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    // Not fmt::print, which throws where standard error is closed.
    std::fputs(fmt::format("floptally: error: {}\n", line).c_str(), stderr);
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int bad_input = 2;
    constexpr int other_failure = 1;
    try {
        const std::string text = run(argc, argv);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
            return fail("output: standard output cannot be written", other_failure);
        }
        return 0;
    } catch (const error& problem) {
        return fail(problem.what(), bad_input);
    } catch (const std::exception& problem) {
        return fail(fmt::format("failure: {}", problem.what()), other_failure);
    }
}
