// SPDX-License-Identifier: Apache-2.0
#include "core/io/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/io/npz.h"
#include "core/io/output_file.h"
#include "core/io/picture_file.h"
#include "core/io/tensor_proto.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {
Layout LayoutOf(const NpyHeader& header) {
  return {header.shape,
          header.fortran_order ? FortranStrides(header.shape) : PackedStrides(header.shape)};
}

// Reads on until there are `size` bytes, or fewer at the end.
void ReadOn(const InputStream& stream, std::vector<std::byte>& bytes, size_t size) {
  const size_t begin = bytes.size();
  bytes.resize(size);
  bytes.resize(begin + stream.Read(std::span(bytes).subspan(begin)));
}

// The conditions that an array must meet, as far as they are known before it is read.
struct ExpectedArray {
  const TensorDesc* desc = nullptr;
  FileShapes shapes = FileShapes::kAsTheyAre;
};

// Loads the next array of a stream, whose header must fit. Reads no more than it needs.
LoadedTensor LoadNpyFromStream(const InputStream& stream, const ExpectedArray& expected,
                               NpyTypes types) {
  const std::string& name = stream.name();
  std::vector<std::byte> start;
  ReadOn(stream, start, kNpyPreambleSize);
  if (start.empty()) FailTensorFile(name, "ends where another .npy array is expected");
  ReadOn(stream, start, NpyHeaderSize(start, name));
  const NpyHeader header = ParseNpyHeader(start, name, types);
  if (expected.desc) {
    RequireFit({header.type, header.is_bool, header.shape}, *expected.desc, expected.shapes, name);
  }

  const auto spool = std::make_shared<Spool>(header.data_begin + header.data_size());
  spool->Append(start);
  const Work work("reading " + name, static_cast<int64_t>(header.data_size()));
  std::vector<std::byte> part(std::min<size_t>(header.data_size(), kStepBytes));
  for (size_t left = header.data_size(); left > 0;) {
    const size_t step = std::min(left, part.size());
    const size_t count = stream.Read(std::span(part).first(step));
    spool->Append(std::span(part).first(count));
    if (count < step) break;
    left -= count;
  }
  return FromNpyBytes(spool->bytes(), spool, name, types);
}

// Loads the tensor of a file or a stream; see LoadNpyFromStream.
LoadedTensor LoadArray(const std::string& path, const ExpectedArray& expected, NpyTypes types,
                       Placement placement) {
  const FileFormat format = FormatOf(path);
  if (format == FileFormat::kPb) return LoadTensorProto(path, placement);
  if (format == FileFormat::kPicture) return LoadPixels(path);
  if (path == kStandardStream || DescriptorOf(path) == STDIN_FILENO) {
    return LoadNpyFromStream(InputStream(std::string(kStandardStream)), expected, types);
  }
  if (IsStream(path) && !IsRegular(path)) {
    return LoadNpyFromStream(InputStream(path), expected, types);
  }
  const auto file = std::make_shared<const InputFile>(OpenBytes(path));
  return FromNpyBytes(file->bytes(), file, path, types, placement);
}

// A raw file is as long as its tensor. The bytes by which the size is rounded up to a multiple of 4
// may be missing.
void CheckRawSize(uint64_t size, const TensorDesc& desc, std::string_view longer,
                  const std::string& name) {
  const uint64_t needed = SizeInBytes(desc);
  const uint64_t unrounded =
      BufferBytes(*desc.data_type, static_cast<uint64_t>(Extent(dmlop::LayoutOf(desc))));
  const uint64_t least = needed - unrounded < 4 ? unrounded : needed;
  const std::string rounding =
      least == needed ? "" : fmt::format(", or {} rounded up to a multiple of 4", needed);
  if (size < least) {
    FailTensorFile(name, "is too small: it has {}; expected at least {}{}", Counted(size, "byte"),
                   least, rounding);
  }
  if (size > needed) {
    FailTensorFile(
        name, "is too large: it has {}; expected {}{} ({}@OFFSET is what begins at a byte of it{})",
        Counted(size, "byte"), least, rounding, name, longer);
  }
}

