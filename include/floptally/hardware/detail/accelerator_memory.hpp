// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/detail/accelerator_sources.hpp>

/// @file
/// The table of `floptally::memory_bandwidth_named`: TB/s (10^12 bytes) of one device. A row is by our name of a part,
/// or by a driver's name where parts of one name have memories of several rates. It goes in with a public source, or
/// not at all.

namespace floptally::detail {

/// One row of the table.
struct memory_row {
    const char* product;
    double tbps;
    publication_row source;
    source_quality quality = source_quality::vendor_document;
};

inline constexpr publication_row ga102_whitepaper{
    "NVIDIA Ampere GA102 GPU Architecture whitepaper",
    "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"};
inline constexpr publication_row ada_whitepaper{
    "NVIDIA Ada GPU Architecture whitepaper",
    "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"};
inline constexpr publication_row gh200_page{"NVIDIA GH200 Grace Hopper Superchip, specifications",
                                            "https://www.nvidia.com/en-us/data-center/grace-hopper-superchip/"};
inline constexpr publication_row h100_page{"NVIDIA H100 Tensor Core GPU, specifications",
                                           "https://www.nvidia.com/en-us/data-center/h100/"};

// clang-format off
inline constexpr memory_row accelerator_memory[] = {
    {"V100 SXM2", 0.9, v100_datasheet},
    {"V100 PCIe", 0.9, v100_datasheet},
    {"V100S PCIe", 1.134, v100_datasheet},
    {"NVIDIA A100-SXM4-40GB", 1.555, a100_datasheet},
    {"A100-SXM4-40GB", 1.555, a100_datasheet},
    {"NVIDIA A100-SXM4-80GB", 2.039, a100_datasheet},
    {"A100-SXM4-80GB", 2.039, a100_datasheet},
    {"NVIDIA A100-PCIE-40GB", 1.555, a100_datasheet},
    {"A100-PCIE-40GB", 1.555, a100_datasheet},
    {"NVIDIA A100 80GB PCIe", 1.935, a100_datasheet},
    {"A800 SXM", 2.039, llm_prof_table, source_quality::third_party},
    {"A10", 0.6, {"NVIDIA A10 Tensor Core GPU datasheet",
     "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"}},
    {"A30", 0.933, {"NVIDIA A30 Tensor Core GPU datasheet",
     "https://www.nvidia.com/content/dam/en-zz/Solutions/data-center/products/a30-gpu/pdf/a30-datasheet.pdf"}},
    {"A40", 0.696, {"NVIDIA A40 datasheet",
     "https://images.nvidia.cn/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf"}},
    {"RTX A6000", 0.768, ga102_whitepaper},
    {"RTX 3090", 0.936, ga102_whitepaper},

    {"L4", 0.3, {"NVIDIA L4 Tensor Core GPU datasheet", "https://resources.nvidia.com/en-us-l4/l4-datasheet"}},
    {"L40", 0.864, {"NVIDIA L40 GPU, specifications", "https://www.nvidia.com/en-us/data-center/l40/"}},
    {"L40S", 0.864, {"NVIDIA L40S GPU datasheet", "https://resources.nvidia.com/en-us-l40s/l40s-datasheet-28413"}},
    {"L20", 0.864, llm_prof_table, source_quality::third_party},
    {"RTX 4090", 1.008, ada_whitepaper},
    {"RTX 6000 Ada", 0.96, {"NVIDIA Ada GPU Architecture whitepaper, version 2.1",
     "https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf"}},
    {"RTX 5090", 1.792, {"NVIDIA RTX Blackwell GPU Architecture whitepaper, appendix A",
     "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"}},
    {"RTX PRO 6000 Blackwell", 1.792, {"NVIDIA RTX PRO Blackwell GPU Architecture whitepaper",
     "https://www.nvidia.com/content/dam/en-zz/Solutions/design-visualization/quadro-product-literature/"
     "NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf"}},

    {"H100 SXM", 3.35, h100_page},
    {"H100 PCIe", 2.0, {"NVIDIA H100 PCIe GPU product brief, PB-11133-001",
     "https://www.nvidia.com/content/dam/en-zz/Solutions/gtcs22/data-center/h100/PB-11133-001_v01.pdf"}},
    {"H100 NVL", 3.9, h100_page},
    {"NVIDIA H20", 4.022, llm_prof_table, source_quality::third_party},
    {"NVIDIA H20-3e", 4.8, llm_prof_table, source_quality::third_party},
    {"H800 SXM", 3.35, llm_prof_table, source_quality::third_party},
    {"H200 SXM", 4.8, h200_page},
    {"H200 NVL", 4.8, h200_page},
    {"NVIDIA GH200 480GB", 4.0, gh200_page},
    {"NVIDIA GH200 144G HBM3e", 4.9, gh200_page},

    {"B200", 8.0, {"NVIDIA DGX B200, specifications (64 TB/s of eight)",
     "https://www.nvidia.com/en-us/data-center/dgx-b200/"}},
    {"GB200", 8.0, {"NVIDIA GB200 NVL72, specifications (576 TB/s of 72)",
     "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"}},
    {"GB300", 8.0, {"NVIDIA GB300 NVL72, specifications (576 TB/s of 72)",
     "https://www.nvidia.com/en-us/data-center/gb300-nvl72/"}},

    {"MI210", 1.6384, {"AMD Instinct MI210 accelerators, specifications",
     "https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html"}},
    {"MI250 GCD", 1.6384, mi250_page},
    {"MI250 card", 3.2768, mi250_page},
    {"MI250X GCD", 1.6384, mi250x_page},
    {"MI250X card", 3.2768, mi250x_page},
    {"MI300X", 5.3, {"AMD Instinct MI300X accelerator data sheet",
     "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/"
     "amd-instinct-mi300x-data-sheet.pdf"}},
    {"MI325X", 6.0, {"AMD Instinct MI325X accelerators, specifications",
     "https://www.amd.com/en/products/accelerators/instinct/mi300/mi325x.html"}},
    {"MI350X", 8.0, {"AMD Instinct MI350X GPUs, specifications",
     "https://www.amd.com/en/products/accelerators/instinct/mi350/mi350x.html"}},
    {"MI355X", 8.0, {"AMD Instinct MI355X GPUs, specifications",
     "https://www.amd.com/en/products/accelerators/instinct/mi350/mi355x.html"}},

    {"TPU v4", 1.2, {"Google Cloud TPU v4, system architecture", "https://docs.cloud.google.com/tpu/docs/v4"}},
    {"TPU v5e", 0.819, {"Google Cloud TPU v5e, system architecture", "https://docs.cloud.google.com/tpu/docs/v5e"}},
    {"TPU v5p", 2.765, {"Google Cloud TPU v5p, system architecture", "https://docs.cloud.google.com/tpu/docs/v5p"}},
    {"TPU v6e", 1.638, {"Google Cloud TPU v6e (Trillium), system architecture",
     "https://docs.cloud.google.com/tpu/docs/v6e"}},

    {"Trainium 1", 0.82, {"AWS Neuron documentation, Trainium architecture",
     "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium.html"}},
    {"Trainium 2", 2.9, {"AWS Neuron documentation, Trainium2 architecture guide for NKI",
     "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/arch/trainium2_arch.html"}},
    {"Trainium 3", 4.9, {"AWS Neuron documentation, Trainium3 architecture",
     "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium3.html"}},

    {"Gaudi 2", 2.45, {"Intel Gaudi 2 AI accelerator white paper",
     "https://www.intel.com/content/www/us/en/content-details/839363/intel-gaudi-2-ai-accelerators-white-paper.html"}},
    {"Gaudi 3", 3.7, {"Intel Gaudi 3 AI accelerator white paper",
     "https://www.intel.com/content/www/us/en/content-details/817486/intel-gaudi-3-ai-accelerator-white-paper.html"}},
    {"Arc Pro B60", 0.456, {"hmc-tech.com, Intel Arc Pro B60",
     "https://hmc-tech.com/gpu/intel-arc-pro-b60-vs-nvidia-quadro-p620"}, source_quality::third_party},

    {"Ascend 910C die", 1.6, cloud_matrix_paper, source_quality::vendor_slide},
    {"Ascend 910C package", 3.2, cloud_matrix_paper, source_quality::vendor_slide},
};
// clang-format on

}  // namespace floptally::detail
