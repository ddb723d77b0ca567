// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/rules/mask_set.hpp>

/// @file
/// The FLOPs of padding by cause, for a batch as a user names it.

namespace floptally {

namespace detail {

/// A receiver that keeps only the slots without a real token. They are few, and the batch less them is the rest.
class mock_samples : public adds_batches<mock_samples> {
  public:
    explicit mock_samples(const mask_set& masks) : sum_(masks) {}
    mock_samples(const tally& /*real*/, const tally& mock) : sum_(mock) {}

    template <batch_source Source>
    void add(const Source& source) {
        visit_samples(source, sum_.masks(), [this](const auto& real, const auto& slot) {
            if (is_mock(real)) {
                sum_.add(real, slot);
            }
        });
    }
    mock_samples& operator+=(const mock_samples& other) {
        sum_ += other.sum_;
        return *this;
    }

    [[nodiscard]] const mask_set& masks() const { return sum_.masks(); }
    [[nodiscard]] const tally& sum() const { return sum_; }

  private:
    tally sum_;
};

}  // namespace detail

/// The FLOPs of padding in `batch`, to which `input` was added, by cause. None where nothing is padded, or where a part
/// that was counted before is padded, whose real sequences are no longer known. A padded batch is counted once more.
[[nodiscard]] inline std::optional<padding_flops> padding_of(const model_input& input, const model_config& model,
                                                             const flop_counter& as, const tally& batch,
                                                             const input_spelling& words = plain_spelling) {
    if (!is_padded(batch)) {
        if (as.total(batch) == as.total(batch, view::padded)) {
            return {};
        }
        return padding_of(as, {batch, tally{batch.masks()}});  // the vocabulary is padded
    }
    const auto is_more = [](const model_input::measured_word& word) { return word.useful != word.padded; };
    if (std::any_of(input.tallies.begin(), input.tallies.end(), is_padded) ||
        std::any_of(input.measured.begin(), input.measured.end(), is_more)) {
        return {};
    }
    detail::mock_samples mocks{batch.masks()};
    detail::input_adder(input, model, words).add_to(mocks);
    const std::span<const std::uint64_t> all = batch.words();
    const std::span<const std::uint64_t> of_mocks = mocks.sum().words();
    std::vector<std::uint64_t> real(all.size());
    std::transform(all.begin(), all.end(), of_mocks.begin(), real.begin(), std::minus<>{});
    return padding_of(as, {tally::from_words(batch.masks(), real), mocks.sum()});
}

}  // namespace floptally
