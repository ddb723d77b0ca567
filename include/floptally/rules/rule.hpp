// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_checks.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/rules/table_of.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `rule`: what one sample counts, as a value made of any struct that is a rule.

namespace floptally {

/// A rule, what one sample of its modality counts, as a small trivially copyable value.
///
/// Any struct that is a `statistic_rule` converts to it, the library's and a user's alike: `rule(dilated_window{4,
/// 2})`. It keeps the struct's parameters and a table of its functions, so that one value serves the host, a constant
/// expression and a kernel. The masks of attention are made by `mask::causal()` and its neighbours (mask.hpp).
class rule {
    // First, since clang evaluates templates in constant expressions only where they stand above their use.
    template <class Function, class Sample>
    [[nodiscard]] constexpr uint128 call(const Function& function, const Sample& sample, modality which) const {
        if (!function) {
            detail::refuse(name(), {"counts no ", detail::samples_of(which)});
        }
        return function(parameters_, sample);
    }

    /// True for the most frequent masks, which are called without the table.
    [[nodiscard]] constexpr bool is_band() const {
        return id_ == detail::id_of<mask_rules::band> && table_ == &detail::table_of<mask_rules::band>;
    }

    constexpr void require_countable(const sequence& sample) const {
        if (detail::is_too_long(sample)) {
            throw overflow("past", detail::text_of_long_sequence(sample));
        }
    }
    constexpr void require_countable(const grid& sample) const {
        if (detail::has_too_large_a_frame(sample)) {
            throw overflow("grid", detail::text_of_large_frame(sample));
        }
        const grid_problem problem = problem_of(sample);
        if (problem == grid_problem::too_large) {
            throw overflow("grid", detail::text_of_problem(sample, problem, parameters_));
        }
        if (problem != grid_problem::none) {
            throw error("grid", detail::text_of_problem(sample, problem, parameters_));
        }
    }
    constexpr void require_countable(const audio_clip& /*sample*/) const {}

  public:
    /// The causal mask: every query sees itself and the keys before it.
    constexpr rule();

    /// The rule of a struct, over the samples that it counts: sequences, or else grids, or else clips of sound.
    template <statistic_rule Rule>
    constexpr rule(const Rule& made)  // NOLINT(google-explicit-constructor): a rule is what its struct says
        : rule(detail::table_of<Rule>, detail::parameters_of(made)) {}

    /// A compile error for a struct that was meant as a rule and is none; it says what to mend.
    template <detail::fails_as_rule T>
    constexpr rule(const T& /*made*/)  // NOLINT(google-explicit-constructor): as above
        : rule() {
        detail::say_what_is_missing<T>();
    }

    /// The rule of a table and its parameters; a parameter out of its range is `error`. Texts and `make_rule` use it.
    /// Where these parameters make it equal to another rule it becomes that rule: `prefix_lm(0)` is `causal`.
    constexpr rule(const detail::rule_table& table, const detail::rule_parameters& words)
        : table_(&table), parameters_(words), id_(table.id) {
        detail::check_parameters(table, words);
        if (table.equal) {
            table.equal(table_, parameters_);
            id_ = table_->id;
        }
        in_ = table_->counts[0] || table_->is_measured ? modality::text
              : table_->counts[1]                      ? modality::vision
                                                       : modality::audio;
    }

    /// This rule over the samples of another modality; a modality that it does not count is `error`.
    [[nodiscard]] constexpr rule in(modality which) const {
        if (!counts(which)) {
            detail::refuse(name(), {"counts no ", detail::samples_of(which)});
        }
        rule moved = *this;
        moved.in_ = which;
        return moved;
    }
    /// The modality whose samples it counts.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality in() const { return in_; }
    /// True where it counts the samples of that modality; a measured word may be of any.
    [[nodiscard]] constexpr bool counts(modality which) const {
        return table_->counts[static_cast<std::size_t>(which)] || table_->is_measured;
    }

    /// The integer that one sample adds; that of a grid can be above 64 bits. A sequence or a frame above
    /// `max_sequence_length` is `overflow`, a grid that the rule cannot count (`problem_of`) is `error`.
    template <class Sample>
    [[nodiscard]] constexpr uint128 amount(const Sample& sample) const {
        require_countable(sample);
        return amount_of_countable(sample);
    }
    /// The amount of a sample that was checked before; tallies add it.
    [[nodiscard]] constexpr uint128 amount_of_countable(const sequence& sample) const {
        if (is_band()) {
            return detail::rule_from<mask_rules::band>(parameters_)(sample);
        }
        return call(table_->of_sequence, sample, modality::text);
    }
    [[nodiscard]] constexpr uint128 amount_of_countable(const grid& sample) const {
        if (table_->of_frame) {
            return sample.t * table_->of_frame(parameters_, sample);
        }
        if (!table_->of_grid && table_->frames_are_sequences) {
            return uint128{sample.t} * table_->of_sequence(parameters_, detail::sequence_of_frame(sample));
        }
        return call(table_->of_grid, sample, modality::vision);
    }
    [[nodiscard]] constexpr uint128 amount_of_countable(const audio_clip& sample) const {
        if (!table_->of_clip && table_->frames_are_sequences) {
            return table_->of_sequence(parameters_, sequence{sample.frames});
        }
        return call(table_->of_clip, sample, modality::audio);
    }

