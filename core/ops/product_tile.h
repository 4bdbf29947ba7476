// A tile of ReduceLoop for MULTIPLY of floats.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/rough_product.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

// MULTIPLY of floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T>
class RoughProductTile : public VectorTile<RoughProductTile<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 512;  // 20 KiB of states

  explicit RoughProductTile(int64_t capacity)
      : kernels_(RoughProductKernelsFor<T>()), states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { states_.Start(static_cast<size_t>(count)); }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.multiply_row(x, count, states_.At(o));
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.multiply_columns(x, rows, row_stride, columns, states_.At(0));
  }

  void Merge(int64_t o, RoughProductTile& other, int64_t p, int64_t) {
    MultiplyGroup(states_.At(o), other.states_.At(p));
  }

  // Halfway between two numbers of T, a product has 25 bits at most; then every product of some of
  // its factors has no more, so that it is exact in any order.
  bool Finish(int64_t o, int64_t n, T& result) {
    constexpr uint32_t kInfinity = 0x7F800000;
    constexpr int64_t kFarExponent = 400;  // beyond any float, within a double
    const RoughProducts product = states_.At(o);
    const bool negative = std::signbit(*product.head);
    const bool zero = *product.least == 0;
    if (*product.greatest > kInfinity || (*product.greatest == kInfinity && zero)) {
      result = reduce::CanonicalNan<T>();
    } else if (*product.greatest == kInfinity) {
      result = reduce::Infinity<T>(negative);
    } else if (zero) {
      result = reduce::Zero<T>(negative);
    } else {
      const double scale = std::ldexp(
          1.0, static_cast<int>(std::clamp(*product.exponent, -kFarExponent, kFarExponent)));
      const double error = *product.tail == 0 ? 0 : static_cast<double>(n);
      return reduce::DecideRounding(*product.head * scale, *product.tail * scale,
                                    scale * error * 2 * RoughProducts::kRelativeBound, result);
    }
    return true;
  }

 private:
  struct States {
    explicit States(size_t capacity)
        : head(capacity), tail(capacity), exponent(capacity), least(capacity), greatest(capacity) {}

    void Start(size_t count) {
      std::fill_n(head.begin(), count, 1.0);
      std::fill_n(tail.begin(), count, 0.0);
      std::fill_n(exponent.begin(), count, 0);
      std::fill_n(least.begin(), count, 0x7F7FFFFFu);
      std::fill_n(greatest.begin(), count, 0u);
    }

    RoughProducts At(int64_t o) {
      return {head.data() + o, tail.data() + o, exponent.data() + o, least.data() + o,
              greatest.data() + o};
    }

    std::vector<double> head, tail;
    std::vector<int64_t> exponent;
    std::vector<uint32_t> least, greatest;
  };

  RoughProductKernels<T> kernels_;
  States states_;
};

}  // namespace dmlop
