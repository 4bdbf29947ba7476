// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {
namespace {

std::vector<std::string> ParseKeys(const std::string& text) {
  std::vector<std::string> keys;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    keys.push_back(text.substr(begin, end - begin));
    begin = end + 1;
    if (std::ranges::find(kReportKeys, keys.back()) != std::end(kReportKeys)) continue;
    throw CLI::ValidationError(
        "--by", fmt::format("'{}' is not one of {}", keys.back(), fmt::join(kReportKeys, ", ")));
  }
  return keys;
}

}  // namespace

Command DeclareReport(CLI::App& command, const CommonOptions&) {
  const auto options = std::make_shared<ReportOptions>();
  AddExamples(command,
              "  dmlop report report.jsonl\n"
              "  dmlop report a100.jsonl h100.jsonl --by operator --format markdown\n"
              "  dmlop report report.jsonl --format html -o report.html\n"
              "  dmlop report report.jsonl --format junit -o junit.xml\n");
  command
      .add_option("reports", options->reports,
                  "Reports of 'dmlop batch --report', one a device, or -")
      ->required()
      ->type_name("FILE.jsonl");
  command
      .add_option_function<std::string>(
          "--by", [options](const std::string& text) { options->by = ParseKeys(text); },
          fmt::format("What cases are grouped by (default: operator,type): {}",
                      fmt::join(kReportKeys, ", ")))
      ->type_name("KEY,...");
  AddChoice(command, "--format", "How it is printed (default: table)", options->format,
            {{"table", ReportFormat::kTable},
             {"csv", ReportFormat::kCsv},
             {"markdown", ReportFormat::kMarkdown},
             {"json", ReportFormat::kJson},
             {"junit", ReportFormat::kJunit},
             {"html", ReportFormat::kHtml}});
  command.add_option("-o,--output", options->output, "Write it to a file")->type_name("FILE");
  return [options] { return ReportCommand(*options); };
}

}  // namespace dmlop
