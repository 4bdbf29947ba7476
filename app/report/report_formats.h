// SPDX-License-Identifier: Apache-2.0
// The forms in which reports are printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/report/report_cases.h"

namespace dmlop {

// The text in XML and HTML, without characters that XML cannot hold.
std::string XmlText(std::string_view text);

// A number of errors or units in a few digits; "-" if there is none.
std::string ErrorText(const std::optional<double>& error);

// One page that loads no other file: the table, and what differs by cause.
std::string ReportHtml(const std::vector<DeviceReport>& reports,
                       const std::vector<std::string>& by);

// As servers of continuous integration read it: a suite for each device.
std::string ReportJunit(const std::vector<DeviceReport>& reports);

// The table of groups by itself.
struct ReportTable {
  std::vector<std::vector<std::string>> rows;  // the first one has titles, the last one totals
  std::vector<int> worths;                     // of the columns, as for TableText
};
ReportTable TableOf(const std::vector<DeviceReport>& reports, const std::vector<std::string>& by);

}  // namespace dmlop
