// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `statistic_table`: the functions of a statistic's struct, and the conversion of its parameters to text and back.
/// `table_of<Statistic>` is the table of the struct `Statistic`.

namespace floptally::inline v0_3 {

/// The parameters of a statistic as 32-bit integers. Unused elements are 0.
struct parameter_values {
    std::int32_t values[4];
};

[[nodiscard]] constexpr bool operator==(const parameter_values& a, const parameter_values& b) {
    return a.values[0] == b.values[0] && a.values[1] == b.values[1] && a.values[2] == b.values[2] &&
           a.values[3] == b.values[3];
}

}  // namespace floptally::inline v0_3

namespace floptally::inline v0_3::detail {

// Converts the parameters of a statistic's struct to 32-bit integers and back, and hashes the struct's name.

/// An array of N 32-bit integers.
template <std::size_t N>
struct packed_integers {
    std::int32_t values[N];
};

/// The number of 32-bit integers in a statistic's struct.
template <class Statistic>
inline constexpr std::size_t parameter_count = __is_empty(Statistic) ? 0 : sizeof(Statistic) / 4;

/// Returns a statistic's struct with the members `parameters`.
template <class Statistic>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Statistic statistic_from(const parameter_values& parameters) {
    if constexpr (__is_empty(Statistic)) {
        return Statistic{};
    } else {
        packed_integers<parameter_count<Statistic>> own{};
        for (std::size_t i = 0; i < parameter_count<Statistic>; ++i) {
            own.values[i] = parameters.values[i];
        }
        return __builtin_bit_cast(Statistic, own);
    }
}
/// Returns the parameters of a statistic's struct.
template <class Statistic>
[[nodiscard]] constexpr parameter_values parameters_of(const Statistic& statistic) {
    parameter_values parameters{};
    if constexpr (!__is_empty(Statistic)) {
        const auto own = __builtin_bit_cast(packed_integers<parameter_count<Statistic>>, statistic);
        for (std::size_t i = 0; i < parameter_count<Statistic>; ++i) {
            parameters.values[i] = own.values[i];
        }
    }
    return parameters;
}

/// Returns the hash of a name: FNV-1a (draft-eastlake-fnv). If two hashes are equal by chance, the names are compared.
[[nodiscard]] constexpr std::uint32_t id_of_name(std::string_view name) {
    std::uint32_t hash = 2166136261U;
    for (const char letter : name) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    }
    return hash;
}
/// The hash of the name of a statistic's struct.
template <class Statistic>
inline constexpr std::uint32_t id_of = id_of_name(Statistic::name);

/// Returns the compiler's text of this function's signature. The text contains the name of `Statistic` with its
/// namespaces.
template <class Statistic>
[[nodiscard]] constexpr const char* spelled() {
    return __PRETTY_FUNCTION__;
}
/// Extracts the struct's name, such as "own::window", from the text of `spelled`. The name is the part between the last
/// "Statistic = " and the closing bracket.
[[nodiscard]] constexpr std::string_view struct_in(std::string_view text) {
    const std::size_t sign = text.rfind("Statistic =");
    const std::size_t first = sign == std::string_view::npos ? text.rfind("Statistic=") : sign;
    const std::string_view rest = first == std::string_view::npos ? text : text.substr(text.find('=', first) + 1);
    const std::size_t blank = !rest.empty() && rest.front() == ' ' ? 1 : 0;
    return rest.substr(blank, rest.rfind(']') - blank);
}

/// Returns the samples of a modality as errors call them: "sequences", "grids of images", "clips of sound".
[[nodiscard]] constexpr const char* samples_of(modality which) {
    return which == modality::text ? "sequences" : which == modality::vision ? "grids of images" : "clips of sound";
}

/// The largest number of parameters that the text of a statistic may have.
inline constexpr std::size_t most_text_parameters = 9;

