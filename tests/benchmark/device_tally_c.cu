// SPDX-License-Identifier: Apache-2.0

// A tally on the device, called from C: so that device_tally.py can time it beside PyTorch, on one stream. A function
// returns 0, or 1 where it failed; what went wrong is then in `floptally_device_tally_error`.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/statistics/mask.hpp>

namespace {

using namespace floptally;

thread_local std::string last_error;

template <class Call>
int caught(const Call& call) {
    try {
        call();
        return 0;
    } catch (const std::exception& wrong) {
        last_error = wrong.what();
    } catch (...) {
        last_error = "unknown";
    }
    return 1;
}

mask_set set_of(const std::vector<mask>& windows) {
    mask_set masks;
    for (const statistic& window : windows) {
        masks.find_or_add(window, "windows");
    }
    return masks;
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

struct counted {
    explicit counted(std::vector<mask> given) : windows(std::move(given)), sums(set_of(windows)) {}

    std::vector<mask> windows;
    device_tally sums;
};

}  // namespace

extern "C" {

const char* floptally_device_tally_error() { return last_error.c_str(); }

/// Makes a tally with sliding windows of so many tokens.
int floptally_device_tally_create(const std::int64_t* windows, std::size_t count, void** made) {
    return caught([&] {
        std::vector<mask> masks;
        for (std::size_t i = 0; i < count; ++i) {
            masks.push_back(mask::sliding_window(windows[i]));
        }
        *made = new counted(std::move(masks));
    });
}

void floptally_device_tally_destroy(void* handle) { delete static_cast<counted*>(handle); }

int floptally_device_tally_add_cu_seqlens(void* handle, const std::int32_t* cu_seqlens, std::size_t count,
                                          void* stream) {
    return caught(
        [&] { static_cast<counted*>(handle)->sums.add_cu_seqlens(std::span(cu_seqlens, count), stream_of(stream)); });
}

int floptally_device_tally_add_lengths(void* handle, const std::int32_t* lengths, std::size_t count, void* stream) {
    return caught(
        [&] { static_cast<counted*>(handle)->sums.add_lengths(std::span(lengths, count), stream_of(stream)); });
}

/// Tokens, squares, and the pairs of each window. Blocks.
int floptally_device_tally_read(void* handle, void* stream, std::uint64_t* sums) {
    return caught([&] {
        const counted& from = *static_cast<counted*>(handle);
        const tally batch = from.sums.read(stream_of(stream));
        *sums++ = batch.get(view::useful, accumulator::tokens);
        *sums++ = batch.get(view::useful, accumulator::squares);
        for (const statistic& window : from.windows) {
            *sums++ = batch.pairs(view::useful, window);
        }
    });
}

}  // extern "C"
