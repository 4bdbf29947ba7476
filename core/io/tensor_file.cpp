#include "core/io/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/spool.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/offset_window.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kNpyExtension = ".npy";

// What a .npy file says of its array.
struct StoredArray {
  DataType type;
  bool is_bool;
  const Dims& shape;
};

// Fails where an array of a .npy file cannot be the logical tensor of a valid desc. Elements of 4
// bits are those of an array of bytes.
void RequireFit(const StoredArray& array, const TensorDesc& desc, const std::string& name) {
  const auto& [type, is_bool, shape] = array;
  const DataType expected_type = *desc.data_type;
  if (type != expected_type && type != StoredAs(expected_type)) {
    const std::string stored =
        HasNibbles(expected_type) ? fmt::format(", whose values are {}", Name(expected_type)) : "";
    FailTensorFile(name, fmt::format("has the data type {}{}; expected {}{}",
                                     is_bool ? "bool, which is taken for " : "", Name(type),
                                     Name(StoredAs(expected_type)), stored));
  }
  const Dims sizes = shape.empty() ? Dims{1} : shape;
  const Layout expected = LayoutOf(desc);
  bool fits = sizes.size() == expected.rank();
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    if (sizes[d] == expected.sizes[d]) continue;
    fits = sizes[d] == 1 && expected.strides[d] == 0;
  }
  if (fits) return;
  FailTensorFile(name, fmt::format("has the shape {}; expected {}", ToString(shape),
                                   ToString(expected.sizes)));
}

// --- reading .npy --------------------------------------------------------------------------------

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

// The next array of a stream, whose header must fit to `desc` if there is one. Only as much is read
// as it needs.
LoadedTensor LoadNpyFromStream(const InputStream& stream, const TensorDesc* desc, NpyTypes types) {
  const std::string& name = stream.name();
  std::vector<std::byte> start;
  ReadOn(stream, start, kNpyPreambleSize);
  if (start.empty()) FailTensorFile(name, "ends where another .npy array is expected");
  ReadOn(stream, start, NpyHeaderSize(start, name));
  const NpyHeader header = ParseNpyHeader(start, name, types);
  if (desc) RequireFit({header.type, header.is_bool, header.shape}, *desc, name);

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

// The array of a file or a stream; see LoadNpyFromStream.
LoadedTensor LoadNpy(const std::string& path, const TensorDesc* desc, NpyTypes types,
                     Placement placement) {
  if (path == kStandardStream || DescriptorOf(path) == STDIN_FILENO) {
    return LoadNpyFromStream(InputStream(std::string(kStandardStream)), desc, types);
  }
  if (IsStream(path) && !IsRegular(path)) {
    return LoadNpyFromStream(InputStream(path), desc, types);
  }
  if (const auto array = ParseNpzPath(path)) {
    NpyBytes npy = OpenNpzArray(*array);
    return FromNpyBytes(npy.bytes, std::move(npy.owner), path, types, placement);
  }
  const auto file = std::make_shared<const InputFile>(InputFile::Open(path));
  return FromNpyBytes(file->bytes(), file, path, types, placement);
}

// --- fitting -------------------------------------------------------------------------------------

// Fails where the desc gives two elements one place and the tensor gives them different bits. The
// places are gone through in windows, which bounds the memory.
void CheckSharedPlaces(const ConstTensorView& tensor, const Dims& desc_strides,
                       const std::string& name) {
  constexpr int64_t kWindow = 1 << 18;
  constexpr int64_t kNone = -1;
  const size_t width = ByteWidth(tensor.type);
  const OffsetWindow<2> places(
      Merged(LoopNest<2>{tensor.layout.sizes, {desc_strides, tensor.layout.strides}}));
  std::vector<int64_t> firsts;  // the offset of the first element of each place
  for (int64_t begin = 0; begin < places.extent(); begin += kWindow) {
    const int64_t end = std::min(begin + kWindow, places.extent());
    firsts.assign(static_cast<size_t>(end - begin), kNone);
    int64_t clash = end;  // the lowest place
    places.Visit(begin, end, [&](const auto& offsets) {
      const auto [place, offset] = offsets;
      int64_t& first = firsts[static_cast<size_t>(place - begin)];
      if (first == kNone) first = offset;
      const auto data_at = [&](int64_t at) {
        return tensor.data + at * static_cast<int64_t>(width);
      };
      if (std::memcmp(data_at(first), data_at(offset), width) != 0) clash = std::min(clash, place);
      return false;
    });
    if (clash == end) continue;
    FailTensorFile(
        name,
        fmt::format("by the Strides of the tensor, some of its elements share place {} of the "
                    "buffer, but the file has different values for them",
                    clash));
  }
}

// Fails where a byte of an array, which has no gaps, is none of the values that 4 bits have.
void RequireNibbles(const ConstTensorView& tensor, DataType type, const std::string& name) {
  VisitDataType(Integers8(), tensor.type, [&]<typename T>() {
    const auto range = RangeOf<T>(type);
    const auto fits = [&](T value) { return range.least <= value && value <= range.most; };
    const Layout& layout = tensor.layout;
    const T* const elements = tensor.elements<T>();
    if (std::count_if(elements, elements + layout.element_count(), fits) ==
        layout.element_count()) {
      return;
    }
    const LoopNest<1> nest{layout.sizes, {layout.strides}};
    Walk<1> walk(nest, 0);
    int64_t place = 0;
    for (; fits(elements[walk.offset(0)]); ++place) walk.Next();
    FailTensorFile(
        name, fmt::format("has the value {} at [{}]; those of {} are in [{}, {}]",
                          elements[walk.offset(0)], fmt::join(IndexOf(layout.sizes, place), ", "),
                          Name(type), range.least, range.most));
  });
}

// --- raw files -----------------------------------------------------------------------------------

// A raw file is as long as its tensor. What the size is rounded up by, to a multiple of 4 bytes,
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
    FailTensorFile(name, fmt::format("is too small: it has {} bytes; expected at least {}{}", size,
                                     least, rounding));
  }
  if (size > needed) {
    FailTensorFile(name, fmt::format("is too large: it has {} bytes; expected {}{} ({})", size,
                                     least, rounding, longer));
  }
}

