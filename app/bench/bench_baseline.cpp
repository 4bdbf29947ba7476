#include "app/bench/bench_baseline.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/text/diagnostic_text.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

constexpr std::string_view kCode = "BASELINE";

std::string TextAt(JsonCursor object, std::string_view key) {
  const auto value = object.is_object() ? object.Find(key) : std::nullopt;
  if (!value) return "";
  return value->is_string() ? value->string() : std::string(value->token());
}

// Empty for a member that is no positive number.
std::optional<double> NumberAt(JsonCursor object, std::string_view key) {
  const std::string text = TextAt(object, key);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number <= 0) return std::nullopt;
  return number;
}

class BaselineReader {
 public:
  BaselineReader(const Machine& machine, Diagnostics& diagnostics)
      : machine_(machine), diagnostics_(diagnostics) {}

  void Read(JsonCursor root, Baseline& baseline) {
    const auto context = root.is_object() ? root.Find("context") : std::nullopt;
    const auto benchmarks = root.is_object() ? root.Find("benchmarks") : std::nullopt;
    const bool is_ours =
        context && context->is_object() && context->Find("dmlop_version").has_value();
    if (!is_ours || !benchmarks || !benchmarks->is_array()) {
      return Error(root,
                   "is not what bench --format json writes: it needs \"context\" with "
                   "\"dmlop_version\", and \"benchmarks\"");
    }
    CheckMachine(*context);
    baseline.isa = TextAt(*context, "isa");
    for (const JsonCursor& entry : benchmarks->children()) ReadEntry(entry, baseline);
    if (baseline.medians.empty()) Error(*benchmarks, "has no medians");
  }

 private:
  void Error(JsonCursor place, std::string message) {
    diagnostics_.Error(kCode, place.pointer(), std::move(message), place.offset());
  }

  // Times of another machine say nothing about a change of the program.
  void CheckMachine(JsonCursor context) {
    const std::string model = TextAt(context, "cpu_model");
    const std::string cpus = TextAt(context, "num_cpus");
    if (model == machine_.cpu_model && cpus == std::to_string(machine_.cpus)) return;
    Error(context, fmt::format("was measured on another machine: '{}' with {} CPUs; this is '{}' "
                               "with {}",
                               model, cpus, machine_.cpu_model, machine_.cpus));
  }

  void ReadEntry(JsonCursor entry, Baseline& baseline) {
    const std::string key = TextAt(entry, "run_name");
    const bool is_operator = NumberAt(entry, "limit_share").has_value();  // not its limit
    if (TextAt(entry, "aggregate_name") != "median" || !is_operator) return;
    const std::optional<double> time = NumberAt(entry, "real_time");
    if (!time || TextAt(entry, "time_unit") != "ns") {
      return Error(entry, "has no \"real_time\" in ns");
    }
    baseline.medians[key] = *time * 1e-9;
  }

  const Machine& machine_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Baseline> ReadBaseline(const std::string& file, const Machine& machine,
                                     const CommonOptions& common) {
  const std::string text = ReadText(file, JsonDocument::kMaxBytes);
  Baseline baseline{file, "", {}};
  Diagnostics diagnostics;
  const std::optional<JsonDocument> json = JsonDocument::Parse(text, diagnostics);
  if (json) BaselineReader(machine, diagnostics).Read(json->root(), baseline);
  if (!diagnostics.has_errors()) return baseline;
  PrintDiagnostics(diagnostics, file == kStandardStream ? kStandardInputName : file, text,
                   UseColor(common.color));
  return std::nullopt;
}

void Compare(const Baseline& baseline, BenchReport& report) {
  report.has_baseline = true;
  for (BenchRow& row : report.rows) {
    const auto before = baseline.medians.find(KeyOf(row));
    if (before != baseline.medians.end()) row.ratio = row.time.median / before->second;
  }
}

std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchReport& report) {
  std::vector<std::string> warnings;
  if (baseline.isa != report.machine.isa) {
    warnings.push_back(fmt::format("{} was measured with {}, this with {}", baseline.file,
                                   baseline.isa, report.machine.isa));
  }
  std::set<std::string> measured;
  for (const BenchRow& row : report.rows) {
    measured.insert(KeyOf(row));
    if (!row.ratio) warnings.push_back(fmt::format("{} has no {}", baseline.file, KeyOf(row)));
  }
  for (const auto& [key, median] : baseline.medians) {
    if (measured.contains(key)) continue;
    warnings.push_back(fmt::format("{} of {} was not measured", key, baseline.file));
  }
  return warnings;
}

}  // namespace dmlop
