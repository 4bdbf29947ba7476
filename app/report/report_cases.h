// SPDX-License-Identifier: Apache-2.0
// The reports that batches write, read again: the cases of a device, groups of them, and the forms
// in which they are printed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/document_json.h"

namespace dmlop {

enum class CaseVerdict { kPasses, kDiffers, kFails, kIsMissing };

// A member of an object, and a number; null and none if there is no such member. Reports may come
// from other programs.
Json MemberOf(const Json& json, const char* name);
std::optional<double> NumberIn(const Json& json, const char* name);

// A line of a report.
struct ReportedCase {
  explicit ReportedCase(Json line);

  std::shared_ptr<const Json> line;
  CaseVerdict verdict;
  std::string name;                   // or the line in the manifest, "line 7"
  std::shared_ptr<const Json> worst;  // the comparison furthest off; a null if there is none
  double seconds = 0;

  std::string operator_name() const;
  std::string data_type() const;  // of the first output or, of a model, of what was compared
  std::string sizes() const;      // likewise, such as "64x64"
  std::string tolerance() const;
  std::string where() const;  // the sentence
  std::string cause() const;  // that diagnose found; empty if it was not asked for, or found none
  std::string error() const;  // the first line of what went wrong

  // Counts the elements that are NaN or infinite on one side only.
  int64_t mismatches() const;

  // The largest error of the worst comparison; none if nothing was compared in that measure, or
  // nothing differs but by NaN and infinity.
  std::optional<double> ulp() const;
  std::optional<double> units() const;
};

struct DeviceReport {
  std::string device;  // the file's name
  std::vector<ReportedCase> cases;
};

// A line that is no line of a report; the message names it.
struct ReportFault {
  std::string message;
};

// Throws a ReportFault, or an Error of kind kFileSystem. Files of one name in several folders are
// told apart by their paths.
std::vector<DeviceReport> ReadReports(const std::vector<std::string>& paths);

// The value of one of kReportKeys.
std::string KeyOf(const ReportedCase& one, std::string_view key);

std::string_view NameOf(CaseVerdict verdict);

// The cases of one device in one group.
struct DeviceCounts {
  int64_t cases = 0;
  int64_t counts[4] = {};  // by CaseVerdict
  std::optional<double> most_ulp;
  std::optional<double> most_units;
  std::string furthest_off;  // name of the case; empty if none differs

  void Add(const ReportedCase& one);
  int64_t passes() const { return counts[static_cast<size_t>(CaseVerdict::kPasses)]; }
};

struct ReportGroup {
  std::vector<std::string> keys;
  std::vector<DeviceCounts> devices;
};

// In the order of the keys; the last has no keys and counts all cases.
std::vector<ReportGroup> GroupsOf(const std::vector<DeviceReport>& reports,
                                  const std::vector<std::string>& by);

// The cases of a device that do not pass, those that could not be run first, then the furthest off.
std::vector<const ReportedCase*> WorstFirst(const DeviceReport& report);

// --- forms of reports ----------------------------------------------------------------------------

// The text in XML and HTML, without characters that XML cannot hold.
std::string XmlText(std::string_view text);

// A number of errors or units in a few digits; "-" if there is none.
std::string ErrorText(const std::optional<double>& error);

// One page that loads no other file: the table, and what differs by cause.
std::string ReportHtml(const std::vector<DeviceReport>& reports,
                       const std::vector<std::string>& by);

// Writes what servers of continuous integration read: a suite for each device.
std::string ReportJunit(const std::vector<DeviceReport>& reports);

// The table of groups by itself.
struct ReportTable {
  std::vector<std::vector<std::string>> rows;  // the first one has titles, the last one totals
  std::vector<int> worths;                     // of the columns, as for TableText
};
ReportTable TableOf(const std::vector<DeviceReport>& reports, const std::vector<std::string>& by);

}  // namespace dmlop
