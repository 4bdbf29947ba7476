// SPDX-License-Identifier: Apache-2.0
// Reads the members of objects, and tensors, which are objects.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/spelling.h"
#include "core/document/value_reader.h"

namespace dmlop {
namespace {

constexpr std::string_view kTensorKeys[] = {"Type",
                                            "Desc",
                                            "DataType",
                                            "Flags",
                                            "DimensionCount",
                                            "Sizes",
                                            "Strides",
                                            "TotalTensorSizeInBytes",
                                            "GuaranteedBaseOffsetAlignment"};
constexpr std::string_view kTensorExample = R"({"DataType": "FLOAT32", "Sizes": [2, 3]})";
constexpr auto kTensorLevelKeys = std::span(kTensorKeys).first<2>();
constexpr auto kTensorFieldKeys = std::span(kTensorKeys).subspan<2>();

std::string InsteadOf(std::string_view written, std::string_view missing) {
  return fmt::format(" (did you write '{}' for '{}'?)", written, missing);
}

// Splits a pointer into that of an object, and the name of a member.
std::pair<std::string_view, std::string_view> Split(std::string_view pointer) {
  const size_t slash = pointer.rfind('/');
  return {pointer.substr(0, slash), pointer.substr(slash + 1)};
}

}  // namespace

void ValueReader::ReportKey(JsonCursor member, std::string_view code, std::string message) const {
  const std::string pointer = PointerTo(member);
  if (dialect_ == Dialect::kModel) {
    diagnostics_.Warning(code, pointer, std::move(message), member.key_offset());
  } else {
    diagnostics_.Error(code, pointer, std::move(message), member.key_offset());
  }
}

void ValueReader::CheckKeys(JsonCursor object, std::span<const std::string_view> known,
                            std::span<const std::string_view> others) const {
  const auto is_in = [](const auto& names, std::string_view key) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  const std::string_view consequence = dialect_ == Dialect::kModel ? "; it is ignored" : "";
  const auto suggestion = [&](std::string_view key) {
    if (diagnostics_.full()) return std::string();
    return dialect_ == Dialect::kModel ? DidYouMean(key, known) : DidYouMeanOneOf(key, known);
  };
  std::vector<std::string_view> seen;
  for (auto member = object.first_child(); member; member = member->next()) {
    const std::string& key = member->key();
    if (!is_in(known, key) && !is_in(others, key)) {
      ReportKey(*member, "JSON-3",
                fmt::format("'{}' is not a known field{}{}", key, suggestion(key), consequence));
    } else if (is_in(seen, key)) {
      ReportKey(*member, "JSON-5", fmt::format("'{}' is given twice{}", key, consequence));
    } else {
      seen.push_back(key);
    }
  }
}

std::optional<JsonCursor> ValueReader::Find(JsonCursor object, std::string_view name) const {
  const std::optional<JsonCursor> member = object.Find(name);
  if (!member || !member->is_null()) return member;
  if (dialect_ == Dialect::kModel) Error(*member, "JSON-4", "null; leave the field out instead");
  return std::nullopt;
}

std::optional<JsonCursor> ValueReader::Require(JsonCursor object, std::string_view name) const {
  const std::optional<JsonCursor> member = Find(object, name);
  const bool is_reported = dialect_ == Dialect::kModel && object.Find(name);  // as null
  if (!member && !is_reported) {
    diagnostics_.Error("JSON-2", fmt::format("{}/{}", PointerTo(object), name),
                       fmt::format("'{}' is missing", name), object.offset());
  }
  return member;
}

void ValueReader::MissingType(JsonCursor object) const {
  constexpr std::string_view kType = "type";
  std::string hint;
  size_t place = object.offset();
  for (auto member = object.first_child(); member && hint.empty(); member = member->next()) {
    if (!IsNear(member->key(), kType)) continue;
    hint = InsteadOf(member->key(), kType);
    place = member->key_offset();
  }
  diagnostics_.Error("JSON-2", fmt::format("{}/{}", PointerTo(object), kType),
                     fmt::format("'{}' is missing{}", kType, hint), place);
}

std::optional<JsonCursor> ValueReader::FindEither(JsonCursor object, std::string_view upper,
                                                  std::string_view lower) const {
  const auto first = Find(object, upper);
  const auto second = Find(object, lower);
  if (first && second) {
    ReportKey(*second, "JSON-5", fmt::format("'{}' and '{}' are both given", upper, lower));
  }
  return first ? first : second;
}

TensorDesc ValueReader::Tensor(JsonCursor value) const {
  TensorDesc desc;
  if (!Expect(value, JsonKind::kObject, kTensorExample)) return desc;
  const JsonCursor fields = TensorFields(value);
  if (!Expect(fields, JsonKind::kObject)) return desc;
  Find(value, "Desc");  // null is reported
  if (fields.offset() == value.offset()) {
    CheckKeys(value, kTensorKeys);
  } else {
    CheckKeys(value, kTensorLevelKeys);
    CheckKeys(fields, kTensorFieldKeys);
  }

  if (const auto type = Find(value, "Type")) Enum(*type, kTensorTypePrefix, kTensorTypes);
  if (const auto type = FindField(fields, "DataType")) {
    const auto index = Enum(*type, kDataTypePrefix, DataTypeNames());
    if (index) desc.data_type = static_cast<DataType>(*index);
  }
  if (const auto sizes = FindField(fields, "Sizes")) desc.sizes = Uint32Array(*sizes);
  if (const auto count = Find(fields, "DimensionCount")) desc.dimension_count = Uint32(*count);
  if (const auto strides = Find(fields, "Strides")) {
    desc.strides = Uint32Array(*strides);
    if (desc.strides && desc.strides->empty()) desc.strides.reset();  // DxDispatch takes it so
  }
  if (const auto flags = Find(fields, "Flags")) {
    const auto flag_names = flags->is_array() ? flags->children() : std::vector{*flags};
    for (const JsonCursor flag : flag_names) {
      desc.owned_by_dml |= Enum(flag, kTensorFlagPrefix, kTensorFlags, "BUF-15") == 1u;
    }
  }
  if (const auto total = Find(fields, "TotalTensorSizeInBytes")) {
    desc.total_tensor_size_in_bytes = Uint64(*total).value_or(0);
  }
  if (const auto alignment = Find(fields, "GuaranteedBaseOffsetAlignment")) {
    desc.guaranteed_base_offset_alignment = Uint32(*alignment).value_or(0);
  }
  return desc;
}

bool IsMisspelt(const Diagnostic& fault, std::string_view missing) {
  if (fault.code != "JSON-3" || fault.pointer.empty()) return false;
  const auto [object, name] = Split(fault.pointer);
  const auto [missing_object, missing_name] = Split(missing);
  return object == missing_object && IsNear(name, missing_name);
}

void JoinMisspelt(Diagnostics& diagnostics) {
  std::vector<Diagnostic>& list = diagnostics.list();
  for (Diagnostic& missing : list) {
    if (missing.code != "JSON-2") continue;
    const auto written = std::find_if(list.begin(), list.end(), [&](const Diagnostic& fault) {
      return IsMisspelt(fault, missing.pointer);
    });
    if (written == list.end()) continue;
    const std::string_view name = Split(written->pointer).second;
    missing.message += InsteadOf(name, Split(missing.pointer).second);
    missing.offset = written->offset;
    written->code.clear();  // joined
  }
  std::erase_if(list, [](const Diagnostic& one) { return one.code.empty(); });
}

JsonCursor TensorFields(JsonCursor tensor) {
  const auto fields = tensor.Find("Desc");
  return fields && !fields->is_null() ? *fields : tensor;
}

}  // namespace dmlop
