#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/reference/operators.h"
#include "tests/reference/scale_bias.h"

namespace dmlop::reference {
namespace {

Expectation Identity(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  uint64_t bits = BitsAt(inputs[0], index);
  const ScaleBias* factors = desc.find(kScaleBias);
  if (factors == nullptr) return {bits};
  using Types = Join<Floats, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), inputs[0].type, [&]<typename T>() {
    const T x = FromBits<T>(bits);
    if constexpr (std::is_integral_v<T>) {
      bits = ToBits(ScaledInteger(*factors, x));
    } else {
      bits = ToBits(ScaledFloat<T>(*factors, ToDouble(x)));
    }
  });
  return {bits};
}

template <ElementWiseFunction kFunction>
Expectation Element(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  ElementWiseCall call{.function = kFunction};
  for (const Field* field : desc.fields()) {
    if (field != &kScaleBias) continue;
    if (const ScaleBias* factors = desc.find(kScaleBias)) call.scale_bias = *factors;
  }
  std::vector<StoredElement> elements;
  for (const ConstTensorView& input : inputs)
    elements.push_back({input.type, BitsAt(input, index)});
  return {ElementOf(call, elements, *desc[kOutputTensor].data_type)};
}

using F = ElementWiseFunction;
constexpr NamedOracle kOracles[] = {
    {"ELEMENT_WISE_IDENTITY", Identity},
    {"ELEMENT_WISE_ABS", Element<F::kAbs>},
    {"ELEMENT_WISE_ADD", Element<F::kAdd>},
};

}  // namespace

std::span<const NamedOracle> ElementWiseOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
