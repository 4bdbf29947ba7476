// SPDX-License-Identifier: Apache-2.0
// The bytes are an ONNX model, which is read and imported and, if it is small, run.

#include <string>
#include <vector>

#include "core/onnx/onnx_import.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/small_graph.h"

namespace dmlop {
namespace {

void CheckInput(std::span<const std::byte> file) {
  // A separate copy, so that reading past the file is reading past an allocation.
  const std::vector<std::byte> copy(file.begin(), file.end());
  OnnxModel model;
  try {
    model = ReadOnnxModel(copy, "model");
  } catch (const Error& error) {
    return Require(error.kind() == ErrorKind::kTensorFile, "another kind of fault");
  }
  OnnxSource source{.model = model, .owner = nullptr, .level = kHighestFeatureLevel};
  source.external = [](const std::string& name) -> InputFile {
    throw Error(ErrorKind::kFileSystem, name + ": is not there");
  };
  Diagnostics diagnostics;
  const auto named = ImportOnnx(source, diagnostics).graph;
  Require((named == nullptr) == diagnostics.has_errors(),
          "a model is refused without a word, or taken with one");
  if (named != nullptr) RunIfSmall(named->graph);
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dmlop::CheckInput(std::as_bytes(std::span(data, size)));
  return 0;
}
