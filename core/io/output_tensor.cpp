// SPDX-License-Identifier: Apache-2.0
#include "core/io/output_tensor.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/spool.h"
#include "core/tensor/nibbles.h"

namespace dmlop {

struct OutputTensor::Storage {
  std::string path;                    // empty for no file
  size_t data_begin = 0;               // size of the header
  std::optional<OutputFile> file;      // none for streams
  std::optional<Buffer> buffer;        // staging in memory
  std::optional<ScratchFile> scratch;  // staging on the disk, apart from the file
  bool packs_nibbles = false;  // nibbles are packed into the file once all elements are written
  bool is_packed = false;      // that is done

  // Returns the staging file.
  WritableFile& on_disk() {
    if (scratch) return *scratch;
    return *file;
  }
  std::span<std::byte> span() {
    if (!buffer) return on_disk().bytes();
    return {buffer->data(), buffer->size()};
  }

  // Makes room for all bytes of the tensor, which the file has as well unless nibbles are packed.
  void Make(Staging staging, size_t size) {
    if (staging == Staging::kInMemory) {
      buffer.emplace(size);
      return;
    }
    // The file's space is reserved first: twice an impossible size may look possible.
    if (file) file->Reserve();
    if (file && !packs_nibbles) return;
    scratch.emplace(size);
    scratch->Reserve();
  }

  void PackNibbles() {
    if (!packs_nibbles || is_packed) return;
    const std::span<const std::byte> elements = span();
    std::vector<std::byte> packed;
    ForEachStep(elements.size() / 2, [&](size_t begin, size_t size) {
      packed.resize(size);
      dmlop::PackNibbles(elements.subspan(2 * begin, 2 * size), packed);
      file->Write(begin, packed);
    });
    is_packed = true;
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

OutputTensor OutputTensor::ToFile(const std::string& path, const TensorDesc& desc,
                                  Staging staging) {
  const bool is_stream = path == kStandardStream || IsStream(path);
  const bool npy = OutputFormatOf(path) == FileFormat::kNpy;
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const Layout layout = npy ? PackedLayout(sizes) : LayoutOf(desc);
  const std::string header = npy ? FormatNpyHeader(StoredAs(*desc.data_type), sizes) : "";
  const size_t size =
      npy ? header.size() + static_cast<size_t>(layout.element_count()) * ByteWidth(*desc.data_type)
          : static_cast<size_t>(SizeInBytes(desc));

  auto storage = std::make_unique<Storage>();
  storage->path = path;
  storage->data_begin = header.size();
  if (!is_stream) storage->file.emplace(path, size);
  storage->packs_nibbles = !npy && HasNibbles(*desc.data_type);
  storage->Make(staging, storage->packs_nibbles ? 2 * size : size);
  OutputTensor output(std::move(storage), *desc.data_type, layout);
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
  if (!storage_->packs_nibbles) return storage_->span();
  storage_->PackNibbles();
  return storage_->file->bytes();
}

void OutputTensor::Flush(OutputSet& files) {
  Storage& storage = *storage_;
  if (storage.file) {
    storage.PackNibbles();
    if (storage.buffer && !storage.packs_nibbles) storage.file->Write(0, storage.buffer->bytes());
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
