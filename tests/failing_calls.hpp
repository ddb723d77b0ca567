// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include <floptally/text/whole_file.hpp>

/// The calls that a file is written with, some bytes at a time, of which one fails or ends the process.
class failing_calls {
  public:
    enum class end { fails, killed_before, killed_after };

    failing_calls(std::size_t call, end how, std::size_t bytes) : last_(call), how_(how), bytes_(bytes) {}

    bool open(const std::filesystem::path& path) {
        return call([&] { return real_.open(path); });
    }
    bool write(std::string_view text) {
        for (std::size_t at = 0; at < text.size(); at += bytes_) {
            // Bytes are with the system as soon as they are written: the buffer of a stream would hide them from a
            // kill.
            if (!call([&] { return real_.write(text.substr(at, bytes_)) && real_.flush(); })) {
                return false;
            }
        }
        return true;
    }
    bool flush() {
        return call([&] { return real_.flush(); });
    }
    bool sync() {
        return call([&] { return real_.sync(); });
    }
    bool close() {
        const bool closed = real_.close();
        return call([&] { return closed; });
    }
    bool rename(const std::filesystem::path& from, const std::filesystem::path& to) {
        return call([&] { return real_.rename(from, to); });
    }
    bool sync_folder(const std::filesystem::path& folder) {
        return call([&] { return real_.sync_folder(folder); });
    }

    [[nodiscard]] std::size_t calls() const { return calls_; }

  private:
    template <class Call>
    bool call(Call result) {
        const bool is_it = calls_++ == last_;
        if (is_it && how_ == end::fails) {
            errno = ENOSPC;
            return false;
        }
        if (is_it && how_ == end::killed_before) {
            ::raise(SIGKILL);
        }
        const bool done = result();
        if (is_it) {
            ::raise(SIGKILL);
        }
        return done;
    }

    floptally::detail::file_system real_{};
    std::size_t last_;
    end how_;
    std::size_t bytes_;
    std::size_t calls_ = 0;
};
