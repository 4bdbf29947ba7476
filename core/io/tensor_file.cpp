#include "core/io/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kNpyExtension = ".npy";

[[noreturn]] void Fail(const std::string& name, const std::string& message) {
  throw Error(ErrorKind::kTensorFile, fmt::format("{}: {}", name, message));
}

std::string Braces(const Dims& dims) {
  return fmt::format("{{{}}}", fmt::join(dims, ", "));
}

// --- reading .npy --------------------------------------------------------------------------------

Layout LayoutOf(const NpyHeader& header) {
  return {header.shape,
          header.fortran_order ? FortranStrides(header.shape) : PackedStrides(header.shape)};
}

// Reads on until there are `size` bytes, or fewer at the end. Memory grows with what arrives, not
// with what a header claims.
void ReadOn(std::vector<std::byte>& bytes, size_t size) {
  constexpr size_t kChunk = size_t{64} << 20;
  const Work work("reading standard input", static_cast<int64_t>(size - bytes.size()));
  while (bytes.size() < size) {
    const size_t begin = bytes.size();
    bytes.resize(std::min(size, begin + std::max(kChunk, begin)));
    const size_t count = ReadStandardInput(std::span(bytes).subspan(begin));
    const bool ended = begin + count < bytes.size();
    bytes.resize(begin + count);
    if (ended) return;
  }
}

LoadedTensor LoadNpyFromStandardInput() {
  const std::string name = "standard input";
  auto bytes = std::make_shared<std::vector<std::byte>>();
  ReadOn(*bytes, kNpyPreambleSize);
  if (bytes->empty()) Fail(name, "ends where another .npy array is expected");
  ReadOn(*bytes, NpyHeaderSize(*bytes, name));
  const NpyHeader header = ParseNpyHeader(*bytes, name);
  ReadOn(*bytes, header.data_begin + header.data_size());
  return FromNpyBytes(*bytes, bytes, name);
}

// --- fitting -------------------------------------------------------------------------------------

// Fails where the desc gives two elements one place and the tensor gives them different bits.
void CheckSharedPlaces(const ConstTensorView& tensor, const Dims& desc_strides,
                       const std::string& name) {
  const LoopNest<2> nest{tensor.layout.sizes, {tensor.layout.strides, desc_strides}};
  const int64_t count = tensor.layout.element_count();
  const size_t width = ByteWidth(tensor.type);
  struct Element {
    int64_t place, offset;
    auto operator<=>(const Element&) const = default;
  };
  std::vector<Element> elements;
  elements.reserve(static_cast<size_t>(count));
  Walk<2> walk(nest, 0);
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    elements.push_back({walk.offset(1), walk.offset(0) * static_cast<int64_t>(width)});
  }
  std::sort(elements.begin(), elements.end());
  const auto clash =
      std::adjacent_find(elements.begin(), elements.end(), [&](const Element& a, const Element& b) {
        return a.place == b.place &&
               std::memcmp(tensor.data + a.offset, tensor.data + b.offset, width) != 0;
      });
  if (clash == elements.end()) return;
  Fail(name, fmt::format("has different values for elements that the desc's strides put in one "
                         "place, at element {} of the buffer",
                         clash->place));
}

// --- raw files -----------------------------------------------------------------------------------

LoadedTensor LoadRaw(const std::string& path, const TensorDesc& desc) {
  const InputFile file = InputFile::Open(path);
  if (HasNpyMagic(file.bytes())) {
    Fail(path, "begins as a .npy file does; give it the extension .npy");
  }
  const uint64_t needed = SizeInBytes(desc);
  if (file.bytes().size() < needed) {
    Fail(path, fmt::format("is too small: it has {} bytes; expected at least {}",
                           file.bytes().size(), needed));
  }
  return {{file.bytes().data(), *desc.data_type, dmlop::LayoutOf(desc)},
          std::make_shared<const InputFile>(file),
          file.bytes()};
}

}  // namespace

FileFormat FormatOf(const std::string& path) {
  if (path == kStandardStream || path == "/dev/stdin" || path == "/dev/stdout" ||
      path.ends_with(kNpyExtension) || IsStream(path)) {
    return FileFormat::kNpy;
  }
  for (const std::string_view extension : kRawExtensions) {
    if (path.ends_with(extension)) return FileFormat::kRaw;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: unknown kind of file; the known extensions are {}, {}", path,
                          kNpyExtension, fmt::join(kRawExtensions, ", ")));
}

LoadedTensor FromNpyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name) {
  const NpyHeader header = ParseNpyHeader(bytes, name);
  const size_t present = bytes.size() - header.data_begin;
  if (present < header.data_size()) {
    Fail(name, fmt::format("is truncated: its header promises {} bytes of data, it has {}",
                           header.data_size(), present));
  }
  const std::byte* data = bytes.data() + header.data_begin;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % ByteWidth(header.type) == 0;
  if (header.big_endian || !aligned) {
    auto copy = std::make_shared<Buffer>(header.data_size());
    const Work work("reading " + name, static_cast<int64_t>(header.data_size()));
    ForEachStep(header.data_size(), [&](size_t begin, size_t size) {
      std::byte* step = copy->data() + begin;
      std::copy_n(data + begin, size, step);
      if (header.big_endian) SwapByteOrder(header.type, {step, size});
    });
    data = copy->data();
    owner = std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<Buffer>>>(
        std::move(owner), std::move(copy));
  }
  return {{data, header.type, LayoutOf(header)}, std::move(owner), bytes};
}

