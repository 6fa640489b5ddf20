/**
 * How an upstream of a known kind wants to be asked: each kind of provider with all that its own row and the rows of the
 * protocols say of it. A channel's own settings win over those of its kind. Paths begin at the provider's host.
 */
import {
  type AddressForm,
  type AnswersOf,
  type CredentialForm,
  type KindName,
  type Kind as KindRow,
  KINDS as ROWS,
} from '../protocols/kinds.ts'
import { type AtKind, type ProviderHeaders, SAME_HEADERS } from '../protocols/protocol.ts'
import { PROTOCOLS, type Protocol, protocolRow } from '../protocols/table.ts'

export type { AnswersOf, KindName }

export interface Kind {
  /** The protocols that it speaks. */
  paths: Partial<Record<Protocol, string>>
  /** Headers that carry the key, where they are not the usual ones of the protocol at a provider. */
  auth: Partial<Record<Protocol, string>>
  query: Readonly<Record<string, string>>
  /** Whether its answers tell of searches; absent = they do. */
  searches?: 'unreported'
  /** Protocols of which more is different than the path. */
  special: Partial<Readonly<Record<Protocol, AtKind>>>
  /** What its channels have in the place of a plain key; null = a plain key. */
  credential: CredentialForm | null
  /** Whose answers they are; null = those of the protocols. */
  answers: AnswersOf | null
  /** The addresses that its channels may have; null = any. */
  address: AddressForm | null
}

export const KIND_NAMES = Object.keys(ROWS) as KindName[]

export const KINDS = Object.fromEntries(KIND_NAMES.map(name => [name, kind(name)])) as Record<KindName, Kind>

function kind(name: KindName): Kind {
  const { authHeader, query = {}, answers, credential, address, searches }: KindRow = ROWS[name]
  const paths: Kind['paths'] = {}
  const auth: Kind['auth'] = {}
  const special: Partial<Record<Protocol, AtKind>> = {}
  for (const protocol of PROTOCOLS) {
    const at = protocolRow(protocol).upstream.kinds[name]
    if (at === undefined) continue
    paths[protocol] = typeof at === 'string' ? at : at.path
    if (typeof at === 'object') special[protocol] = at
    const header = typeof at === 'string' ? authHeader : at.authHeader
    if (header !== undefined) auth[protocol] = header
  }
  return {
    paths,
    auth,
    query,
    ...(searches === undefined ? {} : { searches }),
    special,
    credential: credential ?? null,
    answers: answers ?? null,
    address: address ?? null,
  }
}

export const kindOf = (name: KindName | null): Kind | null => (name === null ? null : KINDS[name])

/** What the kind of a channel says about headers; without a kind nothing. */
export function providerHeaders(name: KindName | null, protocol: Protocol): ProviderHeaders {
  const of = kindOf(name)
  if (of === null) return SAME_HEADERS
  const usual = protocolRow(protocol).upstream.atProvider
  return { ...usual, authHeader: of.auth[protocol] ?? usual.authHeader }
}
