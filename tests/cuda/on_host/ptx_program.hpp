// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx_instructions.hpp"

/// @file
/// Reads the text that nvcc compiles kernels to. What it does not know is an error with the line.

namespace ptx {

struct parameter {
    std::string name;
    std::size_t offset = 0;
    std::size_t size = 0;
};

struct kernel {
    std::string name;
    std::vector<parameter> parameters;
    std::size_t parameter_bytes = 0;
    std::size_t shared_bytes = 0;  ///< that it declares itself; those of a launch lie after them
    std::vector<instruction> code;
    std::vector<std::string> text;       ///< of each instruction, for errors
    std::vector<accumulator> registers;  ///< as a thread begins: constants, and whatever
};

[[noreturn]] inline void refuse(std::string_view what, std::string_view line) {
    throw std::runtime_error(std::string("PTX: ").append(what).append(": ").append(line));
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\n\r");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

/// At commas that are in no brackets.
[[nodiscard]] inline std::vector<std::string_view> split_operands(std::string_view text) {
    std::vector<std::string_view> operands;
    int depth = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (c == ',' && (depth == 0 || i == text.size())) {
            if (const std::string_view operand = trimmed(text.substr(first, i - first)); !operand.empty()) {
                operands.push_back(operand);
            }
            first = i + 1;
        }
    }
    return operands;
}

/// `.align 8 .b8 name[40]` or `.u64 name`: the name, how many bytes it has, and on how many it lies.
struct declaration {
    std::string name;
    std::size_t size = 0;
    std::size_t alignment = 1;

    explicit declaration(std::string_view text) {
        std::string_view rest = trimmed(text);
        std::size_t of_type = 0;
        while (!rest.empty() && rest.front() == '.') {
            const std::size_t space = std::min(rest.find_first_of(" \t"), rest.size());
            const std::string_view said = rest.substr(0, space);
            rest = trimmed(rest.substr(space));
            if (said == ".align") {
                const std::size_t digits = rest.find_first_not_of("0123456789");
                alignment = std::stoul(std::string(rest.substr(0, digits)));
                rest = trimmed(rest.substr(digits));
            } else if (said.size() > 2 && std::isdigit(static_cast<unsigned char>(said[2])) != 0) {
                of_type = std::stoul(std::string(said.substr(2))) / 8;
                alignment = std::max(alignment, of_type);
            }
        }
        const std::size_t bracket = rest.find('[');
        name = std::string(trimmed(rest.substr(0, bracket)));
        const std::size_t count = bracket == std::string_view::npos ? 1
                                  : rest[bracket + 1] == ']'        ? 0
                                                                    : std::stoul(std::string(rest.substr(bracket + 1)));
        size = count * of_type;
        if (name.empty() || of_type == 0) {
            refuse("a declaration that is not understood", text);
        }
    }
};

[[nodiscard]] constexpr std::size_t aligned(std::size_t offset, std::size_t to) { return (offset + to - 1) / to * to; }
/// The offset at which the shared memory that a launch asks for begins.
[[nodiscard]] inline std::size_t launched_array_of(const kernel& kernel_code) {
    return aligned(kernel_code.shared_bytes, 16);
}

/// Reads one kernel.
class kernel_reader {
  public:
    /// `launched_arrays` are the names of the shared memory that a launch asks for.
    kernel_reader(std::string_view name, std::string_view parameters, std::string_view body,
                  const std::set<std::string, std::less<>>& launched_arrays)
        : launched_arrays_(launched_arrays) {
        made_.name = std::string(trimmed(name));
        made_.registers.assign(first_free, 0);
        made_.registers[always] = 1;
        for (const auto& [special, where] : {std::pair{"%tid.x", tid}, std::pair{"%ntid.x", ntid},
                                             std::pair{"%ctaid.x", ctaid}, std::pair{"%nctaid.x", nctaid}}) {
            registers_.emplace(special, where);
        }
        for (const std::string_view text : split_operands(parameters)) {
            const declaration declared(text.substr(std::string_view(".param").size()));
            made_.parameter_bytes = aligned(made_.parameter_bytes, declared.alignment);
            made_.parameters.push_back({declared.name, made_.parameter_bytes, declared.size});
            made_.parameter_bytes += declared.size;
        }
        read_statements(body);
        for (const auto& [branch, label] : branches_) {
            const auto found = labels_.find(label);
            if (found == labels_.end()) {
                refuse("a label that is not there", label);
            }
            made_.code[branch].offset = static_cast<std::int64_t>(found->second);
        }
        made_.code.push_back({.run = end});  // a label may stand at the end
        made_.text.emplace_back("the end");
    }

    [[nodiscard]] kernel take() { return std::move(made_); }

