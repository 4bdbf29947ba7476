// Tensors in files; tensor_path.h says which file holds what. NumPy has no elements of 4 bits: in
// .npy they are int8 or uint8 with their values, in a physical buffer two share a byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/io/npy.h"
#include "core/io/tensor_path.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// Which arrays fit a tensor: those of its shape, or all that have as many elements.
enum class FileShapes { kAsTheyAre, kByCount };

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

// What a .npy file says of its array.
struct StoredArray {
  DataType type;
  bool is_bool;
  const Dims& shape;
};

// Fails where an array of a .npy file cannot be the logical tensor of a valid desc. Elements of 4
// bits are those of an array of bytes. Returns the shape that the array is to be taken in.
Dims RequireFit(const StoredArray& array, const TensorDesc& desc, FileShapes shapes,
                const std::string& name);

// The elements of `tensor`, whose source is called `name`, as the logical tensor of a valid desc:
// types and shapes agree, and elements that share a place in the desc's layout have equal values. A
// dimension of stride 0 takes a size of 1; {1} takes a scalar. Arrays of another shape are taken in
// row-major order, where their shapes do not count.
LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc, const std::string& name,
                       FileShapes shapes = FileShapes::kAsTheyAre);

// The same elements in a shape that has as many, in row-major order, where shapes do not count;
// else the tensor itself.
LoadedTensor ByCount(LoadedTensor tensor, const Dims& sizes, const std::string& name,
                     FileShapes shapes);

// What a file holds for an input with a valid desc.
LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc,
                       FileShapes shapes = FileShapes::kAsTheyAre);

// The raw file of a valid desc, which is as long as the tensor; `longer` ends the message where it
// is longer. With an offset in the path, the tensor begins there, and more may follow.
LoadedTensor LoadRaw(const std::string& path, const TensorDesc& desc, std::string_view longer = "",
                     Placement placement = Placement::kAligned);

}  // namespace dmlop
