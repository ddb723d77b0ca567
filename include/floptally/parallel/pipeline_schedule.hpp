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
#include <floptally/text/error.hpp>

/// @file
/// Pipeline schedules (1F1B, interleaved, ZB-H1, ZB-V), and how long they take with stages of any size.

namespace floptally::inline v0_3 {

/// The order in which the ranks of a pipeline run the passes of their microbatches.
enum class pipeline_schedule : std::uint8_t {
    gpipe,        ///< all forward, then all backward (Huang et al. 2018)
    one_f_one_b,  ///< one forward, then one backward: PipeDream-Flush, Megatron-LM without virtual stages
    interleaved,  ///< 1F1B with several chunks on each rank (Narayanan et al. 2021), in Megatron-LM's order
    zero_bubble,  ///< ZB-H1 (Qi et al. 2023): 1F1B, but rank r delays the weight gradients of r microbatches; as much
                  ///< memory as 1F1B
    zb_v          ///< ZB-V (Qi et al. 2023): two chunks on each rank; microbatches go down the ranks and back up, like
                  ///< a V; as much memory as 1F1B
};

/// Names of the values of `pipeline_schedule`, in their order.
inline constexpr const char* pipeline_schedule_names[] = {"gpipe", "1f1b", "interleaved", "zero_bubble", "zb_v"};

/// Returns whether a schedule computes the gradients of weights in separate passes.
[[nodiscard]] constexpr bool splits_backward(pipeline_schedule schedule) {
    return schedule == pipeline_schedule::zero_bubble || schedule == pipeline_schedule::zb_v;
}

/// The work of one chunk of a pipeline for one microbatch, in FLOPs or in time. Use the same unit for all chunks.
struct chunk_work {
    std::uint64_t forward = 0;
    std::uint64_t backward_data = 0;  ///< work for the gradient of the chunk's input, with recompute
    /// Work for the gradients of weights. It is a separate pass if `splits_backward` is true for the schedule,
    /// otherwise a part of the backward.
    std::uint64_t backward_weights = 0;
};

/// A pass of a microbatch through a chunk.
struct pipeline_pass {
    enum class kind : std::uint8_t { forward, backward_data, backward_weights };
    kind type = kind::forward;
    std::uint64_t chunk = 0;
    std::uint64_t microbatch = 0;

    [[nodiscard]] friend constexpr bool operator==(const pipeline_pass&, const pipeline_pass&) = default;
};

/// The time that a pipeline takes, and the time for which each of its ranks works.
struct pipeline_run {
    std::uint64_t makespan = 0;         ///< time from the first pass to the end of the last pass
    std::vector<std::uint64_t> busy{};  ///< time for which each rank works; the rank waits for the rest of `makespan`
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Computes when each pass of a pipeline ends. Each rank runs its passes in order, and each pass starts once the passes
/// that it needs have ended. A forward needs the forward of the previous chunk. A backward needs the forward of its own
/// chunk and the backward of the next chunk. Messages between ranks take no time.
class pipeline_clock {
  public:
    /// Makes a clock at time 0, before any pass has run. With `split`, gradients of weights are separate passes.
    /// Otherwise a backward is one pass. The pass sends its gradient to the previous chunk when it ends, as autograd
    /// does.
    pipeline_clock(std::uint64_t pp, std::span<const chunk_work> work, std::uint64_t chunks, std::uint64_t microbatches,
                   bool split)
        : work_(work),
          chunks_(chunks),
          microbatches_(microbatches),
          split_(split),
          ends_(3 * chunks * microbatches, not_done),
          free_(pp, 0),
          busy_(pp, 0) {}

