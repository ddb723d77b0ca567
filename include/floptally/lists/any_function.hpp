// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

/// @file
/// `any_function` holds a copy of a function object. `function_view` refers to a function object without copying it.

namespace floptally::inline v0_3 {

template <class Signature>
class any_function;

/// Holds a copy of any function object that takes these arguments, or nothing. It replaces `std::function`. With
/// `std::function`, <floptally/meter.hpp> takes 14 % longer to compile, mostly because <functional> includes
/// containers.
template <class Result, class... Arguments>
class any_function<Result(Arguments...)> {
  public:
    any_function() = default;
    /// Stores a copy of the function. Stores nothing if it is a null pointer or an empty `std::function`.
    template <class Function>
    requires(!std::is_same_v<Function, any_function> && std::is_invocable_r_v<Result, Function&, Arguments...>)
        any_function(Function function) {  // NOLINT(google-explicit-constructor): a lambda stands for it
        if constexpr (std::is_pointer_v<Function> || requires { function.operator bool(); }) {
            if (!function) {
                return;
            }
        }
        held_ = new held_as<Function>(std::move(function));
    }
    any_function(const any_function& other) : held_(other.held_ != nullptr ? other.held_->copy() : nullptr) {}
    any_function(any_function&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    any_function& operator=(any_function other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~any_function() { delete held_; }

    /// Returns true if the object holds a function.
    [[nodiscard]] explicit operator bool() const { return held_ != nullptr; }
    /// Calls the function. The object must hold a function (`operator bool`).
    Result operator()(Arguments... arguments) const { return held_->call(std::forward<Arguments>(arguments)...); }

  private:
    struct held {
        held() = default;
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        virtual ~held() = default;
        virtual Result call(Arguments... arguments) = 0;
        [[nodiscard]] virtual held* copy() const = 0;
    };
    template <class Function>
    struct held_as final : held {
        explicit held_as(Function own) : function(std::move(own)) {}
        Result call(Arguments... arguments) override { return function(std::forward<Arguments>(arguments)...); }
        [[nodiscard]] held* copy() const override { return new held_as(function); }

        Function function;
    };

    held* held_ = nullptr;
};

template <class Signature>
class function_view;

/// A reference to a function object, for use as a parameter. It allocates no memory, so a rank that is out of memory
/// can still use it to report the failure to other ranks.
template <class Result, class... Arguments>
class function_view<Result(Arguments...)> {
  public:
    template <class Function>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, function_view> &&
             std::is_invocable_r_v<Result, const Function&, Arguments...>)
        function_view(const Function& function)  // NOLINT(google-explicit-constructor): a lambda stands for it
        : object_(static_cast<const void*>(&function)), call_([](const void* object, Arguments... each) {
              return static_cast<Result>((*static_cast<const Function*>(object))(std::forward<Arguments>(each)...));
          }) {}

    Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

  private:
    const void* object_;
    Result (*call_)(const void*, Arguments...);
};

}  // namespace floptally
