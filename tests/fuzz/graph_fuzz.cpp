// SPDX-License-Identifier: Apache-2.0
// The bytes are a serialized graph, which is read and, if it is small, planned and run.

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/small_graph.h"

namespace dmlop {
namespace {

void CheckInput(std::span<const std::byte> file) {
  bool is_reported = false;
  const auto no_file = [](const std::string& name) -> std::span<const std::byte> {
    throw Error(ErrorKind::kFileSystem, name + ": is not there");
  };
  // A separate copy, so that reading past the file is reading past an allocation.
  const std::vector<std::byte> copy(file.begin(), file.end());
  const auto graph =
      ReadGraph({copy, no_file, kHighestFeatureLevel}, [&](auto&&...) { is_reported = true; });
  Require((graph == nullptr) == is_reported,
          "a graph is refused without a word, or taken with one");
  if (graph != nullptr) RunIfSmall(*graph);
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dmlop::CheckInput({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
