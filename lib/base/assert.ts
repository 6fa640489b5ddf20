/** A broken invariant: a bug of ours, never a client's mistake. */
export class InvariantError extends Error {
  override name = 'InvariantError'
}

/** Stays on in production: books that go on after a broken invariant are worse than a request that fails. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
