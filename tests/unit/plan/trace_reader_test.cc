#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "autokernel/plan/json_cursor.h"
#include "autokernel/plan/op_arguments.h"
#include "sample_trace.h"

namespace ak::plan {
namespace {

using ::testing::ElementsAre;
using testing::event;
using ::testing::HasSubstr;
using testing::read_sample;
using testing::trace_text;

/// Hands a text out in pieces of a few bytes.
class DripSource final : public ByteSource {
 public:
  DripSource(std::string_view text, std::size_t piece) : text_(text), piece_(piece) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t count = std::min({out.size(), piece_, text_.size()});
    std::memcpy(out.data(), text_.data(), count);
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
  std::size_t piece_;
};

std::string error_of(std::string_view text) {
  const auto source = memory_source(text);
  const Result<Trace> trace = read_trace(*source, "t.json");
  return trace ? "(no error)" : trace.error().message;
}

const std::vector<testing::SampleOp> kOps = {
    {"aten::mm", "[[4, 8], [8, 2]]", R"(["float", "float"])"},
    {"aten::relu_", "[[4, 2]]", R"(["float"])"},
};

TEST(TraceReader, ReadsTheSameFromPiecesOfAnySize) {
  const std::string text = trace_text(kOps);
  const Trace whole = read_sample(text);
  for (const std::size_t piece : {1U, 2U, 7U, 100U}) {
    DripSource source(text, piece);
    const Result<Trace> trace = read_trace(source, "drip");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->ops.size(), whole.ops.size());
    EXPECT_EQ(trace->event_count, whole.event_count);
    EXPECT_EQ(trace->ops[1].start_ns, whole.ops[1].start_ns);
    EXPECT_EQ(trace->arguments.text(trace->ops[0].arguments), whole.arguments.text(whole.ops[0].arguments));
  }
}

TEST(TraceReader, KeepsNanosecondsExactly) {
  const Trace trace = read_sample("[" + event("cpu_op", "aten::a", 1, 0, 0, "") + "]");
  EXPECT_EQ(trace.ops[0].duration_ns, 0);
  EXPECT_EQ(parse_thousandths("5194164052703.185"), 5194164052703185);
  EXPECT_EQ(parse_thousandths("-3.5"), -3500);
  EXPECT_EQ(parse_thousandths("7"), 7000);
  EXPECT_EQ(parse_thousandths("1.23456"), 1234);
  EXPECT_EQ(parse_thousandths("2.5e3"), 2500000);
  EXPECT_EQ(parse_thousandths("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_thousandths(""), std::nullopt);
}

TEST(TraceReader, MembersMayComeInAnyOrderAndNamesMayHaveEscapes) {
  const Trace trace = read_sample(
      R"([{"args": {"x": ["}", {"a": "\\\""}], "External id": 5}, "dur": 2, "name": "a\"\u0041\n", "ts": 1, "tid": "x",)"
      R"( "pid": 3, "cat": "cpu_op", "ph": "X"}])");
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.names.text(trace.ops[0].name), "a\"A\n");
  EXPECT_EQ(trace.ops[0].external_id, 5U);
}

TEST(TraceReader, ErrorsSayWhereAndWhy) {
  const std::string text = trace_text(kOps);
  for (const std::size_t length : {1U, 20U, 300U})
    EXPECT_THAT(error_of(text.substr(0, length)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("{\"traceEvents\": [{\"ph\" \"X\"}]}"), HasSubstr("byte 23: this is no JSON"));
  EXPECT_THAT(error_of("{\"traceEvents\": [{}, {\"a\": [}]}]}"), HasSubstr("after 1 events"));
  EXPECT_THAT(error_of("[" + event("cpu_op", "aten::a", 1, 0, 0, "").replace(60, 0, "") + "]"), "(no error)");
  EXPECT_THAT(error_of(R"([{"ph": "X", "cat": "cpu_op", "name": "a", "ts": "soon", "dur": 1}])"),
              HasSubstr("event 1 (a): `ts` or `dur` is no time"));
  EXPECT_THAT(error_of("[]"), HasSubstr("no trace of torch.profiler"));
}

TEST(OpArguments, TellTensorsListsValuesAndWhatWasNotRecorded) {
  const std::vector<Argument> arguments = parse_arguments(
      "[[4, 8], [[1], [2, 3]], [], [], []]\x1e[\"c10::Half\", \"TensorList\", \"ScalarList\", \"\", "
      "\"double\"]\x1e[[8, 1], [[1], [3, 1]], [], [], []]\x1e[\"\", \"\", \"[1, -1]\", \"\", \"\"]");
  ASSERT_EQ(arguments.size(), 5U);
  EXPECT_EQ(arguments[0].dtype, DType::kF16);
  EXPECT_THAT(arguments[0].strides, ElementsAre(8, 1));
  EXPECT_THAT(arguments[1].items[1].dims, ElementsAre(2, 3));
  EXPECT_EQ(arguments[2].kind, Argument::Kind::kValue);
  EXPECT_EQ(arguments[3].kind, Argument::Kind::kNone);
  EXPECT_EQ(arguments[4].kind, Argument::Kind::kTensor);
  EXPECT_TRUE(arguments[4].dims.empty());
  EXPECT_TRUE(parse_arguments("{]").empty());
}

TEST(OpArguments, ReadNumbersAndListsAsPythonPrintsThem) {
  EXPECT_EQ(number_of("2."), 2);
  EXPECT_EQ(number_of("9.9999999999999998e-13"), 1e-12);
  EXPECT_EQ(number_of("True"), std::nullopt);
  EXPECT_EQ(numbers_of("[2, -1]"), (std::vector<double>{2, -1}));
  EXPECT_EQ(numbers_of("[]"), std::vector<double>{});
  EXPECT_EQ(numbers_of("3"), std::vector<double>{3});
  EXPECT_EQ(numbers_of("1, 2"), std::nullopt);
}

}  // namespace
}  // namespace ak::plan
