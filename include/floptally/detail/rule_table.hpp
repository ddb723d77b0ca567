// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/length_block.hpp>
#include <floptally/detail/rule_call.hpp>
#include <floptally/detail/rule_words.hpp>
#include <floptally/detail/seen_keys.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// What `rule` keeps of a struct: its parameters as 32-bit words, and one table of its functions.

namespace floptally::detail {

/// "sequences", "grids of images", "clips of sound": what errors call the samples of a modality.
[[nodiscard]] constexpr const char* samples_of(modality which) {
    return which == modality::text ? "sequences" : which == modality::vision ? "grids of images" : "clips of sound";
}

template <class Rule>
constexpr void check_parameters(const Rule& made) {
    if constexpr (names_parameters<Rule> && !converts_parameters<Rule>) {
        const rule_parameters words = parameters_of(made);
        for (std::size_t i = 0; i < parameter_words<Rule>; ++i) {
            static_cast<void>(in_range(Rule::parameters[i], words.of[i]));
        }
    }
    if constexpr (requires { made.check(); }) {
        made.check();
    }
}

/// How many numbers its text form has.
template <class Rule>
[[nodiscard]] constexpr std::size_t text_parameters() {
    if constexpr (names_parameters<Rule>) {
        return sizeof(Rule::parameters) / sizeof(rule_parameter);
    } else {
        return parameter_words<Rule>;
    }
}
template <class Rule>
[[nodiscard]] constexpr rule_parameter text_parameter(std::size_t i) {
    if constexpr (names_parameters<Rule>) {
        return Rule::parameters[i];
    } else {
        return {};
    }
}

/// "name", "name(7)", "name(7,shift=3)".
template <class Rule>
void write_rule(const rule_parameters& words, std::string& to) {
    const Rule made = rule_from<Rule>(words);
    if constexpr (requires { made.write(to); }) {
        made.write(to);
        return;
    } else {
        to.append(Rule::name);
        if constexpr (text_parameters<Rule>() != 0) {
            std::int64_t values[8]{};
            if constexpr (converts_parameters<Rule>) {
                made.values(values);
            } else {
                for (std::size_t i = 0; i < parameter_words<Rule>; ++i) {
                    values[i] = words.of[i];
                }
            }
            const char* before = "(";
            for (std::size_t i = 0; i < text_parameters<Rule>(); ++i) {
                const rule_parameter of = text_parameter<Rule>(i);
                if (values[i] == of.fallback) {
                    continue;
                }
                to.append(before);
                if (of.fallback != rule_parameter::none) {
                    to.append(of.name).append("=");
                }
                to.append(std::to_string(values[i]));
                before = ",";
            }
            to.append(*before == ',' ? ")" : "");
        }
    }
}

/// What is said once for each struct: names, refusals, and its functions.
struct rule_table {
    std::string_view name;
    std::uint32_t id;
    bool counts[modality_count];
    bool is_measured;
    bool is_of_other_side;
    bool reads_other_side;
    uint128 (*of_sequence)(const rule_parameters&, const sequence&);
    uint128 (*of_grid)(const rule_parameters&, const grid&);
    uint128 (*of_clip)(const rule_parameters&, const audio_clip&);
    std::uint64_t (*over_short)(const rule_parameters&, const length_block<std::int16_t>&);
    std::uint64_t (*over_long)(const rule_parameters&, const length_block<std::int32_t>&);
    pair_shape (*shape)(const rule_parameters&);
    moment_form (*moments)(const rule_parameters&);
    /// Replaces table and parameters by those of the rule whose sums are the same; its number.
    std::uint32_t (*canonical)(const rule_table*&, rule_parameters&);
    grid_problem (*problem_of_grid)(const rule_parameters&, const grid&);
    void (*add_keys)(const rule_parameters&, const sequence&, std::uint64_t, std::uint64_t, seen_keys&);
    void (*write)(const rule_parameters&, std::string&);
};

/// What a rule makes of a sample that it counts, on the host and on a device; false where it does not count it.
template <class Rule>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool amount_of_rule(const Rule& made, const sequence& s, uint128& sum) {
    if constexpr (counts<Rule, sequence>) {
        sum = made(s);
        return true;
    } else {
        return false;
    }
}
template <class Rule>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool amount_of_rule(const Rule& made, const grid& g, uint128& sum) {
    if constexpr (counts<Rule, grid>) {
        sum = made(g);
        return true;
    } else if constexpr (counts_frame<Rule>) {
        sum = uint128{g.t} * made.of_frame(g);
        return true;
    } else if constexpr (takes_frames_as_sequences<Rule>) {
        sum = uint128{g.t} * made(sequence{static_cast<std::uint32_t>(g.frame_patches())});
        return true;
    } else {
        return false;
    }
}
template <class Rule>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool amount_of_rule(const Rule& made, const audio_clip& clip,
                                                                  uint128& sum) {
    if constexpr (counts<Rule, audio_clip>) {
        sum = made(clip);
        return true;
    } else if constexpr (takes_frames_as_sequences<Rule>) {
        sum = made(sequence{clip.frames});
        return true;
    } else {
        return false;
    }
}
template <class Rule>
inline constexpr bool counts_grids = counts<Rule, grid> || counts_frame<Rule> || takes_frames_as_sequences<Rule>;
template <class Rule>
inline constexpr bool counts_clips = counts<Rule, audio_clip> || takes_frames_as_sequences<Rule>;

template <class Rule, class Sample, bool Counted>
[[nodiscard]] constexpr auto amount_function() -> uint128 (*)(const rule_parameters&, const Sample&) {
    if constexpr (Counted) {
        return [](const rule_parameters& words, const Sample& sample) {
            uint128 sum = 0;
            static_cast<void>(amount_of_rule(rule_from<Rule>(words), sample, sum));
            return sum;
        };
    } else {
        return nullptr;
    }
}

template <class Rule, class N>
[[nodiscard]] std::uint64_t sum_over(const rule_parameters& words, const length_block<N>& block) {
    const Rule made = rule_from<Rule>(words);
    if constexpr (requires { made.over(block); }) {
        return made.over(block);
    } else if constexpr (counts<Rule, sequence>) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < block.size; ++i) {
            const std::uint64_t more = made(sequence{.length = static_cast<std::uint32_t>(block.lengths[i])});
            sum += more;
            if (sum < more) {
                throw overflow(Rule::name, "the sum does not fit 64 bits");
            }
        }
        return sum;
    } else {
        return 0;  // of a grid or of sound: a tally never asks
    }
}

