// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/detail/python/errors.hpp>
#include <floptally/error.hpp>

namespace floptally::detail::python {

/// What could not be counted while the rest was: the first of its errors, raised once the rest is safe.
class left_out_batches {
  public:
    /// Keeps the error that is being handled, with its place where it is one of ours.
    void keep(const std::string& place) {
        if (!first_) {
            first_ = placed(place);
        }
    }

    void raise() const {
        if (first_) {
            std::rethrow_exception(first_);
        }
    }

  private:
    [[nodiscard]] static std::exception_ptr placed(const std::string& place) {
        const auto with_place = [&](const std::string& field, const std::string& problem, bool overflows) {
            return overflows ? std::make_exception_ptr(overflow(field, problem + place))
                             : std::make_exception_ptr(error(field, problem + place));
        };
        try {
            throw;
        } catch (const error& own) {
            return with_place(std::string(own.field()), std::string(own.problem()),
                              dynamic_cast<const overflow*>(&own) != nullptr);
        } catch (const py::error_already_set& pythons) {
            if (!pythons.matches(error_class())) {
                return std::current_exception();
            }
            return with_place(py::str(pythons.value().attr("field")), py::str(pythons.value().attr("problem")),
                              pythons.matches(overflow_class()));
        } catch (...) {
            return std::current_exception();
        }
    }

    std::exception_ptr first_;
};

}  // namespace floptally::detail::python
