#include "core/kernels/scale_bias.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/scale_bias.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/dispatch.h"
#include "core/kernels/scale_bias_element.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A contiguous row of FLOAT32. Without a fused multiply-add in hardware the element function gives
// the same bits.
HWY_ATTR void ScaleBiasFloatRow(const ScaleBias& scale_bias, int64_t count, float* to,
                                const float* from) {
  int64_t i = 0;
#if HWY_NATIVE_FMA
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, scale_bias.scale);
  const auto bias = hn::Set(d, scale_bias.bias);
  const auto canonical_nan =
      hn::BitCast(d, hn::Set(hn::RebindToUnsigned<decltype(d)>(), 0x7FC00000u));
  for (; i + lanes <= count; i += lanes) {
    const auto y = hn::MulAdd(hn::LoadU(d, from + i), scale, bias);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(y), canonical_nan, y), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = ScaleBiasElement(scale_bias, from[i]);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cassert>

#include "core/tensor/visit_data_type.h"

namespace dmlop {

namespace {

using FloatRow = void(const ScaleBias&, int64_t, float*, const float*);
constexpr IsaForms<FloatRow> kFloatRow = DMLOP_ISA_FORMS(ScaleBiasFloatRow);

template <typename T>
void ScaleBiasRow(const ScaleBias& scale_bias, int64_t count, T* to, int64_t to_stride,
                  const T* from, int64_t from_stride) {
  if constexpr (std::is_same_v<T, float>) {
    if (to_stride == 1 && from_stride == 1) {
      return Choose(kFloatRow)(scale_bias, count, to, from);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i * to_stride] = ScaleBiasElement(scale_bias, from[i * from_stride]);
  }
}

template <typename T>
void ScaleBiasRows(const ScaleBias& scale_bias, const CopyTile& tile, std::byte* to,
                   const std::byte* from) {
  T* to_row = reinterpret_cast<T*>(to);
  const T* from_row = reinterpret_cast<const T*>(from);
  for (int64_t row = 0; row < tile.outer_count; ++row) {
    ScaleBiasRow(scale_bias, tile.inner_count, to_row, tile.to_inner_stride, from_row,
                 tile.from_inner_stride);
    to_row += tile.to_outer_stride;
    from_row += tile.from_outer_stride;
  }
}

}  // namespace

ScaleBiasFunction ScaleBiasFor(DataType type) {
  ScaleBiasFunction function = nullptr;
  VisitDataType(Join<Floats, Integers32, Integers16, Integers8>(), type,
                [&]<typename T>() { function = ScaleBiasRows<T>; });
  return function;
}

}  // namespace dmlop

#endif  // HWY_ONCE
