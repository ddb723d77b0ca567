// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <floptally/batch/length_sums.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_checks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Samples and batch sources. A source is a small view of a batch. It passes each sample, with the slot that kernels
/// process for the sample, to a visitor. The same source can be added to a `tally`, a `split_tally`,
/// `placed_sequences`, a meter's microbatch or a device tally. The receiver checks each sample against its masks and
/// its slot.

namespace floptally::inline v0_3::detail {

/// Throws `error` if a grid is too large or if a mask cannot count it. For example, the height must be a multiple of
/// the merge size.
constexpr void check_grid(const grid& g, const mask_set& masks) {
    masks.require(modality::vision, "grid");
    if (has_too_large_a_frame(g)) {
        throw error("grid", text_of_large_frame(g));
    }
    for (const statistic& m : masks) {
        const grid_problem problem = m.problem_of(g);
        if (problem != grid_problem::none) {
            throw error("grid", text_of_problem(g, problem, m.parameters()));
        }
    }
}

/// Returns true if a grid's patches and text tokens fit the slot that it is padded to.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const grid& real, const grid& slot) {
    const bool nothing = real.t * real.frame_patches() == 0;
    return slot.keys >= real.keys && slot.second >= real.second && slot.third >= real.third &&
           slot.fourth >= real.fourth && slot.condition >= real.condition &&
           (nothing || (slot.t >= real.t && slot.h >= real.h && slot.w >= real.w));
}

/// Throws `error` if a grid's patches or text tokens do not fit the slot that it is padded to.
constexpr void require_room(const grid& real, const grid& slot) {
    require_room("keys", real.keys, slot.keys);
    require_room("second", real.second, slot.second);
    require_room("third", real.third, slot.third);
    require_room("fourth", real.fourth, slot.fourth);
    require_room("condition", real.condition, slot.condition);
    if (!has_room(real, slot)) {
        refuse("grid",
               {"a slot of ", text_of_grid(slot), " has no room for ", text_of_grid(real), ": enlarge the slot"});
    }
}

/// Throws for a sample that a tally with these masks cannot count.
constexpr void check_sample(const sequence& s, const mask_set& masks) {
    masks.require(modality::text, "length");
    check_sequence(s);
}
constexpr void check_sample(const grid& g, const mask_set& masks) { check_grid(g, masks); }
constexpr void check_sample(const audio_clip& /*clip*/, const mask_set& masks) {
    masks.require(modality::audio, "audio_frames");
}

/// Throws `error` if an audio clip's frames do not fit the slot that it is padded to.
constexpr void require_room(const audio_clip& real, const audio_clip& slot) {
    require_room("audio_frames", real.frames, slot.frames);
}

/// Returns true for a mock sample: one without tokens, patches or frames. Its slot is only padding.
[[nodiscard]] constexpr bool is_mock(const sequence& real) { return real.length == 0; }
[[nodiscard]] constexpr bool is_mock(const grid& real) { return real.t == 0 || real.frame_patches() == 0; }
[[nodiscard]] constexpr bool is_mock(const audio_clip& real) { return real.frames == 0; }

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// A sample: a sequence, an image or video clip, or an audio clip.
template <class T>
concept batch_sample = std::same_as<T, sequence> || std::same_as<T, grid> || std::same_as<T, audio_clip>;

/// A sample of the vision or audio tower.
template <class T>
concept tower_sample = batch_sample<T> && !std::same_as<T, sequence>;

namespace detail {

/// Takes the place of a tally's accumulators and adds nothing. If it is passed to a source's `add_to`, the source only
/// checks its numbers and throws its errors.
class checking_accumulators {
  public:
    constexpr checking_accumulators() = default;
    /// `memory` must hold two integers for each mask.
    constexpr checking_accumulators(const mask_set& masks, std::uint64_t* memory)
        : masks_(masks), useful_(memory), padded_(memory + masks.size()) {}

    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }
    [[nodiscard]] constexpr sum_space space() const { return {masks_, useful_, padded_}; }
    template <class Sample>
    [[nodiscard]] constexpr int amounts_of(view /*seen*/, const Sample& /*sample*/, std::uint64_t /*times*/) const {
        return 0;
    }
    template <class Useful, class Padded>
    constexpr void commit(const Useful& /*useful*/, const Padded& /*padded*/) const {}

  private:
    mask_set masks_{};
    std::uint64_t* useful_ = nullptr;
    std::uint64_t* padded_ = nullptr;
};

/// A visitor of samples that does nothing. Used to test whether a type is a source.
template <class Sample>
struct takes_samples {
    constexpr void operator()(const Sample& /*real*/, const Sample& /*slot*/) const {}
};

}  // namespace detail

