/**
 * What a stage says. Numbers, because the usual exchange goes through a dozen stages and allocates nothing for them;
 * a promise only where something must be waited for (a cache miss, a lease to fetch).
 */
export const NEXT = 0
/** The exchange has its answer, or something else will give it one. */
export const DONE = 1
export type Verdict = typeof NEXT | typeof DONE
export type Answer = Verdict | Promise<Verdict>

/** The status of an exchange whose client left before one could be sent: the number web servers log for it. */
export const CLIENT_CLOSED = 499
