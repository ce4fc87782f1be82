__constant__ float c[2] = {1};
const __constant__ int d = 1; thread_local int x;