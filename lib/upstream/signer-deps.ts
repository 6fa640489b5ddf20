import type { Clock } from '../base/clock.ts'
import type { UpstreamConnection } from '../world/compiled-channel.ts'
import type { CredentialError } from './attempt.ts'
import type { Pools } from './pools.ts'

/** A signer is made with these and its credential. */
export interface SignerDeps {
  clock: Clock
  pools: Pools
  /** The name of the service for which AWS is shown signatures. */
  service: string
  /** The way to the channel, which is also that to its tokens. */
  connection: UpstreamConnection
  /** Called when there is no new token while the old one is still good. */
  onFailure: (error: CredentialError) => void
}
