// SPDX-License-Identifier: Apache-2.0
// The initial content of a DxDispatch resource: "initialValues" and "initialValuesDataType".
//
//   RES-1   the initializer is missing, unknown or empty
//   RES-2   the data type is missing, or cannot be used here
//   RES-4   a picture that is to become what no tensor is, or by other means than scaling
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/document/value_reader.h"
#include "core/document/value_sequence.h"
#include "core/tensor/data_type.h"

namespace dmlop {

struct InitialValues {
  // A list like [1, 2.5], or a mixed one like [{"type": "UINT32", "value": 6}].
  struct List {
    std::vector<std::byte> bytes;
  };
  struct Sequence {
    ValueSequence values;
    uint32_t count;
  };
  // A .npy file, raw bytes, or a picture, which without sizes has its own.
  struct File {
    std::string source_path;
    JsonCursor place;
    bool is_picture = false;
    std::optional<Dims> picture_sizes = std::nullopt;
  };

  DataType type = DataType::kUnknown;  // unknown for a mixed list, or if the .npy file defines it
  std::variant<List, Sequence, File> source;
  bool is_deferred = false;  // zeros, as many as the output of an ONNX model that is bound
};

// Whether values of the type can be given: not those of 4 bits, which are given as bytes.
bool HasValues(DataType type);

// Returns false for types that a list of mixed types cannot contain.
bool CanBeMixed(DataType type);

// Reads both fields of a resource, and reports faults.
std::optional<InitialValues> ReadInitialValues(JsonCursor resource, const ValueReader& values);

// Return what DxDispatch takes a file for, by its extension in any case: an array with its type, or
// an image. Others are raw bytes.
bool IsNpy(const std::string& path);

// Returns IsNpy for a file that is read, which may be an array in an archive.
bool IsNpyInput(const std::string& path);
bool IsImage(const std::string& path);

}  // namespace dmlop
