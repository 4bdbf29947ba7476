// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "app/files/output.h"
#include "core/base/counted.h"
#include "core/base/error.h"
#include "core/io/output_file.h"

namespace dmlop {
namespace {

BenchFormat FormatFor(const BenchOptions& options) {
  if (options.format) return *options.format;
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension == ".json") return BenchFormat::kJson;
  if (extension == ".csv") return BenchFormat::kCsv;
  if (extension == ".md") return BenchFormat::kMarkdown;
  const bool is_text = extension.empty() || extension == ".txt" || IsDevice(options.output);
  if (is_text) return BenchFormat::kTable;
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: unknown kind of file; the known extensions are .json, .csv, .md and "
                          ".txt, and --format chooses for any other",
                          options.output));
}

std::unique_ptr<ResultText> TextIn(BenchFormat format, const BenchPlan& plan,
                                   const BenchLibrary& library, std::optional<size_t> width) {
  switch (format) {
    case BenchFormat::kTable:
      return MakeTable(plan, width);
    case BenchFormat::kJson:
      return MakeJson(plan, library);
    case BenchFormat::kCsv:
      return MakeCsv(plan);
    case BenchFormat::kMarkdown:
      return MakeMarkdown(plan);
  }
  return nullptr;
}

}  // namespace

void CheckBenchOutput(const BenchOptions& options) {
  FormatFor(options);
  const std::string& path = options.output;
  if (!path.empty() && !IsDevice(path)) OutputFile(path, 0);
}

BenchOutput::BenchOutput(const BenchOptions& options, const CommonOptions& common,
                         const BenchLibrary& library, BenchReport& report)
    : options_(options), quiet_(common.quiet), report_(report) {
  const BenchFormat format = FormatFor(options);
  const std::optional<size_t> width = TerminalWidth(STDOUT_FILENO);
  if (options.output.empty() || IsStandardOutput(options.output)) {
    shown_ = TextIn(format, report.plan, library, options.output.empty() ? width : std::nullopt);
  } else {
    filed_ = TextIn(format, report.plan, library, std::nullopt);
    if (IsDevice(options.output)) {
      device_.emplace(options.output);
    } else if (!quiet_) {
      shown_ = MakeTable(report.plan, width);
    }
  }
  Print(shown_ ? shown_->Begin() : "", filed_ ? filed_->Begin() : "");
}

void BenchOutput::Print(const std::string& shown, const std::string& filed) {
  if (device_) {
    device_->Write(std::as_bytes(std::span(filed)));
  } else {
    content_ += filed;
  }
  if (!has_reader_ || shown.empty()) return;
  try {
    PrintResult(shown);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe || !filed_) throw;
    has_reader_ = false;
  }
}

void BenchOutput::Add(BenchRow row) {
  const std::lock_guard lock(mutex_);
  Print(shown_ ? shown_->Row(row) : "", filed_ ? filed_->Row(row) : "");
  report_.rows.push_back(std::move(row));
}

void BenchOutput::Finish() {
  is_finished_ = true;
  Print(shown_ ? shown_->End() : "", filed_ ? filed_->End() : "");
  if (device_) return device_->Close();
  if (filed_ && !report_.rows.empty()) ResultFile(options_.output, content_).Publish();
}

void BenchOutput::End() {
  const std::lock_guard lock(mutex_);
  Finish();
}

void BenchOutput::Interrupt() {
  // Another thread may be blocked while it prints to a reader that does not read.
  std::unique_lock lock(mutex_, std::chrono::seconds(1));
  if (!lock || is_finished_) return;
  lock.release();  // stays locked, because the process ends
  try {
    Finish();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kClosedPipe) return;
    return PrintMessage(fmt::format("dmlop: {}\n", Printable(error.what())));
  }
  if (quiet_) return;
  const size_t rows = report_.rows.size();
  const std::string file = !filed_
                               ? ""
                               : fmt::format("; {} {}", Printable(options_.output),
                                             rows > 0 || device_ ? "has them" : "is not written");
  PrintMessage(fmt::format("dmlop: note: interrupted after {} of {}{}\n", rows,
                           Counted(report_.plan.row_count(), "row"), file));
}

}  // namespace dmlop
