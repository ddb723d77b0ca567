// SPDX-License-Identifier: Apache-2.0
//
// Every kernel, for the integers that trainers have: compiled for the report of their resources, never run.

#include <cstdint>
#include <span>

#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>

namespace {

using namespace floptally;

struct any_reducer {
    static void sum_async(std::span<std::uint64_t>, cudaStream_t) {}
};

template <class T>
void add_every_list(device_tally& to, std::span<const T> numbers, cudaStream_t stream) {
    to.add_cu_seqlens(numbers, stream);
    to.add_cu_seqlens(numbers, numbers, all_sequences, stream);
    to.add_cu_seqlens(numbers, numbers, numbers.data(), stream);
    to.add_lengths(numbers, stream);
    to.add_padded(numbers, 1, stream);
    to.add_grid_thw(numbers, stream);
    to.add_audio_frames(numbers, stream);
    to.add_hstu(numbers, numbers, numbers, 1, stream);
    to.add_attention_mask(numbers, {.rows = 1, .columns = 1}, stream);
    to.add_encoder_decoder(numbers, numbers, stream);
    to.add_new_tokens(numbers, numbers, stream);
}

// A kernel of a caller's own without a tally, and with one: the difference is what counting costs there.
__device__ std::uint32_t own_index() {
    const detail::cuda_block block;
    return block.index() * block.threads() + block.thread();
}
__global__ void without_a_tally(const std::uint32_t* lengths, std::uint32_t count, std::uint32_t* to) {
    const std::uint32_t i = own_index();
    if (i < count) {
        to[i] = lengths[i];
    }
}
__global__ void with_a_tally(const std::uint32_t* lengths, std::uint32_t count, std::uint32_t* to,
                             device_tally_ref counted) {
    const std::uint32_t i = own_index();
    if (i < count) {
        to[i] = lengths[i];
        counted.add({.length = lengths[i]}, {.length = lengths[i] + 8}, i);
    }
}

}  // namespace

void every_kernel(device_tally& to, std::span<const std::int32_t> narrow, std::span<const std::int64_t> wide,
                  std::span<const bool> flags, const tally_reduction& reduction, cudaStream_t stream) {
    add_every_list(to, narrow, stream);
    add_every_list(to, wide, stream);
    to.add_cu_seqlens(narrow, wide, wide.data(), stream);
    to.add_attention_mask(flags, {.rows = 1, .columns = 1}, stream);
    without_a_tally<<<1, 32>>>(nullptr, 0, nullptr);
    with_a_tally<<<1, 32>>>(nullptr, 0, nullptr, to.ref());
    to.add_shape({.rows = 1, .columns = 1}, stream);
    to.snapshot_async(stream);
    any_reducer over;
    device_reduction(reduction).sum_async(to, over, stream);
}
