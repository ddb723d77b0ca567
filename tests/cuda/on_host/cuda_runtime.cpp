// SPDX-License-Identifier: Apache-2.0
//
// A CUDA runtime on the host, for tests, with two devices that are memory of the host. Programs are linked to it in
// place of libcudart: kernels are the PTX that nvcc has put into them, executed by ptx_machine.hpp.
//
// It is as late and as strict as the real one may be: work is done when somebody waits for it (with
// FLOPTALLY_HOST_STREAMS=eager at once), a copy from pageable memory returns before the device has it, and giving
// memory back waits for nobody. A kernel that touches what is no memory of its device, a wait in a capture, and the
// first use of a kernel in one, are errors.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <deque>
#include <fatbinary_section.h>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_runtime.hpp"
#include "ptx_machine.hpp"

namespace {

constexpr int device_count = 2;

thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

// ---- what went wrong ----

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t broken = cudaSuccess;  // by a kernel: for ever
std::pair<std::string, cudaError_t> fails_next;
on_host::call_counts counts;

cudaError_t failed(cudaError_t status) {
    if (status != cudaSuccess) {
        last_error = status;
    }
    return status;
}

// ---- devices: the current one is set, or on top of a stack of contexts ----

thread_local int set_device = 0;
thread_local std::vector<int> pushed_devices;
std::set<int> contexts;

int current_device() { return pushed_devices.empty() ? set_device : pushed_devices.back(); }

// ---- memory ----

struct allocation {
    std::size_t size;
    int device;  // -1: of the host, which all devices see
};
/// What is the driver's, so that the runtimes of several libraries of a program share it.
template <class T, int Place>
T& of_process() {
    static void* own = nullptr;
    void*& held = &floptally_host_process != nullptr ? floptally_host_process[Place] : own;
    if (held == nullptr) {
        held = new T();
    }
    return *static_cast<T*>(held);
}
std::map<std::uintptr_t, allocation>& allocations = of_process<std::map<std::uintptr_t, allocation>, 0>();
int running_device = 0;

bool may_access(std::uintptr_t address, std::size_t bytes) {
    static std::uintptr_t first = 0;  // the one that was asked for last
    auto found = allocations.find(first);
    if (found == allocations.end() || address < first || address >= first + found->second.size) {
        found = allocations.upper_bound(address);
        if (found == allocations.begin()) {
            return false;
        }
        --found;
        first = found->first;
    }
    return address + bytes <= found->first + found->second.size &&
           (found->second.device == -1 || found->second.device == running_device);
}
void require_access(const void* memory, std::size_t bytes) {
    if (bytes != 0 && !may_access(reinterpret_cast<std::uintptr_t>(memory), bytes)) {
        throw std::runtime_error("a copy touches what is no memory of the device");
    }
}
constexpr std::size_t memory_size = std::size_t{1} << 30;  // of a device, and what can be pinned

cudaError_t allocate(void** memory, std::size_t bytes, int device) {
    *memory = bytes > memory_size ? nullptr : std::aligned_alloc(256, (bytes + 256) / 256 * 256);
    if (*memory == nullptr) {
        return cudaErrorMemoryAllocation;
    }
    std::memset(*memory, 0xCD, bytes);
    allocations[reinterpret_cast<std::uintptr_t>(*memory)] = {bytes, device};
    return cudaSuccess;
}
cudaError_t release(void* memory) {
    if (memory != nullptr && allocations.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) {
        return cudaErrorInvalidValue;
    }
    std::free(memory);
    return cudaSuccess;
}

// ---- streams: queues of work, done in order ----

constexpr std::uint64_t one_turn = 1'000'000;         // instructions of a kernel that nobody waits for
constexpr std::uint64_t unbearable = 20'000'000'000;  // a kernel that never ends

/// Goes on for so many instructions, about; true once it is done.
using work = std::function<bool(std::uint64_t)>;
/// The work as a graph keeps it: each replay starts it from the beginning.
using recipe = std::function<work()>;

struct graph_node {
    cudaGraphNodeType type;
    recipe make;
};
struct graph {
    std::vector<graph_node> nodes;
    bool valid = true;
};
struct queued {
    std::uint64_t number;
    work go_on;
};
struct stream {
    int device;
    bool waits_for_default;
    bool is_default = false;
    std::deque<queued> queue{};
    std::shared_ptr<graph> capture{};
};

std::uint64_t& numbers = of_process<std::uint64_t, 1>();
std::vector<std::unique_ptr<stream>>& streams = of_process<std::vector<std::unique_ptr<stream>>, 2>();

stream& default_stream(int device) {
    for (const auto& one : streams) {
        if (one->is_default && one->device == device) {
            return *one;
        }
    }
    streams.push_back(std::make_unique<stream>(stream{device, true, true}));
    return *streams.back();
}
stream& stream_of(cudaStream_t handle) {
    return handle == nullptr || handle == cudaStreamLegacy ? default_stream(current_device())
                                                           : *reinterpret_cast<stream*>(handle);
}
bool a_capture_is_open() {
    return std::any_of(streams.begin(), streams.end(), [](const auto& one) { return one->capture != nullptr; });
}

/// Does what is queued up to a number. The default stream waits for those of its device, and they for it.
bool advance(stream& own, std::uint64_t up_to, std::uint64_t instructions) {
    while (!own.queue.empty() && own.queue.front().number <= up_to) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            stream& other = *streams[i];
            if (&other != &own && other.device == own.device && (other.is_default || own.is_default) &&
                other.waits_for_default && own.waits_for_default &&
                !advance(other, own.queue.front().number, instructions)) {
                return false;
            }
        }
        running_device = own.device;
        if (!own.queue.front().go_on(instructions)) {
            return false;
        }
        own.queue.pop_front();
    }
    return true;
}
void wait_for(stream& own, std::uint64_t up_to) {
    if (!advance(own, up_to, unbearable)) {
        throw std::runtime_error("a kernel does not end");
    }
}
void wait_for_device() {
    for (std::size_t i = 0; i < streams.size(); ++i) {
        if (streams[i]->device == current_device()) {
            wait_for(*streams[i], numbers);
        }
    }
}
bool is_eager() {
    static const char* const said = std::getenv("FLOPTALLY_HOST_STREAMS");
    return said != nullptr && std::string_view(said) == "eager";
}