/// A function pointer that may be absent. A flag says whether it is absent, because with -fsanitize=undefined g++
/// cannot compare a function pointer with nullptr in a constant expression.
template <class Signature>
struct optional_function;
template <class Result, class... Arguments>
struct optional_function<Result(Arguments...)> {
    constexpr optional_function& operator=(Result (*assigned)(Arguments...)) {
        function = assigned;
        exists = true;
        return *this;
    }

    [[nodiscard]] constexpr explicit operator bool() const { return exists; }
    constexpr Result operator()(Arguments... arguments) const { return function(static_cast<Arguments>(arguments)...); }

    Result (*function)(Arguments...) = nullptr;
    bool exists = false;
};

/// The name, properties and functions of one struct, shared by all statistics made from it. If the struct lacks a
/// member, the function for it is absent and takes no compile time.
struct statistic_table {
    std::string_view name{};
    const char* spelled = "";  ///< the compiler's text that contains the struct's name, for `struct_in`
    std::uint32_t id = 0;
    bool counts[modality_count]{};
    bool is_measured = false;
    bool is_of_other_side = false;
    bool reads_other_side = false;
    std::uint8_t text_parameters = 0;
    bool checks_parameters = false;  ///< true if the numbers in a statistic's text are the struct's members
    bool frames_are_sequences = false;
    const statistic_parameter* parameters = nullptr;
    optional_function<uint128(const parameter_values&, const sequence&)> of_sequence{};
    optional_function<uint128(const parameter_values&, const grid&)> of_grid{};
    optional_function<uint128(const parameter_values&, const audio_clip&)> of_clip{};
    optional_function<uint128(const parameter_values&, const grid&)> of_frame{};
    optional_function<std::uint64_t(const parameter_values&, const length_block&)> over{};
    optional_function<pair_shape(const parameter_values&)> shape{};
    optional_function<bool(const parameter_values&)> counts_by_position{};
    optional_function<moment_form(const parameter_values&)> moments{};
    /// Replaces table and parameters by those of the statistic whose accumulator this statistic shares (`canonical`).
    optional_function<void(const statistic_table*&, parameter_values&)> canonical{};
    /// If the statistic equals another one for these parameters (`equal`), replaces table and parameters by those of
    /// that other statistic.
    optional_function<void(const statistic_table*&, parameter_values&)> equal{};
    optional_function<grid_problem(const parameter_values&, const grid&)> problem_of_grid{};
    optional_function<void(const parameter_values&, const sequence&, std::uint64_t, std::uint64_t, seen_keys&)>
        add_keys{};
    optional_function<void(const parameter_values&)> check{};
    /// `values` converts the parameters to the numbers in the statistic's text, `from` converts them back. Both
    /// functions are absent if these numbers are the struct's members.
    optional_function<void(const parameter_values&, std::int64_t*)> values{};
    optional_function<parameter_values(const std::int64_t*)> from{};
    /// Writes and reads a statistic's text if the struct has its own functions for that. `read` returns false if the
    /// text belongs to another struct.
    optional_function<void(const parameter_values&, std::string&)> write{};
    optional_function<bool(std::string_view, parameter_values&)> read{};
};

/// Returns true if two structs are the same. It compares their names and the addresses of the compiler's texts
/// (`spelled`). In libraries that hide their symbols one struct may have several such texts. Then the characters of the
/// texts are compared, unless the struct is local to one translation unit.
[[nodiscard]] constexpr bool is_same_struct(std::string_view a_name, const char* a_spelled, std::string_view b_name,
                                            const char* b_spelled) {
    if (a_name != b_name) {
        // Names are compared before addresses, because g++ with -fsanitize=undefined cannot compare addresses in a
        // constant expression.
        return false;
    }
    if (a_spelled == b_spelled) {
        return true;
    }
    const std::string_view name = struct_in(a_spelled);
    return name == struct_in(b_spelled) && name.find_first_of("({") == std::string_view::npos &&
           name.find("<unnamed>") == std::string_view::npos;
}
/// Returns true if two tables belong to the same struct.
[[nodiscard]] constexpr bool is_same_struct(const statistic_table& a, const statistic_table& b) {
    return a.id == b.id && is_same_struct(a.name, a.spelled, b.name, b.spelled);
}

