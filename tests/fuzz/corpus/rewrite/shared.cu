__shared__ alignas(16) float t[4], u;
void f() { extern __shared__ __align__(8) int raw[][3]; raw[0][1] = t[0]; }
