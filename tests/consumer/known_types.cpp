// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include <floptally/json.hpp>

std::size_t known_types() { return floptally::known_model_types().size(); }
