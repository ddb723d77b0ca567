// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/pipeline_pass.hpp>

namespace floptally::detail {

/// A clock of passes: each rank runs in its order, each pass once the passes that it needs are done. A forward needs
/// that of the chunk before, a backward its own forward and the backward of the chunk after; messages take no time.
class pipeline_clock {
  public:
    /// A clock in which gradients of weights are passes of their own where `split`. Otherwise a backward is one pass,
    /// which hands its gradient on at its end, as autograd does.
    pipeline_clock(std::uint64_t pp, std::span<const chunk_work> work, std::uint64_t chunks, std::uint64_t microbatches,
                   bool split)
        : work_(work),
          chunks_(chunks),
          microbatches_(microbatches),
          split_(split),
          ends_(3 * chunks * microbatches, not_done),
          free_(pp, 0),
          busy_(pp, 0) {}

    /// The time at which all that a pass needs is done; `not_done` while some of it has not run.
    [[nodiscard]] std::uint64_t ready(const pipeline_pass& pass) const {
        using kind = pipeline_pass::kind;
        if (pass.what == kind::forward) {
            return pass.chunk == 0 ? 0 : end({kind::forward, pass.chunk - 1, pass.microbatch});
        }
        if (pass.what == kind::backward_weights) {
            return end({kind::backward_data, pass.chunk, pass.microbatch});
        }
        const std::uint64_t own = end({kind::forward, pass.chunk, pass.microbatch});
        return pass.chunk + 1 == chunks_ ? own
                                         : std::max(own, end({kind::backward_data, pass.chunk + 1, pass.microbatch}));
    }

    void run(const pipeline_pass& pass, std::uint64_t rank) {
        const std::uint64_t start = std::max(free_[rank], ready(pass));
        const chunk_work& work = work_[work_.size() == chunks_ ? pass.chunk : pass.microbatch * chunks_ + pass.chunk];
        using kind = pipeline_pass::kind;
        const std::uint64_t length = pass.what == kind::forward            ? work.forward
                                     : pass.what == kind::backward_weights ? work.backward_weights
                                     : split_                              ? work.backward_data
                                              : checked(work.backward_data, "work") + work.backward_weights;
        free_[rank] = ends_[place(pass)] = checked(start, "work") + length;
        busy_[rank] += length;
    }

    [[nodiscard]] pipeline_run result() const { return {*std::max_element(free_.begin(), free_.end()), busy_}; }

    static constexpr std::uint64_t not_done = ~std::uint64_t{0};

  private:
    [[nodiscard]] std::size_t place(const pipeline_pass& pass) const {
        return (static_cast<std::size_t>(pass.what) * microbatches_ + pass.microbatch) * chunks_ + pass.chunk;
    }
    [[nodiscard]] std::uint64_t end(const pipeline_pass& pass) const { return ends_[place(pass)]; }

    std::span<const chunk_work> work_;
    std::uint64_t chunks_;
    std::uint64_t microbatches_;
    bool split_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint64_t> free_;
    std::vector<std::uint64_t> busy_;
};

}  // namespace floptally::detail
