# SPDX-License-Identifier: MIT
#
# flame_assets.cmake - write flame.css and flame.js as C strings, declared in flame.h:
# cmake -D OUT=FILE.c -P flame_assets.cmake
function(append_asset name file)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${file} text)
  # The comments at the top are for readers of the source.
  string(REGEX REPLACE "^(/\\*[^*]*\\*/\n)+" "" text "${text}")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
  file(APPEND ${OUT} "\nconst char ${name}[] =\n\t\"${text}\";\n")
endfunction()

file(WRITE ${OUT} "/* Made by flame_assets.cmake. */\n"
                  "#include \"bpf/flame/flame.h\"\n")
append_asset(flame_style flame.css)
append_asset(flame_script flame.js)
