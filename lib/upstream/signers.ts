/**
 * Keeps the signers of all credentials that are no plain keys, and makes each when a channel first has it. A new form of credential is a
 * name in `lib/protocols/words/kinds.ts`, where kinds of providers name theirs, a type in `lib/catalog-file/upstreams.ts`, a schema in
 * `lib/catalog-file/channel-schema.ts`, and a `Signer` (`signer.ts`) in MAKERS.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { providerOf, type UpstreamCredential } from '../catalog-file/upstreams.ts'
import type { CompiledChannel, CompiledKey, UpstreamConnection } from '../world/compiled-channel.ts'
import { CredentialError } from './attempt.ts'
import { awsSigner } from './aws/aws-signer.ts'
import { entraSigner } from './entra.ts'
import { googleSigner } from './google-signer.ts'
import type { Pools } from './pools.ts'
import type { Signer } from './signer.ts'
import type { SignerDeps } from './signer-deps.ts'

type Make<C> = (credential: C, deps: SignerDeps) => Signer

const MAKERS: { readonly [F in UpstreamCredential['form']]: Make<Extract<UpstreamCredential, { form: F }>> } = {
  service_account: googleSigner,
  aws: awsSigner,
  entra: entraSigner,
}

/** A request that is never sent: only whether it could be signed matters. */
const NO_REQUEST: Dispatcher.DispatchOptions = { origin: 'https://localhost', method: 'POST', path: '/', headers: [] }

export class Signers {
  readonly #clock: Clock
  readonly #pools: Pools
  readonly #onFailure: (origin: string, error: CredentialError) => void
  /** By way and credential. */
  #signers = new Map<string, Signer>()
  readonly #ofKeys = new WeakMap<CompiledKey, Signer>()

  /** `onFailure`: see `SignerDeps`; `origin` of the upstream. */
  constructor(clock: Clock, pools: Pools, onFailure: (origin: string, error: CredentialError) => void) {
    this.#clock = clock
    this.#pools = pools
    this.#onFailure = onFailure
  }

  /** Takes over the channels of a new world. Signers that none of them has are dropped; those of older worlds go on with their keys. */
  keep(channels: Iterable<CompiledChannel>): void {
    const kept = new Map<string, Signer>()
    for (const channel of channels) {
      for (const key of channel.keys) {
        if (key.credential === null || !channel.enabled) continue
        const service = providerOf(channel.kind)?.service ?? ''
        const id = JSON.stringify([channel.connection.id, service, key.secret])
        const signer = this.#signers.get(id) ?? this.#make(key.credential, channel.connection, service)
        kept.set(id, signer)
        this.#ofKeys.set(key, signer)
        key.minted = signer.minted
      }
    }
    this.#signers = kept
  }

  #make(credential: UpstreamCredential, connection: UpstreamConnection, service: string): Signer {
    const make = MAKERS[credential.form] as Make<UpstreamCredential>
    return make(credential, {
      service,
      clock: this.#clock,
      pools: this.#pools,
      connection,
      onFailure: error => this.#onFailure(connection.origin, error),
    })
  }

  of(key: CompiledKey): Signer {
    const signer = this.#ofKeys.get(key)
    if (signer === undefined) throw new CredentialError('unreadable', 'the credential of a channel that is not used')
    return signer
  }

  /** True: nothing can be signed with the key, whatever is asked. */
  async cannotSign(key: CompiledKey): Promise<boolean> {
    try {
      await this.of(key).sign(NO_REQUEST)
      return false
    } catch {
      return true
    }
  }
}
