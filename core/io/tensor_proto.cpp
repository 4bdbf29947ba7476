// SPDX-License-Identifier: Apache-2.0
#include "core/io/tensor_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "core/base/integers.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/output_file.h"
#include "core/io/wire_bytes.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

// Numbers of the fields of TensorProto.
enum Field : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,  // which no file has
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};

constexpr OnnxType kOnnxTypes[] = {
    {0, "UNDEFINED"},
    {1, "FLOAT", DataType::kFloat32},
    {2, "UINT8", DataType::kUint8},
    {3, "INT8", DataType::kInt8},
    {4, "UINT16", DataType::kUint16},
    {5, "INT16", DataType::kInt16},
    {6, "INT32", DataType::kInt32},
    {7, "INT64", DataType::kInt64},
    {8, "STRING"},
    {9, "BOOL", DataType::kUint8},
    {10, "FLOAT16", DataType::kFloat16},
    {11, "DOUBLE", DataType::kFloat64},
    {12, "UINT32", DataType::kUint32},
    {13, "UINT64", DataType::kUint64},
    {14, "COMPLEX64"},
    {15, "COMPLEX128"},
    {16, "BFLOAT16"},
    {17, "FLOAT8E4M3FN"},
    {18, "FLOAT8E4M3FNUZ"},
    {19, "FLOAT8E5M2"},
    {20, "FLOAT8E5M2FNUZ"},
    {21, "UINT4", DataType::kUint4},
    {22, "INT4", DataType::kInt4},
    {23, "FLOAT4E2M1"},
    {24, "FLOAT8E8M0"},
    {25, "UINT2"},
    {26, "INT2"},
};

// Returns the field that has the elements of a type, unless they are raw data.
uint32_t FieldOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return kFloatData;
    case DataType::kFloat64:
      return kDoubleData;
    case DataType::kInt64:
      return kInt64Data;
    case DataType::kUint32:
    case DataType::kUint64:
      return kUint64Data;
    default:
      return kInt32Data;
  }
}

protozero::pbf_reader ReaderOf(std::span<const std::byte> message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}

class TensorProtoParser {
 public:
  explicit TensorProtoParser(const std::string& name) : name_(name) {}

  TensorProto Parse(std::span<const std::byte> bytes) {
    proto_.message = bytes;
    protozero::pbf_reader message = ReaderOf(bytes);
    while (message.next()) Read(message);
    return std::move(proto_);
  }

 private:
  void Read(protozero::pbf_reader& message) {
    constexpr auto kVarint = pbf_wire_type::varint;
    constexpr auto kBytes = pbf_wire_type::length_delimited;
    switch (message.tag_and_type()) {
      case tag_and_type(kDims, kVarint):
        return AddSize(message.get_int64());
      case tag_and_type(kDims, kBytes):
        for (const int64_t size : message.get_packed_int64()) AddSize(size);
        return;
      case tag_and_type(kDataType, kVarint):
        proto_.type = OnnxTypeOf(message.get_int32());
        return;
      case tag_and_type(kName, kBytes):
        proto_.name = Text(message);
        return;
      case tag_and_type(kRawData, kBytes):
        proto_.raw_data = TakeBytes(message);
        return;
      case tag_and_type(kExternalData, kBytes):
        return ReadExternal(ReaderOf(TakeBytes(message)));
      case tag_and_type(kDataLocation, kVarint):
        if (message.get_enum() == 1) External();
        return;
      default:
        SkipField(message);
    }
  }

