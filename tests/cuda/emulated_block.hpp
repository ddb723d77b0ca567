// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <ucontext.h>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FLOPTALLY_ASAN_FIBERS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLOPTALLY_ASAN_FIBERS
#endif
#endif
#if defined(FLOPTALLY_ASAN_FIBERS)
#include <sanitizer/common_interface_defs.h>
#endif

/// @file
/// Blocks of a kernel on the host: each thread is a fiber that runs until it must wait for others. So the text of a
/// kernel runs as it is, with its strides, tails, shuffles and merges, under sanitizers, and in an order that a test
/// chooses.

namespace emulated {

/// In which order the threads of a block run between two points where they wait.
enum class order : std::uint8_t { ascending, descending };

class grid_of_blocks;

/// The block that the body of a kernel sees, with the functions of `cuda_block`.
class block {
  public:
    [[nodiscard]] std::uint32_t thread() const;
    [[nodiscard]] std::uint32_t threads() const;
    [[nodiscard]] std::uint32_t index() const;
    [[nodiscard]] std::uint32_t count() const;
    [[nodiscard]] std::uint64_t* shared() const;
    void sync() const;
    [[nodiscard]] std::uint64_t shuffle_down(std::uint64_t value, std::uint32_t delta) const;

  private:
    friend class grid_of_blocks;
    explicit block(grid_of_blocks& launch_grid) : of_(&launch_grid) {}
    grid_of_blocks* of_;
};

class grid_of_blocks {
  public:
    static constexpr std::uint32_t warp = 32;

    /// Shared memory is filled with rubbish before each block, as a device leaves it.
    grid_of_blocks(std::uint32_t blocks, std::uint32_t threads, std::size_t shared_words,
                   order running = order::ascending)
        : blocks_(blocks),
          threads_(threads),
          order_(running),
          shared_(shared_words),
          fibers_(threads),
          exchanged_(threads),
          arrivals_(threads) {
        if (threads == 0 || threads % warp != 0) {
            throw std::invalid_argument("whole warps only");
        }
        for (fiber& f : fibers_) {
            f.stack = std::unique_ptr<char[]>(new char[stack_size]);
        }
    }

    /// Runs `body(block)` by every thread of every block.
    template <class Body>
    void run(const Body& body) {
        body_ = [&body](const block& b) { body(b); };
        for (index_ = 0; index_ < blocks_; ++index_) {
            run_block();
        }
    }

  private:
    friend class block;
    static constexpr std::size_t stack_size = 64 * 1024;

    enum class state : std::uint8_t { ready, at_barrier, at_shuffle, done };
    struct fiber {
        std::unique_ptr<char[]> stack;
        ucontext_t context{};
        state now = state::ready;
    };

    void run_block() {
        shared_.assign(shared_.size(), 0xDEAD'BEEF'DEAD'BEEFU);
        current_grid() = this;
        for (std::uint32_t t = 0; t < threads_; ++t) {
            fiber& f = fibers_[t];
            getcontext(&f.context);
            f.context.uc_stack.ss_sp = f.stack.get();
            f.context.uc_stack.ss_size = stack_size;
            f.context.uc_link = nullptr;
            makecontext(&f.context, &grid_of_blocks::enter, 0);
            f.now = state::ready;
        }
        for (;;) {
            bool ran = false;
            for (std::uint32_t i = 0; i < threads_; ++i) {
                const std::uint32_t t = order_ == order::ascending ? i : threads_ - 1 - i;
                if (fibers_[t].now == state::ready) {
                    ran = true;
                    thread_ = t;
                    resume(fibers_[t]);
                }
            }
            if (!ran && !release()) {
                break;
            }
        }
    }

    /// Lets those go on who have all arrived. False where all are done; an error where some wait for ever.
    bool release() {
        bool all_done = true;
        bool all_at_barrier = true;
        for (const fiber& f : fibers_) {
            all_done = all_done && f.now == state::done;
            all_at_barrier = all_at_barrier && f.now == state::at_barrier;
        }
        if (all_done) {
            return false;
        }
        bool released = false;
        for (std::uint32_t first = 0; first < threads_; first += warp) {
            bool whole = true;
            for (std::uint32_t t = first; t < first + warp; ++t) {
                whole = whole && fibers_[t].now == state::at_shuffle;
            }
            for (std::uint32_t t = first; whole && t < first + warp; ++t) {
                arrivals_[t] = exchanged_[t];
                fibers_[t].now = state::ready;
                released = true;
            }
        }
        if (all_at_barrier) {
            for (fiber& f : fibers_) {
                f.now = state::ready;
            }
            released = true;
        }
        if (!released) {
            throw std::logic_error("threads of a block wait for ever: not all of them came to the same place");
        }
        return true;
    }

    void resume(fiber& f) {
#if defined(FLOPTALLY_ASAN_FIBERS)
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(&fake, f.stack.get(), stack_size);
#endif
        swapcontext(&scheduler_, &f.context);
#if defined(FLOPTALLY_ASAN_FIBERS)
        __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    }

    /// Back to the scheduler, from the fiber that runs.
    void yield(state waits) {
        fiber& f = fibers_[thread_];
        f.now = waits;
#if defined(FLOPTALLY_ASAN_FIBERS)
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(waits == state::done ? nullptr : &fake, scheduler_stack_, scheduler_size_);
#endif
        swapcontext(&f.context, &scheduler_);
#if defined(FLOPTALLY_ASAN_FIBERS)
        __sanitizer_finish_switch_fiber(fake, &scheduler_stack_, &scheduler_size_);
#endif
    }

    static void enter() {
        grid_of_blocks& own = *current_grid();
#if defined(FLOPTALLY_ASAN_FIBERS)
        __sanitizer_finish_switch_fiber(nullptr, &own.scheduler_stack_, &own.scheduler_size_);
#endif
        own.body_(block(own));
        own.yield(state::done);
        std::abort();  // a fiber that is done is not resumed
    }

    static grid_of_blocks*& current_grid() {
        static grid_of_blocks* current = nullptr;
        return current;
    }

    std::uint32_t blocks_;
    std::uint32_t threads_;
    order order_;
    std::vector<std::uint64_t> shared_;
    std::vector<fiber> fibers_;
    std::vector<std::uint64_t> exchanged_;
    std::vector<std::uint64_t> arrivals_;
    std::function<void(const block&)> body_;
    ucontext_t scheduler_{};
    std::uint32_t index_ = 0;
    std::uint32_t thread_ = 0;
#if defined(FLOPTALLY_ASAN_FIBERS)
    const void* scheduler_stack_ = nullptr;
    std::size_t scheduler_size_ = 0;
#endif
};

inline std::uint32_t block::thread() const { return of_->thread_; }
inline std::uint32_t block::threads() const { return of_->threads_; }
inline std::uint32_t block::index() const { return of_->index_; }
inline std::uint32_t block::count() const { return of_->blocks_; }
inline std::uint64_t* block::shared() const { return of_->shared_.data(); }
inline void block::sync() const { of_->yield(grid_of_blocks::state::at_barrier); }
inline std::uint64_t block::shuffle_down(std::uint64_t value, std::uint32_t delta) const {
    const std::uint32_t own = of_->thread_;
    of_->exchanged_[own] = value;
    of_->yield(grid_of_blocks::state::at_shuffle);
    return own % grid_of_blocks::warp + delta < grid_of_blocks::warp ? of_->arrivals_[own + delta] : value;
}

}  // namespace emulated
