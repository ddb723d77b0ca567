// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/step/accelerator.hpp>

/// @file
/// The rows behind `floptally::accelerators`. Columns of rates: fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4.
///
/// A row goes in with a public source for each figure, or without the figure, and says where that source is less than a
/// document of the vendor. The FLOPs of a clock are multiprocessors times what each does, of bf16 (fp16). Driver names
/// are whole and differ between rows, except where the driver itself gives several parts one name: `accelerator_named`
/// then refuses it.

namespace floptally::detail {

/// Rows are plain text and numbers: as a constant with `std::string_view`s the table would take longer to compile than
/// `<string>` does. `accelerators` makes parts of them.
struct publication_row {
    const char* title;
    const char* url;
};
struct accelerator_row {
    const char* name;
    const char* vendor;
    const char* form_factor;
    const char* driver_names[max_driver_names];
    double dense_tflops[precision_count];
    publication_row source;
    const char* note;
    std::uint32_t flops_per_clock = 0;
    source_quality quality = source_quality::vendor_document;
};

inline constexpr publication_row v100_datasheet{
    "NVIDIA V100 Tensor Core GPU datasheet",
    "https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf"};
inline constexpr publication_row a100_datasheet{
    "NVIDIA A100 Tensor Core GPU datasheet",
    "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
    "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"};
inline constexpr publication_row hopper_whitepaper{
    "NVIDIA H100 Tensor Core GPU Architecture whitepaper",
    "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper"};
inline constexpr publication_row h200_page{"NVIDIA H200 Tensor Core GPU, specifications",
                                           "https://www.nvidia.com/en-us/data-center/h200/"};
inline constexpr publication_row hgx_page{"NVIDIA HGX platform, specifications",
                                          "https://www.nvidia.com/en-us/data-center/hgx/"};
inline constexpr publication_row mi250x_page{"AMD Instinct MI250X accelerators, specifications",
                                             "https://www.amd.com/en/products/accelerators/instinct/mi200/mi250x.html"};
inline constexpr publication_row mi250_page{"AMD Instinct MI250 accelerators, specifications",
                                            "https://www.amd.com/en/products/accelerators/instinct/mi200/mi250.html"};
inline constexpr publication_row tpu7x_page{"Google Cloud TPU7x (Ironwood), system architecture",
                                            "https://docs.cloud.google.com/tpu/docs/tpu7x"};

inline constexpr publication_row tpu_v3_page{"Google Cloud TPU v3, system architecture",
                                             "https://docs.cloud.google.com/tpu/docs/v3"};
inline constexpr publication_row cloud_matrix_paper{"Serving Large Language Models on Huawei CloudMatrix384 (Huawei)",
                                                    "https://arxiv.org/abs/2506.12708"};
inline constexpr publication_row llm_prof_table{"citsjtu2020/LLM-Prof, hardware_spec.md",
                                                "https://github.com/citsjtu2020/LLM-Prof/blob/main/hardware_spec.md"};

inline constexpr const char* china_parts_note =
    "NVIDIA has no public datasheet of it. Quoted are fp16 and int8; bf16 and fp8 are those, as on all parts of the "
    "architecture.";
inline constexpr const char* h100_sxm_note =
    "The whitepaper prints 989.4 dense for fp16 and bf16; stored as 989, the divisor of published MFU tables.";
inline constexpr const char* same_as_h100_note =
    "Printed with sparsity, and rounded, as for H100 SXM: its dense figures are stored.";
inline constexpr const char* sparse_note = "Tensor rates are printed with sparsity: halved.";

// clang-format off
inline constexpr accelerator_row accelerator_table[] = {
    {"V100 SXM2", "NVIDIA", "SXM2", {"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"},
     {7.8, 15.7, 0, 125, 0, 0, 0, 0}, v100_datasheet, "fp64 without tensor cores: the part has none for it.",
     80 * 1024},
    {"V100 PCIe", "NVIDIA", "PCIe", {"Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"},
     {7, 14, 0, 112, 0, 0, 0, 0}, v100_datasheet, "fp64 without tensor cores: the part has none for it.", 80 * 1024},
    {"V100S PCIe", "NVIDIA", "PCIe", {"Tesla V100S-PCIE-32GB"},
     {8.2, 16.4, 0, 130, 0, 0, 0, 0}, v100_datasheet, "fp64 without tensor cores: the part has none for it.",
     80 * 1024},

    {"A100 SXM", "NVIDIA", "SXM4",
     {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB"},
     {19.5, 19.5, 156, 312, 312, 0, 624, 0}, a100_datasheet, "", 108 * 2048},
    {"A100 PCIe", "NVIDIA", "PCIe", {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe", "A100-PCIE-40GB"},
     {19.5, 19.5, 156, 312, 312, 0, 624, 0}, a100_datasheet, "", 108 * 2048},
    {"A800 SXM", "NVIDIA", "SXM4", {"NVIDIA A800-SXM4-80GB"},
     {0, 0, 0, 312, 312, 0, 624, 0}, llm_prof_table, china_parts_note, 108 * 2048, source_quality::third_party},
    {"A800 40GB Active", "NVIDIA", "PCIe", {"NVIDIA A800 40GB Active"},
     {0, 19.5, 0, 311.9, 311.9, 0, 623.5, 0},
     {"NVIDIA A800 40GB Active workstation GPU, specifications",
      "https://www.nvidia.com/en-in/products/workstations/a800/"},
     "Printed with sparsity (623.8 TFLOPS, 1,247 AI TOPS): halved. No tensor rate for fp64, none for tf32.",
     108 * 2048},
    {"A10", "NVIDIA", "PCIe", {"NVIDIA A10"},
     {0, 31.2, 62.5, 125, 125, 0, 250, 0},
     {"NVIDIA A10 Tensor Core GPU datasheet",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"}, "", 72 * 1024},
    {"A10G", "NVIDIA", "PCIe", {"NVIDIA A10G"},
     {0, 35, 35, 70, 70, 0, 140, 0},
     {"NVIDIA A10G datasheet for AWS",
      "https://d1.awsstatic.com/product-marketing/ec2/NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf"}, "", 80 * 512},
    {"A30", "NVIDIA", "PCIe", {"NVIDIA A30"},
     {10.3, 10.3, 82, 165, 165, 0, 330, 0},
     {"NVIDIA A30 Tensor Core GPU datasheet",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/data-center/products/a30-gpu/pdf/a30-datasheet.pdf"}, "",
     56 * 2048},
    {"A40", "NVIDIA", "PCIe", {"NVIDIA A40"},
     {0, 37.4, 74.8, 149.7, 149.7, 0, 299.3, 0},
     {"NVIDIA A40 datasheet", "https://images.nvidia.cn/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf"},
     "", 84 * 1024},
    {"RTX A6000", "NVIDIA", "PCIe", {"NVIDIA RTX A6000"},
     {0, 38.7, 77.4, 154.8, 154.8, 0, 309.7, 0},
     {"NVIDIA Ampere GA102 GPU Architecture whitepaper, table 3",
      "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"}, "", 84 * 1024},
    {"RTX 3090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3090"},
     {0, 35.6, 35.6, 71, 71, 0, 284, 0},
     {"NVIDIA Ampere GA102 GPU Architecture whitepaper, appendix A",
      "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"},
     "With fp32 accumulation; fp16 is twice that with fp16 accumulation.", 82 * 512},

    {"L4", "NVIDIA", "PCIe", {"NVIDIA L4"},
     {0, 30.3, 60, 121, 121, 242.5, 242.5, 0},
     {"NVIDIA L4 Tensor Core GPU datasheet", "https://resources.nvidia.com/en-us-l4/l4-datasheet"}, sparse_note,
     58 * 1024},
    {"L40", "NVIDIA", "PCIe", {"NVIDIA L40"},
     {0, 90.5, 90.5, 181.05, 181.05, 362, 362, 0},
     {"NVIDIA L40 GPU, specifications", "https://www.nvidia.com/en-us/data-center/l40/"}, "", 142 * 512},
    {"L40S", "NVIDIA", "PCIe", {"NVIDIA L40S"},
     {0, 91.6, 183, 362.05, 362.05, 733, 733, 0},
     {"NVIDIA L40S GPU datasheet", "https://resources.nvidia.com/en-us-l40s/l40s-datasheet-28413"}, "", 142 * 1024},
    {"L20", "NVIDIA", "PCIe", {"NVIDIA L20"},
     {0, 0, 0, 119.5, 119.5, 239, 239, 0}, llm_prof_table, china_parts_note, 0, source_quality::third_party},
    {"RTX 4090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4090"},
     {0, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6, 0},
     {"NVIDIA Ada GPU Architecture whitepaper, appendix A",
      "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"},
     "With fp32 accumulation; fp16 and fp8 are twice that with fp16 accumulation.", 128 * 512},
    {"RTX 6000 Ada", "NVIDIA", "PCIe", {"NVIDIA RTX 6000 Ada Generation"},
     {0, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5, 0},
     {"NVIDIA Ada GPU Architecture whitepaper, version 2.1",
      "https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf"},
     "The datasheet prints fp8 with sparsity (1,457.0), four times the dense fp16.", 142 * 1024},
    {"RTX 5090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5090"},
     {0, 104.8, 104.8, 209.5, 209.5, 419, 838, 1676},
     {"NVIDIA RTX Blackwell GPU Architecture whitepaper, appendix A",
      "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"},
     "With fp32 accumulation; fp16 and fp8 are twice that with fp16 accumulation.", 170 * 512},
    {"RTX PRO 6000 Blackwell", "NVIDIA", "PCIe", {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
     {0, 126, 251.9, 503.8, 503.8, 1007.6, 1007.6, 2015.2},
     {"NVIDIA RTX PRO Blackwell GPU Architecture whitepaper",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/design-visualization/quadro-product-literature/"
      "NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf"},
     "The workstation card of 600 W; the Max-Q and the server cards clock lower.", 188 * 1024},

    {"H100 SXM", "NVIDIA", "SXM5", {"NVIDIA H100 80GB HBM3"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0}, hopper_whitepaper, h100_sxm_note, 132 * 4096},
    {"H100 PCIe", "NVIDIA", "PCIe", {"NVIDIA H100 PCIe"},
     {51.2, 51.2, 378, 756, 756, 1513, 1513, 0}, hopper_whitepaper, "", 114 * 4096},
    {"H100 NVL", "NVIDIA", "PCIe", {"NVIDIA H100 NVL"},
     {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0},
     {"NVIDIA H100 Tensor Core GPU, specifications", "https://www.nvidia.com/en-us/data-center/h100/"}, sparse_note,
     132 * 4096},
    {"H20", "NVIDIA", "SXM5", {"NVIDIA H20", "NVIDIA H20-3e"},
     {0, 0, 0, 148, 148, 296, 296, 0}, llm_prof_table, china_parts_note, 0, source_quality::third_party},
    {"H800 SXM", "NVIDIA", "SXM5", {"NVIDIA H800"},
     {0, 0, 0, 989, 989, 1979, 1979, 0}, llm_prof_table, china_parts_note, 132 * 4096, source_quality::third_party},
    {"H800 PCIe", "NVIDIA", "PCIe", {"NVIDIA H800 PCIe"},
     {0, 51, 378, 756.5, 756.5, 1513, 1513, 0},
     {"Lenovo Press LP1814, ThinkSystem NVIDIA H800 PCIe Gen5 GPU",
      "https://lenovopress.lenovo.com/lp1814-thinksystem-nvidia-h800-pcie-gen5-gpu"},
     "A server maker's guide: NVIDIA publishes none. Tensor rates are printed with sparsity: halved.",
     114 * 4096, source_quality::third_party},
    {"H200 SXM", "NVIDIA", "SXM5", {"NVIDIA H200"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0}, h200_page, same_as_h100_note, 132 * 4096},
    {"H200 NVL", "NVIDIA", "PCIe", {"NVIDIA H200 NVL"},
     {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0}, h200_page, sparse_note, 132 * 4096},
    {"GH200", "NVIDIA", "superchip", {"NVIDIA GH200 480GB", "NVIDIA GH200 144G HBM3e"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0},
     {"NVIDIA GH200 Grace Hopper Superchip, specifications",
      "https://www.nvidia.com/en-us/data-center/grace-hopper-superchip/"}, same_as_h100_note, 132 * 4096},

    {"B200", "NVIDIA", "SXM", {"NVIDIA B200"},
     {37, 75, 1125, 2250, 2250, 4500, 4500, 9000}, hgx_page,
     "An eighth of HGX B200; sparse figures halved, fp4 is printed dense.", 148 * 8192},
    {"GB200", "NVIDIA", "superchip", {"NVIDIA GB200"},
     {40, 80, 1250, 2500, 2500, 5000, 5000, 10000},
     {"NVIDIA GB200 NVL72, specifications", "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"},
     "One of the superchip's two GPUs; sparse figures halved, fp4 is printed dense.", 148 * 8192},
    {"B300", "NVIDIA", "SXM", {"NVIDIA B300 SXM6 AC"},
     {1.25, 75, 1125, 2250, 2250, 4500, 153.5, 13500}, hgx_page,
     "An eighth of HGX B300; sparse figures halved, fp4 is printed dense. int8 is from the Blackwell Ultra datasheet "
     "(307 TOPS with sparsity), which rounds fp4 to 14 PFLOPS."},
    {"GB300", "NVIDIA", "superchip", {"NVIDIA GB300"},
     {1.3, 80, 1250, 2500, 2500, 5000, 165, 15000},
     {"NVIDIA Blackwell Ultra datasheet, individual GPU specifications",
      "https://resources.nvidia.com/en-us-blackwell-architecture/blackwell-ultra-datasheet"},
     "Sparse figures halved, fp4 is printed dense."},
    {"Rubin", "NVIDIA", "superchip", {},
     {33, 0, 0, 4000, 4000, 17500, 0, 35000},
     {"NVIDIA Vera Rubin NVL72, specifications", "https://www.nvidia.com/en-us/data-center/vera-rubin-nvl72/"},
     "Preliminary, by NVIDIA's own word. fp8 and fp4 are the dense rates for training; the 50 PFLOPS of inference that it "
     "quotes are not dense.", 0, source_quality::vendor_slide},

    {"MI210", "AMD", "PCIe", {"AMD Instinct MI210"},
     {45.3, 45.3, 0, 181, 181, 0, 181, 0},
     {"AMD Instinct MI210 accelerators, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html"}, "", 104 * 1024},
    {"MI250 GCD", "AMD", "OAM", {"AMD Instinct MI250", "AMD Instinct MI250X/MI250"},
     {45.25, 45.25, 0, 181.05, 181.05, 0, 181.05, 0}, mi250_page,
     "Half of the card: the driver reports each of its two dies as a device.", 104 * 1024},
    {"MI250 card", "AMD", "OAM", {},
     {90.5, 90.5, 0, 362.1, 362.1, 0, 362.1, 0}, mi250_page, "Both dies of the card, which the driver never reports.",
     2 * 104 * 1024},
    {"MI250X GCD", "AMD", "OAM", {"AMD Instinct MI250X", "AMD Instinct MI250X/MI250"},
     {47.85, 47.85, 0, 191.5, 191.5, 0, 191.5, 0}, mi250x_page,
     "Half of the card: the driver reports each of its two dies as a device.", 110 * 1024},
    {"MI250X card", "AMD", "OAM", {},
     {95.7, 95.7, 0, 383, 383, 0, 383, 0}, mi250x_page, "Both dies of the card, which the driver never reports.",
     2 * 110 * 1024},
    {"MI300X", "AMD", "OAM", {"AMD Instinct MI300X", "AMD Instinct MI300X VF"},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 0},
     {"AMD Instinct MI300X accelerator data sheet",
      "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/"
      "amd-instinct-mi300x-data-sheet.pdf"}, "", 304 * 2048},
    {"MI325X", "AMD", "OAM", {"AMD Instinct MI325X"},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 0},
     {"AMD Instinct MI325X accelerators, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi300/mi325x.html"},
     "The page prints the figures of MI300X, rounded to PFLOPS: its are stored.", 304 * 2048},
    {"MI350X", "AMD", "OAM", {"AMD Instinct MI350X"},
     {72.1, 144.2, 0, 2300, 2300, 4600, 4600, 9200},
     {"AMD Instinct MI350X GPUs, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi350/mi350x.html"},
     "Printed in PFLOPS to two digits.", 256 * 4096},
    {"MI355X", "AMD", "OAM", {"AMD Instinct MI355X"},
     {78.6, 157.3, 0, 2500, 2500, 5000, 5000, 10100},
     {"AMD Instinct MI355X GPUs, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi350/mi355x.html"},
     "Printed in PFLOPS to two or three digits.", 256 * 4096},

    {"TPU v3 core", "Google", "core", {"TPU v3"},
     {0, 0, 0, 0, 61.5, 0, 0, 0}, tpu_v3_page, "Half of the chip: frameworks see each of its two cores as a device."},
    {"TPU v3 chip", "Google", "chip", {},
     {0, 0, 0, 0, 123, 0, 0, 0}, tpu_v3_page, "Both cores of the chip, which are two devices to frameworks."},
    {"TPU v4", "Google", "chip", {},
     {0, 0, 0, 0, 275, 0, 275, 0},
     {"Google Cloud TPU v4, system architecture", "https://docs.cloud.google.com/tpu/docs/v4"}, ""},
    {"TPU v5e", "Google", "chip", {"TPU v5 lite"},
     {0, 0, 0, 0, 197, 0, 393, 0},
     {"Google Cloud TPU v5e, system architecture", "https://docs.cloud.google.com/tpu/docs/v5e"}, ""},
    {"TPU v5p", "Google", "chip", {"TPU v5"},
     {0, 0, 0, 0, 459, 459, 918, 0},
     {"Google Cloud TPU v5p, system architecture", "https://docs.cloud.google.com/tpu/docs/v5p"},
     "fp8 is from the TPU7x page, which compares."},
    {"TPU v6e", "Google", "chip", {"TPU v6 lite"},
     {0, 0, 0, 0, 918, 918, 1836, 0},
     {"Google Cloud TPU v6e (Trillium), system architecture", "https://docs.cloud.google.com/tpu/docs/v6e"},
     "fp8 is from the TPU7x page, which compares."},
    {"TPU v7 chiplet", "Google", "chiplet", {"TPU7x"},
     {0, 0, 0, 0, 1153.5, 2307, 0, 0}, tpu7x_page,
     "Half of the chip: frameworks see each of its two chiplets as a device."},
    {"TPU v7 chip", "Google", "chip", {},
     {0, 0, 0, 0, 2307, 4614, 0, 0}, tpu7x_page, "Both chiplets of the chip, which are two devices to frameworks."},

    {"Trainium 1", "AWS", "chip", {"Trainium1"},
     {0, 47.5, 190, 190, 190, 190, 380, 0},
     {"AWS Neuron documentation, Trainium architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium.html"},
     "The chip of two NeuronCores, each of which is a device to frameworks."},
    {"Trainium 2", "AWS", "chip", {"Trainium2"},
     {0, 181, 667, 667, 667, 1299, 0, 0},
     {"AWS Neuron documentation, Trainium2 architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html"},
     "The chip of eight NeuronCores, which frameworks see as four or eight devices."},
    {"Trainium 3", "AWS", "chip", {"Trainium3"},
     {0, 183, 671, 671, 671, 2517, 0, 2517},
     {"AWS Neuron documentation, Trainium3 architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium3.html"},
     "The chip of eight NeuronCores, which frameworks see as four or eight devices. fp8 and fp4 are MXFP8 and MXFP4."},

    {"Gaudi 2", "Intel", "OAM", {"GAUDI2"},
     {0, 0, 0, 0, 432, 865, 0, 0},
     {"Intel Gaudi 2 AI accelerator white paper",
      "https://www.intel.com/content/www/us/en/content-details/839363/intel-gaudi-2-ai-accelerators-white-paper.html"},
     ""},
    {"Gaudi 3", "Intel", "OAM", {"GAUDI3"},
     {0, 0, 0, 0, 1835, 1835, 0, 0},
     {"Intel Gaudi 3 AI accelerator white paper",
      "https://www.intel.com/content/www/us/en/content-details/817486/intel-gaudi-3-ai-accelerator-white-paper.html"},
     "Needs a matrix engine at 1.75 GHz; parts have been seen to run at 1.6 GHz, which gives 1678."},
    {"Arc Pro B60", "Intel", "PCIe", {"Intel(R) Arc(TM) Pro B60 Graphics"},
     {0, 12.29, 0, 98.3, 98.3, 0, 196.6, 0},
     {"hmc-tech.com, Intel Arc Pro B60",
      "https://hmc-tech.com/gpu/intel-arc-pro-b60-vs-nvidia-quadro-p620"},
     "Intel publishes int8 alone (197 TOPS); a half of it for fp16 and bf16 is what others quote.", 20 * 2048,
     source_quality::third_party},

    {"Ascend 910C die", "Huawei", "die", {},
     {0, 0, 0, 376, 376, 0, 752, 0}, cloud_matrix_paper, "Half of the package: frameworks see each die as a device.", 0,
     source_quality::vendor_slide},
    {"Ascend 910C package", "Huawei", "package", {},
     {0, 0, 0, 752, 752, 0, 1504, 0}, cloud_matrix_paper, "Both dies, which are two devices to frameworks.", 0,
     source_quality::vendor_slide},
};
// clang-format on

}  // namespace floptally::detail
