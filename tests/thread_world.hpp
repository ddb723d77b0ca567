// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <floptally/parallel/parallel_layout.hpp>

/// Ranks as threads of one process, for tests: a rank that waits in vain for another gives up, which is what a hang is.
class thread_world {
  public:
    /// One group of ranks.
    class group {
      public:
        explicit group(std::size_t ranks) : ranks_(ranks) {}

        template <class Combine>
        void all_reduce(std::span<std::uint64_t> integers, Combine combine) {
            std::unique_lock lock(mutex_);
            const std::size_t round = round_;
            if (arrived_ == 0) {
                result_.assign(integers.begin(), integers.end());
            } else if (result_.size() != integers.size()) {
                throw std::logic_error("ranks sent messages of different sizes");
            } else {
                std::transform(integers.begin(), integers.end(), result_.begin(), result_.begin(), combine);
            }
            if (++arrived_ == ranks_) {
                arrived_ = 0;
                ++round_;
                last_ = result_;
                all_here_.notify_all();
            } else if (!all_here_.wait_for(lock, std::chrono::seconds(20), [&] { return round_ != round; })) {
                throw std::logic_error("hangs: a rank never came");
            }
            std::copy(last_.begin(), last_.end(), integers.begin());
        }

      private:
        std::mutex mutex_;
        std::condition_variable all_here_;
        std::size_t ranks_;
        std::size_t arrived_ = 0;
        std::size_t round_ = 0;
        std::vector<std::uint64_t> result_;
        std::vector<std::uint64_t>
            last_;  // of the round that is complete; the next one cannot complete before all read
    };

    /// The reducer over one group that a rank is given.
    class reducer {
      public:
        explicit reducer(std::shared_ptr<group> over) : over_(std::move(over)) {}
        void sum(std::span<std::uint64_t> integers) const {
            over_->all_reduce(integers, [](std::uint64_t a, std::uint64_t b) { return a + b; });
        }
        void max(std::span<std::uint64_t> integers) const {
            over_->all_reduce(integers, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
        }

      private:
        std::shared_ptr<group> over_;
    };

    [[nodiscard]] reducer over(const floptally::parallel_layout& layout, floptally::axis_set axes) {
        std::vector<std::uint64_t> ranks;
        for (const std::uint64_t rank : layout.group(axes)) {
            ranks.push_back(rank);
        }
        const std::lock_guard lock(mutex_);
        std::shared_ptr<group>& found = groups_[ranks];
        if (!found) {
            found = std::make_shared<group>(ranks.size());
        }
        return reducer(found);
    }

    /// Runs `each(rank)` on a thread for every rank; the text of what it throws, "no error" where nothing.
    template <class Each>
    static std::vector<std::string> run(std::uint64_t ranks, Each each) {
        std::vector<std::string> ends(ranks, "no error");
        std::vector<std::thread> threads;
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
            threads.emplace_back([&, rank] {
                try {
                    each(rank);
                } catch (const std::exception& problem) {
                    ends[rank] = problem.what();
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        return ends;
    }

    /// A check on a rank's thread, where Catch2 2's own are not safe: it ends the rank with a text.
    static void expect(bool holds, const std::string& what) {
        if (!holds) {
            throw std::logic_error("not so: " + what);
        }
    }

  private:
    std::mutex mutex_;
    std::map<std::vector<std::uint64_t>, std::shared_ptr<group>> groups_;
};
