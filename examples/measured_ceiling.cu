// SPDX-License-Identifier: Apache-2.0
//
// The rates that a device reaches beside those of its datasheet: square bf16 matmuls by cuBLASLt and copies within its
// memory. An MFU is a share of the datasheet's peak; a part of it that no matmul reaches is not the training's fault.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <floptally/cuda.hpp>

namespace {

using floptally::require_cuda;

void require_cublas(cublasStatus_t status, std::string_view call, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        throw floptally::error(call, std::string(cublasLtGetStatusString(status))
                                         .append(" (")
                                         .append(file)
                                         .append(":")
                                         .append(std::to_string(line))
                                         .append(")"));
    }
}

constexpr int warm_ups = 3;
constexpr int repetitions = 20;
constexpr std::size_t workspace_bytes = std::size_t{32} << 20U;  // what cuBLAS itself takes on Hopper

/// The value at an index: a random multiple of 2^-7 in [-1, 1), which bf16 holds exactly. Zeros or constants would need
/// less power, and so raise the clock.
__host__ __device__ float value_at(std::uint64_t index, std::uint32_t seed) {
    std::uint64_t x = (index + 1) * 0x9E3779B97F4A7C15U + seed;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<float>(static_cast<int>(x >> 56U) - 128) / 128.0F;
}

__global__ void fill(__nv_bfloat16* values, std::uint64_t count, std::uint32_t seed) {
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
        values[i] = __float2bfloat16(value_at(i, seed));
    }
}

struct device_free {
    void operator()(void* memory) const noexcept { cudaFree(memory); }
};
template <class T>
using device_array = std::unique_ptr<T[], device_free>;