/// Queues, or captures, on a stream of the current device.
cudaError_t put(cudaStream_t handle, cudaGraphNodeType type, const recipe& make) {
    stream& own = stream_of(handle);
    if (own.device != current_device()) {
        return cudaErrorInvalidResourceHandle;
    }
    if (own.capture != nullptr) {
        own.capture->nodes.push_back({type, make});
        return cudaSuccess;
    }
    own.queue.push_back({++numbers, make()});
    for (std::size_t i = 0; is_eager() && i < streams.size(); ++i) {
        static_cast<void>(advance(*streams[i], numbers, one_turn));
    }
    return cudaSuccess;
}
/// Work that is done in one go.
recipe at_once(const std::function<void()>& act) {
    return [act] {
        return [act](std::uint64_t) {
            act();
            return true;
        };
    };
}

struct event {
    bool done = true;
    bool of_graph = false;
    double at = 0;
    stream* on = nullptr;
    std::uint64_t number = 0;
};
event& event_of(cudaEvent_t handle) { return *reinterpret_cast<event*>(handle); }
double now = 0;  // milliseconds: one for each event

// ---- a call ----

enum class kind : std::uint8_t { launches, allocates, waits, other };

int required_device = -1;
std::atomic<std::uint64_t> on_wrong_device = 0;
/// True for calls that say or change which device is current, and for those that ask no device.
bool needs_no_device(std::string_view name) {
    return name == "cudaGetDevice" || name == "cudaSetDevice" || name == "cudaGetDeviceCount" ||
           name == "cudaThreadExchangeStreamCaptureMode" || name == "cudaGetDriverEntryPointByVersion";
}

