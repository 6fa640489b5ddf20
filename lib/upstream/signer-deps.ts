import type { Clock } from '../base/clock.ts'
import type { UpstreamConnection } from '../world/compiled-channel.ts'
import type { CredentialError } from './attempt.ts'
import type { Pools } from './pools.ts'

/** What a signer is made with beside its credential; apart from `signer.ts`, so that who only uses signers imports no pools. */
export interface SignerDeps {
  clock: Clock
  pools: Pools
  /** The service of AWS that is named in signatures; empty where the provider is another one. */
  service: string
  /** How the channel's upstream is reached. Tokens are fetched in the same way, through the same proxy. */
  connection: UpstreamConnection
  /** Called when there is no new token while the old one is still good. */
  onFailure: (error: CredentialError) => void
}
