// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/statistics/mask_set.hpp>

/// @file
/// Counts the FLOPs of the padding in a `model_input`, by cause.

namespace floptally::inline v0_3 {

namespace detail {

/// A receiver of batches that counts only mock sequences: slots without a real token. The caller subtracts them from
/// the tally of the whole batch.
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

/// Returns the FLOPs of padding by cause. `batch` is the tally to which `input` was added. Returns nothing if there is
/// no padding. Also returns nothing if `input` contains a padded tally or a padded measured amount, because these
/// cannot be split into real and mock sequences. A padded batch is counted a second time here, which takes as long as
/// the first.
[[nodiscard]] inline std::optional<padding_flops> padding_of(const model_input& input, const model_config& model,
                                                             const flop_counter& as, const tally& batch,
                                                             const input_spelling& spelling = plain_spelling) {
    if (!is_padded(batch)) {
        if (as.total_flops(batch) == as.total_flops(batch, view::padded)) {
            return {};
        }
        return padding_of(as, {batch, tally{batch.masks()}});  // No sequence is padded. Only the vocabulary has
                                                               // padding.
    }
    const auto is_padded_amount = [](const model_input::measured_amount& amount) {
        return amount.useful != amount.padded;
    };
    if (std::any_of(input.tallies.begin(), input.tallies.end(), is_padded) ||
        std::any_of(input.measured.begin(), input.measured.end(), is_padded_amount)) {
        return {};
    }
    detail::mock_samples mocks{batch.masks()};
    detail::input_adder(input, model, spelling).add_to(mocks);
    const std::span<const std::uint64_t> all = batch.accumulators();
    const std::span<const std::uint64_t> of_mocks = mocks.sum().accumulators();
    std::vector<std::uint64_t> real(all.size());
    std::transform(all.begin(), all.end(), of_mocks.begin(), real.begin(), std::minus<>{});
    return padding_of(as, {batch.with_accumulators(real), mocks.sum()});
}

}  // namespace floptally