// Returns the bytes of a tensor that begins at an offset, even if the file goes on after it.
std::span<const std::byte> RawPart(std::span<const std::byte> file, uint64_t offset,
                                   const TensorDesc& desc, const std::string& name) {
  const uint64_t needed =
      BufferBytes(*desc.data_type, static_cast<uint64_t>(Extent(dmlop::LayoutOf(desc))));
  if (offset > file.size() || file.size() - offset < needed) {
    FailTensorFile(name, "is too small: it has {}; expected at least {} from byte {} on",
                   Counted(file.size(), "byte"), needed, offset);
  }
  return file.subspan(offset, needed);
}

LoadedTensor LoadRawNibbles(const InputFile& file, std::span<const std::byte> packed,
                            const TensorDesc& desc, const std::string& name) {
  const auto spool = std::make_shared<Spool>(2 * packed.size());
  const Work work("reading " + name, static_cast<int64_t>(packed.size()));
  std::vector<std::byte> elements;
  ForEachStep(packed.size(), [&](size_t begin, size_t size) {
    elements.resize(2 * size);
    UnpackNibbles(*desc.data_type, packed.subspan(begin, size), elements);
    spool->Append(elements);
  });
  return {{spool->bytes().data(), *desc.data_type, dmlop::LayoutOf(desc)},
          std::make_shared<const std::pair<InputFile, std::shared_ptr<Spool>>>(file, spool),
          packed};
}

}  // namespace

LoadedTensor LoadRaw(const std::string& path, const TensorDesc& desc, std::string_view longer,
                     Placement placement) {
  const auto [file_path, offset] = ParseRawPath(path);
  const InputFile file = InputFile::Open(file_path);
  if (HasNpyMagic(file.bytes()) && !offset) {
    FailTensorFile(path, "begins as a .npy file does; give it the extension .npy");
  }
  std::span<const std::byte> bytes = file.bytes();
  if (offset) {
    bytes = RawPart(bytes, *offset, desc, path);
  } else {
    CheckRawSize(bytes.size(), desc, longer, path);
  }
  if (HasNibbles(*desc.data_type)) return LoadRawNibbles(file, bytes, desc, path);
  LoadedTensor tensor{{bytes.data(), *desc.data_type, dmlop::LayoutOf(desc)},
                      std::make_shared<const InputFile>(file),
                      file.bytes()};
  return placement == Placement::kAligned ? Aligned(std::move(tensor), path) : tensor;
}

namespace {

// Doubles the number of bytes, with two zero bytes before each bfloat16.
void WidenBfloat16(std::span<const std::byte> halves, std::vector<std::byte>& elements) {
  elements.assign(2 * halves.size(), std::byte{0});
  for (size_t i = 0; i < halves.size(); i += 2) {
    elements[2 * i + 2] = halves[i];
    elements[2 * i + 3] = halves[i + 1];
  }
}

bool IsAligned(const ConstTensorView& view) {
  return reinterpret_cast<uintptr_t>(view.data) % ByteWidth(view.type) == 0;
}

// Copies the elements of a file's data in the machine's representation.
std::shared_ptr<Spool> CopyOf(const NpyHeader& header, std::span<const std::byte> data,
                              const std::string& name) {
  const size_t growth = ByteWidth(header.type) / header.element_size();
  auto copy = std::make_shared<Spool>(growth * header.data_size());
  const Work work("reading " + name, static_cast<int64_t>(header.data_size()));
  const DataType stored = header.is_bfloat16 ? DataType::kFloat16 : header.type;
  std::vector<std::byte> step;
  std::vector<std::byte> widened;
  ForEachStep(header.data_size(), [&](size_t begin, size_t size) {
    const auto part = data.subspan(begin, size);
    step.assign(part.begin(), part.end());
    if (header.big_endian) SwapByteOrder(stored, step);
    if (header.is_bfloat16) WidenBfloat16(step, widened);
    copy->Append(header.is_bfloat16 ? widened : step);
  });
  return copy;
}

}  // namespace

