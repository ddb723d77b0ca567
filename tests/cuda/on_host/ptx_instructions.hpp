// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

/// @file
/// The effect of each PTX instruction on the thread that executes it: those that nvcc emits for the kernels here, by
/// their full name. An instruction that is not in the list is an error where a program is read.

namespace ptx {

/// A register, whatever its type: narrower values have zeros above.
using accumulator = std::uint64_t;

struct thread;
struct instruction;
using action = void (*)(thread&, const instruction&);

struct instruction {
    action run = nullptr;
    std::uint32_t guard = 0;  ///< the predicate's register, and whether it must be false
    bool negated = false;
    std::uint32_t width = 1;            ///< of a vector
    std::array<std::uint32_t, 5> at{};  ///< operands: registers, the destination first
    std::uint32_t address = 0;          ///< the register of a base, and what is added to it
    std::int64_t offset = 0;            ///< also where a branch goes
};

enum class waits : std::uint8_t { no, barrier, shuffle, done };

struct thread {
    accumulator* registers = nullptr;
    std::size_t next = 0;
    waits state = waits::no;
    const instruction* shuffle = nullptr;  ///< that it waits at
    bool carry = false;
    char* shared = nullptr;
    std::size_t shared_bytes = 0;
    bool (*may_access)(std::uintptr_t, std::size_t) = nullptr;  ///< of global memory
};

/// The first registers of a kernel, whose values never change while it runs.
enum fixed_register : std::uint32_t { always, tid, ntid, ctaid, nctaid, parameters, first_free };

using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
[[nodiscard]] T read(const thread& t, std::uint32_t from) {
    if constexpr (std::same_as<T, double>) {
        return std::bit_cast<double>(t.registers[from]);
    } else if constexpr (std::same_as<T, float>) {
        return std::bit_cast<float>(static_cast<u32>(t.registers[from]));
    } else {
        return static_cast<T>(t.registers[from]);
    }
}
template <class T>
void write(thread& t, std::uint32_t to, T value) {
    if constexpr (std::same_as<T, double>) {
        t.registers[to] = std::bit_cast<u64>(value);
    } else if constexpr (std::same_as<T, float>) {
        t.registers[to] = std::bit_cast<u32>(value);
    } else if constexpr (std::same_as<T, bool>) {
        t.registers[to] = value ? 1 : 0;
    } else {
        t.registers[to] = static_cast<std::make_unsigned_t<T>>(value);
    }
}

/// A value's bits as an unsigned integer, whose sums wrap.
template <class T>
[[nodiscard]] constexpr auto bits(T value) {
    if constexpr (std::integral<T>) {
        return static_cast<u64>(value);
    } else {
        return value;
    }
}

/// A quotient by zero is any number to a GPU, and that of the smallest by -1 does not fit.
template <class T>
[[nodiscard]] constexpr bool has_quotient(T /*a*/, T b) {
    return b != 0 && (std::is_unsigned_v<T> || b != static_cast<T>(-1));
}

// ---- memory ----

enum class space : std::uint8_t { global, shared, parameter };

template <class T, space In>
[[nodiscard]] char* place(const thread& t, const instruction& i) {
    const std::size_t bytes = sizeof(T) * i.width;
    if constexpr (In == space::shared) {
        const std::size_t at = static_cast<u32>(t.registers[i.address] + static_cast<u64>(i.offset));
        if (at % bytes != 0 || at + bytes > t.shared_bytes) {
            throw std::runtime_error("shared memory: " + std::to_string(bytes) + " bytes at " + std::to_string(at) +
                                     " of " + std::to_string(t.shared_bytes));
        }
        return t.shared + at;
    }
    const std::uintptr_t at = t.registers[i.address] + static_cast<u64>(i.offset);
    if (at % bytes != 0) {
        throw std::runtime_error("an address that is not aligned to " + std::to_string(bytes) + " bytes");
    }
    if (In == space::global && !t.may_access(at, bytes)) {
        throw std::runtime_error("an address outside every allocation of the device");
    }
    return reinterpret_cast<char*>(at);
}

template <class T, space In>
void load(thread& t, const instruction& i) {
    const char* const from = place<T, In>(t, i);
    for (u32 k = 0; k < i.width; ++k) {
        T value;
        std::memcpy(&value, from + k * sizeof(T), sizeof(T));
        write(t, i.at[k], value);
    }
}
template <class T, space In>
void store(thread& t, const instruction& i) {
    char* const to = place<T, In>(t, i);
    for (u32 k = 0; k < i.width; ++k) {
        const T value = read<T>(t, i.at[k]);
        std::memcpy(to + k * sizeof(T), &value, sizeof(T));
    }
}
/// Threads take turns between instructions, so that one of them is atomic.
template <class T, space In, class Change>
void change(thread& t, const instruction& i) {
    char* const at = place<T, In>(t, i);
    T before;
    std::memcpy(&before, at, sizeof(T));
    const T after = Change{}(before, read<T>(t, i.at[1]), read<T>(t, i.at[2]));
    std::memcpy(at, &after, sizeof(T));
    write(t, i.at[0], before);
}

// ---- arithmetic ----

/// d = Apply(a, b, …), all of one type.
template <class T, class Apply>
void compute(thread& t, const instruction& i) {
    if constexpr (std::invocable<Apply, T>) {
        write<T>(t, i.at[0], static_cast<T>(Apply{}(read<T>(t, i.at[1]))));
    } else if constexpr (std::invocable<Apply, T, T>) {
        write<T>(t, i.at[0], static_cast<T>(Apply{}(read<T>(t, i.at[1]), read<T>(t, i.at[2]))));
    } else {
        write<T>(t, i.at[0], static_cast<T>(Apply{}(read<T>(t, i.at[1]), read<T>(t, i.at[2]), read<T>(t, i.at[3]))));
    }
}
template <class T, class Compare>
void compare(thread& t, const instruction& i) {
    write<bool>(t, i.at[0], Compare{}(read<T>(t, i.at[1]), read<T>(t, i.at[2])));
}
template <class To, class From>
void convert(thread& t, const instruction& i) {
    write<To>(t, i.at[0], static_cast<To>(read<From>(t, i.at[1])));
}
template <class Wide, class T>
void multiply_wide(thread& t, const instruction& i) {
    write<Wide>(t, i.at[0], static_cast<Wide>(Wide{read<T>(t, i.at[1])} * Wide{read<T>(t, i.at[2])}));
}
inline void multiply_high(thread& t, const instruction& i) {
    __extension__ using wide = unsigned __int128;
    write<u64>(t, i.at[0], static_cast<u64>((wide{t.registers[i.at[1]]} * t.registers[i.at[2]]) >> 64U));
}
/// Adds with the carry of the instruction before, and leaves one.
template <bool Takes, bool Leaves>
void add_carry(thread& t, const instruction& i) {
    const u64 a = t.registers[i.at[1]];
    const u64 sum = a + t.registers[i.at[2]];
    const u64 with_carry = sum + (Takes && t.carry ? 1U : 0U);
    if (Leaves) {
        t.carry = sum < a || with_carry < sum;
    }
    t.registers[i.at[0]] = with_carry;
}

/// Subtracts with the borrow that the instruction before left as its carry, and leaves one.
template <bool Takes, bool Leaves>
void subtract_borrow(thread& t, const instruction& i) {
    const u64 a = t.registers[i.at[1]];
    const u64 b = t.registers[i.at[2]];
    const u64 borrow = Takes && t.carry ? 1U : 0U;
    if (Leaves) {
        t.carry = a < b || a - b < borrow;
    }
    t.registers[i.at[0]] = a - b - borrow;
}
inline void insert_bits(thread& t, const instruction& i) {
    const u64 from = t.registers[i.at[3]] & 0xFFU;
    const u64 length = t.registers[i.at[4]] & 0xFFU;
    const u64 mask = (length >= 64 ? ~u64{0} : (u64{1} << length) - 1) << from;
    t.registers[i.at[0]] = (t.registers[i.at[2]] & ~mask) | ((t.registers[i.at[1]] << from) & mask);
}

// ---- where a thread goes ----

inline void branch(thread& t, const instruction& i) { t.next = static_cast<std::size_t>(i.offset); }
inline void wait_at_barrier(thread& t, const instruction& /*i*/) { t.state = waits::barrier; }
inline void wait_for_warp(thread& t, const instruction& i) {
    t.state = waits::shuffle;
    t.shuffle = &i;
}
inline void end(thread& t, const instruction& /*i*/) { t.state = waits::done; }
/// Threads that take turns see what was written without one.
inline std::uint64_t fences = 0;
inline void fence(thread& /*t*/, const instruction& /*i*/) { ++fences; }
inline void copy(thread& t, const instruction& i) { t.registers[i.at[0]] = t.registers[i.at[1]]; }
inline void split(thread& t, const instruction& i) {  // {low, high} = a
    const u64 value = t.registers[i.at[2]];
    write<u32>(t, i.at[0], static_cast<u32>(value));
    write<u32>(t, i.at[1], static_cast<u32>(value >> 32U));
}
inline void join(thread& t, const instruction& i) {  // d = {low, high}
    t.registers[i.at[0]] = read<u32>(t, i.at[1]) | (u64{read<u32>(t, i.at[2])} << 32U);
}
/// %globaltimer: nanoseconds.
inline void read_clock(thread& t, const instruction& i) {
    t.registers[i.at[0]] = static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// ---- all of them by name ----

template <class T>
inline constexpr std::string_view name_of = "";
template <>
inline constexpr std::string_view name_of<bool> = ".pred";
template <>
inline constexpr std::string_view name_of<u8> = ".u8";
template <>
inline constexpr std::string_view name_of<std::int8_t> = ".s8";
template <>
inline constexpr std::string_view name_of<u16> = ".u16";
template <>
inline constexpr std::string_view name_of<s16> = ".s16";
template <>
inline constexpr std::string_view name_of<u32> = ".u32";
template <>
inline constexpr std::string_view name_of<s32> = ".s32";
template <>
inline constexpr std::string_view name_of<u64> = ".u64";
template <>
inline constexpr std::string_view name_of<s64> = ".s64";
template <>
inline constexpr std::string_view name_of<float> = ".f32";
template <>
inline constexpr std::string_view name_of<double> = ".f64";

class instruction_set {
  public:
    /// None where the name is not known.
    [[nodiscard]] static action find(std::string name) {
        static const instruction_set all;
        if (name.find(".b16") != std::string::npos || name.find(".b32") != std::string::npos ||
            name.find(".b64") != std::string::npos || name.find(".b8") != std::string::npos) {
            name[name.rfind(".b") + 1] = 'u';  // bits are numbers without a sign
        }
        const auto found = all.actions_.find(name);
        return found == all.actions_.end() ? nullptr : found->second;
    }

  private:
    instruction_set() {
        arithmetic();
        logic();
        conversions();
        memory();
        for (const char* const name : {"membar.gl", "membar.sys", "membar.cta", "fence.acq_rel.sys", "fence.sc.sys"}) {
            actions_[name] = fence;
        }
        actions_["bra"] = actions_["bra.uni"] = branch;
        actions_["bar.sync"] = actions_["barrier.sync"] = wait_at_barrier;
        actions_["shfl.sync.down.u32"] = actions_["shfl.sync.bfly.u32"] = wait_for_warp;
        actions_["ret"] = end;
    }

    template <class... T, class Apply>
    void add(const std::string& name, Apply /*apply*/) {
        ((actions_[name + std::string(name_of<T>)] = compute<T, Apply>), ...);
    }
    template <class... T, class Compare>
    void add_comparison(const std::string& name, Compare /*compare*/) {
        ((actions_["setp." + name + std::string(name_of<T>)] = compare<T, Compare>), ...);
    }

    void arithmetic() {
        add<u16, s16, u32, s32, u64, s64, float, double>("add", [](auto a, auto b) { return bits(a) + bits(b); });
        add<u16, s16, u32, s32, u64, s64, float, double>("sub", [](auto a, auto b) { return bits(a) - bits(b); });
        add<u16, s16, u32, s32, u64, s64>("mul.lo", [](auto a, auto b) { return bits(a) * bits(b); });
        add<float, double>("mul", [](auto a, auto b) { return a * b; });
        add<u32, s32, u64, s64>("mad.lo", [](auto a, auto b, auto c) { return bits(a) * bits(b) + bits(c); });
        add<s16, s32, s64>("neg", [](auto a) { return 0 - bits(a); });
        add<float, double>("div.rn", [](auto a, auto b) { return a / b; });
        add<float, double>("fma.rn", [](auto a, auto b, auto c) { return __builtin_fma(a, b, c); });
        add<u16, s16, u32, s32, u64, s64>("min", [](auto a, auto b) { return b < a ? b : a; });
        add<u16, s16, u32, s32, u64, s64>("max", [](auto a, auto b) { return a < b ? b : a; });
        add<u16, s16, u32, s32, u64, s64>("div", [](auto a, auto b) {
            return has_quotient(a, b) ? bits(static_cast<decltype(a)>(a / b)) : b == 0 ? ~u64{0} : 0 - bits(a);
        });
        add<u16, s16, u32, s32, u64, s64>("rem", [](auto a, auto b) {
            return has_quotient(a, b) ? static_cast<decltype(a)>(a % b) : decltype(a){0};
        });
        actions_["mul.wide.u16"] = multiply_wide<u32, u16>;
        actions_["mul.wide.s16"] = multiply_wide<s32, s16>;
        actions_["mul.wide.u32"] = multiply_wide<u64, u32>;
        actions_["mul.wide.s32"] = multiply_wide<s64, s32>;
        actions_["mul.hi.u64"] = multiply_high;
        for (const std::string type : {".u64", ".s64"}) {
            actions_["add.cc" + type] = add_carry<false, true>;
            actions_["addc.cc" + type] = add_carry<true, true>;
            actions_["addc" + type] = add_carry<true, false>;
            actions_["sub.cc" + type] = subtract_borrow<false, true>;
            actions_["subc.cc" + type] = subtract_borrow<true, true>;
            actions_["subc" + type] = subtract_borrow<true, false>;
        }
        actions_["bfi.u64"] = insert_bits;
    }

    void logic() {
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("eq", [](auto a, auto b) { return a == b; });
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("ne", [](auto a, auto b) { return a != b; });
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("lt", [](auto a, auto b) { return a < b; });
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("le", [](auto a, auto b) { return a <= b; });
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("gt", [](auto a, auto b) { return a > b; });
        add_comparison<u16, s16, u32, s32, u64, s64, float, double>("ge", [](auto a, auto b) { return a >= b; });
        add<u16, s16, u32, s32, u64, s64, float, double>("selp",
                                                         [](auto a, auto b, auto which) { return which != 0 ? a : b; });
        add<bool, u16, u32, u64>("and", [](auto a, auto b) { return a & b; });
        add<bool, u16, u32, u64>("or", [](auto a, auto b) { return a | b; });
        add<bool, u16, u32, u64>("xor", [](auto a, auto b) { return a ^ b; });
        add<u16, u32, u64>("not", [](auto a) { return ~a; });
        add<bool>("not", [](bool a) { return !a; });
        // A number of places that is too large shifts everything out.
        add<u16, u32, u64>("shl", [](auto a, auto places) {
            return static_cast<u32>(places) < 8 * sizeof(a) ? bits(a) << static_cast<u32>(places) : 0;
        });
        add<u16, s16, u32, s32, u64, s64>("shr", [](auto a, auto places) {
            return static_cast<u32>(places) < 8 * sizeof(a) ? a >> static_cast<u32>(places)
                                                            : static_cast<decltype(a)>(a < 0 ? -1 : 0);
        });
    }

    template <class To, class... From>
    void add_conversions() {
        ((actions_["cvt" + std::string(name_of<To>) + std::string(name_of<From>)] = convert<To, From>), ...);
        ((actions_["cvt.rn.f64" + std::string(name_of<From>)] = convert<double, From>), ...);
    }
    void conversions() {
        add_conversions<u16, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        add_conversions<s16, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        add_conversions<u32, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        add_conversions<s32, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        add_conversions<u64, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        add_conversions<s64, u8, std::int8_t, u16, s16, u32, s32, u64, s64>();
        actions_["cvt.rzi.u64.f64"] = convert<u64, double>;
        add<bool, u16, s16, u32, s32, u64, s64, float, double>("mov", [](auto a) { return a; });
        actions_["cvta.to.global.u64"] = actions_["cvta.global.u64"] = copy;
    }

    template <class... T>
    void add_accesses() {
        ((actions_["ld.global" + std::string(name_of<T>)] = load<T, space::global>), ...);
        ((actions_["ld.shared" + std::string(name_of<T>)] = load<T, space::shared>), ...);
        ((actions_["ld.param" + std::string(name_of<T>)] = load<T, space::parameter>), ...);
        ((actions_["st.global" + std::string(name_of<T>)] = store<T, space::global>), ...);
        ((actions_["st.shared" + std::string(name_of<T>)] = store<T, space::shared>), ...);
    }
    template <class... T, class Change>
    void add_atomic(const std::string& name, Change /*change*/) {
        ((actions_["atom.global." + name + std::string(name_of<T>)] = change<T, space::global, Change>), ...);
        ((actions_["atom.shared." + name + std::string(name_of<T>)] = change<T, space::shared, Change>), ...);
    }
    void memory() {
        add_accesses<u8, std::int8_t, u16, s16, u32, s32, u64, s64, float, double>();
        add_atomic<u32, u64>("add", [](auto was, auto by, auto /*unused*/) { return was + by; });
        add_atomic<u32, u64>("or", [](auto was, auto with, auto /*unused*/) { return was | with; });
        add_atomic<u32, u64>("exch", [](auto /*was*/, auto to, auto /*unused*/) { return to; });
        add_atomic<u32, u64>("cas", [](auto was, auto where, auto to) { return was == where ? to : was; });
        add_atomic<u32, u64>("max", [](auto was, auto with, auto /*unused*/) { return with > was ? with : was; });
        add_atomic<u32, u64>("min", [](auto was, auto with, auto /*unused*/) { return with < was ? with : was; });
    }

    std::unordered_map<std::string, action> actions_;
};

}  // namespace ptx
