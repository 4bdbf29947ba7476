// SPDX-License-Identifier: Apache-2.0
// Pictures as the initial values of resources, and as files that commands write.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/io/file.h"
#include "core/tensor/data_type.h"
#include "core/tensor/dims.h"

namespace dmlop {

// The elements of a picture as FLOAT32 or FLOAT16.
struct PictureValues {
  std::vector<std::byte> elements;
  bool is_scaled;  // to other sizes than the file's
};

// Decodes a file as a tensor of the sizes "resampleSize" or, without them, of the picture's own,
// [1, C, H, W]. Throws an Error of kind kTensorFile.
PictureValues ReadPicture(const InputFile& file, const std::string& path, DataType type,
                          const std::optional<Dims>& sizes);

}  // namespace dmlop
