namespace a { extern "C" { extern __shared__ double d[]; } void g() { d[1] = 2; x.d = 3; } }
