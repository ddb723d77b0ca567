// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// A trace of a profiler as plain data: events of host and devices, and which are the backward of which.

namespace floptally {

/// A kind of event in a profiler's trace.
enum class trace_kind : std::uint8_t {
    module_call,  ///< of an nn.Module, which Python's tracer records
    annotation,   ///< a `record_function`, a step of the profiler
    op,           ///< an operator, forward or backward
    launch,       ///< a call of the runtime or the driver that may start a kernel
    kernel,       ///< on a GPU
    copy          ///< on a GPU: a copy of memory, or a fill
};

/// The mark of an operation between two ranks, before "SOURCE>DESTINATION"; the trace's own rank stands there as "?".
inline constexpr std::string_view between_two = "between ";

/// The name of a step's annotation by PyTorch's profiler, before its number.
inline constexpr std::string_view profiler_step = "ProfilerStep#";

/// An event with a beginning and an end, in nanoseconds of any one clock.
struct trace_event {
    trace_kind what = trace_kind::op;
    std::uint32_t name = 0;  ///< of the trace's names
    std::uint32_t lane = 0;  ///< a thread of the host, or a stream of a device: numbers of one list
    std::uint32_t device = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t correlation = 0;     ///< of a kernel and its launch; 0: none
    std::uint64_t external = 0;        ///< of a kernel and the operator that it is of; 0: none
    std::int64_t sequence = -1;        ///< of an operator and its backward; -1: none
    std::uint64_t forward_thread = 0;  ///< of a backward operator: a thread by a number of the profiler's; 0: forward
    std::uint32_t collective =
        0;  ///< of a kernel: what it does in which group of ranks, by the trace's names + 1; 0: nothing
    std::int64_t waiting =
        0;  ///< of a kernel of communication: its beginning, until the last rank came (`tell_waiting`)
};

/// A link from an operator to its backward, each by its lane and its beginning.
struct trace_link {
    std::uint32_t forward_lane = 0;
    std::int64_t forward_begin = 0;
    std::uint32_t backward_lane = 0;
    std::int64_t backward_begin = 0;
};

/// A profiler's record of one process.
struct trace {
    std::vector<std::string> names{};
    std::vector<trace_event> events{};
    std::vector<trace_link> links{};
    std::optional<std::uint64_t> rank{};  ///< of the job, where the profiler says it
};

}  // namespace floptally
