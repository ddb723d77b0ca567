// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/detail/python/services.hpp>

/// The reader of configs, the reports and the program, each in one unit of the extension: they are most of what it
/// costs to compile.
[[nodiscard]] floptally::python_services floptally_services();
