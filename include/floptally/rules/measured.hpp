// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/rules/moments.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `measured("loss_tokens")`: the rule of a word that a caller measures.

namespace floptally {

/// The rule of the word that a caller measures under that name.
[[nodiscard]] constexpr rule measured(std::string_view name) { return unit_rules::measured::of(name); }

/// The name of the word for work that runs once in each pass of a model, whatever its batch: products of parameters
/// alone. Its number is not summed over layers, as visits of experts are, so that rows over it add up and scale as rows
/// over tokens do.
inline constexpr std::string_view passes_word = "passes";
/// True for the word `passes_word`.
[[nodiscard]] constexpr bool counts_passes(const rule& word) {
    return word.is<unit_rules::measured>() && word.as<unit_rules::measured>().word() == passes_word;
}

}  // namespace floptally