    /// `amount` in 64 bits; `overflow` where it does not fit.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t operator()(const Sample& sample) const {
        const uint128 value = amount(sample);
        if ((value >> 64) != 0) {
            throw overflow(name(), detail::text_of({to_string(value), " does not fit 64 bits"}));
        }
        return static_cast<std::uint64_t>(value);
    }
    /// The amount of a sequence of `length` tokens without a past and without keys; 0 for a measured word and for a
    /// rule over another modality.
    [[nodiscard]] constexpr std::uint64_t of_length(std::uint32_t length) const {
        if (in_ != modality::text) {
            return 0;
        }
        if (is_band()) {
            return detail::rule_from<mask_rules::band>(parameters_).of_length(length);
        }
        return is_measured() ? 0 : (*this)(sequence{.length = length});
    }
    /// The (query, key) pairs that a mask attends: `amount` in 64 bits.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t pairs(const Sample& sample) const {
        return (*this)(sample);
    }

    /// The sum of the amounts of a block of lengths, each a sequence of its own.
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (const auto& own = table_->over<N>()) {
            return own(parameters_, block);
        }
        // No sample adds to a measured word.
        return table_->of_sequence ? detail::sum_one_by_one(*table_, parameters_, block) : 0;
    }

    /// True where it was made of the struct `Rule`.
    template <statistic_rule Rule>
    [[nodiscard]] constexpr bool is() const {
        return id_ == detail::id_of<Rule> && detail::is_same_struct(*table_, detail::table_of<Rule>);
    }
    /// The struct that it was made of; only where `is<Rule>()`.
    template <statistic_rule Rule>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Rule as() const {
        return detail::rule_from<Rule>(parameters_);
    }

    /// The shape by which a convention may count its pairs otherwise.
    [[nodiscard]] constexpr pair_shape shape() const {
        return table_->shape ? table_->shape(parameters_) : pair_shape::units;
    }
    /// Its sum in the moments that every tally keeps; without a form (`exists` false) where it needs a word of its own.
    [[nodiscard]] constexpr moment_form moments() const {
        return table_->moments ? table_->moments(parameters_) : moment_form{};
    }
    /// True where its sum follows from the moments.
    [[nodiscard]] constexpr bool is_polynomial() const { return moments().exists; }
    /// The rule by which a tally finds its word: rules with equal sums have the same one. `top_k(100)` gives
    /// `sliding_window(100)`.
    [[nodiscard]] constexpr rule canonical() const {
        rule same = *this;
        if (table_->canonical) {
            table_->canonical(same.table_, same.parameters_);
            same.id_ = same.table_->id;
        }
        return same;
    }
    /// True for words that a caller measures and adds (`measured`): no sample adds to them.
    [[nodiscard]] constexpr bool is_measured() const { return table_->is_measured; }
    /// True where its queries are the tokens of the other side of an encoder-decoder.
    [[nodiscard]] constexpr bool is_of_other_side() const { return table_->is_of_other_side; }
    /// True where the tokens of the other side enter it.
    [[nodiscard]] constexpr bool reads_other_side() const { return table_->reads_other_side; }

    /// The reason why it cannot count a grid, or `none`.
    [[nodiscard]] constexpr grid_problem problem_of(const grid& sample) const {
        return table_->problem_of_grid ? table_->problem_of_grid(parameters_, sample) : grid_problem::none;
    }

    /// True where it says which keys a query sees, and not only how many.
    [[nodiscard]] constexpr bool says_which_keys() const { return bool{table_->add_keys}; }
    /// Adds the keys that the queries at positions first … end − 1 see; `error` where it does not say which.
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, detail::seen_keys& keys) const {
        if (!table_->add_keys) {
            detail::refuse("mask", {name(), " says how many keys a query sees, not which"});
        }
        table_->add_keys(parameters_, s, first, end, keys);
    }

    /// The text form of the rule, which `rule_named` reads: "causal", "sliding_window(4096)",
    /// "vision.grid_windows(7,shift=3)".
    [[nodiscard, gnu::cold, gnu::noinline]] std::string name() const {
        std::string text;
        detail::write_rule(*table_, parameters_, text);
        return qualified(in_, text);
    }

    /// Throws `error` at `field` where the other rule is of another struct with the same name.
    constexpr void require_own_name(const rule& other, const char* field) const {
        detail::require_own_name(*table_, *other.table_, field);
    }

    /// The hash of its struct's name (`detail::id_of`), by which a kernel finds the struct.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint32_t id() const { return id_; }
    /// The parameters of its struct, as 32-bit integers.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr const detail::rule_parameters& parameters() const {
        return parameters_;
    }

    [[nodiscard]] friend constexpr bool operator==(const rule& a, const rule& b) {
        return a.id_ == b.id_ && a.in_ == b.in_ && a.parameters_ == b.parameters_ &&
               detail::is_same_struct(*a.table_, *b.table_);
    }

  private:
    const detail::rule_table* table_;
    detail::rule_parameters parameters_{};
    std::uint32_t id_;
    modality in_ = modality::text;
};

namespace detail {
inline constexpr rule_parameters causal_words = parameters_of(mask_rules::band{});
}  // namespace detail

// In one step: a constant with room for sixteen rules first makes sixteen of these.
constexpr rule::rule()
    : table_(&detail::table_of<mask_rules::band>),
      parameters_(detail::causal_words),
      id_(detail::id_of<mask_rules::band>) {}

/// True for a causal window of keys, which most published counters treat in their own way.
[[nodiscard]] constexpr bool is_sliding_window(const rule& attends) {
    return attends.is<mask_rules::band>() && attends.as<mask_rules::band>().is_sliding_window();
}

static_assert(sizeof(rule) == 32);

}  // namespace floptally
