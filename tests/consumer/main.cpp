// SPDX-License-Identifier: Apache-2.0
// Sums the columns of a matrix with the installed library.
#include <dmlop/operator.h>

#include <cstdio>

int main() {
  const float x[] = {1, 2, 3, 3, 0, 4, 2, 4, 2};
  float sums[3];
  const dmlop::Operator reduce(R"({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0],
      "InputTensor": {"DataType": "FLOAT32", "Sizes": [3, 3]}}})");
  reduce.Run({std::as_bytes(std::span(x))}, {std::as_writable_bytes(std::span(sums))});
  for (const std::string& warning : reduce.WarningsOf({std::as_bytes(std::span(x))})) {
    std::printf("%s\n", warning.c_str());
  }
  std::printf("%g %g %g\n", sums[0], sums[1], sums[2]);
}