/// If two different structs have the same name, throws an `error` that names `field`. Texts, saved states and kernels
/// could not distinguish them.
constexpr void require_own_name(const statistic_table& a, const statistic_table& b, const char* field) {
    if (a.id == b.id && a.name == b.name && !is_same_struct(a, b)) {
        refuse(field, {"\"", a.name, "\" is the name of two statistics, ", struct_in(a.spelled), " and ",
                       struct_in(b.spelled), ": rename one of them"});
    }
}

/// Throws `error` if a parameter is out of its range or the struct's own `check` refuses it.
constexpr void check_parameters(const statistic_table& table, const parameter_values& parameters) {
    for (std::size_t i = 0; table.checks_parameters && i < table.text_parameters; ++i) {
        static_cast<void>(in_range(table.parameters[i], parameters.values[i]));
    }
    if (table.check) {
        table.check(parameters);
    }
}

/// Returns the parameters of a statistic from the numbers in its text. If a number is out of range, throws an `error`
/// that names the parameter.
[[nodiscard]] constexpr parameter_values parameters_from(const statistic_table& table, const std::int64_t* numbers) {
    parameter_values parameters{};
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const std::int32_t number = in_range(table.parameters[i], numbers[i]);
        if (!table.from) {
            parameters.values[i] = number;
        }
    }
    return table.from ? table.from(numbers) : parameters;
}

/// Appends the text of a statistic: "name", "name(7)", "name(7,shift=3)".
[[gnu::cold, gnu::noinline]] inline void write_statistic(const statistic_table& table,
                                                         const parameter_values& parameters, std::string& to) {
    if (table.write) {
        table.write(parameters, to);
        return;
    }
    append(to, {table.name});
    std::int64_t values[most_text_parameters]{parameters.values[0], parameters.values[1], parameters.values[2],
                                              parameters.values[3]};
    if (table.values) {
        table.values(parameters, values);
    }
    const char* before = "(";
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const statistic_parameter& parameter = table.parameters[i];
        if (values[i] == parameter.fallback) {
            continue;
        }
        const bool is_named = parameter.fallback != statistic_parameter::none;
        append(to, {before, is_named ? parameter.name : "", is_named ? "=" : "", values[i]});
        before = ",";
    }
    append(to, {*before == ',' ? ")" : ""});
}

/// Reads a text that `write_statistic` wrote. Returns false if the text belongs to another struct. Throws `error` if
/// the numbers in the text are wrong.
[[nodiscard, gnu::cold, gnu::noinline]] inline bool read_parameters(const statistic_table& table, std::string_view text,
                                                                    parameter_values& parameters) {
    if (table.read) {
        return table.read(text, parameters);
    }
    std::int64_t numbers[most_text_parameters]{};
    const bool is_own = read_call(text, table.name, table.parameters, table.text_parameters, numbers);
    parameters = is_own ? parameters_from(table, numbers) : parameters;
    return is_own;
}

/// Returns one frame's patches as a sequence, for a statistic that counts frames as sequences.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr sequence sequence_of_frame(const grid& g) {
    return sequence{static_cast<std::uint32_t>(g.frame_patches())};
}

/// The parameters of a statistic without a member `parameters`: they have no names and may be any 32-bit integers.
inline constexpr statistic_parameter unnamed_parameters[4]{};

/// The number of parameters in a statistic's text. `named_parameters` has their names and ranges.
template <class Statistic>
inline constexpr std::uint8_t text_parameters = parameter_count<Statistic>;
template <names_parameters Statistic>
inline constexpr std::uint8_t text_parameters<Statistic> = sizeof(Statistic::parameters) / sizeof(statistic_parameter);
template <class Statistic>
inline constexpr const statistic_parameter* named_parameters = unnamed_parameters;
template <names_parameters Statistic>
inline constexpr const statistic_parameter* named_parameters<Statistic> = Statistic::parameters;

template <class Statistic>
[[nodiscard]] constexpr statistic_table make_table();

