// What the tests of this folder share: seeded random operands and the names of table cases.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

using Engine = std::mt19937_64;

// Prints the seed, which DMLOP_TEST_SEED replaces.
inline Engine MakeEngine() {
  const char* text = std::getenv("DMLOP_TEST_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : 20210607;
  std::cout << "DMLOP_TEST_SEED=" << seed << "\n";
  return Engine(seed);
}

inline double Uniform(Engine& engine, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(engine);
}

inline int UniformInt(Engine& engine, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(engine);
}

inline double RandomSign(Engine& engine) {
  return UniformInt(engine, 0, 1) == 0 ? 1.0 : -1.0;
}

// A kind of operand, drawn in the range of T; the caller rounds it to T.
struct Family {
  const char* name;
  double (*draw)(Engine& engine, double max, double least);
};

inline constexpr Family kFamilies[] = {
    {"uniform", [](Engine& engine, double, double) { return Uniform(engine, -1.0, 1.0); }},
    {"normal", [](Engine& engine, double,
                  double) { return std::normal_distribution<double>(0.0, 1.0)(engine); }},
    {"ill-conditioned",
     [](Engine& engine, double max, double) {
       const double big = max < 1e8 ? 4096.0 : 1e8;
       const int kind = UniformInt(engine, 0, 2);
       return kind == 0 ? big : kind == 1 ? -big : Uniform(engine, -1e-4, 1e-4);
     }},
    {"huge", [](Engine& engine, double max,
                double) { return RandomSign(engine) * max * Uniform(engine, 0.5, 1.0); }},
    {"subnormal",
     [](Engine& engine, double, double least) {
       return RandomSign(engine) * least * UniformInt(engine, 1, 1000);
     }},
    {"all magnitudes",
     [](Engine& engine, double max, double least) {
       const double exponent = Uniform(engine, std::log2(least), std::log2(max));
       return RandomSign(engine) * std::exp2(exponent);
     }},
};

template <typename T>
double Draw(const Family& family, Engine& engine) {
  const double least = std::ldexp(1.0, Format<T>::kLeastExponent);
  return ToDouble(FromDouble<T>(family.draw(engine, Format<T>::kMax, least)));
}

// Names a case of a table after its first member.
template <typename Case>
std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

// The point midway between a random positive finite T and the next; above the largest T, the point
// from which sums overflow.
template <typename T>
double RandomMidpoint(Engine& engine) {
  const double least = std::ldexp(1.0, Format<T>::kLeastExponent);
  double value = Format<T>::kMax;
  if (UniformInt(engine, 0, 9) != 0) {
    const double exponent = Uniform(engine, std::log2(least), std::log2(Format<T>::kMax));
    value = ToDouble(FromDouble<T>(std::exp2(exponent)));
  }
  return value + std::ldexp(1.0, static_cast<int>(LastPlace<T>(Real(value))) - 1);
}

}  // namespace dmlop
