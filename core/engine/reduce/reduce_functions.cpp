// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/engine/reduce/exp_sum_accumulators.h"
#include "core/engine/reduce/min_max_accumulators.h"
#include "core/engine/reduce/product_accumulators.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/engine/reduce/sum_accumulators.h"
#include "core/engine/reduce/vector_accumulators.h"
#include "core/kernels/reduce/integer_fold.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// T has the size of the elements, and no sign.
template <typename T>
class IntegerAccumulators : public VectorAccumulators<IntegerAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = kNearestBytes / sizeof(T);
  static constexpr int64_t kShortRow = 128 / sizeof(T);
  static constexpr int64_t kBlock = kReadAheadBytes / sizeof(T);

  IntegerAccumulators(int64_t capacity, IntegerFold fold)
      : fold_(fold),
        kernels_(IntegerFoldKernelsFor<T>(fold)),
        states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(states_.begin(), count, static_cast<T>(StartOf(fold_))); }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.fold_row(x, count, states_.data() + o);
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.fold_columns(x, rows, row_stride, columns, states_.data());
  }

  void Merge(int64_t o, const IntegerAccumulators& other, int64_t p, int64_t) {
    T& state = states_[static_cast<size_t>(o)];
    state = MergeFolds(fold_, state, other.states_[static_cast<size_t>(p)]);
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    std::copy_n(states_.begin() + o, count, results);
    return true;
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    result = states_[static_cast<size_t>(o)];
    return true;
  }

 private:
  IntegerFold fold_;
  IntegerFoldKernels<T> kernels_;
  std::vector<T> states_;
};

}  // namespace

// --- minimum and maximum -------------------------------------------------------------------------

namespace {

MinMax WantedBy(ReduceFunction function) {
  const bool is_max = function == ReduceFunction::kMax || function == ReduceFunction::kArgMax;
  return is_max ? MinMax::kMax : MinMax::kMin;
}

// Calls body.operator()<T>(flipped); T is the type that the kernels use for the elements.
template <typename Body>
void VisitOrdered(const ReductionCall& call, DataType type, Body&& body) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), type, [&]<typename T>() {
    body.template operator()<Ordered<T>>(FlippedBits<T>(WantedBy(call.function)));
  });
}

}  // namespace

void ReduceToValue(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output) {
  VisitOrdered(call, input.type, [&]<typename T>(KeyOf<T> flipped) {
    ReduceWith<MinMaxAccumulators<T>>(call, input, output, flipped);
  });
}

void ReduceToIndex(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output) {
  VisitOrdered(call, input.type, [&]<typename T>(KeyOf<T> flipped) {
    ReduceWith<MinMaxIndexAccumulators<T>>(call, input, output, flipped, call.takes_last,
                                           ByteWidth(output.type));
  });
}

// --- sums ----------------------------------------------------------------------------------------

namespace {

bool AreShort(const ReductionCall& call, const Layout& input, const Layout& output) {
  const std::optional<int64_t> stride = RunStride(input, call.axes);
  const int64_t most = stride == 1 ? kMaxShortRow : kMaxShortColumn;
  return stride && input.element_count() <= most * output.element_count();
}

// Sums by vectors and returns the outputs whose rounding that does not decide.
template <typename T>
std::vector<int64_t> ReduceByVectors(const ReductionCall& call, const ConstTensorView& input,
                                     const TensorView& output, SumMap map, SumFinalizer finalizer) {
  if (finalizer != SumFinalizer::kLog && AreShort(call, input.layout, output.layout)) {
    return ReduceWith<ShortSumAccumulators<T>>(call, input, output, map, finalizer);
  }
  return ReduceWith<ApproximateSumAccumulators<T>>(call, input, output, map, finalizer);
}

// Sums by vectors, and again exactly if that does not decide the rounding.
void ReduceFloats(const ReductionCall& call, const ConstTensorView& input, const TensorView& output,
                  SumMap map, SumFinalizer finalizer) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto unresolved = ReduceByVectors<T>(call, input, output, map, finalizer);
    if (unresolved.empty()) return;
    using Exact = ExactSumAccumulators<T>;
    ReduceAgainWith<Exact>(call, input, output, unresolved,
                           TraitsForLeft(TraitsOf<Exact>(), unresolved, output), map, finalizer);
  });
}

void ReduceAny(const ReductionCall& call, const ConstTensorView& input, const TensorView& output,
               SumMap map, IntegerFold fold) {
  if (IsFloat(input.type)) {
    return ReduceFloats(call, input, output, map, SumFinalizer::kItself);
  }
  VisitDataType(Join<Integers64, Integers32>(), input.type, [&]<typename T>() {
    ReduceWith<IntegerAccumulators<std::make_unsigned_t<T>>>(call, input, output, fold);
  });
}

}  // namespace

void ReduceToSum(const ReductionCall& call, const ConstTensorView& input,
                 const TensorView& output) {
  switch (call.function) {
    case ReduceFunction::kAverage:
      return ReduceFloats(call, input, output, SumMap::kItself, SumFinalizer::kAverage);
    case ReduceFunction::kL1:
      return ReduceAny(call, input, output, SumMap::kMagnitude,
                       IsSigned(input.type) ? IntegerFold::kSumOfMagnitudes : IntegerFold::kSum);
    case ReduceFunction::kL2:
      return ReduceFloats(call, input, output, SumMap::kSquare, SumFinalizer::kSquareRoot);
    case ReduceFunction::kLogSum:
      return ReduceFloats(call, input, output, SumMap::kItself, SumFinalizer::kLog);
    case ReduceFunction::kSumSquare:
      return ReduceAny(call, input, output, SumMap::kSquare, IntegerFold::kSumOfSquares);
    default:
      return ReduceAny(call, input, output, SumMap::kItself, IntegerFold::kSum);
  }
}

