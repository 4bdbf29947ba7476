// SPDX-License-Identifier: Apache-2.0
// Prints a digest of seeded random calls and their results, one line for each operator. All
// machines print the same lines.
//
//  dmlop_digest [CALLS]     calls of each operator (default: 200)

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>
#include <cstdlib>
#include <span>

#include "tests/support/random.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

class Digest {
 public:
  Digest() { sha256_init(&context_); }

  void Add(const TestTensor& tensor) {
    const std::vector<std::byte>& bytes = tensor.bytes();
    sha256_update(&context_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  }

  // The first 64 bits in hexadecimal.
  std::string Text() {
    std::array<uint8_t, 8> bytes;
    sha256_digest(&context_, bytes.size(), bytes.data());
    std::string text;
    for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  sha256_ctx context_;
};

void PrintDigest(const RandomOperator& random, int calls) {
  Digest inputs;
  Digest outputs;
  for (int i = 0; i < calls; ++i) {
    Engine engine = CaseEngine(i);
    OperatorCall call = random.draw(engine);
    for (const TestTensor& input : call.inputs) inputs.Add(input);
    call.Run();
    for (const TestTensor& output : call.outputs) outputs.Add(output);
  }
  fmt::print("{:<31} {} calls, inputs {}, outputs {}\n", random.name, calls, inputs.Text(),
             outputs.Text());
}

}  // namespace
}  // namespace dmlop

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 200;
  for (const dmlop::RandomOperator& random : dmlop::RandomOperators()) {
    dmlop::PrintDigest(random, calls);
  }
}
