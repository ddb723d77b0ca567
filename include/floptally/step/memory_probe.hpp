// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>

/// @file
/// Samples a device's memory at chosen steps.

namespace floptally::inline v0_3 {

/// The memory numbers that a device reports, in bytes.
struct memory_sample {
    std::uint64_t free = 0;  ///< free memory of the whole device
    std::uint64_t total = 0;
    std::uint64_t pool_used_high = 0;      ///< highest use of the memory pool since `reset_high_marks`
    std::uint64_t pool_reserved_high = 0;  ///< highest reservation of the memory pool since `reset_high_marks`

    [[nodiscard]] friend constexpr bool operator==(const memory_sample&, const memory_sample&) = default;
};

/// A source of memory samples: a CUDA memory pool, a framework's allocator, or a fake in a test.
template <class Backend>
concept memory_backend = requires(Backend& device) {
    device.reset_high_marks();
    { device.sample() } -> std::same_as<memory_sample>;
};

/// The rank of a process in the whole job, and its rank along each axis of parallelism.
struct parallel_rank {
    std::uint32_t global = 0;
    std::uint32_t pipeline = 0;
    std::uint32_t data = 0;
    std::uint32_t context = 0;
    std::uint32_t tensor = 0;

    [[nodiscard]] friend constexpr bool operator==(const parallel_rank&, const parallel_rank&) = default;
};

/// Returns the file name of a memory snapshot without extension: "snapshot_rank03_p0d1c0t1_step7". AReaL uses the same
/// name without the step, because it has a folder for each step. The rank has at least two digits.
[[nodiscard]] inline std::string snapshot_name(const parallel_rank& at, std::uint64_t step) {
    return detail::text_of({at.global < 10 ? "snapshot_rank0" : "snapshot_rank", at.global, "_p", at.pipeline, "d",
                            at.data, "c", at.context, "t", at.tensor, "_step", step});
}

/// The memory of one profiled step.
struct memory_row {
    std::uint64_t step = 0;
    parallel_rank at{};
    memory_sample before{};  ///< sample at the start of the step
    memory_sample after{};   ///< sample at the end of the step, with the highest use during the step

    [[nodiscard]] friend constexpr bool operator==(const memory_row&, const memory_row&) = default;
};

/// Returns the row as one line of JSON, without a line break.
[[nodiscard]] inline std::string to_json_line(const memory_row& row) {
    std::string line;
    const auto put = [&line](const char* key, std::uint64_t value) {
        detail::append(line, {line.empty() ? "{\"" : ", \"", key, "\": ", value});
    };
    put("step", row.step);
    put("rank", row.at.global);
    put("p", row.at.pipeline);
    put("d", row.at.data);
    put("c", row.at.context);
    put("t", row.at.tensor);
    put("free_before", row.before.free);
    put("free_after", row.after.free);
    put("total", row.after.total);
    put("pool_used_high", row.after.pool_used_high);
    put("pool_reserved_high", row.after.pool_reserved_high);
    return line.append("}");
}

/// The options of a memory probe. The default samples nothing.
struct memory_probe_options {
    std::vector<std::uint64_t> profile_steps{};  ///< the steps to sample
    /// Largest number of events that the hook `start` records. The default is that of AReaL.
    std::size_t max_entries = 100'000;
    parallel_rank at{};
    /// Hooks for a framework's memory recorder. `start` begins a recording of at most `max_entries` events. `stop` ends
    /// the recording and writes the file `name`.
    std::function<void(std::size_t max_entries)> start{};
    std::function<void(const std::string& name, std::uint64_t step)> stop{};
};

/// Samples the memory of chosen steps. Without `profile_steps` it never calls the backend or the hooks. Not safe for
/// several threads.
template <memory_backend Backend>
class memory_probe {
  public:
    explicit memory_probe(Backend backend, memory_probe_options options = {})
        : backend_(std::move(backend)), options_(std::move(options)) {
        require_positive(options_.max_entries, "max_entries");
    }

    void begin_step(std::uint64_t step) {
        if (!profiles(step)) {
            return;
        }
        if (open_) {
            const std::uint64_t before = open_->step;
            open_.reset();  // drops a step that has not ended, so that the next step can begin
            detail::refuse("begin_step", {"step ", before, " has not ended: call end_step() first"});
        }
        backend_.reset_high_marks();
        const memory_row opened{.step = step, .at = options_.at, .before = backend_.sample(), .after = {}};
        if (options_.start) {
            options_.start(options_.max_entries);
        }
        open_ = opened;
    }

    void end_step(std::uint64_t step) {
        if (!profiles(step)) {
            return;
        }
        if (!open_ || open_->step != step) {
            detail::refuse("end_step", {"step ", step, " has not begun: call begin_step() first"});
        }
        memory_row row = *open_;
        open_.reset();  // the next step can begin even if the backend or the hook throws
        row.after = backend_.sample();
        rows_.push_back(row);
        if (options_.stop) {
            options_.stop(snapshot_name(options_.at, step), step);
        }
    }

    [[nodiscard]] const std::vector<memory_row>& rows() const { return rows_; }

  private:
    [[nodiscard]] bool profiles(std::uint64_t step) const {
        const std::vector<std::uint64_t>& steps = options_.profile_steps;
        return std::find(steps.begin(), steps.end(), step) != steps.end();
    }

    Backend backend_;
    memory_probe_options options_;
    std::optional<memory_row> open_;
    std::vector<memory_row> rows_;
};

}  // namespace floptally
