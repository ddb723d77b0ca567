// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

/// A statistic: a rule over the samples of one modality, as a small trivially copyable value.
///
/// Any struct that is a `statistic_rule` becomes one, the library's and a user's alike: `rule(dilated_window{4, 2})`.
/// It is kept by its parameters and a table of its functions, so that one value serves the host, a constant expression
/// and a kernel. The masks of attention are made by `mask::causal()` and its neighbours (mask.hpp).
class rule {
    // First, since clang evaluates templates in constant expressions only where they stand above their use.
    template <class Function, class Sample>
    [[nodiscard]] constexpr uint128 call(Function function, const Sample& sample, modality which) const {
        if (function == nullptr) {
            detail::refuse(name(), {"counts no ", detail::samples_of(which)});
        }
        return function(parameters_, sample);
    }

  public:
    /// The causal mask.
    constexpr rule();

    /// Over the samples that it counts: sequences where it counts those, else grids, else clips of sound.
    template <statistic_rule Rule>
    constexpr rule(const Rule& made)  // NOLINT(google-explicit-constructor): a rule is what its struct says
        : rule(detail::table_of<Rule>, detail::parameters_of(made)) {}

    /// A struct that was meant as a rule and is none does not compile, with what to mend.
    template <detail::fails_as_rule T>
    constexpr rule(const T& /*made*/)  // NOLINT(google-explicit-constructor): as above
        : rule() {
        detail::say_what_is_missing<T>();
    }

    /// A rule by the table of its struct and its words: how a text is read, and what makes one of numbers.
    constexpr rule(const detail::rule_table& table, const detail::rule_parameters& words)
        : table_(&table),
          parameters_(words),
          id_(table.id),
          in_(table.counts[0] || table.is_measured ? modality::text
              : table.counts[1]                    ? modality::vision
                                                   : modality::audio) {
        detail::check_parameters(table, words);
    }