  static std::string_view Text(protozero::pbf_reader& message) {
    const std::span<const std::byte> bytes = TakeBytes(message);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  TensorProto::External& External() {
    if (!proto_.external) proto_.external = TensorProto::External();
    return *proto_.external;
  }

  // Reads an entry of the list that says where external data are: a key and a value, both text.
  void ReadExternal(protozero::pbf_reader entry) {
    std::string_view key, value;
    while (entry.next()) {
      const bool is_text = entry.wire_type() == pbf_wire_type::length_delimited;
      if (is_text && entry.tag() == 1) {
        key = Text(entry);
      } else if (is_text && entry.tag() == 2) {
        value = Text(entry);
      } else {
        SkipField(entry);
      }
    }
    if (key == "location") External().location = value;
    if (key == "offset") External().offset = Bytes(key, value);
    if (key == "length") External().length = Bytes(key, value);
  }

  uint64_t Bytes(std::string_view key, std::string_view text) {
    const auto number = ParseNumber<uint64_t>(text);
    if (number) return *number;
    External().fault =
        fmt::format("the {} of its external data is '{}', which is no number of bytes", key,
                    text.substr(0, 40));
    return 0;
  }

  void AddSize(int64_t size) {
    if (proto_.shape.size() == Dims::kMaxCount) {
      FailTensorFile(name_, "has more than {} dimensions", Dims::kMaxCount);
    }
    if (size < 0) FailTensorFile(name_, "has a dimension of size {}", size);
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    bytes_ = CheckedMul(bytes_, factor);
    if (!bytes_ || *bytes_ > static_cast<uint64_t>(INT64_MAX)) {
      FailTensorFile(name_, "has a shape with more elements than any file can hold");
    }
    proto_.shape.push_back(size);
  }

  const std::string& name_;
  TensorProto proto_{.type = OnnxTypeOf(0)};
  CheckedU64 bytes_ = 8;  // the widest type's, so that no later product can overflow
};

// Says whether a message is no tensor, but a sequence or an optional value. These begin with a
// name, where tensors have their sizes, and their third field are tensors or what they hold
// otherwise.
bool IsSequence(std::span<const std::byte> bytes) try {
  uint64_t elements = 0;  // if the name were sizes
  protozero::pbf_reader message = ReaderOf(bytes);
  while (message.next()) {
    if (message.tag() == kName || message.tag() == kRawData) return false;
    if (message.tag() == kSegment) return true;
    if (message.tag_and_type() == tag_and_type(kDims, pbf_wire_type::length_delimited)) {
      elements = 1;
      for (const char c : std::string(message.get_view())) {
        elements = c < ' ' ? 0 : std::min(elements * static_cast<uint64_t>(c), uint64_t{1} << 40);
      }
    } else {
      SkipField(message);
    }
  }
  return elements > 2 * bytes.size();
} catch (const protozero::exception&) {
  return false;
}

// Collects numbers as raw data: of each the first `width` bytes, for both are little-endian.
class RawNumbers {
 public:
  RawNumbers(size_t width, size_t size)
      : width_(width), size_(size), spool_(std::make_shared<Spool>(size)) {}

  // Takes the field that the message is at: a packed list, or one number.
  void Read(protozero::pbf_reader& message) {
    switch (message.wire_type()) {
      case pbf_wire_type::length_delimited:
        return ReadList(message);
      case pbf_wire_type::varint:
        return Append(message.get_uint64());
      case pbf_wire_type::fixed32:
        return Append(message.get_fixed32());
      case pbf_wire_type::fixed64:
        return Append(message.get_fixed64());
      default:
        SkipField(message);
    }
  }

  // Counts the bytes, even if there was no room for them.
  size_t size() const { return count_; }

  std::shared_ptr<Spool> Finish() {
    Flush();
    return spool_;
  }

 private:
  void ReadList(protozero::pbf_reader& message) {
    if (message.tag() == kFloatData) {
      for (const uint32_t number : message.get_packed_fixed32()) Append(number);
    } else if (message.tag() == kDoubleData) {
      for (const uint64_t number : message.get_packed_fixed64()) Append(number);
    } else {
      for (const uint64_t number : message.get_packed_uint64()) Append(number);
    }
  }

  void Append(uint64_t number) {
    count_ += width_;
    if (count_ > size_) return;
    part_.append(reinterpret_cast<const char*>(&number), width_);
    if (part_.size() >= kPart) Flush();
  }

  void Flush() {
    spool_->Append(std::as_bytes(std::span(part_)));
    part_.clear();
  }

  static constexpr size_t kPart = 1 << 20;
  size_t width_;
  size_t size_;
  size_t count_ = 0;
  std::string part_;
  std::shared_ptr<Spool> spool_;
};

[[noreturn]] void FailSize(const TensorProto& proto, size_t present, const std::string& name) {
  FailTensorFile(name, "has {} of data; {} of the shape {} need {}", Counted(present, "byte"),
                 proto.type.name, ToString(proto.shape), proto.data_size());
}

// Returns the numbers in the fields of the message as raw data.
std::shared_ptr<Spool> RawDataOf(const TensorProto& proto, const std::string& name) {
  const DataType type = proto.type.type;
  RawNumbers numbers(HasNibbles(type) ? 1 : ByteWidth(type), proto.data_size());
  protozero::pbf_reader message = ReaderOf(proto.message);
  while (message.next()) {
    if (message.tag() == FieldOf(type)) {
      numbers.Read(message);
    } else {
      SkipField(message);
    }
  }
  if (numbers.size() != proto.data_size()) FailSize(proto, numbers.size(), name);
  return numbers.Finish();
}

LoadedTensor Unpacked(const TensorProto& proto, std::span<const std::byte> packed) {
  const auto spool = std::make_shared<Spool>(2 * packed.size());
  std::vector<std::byte> elements;
  ForEachStep(packed.size(), [&](size_t begin, size_t size) {
    elements.resize(2 * size);
    UnpackNibbles(proto.type.type, packed.subspan(begin, size), elements);
    spool->Append(elements);
  });
  return {{spool->bytes().data(), proto.type.type, PackedLayout(proto.shape)}, spool, packed};
}

}  // namespace

