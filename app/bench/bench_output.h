// Where the rows of bench go as they are measured: standard output, and a file that appears when
// all are there or a signal ends the command.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/bench/bench_report.h"
#include "app/options/options.h"
#include "core/io/file.h"

namespace dmlop {

// Finds faults of the file that is to be written before time is spent. Throws an Error.
void CheckBenchOutput(const BenchOptions& options);

class BenchOutput {
 public:
  // Prints what stands before the rows of the plan.
  BenchOutput(const BenchOptions& options, const CommonOptions& common, const BenchLibrary& library,
              BenchReport& report);

  // Keeps a row of the report and prints it. A reader of standard output that has left costs no
  // file.
  void Add(BenchRow row);

  // Ends the texts and publishes the file.
  void End();

  // The same with the rows that there are, and a note, in another thread; then the others wait for
  // the end of the process. A file is left alone where there is no row.
  void Interrupt();

 private:
  void Print(const std::string& shown, const std::string& filed);
  void Finish();

  const BenchOptions& options_;
  const bool quiet_;
  BenchReport& report_;
  std::timed_mutex mutex_;
  bool is_finished_ = false;
  bool has_reader_ = true;             // of standard output
  std::unique_ptr<ResultText> shown_;  // on standard output; null: nothing
  std::unique_ptr<ResultText> filed_;  // null: no file
  std::string content_;                // of a file that appears at the end
  std::optional<OutputStream> device_;
};

}  // namespace dmlop