/// Counts a call and makes it, unless it is to fail. One that waits is an error while anything is captured.
template <class Body>
cudaError_t call(const char* name, kind what, const Body& body) {
    ++(what == kind::launches    ? counts.launches
       : what == kind::allocates ? counts.allocations
       : what == kind::waits     ? counts.waits
                                 : counts.others);
    if (broken != cudaSuccess) {
        return failed(broken);
    }
    if (required_device >= 0 && current_device() != required_device && !needs_no_device(name)) {
        std::fprintf(stderr, "%s: device %d is current\n", name, current_device());
        ++on_wrong_device;
        return failed(cudaErrorInvalidDevice);
    }
    if (fails_next.first == name) {
        fails_next.first.clear();
        return failed(fails_next.second);
    }
    if ((what == kind::waits || what == kind::allocates) && capture_mode != cudaStreamCaptureModeRelaxed &&
        a_capture_is_open()) {
        for (const auto& one : streams) {
            if (one->capture != nullptr) {
                one->capture->valid = false;
            }
        }
        return failed(cudaErrorStreamCaptureUnsupported);
    }
    try {
        return failed(body());
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s: %s\n", name, problem.what());
        broken = cudaErrorIllegalAddress;
        std::atexit([] { std::_Exit(1); });  // though nobody asks
        return failed(broken);
    }
}
/// Runs a call that makes a context on the current device, as `call` does.
template <class Body>
cudaError_t call_on_device(const char* name, kind what, const Body& body) {
    contexts.insert(current_device());
    return call(name, what, body);
}

// ---- kernels ----

std::map<std::string, ptx::kernel, std::less<>>& kernels() {
    static std::map<std::string, ptx::kernel, std::less<>> all;
    return all;
}
std::map<const void*, std::string>& kernel_names() {
    static std::map<const void*, std::string> all;
    return all;
}
std::set<std::pair<int, const void*>> loaded;

/// The PTX in what nvcc has put into a program: text that begins with its version and ends with a zero. nvcc must not
/// compress it (--no-compress).
void read_kernels(const void* fat_binary) {
    const auto* const wrapper = static_cast<const __fatBinC_Wrapper_t*>(fat_binary);
    const char* const bytes = reinterpret_cast<const char*>(wrapper->data);
    struct {
        std::uint32_t magic;
        std::uint16_t version;
        std::uint16_t header_size;
        std::uint64_t size;  // after the header
    } header{};
    std::memcpy(&header, bytes, sizeof(header));
    const std::string_view all(bytes, header.magic == 0xBA55'ED50U ? header.header_size + header.size : 0);
    const std::size_t first = all.find("\n.version ");
    try {
        if (first == std::string_view::npos) {
            throw std::runtime_error("this program has no PTX that can be read: nvcc takes --no-compress");
        }
        for (ptx::kernel& code : ptx::read_program(std::string(all.substr(first, all.find('\0', first) - first)))) {
            kernels()[code.name] = std::move(code);
        }
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        std::_Exit(1);
    }
}

cudaError_t load(const void* function) {
    const auto name = kernel_names().find(function);
    if (name == kernel_names().end() || !kernels().contains(name->second)) {
        return cudaErrorInvalidDeviceFunction;
    }
    if (loaded.emplace(current_device(), function).second && a_capture_is_open()) {
        return cudaErrorStreamCaptureUnsupported;
    }
    return cudaSuccess;
}

cudaError_t launch(const void* function, dim3 blocks, dim3 threads, void** arguments, std::size_t shared_bytes,
                   cudaStream_t handle) {
    if (const cudaError_t status = load(function); status != cudaSuccess) {
        return status;
    }
    const ptx::kernel& kernel = kernels().at(kernel_names().at(function));
    if (blocks.x == 0 || threads.x == 0 || threads.x > 1024 || blocks.y * blocks.z * threads.y * threads.z != 1 ||
        kernel.shared_bytes + shared_bytes > 48 * 1024) {
        return cudaErrorInvalidConfiguration;
    }
    const auto copies = std::make_shared<std::vector<std::vector<char>>>();  // the caller's are gone when it runs
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const char* const argument = static_cast<const char*>(arguments[i]);
        copies->emplace_back(argument, argument + kernel.parameters[i].size);
    }
    return put(handle, cudaGraphNodeTypeKernel, [=, &kernel]() -> work {
        std::vector<void*> addresses;
        for (std::vector<char>& one : *copies) {
            addresses.push_back(one.data());
        }
        const auto running = std::make_shared<ptx::running_kernel>(kernel, blocks.x, threads.x, shared_bytes,
                                                                   addresses.data(), may_access);
        return [running](std::uint64_t instructions) {
            try {
                return running->run(instructions);
            } catch (const std::exception& problem) {
                throw std::runtime_error(running->name() + ": " + problem.what());
            }
        };
    });
}

