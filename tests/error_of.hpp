// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <floptally/text/error.hpp>

/// The text of the `floptally::error` that a call throws, "no error" where it throws none.
template <class Call>
std::string error_of(Call call) {
    try {
        call();
    } catch (const floptally::error& problem) {
        return problem.what();
    }
    return "no error";
}
