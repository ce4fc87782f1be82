#include "autokernel/device/object_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "autokernel/base/file.h"

namespace ak::device {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public ::testing::Test {
 protected:
  ObjectCache open(std::uint64_t limit_bytes = ObjectCache::kDefaultLimitBytes) {
    auto cache = ObjectCache::open(folder(), limit_bytes);
    EXPECT_TRUE(cache.has_value()) << cache.error().message;
    return std::move(*cache);
  }
  fs::path folder() const { return temp_->path() / "objects"; }

  Result<TempDir> temp_ = TempDir::create("object-cache");
};

Binary binary(std::string bytes) {
  Binary result;
  result.format = "elf";
  result.arch = "cpu";
  result.bytes = std::move(bytes);
  result.entries = {Entry{.name = "k", .param_bytes = {8, 4}, .registers = 32}};
  result.facts.noted = {"approx"};
  result.log = "a warning";
  return result;
}

TEST_F(ObjectCacheTest, GivesBackWhatWasStoredAndSaysWhereFrom) {
  const ObjectCache cache = open();
  ASSERT_TRUE(cache.store("key", binary(std::string("\0\xff\n", 3))).has_value());
  const auto loaded = cache.load("key");
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->bytes, std::string("\0\xff\n", 3));
  EXPECT_EQ(loaded->entries.at(0).registers, 32u);
  EXPECT_EQ(loaded->facts.noted, std::vector<std::string>{"approx"});
  EXPECT_TRUE(loaded->from_cache);
}

TEST_F(ObjectCacheTest, OneCompilesAndTheOthersWaitForIt) {
  const ObjectCache cache = open();
  std::atomic<int> compiles = 0;
  std::atomic<int> from_cache = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto outcome = cache.load_or_compile("key", [&]() -> Result<CompileOutcome> {
          ++compiles;
          return CompileOutcome{binary("code"), std::nullopt};
        });
        from_cache += outcome && outcome->binary && outcome->binary->from_cache;
      });
    }
  }
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(from_cache, 3);
  EXPECT_FALSE(fs::exists(folder() / "key.lock"));
}

TEST_F(ObjectCacheTest, AFailureIsNotKept) {
  const ObjectCache cache = open();
  int compiles = 0;
  const auto fails = [&]() -> Result<CompileOutcome> {
    ++compiles;
    return CompileOutcome{std::nullopt, Failure{Stage::kCompile, FailureKind::kCompile, "compile", "no"}};
  };
  EXPECT_TRUE(cache.load_or_compile("key", fails)->failure.has_value());
  EXPECT_TRUE(cache.load_or_compile("key", fails)->failure.has_value());
  EXPECT_EQ(compiles, 2);
}

TEST_F(ObjectCacheTest, InAFolderThatIsGoneItCompiles) {
  const ObjectCache cache = open();
  fs::remove_all(folder());
  const auto outcome = cache.load_or_compile(
      "key", []() -> Result<CompileOutcome> { return CompileOutcome{binary("code"), std::nullopt}; });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->binary->bytes, "code");
}

TEST_F(ObjectCacheTest, AnUnknownKeyIsNoBinary) { EXPECT_FALSE(open().load("nothing").has_value()); }

TEST_F(ObjectCacheTest, ADamagedFileIsNoBinary) {
  const ObjectCache cache = open();
  ASSERT_TRUE(cache.store("key", binary("code")).has_value());
  const fs::path file = folder() / "key.object";
  auto text = read_file(file);
  ASSERT_TRUE(text.has_value());
  text->at(text->size() / 2) ^= 1;
  ASSERT_TRUE(write_file_atomic(file, *text).has_value());
  EXPECT_FALSE(cache.load("key").has_value());
  ASSERT_TRUE(write_file_atomic(file, "").has_value());
  EXPECT_FALSE(cache.load("key").has_value());
}

TEST_F(ObjectCacheTest, KeysDifferByTextCompilerAndTheNameInDiagnostics) {
  Source source;
  source.text = "a";
  const std::string first = ObjectCache::key(source, "g++ 12");
  EXPECT_NE(first, ObjectCache::key(source, "g++ 13"));
  source.text = "b";
  EXPECT_NE(first, ObjectCache::key(source, "g++ 12"));
  source.text = "a";
  source.name = "other.cu";
  EXPECT_NE(first, ObjectCache::key(source, "g++ 12"));
  source.name = "";
  EXPECT_EQ(first, ObjectCache::key(source, "g++ 12"));
}

TEST_F(ObjectCacheTest, OpeningRemovesWhatIsOverTheLimitOldestFirst) {
  const ObjectCache cache = open();
  ASSERT_TRUE(cache.store("old", binary(std::string(1000, 'x'))).has_value());
  ASSERT_TRUE(cache.store("new", binary(std::string(1000, 'y'))).has_value());
  fs::last_write_time(folder() / "old.object", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const ObjectCache again = open(4000);
  EXPECT_FALSE(again.load("old").has_value());
  EXPECT_TRUE(again.load("new").has_value());
}

TEST_F(ObjectCacheTest, AFolderThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(write_file_atomic(temp_->path() / "file", "").has_value());
  EXPECT_FALSE(ObjectCache::open(temp_->path() / "file" / "objects").has_value());
}

}  // namespace
}  // namespace ak::device
