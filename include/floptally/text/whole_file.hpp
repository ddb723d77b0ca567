// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Files that are written completely or not at all, even if the process or the machine fails in between.

namespace floptally::inline v0_3 {

namespace detail {

/// The system calls that write a file. Each returns false and sets `errno` if it fails. Tests replace these calls.
struct file_system {
    std::FILE* out = nullptr;

    bool open(const std::filesystem::path& path) { return (out = std::fopen(path.string().c_str(), "wb")) != nullptr; }
    bool write(std::string_view text) { return std::fwrite(text.data(), 1, text.size(), out) == text.size(); }
    bool flush() { return std::fflush(out) == 0; }
    /// Flushes the file to the disk. Returns true for devices and pipes, where there is nothing to flush.
    bool sync() {
#ifndef _WIN32
        return ::fsync(::fileno(out)) == 0 || errno == EINVAL || errno == EROFS;
#else
        return true;
#endif
    }
    bool close() { return std::fclose(out) == 0; }
    bool rename(const std::filesystem::path& from, const std::filesystem::path& to) {
        std::error_code problem;
        std::filesystem::rename(from, to, problem);
        errno = problem.value();
        return !problem;
    }
    /// Flushes a folder's list of file names to the disk, on systems where this is possible.
    bool sync_folder(const std::filesystem::path& folder) {
#ifndef _WIN32
        const int opened = ::open(folder.string().c_str(), O_RDONLY | O_CLOEXEC);
        const bool done = opened < 0 || ::fsync(opened) == 0 || errno == EINVAL || errno == EROFS;
        if (opened >= 0) {
            ::close(opened);
        }
        return done;
#else
        static_cast<void>(folder);
        return true;
#endif
    }
};

[[noreturn]] inline void refuse_to_write(std::string_view field, const std::filesystem::path& path) {
    const std::string why = std::generic_category().message(errno);
    refuse(field, {"cannot write \"", path.string(), "\": ", why});
}

/// Writes the text to the open file and closes the file. Returns false if any step fails.
template <class Files>
[[nodiscard]] bool fill_and_close(std::string_view text, Files& files) {
    const bool filled = files.write(text) && files.flush() && files.sync();
    const int problem = errno;
    const bool closed = files.close();
    errno = filled ? errno : problem;
    return filled && closed;
}

/// Writes a file completely or not at all, like the public `write_whole`, through the system calls `files`.
template <class Files>
void write_whole(const std::filesystem::path& path, std::string_view text, std::string_view field, Files& files) {
    std::error_code unknown;
    const std::filesystem::path file = std::filesystem::exists(path, unknown)
                                           ? std::filesystem::canonical(path, unknown)  // follows symbolic links
                                           : path;
    const std::filesystem::file_status old = std::filesystem::status(file, unknown);
    if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) {  // writes a device or a pipe directly
        if (!files.open(file) || !fill_and_close(text, files)) {
            refuse_to_write(field, path);
        }
        return;
    }
    const std::uint64_t number = std::uint64_t{std::random_device{}()} << 32U | std::random_device{}();
    std::filesystem::path part = file;
    part += text_of({".", number, ".part"});
    if (!files.open(part)) {
        refuse_to_write(field, path);
    }
    bool done = fill_and_close(text, files);
    if (done && std::filesystem::exists(old)) {
        std::filesystem::permissions(part, old.permissions(), unknown);
    }
    done = done && files.rename(part, file);
    if (!done) {
        const int problem = errno;
        std::filesystem::remove(part, unknown);
        errno = problem;
        refuse_to_write(field, path);
    }
    if (!files.sync_folder(file.has_parent_path() ? file.parent_path() : ".")) {
        refuse_to_write(field, path);
    }
}

}  // namespace detail

/// Writes a file completely or not at all. Writes and syncs NAME.….part in the same folder, then renames it to NAME.
/// After the return the text is on the disk. If a step fails, the old file is unchanged, and an `error` that names
/// `field` says why. A killed process may leave the .part file behind. Devices and pipes are written directly.
inline void write_whole(const std::filesystem::path& path, std::string_view text, std::string_view field) {
    detail::file_system files;
    detail::write_whole(path, text, field, files);
}

}  // namespace floptally
