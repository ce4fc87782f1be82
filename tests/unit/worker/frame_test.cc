#include "autokernel/worker/frame.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "autokernel/base/unique_fd.h"

namespace ak::worker {
namespace {

using ::testing::HasSubstr;

/// Every message that the reader gives for `bytes`, fed in pieces of `step`.
std::vector<std::string> messages(FrameReader& reader, std::string_view bytes, std::size_t step) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step));
    while (true) {
      Result<std::optional<std::string>> next = reader.next();
      EXPECT_TRUE(next) << next.error().message;
      if (!next || !*next) break;
      out.push_back(std::move(**next));
    }
  }
  return out;
}

std::string header(std::uint32_t length) {
  std::string out(kMagic);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((length >> shift) & 0xff));
  return out;
}

TEST(Frame, AFrameIsTheMagicWordItsLengthAndTheJson) {
  EXPECT_EQ(encode_frame({{"a", 1}}), std::string("AKF1\x07\0\0\0", 8) + R"({"a":1})");
}

TEST(Frame, WhatWasEncodedIsRead) {
  FrameReader reader;
  EXPECT_THAT(messages(reader, encode_frame({{"a", 1}}) + encode_frame({{"b", "x"}}), 1000),
              testing::ElementsAre(R"({"a":1})", R"({"b":"x"})"));
  EXPECT_EQ(reader.skipped(), 0u);
}

TEST(Frame, ABannerBeforeTheMagicWordIsSkipped) {
  FrameReader reader;
  std::string banner = "Welcome to box\r\nAKF AK AKF2\n";
  EXPECT_THAT(messages(reader, banner + encode_frame(1), 1000), testing::ElementsAre("1"));
  EXPECT_EQ(reader.skipped(), banner.size());
}

TEST(Frame, RubbishBetweenFramesIsSkipped) {
  FrameReader reader;
  EXPECT_THAT(messages(reader, encode_frame(1) + "stray print\n" + encode_frame(2) + "AK", 1000),
              testing::ElementsAre("1", "2"));
}

TEST(Frame, AStreamMayBeSplitAnywhere) {
  const std::string stream =
      "banner AKF" + encode_frame({{"text", "AKF1 inside"}}) + "\n" + encode_frame("end");
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    FrameReader reader;
    EXPECT_THAT(messages(reader, stream, step), testing::ElementsAre(R"({"text":"AKF1 inside"})", R"("end")"))
        << "in pieces of " << step;
  }
}

TEST(Frame, AnEmptyPayloadIsAMessage) {
  FrameReader reader;
  EXPECT_THAT(messages(reader, header(0) + encode_frame(1), 3), testing::ElementsAre("", "1"));
}

TEST(Frame, ATruncatedFrameIsNoMessage) {
  std::string frame = encode_frame({{"a", 1}});
  for (std::size_t length = 0; length < frame.size(); ++length) {
    FrameReader reader;
    EXPECT_TRUE(messages(reader, std::string_view(frame).substr(0, length), 1000).empty()) << length;
  }
}

TEST(Frame, AFrameBeyondTheLimitIsAnErrorBeforeItsBytesArrive) {
  FrameReader reader;
  reader.feed(header(kMaxFrameBytes + 1));
  Result<std::optional<std::string>> next = reader.next();
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, HasSubstr("exceeds the limit"));
}

TEST(Frame, ALengthAtTheLimitIsWaitedFor) {
  FrameReader reader;
  reader.feed(header(kMaxFrameBytes));
  Result<std::optional<std::string>> next = reader.next();
  ASSERT_TRUE(next);
  EXPECT_FALSE(*next);
}

TEST(Frame, EndlessRubbishIsNotKept) {
  FrameReader reader;
  for (int i = 0; i < 1000; ++i) {
    reader.feed(std::string(4096, 'A'));
    ASSERT_TRUE(reader.next());
  }
  EXPECT_GE(reader.skipped(), 1000u * 4096u - 4u);
}

TEST(Frame, TextThatIsNoUtf8IsReplacedNotRefused) {
  FrameReader reader;
  EXPECT_THAT(messages(reader, encode_frame("\xff\xfe"), 1000),
              testing::ElementsAre("\"\xef\xbf\xbd\xef\xbf\xbd\""));
}

class PipeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  UniqueFd read_, write_;
  FrameReader reader_;
};

TEST_F(PipeTest, AMessageThatWasWrittenIsRead) {
  ASSERT_TRUE(write_message(write_.get(), {{"type", "hello"}}));
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kMessage);
  EXPECT_EQ(read->message, R"({"type":"hello"})");
}

TEST_F(PipeTest, AMessageLargerThanThePipeArrivesWhole) {
  const std::string text(3 << 20, 'x');
  std::jthread writer([&] { EXPECT_TRUE(write_message(write_.get(), text)); });
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->message.size(), text.size() + 2);
}

TEST_F(PipeTest, EndOfFileIsTold) {
  write_.reset();
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kEof);
}

TEST_F(PipeTest, EndOfFileWithinAFrameIsNoMessage) {
  ASSERT_EQ(::write(write_.get(), "AKF1\x09\0\0\0{", 9), 9);
  write_.reset();
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kEof);
}

TEST_F(PipeTest, ADeadlineEndsTheWait) {
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::chrono::milliseconds(20));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kTimeout);
}

TEST_F(PipeTest, RubbishDoesNotExtendTheDeadline) {
  std::jthread writer([&](std::stop_token stop) {
    while (!stop.stop_requested() && ::write(write_.get(), "rubbish ", 8) == 8) {
    }
  });
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::chrono::milliseconds(50));
  read_.reset();  // ends the writer
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kTimeout);
}

TEST_F(PipeTest, TheHangUpOfAnotherDescriptorEndsTheWait) {
  std::array<int, 2> watched{};
  ASSERT_EQ(::pipe2(watched.data(), O_CLOEXEC), 0);
  UniqueFd watch(watched[0]);
  ::close(watched[1]);
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt, {.watch_fd = watch.get()});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kEof);
}

TEST_F(PipeTest, InputWaitingOnTheWatchedDescriptorDoesNotEndTheWait) {
  std::array<int, 2> watched{};
  ASSERT_EQ(::pipe2(watched.data(), O_CLOEXEC), 0);
  UniqueFd watch(watched[0]), other(watched[1]);
  ASSERT_EQ(::write(other.get(), "x", 1), 1);
  ASSERT_TRUE(write_message(write_.get(), 7));
  Result<ReadOutcome> read = read_message(read_.get(), reader_, std::nullopt, {.watch_fd = watch.get()});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->end, ReadEnd::kMessage);
}

TEST_F(PipeTest, ErrorOutputIsTakenWhileAMessageIsAwaited) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd errors(ends[0]);
  std::jthread child([&, out = ends[1]] {
    const std::string text(300'000, 'e');  // more than a pipe holds
    for (std::size_t at = 0; at < text.size();)
      at += static_cast<std::size_t>(::write(out, text.data() + at, 1000));
    ::close(out);
    EXPECT_TRUE(write_message(write_.get(), 7));
  });
  std::size_t taken = 0;
  Result<ReadOutcome> read = read_message(
      read_.get(), reader_, std::nullopt,
      {.errors_fd = errors.get(), .on_errors = [&](std::string_view text) { taken += text.size(); }});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->message, "7");
  EXPECT_EQ(taken, 300'000u);
}

TEST_F(PipeTest, WritingToABrokenPipeIsAnError) {
  read_.reset();
  Status written = write_message(write_.get(), 1);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kEnvironment);
}

}  // namespace
}  // namespace ak::worker
