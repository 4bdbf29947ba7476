// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/integer_tile.h"

#if defined(__x86_64__)

#include <immintrin.h>
#define _Bool bool  // the header is meant for C; Clang has _Bool only there
#include <sys/platform/x86.h>
#undef _Bool

#include <cstring>

#include "core/kernels/simd/isa.h"

// Lets a function use the instructions, whatever the processor that the rest is compiled for.
#define DMLOP_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace dmlop {
namespace {

// A tile has 24 of the 32 registers.
constexpr int64_t kLanes = 16;
constexpr int kVectors = kByteColumns / kLanes;

template <int kCount>
DMLOP_VNNI void AddRows(const std::byte* left, const std::byte* right, int64_t groups,
                        int32_t* sums, int64_t stride) {
  __m512i tile[kCount][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      tile[r][v] = _mm512_loadu_si512(sums + r * stride + kLanes * v);
    }
  }
  for (int64_t group = 0; group < groups; ++group) {
    __m512i columns[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_si512(right + 4 * kLanes * v);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      int32_t four;
      std::memcpy(&four, left + 4 * r, sizeof four);
      const __m512i row = _mm512_set1_epi32(four);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        // vpdpbusd: its four products of 16 bits are exact, and sums wrap.
        tile[r][v] = _mm512_dpbusd_epi32(tile[r][v], row, columns[v]);
      }
    }
    left += 4 * kByteRows;
    right += 4 * kByteColumns;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_si512(sums + r * stride + kLanes * v, tile[r][v]);
    }
  }
}

// --- narrowing -----------------------------------------------------------------------------------

// Pairs of 16-bit numbers of 8 lines.
DMLOP_VNNI inline __m256i PairsAt(const int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The low bytes of pairs, in the low halves.
DMLOP_VNNI inline __m256i LowBytes(__m256i pairs) {
  const __m256i first = _mm256_and_si256(pairs, _mm256_set1_epi32(0xff));
  const __m256i second = _mm256_and_si256(_mm256_srli_epi32(pairs, 8), _mm256_set1_epi32(0xff00));
  return _mm256_or_si256(first, second);
}

DMLOP_VNNI void NarrowEight(const int16_t* panel, int64_t pairs, int64_t width, std::byte* to,
                            int32_t* line_sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  auto* sums_at = reinterpret_cast<__m256i*>(line_sums);
  __m256i sums = _mm256_loadu_si256(sums_at);
  for (int64_t pair = 0; pair < pairs; pair += 2) {
    const int16_t* at = panel + pair * 2 * width;
    const __m256i low = PairsAt(at);
    const __m256i high = pair + 1 < pairs ? PairsAt(at + 2 * width) : _mm256_setzero_si256();
    const __m256i four = _mm256_or_si256(LowBytes(low), _mm256_slli_epi32(LowBytes(high), 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + pair * 2 * width), four);
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(low, ones));
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(high, ones));
  }
  _mm256_storeu_si256(sums_at, sums);
}

}  // namespace

bool MultipliesBytes() {
  static const bool has_vnni = CPU_FEATURE_ACTIVE(AVX512_VNNI);
  return has_vnni && CurrentIsa() == "avx512";
}

void AddByteTile(int64_t rows, const std::byte* left, const std::byte* right, int64_t groups,
                 int32_t* sums, int64_t stride) {
  if (rows == 1) return AddRows<1>(left, right, groups, sums, stride);
  if (rows == 2) return AddRows<2>(left, right, groups, sums, stride);
  if (rows <= 4) return AddRows<4>(left, right, groups, sums, stride);
  AddRows<kByteRows>(left, right, groups, sums, stride);
}

void NarrowPanel(const int16_t* panel, int64_t count, int64_t width, std::byte* to,
                 int32_t* line_sums) {
  for (int64_t line = 0; line < width; line += 8) {
    NarrowEight(panel + 2 * line, (count + 1) / 2, width, to + 4 * line, line_sums + line);
  }
}

}  // namespace dmlop

#else

namespace dmlop {

bool MultipliesBytes() {
  return false;
}
void AddByteTile(int64_t, const std::byte*, const std::byte*, int64_t, int32_t*, int64_t) {}
void NarrowPanel(const int16_t*, int64_t, int64_t, std::byte*, int32_t*) {}

}  // namespace dmlop

#endif
