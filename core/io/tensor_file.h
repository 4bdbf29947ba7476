// SPDX-License-Identifier: Apache-2.0
// Tensors in files; tensor_file.h defines which file holds what. NumPy has no elements of 4 bits:
// in .npy they are int8 or uint8 with their values, whereas in a physical buffer two share a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// --- paths ---------------------------------------------------------------------------------------

// The meaning of a tensor's path. The extension tells what a file holds:
//
//   .npy              the logical tensor: its shape is Sizes, whatever the desc's strides
//   .pb               the logical tensor as ONNX's test data have it (tensor_proto.h)
//   .png .jpg .jpeg   a picture (picture_file.h)
//   .bin .dat .raw    the physical buffer, TotalTensorSizeInBytes long
//   x.bin@1024        the buffer that begins at a byte of such a file, to be read only
//   x.npz:a           the array a of an archive, to be read only
//   -                 the next .npy array of standard input or output
//
// Devices, pipes and open files (/dev/fd/3) carry .npy arrays, whatever their name.

enum class FileFormat { kNpy, kPb, kPicture, kRaw };

// Returns whether files of a format tell the type and the shape of their tensor.
inline bool IsDescribedBy(FileFormat format) {
  return format == FileFormat::kNpy || format == FileFormat::kPb;
}

struct TensorExtension {
  std::string_view extension;
  FileFormat format;
};

inline constexpr TensorExtension kTensorExtensions[] = {
    {".npy", FileFormat::kNpy},     {".pb", FileFormat::kPb},       {".bin", FileFormat::kRaw},
    {".dat", FileFormat::kRaw},     {".raw", FileFormat::kRaw},     {".png", FileFormat::kPicture},
    {".jpg", FileFormat::kPicture}, {".jpeg", FileFormat::kPicture}};

// Returns the extensions of one format.
std::vector<std::string_view> ExtensionsOf(FileFormat format);

// Returns what the extension of a path says alone, in any case; nothing for other extensions.
std::optional<FileFormat> FormatByExtension(std::string_view path);

// Parses a number of bytes, decimal or hexadecimal after 0x; empty for any other text.
std::optional<uint64_t> ParseOffset(std::string_view text);

// The meaning of a path of raw memory: "x.bin@1024" is what begins at that byte of x.bin, unless a
// file has the whole path as its name.
struct RawPath {
  std::string file;
  std::optional<uint64_t> offset;
};
RawPath ParseRawPath(const std::string& path);

// Returns the file that is opened for a path: the archive of an array, the file that an offset
// belongs to, or the path itself.
std::string FileOf(const std::string& path);

// Opens the bytes that a path names: a file, a member of an archive, or a file from an offset on.
InputFile OpenBytes(const std::string& path, size_t stream_limit = 0);

// Returns the format of a path; nothing for an extension that is not listed above.
std::optional<FileFormat> FindFormat(const std::string& path);

// Does the same. Throws an Error of kind kUsage for an extension that is not listed above, and of
// kind kFileSystem for a folder of such a name.
FileFormat FormatOf(const std::string& path);

// True for the extensions of raw files.
bool IsRaw(std::string_view path);

// Returns true for the extensions of the list, but for pictures, which mostly are no tensors.
bool HasTensorExtension(const std::string& path);

// --- tensors -------------------------------------------------------------------------------------

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

// The name that files of bfloat16 are told by, which is no type of DirectML.
inline constexpr const char* kBfloat16Name = "BFLOAT16";

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
