// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "app/bench/bench_report.h"
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

// Null if the member is not a positive number.
std::optional<double> NumberAt(JsonCursor object, std::string_view key) {
  const std::string text = TextAt(object, key);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number) || number <= 0) return std::nullopt;
  return number;
}

// The position of "/hot/threads:1" in a key.
size_t ConditionsIn(const std::string& key) {
  const size_t threads = key.rfind('/');
  const size_t cache = threads == std::string::npos ? threads : key.rfind('/', threads - 1);
  return std::min(cache, key.size());
}

// Two rows are comparable if this text is the same.
std::string WorkOf(const std::string& descriptor, const std::string& conditions) {
  return descriptor + conditions;
}

// The format that a baseline without JSON seems to have.
std::string_view KindOfText(std::string_view text) {
  return text.starts_with("name,threads,cache,") ? "CSV" : "no JSON";
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
    for (const JsonCursor& entry : benchmarks->children()) ReadEntry(*context, entry, baseline);
    std::erase_if(baseline.rows, [](const auto& row) { return row.second.median == 0; });
    if (baseline.rows.empty()) Error(*benchmarks, "has no medians");
  }

 private:
  void Error(JsonCursor place, std::string message) {
    diagnostics_.Error(kCode, place.pointer(), std::move(message), place.offset());
  }

  // Rejects times of another machine, which say nothing about a change of the program.
  void CheckMachine(JsonCursor context) {
    const std::string model = TextAt(context, "cpu_model");
    const std::string cpus = TextAt(context, "num_cpus");
    if (model == machine_.cpu_model && cpus == std::to_string(machine_.cpus)) return;
    Error(context, fmt::format("was measured on another machine: '{}' with {} CPUs; this is '{}' "
                               "with {}",
                               model, cpus, machine_.cpu_model, machine_.cpus));
  }

  void ReadEntry(JsonCursor context, JsonCursor entry, Baseline& baseline) {
    const bool is_operator = NumberAt(entry, "limit_share").has_value();  // rather than its limit
    const bool is_sample = TextAt(entry, "run_type") == "iteration";
    const bool is_median = TextAt(entry, "aggregate_name") == "median";
    if (!is_operator || (!is_sample && !is_median)) return;
    const std::optional<double> time = NumberAt(entry, "real_time");
    if (!time || TextAt(entry, "time_unit") != "ns") {
      return Error(entry, "has no \"real_time\" in ns");
    }
    const std::string key = TextAt(entry, "run_name");
    BaselineRow& row = baseline.rows[key];
    if (row.descriptor.empty()) {
      row.descriptor = TextAt(context, DescriptorKey(key.substr(0, ConditionsIn(key))));
      if (row.descriptor.empty()) {
        return Error(entry, "was measured before bench wrote what it measures; measure it again");
      }
    }
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
  Baseline baseline{file, "", {}, {}};
  Diagnostics diagnostics;
  if (const size_t begin = text.find_first_not_of(" \t\r\n"); text.find_first_of("{[") != begin) {
    diagnostics.Error(
        kCode, "",
        fmt::format("is {}; a baseline is what bench -o FILE.json writes", KindOfText(text)), 0);
  } else if (const auto json = JsonDocument::Parse(text, diagnostics)) {
    BaselineReader(machine, diagnostics).Read(json->root(), baseline);
  }
  if (!diagnostics.has_errors()) return baseline;
  PrintDiagnostics(diagnostics, file == kStandardStream ? kStandardInputName : file, text,
                   UseColor(common.color));
  return std::nullopt;
}

void Baseline::Pair(const BenchPlan& plan) {
  std::map<std::string, std::vector<std::string>> keys;  // by what is measured
  for (const auto& [key, row] : rows) {
    keys[WorkOf(row.descriptor, key.substr(ConditionsIn(key)))].push_back(key);
  }
  const std::vector<BenchRow> planned = RowsOf(plan);
  for (const bool by_name : {true, false}) {
    for (const BenchRow& row : planned) {
      const std::string own = KeyOf(row);
      std::vector<std::string>& equal = keys[WorkOf(row.descriptor, ConditionsOf(row))];
      const auto found = by_name ? std::find(equal.begin(), equal.end(), own) : equal.begin();
      if (found == equal.end() || !pairs.emplace(own, *found).second) continue;
      equal.erase(found);
    }
  }
}

void Compare(const Baseline& baseline, BenchRow& row) {
  const auto pair = baseline.pairs.find(KeyOf(row));
  if (pair == baseline.pairs.end()) return;
  const BaselineRow& before = baseline.rows.at(pair->second);
  row.ratio = row.time.median / before.median;
  if (std::min(before.samples.size(), row.samples.size()) < kLeastTestedSamples) return;
  std::vector<double> samples;
  for (const Sample& sample : row.samples) samples.push_back(sample.seconds);
  row.p_value = MannWhitneyP(samples, before.samples);
}

std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchPlan& plan) {
  std::vector<std::string> warnings;
  if (baseline.isa != plan.machine.isa) {
    warnings.push_back(fmt::format("{} was measured with {}, this with {}", baseline.file,
                                   baseline.isa, plan.machine.isa));
  }
  std::set<std::string> told;  // keys of the baseline
  std::vector<std::string> added, changed, renamed, left_out;
  for (const BenchRow& row : RowsOf(plan)) {
    const std::string key = KeyOf(row);
    const auto pair = baseline.pairs.find(key);
    if (pair != baseline.pairs.end()) {
      told.insert(pair->second);
      if (pair->second != key) renamed.push_back(fmt::format("{} with {}", key, pair->second));
    } else {
      (baseline.rows.contains(key) ? changed : added).push_back(key);
      told.insert(key);
    }
  }
  for (const auto& [key, row] : baseline.rows) {
    if (!told.contains(key)) left_out.push_back(key);
  }
  const auto warn = [&](const std::vector<std::string>& keys, std::string_view text) {
    if (keys.empty()) return;
    warnings.push_back(fmt::format(fmt::runtime(text), fmt::arg("file", baseline.file),
                                   fmt::arg("rows", NameAll(keys)),
                                   fmt::arg("were", keys.size() == 1 ? "was" : "were")));
  };
  warn(added, "{file} has no {rows}");
  warn(changed, "{file} has {rows} with another descriptor; not compared");
  warn(renamed, "compared by their equal descriptors: {rows} of {file}");
  warn(left_out, "{rows} of {file} {were} not measured");
  return warnings;
}

}  // namespace dmlop
