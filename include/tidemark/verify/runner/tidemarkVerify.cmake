# SPDX-License-Identifier: BSL-1.0
#
# tidemark_add_model_check(NAME SOURCES source... [INSTRUMENTED] [PLATFORMS form...] [THREADS number...]
#                          [HEADERS part...] [REVIEWED file] [CHECKS file] [TWINS file]
#                          [MUTANTS folder INCLUDES folder] [LABELS label...])
#
# Adds a program of model checks, which are written with <tidemark/verify/check.hpp>, and a test of ctest for each check
# and each twin in it: `NAME CHECK`. And two targets that are built only if they are asked for:
#
#   NAME_check  builds the program and plays all its checks
#   NAME_audit  weakens each of its memory orders in turn, and fails if no check notices and the REVIEWED file does not
#               say why. One that was interrupted goes on. NAME_audit.json gets the result, too,
#               and NAME_audit.html as a page for a browser.
#
#   NAME       the target. With PLATFORMS there is one for each form, NAME_<form>.
#   SOURCES    the files with the checks, without a main(). Not a library, from which the linker would take no check.
#   INSTRUMENTED  the sources use what can't be changed: std::atomic, plain fields, std::mutex. They are compiled with
#              -fsanitize=thread, whose calls go to the checker. Linux, g++ or clang++, and the binutils.
#   PLATFORMS  symmetric, asymmetric, pinned, portable, unfenced: for checks of code that is a template over a platform.
#              Each program has TIDEMARK_MODEL_PLATFORM defined as its platform.
#   THREADS    the numbers of threads that the checks have, 1 to 4: for each a part of the runner is compiled. Without
#              it all are.
#   HEADERS    what the audit looks at: files whose path contains one of these, such as include/myproject. Without it,
#              all that the checks execute.
#   REVIEWED   the file for `--reviewed` of the audit. With PLATFORMS, `<form>` in its name stands for the form, because
#              an entry that is not needed is an error.
#   CHECKS     a table with the searches of the checks, one in each line: `CHECK: bound 3` or `CHECK: random 1000000`.
#              The tests are these instead of one of five seconds for each check. A check without a line is an error.
#   TWINS      a table of weakenings that must be noticed: each key, which `--audit --json -` prints, and below it,
#              indented, the check and the search that notice, written likewise. Each is a test, `NAME twin KEY`.
#   MUTANTS    a folder with files *.mutant, each of which says how one header is changed, and which check must notice.
#              Each is a program of its own, built with the changed header, and a test, `NAME mutant FILE`. With
#              PLATFORMS it has the first of these.
#   INCLUDES   the folder from which the sources include the header that is changed, such as include. It must not hold
#              the sources of the checks, nor the build.
#   LABELS     of the tests
#
# TIDEMARK_RUNNER_OPTIMIZED: a variable for projects whose searches take minutes. If it is true, what is executed in
# each step of a search is compiled with -O2: that takes a quarter longer, and searches a fifth less.
#
# The checker is Relacy, a folder of headers (Debian: relacy-dev). Where it is not found, TIDEMARK_RELACY_INCLUDE_DIR is
# the folder that holds relacy/relacy.hpp. It is looked for at the first call, and nothing is downloaded.
include_guard(GLOBAL)

set_property(GLOBAL PROPERTY tidemark_runner "${CMAKE_CURRENT_LIST_DIR}")

# tidemark_optimization(OUT): the option for what each step of a search executes. With -O1 a search takes a quarter of
# the time that it would take without optimization.
function(tidemark_optimization out)
  if(TIDEMARK_RUNNER_OPTIMIZED)
    set(${out} -O2 PARENT_SCOPE)
  else()
    set(${out} -O1 PARENT_SCOPE)
  endif()
endfunction()

