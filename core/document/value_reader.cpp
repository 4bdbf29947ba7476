// SPDX-License-Identifier: Apache-2.0
#include "core/document/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// The members of DML_SCALAR_UNION.
struct UnionMember {
  std::string_view name;
  DataType type;
};
constexpr UnionMember kUnionMembers[] = {
    {"Float32", DataType::kFloat32}, {"Float64", DataType::kFloat64}, {"UInt8", DataType::kUint8},
    {"UInt16", DataType::kUint16},   {"UInt32", DataType::kUint32},   {"UInt64", DataType::kUint64},
    {"Int8", DataType::kInt8},       {"Int16", DataType::kInt16},     {"Int32", DataType::kInt32},
    {"Int64", DataType::kInt64},
};

// Returns the member for elements of the type; for FLOAT16, that of its bits.
const UnionMember& MemberFor(DataType type) {
  if (type == DataType::kFloat16) type = DataType::kUint16;
  return *std::find_if(std::begin(kUnionMembers), std::end(kUnionMembers),
                       [&](const UnionMember& member) { return member.type == type; });
}

// Shortens a number for messages.
std::string Abridged(std::string_view token) {
  constexpr size_t kMost = 40;
  if (token.size() <= kMost) return std::string(token);
  return fmt::format("{}... ({} characters)", token.substr(0, kMost / 2), token.size());
}

// Returns an example of how a value could be of another kind; empty if it cannot.
std::string ExampleOf(JsonKind kind, JsonCursor value) {
  if (kind == JsonKind::kBoolean) return "true or false";
  if (kind != JsonKind::kArray) return "";
  return value.is_object() ? "[{...}]" : fmt::format("[{}]", Abridged(value.token()));
}

// Returns an integer up to 2^53 in magnitude, exact as a double; most in documents are such.
std::optional<double> SmallInteger(std::string_view token) {
  constexpr int64_t kMost = int64_t{1} << 53;
  int64_t number = 0;
  const auto error = std::from_chars(token.data(), token.data() + token.size(), number).ec;
  if (error != std::errc() || number < -kMost || number > kMost) return std::nullopt;
  return static_cast<double>(number);
}

// Returns whether a number that no double holds is too large for one, rather than too small.
bool IsTooLarge(std::string_view token) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return std::isinf(strtod_l(std::string(token).c_str(), nullptr, c_locale));
}

}  // namespace

bool ValueReader::Expect(JsonCursor value, JsonKind kind, std::string_view example) const {
  if (value.kind() == kind) return true;
  const std::string shown = example.empty() ? ExampleOf(kind, value) : std::string(example);
  Error(value, "DOC-1", "expected {}{}, found {}", Describe(kind),
        shown.empty() ? "" : fmt::format(" ({})", shown), Describe(value.kind()));
  return false;
}

template <typename T>
std::optional<T> ValueReader::Integer(JsonCursor value, DataType type) const {
  if (!Expect(value, JsonKind::kInteger)) return std::nullopt;
  std::string_view token = value.token();
  if (token == "-0") token.remove_prefix(1);
  T number{};
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  const auto [least, most] = RangeOf<T>(type);
  const bool is_whole = error == std::errc() && end == token.data() + token.size();
  if (is_whole && least <= number && number <= most) return number;
  Error(value, "DOC-2", "{} is out of range for {} [{}, {}]", Abridged(token), Name(type), least,
        most);
  return std::nullopt;
}

std::optional<uint32_t> ValueReader::Uint32(JsonCursor value) const {
  return Integer<uint32_t>(value, DataType::kUint32);
}

std::optional<int32_t> ValueReader::Int32(JsonCursor value) const {
  return Integer<int32_t>(value, DataType::kInt32);
}

std::optional<uint64_t> ValueReader::Uint64(JsonCursor value) const {
  return Integer<uint64_t>(value, DataType::kUint64);
}

