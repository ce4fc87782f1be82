auto s = R"x(__shared__ )" )x"; // asm
/* <<< */ char c = '\'';
#define A(x) asm volatile("" : x) \
 more
