// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Sources of `accelerator_table` that several rows name, and notes that several rows share.

namespace floptally::detail {

/// A `publication` as plain text.
struct publication_row {
    const char* title;
    const char* url;
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

}  // namespace floptally::detail