// An integer token must be exact as a double, as DxDispatch demands; its "-0" is the integer zero.
std::optional<double> ValueReader::Number(JsonCursor value) const {
  if (value.is_string()) {
    for (const auto& [name, number] :
         {std::pair{"nan", std::nan("")}, {"inf", INFINITY}, {"-inf", -INFINITY}}) {
      if (EqualIgnoringCase(value.string(), name)) return number;
    }
    Error(value, "DOC-2", "'{}' is not a number; as text there are 'nan', 'inf' and '-inf'",
          value.string());
    return std::nullopt;
  }
  if (value.kind() != JsonKind::kInteger && value.kind() != JsonKind::kFraction) {
    Error(value, "DOC-1", "expected a number, found {}", Describe(value.kind()));
    return std::nullopt;
  }
  const std::string_view token = value.token();
  if (value.kind() == JsonKind::kInteger) {
    if (const auto number = SmallInteger(token)) return number;
  }
  double number = token.starts_with('-') ? -0.0 : 0.0;  // stays if the number underflows
  const char* end = token.data() + token.size();
  const bool in_range = std::from_chars(token.data(), end, number).ec == std::errc();
  if (!in_range && IsTooLarge(token)) {
    Error(value, "DOC-2", "the number is too large for any type; infinity is written as 'inf'");
    return std::nullopt;
  }
  if (value.kind() == JsonKind::kFraction) return number;
  if (fmt::format("{:.0f}", number) == token) return number;
  Error(value, "DOC-2",
        "{} is not exact as a floating-point number; write it with a fraction, {}.0, to have it "
        "rounded",
        Abridged(token), Abridged(token));
  return std::nullopt;
}

template <typename T, typename Read>
std::optional<std::vector<T>> ValueReader::Array(JsonCursor value, Read&& read,
                                                 std::optional<T> unread) const {
  if (!Expect(value, JsonKind::kArray)) return std::nullopt;
  std::vector<T> numbers;
  bool all_read = true;
  for (auto child = value.first_child(); child; child = child->next()) {
    const std::optional<T> number = read(*child);
    all_read &= number || unread;
    numbers.push_back(number ? *number : unread.value_or(T{}));
  }
  if (!all_read) return std::nullopt;
  return numbers;
}

std::optional<std::vector<uint32_t>> ValueReader::Uint32Array(
    JsonCursor value, std::optional<uint32_t> unread) const {
  return Array<uint32_t>(
      value, [&](JsonCursor child) { return Uint32(child); }, unread);
}

std::optional<std::vector<int32_t>> ValueReader::Int32Array(JsonCursor value) const {
  return Array<int32_t>(value, [&](JsonCursor child) { return Int32(child); });
}

std::optional<std::vector<float>> ValueReader::Float32Array(JsonCursor value) const {
  return Array<float>(value, [&](JsonCursor child) { return Float32(child); });
}

std::optional<std::string> ValueReader::String(JsonCursor value) const {
  if (!Expect(value, JsonKind::kString)) return std::nullopt;
  return value.string();
}

std::optional<std::string> ValueReader::FileName(JsonCursor value) const {
  if (!Expect(value, JsonKind::kString)) return std::nullopt;
  const std::string& name = value.string();
  if (!name.empty() && name.find('\0') == std::string::npos) {
    if (dialect_ == Dialect::kModel && name.find('\\') != std::string::npos) {
      Warning(value, "DOC-7", "backslashes are taken for separators, unless a file has that name");
    }
    return name;
  }
  Error(value, "DOC-1", "expected a file name, found text that is none");
  return std::nullopt;
}

std::optional<bool> ValueReader::Boolean(JsonCursor value) const {
  if (!Expect(value, JsonKind::kBoolean)) return std::nullopt;
  return value.boolean();
}

std::optional<size_t> ValueReader::Enum(JsonCursor value, std::string_view prefix,
                                        std::span<const std::string_view> names,
                                        std::string_view code) const {
  if (!value.is_string()) {
    Expect(value, JsonKind::kString, (names.size() > 1 ? "one of " : "") + Listed(names));
    return std::nullopt;
  }
  std::string_view name = value.string();
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  Slip(value, code,
       fmt::format("'{}' is not a known name{}", value.string(), DidYouMeanOneOf(name, names)));
  return std::nullopt;
}

