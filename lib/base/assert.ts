/** Assertions about our own state: `invariant` throws where a bug of ours shows itself. */

/** A condition that must always hold does not: a bug of ours, never a client's mistake. */
export class InvariantError extends Error {
  override name = 'InvariantError'
}

/**
 * Throws InvariantError unless `condition` holds. It runs in production too: wrong books are worse than a failed
 * request.
 */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
