// SPDX-License-Identifier: Apache-2.0
#include "app/text/progress_text.h"

#include <gtest/gtest.h>

#include "app/text/table_text.h"

namespace dmlop {
namespace {

struct Case {
  ProgressState state;
  size_t width;
  std::string text;
};

TEST(ProgressText, SaysWhatFits) {
  const ProgressState reduce{"REDUCE", 3'440'000'000, 8'000'000'000, 0.66};
  const Case cases[] = {
      {reduce, 80, "REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s  1 s left"},
      {reduce, 46, "REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s  1 s left"},
      {reduce, 45, "REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s"},
      {reduce, 36, "REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s"},
      {reduce, 35, "REDUCE: 43%  3.4 of 8.0 GB"},
      {reduce, 25, "REDUCE: 43%"},
      {reduce, 10, "REDU…: 43%"},
      {reduce, 6, "…: 43%"},
      {reduce, 4, ": 4…"},
      {reduce, 0, ""},
      {{"größer", 1, 2, 0}, 10, "größ…: 50%"},
      {{"reading in.npy", 3'200'000, 0, 1.6}, 80, "reading in.npy: 3.2 MB  2.0 MB/s"},
      {{"reading in.npy", 0, 0, 3}, 80, "reading in.npy: 0.0 kB  0.0 kB/s"},
      {{"more than known", 9'000, 8'000, 2},
       80,
       "more than known: 100%  8.0 of 8.0 kB  4.0 kB/s  0 s left"},
      {{"nothing yet", 0, 8'000'000, 2}, 80, "nothing yet: 0%  0.0 of 8.0 MB  0.0 kB/s"},
      {{"just begun", 1'000'000, 8'000'000, 0.01}, 80, "just begun: 12%  1.0 of 8.0 MB"},
      {{"long", 1'000'000, 1'000'000'000'000, 1},
       80,
       "long: 0%  0.0 of 1.0 TB  1.0 MB/s  278 h left"},
      {{"long", 1'000'000, 1'000'000'000, 1}, 80, "long: 0%  0.0 of 1.0 GB  1.0 MB/s  17 min left"},
  };
  for (const Case& c : cases) {
    const std::string text = ProgressText(c.state, c.width, /*unicode=*/true);
    EXPECT_EQ(text, c.text) << c.width;
    EXPECT_LE(TextWidth(text), c.width);
  }
}

TEST(ProgressText, NeedsNoUnicode) {
  const ProgressState half{"REDUCE", 1, 2, 0};
  EXPECT_EQ(ProgressText(half, 10, /*unicode=*/false), "REDU~: 50%");
  EXPECT_EQ(ProgressText(half, 4, /*unicode=*/false), ": 5~");
  EXPECT_EQ(ProgressText(half, 0, /*unicode=*/false), "");
}

TEST(ProgressText, TakesAnyParts) {
  EXPECT_EQ(ProgressText("sum", {"43%", "median 1 ms"}, 21, true), "sum: 43%  median 1 ms");
  EXPECT_EQ(ProgressText("sum", {"43%", "median 1 ms"}, 20, true), "sum: 43%");
}

TEST(ProgressText, CountsCases) {
  const CaseCounts some{.done = 430, .total = 1000, .failed = 2, .seconds = 2};
  EXPECT_EQ(ProgressText(some, 80, true),
            "batch: 43%  430 of 1000 cases  2 failed  215 cases/s  3 s left");
  EXPECT_EQ(ProgressText(some, 40, true), "batch: 43%  430 of 1000 cases  2 failed");
  EXPECT_EQ(ProgressText(some, 12, true), "batch: 43%");
  EXPECT_EQ(ProgressText(CaseCounts{.done = 1, .total = 3, .failed = 0, .seconds = 0.01}, 80, true),
            "batch: 33%  1 of 3 cases  0 failed");
  EXPECT_EQ(ProgressText(CaseCounts{}, 80, true), "batch: 100%  0 of 0 cases  0 failed");
}

}  // namespace
}  // namespace dmlop
