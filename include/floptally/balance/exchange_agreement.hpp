// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/detail/rank_agreement.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/reduction.hpp>

namespace floptally {

namespace detail {

/// A plan in six words: ranks that made it from other numbers have other ones.
class exchange_schema {
  public:
    explicit exchange_schema(const exchange_plan& plan)
        : hashes_{(schema_hash() << plan.ranks()).value(),
                  (schema_hash() << plan.window()).value(),
                  hash_of(plan.owners()),
                  hash_of(plan.destinations()),
                  hash_of(plan.sizes()),
                  (schema_hash() << version).value()} {}

    [[nodiscard]] agreement_words message() const { return agreement_message(hashes_); }

    static void require_agreement(const agreement_words& maxima) {
        detail::require_agreement(maxima, {"ranks", "window", "owners", "destinations", "sizes", "version"},
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

    agreement_hashes hashes_;
};

}  // namespace detail

/// Throws on every rank where the ranks did not make the same plan: an exchange of such plans would hang, or bring what
/// nobody sent. One MAX all-reduce of twelve words over the ranks of the plan.
template <word_reducer Reducer>
void require_same_plan(const exchange_plan& plan, Reducer& everyone) {
    detail::agree(detail::exchange_schema(plan), everyone);
}

/// Runs what may fail on one rank alone (buffers of a wrong size, memory that is not there), and throws on every rank
/// where it threw on one, so that none begins an exchange in which another is missing: the rank's own error, on the
/// others that there was one, and where. One MAX all-reduce of a word, and the end of `prepare`, on all ranks.
/// `mpi.hpp` and `nccl.hpp` do this before each exchange; around the allocation of buffers it is the caller's.
template <word_reducer Reducer, class Prepare>
void prepare_together(std::uint64_t rank, Reducer& everyone, Prepare prepare) {
    std::exception_ptr own;
    try {
        prepare();
    } catch (...) {
        own = std::current_exception();
    }
    std::uint64_t failed = own ? rank + 1 : 0;  // of several the last rank is named
    everyone.max(std::span<std::uint64_t>(&failed, 1));
    if (own) {
        std::rethrow_exception(own);
    }
    if (failed != 0) {
        throw error("exchange", std::string("rank ")
                                    .append(std::to_string(failed - 1))
                                    .append(" cannot take part, and has thrown why, so nothing was sent"));
    }
}

}  // namespace floptally
