// SPDX-License-Identifier: Apache-2.0
#include "core/io/tensor_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "core/base/error.h"
#include "core/io/npy.h"
#include "core/io/npz.h"

namespace dmlop {

std::optional<uint64_t> ParseOffset(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  uint64_t offset = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, offset, is_hexadecimal ? 16 : 10);
  return error == std::errc() && stop == end ? std::optional(offset) : std::nullopt;
}

RawPath ParseRawPath(const std::string& path) {
  const size_t at = path.rfind('@');
  if (at == std::string::npos || at == 0) return {path, std::nullopt};
  const auto offset = ParseOffset(std::string_view(path).substr(at + 1));
  std::error_code ignored;
  if (!offset || std::filesystem::exists(path, ignored)) return {path, std::nullopt};
  return {path.substr(0, at), offset};
}

std::string FileOf(const std::string& path) {
  const auto array = ParseNpzPath(path);
  return array ? array->archive : ParseRawPath(path).file;
}

InputFile OpenBytes(const std::string& path, size_t stream_limit) {
  if (const auto array = ParseNpzPath(path)) {
    const NpyBytes npy = OpenNpzArray(*array);
    return {npy.bytes, npy.owner};
  }
  const auto [file_path, offset] = ParseRawPath(path);
  const InputFile file = InputFile::Open(file_path, stream_limit);
  if (!offset) return file;
  if (*offset > file.bytes().size()) {
    FailTensorFile(path, fmt::format("has {} bytes, and none at that offset", file.bytes().size()));
  }
  return {file.bytes().subspan(*offset), std::make_shared<const InputFile>(file)};
}

std::vector<std::string_view> ExtensionsOf(FileFormat format) {
  std::vector<std::string_view> extensions;
  for (const TensorExtension& known : kTensorExtensions) {
    if (known.format == format) extensions.push_back(known.extension);
  }
  return extensions;
}

std::optional<FileFormat> FormatByExtension(std::string_view path) {
  for (const auto& [extension, format] : kTensorExtensions) {
    if (HasExtension(path, extension)) return format;
  }
  return std::nullopt;
}

bool IsRaw(std::string_view path) {
  return FormatByExtension(path) == FileFormat::kRaw;
}

namespace {

// Files that are not tensors, by their extensions.
struct OtherKind {
  std::string_view extension;
  std::string_view kind;
};

constexpr OtherKind kOtherKinds[] = {
    {".onnx", "is an ONNX model"},
    {".csv", "is text"},
    {".tsv", "is text"},
    {".txt", "is text"},
    {".json", "is a JSON document"},
    {".jsonl", "is a manifest"},
    {".pt", "is a file of PyTorch"},
    {".pth", "is a file of PyTorch"},
    {".safetensors", "is a safetensors file"},
};

std::string KindOfOther(const std::string& path) {
  for (const auto& [extension, kind] : kOtherKinds) {
    if (HasExtension(path, extension)) return std::string(kind);
  }
  const size_t at = path.rfind('@');
  if (at != std::string::npos && IsRaw(path.substr(0, at))) {
    return fmt::format("'{}' is no offset in bytes, such as 1024 or 0x400", path.substr(at + 1));
  }
  return "unknown kind of file";
}

[[noreturn]] void RefuseKind(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorKind::kFileSystem, fmt::format("{}: is a folder, not a tensor file", path));
  }
  if (IsNpz(path)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{0}: is an archive of arrays; one of them is written {0}:NAME, and it "
                            "has {1}",
                            path, NpzNames(path)));
  }
  std::vector<std::string_view> extensions;
  for (const TensorExtension& known : kTensorExtensions) extensions.push_back(known.extension);
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: {}; the known extensions are {} and, of archives, .npz:NAME", path,
                          KindOfOther(path), fmt::join(extensions, ", ")));
}

}  // namespace

bool HasTensorExtension(const std::string& path) {
  const auto format = FormatByExtension(path);
  return format && format != FileFormat::kPicture;
}

std::optional<FileFormat> FindFormat(const std::string& path) {
  if (path == kStandardStream || IsStream(path) || ParseNpzPath(path)) return FileFormat::kNpy;
  const std::string file = ParseRawPath(path).file;
  if (IsRaw(file) && !IsStream(file)) return FileFormat::kRaw;
  return FormatByExtension(path);
}

FileFormat FormatOf(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::kUsage, "'' names no file");
  if (const auto format = FindFormat(path)) return *format;
  const auto [file, offset] = ParseRawPath(path);
  if (!offset) RefuseKind(path);
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: an offset is for raw files ({}), which {} is not", path,
                          fmt::join(ExtensionsOf(FileFormat::kRaw), ", "), file));
}

}  // namespace dmlop
