#include "autokernel/roofline/peak_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autokernel/base/file.h"

namespace ak::roofline {
namespace {

class FakeLog final : public Log {
 public:
  std::vector<std::string> messages;

 private:
  void write(std::string_view, std::string_view message) override { messages.emplace_back(message); }
};

class PeakStoreTest : public testing::Test {
 protected:
  static Peaks of(std::string uuid, double gbps) {
    Peaks peaks;
    peaks.device_uuid = std::move(uuid);
    peaks.bandwidths = {{1024, gbps, gbps, Source::kMeasured}};
    return peaks;
  }
  TempDir folder_ = TempDir::create("peaks").value();
  FakeLog log_;
  PeakStore store_{folder_.path() / "peaks", log_};
};

TEST_F(PeakStoreTest, ReturnsWhatWasSavedForEachDevice) {
  ASSERT_TRUE(store_.save(of("a", 1)));
  ASSERT_TRUE(store_.save(of("b", 2)));
  ASSERT_TRUE(store_.save(of("a", 3)));
  EXPECT_EQ(store_.load("a").value(), of("a", 3));
  EXPECT_EQ(store_.load("b").value(), of("b", 2));
}

TEST_F(PeakStoreTest, AnUnknownDeviceIsNotMeasuredYetAndNoWarning) {
  EXPECT_FALSE(store_.load("a"));
  EXPECT_TRUE(log_.messages.empty());
}

TEST_F(PeakStoreTest, ACorruptedFileIsMeasuredAgainWithAWarning) {
  ASSERT_TRUE(store_.save(of("a", 1)));
  ASSERT_TRUE(write_file_atomic(store_.path("a"), "{\"schema\": 1, \"devi"));
  EXPECT_FALSE(store_.load("a"));
  ASSERT_EQ(log_.messages.size(), 1u);
  EXPECT_THAT(log_.messages[0], testing::HasSubstr("measured again"));
  ASSERT_TRUE(store_.save(of("a", 2)));
  EXPECT_EQ(store_.load("a").value(), of("a", 2));
}

TEST_F(PeakStoreTest, AnotherDevicesPeaksAreNotUsed) {
  ASSERT_TRUE(store_.save(of("a", 1)));
  ASSERT_TRUE(write_file_atomic(store_.path("b"), read_file(store_.path("a")).value()));
  EXPECT_FALSE(store_.load("b"));
  EXPECT_EQ(log_.messages.size(), 1u);
}

TEST_F(PeakStoreTest, AUuidCannotLeaveTheFolder) {
  ASSERT_TRUE(store_.save(of("../../etc/passwd", 1)));
  EXPECT_EQ(store_.path("../../etc/passwd").parent_path(), folder_.path() / "peaks");
  EXPECT_TRUE(store_.load("../../etc/passwd"));
}

TEST_F(PeakStoreTest, AFolderThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(write_file_atomic(folder_.path() / "file", ""));
  EXPECT_FALSE(PeakStore(folder_.path() / "file" / "peaks", log_).save(of("a", 1)));
}

}  // namespace
}  // namespace ak::roofline
