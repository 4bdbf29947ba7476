#include "core/explain/calculate_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/explain/calculate_sum.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

class ProductExplanation {
 public:
  ProductExplanation(const ProductSum& sum, const OperatorDesc& op, InputViews inputs)
      : sum_(sum), slots_(TensorSlots(op, TensorRole::kInput)), inputs_(inputs) {}

  template <typename T>
  Calculation For(T result) {
    const Dyadic products = AddProducts();
    const Dyadic exact = products + AddAddend();
    calculation_.quantity = Quantity();
    ExplainSum(result, exact, Dyadic(1), special_, calculation_);
    return std::move(calculation_);
  }

 private:
  double ValueAt(const InputElement& element) const {
    const ConstTensorView& view = inputs_[element.tensor];
    double value = 0;
    VisitDataType(Floats(), view.type, [&]<typename T>() {
      value = AsDouble(view.elements<T>()[OffsetOf(view.layout, element.index)]);
    });
    return value;
  }

  std::string NameOf(const InputElement& element) const {
    return fmt::format("{}[{}]", DisplayName(slots_[element.tensor].path),
                       fmt::join(element.index, ", "));
  }

  std::string Quantity() const {
    std::string text = "sum of products";
    if (sum_.factor != 1) text = fmt::format("{} * ({})", sum_.factor, text);
    if (!sum_.addend) return text;
    const std::string factor =
        sum_.addend_factor != 1 ? fmt::format("{} * ", sum_.addend_factor) : std::string();
    return fmt::format("{} + {}{}", text, factor, NameOf(*sum_.addend));
  }

  // What is finite of them; the rest is in special_.
  Dyadic AddProducts() {
    Dyadic total;
    double special = 0;
    for (const auto& [first, second] : sum_.products) {
      const double a = ValueAt(first);
      const double b = ValueAt(second);
      const double product = a * b;  // exact: 24 bits each
      calculation_.terms.push_back({fmt::format("{} * {}", NameOf(first), NameOf(second)),
                                    fmt::format("{} * {} = {}", a, b, product)});
      if (std::isfinite(product)) {
        total = total + Dyadic(product);
      } else {
        special += product;
      }
    }
    special_ = special == 0 ? static_cast<double>(total.Sign()) : special;
    special_ *= sum_.factor;
    return std::isfinite(sum_.factor) ? total * Dyadic(sum_.factor) : Dyadic();
  }

  Dyadic AddAddend() {
    if (!sum_.addend) return {};
    const double term = sum_.addend_factor * ValueAt(*sum_.addend);
    special_ += std::isfinite(term) ? 0 : term;
    return std::isfinite(term) ? Dyadic(term) : Dyadic();
  }

  const ProductSum& sum_;
  std::vector<TensorSlot> slots_;
  InputViews inputs_;
  Calculation calculation_;
  double special_ = 0;  // finite where the sum is
};

}  // namespace

Calculation ExplainProducts(const ProductSum& sum, const OperatorDesc& op, InputViews inputs,
                            DataType type, const ElementBytes& result) {
  Calculation calculation;
  VisitDataType(Floats(), type, [&]<typename T>() {
    calculation = ProductExplanation(sum, op, inputs).For(ElementOf<T>(result));
  });
  return calculation;
}

}  // namespace dmlop