LoadedTensor FromNpyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, NpyTypes types, Placement placement) {
  const NpyHeader header = ParseNpyHeader(bytes, name, types);
  const size_t present = bytes.size() - header.data_begin;
  if (present < header.data_size()) {
    FailTensorFile(name, "is truncated: its header promises {} of data, it has {}",
                   Counted(header.data_size(), "byte"), present);
  }
  const std::byte* data = bytes.data() + header.data_begin;
  if (header.big_endian || header.is_bfloat16) {
    const auto copy = CopyOf(header, bytes.subspan(header.data_begin), name);
    data = copy->bytes().data();
    owner = std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<Spool>>>(
        std::move(owner), copy);
  }
  LoadedTensor tensor{{data, header.type, LayoutOf(header)},
                      std::move(owner),
                      bytes,
                      header.is_bool,
                      header.is_bfloat16};
  return placement == Placement::kAligned ? Aligned(std::move(tensor), name) : tensor;
}

LoadedTensor Aligned(LoadedTensor tensor, const std::string& name) {
  if (IsAligned(tensor.view)) return tensor;
  const size_t size = static_cast<size_t>(Extent(tensor.view.layout)) * ByteWidth(tensor.view.type);
  const auto copy = std::make_shared<Spool>(size);
  const Work work("reading " + name, static_cast<int64_t>(size));
  ForEachStep(size, [&](size_t begin, size_t step) {
    copy->Append({tensor.view.data + begin, step});
  });
  tensor.view.data = copy->bytes().data();
  tensor.storage =
      std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<Spool>>>(
          tensor.storage, copy);
  return tensor;
}

std::string_view TypeName(const LoadedTensor& tensor) {
  return tensor.is_bool ? "BOOL" : Name(tensor.view.type);
}

LoadedTensor LoadArray(const std::string& path, NpyTypes types, Placement placement) {
  return LoadArray(path, ExpectedArray{}, types, placement);
}

LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc, FileShapes shapes) {
  const FileFormat format = FormatOf(path);
  if (format == FileFormat::kPicture) return LoadPicture(path, desc);
  if (format == FileFormat::kRaw) {
    return LoadRaw(path, desc, ", and TotalTensorSizeInBytes declares a longer buffer");
  }
  return FitToDesc(LoadArray(path, {&desc, shapes}, NpyTypes::kOfDirectML, Placement::kAligned),
                   desc, NameOfInput(path), shapes);
}

// --- paths ---------------------------------------------------------------------------------------

std::optional<uint64_t> ParseOffset(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  return ParseNumber<uint64_t>(text, is_hexadecimal ? 16 : 10);
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
    FailTensorFile(path, "has {} bytes, and none at that offset", file.bytes().size());
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
    throw Error(ErrorKind::kFileSystem, "{}: is a folder, not a tensor file", path);
  }
  if (IsNpz(path)) {
    throw Error(ErrorKind::kUsage,
                "{0}: is an archive of arrays; one of them is written {0}:NAME, and it has {1}",
                path, NpzNames(path));
  }
  std::vector<std::string_view> extensions;
  for (const TensorExtension& known : kTensorExtensions) extensions.push_back(known.extension);
  throw Error(ErrorKind::kUsage, "{}: {}; the known extensions are {} and, of archives, .npz:NAME",
              path, KindOfOther(path), fmt::join(extensions, ", "));
}

}  // namespace

bool HasTensorExtension(const std::string& path) {
  const auto format = FormatByExtension(path);
  return format && format != FileFormat::kPicture;
}

std::optional<FileFormat> FindFormat(const std::string& path) {
  // Whatever a path with this extension leads to has this format, so the disk is not asked.
  if (FormatByExtension(path) == FileFormat::kNpy) return FileFormat::kNpy;
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
  throw Error(ErrorKind::kUsage, "{}: an offset is for raw files ({}), which {} is not", path,
              fmt::join(ExtensionsOf(FileFormat::kRaw), ", "), file);
}

}  // namespace dmlop
