// SPDX-License-Identifier: Apache-2.0
// Faults of devices, as predicates of cases, and what is known of the smallest case of each.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "core/arithmetic/computation.h"

namespace dmlop {

struct Planted {
  std::string name;
  std::string op;
  bool (*fails)(const Computation&);
  int64_t elements;  // of the smallest case, of all tensors together
  size_t rank;
  std::vector<std::string> texts;  // each is in what is told

  friend void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }
};

std::span<const Planted> AllPlanted();

}  // namespace dmlop
