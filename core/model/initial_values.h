// What a resource of a DxDispatch model starts with: "initialValues" and "initialValuesDataType".
//
//   RES-1   no initializer, or none that is known, or an empty one
//   RES-2   the data type is missing, or cannot be used so
//   RES-4   images and deferred values, which only other kinds of models have
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

inline constexpr std::string_view kImageExtensions[] = {".jpg", ".jpeg", ".png"};

struct InitialValues {
  // [1, 2.5], or a mixed list such as [{"type": "UINT32", "value": 6}].
  struct List {
    std::vector<std::byte> bytes;
  };
  struct Sequence {
    ValueSequence values;
    uint32_t count;
  };
  // .npy, or raw bytes.
  struct File {
    std::string source_path;
    JsonCursor place;
  };

  DataType type = DataType::kUnknown;  // of a mixed list, or for the .npy file to say
  std::variant<List, Sequence, File> source;
};

// Whether there are values of the type: not of 4 bits, which are given as bytes.
bool HasValues(DataType type);

// False for what cannot stand in a list of mixed types.
bool CanBeMixed(DataType type);

// Reads both fields of a resource. Faults are reported.
std::optional<InitialValues> ReadInitialValues(JsonCursor resource, const ValueReader& values);

// What DxDispatch takes a file for, by its extension in any case: an array with its type, or an
// image. Others are raw bytes.
bool IsNpy(const std::string& path);

// The same of a file that is read, which may be an array of an archive.
bool IsNpyInput(const std::string& path);
bool IsImage(const std::string& path);

}  // namespace dmlop
