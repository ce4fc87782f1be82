// Runs the reference of an op family and writes what went in and what came out, for others to judge.
//
//   reference_dump draws FAMILY OUT        every draw on the small sizes
//   reference_dump inputs OUT              the problems of OUT/request.json on the inputs in OUT/request.bin
//
// OUT/manifest.json says where each array lies in OUT/manifest.bin; tests/torch/check_references.py is the
// other side.

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/cpu/jail_main.h"
#include "autokernel/embed/device_headers.h"
#include "autokernel/harness/data_set.h"
#include "autokernel/harness/reference.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {
namespace {

constexpr double kMaxFlops = 0x1p23;  // of a problem: the reference and PyTorch take milliseconds

class Dump {
 public:
  static Result<std::unique_ptr<Dump>> create(const std::string& out) {
    std::unique_ptr<Dump> dump(new Dump());
    dump->out_ = out;
    dump->data_.open(out + "/manifest.bin", std::ios::binary);
    cpu::CpuCompilerOptions options;
    options.cache = cache_directory();
    auto headers = embed::device_headers();
    options.device_headers.assign(headers.begin(), headers.end());
    AK_TRY(compiler, cpu::CpuCompiler::create(std::move(options)));
    AK_TRY(device, cpu::CpuDevice::create({.jail_command = {}, .threads = 2}));
    AK_TRY(registry, op::Registry::create(op::embedded_families(), {}));
    dump->compiler_ = std::move(compiler);
    dump->device_ = std::move(device);
    dump->registry_ = std::move(registry);
    dump->trusted_ = std::make_unique<TrustedKernels>(*dump->device_, *dump->compiler_);
    dump->references_ = std::make_unique<References>(*dump->device_, *dump->compiler_);
    return dump;
  }

  /// Smoke sizes in every dtype, the other small ones in f32; all draws of each.
  Status draws(const std::string& name) {
    AK_TRY(family, registry_.find(name));
    for (const char* set : {"smoke", "sweep", "edge"}) {
      for (const op::Size& size : family->sizes.at(set)) {
        for (DType dtype : family->dtypes) {
          if (dtype != family->dtypes.front() && std::string_view(set) != "smoke") continue;
          AK_TRY(problem, op::make_problem(*family, size, dtype));
          AK_TRY(flops, op::useful_flops(*family, problem));
          if (flops > kMaxFlops) continue;
          for (const op::Draw& draw : family->draws) AK_TRY_VOID(draw_case(*family, problem, draw));
        }
      }
    }
    return finish();
  }

  /// Each of request.json's cases: {"problem": .., "draw": its name, "inputs": {tensor: offset in
  /// request.bin}}.
  Status inputs() {
    AK_TRY(text, read_file(out_ + "/request.json"));
    AK_TRY(values, read_file(out_ + "/request.bin", std::uint64_t{1} << 30));
    const Json request = Json::parse(text, nullptr, false);
    if (!request.is_array()) return usage_error("{}/request.json is no list of cases", out_);
    for (const Json& each : request) {
      AK_TRY(problem, problem_from_json(each.at("problem"), "request.json"));
      AK_TRY(family, registry_.find(problem.op));
      AK_TRY(data, DataSet::allocate(*device_, *family, problem, {}));
      for (const std::string& tensor : data.inputs()) {
        const View& view = data.view(tensor);
        const auto offset = each.at("inputs").at(tensor).get<std::uint64_t>();
        const std::uint64_t bytes = view.elements * size_bytes(view.dtype);
        if (offset > values.size() || bytes > values.size() - offset)
          return usage_error("{}/request.bin ends before {} of {}", out_, tensor, problem.label());
        AK_TRY_VOID(device_->write(view.at, std::as_bytes(std::span(values).subspan(offset, bytes))));
      }
      AK_TRY_VOID(run(*family, problem, data, {}, each.at("draw").get<std::string>()));
    }
    return finish();
  }

