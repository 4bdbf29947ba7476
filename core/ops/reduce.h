// DML_REDUCE_OPERATOR_DESC: applies a function to the elements along some axes, which keep size 1.
// With x1..xN the elements that share an output coordinate:
//
//   ARGMAX, ARGMIN  index of the extreme element, flattened over the reduced axes; the first of
//                   equals; NaN only if there is nothing else
//   AVERAGE         (x1 + ... + xN) / N                  MAX, MIN     the extreme; NaN is skipped
//   L1              |x1| + ... + |xN|                    MULTIPLY     x1 * ... * xN
//   L2              sqrt(x1^2 + ... + xN^2)              SUM          x1 + ... + xN
//   LOG_SUM         ln(x1 + ... + xN)                    SUM_SQUARE   x1^2 + ... + xN^2
//   LOG_SUM_EXP     ln(e^x1 + ... + e^xN)
//
// Float results are the exact result rounded once (MULTIPLY, LOG_SUM and LOG_SUM_EXP: within a
// hundredth of that); integers wrap.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/support.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

enum class ReduceFunction : uint8_t {  // values as in DirectML.h
  kArgMax,
  kArgMin,
  kAverage,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp,
  kMax,
  kMin,
  kMultiply,
  kSum,
  kSumSquare,
};

inline constexpr std::string_view kReduceFunctionPrefix = "DML_REDUCE_FUNCTION_";
inline constexpr std::array<std::string_view, 12> kReduceFunctionNames = {  // indexed by value
    "ARGMAX",      "ARGMIN", "AVERAGE", "L1",       "L2",  "LOG_SUM",
    "LOG_SUM_EXP", "MAX",    "MIN",     "MULTIPLY", "SUM", "SUM_SQUARE"};

inline std::string_view Name(ReduceFunction function) {
  return kReduceFunctionNames[static_cast<size_t>(function)];
}

struct ReduceDesc {
  static constexpr std::string_view kName = "REDUCE";
  static constexpr std::string_view kSummary = "sums, products, extremes and norms along axes";
  static constexpr std::array kRules = {
      Rule{"RED-1", "the output has the input's rank; its sizes are 1 on Axes, else the input's"},
      Rule{"RED-2",
           "the output has the input's type; ARGMIN and ARGMAX give INT64, INT32, UINT64, UINT32"},
      Rule{"RED-3", "Axes lie in [0, DimensionCount - 1]"},
      Rule{"RED-4", "no axis is listed twice"},
  };
  static constexpr std::array kLimits = {
      FieldLimits{.field = "Axes", .max_count = kMaxRank, .max = kMaxRank - 1, .distinct = true},
  };

  std::optional<ReduceFunction> function;
  TensorDesc input_tensor;
  TensorDesc output_tensor;
  std::optional<uint32_t> axis_count;
  std::optional<std::vector<uint32_t>> axes;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor& visit) {
    visit.Enum("Function", kReduceFunctionPrefix, kReduceFunctionNames, self.function);
    visit.Tensor("InputTensor", TensorRole::kInput, self.input_tensor);
    visit.Tensor("OutputTensor", TensorRole::kOutput, self.output_tensor);
    visit.Count("AxisCount", self.axis_count, self.axes);
    visit.Numbers("Axes", self.axes);
  }
};

std::span<const SupportTable> SupportTables(const ReduceDesc&);
const SupportTable* SupportFor(const ReduceDesc& desc);  // null while Function is left out
void Complete(ReduceDesc& desc);
void Validate(const ReduceDesc& desc, Diagnostics& diagnostics);
void Run(const ReduceDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs);

}  // namespace dmlop
