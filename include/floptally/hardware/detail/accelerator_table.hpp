// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/hardware/accelerator.hpp>

/// @file
/// The table of the known accelerators: rates, memory, sources and notes. One accelerator is one row.
///
/// The columns of rates are fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4.
///
/// Rules for a new row: leave out rates and sizes without a public source. If the source is not a vendor document, mark
/// that in the row. The FLOPs per clock are the number of multiprocessors times the FLOPs of each, in bf16 (in fp16 if
/// the accelerator has no bf16). Write driver names in full. Different rows must have different driver names, unless
/// the driver itself reports several accelerators under one name. `accelerator_named` rejects such a name.
///
/// An accelerator whose vendor publishes no rate has a row of zeros. Its note states the reason. Errors quote the note,
/// so it has no full stop. Only in a row of zeros may a driver name end with `*`, which stands for any text. An exact
/// name in another row takes precedence.

namespace floptally::inline v0_3::detail {

/// A public document that states rates or memory sizes, as C strings: its title and its address.
struct publication_row {
    const char* title = nullptr;
    const char* url = nullptr;
};

/// One of the memories that an accelerator is sold with. An element with neither bandwidth nor size ends the list.
struct memory_row {
    double tbps = 0;           ///< TB/s (10^12 bytes) of one device; 0: not published
    double gib = 0;            ///< GiB (2^30 bytes) of one device; 0: not published
    publication_row source{};  ///< source of bandwidth and size; if its title is empty, source and quality are those of
                               ///< the accelerator's rates
    /// The driver name of the variant with this memory; null: all variants have it.
    const char* driver_name = nullptr;
    source_quality quality = source_quality::vendor_document;
};

/// One row of the table, made of C strings and numbers, because a table of `std::string_view`s compiles slowly.
/// `accelerators` converts the rows.
struct accelerator_row {
    const char* name;
    const char* vendor;
    const char* form_factor;
    const char* driver_names[max_driver_names];
    double dense_tflops[precision_count];
    publication_row source;
    memory_row memory[max_driver_names];  ///< several elements if the memory depends on the driver name
    const char* note;
    std::uint32_t flops_per_clock = 0;
    double datasheet_mhz = 0;  ///< the clock for which `dense_tflops` are stated; 0: the vendor states no clock, or
                               ///< only the clock of other rates
    source_quality quality = source_quality::vendor_document;
};

// Sources and notes that several rows share.

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

inline constexpr publication_row blackwell_whitepaper{
    "NVIDIA RTX Blackwell GPU Architecture whitepaper, appendices",
    "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"};
inline constexpr publication_row rtx_pro_whitepaper{
    "NVIDIA RTX PRO Blackwell GPU Architecture whitepaper",
    "https://www.nvidia.com/content/dam/en-zz/Solutions/design-visualization/quadro-product-literature/"
    "NVIDIA-RTX-Blackwell-PRO-GPU-Architecture-v1.0.pdf"};
inline constexpr publication_row geforce_page{"NVIDIA GeForce graphics cards, comparison",
                                              "https://www.nvidia.com/en-us/geforce/graphics-cards/compare/"};
inline constexpr publication_row mindstudio_source{
    "Ascend/msit, msprechecker (Huawei): rates by the name that npu-smi prints",
    "https://github.com/Ascend/msit/blob/master/msprechecker/msprechecker/strategies/ascend_strategy.py"};

inline constexpr const char* geforce_note = "With fp32 accumulation; fp16 is twice that with fp16 accumulation.";
inline constexpr const char* geforce_fp8_note =
    "With fp32 accumulation; fp16 and fp8 are twice that with fp16 accumulation.";
inline constexpr const char* geforce_derived_note =
    "With fp32 accumulation. Cores and boost clock are the page's, FLOPs a core those of the architecture's paper.";
inline constexpr const char* geforce_two_sizes_note =
    "With fp32 accumulation. Cores and boost clock are the page's, FLOPs a core those of the architecture's paper. "
    "Sold with two sizes of memory under one name.";
inline constexpr const char* rtx_3080_note =
    "With fp32 accumulation; fp16 is twice that with fp16 accumulation. Rates of the card of 10 GB; the one of 12 GB "
    "has the same name in drivers and 3 % more.";
inline constexpr const char* radeon_note = "Matrix rates (WMMA), dense.";
inline constexpr const char* rdna2_note = "No matrix units: packed fp16, and int8 by dot products.";
inline constexpr const char* ascend_910b_note = "A module of 2023 and later; bf16 at the rate of fp16, as on the 910C.";
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
     {7.8, 15.7, 0, 125, 0, 0, 0, 0},
     v100_datasheet,
     {{0.9, 16, {}, "Tesla V100-SXM2-16GB"}, {0.9, 32, {}, "Tesla V100-SXM2-32GB"}},
     "fp64 without tensor cores: the part has none for it.", 80 * 1024, 1530},
    {"V100 PCIe", "NVIDIA", "PCIe", {"Tesla V100-PCIE-16GB", "Tesla V100-PCIE-32GB"},
     {7, 14, 0, 112, 0, 0, 0, 0},
     v100_datasheet,
     {{0.9, 16, {}, "Tesla V100-PCIE-16GB"}, {0.9, 32, {}, "Tesla V100-PCIE-32GB"}},
     "fp64 without tensor cores: the part has none for it.", 80 * 1024},
    {"V100S PCIe", "NVIDIA", "PCIe", {"Tesla V100S-PCIE-32GB"},
     {8.2, 16.4, 0, 130, 0, 0, 0, 0},
     v100_datasheet,
     {{1.134, 32}}, "fp64 without tensor cores: the part has none for it.", 80 * 1024, 1597},

    {"T4", "NVIDIA", "PCIe", {"Tesla T4", "NVIDIA T4"},
     {0, 8.1, 0, 65, 0, 0, 130, 0},
     {"NVIDIA T4 Tensor Core GPU datasheet",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf"},
     {{0.32, 16}}, "", 40 * 1024, 1590},

    {"A100 SXM", "NVIDIA", "SXM4",
     {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB"},
     {19.5, 19.5, 156, 312, 312, 0, 624, 0},
     a100_datasheet,
     {{1.555, 40, {}, "NVIDIA A100-SXM4-40GB"}, {1.555, 40, {}, "A100-SXM4-40GB"},
      {2.039, 80, {}, "NVIDIA A100-SXM4-80GB"}, {2.039, 80, {}, "A100-SXM4-80GB"}},
     "", 108 * 2048, 1410},
    {"A100 SXM 64GB", "NVIDIA", "SXM4", {"NVIDIA A100-SXM-64GB", "A100-SXM-64GB"},
     {22.4, 22.4, 179, 358, 358, 0, 716, 0},
     {"LEONARDO: a pan-European pre-exascale supercomputer for HPC and AI applications",
      "https://arxiv.org/abs/2307.16885"},
     {{1.64, 64}},
     "A part made for one computer, with 124 multiprocessors: NVIDIA has no datasheet of it.",
     124 * 2048, 1410, source_quality::third_party},
    {"A100 PCIe", "NVIDIA", "PCIe", {"NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe", "A100-PCIE-40GB"},
     {19.5, 19.5, 156, 312, 312, 0, 624, 0},
     a100_datasheet,
     {{1.555, 40, {}, "NVIDIA A100-PCIE-40GB"}, {1.555, 40, {}, "A100-PCIE-40GB"},
      {1.935, 80, {}, "NVIDIA A100 80GB PCIe"}},
     "", 108 * 2048, 1410},
    {"A800 SXM", "NVIDIA", "SXM4", {"NVIDIA A800-SXM4-80GB"},
     {0, 0, 0, 312, 312, 0, 624, 0},
     llm_prof_table,
     {{2.039, 80}}, china_parts_note, 108 * 2048, 1410, source_quality::third_party},
    {"A800 PCIe", "NVIDIA", "PCIe", {"NVIDIA A800 80GB PCIe"},
     {0, 0, 0, 312, 312, 0, 624, 0},
     llm_prof_table,
     {{1.935, 80}}, china_parts_note, 108 * 2048, 1410, source_quality::third_party},
    {"A800 40GB Active", "NVIDIA", "PCIe", {"NVIDIA A800 40GB Active"},
     {0, 19.5, 0, 311.9, 311.9, 0, 623.5, 0},
     {"NVIDIA A800 40GB Active workstation GPU, specifications",
      "https://www.nvidia.com/en-in/products/workstations/a800/"},
     {{1.5552, 40}},
     "Printed with sparsity (623.8 TFLOPS, 1,247 AI TOPS): halved. No tensor rate for fp64, none for tf32.",
     108 * 2048, 1410},
    {"A10", "NVIDIA", "PCIe", {"NVIDIA A10"},
     {0, 31.2, 62.5, 125, 125, 0, 250, 0},
     {"NVIDIA A10 Tensor Core GPU datasheet",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf"},
     {{0.6, 24}}, "", 72 * 1024, 1695},
    {"A10G", "NVIDIA", "PCIe", {"NVIDIA A10G"},
     {0, 35, 35, 70, 70, 0, 140, 0},
     {"NVIDIA A10G datasheet for AWS",
      "https://d1.awsstatic.com/product-marketing/ec2/NVIDIA_AWS_A10G_DataSheet_FINAL_02_17_2022.pdf"},
     {{0.6, 24}}, "", 80 * 512, 1710},
    {"A30", "NVIDIA", "PCIe", {"NVIDIA A30"},
     {10.3, 10.3, 82, 165, 165, 0, 330, 0},
     {"NVIDIA A30 Tensor Core GPU datasheet",
      "https://www.nvidia.com/content/dam/en-zz/Solutions/data-center/products/a30-gpu/pdf/a30-datasheet.pdf"},
     {{0.933, 24}}, "", 56 * 2048, 1440},
    {"A40", "NVIDIA", "PCIe", {"NVIDIA A40"},
     {0, 37.4, 74.8, 149.7, 149.7, 0, 299.3, 0},
     {"NVIDIA A40 datasheet", "https://images.nvidia.cn/content/Solutions/data-center/a40/nvidia-a40-datasheet.pdf"},
     {{0.696, 48}}, "", 84 * 1024, 1740},
    {"RTX A6000", "NVIDIA", "PCIe", {"NVIDIA RTX A6000"},
     {0, 38.7, 77.4, 154.8, 154.8, 0, 309.7, 0},
     {"NVIDIA Ampere GA102 GPU Architecture whitepaper, table 3",
      "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"},
     {{0.768, 48, ga102_whitepaper}}, "", 84 * 1024, 1800},
    {"RTX 3090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3090"},
     {0, 35.6, 35.6, 71, 71, 0, 284, 0},
     {"NVIDIA Ampere GA102 GPU Architecture whitepaper, appendix A",
      "https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf"},
     {{0.936, 24, ga102_whitepaper}}, geforce_note, 82 * 512, 1695},
    {"RTX 3090 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3090 Ti"},
     {0, 40, 40, 80, 80, 0, 320, 0},
     ada_whitepaper,
     {{1.008, 24}}, geforce_note, 84 * 512, 1860},
    {"RTX 3080 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3080 Ti"},
     {0, 34.1, 34.1, 68.2, 68.2, 0, 272.8, 0},
     ada_whitepaper,
     {{0.912, 12}}, geforce_note, 80 * 512, 1665},
    {"RTX 3080", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3080"},
     {0, 29.8, 29.8, 59.5, 59.5, 0, 238.1, 0},
     ga102_whitepaper,
     {}, rtx_3080_note, 68 * 512, 1710},
    {"RTX 3070 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3070 Ti"},
     {0, 21.7, 21.7, 43.5, 43.5, 0, 174, 0},
     geforce_page,
     {{0.608, 8}}, geforce_derived_note, 48 * 512, 1770},
    {"RTX 3070", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3070"},
     {0, 20.3, 20.3, 40.6, 40.6, 0, 162.5, 0},
     ga102_whitepaper,
     {{0.448, 8}}, geforce_note, 46 * 512, 1725},
    {"RTX 3060 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3060 Ti"},
     {0, 16.2, 16.2, 32.4, 32.4, 0, 129.6, 0},
     geforce_page,
     {{0.448, 8}}, geforce_derived_note, 38 * 512, 1665},
    {"RTX 3060", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 3060"},
     {0, 12.7, 12.7, 25.5, 25.5, 0, 101.9, 0},
     geforce_page,
     {}, geforce_two_sizes_note, 28 * 512, 1777},

    {"L4", "NVIDIA", "PCIe", {"NVIDIA L4"},
     {0, 30.3, 60, 121, 121, 242.5, 242.5, 0},
     {"NVIDIA L4 Tensor Core GPU datasheet", "https://resources.nvidia.com/en-us-l4/l4-datasheet"},
     {{0.3, 24}}, sparse_note, 58 * 1024, 2040},
    {"L40", "NVIDIA", "PCIe", {"NVIDIA L40"},
     {0, 90.5, 90.5, 181.05, 181.05, 362, 362, 0},
     {"NVIDIA L40 GPU, specifications", "https://www.nvidia.com/en-us/data-center/l40/"},
     {{0.864, 48}}, "", 142 * 512, 2490},
    {"L40S", "NVIDIA", "PCIe", {"NVIDIA L40S"},
     {0, 91.6, 183, 362.05, 362.05, 733, 733, 0},
     {"NVIDIA L40S GPU datasheet", "https://resources.nvidia.com/en-us-l40s/l40s-datasheet-28413"},
     {{0.864, 48}}, "", 142 * 1024},
    {"L20", "NVIDIA", "PCIe", {"NVIDIA L20"},
     {0, 0, 0, 119.5, 119.5, 239, 239, 0},
     llm_prof_table,
     {{0.864, 48}}, china_parts_note, 0, 0, source_quality::third_party},
    {"RTX 4090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4090"},
     {0, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6, 0},
     {"NVIDIA Ada GPU Architecture whitepaper, appendix A",
      "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"},
     {{1.008, 24, ada_whitepaper}}, geforce_fp8_note, 128 * 512, 2520},
    {"RTX 4080 SUPER", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4080 SUPER"},
     {0, 52.2, 52.2, 104.4, 104.4, 208.9, 417.8, 0},
     geforce_page,
     {{0.736, 16}}, geforce_derived_note, 80 * 512, 2550},
    {"RTX 4080", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4080"},
     {0, 48.7, 48.7, 97.5, 97.5, 194.9, 389.9, 0},
     ada_whitepaper,
     {{0.7168, 16}}, geforce_fp8_note, 76 * 512, 2505},
    {"RTX 4070 Ti SUPER", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4070 Ti SUPER"},
     {0, 44.1, 44.1, 88.2, 88.2, 176.4, 352.8, 0},
     geforce_page,
     {{0.672, 16}}, geforce_derived_note, 66 * 512, 2610},
    {"RTX 4070 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4070 Ti"},
     {0, 40.1, 40.1, 80.2, 80.2, 160.4, 320.7, 0},
     ada_whitepaper,
     {{0.5042, 12}}, geforce_fp8_note, 60 * 512, 2610},
    {"RTX 4070 SUPER", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4070 SUPER"},
     {0, 35.5, 35.5, 71, 71, 141.9, 283.9, 0},
     geforce_page,
     {{0.5042, 12}}, geforce_derived_note, 56 * 512, 2475},
    {"RTX 4070", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4070"},
     {0, 29.1, 29.1, 58.3, 58.3, 116.6, 233.2, 0},
     geforce_page,
     {{0.5042, 12}}, geforce_derived_note, 46 * 512, 2475},
    {"RTX 4060 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4060 Ti"},
     {0, 22.1, 22.1, 44.1, 44.1, 88.3, 176.5, 0},
     geforce_page,
     {{0.288, 0}}, geforce_two_sizes_note, 34 * 512, 2535},
    {"RTX 4060", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 4060"},
     {0, 15.1, 15.1, 30.2, 30.2, 60.5, 120.9, 0},
     geforce_page,
     {{0.272, 8}}, geforce_derived_note, 24 * 512, 2460},
    {"RTX 6000 Ada", "NVIDIA", "PCIe", {"NVIDIA RTX 6000 Ada Generation"},
     {0, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5, 0},
     {"NVIDIA Ada GPU Architecture whitepaper, version 2.1",
      "https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf"},
     {{0.96, 48}}, "The datasheet prints fp8 with sparsity (1,457.0), four times the dense fp16.", 142 * 1024, 2505},
    {"RTX 5090", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5090"},
     {0, 104.8, 104.8, 209.5, 209.5, 419, 838, 1676},
     {"NVIDIA RTX Blackwell GPU Architecture whitepaper, appendix A",
      "https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf"},
     {{1.792, 32}}, geforce_fp8_note, 170 * 512, 2407},
    {"RTX 5080", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5080"},
     {0, 56.3, 56.3, 112.6, 112.6, 225.1, 450.2, 900.4},
     blackwell_whitepaper,
     {{0.96, 16}}, geforce_fp8_note, 84 * 512, 2617},
    {"RTX 5070 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5070 Ti"},
     {0, 43.9, 43.9, 87.9, 87.9, 175.8, 351.5, 703},
     blackwell_whitepaper,
     {{0.896, 16}}, geforce_fp8_note, 70 * 512, 2452},
    {"RTX 5070", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5070"},
     {0, 30.9, 30.9, 61.7, 61.7, 123.5, 246.9, 493.9},
     blackwell_whitepaper,
     {{0.672, 12}}, geforce_fp8_note, 48 * 512, 2512},
    {"RTX 5060 Ti", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5060 Ti"},
     {0, 23.7, 23.7, 47.4, 47.4, 94.8, 189.6, 379.3},
     geforce_page,
     {{0.448, 0}}, geforce_two_sizes_note, 36 * 512, 2572},
    {"RTX 5060", "NVIDIA", "PCIe", {"NVIDIA GeForce RTX 5060"},
     {0, 19.2, 19.2, 38.4, 38.4, 76.7, 153.4, 306.8},
     geforce_page,
     {{0.448, 8}}, geforce_derived_note, 30 * 512, 2497},
    {"RTX PRO 6000 Blackwell", "NVIDIA", "PCIe", {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
     {0, 126, 251.9, 503.8, 503.8, 1007.6, 1007.6, 2015.2},
     rtx_pro_whitepaper,
     {{1.792, 96}}, "The workstation card of 600 W.", 188 * 1024, 2617},
    {"RTX PRO 6000 Blackwell Max-Q", "NVIDIA", "PCIe", {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"},
     {0, 109.7, 219.5, 438.9, 438.9, 877.9, 877.9, 1755.7},
     rtx_pro_whitepaper,
     {{1.792, 96}}, "The workstation card of 300 W.", 188 * 1024, 2280},
    {"RTX PRO 6000 Blackwell Server", "NVIDIA", "PCIe", {"NVIDIA RTX PRO 6000 Blackwell Server Edition"},
     {0, 120, 250, 500, 500, 1000, 1000, 2000},
     {"NVIDIA RTX PRO 6000 Blackwell Server Edition, specifications",
      "https://www.nvidia.com/en-us/data-center/rtx-pro-6000-blackwell-server-edition/"},
     {{1.597, 96}}, "Printed with sparsity and rounded (4 PFLOPS of fp4): halved.", 188 * 1024},

    {"H100 SXM", "NVIDIA", "SXM5", {"NVIDIA H100 80GB HBM3"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0},
     hopper_whitepaper,
     {{3.35, 80, h100_page}}, h100_sxm_note, 132 * 4096, 1830},
    {"H100 PCIe", "NVIDIA", "PCIe", {"NVIDIA H100 PCIe"},
     {51.2, 51.2, 378, 756, 756, 1513, 1513, 0},
     hopper_whitepaper,
     {{2, 80, {"NVIDIA H100 PCIe GPU product brief, PB-11133-001",
       "https://www.nvidia.com/content/dam/en-zz/Solutions/gtcs22/data-center/h100/PB-11133-001_v01.pdf"}}},
     "", 114 * 4096, 1620},
    {"H100 NVL", "NVIDIA", "PCIe", {"NVIDIA H100 NVL"},
     {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0},
     {"NVIDIA H100 Tensor Core GPU, specifications", "https://www.nvidia.com/en-us/data-center/h100/"},
     {{3.9, 94}}, sparse_note, 132 * 4096},
    {"H20", "NVIDIA", "SXM5", {"NVIDIA H20", "NVIDIA H20-3e"},
     {0, 0, 0, 148, 148, 296, 296, 0},
     llm_prof_table,
     {{4.022, 96, {}, "NVIDIA H20"}, {4.8, 141, {}, "NVIDIA H20-3e"}},
     china_parts_note, 0, 0, source_quality::third_party},
    {"H800 SXM", "NVIDIA", "SXM5", {"NVIDIA H800"},
     {0, 0, 0, 989, 989, 1979, 1979, 0},
     llm_prof_table,
     {{3.35, 80}}, china_parts_note, 132 * 4096, 1830, source_quality::third_party},
    {"H800 PCIe", "NVIDIA", "PCIe", {"NVIDIA H800 PCIe"},
     {0, 51, 378, 756.5, 756.5, 1513, 1513, 0},
     {"Lenovo Press LP1814, ThinkSystem NVIDIA H800 PCIe Gen5 GPU",
      "https://lenovopress.lenovo.com/lp1814-thinksystem-nvidia-h800-pcie-gen5-gpu"},
     {{2, 80}},
     "A server maker's guide: NVIDIA publishes none. Tensor rates are printed with sparsity: halved.",
     114 * 4096, 1620, source_quality::third_party},
    {"H200 SXM", "NVIDIA", "SXM5", {"NVIDIA H200"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0},
     h200_page,
     {{4.8, 141}}, same_as_h100_note, 132 * 4096, 1830},
    {"H200 NVL", "NVIDIA", "PCIe", {"NVIDIA H200 NVL"},
     {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5, 0},
     h200_page,
     {{4.8, 141}}, sparse_note, 132 * 4096},
    {"GH200", "NVIDIA", "superchip", {"NVIDIA GH200 120GB", "NVIDIA GH200 480GB", "NVIDIA GH200 144G HBM3e"},
     {66.9, 66.9, 494.7, 989, 989, 1978.9, 1978.9, 0},
     {"NVIDIA GH200 Grace Hopper Superchip, specifications",
      "https://www.nvidia.com/en-us/data-center/grace-hopper-superchip/"},
     {{4, 96, {}, "NVIDIA GH200 120GB"}, {4, 96, {}, "NVIDIA GH200 480GB"}, {4.9, 144, {}, "NVIDIA GH200 144G HBM3e"}},
     same_as_h100_note, 132 * 4096, 1830},

    {"B200", "NVIDIA", "SXM", {"NVIDIA B200"},
     {37, 75, 1125, 2250, 2250, 4500, 4500, 9000},
     hgx_page,
     {{8, 180, {"NVIDIA DGX B200, specifications (64 TB/s of eight)",
       "https://www.nvidia.com/en-us/data-center/dgx-b200/"}}},
     "An eighth of HGX B200; sparse figures halved, fp4 is printed dense.", 148 * 8192},
    {"GB200", "NVIDIA", "superchip", {"NVIDIA GB200"},
     {40, 80, 1250, 2500, 2500, 5000, 5000, 10000},
     {"NVIDIA GB200 NVL72, specifications", "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"},
     {{8, 186, {"NVIDIA GB200 NVL72, specifications (576 TB/s of 72)",
       "https://www.nvidia.com/en-us/data-center/gb200-nvl72/"}}},
     "One of the superchip's two GPUs; sparse figures halved, fp4 is printed dense.", 152 * 8192},
    {"B300", "NVIDIA", "SXM", {"NVIDIA B300 SXM6 AC", "NVIDIA B300"},
     {1.25, 75, 1125, 2250, 2250, 4500, 153.5, 13500},
     hgx_page,
     {{8, 268, {"NVIDIA DGX B300, specifications (2.3 TB and 64 TB/s of eight)",
       "https://www.nvidia.com/en-us/data-center/dgx-b300/"}}},
     "An eighth of HGX B300; sparse figures halved, fp4 is printed dense. int8 is from the Blackwell Ultra datasheet "
     "(307 TOPS with sparsity), which rounds fp4 to 14 PFLOPS. The 288 GB of memory are decimal: 268 GiB.", 148 * 8192},
    {"GB300", "NVIDIA", "superchip", {"NVIDIA GB300"},
     {1.3, 80, 1250, 2500, 2500, 5000, 165, 15000},
     {"NVIDIA Blackwell Ultra datasheet, individual GPU specifications",
      "https://resources.nvidia.com/en-us-blackwell-architecture/blackwell-ultra-datasheet"},
     {{8, 279, {"NVIDIA GB300 NVL72, specifications (576 TB/s of 72)",
       "https://www.nvidia.com/en-us/data-center/gb300-nvl72/"}}},
     "Sparse figures halved, fp4 is printed dense.", 152 * 8192},
    {"GB10", "NVIDIA", "superchip", {"NVIDIA GB10"},
     {0, 0, 0, 0, 0, 0, 0, 500},
     {"NVIDIA DGX Spark, specifications", "https://www.nvidia.com/en-us/products/workstations/dgx-spark/"},
     {{0.273, 128}}, "NVIDIA prints fp4 alone, with sparsity (1 PFLOP): halved. Memory is shared with the CPU."},
    {"Rubin", "NVIDIA", "superchip", {},
     {33, 0, 0, 4000, 4000, 17500, 0, 35000},
     {"NVIDIA Vera Rubin NVL72, specifications", "https://www.nvidia.com/en-us/data-center/vera-rubin-nvl72/"},
     {{22, 288}},
     "Preliminary, by NVIDIA's own word. fp8 and fp4 are the dense rates for training; the 50 PFLOPS of inference "
     "that it quotes are not dense.", 0, 0, source_quality::vendor_slide},

    {"MI210", "AMD", "PCIe", {"AMD Instinct MI210"},
     {45.3, 45.3, 0, 181, 181, 0, 181, 0},
     {"AMD Instinct MI210 accelerators, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html"},
     {{1.6384, 64}}, "", 104 * 1024, 1700},
    {"MI250 GCD", "AMD", "OAM", {"AMD Instinct MI250", "AMD Instinct MI250X/MI250"},
     {45.25, 45.25, 0, 181.05, 181.05, 0, 181.05, 0},
     mi250_page,
     {{1.6384, 64}}, "Half of the card: the driver reports each of its two dies as a device.", 104 * 1024, 1700},
    {"MI250 card", "AMD", "OAM", {},
     {90.5, 90.5, 0, 362.1, 362.1, 0, 362.1, 0},
     mi250_page,
     {{3.2768, 128}}, "Both dies of the card, which the driver never reports.", 2 * 104 * 1024, 1700},
    {"MI250X GCD", "AMD", "OAM", {"AMD Instinct MI250X", "AMD Instinct MI250X/MI250"},
     {47.85, 47.85, 0, 191.5, 191.5, 0, 191.5, 0},
     mi250x_page,
     {{1.6384, 64}}, "Half of the card: the driver reports each of its two dies as a device.", 110 * 1024, 1700},
    {"MI250X card", "AMD", "OAM", {},
     {95.7, 95.7, 0, 383, 383, 0, 383, 0},
     mi250x_page,
     {{3.2768, 128}}, "Both dies of the card, which the driver never reports.", 2 * 110 * 1024, 1700},
    {"MI300A", "AMD", "SH5", {"AMD Instinct MI300A"},
     {122.6, 122.6, 490.3, 980.6, 980.6, 1961.2, 1961.2, 0},
     {"AMD Instinct MI300A APU data sheet",
      "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/"
      "amd-instinct-mi300a-data-sheet.pdf"},
     {{5.3, 128}}, "", 228 * 2048, 2100},
    {"MI300X", "AMD", "OAM", {"AMD Instinct MI300X", "AMD Instinct MI300X VF"},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 0},
     {"AMD Instinct MI300X accelerator data sheet",
      "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/"
      "amd-instinct-mi300x-data-sheet.pdf"},
     {{5.3, 192}}, "", 304 * 2048, 2100},
    {"MI308X", "AMD", "OAM",
     {"AMD Instinct MI308X", "AMD Instinct MI308X HF", "AMD Instinct MI308X VF", "AMD Instinct MI308X HF VF"},
     {0, 0, 0, 0, 0, 0, 0, 0},
     {"AMD Instinct MI300 series accelerators", "https://www.amd.com/en/products/accelerators/instinct/mi300.html"},
     {}, "AMD has no public document of its rates"},
    {"MI325X", "AMD", "OAM", {"AMD Instinct MI325X"},
     {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 2614.9, 0},
     {"AMD Instinct MI325X accelerators, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi300/mi325x.html"},
     {{6, 256}}, "The page prints the figures of MI300X, rounded to PFLOPS: its are stored.", 304 * 2048, 2100},
    {"MI350X", "AMD", "OAM", {"AMD Instinct MI350X"},
     {72.1, 144.2, 0, 2300, 2300, 4600, 4600, 9200},
     {"AMD Instinct MI350X GPUs, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi350/mi350x.html"},
     {{8, 288}}, "Printed in PFLOPS to two digits.", 256 * 4096, 2200},
    {"MI355X", "AMD", "OAM", {"AMD Instinct MI355X"},
     {78.6, 157.3, 0, 2500, 2500, 5000, 5000, 10100},
     {"AMD Instinct MI355X GPUs, specifications",
      "https://www.amd.com/en/products/accelerators/instinct/mi350/mi355x.html"},
     {{8, 288}}, "Printed in PFLOPS to two or three digits.", 256 * 4096, 2400},
    {"MI455X", "AMD", "module", {"AMD Instinct MI455X"},
     {0, 0, 0, 0, 0, 0, 0, 0},
     {"cloudnews.tech, AMD Instinct MI455X and MI430X",
      "https://cloudnews.tech/"
      "amd-challenges-vera-rubin-instinct-mi455x-and-mi430x-promise-fp4-fp8-parity-same-bandwidth-and-double-hbm4-"
      "memory"},
     {{19.6, 432}},
     "AMD has said 40 PFLOP/s of fp4 and 20 of fp8, and not whether they are dense", 0, 0, source_quality::third_party},

    {"RX 6900 XT", "AMD", "PCIe", {"AMD Radeon RX 6900 XT"},
     {0, 23, 0, 46.1, 0, 0, 92.2, 0},
     {"AMD Radeon RX 6900 XT, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/6000-series/amd-radeon-rx-6900-xt.html"},
     {{0.512, 16}}, rdna2_note, 80 * 256, 2250},
    {"RX 6800 XT", "AMD", "PCIe", {"AMD Radeon RX 6800 XT"},
     {0, 20.7, 0, 41.5, 0, 0, 82.9, 0},
     {"AMD Radeon RX 6800 XT, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/6000-series/amd-radeon-rx-6800-xt.html"},
     {{0.512, 16}}, rdna2_note, 72 * 256, 2250},
    {"RX 7900 XTX", "AMD", "PCIe", {"AMD Radeon RX 7900 XTX"},
     {0, 61.4, 0, 122.9, 122.9, 0, 122.9, 0},
     {"AMD Radeon RX 7900 XTX, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/7000-series/amd-radeon-rx-7900xtx.html"},
     {{0.96, 24}}, radeon_note, 96 * 512, 2500},
    {"RX 7900 XT", "AMD", "PCIe", {"AMD Radeon RX 7900 XT"},
     {0, 51.6, 0, 103.2, 103.2, 0, 103.2, 0},
     {"AMD Radeon RX 7900 XT, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/7000-series/amd-radeon-rx-7900xt.html"},
     {{0.8, 20}}, radeon_note, 84 * 512, 2400},
    {"RX 9070 XT", "AMD", "PCIe", {"AMD Radeon RX 9070 XT"},
     {0, 48.7, 0, 194.6, 194.6, 389.3, 389.3, 0},
     {"AMD Radeon RX 9070 XT, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/9000-series/amd-radeon-rx-9070xt.html"},
     {{0.64, 16}}, radeon_note, 64 * 1024, 2970},
    {"RX 9070", "AMD", "PCIe", {"AMD Radeon RX 9070"},
     {0, 36.1, 0, 144.5, 144.5, 289, 289, 0},
     {"AMD Radeon RX 9070, specifications",
      "https://www.amd.com/en/products/graphics/desktops/radeon/9000-series/amd-radeon-rx-9070.html"},
     {{0.64, 16}}, radeon_note, 56 * 1024, 2520},
    {"Radeon AI PRO R9700", "AMD", "PCIe", {"AMD Radeon AI PRO R9700"},
     {0, 47.8, 0, 191.4, 191.4, 382.7, 382.7, 0},
     {"AMD Radeon AI PRO R9700, specifications",
      "https://www.amd.com/en/products/graphics/workstations/radeon-ai-pro/ai-9000-series/"
      "amd-radeon-ai-pro-r9700.html"},
     {{0.64, 32}}, radeon_note, 64 * 1024, 2920},

    {"TPU v3 core", "Google", "core", {"TPU v3"},
     {0, 0, 0, 0, 61.5, 0, 0, 0},
     tpu_v3_page,
     {{0.45, 16}}, "Half of the chip: frameworks see each of its two cores as a device."},
    {"TPU v3 chip", "Google", "chip", {},
     {0, 0, 0, 0, 123, 0, 0, 0},
     tpu_v3_page,
     {{0.9, 32}}, "Both cores of the chip, which are two devices to frameworks."},
    {"TPU v4", "Google", "chip", {},
     {0, 0, 0, 0, 275, 0, 275, 0},
     {"Google Cloud TPU v4, system architecture", "https://docs.cloud.google.com/tpu/docs/v4"},
     {{1.2, 32}}, ""},
    {"TPU v5e", "Google", "chip", {"TPU v5 lite"},
     {0, 0, 0, 0, 197, 0, 393, 0},
     {"Google Cloud TPU v5e, system architecture", "https://docs.cloud.google.com/tpu/docs/v5e"},
     {{0.819, 16}}, ""},
    {"TPU v5p", "Google", "chip", {"TPU v5"},
     {0, 0, 0, 0, 459, 459, 918, 0},
     {"Google Cloud TPU v5p, system architecture", "https://docs.cloud.google.com/tpu/docs/v5p"},
     {{2.765, 95}}, "fp8 is from the TPU7x page, which compares."},
    {"TPU v6e", "Google", "chip", {"TPU v6 lite"},
     {0, 0, 0, 0, 918, 918, 1836, 0},
     {"Google Cloud TPU v6e (Trillium), system architecture", "https://docs.cloud.google.com/tpu/docs/v6e"},
     {{1.638, 32}}, "fp8 is from the TPU7x page, which compares."},
    {"TPU v7 chiplet", "Google", "chiplet", {"TPU7x", "TPU7", "TPU v7x"},
     {0, 0, 0, 0, 1153.5, 2307, 0, 0},
     tpu7x_page,
     {{3.69, 96}}, "Half of the chip: frameworks see each of its two chiplets as a device."},
    {"TPU v7 chip", "Google", "chip", {},
     {0, 0, 0, 0, 2307, 4614, 0, 0},
     tpu7x_page,
     {{7.38, 192}}, "Both chiplets of the chip, which are two devices to frameworks."},
    {"TPU 8i chiplet", "Google", "chiplet", {"TPU8i"},
     {0, 0, 0, 0, 550.5, 4404, 0, 5050},
     {"JAX 0.10.2, jax/_src/pallas/mosaic/tpu_info.py (Google)",
      "https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pallas/mosaic/tpu_info.py"},
     {{4.3, 144}},
     "Half of the chip: frameworks see each of its two cores as a device. fp4 is half of the 10.1 PFLOPS that Google "
     "announced.", 0, 0, source_quality::vendor_slide},
    {"TPU 8i chip", "Google", "chip", {},
     {0, 0, 0, 0, 1101, 8808, 0, 10100},
     {"JAX 0.10.2, jax/_src/pallas/mosaic/tpu_info.py (Google)",
      "https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pallas/mosaic/tpu_info.py"},
     {{8.6, 288}},
     "Both cores of the chip, which are two devices to frameworks. fp4 is as Google announced it.",
     0, 0, source_quality::vendor_slide},
    {"TPU 8t chiplet", "Google", "chiplet", {"TPU8t"},
     {0, 0, 0, 0, 498.05, 2988.45, 498.05, 6300},
     {"JAX, jax/_src/pallas/mosaic/tpu_info.py (Google), main branch of November 2026",
      "https://github.com/jax-ml/jax/blob/main/jax/_src/pallas/mosaic/tpu_info.py"},
     {{3.2, 108}},
     "Half of the chip: frameworks see each of its two cores as a device. fp4 is half of the 12.6 PFLOPS that Google "
     "announced.", 0, 0, source_quality::vendor_slide},
    {"TPU 8t chip", "Google", "chip", {},
     {0, 0, 0, 0, 996.1, 5976.9, 996.1, 12600},
     {"JAX, jax/_src/pallas/mosaic/tpu_info.py (Google), main branch of November 2026",
      "https://github.com/jax-ml/jax/blob/main/jax/_src/pallas/mosaic/tpu_info.py"},
     {{6.4, 216}},
     "Both cores of the chip, which are two devices to frameworks. fp4 is as Google announced it.",
     0, 0, source_quality::vendor_slide},

    {"Trainium 1", "AWS", "chip", {"Trainium1"},
     {0, 47.5, 190, 190, 190, 190, 380, 0},
     {"AWS Neuron documentation, Trainium architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium.html"},
     {{0.82, 32}}, "The chip of two NeuronCores, each of which is a device to frameworks."},
    {"Trainium 2", "AWS", "chip", {"Trainium2"},
     {0, 181, 667, 667, 667, 1299, 0, 0},
     {"AWS Neuron documentation, Trainium2 architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html"},
     {{2.9, 96, {"AWS Neuron documentation, Trainium2 architecture guide for NKI",
       "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/arch/trainium2_arch.html"}}},
     "The chip of eight NeuronCores, which frameworks see as four or eight devices."},
    {"Trainium 3", "AWS", "chip", {"Trainium3"},
     {0, 183, 671, 671, 671, 2517, 0, 2517},
     {"AWS Neuron documentation, Trainium3 architecture",
      "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium3.html"},
     {{4.9, 144}},
     "The chip of eight NeuronCores, which frameworks see as four or eight devices. fp8 and fp4 are MXFP8 and MXFP4."},

    {"Gaudi 2", "Intel", "OAM", {"GAUDI2"},
     {0, 0, 0, 0, 432, 865, 0, 0},
     {"Intel Gaudi 2 AI accelerator white paper",
      "https://www.intel.com/content/www/us/en/content-details/839363/intel-gaudi-2-ai-accelerators-white-paper.html"},
     {{2.45, 96}}, ""},
    {"Gaudi 3", "Intel", "OAM", {"GAUDI3"},
     {0, 0, 0, 0, 1835, 1835, 0, 0},
     {"Intel Gaudi 3 AI accelerator white paper",
      "https://www.intel.com/content/www/us/en/content-details/817486/intel-gaudi-3-ai-accelerator-white-paper.html"},
     {{3.7, 128}}, "Needs a matrix engine at 1.75 GHz; parts have been seen to run at 1.6 GHz, which gives 1678."},
    {"Max 1550 stack", "Intel", "OAM", {"Intel(R) Data Center GPU Max 1550"},
     {26.2, 26.2, 209.7, 419.4, 419.4, 0, 838.9, 0},
     {"Intel Data Center GPU Max Series technical overview",
      "https://www.intel.com/content/www/us/en/developer/articles/technical/"
      "intel-data-center-gpu-max-series-overview.html"},
     {{1.6384, 64}},
     "Half of the card: the driver reports each of its two stacks as a device, unless ZE_FLAT_DEVICE_HIERARCHY is "
     "COMPOSITE. Rates are the 128 cores of the card at 1.6 GHz.", 64 * 4096, 1600},
    {"Max 1550 card", "Intel", "OAM", {},
     {52.4, 52.4, 419.4, 838.9, 838.9, 0, 1677.7, 0},
     {"Intel Data Center GPU Max Series technical overview",
      "https://www.intel.com/content/www/us/en/developer/articles/technical/"
      "intel-data-center-gpu-max-series-overview.html"},
     {{3.2768, 128}}, "Both stacks, a device where ZE_FLAT_DEVICE_HIERARCHY is COMPOSITE.", 128 * 4096, 1600},
    {"Arc Pro B60", "Intel", "PCIe", {"Intel(R) Arc(TM) Pro B60 Graphics"},
     {0, 12.29, 0, 98.3, 98.3, 0, 196.6, 0},
     {"hmc-tech.com, Intel Arc Pro B60", "https://hmc-tech.com/gpu/intel-arc-pro-b60-vs-nvidia-quadro-p620"},
     {{0.456, 24}},
     "Intel publishes int8 alone (197 TOPS); a half of it for fp16 and bf16 is what others quote.",
     20 * 2048, 2400, source_quality::third_party},

    {"Ascend 910B1", "Huawei", "module", {"Ascend910B1", "910B1"},
     {0, 0, 0, 400, 400, 0, 0, 0},
     mindstudio_source,
     {{0, 64}}, ascend_910b_note, 0, 0, source_quality::vendor_slide},
    {"Ascend 910B2", "Huawei", "module", {"Ascend910B2", "910B2", "Ascend910B2C", "910B2C"},
     {0, 0, 0, 376, 376, 0, 0, 0},
     mindstudio_source,
     {{0, 64}}, ascend_910b_note, 0, 0, source_quality::vendor_slide},
    {"Ascend 910B3", "Huawei", "module", {"Ascend910B3", "910B3"},
     {0, 0, 0, 313, 313, 0, 0, 0},
     mindstudio_source,
     {{0, 64}}, ascend_910b_note, 0, 0, source_quality::vendor_slide},
    {"Ascend 910B4", "Huawei", "module", {"Ascend910B4", "910B4", "Ascend910B4-1", "910B4-1"},
     {0, 0, 0, 280, 280, 0, 0, 0},
     mindstudio_source,
     {{0, 32, {}, "Ascend910B4"}, {0, 32, {}, "910B4"}, {0, 64, {}, "Ascend910B4-1"}, {0, 64, {}, "910B4-1"}},
     ascend_910b_note, 0, 0, source_quality::vendor_slide},
    {"Ascend 910C die", "Huawei", "die", {"Ascend910_9382", "Ascend910"},
     {0, 0, 0, 376, 376, 0, 752, 0},
     cloud_matrix_paper,
     {{1.6, 64}}, "Half of the package: frameworks see each die as a device.", 0, 0, source_quality::vendor_slide},
    {"Ascend 910C package", "Huawei", "package", {},
     {0, 0, 0, 752, 752, 0, 1504, 0},
     cloud_matrix_paper,
     {{3.2, 128}}, "Both dies, which are two devices to frameworks.", 0, 0, source_quality::vendor_slide},
    {"Ascend 910C fast die", "Huawei", "die", {"Ascend910_9392", "Ascend910"},
     {0, 0, 0, 400, 400, 0, 0, 0},
     mindstudio_source,
     {{0, 64}},
     "The variant of 800 TFLOP/s a package (9392); bf16 at the rate of fp16, as on the 910C. Frameworks see each die "
     "as a device.", 0, 0, source_quality::vendor_slide},
    {"Ascend 910C slow die", "Huawei", "die", {"Ascend910_9362", "Ascend910"},
     {0, 0, 0, 280, 280, 0, 0, 0},
     mindstudio_source,
     {{0, 64}},
     "The variant of 560 TFLOP/s a package (9362); bf16 at the rate of fp16, as on the 910C. Frameworks see each die "
     "as a device.", 0, 0, source_quality::vendor_slide},
    {"Ascend 910C variant", "Huawei", "die", {"Ascend910_93*"},
     {0, 0, 0, 0, 0, 0, 0, 0},
     mindstudio_source,
     {}, "Huawei has said the rates of 9362, 9382 and 9392 alone", 0, 0, source_quality::vendor_slide},
    {"Ascend 950PR", "Huawei", "package", {"Ascend950PR"},
     {0, 0, 0, 0, 0, 1000, 0, 2000},
     {"Huawei Connect 2025, keynote of Eric Xu", "https://www.huawei.com/en/news/2025/9/hc-xu-keynote-speech"},
     {{1.6, 128}}, "Huawei has said fp8 and fp4 (MXFP4) alone.", 0, 0, source_quality::vendor_slide},
    {"Ascend 950DT", "Huawei", "package", {"Ascend950DT"},
     {0, 0, 0, 0, 0, 1000, 0, 2000},
     {"Huawei Connect 2025, keynote of Eric Xu", "https://www.huawei.com/en/news/2025/9/hc-xu-keynote-speech"},
     {{4, 144}}, "Huawei has said fp8 and fp4 (MXFP4) alone.", 0, 0, source_quality::vendor_slide},
    {"Ascend 950 variant", "Huawei", "package", {"Ascend950PR_*", "Ascend950DT_*", "Ascend910_95*"},
     {0, 0, 0, 0, 0, 0, 0, 0},
     {"Huawei Connect 2025, keynote of Eric Xu", "https://www.huawei.com/en/news/2025/9/hc-xu-keynote-speech"},
     {}, "Huawei has said one rate of the series, and not which the variants have", 0, 0, source_quality::vendor_slide},

    {"Apple GPU", "Apple", "SoC", {"Apple M*", "Apple A*"},
     {0, 0, 0, 0, 0, 0, 0, 0},
     {"Apple, Metal feature set tables", "https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf"},
     {}, "Apple publishes no rate of its GPUs"},
};
// clang-format on

}  // namespace floptally::detail
