// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_checks.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `statistic`: a value that maps one sample to an integer. Any struct that is a `statistic_type` can be made a
/// `statistic`.

namespace floptally::inline v0_3 {

/// A statistic maps one sample of its modality to an integer: attended pairs of a mask, patches, L². It is a small,
/// trivially copyable value.
///
/// Any `statistic_type` struct converts to a `statistic`, whether the library's or your own:
/// `statistic(dilated_window{4, 2})`. The statistic keeps the struct's parameters and a pointer to a table of the
/// struct's functions. So one statistic works in host code, in constant expressions and in CUDA kernels.
/// `mask::causal()` and the other functions of `mask` make attention masks (statistics/mask.hpp).
class statistic {
    // Private members come first: in a constant expression, clang can call a template only after the definition of the
    // template.
    template <class Function, class Sample>
    [[nodiscard]] constexpr uint128 call(const Function& function, const Sample& sample, modality which) const {
        if (!function) {
            detail::refuse(
                name(), {"cannot count ", detail::samples_of(which), ": use a statistic that can be called with them"});
        }
        return function(parameters_, sample);
    }

    /// Returns true for bands, the most frequent masks. Their functions are called directly, without the table.
    [[nodiscard]] constexpr bool is_band() const {
        return id_ == detail::id_of<mask_statistics::band> && table_ == &detail::table_of<mask_statistics::band>;
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
    /// The causal mask: every query attends to itself and to the keys before it.
    constexpr statistic();

    /// Makes the statistic of a struct. Its modality is the first one that the struct counts, in the order text,
    /// vision, audio.
    template <statistic_type Statistic>
    constexpr statistic(
        const Statistic& value)  // NOLINT(google-explicit-constructor): a struct stands for its statistic
        : statistic(detail::table_of<Statistic>, detail::parameters_of(value)) {}

    /// The compiler chooses this constructor for a struct that looks like a statistic but is not one. The constructor
    /// then fails to compile, with a message that says what to change.
    template <detail::fails_as_statistic T>
    constexpr statistic(const T& /*value*/)  // NOLINT(google-explicit-constructor): for the same reason
        : statistic() {
        detail::say_what_is_missing<T>();
    }

    /// Makes a statistic from a table and parameters, for functions that read texts and for `make_statistic`. Throws
    /// `error` for a parameter out of its range. If another statistic counts the same for these parameters, the result
    /// is that statistic: `prefix_lm(0)` becomes `causal`.
    constexpr statistic(const detail::statistic_table& table, const parameter_values& parameters)
        : table_(&table), parameters_(parameters), id_(table.id) {
        detail::check_parameters(table, parameters);
        if (table.equal) {
            table.equal(table_, parameters_);
            id_ = table_->id;
        }
        in_ = table_->counts[0] || table_->is_measured ? modality::text
              : table_->counts[1]                      ? modality::vision
                                                       : modality::audio;
    }

    /// Returns this statistic over the samples of another modality. Throws `error` if this statistic cannot count that
    /// modality.
    [[nodiscard]] constexpr statistic in(modality which) const {
        if (!counts(which)) {
            cannot_count(which);
        }
        statistic moved = *this;
        moved.in_ = which;
        return moved;
    }
    /// Returns the modality whose samples this statistic counts.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality in() const { return in_; }
    /// Returns true if this statistic can count the samples of that modality. A measured accumulator may have any
    /// modality.
    [[nodiscard]] constexpr bool counts(modality which) const {
        return table_->counts[static_cast<std::size_t>(which)] || table_->is_measured;
    }

    /// Returns the integer that one sample adds. The integer of a grid may need more than 64 bits. Throws `overflow`
    /// for a sequence or a frame above `max_sequence_length`, and `error` for a grid that the statistic cannot count
    /// (`problem_of`).
    template <class Sample>
    [[nodiscard]] constexpr uint128 amount(const Sample& sample) const {
        require_countable(sample);
        return amount_of_countable(sample);
    }
    /// Returns the amount of a sample without checks. Tallies call it for samples that they have already checked.
    [[nodiscard]] constexpr uint128 amount_of_countable(const sequence& sample) const {
        if (is_band()) {
            return detail::statistic_from<mask_statistics::band>(parameters_)(sample);
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

    /// Returns `amount` in 64 bits. Throws `overflow` if it does not fit.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t operator()(const Sample& sample) const {
        const uint128 value = amount(sample);
        if ((value >> 64) != 0) {
            throw overflow(name(), detail::text_of({to_string(value), " does not fit 64 bits: use a smaller sample"}));
        }
        return static_cast<std::uint64_t>(value);
    }
    /// Returns the amount of a sequence of `length` tokens without cached tokens or encoder tokens. Returns 0 for a
    /// measured accumulator and for a statistic of another modality.
    [[nodiscard]] constexpr std::uint64_t of_length(std::uint32_t length) const {
        if (in_ != modality::text) {
            return 0;
        }
        if (is_band()) {
            return detail::statistic_from<mask_statistics::band>(parameters_).of_length(length);
        }
        return is_measured() ? 0 : (*this)(sequence{.length = length});
    }
    /// Returns the number of attended (query, key) pairs of a mask: `amount` in 64 bits.
    template <class Sample = sequence>
    [[nodiscard]] constexpr std::uint64_t pairs(const Sample& sample) const {
        return (*this)(sample);
    }

    /// Returns the sum of `of_length` over a block of lengths. Throws `overflow` above 64 bits.
    [[nodiscard]] std::uint64_t over(const length_block& block) const {
        if (in_ != modality::text) {
            return 0;
        }
        if (is_band()) {
            return detail::statistic_from<mask_statistics::band>(parameters_).over(block);
        }
        // The table of a measured accumulator has no `over`, because samples add nothing to it.
        return table_->over ? table_->over(parameters_, block) : 0;
    }

    /// Returns true if this statistic was made from the struct `Statistic`.
    template <statistic_type Statistic>
    [[nodiscard]] constexpr bool is() const {
        // This line compares ids and names, not tables, because the compiler would generate the table if this line
        // mentioned the table.
        return id_ == detail::id_of<Statistic> &&
               detail::is_same_struct(table_->name, table_->spelled, Statistic::name, detail::spelled<Statistic>());
    }
    /// Returns the struct that this statistic was made from. Requires `is<Statistic>()`.
    template <statistic_type Statistic>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Statistic as() const {
        return detail::statistic_from<Statistic>(parameters_);
    }

    /// Returns the shape of the counted pairs. Conventions that count squares or triangles instead of these pairs read
    /// the shape.
    [[nodiscard]] constexpr pair_shape shape() const {
        return table_->shape ? table_->shape(parameters_) : pair_shape::units;
    }
    /// Returns true if the amount of each query depends only on its position, and not on where the sequence or the pass
    /// ends. Then the amount of a sequence is the same, however it is divided into passes.
    [[nodiscard]] constexpr bool counts_by_position() const {
        return table_->counts_by_position && table_->counts_by_position(parameters_);
    }
    /// Returns how to compute this statistic's sum from the moments that every tally keeps. In the result, `exists` is
    /// false if this is not possible and the tally needs another accumulator.
    [[nodiscard]] constexpr moment_form moments() const {
        return table_->moments ? table_->moments(parameters_) : moment_form{};
    }
    /// Returns true if this statistic's sum follows from the moments of a batch.
    [[nodiscard]] constexpr bool is_polynomial() const { return moments().exists; }
    /// Returns the statistic under which a tally stores this one. Statistics with equal sums share an accumulator:
    /// `top_k(100)` gives `sliding_window(100)`.
    [[nodiscard]] constexpr statistic canonical() const {
        statistic same = *this;
        if (table_->canonical) {
            table_->canonical(same.table_, same.parameters_);
            same.id_ = same.table_->id;
        }
        return same;
    }
    /// Returns true for accumulators that a caller measures and adds (`measured`). Samples add nothing to them.
    [[nodiscard]] constexpr bool is_measured() const { return table_->is_measured; }
    /// Returns true if the queries are the tokens of the encoder's side of an encoder-decoder.
    [[nodiscard]] constexpr bool is_of_other_side() const { return table_->is_of_other_side; }
    /// Returns true if this statistic depends on the tokens of the encoder's side.
    [[nodiscard]] constexpr bool reads_other_side() const { return table_->reads_other_side; }

    /// Returns the reason why this statistic cannot count a grid, or `none`.
    [[nodiscard]] constexpr grid_problem problem_of(const grid& sample) const {
        return table_->problem_of_grid ? table_->problem_of_grid(parameters_, sample) : grid_problem::none;
    }

    /// Returns true if this mask can list the keys to which a query attends, and not only their number.
    [[nodiscard]] constexpr bool says_which_keys() const { return bool{table_->add_keys}; }
    /// Adds the keys to which the queries at positions first … end − 1 attend. Throws `error` if the mask knows only
    /// their number.
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, seen_keys& keys) const {
        if (!table_->add_keys) {
            detail::refuse(
                "mask",
                {name(),
                 " knows how many keys a query sees, but not which: pass a mask with `add_keys`, such as a window"});
        }
        table_->add_keys(parameters_, s, first, end, keys);
    }

    /// Returns the statistic as text that `statistic_named` reads: "causal", "sliding_window(4096)",
    /// "vision.grid_windows(7,shift=3)".
    [[nodiscard, gnu::cold, gnu::noinline]] std::string name() const {
        std::string text;
        detail::write_statistic(*table_, parameters_, text);
        return qualified(in_, text);
    }

    /// If the other statistic has a different struct with the same name, throws an `error` that names `field`.
    constexpr void require_own_name(const statistic& other, const char* field) const {
        detail::require_own_name(*table_, *other.table_, field);
    }

    /// Returns the hash of the name of this statistic's struct (`detail::id_of`). A kernel identifies the struct by
    /// this hash.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint32_t id() const { return id_; }
    /// Returns the parameters of this statistic's struct as 32-bit integers.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr const parameter_values& parameters() const { return parameters_; }

    [[nodiscard]] friend constexpr bool operator==(const statistic& a, const statistic& b) {
        return a.id_ == b.id_ && a.in_ == b.in_ && a.parameters_ == b.parameters_ &&
               detail::is_same_struct(*a.table_, *b.table_);
    }

  private:
    /// Throws `error` for samples of another modality. Not constexpr: in a constant expression the compiler stops here
    /// and shows the name of this function.
    [[noreturn, gnu::cold, gnu::noinline]] void cannot_count(modality which) const {
        detail::refuse(name(),
                       {"cannot count ", detail::samples_of(which), ": use a statistic that can be called with them"});
    }

    const detail::statistic_table* table_;
    parameter_values parameters_{};
    std::uint32_t id_;
    modality in_ = modality::text;
};

/// Writes the text of a statistic to a stream: "sliding_window(4096)".
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const statistic& shown) {
    return to << shown.name();
}

namespace detail {
inline constexpr parameter_values causal_parameters = parameters_of(mask_statistics::band{});
}  // namespace detail

// Sets the members directly and does not use `band`, to save compile time: an array of sixteen statistics runs this
// constructor sixteen times.
constexpr statistic::statistic()
    : table_(&detail::table_of<mask_statistics::band>),
      parameters_(detail::causal_parameters),
      id_(detail::id_of<mask_statistics::band>) {}

/// Returns true for a sliding window. Most published FLOP counters have a special rule for sliding windows.
[[nodiscard]] constexpr bool is_sliding_window(const statistic& mask) {
    return mask.is<mask_statistics::band>() && mask.as<mask_statistics::band>().is_sliding_window();
}

static_assert(sizeof(statistic) == 24 + sizeof(void*));

}  // namespace floptally
