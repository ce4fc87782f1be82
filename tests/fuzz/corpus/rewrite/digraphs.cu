<%: %>:> %: include <: x
__sha\
red__ int\
 y;