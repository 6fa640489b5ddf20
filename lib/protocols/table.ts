/**
 * The protocols by name. Names, their order and the type of a name follow from `rows.ts`, so that a protocol is written
 * down in one place.
 */
import type { ProtocolRow } from './protocol.ts'
import * as ROWS from './rows.ts'

export type Protocol = keyof typeof ROWS

const TABLE: Readonly<Record<Protocol, ProtocolRow>> = { ...ROWS }

export const protocolRow = (name: Protocol): ProtocolRow => TABLE[name]

/** In the order in which people read them. */
export const PROTOCOLS: readonly Protocol[] = (Object.keys(TABLE) as Protocol[]).sort(
  (a, b) => TABLE[a].place - TABLE[b].place || (a < b ? -1 : 1),
)
