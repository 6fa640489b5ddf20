/**
 * What a stage returns: whether the next stage runs. Verdicts are numbers, because the usual exchange goes through a dozen stages
 * and should allocate nothing for them. A stage returns a promise only where it waits for something: for a key that is not in
 * memory, or for a lease.
 */
export const NEXT = 0
/** No further stage runs: the exchange has its answer, or something else will give it one. */
export const DONE = 1
export type Verdict = typeof NEXT | typeof DONE
export type Answer = Verdict | Promise<Verdict>

/** The status of an exchange whose client left before a status could be sent. Web servers log this number for it. */
export const CLIENT_CLOSED = 499
