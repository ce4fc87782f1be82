#if A
void f() {
#else
void g() {
#endif
__shared__ struct { alignas(8) char c; } s;
}
