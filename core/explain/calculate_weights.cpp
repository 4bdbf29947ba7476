#include "core/explain/calculate_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/explain/calculate_modulo.h"
#include "core/explain/calculate_sum.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMostTerms = 1 << 16;

struct WeightedTerm {
  int64_t element;  // of the input, in row-major order
  Dyadic part;
};

// The products of the taps of all dimensions, and of their wholes.
struct WeightedTerms {
  std::vector<WeightedTerm> terms = {{0, Dyadic(1)}};
  Dyadic whole = Dyadic(1);
};

std::optional<WeightedTerms> TermsAt(const WeightedSource& source, const Dims& index) {
  WeightedTerms all;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t count = source.axes[d]->Count(index[d]);
    if (count > kMostTerms / std::max<int64_t>(1, std::ssize(all.terms))) return std::nullopt;
    const AxisTaps taps = source.axes[d]->Taps(index[d]);
    if (!taps.is_exact) return std::nullopt;
    std::vector<WeightedTerm> products;
    for (const WeightedTerm& term : all.terms) {
      for (size_t i = 0; i < taps.offsets.size(); ++i) {
        products.push_back({term.element + taps.offsets[i], term.part * taps.parts[i]});
      }
    }
    all.terms = std::move(products);
    all.whole = all.whole * taps.whole;
  }
  if (all.whole.bit_length() != 1) return all;
  for (WeightedTerm& term : all.terms) {
    term.part = term.part.TimesPowerOfTwo(-all.whole.exponent());
  }
  all.whole = Dyadic(1);
  return all;
}

// The terms with all that it takes to tell them later.
struct NamedTerms {
  WeightedTerms of;
  std::string name;
  ConstTensorView input;

  template <typename T>
  T ValueAt(const WeightedTerm& term) const {
    return input.elements<T>()[OffsetOf(input.layout, IndexOf(input.layout.sizes, term.element))];
  }

  template <typename T>
  Term TermAt(int64_t k) const {
    const WeightedTerm& term = of.terms[static_cast<size_t>(k)];
    const std::string weight = term.part.ToDecimal();
    const Dims index = IndexOf(input.layout.sizes, term.element);
    return {fmt::format("{} * {}[{}]", weight, name, fmt::join(index, ", ")),
            fmt::format("{} * {}", weight, ProductText(term.part, ValueAt<T>(term)))};
  }

 private:
  template <typename T>
  static std::string ProductText(const Dyadic& part, T x) {
    if constexpr (!std::is_integral_v<T>) {
      const double value = AsDouble(x);
      if (!std::isfinite(value)) return fmt::format("{} = {}", value, value);
    }
    const Dyadic value = ExactOf(x);
    return fmt::format("{} = {}", value.ToDecimal(), (part * value).ToDecimal());
  }

 public:
  template <typename T>
  static Dyadic ExactOf(T x) {
    if constexpr (std::is_integral_v<T>) return Dyadic(x);
    if constexpr (!std::is_integral_v<T>) return Dyadic(AsDouble(x));
  }
};

class WeightExplanation {
 public:
  explicit WeightExplanation(std::shared_ptr<const NamedTerms> terms)
      : named_(std::move(terms)), terms_(named_->of) {}

  template <typename T>
  Calculation For(bool wraps, T result) {
    for (const WeightedTerm& term : terms_.terms) Add(term.part, named_->ValueAt<T>(term));
    calculation_.term_count = std::ssize(terms_.terms);
    calculation_.term = [named = named_](int64_t k) { return named->TermAt<T>(k); };
    calculation_.quantity = "sum of products";
    if (const Dyadic& whole = terms_.whole; whole.bit_length() > 1 && special_ == 0) {
      calculation_.then = "divided by " + whole.ToDecimal();
      calculation_.value = sum_.Truncated() / whole.Truncated();
    }
    if constexpr (std::is_integral_v<T>) {
      ExplainInteger(wraps, result);
    } else {
      const double special = special_ == 0 ? static_cast<double>(sum_.Sign()) : special_;
      ExplainSum(result, sum_, terms_.whole, special, calculation_);
      if (terms_.terms.empty()) calculation_.reason = "a sum of nothing is +0";
    }
    return std::move(calculation_);
  }

 private:
  template <typename T>
  void Add(const Dyadic& part, T x) {
    const double value = AsDouble(x);
    if (std::isfinite(value)) {
      sum_ = sum_ + part * NamedTerms::ExactOf(x);
    } else {
      special_ += value;
    }
  }

  template <typename T>
  void ExplainInteger(bool wraps, T result) {
    if (wraps) return ExplainModulo(result, sum_, calculation_);
    calculation_.exact = sum_.ToDecimal();
    if ((sum_ - Dyadic(result) * terms_.whole).Sign() == 0) {
      calculation_.reason = RoundingReason(ValueRule::kExact, kDataTypeOf<T>);
    } else {
      calculation_.rule = ValueRule::kTruncated;
      calculation_.reason = "the fraction is cut off, toward zero";
    }
  }

  std::shared_ptr<const NamedTerms> named_;
  const WeightedTerms& terms_;
  Calculation calculation_;
  Dyadic sum_;          // of those that are finite
  double special_ = 0;  // and of the others
};

}  // namespace

std::optional<Calculation> ExplainWeights(const WeightedSource& source, std::string_view name,
                                          const ConstTensorView& input, const Dims& index,
                                          const ElementBytes& result) {
  if (source.rule == WeightedSource::kCopy) return std::nullopt;
  std::optional<WeightedTerms> terms = TermsAt(source, index);
  if (!terms) return std::nullopt;
  const auto named =
      std::make_shared<const NamedTerms>(NamedTerms{*std::move(terms), std::string(name), input});
  Calculation calculation;
  VisitDataType(Join<Floats, Integers64, Integers32, Integers16, Integers8>(), input.type,
                [&]<typename T>() {
                  const bool wraps = source.rule == WeightedSource::kWrap;
                  calculation = WeightExplanation(named).For(wraps, ElementOf<T>(result));
                });
  return calculation;
}

}  // namespace dmlop
