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
#include "core/tensor/data_type.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

class ValueReader {
 public:
  explicit ValueReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::optional<uint32_t> Uint32(JsonCursor value) const;
  std::optional<uint64_t> Uint64(JsonCursor value) const;
  std::optional<float> Float32(JsonCursor value) const;
  std::optional<std::vector<uint32_t>> Uint32Array(JsonCursor value) const;
  std::optional<std::string> String(JsonCursor value) const;

  // The index of a name in `names`, written with or without `prefix`.
  std::optional<size_t> Enum(JsonCursor value, std::string_view prefix,
                             std::span<const std::string_view> names,
                             std::string_view code = "JSON-3") const;

  // One element of a tensor, stored at `to`. Numbers are rounded once; "nan", "inf" and "-inf" are
  // numbers of the float types.
  bool Element(JsonCursor value, DataType type, std::byte* to) const;

  // Fields that cannot be read are left out of the desc.
  TensorDesc Tensor(JsonCursor value) const;

  // True when the value is of that kind; reports it otherwise.
  bool Expect(JsonCursor value, JsonKind kind) const;

  // Reports members of an object that are not in `known`, and members that stand twice.
  void CheckKeys(JsonCursor object, std::span<const std::string_view> known) const;

  void Error(JsonCursor value, std::string_view code, std::string message) const {
    // A pointer takes time in proportion to the array that it leads through.
    diagnostics_.Error(code, diagnostics_.full() ? "" : value.pointer(), std::move(message),
                       value.offset());
  }

 private:
  void ReportUnknownKey(JsonCursor member, std::span<const std::string_view> known) const;
  template <typename T>
  std::optional<T> Integer(JsonCursor value, std::string_view type_name) const;
  std::optional<double> Number(JsonCursor value) const;
  template <typename T>
  bool StoreElement(JsonCursor value, std::byte* to) const;

  Diagnostics& diagnostics_;
};

// The member with that name, unless it is null, which means left out.
std::optional<JsonCursor> FindPresent(JsonCursor object, std::string_view name);

// The object that has a tensor's fields: the value itself, or its "Desc".
JsonCursor TensorFields(JsonCursor tensor);

}  // namespace dmlop
