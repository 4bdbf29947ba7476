// SPDX-License-Identifier: Apache-2.0
// Reads JSON values by type. If a value is wrong, each function reports that at its position, and
// returns nothing.
//
//   DOC-1   the value is of another JSON type than the field
//   DOC-2   the number does not fit the field
//   JSON-3  the name is not known
//   JSON-5  the key occurs twice
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/io/json.h"
#include "core/ops/field.h"
#include "core/tensor/data_type.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

inline constexpr std::string_view kTensorTypePrefix = "DML_TENSOR_TYPE_";
inline constexpr std::string_view kTensorTypes[] = {"BUFFER"};
inline constexpr std::string_view kTensorFlagPrefix = "DML_TENSOR_FLAG_";
inline constexpr std::string_view kTensorFlags[] = {"NONE", "OWNED_BY_DML"};

// Documents are read more or less strictly. DxDispatch ignores unknown members and takes the first
// of two with one name; in its models both cause warnings, elsewhere errors. Models have no null:
// in a descriptor it means left out.
enum class Dialect { kDescriptor, kModel };

class ValueReader {
 public:
  explicit ValueReader(Diagnostics& diagnostics, Dialect dialect = Dialect::kDescriptor)
      : diagnostics_(diagnostics), dialect_(dialect) {}

  // Returns the member of an object with that name; empty if it is left out.
  std::optional<JsonCursor> Find(JsonCursor object, std::string_view name) const;

  // Does the same for a field that DirectML demands: a descriptor may leave it out, no model may.
  std::optional<JsonCursor> FindField(JsonCursor object, std::string_view name) const {
    return dialect_ == Dialect::kModel ? Require(object, name) : Find(object, name);
  }

  // Does the same for a member that is required.
  std::optional<JsonCursor> Require(JsonCursor object, std::string_view name) const;

  // Returns the member under its upper-case or its lower-case name, in that order, like DxDispatch;
  // to have both is a fault.
  std::optional<JsonCursor> FindEither(JsonCursor object, std::string_view upper,
                                       std::string_view lower) const;

  std::optional<uint32_t> Uint32(JsonCursor value) const;
  std::optional<int32_t> Int32(JsonCursor value) const;
  std::optional<uint64_t> Uint64(JsonCursor value) const;
  std::optional<float> Float32(JsonCursor value) const;

  // Rounds once; "nan", "inf" and "-inf" are numbers, too.
  std::optional<double> Number(JsonCursor value) const;
  // `unread` replaces numbers that cannot be read; without it, the whole array cannot be read.
  std::optional<std::vector<uint32_t>> Uint32Array(
      JsonCursor value, std::optional<uint32_t> unread = std::nullopt) const;
  std::optional<std::vector<int32_t>> Int32Array(JsonCursor value) const;
  std::optional<std::vector<float>> Float32Array(JsonCursor value) const;
  std::optional<std::string> String(JsonCursor value) const;
  std::optional<bool> Boolean(JsonCursor value) const;

  // Returns text that can name a file. Backslashes in the paths of a model cause a warning.
  std::optional<std::string> FileName(JsonCursor value) const;

  // Returns the index of a name, with or without `prefix`, in `names`, which a message lists.
  std::optional<size_t> Enum(JsonCursor value, std::string_view prefix,
                             std::span<const std::string_view> names,
                             std::string_view code = "JSON-3") const;

  // Stores one element of a tensor at `to`. Numbers are rounded once; "nan", "inf" and "-inf" are
  // numbers of the float types.
  bool Element(JsonCursor value, DataType type, std::byte* to) const;

  // Reads a DML_SCALAR_UNION of the type: a number, or {"Int64": -3} with a member that matches the
  // type (UNI-1, UNI-2; FLOAT16 is given by its bits, {"UInt16": 15360}). If `wraps`, a negative
  // number stands for an unsigned one (UNI-4).
  std::optional<Scalar> ScalarOf(JsonCursor value, DataType type, bool wraps) const;

  // Leaves out fields that cannot be read; a size that cannot be read is 0, which is unknown.
  TensorDesc Tensor(JsonCursor value) const;

  // Returns true if the value is of that kind; otherwise reports it, with an example of what is
  // accepted. The default example of an array is the value in brackets.
  bool Expect(JsonCursor value, JsonKind kind, std::string_view example = {}) const;

  // Reports members of an object that are not in `known`, and members that occur twice. Those in
  // `others` are also known, but never suggested.
  void CheckKeys(JsonCursor object, std::span<const std::string_view> known,
                 std::span<const std::string_view> others = {}) const;

  // Reports a value that is wrong whatever other fields say.
  void Slip(JsonCursor value, std::string_view code, std::string message) const {
    diagnostics_.Append({.severity = Severity::kError,
                         .code = std::string(code),
                         .pointer = PointerTo(value),
                         .message = std::move(message),
                         .offset = value.offset(),
                         .is_slip = true});
  }

  void Error(JsonCursor value, std::string_view code, std::string message) const {
    diagnostics_.Error(code, PointerTo(value), std::move(message), value.offset());
  }
  template <typename... Args>
  requires(sizeof...(Args) > 0) void Error(JsonCursor value, std::string_view code,
                                           fmt::format_string<Args...> text, Args&&... args) const {
    Error(value, code, fmt::format(text, std::forward<Args>(args)...));
  }
  void Warning(JsonCursor value, std::string_view code, std::string message) const {
    diagnostics_.Warning(code, PointerTo(value), std::move(message), value.offset());
  }
  template <typename... Args>
  requires(sizeof...(Args) > 0) void Warning(JsonCursor value, std::string_view code,
                                             fmt::format_string<Args...> text,
                                             Args&&... args) const {
    Warning(value, code, fmt::format(text, std::forward<Args>(args)...));
  }

  // Reports that an object lacks its "type", or has it misspelled: without it, the meaning of the
  // other members is unknown.
  void MissingType(JsonCursor object) const;

  // Reports the fault of a file that the value names.
  void FileError(JsonCursor value, ErrorKind kind, std::string_view code,
                 std::string message) const {
    diagnostics_.FileError(kind, code, PointerTo(value), std::move(message), value.offset());
  }

  Dialect dialect() const { return dialect_; }

 private:
  // A pointer takes time in proportion to the arrays through which it leads.
  std::string PointerTo(JsonCursor value) const {
    return diagnostics_.full() ? "" : value.pointer();
  }
  void ReportKey(JsonCursor member, std::string_view code, std::string message) const;
  template <typename T>
  std::optional<T> Integer(JsonCursor value, DataType type) const;
  template <typename T, typename Read>
  std::optional<std::vector<T>> Array(JsonCursor value, Read&& read,
                                      std::optional<T> unread = std::nullopt) const;
  template <typename T>
  bool StoreElement(JsonCursor value, DataType type, std::byte* to) const;
  bool IsOfSomeType(JsonCursor value) const;
  bool TakesAsInfinity(JsonCursor value, DataType type) const;

  Diagnostics& diagnostics_;
  Dialect dialect_;
};

// Returns the object that has a tensor's fields: the value itself, or its "Desc".
JsonCursor TensorFields(JsonCursor tensor);

// Returns true for an unknown member whose name is similar to that of a missing one.
bool IsMisspelt(const Diagnostic& fault, std::string_view missing);

// Joins the faults of missing members and of similar unknown ones, at the position of the latter.
void JoinMisspelt(Diagnostics& diagnostics);

}  // namespace dmlop
