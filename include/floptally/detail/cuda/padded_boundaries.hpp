// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>

namespace floptally::detail {

/// A pack: boundaries of its sequences and of their slots. Those from `num_real` on hold nothing real.
template <integer T, integer S>
class padded_boundaries {
  public:
    static constexpr std::uint32_t views = 2;
    struct group {
        typename listed_boundaries<T>::group real;
        typename listed_boundaries<S>::group slots;
        std::size_t first;
    };

    padded_boundaries(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t count)
        : real_(cu_seqlens, count), slots_(cu_seqlens_padded, count, input_field::cu_seqlens_padded) {}

    /// Boundaries of the real sequences alone, `real_count` of them, and of slots, which may be more.
    padded_boundaries(const T* cu_seqlens_real, std::size_t real_count, const S* slots, std::size_t count)
        : real_(cu_seqlens_real, real_count, input_field::cu_seqlens_real),
          slots_(slots, count, input_field::cu_seqlens) {}

    /// The same, of which so many are real.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE padded_boundaries of(std::size_t num_real) const {
        padded_boundaries counted = *this;
        counted.num_real_ = num_real;
        return counted;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return slots_.size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE group load(std::size_t first) const {
        return {real_.load(first), slots_.load(first), first};
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_plain(const group& loaded, std::size_t first) const {
        bool roomy = true;
        for (std::size_t k = 0; k < group_size; ++k) {
            roomy = roomy && slot(loaded, k) >= real(loaded, k);
        }
        return roomy && real_.is_plain(loaded.real, first) && slots_.is_plain(loaded.slots, first);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(const group& loaded, std::size_t k) const {
        return loaded.first + k < num_real_ ? real_.real(loaded.real, k) : 0;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(const group& loaded, std::size_t k) const {
        return slots_.real(loaded.slots, k);
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool find(std::size_t i, refusal& why) const {
        if ((i < real_.size() && !real_.find(i, why)) || !slots_.find(i, why)) {
            return false;
        }
        if (slot(i) < real(i)) {
            why = {refused::slot, real(i), slot(i), static_cast<std::uint64_t>(slots_.field())};
            return false;
        }
        return true;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t real(std::size_t i) const {
        return i < num_real_ ? real_.real(i) : 0;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t slot(std::size_t i) const { return slots_.real(i); }

  private:
    listed_boundaries<T> real_;
    listed_boundaries<S> slots_;
    std::size_t num_real_ = 0;
};

}  // namespace floptally::detail