struct launch_configuration {
    dim3 blocks;
    dim3 threads;
    std::size_t shared_bytes;
    cudaStream_t stream;
};
std::vector<launch_configuration> configurations;  // of kernel<<<…>>>

// ---- functions of the driver, which the runtime finds by name ----

CUresult retain_context(CUcontext* context, CUdevice device) {
    if (device < 0 || device >= device_count) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    contexts.insert(device);
    *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
    return CUDA_SUCCESS;
}
CUresult release_context(CUdevice /*device*/) { return CUDA_SUCCESS; }
CUresult push_context(CUcontext context) {
    pushed_devices.push_back(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
    return CUDA_SUCCESS;
}
CUresult pop_context(CUcontext* /*context*/) {
    pushed_devices.pop_back();
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

// ---- for tests ----

void floptally_host_counts(on_host::call_counts* to) { *to = counts; }
void floptally_host_executed(std::uint64_t* instructions, std::uint64_t* fences) {
    *instructions = ptx::executed_instructions;
    *fences = ptx::fences;
}
void floptally_host_fail_next(const char* name, cudaError_t status) { fails_next = {name, status}; }
void floptally_host_require_device(int device) { required_device = device; }
std::uint64_t floptally_host_on_wrong_device() { return on_wrong_device; }
bool floptally_host_has_context(int device) { return contexts.contains(device); }

// ---- what nvcc puts into programs ----

void** __cudaRegisterFatBinary(void* fat_binary) {
    read_kernels(fat_binary);
    static void* handle = nullptr;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) { return 0; }
void __cudaRegisterFunction(void** /*handle*/, const char* function, char* /*device_function*/, const char* name,
                            int /*thread_limit*/, uint3* /*tid*/, uint3* /*bid*/, dim3* /*block*/, dim3* /*grid*/,
                            int* /*size*/) {
    kernel_names()[function] = name;
}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t shared_bytes, CUstream_st* handle) {
    configurations.push_back({blocks, threads, shared_bytes, handle});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, std::size_t* shared_bytes, void* handle) {
    *blocks = configurations.back().blocks;
    *threads = configurations.back().threads;
    *shared_bytes = configurations.back().shared_bytes;
    *static_cast<cudaStream_t*>(handle) = configurations.back().stream;
    configurations.pop_back();
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments,
                               std::size_t shared_bytes, cudaStream_t handle) {
    return cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, handle);
}

// ---- launches ----

cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared_bytes, cudaStream_t handle) {
    return call_on_device(__func__, kind::launches,
                          [&] { return launch(function, blocks, threads, arguments, shared_bytes, handle); });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
    return call_on_device(__func__, kind::other, [&] {
        *to = {};
        return load(function);
    });
}

