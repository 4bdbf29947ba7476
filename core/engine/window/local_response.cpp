// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/local_response.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/exact/elementary.h"
#include "core/exact/rounding.h"
#include "core/kernels/window/powers.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kTableElements = 1 << 15;
constexpr double kMostOfExp = 700;

using Table = std::vector<double>;

bool IsInteger(double x) {
  return std::floor(x) == x;
}

// Like IEEE pow, with the same bits on every machine. A result that is too large or too small for a
// number is clamped, so that it becomes neither 0 nor infinite.
double Power(double base, double exponent) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (exponent == 0 || base == 1) return 1;
  if (std::isnan(base) || std::isnan(exponent)) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = std::fabs(base);
  if (base < 0 && std::isfinite(base) && !IsInteger(exponent)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (magnitude == 1 && std::isinf(exponent)) return 1;
  double power;
  if (magnitude == 0 || std::isinf(magnitude) || std::isinf(exponent)) {
    power = (magnitude > 1) == (exponent > 0) ? kInfinity : 0;
  } else {
    power = Exp(std::clamp(exponent * Log(magnitude), -kMostOfExp, kMostOfExp));
  }
  const bool is_odd = IsInteger(exponent) && !IsInteger(exponent / 2);
  return std::signbit(base) && is_odd ? -power : power;
}

void RaiseTable(Table& bases, double exponent) {
  const bool are_ordinary = std::all_of(
      bases.begin(), bases.end(), [](double base) { return base > 0 && std::isfinite(base); });
  if (!are_ordinary || !std::isfinite(exponent)) {
    for (double& base : bases) base = Power(base, exponent);
    return;
  }
  RaiseAll(bases, exponent);
}

// A table whose rows follow the first axis of the regions; it holds a range of columns.
template <typename T>
class Slab {
 public:
  Slab(const LocalResponse& response, const Layout& layout, int64_t number)
      : response_(response), row_axis_(response.across_channels ? 1 : 2), layout_(layout) {
    const int64_t parts = PartsOf(response, layout);
    const int64_t part = number % parts;
    begin_ = part * PartLength(response, layout);
    columns_ = std::min(PartLength(response, layout), ColumnsOf(response, layout) - begin_);
    outer_ = IndexOf(OuterSizes(response, layout), number / parts);
  }

  static int64_t Count(const LocalResponse& response, const Layout& layout) {
    return Product(OuterSizes(response, layout)) * PartsOf(response, layout);
  }

  Table Read(const ConstTensorView& view) const {
    Table table;
    table.reserve(static_cast<size_t>(rows() * columns_));
    ForEach(view, [&](const T* element) { table.push_back(AsDouble(*element)); });
    return table;
  }

  void Write(const Table& table, const TensorView& view) const {
    const double* next = table.data();
    ForEach(view, [&](T* element) { *element = RoundOnce<T>(*next++); });
  }

  Table SumRegions(const Table& terms, WindowReach reach) const {
    if (response_.across_channels) return SumsAlongRows(terms, columns_, reach);
    return SumsAlongRows(SumsAlongColumns(terms, columns_, reach), columns_, reach);
  }

 private:
  static Dims OuterSizes(const LocalResponse& response, const Layout& layout) {
    return {layout.sizes[0], response.across_channels ? 1 : layout.sizes[1]};
  }
  static int64_t ColumnsOf(const LocalResponse& response, const Layout& layout) {
    return response.across_channels ? layout.sizes[2] * layout.sizes[3] : layout.sizes[3];
  }
  // Regions across channels are independent of other columns.
  static int64_t PartLength(const LocalResponse& response, const Layout& layout) {
    const int64_t columns = ColumnsOf(response, layout);
    if (!response.across_channels) return columns;
    return std::clamp<int64_t>(kTableElements / layout.sizes[1], 1, columns);
  }
  static int64_t PartsOf(const LocalResponse& response, const Layout& layout) {
    const int64_t length = PartLength(response, layout);
    return CeilDiv(ColumnsOf(response, layout), length);
  }

  int64_t rows() const { return layout_.sizes[row_axis_]; }

  template <typename Byte, typename Visit>
  void ForEach(const BasicTensorView<Byte>& view, Visit&& visit) const {
    const Dims& strides = view.layout.strides;
    LoopNest<1> columns;
    for (size_t d = row_axis_ + 1; d < strides.size(); ++d) {
      columns.Push(view.layout.sizes[d], {strides[d]});
    }
    columns = Merged(columns);
    const auto elements = view.template elements<T>() + outer_[0] * strides[0] +
                          (response_.across_channels ? 0 : outer_[1] * strides[1]);
    for (int64_t row = 0; row < rows(); ++row) {
      const auto begin = elements + row * strides[row_axis_];
      Walk<1> walk(columns, begin_);
      for (int64_t c = 0; c < columns_; ++c, walk.Next()) visit(begin + walk.offset(0));
    }
  }

  const LocalResponse& response_;
  size_t row_axis_;
  const Layout& layout_;
  Dims outer_;
  int64_t begin_;  // the first column
  int64_t columns_;
};

