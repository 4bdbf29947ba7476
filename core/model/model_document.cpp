// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_document.h"

#include <array>
#include <filesystem>

#include "core/base/text.h"
#include "core/io/npz.h"
#include "core/io/tensor_file.h"
#include "core/model/model_dispatchables.h"

namespace dmlop {

const OperatorDesc* ModelDispatchable::op() const {
  const auto* object = std::get_if<OperatorObject>(&what);
  return object == nullptr ? nullptr : &object->op();
}

const Graph* ModelDispatchable::graph() const {
  const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&what);
  return graph == nullptr ? nullptr : graph->get();
}

std::string_view ModelDispatchable::type() const {
  if (op() != nullptr) return op()->name();
  return OnnxDispatchables::IsOnnx(place) ? kOnnxType : kGraphType;
}

std::vector<TensorSlot> ModelDispatchable::slots() const {
  return op() == nullptr ? SlotsOf(*graph()) : TensorSlots(*op());
}

std::vector<std::string_view> ModelDispatchable::bind_points() const {
  std::vector<std::string_view> names;
  if (op() != nullptr) {
    for (const Field* bind_point : TensorFieldsOf(op()->info())) names.push_back(bind_point->name);
    return names;
  }
  for (const size_t edge : graph()->inputs) names.push_back(graph()->edges[edge].name);
  for (const size_t edge : graph()->outputs) names.push_back(graph()->edges[edge].name);
  return names;
}

std::vector<ModelDispatchable::NamedOperator> ModelDispatchable::operators() const {
  if (op() != nullptr) return {{name, op()}};
  std::vector<NamedOperator> all;
  for (const GraphNode& node : graph()->nodes) all.push_back({node.name, &node.op});
  return all;
}

bool ModelDocument::IsModel(const JsonDocument& json) {
  const auto has = [&](std::string_view name) { return json.root().Find(name).has_value(); };
  if (has("dispatchables")) return true;
  return (has("resources") || has("commands")) && !has("type") && !has("Type");
}

// --- initial values ------------------------------------------------------------------------------

namespace {

class InitialValuesReader {
 public:
  InitialValuesReader(JsonCursor resource, DataType type, const ValueReader& values)
      : resource_(resource), type_(type), values_(values) {}

  std::optional<InitialValues> Read(JsonCursor source) {
    if (source.is_array())
      return type_ == DataType::kUnknown ? ReadMixed(source) : ReadList(source);
    if (source.is_object()) return ReadObject(source);
    if (source.is_string() && source.string() == "deferred") {
      if (HasType(source)) return InitialValues{type_, InitialValues::Sequence{{}, 0}, true};
    } else {
      values_.Error(source, "DOC-1", "expected an array or an initializer object, found {}",
                    Describe(source.kind()));
    }
    return std::nullopt;
  }

 private:
  std::optional<InitialValues> ReadList(JsonCursor source) {
    if (!HasElements(source)) return std::nullopt;
    const size_t width = ByteWidth(type_);
    std::vector<std::byte> bytes;
    bool all_read = true;
    for (auto child = source.first_child(); child; child = child->next()) {
      ElementBytes element{};
      all_read &= values_.Element(*child, type_, element.data());
      bytes.insert(bytes.end(), element.begin(), element.begin() + static_cast<ptrdiff_t>(width));
    }
    if (!all_read) return std::nullopt;
    return InitialValues{type_, InitialValues::List{std::move(bytes)}};
  }

  std::optional<InitialValues> ReadMixed(JsonCursor source) {
    if (!HasElements(source)) return std::nullopt;
    std::vector<std::byte> bytes;
    bool all_read = true;
    for (auto child = source.first_child(); child; child = child->next()) {
      all_read &= AppendMixed(*child, bytes);
    }
    if (!all_read) return std::nullopt;
    return InitialValues{DataType::kUnknown, InitialValues::List{std::move(bytes)}};
  }

  // Appends one element that has its own type, right after the one before.
  bool AppendMixed(JsonCursor item, std::vector<std::byte>& bytes) {
    constexpr std::array<std::string_view, 3> kKeys = {"type", "value", "name"};
    if (!item.is_object()) {
      values_.Error(item, "RES-2",
                    "'initialValuesDataType' is missing; without it each value is an object with "
                    "'type' and 'value'");
      return false;
    }
    values_.CheckKeys(item, kKeys);
    const auto type_name = values_.Require(item, "type");
    const auto value = values_.Require(item, "value");
    if (!type_name || !value) return false;
    const auto type = values_.Enum(*type_name, kDataTypePrefix, DataTypeNames());
    if (!type) return false;
    const DataType data_type = static_cast<DataType>(*type);
    if (!CanBeMixed(data_type)) {
      values_.Error(*type_name, "RES-2", "{} cannot stand in a list of mixed types",
                    Name(data_type));
      return false;
    }
    ElementBytes element{};
    if (!values_.Element(*value, data_type, element.data())) return false;
    bytes.insert(bytes.end(), element.begin(),
                 element.begin() + static_cast<ptrdiff_t>(ByteWidth(data_type)));
    return true;
  }

