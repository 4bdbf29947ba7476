// SPDX-License-Identifier: Apache-2.0
#include "app/explain/device_element.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "app/compare/judgement.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/compare/alignment.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/units.h"

namespace dmlop {
namespace {

const TensorDesc& OutputDescOf(const Computation& computation, const Element& output) {
  return *TensorSlots(computation.op, TensorRole::kOutput)[output.tensor].desc;
}

Layout PackedLayoutOf(const Computation& computation, const Element& output) {
  return PackedLayout(LayoutOf(OutputDescOf(computation, output)).sizes);
}

int64_t RowMajorNumberOf(const Computation& computation, const Element& output) {
  return OffsetOf(PackedLayoutOf(computation, output), output.index);
}

ElementBytes ExactElementOf(const Computation& computation, const Element& output) {
  const int64_t number = RowMajorNumberOf(computation, output);
  return ElementsOf(computation, output.tensor, {&number, 1})[0];
}

// Returns the steps between numbers of the type, or of bfloat16; nothing for integers, whose
// difference says as much, and where only one value is finite.
std::optional<uint64_t> UlpBetween(const DeviceValue& actual, DataType type, double expected) {
  std::optional<uint64_t> ulp;
  if (!std::isfinite(actual.value) || !std::isfinite(expected)) return ulp;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      ulp = UlpDistance(FromDouble<T>(actual.value), FromDouble<T>(expected));
    }
  });
  return ulp && actual.is_bfloat16 ? InStepsOfBfloat16(*ulp) : ulp;
}

[[noreturn]] void RefuseOther(const std::string& path, std::string_view what,
                              std::string_view found, std::string_view expected) {
  throw OtherTypeOrShape(fmt::format("{}: has {} {}; expected {} [{}]", path, what, found, expected,
                                     MismatchClass(/*is_missing=*/false)));
}

[[noreturn]] void RefuseValue(std::string_view text, DataType type) {
  throw Error(ErrorKind::kUsage,
              "--actual: '{}' is no number; expected one, as -0.5 or nan, or {} digits of bits "
              "after 0x",
              text, 2 * ByteWidth(type));
}

double ValueOfBits(std::string_view digits, std::string_view text, DataType type) {
  ElementBytes bytes{};
  const auto bits = ParseNumber<uint64_t>(digits, 16);
  if (digits.size() != 2 * ByteWidth(type) || !bits) RefuseValue(text, type);
  std::memcpy(bytes.data(), &*bits, ByteWidth(type));
  return ValueOf(type, bytes.data());
}

}  // namespace

VariedValue VariedValueOf(const VariedRun& varied, const Computation& original,
                          const Computation& changed, const Element& output) {
  const int64_t number = RowMajorNumberOf(original, output);
  return {varied.ids(), varied.text(), varied.ElementsOf(changed, output.tensor, {&number, 1})[0],
          ExactElementOf(original, output), varied.PartialSums(changed, output.tensor, number)};
}

DeviceValue ValueFrom(std::string_view text, DataType type) {
  if (text.starts_with("0x")) return {ValueOfBits(text.substr(2), text, type), type};
  const auto number = ParseNumber<double>(text);
  if (!number) RefuseValue(text, type);
  double value = *number;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) value = AsDouble(FromDouble<T>(value));
  });
  return {value, type};
}

DeviceValue ValueIn(const LoadedTensor& judged, const std::string& path, const TensorDesc& desc,
                    const Dims& index) {
  const Dims sizes = LayoutOf(desc).sizes;
  const DataType type = StoredAs(*desc.data_type);
  const ConstTensorView& view = judged.view;
  if (judged.is_bfloat16 ? !IsFloat(type) : view.type != type) {
    RefuseOther(path, "type", Compared(judged).type_name, Name(*desc.data_type));
  }
  if (view.layout.sizes != sizes) {
    RefuseOther(path, "sizes", ToString(view.layout.sizes), ToString(sizes));
  }
  const auto width = static_cast<int64_t>(ByteWidth(view.type));
  return {ValueOf(view.type, view.data + OffsetOf(view.layout, index) * width), view.type,
          judged.is_bfloat16};
}

ActualValue ActualValueOf(const DeviceValue& actual, const Computation& original,
                          const Element& output) {
  const DataType type = *OutputDescOf(original, output).data_type;
  const double exact = ValueOf(type, ExactElementOf(original, output).data());
  const double expected = actual.is_bfloat16 ? RoundedToBfloat16(exact) : exact;
  ActualValue told{.value = actual.value,
                   .error = actual.value - expected,
                   .type = actual.is_bfloat16 ? kBfloat16Name : Name(type)};
  told.ulp = UlpBetween(actual, type, expected);
  const Buffer whole = WholeOutput(original, output.tensor);
  const ConstTensorView view{whole.data(), type, PackedLayoutOf(original, output)};
  auto units = ErrorUnitsOf(original.op, original.inputs, view, output.tensor);
  if (!units) return told;
  units->in_bfloat16 = actual.is_bfloat16;
  const int64_t number = RowMajorNumberOf(original, output);
  const double error = units->UnitsOf(number, actual.value, expected, actual.type);
  if (std::isfinite(actual.value) || error == 0) told.units = error;
  told.terms = units->TermsOf(number);
  return told;
}

}  // namespace dmlop
