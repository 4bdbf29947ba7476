// SPDX-License-Identifier: Apache-2.0
// Checks every FLOAT32 element of functions of one element and of activations, and every pair of
// FLOAT16 elements of POW and ATAN_YX, on every instruction set of the machine:
//
//  dmlop_exhaustive [--best N] [--same] [FUNCTION...]
//
// `--best` only uses the N best instruction sets; the portable one takes longest.
// `--same` only compares instruction sets, for use if the first one has been compared before.
// Results of the first instruction set are compared with the C library's in binary64 and, near a
// rounding boundary or where these differ, with MPFR; results of the others with the first, by
// digests of blocks. Prints a line for each function and instruction set; status 1 if any result is
// wrong.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/kernels/simd/isa.h"
#include "tests/exhaustive/pairs.h"
#include "tests/exhaustive/wide_function.h"
#include "tests/reference/real_function.h"

namespace dmlop {
namespace {

constexpr size_t kBlockSize = 1 << 14;
constexpr size_t kBlockCount = (uint64_t{1} << 32) / kBlockSize;

struct Counts {
  std::atomic<uint64_t> by_mpfr = 0;
  std::atomic<uint64_t> errors = 0;
};

struct Buffers {
  std::vector<float> x = std::vector<float>(kBlockSize);
  std::vector<float> y = std::vector<float>(kBlockSize);
  std::vector<double> wide = std::vector<double>(kBlockSize);
};

void Compute(const CheckedFunction& function, Buffers& buffers) {
  const auto [first, second] = function.parameters;
  const Layout layout{{int64_t{kBlockSize}}, {1}};
  const ConstTensorView input{reinterpret_cast<const std::byte*>(buffers.x.data()),
                              DataType::kFloat32, layout};
  ComputeElements({function.function, {{first, second}}}, {&input, 1},
                  {reinterpret_cast<std::byte*>(buffers.y.data()), DataType::kFloat32, layout});
}

void ReportError(const NamedFunction& function, float x, float y, Counts& counts) {
  if (counts.errors++ < 10) {
    std::printf("%s of %08X is not %08X\n", function.name, std::bit_cast<uint32_t>(x),
                std::bit_cast<uint32_t>(y));
  }
}

void CompareWithMpfr(const CheckedFunction& function, float x, float y, Counts& counts) {
  ++counts.by_mpfr;
  const float expected = ExpectedResult<float>(function.function, ToDouble(x), function.parameters);
  if (BitsOf(expected) != BitsOf(y)) ReportError(function, x, y, counts);
}

void CompareWithWide(const CheckedFunction& function, Buffers& buffers, Counts& counts) {
  WideFunction(function, kBlockSize, buffers.wide.data(), buffers.x.data());
  constexpr size_t kPart = 128;
  for (size_t part = 0; part < kBlockSize; part += kPart) {
    if (AllAgree(kPart, &buffers.y[part], &buffers.wide[part])) continue;
    for (size_t i = part; i < part + kPart; ++i) {
      if (!AllAgree(1, &buffers.y[i], &buffers.wide[i])) {
        CompareWithMpfr(function, buffers.x[i], buffers.y[i], counts);
      }
    }
  }
}

uint64_t DigestOf(const std::vector<float>& values) {
  uint64_t sum = 0;
  uint64_t factor = 0x9E3779B97F4A7C15;
  for (const float value : values) {
    sum += factor * std::bit_cast<uint32_t>(value);
    factor += 0x9E3779B97F4A7C16;
  }
  return sum;
}

// The treatment of an instruction set's results.
enum class Check { kKeepDigests, kKeepAndCompare, kCompareDigests };

void CheckBlock(const CheckedFunction& function, size_t block, Check check, uint64_t& digest,
                Buffers& buffers, Counts& counts) {
  for (size_t i = 0; i < kBlockSize; ++i) {
    buffers.x[i] = std::bit_cast<float>(static_cast<uint32_t>(block * kBlockSize + i));
  }
  Compute(function, buffers);
  if (check == Check::kCompareDigests) {
    if (digest == DigestOf(buffers.y)) return;
    CompareWithWide(function, buffers, counts);
    if (counts.errors == 0) ReportError(function, buffers.x[0], buffers.y[0], counts);
    return;
  }
  digest = DigestOf(buffers.y);
  if (check == Check::kKeepAndCompare) CompareWithWide(function, buffers, counts);
}

uint64_t CheckAll(const CheckedFunction& function, std::string_view isa, Check check,
                  std::vector<uint64_t>& digests) {
  const auto start = std::chrono::steady_clock::now();
  Counts counts;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    Buffers buffers;
    for (size_t block = next++; block < kBlockCount; block = next++) {
      CheckBlock(function, block, check, digests[block], buffers, counts);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%-8s %-8s inputs %lu, by MPFR %lu, errors %lu, %.1f s\n", function.name, isa.data(),
              kBlockCount * kBlockSize, counts.by_mpfr.load(), counts.errors.load(),
              seconds.count());
  std::fflush(stdout);
  return counts.errors;
}

uint64_t CheckFunction(const CheckedFunction& function, const std::vector<std::string_view>& isas,
                       Check check) {
  std::vector<uint64_t> digests(kBlockCount);
  uint64_t errors = 0;
  for (const std::string_view isa : isas) {
    SelectIsa(isa);
    errors += CheckAll(function, isa, check, digests);
    check = Check::kCompareDigests;
  }
  return errors;
}

uint64_t CheckPairsOn(const NamedFunction& function, const std::vector<std::string_view>& isas) {
  uint64_t errors = 0;
  for (const std::string_view isa : isas) {
    SelectIsa(isa);
    const uint64_t wrong = CheckPairs(function);
    std::printf("%-8s %-8s pairs %lu, errors %lu\n", function.name, isa.data(), uint64_t{1} << 32,
                wrong);
    std::fflush(stdout);
    errors += wrong;
  }
  return errors;
}

}  // namespace
}  // namespace dmlop

int main(int argc, char** argv) {
  std::vector<std::string_view> names(argv + 1, argv + argc);
  std::vector<std::string_view> isas = dmlop::SupportedIsas();
  const auto best = std::find(names.begin(), names.end(), "--best");
  if (names.end() - best >= 2) {
    const int count = std::atoi(best[1].data());
    isas.resize(std::min(isas.size(), static_cast<size_t>(std::max(1, count))));
    names.erase(best, best + 2);
  }
  dmlop::Check check = dmlop::Check::kKeepAndCompare;
  if (std::erase(names, "--same") > 0) check = dmlop::Check::kKeepDigests;
  uint64_t errors = 0;
  size_t found = 0;
  const auto is_asked_for = [&](const dmlop::NamedFunction& function) {
    const bool asked =
        names.empty() || std::find(names.begin(), names.end(), function.name) != names.end();
    found += asked ? 1 : 0;
    return asked;
  };
  for (const dmlop::NamedFunction& function : dmlop::kUnaryFunctions) {
    if (is_asked_for(function)) errors += dmlop::CheckFunction({function}, isas, check);
  }
  for (const dmlop::CheckedFunction& function : dmlop::kActivations) {
    if (is_asked_for(function)) errors += dmlop::CheckFunction(function, isas, check);
  }
  for (const dmlop::NamedFunction& function : dmlop::kPairFunctions) {
    if (is_asked_for(function)) errors += dmlop::CheckPairsOn(function, isas);
  }
  if (found < names.size()) std::fprintf(stderr, "There is a function that is not known.\n");
  return errors == 0 && found >= names.size() ? 0 : 1;
}
