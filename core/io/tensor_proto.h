// SPDX-License-Identifier: Apache-2.0
// ONNX's TensorProto: a tensor in protobuf's wire format, as in the .pb files of ONNX's test data
// and in the initializers of models. Its numbers are defined in onnx.proto3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/io/tensor_file.h"

namespace dmlop {

// A type of ONNX's elements (TensorProto.DataType).
struct OnnxType {
  int32_t number;
  std::string_view name;               // "FLOAT", "BOOL", ...
  DataType type = DataType::kUnknown;  // unknown if DirectML has no such type
  bool is_bool() const { return name == "BOOL"; }
};

// Returns a type without a name for a number that ONNX has not given.
OnnxType OnnxTypeOf(int32_t number);

// Returns ONNX's type of a DirectML type, or BOOL.
OnnxType OnnxTypeOf(DataType type, bool is_bool);

// The contents of a message, without a look at its elements; all views are of the message's bytes.
struct TensorProto {
  std::string_view name = {};
  OnnxType type = {};
  Dims shape = {};  // may be empty (a scalar) or have zeros
  std::optional<std::span<const std::byte>> raw_data = {};

  // The place of the elements if they are outside of the message.
  struct External {
    std::string location;
    uint64_t offset = 0;
    std::optional<uint64_t> length;  // to the end of the file, unless it is given
    std::string fault = {};          // what is wrong with the numbers
  };
  std::optional<External> external = {};

  std::span<const std::byte> message = {};  // the whole of it

  // Returns the bytes of raw data: two elements of 4 bits share one.
  size_t data_size() const;
};

// Parses a message. `name` is for messages; failures are Errors of kind kTensorFile.
TensorProto ParseTensorProto(std::span<const std::byte> bytes, const std::string& name);

// Returns the elements, for a type that DirectML has: raw data where they lie, if they are aligned
// or need not be; all else as a copy. `owner` keeps the message alive. Bool is UINT8.
LoadedTensor TensorOf(const TensorProto& proto, std::shared_ptr<const void> owner,
                      const std::string& name, Placement placement = Placement::kAligned);

// Returns the elements in `data`, the part of a file to which `proto.external` points.
LoadedTensor TensorIn(const TensorProto& proto, std::span<const std::byte> data,
                      std::shared_ptr<const void> owner, const std::string& name,
                      Placement placement = Placement::kAligned);

// Loads the tensor of a .pb file.
LoadedTensor LoadTensorProto(const std::string& path, Placement placement);

// Returns the message of a tensor up to its raw data, which is `data_size` bytes long and ends it.
std::string FormatTensorProto(const OnnxType& type, const Dims& shape, std::string_view name,
                              size_t data_size);

}  // namespace dmlop
