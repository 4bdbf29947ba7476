// SPDX-License-Identifier: Apache-2.0
#include "app/explain/device_element.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/error.h"
#include "core/judge/units.h"
#include "core/tensor/visit_data_type.h"

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

// Returns nothing for integers, whose difference says as much, or if one value is NaN.
std::optional<uint64_t> UlpBetween(DataType type, double value, const ElementBytes& exact) {
  std::optional<uint64_t> ulp;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    [[maybe_unused]] const T expected = ElementOf<T>(exact);
    if constexpr (!std::is_integral_v<T>) {
      if (std::isnan(value) || std::isnan(AsDouble(expected))) return;
      ulp = UlpDistance(FromDouble<T>(value), expected);
    }
  });
  return ulp;
}

}  // namespace

VariedValue VariedValueOf(const VariedRun& varied, const Computation& original,
                          const Computation& changed, const Element& output) {
  const int64_t number = RowMajorNumberOf(original, output);
  return {varied.ids(), varied.text(), varied.ElementsOf(changed, output.tensor, {&number, 1})[0],
          ExactElementOf(original, output), varied.PartialSums(changed, output.tensor, number)};
}

double ValueIn(const ConstTensorView& judged, const std::string& path, const TensorDesc& desc,
               const Dims& index) {
  const Dims sizes = LayoutOf(desc).sizes;
  if (judged.layout.sizes != sizes) {
    throw Error(ErrorKind::kTensorFile, "{}: has sizes {}; expected {}", path,
                ToString(judged.layout.sizes), ToString(sizes));
  }
  const auto width = static_cast<int64_t>(ByteWidth(judged.type));
  return ValueOf(judged.type, judged.data + OffsetOf(judged.layout, index) * width);
}

ActualValue ActualValueOf(double value, const Computation& original, const Element& output) {
  const DataType type = *OutputDescOf(original, output).data_type;
  const ElementBytes exact = ExactElementOf(original, output);
  const double expected = ValueOf(type, exact.data());
  ActualValue actual{.value = value, .error = value - expected};
  actual.ulp = UlpBetween(type, value, exact);
  const Buffer whole = WholeOutput(original, output.tensor);
  const ConstTensorView view{whole.data(), type, PackedLayoutOf(original, output)};
  const auto units = ErrorUnitsOf(original.op, original.inputs, view, output.tensor);
  if (!units) return actual;
  const int64_t number = RowMajorNumberOf(original, output);
  actual.units = units->UnitsOf(number, value, expected, type);
  actual.terms = units->TermsOf(number);
  return actual;
}

}  // namespace dmlop
