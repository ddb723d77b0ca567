// SPDX-License-Identifier: Apache-2.0
//
// An extension of PyTorch that counts what it trains on: boundaries stay on the GPU, the kernels are queued on the
// stream that PyTorch uses, and steps reach the meter when the device has done them.
//
//     torch.ops.load_library("libtorch_extension.so")
//     steps = torch.classes.trainer.StepMeter(torch.cuda.current_device(), 989.4)  # peak TFLOP/s
//     for batch in loader:
//         steps.begin_step()
//         steps.add(batch["cu_seqlens"])
//         …                               # forward, backward, optimizer
//         steps.end_step()
//         steps.poll()
//     steps.finish(); steps.mfu()

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cstdint>
#include <cuda_runtime.h>
#include <span>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <floptally/cuda.cuh>
#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>

namespace {

class step_meter : public torch::CustomClassHolder {
  public:
    /// An owner belongs to the device that is current when it is constructed, so that the guard comes before it.
    static c10::intrusive_ptr<step_meter> create(std::int64_t device, double peak_tflops) {
        const c10::cuda::CUDAGuard on(static_cast<c10::DeviceIndex>(device));
        return c10::make_intrusive<step_meter>(device, peak_tflops);
    }
    step_meter(std::int64_t device, double peak_tflops)
        : device_(static_cast<c10::DeviceIndex>(device)),
          totals_(floptally::flop_counter(floptally::presets::mistral_7b.cost()),
                  {.gpus = 1, .peak_tflops = peak_tflops}),
          steps_(totals_) {}

    // Each guards its device too: PyTorch's current stream of another one may be that one's default stream.
    void begin_step() {
        on_device([&] { steps_.begin_step(stream()); });
    }
    void end_step() {
        on_device([&] { steps_.end_step(stream()); });
    }
    void discard_step() {
        on_device([&] { steps_.discard_step(stream()); });
    }
    /// Hands over the steps that are done, and never waits.
    void poll() { steps_.poll(); }
    void finish() {
        on_device([&] { steps_.finish(stream()); });
    }
    double mfu() const { return floptally::rates(totals_.run().totals).mfu; }

    /// One launch, in a captured graph too. The memory is PyTorch's: what was allocated on another stream than the
    /// current one is recorded on that, so that its allocator gives it to nobody else meanwhile.
    void add(const at::Tensor& cu_seqlens) {
        TORCH_CHECK(cu_seqlens.is_cuda() && cu_seqlens.get_device() == device_, "cu_seqlens: must be on device ",
                    int{device_}, ", got ", cu_seqlens.device());
        TORCH_CHECK(cu_seqlens.dim() == 1 && cu_seqlens.is_contiguous(), "cu_seqlens: must be one contiguous row");
        const c10::cuda::CUDAGuard on(device_);
        const auto count = static_cast<std::size_t>(cu_seqlens.numel());
        cu_seqlens.record_stream(c10::cuda::getCurrentCUDAStream(device_));
        switch (cu_seqlens.scalar_type()) {
            case at::kInt:
                return add_entry(cu_seqlens.const_data_ptr<std::int32_t>(), count);
            case at::kLong:
                return add_entry(cu_seqlens.const_data_ptr<std::int64_t>(), count);
            default:
                TORCH_CHECK(false, "cu_seqlens: must be int32 or int64, got ", cu_seqlens.scalar_type());
        }
    }

  private:
    template <class T>
    void add_entry(const T* cu_seqlens, std::size_t count) {
        steps_.microbatch().add_cu_seqlens(std::span(cu_seqlens, count), stream());
    }
    template <class Call>
    void on_device(Call call) {
        const c10::cuda::CUDAGuard on(device_);
        call();
    }
    /// The stream on which PyTorch queues its own kernels, also in torch.cuda.graph.
    [[nodiscard]] cudaStream_t stream() const { return c10::cuda::getCurrentCUDAStream(device_); }

    c10::DeviceIndex device_;
    floptally::meter totals_;
    floptally::device_meter steps_;
};

}  // namespace

TORCH_LIBRARY(trainer, library) {
    library.class_<step_meter>("StepMeter")
        .def(torch::init(&step_meter::create))
        .def("begin_step", &step_meter::begin_step)
        .def("add", &step_meter::add)
        .def("end_step", &step_meter::end_step)
        .def("discard_step", &step_meter::discard_step)
        .def("poll", &step_meter::poll)
        .def("finish", &step_meter::finish)
        .def("mfu", &step_meter::mfu);
}
