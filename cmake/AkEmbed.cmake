# ak_embed(<target> NAME <symbol> ROOT <dir> FILES <relative paths>...)
#   Compiles text files into <target>. Adds generated/autokernel/embed/<symbol>.h with
#     std::span<const ak::EmbeddedFile> ak::embed::<symbol>();   // {path relative to ROOT, text}
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(ak_embed target)
  cmake_parse_arguments(ARG "" "NAME;ROOT" "FILES" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/generated/autokernel/embed)
  set(inputs ${ARG_FILES})
  list(TRANSFORM inputs PREPEND ${ARG_ROOT}/)
  add_custom_command(
    OUTPUT ${out}/${ARG_NAME}.cc ${out}/${ARG_NAME}.h
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed.py --name ${ARG_NAME}
            --root ${ARG_ROOT} --out ${out} ${ARG_FILES}
    DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/tools/embed.py
    COMMENT "Embedding ${ARG_NAME}" VERBATIM)
  target_sources(${target} PRIVATE ${out}/${ARG_NAME}.cc ${out}/${ARG_NAME}.h)
endfunction()
