// Operators given as descriptors, in process and warm:
//
//   operator_bench DESCRIPTOR... [--benchmark_OPTION...]
//
// DESCRIPTOR is the JSON text of an operator; its benchmark is named Operator/0, /1, ...
#include <cstdio>
#include <string>
#include <vector>

#include "bench/fixture.h"
#include "core/document/operator_document.h"

namespace dmlop {
namespace {

OperatorDesc ReadOperator(const std::string& text) {
  Diagnostics diagnostics;
  std::optional<JsonDocument> json = JsonDocument::Parse(text, diagnostics);
  if (json) {
    OperatorDocument document(*std::move(json), "", diagnostics);
    if (document.has_operator()) {
      document.Check(kHighestFeatureLevel, diagnostics);
      if (!diagnostics.has_errors()) return document.op();
    }
  }
  std::fprintf(stderr, "not an operator that can run: %s\n", text.c_str());
  std::exit(2);
}

}  // namespace
}  // namespace dmlop

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string name = "Operator/" + std::to_string(i - 1);
    benchmark::RegisterBenchmark(name.c_str(), dmlop::RunRepeatedly, dmlop::ReadOperator(argv[i]))
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
