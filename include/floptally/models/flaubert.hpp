// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char flaubert[] = R"page(
page flaubert : xlm prefix Flaubert
)page";

}  // namespace floptally::models
