#include "/etc/passwd"
#  include <a/../../b>
#include
