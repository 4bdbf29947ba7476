// SPDX-License-Identifier: Apache-2.0
// Sweeps: a line of a manifest that stands for many cases.
//
//   {"type": "REDUCE", "desc": {...}, "bindings": {"OutputTensor": "{/desc/Function}.npy", ...},
//    "sweep": {"/desc/Function": ["SUM", "MAX"], "/desc/InputTensor/DataType": [...]}}
//
// stands for each combination of the values at the places that the JSON pointers lead to, the last
// pointer changing fastest. Several pointers with ", " between them change together: their values
// are arrays with a value for each. In the case's name and in the file names of the bindings, a
// pointer in braces is replaced by its value, and {case} by the number of the combination, from 0.

#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "app/batch/batch_case.h"
#include "app/batch/batch_report.h"
#include "app/files/manifest.h"
#include "app/files/output.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

constexpr int64_t kCasesAtATime = 4096;

// A place in the descriptor.
struct Place {
  std::string name;  // the pointer as written
  Json::json_pointer pointer;
};

// Places that change together, and rows with a value for each of them.
struct Axis {
  std::vector<Place> places;
  std::vector<std::vector<Json>> rows;
};

// A value as part of a file name: words and numbers as they are, elements of arrays joined by x.
std::string NamePart(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return OneLine(value);
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : "x") + NamePart(element);
  return text;
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

class Sweep {
 public:
  // Throws an Error of kind kUsage if the sweep of `line` is invalid.
  Sweep(JsonCursor line, const std::string& place) : place_(place) {
    RequireDistinctKeys(line);
    base_ = AsWritten(line);
    const Json axes = base_["sweep"];
    base_.erase("sweep");
    if (!axes.is_object() || axes.empty()) {
      Fail("'sweep' is not an object of JSON pointers with arrays of values");
    }
    for (const auto& [name, values] : axes.items()) AddAxis(name, values);
    ForEachNaming(base_, [&](const std::string& text) { RequireKnownParts(text); });
  }

  int64_t count() const { return count_; }

  void RequireAtMost(int64_t most) const {
    if (count_ <= most) return;
    if (count_ == kTooMany) Fail("the sweep has more than 2^53 cases");
    Fail("the sweep has {} cases; --max-cases {} allows them", count_, count_);
  }

  // Returns text such as "/desc/Function = SUM, ...".
  std::string Describe(int64_t number) const {
    std::string text;
    ForEachPlace(number, [&](const Place& place, const Json& value) {
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", place.name, OneLine(value));
    });
    return text;
  }

  Json Case(int64_t number) const {
    Json json = base_;
    try {
      ForEachPlace(number, [&](const Place& place, const Json& value) {
        RequireNoGap(json, place.pointer);
        json[place.pointer] = value;
      });
    } catch (const Json::exception&) {
      Fail("'sweep' has a pointer that leads to nothing in the line");
    }
    ForEachNaming(json, [&](std::string& text) {
      ForEachPlace(number, [&](const Place& place, const Json& value) {
        ReplaceAll(text, "{" + place.name + "}", NamePart(value));
      });
      ReplaceAll(text, "{case}", std::to_string(number));
    });
    return json;
  }

