// SPDX-License-Identifier: Apache-2.0
// Tensors in files; tensor_path.h defines which file holds what. NumPy has no elements of 4 bits:
// in .npy they are int8 or uint8 with their values, whereas in a physical buffer two share a byte.
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

// A tensor takes arrays of its shape, or all with the same number of elements.
enum class FileShapes { kAsTheyAre, kByCount };

// The elements of a loaded tensor are aligned to their size, or placed as in the file.
enum class Placement { kAligned, kAsStored };

// A view, with its storage, which keeps its bytes alive.
struct LoadedTensor {
  ConstTensorView view;
  std::shared_ptr<const void> storage;
  std::span<const std::byte> file_bytes;  // the whole file; empty if there is none
  bool is_bool = false;                   // NumPy's or ONNX's, whose elements are taken for UINT8
  bool is_bfloat16 = false;               // whose elements are taken for FLOAT32
  std::string picture = {};               // such as "PNG picture of 7 x 5 pixels, 3 channels"
};

// "BOOL", or the name of the view's type.
std::string_view TypeName(const LoadedTensor& tensor);

// Loads the tensor of a file that describes it, or the next .npy array of standard input for "-",
// in its own layout and in the machine's byte order; a picture is loaded as the bytes of its
// pixels. Errors are of kind kTensorFile or kFileSystem. Elements of bfloat16 become FLOAT32.
LoadedTensor LoadArray(const std::string& path, NpyTypes types = NpyTypes::kOfDirectML,
                       Placement placement = Placement::kAligned);

// Returns the same tensor with aligned elements: a copy if the file has them elsewhere, as in
// archives that NumPy writes. `name` is the file's.
LoadedTensor Aligned(LoadedTensor tensor, const std::string& name);

// Loads the array in the bytes of a whole .npy file called `name`, which `owner` keeps alive.
LoadedTensor FromNpyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, NpyTypes types = NpyTypes::kOfDirectML,
                          Placement placement = Placement::kAligned);

// The header of a .npy file, as far as it describes the array.
struct StoredArray {
  DataType type;
  bool is_bool;
  const Dims& shape;
};

// Fails if an array of a .npy file cannot be the logical tensor of a valid desc. Elements of 4 bits
// come as arrays of bytes. Returns the shape in which the array is to be taken.
Dims RequireFit(const StoredArray& array, const TensorDesc& desc, FileShapes shapes,
                const std::string& name);

// Fits the elements of `tensor`, whose source is called `name`, to the logical tensor of a valid
// desc: types and shapes must agree, and elements that share a position in the desc's layout must
// have equal values. A dimension of stride 0 accepts a size of 1; {1} accepts a scalar. With
// kByCount, arrays of another shape are taken in row-major order.
LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc, const std::string& name,
                       FileShapes shapes = FileShapes::kAsTheyAre);

// Returns the same elements in a shape with as many, in row-major order, if `shapes` is kByCount;
// otherwise the tensor itself.
LoadedTensor ByCount(LoadedTensor tensor, const Dims& sizes, const std::string& name,
                     FileShapes shapes);

// Loads an input with a valid desc from a file.
LoadedTensor LoadInput(const std::string& path, const TensorDesc& desc,
                       FileShapes shapes = FileShapes::kAsTheyAre);

// Loads the raw file of a valid desc, which is as long as the tensor; `longer` ends the message if
// it is longer. If the path has an offset, the tensor begins there, and more may follow.
LoadedTensor LoadRaw(const std::string& path, const TensorDesc& desc, std::string_view longer = "",
                     Placement placement = Placement::kAligned);

}  // namespace dmlop
