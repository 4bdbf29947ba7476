// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/tile_results.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/engine/matrix/product_grid.h"
#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/matrix/product.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Most bytes of the lines that are kept extracted at the same time.
constexpr int64_t kLineBytesAtHand = 1 << 20;

// The factors of one element's products, without absent ones.
struct Factors {
  std::span<const double> a, b;
  bool are_finite;

  int64_t count() const { return static_cast<int64_t>(a.size()); }
};

// Evaluates the formula for one element after another.
template <typename T>
class Formula {
 public:
  explicit Formula(double factor) : factor_(factor) {}

  T Result(const Factors& factors, std::span<const double> addends) {
    factors_ = factors;
    addends_ = addends;
    if (++results_ % kResultsAtOnePrecision == 0) precision_ = Precision::kPrecise;
    if (precision_ == Precision::kExact && AllAreFinite()) {
      const T result = Exact();
      if (AsDouble(result) != 0) return result;  // the sign of a zero takes more work
    }
    return ByShorterSums();
  }

 private:
  // A rounding is decided by longer and longer sums. Results of one product are often alike, so the
  // next few begin with the last precision.
  enum class Precision { kPrecise, kFine, kExact };
  static constexpr unsigned kResultsAtOnePrecision = 64;

  T ByShorterSums() {
    const PreciseSum sum = SumBy(precision_ == Precision::kPrecise ? precise_dot_ : fine_dot_);
    if (!std::isfinite(sum.head) || !std::isfinite(sum.tail)) return WithNumbers(PlainSum());
    if (!std::isfinite(factor_)) return WithNumbers(ExactSign(sum));
    if (!AddendsAreFinite()) return WithNumbers(sum.head);
    if (!IsLost(sum)) {
      if (const std::optional<T> result = TryToRound(sum)) return *result;
      if (precision_ == Precision::kPrecise) {
        precision_ = Precision::kFine;
        if (const std::optional<T> result = TryToRound(SumBy(fine_dot_))) return *result;
      }
    }
    precision_ = Precision::kExact;
    return Exact();
  }

  bool AddendsAreFinite() const {
    return std::all_of(addends_.begin(), addends_.end(),
                       [](double addend) { return std::isfinite(addend); });
  }

  bool AllAreFinite() const {
    return factors_.are_finite && std::isfinite(factor_) && AddendsAreFinite();
  }

  PreciseSum SumBy(PreciseDotFunction* dot) const {
    return dot(factors_.count(), factors_.a.data(), factors_.b.data());
  }

  // Evaluates the formula in FLOAT64, for results that are zero or not finite.
  T WithNumbers(double sum) const {
    double value = factor_ * sum;
    for (const double addend : addends_) value += addend;
    return RoundOnce<T>(value);
  }

  // Sums in FLOAT64, for factors that are not finite.
  double PlainSum() const {
    double sum = -0.0;
    for (size_t k = 0; k < factors_.a.size(); ++k) sum += factors_.a[k] * factors_.b[k];
    return sum;
  }

  ExactSum SumOfProducts() const {
    ExactSum sum;
    exact_dot_(factors_.count(), factors_.a.data(), factors_.b.data(), sum);
    return sum;
  }

  // A number with the sign of the exact sum: zero if the sum is zero.
  double ExactSign(const PreciseSum& sum) const {
    return sum.bound == 0 ? sum.head : SumOfProducts().Sign();
  }

  bool AddendsAreZeros() const {
    return std::all_of(addends_.begin(), addends_.end(), [](double addend) { return addend == 0; });
  }

  // Rounds a total that has no error.
  T ExactlyRounded(const PreciseSum& sum, const HeadTail& total) const {
    const bool are_zeros = (sum.head == 0 || factor_ == 0) && AddendsAreZeros();
    return are_zeros ? WithNumbers(ExactSign(sum)) : RoundOnce<T>(total.head, total.tail);
  }

  // Null if the bounds of the sum round to different results.
  std::optional<T> TryToRound(const PreciseSum& sum) {
    const HeadTail head = TwoProduct(factor_, sum.head);
    const HeadTail tail = TwoProduct(factor_, sum.tail);
    parts_ = {head.head, head.tail, tail.head, tail.tail};
    parts_.insert(parts_.end(), addends_.begin(), addends_.end());
    const BoundedSum total = SumOfParts(parts_);
    const double bound = std::fabs(factor_) * sum.bound + total.bound;
    if (bound == 0) return ExactlyRounded(sum, total.sum);
    if (total.sum.head == 0) return std::nullopt;
    return RoundWithin<T>(total.sum, bound);
  }

  // True if cancellation is so strong that another 53 bits would not suffice, either.
  bool IsLost(const PreciseSum& sum) const {
    return sum.head != 0 &&
           sum.bound > std::fabs(sum.head) * 0x1p-20 * static_cast<double>(factors_.count());
  }

  T Exact() const {
    ExactSum exact = SumOfProducts();
    if (factor_ == 1) {
      for (const double addend : addends_) exact.Add(addend);
      return RoundSum<T>(exact);
    }
    const Dyadic product = Dyadic(exact) * Dyadic(factor_);
    if (product.Sign() == 0 && AddendsAreZeros()) return WithNumbers(exact.Sign());
    Dyadic total = product;
    for (const double addend : addends_) total = total + Dyadic(addend);
    return RoundExact<T>(total);
  }

  PreciseDotFunction* precise_dot_ = PreciseDotFunctionNow();
  PreciseDotFunction* fine_dot_ = FineDotFunctionNow();
  ExactDotFunction* exact_dot_ = ExactDotFunctionNow();
  Precision precision_ = Precision::kPrecise;
  unsigned results_ = 0;
  double factor_;
  Factors factors_;
  std::span<const double> addends_;
  std::vector<double> parts_;  // terms of the value
};