// Returns d for each element. It is exactly 0 if the sum of squares cancels the bias exactly.
template <typename T>
Table DivisorsOf(const LocalResponse& response, const Slab<T>& slab, const Table& x) {
  Table squares(x.size());
  std::transform(x.begin(), x.end(), squares.begin(), [](double value) { return value * value; });
  Table divisors = slab.SumRegions(squares, response.Reach());
  const double size = response.size;
  const double bias = double{response.bias} * size;
  for (double& d : divisors) d = (bias + double{response.alpha} * d) / size;
  return divisors;
}

template <typename Compute>
void ForEachSlab(const LocalResponse& response, const ConstTensorView& input, Compute&& compute) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    ParallelFor(Slab<T>::Count(response, input.layout), 1, input.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t number = begin; number < end; ++number) {
                    compute(Slab<T>(response, input.layout, number));
                  }
                });
  });
}

}  // namespace

void NormalizeLocalResponse(const LocalResponse& response, const ConstTensorView& input,
                            const TensorView& output) {
  ForEachSlab(response, input, [&](const auto& slab) {
    Table x = slab.Read(input);
    Table powers = DivisorsOf(response, slab, x);
    RaiseTable(powers, response.beta);
    for (size_t i = 0; i < x.size(); ++i) x[i] /= powers[i];
    slab.Write(x, output);
  });
}

void LocalResponseGradient(const LocalResponse& response, const ConstTensorView& input,
                           const ConstTensorView& gradient, const TensorView& output) {
  const double beta = response.beta;
  const double factor = 2 * double{response.alpha} * beta / response.size;
  ForEachSlab(response, input, [&](const auto& slab) {
    const Table x = slab.Read(input);
    Table result = slab.Read(gradient);
    Table terms = DivisorsOf(response, slab, x);
    Table powers = terms;
    RaiseTable(terms, -beta - 1);
    RaiseTable(powers, -beta);
    for (size_t i = 0; i < x.size(); ++i) {
      terms[i] = result[i] * x[i] * terms[i];
      result[i] *= powers[i];
    }
    const Table sums = slab.SumRegions(terms, response.Reach().Mirrored());
    for (size_t i = 0; i < x.size(); ++i) result[i] -= factor * x[i] * sums[i];
    slab.Write(result, output);
  });
}

// --- sums over windows ---------------------------------------------------------------------------

namespace {

// A window is as long as a block of rows, so it ends one block and begins the next.
class RowSums {
 public:
  RowSums(const double* from, int64_t rows, int64_t columns, WindowReach reach, double* to)
      : from_(from),
        to_(to),
        rows_(rows),
        columns_(columns),
        before_(std::min(reach.before, rows - 1)),
        length_(before_ + std::min(reach.after, rows - 1) + 1),
        ends_(static_cast<size_t>((length_ + 1) * columns)),
        beginning_(static_cast<size_t>(columns)) {}

  void Run() {
    const int64_t last_block = FloorDiv(rows_ - 1 - before_, length_);
    for (int64_t block = before_ > 0 ? -1 : 0; block <= last_block; ++block) {
      SumEnds(block * length_);
      SumWindows(block * length_);
    }
  }

 private:
  // For the block from row `begin` on, sums the rows from each row to the block's last.
  void SumEnds(int64_t begin) {
    for (int64_t r = length_; r-- > 0;) {
      double* const end = ends_.data() + r * columns_;
      std::copy_n(end + columns_, columns_, end);
      Add(begin + r, end);
    }
  }

  // Sums the windows that begin in the block.
  void SumWindows(int64_t begin) {
    std::fill(beginning_.begin(), beginning_.end(), 0);
    for (int64_t r = 0; r < length_; ++r) {
      if (r > 0) Add(begin + length_ + r - 1, beginning_.data());
      const int64_t row = begin + r + before_;
      if (row < 0 || row >= rows_) continue;
      const double* const end = ends_.data() + r * columns_;
      double* const sum = to_ + row * columns_;
      for (int64_t c = 0; c < columns_; ++c) sum[c] = end[c] + beginning_[static_cast<size_t>(c)];
    }
  }

  // Rows outside of the table add nothing.
  void Add(int64_t row, double* sum) const {
    if (row < 0 || row >= rows_) return;
    const double* const from = from_ + row * columns_;
    for (int64_t c = 0; c < columns_; ++c) sum[c] += from[c];
  }

  const double* from_;
  double* to_;
  int64_t rows_;
  int64_t columns_;
  int64_t before_;
  int64_t length_;
  std::vector<double> ends_;  // followed by a row of zeros
  std::vector<double> beginning_;
};

}  // namespace

std::vector<double> SumsAlongRows(const std::vector<double>& table, int64_t columns,
                                  WindowReach reach) {
  std::vector<double> sums(table.size());
  const int64_t rows = std::ssize(table) / columns;
  RowSums(table.data(), rows, columns, reach, sums.data()).Run();
  return sums;
}

std::vector<double> SumsAlongColumns(const std::vector<double>& table, int64_t columns,
                                     WindowReach reach) {
  std::vector<double> sums(table.size());
  for (size_t row = 0; row < table.size(); row += static_cast<size_t>(columns)) {
    RowSums(table.data() + row, columns, 1, reach, sums.data() + row).Run();
  }
  return sums;
}

}  // namespace dmlop
