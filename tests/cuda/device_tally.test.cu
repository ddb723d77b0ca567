// SPDX-License-Identifier: Apache-2.0
//
// The device's tally against the host's, bit for bit; streams, graphs, snapshots and errors. Without a device it exits
// 77: skipped.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>

#include "../error_of.hpp"
#include "../own_masks.hpp"
#include "batches.hpp"
#include "gpu_test.hpp"

namespace {

using namespace floptally;
using gpu_test::device_copy;

template <class T>
void lengths_are_counted(const mask_set& masks, std::size_t count, std::uint32_t max_blocks, std::size_t offset) {
    std::mt19937_64 random(count + max_blocks);
    const std::vector<std::uint32_t> drawn = random_lengths(random, count);
    const std::vector<T> lengths(drawn.begin(), drawn.end());
    const std::size_t packed = sizeof(T) == 8 ? count : count < 100'000 ? count : 100'000;
    const std::vector<T> boundaries =
        boundaries_of<T>({drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(packed)});
    std::vector<std::uint32_t> wider = drawn;
    for (std::uint32_t& slot : wider) {
        slot += static_cast<std::uint32_t>(random() % 64);
    }
    const auto slots =
        boundaries_of<std::int64_t>({wider.begin(), wider.begin() + static_cast<std::ptrdiff_t>(packed)});
    const std::vector<std::int32_t> num_real{static_cast<std::int32_t>(packed - packed / 3)};

    tally host{masks};
    host.add_lengths(lengths);
    host.add_cu_seqlens(boundaries);
    host.add_cu_seqlens(boundaries, slots, packed / 2);
    host.add_cu_seqlens(boundaries, slots, packed / 2);
    host.add_cu_seqlens(boundaries, slots, static_cast<std::size_t>(num_real[0]));
    host.add_padded(lengths, 9000);

    const device_copy<T> device_lengths(lengths, offset);
    const device_copy<T> device_boundaries(boundaries, offset);
    const device_copy<std::int64_t> device_slots(slots, offset);
    const device_copy<std::int32_t> device_num_real(num_real);
    const gpu_test::stream first;
    const gpu_test::stream second;
    device_tally device(masks, {.max_blocks = max_blocks});
    device.add_lengths(device_lengths.all(), first);
    device.add_cu_seqlens(device_boundaries.all(), second);
    device.add_cu_seqlens(device_boundaries.all(), device_slots.all(), packed / 2, first);
    device.add_packed(device_boundaries.all().first(packed / 2 + 1), device_slots.all(), second);
    device.add_cu_seqlens(device_boundaries.all(), device_slots.all(), device_num_real.get(), second);
    device.add_padded(device_lengths.all(), 9000, first);
    second.wait();
    expect(device.read(first) == host, std::to_string(count) + " sequences of " + std::to_string(sizeof(T)) +
                                           " bytes, " + std::to_string(masks.size()) + " masks, " +
                                           std::to_string(max_blocks) + " blocks, offset " + std::to_string(offset));
}

void every_input_is_counted() {
    for (const std::size_t count :
         gpu_test::size<std::vector<std::size_t>>({0, 1, 3, 1000, 65'536, 1'000'003}, {0, 1, 3, 1000, 5003})) {
        for (const std::uint32_t max_blocks : {0U, 1U, 7U}) {
            for (const mask_set& masks : {mask_set{}, mask_set{mask::sliding_window(400)}, every_text_mask}) {
                lengths_are_counted<std::int32_t>(masks, count, max_blocks, 0);
                lengths_are_counted<std::int64_t>(masks, count, max_blocks, 0);
            }
            lengths_are_counted<std::uint32_t>(mask_set{mask::chunked(7)}, count, max_blocks, 1);
            lengths_are_counted<std::uint64_t>(mask_set{mask::chunked(7)}, count, max_blocks, 1);
        }
    }
    lengths_are_counted<std::int64_t>(every_text_mask, gpu_test::size(10'000'000U, 5'000U), 0, 0);
    mask_set as_many_as_fit;
    for (std::size_t i = 1; i <= detail::accumulator_schema::max_masks; ++i) {
        as_many_as_fit.find_or_add(mask::sliding_window(static_cast<std::int64_t>(100 * i)), "masks");
    }
    lengths_are_counted<std::int32_t>(as_many_as_fit, gpu_test::size(65'536U, 1'000U), 0, 0);

    mask_set towers = mask_set::of_towers();
    for (const statistic& m :
         std::initializer_list<statistic>{mask::grid_windows(8, 4), mask::clip_squares(), unit::merged_patches(2),
                                          unit::clips(), unit::strided_frames(3, 2), mask::sliding_window(400)}) {
        towers.find_or_add(m, "masks");
    }
    std::mt19937_64 random(3);
    std::vector<std::int64_t> thw;
    std::vector<std::int32_t> frames;
    std::vector<std::int32_t> lengths;
    std::vector<std::int32_t> contextual;
    std::vector<std::int32_t> targets;
    std::vector<std::int64_t> flags;
    tally host{towers};
    tally samples{every_text_mask};
    constexpr std::size_t columns = 300;
    const std::size_t units = gpu_test::size(5000U, 200U);
    for (std::size_t i = 0; i < units; ++i) {
        thw.insert(thw.end(),
                   {1 + static_cast<std::int64_t>(random() % 3), 2 * static_cast<std::int64_t>(random() % 40),
                    2 * static_cast<std::int64_t>(random() % 40)});
        frames.push_back(static_cast<std::int32_t>(random() % 3000));
        contextual.push_back(static_cast<std::int32_t>(random() % 4));
        targets.push_back(static_cast<std::int32_t>(random() % 9));
        lengths.push_back(contextual.back() + targets.back() + static_cast<std::int32_t>(random() % 3000));
        samples.add(sequence{.length = static_cast<std::uint32_t>(lengths.back()),
                             .context = static_cast<std::uint32_t>(contextual.back()),
                             .targets = static_cast<std::uint32_t>(targets.back()),
                             .target_group = 3});
        const std::size_t ones = random() % (columns + 1);
        flags.insert(flags.end(), ones, 1);
        flags.insert(flags.end(), columns - ones, 0);
    }
    host.add_grid_thw(thw);
    host.add_audio_frames(frames);
    host.add_attention_mask(flags, {.rows = units, .columns = columns});
    host.add_shape({.rows = 7, .columns = 4096});
    host.add_encoder_decoder(std::vector<int>{5, 6}, std::vector<int>{7, 8});
    const gpu_test::stream stream;
    device_tally device(towers);
    const device_copy<std::int64_t> device_thw(thw);
    const device_copy<std::int32_t> device_frames(frames);
    const device_copy<std::int64_t> device_flags(flags);
    device.add_grid_thw(device_thw.all(), stream);
    device.add_audio_frames(device_frames.all(), stream);
    device.add_attention_mask(device_flags.all(), {.rows = units, .columns = columns}, stream);
    device.add_shape({.rows = 7, .columns = 4096}, stream);
    const std::vector<int> decoder{5, 6};
    const std::vector<int> encoder{7, 8};
    device.add(floptally::encoder_decoder_lengths(decoder, encoder), stream);  // the host knows it
    expect(device.read(stream) == host, "grids, clips, attention masks and shapes");
    device_tally of_samples(every_text_mask);
    const device_copy<std::int32_t> device_lengths(lengths);
    const device_copy<std::int32_t> device_contextual(contextual);
    const device_copy<std::int32_t> device_targets(targets);
    of_samples.add_hstu(device_lengths.all(), device_contextual.all(), device_targets.all(), 3, stream);
    expect(of_samples.read(stream) == samples, "samples of HSTU");

    const mask_set crossed{mask::cross_attention(), mask::sliding_window(400)};
    tally both_sides{crossed};
    both_sides.add_encoder_decoder(lengths, frames);
    for (std::size_t i = 0; i < units; ++i) {
        both_sides.add(
            sequence{.length = static_cast<std::uint32_t>(targets[i]), .past = static_cast<std::uint32_t>(lengths[i])});
    }
    device_tally of_both(crossed);
    of_both.add_encoder_decoder(device_lengths.all(), device_frames.all(), stream);
    of_both.add_new_tokens(device_targets.all(), device_lengths.all(), stream);
    expect(of_both.read(stream) == both_sides, "encoder-decoders and new tokens after cached ones");
}

/// A batch in every format, where it lies.
struct every_format {
    std::span<const std::int32_t> lengths;
    std::span<const std::int32_t> boundaries;
    std::span<const std::int64_t> slots;
    std::span<const std::int32_t> parts;
    std::span<const std::uint8_t> flags;
    std::span<const std::int32_t> none{};
};
template <class To>
void add_in_every_format(To& to, const every_format& batch) {
    to.add_cu_seqlens(batch.boundaries);
    to.add_cu_seqlens(batch.boundaries, batch.slots);
    to.add_cu_seqlens(batch.boundaries, batch.slots, 2);
    to.add_packed(batch.boundaries.first(3), batch.slots);
    to.add_lengths(batch.lengths);
    to.add_padded(batch.lengths, 9000);
    to.add_attention_mask(batch.flags, {.rows = 2, .columns = 3});
    to.add_shape({.rows = 3, .columns = 70});
    to.add_encoder_decoder(batch.lengths, batch.parts);
    to.add_new_tokens(batch.lengths, batch.parts);
    to.add_hstu(batch.lengths, batch.parts, batch.none);
    to.add_hstu(batch.lengths, batch.none, batch.parts, 2);
    to.add_grid_thw(batch.lengths);
    to.add_audio_frames(batch.lengths);
    to.add(equal_samples(sequence{.length = 5, .past = 3}, 2));
}

/// One text of calls adds to a tally of the host, to a device's, and to the open step of either's meter.
void calls_are_the_same_on_every_tally() {
    mask_set masks{mask::sliding_window(400), mask::hstu(), mask::cross_attention()};
    masks.include(modality::vision);
    masks.include(modality::audio);
    const std::vector<std::int32_t> lengths{5, 700, 40};
    const std::vector<std::int32_t> boundaries{0, 5, 705, 745};
    const std::vector<std::int64_t> slots{0, 8, 708, 752};
    const std::vector<std::int32_t> parts{1, 0, 7};
    const std::vector<std::uint8_t> flags{1, 1, 0, 0, 1, 1};
    tally host{masks};
    add_in_every_format(host, {lengths, boundaries, slots, parts, flags});
    const device_copy<std::int32_t> of_lengths(lengths);
    const device_copy<std::int32_t> of_boundaries(boundaries);
    const device_copy<std::int64_t> of_slots(slots);
    const device_copy<std::int32_t> of_parts(parts);
    const device_copy<std::uint8_t> of_flags(flags);
    const every_format on_device{of_lengths.all(), of_boundaries.all(), of_slots.all(), of_parts.all(), of_flags.all()};
    device_tally device(masks);
    add_in_every_format(device, on_device);
    expect(device.read(nullptr) == host, "a device's tally by the calls of a tally");
    expect(error_of([&] { device.add_new_tokens(on_device.lengths, on_device.none); }) ==
               error_of([&] { host.add_new_tokens(lengths, std::span<const std::int32_t>{}); }),
           "lists of unlike sizes are the error of a tally");
}

// A tally whose kernels know masks of one's own, and a kernel of one's own that adds to it.
using own_statistics = library_statistics::with<dilated_window, block_sparse>;
using own_tally = basic_device_tally<own_statistics>;
const mask_set own_masks{dilated_window{4, 3}, block_sparse{64, 2, 1}, mask::sliding_window(400)};

__global__ void add_with_past(own_tally::ref_type to, const std::uint32_t* lengths, std::uint32_t count) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        to.add({.length = lengths[i], .past = i}, {.length = lengths[i] + 8, .past = i}, i);
    }
}

void masks_of_ones_own_are_counted() {
    std::mt19937_64 random(17);
    const std::vector<std::uint32_t> lengths = random_lengths(random, gpu_test::size(5000U, 700U));
    const auto boundaries = boundaries_of<std::int32_t>(lengths);
    tally host{own_masks};
    host.add_lengths(lengths);
    host.add_cu_seqlens(boundaries);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
        host.add(sequence{.length = lengths[i], .past = i}, sequence{.length = lengths[i] + 8, .past = i});
    }
    const device_copy<std::uint32_t> device_lengths(lengths);
    const device_copy<std::int32_t> device_boundaries(boundaries);
    const gpu_test::stream stream;
    own_tally device(own_masks);
    device.add_lengths(device_lengths.all(), stream);
    device.add_cu_seqlens(device_boundaries.all(), stream);
    add_with_past<<<20, 256, 0, stream>>>(device.ref(), device_lengths.get(),
                                          static_cast<std::uint32_t>(lengths.size()));
    require_cuda(cudaGetLastError(), "add_with_past");
    expect(device.read(stream) == host, "masks of one's own");
}

/// Says so before it asks for a device: the part that needs none.
void masks_of_ones_own_are_refused_by_other_kernels() {
    const std::string without =
        ": these kernels were compiled without this statistic: use a basic_device_tally of library_statistics::with<…>";
    expect(error_of([] { static_cast<void>(device_tally(own_masks)); }) == "dilated_window(4,3)" + without,
           "a tally of the library's statistics");
    expect(error_of([] {
               static_cast<void>(basic_device_tally<library_statistics::with<dilated_window>>(own_masks));
           }) == "block_sparse(64,2,1)" + without,
           "a tally that lacks one of two");
}

// With every mask of the library.
using every_statistic_ref = basic_device_tally_ref<library_statistics>;

__global__ void add_each(every_statistic_ref to, const std::uint32_t* lengths, std::uint32_t count) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        to.add({.length = lengths[i]}, {.length = lengths[i] + 8}, i);
    }
}

