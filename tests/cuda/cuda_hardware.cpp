// SPDX-License-Identifier: Apache-2.0
//
// Which part a device is, how a failed call reads, and the memory of a device. What needs no device is checked first;
// exits 77 without one.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cuda/cuda_device.hpp>
#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/cuda_memory.hpp>
#include <floptally/step/memory_probe.hpp>

#include "../error_of.hpp"
#include "../expect.hpp"

namespace {

using namespace floptally;

void require_text(const std::string& text, const std::string& expected) {
    expect(text == expected, "it reads \"" + text + "\", not \"" + expected + "\"");
}

void check_errors() {
    expect(error_of([] { require_cuda(cudaSuccess, "cudaMalloc"); }) == "no error", "success is an error");
    try {
        require_cuda(cudaErrorInvalidValue, "cudaMalloc");
        expect(false, "a failed call throws nothing");
    } catch (const cuda_error& problem) {
        const std::string text = problem.what();
        require_text(text.substr(0, text.find(" (")), "cudaMalloc: cudaErrorInvalidValue, invalid argument");
        expect(text.find("cuda_hardware.cpp:") != std::string::npos, "no file of the caller: " + text);
        expect(problem.field() == "cudaMalloc", "the field is not the call");
        expect(problem.status() == cudaErrorInvalidValue, "another status");
    }
    const int line = __LINE__ + 1;
    const std::string text = error_of([] { require_cuda(cudaErrorMemoryAllocation, "cudaMallocAsync"); });
    expect(text.ends_with("cuda_hardware.cpp:" + std::to_string(line) + ")"), "no line of the caller: " + text);
}

/// Multiprocessors and highest clock of whole parts, as far as they are public.
struct known_device {
    device_identity identity;
    std::string_view part;
    std::string_view form_factor;
};

std::vector<known_device> known_devices() {
    const auto device = [](const char* name, int multiprocessors, double clock_ghz, int major, int minor) {
        return device_identity{.name = name,
                               .multiprocessors = multiprocessors,
                               .clock_ghz = clock_ghz,
                               .memory_bytes = std::uint64_t{80} << 30U,
                               .compute_major = major,
                               .compute_minor = minor};
    };
    return {{device("NVIDIA H200", 132, 1.98, 9, 0), "H200 SXM", "SXM5"},
            {device("NVIDIA H100 80GB HBM3", 132, 1.98, 9, 0), "H100 SXM", "SXM5"},
            {device("NVIDIA H100 PCIe", 114, 1.755, 9, 0), "H100 PCIe", "PCIe"},
            {device("NVIDIA H100 NVL", 132, 1.785, 9, 0), "H100 NVL", "PCIe"},
            {device("NVIDIA GH200 480GB", 132, 1.98, 9, 0), "GH200", "superchip"},
            {device("NVIDIA A100-SXM4-80GB", 108, 1.41, 8, 0), "A100 SXM", "SXM4"},
            {device("NVIDIA A30", 56, 1.44, 8, 0), "A30", "PCIe"},
            {device("NVIDIA A10", 72, 1.695, 8, 6), "A10", "PCIe"},
            {device("NVIDIA A40", 84, 1.74, 8, 6), "A40", "PCIe"},
            {device("NVIDIA L4", 58, 2.04, 8, 9), "L4", "PCIe"},
            {device("NVIDIA L40S", 142, 2.52, 8, 9), "L40S", "PCIe"},
            {device("NVIDIA GeForce RTX 4090", 128, 2.52, 8, 9), "RTX 4090", "PCIe"},
            {device("Tesla V100-SXM2-32GB", 80, 1.53, 7, 0), "V100 SXM2", "SXM2"},
            {device("NVIDIA B200", 148, 1.965, 10, 0), "B200", "SXM"}};
}

void check_known_devices() {
    for (const known_device& known : known_devices()) {
        const std::string name = known.identity.name;
        const std::string problem = error_of([&] {
            const accelerator& part = accelerator_of(known.identity);
            expect(part.name == known.part && part.form_factor == known.form_factor, name + " is another part");
        });
        require_text(problem, "no error");

        device_identity half = known.identity;
        half.multiprocessors /= 2;
        // GeForce accumulates in fp32 at half the rate of its tensor cores, so that half of them could reach its peak.
        const bool rate_is_known = known.identity.compute_major < 10 && name.find("4090") == std::string::npos;
        expect((error_of([&] { static_cast<void>(accelerator_of(half)); }) != "no error") == rate_is_known,
               "half of " + name + " is taken for the whole, or its rate is known");

        device_identity silent = half;
        silent.clock_ghz = 0;
        require_text(error_of([&] { static_cast<void>(accelerator_of(silent)); }), "no error");
    }
}

void check_unknown_devices() {
    const auto refusal = [](const device_identity& device) {
        return error_of([&] { static_cast<void>(accelerator_of(device)); });
    };
    const auto slice = [](std::string name, int multiprocessors) {
        return device_identity{.name = std::move(name),
                               .multiprocessors = multiprocessors,
                               .clock_ghz = 1.98,
                               .memory_bytes = std::uint64_t{10} << 30U,
                               .compute_major = 9};
    };
    require_text(
        refusal(slice("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16)),
        R"(accelerator: no known accelerator is called "NVIDIA H100 80GB HBM3 MIG 1g.10gb"; near it: H100 SXM, )"
        "H100 PCIe, H100 NVL; `floptally accelerators` lists the known names. For another accelerator pass the peak "
        "(peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on the device; the device is "
        "a slice of a card "
        "(MIG): NVIDIA H100 80GB HBM3 MIG 1g.10gb, 16 multiprocessors at up to 1.980 GHz, 10.0 GiB, compute "
        "capability 9.0; pass peak_tflops instead");
    expect(refusal(slice("NVIDIA H100 80GB HBM3 MIG 7g.80gb", 132)).starts_with("accelerator: no known accelerator"),
           "the largest slice is taken for the card");
    require_text(refusal(slice("NVIDIA H100 80GB HBM3", 66)),
                 "accelerator: H100 SXM has 989 dense fp16 TFLOP/s, but these multiprocessors reach only 535; the "
                 "device is NVIDIA H100 80GB HBM3, 66 multiprocessors at up to 1.980 GHz, 10.0 GiB, compute capability "
                 "9.0; pass peak_tflops instead");
    require_text(
        refusal({.name = "NVIDIA RTX A1000",
                 .multiprocessors = 18,
                 .memory_bytes = std::uint64_t{8} << 30U,
                 .compute_major = 8,
                 .compute_minor = 6}),
        R"(accelerator: no known accelerator is called "NVIDIA RTX A1000"; nearest: RTX A6000; `floptally )"
        "accelerators` lists the known names. For another accelerator pass the peak (peak_tflops=, --peak-tflops), "
        "which "
        "floptally.measure_peak() measures on the device; the device is NVIDIA RTX A1000, 18 multiprocessors, 8.0 GiB, "
        "compute capability 8.6; "
        "pass peak_tflops instead");
    expect(refusal(slice("NVIDIA H100", 132))
               .starts_with(R"(accelerator: "NVIDIA H100" is only part of a name; pass a whole name, one of: )"
                            "H100 SXM, H100 PCIe, H100 NVL; the device is NVIDIA H100, 132 multiprocessors"),
           "part of a name is enough");
    expect(refusal({}).starts_with("accelerator: the name is empty"), "a device without a name");
}

void check_identity(int devices) {
    const device_identity device = identity_of(0);
    const std::string text = describe(device);
    std::printf("%s\n", text.c_str());
    expect(!device.name.empty(), "the device has no name");
    expect(device.multiprocessors > 0 && device.multiprocessors < 10'000, "multiprocessors: " + text);
    expect(device.clock_ghz > 0.1 && device.clock_ghz < 10, "clock: " + text);
    expect(device.compute_major >= 5, "compute capability: " + text);
    expect(error_of([&] { static_cast<void>(identity_of(devices)); }).starts_with("cudaGetDeviceProperties: "),
           "a device that is not there");
    try {
        const accelerator& part = accelerator_of(0);
        std::printf("%s, %s\n", std::string(part.name).c_str(), std::string(part.form_factor).c_str());
    } catch (const error& unknown) {
        expect(unknown.field() == "accelerator", unknown.what());
        std::printf("%s\n", unknown.what());
    }
}

/// Takes memory from the pool of the current device and gives it back.
void use_pool(std::size_t bytes) {
    void* memory = nullptr;
    require_cuda(cudaMallocAsync(&memory, bytes, nullptr), "cudaMallocAsync");
    require_cuda(cudaFreeAsync(memory, nullptr), "cudaFreeAsync");
    require_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

constexpr std::size_t mib = std::size_t{1} << 20U;

void check_memory(int devices) {
    const cuda_memory memory;
    expect(memory.device() == 0, "not the current device");
    memory.reset_high_marks();
    const memory_sample before = memory.sample();
    expect(before.free > 0 && before.free <= before.total, "free and total are out of order");

    void* held = nullptr;
    require_cuda(cudaMallocAsync(&held, 16 * mib, nullptr), "cudaMallocAsync");
    use_pool(64 * mib);
    const memory_sample used = memory.sample();
    expect(used.pool_used_high >= before.pool_used_high + 80 * mib, "the use is not marked");
    expect(used.pool_reserved_high >= used.pool_used_high, "less is reserved than used");
    memory.reset_high_marks();
    const memory_sample after = memory.sample();
    expect(after.pool_used_high < used.pool_used_high, "a reset leaves the mark");
    expect(after.pool_used_high >= 16 * mib, "what is in use at a reset is not marked");
    require_cuda(cudaFreeAsync(held, nullptr), "cudaFreeAsync");
    require_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");

    const std::string absent = error_of([&] { cuda_memory none(devices); });
    expect(absent.find("cudaErrorInvalidDevice") != std::string::npos,
           "memory of a device that is not there: " + absent);
    const cuda_memory last(devices - 1);
    static_cast<void>(last.sample());
    int current = -1;
    require_cuda(cudaGetDevice(&current), "cudaGetDevice");
    expect(current == 0, "another device is current after a sample");
}

std::uint64_t attribute_of(cudaMemPool_t pool, cudaMemPoolAttr which) {
    std::uint64_t bytes = 0;
    require_cuda(cudaMemPoolGetAttribute(pool, which, &bytes), "cudaMemPoolGetAttribute");
    return bytes;
}

void check_own_pool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = 0;
    cudaMemPool_t pool = nullptr;
    require_cuda(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
    const cuda_memory own(0, pool);
    use_pool(64 * mib);
    expect(own.sample().pool_used_high == 0, "the device's pool is taken for one's own");
    void* held = nullptr;
    require_cuda(cudaMallocFromPoolAsync(&held, 4 * mib, pool, nullptr), "cudaMallocFromPoolAsync");
    const memory_sample used = own.sample();
    expect(used.pool_used_high >= 4 * mib, "the use of one's own pool is not marked");
    expect(used.pool_used_high == attribute_of(pool, cudaMemPoolAttrUsedMemCurrent), "another mark than that of use");
    expect(used.pool_reserved_high == attribute_of(pool, cudaMemPoolAttrReservedMemCurrent),
           "another mark than that of what is reserved");
    require_cuda(cudaFreeAsync(held, nullptr), "cudaFreeAsync");
    require_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    require_cuda(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    own.reset_high_marks();
    expect(own.sample().pool_used_high == 0, "an empty pool has a mark of use after a reset");
    expect(own.sample().pool_reserved_high < used.pool_reserved_high, "a reset leaves the mark of what is reserved");
    require_cuda(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
}

void check_probe() {
    memory_probe_options options;
    options.profile_steps = {0, 1};
    memory_probe<cuda_memory> probe(cuda_memory{}, options);
    for (std::uint64_t step = 0; step < 3; ++step) {
        probe.begin_step(step);
        use_pool(step == 0 ? 128 * mib : 32 * mib);
        probe.end_step(step);
    }
    expect(probe.rows().size() == 2, "not a row for each profiled step");
    for (const memory_row& row : probe.rows()) {
        std::printf("%s\n", to_json_line(row).c_str());
        expect(row.after.pool_used_high >= row.before.pool_used_high + 32 * mib, "a step's use is not marked");
    }
    expect(probe.rows()[1].after.pool_used_high < probe.rows()[0].after.pool_used_high,
           "the second step has the mark of the first");
}

}  // namespace

int main() {
    try {
        check_errors();
        check_known_devices();
        check_unknown_devices();
        if (failures != 0) {
            return 1;
        }
        int devices = 0;
        if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
            std::puts("skipped: no CUDA device");
            return 77;
        }
        check_identity(devices);
        check_memory(devices);
        check_own_pool();
        check_probe();
    } catch (const std::exception& problem) {
        expect(false, problem.what());
    }
    return failures == 0 ? 0 : 1;
}
