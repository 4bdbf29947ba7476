// SPDX-License-Identifier: Apache-2.0
// Products that are nearly ties.
#pragma once

#include <vector>

#include "core/tensor/half.h"

namespace dmlop {

// Factors in T of integers next to a midpoint of two neighbours in T.
template <typename T>
const std::vector<std::vector<double>>& NearTies();

// 2^-85 away from a tie; the first product is (2^24 + 1) * (2^100 - 1).
template <>
inline const std::vector<std::vector<double>>& NearTies<float>() {
  static const std::vector<std::vector<double>> ties = {
      {5242875, 15235951, 7295851, 8101, 268501, 24929, 673},
      {6691427, 3981289, 13606795, 99737},
      {11399437, 5102779, 12820829, 46453},
      {14211443, 2119487, 413087, 2987867},
      {7124269, 444937, 46271, 44351, 5309},
      {3333097, 498923, 465581, 14009, 2447},
      {9926349, 5527239, 172553, 3362053},
      {9747667, 3488393, 15651299, 38239},
      {10303411, 12445629, 8275805, 19581},
      {678463, 575857, 5169251, 16344379},
      {14774061, 4808279, 12948289, 30301},
      {14223287, 7957985, 42181, 5849531},
      {11558923, 4662401, 8882003, 62449},
  };
  return ties;
}

// 2^-60 or less away from a tie.
template <>
inline const std::vector<std::vector<double>>& NearTies<Half>() {
  static const std::vector<std::vector<double>> ties = {
      {863, 1527, 1415, 895, 447, 1121},
      {1847, 1823, 967, 1347, 535, 851},
      {859, 811, 653, 191, 1919, 1843, 47},
  };
  return ties;
}

}  // namespace dmlop
