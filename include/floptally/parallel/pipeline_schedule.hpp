// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/pipeline_clock.hpp>
#include <floptally/parallel/pipeline_pass.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Schedules of pipelines (1F1B, interleaved, ZB-H1, ZB-V), and their time with any stages.

namespace floptally {

/// The passes of each rank in their order. Chunk c is on rank c mod pp; in a V, chunk pp + r is on rank pp - 1 - r.
class pipeline_order {
  public:
    /// The published order of a schedule with `vpp` chunks on each of `pp` ranks.
    pipeline_order(pipeline_schedule how, std::uint64_t pp, std::uint64_t vpp, std::uint64_t microbatches)
        : pipeline_order(how, pp, vpp, microbatches, pp) {}

    /// The order that suits this work (as `run` has it): gradients of weights wait in ZB-H1 as long as the pipeline
    /// ends sooner for it, and no longer than the schedule says. So it never ends after 1F1B. Other schedules have one
    /// order.
    [[nodiscard]] static pipeline_order fitted(pipeline_schedule how, std::uint64_t pp, std::uint64_t vpp,
                                               std::uint64_t microbatches, std::span<const chunk_work> work) {
        pipeline_order best(how, pp, vpp, microbatches);
        if (how != pipeline_schedule::zero_bubble) {
            return best;
        }
        std::uint64_t soonest = best.run(work).makespan;
        for (std::uint64_t most = pp - 1; most != 0;) {
            most /= 2;
            pipeline_order other(how, pp, vpp, microbatches, most);
            if (const std::uint64_t end = other.run(work).makespan; end < soonest) {
                soonest = end;
                best = std::move(other);
            }
        }
        return best;
    }

    [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
    [[nodiscard]] std::uint64_t microbatches() const { return microbatches_; }
    /// The rank that runs a chunk.
    [[nodiscard]] std::uint64_t rank_of(std::uint64_t chunk) const {
        return is_v_ && chunk >= pp_ ? chunks_ - 1 - chunk : chunk % pp_;
    }
    [[nodiscard]] std::span<const std::vector<pipeline_pass>> ranks() const { return ranks_; }

    /// The most that each rank holds at once, of chunks whose activations for a microbatch have these sizes: from the
    /// forward to the end of the last pass that reads them, the gradient of the weights.
    [[nodiscard]] std::vector<std::uint64_t> most_held(std::span<const std::uint64_t> sizes) const {
        if (sizes.size() != chunks_) {
            detail::refuse("sizes", {"must be of ", chunks_, " chunks, got ", sizes.size()});
        }
        std::vector<std::uint64_t> most(pp_, 0);
        for (std::uint64_t rank = 0; rank < pp_; ++rank) {
            std::uint64_t held = 0;
            for (const pipeline_pass& pass : ranks_[rank]) {
                held += pass.what == kind::forward ? sizes[pass.chunk] : 0;
                most[rank] = std::max(most[rank], held);
                held -= pass.what == (split_ ? kind::backward_weights : kind::backward_data) ? sizes[pass.chunk] : 0;
            }
        }
        return most;
    }

    /// The run of this order. `work` has a value for each chunk where all microbatches are alike, else one for each
    /// chunk of the first microbatch, then of the second, …
    [[nodiscard]] pipeline_run run(std::span<const chunk_work> work) const {
        if (work.size() != chunks_ && work.size() != chunks_ * microbatches_) {
            detail::refuse("work", {"must be of ", chunks_, " chunks, or of each for each of ", microbatches_,
                                    " microbatches, got ", work.size()});
        }
        detail::pipeline_clock clock(pp_, work, chunks_, microbatches_, split_);
        std::vector<std::size_t> next(pp_, 0);
        for (bool more = true; more;) {  // each round ends a pass, since passes depend on neighbouring chunks
            more = false;
            for (std::uint64_t rank = 0; rank < pp_; ++rank) {
                while (next[rank] < ranks_[rank].size() &&
                       clock.ready(ranks_[rank][next[rank]]) != detail::pipeline_clock::not_done) {
                    clock.run(ranks_[rank][next[rank]++], rank);
                    more = true;
                }
            }
        }
        return clock.result();
    }

  private:
    using kind = pipeline_pass::kind;
    static constexpr std::uint64_t most_passes = std::uint64_t{1} << 24U;

    /// An order in which at most `waiting` gradients of weights wait on a rank.
    pipeline_order(pipeline_schedule how, std::uint64_t pp, std::uint64_t vpp, std::uint64_t microbatches,
                   std::uint64_t waiting)
        : pp_(pp),
          chunks_(checked(pp, "vpp") * vpp),
          microbatches_(microbatches),
          split_(splits_backward(how)),
          is_v_(how == pipeline_schedule::zb_v),
          ranks_(pp) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        require_positive(microbatches, "microbatches");
        if (const std::uint64_t passes = checked(chunks_, "microbatches") * microbatches; passes > most_passes) {
            throw error("microbatches", "times pp x vpp must be at most " + std::to_string(most_passes) + ", got " +
                                            std::to_string(passes));
        }
        const bool is_interleaved = how == pipeline_schedule::interleaved;
        if (const std::uint64_t own = how == pipeline_schedule::zb_v ? 2 : 1; !is_interleaved && vpp != own) {
            detail::refuse("vpp", {"must be ", own, " in the schedule \"",
                                   pipeline_schedule_names[static_cast<std::size_t>(how)], "\", got ", vpp});
        }
        if (is_interleaved && microbatches % pp != 0) {
            detail::refuse("microbatches",
                           {"must be a multiple of pp, ", pp, ", in the interleaved schedule, got ", microbatches});
        }
        for (std::uint64_t rank = 0; rank < pp; ++rank) {
            const std::uint64_t passes = vpp * microbatches;
            const std::uint64_t ahead = how == pipeline_schedule::gpipe ? passes
                                        : is_interleaved                ? 2 * (pp - 1 - rank) + (vpp - 1) * pp
                                                                        : pp - 1 - rank;
            if (how == pipeline_schedule::zb_v) {
                go_down_and_up(rank);
            } else {
                alternate(rank, passes, std::min(ahead, passes), std::min(rank, waiting));
            }
        }
    }

