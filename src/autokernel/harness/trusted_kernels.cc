#include "autokernel/harness/trusted_kernels.h"

#include <algorithm>
#include <array>

#include "autokernel/embed/harness_kernels.h"

namespace ak::harness {
namespace {

constexpr std::uint32_t kThreads = 256;

std::vector<std::string> entries_of(std::string_view file) {
  if (file == "generate.cu") {
    return {"ak_generate", "ak_generate_int64", "ak_generate_int32", "ak_spike", "ak_scale", "ak_zero_rows"};
  }
  if (file == "check.cu") return {"ak_poison", "ak_compare", "ak_fold_rows"};
  return {"ak_digest", "ak_copy", "ak_read", "ak_multiply_add"};
}

std::string_view text_of(std::string_view file) {
  for (const EmbeddedFile& each : embed::harness_kernels()) {
    if (each.path == file) return each.text;
  }
  return {};
}

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

double param(const op::Distribution& distribution, const std::string& name, double fallback) {
  auto it = distribution.params.find(name);
  return it == distribution.params.end() ? fallback : it->second;
}

/// The number that ak_generate knows a distribution by, and its two parameters.
struct GeneratorCall {
  int kind;
  double p0, p1;
};

std::optional<GeneratorCall> generator_call(const op::Distribution& d) {
  if (d.kind == "normal") return GeneratorCall{0, param(d, "mean", 0), param(d, "stddev", 1)};
  if (d.kind == "offset") return GeneratorCall{0, param(d, "mean", 100), param(d, "stddev", 1)};
  if (d.kind == "uniform") return GeneratorCall{1, param(d, "low", 0), param(d, "high", 1)};
  if (d.kind == "heavy_tail") return GeneratorCall{2, param(d, "tail", 1), param(d, "stddev", 1)};
  if (d.kind == "row_scales") return GeneratorCall{3, param(d, "low", -8), param(d, "high", 8)};
  if (d.kind == "sparse") return GeneratorCall{4, param(d, "density", 0.1), param(d, "stddev", 1)};
  if (d.kind == "spikes") return GeneratorCall{5, 0, param(d, "height", 8)};
  if (d.kind == "zeros") return GeneratorCall{6, 0, 0};
  if (d.kind == "constant") return GeneratorCall{6, param(d, "value", 1), 0};
  return std::nullopt;
}

Result<std::int64_t> integer_param(const op::Distribution& d, const std::string& name, const Problem& problem,
                                   std::int64_t fallback) {
  if (auto it = d.exprs.find(name); it != d.exprs.end()) {
    return it->second.evaluate([&](std::string_view dim) -> std::optional<std::int64_t> {
      std::string key(dim);
      if (auto found = problem.dims.find(key); found != problem.dims.end()) return found->second;
      if (auto found = problem.flags.find(key); found != problem.flags.end()) return found->second;
      if (auto found = problem.scalars.find(key); found != problem.scalars.end()) {
        return static_cast<std::int64_t>(found->second);
      }
      return std::nullopt;
    });
  }
  auto it = d.params.find(name);
  return it == d.params.end() ? fallback : static_cast<std::int64_t>(it->second);
}

device::Arg optional_ref(const std::optional<device::BufferRef>& ref) {
  return ref ? device::Arg(*ref) : device::Arg(device::NullPointer{});
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 3.3895313892515355e38;
    default:
      return 3.4028234663852886e38;
  }
}

/// f of DESIGN section 6: half a subnormal step for f16, the smallest normal number elsewhere.
double tiny(DType dtype) { return dtype == DType::kF16 ? 0x1p-25 : 0x1p-126; }

}  // namespace

Result<TrustedModule> load_trusted(device::Device& device, device::Compiler& compiler, const Source& source,
                                   device::Trust trust) {
  AK_TRY(outcome, compiler.compile(source));
  if (!outcome.binary) {
    return internal_error("the trusted kernel {} does not compile for {}: {}", source.name, source.arch,
                          outcome.failure ? outcome.failure->message : "no reason given");
  }
  AK_TRY(id, device.load(*outcome.binary, trust));
  return TrustedModule{id, std::move(*outcome.binary)};
}

Result<const TrustedKernels::Module*> TrustedKernels::module(std::string_view file, DType dtype) {
  std::string key = fmt::format("{} {}", file, name(dtype));
  if (auto it = modules_.find(key); it != modules_.end()) return &it->second;
  Source source;
  source.name = std::string(file);
  source.text = std::string(text_of(file));
  source.dtype = dtype;
  source.arch = device_.info().arch;
  source.entries = entries_of(file);
  source.tunables["BLOCK"] = static_cast<std::int64_t>(device_.info().natural_block);
  AK_TRY(loaded, load_trusted(device_, compiler_, source));
  Module module{loaded.id, {}};
  for (std::uint32_t i = 0; i < loaded.binary.entries.size(); ++i) {
    module.entries[loaded.binary.entries[i].name] = i;
  }
  return &modules_.emplace(std::move(key), std::move(module)).first->second;
}

Result<device::Launch> TrustedKernels::elementwise(std::string_view file, DType dtype, std::string_view entry,
                                                   std::uint64_t threads, std::vector<device::Arg> args) {
  AK_TRY(loaded, module(file, dtype));
  auto it = loaded->entries.find(entry);
  if (it == loaded->entries.end()) return internal_error("no trusted kernel {} in {}", entry, file);
  std::uint64_t blocks = std::max<std::uint64_t>(1, (threads + kThreads - 1) / kThreads);
  if (blocks > device_.info().max_grid[0]) return internal_error("{} blocks for {}", blocks, entry);
  device::Launch launch;
  launch.module = loaded->id;
  launch.entry = it->second;
  launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.args = std::move(args);
  return launch;
}