/// The function table of a statistic's struct. All statistics that are made from the struct point to this table.
template <class Statistic>
inline constexpr statistic_table table_of = make_table<Statistic>();

/// A struct whose call operator for a sample is wrong: it is not const, or it does not return an unsigned integer.
template <class Statistic, class Sample>
concept has_wrong_call = called_with<Statistic, Sample> && !counts<Statistic, Sample>;

/// Fails to compile if an optional member has the wrong signature. Otherwise the member would be ignored, and the
/// statistic would count something else. `&Statistic::shape` finds a member with any signature, unless it is
/// overloaded.
template <class Statistic>
constexpr void check_members() {
    static_assert(!has_wrong_call<Statistic, sequence> && !has_wrong_call<Statistic, grid> &&
                      !has_wrong_call<Statistic, audio_clip>,
                  "operator() has the wrong signature: each one must be const and return an unsigned integer");
    static_assert(
        !requires { &Statistic::parameters; } || names_parameters<Statistic>,
        "`parameters` has the wrong type: declare `static constexpr statistic_parameter parameters[]`");
    static_assert(
        !requires { &Statistic::shape; } ||
            requires(const Statistic& own) {
                { own.shape() } -> std::same_as<pair_shape>;
            },
        "`shape` has the wrong signature: declare `constexpr pair_shape shape() const`");
    static_assert(
        !requires { &Statistic::counts_by_position; } ||
            requires(const Statistic& own) {
                { own.counts_by_position() } -> std::same_as<bool>;
            },
        "`counts_by_position` has the wrong signature: declare `constexpr bool counts_by_position() const`");
    static_assert(
        !requires { &Statistic::moments; } ||
            requires(const Statistic& own) {
                { own.moments() } -> std::same_as<moment_form>;
            },
        "`moments` has the wrong signature: declare `constexpr moment_form moments() const`");
    static_assert(
        !requires { &Statistic::canonical; } || requires(const Statistic& own) { own.canonical(); },
        "`canonical` has the wrong signature: declare `constexpr auto canonical() const`, returning a statistic");
    static_assert(
        !requires { &Statistic::equal; } || requires(const Statistic& own) { own.equal().exists; },
        "`equal` has the wrong signature: declare `constexpr equal_statistic<…> equal() const`");
    static_assert(
        !requires { &Statistic::of_frame; } || counts_frame<Statistic>,
        "`of_frame` has the wrong signature: declare `constexpr std::uint64_t of_frame(const grid&) const`");
    static_assert(
        !requires { &Statistic::problem_of; } ||
            requires(const Statistic& own, const grid& g) {
                { own.problem_of(g) } -> std::same_as<grid_problem>;
            },
        "`problem_of` has the wrong signature: declare `constexpr grid_problem problem_of(const grid&) const`");
    constexpr bool has_over = requires { &Statistic::over; }
    || requires { &Statistic::template over<length_block>; };
    static_assert(
        !has_over ||
            requires(const Statistic& own, const length_block& block) {
                { own.over(block) } -> std::same_as<std::uint64_t>;
            },
        "`over` has the wrong signature: declare `std::uint64_t over(const length_block&) const`");
    constexpr bool has_keys = requires { &Statistic::add_keys; }
    || requires { &Statistic::template add_keys<seen_keys>; };
    static_assert(
        !has_keys ||
            requires(const Statistic& own, const sequence& s, seen_keys& keys) { own.add_keys(s, 0U, 1U, keys); },
        "`add_keys` has the wrong signature: declare `constexpr void add_keys(const sequence&, std::uint64_t first, "
        "std::uint64_t end, auto& keys) const`");
    static_assert(
        !requires { &Statistic::frames_are_sequences; } ||
            requires {
                { Statistic::frames_are_sequences } -> std::same_as<const bool&>;
            },
        "`frames_are_sequences` must be `static constexpr bool`");
    static_assert(
        !requires { &Statistic::is_of_other_side; } ||
            requires {
                { Statistic::is_of_other_side } -> std::same_as<const bool&>;
            },
        "`is_of_other_side` must be `static constexpr bool`");
    static_assert(
        !requires { &Statistic::reads_other_side; } ||
            requires {
                { Statistic::reads_other_side } -> std::same_as<const bool&>;
            },
        "`reads_other_side` must be `static constexpr bool`");
}

