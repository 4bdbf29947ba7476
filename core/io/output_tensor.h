// Tensors that are written to files, or printed; tensor_file.h says what files hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/io/output_set.h"
#include "core/io/tensor_file.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// FormatOf a file to be written. Throws an Error of kind kUsage for archives, too.
FileFormat OutputFormatOf(const std::string& path);

// Where outputs are staged. On the disk that is the file itself or, for a stream or no file, a
// scratch file; so outputs may be larger than memory.
enum class Staging { kInMemory, kOnDisk };

// On the disk if the outputs together are large.
Staging StagingFor(std::span<const TensorDesc* const> outputs);

// A tensor to be written to a file, or to be printed. Nothing of a file is visible before its set
// is published.
class OutputTensor {
 public:
  // Into a file or, for "-", standard output.
  static OutputTensor ToFile(const std::string& path, const TensorDesc& desc, Staging staging);
  // To be printed or compared only.
  static OutputTensor ToNoFile(const TensorDesc& desc, Staging staging);

  OutputTensor(OutputTensor&&) noexcept;
  OutputTensor& operator=(OutputTensor&&) noexcept;
  ~OutputTensor();

  DataType type() const { return type_; }
  const Layout& layout() const { return layout_; }

  // False for what is staged on the disk, which is better written in parts than through its view.
  bool is_in_memory() const;

  // Writes a part, `begin` bytes after the first element.
  void Write(int64_t begin, std::span<const std::byte> bytes);

  // All elements, to be written and read; all zero at first.
  TensorView view() const;

  // The file's bytes, complete once all elements are written.
  std::span<const std::byte> bytes() const;

  // Ends writing: what goes to a stream is written there, a file is one of the set's from now on.
  void Flush(OutputSet& files);

 private:
  struct Storage;
  OutputTensor(std::unique_ptr<Storage> storage, DataType type, const Layout& layout);

  // `begin` counts from the beginning of the file.
  void WriteAt(size_t begin, std::span<const std::byte> bytes);

  std::unique_ptr<Storage> storage_;
  DataType type_;
  Layout layout_;
};

}  // namespace dmlop
