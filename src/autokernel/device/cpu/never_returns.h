#pragma once
// [[noreturn]], except under AddressSanitizer: there each call of such a function unpoisons what it takes for
// the thread's stack. On a fiber's or a signal's stack that is wrong, and a closed jail dies of the warning.

#if defined(__SANITIZE_ADDRESS__)
#define AK_NEVER_RETURNS
#else
#define AK_NEVER_RETURNS [[noreturn]]
#endif
