// SPDX-License-Identifier: Apache-2.0
#include "core/io/output_tensor.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/picture_file.h"
#include "core/io/tensor_proto.h"
#include "core/tensor/nibbles.h"

namespace dmlop {

struct OutputTensor::Storage {
  std::string path;       // empty for no file
  std::string header;     // the bytes of the file before the elements; in the end, all of a picture
  size_t data_begin = 0;  // size of the header, where it is staged with the elements
  std::optional<OutputFile> file;      // none for streams
  std::optional<Buffer> buffer;        // staging in memory
  std::optional<ScratchFile> scratch;  // staging on the disk, apart from the file
  std::optional<ImageForm> image;      // of a picture
  bool packs_nibbles = false;
  // The file does not have the elements as they are staged, or not aligned to their size; it is
  // written once they are all there.
  bool is_apart = false;
  bool is_written = false;  // that is done

  // Returns the staging file.
  WritableFile& on_disk() {
    if (scratch) return *scratch;
    return *file;
  }
  std::span<std::byte> span() {
    if (!buffer) return on_disk().bytes();
    return {buffer->data(), buffer->size()};
  }

  // Makes room for all bytes of the tensor, which the file has as well unless it is apart.
  void Make(Staging staging, size_t size) {
    if (staging == Staging::kInMemory) {
      buffer.emplace(size);
      return;
    }
    // The file's space is reserved first: twice an impossible size may look possible.
    if (file && !image) file->Reserve();
    if (file && !is_apart) return;
    scratch.emplace(size);
    scratch->Reserve();
  }

  void PackNibbles(std::span<const std::byte> elements) {
    std::vector<std::byte> packed;
    ForEachStep(elements.size() / 2, [&](size_t begin, size_t size) {
      packed.resize(size);
      dmlop::PackNibbles(elements.subspan(2 * begin, 2 * size), packed);
      file->Write(header.size() + begin, packed);
    });
  }