// ---- memory ----

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    return call_on_device(__func__, kind::allocates, [&] { return allocate(memory, bytes, current_device()); });
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
    return call_on_device(__func__, kind::allocates, [&] { return allocate(memory, bytes, -1); });
}
/// Waits for the device.
cudaError_t cudaFree(void* memory) {
    return call_on_device(__func__, kind::allocates, [&] {
        wait_for_device();
        return release(memory);
    });
}
cudaError_t cudaFreeHost(void* memory) {
    return call_on_device(__func__, kind::allocates, [&] { return release(memory); });
}
/// A copy: from the host it is staged and under way when the call returns; to the host it waits.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind direction) {
    return call_on_device(__func__, kind::waits, [&] {
        stream& own = default_stream(current_device());
        if (direction == cudaMemcpyHostToDevice) {
            const std::vector<char> staged(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
            return put(nullptr, cudaGraphNodeTypeMemcpy, at_once([=] {
                           require_access(to, bytes);
                           std::memcpy(to, staged.data(), bytes);
                       }));
        }
        wait_for(own, numbers);
        running_device = current_device();
        require_access(from, bytes);
        std::memcpy(to, from, bytes);
        return cudaSuccess;
    });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*direction*/,
                            cudaStream_t handle) {
    return call_on_device(__func__, kind::other, [&] {
        return put(handle, cudaGraphNodeTypeMemcpy, at_once([=] { std::memcpy(to, from, bytes); }));
    });
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr);
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t handle) {
    return call_on_device(__func__, kind::other, [&] {
        return put(handle, cudaGraphNodeTypeMemset, at_once([=] {
                       require_access(memory, bytes);
                       std::memset(memory, value, bytes);
                   }));
    });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call_on_device(__func__, kind::other, [&] {
        *free = std::size_t{1} << 30U;
        *total = std::size_t{2} << 30U;
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return call(__func__, kind::other, [&] {
        *pool = reinterpret_cast<cudaMemPool_t>(static_cast<std::uintptr_t>(device) + 1);
        return device < device_count ? cudaSuccess : cudaErrorInvalidDevice;
    });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*which*/, void* value) {
    return call(__func__, kind::other, [&] {
        *static_cast<std::uint64_t*>(value) = 0;
        return cudaSuccess;
    });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*which*/, void* /*value*/) {
    return call(__func__, kind::other, [] { return cudaSuccess; });
}

// ---- devices ----

cudaError_t cudaGetDeviceCount(int* to) {
    *to = device_count;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* to) {
    return call(__func__, kind::other, [&] {
        *to = current_device();
        return cudaSuccess;
    });
}
/// Makes a context on the device, since CUDA 12.
cudaError_t cudaSetDevice(int device) {
    return call(__func__, kind::other, [&] {
        if (device < 0 || device >= device_count) {
            return cudaErrorInvalidDevice;
        }
        (pushed_devices.empty() ? set_device : pushed_devices.back()) = device;
        contexts.insert(device);
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceSynchronize() {
    return call_on_device(__func__, kind::waits, [] {
        wait_for_device();
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceGetAttribute(int* to, cudaDeviceAttr which, int /*device*/) {
    return call(__func__, kind::other, [&] {
        *to = which == cudaDevAttrMultiProcessorCount ? 2 : 0;
        return cudaSuccess;
    });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* to, int /*device*/) {
    return call(__func__, kind::other, [&] {
        *to = {};
        std::strcpy(to->name, "a device on the host");
        to->multiProcessorCount = 2;
        return cudaSuccess;
    });
}
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned /*version*/,
                                             unsigned long long /*flags*/, cudaDriverEntryPointQueryResult* found) {
#else
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long /*flags*/,
                                    cudaDriverEntryPointQueryResult* found) {
#endif
    return call(__func__, kind::other, [&] {
        const std::map<std::string_view, void*> known{
            {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(retain_context)},
            {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(release_context)},
            {"cuCtxPushCurrent", reinterpret_cast<void*>(push_context)},
            {"cuCtxPopCurrent", reinterpret_cast<void*>(pop_context)}};
        const auto element = known.find(name);
        *found = element == known.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
        *function = element == known.end() ? nullptr : element->second;
        return element == known.end() ? cudaErrorSymbolNotFound : cudaSuccess;
    });
}

// ---- errors ----

cudaError_t cudaGetLastError() {
    ++counts.others;
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t status) {
    static std::string name;
    name = "cudaError " + std::to_string(static_cast<int>(status));
    return name.c_str();
}
const char* cudaGetErrorString(cudaError_t /*status*/) { return "on the host"; }

// ---- streams ----

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
    return call_on_device(__func__, kind::other, [&] {
        streams.push_back(std::make_unique<stream>(stream{current_device(), flags != cudaStreamNonBlocking}));
        *handle = reinterpret_cast<cudaStream_t>(streams.back().get());
        return cudaSuccess;
    });
}
cudaError_t cudaStreamCreate(cudaStream_t* handle) { return cudaStreamCreateWithFlags(handle, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return call(__func__, kind::other, [&] {
        stream& own = stream_of(handle);
        wait_for(own, numbers);  // the real one does so later
        streams.erase(
            std::find_if(streams.begin(), streams.end(), [&](const auto& item) { return item.get() == &own; }));
        return cudaSuccess;
    });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    return call_on_device(__func__, kind::waits, [&] {
        wait_for(stream_of(handle), numbers);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return call_on_device(__func__, kind::other, [&] {
        wait_for(stream_of(handle), numbers);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* to) {
    return call(__func__, kind::other, [&] {
        *to = stream_of(handle).capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        return cudaSuccess;
    });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return call(__func__, kind::other, [&] {
        std::swap(*mode, capture_mode);
        return cudaSuccess;
    });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode /*mode*/) {
    return call(__func__, kind::other, [&] {
        stream_of(handle).capture = std::make_shared<graph>();
        return cudaSuccess;
    });
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* to) {
    return call(__func__, kind::other, [&] {
        const std::shared_ptr<graph> recorded = std::exchange(stream_of(handle).capture, nullptr);
        *to = recorded->valid ? reinterpret_cast<cudaGraph_t>(new graph(*recorded)) : nullptr;
        return recorded->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
    });
}

// ---- graphs: an executable one is a graph too ----

cudaError_t cudaGraphGetNodes(cudaGraph_t source, cudaGraphNode_t* nodes, std::size_t* count) {
    std::vector<graph_node>& own = reinterpret_cast<graph*>(source)->nodes;
    for (std::size_t i = 0; nodes != nullptr && i < std::min(*count, own.size()); ++i) {
        nodes[i] = reinterpret_cast<cudaGraphNode_t>(&own[i]);
    }
    *count = own.size();
    return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    *type = reinterpret_cast<graph_node*>(node)->type;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t from, unsigned long long /*flags*/) {
    return call(__func__, kind::other, [&] {
        *to = reinterpret_cast<cudaGraphExec_t>(new graph(*reinterpret_cast<graph*>(from)));
        return cudaSuccess;
    });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t replayed, cudaStream_t handle) {
    return call_on_device(__func__, kind::launches, [&] {
        for (const graph_node& node : reinterpret_cast<graph*>(replayed)->nodes) {
            if (const cudaError_t status = put(handle, node.type, node.make); status != cudaSuccess) {
                return status;
            }
        }
        return cudaSuccess;
    });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t replayed) {
    delete reinterpret_cast<graph*>(replayed);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph_handle) {
    delete reinterpret_cast<graph*>(graph_handle);
    return cudaSuccess;
}

// ---- events ----

cudaError_t cudaEventCreate(cudaEvent_t* handle) {
    return call_on_device(__func__, kind::other, [&] {
        *handle = reinterpret_cast<cudaEvent_t>(new event);
        return cudaSuccess;
    });
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    return call(__func__, kind::other, [&] {
        event& own = event_of(handle);
        if (!own.done && own.on != nullptr) {
            wait_for(*own.on, own.number);  // the real one does so later
        }
        delete &own;
        return cudaSuccess;
    });
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
    return call_on_device(__func__, kind::other, [&] {
        event& own = event_of(handle);
        own.done = false;
        own.on = &stream_of(stream_handle);
        own.of_graph = own.on->capture != nullptr;
        own.number = numbers + 1;
        return put(stream_handle, cudaGraphNodeTypeEventRecord, at_once([&own] {
                       own.done = true;
                       own.at = now += 1;
                   }));
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned /*flags*/) {
    return call_on_device(__func__, kind::other, [&] {
        event& own = event_of(event_handle);
        return put(handle, cudaGraphNodeTypeWaitEvent, [&own]() -> work {
            return [on = own.on, number = own.number](std::uint64_t instructions) {
                return on == nullptr || advance(*on, number, instructions);
            };
        });
    });
}
/// An error while anything is captured, as a wait is; not ready leaves an error too.
cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return call(__func__, a_capture_is_open() ? kind::waits : kind::other,
                [&] { return event_of(handle).done ? cudaSuccess : cudaErrorNotReady; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return call_on_device(__func__, kind::waits, [&] {
        event& own = event_of(handle);
        if (own.of_graph) {
            return cudaErrorInvalidResourceHandle;
        }
        if (own.on != nullptr) {
            wait_for(*own.on, own.number);
        }
        return cudaSuccess;
    });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call(__func__, kind::other, [&] {
        if (event_of(from).of_graph || event_of(to).of_graph) {
            return cudaErrorInvalidResourceHandle;
        }
        *milliseconds = static_cast<float>(event_of(to).at - event_of(from).at);
        return event_of(to).done ? cudaSuccess : cudaErrorNotReady;
    });
}

}  // extern "C"
