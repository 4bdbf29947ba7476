// SPDX-License-Identifier: Apache-2.0
#include "core/engine/random/philox.h"

#include <algorithm>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kLanes = 4;
constexpr int64_t kGrain = 1 << 11;  // blocks for a thread

}  // namespace

PhiloxState Advanced(const PhiloxState& state, uint64_t blocks) {
  PhiloxState advanced = state;
  uint64_t carry = blocks;
  for (size_t word = 0; word < 4; ++word) {
    // The upper words of the block count are added together with the carry.
    const uint64_t sum = uint64_t{state[word]} + (carry & 0xFFFFFFFFu);
    advanced[word] = static_cast<uint32_t>(sum);
    carry = (carry >> 32) + (sum >> 32);
  }
  return advanced;
}

std::array<uint32_t, 4> PhiloxBlock(const PhiloxState& state) {
  std::array<uint32_t, 4> c = {state[0], state[1], state[2], state[3]};
  uint32_t k0 = state[4];
  uint32_t k1 = state[5];
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

void FillRandomNumbers(const PhiloxState& state, const TensorView& output) {
  const int64_t elements = output.layout.element_count();
  const LoopNest<1> nest = Merged(LoopNest<1>{output.layout.sizes, {output.layout.strides}});
  ParallelFor(CeilDiv(elements, kLanes), kGrain, output.element_bytes(),
              [&](int64_t begin, int64_t end) {
                uint32_t* const to = output.elements<uint32_t>();
                Walk<1> walk(nest, begin * kLanes);
                PhiloxState at = Advanced(state, static_cast<uint64_t>(begin));
                for (int64_t block = begin; block < end; ++block, at = Advanced(at, 1)) {
                  const std::array<uint32_t, 4> numbers = PhiloxBlock(at);
                  const int64_t count = std::min(elements - block * kLanes, kLanes);
                  for (int64_t i = 0; i < count; ++i, walk.Next()) {
                    to[walk.offset(0)] = numbers[static_cast<size_t>(i)];
                  }
                }
              });
}

}  // namespace dmlop