/// A batch in any format, including your own. A batch source has these two members.
///
///     using sample = sequence;  // or grid, or audio_clip
///     template <class Visit> constexpr void each(Visit visit) const;
///
/// `each` calls `visit(real, slot)` for every sample, in order. Pass {} as `real` for a mock sample: its slot counts as
/// padded, not as useful. `each` throws `error` for an invalid format, and the receiver then stays unchanged. The
/// receiver checks that a sample is valid and fits its slot. `each` may be called twice and must then pass equal
/// samples.
template <class Source>
concept batch_source = requires {
    typename Source::sample;
}
&&batch_sample<typename Source::sample>&& requires(const Source& source) {
    source.each(detail::takes_samples<typename Source::sample>{});
};

/// A source that can be added faster than sample by sample. Its `add_to(accumulators)` computes the sums over all
/// samples and adds them to a tally's accumulators. It must throw the same errors as adding the samples one by one, and
/// add nothing if it throws. In your own source you can call `add_to` of one of the library's sources.
template <class Source>
concept summed_source = batch_source<Source> &&
    requires(const Source& source, detail::checking_accumulators& accumulators) {
    source.add_to(accumulators);
};

namespace detail {

/// A class that is not a batch source but seems meant as one: it has a type `sample` or a function `each`.
template <class T>
concept fails_as_source =
    std::is_class_v<T> && !batch_source<T> &&
    (
        requires { typename T::sample; } || requires(T & source) { source.each(takes_samples<sequence>{}); });

/// Fails to compile, with a message that says what a class lacks to be a batch source.
template <fails_as_source T>
constexpr void say_what_a_batch_lacks() {
    constexpr bool has_samples = requires { requires batch_sample<typename T::sample>; };
    static_assert(has_samples,
                  "this type is not a batch source: add `using sample = floptally::sequence;`, or grid, or "
                  "audio_clip");
    static_assert(!has_samples,
                  "this type is not a batch source: add `template <class Visit> void each(Visit visit) const`, "
                  "which calls visit(real, slot); mind the const");
}

/// Calls `source.each(visit)`. If this throws and the source has `add_to`, throws the error that a tally with `masks`
/// would throw.
template <batch_source Source, class Visit>
constexpr void visit_samples(const Source& source, const mask_set& masks, Visit visit) {
    if constexpr (summed_source<Source>) {
        try {
            source.each(visit);
        } catch (const error&) {
            list<std::uint64_t> memory;
            checking_accumulators accumulators(masks, memory.resized(2 * masks.size()));
            source.add_to(accumulators);
            throw;
        }
    } else {
        source.each(visit);
    }
}

}  // namespace detail

/// The shape [rows, columns] of a BSHD batch: `rows` sequences of `columns` token slots.
struct batch_shape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;

    [[nodiscard]] friend constexpr bool operator==(const batch_shape&, const batch_shape&) = default;
};

/// A sample and its slot.
template <batch_sample Sample>
struct slotted {
    Sample real;
    Sample slot;

    [[nodiscard]] friend constexpr bool operator==(const slotted&, const slotted&) = default;
};

/// A sequence and its slot. If `real` is {}, it is a mock sequence: the slot is only padding.
using slotted_sequence = slotted<sequence>;

/// A batch of `times()` equal samples without padding. Counting takes the same time for any number of samples.
template <batch_sample Sample>
class equal_samples {
  public:
    using sample = Sample;

    constexpr equal_samples(const Sample& value, std::uint64_t times) : value_(value), times_(times) {}

    [[nodiscard]] constexpr const Sample& value() const { return value_; }
    [[nodiscard]] constexpr std::uint64_t times() const { return times_; }

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (std::uint64_t i = 0; i < times_; ++i) {
            visit(value_, value_);
        }
    }
    template <class Accumulators>
    constexpr void add_to(Accumulators& accumulators) const {
        detail::check_sample(value_, accumulators.masks());
        const auto amounts = accumulators.amounts_of(view::useful, value_, times_);
        accumulators.commit(amounts, amounts);
    }

  private:
    Sample value_;
    std::uint64_t times_;
};

/// A batch of samples in an array. Each element is a sample without padding, or a sample together with its padded slot
/// (`slotted`).
template <class Element>
class listed_samples {
    template <class T>
    struct sample_of {
        using type = T;
    };
    template <class Sample>
    struct sample_of<slotted<Sample>> {
        using type = Sample;
    };

  public:
    using sample = typename sample_of<Element>::type;

    constexpr listed_samples(std::span<const Element> samples)  // NOLINT(google-explicit-constructor): a view
        : samples_(samples) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (const Element& element : samples_) {
            if constexpr (std::is_same_v<Element, sample>) {
                visit(element, element);
            } else {
                visit(element.real, element.slot);
            }
        }
    }

  private:
    std::span<const Element> samples_;
};

template <class Range>
listed_samples(const Range& range) -> listed_samples<typename decltype(std::span{range})::value_type>;

}  // namespace floptally
