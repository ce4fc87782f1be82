#include "autokernel/device/cuda/nvrtc_job.h"

#include <gtest/gtest.h>

namespace ak::cuda {
namespace {

NvrtcJob job() {
  NvrtcJob job;
  job.location = {
      "/cuda/lib/libnvrtc.so.13", "/cuda/lib/libnvrtc-builtins.so.13.0", {"/cuda/include"}, 13, 0};
  job.name = "k.cu";
  job.text = std::string("not utf-8: \xff\xfe, and a zero: \0.", 29);
  job.options = {"--gpu-architecture=sm_90a"};
  job.entries = {"k", "f<3>"};
  job.headers = {{"a.h", "one\n"}, {"b.h", ""}};
  return job;
}

TEST(NvrtcJob, ArrivesAsItWasSent) {
  const auto received = decode_job(encode(job()));
  ASSERT_TRUE(received.has_value()) << received.error().message;
  EXPECT_EQ(received->text, job().text);
  EXPECT_EQ(received->location.builtins, job().location.builtins);
  EXPECT_EQ(received->location.includes, job().location.includes);
  EXPECT_EQ(received->location.version(), "13.0");
  EXPECT_EQ(received->options, job().options);
  EXPECT_EQ(received->entries, job().entries);
  ASSERT_EQ(received->headers.size(), 2u);
  EXPECT_EQ(received->headers[0].text, "one\n");
  EXPECT_EQ(received->headers[1].name, "b.h");
  EXPECT_EQ(received->confinement, Confinement::kSandbox);
}

TEST(NvrtcJob, TheWishForNoSandboxArrives) {
  NvrtcJob open = job();
  open.confinement = Confinement::kNone;
  EXPECT_EQ(decode_job(encode(open))->confinement, Confinement::kNone);
}

TEST(NvrtcAnswer, ArrivesAsItWasSent) {
  NvrtcAnswer answer;
  answer.outcome = NvrtcAnswer::Outcome::kCompiled;
  answer.message = "fine";
  answer.log = "a warning";
  answer.ptx = ".version 9.0";
  answer.cubin = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  answer.symbols = {"_Z1kv"};
  const auto received = decode_answer(encode(answer));
  ASSERT_TRUE(received.has_value()) << received.error().message;
  EXPECT_EQ(received->outcome, NvrtcAnswer::Outcome::kCompiled);
  EXPECT_EQ(received->log, "a warning");
  EXPECT_EQ(received->ptx, ".version 9.0");
  EXPECT_EQ(received->cubin, answer.cubin);
  EXPECT_EQ(received->symbols, answer.symbols);
}

TEST(NvrtcAnswer, AnythingCutOffOrAddedIsAnError) {
  NvrtcAnswer answer;
  answer.ptx = "x";
  const std::string text = encode(answer);
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_answer(text.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_answer(text + "x").has_value());
  EXPECT_FALSE(decode_answer("AKNVRTC2 99999999999999999999\n").has_value());
  EXPECT_FALSE(decode_answer("AKNVRTC2 24\n1\n18446744073709551615\nx").has_value());
}

TEST(NvrtcMessage, IsWholeWithItsLastByteAndNotBefore) {
  const std::string text = encode(job());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(is_whole_message(text.substr(0, size))) << size;
  EXPECT_TRUE(is_whole_message(text));
}

TEST(NvrtcMessage, WhatIsNoneIsNotWaitedFor) {
  for (const char* text :
       {"Segmentation fault", "AKNVRTC2 x\n", "AKNVRTC2 \n", "AKNVRTC2 99999999999999999999999"}) {
    EXPECT_TRUE(is_whole_message(text)) << text;
  }
}

TEST(NvrtcAnswer, AnOutcomeOutsideOfTheListIsAnError) {
  EXPECT_FALSE(decode_answer("AKNVRTC2 40\n5\n27\n{\"outcome\":9,\"symbols\":[]}\n0\n0\n0\n0\n").has_value());
}

}  // namespace
}  // namespace ak::cuda