 private:
  static constexpr int64_t kTooMany = int64_t{1} << 53;

  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(ErrorKind::kUsage, "{}: {}", place_,
                fmt::format(text, std::forward<Args>(args)...));
  }

  // An index beyond the end of an array would fill the gap before it.
  void RequireNoGap(const Json& json, Json::json_pointer pointer) const {
    for (; !pointer.empty(); pointer.pop_back()) {
      const Json::json_pointer parent = pointer.parent_pointer();
      if (!json.contains(parent) || !json.at(parent).is_array()) continue;
      const std::string& index = pointer.back();
      const size_t size = json.at(parent).size();
      const bool is_short = index.size() <= std::to_string(size).size();
      if (is_short && std::strtoull(index.c_str(), nullptr, 10) <= size) continue;
      Fail("'sweep' has the index {} of an array of {}", index, size);
    }
  }

  // The last of several members with the same name would silently win.
  void RequireDistinctKeys(JsonCursor value) const {
    std::set<std::string_view> keys;
    for (auto child = value.first_child(); child; child = child->next()) {
      if (value.is_object() && !keys.insert(child->key()).second) {
        Fail("'{}' is given twice", child->key());
      }
      RequireDistinctKeys(*child);
    }
  }

  // Braces in names may hold "case" and pointers of the sweep.
  void RequireKnownParts(const std::string& text) const {
    std::vector<std::string_view> known = {"case"};
    for (const Axis& axis : axes_) {
      for (const Place& place : axis.places) known.push_back(place.name);
    }
    for (size_t begin = text.find('{'); begin != std::string::npos;
         begin = text.find('{', begin + 1)) {
      const size_t end = text.find('}', begin);
      if (end == std::string::npos) return;
      begin = text.rfind('{', end);
      const std::string part = text.substr(begin + 1, end - begin - 1);
      if (std::find(known.begin(), known.end(), part) != known.end()) continue;
      Fail("'{{{}}}' in '{}' is not replaced{}", part, text, DidYouMeanOneOf(part, known));
    }
  }

  void AddAxis(const std::string& name, const Json& values) {
    if (!values.is_array() || values.empty()) {
      Fail("the values of '{}' are not an array with one at least", name);
    }
    Axis axis{PlacesOf(name), {}};
    const size_t width = axis.places.size();
    for (const Json& value : values) {
      if (width > 1 && (!value.is_array() || value.size() != width)) {
        Fail("a value of '{}' is not an array of {}, one for each pointer", name, width);
      }
      axis.rows.push_back(width > 1 ? std::vector<Json>(value.begin(), value.end())
                                    : std::vector<Json>{value});
    }
    const int64_t size = static_cast<int64_t>(axis.rows.size());
    count_ = count_ > kTooMany / size ? kTooMany : count_ * size;
    axes_.push_back(std::move(axis));
  }

  // Splits pointers, which are separated by a comma and a space.
  std::vector<Place> PlacesOf(const std::string& names) const {
    constexpr std::string_view kBetween = ", /";
    std::vector<Place> places;
    for (size_t begin = 0; begin <= names.size();) {
      const size_t end = std::min(names.find(kBetween, begin), names.size());
      Place& place = places.emplace_back();
      place.name = names.substr(begin, end - begin);
      try {
        place.pointer = Json::json_pointer(place.name);
      } catch (const Json::exception&) {
        Fail("'{}' is not a JSON pointer such as /desc/Function", place.name);
      }
      const bool has_comma = place.name.find(",/") != std::string::npos;
      if (has_comma && !base_.contains(place.pointer)) {
        Fail("'{}': between pointers are a comma and a space", place.name);
      }
      if (place.pointer.empty()) Fail("a sweep of whole descriptors is a manifest");
      begin = end + kBetween.size() - 1;
    }
    return places;
  }

  template <typename Visit>
  void ForEachPlace(int64_t number, Visit&& visit) const {
    int64_t below = count_;  // combinations of the following axes
    for (const Axis& axis : axes_) {
      below /= static_cast<int64_t>(axis.rows.size());
      const auto& row = axis.rows[static_cast<size_t>(number / below) % axis.rows.size()];
      for (size_t i = 0; i < row.size(); ++i) visit(axis.places[i], row[i]);
    }
  }

  template <typename Visit>
  static void ForEachText(Json& json, Visit&& visit) {
    if (json.is_string()) {
      visit(json.get_ref<std::string&>());
    } else if (json.is_structured()) {
      for (Json& child : json) ForEachText(child, visit);
    }
  }

  // Visits the texts that may have braces: the case's name and its files.
  template <typename Visit>
  static void ForEachNaming(Json& line, Visit&& visit) {
    for (const char* member : {"name", "bindings"}) {
      if (line.contains(member)) ForEachText(line[member], visit);
    }
  }

  std::string place_;  // of the line, for messages
  Json base_;
  std::vector<Axis> axes_;
  int64_t count_ = 1;
};

// The first fault in how a case is written, as opposed to what DirectML rejects: an unknown field,
// type or enumerator, or a value of the wrong kind. Null if there is none.
const CaseFault* SlipIn(const CaseOutcome& outcome) {
  const auto found = std::ranges::find_if(outcome.faults, [](const CaseFault& fault) {
    return fault.what.is_slip || fault.what.code.starts_with("JSON-") ||
           fault.what.code.starts_with("DOC-");
  });
  return found == outcome.faults.end() ? nullptr : &*found;
}

class Expansion {
 public:
  Expansion(const BatchOptions& options, const CommonOptions& common)
      : options_(options), common_(common), manifest_(options.manifest, /*ends_at_fault=*/true) {
    settings_.options = options;
    settings_.options.sizes = {};
    settings_.folder = manifest_.folder();
    // Checking a case requires no file for an output whose values it expects.
    settings_.compared = Side::kExpected;
  }

  ExitStatus Execute() {
    for (auto lines = manifest_.Next(); !lines.empty(); lines = manifest_.Next()) {
      for (const ManifestLine& line : lines) {
        Expand(line);
        if (status_ != ExitStatus::kSuccess) return status_;
      }
    }
    if (!common_.quiet) {
      PrintMessage("dmlop: {}, {} left out\n", Counted(cases_, "case"),
                   Counted(left_out_, "combination"));
    }
    return status_;
  }

 private:
  // The combinations that are left out for one reason.
  struct Cause {
    std::string combination;  // the first of them
    size_t number;
    int64_t count;
  };

