#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/comparison_text.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/io/file.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

LoadedTensor Load(const std::string& path) {
  if (FormatOf(path) == FileFormat::kNpy) return LoadNpy(path);
  throw Error(ErrorKind::kTensorFile, path + ": a raw file does not say its type and shape");
}

}  // namespace

ExitStatus CompareCommand(const CompareOptions& options, const CommonOptions& common) {
  const LoadedTensor actual = Load(options.actual);
  const LoadedTensor expected = Load(options.expected);
  const bool json = options.format == TextFormat::kJson;
  const std::string mismatch = MismatchText(actual.view, expected.view);
  if (!mismatch.empty()) {
    if (!common.quiet) {
      PrintResult(json ? nlohmann::ordered_json{{"equal", false}, {"mismatch", mismatch}}.dump() +
                             "\n"
                       : mismatch);
    }
    return ExitStatus::kDifferent;
  }
  const Comparison comparison = Compare(actual.view, expected.view, options.tolerance);
  if (!common.quiet) {
    PrintResult(json ? ComparisonJson(comparison, actual.view)
                     : ComparisonText(comparison, actual.view, options.tolerance.bits));
  }
  return comparison.passes() ? ExitStatus::kSuccess : ExitStatus::kDifferent;
}

}  // namespace dmlop