# Defines a library of the runner, once in a build: for the project that comes first.
function(tidemark_add_runner target)
  if(TARGET ${target})
    return()
  endif()
  get_property(folder GLOBAL PROPERTY tidemark_runner)
  list(TRANSFORM ARGN PREPEND "${folder}/")
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_compile_features(${target} PRIVATE cxx_std_20)
  if(TARGET tidemark_relacy)
    target_link_libraries(${target} PRIVATE tidemark_relacy)
  else()
    target_include_directories(${target} SYSTEM PRIVATE "${TIDEMARK_RELACY_INCLUDE_DIR}")
  endif()
  tidemark_optimization(optimization)
  target_compile_options(${target} PRIVATE ${optimization} -g0 -w)
  set_target_properties(
    ${target}
    PROPERTIES CXX_CLANG_TIDY ""
               CXX_CPPCHECK ""
               CXX_INCLUDE_WHAT_YOU_USE ""
               COMPILE_WARNING_AS_ERROR OFF
               INTERPROCEDURAL_OPTIMIZATION OFF
               UNITY_BUILD OFF)
endfunction()

# tidemark_instrument(TARGET): its sources are code that can't be changed.
function(tidemark_instrument target)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    message(FATAL_ERROR "${target}: INSTRUMENTED needs Linux, and g++ or clang++")
  endif()
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    message(FATAL_ERROR "${target}: INSTRUMENTED can't be used together with a sanitizer for the whole build")
  endif()
  if(NOT CMAKE_OBJDUMP)
    message(FATAL_ERROR "${target}: INSTRUMENTED needs objdump, of the binutils")
  endif()
  get_property(folder GLOBAL PROPERTY tidemark_runner)
  # Optimized, so that operations of the standard library are inlined and have the lines of those who call them.
  set(options -fsanitize=thread -O2 -g1 -include "${folder}/instrumented/memory_calls.hpp")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Functions that are equal keep lines of their own.
    list(APPEND options -Wno-tsan --param tsan-distinguish-volatile=1 -mstringop-strategy=libcall
         -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -fno-ipa-icf)
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
      list(REMOVE_ITEM options -mstringop-strategy=libcall)
    endif()
  else()
    # In its newer debug information addr2line finds only the innermost of several inlined calls.
    list(APPEND options "SHELL:-mllvm -tsan-distinguish-volatile=1" -gdwarf-4)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  tidemark_add_runner(tidemark_verify_instrumented instrumented/instrumented.cpp instrumented/shadow.cpp
                      instrumented/system.cpp)
  target_link_libraries(${target} PRIVATE tidemark_verify_instrumented ${CMAKE_DL_LIBS})
  add_custom_command(
    TARGET ${target} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -D "OBJDUMP=${CMAKE_OBJDUMP}" -D "OBJECTS=$<TARGET_OBJECTS:${target}>" -P
            "${folder}/instrumented/find_locks.cmake"
    VERBATIM)
endfunction()

function(tidemark_find_relacy)
  find_path(TIDEMARK_RELACY_INCLUDE_DIR relacy/relacy.hpp DOC "The folder that holds relacy/relacy.hpp")
  if(NOT TIDEMARK_RELACY_INCLUDE_DIR)
    message(
      FATAL_ERROR
        "tidemark_add_model_check() needs Relacy, a folder of headers: install it (Debian: apt install relacy-dev), or "
        "set TIDEMARK_RELACY_INCLUDE_DIR to the folder that holds relacy/relacy.hpp (from "
        "https://github.com/dvyukov/relacy)")
  endif()
endfunction()

