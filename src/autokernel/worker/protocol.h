#pragma once
// The messages of the worker protocol and their codecs.
//
//   -> {"type":"hello","version":1,"families":[{"name","files":{path:text}}],"role":"measure"}
//   <- {"type":"hello","version":1,"autokernel":"0.1.0","device":{..},"compiler":".."}
//   -> {"type":"text","hash":"..","text":".."}                          (no answer; kept for the connection)
//   -> {"type":"compile","source":{.., "text_hash"}}       <-
//   {"type":"compiled","seconds":,"failure":null|{..}}
//   -> {"type":"judge","job":{.., "text_hash"},"deadline_s":}  <- {"type":"verdict","verdict":{..}}
//   -> {"type":"check_family","name":,"seed":}             <-
//   {"type":"family_checked","findings":[{what,remedy}]}
//   -> {"type":"fresh"}                                    (no answer; the next request meets a new runner)
//   <- {"type":"error","code":"environment","message":".."}             (instead of any answer)

#include <map>
#include <string>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/core/binary.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/verdict.h"
#include "autokernel/harness/job.h"
#include "autokernel/op/op_family.h"

namespace ak::worker {

/// A family that the worker's binary does not embed (--ops DIR): its files travel, not its path.
struct FamilyFiles {
  std::string name;
  std::map<std::string, std::string> files;  ///< path inside the family's folder -> text
};

/// Those of a registry that come from the user's folders.
std::vector<FamilyFiles> travelling_families(const op::Registry& registry);

/// What a worker is for. One that only compiles touches no device: many of them share a machine with one GPU.
enum class Role { kMeasure, kCompile };

struct Hello {
  int version = 0;
  std::string autokernel;  ///< version of the worker's binary
  std::string compiler;
  DeviceInfo device;
};

Json hello_request(const std::vector<FamilyFiles>& families, Role role = Role::kMeasure);
/// kMeasure where the request does not say.
Role role_from_json(const Json& request);
Result<std::vector<FamilyFiles>> families_from_json(const Json& request);
Json to_json(const Hello& hello);
Result<Hello> hello_from_json(const Json& json);

Json error_message(const Error& error);
/// The error that an {"type":"error"} message carries, or a complaint about an unexpected type.
Error error_from_message(const Json& message, std::string_view expected);

/// Replaces every long "text" in a request by its "text_hash" and returns those that `sent` does not hold
/// yet.
std::vector<std::string> take_texts(Json& request, std::map<std::string, std::string>& sent);
/// The reverse, on the worker's side; an unknown hash is an error.
Status put_texts(Json& request, const std::map<std::string, std::string>& texts);

}  // namespace ak::worker
