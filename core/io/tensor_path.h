// What a path of a tensor names. The extension says what a file holds:
//
//   .npy              the logical tensor: its shape is Sizes, whatever the desc's strides
//   .bin .dat .raw    the physical buffer, TotalTensorSizeInBytes long
//   x.bin@1024        the buffer that begins at a byte of such a file, to be read only
//   x.npz:a           the array a of an archive, to be read only
//   -                 the next .npy array of standard input or output
//
// Devices, pipes and open files (/dev/fd/3) carry .npy arrays, whatever their name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/file.h"

namespace dmlop {

enum class FileFormat { kNpy, kRaw };

inline constexpr std::string_view kRawExtensions[] = {".bin", ".dat", ".raw"};

// A number of bytes as digits, or as hexadecimal ones behind 0x; empty for any other text.
std::optional<uint64_t> ParseOffset(std::string_view text);

// What a path of raw memory names: "x.bin@1024" is what begins at a byte of x.bin, unless a file
// has the whole of it as its name.
struct RawPath {
  std::string file;
  std::optional<uint64_t> offset;
};
RawPath ParseRawPath(const std::string& path);

// The file that is opened for a path: the archive of an array, that of what begins at an offset,
// and any other file itself.
std::string FileOf(const std::string& path);

// The bytes that a path names: a file, a member of an archive, or what a file has from an offset
// on.
InputFile OpenBytes(const std::string& path, size_t stream_limit = 0);

// Throws an Error of kind kUsage for an extension that is not in the list, of kind kFileSystem for
// a folder of such a name.
FileFormat FormatOf(const std::string& path);

// True for the extensions of raw files.
bool IsRaw(std::string_view path);

// True for the extensions of the list and .npy.
bool HasTensorExtension(const std::string& path);

}  // namespace dmlop
