// Poolings, window by window and tap by tap, as their rules have them.
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;
using Sizes = std::vector<uint32_t>;
using Numbers = Join<Floats, Integers64, Integers32, Integers16, Integers8>;

// The windows of a descriptor over a tensor (N, C, spatial dimensions...).
class Windows {
 public:
  Windows(const OperatorDesc& desc, const Dims& sizes)
      : sizes_(sizes),
        window_(Get<Sizes>(desc, "WindowSize")),
        strides_(Get<Sizes>(desc, "Strides")),
        start_(Get<Sizes>(desc, "StartPadding")),
        end_(Get<Sizes>(desc, "EndPadding")),
        dilations_(window_.size(), 1) {
    const auto fields = desc.fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i]->name == "Dilations") dilations_ = std::get<Sizes>(desc.values()[i]);
    }
  }

  // Calls body(position) for each tap of an output whose position is inside, row by row.
  template <typename Body>
  void ForEachPresent(const Dims& output, Body&& body) const {
    ForEachTap(output, 0, [&](const Dims& position) { body(position); });
  }

  // Taps that lie beyond the padding do not count.
  int64_t CountPadded(const Dims& output) const {
    int64_t count = 0;
    ForEachTap(output, 1, [&](const Dims&) { ++count; });
    return count;
  }

 private:
  template <typename Body>
  void ForEachTap(const Dims& output, int64_t padding, Body&& body) const {
    ForEachIndex(Dims(window_.begin(), window_.end()), [&](const Dims& tap) {
      Dims position = {output[0], output[1]};
      bool is_inside = true;
      for (size_t d = 0; d < window_.size(); ++d) {
        const int64_t q =
            output[d + 2] * int64_t{strides_[d]} - start_[d] + tap[d] * int64_t{dilations_[d]};
        position.push_back(q);
        is_inside &= q >= -padding * start_[d] && q < sizes_[d + 2] + padding * end_[d];
      }
      if (is_inside) body(std::as_const(position));
    });
  }

  Dims sizes_;
  const Sizes& window_;
  const Sizes& strides_;
  const Sizes& start_;
  const Sizes& end_;
  Sizes dilations_;
};

// --- MAX_POOLING ---------------------------------------------------------------------------------

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  if constexpr (!std::is_integral_v<T>) return std::isnan(ToDouble(x));
}

// MXP-3: NaN comes before all numbers, and -0 before +0.
template <typename T>
bool IsLess(T a, T b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) && !IsNan(b);
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const double x = ToDouble(a);
    const double y = ToDouble(b);
    return x < y || (x == 0 && y == 0 && std::signbit(x) && !std::signbit(y));
  }
}

// The first of the greatest; empty without taps.
template <typename T>
Dims WinnerOf(const Windows& windows, const ConstTensorView& input, const Dims& output) {
  Dims winner;
  T greatest{};
  windows.ForEachPresent(output, [&](const Dims& position) {
    const T x = FromBits<T>(BitsAt(input, position));
    if (!winner.empty() && !IsLess(greatest, x)) return;
    winner = position;
    greatest = x;
  });
  return winner;
}

template <typename T>
uint64_t LeastBits() {
  if constexpr (std::is_integral_v<T>) return ToBits(std::numeric_limits<T>::min());
  if constexpr (!std::is_integral_v<T>) return BitsOf(FromDouble<T>(-INFINITY));
}

template <typename T>
uint64_t GreatestBits(const ConstTensorView& input, const Dims& winner) {
  if (winner.empty()) return LeastBits<T>();
  const T x = FromBits<T>(BitsAt(input, winner));
  if constexpr (!std::is_integral_v<T>) {
    if (IsNan(x)) return BitsOf(FromDouble<T>(std::numeric_limits<double>::quiet_NaN()));
  }
  return ToBits(x);
}

uint64_t NumberOf(const Dims& sizes, const Dims& position) {
  if (position.empty()) return ~uint64_t{0};
  uint64_t number = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    number = number * static_cast<uint64_t>(sizes[d]) + static_cast<uint64_t>(position[d]);
  }
  return number;
}

Expectation MaxPooling(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Windows windows(desc, sizes);
  uint64_t bits = 0;
  VisitDataType(Numbers(), inputs[0].type, [&]<typename T>() {
    const Dims winner = WinnerOf<T>(windows, inputs[0], index);
    bits = output == 0 ? GreatestBits<T>(inputs[0], winner) : NumberOf(sizes, winner);
  });
  const DataType type = *TensorSlots(desc, TensorRole::kOutput)[output].desc->data_type;
  if (output == 1 && type == DataType::kUint32) bits &= UINT32_MAX;
  return {bits};
}

constexpr NamedOracle kOracles[] = {
    {"MAX_POOLING", MaxPooling},
    {"MAX_POOLING1", MaxPooling},
    {"MAX_POOLING2", MaxPooling},
};

}  // namespace

std::span<const NamedOracle> WindowOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
