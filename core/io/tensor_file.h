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

// Where the elements of a loaded tensor lie: aligned to their size, or as the file has them.
enum class Placement { kAligned, kAsStored };

// A view with whatever keeps its bytes alive.
struct LoadedTensor {
  ConstTensorView view;
  std::shared_ptr<const void> storage;
  std::span<const std::byte> file_bytes;  // of the whole file; empty where there is none
  bool is_bool = false;                   // NumPy's, whose elements are taken for UINT8
};

// "BOOL", or the name of the view's type.
std::string_view TypeName(const LoadedTensor& tensor);

// The array of a .npy file, or the next one of standard input for "-", in its own layout and in the
// machine's byte order. Errors are of kind kTensorFile or kFileSystem. Elements of bfloat16 become
// FLOAT32.
LoadedTensor LoadNpy(const std::string& path, NpyTypes types = NpyTypes::kOfDirectML,
                     Placement placement = Placement::kAligned);

// The same tensor with aligned elements: a copy where the file has them elsewhere, as archives that
// NumPy writes do. `name` is the file's.
LoadedTensor Aligned(LoadedTensor tensor, const std::string& name);

// The array in the bytes of a whole .npy file called `name`, which `owner` keeps alive.
LoadedTensor FromNpyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, NpyTypes types = NpyTypes::kOfDirectML,
                          Placement placement = Placement::kAligned);

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

}  // namespace dmlop
