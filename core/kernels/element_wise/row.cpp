// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/element_wise/row.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "core/kernels/simd/isa.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr RowTable* kTables[] = {ArithmeticRows,     AffineRows,      UnaryRows,
                                 DivisionRows,       LogicalRows,     SelectionRows,
                                 TranscendentalRows, IntegerPowerRows};

// The rows of each function for the current instruction set.
class RowIndex {
 public:
  RowIndex() {
    for (RowTable* const table : kTables) {
      for (const ElementWiseRow& row : table()) {
        rows_[static_cast<size_t>(row.function)].push_back(&row);
      }
    }
  }

  const ElementWiseRow* Find(ElementWiseFunction function, DataType type, DataType output) const {
    for (const ElementWiseRow* const row : rows_[static_cast<size_t>(function)]) {
      if (row->types.Contains(type) && (row->outputs.empty() || row->outputs.Contains(output))) {
        return row;
      }
    }
    return nullptr;
  }

 private:
  std::vector<const ElementWiseRow*> rows_[static_cast<size_t>(ElementWiseFunction::kCount)];
};

const RowIndex& CurrentIndex() {
  static std::once_flag made[kIsaCount];
  static std::unique_ptr<const RowIndex> indexes[kIsaCount];
  const size_t isa = CurrentIsaIndex();
  std::call_once(made[isa], [isa] { indexes[isa] = std::make_unique<const RowIndex>(); });
  return *indexes[isa];
}

// A bound that is NaN imposes no limit.
template <typename T>
int64_t BoundOf(double bound, T unlimited) {
  return static_cast<int64_t>(std::isnan(bound) ? unlimited : Truncated<T>(bound));
}

}  // namespace

ElementParameters FloatBounds(DataType type, float min, float max) {
  ElementParameters bounds;
  if (type == DataType::kFloat16) {
    bounds.numbers = {AsDouble(ToHalf(min)), AsDouble(ToHalf(max))};
  } else if (type == DataType::kFloat32) {
    bounds.numbers = {min, max};
  } else {
    bounds.numbers = {min, max};
    VisitDataType(Join<Integers64, Integers32, Integers16, Integers8>(), type, [&]<typename T>() {
      bounds.integers = {BoundOf<T>(min, std::numeric_limits<T>::min()),
                         BoundOf<T>(max, std::numeric_limits<T>::max())};
    });
  }
  return bounds;
}

ElementParameters TypedBounds(DataType type, const ElementBytes& min, const ElementBytes& max) {
  ElementParameters bounds;
  VisitDataType(Join<Floats, Integers64, Integers32, Integers16, Integers8>(), type,
                [&]<typename T>() {
                  if constexpr (std::is_integral_v<T>) {
                    bounds.integers = {static_cast<int64_t>(ElementOf<T>(min)),
                                       static_cast<int64_t>(ElementOf<T>(max))};
                  } else {
                    bounds.numbers = {AsDouble(ElementOf<T>(min)), AsDouble(ElementOf<T>(max))};
                  }
                });
  return bounds;
}

ElementParameters IntegerBounds(int64_t min, int64_t max) {
  ElementParameters bounds;
  bounds.integers = {min, max};
  return bounds;
}

const ElementWiseRow& RowFor(ElementWiseFunction function, DataType type, DataType output) {
  const ElementWiseRow* row = CurrentIndex().Find(function, type, output);
  assert(row != nullptr);
  return *row;
}

}  // namespace dmlop