 private:
  Status draw_case(const op::Family& family, const Problem& problem, const op::Draw& draw) {
    AK_TRY(data, DataSet::allocate(*device_, family, problem, {}));
    const CheckSet checks = CheckSet::all();
    const SystemClock clock;
    Context context{
        *device_, *compiler_, *trusted_, family, checks, clock, Limits::for_device(device_->info()), Rng(1)};
    AK_TRY(steps, input_steps(context, problem, data, draw, nullptr, 0x5eed + cases_.size()));
    return run(family, problem, data, std::move(steps), draw.name);
  }

  Status run(const op::Family& family, const Problem& problem, const DataSet& data,
             std::vector<device::Step> steps, const std::string& draw) {
    AK_TRY(truth, Truth::allocate(*device_, family, problem));
    AK_TRY(reference, references_->steps(family, problem, data, truth));
    steps.insert(steps.end(), reference.begin(), reference.end());
    AK_TRY(outcome, device_->run(steps, std::chrono::minutes(2)));
    if (outcome.fault)
      return internal_error("{} {}: {}", family.name, problem.label(), outcome.fault->message);
    Json tensors = Json::array();
    for (const op::TensorSpec* tensor : family.inputs(problem)) {
      const View& view = data.view(tensor->name);
      AK_TRY_VOID(write(tensors, family, problem, *tensor, tensor->name, view.dtype, view.at, "in"));
    }
    for (const op::TensorSpec* tensor : family.outputs(problem)) {
      const Truth::Output& output = truth.outputs().at(tensor->name);
      AK_TRY_VOID(write(tensors, family, problem, *tensor, tensor->name + "_r", DType::kF64, output.r, "r"));
      AK_TRY_VOID(write(tensors, family, problem, *tensor, tensor->name + "_S", DType::kF64, output.s, "S"));
      for (std::size_t k = 0; k < output.roundings.size(); ++k) {
        AK_TRY_VOID(write(tensors, family, problem, *tensor, fmt::format("{}_I{}", tensor->name, k),
                          DType::kF64, output.roundings[k], "I"));
      }
    }
    cases_.push_back({{"problem", to_json(problem)},
                      {"label", family.name + " " + problem.label()},
                      {"draw", draw},
                      {"c", family.tolerance.c},
                      {"tensors", std::move(tensors)}});
    return {};
  }

  Status write(Json& list, const op::Family& family, const Problem& problem, const op::TensorSpec& tensor,
               const std::string& name, DType dtype, device::BufferRef at, const char* role) {
    AK_TRY(shape, op::shape_of(family, tensor, problem));
    AK_TRY(elements, op::element_count(family, tensor, problem));
    std::string bytes(elements * size_bytes(dtype), '\0');
    AK_TRY_VOID(device_->read(at, std::as_writable_bytes(std::span(bytes))));
    data_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    list.push_back({{"name", name},
                    {"output", tensor.name},
                    {"role", role},
                    {"dtype", std::string(ak::name(dtype))},
                    {"shape", shape},
                    {"offset", written_}});
    written_ += bytes.size();
    return {};
  }

  Status finish() {
    data_.close();
    if (!data_) return environment_error("cannot write {}/manifest.bin", out_);
    return write_file_atomic(out_ + "/manifest.json", Json(cases_).dump(1));
  }

  std::string out_;
  std::ofstream data_;
  std::uint64_t written_ = 0;
  std::vector<Json> cases_;
  std::unique_ptr<cpu::CpuCompiler> compiler_;
  std::unique_ptr<cpu::CpuDevice> device_;
  op::Registry registry_ = *op::Registry::create({}, {});
  std::unique_ptr<TrustedKernels> trusted_;
  std::unique_ptr<References> references_;
};

Status run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (!(command == "draws" && argc == 4) && !(command == "inputs" && argc == 3))
    return usage_error("usage: reference_dump draws FAMILY OUT | reference_dump inputs OUT");
  AK_TRY(dump, Dump::create(argv[argc - 1]));
  return command == "draws" ? dump->draws(argv[2]) : dump->inputs();
}

}  // namespace
}  // namespace ak::harness

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "__jail") return ak::cpu::jail_main();
  const ak::Status status = ak::harness::run(argc, argv);
  if (!status) std::fprintf(stderr, "reference_dump: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
