// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/report/report_cases.h"
#include "app/text/table_text.h"

namespace dmlop {
namespace {

std::vector<std::string> TitlesOf(const std::string& prefix) {
  std::vector<std::string> titles = {"cases",   "pass", "differ", "failed",
                                     "missing", "ULP",  "units",  "furthest off"};
  for (std::string& title : titles) title = prefix + title;
  return titles;
}

// More important columns stay longer in a narrow table.
constexpr int kWorthsOfTitles[] = {6, 5, 8, 7, 1, 3, 4, 2};

std::vector<std::string> CellsOf(const DeviceCounts& device) {
  std::vector<std::string> cells = {fmt::format("{}", device.cases)};
  for (const int64_t count : device.counts) cells.push_back(fmt::format("{}", count));
  cells.push_back(ErrorText(device.most_ulp));
  cells.push_back(ErrorText(device.most_units));
  cells.push_back(Printable(device.furthest_off));
  return cells;
}

Json CountsJson(const std::string& name, const DeviceCounts& device) {
  Json json = {{"device", name}, {"cases", device.cases}};
  for (size_t i = 0; i < std::size(device.counts); ++i) {
    json[std::string(NameOf(static_cast<CaseVerdict>(i)))] = device.counts[i];
  }
  if (device.most_ulp) json["maxUlpError"] = *device.most_ulp;
  if (device.most_units) json["maxUnits"] = NumberJson(*device.most_units);
  if (!device.furthest_off.empty()) json["furthestOff"] = device.furthest_off;
  return json;
}

std::string ReportJson(const std::vector<DeviceReport>& reports,
                       const std::vector<std::string>& by) {
  Json groups = Json::array();
  for (const ReportGroup& group : GroupsOf(reports, by)) {
    Json json = Json::object();
    for (size_t i = 0; i < group.keys.size(); ++i) json[by[i]] = group.keys[i];
    for (size_t i = 0; i < reports.size(); ++i) {
      json["devices"].push_back(CountsJson(reports[i].device, group.devices[i]));
    }
    groups.push_back(std::move(json));
  }
  const Json total = groups.back();
  groups.erase(groups.size() - 1);
  return Utf8Text({{"by", by}, {"groups", groups}, {"total", total.at("devices")}}, 2) + "\n";
}

std::string CsvText(const ReportTable& table) {
  std::string text;
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(CsvField(cell));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

std::string MarkdownText(const ReportTable& table) {
  std::string text;
  for (const std::vector<std::string>& row : table.rows) {
    for (const std::string& cell : row) {
      std::string escaped;
      for (const char c : cell) escaped += c == '|' ? "\\|" : std::string(1, c);
      text += fmt::format("| {} ", escaped);
    }
    text += "|\n";
    if (&row != &table.rows.front()) continue;
    for (size_t i = 0; i < row.size(); ++i) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string ReportText(const std::vector<DeviceReport>& reports, const ReportOptions& options) {
  switch (options.format) {
    case ReportFormat::kJson:
      return ReportJson(reports, options.by);
    case ReportFormat::kJunit:
      return ReportJunit(reports);
    case ReportFormat::kHtml:
      return ReportHtml(reports, options.by);
    default:
      break;
  }
  const ReportTable table = TableOf(reports, options.by);
  if (options.format == ReportFormat::kCsv) return CsvText(table);
  if (options.format == ReportFormat::kMarkdown) return MarkdownText(table);
  return TableText(table.rows, table.worths, options.output.empty() ? TextColumns() : SIZE_MAX);
}

}  // namespace

ReportTable TableOf(const std::vector<DeviceReport>& reports, const std::vector<std::string>& by) {
  ReportTable table{{by}, std::vector<int>(by.size(), kNeededColumn)};
  for (const DeviceReport& report : reports) {
    const auto titles = TitlesOf(reports.size() == 1 ? "" : report.device + " ");
    table.rows[0].insert(table.rows[0].end(), titles.begin(), titles.end());
    table.worths.insert(table.worths.end(), std::begin(kWorthsOfTitles), std::end(kWorthsOfTitles));
  }
  for (const ReportGroup& group : GroupsOf(reports, by)) {
    std::vector<std::string> row;
    for (const std::string& key : group.keys) row.push_back(Printable(key));
    if (row.empty()) row.push_back("all");
    row.resize(by.size());
    for (const DeviceCounts& device : group.devices) {
      const std::vector<std::string> cells = CellsOf(device);
      row.insert(row.end(), cells.begin(), cells.end());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ErrorText(const std::optional<double>& error) {
  return error ? fmt::format("{:.4g}", *error) : "-";
}

ExitStatus ReportCommand(const ReportOptions& options) {
  FileRoles roles;
  for (const std::string& path : options.reports) roles.Reads(path, "a report");
  roles.Writes(options.output, "the output");
  roles.RequireSeparate();
  std::vector<DeviceReport> reports;
  try {
    for (const std::string& path : options.reports) reports.push_back(ReadReport(path));
  } catch (const ReportFault& fault) {
    PrintMessage("dmlop: {}\n", Printable(fault.message));
    return ExitStatus::kInvalidDocument;
  }
  const std::string text = ReportText(reports, options);
  if (options.output.empty() || options.output == kStandardStream) {
    PrintResult(text);
  } else {
    ResultFile(options.output, text).Publish();
  }
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