template <class Rule>
[[nodiscard]] constexpr auto add_keys_function()
    -> void (*)(const rule_parameters&, const sequence&, std::uint64_t, std::uint64_t, seen_keys&) {
    if constexpr (requires(const Rule& made, const sequence& s, seen_keys& keys) { made.add_keys(s, 0U, 1U, keys); }) {
        return [](const rule_parameters& words, const sequence& s, std::uint64_t first, std::uint64_t end,
                  seen_keys& keys) { rule_from<Rule>(words).add_keys(s, first, end, keys); };
    } else {
        return nullptr;
    }
}

template <class Rule>
inline constexpr rule_table table_of{Rule::name, id_of<Rule>,
                                     {counts<Rule, sequence>, counts_grids<Rule>, counts_clips<Rule>},
                                     requires {requires Rule::is_measured;
}  // namespace floptally::detail
, requires { requires Rule::is_of_other_side; }
, requires { requires Rule::reads_other_side; }
|| requires { requires Rule::is_of_other_side; }
, amount_function<Rule, sequence, counts<Rule, sequence>>(), amount_function<Rule, grid, counts_grids<Rule>>(),
    amount_function<Rule, audio_clip, counts_clips<Rule>>(), sum_over<Rule, std::int16_t>, sum_over<Rule, std::int32_t>,
    [](const rule_parameters& words) {
        if constexpr (requires(const Rule& made) { made.shape(); }) {
            return rule_from<Rule>(words).shape();
        } else {
            return pair_shape::units;
        }
    },
    [](const rule_parameters& words) {
        if constexpr (requires(const Rule& made) { made.moments(); }) {
            return rule_from<Rule>(words).moments();
        } else {
            return moment_form{};
        }
    },
    [](const rule_table*& table, rule_parameters& words) {
        if constexpr (requires(const Rule& made) { made.canonical(); }) {
            const auto same = rule_from<Rule>(words).canonical();
            using other = std::remove_cv_t<decltype(same)>;
            table = &table_of<other>;
            words = parameters_of(same);
        }
        return table->id;
    },
    [](const rule_parameters& words, const grid& g) {
        if constexpr (requires(const Rule& made) { made.problem_of(g); }) {
            return rule_from<Rule>(words).problem_of(g);
        } else {
            return grid_problem::none;
        }
    },
    add_keys_function<Rule>(), write_rule<Rule>
}
;

}  // namespace floptally::detail
