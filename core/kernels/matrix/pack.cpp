// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/pack.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/pack.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/copy/transpose-inl.h"
#include "core/kernels/matrix/product.h"
#include "core/kernels/matrix/widen_row-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Returns whether the offsets are `step` apart.
inline bool AreApart(int64_t step, const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i * step) return false;
  }
  return true;
}
inline bool AreNeighbours(const int64_t* offsets, int64_t count) {
  return AreApart(1, offsets, count);
}

// Packs lines that are adjacent in memory, and prefetches those that come next.
template <typename T>
void PackAcross(const PackCall& call) {
  const T* from = reinterpret_cast<const T*>(call.data) + call.lines[0];
  const int64_t bytes = call.line_count * static_cast<int64_t>(sizeof(T));
  for (int64_t k = 0; k < call.depth; ++k) {
    PrefetchLines(reinterpret_cast<const std::byte*>(from + call.inner[k]) + bytes, bytes);
    WidenRow(from + call.inner[k], call.line_count, call.to + k * call.width);
  }
}

// Packs lines `step` apart whose elements are adjacent.
template <typename T>
void PackAlong(const PackCall& call, int64_t step) {
  const T* from = reinterpret_cast<const T*>(call.data) + call.lines[0] + call.inner[0];
  if (call.width == 1) return WidenRow(from, call.depth, call.to);
  using Bits = std::conditional_t<sizeof(T) == sizeof(uint16_t), uint16_t, float>;
  constexpr int64_t kPiece = 64;
  HWY_ALIGN Bits piece[kPiece * kMaxPanelWidth];
  for (int64_t first = 0; first < call.depth; first += kPiece) {
    const int64_t count = std::min(kPiece, call.depth - first);
    Transpose({count, call.line_count, call.line_count, 1, 1, step}, piece,
              reinterpret_cast<const Bits*>(from + first));
    for (int64_t k = 0; k < count; ++k) {
      WidenRow(reinterpret_cast<const T*>(piece) + k * call.line_count, call.line_count,
               call.to + (first + k) * call.width);
    }
  }
}

template <typename T>
void PackEach(const PackCall& call) {
  for (int64_t k = 0; k < call.depth; ++k) {
    const T* from = reinterpret_cast<const T*>(call.data) + call.inner[k];
    for (int64_t i = 0; i < call.line_count; ++i) {
      call.to[k * call.width + i] = WidenElement(from[call.lines[i]]);
    }
  }
}

template <typename T>
void Pack(const PackCall& call) {
  for (int64_t k = 0; k < call.depth && call.line_count < call.width; ++k) {
    std::fill(call.to + k * call.width + call.line_count, call.to + (k + 1) * call.width, 0.0);
  }
  const int64_t step = call.line_count > 1 ? call.lines[1] - call.lines[0] : 0;
  if (step == 1 && AreNeighbours(call.lines, call.line_count)) {
    PackAcross<T>(call);
  } else if (AreNeighbours(call.inner, call.depth) && AreApart(step, call.lines, call.line_count)) {
    PackAlong<T>(call, step);
  } else {
    PackEach<T>(call);
  }
}

void PackFloats(const PackCall& call) {
  Pack<float>(call);
}
void PackHalves(const PackCall& call) {
  Pack<Half>(call);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

PackFunction* PackFunctionFor(DataType type) {
  static constexpr IsaForms<PackFunction> kFloats = DMLOP_ISA_FORMS(PackFloats);
  static constexpr IsaForms<PackFunction> kHalves = DMLOP_ISA_FORMS(PackHalves);
  return Choose(type == DataType::kFloat16 ? kHalves : kFloats);
}

}  // namespace dmlop
#endif