template <typename T>
bool ValueReader::StoreElement(JsonCursor value, DataType type, std::byte* to) const {
  T element;
  if constexpr (std::is_integral_v<T>) {
    const std::optional<T> number = Integer<T>(value, type);
    if (!number) return false;
    element = *number;
  } else {
    const std::optional<double> number = Number(value);
    if (!number) return false;
    if constexpr (std::is_same_v<T, double>) {
      element = *number;
    } else {
      element = RoundOnce<T>(*number);
    }
    const bool is_named = value.is_string();  // "inf"
    if (std::isinf(AsDouble(element)) && !is_named && !TakesAsInfinity(value, type)) return false;
  }
  std::memcpy(to, &element, sizeof(T));
  return true;
}

// Handles a number that its type rounds to infinity: models accept that, descriptors must name it.
bool ValueReader::TakesAsInfinity(JsonCursor value, DataType type) const {
  const std::string fault =
      fmt::format("{} is out of range for {}", Abridged(value.token()), Name(type));
  if (dialect_ == Dialect::kModel) {
    Warning(value, "DOC-2", fault + ", and becomes infinity");
    return true;
  }
  Error(value, "DOC-2", fault + "; infinity is written as 'inf'");
  return false;
}

std::optional<float> ValueReader::Float32(JsonCursor value) const {
  float number = 0;
  std::byte* const to = reinterpret_cast<std::byte*>(&number);
  return StoreElement<float>(value, DataType::kFloat32, to) ? std::optional(number) : std::nullopt;
}

bool ValueReader::Element(JsonCursor value, DataType type, std::byte* to) const {
  bool stored = false;
  VisitDataType(AllTypes(), type, [&]<typename T>() { stored = StoreElement<T>(value, type, to); });
  return stored;
}

// Integers that are not exact as doubles are numbers, too.
bool ValueReader::IsOfSomeType(JsonCursor value) const {
  if (value.kind() == JsonKind::kInteger || value.kind() == JsonKind::kFraction) return true;
  Diagnostics faults;
  return ValueReader(faults, dialect_).Number(value).has_value();
}

std::optional<Scalar> ValueReader::ScalarOf(JsonCursor value, DataType type, bool wraps) const {
  Scalar scalar{type, {}};
  const auto read = [&](JsonCursor number, DataType as) {
    if (wraps && !number.is_string() && number.token().starts_with('-')) as = SignedLike(as);
    Diagnostics faults;
    const bool is_read = ValueReader(faults, dialect_).Element(number, as, scalar.bytes.data());
    for (const Diagnostic& fault : faults.list()) {
      is_read                ? Warning(number, "UNI-1", fault.message)
      : IsOfSomeType(number) ? Error(number, "UNI-1", fault.message)
                             : Slip(number, "UNI-1", fault.message);
    }
    return is_read;
  };
  if (!value.is_object()) return read(value, type) ? std::optional(scalar) : std::nullopt;
  const auto member = value.first_child();
  if (!member || member->next()) {
    Error(value, "UNI-2", "expected an object with one member of DML_SCALAR_UNION");
    return std::nullopt;
  }
  const UnionMember& known = MemberFor(type);
  if (member->key() != known.name) {
    Error(*member, "UNI-2", "'{}' is not the member for {}, which is '{}'", member->key(),
          Name(type), known.name);
    return std::nullopt;
  }
  return read(*member, known.type) ? std::optional(scalar) : std::nullopt;
}

// --- objects -------------------------------------------------------------------------------------

// Reads the members of objects, and tensors, which are objects.

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
  if (const auto sizes = FindField(fields, "Sizes")) desc.sizes = Uint32Array(*sizes, 0);
  if (const auto count = Find(fields, "DimensionCount")) desc.dimension_count = Uint32(*count);
  bool has_layout = true;
  if (const auto strides = Find(fields, "Strides")) {
    desc.strides = Uint32Array(*strides);
    has_layout = desc.strides.has_value();
    if (desc.strides && desc.strides->empty()) desc.strides.reset();  // DxDispatch takes it so
  }
  if (const auto flags = Find(fields, "Flags")) {
    const auto flag_names = flags->is_array() ? flags->children() : std::vector{*flags};
    for (const JsonCursor flag : flag_names) {
      desc.owned_by_dml |= Enum(flag, kTensorFlagPrefix, kTensorFlags, "BUF-15") == 1u;
    }
  }
  if (const auto total = Find(fields, "TotalTensorSizeInBytes")) {
    const uint64_t bytes = Uint64(*total).value_or(0);
    if (has_layout) desc.total_tensor_size_in_bytes = bytes;
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