    /// The k-th forward or backward of a rank: pp microbatches go through its first chunk, then through its second, …;
    /// a backward goes through its chunks from the last.
    [[nodiscard]] pipeline_pass pass(kind what, std::uint64_t rank, std::uint64_t k) const {
        const std::uint64_t vpp = chunks_ / pp_;
        if (vpp == 1) {
            return {what, rank, k};
        }
        const std::uint64_t place = k % chunks_;
        const std::uint64_t own = what == kind::forward ? place / pp_ : vpp - 1 - place / pp_;
        return {what, own * pp_ + rank, k / chunks_ * pp_ + place % pp_};
    }

    /// Orders a rank: `ahead` forward passes, then a forward and a backward in turn, then the backward passes left.
    /// Gradients of weights that are passes of their own follow the backward that comes `waiting` later.
    void alternate(std::uint64_t rank, std::uint64_t passes, std::uint64_t ahead, std::uint64_t waiting) {
        std::uint64_t weights = 0;
        for (std::uint64_t k = 0; k < passes + ahead; ++k) {
            if (k < passes) {
                ranks_[rank].push_back(pass(kind::forward, rank, k));
            }
            if (k >= ahead) {
                ranks_[rank].push_back(pass(kind::backward_data, rank, k - ahead));
            }
            if (split_ && k >= ahead + waiting) {
                ranks_[rank].push_back(pass(kind::backward_weights, rank, weights++));
            }
        }
        for (; split_ && weights < passes; ++weights) {
            ranks_[rank].push_back(pass(kind::backward_weights, rank, weights));
        }
    }

    /// Orders a rank of ZB-V, whose first chunk is before the turn of the V and whose second one after it, as for the
    /// 2 pp - 1 microbatches at least that fill the pipeline; those that there are not have no passes.
    void go_down_and_up(std::uint64_t rank) {
        const std::uint64_t all = std::max(2 * pp_ - 1, microbatches_);
        std::array<std::array<std::uint64_t, 2>, 3> done{};
        const auto put = [&](kind what, std::uint64_t second) {
            const std::uint64_t microbatch = done[static_cast<std::size_t>(what)][second]++;
            if (microbatch < microbatches_) {
                ranks_[rank].push_back({what, second == 0 ? rank : chunks_ - 1 - rank, microbatch});
            }
        };
        const auto backward = [&](std::uint64_t second) {
            put(kind::backward_data, second);
            put(kind::backward_weights, second);
        };
        for (std::uint64_t i = 0; i < 2 * (pp_ - rank) - 1; ++i) {
            put(kind::forward, 0);
        }
        for (std::uint64_t i = 0; i < rank; ++i) {
            put(kind::forward, 1);
            put(kind::forward, 0);
        }
        for (std::uint64_t i = 0; i < pp_ - rank; ++i) {
            put(kind::forward, 1);
            backward(1);
        }
        while (done[0][1] < all) {
            put(kind::forward, 0);
            backward(0);
            put(kind::forward, 1);
            backward(1);
        }
        for (std::uint64_t i = 0; i < rank; ++i) {  // nothing waits for weights here: they come last
            put(kind::backward_data, 0);
            put(kind::backward_data, 1);
        }
        while (done[1][0] < all) {
            backward(0);
        }
        for (const std::uint64_t second : {std::uint64_t{1}, std::uint64_t{0}}) {
            while (done[2][second] < all) {
                put(kind::backward_weights, second);
            }
        }
    }

    std::uint64_t pp_;
    std::uint64_t chunks_;
    std::uint64_t microbatches_;
    bool split_;
    bool is_v_;
    std::vector<std::vector<pipeline_pass>> ranks_;
};

}  // namespace floptally
