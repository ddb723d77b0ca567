// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vaultgemma[] = R"page(
page vaultgemma : gemma2 prefix VaultGemma
norms  = 2*h
classes ForCausalLM Model
)page";

}  // namespace floptally::models