OnnxType OnnxTypeOf(int32_t number) {
  const auto* known = std::ranges::find(kOnnxTypes, number, &OnnxType::number);
  return known == std::end(kOnnxTypes) ? OnnxType{number, ""} : *known;
}

OnnxType OnnxTypeOf(DataType type, bool is_bool) {
  return *std::ranges::find_if(kOnnxTypes, [&](const OnnxType& known) {
    return is_bool ? known.is_bool() : known.type == type;
  });
}

size_t TensorProto::data_size() const {
  return static_cast<size_t>(BufferBytes(type.type, static_cast<uint64_t>(Product(shape))));
}

TensorProto ParseTensorProto(std::span<const std::byte> bytes, const std::string& name) {
  try {
    return TensorProtoParser(name).Parse(bytes);
  } catch (const protozero::exception& fault) {
    FailTensorFile(name, "is no tensor of ONNX, or is truncated ({})", fault.what());
  }
}

LoadedTensor TensorIn(const TensorProto& proto, std::span<const std::byte> data,
                      std::shared_ptr<const void> owner, const std::string& name,
                      Placement placement) {
  if (proto.type.type == DataType::kUnknown) {
    FailTensorFile(name, "holds {}, which is no DirectML data type",
                   proto.type.name.empty() ? fmt::format("elements of type {}", proto.type.number)
                                           : std::string(proto.type.name));
  }
  if (data.size() != proto.data_size()) FailSize(proto, data.size(), name);
  if (HasNibbles(proto.type.type)) return Unpacked(proto, data);
  LoadedTensor tensor{{data.data(), proto.type.type, PackedLayout(proto.shape)},
                      std::move(owner),
                      data,
                      proto.type.is_bool()};
  return placement == Placement::kAligned ? Aligned(std::move(tensor), name) : tensor;
}

LoadedTensor TensorOf(const TensorProto& proto, std::shared_ptr<const void> owner,
                      const std::string& name, Placement placement) {
  if (proto.raw_data || proto.type.type == DataType::kUnknown) {
    return TensorIn(proto, proto.raw_data.value_or(std::span<const std::byte>()), std::move(owner),
                    name, placement);
  }
  try {
    const auto data = RawDataOf(proto, name);
    return TensorIn(proto, data->bytes(), data, name, placement);
  } catch (const protozero::exception& fault) {
    FailTensorFile(name, "has a damaged list of numbers ({})", fault.what());
  }
}

LoadedTensor LoadTensorProto(const std::string& path, Placement placement) {
  const auto file = std::make_shared<const InputFile>(InputFile::Open(path));
  if (IsSequence(file->bytes())) {
    FailTensorFile(path, "is no tensor, but a sequence or an optional value of ONNX [ONX-6]");
  }
  const TensorProto proto = ParseTensorProto(file->bytes(), path);
  if (proto.external) {
    FailTensorFile(path, "has its elements in another file, '{}'; a tensor file has them itself",
                   proto.external->location);
  }
  LoadedTensor tensor = TensorOf(proto, file, path, placement);
  tensor.file_bytes = file->bytes();
  return tensor;
}

std::string FormatTensorProto(const OnnxType& type, const Dims& shape, std::string_view name,
                              size_t data_size) {
  std::string message;
  protozero::pbf_writer writer(message);
  writer.add_packed_int64(kDims, shape.begin(), shape.end());
  writer.add_int32(kDataType, type.number);
  writer.add_string(kName, name.data(), name.size());
  protozero::add_varint_to_buffer(
      &message, protozero::tag_and_type(kRawData, pbf_wire_type::length_delimited));
  protozero::add_varint_to_buffer(&message, data_size);
  return message;
}

}  // namespace dmlop