  // "value" takes precedence over "valueStart", and that over "sourcePath".
  std::optional<InitialValues> ReadObject(JsonCursor source) {
    if (source.Find("value")) {
      for (const std::string_view other : {"valueStart", "sourcePath"}) {
        if (const auto member = source.Find(other)) {
          values_.Error(*member, "RES-1", "'{}' and 'value' are both given", other);
          return std::nullopt;
        }
      }
      return ReadSequenceOf(source, std::array<std::string_view, 2>{"valueCount", "value"});
    }
    if (source.Find("valueStart")) {
      return ReadSequenceOf(
          source, std::array<std::string_view, 3>{"valueCount", "valueStart", "valueDelta"});
    }
    if (source.Find("sourcePath")) return ReadFile(source);
    values_.Error(source, "RES-1",
                  "expected an initializer with 'value', 'valueStart' or 'sourcePath'");
    return std::nullopt;
  }

  std::optional<InitialValues> ReadSequenceOf(JsonCursor source,
                                              std::span<const std::string_view> keys) {
    values_.CheckKeys(source, keys);
    if (!HasType(source)) return std::nullopt;
    const auto count_value = values_.Require(source, "valueCount");
    const auto sequence = ReadSequence(source, type_, values_);
    if (!count_value) return std::nullopt;
    const auto count = values_.Uint32(*count_value);
    if (!count || !sequence) return std::nullopt;
    if (*count == 0) {
      values_.Error(*count_value, "RES-1", "there must be at least one value");
      return std::nullopt;
    }
    return InitialValues{type_, InitialValues::Sequence{*sequence, *count}};
  }

  std::optional<InitialValues> ReadFile(JsonCursor source) {
    constexpr std::array<std::string_view, 1> kKeys = {"sourcePath"};
    values_.CheckKeys(source, kKeys);
    const auto member = values_.Require(source, "sourcePath");
    const auto path = member ? values_.FileName(*member) : std::nullopt;
    if (!path) return std::nullopt;
    if (IsImage(*path)) return ReadPicture(source, *path, *member);
    if (!IsNpyInput(*path) && !HasType(source)) return std::nullopt;
    return InitialValues{type_, InitialValues::File{*path, *member}};
  }

  // A picture is a tensor of the resource's "resampleSize".
  std::optional<InitialValues> ReadPicture(JsonCursor source, const std::string& path,
                                           JsonCursor place) {
    if (!HasType(source)) return std::nullopt;
    if (const auto mode = values_.Find(resource_, "resampleMode")) {
      if (!mode->is_string() || mode->string() != "scale") {
        values_.Error(*mode, "RES-4", "pictures are brought to another size by 'scale' only");
        return std::nullopt;
      }
    }
    InitialValues::File picture{path, place, true};
    if (const auto size = values_.Find(resource_, "resampleSize")) {
      const auto sizes = values_.Uint32Array(*size);
      if (!sizes) return std::nullopt;
      if (sizes->size() != 4) {
        values_.Error(*size, "RES-4", "{} sizes; expected four, 1 first", sizes->size());
        return std::nullopt;
      }
      picture.picture_sizes.emplace(sizes->begin(), sizes->end());
    }
    return InitialValues{type_, std::move(picture)};
  }

  bool HasElements(JsonCursor source) const {
    if (source.first_child()) return true;
    values_.Error(source, "RES-1", "there must be at least one value");
    return false;
  }

  bool HasType(JsonCursor source) const {
    if (type_ != DataType::kUnknown) return true;
    values_.Error(source, "RES-2", "'initialValuesDataType' is missing, and nothing else tells it");
    return false;
  }

  JsonCursor resource_;
  DataType type_;
  const ValueReader& values_;
};

}  // namespace

bool HasValues(DataType type) {
  return type != DataType::kUnknown && !HasNibbles(type);
}

bool CanBeMixed(DataType type) {
  return HasValues(type) && type != DataType::kFloat16;
}

// A file that is called ".npy" has no extension.
bool IsNpy(const std::string& path) {
  return LowerCase(std::filesystem::path(path).extension().string()) == ".npy";
}

bool IsNpyInput(const std::string& path) {
  return IsNpy(path) || ParseNpzPath(path);
}

bool IsImage(const std::string& path) {
  return FormatByExtension(path) == FileFormat::kPicture;
}

std::optional<InitialValues> ReadInitialValues(JsonCursor resource, const ValueReader& values) {
  DataType type = DataType::kUnknown;
  if (const auto name = values.Find(resource, "initialValuesDataType")) {
    const auto index = values.Enum(*name, kDataTypePrefix, DataTypeNames());
    if (!index) return std::nullopt;
    type = static_cast<DataType>(*index);
    if (HasNibbles(type)) {
      values.Error(*name, "RES-2", "{} is not supported", Name(type));
      return std::nullopt;
    }
  }
  const auto source = values.Require(resource, "initialValues");
  if (!source) return std::nullopt;
  return InitialValuesReader(resource, type, values).Read(*source);
}

}  // namespace dmlop
