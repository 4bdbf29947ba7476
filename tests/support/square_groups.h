// SPDX-License-Identifier: Apache-2.0
// Groups whose sum of squares, or its square root, is hard to round. T is float or Half.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tests/support/float_families.h"

namespace dmlop {

// Integers within T's precision whose squares sum to `square`.
template <typename T>
Values RootsOf(uint64_t square) {
  constexpr uint64_t kLargest = (uint64_t{1} << Format<T>::kPrecision) - 1;
  Values roots;
  while (square != 0) {
    // The square root in binary64 is not too large: a square has at most 52 bits.
    const uint64_t root =
        std::min(kLargest, static_cast<uint64_t>(std::sqrt(static_cast<double>(square))));
    roots.push_back(static_cast<double>(root));
    square -= root * root;
  }
  return roots;
}

// Numbers whose squares sum to 1 less a rest, smaller by a factor of 2^-(levels * precision).
template <typename T>
Values RootsBelowOne(int levels) {
  constexpr int kShift = Format<T>::kPrecision / 2;
  Values roots;
  for (int level = 1; level <= levels; ++level) {
    for (const double root : RootsOf<T>((uint64_t{1} << (2 * kShift)) - 1)) {
      roots.push_back(std::ldexp(root, -level * kShift));
    }
  }
  return roots;
}

// `count` numbers with the same sum of squares.
template <typename T>
Values SquaresOf(Engine& engine, Values roots, size_t count) {
  roots.resize(std::min(roots.size(), count));
  while (roots.size() < count) {
    double& root = roots[engine() % roots.size()];
    const double half = Rounded<T>(root / 2);
    if (roots.size() + 3 > count || 2 * half != root || OneIn(engine, 3)) {
      roots.push_back(0.0);
    } else {
      root = half;
      roots.insert(roots.end(), 3, half);
    }
  }
  for (double& root : roots) root = Rounded<T>(root * RandomSign(engine));
  std::shuffle(roots.begin(), roots.end(), engine);
  return roots;
}

// Numbers whose squares sum to square * 2^(2 * exponent), or to slightly more or less.
template <typename T>
Values SquaresNear(Engine& engine, uint64_t square, int exponent, size_t count) {
  const int side = UniformInt(engine, -1, 1);
  Values roots = RootsOf<T>(side < 0 ? square - 1 : square);
  if (side > 0) roots.push_back(std::ldexp(1.0, -UniformInt(engine, 5, 60)));
  if (side < 0) {
    const Values rest = RootsBelowOne<T>(UniformInt(engine, 1, 3));
    roots.insert(roots.end(), rest.begin(), rest.end());
  }
  for (double& root : roots) root = std::ldexp(root, exponent);
  return SquaresOf<T>(engine, roots, count);
}

template <typename T>
Values SquareSumTie(Engine& engine, size_t count) {
  uint64_t tie = RandomTie<T>(engine);
  int exponent = OneIn(engine, 6) ? kMostTieExponent<T>
                                  : UniformInt(engine, kLeastTieExponent<T>, kMostTieExponent<T>);
  if (OneIn(engine, 4)) {  // ties between subnormal numbers
    exponent = kLeastTieExponent<T>;
    tie = (tie >> UniformInt(engine, 0, Format<T>::kPrecision)) | 1;
  }
  if (exponent % 2 != 0) {
    tie *= 2;
    --exponent;
  }
  return SquaresNear<T>(engine, tie, exponent / 2, count);
}

template <typename T>
Values SquareRootTie(Engine& engine, size_t count) {
  const uint64_t tie = RandomTie<T>(engine);
  const int exponent = OneIn(engine, 6)
                           ? kMostTieExponent<T>
                           : UniformInt(engine, Format<T>::kLeastExponent, kMostTieExponent<T>);
  return SquaresNear<T>(engine, tie * tie, exponent, count);
}

}  // namespace dmlop
