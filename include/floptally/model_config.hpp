// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <floptally/cost.hpp>

namespace floptally {

/// A model as a config describes it.
struct model_config {
    std::string model_type;
    floptally::cost cost;
    std::vector<std::string> notes;  ///< what the reader decided where the config is silent
};

}  // namespace floptally
