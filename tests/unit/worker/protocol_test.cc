#include "autokernel/worker/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/worker/frame.h"

namespace ak::worker {
namespace {

using ::testing::HasSubstr;

const std::string kLong(1000, 'k');

TEST(Protocol, FamiliesTravelWithTheHello) {
  std::vector<FamilyFiles> families = {{"mine", {{"op.toml", "schema = 1"}, {"kernels/a.cu", kLong}}},
                                       {"other", {}}};
  Result<std::vector<FamilyFiles>> read = families_from_json(hello_request(families));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].name, "mine");
  EXPECT_EQ((*read)[0].files, families[0].files);
  EXPECT_TRUE((*read)[1].files.empty());
}

TEST(Protocol, AHelloWithoutFamiliesOrWithWrongTypesIsRefused) {
  for (const char* text :
       {"[]", "7", "{}", R"({"families":{}})", R"({"families":[1]})",
        R"({"families":[{"name":1,"files":{}}]})", R"({"families":[{"name":"x","files":[]}]})",
        R"({"families":[{"name":"x","files":{"a":5}}]})"}) {
    EXPECT_FALSE(families_from_json(Json::parse(text))) << text;
  }
}

TEST(Protocol, TheAnswerToAHelloSurvivesTheWire) {
  Hello hello{kProtocolVersion, "1.2.3", "g++ 12", {}};
  hello.device.kind = "cpu";
  hello.device.name = "a CPU";
  hello.device.uuid = "u";
  Result<Hello> read = hello_from_json(to_json(hello));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->version, kProtocolVersion);
  EXPECT_EQ(read->autokernel, "1.2.3");
  EXPECT_EQ(read->compiler, "g++ 12");
  EXPECT_EQ(read->device.name, "a CPU");
}

TEST(Protocol, AHelloAnswerWithoutADeviceIsRefused) {
  Json json = to_json(Hello{1, "a", "b", {}});
  json.erase("device");
  Result<Hello> read = hello_from_json(json);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("device"));
}

TEST(Protocol, ErrorsKeepTheirCodeAndMessage) {
  for (ErrorCode code :
       {ErrorCode::kUsage, ErrorCode::kEnvironment, ErrorCode::kInternal, ErrorCode::kInterrupted}) {
    Error error = error_from_message(error_message({code, "what happened"}), "verdict");
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.message, "what happened");
  }
}

TEST(Protocol, AnAnswerOfAnotherTypeIsAnInternalErrorThatSaysWhatWasExpected) {
  for (const char* text :
       {"null", "[1]", R"({"type":"compiled"})", R"({"type":"error","code":5,"message":"x"})"}) {
    Error error = error_from_message(Json::parse(text), "verdict");
    EXPECT_EQ(error.code, ErrorCode::kInternal) << text;
    EXPECT_THAT(error.message, HasSubstr("verdict")) << text;
  }
}

TEST(Texts, ALongTextIsSentOnceAndReplacedByItsHash) {
  std::map<std::string, std::string> sent;
  Json first = {{"source", {{"text", kLong}, {"name", "a.cu"}}}};
  EXPECT_THAT(take_texts(first, sent), testing::ElementsAre(content_hash(kLong)));
  EXPECT_EQ(first["source"]["text_hash"], content_hash(kLong));
  EXPECT_FALSE(first["source"].contains("text"));
  Json second = {{"job", {{"candidate", {{"text", kLong}}}}}};
  EXPECT_TRUE(take_texts(second, sent).empty());
  EXPECT_EQ(second["job"]["candidate"]["text_hash"], content_hash(kLong));
}

TEST(Texts, TheSameTextTwiceInOneRequestIsSentOnce) {
  std::map<std::string, std::string> sent;
  Json request = {{"candidate", {{"text", kLong}}}, {"incumbent", {{"text", kLong}}}};
  EXPECT_EQ(take_texts(request, sent).size(), 1u);
}

TEST(Texts, ShortTextsTravelAsTheyAre) {
  std::map<std::string, std::string> sent;
  Json request = {{"text", "short"}};
  EXPECT_TRUE(take_texts(request, sent).empty());
  EXPECT_EQ(request["text"], "short");
}

TEST(Texts, PutUndoesTake) {
  std::map<std::string, std::string> sent;
  const Json original = {{"a", {{{"text", kLong}}, {{"text", kLong + "2"}}}}, {"text", "short"}, {"n", 1}};
  Json request = original;
  take_texts(request, sent);
  EXPECT_NE(request, original);
  ASSERT_TRUE(put_texts(request, sent));
  EXPECT_EQ(request, original);
}

TEST(Texts, AHashThatWasNeverSentIsAnError) {
  Json request = {{"source", {{"text_hash", "0123"}}}};
  Status put = put_texts(request, {});
  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().message, HasSubstr("0123"));
}

TEST(Texts, AHashOfAnotherTypeIsAnError) {
  Json request = {{"text_hash", 5}};
  EXPECT_FALSE(put_texts(request, {}));
}

}  // namespace
}  // namespace ak::worker