    /// Returns the time when all passes that `pass` needs have ended, or `not_done` if one of them has not run.
    [[nodiscard]] std::uint64_t ready(const pipeline_pass& pass) const {
        using kind = pipeline_pass::kind;
        if (pass.type == kind::forward) {
            return pass.chunk == 0 ? 0 : end({kind::forward, pass.chunk - 1, pass.microbatch});
        }
        if (pass.type == kind::backward_weights) {
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
        const std::uint64_t length = pass.type == kind::forward            ? work.forward
                                     : pass.type == kind::backward_weights ? work.backward_weights
                                     : split_                              ? work.backward_data
                                              : checked(work.backward_data, "work") + work.backward_weights;
        free_[rank] = ends_[index_of(pass)] = checked(start, "work") + length;
        busy_[rank] += length;
    }

    [[nodiscard]] pipeline_run result() const { return {*std::max_element(free_.begin(), free_.end()), busy_}; }

    static constexpr std::uint64_t not_done = ~std::uint64_t{0};

  private:
    [[nodiscard]] std::size_t index_of(const pipeline_pass& pass) const {
        return (static_cast<std::size_t>(pass.type) * microbatches_ + pass.microbatch) * chunks_ + pass.chunk;
    }
    [[nodiscard]] std::uint64_t end(const pipeline_pass& pass) const { return ends_[index_of(pass)]; }

    std::span<const chunk_work> work_;
    std::uint64_t chunks_;
    std::uint64_t microbatches_;
    bool split_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint64_t> free_;
    std::vector<std::uint64_t> busy_;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// The passes of each rank, in the order in which the rank runs them. Chunk c is on rank c mod pp. In ZB-V, chunk pp +
/// r is on rank pp - 1 - r.
class pipeline_order {
  public:
    /// Makes the published order of a schedule with `vpp` chunks on each of `pp` ranks.
    pipeline_order(pipeline_schedule schedule, std::uint64_t pp, std::uint64_t vpp, std::uint64_t microbatches)
        : pipeline_order(schedule, pp, vpp, microbatches, pp) {}

    /// Returns the order in which the pipeline ends soonest with this work. `work` is the same as for `run`. For ZB-H1
    /// the function tries several limits for the delay of weight gradients, including no delay. So the result is never
    /// slower than 1F1B. Other schedules have only one order.
    [[nodiscard]] static pipeline_order fitted(pipeline_schedule schedule, std::uint64_t pp, std::uint64_t vpp,
                                               std::uint64_t microbatches, std::span<const chunk_work> work) {
        pipeline_order best(schedule, pp, vpp, microbatches);
        if (schedule != pipeline_schedule::zero_bubble) {
            return best;
        }
        std::uint64_t soonest = best.run(work).makespan;
        for (std::uint64_t most = pp - 1; most != 0;) {
            most /= 2;
            pipeline_order other(schedule, pp, vpp, microbatches, most);
            if (const std::uint64_t end = other.run(work).makespan; end < soonest) {
                soonest = end;
                best = std::move(other);
            }
        }
        return best;
    }

    [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
    [[nodiscard]] std::uint64_t microbatches() const { return microbatches_; }
    /// Returns the rank that runs a chunk.
    [[nodiscard]] std::uint64_t rank_of(std::uint64_t chunk) const {
        return is_v_ && chunk >= pp_ ? chunks_ - 1 - chunk : chunk % pp_;
    }
    [[nodiscard]] std::span<const std::vector<pipeline_pass>> ranks() const { return ranks_; }

    /// Returns the largest amount of activations that each rank holds at once, in the unit of `sizes`. `sizes` has the
    /// activations of each chunk for one microbatch. A rank holds the activations from the forward until it has
    /// computed the gradient of the weights. That is the last pass that reads them.
    [[nodiscard]] std::vector<std::uint64_t> most_held(std::span<const std::uint64_t> sizes) const {
        if (sizes.size() != chunks_) {
            detail::refuse("sizes", {"must have one size for each of ", chunks_, " chunks, got ", sizes.size()});
        }
        std::vector<std::uint64_t> most(pp_, 0);
        for (std::uint64_t rank = 0; rank < pp_; ++rank) {
            std::uint64_t held = 0;
            for (const pipeline_pass& pass : ranks_[rank]) {
                held += pass.type == kind::forward ? sizes[pass.chunk] : 0;
                most[rank] = std::max(most[rank], held);
                held -= pass.type == (split_ ? kind::backward_weights : kind::backward_data) ? sizes[pass.chunk] : 0;
            }
        }
        return most;
    }

    /// Simulates the passes in this order and returns how long they take. If all microbatches are alike, `work` has one
    /// value for each chunk. Otherwise it has the values of all chunks for the first microbatch, then for the second,
    /// and so on.
    [[nodiscard]] pipeline_run run(std::span<const chunk_work> work) const {
        if (work.size() != chunks_ && work.size() != chunks_ * microbatches_) {
            detail::refuse(
                "work", {"must have one value for each of the ", chunks_, " chunks, or for each chunk of each of the ",
                         microbatches_, " microbatches, got ", work.size()});
        }
        detail::pipeline_clock clock(pp_, work, chunks_, microbatches_, split_);
        std::vector<std::size_t> next(pp_, 0);
        // Each round finishes at least one pass, because passes depend only on neighbouring chunks.
        for (bool more = true; more;) {
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

    /// Makes an order in which each rank delays the weight gradients of at most `waiting` microbatches.
    pipeline_order(pipeline_schedule schedule, std::uint64_t pp, std::uint64_t vpp, std::uint64_t microbatches,
                   std::uint64_t waiting)
        : pp_(pp),
          chunks_(checked(pp, "vpp") * vpp),
          microbatches_(microbatches),
          split_(splits_backward(schedule)),
          is_v_(schedule == pipeline_schedule::zb_v),
          ranks_(pp) {
        require_positive(pp, "pp");
        require_positive(vpp, "vpp");
        require_positive(microbatches, "microbatches");
        if (const std::uint64_t passes = checked(chunks_, "microbatches") * microbatches; passes > most_passes) {
            throw error("microbatches", "microbatches x pp x vpp must be at most " + std::to_string(most_passes) +
                                            ", got " + std::to_string(passes));
        }
        const bool is_interleaved = schedule == pipeline_schedule::interleaved;
        if (const std::uint64_t own = schedule == pipeline_schedule::zb_v ? 2 : 1; !is_interleaved && vpp != own) {
            detail::refuse("vpp", {"must be ", own, " in the schedule \"",
                                   pipeline_schedule_names[static_cast<std::size_t>(schedule)], "\", got ", vpp});
        }
        if (is_interleaved && microbatches % pp != 0) {
            detail::refuse("microbatches",
                           {"must be a multiple of pp, ", pp, ", in the interleaved schedule, got ", microbatches});
        }
        for (std::uint64_t rank = 0; rank < pp; ++rank) {
            const std::uint64_t passes = vpp * microbatches;
            const std::uint64_t ahead = schedule == pipeline_schedule::gpipe ? passes
                                        : is_interleaved                     ? 2 * (pp - 1 - rank) + (vpp - 1) * pp
                                                                             : pp - 1 - rank;
            if (schedule == pipeline_schedule::zb_v) {
                go_down_and_up(rank);
            } else {
                alternate(rank, passes, std::min(ahead, passes), std::min(rank, waiting));
            }
        }
    }

    /// Returns the k-th forward or backward of a rank. pp microbatches go through the rank's first chunk, then through
    /// the rank's second chunk, and so on. A backward goes through the chunks in reverse order.
    [[nodiscard]] pipeline_pass pass(kind type, std::uint64_t rank, std::uint64_t k) const {
        const std::uint64_t vpp = chunks_ / pp_;
        if (vpp == 1) {
            return {type, rank, k};
        }
        const std::uint64_t position = k % chunks_;
        const std::uint64_t chunk = type == kind::forward ? position / pp_ : vpp - 1 - position / pp_;
        return {type, chunk * pp_ + rank, k / chunks_ * pp_ + position % pp_};
    }

    /// Sets the order of a rank: `ahead` forward passes, then a forward and a backward in turn, then the remaining
    /// backward passes. If gradients of weights are separate passes, each of them comes `waiting` backward passes later
    /// than the backward of the same microbatch.
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

    /// Sets the order of a rank of ZB-V. A microbatch passes the rank's first chunk on the way down the ranks, and the
    /// rank's second chunk on the way up. The order is computed for at least 2 pp - 1 microbatches, which fill the
    /// pipeline. Passes of microbatches that do not exist are then left out.
    void go_down_and_up(std::uint64_t rank) {
        const std::uint64_t all = std::max(2 * pp_ - 1, microbatches_);
        std::array<std::array<std::uint64_t, 2>, 3> done{};
        const auto put = [&](kind type, std::uint64_t second) {
            const std::uint64_t microbatch = done[static_cast<std::size_t>(type)][second]++;
            if (microbatch < microbatches_) {
                ranks_[rank].push_back({type, second == 0 ? rank : chunks_ - 1 - rank, microbatch});
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
        // The delayed gradients of weights run at the end, because no other pass needs them.
        for (std::uint64_t i = 0; i < rank; ++i) {
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
