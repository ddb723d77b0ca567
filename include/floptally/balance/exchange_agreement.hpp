// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Collective checks before an exchange: all ranks have one plan, and each can take part.

namespace floptally {

namespace detail {

/// A plan as six hashes, which differ between ranks that made it from different numbers.
class exchange_schema {
  public:
    explicit exchange_schema(const exchange_plan& plan)
        : hashes_{(schema_hash() << plan.ranks()).value(),
                  (schema_hash() << plan.window()).value(),
                  hash_of(plan.owners()),
                  hash_of(plan.destinations()),
                  hash_of(plan.sizes()),
                  (schema_hash() << version).value()} {}

    [[nodiscard]] std::array<std::uint64_t, 12> message() const { return agreement_message(hashes_); }

    static void require_agreement(const std::array<std::uint64_t, 12>& maxima) {
        detail::require_agreement<6>(maxima, {"ranks", "window", "owners", "destinations", "sizes", "version"},
                                     "so nothing was sent");
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const std::vector<std::uint64_t>& values) {
        schema_hash hash;
        hash << std::uint64_t{values.size()};
        for (const std::uint64_t value : values) {
            hash << value;
        }
        return hash.value();
    }

    std::array<std::uint64_t, 6> hashes_;
};

}  // namespace detail

/// Throws on every rank where ranks have different plans, whose exchange would hang or deliver wrong bytes. One MAX
/// all-reduce of twelve words over the ranks of the plan.
template <word_reducer Reducer>
void require_same_plan(const exchange_plan& plan, Reducer& everyone) {
    detail::agree(detail::exchange_schema(plan), everyone);
}

/// Runs `prepare`, which may fail on one rank alone (buffers of a wrong size, no memory), and throws on every rank
/// where it threw on one, so that no rank begins an exchange in which another is missing. A failed rank throws its own
/// error, the others one that names the rank. One MAX all-reduce of a word after `prepare`. `mpi.hpp` and `nccl.hpp` do
/// this before each exchange; a caller does it around the allocation of buffers.
template <word_reducer Reducer, class Prepare>
void prepare_together(std::uint64_t rank, Reducer& everyone, Prepare prepare) {
    std::exception_ptr own;
    try {
        prepare();
    } catch (...) {
        own = std::current_exception();
    }
    std::uint64_t failed = own ? rank + 1 : 0;  // of several failed ranks the last is named
    everyone.max(std::span<std::uint64_t>(&failed, 1));
    if (own) {
        std::rethrow_exception(own);
    }
    if (failed != 0) {
        detail::refuse("exchange", {"rank ", failed - 1, " cannot take part, and has thrown why, so nothing was sent"});
    }
}

}  // namespace floptally
