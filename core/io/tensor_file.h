// Tensors in files. The extension says what a file holds:
//
//   .npy              the logical tensor: its shape is Sizes, whatever the desc's strides
//   .bin .dat .raw    the physical buffer, TotalTensorSizeInBytes long
//   x.npz:a           the array a of an archive, to be read only
//   -                 the next .npy array of standard input or output
//
// Devices, pipes and open files (/dev/fd/3) carry .npy arrays, whatever their name. NumPy has no
// elements of 4 bits: in .npy they are int8 or uint8 with their values, in a physical buffer two
// share a byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/io/npy.h"
#include "core/io/output_set.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

enum class FileFormat { kNpy, kRaw };

inline constexpr std::string_view kRawExtensions[] = {".bin", ".dat", ".raw"};

// Throws an Error of kind kUsage for an extension that is not in the list, of kind kFileSystem for
// a folder of such a name.
FileFormat FormatOf(const std::string& path);

// True for the extensions of the list and .npy.
bool HasTensorExtension(const std::string& path);

// A view with whatever keeps its bytes alive.
struct LoadedTensor {
  ConstTensorView view;
  std::shared_ptr<const void> storage;
  std::span<const std::byte> file_bytes;  // of the whole file; empty where there is none
};

// Whether it is a .npy file of NumPy's bool, whose elements are taken for UINT8.
bool HoldsBool(const LoadedTensor& tensor);

// The array of a .npy file, or the next one of standard input for "-", in its own layout and in the
// machine's byte order. Errors are of kind kTensorFile or kFileSystem.
// Elements of bfloat16 become FLOAT32.
LoadedTensor LoadNpy(const std::string& path, NpyTypes types = NpyTypes::kOfDirectML);

// The array in the bytes of a whole .npy file called `name`, which `owner` keeps alive.
LoadedTensor FromNpyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, NpyTypes types = NpyTypes::kOfDirectML);

// The elements of `tensor`, whose source is called `name`, as the logical tensor of a valid desc:
// types and shapes agree, and elements that share a place in the desc's layout have equal values. A
// dimension of stride 0 takes a size of 1; {1} takes a scalar.
LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc, const std::string& name);

// What a file holds for an input with a valid desc.
LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc);

// The raw file of a valid desc, which is as long as the tensor; `longer` tells in messages how a
// longer one is declared. With an offset in bytes, the tensor begins there, and more may follow.
LoadedTensor LoadRaw(const std::string& path, const TensorDesc& desc, std::string_view longer,
                     std::optional<uint64_t> offset = std::nullopt);

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