LoadedTensor LoadNpy(const std::string& path) {
  if (path == kStandardStream || path == "/dev/stdin") return LoadNpyFromStandardInput();
  const auto file = std::make_shared<const InputFile>(InputFile::Open(path));
  return FromNpyBytes(file->bytes(), file, path);
}

LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc,
                       const std::string& name) {
  if (tensor.view.type != *desc.data_type) {
    Fail(name, fmt::format("has the data type {}; expected {}", Name(tensor.view.type),
                           Name(*desc.data_type)));
  }
  LoadedTensor fitted = tensor;
  Layout& layout = fitted.view.layout;
  if (layout.sizes.empty()) layout = {{1}, {1}};
  const Layout expected = LayoutOf(desc);
  Dims strides = expected.strides;  // where the desc puts the elements that the file has
  bool fits = layout.rank() == expected.rank();
  for (size_t d = 0; fits && d < layout.rank(); ++d) {
    if (layout.sizes[d] == expected.sizes[d]) continue;
    fits = layout.sizes[d] == 1 && expected.strides[d] == 0;
  }
  if (!fits) {
    Fail(name, fmt::format("has the shape {}; expected {}", Braces(tensor.view.layout.sizes),
                           Braces(expected.sizes)));
  }
  if (HasOverlap({layout.sizes, strides})) CheckSharedPlaces(fitted.view, strides, name);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != expected.sizes[d]) layout.strides[d] = 0;
  }
  layout.sizes = expected.sizes;
  return fitted;
}

LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc) {
  if (FormatOf(path) == FileFormat::kRaw) return LoadRaw(path, desc);
  return FitToDesc(LoadNpy(path), desc, path == kStandardStream ? "standard input" : path);
}

// --- outputs -------------------------------------------------------------------------------------

// Smaller outputs are composed in memory, larger ones in their file.
constexpr size_t kLargeFile = size_t{16} << 20;

struct OutputTensor::Storage {
  std::string path;                // empty: in memory only
  size_t data_begin = 0;           // the header's size
  std::optional<OutputFile> file;  // none for streams
  std::optional<Buffer> buffer;    // none for large files

  std::span<std::byte> span() {
    if (!buffer) return file->bytes();
    return {buffer->data(), buffer->size()};
  }
};

OutputTensor::OutputTensor(std::unique_ptr<Storage> storage, DataType type, const Layout& layout)
    : storage_(std::move(storage)), type_(type), layout_(layout) {}
OutputTensor::OutputTensor(OutputTensor&&) noexcept = default;
OutputTensor& OutputTensor::operator=(OutputTensor&&) noexcept = default;
OutputTensor::~OutputTensor() = default;

OutputTensor OutputTensor::ToFile(const std::string& path, const TensorDesc& desc) {
  const bool npy = FormatOf(path) == FileFormat::kNpy;
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const Layout layout = npy ? PackedLayout(sizes) : LayoutOf(desc);
  const std::string header = npy ? FormatNpyHeader(*desc.data_type, sizes) : "";
  const size_t size =
      npy ? header.size() + static_cast<size_t>(layout.element_count()) * ByteWidth(*desc.data_type)
          : static_cast<size_t>(SizeInBytes(desc));

  auto storage = std::make_unique<Storage>();
  storage->path = path;
  storage->data_begin = header.size();
  const bool is_stream = path == kStandardStream || IsStream(path);
  if (!is_stream) storage->file.emplace(path, size);
  if (is_stream || size < kLargeFile) {
    storage->buffer.emplace(size);
  } else {
    storage->file->Reserve();
  }
  OutputTensor output(std::move(storage), *desc.data_type, layout);
  output.WriteAt(0, std::as_bytes(std::span(header)));
  return output;
}

OutputTensor OutputTensor::InMemory(const TensorDesc& desc) {
  const Layout layout = PackedLayout(Dims(desc.sizes->begin(), desc.sizes->end()));
  auto storage = std::make_unique<Storage>();
  storage->buffer.emplace(static_cast<size_t>(layout.element_count()) * ByteWidth(*desc.data_type));
  return OutputTensor(std::move(storage), *desc.data_type, layout);
}

bool OutputTensor::is_in_memory() const {
  return storage_->buffer.has_value();
}

void OutputTensor::Write(int64_t begin, std::span<const std::byte> bytes) {
  WriteAt(storage_->data_begin + static_cast<size_t>(begin), bytes);
}

void OutputTensor::WriteAt(size_t begin, std::span<const std::byte> bytes) {
  if (!storage_->buffer) return storage_->file->Write(begin, bytes);
  std::copy(bytes.begin(), bytes.end(), storage_->buffer->data() + begin);
}

TensorView OutputTensor::view() const {
  return {storage_->span().data() + storage_->data_begin, type_, layout_};
}

std::span<const std::byte> OutputTensor::bytes() const {
  return storage_->span();
}

void OutputTensor::Flush() {
  Storage& storage = *storage_;
  if (storage.file) {
    if (storage.buffer) storage.file->Write(0, storage.buffer->bytes());
    storage.file->Close();
  } else if (storage.path == kStandardStream) {
    const Work work("writing standard output", static_cast<int64_t>(storage.span().size()));
    WriteAll(STDOUT_FILENO, storage.span(), "standard output");
  } else if (!storage.path.empty()) {
    WriteStream(storage.path, storage.span());
  }
}

void OutputTensor::Publish() {
  if (storage_->file) storage_->file->Publish();
}

void OutputTensor::Keep() {
  if (storage_->file) storage_->file->Keep();
}

}  // namespace dmlop