  private:
    void read_statements(std::string_view body) {
        for (std::string_view rest = trimmed(body); !rest.empty(); rest = trimmed(rest)) {
            if (rest.front() == '{' || rest.front() == '}') {  // a scope
                rest.remove_prefix(1);
                continue;
            }
            const std::size_t stop = rest.find_first_of(" \t;:");
            if (stop != std::string_view::npos && rest[stop] == ':') {
                labels_.emplace(rest.substr(0, stop), made_.code.size());
                rest.remove_prefix(stop + 1);
                continue;
            }
            const std::size_t semicolon = rest.find(';');
            if (semicolon == std::string_view::npos) {
                refuse("a statement without an end", rest);
            }
            read_statement(trimmed(rest.substr(0, semicolon)));
            rest.remove_prefix(semicolon + 1);
        }
    }

    void read_statement(std::string_view line) {
        if (line.starts_with(".pragma")) {
            return;
        }
        if (line.starts_with(".reg")) {  // ".reg .b32 %r<12>": %r0 to %r11
            const std::string_view name = line.substr(line.find_last_of(" \t") + 1);
            declared_.emplace(name.substr(0, name.find('<')));
            return;
        }
        if (line.starts_with(".shared")) {
            const declaration variable(line.substr(std::string_view(".shared").size()));
            made_.shared_bytes = aligned(made_.shared_bytes, variable.alignment);
            shared_.emplace(variable.name, made_.shared_bytes);
            made_.shared_bytes += variable.size;
            return;
        }
        if (line.starts_with(".")) {
            refuse("a directive that is not known", line);
        }
        instruction i;
        i.guard = always;
        std::string_view rest = line;
        if (rest.front() == '@') {
            const std::size_t space = rest.find_first_of(" \t");
            i.negated = rest[1] == '!';
            i.guard = slot_of(rest.substr(i.negated ? 2 : 1, space - (i.negated ? 2 : 1)), line);
            rest = trimmed(rest.substr(space));
        }
        const std::size_t space = std::min(rest.find_first_of(" \t"), rest.size());
        decode(i, std::string(rest.substr(0, space)), split_operands(rest.substr(space)), line);
        made_.code.push_back(i);
        made_.text.emplace_back(line);
    }

    void decode(instruction& i, std::string name, const std::vector<std::string_view>& operands,
                std::string_view line) {
        const bool loads = name.starts_with("ld.");
        const bool stores = name.starts_with("st.");
        if (loads || stores) {
            for (const std::string_view ignored : {".volatile", ".nc"}) {
                if (const std::size_t at = name.find(ignored); at != std::string::npos) {
                    name.erase(at, ignored.size());
                }
            }
            for (const std::uint32_t width : {2U, 4U}) {
                if (const std::size_t at = name.find(".v" + std::to_string(width) + "."); at != std::string::npos) {
                    name.erase(at, 3);
                    i.width = width;
                }
            }
        }
        i.run = instruction_set::find(name);
        if (i.run == branch) {
            branches_.emplace_back(made_.code.size(), operands.at(0));
        } else if (loads || stores || name.starts_with("atom.")) {
            read_address(i, operands.at(stores ? 0 : 1), line);
            std::size_t used = 0;
            for (std::size_t k = 0; k < operands.size(); ++k) {
                if (k != (stores ? 0U : 1U)) {
                    used = read_operand(i, used, operands[k], line);
                }
            }
        } else if (name.starts_with("shfl.")) {
            const std::size_t bar = std::min(operands.at(0).find('|'), operands[0].size());
            i.at[0] = slot_of(operands[0].substr(0, bar), line);
            i.at[1] = slot_of(operands.at(1), line);
            i.at[2] = slot_of(operands.at(2), line);
            i.offset = name.find(".bfly.") != std::string::npos ? 1 : 0;
            i.at[3] = slot_of(operands.at(3), line);
            i.at[4] = slot_of(operands.at(4), line);
        } else if (name.starts_with("mov.") && operands.at(1).find("_param_") != std::string_view::npos) {
            i.run = compute<u64, decltype([](u64 a, u64 b) { return a + b; })>;
            i.at = {slot_of(operands[0], line), parameters, constant(parameter_named(operands[1], line).offset)};
        } else if (name.starts_with("mov.") && operands.at(1) == "%globaltimer") {
            i.run = read_clock;
            i.at[0] = slot_of(operands[0], line);
        } else {
            if (name == "mov.b64" && operands.at(0).front() == '{') {
                i.run = split;
            } else if (name == "mov.b64" && operands.at(1).front() == '{') {
                i.run = join;
            }
            std::size_t used = 0;
            for (const std::string_view operand : operands) {
                used = read_operand(i, used, operand, line);
            }
        }
        if (i.run == nullptr) {
            refuse("an instruction that is not known", line);
        }
    }

    std::size_t read_operand(instruction& i, std::size_t used, std::string_view text, std::string_view line) {
        if (text.front() == '{') {
            for (const std::string_view item : split_operands(text.substr(1, text.size() - 2))) {
                used = read_operand(i, used, item, line);
            }
            return used;
        }
        if (used == i.at.size()) {
            refuse("too many operands", line);
        }
        i.at[used] = slot_of(text, line);
        return used + 1;
    }

