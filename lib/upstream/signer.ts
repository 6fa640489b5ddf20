/**
 * What signs requests to upstreams whose channels have no plain key. A signer belongs to one credential and outlives the worlds that
 * name it. It adds headers to a request that is otherwise complete, at once where it can: mostly a token is at hand.
 */
import type { Dispatcher } from 'undici'

export interface Signer {
  /** The tokens that requests under way may have: the same list always, whose contents change. Nobody may see them. */
  readonly minted: readonly string[]
  /**
   * The headers to add to a request, as `[name, value, …]`. Throws, or rejects with, CredentialError when there are none to be had. A
   * promise is returned only where something must be waited for.
   */
  sign(request: Dispatcher.DispatchOptions): readonly string[] | Promise<readonly string[]>
  /** The upstream answered 401 to a request that was signed with these headers. True = another try may be signed with something newer. */
  refused(headers: readonly string[]): boolean
}
