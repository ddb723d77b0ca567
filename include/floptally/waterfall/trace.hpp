// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// A profiler's trace as plain data: events of the host and of devices, and links from forward to backward operators.

namespace floptally::inline v0_3 {

/// A kind of event in a profiler's trace.
enum class trace_kind : std::uint8_t {
    module_call,  ///< the call of an nn.Module, recorded by Python's tracer
    annotation,   ///< a `record_function` span, or the profiler's mark of a step
    op,           ///< an operator, forward or backward
    launch,       ///< a call of the CUDA runtime or driver that may start a kernel
    kernel,       ///< a kernel on a GPU
    copy          ///< a memory copy or a fill on a GPU
};

/// The beginning of the name of an operation between two ranks; "SOURCE>DESTINATION" follows. In "between 0>?", the "?"
/// stands for the rank that recorded the trace.
inline constexpr std::string_view between_two = "between ";

/// The beginning of the name of the annotation that PyTorch's profiler writes for each step. The step number follows.
inline constexpr std::string_view profiler_step = "ProfilerStep#";

/// An event with a beginning and an end in nanoseconds. All events of a trace share one clock.
struct trace_event {
    trace_kind kind = trace_kind::op;
    std::uint32_t name = 0;  ///< index of the event's name in `trace::names`
    std::uint32_t lane = 0;  ///< number of a host thread or a device stream, in one numbering for both
    std::uint32_t device = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t correlation = 0;  ///< number that the event has in common with the launch of its kernel; 0: unknown
    std::uint64_t external = 0;     ///< number that the event has in common with the operator of its kernel; 0: unknown
    std::int64_t sequence = -1;     ///< number that an operator has in common with its backward operator; -1: unknown
    /// For a backward operator: the profiler's number of the thread that ran the forward operator. For a forward
    /// operator: 0.
    std::uint64_t forward_thread = 0;
    std::uint32_t collective = 0;  ///< for a kernel of a collective: 1 + the index in `trace::names` of the text that
                                   ///< names the collective and its group; otherwise 0
    std::int64_t waiting =
        0;  ///< for a communication kernel: nanoseconds from its start until the last rank arrived (`tell_waiting`)
};

/// A link from an operator to its backward operator. It has the lane of the forward operator, and the lane and start
/// time that identify the backward operator.
struct trace_link {
    std::uint32_t forward_lane = 0;
    std::uint32_t backward_lane = 0;
    std::int64_t backward_begin = 0;
};

/// A profiler's record of one process.
struct trace {
    std::vector<std::string> names{};
    std::vector<trace_event> events{};
    std::vector<trace_link> links{};
    std::optional<std::uint64_t> rank{};  ///< the process's rank in the job; empty if the profiler did not record it
};

}  // namespace floptally
