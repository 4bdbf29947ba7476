#include "core/explain/calculate_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/exact/exact_sum.h"
#include "core/explain/calculate_sum.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// The sum with all that it takes to tell its terms later.
class NamedProducts {
 public:
  NamedProducts(ProductSum sum, const OperatorDesc& op, InputViews inputs)
      : sum_(std::move(sum)), inputs_(inputs.begin(), inputs.end()) {
    for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
      names_.push_back(DisplayName(slot.path));
    }
  }

  const ProductSum& sum() const { return sum_; }

  double ValueAt(const InputElement& element) const {
    const ConstTensorView& view = inputs_[element.tensor];
    double value = 0;
    VisitDataType(Floats(), view.type, [&]<typename T>() {
      value = AsDouble(view.elements<T>()[OffsetOf(view.layout, element.index)]);
    });
    return value;
  }

  std::string NameOf(const InputElement& element) const {
    return fmt::format("{}[{}]", names_[element.tensor], fmt::join(element.index, ", "));
  }

  Term TermAt(int64_t k) const {
    const auto& [first, second] = sum_.products[static_cast<size_t>(k)];
    const double a = ValueAt(first);
    const double b = ValueAt(second);
    return {fmt::format("{} * {}", NameOf(first), NameOf(second)),
            fmt::format("{} * {} = {}", a, b, a * b)};
  }

 private:
  ProductSum sum_;
  std::vector<std::string> names_;
  std::vector<ConstTensorView> inputs_;
};

class ProductExplanation {
 public:
  explicit ProductExplanation(std::shared_ptr<const NamedProducts> products)
      : products_(std::move(products)), sum_(products_->sum()) {}

  template <typename T>
  Calculation For(T result) {
    const Dyadic products = SumOfProducts();
    const Dyadic exact = products + Addend();
    calculation_.quantity = Quantity();
    calculation_.term_count = std::ssize(sum_.products);
    calculation_.term = [products = products_](int64_t k) { return products->TermAt(k); };
    ExplainSum(result, exact, Dyadic(1), special_, calculation_);
    return std::move(calculation_);
  }

 private:
  std::string Quantity() const {
    std::string text = "sum of products";
    if (sum_.factor != 1) text = fmt::format("{} * ({})", sum_.factor, text);
    if (!sum_.addend) return text;
    const std::string factor =
        sum_.addend_factor != 1 ? fmt::format("{} * ", sum_.addend_factor) : std::string();
    return fmt::format("{} + {}{}", text, factor, products_->NameOf(*sum_.addend));
  }

  // What is finite of them; the rest is in special_.
  Dyadic SumOfProducts() {
    ExactSum total;
    double special = 0;
    for (const auto& [first, second] : sum_.products) {
      const double product = products_->ValueAt(first) * products_->ValueAt(second);  // exact
      if (std::isfinite(product)) {
        total.Add(product);
      } else {
        special += product;
      }
    }
    special_ = special == 0 ? static_cast<double>(total.Sign()) : special;
    special_ *= sum_.factor;
    return std::isfinite(sum_.factor) ? Dyadic(total) * Dyadic(sum_.factor) : Dyadic();
  }

  Dyadic Addend() {
    if (!sum_.addend) return {};
    const double term = sum_.addend_factor * products_->ValueAt(*sum_.addend);
    special_ += std::isfinite(term) ? 0 : term;
    return std::isfinite(term) ? Dyadic(term) : Dyadic();
  }

  std::shared_ptr<const NamedProducts> products_;
  const ProductSum& sum_;
  Calculation calculation_;
  double special_ = 0;  // finite where the sum is
};

}  // namespace

Calculation ExplainProducts(ProductSum sum, const OperatorDesc& op, InputViews inputs,
                            DataType type, const ElementBytes& result) {
  const auto products = std::make_shared<const NamedProducts>(std::move(sum), op, inputs);
  Calculation calculation;
  VisitDataType(Floats(), type, [&]<typename T>() {
    calculation = ProductExplanation(products).For(ElementOf<T>(result));
  });
  return calculation;
}

}  // namespace dmlop
