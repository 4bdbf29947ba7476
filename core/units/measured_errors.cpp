// SPDX-License-Identifier: Apache-2.0
#include "core/units/units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

std::vector<double> NumbersOf(const ConstTensorView& view) {
  constexpr int64_t kGrain = 1 << 15;
  std::vector<double> numbers(static_cast<size_t>(view.layout.element_count()));
  const Dims& sizes = view.layout.sizes;
  VisitDataType(Join<TypeList<double>, Floats>(), view.type, [&]<typename T>() {
    ParallelFor(view.layout.element_count(), kGrain, 0, [&](int64_t begin, int64_t end) {
      Dims index = IndexOf(sizes, begin);
      for (int64_t i = begin; i < end; ++i, Advance(sizes, index)) {
        const int64_t offset = OffsetOf(view.layout, index) * static_cast<int64_t>(sizeof(T));
        numbers[static_cast<size_t>(i)] = AsDouble(ElementOf<T>(view.data + offset));
      }
    });
  });
  return numbers;
}

class Measurement {
 public:
  Measurement(const ErrorUnits& units, const ConstTensorView& actual,
              const ConstTensorView& expected, const UnitTolerance& tolerance)
      : units_(units),
        tolerance_(tolerance),
        type_(actual.type),
        actual_(NumbersOf(actual)),
        expected_(NumbersOf(expected)) {}

  UnitErrors Result() {
    errors_.units.resize(actual_.size());
    errors_.most_terms = *std::ranges::max_element(units_.terms);
    RequireFewTerms();
    ForEach([this](int64_t i) {
      errors_.units[At(i)] = units_.UnitsOf(i, actual_[At(i)], expected_[At(i)], type_);
    });
    if (tolerance_.allows_any()) Allow();
    return std::move(errors_);
  }

 private:
  static size_t At(int64_t i) { return static_cast<size_t>(i); }

  template <typename Body>
  void ForEach(Body&& body) const {
    constexpr int64_t kGrain = 1 << 13;
    ParallelFor(std::ssize(actual_), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

  // The roundoff of so many terms is the sum itself.
  void RequireFewTerms() const {
    constexpr int64_t kTooManyOfFloat16 = 2048, kTooManyOfBfloat16 = 256;
    if (units_.in_bfloat16 && tolerance_.rule != UnitTolerance::Rule::kNone &&
        units_.bound != ErrorUnits::Bound::kExact) {
      RequireFewer(kTooManyOfBfloat16, "bfloat16");
    } else if (tolerance_.sums == DataType::kFloat16) {
      RequireFewer(kTooManyOfFloat16, "FLOAT16");
    }
  }

  void RequireFewer(int64_t too_many, std::string_view format) const {
    if (errors_.most_terms < too_many) return;
    throw Error(ErrorKind::kUsage,
                "sums of {} are no tolerance for {} terms: from {} on, zeros would "
                "pass; --units N allows less",
                format, errors_.most_terms, too_many);
  }

  void Allow() {
    errors_.allowed.resize(actual_.size());
    const double roots =
        tolerance_.rule == UnitTolerance::Rule::kNoise && IsTooMuchInTheMedian() ? 0.25 : 2;
    ForEach([&](int64_t i) {
      errors_.allowed[At(i)] = std::max(tolerance_.units, AllowedByRule(i, roots));
    });
  }

  double AllowedByRule(int64_t i, double roots) const {
    switch (tolerance_.rule) {
      case UnitTolerance::Rule::kNone:
        return 0;
      case UnitTolerance::Rule::kNoise:
        return roots * RootOfTerms(i);
      default:
        break;
    }
    const bool is_beyond = !std::isfinite(actual_[At(i)]);
    return is_beyond && units_.MayOverflow(i, tolerance_.sums)
               ? std::numeric_limits<double>::infinity()
               : units_.AllowedSums(i, tolerance_.sums);
  }

  double RootOfTerms(int64_t i) const { return std::sqrt(units_.AllowedSums(i)); }

  // Then the elements beyond that are more than half of all.
  bool IsTooMuchInTheMedian() const {
    std::vector<double> roots(actual_.size());
    ForEach([&](int64_t i) {
      const double units = errors_.units[At(i)];
      roots[At(i)] = units == 0 ? 0 : units / RootOfTerms(i);
    });
    const auto middle = roots.begin() + std::ssize(roots) / 2;
    std::nth_element(roots.begin(), middle, roots.end());
    return *middle > 0.25;
  }

  const ErrorUnits& units_;
  const UnitTolerance& tolerance_;
  const DataType type_;
  const std::vector<double> actual_, expected_;
  UnitErrors errors_;
};

}  // namespace

UnitErrors MeasureErrors(const ErrorUnits& units, const ConstTensorView& actual,
                         const ConstTensorView& expected, const UnitTolerance& tolerance) {
  return Measurement(units, actual, expected, tolerance).Result();
}

}  // namespace dmlop
