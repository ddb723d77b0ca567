// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/time_breakdown_json.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/rank_traces.hpp>

#include "classes.hpp"
#include "program.hpp"

/// @file
/// Reads traces from files, plain or gzip, and what they say of a step.

namespace floptally::python {

namespace {

/// Unpacks a gzip file by Python's gzip, a block at a time. A wheel then does not need zlib.
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
            throw error("trace",
                        "is a broken gzip file: " + py::str(problem.value()).cast<std::string>() + "; copy it again");
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
    if (!detail::is_gzip(file)) {
        return load_kineto_trace(path);
    }
    const py::gil_scoped_acquire held;  // the program runs without the GIL
    gzip_of_python unpacked(path.string());
    std::istream stream(&unpacked);
    stream.exceptions(std::ios::badbit);  // an error of the buffer is rethrown
    return read_kineto_trace(stream);
}

namespace {

/// JSON of what the traces of a step's ranks say: times of components, the rest of the step, notes, and the step of
/// each rank if there are several.
std::string times_of_traces(const counted_work& work, const std::vector<std::string>& paths,
                            const std::optional<std::string>& modules) {
    std::vector<trace> traces;
    for (const std::string& path : paths) {
        traces.push_back(load_trace(path));
    }
    const rank_traces joined(std::move(traces), modules ? module_map_named(*modules) : module_map{});
    nlohmann::ordered_json file;
    file["component_times"] = to_json(component_times{joined.seconds(), joined.parts(work.work)});
    file["traced"] = to_json(joined.step(work.work));
    file["notes"] = std::vector<std::string>(joined.notes().begin(), joined.notes().end());
    file["ranks"] = to_json(paths.size() == 1 ? std::vector<rank_line>{} : joined.lines(work.work));
    // Names of kernels and modules may have any bytes.
    return file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void bind_traces(py::module_& module) {
    function(module, "_times_of_traces", [](const arguments& args) {
        return times_of_traces(args.as<const counted_work&>("work"), args.as<std::vector<std::string>>("paths"),
                               args.some_text("modules"));
    });
}

}  // namespace floptally::python