double ElementAt(const MatrixAddend& addend, int64_t row_offset, int64_t column_offset) {
  double element = 0;
  VisitDataType(TypeList<float, Half, double>(), addend.at.type, [&]<typename T>() {
    element = AsDouble(reinterpret_cast<const T*>(addend.at.data)[row_offset + column_offset]);
  });
  return element * addend.factor;
}

// An extracted line, and the offset at which its elements of the output begin.
struct LineAtHand {
  std::span<const double> elements;
  bool are_finite;
  bool has_absent;
  int64_t output_offset;
};

// Lines of one operand, extracted on demand.
class LinesAtHand {
 public:
  // As many lines as there are places are enough; memory for more would be far from the cache.
  LinesAtHand(const MatrixLines& lines, const Layout& outputs, int64_t places)
      : lines_(lines),
        outputs_(outputs),
        capacity_(std::clamp<int64_t>(
            kLineBytesAtHand / (lines.length() * static_cast<int64_t>(sizeof(double))), 1, places)),
        elements_(capacity_ * lines.length()) {}

  bool has_room_for_all() const { return lines_.count() <= capacity_; }

  // All lines of a group are kept extracted at the same time.
  int64_t GroupOf(int64_t line) const { return has_room_for_all() ? 0 : line / capacity_; }

  [[gnu::noinline]] const LineAtHand& Line(int64_t line) {
    const int64_t group = GroupOf(line);
    if (group != group_) {
      group_ = group;
      at_hand_.assign(static_cast<size_t>(std::min(capacity_, lines_.count())), {});
    }
    const size_t slot = static_cast<size_t>(line - group * capacity_);
    LineAtHand& at_hand = at_hand_[slot];
    if (at_hand.elements.empty()) at_hand = Extracted(line, slot);
    return at_hand;
  }

 private:
  LineAtHand Extracted(int64_t line, size_t slot) {
    const size_t length = static_cast<size_t>(lines_.length());
    double* elements = elements_.data() + slot * length;
    lines_.Extract(line, elements);
    return {{elements, length},
            AreFinite({elements, length}),
            lines_.HasAbsent(line),
            OffsetOfElement(outputs_, line)};
  }

  // Adds 1 to each exponent: only that of a number that is not finite carries. Unlike a comparison,
  // this is done by vectors.
  static bool AreFinite(std::span<const double> numbers) {
    constexpr uint64_t kExponent = 0x7FF0000000000000, kOne = uint64_t{1} << 52;
    uint64_t sums = 0;
    for (const double number : numbers) {
      sums |= (std::bit_cast<uint64_t>(number) & kExponent) + kOne;
    }
    return sums >> 63 == 0;
  }

  const MatrixLines& lines_;
  const Layout& outputs_;
  int64_t capacity_;
  int64_t group_ = -1;
  std::vector<LineAtHand> at_hand_;
  AlignedNumbers<double> elements_;
};

template <typename T>
class ExactMatrixProduct {
 public:
  // Takes memory for so many places.
  ExactMatrixProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                     const MatrixOutput& output, int64_t places)
      : terms_(terms),
        data_(reinterpret_cast<T*>(output.data)),
        rows_(rows, output.rows, places),
        columns_(columns, output.columns, places),
        formula_(terms.factor) {}

  // Orders places by groups of columns, then by rows, so that few lines are extracted twice.
  void Sort(std::span<MatrixPlace> places) const {
    if (rows_.has_room_for_all() && columns_.has_room_for_all()) return;
    const auto key = [&](const MatrixPlace& place) {
      return std::tuple(columns_.GroupOf(place.column), place.row, place.column);
    };
    std::sort(places.begin(), places.end(),
              [&](const MatrixPlace& a, const MatrixPlace& b) { return key(a) < key(b); });
  }

  void Compute(const MatrixPlace& place) {
    const LineAtHand& row = rows_.Line(place.row);
    const LineAtHand& column = columns_.Line(place.column);
    Factors factors{row.elements, column.elements, row.are_finite && column.are_finite};
    if (row.has_absent || column.has_absent) LeaveOutAbsent(factors);
    addends_.clear();
    for (const MatrixAddend& addend : terms_.addends) {
      addends_.push_back(ElementAt(addend, OffsetOfElement(addend.at.rows, place.row),
                                   OffsetOfElement(addend.at.columns, place.column)));
    }
    data_[row.output_offset + column.output_offset] = formula_.Result(factors, addends_);
  }

 private:
  void LeaveOutAbsent(Factors& factors) {
    present_a_.clear();
    present_b_.clear();
    for (size_t k = 0; k < factors.a.size(); ++k) {
      if (MatrixLines::IsAbsent(factors.a[k]) || MatrixLines::IsAbsent(factors.b[k])) continue;
      present_a_.push_back(factors.a[k]);
      present_b_.push_back(factors.b[k]);
    }
    if (present_a_.empty()) {  // the empty sum is +0
      present_a_.push_back(0);
      present_b_.push_back(0);
    }
    factors = {present_a_, present_b_, false};
  }

  const MatrixTerms& terms_;
  T* data_;
  LinesAtHand rows_;
  LinesAtHand columns_;
  Formula<T> formula_;
  std::vector<double> present_a_, present_b_, addends_;
};

}  // namespace

void ResolveExactly(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                    const MatrixOutput& output, std::span<MatrixPlace> places) {
  VisitDataType(TypeList<float, Half>(), output.type, [&]<typename T>() {
    ExactMatrixProduct<T> product(rows, columns, terms, output, std::ssize(places));
    product.Sort(places);
    for (const MatrixPlace& place : places) product.Compute(place);
  });
}

}  // namespace dmlop
