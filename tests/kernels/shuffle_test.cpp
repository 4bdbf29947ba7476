// SPDX-License-Identifier: Apache-2.0
// Shuffle programs on every instruction set, among guard bytes.

#include "core/kernels/copy/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/on_isa.h"

namespace dmlop {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr size_t kSources = 3;
constexpr int64_t kFromStep = 40;

class ShuffleOnIsa : public OnIsa {};

INSTANTIATE_TEST_SUITE_P(Isas, ShuffleOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

// Bytes that differ between and within sources; none is zero.
std::byte SourceByte(size_t source, int64_t i) {
  return static_cast<std::byte>(1 + (static_cast<int64_t>(source) * 83 + i * 7) % 251);
}

std::vector<std::byte> Source(size_t source, int64_t size) {
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < size; ++i) bytes.push_back(SourceByte(source, i));
  return bytes;
}

// The origin of byte `i` in a vector of `terms` terms: the terms take turns, each reading backwards
// from its end, and every fifth byte has none.
constexpr size_t kNoTerm = ~size_t{0};
size_t TermOf(size_t terms, size_t i) {
  return terms == 0 || i % 5 == 4 ? kNoTerm : i % terms;
}

ShuffleProgram ProgramOf(size_t terms, int64_t to_step) {
  ShuffleProgram program{to_step, std::vector<int64_t>(kSources, kFromStep), {{0, terms}}, {}};
  for (size_t t = 0; t < terms; ++t) {
    ShuffleTerm term;
    term.table.fill(ShuffleTerm::kNone);
    term.source = t % kSources;
    term.from = static_cast<int64_t>(t);
    for (size_t i = 0; i < term.table.size(); ++i) {
      if (TermOf(terms, i) == t) term.table[i] = static_cast<uint8_t>(15 - i);
    }
    program.terms.push_back(term);
  }
  return program;
}

std::byte ExpectedByte(size_t terms, int64_t block, size_t i) {
  const size_t term = TermOf(terms, i);
  if (term == kNoTerm) return std::byte{0};
  return SourceByte(term % kSources, block * kFromStep + static_cast<int64_t>(term + 15 - i));
}

void ExpectPacks(size_t terms, int64_t blocks) {
  constexpr int64_t kStart = 5;
  constexpr int64_t kToStep = 19;  // three guard bytes between blocks
  const int64_t max_term = terms == 0 ? 0 : static_cast<int64_t>(terms) - 1;
  std::vector<std::vector<std::byte>> sources;
  const std::byte* from[kSources];
  for (size_t s = 0; s < kSources; ++s) {
    // The source ends with the last byte that a term may read.
    sources.push_back(Source(s, (blocks - 1) * kFromStep + max_term + kShuffleBytes));
    from[s] = sources.back().data();
  }
  std::vector<std::byte> to(static_cast<size_t>(kStart + blocks * kToStep), kGuard);
  std::vector<std::byte> expected = to;
  for (int64_t block = 0; block < blocks; ++block) {
    for (size_t i = 0; i < 16; ++i) {
      expected[static_cast<size_t>(kStart + block * kToStep) + i] = ExpectedByte(terms, block, i);
    }
  }
  ShuffleForIsa()(ProgramOf(terms, kToStep), blocks, to.data() + kStart, from);
  ASSERT_EQ(to, expected) << terms << " terms, " << blocks << " blocks";
}

TEST_P(ShuffleOnIsa, AnyNumberOfTerms) {
  for (size_t terms = 0; terms <= 16; ++terms) {
    for (const int64_t blocks : {1, 2, 3, 7, 33}) ExpectPacks(terms, blocks);
  }
}

TEST_P(ShuffleOnIsa, VectorsOverlap) {
  ShuffleProgram program = ProgramOf(1, 24);
  program.terms.push_back(program.terms.front());
  program.terms.back().from = 8;
  program.vectors = {{0, 1}, {8, 1}};
  const std::vector<std::byte> source = Source(0, kFromStep + 24);
  const std::byte* from[kSources] = {source.data(), source.data(), source.data()};
  std::vector<std::byte> to(24 + 24 + 1, kGuard);
  ShuffleForIsa()(program, 2, to.data(), from);
  for (int64_t block = 0; block < 2; ++block) {
    for (size_t i = 0; i < 24; ++i) {
      const size_t in_vector = i < 8 ? i : i - 8;
      const int64_t term_from = i < 8 ? 0 : 8;
      const std::byte expected =
          TermOf(1, in_vector) == kNoTerm
              ? std::byte{0}
              : SourceByte(0, block * kFromStep + term_from + 15 - static_cast<int64_t>(in_vector));
      ASSERT_EQ(to[static_cast<size_t>(block) * 24 + i], expected) << block << ", " << i;
    }
  }
  ASSERT_EQ(to.back(), kGuard);
}

}  // namespace
}  // namespace dmlop
