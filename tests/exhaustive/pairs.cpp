// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/pairs.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "tests/exhaustive/wide_function.h"

namespace dmlop {
namespace {

constexpr size_t kHalves = 1 << 16;

struct PairBuffers {
  std::vector<Half> second = std::vector<Half>(kHalves);
  std::vector<Half> results = std::vector<Half>(kHalves);
  std::vector<double> wide_second = std::vector<double>(kHalves);
  std::vector<double> wide = std::vector<double>(kHalves);

  PairBuffers() {
    for (size_t i = 0; i < kHalves; ++i) {
      second[i] = {static_cast<uint16_t>(i)};
      wide_second[i] = ToFloat(second[i]);
    }
  }
};

// Computes one first element with all second ones.
void Compute(ElementWiseFunction function, Half first, PairBuffers& buffers) {
  const Dims sizes = {int64_t{kHalves}};
  const ConstTensorView inputs[] = {
      {reinterpret_cast<const std::byte*>(&first), DataType::kFloat16, {sizes, {0}}},
      {reinterpret_cast<const std::byte*>(buffers.second.data()), DataType::kFloat16, {sizes, {1}}},
  };
  ComputeElements(
      {.function = function}, inputs,
      {reinterpret_cast<std::byte*>(buffers.results.data()), DataType::kFloat16, {sizes, {1}}});
}

bool Agrees(Half result, double wide) {
  if (wide != wide) return result.bits == 0x7E00;
  return ToHalf(wide * (1 - kWideError)).bits == result.bits &&
         ToHalf(wide * (1 + kWideError)).bits == result.bits;
}

uint64_t CheckRow(const NamedFunction& function, Half first, PairBuffers& buffers) {
  Compute(function.function, first, buffers);
  const double x = ToFloat(first);
  WideFunctionOfPairs(function.function, kHalves, buffers.wide.data(), x,
                      buffers.wide_second.data());
  uint64_t errors = 0;
  for (size_t i = 0; i < kHalves; ++i) {
    const Half result = buffers.results[i];
    if (Agrees(result, buffers.wide[i])) continue;
    const Half expected = ExpectedResult<Half>(function.function, x, {buffers.wide_second[i], 0});
    if (expected.bits == result.bits) continue;
    if (errors++ == 0) {
      std::printf("%s of %04X, %04X is not %04X\n", function.name, unsigned{first.bits},
                  static_cast<unsigned>(i), unsigned{result.bits});
    }
  }
  return errors;
}

}  // namespace

uint64_t CheckPairs(const NamedFunction& function) {
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> errors = 0;
  const auto work = [&] {
    PairBuffers buffers;
    for (size_t row = next++; row < kHalves; row = next++) {
      errors += CheckRow(function, {static_cast<uint16_t>(row)}, buffers);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace dmlop