/// Throws `overflow`, because the sum of a statistic over a block of lengths needs more than 64 bits.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_wide_sum(std::string_view name) {
    throw overflow(name, "the sum does not fit 64 bits: count fewer samples");
}

/// Returns the sum of a statistic over a block, one sequence at a time. Throws `overflow` above 64 bits.
template <class Statistic>
[[nodiscard]] std::uint64_t sum_one_by_one(const Statistic& own, const length_block& block) {
    uint128 sum = 0;  // large enough for the sum of 512 numbers of 64 bits
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < block.size; ++i) {
        const uint128 amount = own(sequence{.length = block.lengths[i]});
        high |= static_cast<std::uint64_t>(amount >> 64);
        sum += static_cast<std::uint64_t>(amount);
    }
    if (high != 0 || (sum >> 64) != 0) {
        refuse_wide_sum(Statistic::name);
    }
    return static_cast<std::uint64_t>(sum);
}

/// The functions in the table of a statistic's struct. Each makes the struct from its parameters and calls the struct's
/// member of the same name. The functions are static members, because each lambda would add three functions to compile.
template <class Statistic>
struct table_functions {
    static constexpr uint128 of_sequence(const parameter_values& parameters, const sequence& s) {
        return statistic_from<Statistic>(parameters)(s);
    }
    static constexpr std::uint64_t over(const parameter_values& parameters, const length_block& block) {
        const auto own = statistic_from<Statistic>(parameters);
        if constexpr (requires { own.over(block); }) {
            return own.over(block);
        } else {
            return sum_one_by_one(own, block);
        }
    }
    static constexpr uint128 of_grid(const parameter_values& parameters, const grid& g) {
        return statistic_from<Statistic>(parameters)(g);
    }
    static constexpr uint128 of_frame(const parameter_values& parameters, const grid& g) {
        return statistic_from<Statistic>(parameters).of_frame(g);
    }
    static constexpr uint128 of_clip(const parameter_values& parameters, const audio_clip& clip) {
        return statistic_from<Statistic>(parameters)(clip);
    }
    static constexpr pair_shape shape(const parameter_values& parameters) {
        return statistic_from<Statistic>(parameters).shape();
    }
    static constexpr bool counts_by_position(const parameter_values& parameters) {
        return statistic_from<Statistic>(parameters).counts_by_position();
    }
    static constexpr moment_form moments(const parameter_values& parameters) {
        return statistic_from<Statistic>(parameters).moments();
    }
    static constexpr void canonical(const statistic_table*& table, parameter_values& parameters) {
        const auto same = statistic_from<Statistic>(parameters).canonical();
        table = &table_of<std::remove_cv_t<decltype(same)>>;
        parameters = parameters_of(same);
    }
    static constexpr void equal(const statistic_table*& table, parameter_values& parameters) {
        const auto same = statistic_from<Statistic>(parameters).equal();
        if (same.exists) {
            table = &table_of<std::remove_cv_t<decltype(same.other)>>;
            parameters = parameters_of(same.other);
        }
    }
    static constexpr grid_problem problem_of_grid(const parameter_values& parameters, const grid& g) {
        return statistic_from<Statistic>(parameters).problem_of(g);
    }
    static constexpr void add_keys(const parameter_values& parameters, const sequence& s, std::uint64_t first,
                                   std::uint64_t end, seen_keys& keys) {
        statistic_from<Statistic>(parameters).add_keys(s, first, end, keys);
    }
    static constexpr void check(const parameter_values& parameters) { statistic_from<Statistic>(parameters).check(); }
    static constexpr void values(const parameter_values& parameters, std::int64_t* to) {
        statistic_from<Statistic>(parameters).values(to);
    }
    static constexpr parameter_values from(const std::int64_t* numbers) {
        return parameters_of(Statistic::from(numbers));
    }
    static constexpr void write(const parameter_values& parameters, std::string& to) {
        statistic_from<Statistic>(parameters).write(to);
    }
    static constexpr bool read(std::string_view text, parameter_values& parameters) {
        Statistic own{};
        const bool is_read = Statistic::read(text, own);
        parameters = is_read ? parameters_of(own) : parameters;
        return is_read;
    }
};