__global__ void add_by_block(every_statistic_ref to, const std::uint32_t* lengths, std::uint32_t count) {
    extern __shared__ std::uint64_t accumulators[];
    const every_statistic_ref local = to.local(accumulators);
    local.clear(threadIdx.x, blockDim.x);
    __syncthreads();
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        local.add({.length = lengths[i]}, {.length = lengths[i] + 8}, i);
    }
    __syncthreads();
    to.merge(local, threadIdx.x, blockDim.x);
}

// The reference without other masks.
__global__ void add_windows(device_tally_ref to, const std::uint32_t* lengths, std::uint32_t count) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        to.add({.length = lengths[i]}, {.length = lengths[i] + 8}, i);  // from any thread
    }
}

void a_kernel_of_ones_own_adds_windows() {
    const std::vector<std::uint32_t> lengths{5, 0, 700, 9000, 41};
    const mask_set masks{mask::sliding_window(400), mask::window(7, 9)};
    tally host{masks};
    for (const std::uint32_t length : lengths) {
        host.add({.length = length}, {.length = length + 8});
    }
    const device_copy<std::uint32_t> on_device(lengths);
    const gpu_test::stream stream;
    device_tally device(masks);
    add_windows<<<1, 32, 0, stream>>>(device.ref(), on_device.get(), static_cast<std::uint32_t>(lengths.size()));
    require_cuda(cudaGetLastError(), "add_windows");
    expect(device.read(stream) == host, "a device_tally_ref");
    const device_tally other(mask_set{mask::chunked(7)});
    expect(error_of([&] { static_cast<void>(other.ref()); }) ==
               "chunked(7): this device_tally_ref counts windows alone: use ref<library_statistics>()",
           "a device_tally_ref of another mask");
}

