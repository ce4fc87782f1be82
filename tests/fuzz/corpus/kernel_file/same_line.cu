/* autokernel op = 1
*/