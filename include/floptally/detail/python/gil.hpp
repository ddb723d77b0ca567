// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <pybind11/pybind11.h>

namespace floptally::detail::python {

namespace py = pybind11;

/// Below so many integers counting takes less than giving up the GIL and getting it back.
inline constexpr std::size_t worth_releasing = 4096;

/// Runs `work` without the GIL where there is much to do. It must touch nothing of Python, nor what another thread may
/// reach.
template <class Work>
void without_gil(std::size_t integers, Work work) {
    if (integers < worth_releasing) {
        work();
        return;
    }
    const py::gil_scoped_release released;
    work();
}

}  // namespace floptally::detail::python
