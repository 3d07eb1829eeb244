# SPDX-License-Identifier: BSL-1.0
#
# Lets ESLint look at the modules of the trace page, at the scripts of the pages of model checks, and at the tests of
# both, by the rules of eslint.json; and shows that with these rules it finds mistakes. Says "not tested: " where there
# is no ESLint.
#
#   cmake -D SOURCE_DIR=... -D WORK_DIR=... -P check_eslint.cmake
cmake_minimum_required(VERSION 3.23)

find_program(ESLINT eslint)
if(NOT ESLINT)
  message("not tested: there is no eslint (Debian: eslint)")
  return()
endif()
set(ENV{NODE_PATH} "/usr/share/nodejs:/usr/lib/nodejs:$ENV{NODE_PATH}") # for a node that is not Debian's

set(eslint "${ESLINT}" --no-eslintrc --config "${CMAKE_CURRENT_LIST_DIR}/eslint.json" --format unix)

# lint(arguments...): sets result and said.
function(lint)
  execute_process(
    COMMAND ${eslint} ${ARGN}
    WORKING_DIRECTORY "${SOURCE_DIR}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE said
    ERROR_VARIABLE said)
  set(result "${result}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

# accepts(GLOBALS FILE...): these may use the language and these names.
function(accepts globals)
  lint(--global "${globals}" ${ARGN})
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${said}")
  endif()
endfunction()

# accepts_page(PIECE...): these make the script of a page. Each is a raw string literal of C++.
function(accepts_page)
  set(script "")
  list(GET ARGN -1 page)
  foreach(piece IN LISTS ARGN)
    file(READ "${SOURCE_DIR}/include/tidemark/verify/runner/page/${piece}.js" text)
    if(NOT text MATCHES "^(//[^\n]*\n)+R\"page[(](.*)[)]page\"\n$")
      message(SEND_ERROR "${piece}.js is no raw string literal")
    endif()
    string(APPEND script "${CMAKE_MATCH_2}")
  endforeach()
  file(WRITE "${WORK_DIR}/${page}.mjs" "${script}")
  execute_process(
    COMMAND
      ${eslint} --global "document,window,ResizeObserver,navigator" --rule "max-lines: off" --rule
      "no-unused-vars: [error, {vars: local, argsIgnorePattern: ^_$}]" --stdin --stdin-filename ${page}.mjs
    INPUT_FILE "${WORK_DIR}/${page}.mjs"
    WORKING_DIRECTORY "${SOURCE_DIR}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE said
    ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${said}")
  endif()
endfunction()

# finds(RULE TEXT): the text breaks that rule.
function(finds rule text)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E echo "${text}"
    COMMAND ${eslint} --stdin --stdin-filename a.mjs
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE said
    ERROR_VARIABLE said)
  if(NOT said MATCHES "/${rule}\\]")
    message(SEND_ERROR "expected a complaint of ${rule} about:\n${text}\nand got:\n${said}")
  endif()
endfunction()

lint(--version)
if(NOT result EQUAL 0)
  message("not tested: eslint can't run here: ${said}")
  return()
endif()

# Modules may use the language alone, main.mjs the browser, and tests node.
file(GLOB modules RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/tools/trace_page/*.mjs")
file(GLOB tests RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/tests/trace/page/*.mjs"
     "${SOURCE_DIR}/tests/model/page/*.mjs")
list(REMOVE_ITEM modules tools/trace_page/main.mjs)
accepts("" ${modules})
accepts("document,window,requestAnimationFrame,getComputedStyle,ResizeObserver" tools/trace_page/main.mjs)
accepts("process,Buffer,URL,TextEncoder,setTimeout,clearTimeout" ${tests})
accepts_page(common execution)
accepts_page(common audit_list audit)

finds(no-undef "export const a = document")
finds(no-unused-vars "import {a} from './b.mjs'")
finds(eqeqeq "export const a = (b) => b == 1")
finds(no-var "export var a = 1")
finds(no-console "console.log(1)")
finds(no-debugger "debugger")
finds(no-eval "eval('1')")
finds(no-restricted-properties "export const f = (a) => { a.innerHTML = 'x' }")
finds(no-trailing-spaces "export const a = 1 ")
string(REPEAT "x" 101 name)
finds(max-len "export const ${name} = 1234567")
