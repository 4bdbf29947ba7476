// SPDX-License-Identifier: Apache-2.0
// The command lines of fuzz and shrink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/options/options.h"

namespace dmlop {

// A case is written as a descriptor, or also as a DxDispatch model beside it.
enum class CaseForm { kDescriptor, kModel };

struct EngineOptions {
  std::string command;   // with {} for the folder
  double timeout = 30;   // of a start, in seconds
  size_t per_start = 1;  // cases
  size_t jobs = 1;       // starts side by side
  CaseForm form = CaseForm::kDescriptor;
  bool is_shown = false;  // what the engine prints
};

// The treatment of cases that fail.
struct FindingOptions {
  ComparisonRules rules;
  std::vector<std::string> judging;  // the words of the command line that they come from
  int64_t shrink_runs = 300;         // of the engine; twice as many for conditions
  std::string folder = "findings";
};

struct FuzzOptions {
  EngineOptions engine;
  FindingOptions findings;
  std::vector<std::string> operators;  // names, globs and groups; empty: all
  FeatureLevel level = kHighestFeatureLevel;
  std::vector<DataType> types;   // empty: all
  std::vector<size_t> ranks;     // likewise
  int64_t max_elements = 4096;   // of each tensor
  std::vector<std::string> set;  // "/desc/Direction=FORWARD"
  bool packed_only = false;
  bool open = false;                  // what DirectML leaves open is let in
  std::string seed = "0";             // or "random"
  std::optional<int64_t> cases;       // of each operator; none: until most pairs have been seen
  std::optional<double> seconds;      // in all
  std::string only_case;              // by its name; empty for all
  std::vector<std::string> accepted;  // ids of causes
  std::string report;
  std::string written;             // folder for cases, in place of an engine; empty for none
  std::string replayed, resumed;   // folders of findings
  std::vector<std::string> words;  // the command line, for another run to go on
  bool has_timeout = false, has_jobs = false;  // they are given, and not those by default
};

struct ShrinkOptions {
  std::string descriptor;
  std::optional<int64_t> line;  // as for run
  EngineOptions engine;
  FindingOptions findings;
  std::string confine;  // as for run
};

// Parses the words of an earlier command line.
FuzzOptions ParseFuzzWords(std::vector<std::string> words);

}  // namespace dmlop
