// Typed reading of JSON values. Each function reports what is wrong with a value, at its place, and
// then returns nothing.
//
//   DOC-1   the value is of another JSON type than the field
//   DOC-2   the number does not fit the field
//   JSON-3  the name is not known
//   JSON-5  the key stands twice
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

// How strictly a document is read. DxDispatch passes over members that it does not know and takes
// the first of two with one name; in its models that is worth a warning, elsewhere it is an error.
// Models have no null: in a descriptor it means left out.
enum class Dialect { kDescriptor, kModel };

class ValueReader {
 public:
  // In an array, `placeholder` stands for what cannot be read; without one, the whole array cannot.
  explicit ValueReader(Diagnostics& diagnostics, Dialect dialect = Dialect::kDescriptor,
                       std::optional<uint32_t> placeholder = std::nullopt)
      : diagnostics_(diagnostics), dialect_(dialect), placeholder_(placeholder) {}

  // The member of an object with that name; empty where it is left out.
  std::optional<JsonCursor> Find(JsonCursor object, std::string_view name) const;

  // The same for a field that DirectML demands: a descriptor may leave it out, a model may not.
  std::optional<JsonCursor> FindField(JsonCursor object, std::string_view name) const {
    return dialect_ == Dialect::kModel ? Require(object, name) : Find(object, name);
  }

  // The same for a member that must be there.
  std::optional<JsonCursor> Require(JsonCursor object, std::string_view name) const;

  // The member under its upper-case or its lower-case name, in that order, as DxDispatch looks;
  // both are one too many.
  std::optional<JsonCursor> FindEither(JsonCursor object, std::string_view upper,
                                       std::string_view lower) const;

  std::optional<uint32_t> Uint32(JsonCursor value) const;
  std::optional<int32_t> Int32(JsonCursor value) const;
  std::optional<uint64_t> Uint64(JsonCursor value) const;
  std::optional<float> Float32(JsonCursor value) const;

  // Rounded once; "nan", "inf" and "-inf" are numbers too.
  std::optional<double> Number(JsonCursor value) const;
  std::optional<std::vector<uint32_t>> Uint32Array(JsonCursor value) const;
  std::optional<std::vector<int32_t>> Int32Array(JsonCursor value) const;
  std::optional<std::vector<float>> Float32Array(JsonCursor value) const;
  std::optional<std::string> String(JsonCursor value) const;
  std::optional<bool> Boolean(JsonCursor value) const;

  // Text that can name a file. Backslashes in the paths of a model are worth a warning.
  std::optional<std::string> FileName(JsonCursor value) const;

  // The index of a name in `names`, written with or without `prefix`. A message lists the names.
  std::optional<size_t> Enum(JsonCursor value, std::string_view prefix,
                             std::span<const std::string_view> names,
                             std::string_view code = "JSON-3") const;

  // One element of a tensor, stored at `to`. Numbers are rounded once; "nan", "inf" and "-inf" are
  // numbers of the float types.
  bool Element(JsonCursor value, DataType type, std::byte* to) const;

  // A DML_SCALAR_UNION of the type: a number, or {"Int64": -3} with a member that goes with the
  // type (UNI-1, UNI-2; FLOAT16 is told by its bits, {"UInt16": 15360}).
  // Where it `wraps`, a negative number stands for an unsigned one (UNI-4).
  std::optional<Scalar> ScalarOf(JsonCursor value, DataType type, bool wraps) const;

  // Fields that cannot be read are left out of the desc.
  TensorDesc Tensor(JsonCursor value) const;

  // True when the value is of that kind; reports it otherwise, with an example of what is taken.
  // That of an array is the value in brackets.
  bool Expect(JsonCursor value, JsonKind kind, std::string_view example = {}) const;

  // Reports members of an object that are not in `known`, and members that stand twice. Those in
  // `others` are known, too, but proposed in place of no other.
  void CheckKeys(JsonCursor object, std::span<const std::string_view> known,
                 std::span<const std::string_view> others = {}) const;

  void Error(JsonCursor value, std::string_view code, std::string message) const {
    diagnostics_.Error(code, PointerTo(value), std::move(message), value.offset());
  }
  void Warning(JsonCursor value, std::string_view code, std::string message) const {
    diagnostics_.Warning(code, PointerTo(value), std::move(message), value.offset());
  }

  // Reports that an object lacks its "type", for which any member may stand that has nearly that
  // name: what the others are is not known without it.
  void MissingType(JsonCursor object) const;

  // Reports the fault of a file that the value names.
  void FileError(JsonCursor value, ErrorKind kind, std::string_view code,
                 std::string message) const {
    diagnostics_.FileError(kind, code, PointerTo(value), std::move(message), value.offset());
  }

  Dialect dialect() const { return dialect_; }
  std::optional<uint32_t> placeholder() const { return placeholder_; }

 private:
  // A pointer takes time in proportion to the array that it leads through.
  std::string PointerTo(JsonCursor value) const {
    return diagnostics_.full() ? "" : value.pointer();
  }
  void ReportKey(JsonCursor member, std::string_view code, std::string message) const;
  template <typename T>
  std::optional<T> Integer(JsonCursor value, DataType type) const;
  template <typename T, typename Read>
  std::optional<std::vector<T>> Array(JsonCursor value, Read&& read) const;
  template <typename T>
  bool StoreElement(JsonCursor value, DataType type, std::byte* to) const;
  bool TakesAsInfinity(JsonCursor value, DataType type) const;

  Diagnostics& diagnostics_;
  Dialect dialect_;
  std::optional<uint32_t> placeholder_;
};

// The object that has a tensor's fields: the value itself, or its "Desc".
JsonCursor TensorFields(JsonCursor tensor);

// True for a member that is not known and whose name is nearly that of a missing one.
bool IsMisspelt(const Diagnostic& fault, std::string_view missing);

// Says of members that are missing and of such that are nearly called so that they are one fault,
// at the place of what is there.
void JoinMisspelt(Diagnostics& diagnostics);

}  // namespace dmlop