  // Writes a file that is apart from its elements.
  void WriteApart() {
    if (!is_apart || is_written) return;
    is_written = true;
    if (image) {
      header = EncodePicture(path, *image, span());
      return file->Write(0, std::as_bytes(std::span(header)));
    }
    file->Write(0, std::as_bytes(std::span(header)));
    if (packs_nibbles) return PackNibbles(span());
    ForEachStep(span().size(), [&](size_t begin, size_t size) {
      file->Write(header.size() + begin, span().subspan(begin, size));
    });
  }
};

FileFormat OutputFormatOf(const std::string& path) {
  if (IsNpz(path) || ParseNpzPath(path)) {
    throw Error(ErrorKind::kUsage, path + ": arrays are not written into archives");
  }
  if (ParseRawPath(path).offset) {
    throw Error(ErrorKind::kUsage, path + ": tensors are not written at an offset of a file");
  }
  return FormatOf(path);
}

OutputTensor::OutputTensor(std::unique_ptr<Storage> storage, DataType type, const Layout& layout)
    : storage_(std::move(storage)), type_(type), layout_(layout) {}
OutputTensor::OutputTensor(OutputTensor&&) noexcept = default;
OutputTensor& OutputTensor::operator=(OutputTensor&&) noexcept = default;
OutputTensor::~OutputTensor() = default;

Staging StagingFor(std::span<const TensorDesc* const> outputs) {
  uint64_t left = kLargeFile;
  for (const TensorDesc* output : outputs) {
    const uint64_t size = SizeInBytes(*output);
    if (size >= left) return Staging::kOnDisk;
    left -= size;
  }
  return Staging::kInMemory;
}

namespace {

std::string HeaderOf(FileFormat format, const TensorDesc& desc, const StoredForm& form) {
  const Dims shape = form.shape.value_or(Dims(desc.sizes->begin(), desc.sizes->end()));
  if (format == FileFormat::kNpy) return FormatNpyHeader(StoredAs(*desc.data_type), shape);
  if (format != FileFormat::kPb) return "";
  const auto count = static_cast<uint64_t>(Product(shape));
  return FormatTensorProto(OnnxTypeOf(*desc.data_type, form.is_bool), shape, form.name,
                           BufferBytes(*desc.data_type, count));
}

}  // namespace

OutputTensor OutputTensor::ToFile(const std::string& path, const TensorDesc& desc, Staging staging,
                                  const StoredForm& form) {
  const FileFormat format = OutputFormatOf(path);
  const bool is_buffer = format == FileFormat::kRaw;
  const DataType type = *desc.data_type;
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const Layout layout = is_buffer ? LayoutOf(desc) : PackedLayout(sizes);
  auto storage = std::make_unique<Storage>();
  storage->path = path;
  storage->header = HeaderOf(format, desc, form);
  if (format == FileFormat::kPicture) {
    storage->image = ImageFormOf(type, sizes, path, ErrorKind::kUsage);
  }
  storage->packs_nibbles = format != FileFormat::kNpy && HasNibbles(type);
  storage->is_apart = storage->packs_nibbles || storage->image || format == FileFormat::kPb;
  storage->data_begin = storage->is_apart ? 0 : storage->header.size();
  const uint64_t count = static_cast<uint64_t>(layout.element_count());
  const size_t size = is_buffer                ? SizeInBytes(desc)
                      : storage->packs_nibbles ? BufferBytes(type, count)
                                               : count * ByteWidth(type);
  if (path != kStandardStream && !IsStream(path)) {
    storage->file.emplace(path, storage->header.size() + size);
  }
  storage->Make(staging, storage->data_begin + (storage->packs_nibbles ? 2 * size : size));
  const std::string header = storage->is_apart ? "" : storage->header;
  OutputTensor output(std::move(storage), type, layout);
  output.WriteAt(0, std::as_bytes(std::span(header)));
  return output;
}

OutputTensor OutputTensor::ToNoFile(const TensorDesc& desc, Staging staging) {
  const Layout layout = PackedLayout(Dims(desc.sizes->begin(), desc.sizes->end()));
  auto storage = std::make_unique<Storage>();
  storage->Make(staging, static_cast<size_t>(layout.element_count()) * ByteWidth(*desc.data_type));
  return OutputTensor(std::move(storage), *desc.data_type, layout);
}

bool OutputTensor::is_in_memory() const {
  return storage_->buffer.has_value();
}

void OutputTensor::Write(int64_t begin, std::span<const std::byte> bytes) {
  WriteAt(storage_->data_begin + static_cast<size_t>(begin), bytes);
}

void OutputTensor::WriteAt(size_t begin, std::span<const std::byte> bytes) {
  if (!storage_->buffer) return storage_->on_disk().Write(begin, bytes);
  std::copy(bytes.begin(), bytes.end(), storage_->buffer->data() + begin);
}

TensorView OutputTensor::view() const {
  return {storage_->span().data() + storage_->data_begin, type_, layout_};
}

std::span<const std::byte> OutputTensor::bytes() const {
  if (!storage_->is_apart) return storage_->span();
  storage_->WriteApart();
  if (storage_->image) return std::as_bytes(std::span(storage_->header));
  return storage_->file->bytes();
}

void OutputTensor::Flush(OutputSet& files) {
  Storage& storage = *storage_;
  if (storage.file) {
    storage.WriteApart();
    if (storage.buffer && !storage.is_apart) storage.file->Write(0, storage.buffer->bytes());
    files.Add(*std::move(storage.file));
    storage.file.reset();
  } else if (storage.path == kStandardStream) {
    const Work work("writing standard output", static_cast<int64_t>(storage.span().size()));
    WriteInSteps(STDOUT_FILENO, storage.span(), "standard output");
  } else if (!storage.path.empty()) {
    WriteStream(storage.path, {storage.span()});
  }
}

}  // namespace dmlop
