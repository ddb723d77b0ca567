// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char owlv2_text_model[] = R"page(
page owlv2_text_model : owlvit_text_model prefix Owlv2
)page";

}  // namespace floptally::models