/// Returns the function table of a statistic's struct. Fails to compile if a user's struct has the name of a library
/// statistic.
template <class Statistic>
[[nodiscard]] constexpr statistic_table make_table() {
    static_assert(text_parameters<Statistic> <= most_text_parameters);
    constexpr bool is_own = struct_in(spelled<Statistic>()).substr(0, 11) == "floptally::";
    if constexpr (!is_own) {
        static_assert(!is_name_in(library_statistics{}, Statistic::name),
                      "this type is not a statistic: its name is that of a library statistic; give it another");
    }
    // Only a user's struct is checked here; tests check the library's structs. The check comes before the functions
    // below, because their compile errors are harder to understand.
    if constexpr (!is_own) {
        static_assert((check_members<Statistic>(), true));
    }
    statistic_table functions{.name = Statistic::name,
                              .spelled = spelled<Statistic>(),
                              .id = id_of<Statistic>,
                              .counts = {counts<Statistic, sequence>, counts_grids<Statistic>, counts_clips<Statistic>},
                              .is_measured = is_measured_statistic<Statistic>,
                              .is_of_other_side = is_statistic_of_other_side<Statistic>,
                              .reads_other_side = is_statistic_of_other_side<Statistic> || reads_other_side<Statistic>,
                              .text_parameters = text_parameters<Statistic>,
                              .checks_parameters = names_parameters<Statistic> && !converts_parameters<Statistic>,
                              .frames_are_sequences = takes_frames_as_sequences<Statistic>,
                              .parameters = named_parameters<Statistic>};
    using calls = table_functions<Statistic>;
    if constexpr (counts<Statistic, sequence>) {
        functions.of_sequence = calls::of_sequence;
        functions.over = calls::over;
    }
    if constexpr (counts<Statistic, grid>) {
        functions.of_grid = calls::of_grid;
    } else if constexpr (counts_frame<Statistic>) {
        functions.of_frame = calls::of_frame;
    }
    if constexpr (counts<Statistic, audio_clip>) {
        functions.of_clip = calls::of_clip;
    }
    if constexpr (requires(const Statistic& own) { own.shape(); }) {
        functions.shape = calls::shape;
    }
    if constexpr (requires(const Statistic& own) { own.counts_by_position(); }) {
        functions.counts_by_position = calls::counts_by_position;
    }
    if constexpr (requires(const Statistic& own) { own.moments(); }) {
        functions.moments = calls::moments;
    }
    if constexpr (requires(const Statistic& own) { own.canonical(); }) {
        functions.canonical = calls::canonical;
    }
    if constexpr (requires(const Statistic& own) { own.equal().exists; }) {
        functions.equal = calls::equal;
    }
    if constexpr (requires(const Statistic& own, const grid& g) { own.problem_of(g); }) {
        functions.problem_of_grid = calls::problem_of_grid;
    }
    if constexpr (requires(const Statistic& own, const sequence& s, seen_keys& keys) {
                      own.add_keys(s, 0U, 1U, keys);
                  }) {
        functions.add_keys = calls::add_keys;
    }
    if constexpr (requires(const Statistic& own) { own.check(); }) {
        functions.check = calls::check;
    }
    if constexpr (converts_parameters<Statistic>) {
        functions.values = calls::values;
        functions.from = calls::from;
    }
    if constexpr (requires(const Statistic& own, std::string& to) { own.write(to); }) {
        functions.write = calls::write;
    }
    if constexpr (requires(Statistic & own) { Statistic::read(std::string_view{}, own); }) {
        functions.read = calls::read;
    }
    return functions;
}

}  // namespace floptally::detail
