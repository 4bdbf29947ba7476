// SPDX-License-Identifier: Apache-2.0
// The meaning of a tensor's path. The extension tells what a file holds:
//
//   .npy              the logical tensor: its shape is Sizes, whatever the desc's strides
//   .pb               the logical tensor as ONNX's test data have it (tensor_proto.h)
//   .png .jpg .jpeg   a picture (picture_file.h)
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
#include <vector>

#include "core/io/file.h"

namespace dmlop {

enum class FileFormat { kNpy, kPb, kPicture, kRaw };

// Returns whether files of a format tell the type and the shape of their tensor.
inline bool IsDescribedBy(FileFormat format) {
  return format == FileFormat::kNpy || format == FileFormat::kPb;
}

struct TensorExtension {
  std::string_view extension;
  FileFormat format;
};

inline constexpr TensorExtension kTensorExtensions[] = {
    {".npy", FileFormat::kNpy},     {".pb", FileFormat::kPb},       {".bin", FileFormat::kRaw},
    {".dat", FileFormat::kRaw},     {".raw", FileFormat::kRaw},     {".png", FileFormat::kPicture},
    {".jpg", FileFormat::kPicture}, {".jpeg", FileFormat::kPicture}};

// Returns the extensions of one format.
std::vector<std::string_view> ExtensionsOf(FileFormat format);

// Returns what the extension of a path says alone, in any case; nothing for other extensions.
std::optional<FileFormat> FormatByExtension(std::string_view path);

// Parses a number of bytes, decimal or hexadecimal after 0x; empty for any other text.
std::optional<uint64_t> ParseOffset(std::string_view text);

// The meaning of a path of raw memory: "x.bin@1024" is what begins at that byte of x.bin, unless a
// file has the whole path as its name.
struct RawPath {
  std::string file;
  std::optional<uint64_t> offset;
};
RawPath ParseRawPath(const std::string& path);

// Returns the file that is opened for a path: the archive of an array, the file that an offset
// belongs to, or the path itself.
std::string FileOf(const std::string& path);

// Opens the bytes that a path names: a file, a member of an archive, or a file from an offset on.
InputFile OpenBytes(const std::string& path, size_t stream_limit = 0);

// Returns the format of a path; nothing for an extension that is not listed above.
std::optional<FileFormat> FindFormat(const std::string& path);

// Does the same. Throws an Error of kind kUsage for an extension that is not listed above, and of
// kind kFileSystem for a folder of such a name.
FileFormat FormatOf(const std::string& path);

// True for the extensions of raw files.
bool IsRaw(std::string_view path);

// Returns true for the extensions of the list, but for pictures, which mostly are no tensors.
bool HasTensorExtension(const std::string& path);

}  // namespace dmlop
