// SPDX-License-Identifier: Apache-2.0
// Tensors to be written to files, or printed; tensor_file.h defines the content of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/io/output_file.h"
#include "core/io/tensor_file.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// Returns FormatOf a file to be written. Throws an Error of kind kUsage for archives, too.
FileFormat OutputFormatOf(const std::string& path);

// Outputs are staged in memory or on the disk: in the file itself or, for a stream or no file, in a
// scratch file. They may thus be larger than memory.
enum class Staging { kInMemory, kOnDisk };

// Returns kOnDisk if the outputs together are large.
Staging StagingFor(std::span<const TensorDesc* const> outputs);

// Facts that a file states about its tensor beyond the desc. ONNX has scalars, bool and names.
struct StoredForm {
  std::string name = {};           // in .pb
  std::optional<Dims> shape = {};  // of as many elements as the desc's Sizes, which it replaces
  bool is_bool = false;            // BOOL in .pb, for UINT8
};

// A tensor to be written to a file, or printed. No file is visible before its set is published.
class OutputTensor {
 public:
  // The tensor goes to a file or, for "-", to standard output. Throws an Error of kind kUsage for a
  // picture that cannot hold it.
  static OutputTensor ToFile(const std::string& path, const TensorDesc& desc, Staging staging,
                             const StoredForm& form = {});
  // The tensor is only printed or compared.
  static OutputTensor ToNoFile(const TensorDesc& desc, Staging staging);

  OutputTensor(OutputTensor&&) noexcept;
  OutputTensor& operator=(OutputTensor&&) noexcept;
  ~OutputTensor();

  DataType type() const { return type_; }
  const Layout& layout() const { return layout_; }

  // If false, the tensor is staged on the disk, where parts are better written by Write than
  // through the view.
  bool is_in_memory() const;

  // Writes a part, `begin` bytes after the first element.
  void Write(int64_t begin, std::span<const std::byte> bytes);

  // Returns all elements, for writing and reading; initially zero.
  TensorView view() const;

  // Returns the file's bytes, complete once all elements are written.
  std::span<const std::byte> bytes() const;

  // Ends writing: what goes to a stream is written there, and a file joins the set.
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
