// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/copy/copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/copy/shuffle.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <span>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The arguments that all terms of one vector share.
struct Blocks {
  int64_t count;
  std::byte* to;
  int64_t to_step;
  const std::byte* const* from;
  const int64_t* from_steps;
};

#if HWY_TARGET == HWY_SCALAR

void PackTable(const std::byte* from, const ShuffleTerm& term, std::byte* to) {
  for (size_t i = 0; i < kShuffleBytes; ++i) {
    if (term.table[i] != ShuffleTerm::kNone) to[i] = from[term.table[i]];
  }
}

void PackVector(const ShuffleTerm* terms, size_t count, const std::byte* const* from,
                std::byte* to) {
  std::fill_n(to, kShuffleBytes, std::byte{0});
  for (const ShuffleTerm& term : std::span(terms, count)) {
    PackTable(from[term.source] + term.from, term, to);
  }
}

template <size_t kTerms, bool kOnto>
void Pack(const Blocks& blocks, const ShuffleTerm* terms) {
  for (int64_t block = 0; block < blocks.count; ++block) {
    std::byte* to = blocks.to + block * blocks.to_step;
    if (!kOnto) std::fill_n(to, kShuffleBytes, std::byte{0});
    for (size_t t = 0; t < kTerms; ++t) {
      const size_t source = terms[t].source;
      PackTable(blocks.from[source] + block * blocks.from_steps[source] + terms[t].from, terms[t],
                to);
    }
  }
}

#else

void PackVector(const ShuffleTerm* terms, size_t count, const std::byte* const* from,
                std::byte* to) {
  const hn::Full128<uint8_t> d;
  auto bytes = hn::Zero(d);
  for (const ShuffleTerm& term : std::span(terms, count)) {
    const uint8_t* const x = reinterpret_cast<const uint8_t*>(from[term.source] + term.from);
    const auto table = hn::Load(d, term.table.data());
    bytes = hn::Or(bytes, hn::TableLookupBytesOr0(hn::LoadU(d, x), table));
  }
  hn::StoreU(bytes, d, reinterpret_cast<uint8_t*>(to));
}

// Applies the same terms to all blocks, so that their tables stay in registers. With kOnto, the
// result is merged into what other terms have packed.
template <size_t kTerms, bool kOnto>
void Pack(const Blocks& blocks, const ShuffleTerm* terms) {
  const hn::Full128<uint8_t> d;
  hn::Vec<hn::Full128<uint8_t>> tables[kTerms + 1];
  const uint8_t* from[kTerms + 1];
  int64_t steps[kTerms + 1];
  for (size_t t = 0; t < kTerms; ++t) {
    const size_t source = terms[t].source;
    tables[t] = hn::Load(d, terms[t].table.data());
    from[t] = reinterpret_cast<const uint8_t*>(blocks.from[source] + terms[t].from);
    steps[t] = blocks.from_steps[source];
  }
  uint8_t* to = reinterpret_cast<uint8_t*>(blocks.to);
  const int64_t to_step = blocks.to_step;  // a copy, which stores cannot alias
  for (int64_t left = blocks.count; left > 0; --left) {
    auto bytes = hn::Zero(d);
    if (kOnto) bytes = hn::LoadU(d, to);
    for (size_t t = 0; t < kTerms; ++t) {
      bytes = hn::Or(bytes, hn::TableLookupBytesOr0(hn::LoadU(d, from[t]), tables[t]));
      from[t] += steps[t];
    }
    hn::StoreU(bytes, d, to);
    to += to_step;
  }
}

#endif

template <bool kOnto>
void PackTerms(size_t count, const Blocks& blocks, const ShuffleTerm* terms) {
  if (count == 0) return Pack<0, kOnto>(blocks, terms);
  if (count == 1) return Pack<1, kOnto>(blocks, terms);
  if (count == 2) return Pack<2, kOnto>(blocks, terms);
  if (count == 3) return Pack<3, kOnto>(blocks, terms);
  Pack<4, kOnto>(blocks, terms);
}

// Packs a single block; tables are loaded as they are needed.
void ShuffleOnce(const ShuffleProgram& program, std::byte* to, const std::byte* const* from) {
  const ShuffleTerm* terms = program.terms.data();
  for (const ShuffleVector& vector : program.vectors) {
    PackVector(terms, vector.term_count, from, to + vector.to);
    terms += vector.term_count;
  }
}

void Shuffle(const ShuffleProgram& program, int64_t blocks, std::byte* to,
             const std::byte* const* from) {
  if (blocks == 1) return ShuffleOnce(program, to, from);
  constexpr size_t kMaxTerms = 4;  // as many tables as fit into registers
  const ShuffleTerm* terms = program.terms.data();
  for (const ShuffleVector& vector : program.vectors) {
    const Blocks all = {blocks, to + vector.to, program.to_step, from, program.from_steps.data()};
    PackTerms<false>(vector.term_count, all, terms);
    for (size_t done = kMaxTerms; done < vector.term_count; done += kMaxTerms) {
      PackTerms<true>(vector.term_count - done, all, terms + done);
    }
    terms += vector.term_count;
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

ShuffleFunction ShuffleForIsa() {
  return DMLOP_CHOOSE(Shuffle);
}

}  // namespace dmlop
#endif