  void Expand(const ManifestLine& line) {
    Diagnostics diagnostics;
    const auto json = JsonDocument::Parse(line.text, diagnostics);
    const std::string place = fmt::format("{}:{}", manifest_.name(), line.number);
    if (!json || !json->root().Find("sweep")) {
      const CaseOutcome outcome = Judge(line);
      PrintMessage(FaultText(outcome, manifest_.name(), /*details=*/false));
      status_ = outcome.exit_status;
      if (!outcome.passed() || !IsTaken(outcome)) return;
      ++cases_;
      if (outcome.descriptor) return PrintResult(OneLine(*outcome.descriptor) + "\n");
      const bool is_line = line.text.find('\n') == std::string::npos;
      return PrintResult((is_line ? line.text : OneLine(AsWritten(json->root()))) + "\n");
    }
    const Sweep sweep(json->root(), place);
    sweep.RequireAtMost(options_.max_cases);
    const int64_t cases_before = cases_;
    const int64_t others_before = others_;
    for (int64_t begin = 0; begin < sweep.count(); begin += kCasesAtATime) {
      Print(sweep, line.number, begin, std::min(begin + kCasesAtATime, sweep.count()));
      if (status_ != ExitStatus::kSuccess) return;
    }
    TellLeftOut(line.number);
    if (cases_ == cases_before && others_ == others_before) {
      throw Error(ErrorKind::kUsage, place + ": the sweep has no valid case");
    }
  }

  void Print(const Sweep& sweep, int64_t line_number, int64_t begin, int64_t end) {
    std::vector<CaseOutcome> outcomes(static_cast<size_t>(end - begin));
    std::vector<std::string> texts(outcomes.size());
    ParallelFor(end - begin, 1, /*bytes=*/0, [&](int64_t first, int64_t past) {
      for (int64_t i = first; i < past; ++i) {
        const size_t k = static_cast<size_t>(i);
        texts[k] = OneLine(sweep.Case(begin + i));
        outcomes[k] = Judge({line_number, texts[k]});
      }
    });
    std::string lines;
    for (size_t k = 0; k < outcomes.size(); ++k) {
      if (outcomes[k].passed() && !IsTaken(outcomes[k])) {
        ++others_;
        continue;
      }
      if (outcomes[k].passed()) {
        lines += (outcomes[k].descriptor ? OneLine(*outcomes[k].descriptor) : texts[k]) + "\n";
        ++cases_;
        continue;
      }
      const std::string combination = sweep.Describe(begin + static_cast<int64_t>(k));
      const CaseFault* const slip = SlipIn(outcomes[k]);
      const CaseFault& fault = slip ? *slip : outcomes[k].faults.front();
      if (!slip && outcomes[k].exit_status == ExitStatus::kInvalidDocument) {
        LeaveOut(fault.text(), combination);
        continue;
      }
      // A slip, a missing file or a wrong binding is no reason to leave a case out.
      PrintMessage("{}:{}: {}: {}\n", manifest_.name(), line_number, Printable(combination),
                   Printable(fault.text()));
      status_ = outcomes[k].exit_status;
      return;
    }
    PrintResult(lines);
  }

  void LeaveOut(const std::string& cause, const std::string& combination) {
    ++left_out_;
    const auto [found, is_new] = causes_.try_emplace(cause, Cause{combination, causes_.size(), 0});
    ++found->second.count;
  }

  // Prints each cause once, in order of appearance.
  void TellLeftOut(int64_t line_number) {
    std::vector<const std::pair<const std::string, Cause>*> causes(causes_.size());
    for (const auto& cause : causes_) causes[cause.second.number] = &cause;
    for (const auto* cause : causes) {
      const auto& [combination, number, count] = cause->second;
      if (common_.quiet) break;
      const std::string more = count == 1 ? "" : fmt::format(", and {} like it", count - 1);
      PrintMessage("{}:{}: left out: {}: {}{}\n", manifest_.name(), line_number,
                   Printable(combination), Printable(cause->first), more);
    }
    causes_.clear();
  }

  bool IsTaken(const CaseOutcome& outcome) const {
    return options_.only.empty() || outcome.type == options_.only;
  }

  CaseOutcome Judge(const ManifestLine& line) const {
    BatchCase one(settings_, line);
    one.Prepare();
    return one.outcome();
  }

  const BatchOptions& options_;
  const CommonOptions& common_;
  Manifest manifest_;
  BatchSettings settings_;
  int64_t cases_ = 0;
  int64_t others_ = 0;  // valid cases of other operators than the one that is taken
  int64_t left_out_ = 0;
  std::unordered_map<std::string, Cause> causes_;  // of the current sweep
  ExitStatus status_ = ExitStatus::kSuccess;       // any other status ends the expansion
};

}  // namespace

ExitStatus ExpandSweeps(const BatchOptions& options, const CommonOptions& common) {
  return Expansion(options, common).Execute();
}

}  // namespace dmlop
