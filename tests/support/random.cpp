// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace dmlop {

uint64_t TestSeed() {
  const char* text = std::getenv("DMLOP_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20240229;
}

Engine CaseEngine(int number) {
  return Engine(TestSeed() * 1'000'003 + static_cast<uint64_t>(number));
}

// Cases of which one runs.
static int CasesForOne() {
  const char* text = std::getenv("DMLOP_TEST_SHARE");
  return text != nullptr ? std::max(std::atoi(text), 1) : 3;
}

bool IsFullDepth() {
  return CasesForOne() == 1;
}

int ShareOf(int cases) {
  return std::max(cases / CasesForOne(), 1);
}

bool IsInShare() {
  static Engine engine = CaseEngine(0);
  return OneIn(engine, CasesForOne());
}

std::string CaseTrace(int number) {
  return fmt::format("DMLOP_TEST_SEED={}, case {}", TestSeed(), number);
}

Engine TestEngine() {
  std::cout << CaseTrace(0) << "\n";
  return CaseEngine(0);
}

}  // namespace dmlop
