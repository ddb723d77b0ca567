// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sources: small views of a batch that show each sample with the slot that kernels process for it. One source can be
/// added to whatever counts: `tally`, `split_tally`, `packed_row`, a meter's microbatch, a device.

namespace floptally {

/// A sample: a sequence, an image or clip, a clip of sound. Samples are counted one by one.
template <class T>
concept batch_sample = std::same_as<T, sequence> || std::same_as<T, grid> || std::same_as<T, audio_clip>;

/// A sample of a tower beside the text.
template <class T>
concept tower_sample = batch_sample<T> && !std::same_as<T, sequence>;

namespace detail {

/// A visitor of samples that does nothing, with which a source is tried.
template <class Sample>
struct takes_samples {
    constexpr void operator()(const Sample& /*real*/, const Sample& /*slot*/) const {}
};
/// A receiver of sums that does nothing, with which a source is tried.
struct takes_sums {
    template <class Useful, class Padded>
    constexpr void operator()(const Useful& /*useful*/, const Padded& /*padded*/) const {}
};

}  // namespace detail

/// A batch in any format, a user's own too. It needs
///
///     using sample = sequence;  // or grid, or audio_clip
///     template <class Visit> constexpr void each(Visit visit) const;
///
/// where `each` calls `visit(real, slot)` for every sample, in order; {} as `real` is a mock sample, which is padded
/// and not useful. It throws `error` for what is wrong with the format; the receiver then stays as it was. The receiver
/// checks that a sample is valid and fits its slot. `each` may be called twice and shows equal samples.
template <class Source>
concept batch_source = requires {
    typename Source::sample;
}
&&batch_sample<typename Source::sample>&& requires(const Source& source) {
    source.each(detail::takes_samples<typename Source::sample>{});
};

/// A source whose sums are known faster than sample by sample: `sum(space, commit)` calls `commit(useful, padded)` once
/// with the amounts that both views add to a tally of `space.masks()`, a `detail::borrowed_sums` or `equal_samples`. It
/// throws all that `each` and a tally would throw. A user's source can hand the call on to one of the library's.
template <class Source>
concept summed_source = batch_source<Source> && requires(const Source& source, const detail::sum_space& space) {
    source.sum(space, detail::takes_sums{});
};

namespace detail {

/// A class that was meant as a batch and is none: it names its samples, or has an `each`.
template <class T>
concept fails_as_source =
    std::is_class_v<T> && !batch_source<T> &&
    (
        requires { typename T::sample; } || requires(T & source) { source.each(takes_samples<sequence>{}); });

/// A compile error that says what to mend in such a class.
template <fails_as_source T>
constexpr void say_what_a_batch_lacks() {
    constexpr bool has_samples = requires { requires batch_sample<typename T::sample>; };
    static_assert(has_samples,
                  "this type is no batch: it needs `using sample = floptally::sequence;`, or grid, or "
                  "audio_clip");
    static_assert(!has_samples,
                  "this type is no batch: it needs `template <class Visit> void each(Visit visit) const`, "
                  "which calls visit(real, slot); mind the const");
}

/// Calls `source.each(visit)`. Where that throws, and the source knows sums, the error is that of a tally of `masks`.
template <batch_source Source, class Visit>
constexpr void visit_samples(const Source& source, const mask_set& masks, Visit visit) {
    if constexpr (summed_source<Source>) {
        try {
            source.each(visit);
        } catch (const error&) {
            list<std::uint64_t> memory;
            std::uint64_t* const useful = memory.resized(2 * masks.size());
            source.sum({masks, useful, useful + masks.size()}, takes_sums{});
            throw;
        }
    } else {
        source.each(visit);
    }
}

}  // namespace detail

/// A sample and its slot.
template <batch_sample Sample>
struct slotted {
    Sample real;
    Sample slot;

    [[nodiscard]] friend constexpr bool operator==(const slotted&, const slotted&) = default;
};

/// A sequence at the beginning of its slot; {} for `real` is a mock sequence.
using slotted_sequence = slotted<sequence>;

/// Equal samples that fill their slots, `times()` of them. They are counted in one step, however many there are.
template <batch_sample Sample>
class equal_samples {
  public:
    using sample = Sample;

    /// `times` samples that are all `one`.
    constexpr equal_samples(const Sample& one, std::uint64_t times) : one_(one), times_(times) {}

    [[nodiscard]] constexpr const Sample& one() const { return one_; }
    [[nodiscard]] constexpr std::uint64_t times() const { return times_; }

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (std::uint64_t i = 0; i < times_; ++i) {
            visit(one_, one_);
        }
    }
    template <class Commit>
    constexpr void sum(const detail::sum_space& space, Commit commit) const {
        detail::check_sample(one_, space.masks());
        commit(*this, *this);
    }

  private:
    Sample one_;
    std::uint64_t times_;
};

/// Samples in an array, each by itself or in a slot (`slotted`).
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
        for (const Element& one : samples_) {
            if constexpr (std::is_same_v<Element, sample>) {
                visit(one, one);
            } else {
                visit(one.real, one.slot);
            }
        }
    }

  private:
    std::span<const Element> samples_;
};

template <class Range>
listed_samples(const Range& range) -> listed_samples<typename decltype(std::span{range})::value_type>;

}  // namespace floptally