template <class T>
device_array<T> allocate(std::uint64_t count) {
    void* memory = nullptr;
    require_cuda(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    return device_array<T>(static_cast<T*>(memory));
}

device_array<__nv_bfloat16> filled(std::uint64_t count, std::uint32_t seed) {
    device_array<__nv_bfloat16> values = allocate<__nv_bfloat16>(count);
    fill<<<1024, 256>>>(values.get(), count, seed);
    require_cuda(cudaGetLastError(), "fill");
    return values;
}

float read_one(const __nv_bfloat16* from) {
    __nv_bfloat16 value;
    require_cuda(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return __bfloat162float(value);
}

/// True where that much memory is free; prints so where it is not.
bool fits(const std::string& size, std::uint64_t bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (bytes > free) {
        std::printf("%-22s does not fit in the memory that is free\n", size.c_str());
    }
    return bytes <= free;
}

struct timing {
    double best_seconds = 0;
    double median_seconds = 0;
};

/// The seconds of each repetition, from the end of the one queued before it: the host never waits between them.
template <class Enqueue>
timing time_repetitions(cudaStream_t stream, Enqueue enqueue) {
    for (int i = 0; i < warm_ups; ++i) {
        enqueue();
    }
    std::vector<cudaEvent_t> ends(repetitions + 1);
    for (cudaEvent_t& end : ends) {
        require_cuda(cudaEventCreate(&end), "cudaEventCreate");
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (i != 0) {
            enqueue();
        }
        require_cuda(cudaEventRecord(ends[i], stream), "cudaEventRecord");
    }
    require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::vector<double> seconds;
    for (std::size_t i = 1; i < ends.size(); ++i) {
        float milliseconds = 0;
        require_cuda(cudaEventElapsedTime(&milliseconds, ends[i - 1], ends[i]), "cudaEventElapsedTime");
        seconds.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    for (const cudaEvent_t end : ends) {
        require_cuda(cudaEventDestroy(end), "cudaEventDestroy");
    }
    std::sort(seconds.begin(), seconds.end());
    return {.best_seconds = seconds.front(), .median_seconds = seconds[seconds.size() / 2]};
}

template <class T>
using owned = std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T)>;

template <class T, class... Arguments>
owned<T> make(std::string_view call, cublasStatus_t (*destroy)(T), cublasStatus_t (*create)(T*, Arguments...),
              std::type_identity_t<Arguments>... arguments) {
    T handle = nullptr;
    require_cublas(create(&handle, arguments...), call);
    return {handle, destroy};
}

/// D = Aᵀ B of n x n matrices, column by column: each element is a product of two columns in memory.
class square_matmul {
  public:
    explicit square_matmul(std::uint64_t n)
        : n_(n),
          a_(filled(n * n, 1)),
          b_(filled(n * n, 2)),
          d_(filled(n * n, 3)),
          workspace_(allocate<char>(workspace_bytes)),
          handle_(make("cublasLtCreate", cublasLtDestroy, cublasLtCreate)),
          matmul_(make("cublasLtMatmulDescCreate", cublasLtMatmulDescDestroy, cublasLtMatmulDescCreate,
                       CUBLAS_COMPUTE_32F, CUDA_R_32F)),
          layout_(make("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutDestroy, cublasLtMatrixLayoutCreate,
                       CUDA_R_16BF, n, n, static_cast<std::int64_t>(n))) {
        const cublasOperation_t transposed = CUBLAS_OP_T;
        require_cublas(
            cublasLtMatmulDescSetAttribute(matmul_.get(), CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
            "cublasLtMatmulDescSetAttribute");
        const auto wish =
            make("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreferenceCreate);
        require_cublas(cublasLtMatmulPreferenceSetAttribute(wish.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                            &workspace_bytes, sizeof workspace_bytes),
                       "cublasLtMatmulPreferenceSetAttribute");
        cublasLtMatrixLayout_t layout = layout_.get();
        int found = 0;
        require_cublas(cublasLtMatmulAlgoGetHeuristic(handle_.get(), matmul_.get(), layout, layout, layout, layout,
                                                      wish.get(), 1, &heuristic_, &found),
                       "cublasLtMatmulAlgoGetHeuristic");
        require_cublas(found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : heuristic_.state, "cublasLtMatmulAlgoGetHeuristic");
    }

    void enqueue(cudaStream_t stream) const {
        const float alpha = 1;
        const float zero = 0;
        cublasLtMatrixLayout_t layout = layout_.get();
        require_cublas(
            cublasLtMatmul(handle_.get(), matmul_.get(), &alpha, a_.get(), layout, b_.get(), layout, &zero, d_.get(),
                           layout, d_.get(), layout, &heuristic_.algo, workspace_.get(), workspace_bytes, stream),
            "cublasLtMatmul");
    }

    /// True where an element is right. The host's sum is exact: products are multiples of 2^-14, and fp64 has room for
    /// their sum. The device may round each of its sums in fp32, and the result to the 8 bits of bf16.
    [[nodiscard]] bool is_right(std::uint64_t row, std::uint64_t column) const {
        double expected = 0;
        for (std::uint64_t k = 0; k < n_; ++k) {
            expected += static_cast<double>(value_at(row * n_ + k, 1)) * value_at(column * n_ + k, 2);
        }
        const double got = read_one(d_.get() + column * n_ + row);
        const bool right = std::abs(got - expected) <= std::abs(expected) / 128 + 1e-2;
        if (!right) {
            std::fprintf(stderr, "element (%llu, %llu) is %g, not %g\n", static_cast<unsigned long long>(row),
                         static_cast<unsigned long long>(column), got, expected);
        }
        return right;
    }

  private:
    std::uint64_t n_;
    device_array<__nv_bfloat16> a_;
    device_array<__nv_bfloat16> b_;
    device_array<__nv_bfloat16> d_;
    device_array<char> workspace_;
    owned<cublasLtHandle_t> handle_;
    owned<cublasLtMatmulDesc_t> matmul_;
    owned<cublasLtMatrixLayout_t> layout_;
    cublasLtMatmulHeuristicResult_t heuristic_{};
};

/// Prints a row without the end of its line; returns the rate at the median. `unit` is 10^12 for TFLOP/s.
double print_row(const std::string& size, std::uint64_t amount, const timing& took, double unit) {
    const double median = static_cast<double>(amount) / took.median_seconds / unit;
    const double best = static_cast<double>(amount) / took.best_seconds / unit;
    std::printf("%-22s %14llu %10.3f %15.1f %13.1f", size.c_str(), static_cast<unsigned long long>(amount),
                took.median_seconds * 1e3, median, best);
    return median;
}

/// Prints a row for each size; false where a product is wrong. `peak_tflops` is 0 where none is known.
bool measure_matmuls(cudaStream_t stream, double peak_tflops) {
    bool right = true;
    std::printf("\n%-22s %14s %10s %15s %13s %19s\n", "bf16 matmul, fp32 sums", "FLOPs", "median ms", "median TFLOP/s",
                "best TFLOP/s", "median of datasheet");
    for (const std::uint64_t n : {std::uint64_t{4096}, std::uint64_t{8192}, std::uint64_t{16384}}) {
        const std::string side = std::to_string(n);
        const std::string size = side + " x " + side + " x " + side;
        if (!fits(size, 3 * n * n * sizeof(__nv_bfloat16) + 2 * workspace_bytes)) {
            continue;
        }
        const square_matmul matmul(n);
        require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        const timing took = time_repetitions(stream, [&] { matmul.enqueue(stream); });
        right = matmul.is_right(0, 0) && matmul.is_right(n / 3, n / 2) && matmul.is_right(n - 1, n - 1) && right;
        const double median = print_row(size, 2 * n * n * n, took, 1e12);
        if (peak_tflops > 0) {
            std::printf(" %17.1f %%\n", 100 * median / peak_tflops);
        } else {
            std::printf(" %19s\n", "unknown");
        }
    }
    return right;
}

/// Prints a row for each size, of bytes read and written; false where a copy is wrong.
bool measure_copies(cudaStream_t stream) {
    bool right = true;
    std::printf("\n%-22s %14s %10s %15s %13s\n", "copy in device memory", "bytes moved", "median ms", "median GB/s",
                "best GB/s");
    for (const std::uint64_t mib : {std::uint64_t{256}, std::uint64_t{1024}}) {
        const std::uint64_t bytes = mib << 20U;
        const std::uint64_t count = bytes / sizeof(__nv_bfloat16);
        const std::string size = std::to_string(mib) + " MiB";
        if (!fits(size, 2 * bytes)) {
            continue;
        }
        const device_array<__nv_bfloat16> from = filled(count, 4);
        const device_array<__nv_bfloat16> to = filled(count, 5);
        require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        const timing took = time_repetitions(stream, [&] {
            require_cuda(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, stream),
                         "cudaMemcpyAsync");
        });
        for (const std::uint64_t i : {std::uint64_t{0}, count / 3, count - 1}) {
            right = read_one(to.get() + i) == value_at(i, 4) && right;
        }
        print_row(size, 2 * bytes, took, 1e9);
        std::puts(right ? "" : " wrong");
    }
    return right;
}

/// The datasheet's dense bf16 rate, or 0 with the reason printed.
double datasheet_tflops(const floptally::device_identity& device) {
    try {
        const floptally::accelerator& part = floptally::accelerator_of(device);
        const double tflops = part.peak_tflops(floptally::precision::bf16);
        std::printf("datasheet: %s (%s), %g dense bf16 TFLOP/s: %s, %s\n", std::string(part.name).c_str(),
                    std::string(part.form_factor).c_str(), tflops, std::string(part.source.title).c_str(),
                    std::string(part.source.url).c_str());
        return tflops;
    } catch (const floptally::error& unknown) {
        std::printf("datasheet: %s\n", unknown.what());
        return 0;
    }
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no CUDA device");
        return 77;
    }
    try {
        const floptally::device_identity device = floptally::identity_of(0);
        std::printf("%s\n", describe(device).c_str());
        const double peak_tflops = datasheet_tflops(device);
        cudaStream_t stream = nullptr;
        require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        const bool matmuls_are_right = measure_matmuls(stream, peak_tflops);
        const bool copies_are_right = measure_copies(stream);
        require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
        return matmuls_are_right && copies_are_right ? 0 : 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        return 1;
    }
}
