#include "app/bench/bench_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "app/bench/bench_notes.h"
#include "app/bench/mann_whitney.h"
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
    std::erase_if(baseline.rows, [](const auto& row) { return row.second.median == 0; });
    if (baseline.rows.empty()) Error(*benchmarks, "has no medians");
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
    const bool is_operator = NumberAt(entry, "limit_share").has_value();  // not its limit
    const bool is_sample = TextAt(entry, "run_type") == "iteration";
    const bool is_median = TextAt(entry, "aggregate_name") == "median";
    if (!is_operator || (!is_sample && !is_median)) return;
    const std::optional<double> time = NumberAt(entry, "real_time");
    if (!time || TextAt(entry, "time_unit") != "ns") {
      return Error(entry, "has no \"real_time\" in ns");
    }
    BaselineTimes& row = baseline.rows[TextAt(entry, "run_name")];
    if (is_median) row.median = *time * 1e-9;
    if (is_sample) row.samples.push_back(*time * 1e-9);
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
    const auto found = baseline.rows.find(KeyOf(row));
    if (found == baseline.rows.end()) continue;
    const BaselineTimes& before = found->second;
    row.ratio = row.time.median / before.median;
    if (std::min(before.samples.size(), row.samples.size()) < kLeastTestedSamples) continue;
    std::vector<double> samples;
    for (const Sample& sample : row.samples) samples.push_back(sample.seconds);
    row.p_value = MannWhitneyP(samples, before.samples);
  }
}

std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchReport& report) {
  std::vector<std::string> warnings;
  if (baseline.isa != report.machine.isa) {
    warnings.push_back(fmt::format("{} was measured with {}, this with {}", baseline.file,
                                   baseline.isa, report.machine.isa));
  }
  std::set<std::string> measured;
  std::vector<std::string> added, left_out;
  for (const BenchRow& row : report.rows) {
    measured.insert(KeyOf(row));
    if (!row.ratio) added.push_back(KeyOf(row));
  }
  for (const auto& [key, times] : baseline.rows) {
    if (!measured.contains(key)) left_out.push_back(key);
  }
  if (!added.empty()) {
    warnings.push_back(fmt::format("{} has no {}", baseline.file, NameAll(added)));
  }
  if (!left_out.empty()) {
    warnings.push_back(fmt::format("{} of {} {} not measured", NameAll(left_out), baseline.file,
                                   left_out.size() == 1 ? "was" : "were"));
  }
  return warnings;
}

}  // namespace dmlop
