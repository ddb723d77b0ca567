// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/mask_set.hpp>
#include <floptally/model_config.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>
#include <floptally/tower.hpp>

#include "arguments.hpp"

/// @file
/// The batch that the options of the program describe.

namespace program {

inline void add_batch_options(cxxopts::Options& options) {
    options.add_options("Batch")("lengths", "one sequence each", cxxopts::value<std::string>(), "512,1024")(
        "lengths-file", "the same from a file, apart by white space or commas", cxxopts::value<std::string>(), "FILE")(
        "cu-seqlens", "boundaries of a packed row", cxxopts::value<std::string>(), "0,512,1536")(
        "cu-seqlens-padded", "boundaries with the padding that kernels process", cxxopts::value<std::string>(),
        "0,512,1664")("num-real-seqs", "sequences after these are mock sequences: padded, not useful",
                      cxxopts::value<std::string>(), "N")(
        "new-tokens", "n new tokens after past cached ones (repeatable)", cxxopts::value<std::vector<std::string>>(),
        "n@past")("encoder-lengths", "tokens on the encoder's side of each of --lengths", cxxopts::value<std::string>(),
                  "80,91")("sequence", "HSTU: contextual, history, targets, target group (repeatable)",
                           cxxopts::value<std::vector<std::string>>(), "c,h,t[,g]")(
        "grid", "one image or clip, in patches before merging (repeatable)", cxxopts::value<std::vector<std::string>>(),
        "t,h,w")("images", "images of the fixed size that the config states", cxxopts::value<std::string>(), "N")(
        "audio-frames", "frames of each clip that enters an audio tower", cxxopts::value<std::string>(), "3000,1200");
}

inline std::string read_file(const std::string& path, const std::string& field) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        throw error(field, fmt::format("cannot read \"{}\"", path));
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Values of a repeated option that may also stand in one, apart by commas.
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

/// "512@4096": new tokens after cached ones.
inline floptally::sequence parse_new_tokens(std::string_view text, const std::string& field) {
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
inline floptally::sequence parse_sequence(std::string_view text, const std::string& field) {
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

inline void add_sequences(const arguments& args, const floptally::model_config& model, floptally::tally& batch) {
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

/// "1,32,48": an image or a clip in patches before merging.
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

/// The image of fixed size that the config states.
inline floptally::grid fixed_image(const floptally::model_config& model) {
    for (const floptally::tower_input& tower : model.towers) {
        if (tower.image) {
            return *tower.image;
        }
    }
    throw error("images", fmt::format("{} states no size of its images; use --grid", model.model_type));
}

inline void require_tower(const arguments& args, const floptally::model_config& model, floptally::tower which,
                          const std::string& option) {
    if (args.given(option) && !model.cost.masks().has(which)) {
        throw error(arguments::field(option),
                    fmt::format("{} has no {} tower", model.model_type, floptally::name_of(which)));
    }
}

/// Images, clips and sound.
inline void add_towers(const arguments& args, const floptally::model_config& model, floptally::tally& batch) {
    require_tower(args, model, floptally::tower::vision, "grid");
    require_tower(args, model, floptally::tower::vision, "images");
    require_tower(args, model, floptally::tower::audio, "audio-frames");
    const auto grids = args.repeated("grid");
    for (std::size_t i = 0; i < grids.size(); ++i) {
        batch.add(parse_grid(grids[i], floptally::indexed("grid", i)));
    }
    if (const auto images = args.text("images")) {
        const std::uint64_t count = parse_count(*images, "images", 1, 100'000'000);
        const floptally::grid image = fixed_image(model);
        for (std::uint64_t i = 0; i < count; ++i) {
            batch.add(image);
        }
    }
    if (const auto frames = args.text("audio-frames")) {
        batch.add_audio_frames(parse_integers(*frames, "audio_frames"));
    }
}

inline void check_text(const arguments& args, const floptally::model_config& model) {
    for (const char* option : {"lengths", "lengths-file", "cu-seqlens", "new-tokens", "sequence"}) {
        if (args.given(option) && !model.cost.masks().has(floptally::tower::text)) {
            throw error(arguments::field(option),
                        fmt::format("{} has no text; use --grid, --images or --audio-frames", model.model_type));
        }
    }
}

inline void add_packed(const arguments& args, floptally::tally& batch) {
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
inline bool has_encoder(const floptally::cost& model) {
    return std::any_of(model.rows().begin(), model.rows().end(), [&](const floptally::cost_row& row) {
        return row.what == floptally::statistic::keys ||
               (row.what == floptally::statistic::pairs &&
                model.masks()[row.mask].kind() == floptally::mask_kind::cross_attention);
    });
}

inline std::uint32_t checked_frames(std::int64_t frames, std::size_t index) {
    if (frames < 0 || frames > std::int64_t{0xFFFF'FFFF}) {
        throw error(floptally::indexed("audio_frames", index),
                    fmt::format("must be from 0 to 4294967295, got {}", frames));
    }
    return static_cast<std::uint32_t>(frames);
}

/// Whether its encoder takes sound.
inline bool encodes_sound(const floptally::model_config& model) {
    return std::any_of(model.towers.begin(), model.towers.end(),
                       [](const floptally::tower_input& tower) { return tower.are_keys; });
}

/// Sequences of --lengths or of a file, each with its tokens on the encoder's side, or with its clip of --audio-frames.
inline void add_lengths(const arguments& args, const floptally::model_config& model,
                        const std::vector<std::int64_t>& lengths, const std::string& field, floptally::tally& batch) {
    if (encodes_sound(model)) {
        std::vector<std::int64_t> keys = parse_integers(*args.text("audio-frames"), "audio_frames");
        if (keys.size() != lengths.size()) {
            throw error("audio_frames", fmt::format("must be one clip for each of {} ({}), got {}", field,
                                                    lengths.size(), keys.size()));
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            keys[i] = floptally::keys_of(model, floptally::audio_clip{checked_frames(keys[i], i)});
        }
        batch.add_encoder_decoder(lengths, keys, field);
        return;
    }
    const auto other = args.text("encoder-lengths");
    if (!other) {
        batch.add_lengths(lengths, field);
        return;
    }
    batch.add_encoder_decoder(lengths, parse_integers(*other, "encoder_lengths"), field);
}

inline void check_encoder_lengths(const arguments& args, const floptally::model_config& model) {
    const bool needed = has_encoder(model.cost);
    if (encodes_sound(model)) {
        if (args.given("encoder-lengths")) {
            throw error("encoder_lengths",
                        fmt::format("follow from --audio-frames; {} has an encoder of sound", model.model_type));
        }
        if (!args.given("audio-frames")) {
            throw error("audio_frames", fmt::format("is missing; {} has an encoder of sound, and --lengths are its "
                                                    "decoder's",
                                                    model.model_type));
        }
    } else if (needed && !args.given("encoder-lengths")) {
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

inline floptally::tally read_batch(const arguments& args, const floptally::model_config& model,
                                   const floptally::mask_set& masks) {
    constexpr const char* sources[] = {"lengths",  "lengths-file", "cu-seqlens", "new-tokens",
                                       "sequence", "grid",         "images",     "audio-frames"};
    if (std::none_of(std::begin(sources), std::end(sources), [&](const char* s) { return args.given(s); }) &&
        !args.given("cu-seqlens-padded") && !args.given("num-real-seqs")) {
        throw error("lengths",
                    "no batch is given; use --lengths, --lengths-file, --cu-seqlens, --new-tokens, --sequence, --grid, "
                    "--images or --audio-frames");
    }
    check_text(args, model);
    check_encoder_lengths(args, model);
    floptally::tally batch{masks};
    if (const auto lengths = args.text("lengths")) {
        add_lengths(args, model, parse_integers(*lengths, "lengths"), "lengths", batch);
    }
    if (const auto path = args.text("lengths-file")) {
        constexpr const char* field = "lengths_file";
        add_lengths(args, model, parse_integers(read_file(*path, field), field), field, batch);
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
    add_towers(args, model, batch);
    floptally::require_placeholders(model, batch);
    return batch;
}

}  // namespace program
