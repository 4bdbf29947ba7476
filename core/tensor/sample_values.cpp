// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/sample_values.h"

#include <algorithm>
#include <random>
#include <vector>

#include "core/base/progress.h"
#include "core/tensor/element.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr size_t kPatternLength = 65521;  // a prime, so that rows of a tensor differ

// The standard defines the engine to the bit, but not its distributions.
template <typename T>
T NextValue(DataType type, std::mt19937_64& engine) {
  const uint64_t bits = engine();
  if constexpr (std::is_integral_v<T>) {
    return Wrapped(type, static_cast<T>(bits));
  } else {
    return FromDouble<T>(static_cast<double>(bits >> 11) * 0x1p-52 - 1);
  }
}

}  // namespace

void FillWithSampleValues(DataType type, std::span<std::byte> bytes) {
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    std::mt19937_64 engine(1);
    const size_t count = bytes.size() / sizeof(T);
    std::vector<T> pattern(std::min(kPatternLength, count));
    for (T& value : pattern) value = NextValue<T>(type, engine);
    T* elements = reinterpret_cast<T*>(bytes.data());
    for (size_t i = 0; i < count; i += pattern.size()) {
      const size_t size = std::min(pattern.size(), count - i);
      std::copy_n(pattern.begin(), size, elements + i);
      AddDone(static_cast<int64_t>(size * sizeof(T)));
    }
  });
}

}  // namespace dmlop
