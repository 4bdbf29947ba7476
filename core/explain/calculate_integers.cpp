#include <cmath>

#include "core/exact/dyadic.h"
#include "core/explain/calculate_modulo.h"
#include "core/explain/calculate_reduce.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Adds an integer exactly, 32 bits at a time.
void Add(ExactSum& sum, bool negative, Uint128 magnitude) {
  for (int position = 0; magnitude != 0; position += 32, magnitude >>= 32) {
    const double part = std::ldexp(static_cast<double>(static_cast<uint32_t>(magnitude)), position);
    sum.Add(negative ? -part : part);
  }
}

template <typename T>
uint64_t Magnitude(T x) {
  return x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

template <typename T>
Dyadic ExactTotal(ReduceFunction function, const Group& group) {
  ExactSum sum;
  ForEach<T>(group, [&](int64_t, T x) {
    const Uint128 magnitude = Magnitude(x);
    if (function == ReduceFunction::kSumSquare) {
      Add(sum, false, magnitude * magnitude);
    } else {
      Add(sum, x < 0 && function == ReduceFunction::kSum, magnitude);
    }
  });
  return Dyadic(sum);
}

template <typename T>
Calculation Explain(ReduceFunction function, const Group& group, T result) {
  Calculation calculation;
  calculation.quantity = function == ReduceFunction::kMultiply    ? "product"
                         : function == ReduceFunction::kL1        ? "sum of magnitudes"
                         : function == ReduceFunction::kSumSquare ? "sum of squares"
                                                                  : "sum";
  const std::optional<Dyadic> total = function == ReduceFunction::kMultiply
                                          ? ExactProduct<T>(group)
                                          : ExactTotal<T>(function, group);
  if (!total) {
    calculation.rule = ValueRule::kModulo;
    calculation.reason =
        fmt::format("the product has more than {} bits; the result is the product modulo 2^{}",
                    kMaxProductBits, 8 * sizeof(T));
    return calculation;
  }
  ExplainModulo(result, *total, calculation);
  return calculation;
}

}  // namespace

Calculation ExplainIntegers(ReduceFunction function, const Group& group,
                            const ElementBytes& result) {
  Calculation calculation;
  VisitDataType(Join<Integers64, Integers32>(), group.view.type, [&]<typename T>() {
    calculation = Explain<T>(function, group, ElementOf<T>(result));
  });
  return calculation;
}

}  // namespace dmlop
