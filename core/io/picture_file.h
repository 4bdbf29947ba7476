// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files as tensors, as DxDispatch has them on Windows: a byte of a pixel is a float,
// the byte divided by 255. A tensor has 1 channel (gray), 3 (RGB) or 4 (RGBA) in front of height
// and width, or else behind them; all dimensions before these have size 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/io/tensor_file.h"

namespace dmlop {

// The roles of a tensor's dimensions in a picture.
struct ImageForm {
  int64_t height;
  int64_t width;
  int64_t channels;
  bool channels_last;
  DataType type;  // FLOAT32, FLOAT16, or UINT8 for the bytes themselves
};

// Throws an Error of kind `kind` for a tensor that is no picture; `name` begins the message.
ImageForm ImageFormOf(DataType type, const Dims& sizes, const std::string& name, ErrorKind kind);

struct Pixels {
  std::string_view kind;  // "PNG" or "JPEG"
  int64_t height;
  int64_t width;
  int64_t channels;              // of the file
  std::vector<std::byte> bytes;  // red, green, blue, alpha of each pixel, row by row
};

// Decodes a file. Errors are of kind kTensorFile; `name` is for messages.
Pixels DecodePicture(std::span<const std::byte> file, const std::string& name);

// Returns the elements of a picture of the form's size, in row-major order.
std::vector<std::byte> ElementsOf(const Pixels& pixels, const ImageForm& form);

// Load a picture: its bytes as UINT8 of the sizes {height, width, channels}, or the tensor of a
// valid desc, whose height and width it has.
LoadedTensor LoadPixels(const std::string& path);
LoadedTensor LoadPicture(const std::string& path, const TensorDesc& desc);

// Returns the file of a tensor, in the format of the path's extension. Elements are clamped to 0
// and 1, multiplied by 255 in FLOAT32 and truncated.
std::string EncodePicture(const std::string& path, const ImageForm& form,
                          std::span<const std::byte> elements);

}  // namespace dmlop