# tidemark_link_runner(TARGET THREADS...): links a program of checks with the runner, for these numbers of threads.
function(tidemark_link_runner target)
  if(NOT TARGET tidemark_relacy)
    tidemark_find_relacy()
  endif()
  tidemark_add_runner(
    tidemark_verify_runner
    main.cpp
    runner.cpp
    addresses.cpp
    audit.cpp
    audit_json.cpp
    audit_text.cpp
    command.cpp
    engine.cpp
    found_so_far.cpp
    helpers.cpp
    json_text.cpp
    page.cpp
    progress.cpp
    report.cpp
    reviewed.cpp
    rows.cpp
    searching.cpp
    sites.cpp
    sources.cpp
    tables.cpp
    watchdog.cpp
    written.cpp)
  # The time to compile this is that of the standard library's headers, so all are read once; only the engine is hot.
  # TIDEMARK_RUNNER_BY_FILE is for tools that look for each file in compile_commands.json.
  get_property(folder GLOBAL PROPERTY tidemark_runner)
  get_target_property(is_in_one tidemark_verify_runner UNITY_BUILD)
  if(NOT is_in_one AND NOT TIDEMARK_RUNNER_BY_FILE)
    tidemark_optimization(optimization)
    set_source_files_properties("${folder}/engine.cpp" PROPERTIES COMPILE_OPTIONS ${optimization})
    # A program may have a main() of its own.
    set_source_files_properties("${folder}/main.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_compile_options(tidemark_verify_runner PRIVATE -O0)
    set_target_properties(tidemark_verify_runner PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  set(libraries "")
  foreach(number IN LISTS ARGN)
    if(NOT number MATCHES "^[1-4]$")
      message(FATAL_ERROR "${target}: a check has 1 to 4 threads, not '${number}'")
    endif()
    tidemark_add_runner(tidemark_verify_stage_${number} stage_${number}.cpp)
    list(APPEND libraries tidemark_verify_stage_${number})
  endforeach()
  # The runner twice: its main() needs the checks, which need the stages, and those the rest of it.
  target_link_libraries(${target} PRIVATE tidemark_verify_runner ${libraries} tidemark_verify_runner)
endfunction()

# tidemark_change_header(OUT MUTANT INCLUDES FOLDER): how FOLDER becomes a copy of the folder INCLUDES in which one file
# is changed as the .mutant file says, and the others are links. Sets OUT to the changed file.
function(tidemark_change_header out mutant includes folder)
  get_property(runner GLOBAL PROPERTY tidemark_runner)
  file(READ "${mutant}" text)
  if(NOT text MATCHES "\nfile: ([^\n]+)\n")
    message(FATAL_ERROR "${mutant}: it has no line `file: ` with the header's path in ${includes}")
  endif()
  set(changed "${CMAKE_MATCH_1}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${mutant}")
  if(NOT EXISTS "${includes}/${changed}")
    message(FATAL_ERROR "${mutant}: there is no ${changed} in ${includes}")
  endif()
  # It changes when a file comes or goes; then the links are made again.
  string(MD5 name "${includes}")
  set(list "${CMAKE_BINARY_DIR}/CMakeFiles/tidemark_includes_${name}.txt")
  get_property(is_listed GLOBAL PROPERTY tidemark_includes_${name})
  if(NOT is_listed)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${includes}" "${includes}/*")
    list(JOIN files "\n" files)
    file(CONFIGURE OUTPUT "${list}" CONTENT "@files@\n" @ONLY)
    set_property(GLOBAL PROPERTY tidemark_includes_${name} true)
  endif()
  add_custom_command(
    OUTPUT "${folder}/${changed}"
    COMMAND "${CMAKE_COMMAND}" -D "MUTANT=${mutant}" -D "INCLUDE=${includes}" -D "OUTPUT=${folder}" -P
            "${runner}/apply_mutant.cmake"
    DEPENDS "${mutant}" "${runner}/apply_mutant.cmake" "${runner}/mutant.cmake" "${list}" "${includes}/${changed}"
    VERBATIM)
  set(${out} "${folder}/${changed}" PARENT_SCOPE)
endfunction()

# tidemark_find_mutants(OUT NAME FOLDER INCLUDES): the files in the folder, where there must be some.
function(tidemark_find_mutants out name folder includes)
  set(mutants "")
  if(folder)
    get_filename_component(folder "${folder}" ABSOLUTE)
    file(GLOB mutants CONFIGURE_DEPENDS "${folder}/*.mutant")
    if(NOT mutants)
      message(FATAL_ERROR "tidemark_add_model_check(${name}): there is no *.mutant in ${folder}")
    endif()
    if(NOT includes)
      message(FATAL_ERROR "tidemark_add_model_check(${name}): MUTANTS needs INCLUDES, the folder of the headers")
    endif()
    get_filename_component(includes "${includes}" ABSOLUTE)
    cmake_path(IS_PREFIX includes "${CMAKE_BINARY_DIR}" holds_build)
    if(holds_build)
      message(FATAL_ERROR "tidemark_add_model_check(${name}): INCLUDES must not hold the folder of the build")
    endif()
  endif()
  set(${out} "${mutants}" PARENT_SCOPE)
endfunction()

# tidemark_add_mutant(TARGET MUTANT INCLUDES LABELS INSTRUMENTED THREADS...): TARGET with one header changed. What
# TARGET is told later, such as folders of headers and libraries, holds for the mutant, too.
function(tidemark_add_mutant target mutant includes labels instrumented)
  cmake_path(GET mutant STEM stem)
  file(READ "${mutant}" text)
  if(NOT text MATCHES "\ncheck: ([^\n]+): (bound|random) ([0-9]+)\n")
    message(FATAL_ERROR "${mutant}: it has no line `check: CHECK: bound N` or `check: CHECK: random N`")
  endif()
  set(check "${CMAKE_MATCH_1}")
  set(search --executions ${CMAKE_MATCH_3} --jobs 1)
  if(CMAKE_MATCH_2 STREQUAL "bound")
    set(search --bound ${CMAKE_MATCH_3})
  endif()
  string(MAKE_C_IDENTIFIER "${stem}" name)
  set(program ${target}_mutant_${name})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${program}.include")
  get_filename_component(includes "${includes}" ABSOLUTE)
  tidemark_change_header(changed "${mutant}" "${includes}" "${folder}")
  add_executable(${program} $<TARGET_PROPERTY:${target},SOURCES> "${changed}")
  target_include_directories(${program} BEFORE PRIVATE "${folder}")
  target_include_directories(${program} PRIVATE "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  target_compile_definitions(${program} PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  target_compile_options(${program} PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>")
  target_link_libraries(${program} PRIVATE "$<TARGET_PROPERTY:${target},LINK_LIBRARIES>")
  if(instrumented)
    tidemark_instrument(${program})
  endif()
  tidemark_link_runner(${program} ${ARGN})
  add_test(NAME "${target} mutant ${stem}" COMMAND ${program} ${check} ${search} --expect-failure
           WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties("${target} mutant ${stem}" PROPERTIES LABELS "${labels}")
endfunction()

# The tests of a program are those that it lists once it is built.
function(tidemark_discover_checks target labels checks twins)
  get_property(folder GLOBAL PROPERTY tidemark_runner)
  set(tables "")
  foreach(table checks twins)
    if(${table})
      get_filename_component(file "${${table}}" ABSOLUTE)
      if(NOT EXISTS "${file}")
        message(FATAL_ERROR "${target}: there is no table ${file}")
      endif()
      list(APPEND tables --${table} "${file}")
      set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${file}")
    endif()
  endforeach()
  set(tests "${CMAKE_CURRENT_BINARY_DIR}/${target}.ctest.cmake")
  add_custom_command(
    TARGET ${target} POST_BUILD
    BYPRODUCTS "${tests}"
    COMMAND "${CMAKE_COMMAND}" -D "PROGRAM=$<TARGET_FILE:${target}>" -D "NAME=${target}" -D "LABELS=${labels}" -D
            "FOLDER=${CMAKE_BINARY_DIR}" -D "OUTPUT=${tests}" -P "${folder}/discover.cmake" ${tables}
    VERBATIM)
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${target}.include.cmake")
  file(
    WRITE "${include}"
    "if(EXISTS [==[${tests}]==])\n  include([==[${tests}]==])\nelse()\n"
    "  add_test([==[${target}: not built]==] [==[${target}: not built]==])\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

# tidemark_add_audit(TARGET REVIEWED FORM HEADERS...): the targets TARGET_check and TARGET_audit, which run where paths
# of the sources are those that the compiler got.
function(tidemark_add_audit target reviewed form)
  set(options --audit --resume "${CMAKE_CURRENT_BINARY_DIR}/${target}_audit.txt" --json
              "${CMAKE_CURRENT_BINARY_DIR}/${target}_audit.json" --page
              "${CMAKE_CURRENT_BINARY_DIR}/${target}_audit.html")
  foreach(part IN LISTS ARGN)
    list(APPEND options --only "${part}")
  endforeach()
  if(reviewed)
    string(REPLACE "<form>" "${form}" reviewed "${reviewed}")
    get_filename_component(reviewed "${reviewed}" ABSOLUTE)
    if(NOT EXISTS "${reviewed}")
      message(FATAL_ERROR "${target}: there is no file ${reviewed}, which is to be its REVIEWED list")
    endif()
    list(APPEND options --reviewed "${reviewed}")
  endif()
  add_custom_target(
    ${target}_check
    COMMAND ${target}
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    USES_TERMINAL VERBATIM)
  add_custom_target(
    ${target}_audit
    COMMAND ${target} ${options}
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    USES_TERMINAL VERBATIM)
endfunction()

function(tidemark_add_model_check name)
  cmake_parse_arguments(PARSE_ARGV 1 its "INSTRUMENTED" "REVIEWED;CHECKS;TWINS;MUTANTS;INCLUDES"
                        "SOURCES;PLATFORMS;THREADS;HEADERS;LABELS")
  if(its_UNPARSED_ARGUMENTS OR NOT its_SOURCES)
    message(
      FATAL_ERROR "tidemark_add_model_check(${name}): needs SOURCES, and does not know '${its_UNPARSED_ARGUMENTS}'")
  endif()
  foreach(form IN LISTS its_PLATFORMS)
    if(NOT form MATCHES "^(symmetric|asymmetric|pinned|portable|unfenced)$")
      message(FATAL_ERROR "tidemark_add_model_check(${name}): there is no platform '${form}'")
    endif()
  endforeach()
  if(NOT its_THREADS)
    set(its_THREADS 1 2 3 4)
  endif()
  tidemark_find_mutants(mutants ${name} "${its_MUTANTS}" "${its_INCLUDES}")
  if(its_PLATFORMS)
    add_custom_target(${name}_check)
    add_custom_target(${name}_audit)
  else()
    set(its_PLATFORMS "-")
  endif()
  foreach(form IN LISTS its_PLATFORMS)
    set(target ${name})
    if(NOT form STREQUAL "-")
      set(target ${name}_${form})
    endif()
    add_executable(${target} ${its_SOURCES})
    target_link_libraries(${target} PRIVATE tidemark::tidemark)
    # For sites that no check executes. A Debug build has more than that, and code that is optimized further has other
    # lines.
    target_compile_options(${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:-g1>" "$<$<CONFIG:Release,RelWithDebInfo>:-O1>")
    if(its_INSTRUMENTED)
      tidemark_instrument(${target})
    endif()
    tidemark_link_runner(${target} ${its_THREADS})
    if(NOT form STREQUAL "-")
      string(REPLACE asymmetric_ "" platform "${form}_") # relacy_platform is the asymmetric one
      target_compile_definitions(${target} PRIVATE TIDEMARK_MODEL_PLATFORM=tidemark::relacy_${platform}platform)
    endif()
    tidemark_discover_checks(${target} "${its_LABELS}" "${its_CHECKS}" "${its_TWINS}")
    foreach(mutant IN LISTS mutants)
      tidemark_add_mutant(${target} "${mutant}" "${its_INCLUDES}" "${its_LABELS}" ${its_INSTRUMENTED} ${its_THREADS})
    endforeach()
    set(mutants "") # of the first platform only
    tidemark_add_audit(${target} "${its_REVIEWED}" "${form}" ${its_HEADERS})
    if(NOT form STREQUAL "-")
      add_dependencies(${name}_check ${target}_check)
      add_dependencies(${name}_audit ${target}_audit)
    endif()
  endforeach()
endfunction()