// A tensor that begins at an offset, wherever the file ends.
void CheckRawPart(uint64_t size, uint64_t offset, const TensorDesc& desc, const std::string& name) {
  const size_t width = ByteWidth(*desc.data_type);
  if (offset % width != 0) {
    throw Error(ErrorKind::kUsage, fmt::format("the offset {} is no multiple of the {} bytes of {}",
                                               offset, width, Name(*desc.data_type)));
  }
  const uint64_t needed =
      BufferBytes(*desc.data_type, static_cast<uint64_t>(Extent(dmlop::LayoutOf(desc))));
  if (offset > size || size - offset < needed) {
    FailTensorFile(name, fmt::format("is too small: it has {} bytes; expected at least {} from "
                                     "byte {} on",
                                     size, needed, offset));
  }
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
                     std::optional<uint64_t> offset) {
  const InputFile file = InputFile::Open(path);
  if (HasNpyMagic(file.bytes()) && !offset) {
    FailTensorFile(path, "begins as a .npy file does; give it the extension .npy");
  }
  if (offset) {
    CheckRawPart(file.bytes().size(), *offset, desc, path);
  } else {
    CheckRawSize(file.bytes().size(), desc, longer, path);
  }
  const std::span<const std::byte> bytes = file.bytes().subspan(offset.value_or(0));
  if (HasNibbles(*desc.data_type)) return LoadRawNibbles(file, bytes, desc, path);
  return {{bytes.data(), *desc.data_type, dmlop::LayoutOf(desc)},
          std::make_shared<const InputFile>(file),
          file.bytes()};
}

bool HasTensorExtension(const std::string& path) {
  return HasExtension(path, kNpyExtension) ||
         std::any_of(std::begin(kRawExtensions), std::end(kRawExtensions),
                     [&](std::string_view extension) { return HasExtension(path, extension); });
}

FileFormat FormatOf(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::kUsage, "'' names no file");
  if (path == kStandardStream || HasExtension(path, kNpyExtension) || IsStream(path) ||
      ParseNpzPath(path)) {
    return FileFormat::kNpy;
  }
  for (const std::string_view extension : kRawExtensions) {
    if (HasExtension(path, extension)) return FileFormat::kRaw;
  }
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorKind::kFileSystem, fmt::format("{}: is a folder, not a tensor file", path));
  }
  if (IsNpz(path)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{0}: is an archive of arrays; one of them is written {0}:NAME, and it "
                            "has {1}",
                            path, NpzNames(path)));
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: unknown kind of file; the known extensions are {}, {}", path,
                          kNpyExtension, fmt::join(kRawExtensions, ", ")));
}

namespace {

// Half as many bytes, with zeros in front of each two.
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

// The elements of a file's data as this machine has them.
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
    FailTensorFile(name,
                   fmt::format("is truncated: its header promises {} bytes of data, it has {}",
                               header.data_size(), present));
  }
  const std::byte* data = bytes.data() + header.data_begin;
  if (header.big_endian || header.is_bfloat16) {
    const auto copy = CopyOf(header, bytes.subspan(header.data_begin), name);
    data = copy->bytes().data();
    owner = std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<Spool>>>(
        std::move(owner), copy);
  }
  LoadedTensor tensor{
      {data, header.type, LayoutOf(header)}, std::move(owner), bytes, header.is_bool};
  return placement == Placement::kAligned ? Aligned(std::move(tensor), name) : tensor;
}

LoadedTensor Aligned(LoadedTensor tensor, const std::string& name) {
  if (IsAligned(tensor.view)) return tensor;
  const auto size = static_cast<size_t>(tensor.view.element_bytes());
  const auto copy = std::make_shared<Spool>(size);
  const Work work("reading " + name, tensor.view.element_bytes());
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

LoadedTensor LoadNpy(const std::string& path, NpyTypes types, Placement placement) {
  return LoadNpy(path, /*desc=*/nullptr, types, placement);
}

LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc,
                       const std::string& name) {
  RequireFit({tensor.view.type, tensor.is_bool, tensor.view.layout.sizes}, desc, name);
  if (tensor.view.type != *desc.data_type) RequireNibbles(tensor.view, *desc.data_type, name);
  LoadedTensor fitted = tensor;
  fitted.view.type = *desc.data_type;
  Layout& layout = fitted.view.layout;
  if (layout.sizes.empty()) layout = {{1}, {1}};
  const Layout expected = LayoutOf(desc);
  // Where the desc puts the elements that the file has.
  const Dims& strides = expected.strides;
  if (HasOverlap({layout.sizes, strides})) CheckSharedPlaces(fitted.view, strides, name);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != expected.sizes[d]) layout.strides[d] = 0;
  }
  layout.sizes = expected.sizes;
  return fitted;
}

LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc) {
  if (FormatOf(path) == FileFormat::kRaw) {
    return LoadRaw(path, desc, "a longer buffer is declared by TotalTensorSizeInBytes");
  }
  return FitToDesc(LoadNpy(path, &desc, NpyTypes::kOfDirectML, Placement::kAligned), desc,
                   NameOfInput(path));
}

}  // namespace dmlop