// --- products ------------------------------------------------------------------------------------

namespace {

// At this size, untracked products leave the rounding of a share of 2^-2 (FLOAT32) or 2^-9
// (FLOAT16) of the finite groups unresolved. Most such products are 0 or infinite, which is always
// resolved.
template <typename T>
constexpr int64_t kMostUntracked = std::is_same_v<T, float> ? int64_t{1} << 26 : int64_t{1} << 32;

template <typename Accumulators>
void ReduceInOrder(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output, const std::vector<int64_t>& groups) {
  ReduceAgainWith<Accumulators>(call, input, output, groups,
                                TraitsOf<Accumulators>(/*any_order=*/false));
}

// Multiplies by vectors; if that does not decide the rounding, by vectors that track rounding
// errors, which decides all ties; and at last in an order that does not depend on the layout.
template <typename T>
void ReduceFloats(const ReductionCall& call, const ConstTensorView& input,
                  const TensorView& output) {
  using Approximate = ApproximateProductAccumulators<T>;
  const ReducePlan plan = PlanFor(call, input, output, TraitsOf<Approximate>());
  const auto run = [&](bool tracked, const std::vector<int64_t>* chosen) {
    return RunReduction(plan, {input, output}, MakerOf<Approximate>(tracked), chosen);
  };
  std::vector<int64_t> unresolved;
  if (plan.group_size > kMostUntracked<T>) {
    unresolved = run(/*tracked=*/true, nullptr);
  } else {
    unresolved = run(/*tracked=*/false, nullptr);
    if (!unresolved.empty()) unresolved = run(/*tracked=*/true, &unresolved);
  }
  if (unresolved.empty()) return;
  if (plan.group_size <= ShortProductAccumulators<T>::kMaxElements) {
    ReduceInOrder<ShortProductAccumulators<T>>(call, input, output, unresolved);
  } else {
    ReduceInOrder<OrderedProductAccumulators<T>>(call, input, output, unresolved);
  }
}

}  // namespace

void ReduceToProduct(const ReductionCall& call, const ConstTensorView& input,
                     const TensorView& output) {
  VisitDataType(Join<Floats, Integers64, Integers32>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      using Folds = IntegerAccumulators<std::make_unsigned_t<T>>;
      ReduceWith<Folds>(call, input, output, IntegerFold::kProduct);
    } else {
      ReduceFloats<T>(call, input, output);
    }
  });
}

// --- logarithm of the sum of exponentials --------------------------------------------------------

namespace {

// Writes the maxima of groups that are NaN or infinite as their results. Returns the other outputs.
template <typename T>
std::vector<int64_t> SettleByMaxima(const ReducePlan& plan, const std::vector<int64_t>& outputs,
                                    const double* maxima, T* results) {
  std::vector<int64_t> others;
  std::optional<Walk<ReducePlan::kOuterOperands>> place;
  int64_t last = 0;
  for (const int64_t output : outputs) {
    if (place && output == last + 1) {
      place->Next();
    } else {
      place.emplace(plan.outer, output);
    }
    last = output;
    const double max = maxima[place->offset(ReducePlan::kShift)];
    if (std::isfinite(max)) {
      others.push_back(output);
    } else {
      results[place->offset(ReducePlan::kOutput)] = RoundOnce<T>(max);
    }
  }
  return others;
}

// Computes the maxima in one pass and, in a second one, sums that do not depend on the order.
template <typename T>
void ReduceInTwoPasses(const ReductionCall& call, const ConstTensorView& input,
                       const TensorView& output, const std::vector<int64_t>& outputs) {
  Buffer shift(static_cast<size_t>(output.layout.element_count()) * sizeof(double));
  const TensorView shift_view{shift.data(), DataType::kFloat64, PackedLayout(output.layout.sizes)};
  using Fixed = FixedExpSumAccumulators<T>;
  const ReducePlan plan =
      PlanFor(call, input, output, TraitsForLeft(TraitsOf<Fixed>(), outputs, output));
  ReducePlan shift_plan = plan;
  shift_plan.outer.strides[ReducePlan::kOutput] = plan.outer.strides[ReducePlan::kShift];
  RunReduction(shift_plan, {input, shift_view}, MakerOf<ExpShiftAccumulators<T>>(), &outputs);
  const double* maxima = shift_view.elements<double>();
  const auto others = SettleByMaxima(plan, outputs, maxima, output.elements<T>());
  RunReduction(plan, {input, output, maxima}, MakerOf<Fixed>(), &others);
}

}  // namespace

// Makes one pass in any order, and two more for groups whose rounding it does not decide.
void ReduceToLogSumExp(const ReductionCall& call, const ConstTensorView& input,
                       const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto unresolved = ReduceWith<ExpSumAccumulators<T>>(call, input, output);
    if (!unresolved.empty()) ReduceInTwoPasses<T>(call, input, output, unresolved);
  });
}

}  // namespace dmlop