    /// The same over the samples of another modality; one that it does not count is an error.
    [[nodiscard]] constexpr rule in(modality which) const {
        if (!counts(which)) {
            detail::refuse(name(), {"counts no ", detail::samples_of(which)});
        }
        rule moved = *this;
        moved.in_ = which;
        return moved;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality in() const { return in_; }
    [[nodiscard]] constexpr bool counts(modality which) const {
        return table_->counts[static_cast<std::size_t>(which)] || table_->is_measured;
    }

    /// What one sample adds; of a grid it can be above 64 bits.
    [[nodiscard]] constexpr uint128 amount(const sequence& sample) const {
        if (id_ == detail::id_of<mask_rules::band>) {  // most of all masks: no call through the table
            return detail::rule_from<mask_rules::band>(parameters_)(sample);
        }
        return call(table_->of_sequence, sample, modality::text);
    }
    [[nodiscard]] constexpr uint128 amount(const grid& sample) const {
        if (table_->of_frame != nullptr) {
            return uint128{sample.t} * table_->of_frame(parameters_, sample);
        }
        if (table_->of_grid == nullptr && table_->frames_are_sequences) {
            return uint128{sample.t} * table_->of_sequence(parameters_, detail::sequence_of_frame(sample));
        }
        return call(table_->of_grid, sample, modality::vision);
    }
    [[nodiscard]] constexpr uint128 amount(const audio_clip& sample) const {
        if (table_->of_clip == nullptr && table_->frames_are_sequences) {
            return table_->of_sequence(parameters_, sequence{sample.frames});
        }
        return call(table_->of_clip, sample, modality::audio);
    }

    /// The same in 64 bits, or `overflow`. Of a sequence it always fits.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t operator()(const Sample& sample) const {
        const uint128 value = amount(sample);
        if ((value >> 64) != 0) {
            throw overflow(name(), detail::text_of({to_string(value), " does not fit 64 bits"}));
        }
        return static_cast<std::uint64_t>(value);
    }
    /// What a sequence of so many tokens adds, without a past and without keys; nothing to a measured word, or where it
    /// is over another modality.
    [[nodiscard]] constexpr std::uint64_t of_length(std::uint32_t length) const {
        if (in_ != modality::text) {
            return 0;
        }
        if (id_ == detail::id_of<mask_rules::band>) {  // most of all masks: no call through the table
            return detail::rule_from<mask_rules::band>(parameters_).of_length(length);
        }
        return is_measured() ? 0 : (*this)(sequence{.length = length});
    }
    /// Of a mask: its attended (query, key) pairs.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t pairs(const Sample& sample) const {
        return (*this)(sample);
    }

    /// Σ over a block of lengths, each a sequence of its own.
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        std::uint64_t (*own)(const detail::rule_parameters&, const detail::length_block<N>&) = nullptr;
        if constexpr (sizeof(N) == 2) {
            own = table_->over_short;
        } else {
            own = table_->over_long;
        }
        if (own != nullptr) {
            return own(parameters_, block);
        }
        // To a measured word no sample adds.
        return table_->of_sequence == nullptr ? 0 : detail::sum_one_by_one(*table_, parameters_, block);
    }

    /// Whether it is made of this struct, and that struct again; only where it is.
    template <statistic_rule Rule>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is() const {
        return id_ == detail::id_of<Rule>;
    }
    template <statistic_rule Rule>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Rule as() const {
        return detail::rule_from<Rule>(parameters_);
    }

    /// What conventions may make of its pairs.
    [[nodiscard]] constexpr pair_shape shape() const {
        return table_->shape == nullptr ? pair_shape::units : table_->shape(parameters_);
    }
    /// Its sum by the moments that every tally keeps, where it has such a form and needs no word.
    [[nodiscard]] constexpr moment_form moments() const {
        return table_->moments == nullptr ? moment_form{} : table_->moments(parameters_);
    }
    [[nodiscard]] constexpr bool is_polynomial() const { return moments().exists; }
    /// Equal sums, equal value: what the word of a tally is found by. `top_k(100)` is `sliding_window(100)`.
    [[nodiscard]] constexpr rule canonical() const {
        rule same = *this;
        if (table_->canonical != nullptr) {
            table_->canonical(same.table_, same.parameters_);
            same.id_ = same.table_->id;
        }
        return same;
    }
    /// True of words that a caller measures and adds (`measured`): no sample adds to them.
    [[nodiscard]] constexpr bool is_measured() const { return table_->is_measured; }
    /// True where its queries are the tokens of the other side of an encoder-decoder.
    [[nodiscard]] constexpr bool is_of_other_side() const { return table_->is_of_other_side; }
    /// True where the tokens of the other side enter it.
    [[nodiscard]] constexpr bool reads_other_side() const { return table_->reads_other_side; }

    /// Why a grid cannot be counted.
    [[nodiscard]] constexpr grid_problem problem_of(const grid& sample) const {
        return table_->problem_of_grid == nullptr ? grid_problem::none : table_->problem_of_grid(parameters_, sample);
    }

    /// The keys that the queries at positions first … end − 1 see, where it says which and not only how many.
    [[nodiscard]] constexpr bool says_which_keys() const { return table_->add_keys != nullptr; }
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, detail::seen_keys& keys) const {
        if (table_->add_keys == nullptr) {
            detail::refuse("mask", {name(), " says how many keys a query sees, not which"});
        }
        table_->add_keys(parameters_, s, first, end, keys);
    }

    /// "causal", "sliding_window(4096)", "vision.grid_windows(7,shift=3)": its one text form, which `rule_named` reads.
    [[nodiscard, gnu::cold, gnu::noinline]] std::string name() const {
        std::string text;
        detail::write_rule(*table_, parameters_, text);
        return qualified(in_, text);
    }

    /// The name that its struct says: the family of which `name()` is one.
    [[nodiscard]] constexpr std::string_view struct_name() const { return table_->name; }

    /// What a kernel compiled with its struct needs.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint32_t id() const { return id_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr const detail::rule_parameters& parameters() const {
        return parameters_;
    }

    [[nodiscard]] friend constexpr bool operator==(const rule& a, const rule& b) {
        return a.id_ == b.id_ && a.in_ == b.in_ && a.parameters_ == b.parameters_ && a.table_->name == b.table_->name;
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

// In one step: where a constant has room for sixteen rules it makes sixteen of these first.
constexpr rule::rule()
    : table_(&detail::table_of<mask_rules::band>),
      parameters_(detail::causal_words),
      id_(detail::id_of<mask_rules::band>) {}

/// A causal window of keys, which most counters have a way of their own for.
[[nodiscard]] constexpr bool is_sliding_window(const rule& attends) {
    return attends.is<mask_rules::band>() && attends.as<mask_rules::band>().is_sliding_window();
}

static_assert(sizeof(rule) == 32);

}  // namespace floptally
