// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/core.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/plan.hpp>

#include "arguments.hpp"

/// @file
/// Reads the batch from the program's options.

namespace program {

inline void add_batch_options(cxxopts::Options& options) {
    options.add_options("Batch")("lengths", "tokens of each sequence; 2048x16 is 16 sequences of 2048",
                                 cxxopts::value<std::string>(), "512,1024")(
        "lengths-file", "--lengths from a file, separated by white space or commas", cxxopts::value<std::string>(),
        "FILE")("cu-seqlens", "boundaries of a packed sequence", cxxopts::value<std::string>(), "0,512,1536")(
        "cu-seqlens-padded", "boundaries with the padding that kernels process", cxxopts::value<std::string>(),
        "0,512,1664")("cu-seqlens-real", "boundaries of the real sequences, if mock sequences follow them",
                      cxxopts::value<std::string>(), "0,512")(
        "num-real-seqs", "number of real sequences; later ones are mock sequences: padded, not useful",
        cxxopts::value<std::string>(),
        "N")("row-length", "tokens that each of --lengths is padded to", cxxopts::value<std::string>(), "N")(
        "attention-mask", "file with rows of 0 and 1, one per line", cxxopts::value<std::string>(), "FILE")(
        "new-tokens", "n new tokens after `past` cached tokens (repeatable)",
        cxxopts::value<std::vector<std::string>>(),
        "n@past")("request",
                  "tokens of the prompt and generated tokens of a request, and how many of the prompt are cached "
                  "(repeatable)",
                  cxxopts::value<std::vector<std::string>>(), "prompt+generated[+cached]")(
        "prefill-chunk", "prompt tokens that one pass prefills", cxxopts::value<std::string>(), "N")(
        "encoder-lengths",
        "tokens on the encoder's side of each of --lengths, or of the text (or texts) of each --grid",
        cxxopts::value<std::string>(),
        "80,91")("encoder-row-length", "tokens that each of --encoder-lengths of an encoder-decoder is padded to",
                 cxxopts::value<std::string>(), "N")(
        "encoder-lengths-padded", "tokens that texts of --grid are padded to, one for each or one for all",
        cxxopts::value<std::string>(),
        "128")("sequence",
               "HSTU: numbers of contextual tokens, history and targets, and the size of a target group (repeatable)",
               cxxopts::value<std::vector<std::string>>(),
               "c,h,t[,g]")("grid", "one image or clip, in patches before merging, or cells of latents (repeatable)",
                            cxxopts::value<std::vector<std::string>>(), "t,h,w")(
        "pixels", "one picture or clip in pixels, if the model's spec has its grid (repeatable)",
        cxxopts::value<std::vector<std::string>>(),
        "[frames,]height,width")("grid-padded", "what --grid is padded to, one for each or one for all (repeatable)",
                                 cxxopts::value<std::vector<std::string>>(), "t,h,w")(
        "condition-grid",
        "a grid that a diffusion model is conditioned on, the same number for each --grid (repeatable)",
        cxxopts::value<std::vector<std::string>>(),
        "t,h,w")("images", "images of the fixed size that the config states", cxxopts::value<std::string>(), "N")(
        "audio-frames", "frames of each clip that enters an audio tower", cxxopts::value<std::string>(), "3000,1200")(
        "routed", "measured visits of tokens to experts over all layers, useful and padded, if the model needs them",
        cxxopts::value<std::string>(), "N[:N]");
}

inline std::string read_file(const std::string& path, const std::string& field) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        throw error(field, fmt::format("cannot read \"{}\": pass a readable file", path));
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The values of a repeated option. One occurrence may have several, separated by commas.
inline std::vector<std::string> comma_separated(const std::vector<std::string>& values) {
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

/// New tokens after cached ones, from "512@4096".
inline floptally::sequence parse_new_tokens(std::string_view text, const std::string& field) {
    const std::size_t at = text.find('@');
    if (at == std::string_view::npos) {
        throw error(field,
                    fmt::format("must be n@past (new tokens @ cached tokens), such as 512@4096, got \"{}\"", text));
    }
    const auto part = [&](std::string_view number) {
        return static_cast<std::uint32_t>(parse_count(number, field, 0, floptally::max_sequence_length));
    };
    const floptally::sequence tokens{.length = part(text.substr(0, at)), .past = part(text.substr(at + 1))};
    if (std::uint64_t{tokens.length} + tokens.past > floptally::max_sequence_length) {
        throw error(field,
                    fmt::format("must be n@past (new tokens @ cached tokens) with a sum of at most {}, got \"{}\"",
                                floptally::max_sequence_length, text));
    }
    return tokens;
}

/// A request from "2000+38": tokens of its prompt and generated tokens, then prompt tokens that are cached.
inline floptally::request parse_request(std::string_view text, const std::string& field) {
    std::vector<std::uint32_t> numbers;
    for (std::string_view rest = text; numbers.size() < 4;) {
        const std::size_t plus = rest.find('+');
        const auto number = parse<std::uint32_t>(rest.substr(0, plus));
        if (!number) {
            numbers.clear();
            break;
        }
        numbers.push_back(*number);
        if (plus == std::string_view::npos) {
            break;
        }
        rest.remove_prefix(plus + 1);
    }
    if (numbers.size() != 2 && numbers.size() != 3) {
        throw error(field,
                    fmt::format("must be prompt+generated or prompt+generated+cached, each from 0 to 4294967295, "
                                "got \"{}\"",
                                text));
    }
    return {numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
}

/// An HSTU sequence from "8,900,100,2": contextual tokens, history, targets and the size of their groups (default 1).
inline floptally::sequence parse_sequence(std::string_view text, const std::string& field) {
    const std::string_view all = text;
    std::uint32_t numbers[4] = {0, 0, 0, 1};
    std::size_t parts = 0;
    for (bool more = true; more && parts < std::size(numbers); ++parts) {
        const std::size_t comma = text.find(',');
        more = comma != std::string_view::npos;
        numbers[parts] = static_cast<std::uint32_t>(parse_count(text.substr(0, comma), floptally::indexed(field, parts),
                                                                parts == 3 ? 1 : 0, floptally::max_sequence_length));
        text.remove_prefix(more ? comma + 1 : text.size());
    }
    if (parts < 3 || !text.empty()) {
        throw error(
            field,
            fmt::format("must be c,h,t or c,h,t,g: the numbers of contextual, history and target tokens, and the "
                        "targets in a group; got \"{}\"",
                        all));
    }
    return floptally::hstu_sequence(numbers[0], numbers[1], numbers[2], numbers[3], field);
}

/// An image or a clip in patches before merging, from "1,32,48".
inline floptally::grid parse_grid(std::string_view text, const std::string& field) {
    const std::vector<std::int64_t> thw = parse_integers(text, field);
    if (thw.size() != 3) {
        throw error(field, fmt::format("must be t,h,w: frames, rows and columns of patches, got \"{}\"", text));
    }
    std::uint32_t numbers[3]{};
    for (std::size_t i = 0; i < thw.size(); ++i) {
        if (thw[i] < 1 || thw[i] > std::int64_t{0xFFFF'FFFF}) {
            throw error(floptally::indexed(field, i), fmt::format("must be from 1 to 4294967295, got {}", thw[i]));
        }
        numbers[i] = static_cast<std::uint32_t>(thw[i]);
    }
    return {numbers[0], numbers[1], numbers[2]};
}

/// A picture or a clip in pixels, from "1024,1024" or "81,480,832".
inline floptally::grid parse_pixels(std::string_view text, const std::string& field) {
    const auto commas = std::count(text.begin(), text.end(), ',');
    if (commas != 1 && commas != 2) {
        throw error(field, fmt::format("must be [frames,]height,width, got \"{}\"", text));
    }
    return parse_grid(commas == 1 ? std::string("1,").append(text) : std::string(text), field);
}

/// Measured amounts, useful and padded, from "900:1024". A single number is both.
inline floptally::model_input::measured_amount parse_measured(std::string_view word, std::string_view text) {
    const std::string field(word);
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto number = [&](std::string_view digits) {
        return parse_count(digits, field, 0, std::numeric_limits<std::uint64_t>::max());
    };
    const std::uint64_t useful = number(text.substr(0, colon));
    return {field, useful, colon == text.size() ? useful : number(text.substr(colon + 1))};
}

/// Tokens whose logits are computed, from "900:1024" for all sequences together, or from one number for each sequence.
inline floptally::model_input::measured_amount parse_logits(const std::string& text) {
    floptally::checked useful(0, "logits");
    floptally::checked padded(0, "logits");
    for (const std::string& item : comma_separated({text})) {
        const floptally::model_input::measured_amount word = parse_measured(floptally::logits_accumulator, item);
        useful += word.useful;
        padded += word.padded;
    }
    return {std::string(floptally::logits_accumulator), useful, padded};
}

/// The option for an input: `grid_thw` of the library is --grid here, `sequences` is --sequence.
inline constexpr floptally::input_spelling spelling{
    [](std::string_view name) {
        return std::string(name == "grid_thw"             ? "grid"
                           : name == "grid_thw_padded"    ? "grid_padded"
                           : name == "condition_grid_thw" ? "condition_grid"
                           : name == "sequences"          ? "sequence"
                           : name == "requests"           ? "request"
                                                          : name);
    },
    [](std::string_view name) {
        std::string option = std::string("--").append(spelling.field(name));
        std::replace(option.begin(), option.end(), '_', '-');
        return option;
    },
    "either --lengths or --lengths-file"};

/// The batch from the options, with the integers that it points to.
class read_input {
  public:
    explicit read_input(const arguments& args) : args_(args) {
        constexpr const char* sources[] = {"lengths",    "lengths-file", "cu-seqlens",  "attention-mask",
                                           "new-tokens", "sequence",     "request",     "grid",
                                           "pixels",     "images",       "audio-frames"};
        if (std::none_of(std::begin(sources), std::end(sources), [&](const char* s) { return args.is_passed(s); }) &&
            !args.is_passed("cu-seqlens-padded") && !args.is_passed("cu-seqlens-real") &&
            !args.is_passed("num-real-seqs")) {
            throw error("lengths",
                        "no batch was passed: use --lengths, --lengths-file, --cu-seqlens, --attention-mask, "
                        "--new-tokens, --request, --sequence, --grid, --pixels, --images or --audio-frames");
        }
        if (const auto lengths = args.text("lengths")) {
            input_.lengths.push_back({"lengths", keep(*lengths, "lengths")});
        }
        if (const auto path = args.text("lengths-file")) {
            input_.lengths.push_back({"lengths_file", keep(read_file(*path, "lengths_file"), "lengths_file")});
        }
        if (const auto slots = args.text("row-length")) {
            if (input_.lengths.empty()) {
                throw error("row_length",
                            "works only with --lengths or --lengths-file: pass one of them, or leave it out");
            }
            for (floptally::model_input::list& list : input_.lengths) {
                list.row_length = parse_count(*slots, "row_length", 0, floptally::max_sequence_length);
            }
        }
        read_packed();
        if (const auto path = args.text("attention-mask")) {
            input_.attention_mask = read_rows(read_file(*path, "attention_mask"));
        }
        if (const auto others = args.text("encoder-lengths")) {
            input_.encoder_lengths = keep(*others, "encoder_lengths");
        }
        if (const auto row = args.text("encoder-row-length")) {
            input_.encoder_row_length = parse_count(*row, "encoder_row_length", 0, floptally::max_sequence_length);
        }
        if (const auto slots = args.text("encoder-lengths-padded")) {
            input_.encoder_lengths_padded = keep(*slots, "encoder_lengths_padded");
        }
        each(args.repeated("sequence"), "sequence", input_.sequences, parse_sequence);
        each(comma_separated(args.repeated("new-tokens")), "new_tokens", input_.new_tokens, parse_new_tokens);
        each(args.repeated("request"), "request", input_.requests, parse_request);
        if (const auto chunk = args.text("prefill-chunk")) {
            if (input_.requests.empty()) {
                throw error("prefill_chunk", "works only with --request: pass one, or leave it out");
            }
            input_.prefill_chunk =
                static_cast<std::uint32_t>(parse_count(*chunk, "prefill_chunk", 1, floptally::max_sequence_length));
        }
        each(args.repeated("grid"), "grid", input_.grids, parse_grid);
        each(args.repeated("pixels"), "pixels", input_.pixels, parse_pixels);
        each(args.repeated("grid-padded"), "grid_padded", input_.grids_padded, parse_grid);
        each(args.repeated("condition-grid"), "condition_grid", input_.condition_grids, parse_grid);
        if (const auto images = args.text("images")) {
            input_.images = parse_count(*images, "images", 1, 100'000'000);
        }
        if (const auto frames = args.text("audio-frames")) {
            input_.audio_frames = keep(*frames, "audio_frames");
        }
        if (const auto visits = args.text("routed")) {
            input_.measured.push_back(parse_measured("routed", *visits));
        }
        if (const auto tokens = args.text("logits"); tokens && *tokens != "all" && *tokens != "last") {
            input_.measured.push_back(parse_logits(*tokens));
        }
        if (args.is_passed("muon")) {
            input_.measured.push_back({std::string(floptally::muon::accumulator), 1, 1});  // the batch is one step
        }
    }

    [[nodiscard]] const floptally::model_input& get() const { return input_; }

  private:
    /// The rows of flags in a file, one per line. Empty lines are ignored.
    floptally::model_input::flag_rows read_rows(std::string_view text) {
        floptally::model_input::flag_rows mask;
        std::vector<std::int64_t>& flags = kept_.emplace_back();
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
                continue;
            }
            const std::string row = floptally::indexed("attention_mask", mask.rows);
            const std::vector<std::int64_t> own = parse_integers(line, row);
            mask.columns = mask.rows == 0 ? own.size() : mask.columns;
            if (own.size() != mask.columns) {
                throw error(row,
                            fmt::format("must have {} flags like the row before, got {}", mask.columns, own.size()));
            }
            flags.insert(flags.end(), own.begin(), own.end());
            ++mask.rows;
        }
        if (mask.rows == 0) {
            throw error("attention_mask", "must have at least one row of flags, such as 1,1,0, got none");
        }
        mask.flags = flags;
        return mask;
    }

    floptally::integer_view keep(std::string_view text, const std::string& field, bool is_repeatable = true) {
        return kept_.emplace_back(parse_integers(text, field, is_repeatable));
    }

    template <class One>
    static void each(const std::vector<std::string>& texts, const char* field, std::vector<One>& to,
                     One (*parse_one)(std::string_view, const std::string&)) {
        for (std::size_t i = 0; i < texts.size(); ++i) {
            to.push_back(parse_one(texts[i], floptally::indexed(field, i)));
        }
    }

    void read_packed() {
        const auto boundaries = args_.text("cu-seqlens");
        if (!boundaries) {
            for (const char* option : {"cu-seqlens-padded", "cu-seqlens-real", "num-real-seqs"}) {
                if (args_.is_passed(option)) {
                    throw error(arguments::field(option), "works only with --cu-seqlens: pass both, or leave it out");
                }
            }
            return;
        }
        const floptally::integer_view real = keep(*boundaries, "cu_seqlens", false);
        const auto slots = args_.text("cu-seqlens-padded");
        const auto num_real_seqs = args_.text("num-real-seqs");
        const auto to_index = [](std::uint64_t number) { return static_cast<std::size_t>(number); };
        const auto real_alone = args_.text("cu-seqlens-real");
        input_.boundaries = {real, slots ? std::optional(keep(*slots, "cu_seqlens_padded", false)) : std::nullopt,
                             num_real_seqs ? to_index(parse_count(*num_real_seqs, "num_real_seqs", 0, real.size() - 1))
                                           : floptally::all_sequences,
                             real_alone ? std::optional(keep(*real_alone, "cu_seqlens_real", false)) : std::nullopt};
    }

    const arguments& args_;
    floptally::model_input input_;
    std::deque<std::vector<std::int64_t>> kept_;  // a deque does not move its elements
};

}  // namespace program