Result<device::Launch> TrustedKernels::generate(const View& out, const op::Distribution& distribution,
                                                const Problem& problem, std::uint64_t seed,
                                                std::uint64_t row_shift) {
  auto elements = as_signed(out.elements);
  if (out.dtype == DType::kI64 || out.dtype == DType::kI32) {
    AK_TRY(low, integer_param(distribution, "low", problem, 0));
    AK_TRY(high, integer_param(distribution, "high", problem, 2));
    AK_TRY(special, integer_param(distribution, "special", problem, low));
    if (high <= low) return usage_error("integers: low {} is not below high {}", low, high);
    double share = param(distribution, "special_share", 0);
    return elementwise("generate.cu", DType::kF32,
                       out.dtype == DType::kI64 ? "ak_generate_int64" : "ak_generate_int32", out.elements,
                       {out.at, elements, as_signed(seed), low, high, special, share});
  }
  std::optional<GeneratorCall> call = generator_call(distribution);
  if (!call)
    return usage_error("the harness has no distribution `{}` for {} tensors", distribution.kind,
                       name(out.dtype));
  return elementwise("generate.cu", out.dtype, "ak_generate", out.elements,
                     {out.at, elements, as_signed(out.row_elements), as_signed(row_shift), as_signed(seed),
                      std::int32_t{call->kind}, call->p0, call->p1});
}

Result<device::Launch> TrustedKernels::poison(const View& out, std::uint64_t seed, Poison kind) {
  return elementwise(
      "check.cu", out.dtype, "ak_poison", out.elements,
      {out.at, as_signed(out.elements), as_signed(seed), std::int32_t{kind == Poison::kFinite}});
}

Result<device::Launch> TrustedKernels::probe(const View& tensor, const op::Probe& probe, std::uint64_t seed) {
  auto value = [&](const char* key, double fallback) {
    auto it = probe.params.find(key);
    return it == probe.params.end() ? fallback : it->second;
  };
  auto elements = as_signed(tensor.elements);
  if (probe.kind == "spike") {
    auto count = static_cast<std::int32_t>(value("count", 4));
    return elementwise("generate.cu", tensor.dtype, "ak_spike", static_cast<std::uint64_t>(count),
                       {tensor.at, elements, as_signed(seed), count, value("height", 8)});
  }
  if (probe.kind == "scale") {
    return elementwise("generate.cu", tensor.dtype, "ak_scale", tensor.elements,
                       {tensor.at, elements, value("factor", 4)});
  }
  if (probe.kind == "zero_rows") {
    return elementwise(
        "generate.cu", tensor.dtype, "ak_zero_rows", tensor.elements,
        {tensor.at, elements, as_signed(tensor.row_elements), as_signed(seed), value("share", 0.25)});
  }
  return usage_error("the harness has no probe `{}` (spike, scale, zero_rows, permute_rows)", probe.kind);
}

Result<device::Launch> TrustedKernels::compare(const CompareArgs& args) {
  AK_TRY(loaded, module("check.cu", args.y.dtype));
  device::Launch launch;
  launch.module = loaded->id;
  launch.entry = loaded->entries.at("ak_compare");
  const ComparedRows compared(args.y);
  launch.grid = {static_cast<std::uint32_t>(compared.rows * compared.parts), 1, 1};
  launch.block = {device_.info().natural_block, 1, 1};
  DType dtype = args.y.dtype;
  launch.args = {args.y.at,
                 args.r,
                 optional_ref(args.s),
                 optional_ref(args.i0),
                 optional_ref(args.i1),
                 optional_ref(args.b),
                 as_signed(args.y.row_elements),
                 as_signed(compared.parts),
                 as_signed(ComparedRows::kPartElements),
                 unit_roundoff(dtype),
                 tiny(dtype),
                 args.c,
                 unit_roundoff(args.input_dtype),
                 largest_finite(dtype),
                 as_signed(args.poison_seed),
                 args.rows};
  return launch;
}

Result<device::Launch> TrustedKernels::fold_rows(const View& y, device::BufferRef rows,
                                                 device::BufferRef out) {
  AK_TRY(loaded, module("check.cu", y.dtype));
  const ComparedRows compared(y);
  device::Launch launch;
  launch.module = loaded->id;
  launch.entry = loaded->entries.at("ak_fold_rows");
  launch.block = {device_.info().natural_block, 1, 1};
  launch.args = {rows, as_signed(compared.rows), as_signed(compared.parts), out};
  return launch;
}

Result<device::Launch> TrustedKernels::digest(device::BufferRef from, std::uint64_t bytes,
                                              device::BufferRef partials) {
  return elementwise("memory.cu", DType::kF32, "ak_digest", (bytes + kDigestBytes - 1) / kDigestBytes,
                     {from, as_signed(bytes), partials});
}

Result<device::Launch> TrustedKernels::copy(device::BufferRef from, device::BufferRef to,
                                            std::uint64_t bytes) {
  return elementwise("memory.cu", DType::kF32, "ak_copy", bytes / 16, {from, to, as_signed(bytes / 16)});
}

Result<device::Launch> TrustedKernels::read(device::BufferRef from, std::uint64_t bytes,
                                            device::BufferRef sink) {
  return elementwise("memory.cu", DType::kF32, "ak_read", bytes / 16, {from, as_signed(bytes / 16), sink});
}

Result<device::Launch> TrustedKernels::multiply_add(device::BufferRef out, std::uint32_t blocks,
                                                    std::int32_t steps) {
  return elementwise("memory.cu", DType::kF32, "ak_multiply_add", std::uint64_t{blocks} * kThreads,
                     {out, steps, 0.999F});
}

}  // namespace ak::harness