    void read_address(instruction& i, std::string_view text, std::string_view line) {
        const std::string_view inner = trimmed(text.substr(1, text.size() - 2));
        const std::size_t plus = std::min(inner.find('+'), inner.size());
        const std::string_view base = inner.substr(0, plus);
        i.offset = plus < inner.size() ? std::strtoll(std::string(inner.substr(plus + 1)).c_str(), nullptr, 10) : 0;
        if (base.find("_param_") != std::string_view::npos) {
            i.address = parameters;
            i.offset += static_cast<std::int64_t>(parameter_named(base, line).offset);
        } else {
            i.address = slot_of(base, line);
        }
    }

    [[nodiscard]] const parameter& parameter_named(std::string_view name, std::string_view line) const {
        for (const parameter& each_parameter : made_.parameters) {
            if (each_parameter.name == name) {
                return each_parameter;
            }
        }
        refuse("a parameter that is not there", line);
    }

    [[nodiscard]] std::uint32_t constant(accumulator value) {
        const auto known = constants_.find(value);
        if (known != constants_.end()) {
            return known->second;
        }
        made_.registers.push_back(value);
        return constants_[value] = static_cast<std::uint32_t>(made_.registers.size() - 1);
    }

    /// The value of a constant.
    [[nodiscard]] static accumulator value_of(std::string_view text) {
        const std::string number(text);
        if (number.starts_with("0d") || number.starts_with("0D") || number.starts_with("0f") ||
            number.starts_with("0F")) {
            return std::strtoull(number.c_str() + 2, nullptr, 16);
        }
        return number.front() == '-' ? static_cast<accumulator>(std::strtoll(number.c_str(), nullptr, 0))
                                     : std::strtoull(number.c_str(), nullptr, 0);
    }

    /// The register of an operand: a constant has one of its own.
    [[nodiscard]] std::uint32_t slot_of(std::string_view text, std::string_view line) {
        if (text == "_") {  // not wanted
            made_.registers.push_back(0);
            return static_cast<std::uint32_t>(made_.registers.size() - 1);
        }
        if (const auto known = registers_.find(text); known != registers_.end()) {
            return known->second;
        }
        if (declared_.contains(text) || declared_.contains(text.substr(0, text.find_last_not_of("0123456789") + 1))) {
            made_.registers.push_back(0);
            return registers_.emplace(text, static_cast<std::uint32_t>(made_.registers.size() - 1)).first->second;
        }
        if (std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-') {
            return constant(value_of(text));
        }
        if (launched_arrays_.contains(text)) {
            return constant(launched_array_of(made_));
        }
        const auto array = shared_.find(text);
        if (array == shared_.end()) {
            refuse("a name that is not known", line);
        }
        return constant(array->second);
    }

    kernel made_;
    const std::set<std::string, std::less<>>& launched_arrays_;
    std::map<std::string, std::size_t, std::less<>> shared_;
    std::set<std::string, std::less<>> declared_;
    std::map<std::string, std::uint32_t, std::less<>> registers_;
    std::map<std::string, std::size_t, std::less<>> labels_;
    std::map<accumulator, std::uint32_t> constants_;
    std::vector<std::pair<std::size_t, std::string>> branches_;
};

/// All kernels of a program.
[[nodiscard]] inline std::vector<kernel> read_program(std::string text) {
    for (std::size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at)) {
        text.erase(at, text.find('\n', at) - at);
    }
    std::vector<kernel> kernels;
    std::set<std::string, std::less<>> launched_arrays;
    std::string_view rest = trimmed(text);
    while (!rest.empty()) {
        if (rest.starts_with(".version") || rest.starts_with(".target") || rest.starts_with(".address_size")) {
            rest = trimmed(rest.substr(std::min(rest.find('\n'), rest.size())));
        } else if (rest.starts_with(".extern .shared")) {
            const std::size_t semicolon = rest.find(';');
            const std::size_t after = std::string_view(".extern .shared").size();
            launched_arrays.insert(declaration(rest.substr(after, semicolon - after)).name);
            rest = trimmed(rest.substr(semicolon + 1));
        } else if (rest.starts_with(".visible ") || rest.starts_with(".weak ")) {
            rest = trimmed(rest.substr(rest.find(' ')));
        } else if (rest.starts_with(".entry")) {
            const std::size_t open = rest.find('(');
            const std::size_t close = rest.find(')', open);
            const std::size_t first = rest.find('{', close);
            std::size_t last = first;
            for (int depth = 0; last < rest.size(); ++last) {
                depth += rest[last] == '{' ? 1 : rest[last] == '}' ? -1 : 0;
                if (depth == 0) {
                    break;
                }
            }
            // Between the parameters and the body stand bounds of threads and registers.
            kernels.push_back(kernel_reader(rest.substr(6, open - 6), rest.substr(open + 1, close - open - 1),
                                            rest.substr(first + 1, last - first - 1), launched_arrays)
                                  .take());
            rest = trimmed(rest.substr(last + 1));
        } else {
            refuse("a declaration that is not known", rest.substr(0, std::min(rest.find('\n'), rest.size())));
        }
    }
    return kernels;
}

}  // namespace ptx