void a_kernel_of_ones_own_adds() {
    std::mt19937_64 random(5);
    const std::uint32_t count = gpu_test::size(20'000U, 1'000U);
    const std::vector<std::uint32_t> lengths = random_lengths(random, count);
    tally host{every_text_mask};
    for (const std::uint32_t length : lengths) {
        host.add({.length = length}, {.length = length + 8});
    }
    const device_copy<std::uint32_t> on_device(lengths);
    const gpu_test::stream stream;
    device_tally single(every_text_mask);
    add_each<<<79, 256, 0, stream>>>(single.ref<library_statistics>(), on_device.get(), count);
    require_cuda(cudaGetLastError(), "add_each");
    expect(single.read(stream) == host, "ref.add from every thread");
    device_tally by_block(every_text_mask);
    add_by_block<<<20, 256, by_block.block_bytes(), stream>>>(by_block.ref<library_statistics>(), on_device.get(),
                                                              count);
    require_cuda(cudaGetLastError(), "add_by_block");
    expect(by_block.read(stream) == host, "ref.add to accumulators of a block, merged");
}

void what_is_wrong_is_left_out() {
    const std::vector<std::int32_t> boundaries{0, 10, 5, 30, 40, 20, 60};
    const device_copy<std::int32_t> on_device(boundaries);
    const gpu_test::stream stream;
    device_tally device(mask_set{mask::sliding_window(400)});
    device.add_cu_seqlens(on_device.all(), stream);
    try {
        static_cast<void>(device.read(stream));
        expect(false, "decreasing boundaries were not seen");
    } catch (const left_out& problem) {
        expect(
            std::string(problem.what()) ==
                "cu_seqlens[2]: must be at least the boundary before it, 10, got 5 (index 1 of add 1 since the reset, "
                "the first of 2 that the device left out)",
            problem.what());
        tally rest{mask_set{mask::sliding_window(400)}};
        rest.add_lengths(std::vector<int>{10, 25, 10, 40});
        expect(problem.counted() == rest, "what was right is counted");
    }
    std::vector<std::int32_t> rubbish(gpu_test::size(1'000'000U, 5'000U));
    std::mt19937_64 random(9);
    for (std::int32_t& number : rubbish) {
        number = static_cast<std::int32_t>(random() % 65'536) - 32'768;
    }
    const device_copy<std::int32_t> of_rubbish(rubbish);
    device.reset_async(stream);
    device.add_cu_seqlens(of_rubbish.all(), stream);
    const std::string seen = error_of([&] { static_cast<void>(device.read(stream)); });
    expect(seen.rfind("cu_seqlens", 0) == 0, "rubbish: " + seen);
    device.reset_async(stream);
    expect(device.read(stream) == tally{mask_set{mask::sliding_window(400)}}, "a reset forgets the error");
    const std::vector<std::uint32_t> longest(3, 0xFFFF'FFFFU);
    const device_copy<std::uint32_t> of_longest(longest);
    device.add_lengths(of_longest.all(), stream);
    expect(error_of([&] { static_cast<void>(device.read(stream)); }) ==
               "squares: the sum does not fit 64 bits: count fewer samples",
           "an overflow");
}

/// Until the host has set the flag, or for ten seconds: then it says so.
__global__ void wait_for(const volatile std::uint64_t* flag, std::uint64_t* gave_up) {
    const auto nanoseconds = [] {
        std::uint64_t now = 0;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    };
    const std::uint64_t begin = nanoseconds();
    while (*flag == 0) {
        if (nanoseconds() - begin > 10'000'000'000) {
            *gave_up = 1;
            return;
        }
    }
}

void polling_never_blocks() {
    const gpu_test::stream stream;
    const std::vector<std::int32_t> boundaries{0, 100, 300};
    const device_copy<std::int32_t> on_device(boundaries);
    device_tally device(mask_set{});
    device.add_cu_seqlens(on_device.all().first(3), stream);  // loads the kernels, which can wait for the device
    device.snapshot_async(stream);
    stream.wait();
    expect(device.poll().has_value(), "a snapshot that is there");
    std::uint64_t* flag = nullptr;
    require_cuda(cudaHostAlloc(&flag, 2 * sizeof(*flag), cudaHostAllocMapped), "cudaHostAlloc");
    flag[0] = flag[1] = 0;
    wait_for<<<1, 1, 0, stream>>>(flag, flag + 1);
    require_cuda(cudaGetLastError(), "wait_for");
    device.add_cu_seqlens(on_device.all().first(3), stream);
    device.snapshot_async(stream);
    for (int i = 0; i < 1000; ++i) {
        expect(!device.poll().has_value(), "a snapshot behind a kernel that waits");  // were it to block, for ever
    }
    *static_cast<volatile std::uint64_t*>(flag) = 1;
    stream.wait();
    expect(flag[1] == 0, "the kernel that waits gave up: something blocked");
    const std::optional<tally> batch = device.poll();
    expect(batch && batch->get(view::useful, accumulator::count) == 4, "the snapshot, once the kernel is done");
    require_cuda(cudaFreeHost(flag), "cudaFreeHost");
}

void a_graph_is_replayed() {
    const int replays = gpu_test::size(1000, 40);
    std::mt19937_64 random(21);
    const std::vector<std::int32_t> boundaries = boundaries_of<std::int32_t>(random_lengths(random, 500));
    const device_copy<std::int32_t> on_device(boundaries);
    const gpu_test::stream stream;
    device_tally device(every_text_mask, {.snapshots = 16});
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t step = nullptr;
    require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    device.add_cu_seqlens(on_device.all(), stream);
    device.add_cu_seqlens(on_device.all(), stream);
    device.snapshot_and_reset_async(stream);
    require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    require_cuda(cudaGraphInstantiate(&step, graph, 0), "cudaGraphInstantiate");
    tally expected{every_text_mask};
    expected.add_cu_seqlens(boundaries);
    expected.add_cu_seqlens(boundaries);
    int seen = 0;
    for (int i = 0; i < replays; ++i) {
        require_cuda(cudaGraphLaunch(step, stream), "cudaGraphLaunch");
        if (i % 8 == 7) {
            stream.wait();
        }
        while (const std::optional<tally> batch = device.poll()) {
            expect(*batch == expected, "a replayed step");
            ++seen;
        }
    }
    stream.wait();
    while (const std::optional<tally> batch = device.poll()) {
        expect(*batch == expected, "a replayed step");
        ++seen;
    }
    expect(seen == replays, std::to_string(seen) + " snapshots of " + std::to_string(replays) + " replays");
    for (int i = 0; i < 20; ++i) {
        require_cuda(cudaGraphLaunch(step, stream), "cudaGraphLaunch");
    }
    stream.wait();
    expect(error_of([&] { static_cast<void>(device.poll()); })
                   .rfind("snapshot: " + std::to_string(replays + 1) + " to " + std::to_string(replays + 4) +
                              " were overwritten",
                          0) == 0,
           "snapshots that were overwritten");
    require_cuda(cudaGraphExecDestroy(step), "cudaGraphExecDestroy");
    require_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

}  // namespace

int main(int argc, char** argv) {
    masks_of_ones_own_are_refused_by_other_kernels();
    if (failures != 0) {
        return 1;
    }
    return gpu_test::run(argc, argv, [] {
        every_input_is_counted();
        calls_are_the_same_on_every_tally();
        masks_of_ones_own_are_counted();
        a_kernel_of_ones_own_adds();
        a_kernel_of_ones_own_adds_windows();
        what_is_wrong_is_left_out();
        polling_never_blocks();
        a_graph_is_replayed();
    });
}
