// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/report/report_cases.h"
#include "app/report/report_head.html.h"
#include "app/text/table_text.h"
#include "core/base/text.h"
#include "core/compare/wrong_elements.h"

namespace dmlop {

// --- HTML ----------------------------------------------------------------------------------------

// The page for a meeting. It has its style within it and loads nothing.

namespace {

constexpr size_t kMostShown = 12;  // cases of a cause, and planes of a map

// Column `words` and those before it hold words. Numbers have the names of their columns, which a
// narrow window shows beside them.
std::string TableHtml(const ReportTable& table, size_t words) {
  std::string html = "<div class=\"scroll\"><table>\n";
  const auto& head = table.rows.front();
  for (const auto& row : table.rows) {
    const char* const cell = &row == &head ? "th" : "td";
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string of =
          i < words ? "class=\"word\"" : fmt::format("data-of=\"{}\"", XmlText(head[i]));
      html += fmt::format("<{0} {1}>{2}</{0}>", cell, of, XmlText(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

int64_t CountIn(const Json& bin) {
  return static_cast<int64_t>(NumberIn(bin, "count").value_or(0));
}

// The counts of a plane by row; empty if they are none.
using PlaneCells = std::vector<std::vector<double>>;

PlaneCells CellsIn(const Json& plane) {
  PlaneCells cells;
  const Json rows = MemberOf(plane, "differenceCounts");
  for (const Json& row : rows.is_array() ? rows : Json::array()) {
    std::vector<double> line;
    for (const Json& count : row) line.push_back(count.is_number() ? count.get<double>() : 0);
    cells.push_back(std::move(line));
  }
  return cells;
}

double LargestIn(const PlaneCells& cells) {
  double largest = 0;
  for (const std::vector<double>& row : cells) {
    for (const double count : row) largest = std::max(largest, count);
  }
  return largest;
}

// A bar for each entry of a histogram, which has a count and the largest error under `most`.
std::string HistogramHtml(const Json& histogram, const char* most, std::string_view caption) {
  if (!histogram.is_array() || histogram.empty()) return "";
  int64_t largest = 1;
  for (const Json& bin : histogram) largest = std::max(largest, CountIn(bin));
  constexpr int kRow = 18;
  constexpr int kBar = 180;
  std::string rows;
  int y = 0;
  for (const Json& bin : histogram) {
    const int64_t count = CountIn(bin);
    const double width = kBar * static_cast<double>(count) / static_cast<double>(largest);
    rows += fmt::format(
        "<text x=\"72\" y=\"{}\" text-anchor=\"end\">&#8804; {:.4g}</text>"
        "<rect class=\"bar\" x=\"80\" y=\"{}\" width=\"{:.1f}\" height=\"12\"/>"
        "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
        y + 12, NumberIn(bin, most).value_or(0), y + 2, std::max(width, 1.0), 86 + width, y + 12,
        count);
    y += kRow;
  }
  return fmt::format(
      "<figure><figcaption>{}</figcaption><svg width=\"340\" height=\"{}\" viewBox=\"0 0 340 {}\" "
      "role=\"img\">{}</svg></figure>\n",
      caption, y, y, rows);
}

// The index of a plane, such as "[0, 3, *, *]".
std::string PlaneTitle(const Json& map, const Json& plane, size_t rank) {
  const Json at = MemberOf(plane, "at");
  std::vector<std::string> words;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    const auto dimension = static_cast<double>(d);
    const bool is_drawn =
        NumberIn(map, "rowDimension") == dimension || NumberIn(map, "columnDimension") == dimension;
    const bool is_known = !is_drawn && at.is_array() && next < at.size();
    words.push_back(is_known ? at[next++].dump() : "*");
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// Draws where the differing elements of a plane lie: the darker a cell, the more of them. The ticks
// are the first and the last coordinates.
std::string PlaneHtml(const PlaneCells& cells, double largest, const std::string& title,
                      double rows, double columns) {
  constexpr size_t kCell = 8;
  constexpr size_t kLeft = 34;
  constexpr size_t kLine = 16;
  const size_t height = kCell * cells.size();
  size_t width = 0;
  std::string drawn;
  for (size_t row = 0; row < cells.size(); ++row) {
    width = std::max(width, kCell * cells[row].size());
    for (size_t column = 0; column < cells[row].size(); ++column) {
      if (cells[row][column] == 0) continue;
      drawn += fmt::format(
          "<rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
          "fill-opacity=\"{:.2f}\"/>",
          kLeft + kCell * column, kLine + kCell * row, kCell, kCell,
          0.25 + 0.75 * cells[row][column] / largest);
    }
  }
  const auto text = [](size_t x, size_t y, const char* anchor, const std::string& what) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x, y, anchor, what);
  };
  drawn += text(kLeft, kLine - 5, "start", title);
  drawn += text(kLeft - 4, kLine + kCell, "end", "0");
  if (rows > 1) {
    const size_t lowest = kLine + std::max(height, 2 * kLine - kCell);
    drawn += text(kLeft - 4, lowest, "end", fmt::format("{}", rows - 1));
  }
  const size_t bottom = std::max(height, kLine) + 2 * kLine - 3;
  drawn += text(kLeft, bottom, "start", "0");
  const size_t full = std::max(width, 2 * kLeft);
  if (columns > 1) drawn += text(kLeft + full, bottom, "end", fmt::format("{}", columns - 1));
  return fmt::format(
      "<svg width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\">{}"
      "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></svg>\n",
      drawn, kLeft, kLine, width, height,
      fmt::arg("w", kLeft + std::max(full, 6 * title.size()) + 2), fmt::arg("h", bottom + 3));
}

// Draws the planes that differ beside one another.
std::string MapHtml(const Json& map, const Json& sizes) {
  const Json listed = MemberOf(map, "planes");
  std::vector<std::pair<PlaneCells, std::string>> planes;
  double largest = 0;
  for (const Json& plane : listed.is_array() ? listed : Json::array()) {
    PlaneCells cells = CellsIn(plane);
    const double most = LargestIn(cells);
    if (most == 0) continue;
    largest = std::max(largest, most);
    planes.emplace_back(std::move(cells), PlaneTitle(map, plane, sizes.size()));
  }
  if (planes.empty()) return "";
  const double rows = NumberIn(map, "rows").value_or(1);
  const double columns = NumberIn(map, "columns").value_or(1);
  std::string html;
  const size_t shown = std::min(planes.size(), kMostShown);
  for (size_t i = 0; i < shown; ++i) {
    html += PlaneHtml(planes[i].first, largest, planes[i].second, rows, columns);
  }
  const auto dimension = [&](const char* name) {
    const auto number = NumberIn(map, name);
    return number ? AxisName(sizes.size(), static_cast<size_t>(*number)) : "one element";
  };
  const double differ = NumberIn(map, "differentPlanes").value_or(0);
  const std::string part = differ > static_cast<double>(shown)
                               ? fmt::format("; {} of {} planes that differ", shown, differ)
                               : "";
  return fmt::format(
      "<figure><figcaption>where: {} down, {} to the right, {} x {} elements{}</figcaption>"
      "<div class=\"planes\">{}</div></figure>\n",
      dimension("rowDimension"), dimension("columnDimension"), rows, columns, part, html);
}

// "nan" and "inf" without the quotes of JSON.
std::string NumberText(const Json& number) {
  return number.is_string() ? number.get<std::string>() : number.dump();
}

std::string ElementHtml(const Json& worst) {
  if (!worst.is_object()) return "";
  return fmt::format("<p>worst element {}: actual <code>{}</code>, expected <code>{}</code></p>\n",
                     XmlText(MemberOf(worst, "index").dump()),
                     XmlText(NumberText(MemberOf(worst, "actual"))),
                     XmlText(NumberText(MemberOf(worst, "expected"))));
}

std::string ErrorsText(const ReportedCase& one) {
  std::string text = fmt::format("ULP {}, units {}", ErrorText(one.ulp()), ErrorText(one.units()));
  const bool is_measured = one.ulp() || one.units();
  if (one.mismatches() == 0) return text;
  return fmt::format("{}{} {} of NaN or infinity", is_measured ? text + ", " : "", one.mismatches(),
                     ForCount(one.mismatches(), "mismatch", "mismatches"));
}

std::string CaseHtml(const ReportedCase& one) {
  const Json& worst = *one.worst;
  std::string html =
      fmt::format("<details><summary><b>{}</b> {} {} {}: {}</summary>\n", XmlText(one.name),
                  XmlText(one.operator_name()), XmlText(one.data_type()), XmlText(one.sizes()),
                  XmlText(one.verdict == CaseVerdict::kFails || worst.is_null() ? one.error()
                                                                                : ErrorsText(one)));
  if (!one.error().empty()) html += fmt::format("<pre>{}</pre>\n", XmlText(one.error()));
  if (!one.where().empty()) html += fmt::format("<p>{}</p>\n", XmlText(one.where()));
  if (!one.tolerance().empty())
    html += fmt::format("<p>allowed: {}</p>\n", XmlText(one.tolerance()));
  html += ElementHtml(MemberOf(worst, "worst")) +
          MapHtml(MemberOf(worst, "map"), MemberOf(worst, "sizes"));
  html += HistogramHtml(MemberOf(worst, "ulpHistogram"), "mostUlp", "elements by ULP error");
  html += HistogramHtml(MemberOf(MemberOf(worst, "units"), "histogram"), "mostUnits",
                        "elements by units");
  return html + "</details>\n";
}

// The words under which wrong cases stand together.
std::string CauseOf(const ReportedCase& one) {
  if (one.verdict == CaseVerdict::kFails) return "could not be run or compared";
  const std::string cause = one.cause();
  if (!cause.empty()) return cause;
  return one.where().empty() ? "differs" : "no cause known: " + one.where();
}

std::string CausesHtml(const DeviceReport& report) {
  std::vector<std::pair<std::string, std::vector<const ReportedCase*>>> causes;
  for (const ReportedCase* one : WorstFirst(report)) {
    const std::string cause = CauseOf(*one);
    auto found =
        std::ranges::find_if(causes, [&](const auto& known) { return known.first == cause; });
    if (found == causes.end()) found = causes.insert(causes.end(), {cause, {}});
    found->second.push_back(one);
  }
  std::string html;
  for (const auto& [cause, cases] : causes) {
    html += fmt::format("<h3>{}: {}</h3>\n", Counted(cases.size(), "case"), XmlText(cause));
    const size_t shown = std::min(cases.size(), kMostShown);
    for (size_t i = 0; i < shown; ++i) html += CaseHtml(*cases[i]);
    if (shown < cases.size()) {
      html += fmt::format("<p>and {} more, which the report has</p>\n", cases.size() - shown);
    }
  }
  return html;
}

std::string SummaryHtml(const DeviceReport& report) {
  DeviceCounts counts;
  for (const ReportedCase& one : report.cases) counts.Add(one);
  const auto& [passes, differs, fails, missing] = counts.counts;
  return fmt::format(
      "<p><b>{}</b>: {}, <span class=\"good\">{} pass</span>, <span class=\"bad\">{} differ, {} "
      "failed</span>, {} missing</p>\n",
      XmlText(report.device), Counted(counts.cases, "case"), passes, differs, fails, missing);
}

}  // namespace

std::string XmlText(std::string_view text) {
  constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string escaped;
  for (const char c : text) {
    const auto* const found =
        std::ranges::find(kEscapes, c, &std::pair<char, std::string_view>::first);
    const bool is_allowed = static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t';
    if (found != std::end(kEscapes)) {
      escaped += found->second;
    } else if (is_allowed) {
      escaped += c;
    }
  }
  return escaped;
}

std::string ReportHtml(const std::vector<DeviceReport>& reports,
                       const std::vector<std::string>& by) {
  std::string html = kReportHead;
  for (const DeviceReport& report : reports) html += SummaryHtml(report);
  html += "<h2>" + XmlText(fmt::format("By {}", fmt::join(by, " and "))) + "</h2>\n";
  html += TableHtml(TableOf(reports, by), by.size());
  for (const DeviceReport& report : reports) {
    const std::string causes = CausesHtml(report);
    if (causes.empty()) continue;
    html += fmt::format("<h2>What differs on {}</h2>\n{}", XmlText(report.device), causes);
  }
  return html + "</body>\n</html>\n";
}

std::string ReportJunit(const std::vector<DeviceReport>& reports) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const DeviceReport& report : reports) {
    DeviceCounts counts;
    std::string cases;
    int64_t skipped = 0;  // with --skip-missing; another file that is missing is an error
    double seconds = 0;
    for (const ReportedCase& one : report.cases) {
      counts.Add(one);
      seconds += one.seconds;
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"",
                           XmlText(one.operator_name()), XmlText(one.name), one.seconds);
      const bool differs = one.verdict == CaseVerdict::kDiffers;
      const bool is_skipped = one.verdict == CaseVerdict::kIsMissing && one.error().empty();
      skipped += is_skipped;
      if (one.verdict == CaseVerdict::kPasses) {
        cases += "/>\n";
      } else if (is_skipped) {
        cases += "><skipped message=\"the device has no output\"/></testcase>\n";
      } else {
        cases += fmt::format("><{0} message=\"{1}\">{2}</{0}></testcase>\n",
                             differs ? "failure" : "error", XmlText(one.error()),
                             XmlText(fmt::format("{}\n{}", one.where(), one.cause())));
      }
    }
    const auto& [passes, differs, fails, missing] = counts.counts;
    xml += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.6f}\">\n{}  </testsuite>\n",
        XmlText(report.device), counts.cases, differs, fails + missing - skipped, skipped, seconds,
        cases);
  }
  return xml + "</testsuites>\n";
}

// --- tables and reports --------------------------------------------------------------------------

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
    reports = ReadReports(options.reports);
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
