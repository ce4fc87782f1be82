# ak_library(NAME <name> [SOURCES ...] [DEPS <library>...] [PRIVATE <target>...])
#   One library of src/autokernel. NAME is the folder with '/' as '_' (device/cpu -> device_cpu),
#   DEPS are libraries of ours (checked against the layer table by tools/check_layers.py),
#   PRIVATE are third-party targets that only its .cc files see.
# ak_test(NAME <name> SOURCES ... [DEPS <library>...] [LABELS ...])
#   One GoogleTest binary under tests/unit/<library>/.
include(GoogleTest)

add_library(ak_options INTERFACE)
target_include_directories(ak_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_compile_options(ak_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       -Woverloaded-virtual -Wno-missing-field-initializers -fno-math-errno)
if(AUTOKERNEL_WERROR)
  target_compile_options(ak_options INTERFACE -Werror)
endif()
if(AUTOKERNEL_SANITIZE)
  target_compile_options(ak_options INTERFACE -fsanitize=${AUTOKERNEL_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(ak_options INTERFACE -fsanitize=${AUTOKERNEL_SANITIZE})
  target_compile_definitions(ak_options INTERFACE AK_SANITIZE="${AUTOKERNEL_SANITIZE}")
endif()

if(AUTOKERNEL_FUZZ)
  target_compile_options(ak_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(AK_CCACHE ccache)
if(AK_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${AK_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${AK_CCACHE})
endif()

function(ak_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;PRIVATE" ${ARGN})
  set(target ak_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(visibility PUBLIC)
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND ak_)
  target_link_libraries(${target} ${visibility} ak_options ak_third_party ${ARG_DEPS})
endfunction()

# ak_label(<target> <label>...): `cmake --build . --target tests_<label>` builds what ctest -L <label> runs.
function(ak_label target)
  foreach(label ${ARGN})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()

function(ak_test)
  if(NOT AUTOKERNEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;DEPS;PRIVATE;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPS PREPEND ak_)
  target_link_libraries(${ARG_NAME} PRIVATE ak_options ${ARG_DEPS} ${ARG_PRIVATE}
                        GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${ARG_NAME} PRIVATE AK_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} --gtest_brief=1)
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  ak_label(${ARG_NAME} ${ARG_LABELS})
endfunction()
