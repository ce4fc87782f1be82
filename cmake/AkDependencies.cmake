# Third-party libraries, all from Debian (tools/setup.sh installs them).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)

add_library(ak_third_party INTERFACE)
if(AUTOKERNEL_PORTABLE)
  target_link_libraries(ak_third_party INTERFACE fmt::fmt-header-only)
else()
  target_link_libraries(ak_third_party INTERFACE fmt::fmt)
endif()
target_link_libraries(ak_third_party INTERFACE nlohmann_json::nlohmann_json tl::expected
                                               Threads::Threads ${CMAKE_DL_LIBS})

# ak_find_library(<target> <name> <header>): an imported library that has no CMake package;
# the portable build takes the static archive.
function(ak_find_library target name header)
  if(AUTOKERNEL_PORTABLE)
    find_library(AK_LIB_${name} NAMES lib${name}.a REQUIRED)
  else()
    find_library(AK_LIB_${name} NAMES ${name} REQUIRED)
  endif()
  find_path(AK_INC_${name} NAMES ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(${target} INTERFACE ${AK_LIB_${name}})
  target_include_directories(${target} INTERFACE ${AK_INC_${name}})
endfunction()

ak_find_library(ak_xxhash xxhash xxhash.h)
ak_find_library(ak_seccomp seccomp seccomp.h)
ak_find_library(ak_boost_context boost_context boost/context/detail/fcontext.hpp)
ak_find_library(ak_sqlite3 sqlite3 sqlite3.h)
ak_find_library(ak_sqlitecpp SQLiteCpp SQLiteCpp/SQLiteCpp.h)
target_link_libraries(ak_sqlitecpp INTERFACE ak_sqlite3)

if(AUTOKERNEL_TESTS)
  find_package(GTest REQUIRED)
endif()
