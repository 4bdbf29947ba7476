// SPDX-License-Identifier: Apache-2.0
// The results of bench in four formats, part by part: each row is printed once it is measured.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/bench/bench_row.h"
#include "app/options/options.h"
#include "core/io/file.h"

namespace dmlop {

class ResultText {
 public:
  virtual ~ResultText() = default;

  // The text before the rows, for each row, and after them; together they are the whole text.
  virtual std::string Begin() = 0;
  virtual std::string Row(const BenchRow& row) = 0;
  virtual std::string End() { return ""; }
};

// `width` is the terminal's, in columns: columns of the table are omitted to fit it, and each row
// gets a bar. If it is empty, there is no terminal, and the table is complete and without bars.
std::unique_ptr<ResultText> MakeTable(const BenchPlan& plan, std::optional<size_t> width);

std::unique_ptr<ResultText> MakeMarkdown(const BenchPlan& plan);

// The key of the JSON's context for the descriptor of the operator called `name`.
std::string DescriptorKey(const std::string& name);

// --- output --------------------------------------------------------------------------------------

// Writes the rows of bench as they are measured: to standard output, and to a file that appears
// when all are there or a signal ends the command.

// Finds faults of the output file before time is spent. Throws an Error.
void CheckBenchOutput(const BenchOptions& options);

class BenchOutput {
 public:
  // Prints what precedes the rows of the plan.
  BenchOutput(const BenchOptions& options, const CommonOptions& common, const BenchLibrary& library,
              BenchReport& report);

  // Keeps a row of the report and prints it. The file is written even if standard output has gone.
  void Add(BenchRow row);

  // Ends the output and publishes the file.
  void End();

  // Called from another thread: ends the output after the rows so far and prints a note; other
  // threads then wait for the process to end. Without any row, no file is written.
  void Interrupt();

 private:
  void Print(const std::string& shown, const std::string& filed);
  void Finish();

  const BenchOptions& options_;
  const bool quiet_;
  BenchReport& report_;
  std::timed_mutex mutex_;
  bool is_finished_ = false;
  bool has_reader_ = true;             // standard output still has one
  std::unique_ptr<ResultText> shown_;  // for standard output; null if nothing is printed
  std::unique_ptr<ResultText> filed_;  // null without a file
  std::string content_;                // of a file that appears at the end
  std::optional<OutputStream> device_;
};

}  // namespace dmlop
