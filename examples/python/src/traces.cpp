// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include <floptally/json/kineto_trace.hpp>

#include "classes.hpp"

/// @file
/// Traces from files, packed by gzip too.

namespace floptally::detail::python {

namespace {

/// The bytes of a gzip file as Python's gzip unpacks them, a window at a time: a wheel then needs no zlib.
class gzip_of_python : public std::streambuf {
  public:
    explicit gzip_of_python(const std::string& path)
        : file_(py::module_::import("gzip").attr("open")(py::bytes(path))) {}

  protected:
    int_type underflow() override {
        constexpr std::size_t bytes = std::size_t{1} << 16U;
        try {
            window_ = file_.attr("read")(bytes).cast<std::string>();
        } catch (const py::error_already_set& problem) {
            throw error("trace", "is a broken gzip file: " + py::str(problem.value()).cast<std::string>());
        }
        setg(window_.data(), window_.data(), window_.data() + window_.size());
        return window_.empty() ? traits_type::eof() : traits_type::to_int_type(window_[0]);
    }

  private:
    py::object file_;
    std::string window_;
};

}  // namespace

trace load_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!is_gzip(file)) {
        return load_kineto_trace(path);
    }
    const py::gil_scoped_acquire held;  // the program runs without it
    gzip_of_python unpacked(path.string());
    std::istream stream(&unpacked);
    stream.exceptions(std::ios::badbit);  // an error of the buffer is thrown on
    return read_kineto_trace(stream);
}

}  // namespace floptally::detail::python
