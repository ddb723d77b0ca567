// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ptx_instructions.hpp"
#include "ptx_program.hpp"

/// @file
/// A launch of a kernel, executed on the host. Blocks run one after the other; the threads of one take turns of a few
/// instructions in a changing order, so that what rests on an order that a device does not promise comes out wrong.

namespace ptx {

inline constexpr std::uint32_t warp = 32;
/// The number of instructions executed by all threads of all kernels.
inline std::uint64_t executed_instructions = 0;

class running_kernel {
  public:
    /// `arguments` has a pointer for each parameter.
    running_kernel(const kernel& kernel_code, std::uint32_t blocks, std::uint32_t threads, std::size_t shared_bytes,
                   void* const* arguments, bool (*may_access)(std::uintptr_t, std::size_t))
        : kernel_(kernel_code),
          blocks_(blocks),
          parameters_((kernel_code.parameter_bytes + 7) / 8),
          shared_((launched_array_of(kernel_code) + shared_bytes + 7) / 8),
          shared_bytes_(launched_array_of(kernel_code) + shared_bytes),
          may_access_(may_access),
          threads_(threads) {
        for (std::size_t i = 0; i < kernel_code.parameters.size(); ++i) {
            std::memcpy(reinterpret_cast<char*>(parameters_.data()) + kernel_code.parameters[i].offset, arguments[i],
                        kernel_code.parameters[i].size);
        }
    }

    [[nodiscard]] const std::string& name() const { return kernel_.name; }

    /// Goes on for so many instructions, about; true once all is done.
    bool run(std::uint64_t instructions) {
        const std::uint64_t until = executed_ + instructions;
        for (; block_ < blocks_; ++block_) {
            if (!begun_) {
                begin_block();
            }
            while (take_turns() || release()) {
                if (executed_ >= until) {
                    return false;
                }
            }
            begun_ = false;
        }
        registers_.clear();
        return true;
    }

  private:
    void begin_block() {
        begun_ = true;
        std::fill(shared_.begin(), shared_.end(), 0xDEAD'BEEF'DEAD'BEEFU);  // as a device leaves it
        const std::size_t each = kernel_.registers.size();
        registers_.resize(each * threads_.size());
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            accumulator* const own = registers_.data() + i * each;
            std::copy(kernel_.registers.begin(), kernel_.registers.end(), own);
            own[tid] = i;
            own[ntid] = threads_.size();
            own[ctaid] = block_;
            own[nctaid] = blocks_;
            own[parameters] = reinterpret_cast<std::uintptr_t>(parameters_.data());
            threads_[i] = {.registers = own,
                           .shared = reinterpret_cast<char*>(shared_.data()),
                           .shared_bytes = shared_bytes_,
                           .may_access = may_access_};
        }
    }

    /// A turn for each thread that waits for none, forward and backward in alternation. False where all of them wait.
    bool take_turns() {
        bool ran = false;
        forward_ = !forward_;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            thread& own = threads_[forward_ ? i : threads_.size() - 1 - i];
            if (own.state == waits::no) {
                ran = true;
                take_turn(own);
            }
        }
        return ran;
    }

    void take_turn(thread& own) {
        random_ ^= random_ << 13U;  // Marsaglia's xorshift: any numbers, but the same each time
        random_ ^= random_ >> 7U;
        random_ ^= random_ << 17U;
        const std::uint64_t turn = 1 + random_ % 128;
        std::uint64_t left = turn;
        try {
            for (; left > 0 && own.state == waits::no; --left) {
                const instruction& i = kernel_.code[own.next++];
                if ((own.registers[i.guard] == 0) == i.negated) {
                    i.run(own, i);
                }
            }
        } catch (const std::exception& problem) {
            throw std::runtime_error("block " + std::to_string(block_) + ", thread " +
                                     std::to_string(&own - threads_.data()) + ", " + kernel_.text[own.next - 1] + ": " +
                                     problem.what());
        }
        executed_ += turn - left;
        executed_instructions += turn - left;
    }

    /// Lets those go on who have all arrived. False where all are done; an error where some wait for ever.
    bool release() {
        const auto all = [this](waits state) {
            return std::all_of(threads_.begin(), threads_.end(), [&](const thread& t) { return t.state == state; });
        };
        if (all(waits::done)) {
            return false;
        }
        bool released = all(waits::barrier);
        if (released) {
            for (thread& own : threads_) {
                own.state = waits::no;
            }
        }
        for (std::size_t first = 0; first + warp <= threads_.size(); first += warp) {
            const auto lanes = threads_.begin() + static_cast<std::ptrdiff_t>(first);
            if (std::all_of(lanes, lanes + warp, [](const thread& t) { return t.state == waits::shuffle; })) {
                shuffle(&*lanes);
                released = true;
            }
        }
        if (!released) {
            throw std::runtime_error("threads of block " + std::to_string(block_) +
                                     " wait for ever: not all of them came to the same place");
        }
        return true;
    }

    static void shuffle(thread* lanes) {
        accumulator sum[warp];
        for (std::uint32_t lane = 0; lane < warp; ++lane) {
            sum[lane] = lanes[lane].registers[lanes[lane].shuffle->at[1]];
        }
        for (std::uint32_t lane = 0; lane < warp; ++lane) {
            thread& own = lanes[lane];
            const instruction& i = *own.shuffle;
            if (i.run != lanes[0].shuffle->run || i.offset != lanes[0].shuffle->offset ||
                own.registers[i.at[3]] != warp - 1 || static_cast<u32>(own.registers[i.at[4]]) != 0xFFFF'FFFFU) {
                throw std::runtime_error("a shuffle of part of a warp");
            }
            const auto by = static_cast<u32>(own.registers[i.at[2]]);
            const std::uint32_t from = i.offset == 1 ? lane ^ by : lane + by;
            own.registers[i.at[0]] = sum[from < warp ? from : lane];
            own.state = waits::no;
        }
    }

    const kernel& kernel_;
    std::uint32_t blocks_;
    std::vector<accumulator> parameters_;
    std::vector<accumulator> shared_;
    std::size_t shared_bytes_;
    bool (*may_access_)(std::uintptr_t, std::size_t);
    std::vector<thread> threads_;
    std::vector<accumulator> registers_;
    std::uint32_t block_ = 0;
    bool begun_ = false;
    bool forward_ = false;
    std::uint64_t random_ = 0x9E37'79B9'7F4A'7C15U;
    std::uint64_t executed_ = 0;
};

}  // namespace ptx
